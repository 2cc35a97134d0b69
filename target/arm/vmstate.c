/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The section `cpu`, version 22.
 *
 *   u32[16]  AArch32 r0..r15                    u64[32]  x0..x30, SP
 *   u64      pc                                 u32      PSTATE
 *   u32      AArch32 SPSR                       u64[8]   banked SPSR
 *   u32[8]   banked r13   u32[8] banked r14     u32[5] u32[5]  usr, fiq r8-r12
 *   u64[4]   ELR_ELx                            u64[4]   SP_ELx
 *   i32 n, u64[n], u64[n]  system registers (cpregs.c)
 *   u64      exclusive address, value, high     8 unused
 *   u32 u32 u64  exception syndrome, fault status, address
 *   timer, timer  physical, virtual             u8       power state
 * then cpu/vfp v3 (V registers, identification, FPSCR), cpu/serror v1 (u8
 * pending, u8 has_esr, u64 esr) if one is pending, cpu/irq-line-state v1 and,
 * with an engine that has WFxT, cpu/wfxt-timer v1.
 *
 * Only an AArch64 state can be loaded: one with PSTATE.nRW is refused.
 */
#include "qemu/osdep.h"

#include "internals.h"
#include "qemu/error.h"
#include "target/arm/arm-cpu.h"
#include "vmstate/vmstate.h"

/* Bits of FPSCR that AArch64 keeps in FPCR and in FPSR. */
#define FPSCR_FPCR_BITS 0x07f79f00u
#define FPSCR_FPSR_BITS 0xf800009fu

/* ---- fields that are not just storage ---- */

static bool get_pstate(QEMUFile *f, void *pv, size_t size,
                       const VMStateField *field, Error **errp)
{
    ARMCPU *cpu = pv;
    uint32_t val = qemu_get_be32(f);

    if (val & PSTATE_NRW) {
        error_setg(errp,
                   "PSTATE is 0x%" PRIx32 ", which is AArch32, expected an "
                   "AArch64 state",
                   val);
        return false;
    }
    if (((val & PSTATE_EL) >> 2) > 1 || (val & PSTATE_M) == PSTATE_SP) {
        error_setg(errp, "PSTATE is 0x%" PRIx32 ", expected EL0 or EL1", val);
        return false;
    }
    /* Not arm_pstate_write(): the stack pointers are as they should be. */
    arm_nzcv_write(&cpu->env, val);
    cpu->env.daif = val & PSTATE_DAIF;
    cpu->env.pstate = val & ~(PSTATE_NZCV | PSTATE_DAIF);
    return true;
}

static bool put_pstate(QEMUFile *f, void *pv, size_t size,
                       const VMStateField *field, Error **errp)
{
    ARMCPU *cpu = pv;

    qemu_put_be32(f, arm_pstate_read(&cpu->env));
    return true;
}

static bool get_power(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field, Error **errp)
{
    ARMCPU *cpu = pv;
    uint8_t val = qemu_get_byte(f);

    if (val > PSCI_ON_PENDING) {
        error_setg(errp, "power state is %u, expected 0, 1 or 2", val);
        return false;
    }
    /*
     * What was asked of a vCPU that is about to be switched on does not
     * travel; the guest would wait for ever.
     */
    if (val == PSCI_ON_PENDING) {
        error_setg(errp, "vCPU was being switched on, its entry point is "
                         "not in the stream");
        return false;
    }
    arm_cpu_set_power_state(cpu, val);
    return true;
}

static bool put_power(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field, Error **errp)
{
    qemu_put_byte(f, arm_cpu_power_state(pv));
    return true;
}

static bool get_fpscr(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field, Error **errp)
{
    ARMCPU *cpu = pv;
    uint32_t val = qemu_get_be32(f);

    cpu->env.vfp.fpcr = val & FPSCR_FPCR_BITS;
    cpu->env.vfp.fpsr = val & FPSCR_FPSR_BITS;
    return true;
}

static bool put_fpscr(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field, Error **errp)
{
    ARMCPU *cpu = pv;

    qemu_put_be32(f, (cpu->env.vfp.fpcr & FPSCR_FPCR_BITS) |
                         (cpu->env.vfp.fpsr & FPSCR_FPSR_BITS));
    return true;
}

static const VMStateInfo info_pstate = { "cpsr", get_pstate, put_pstate };
static const VMStateInfo info_power = { "powered_off", get_power, put_power };
static const VMStateInfo info_fpscr = { "fpscr", get_fpscr, put_fpscr };

/* ---- macros: fields whose name in the description is not ours ---- */

