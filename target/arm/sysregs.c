/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System registers of a CPU: look-up, access checks, storage; see sysreg.h.
 */
#include "qemu/osdep.h"

#include "internals.h"
#include "qemu/main-loop.h"
#include "target/arm/arm-cpu.h"

static uint64_t *storage(const CPUARMState *env, const ARMSysReg *r)
{
    return (uint64_t *)((char *)env + r->offset);
}

static int compare_enc(const void *a, const void *b)
{
    const ARMSysReg *x = a, *y = b;

    return (int)x->enc - (int)y->enc;
}

ARMSysReg *arm_sysreg_find(const ARMCPU *cpu, uint16_t enc)
{
    ARMSysReg key = { .enc = enc };

    return bsearch(&key, cpu->sysregs, cpu->sysregs_count, sizeof(key),
                   compare_enc);
}

const ARMSysReg *arm_sysreg_lookup(const ARMCPU *cpu, unsigned op0,
                                   unsigned op1, unsigned crn, unsigned crm,
                                   unsigned op2)
{
    return arm_sysreg_find(cpu, ARM_SYSREG_ENC(op0, op1, crn, crm, op2));
}

ARMAccess arm_sysreg_check_access(CPUARMState *env, const ARMSysReg *r,
                                  bool is_read)
{
    unsigned need = is_read ? ARM_SR_R0 : ARM_SR_W0;

    if (arm_current_el(env) > 0) {
        need = is_read ? ARM_SR_R1 : ARM_SR_W1;
    }
    if (!(r->access & need)) {
        return ARM_ACCESS_UNDEF;
    }
    return r->accessfn ? r->accessfn(env, r, is_read) : ARM_ACCESS_OK;
}

static uint64_t read_register(CPUARMState *env, const ARMSysReg *r)
{
    if (r->readfn) {
        return r->readfn(env, r);
    }
    return r->flags & ARM_SR_CONST || !r->offset ? r->resetvalue
                                                 : *storage(env, r);
}

static void write_register(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    if (r->writefn) {
        r->writefn(env, r, val);
    } else if (!(r->flags & (ARM_SR_CONST | ARM_SR_NOP)) && r->offset) {
        *storage(env, r) = val;
    }
}

uint64_t arm_sysreg_read(CPUARMState *env, const ARMSysReg *r)
{
    if (r->flags & ARM_SR_IO) {
        BQL_LOCK_GUARD();
        return read_register(env, r);
    }
    return read_register(env, r);
}

void arm_sysreg_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    if (r->flags & ARM_SR_IO) {
        BQL_LOCK_GUARD();
        write_register(env, r, val);
        return;
    }
    write_register(env, r, val);
}

void arm_sysregs_reset(ARMCPU *cpu)
{
    for (size_t i = 0; i < cpu->sysregs_count; i++) {
        const ARMSysReg *r = &cpu->sysregs[i];

        if (r->offset && !(r->flags & ARM_SR_CONST)) {
            *storage(&cpu->env, r) = r->resetvalue;
        }
    }
}

void arm_cpu_add_sysregs(ARMCPU *cpu, const ARMSysReg *regs, size_t n,
                         void *opaque)
{
    size_t total = cpu->sysregs_count;

    cpu->sysregs = g_renew(ARMSysReg, cpu->sysregs, total + n);
    for (size_t i = 0; i < n; i++) {
        ARMSysReg *r = arm_sysreg_find(cpu, regs[i].enc);

        if (!r) {
            r = &cpu->sysregs[total++];
        }
        *r = regs[i];
        r->opaque = opaque;
    }
    cpu->sysregs_count = total;
    qsort(cpu->sysregs, total, sizeof(*regs), compare_enc);
}

void arm_sysregs_init(ARMCPU *cpu)
{
    cpu->sysregs = NULL;
    cpu->sysregs_count = 0;
    arm_cpu_add_sysregs(cpu, arm_sysregs_base, arm_sysregs_base_count, NULL);
    arm_cpu_add_sysregs(cpu, arm_gtimer_sysregs, arm_gtimer_sysregs_count,
                        NULL);
    for (const ARMRegValue *v = cpu->model->regs; v->enc; v++) {
        arm_sysreg_find(cpu, v->enc)->resetvalue = v->value;
    }
    /* What depends on the machine. */
    arm_sysreg_find(cpu, ARM_SYSREG_ENC(3, 1, 15, 3, 0))->resetvalue =
        cpu->reset_cbar;
    arm_sysreg_find(cpu, ARM_SYSREG_ENC(3, 1, 11, 0, 2))->resetvalue =
        (uint64_t)(cpu->core_count - 1) << 24; /* L2CTLR: cores less one */
}

void arm_sysregs_free(ARMCPU *cpu)
{
    g_free(cpu->sysregs);
    cpu->sysregs = NULL;
}
