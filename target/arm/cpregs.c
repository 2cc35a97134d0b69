/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The register list of the section `cpu`: its entries against our state.
 *
 *   live      an AArch64 register that exists here: its storage
 *   view      an AArch32 register that shows the low half of such a one
 *   constant  reads always the same; a stream that differs is another CPU's
 *   stored    nobody here can reach it (AArch32, EL2, EL3): kept as received
 *
 * Views come before what they show (their index is smaller), so on load the
 * register itself, with all its bits, has the last word. A list must have
 * exactly our entries: another one was made by another model or with EL2 or
 * EL3, and its guest knows registers that we lack.
 */
#include "qemu/osdep.h"

#include "cpregs.h"
#include "internals.h"
#include "qemu/error.h"
#include "target/arm/arm-cpu.h"

#define CPREG_L2CTLR (CPREG_CP15 | 0x480a)

typedef enum CPRegKind {
    CPREG_LIVE,
    CPREG_VIEW,
    CPREG_CONST,
    CPREG_STORED
} CPRegKind;

struct ARMCPReg {
    uint64_t index;
    CPRegKind kind;
    /* Not the descriptor: it moves when a device adds registers. */
    const char *name; /* NULL: AArch32's alone */
    size_t offset;    /* live, view: of the uint64_t in CPUARMState */
    uint64_t reset;
    uint64_t value; /* stored */
};

static uint64_t index_class(uint64_t index)
{
    return index & ~UINT64_C(0xffff);
}

/* The AArch64 encoding that an AArch32 view of 32 bits shows, or 0. */
static uint16_t view_encoding(uint64_t index)
{
    unsigned enc = index & 0xffff;
    unsigned crn = enc >> 11, crm = (enc >> 7) & 15;
    unsigned op1 = (enc >> 3) & 15, op2 = enc & 7;

    if (op1 > 7) {
        return 0;
    }
    if (index_class(index) == CPREG_CP14) {
        return ARM_SYSREG_ENC(2, op1, crn, crm, op2);
    }
    if (index_class(index) != CPREG_CP15) {
        return 0;
    }
    /* Performance monitors, TPIDRURW and TPIDRURO moved to op1 = 3. */
    if ((crn == 9 && crm >= 12 && !(crm == 14 && (op2 == 1 || op2 == 2))) ||
        (crn == 13 && (op2 == 2 || op2 == 3))) {
        op1 = 3;
    }
    return ARM_SYSREG_ENC(3, op1, crn, crm, op2);
}

/* Of those without an AArch64 twin: does hardware fix the value? */
static bool fixed_by_hardware(uint64_t index, uint64_t value)
{
    uint64_t cls = index_class(index);
    unsigned crn = (index & 0xffff) >> 11;

    return (cls == CPREG_CP15 && crn == 0) || value != 0;
}

/*
 * Does the view show the constant at all? Some encodings mean something only
 * in AArch64; the table, which is Cortex-A57's, tells.
 */
static bool view_shows(uint16_t enc, uint64_t value)
{
    for (size_t i = 0; i < arm_sysregs_base_count; i++) {
        if (arm_sysregs_base[i].enc == enc) {
            return (uint32_t)arm_sysregs_base[i].resetvalue == value;
        }
    }
    return false;
}

static void classify(ARMCPU *cpu, ARMCPReg *r)
{
    bool is_a64 = index_class(r->index) == CPREG_A64;
    uint16_t enc = is_a64 ? r->index & 0xffff : view_encoding(r->index);
    const ARMSysReg *reg = enc ? arm_sysreg_find(cpu, enc) : NULL;

    if (reg && (reg->flags & ARM_SR_CONST) && !is_a64 &&
        !view_shows(enc, r->reset) && r->index != CPREG_L2CTLR) {
        r->kind = CPREG_CONST;
    } else if (reg && (reg->flags & ARM_SR_CONST)) {
        r->kind = CPREG_CONST;
        r->name = reg->name;
        r->reset = is_a64 ? reg->resetvalue : (uint32_t)reg->resetvalue;
    } else if (reg && reg->offset) {
        r->kind = is_a64 ? CPREG_LIVE : CPREG_VIEW;
        r->name = reg->name;
        r->offset = reg->offset;
    } else {
        r->kind = fixed_by_hardware(r->index, r->reset) ? CPREG_CONST
                                                        : CPREG_STORED;
    }
}