#define CPU_VALUE(n, field, inf, type)                       \
    {                                                        \
        .name = (n), .info = &(inf), .size = sizeof(type),   \
        .flags = VMS_SINGLE,                                 \
        .offset = VMSTATE_OFFSET_VALUE(ARMCPU, field, type), \
    }
#define CPU_ARRAY(n, field, count, inf, type)                              \
    {                                                                      \
        .name = (n), .num = (count), .info = &(inf), .size = sizeof(type), \
        .flags = VMS_ARRAY,                                                \
        .offset = VMSTATE_OFFSET_ARRAY(ARMCPU, field, type, count),        \
    }
#define CPU_U32(n, field) CPU_VALUE(n, field, vmstate_info_uint32, uint32_t)
#define CPU_U64(n, field) CPU_VALUE(n, field, vmstate_info_uint64, uint64_t)
#define CPU_U32S(n, field, count) \
    CPU_ARRAY(n, field, count, vmstate_info_uint32, uint32_t)
#define CPU_U64S(n, field, count) \
    CPU_ARRAY(n, field, count, vmstate_info_uint64, uint64_t)
/* The whole CPU is handed to the functions; @len bytes in the stream. */
#define CPU_SPECIAL(n, inf, len)                                         \
    {                                                                    \
        .name = (n), .info = &(inf), .size = (len), .flags = VMS_SINGLE, \
        .offset = 0,                                                     \
    }
#define CPU_TIMER(n, field)                                                    \
    {                                                                          \
        .name = (n), .info = &vmstate_info_timer, .size = sizeof(QEMUTimer *), \
        .flags = VMS_SINGLE | VMS_POINTER,                                     \
        .offset = VMSTATE_OFFSET_VALUE(ARMCPU, field, QEMUTimer *),            \
    }

static bool always_needed(void *opaque)
{
    return true;
}

/* ---- cpu/vfp ---- */

#define CPU_VREG(i) CPU_U64S("env.vfp.zregs[" #i "].d", env.vfp.zregs[i].d, 2)

static const VMStateDescription vmstate_vfp = {
    .name = "cpu/vfp",
    .version_id = 3,
    .minimum_version_id = 3,
    .needed = always_needed,
    .fields =
        (const VMStateField[]){
            CPU_VREG(0),
            CPU_VREG(1),
            CPU_VREG(2),
            CPU_VREG(3),
            CPU_VREG(4),
            CPU_VREG(5),
            CPU_VREG(6),
            CPU_VREG(7),
            CPU_VREG(8),
            CPU_VREG(9),
            CPU_VREG(10),
            CPU_VREG(11),
            CPU_VREG(12),
            CPU_VREG(13),
            CPU_VREG(14),
            CPU_VREG(15),
            CPU_VREG(16),
            CPU_VREG(17),
            CPU_VREG(18),
            CPU_VREG(19),
            CPU_VREG(20),
            CPU_VREG(21),
            CPU_VREG(22),
            CPU_VREG(23),
            CPU_VREG(24),
            CPU_VREG(25),
            CPU_VREG(26),
            CPU_VREG(27),
            CPU_VREG(28),
            CPU_VREG(29),
            CPU_VREG(30),
            CPU_VREG(31),
            /* FPSID, then 2..15 of which 5..7 are MVFR2, MVFR1, MVFR0. */
            CPU_U32("env.vfp.xregs[0]", env.aa32.vfp_xregs[0]),
            {
                .name = "env.vfp.xregs",
                .num = 14,
                .info = &vmstate_info_uint32,
                .size = sizeof(uint32_t),
                .flags = VMS_ARRAY,
                .offset = offsetof(ARMCPU, env.aa32.vfp_xregs[2]),
            },
            CPU_SPECIAL("fpscr", info_fpscr, 4),
            VMSTATE_END_OF_LIST(),
        },
};

/* ---- cpu/serror ---- */

static bool serror_needed(void *opaque)
{
    ARMCPU *cpu = opaque;

    return cpu->env.serror.pending;
}

static bool serror_post_load(void *opaque, int version_id, Error **errp)
{
    ARMCPU *cpu = opaque;

    if (cpu->env.serror.pending > 1 || cpu->env.serror.has_esr > 1) {
        error_setg(errp, "serror is pending %u, has_esr %u, expected 0 or 1",
                   cpu->env.serror.pending, cpu->env.serror.has_esr);
        return false;
    }
    return true;
}

static const VMStateDescription vmstate_serror = {
    .name = "cpu/serror",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = serror_needed,
    .post_load = serror_post_load,
    .fields =
        (const VMStateField[]){
            CPU_VALUE("env.serror.pending", env.serror.pending,
                      vmstate_info_uint8, uint8_t),
            CPU_VALUE("env.serror.has_esr", env.serror.has_esr,
                      vmstate_info_uint8, uint8_t),
            CPU_U64("env.serror.esr", env.serror.esr),
            VMSTATE_END_OF_LIST(),
        },
};

