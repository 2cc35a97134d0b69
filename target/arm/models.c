/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU models: what tells them apart.
 *
 * All have Cortex-A57's registers (sysregs-base.c) with the values below in
 * their place; only `host`, on hosts of this architecture, has those of the
 * host. `max` has everything this engine can execute: over Cortex-A57
 * that is the large system extensions, and no AArch32.
 */
#include "qemu/osdep.h"

#include "cpregs.h"
#include "internals.h"
#include "models.h"
#include "target/arm/arm-cpu.h"

#define REG(op0, op1, crn, crm, op2, val)              \
    {                                                  \
        ARM_SYSREG_ENC(op0, op1, crn, crm, op2), (val) \
    }

static const ARMRegValue a57_regs[] = { { 0 } };
static const ARMViewValue a57_views[] = { { 0 } };

static const ARMRegValue a53_regs[] = {
    REG(3, 0, 0, 0, 0, 0x410fd034),  /* MIDR_EL1 */
    REG(3, 0, 0, 0, 6, 0x100),       /* REVIDR_EL1 */
    REG(3, 0, 0, 7, 0, 0x1122),      /* ID_AA64MMFR0_EL1 */
    REG(3, 3, 0, 0, 1, 0x84448004),  /* CTR_EL0 */
    REG(3, 3, 9, 12, 0, 0x41033000), /* PMCR_EL0 */
    { 0 },
};
static const ARMViewValue a53_views[] = {
    { CPREG_CP14 | 0x3801, 0x1 },        /* DBGDEVID1 */
    { CPREG_CP14 | 0x3802, 0x110f13 },   /* DBGDEVID */
    { CPREG_CP15 | 0x0001, 0x84448004 }, /* CTR */
    { 0 },
};

static const ARMRegValue a72_regs[] = {
    REG(3, 0, 0, 0, 0, 0x410fd083),  /* MIDR_EL1 */
    REG(3, 0, 0, 1, 4, 0x10201105),  /* ID_MMFR0_EL1 */
    REG(3, 3, 9, 12, 0, 0x41023000), /* PMCR_EL0 */
    { 0 },
};

static const ARMRegValue max_regs[] = {
    REG(3, 0, 0, 0, 0, 0x000f0510), /* MIDR_EL1: no vendor's */
    REG(3, 0, 0, 4, 0, 0x11),       /* ID_AA64PFR0_EL1: AArch64 only */
    REG(3, 0, 0, 6, 0, 0x00211120), /* ID_AA64ISAR0_EL1: Atomic = 2 */
    /*
     * What describes AArch32 is zero where there is none. These registers
     * travel in a stream (those above do not), so they also keep a guest of
     * another model from being loaded into this one, and the reverse.
     */
    REG(3, 0, 0, 1, 0, 0), /* ID_PFR0_EL1 */
    REG(3, 0, 0, 1, 4, 0), /* ID_MMFR0_EL1 */
    REG(3, 0, 0, 1, 5, 0), /* ID_MMFR1_EL1 */
    REG(3, 0, 0, 1, 6, 0), /* ID_MMFR2_EL1 */
    REG(3, 0, 0, 1, 7, 0), /* ID_MMFR3_EL1 */
    REG(3, 0, 0, 2, 0, 0), /* ID_ISAR0_EL1 */
    REG(3, 0, 0, 2, 1, 0), /* ID_ISAR1_EL1 */
    REG(3, 0, 0, 2, 2, 0), /* ID_ISAR2_EL1 */
    REG(3, 0, 0, 2, 3, 0), /* ID_ISAR3_EL1 */
    REG(3, 0, 0, 2, 4, 0), /* ID_ISAR4_EL1 */
    REG(3, 0, 0, 2, 5, 0), /* ID_ISAR5_EL1 */
    { 0 },
};

static const ARMCPUModel models[] = {
    {
        .name = "cortex-a53",
        .dtb_compatible = "arm,cortex-a53",
        .fpsid = 0x41034070,
        .ccsidr = { 0x700fe01a, 0x203fe002, 0x707fe07a },
        .regs = a53_regs,
        .views = a53_views,
    },
    {
        .name = "cortex-a57",
        .dtb_compatible = "arm,cortex-a57",
        .fpsid = 0x41034070,
        .ccsidr = { 0x700fe01a, 0x201fe012, 0x70ffe07a },
        .regs = a57_regs,
        .views = a57_views,
    },
    {
        .name = "cortex-a72",
        .dtb_compatible = "arm,cortex-a72",
        .fpsid = 0x41034080,
        .ccsidr = { 0x700fe01a, 0x201fe012, 0x707fe07a },
        .regs = a72_regs,
        .views = a57_views,
    },
    {
        .name = "max",
        .dtb_compatible = "arm,armv8",
        .fpsid = 0x41034070,
        .ccsidr = { 0x700fe01a, 0x201fe012, 0x70ffe07a },
        .regs = max_regs,
        .views = a57_views,
    },
#ifdef __aarch64__
    {
        /* The kernel has its registers (host-regs.h); these are not used. */
        .name = "host",
        .dtb_compatible = "arm,armv8",
        .fpsid = 0x41034070,
        .regs = max_regs,
        .views = a57_views,
    },
#endif
};

const char *const arm_cpu_model_names[] = {
    "cortex-a53", "cortex-a57", "cortex-a72", "max",
#ifdef __aarch64__
    "host",
#endif
    NULL,
};

const ARMCPUModel *arm_cpu_model_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
        if (g_str_equal(models[i].name, name)) {
            return &models[i];
        }
    }
    return NULL;
}

const char *arm_cpu_type_from_model(const char *model)
{
    static const char *const types[] = {
        ARM_CPU_TYPE_NAME("cortex-a53"), ARM_CPU_TYPE_NAME("cortex-a57"),
        ARM_CPU_TYPE_NAME("cortex-a72"), ARM_CPU_TYPE_NAME("max"),
#ifdef __aarch64__
        ARM_CPU_TYPE_NAME("host"),
#endif
    };

    QEMU_BUILD_BUG_ON(ARRAY_SIZE(types) != ARRAY_SIZE(models));
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if (g_str_equal(models[i].name, model) ||
            g_str_equal(types[i], model)) {
            return types[i];
        }
    }
    return NULL;
}

/* A field of 4 bits of ID_AA64ISAR0_EL1. */
static unsigned isar0(const ARMCPU *cpu, unsigned shift)
{
    const ARMSysReg *r = arm_sysreg_find(cpu, ARM_SYSREG_ENC(3, 0, 0, 6, 0));

    return (r->resetvalue >> shift) & 15;
}

uint64_t arm_cpu_model_features(const ARMCPU *cpu)
{
    uint64_t f = UINT64_C(1) << ARM_FEATURE_FP;

    f |= (uint64_t)(isar0(cpu, 4) >= 1) << ARM_FEATURE_AES;
    f |= (uint64_t)(isar0(cpu, 4) >= 2) << ARM_FEATURE_PMULL;
    f |= (uint64_t)(isar0(cpu, 8) >= 1) << ARM_FEATURE_SHA1;
    f |= (uint64_t)(isar0(cpu, 12) >= 1) << ARM_FEATURE_SHA256;
    f |= (uint64_t)(isar0(cpu, 16) >= 1) << ARM_FEATURE_CRC32;
    f |= (uint64_t)(isar0(cpu, 20) >= 2) << ARM_FEATURE_LSE;
    return f;
}