void arm_cpregs_init(ARMCPU *cpu)
{
    QEMU_BUILD_BUG_ON(ARM_CPREG_LIST_MAX < 274);
    assert(arm_cpregs_table_count <= ARM_CPREG_LIST_MAX);

    cpu->cpregs_count = arm_cpregs_table_count;
    cpu->cpregs = g_new0(ARMCPReg, cpu->cpregs_count);
    for (size_t i = 0; i < cpu->cpregs_count; i++) {
        ARMCPReg *r = &cpu->cpregs[i];

        r->index = arm_cpregs_table[i].index;
        r->reset = arm_cpregs_table[i].value;
        for (const ARMViewValue *v = cpu->model->views; v->index; v++) {
            if (v->index == r->index) {
                r->reset = v->value;
            }
        }
        if (r->index == CPREG_L2CTLR) {
            r->reset = arm_sysreg_find(cpu, ARM_SYSREG_ENC(3, 1, 11, 0, 2))
                           ->resetvalue;
        }
        classify(cpu, r);
    }
}

void arm_cpregs_free(ARMCPU *cpu)
{
    g_free(cpu->cpregs);
    cpu->cpregs = NULL;
    arm_host_regs_free(cpu);
}

void arm_cpregs_reset(ARMCPU *cpu)
{
    for (size_t i = 0; i < cpu->cpregs_count; i++) {
        cpu->cpregs[i].value = cpu->cpregs[i].reset;
    }
}

static uint64_t *live_value(ARMCPU *cpu, const ARMCPReg *r)
{
    return (uint64_t *)((char *)&cpu->env + r->offset);
}

static uint64_t cpreg_get(ARMCPU *cpu, const ARMCPReg *r)
{
    switch (r->kind) {
    case CPREG_LIVE:
        return *live_value(cpu, r);
    case CPREG_VIEW:
        return (uint32_t)*live_value(cpu, r);
    case CPREG_CONST:
        return r->reset;
    case CPREG_STORED:
        return r->value;
    }
    g_assert_not_reached();
}

static bool cpreg_set(ARMCPU *cpu, ARMCPReg *r, uint64_t val, Error **errp)
{
    switch (r->kind) {
    case CPREG_LIVE:
        *live_value(cpu, r) = val;
        return true;
    case CPREG_VIEW:
        return true; /* what it shows comes later in the list */
    case CPREG_CONST:
        if (val != r->reset) {
            error_setg(errp,
                       "system register %s (0x%" PRIx64 ") is 0x%" PRIx64
                       " in the stream but always 0x%" PRIx64 " on this CPU",
                       r->name ? r->name : "of AArch32", r->index, val,
                       r->reset);
            return false;
        }
        return true;
    case CPREG_STORED:
        r->value = val;
        return true;
    }
    g_assert_not_reached();
}

void arm_cpregs_to_list(ARMCPU *cpu)
{
    if (cpu->host_indexes) {
        arm_host_regs_to_list(cpu);
        return;
    }
    cpu->cpreg_vmstate_array_len = cpu->cpregs_count;
    for (size_t i = 0; i < cpu->cpregs_count; i++) {
        cpu->cpreg_vmstate_indexes[i] = cpu->cpregs[i].index;
        cpu->cpreg_vmstate_values[i] = cpreg_get(cpu, &cpu->cpregs[i]);
    }
}

/* Name the first entry at which the two lists part. */
static bool check_indexes(const ARMCPU *cpu, Error **errp)
{
    size_t n = MIN((size_t)cpu->cpreg_vmstate_array_len, cpu->cpregs_count);

    for (size_t i = 0; i < n; i++) {
        uint64_t theirs = cpu->cpreg_vmstate_indexes[i];
        uint64_t ours = cpu->cpregs[i].index;

        if (theirs != ours) {
            error_setg(errp,
                       "system register 0x%" PRIx64 " is %s (entry %zu of the "
                       "list)",
                       theirs < ours ? theirs : ours,
                       theirs < ours ? "in the stream but not on this CPU"
                                     : "missing from the stream",
                       i);
            return false;
        }
    }
    if ((size_t)cpu->cpreg_vmstate_array_len != cpu->cpregs_count) {
        error_setg(errp,
                   "the stream has %" PRId32
                   " system registers, this CPU has %zu",
                   cpu->cpreg_vmstate_array_len, cpu->cpregs_count);
        return false;
    }
    return true;
}

bool arm_cpregs_from_list(ARMCPU *cpu, Error **errp)
{
    if (cpu->host_indexes) {
        return arm_host_regs_from_list(cpu, errp);
    }
    if (!check_indexes(cpu, errp)) {
        return false;
    }
    for (size_t i = 0; i < cpu->cpregs_count; i++) {
        if (!cpreg_set(cpu, &cpu->cpregs[i], cpu->cpreg_vmstate_values[i],
                       errp)) {
            return false;
        }
    }
    return true;
}