/* ---- cpu/irq-line-state, cpu/wfxt-timer ---- */

static const VMStateDescription vmstate_irq_line_state = {
    .name = "cpu/irq-line-state",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = always_needed,
    .fields =
        (const VMStateField[]){
            CPU_U32("env.irq_line_state", env.irq_line_state),
            VMSTATE_END_OF_LIST(),
        },
};

static bool wfxt_timer_needed(void *opaque)
{
    ARMCPU *cpu = opaque;

    return cpu->wfxt_timer_travels;
}

static const VMStateDescription vmstate_wfxt_timer = {
    .name = "cpu/wfxt-timer",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = wfxt_timer_needed,
    .fields =
        (const VMStateField[]){
            CPU_TIMER("wfxt_timer", wfxt_timer),
            VMSTATE_END_OF_LIST(),
        },
};

/* ---- cpu ---- */

static bool cpu_pre_load(void *opaque, Error **errp)
{
    ARMCPU *cpu = opaque;

    memset(&cpu->env.serror, 0, sizeof(cpu->env.serror));
    return true;
}

static bool cpu_pre_save(void *opaque, Error **errp)
{
    ARMCPU *cpu = opaque;

    /* The VM is stopped; what was asked for would not travel. */
    arm_cpu_finish_power_on(cpu);
    arm_cpregs_to_list(cpu);
    return true;
}

static bool cpu_post_load(void *opaque, int version_id, Error **errp)
{
    return arm_cpregs_from_list(opaque, errp);
}

const VMStateDescription vmstate_arm_cpu = {
    .name = "cpu",
    .version_id = 22,
    .minimum_version_id = 22,
    .pre_load = cpu_pre_load,
    .pre_save = cpu_pre_save,
    .post_load = cpu_post_load,
    .fields =
        (const VMStateField[]){
            CPU_U32S("env.regs", env.aa32.regs, 16),
            CPU_U64S("env.xregs", env.xregs, 32),
            CPU_U64("env.pc", env.pc),
            CPU_SPECIAL("cpsr", info_pstate, 4),
            CPU_U32("env.spsr", env.aa32.spsr),
            CPU_U64S("env.banked_spsr", env.banked_spsr, 8),
            CPU_U32S("env.banked_r13", env.aa32.banked_r13, 8),
            CPU_U32S("env.banked_r14", env.aa32.banked_r14, 8),
            CPU_U32S("env.usr_regs", env.aa32.usr_regs, 5),
            CPU_U32S("env.fiq_regs", env.aa32.fiq_regs, 5),
            CPU_U64S("env.elr_el", env.elr_el, 4),
            CPU_U64S("env.sp_el", env.sp_el, 4),
            VMSTATE_INT32(cpreg_vmstate_array_len, ARMCPU),
            VMSTATE_VARRAY_INT32(cpreg_vmstate_indexes, ARMCPU,
                                 cpreg_vmstate_array_len, ARM_CPREG_LIST_MAX, 0,
                                 vmstate_info_uint64, uint64_t),
            VMSTATE_VARRAY_INT32(cpreg_vmstate_values, ARMCPU,
                                 cpreg_vmstate_array_len, ARM_CPREG_LIST_MAX, 0,
                                 vmstate_info_uint64, uint64_t),
            CPU_U64("env.exclusive_addr", env.exclusive_addr),
            CPU_U64("env.exclusive_val", env.exclusive_val),
            CPU_U64("env.exclusive_high", env.exclusive_high),
            VMSTATE_UNUSED(8),
            CPU_U32("env.exception.syndrome", env.exception.syndrome),
            CPU_U32("env.exception.fsr", env.exception.fsr),
            CPU_U64("env.exception.vaddress", env.exception.vaddress),
            CPU_TIMER("gt_timer[GTIMER_PHYS]", gt_timer[GTIMER_PHYS]),
            CPU_TIMER("gt_timer[GTIMER_VIRT]", gt_timer[GTIMER_VIRT]),
            {
                .name = "power_state",
                .info = &info_power,
                .size = 1,
                .flags = VMS_SINGLE,
            },
            VMSTATE_END_OF_LIST(),
        },
    .subsections =
        (const VMStateDescription *const[]){
            &vmstate_vfp,
            &vmstate_serror,
            &vmstate_irq_line_state,
            &vmstate_wfxt_timer,
            NULL,
        },
};
