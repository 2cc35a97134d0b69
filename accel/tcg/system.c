/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations on the system: registers, exceptions, sleep, cache lines. */
#include "qemu/osdep.h"

#include "tcg-int.h"
#include "qemu/log.h"
#include "target/arm/syndrome.h"

/* How long a WFE sleeps for an event that we may not be told of. */
#define WFE_MONITOR_MS 1
#define WFE_EVENT_MS   10

#define CPACR_FPEN_SHIFT 20
#define ZVA_BYTES        64

/*
 * Rights of the current EL to the system register of @op. False: an exception
 * was raised.
 */
static bool check_access(TcgVcpu *v, const TcgOp *op, bool is_read, unsigned rt)
{
    const ARMSysReg *r = op->sysreg;
    ARMAccess access = r ? arm_sysreg_check_access(v->env, r, is_read)
                         : ARM_ACCESS_UNDEF;

    if (access == ARM_ACCESS_OK) {
        return true;
    }
    if (access == ARM_ACCESS_TRAP_FP) {
        tcg_raise(v, tcg_op_pc(v, op), EXCP_UDEF, syn_fp_access_trap());
        return false;
    }
    if (access == ARM_ACCESS_TRAP) {
        tcg_raise(v, tcg_op_pc(v, op), EXCP_UDEF,
                  syn_aa64_sysregtrap(op->aux >> 14, op->aux >> 11 & 7,
                                      op->aux >> 7 & 15, op->aux >> 3 & 15,
                                      op->aux & 7, rt, is_read));
        return false;
    }
    if (!r) {
        qemu_log_mask(LOG_UNIMP,
                      "%s of unknown system register op0=%d op1=%d crn=%d "
                      "crm=%d op2=%d at 0x%" PRIx64 "\n",
                      is_read ? "read" : "write", op->aux >> 14,
                      op->aux >> 11 & 7, op->aux >> 7 & 15, op->aux >> 3 & 15,
                      op->aux & 7, tcg_op_pc(v, op));
    }
    tcg_raise_undef(v, op);
    return false;
}

static unsigned rt_field(unsigned reg)
{
    return reg >= A64_ZR ? 31 : reg;
}

bool tcg_op_mrs(TcgVcpu *v, const TcgOp *op)
{
    const ARMSysReg *r = op->sysreg;
    uint64_t val;

    if (!check_access(v, op, true, rt_field(op->rd))) {
        return false;
    }
    if (r->flags & ARM_SR_IO) {
        /* It takes the BQL: wait for that outside. */
        tcg_leave(v);
        val = arm_sysreg_read(v->env, r);
        tcg_enter(v);
    } else {
        if (r->readfn) { /* may want flags or stack pointers */
            tcg_regs_store(v);
        }
        val = arm_sysreg_read(v->env, r);
    }
    v->x[op->rd] = val;
    return true;
}

bool tcg_op_msr(TcgVcpu *v, const TcgOp *op)
{
    const ARMSysReg *r = op->sysreg;
    uint64_t val = v->x[op->rd], sctlr = v->env->sys.sctlr_el1;

    if (!check_access(v, op, false, rt_field(op->rd))) {
        return false;
    }
    /*
     * Nothing is done for ARM_SR_TLBI: without translation nothing that the
     * TLB holds depends on the guest.
     */
    if (r->flags & ARM_SR_NOP) {
        return true;
    }
    if (r->flags & ARM_SR_IO) {
        tcg_leave(v);
        arm_sysreg_write(v->env, r, val);
        tcg_enter(v);
    } else if (r->writefn || (r->flags & ARM_SR_ENDS_BLOCK)) {
        tcg_regs_store(v);
        arm_sysreg_write(v->env, r, val);
        tcg_regs_load(v);
    } else {
        arm_sysreg_write(v->env, r, val);
    }
    if (~sctlr & v->env->sys.sctlr_el1 & SCTLR_M) {
        qemu_log_mask(LOG_UNIMP,
                      "SCTLR_EL1.M set at 0x%" PRIx64 ": there is no "
                      "translation, addresses stay physical\n",
                      tcg_op_pc(v, op));
    }
    if (r->flags & ARM_SR_ENDS_BLOCK) {
        v->pc = tcg_op_pc(v, op) + 4;
        return false;
    }
    return true;
}

bool tcg_op_msr_imm(TcgVcpu *v, const TcgOp *op)
{
    uint32_t mask = (uint32_t)op->imm << 6;

    if (op->aux == 005) { /* SPSel */
        if (v->user) {
            tcg_raise_undef(v, op);
            return false;
        }
        tcg_regs_store(v);
        arm_set_spsel(v->env, op->imm & 1);
        tcg_regs_load(v);
    } else { /* DAIFSet, DAIFClr */
        if (v->user && !(v->env->sys.sctlr_el1 & SCTLR_UMA)) {
            tcg_raise(v, tcg_op_pc(v, op), EXCP_UDEF,
                      syn_aa64_sysregtrap(0, op->aux >> 3, 4, op->imm,
                                          op->aux & 7, 31, false));
            return false;
        }
        if (op->aux == 036) {
            v->env->daif |= mask;
        } else {
            v->env->daif &= ~mask;
        }
    }
    /* An interrupt may be unmasked now. */
    v->pc = tcg_op_pc(v, op) + 4;
    return false;
}

bool tcg_op_dc_zva(TcgVcpu *v, const TcgOp *op)
{
    vaddr va = v->x[op->rd] & ~(vaddr)(ZVA_BYTES - 1);
    unsigned i;

    if (!check_access(v, op, false, rt_field(op->rd))) {
        return false;
    }
    for (i = 0; i < ZVA_BYTES; i += 8) {
        if (!tcg_store_slow(v, op, va + i, 3, 0)) {
            /* The address reported is the one given. */
            v->env->exception.vaddress = v->x[op->rd];
            return false;
        }
    }
    return true;
}

static bool trapped_wait(TcgVcpu *v, const TcgOp *op, uint64_t enable,
                         bool is_wfe)
{
    if (v->user && !(v->env->sys.sctlr_el1 & enable)) {
        tcg_raise(v, tcg_op_pc(v, op), EXCP_UDEF, syn_wfx(is_wfe));
        return true;
    }
    return false;
}

bool tcg_op_wfi(TcgVcpu *v, const TcgOp *op)
{
    if (arm_cpu_has_work(v->cs)) {
        return true;
    }
    if (trapped_wait(v, op, SCTLR_NTWI, false)) {
        return false;
    }
    v->cs->halted = 1;
    v->pc = tcg_op_pc(v, op) + 4;
    return false;
}

/*
 * Between LDXR and WFE a guest waits for another vCPU's plain store to the
 * monitored location, which nobody tells us of: then sleep briefly only.
 */
bool tcg_op_wfe(TcgVcpu *v, const TcgOp *op)
{
    if (v->event || atomic_exchange(&v->event_sent, false)) {
        v->event = false;
        return true;
    }
    if (trapped_wait(v, op, SCTLR_NTWE, true)) {
        return false;
    }
    tcg_wait_event(v, v->env->exclusive_addr == UINT64_MAX ? WFE_EVENT_MS
                                                           : WFE_MONITOR_MS);
    atomic_store(&v->event_sent, false);
    return true;
}

/* The guest spins: let another vCPU's thread have the host's CPU. */
bool tcg_op_yield(TcgVcpu *v, const TcgOp *op)
{
    tcg_leave(v);
    sched_yield();
    tcg_enter(v);
    return true;
}

bool tcg_op_sev(TcgVcpu *v, const TcgOp *op)
{
    /* What was stored before the event is seen after it. */
    atomic_thread_fence(memory_order_seq_cst);
    tcg_send_event();
    return true;
}

bool tcg_op_sevl(TcgVcpu *v, const TcgOp *op)
{
    v->event = true;
    return true;
}

static bool fp_is_trapped(TcgVcpu *v)
{
    unsigned fpen = v->env->sys.cpacr_el1 >> CPACR_FPEN_SHIFT & 3;

    return !(fpen == 3 || (fpen == 1 && !v->user));
}

bool tcg_op_except(TcgVcpu *v, const TcgOp *op)
{
    vaddr pc = tcg_op_pc(v, op);

    switch (op->op) {
    case A64_SVC:
        tcg_raise(v, pc + 4, EXCP_SWI, syn_aa64_svc(op->imm));
        return false;
    case A64_BRK:
        tcg_raise(v, pc, EXCP_BKPT, syn_aa64_bkpt(op->imm));
        return false;
    case A64_HVC:
        if (!v->user) {
            tcg_raise(v, pc + 4, EXCP_HVC, syn_aa64_hvc(op->imm));
            return false;
        }
        break;
    case A64_SMC:
        if (!v->user) {
            tcg_raise(v, pc + 4, EXCP_SMC, syn_aa64_smc(op->imm));
            return false;
        }
        break;
    case A64_FPSIMD:
        if (fp_is_trapped(v)) {
            tcg_raise(v, pc, EXCP_UDEF, syn_fp_access_trap());
            return false;
        }
        qemu_log_mask(LOG_UNIMP,
                      "FP or SIMD instruction %08x at 0x%" PRIx64
                      " is not implemented\n",
                      (uint32_t)op->imm, pc);
        break;
    case A64_UNDEF:
        qemu_log_mask(LOG_UNIMP, "unknown instruction %08x at 0x%" PRIx64 "\n",
                      (uint32_t)op->imm, pc);
        break;
    default: /* HLT without a debugger */
        break;
    }
    tcg_raise_undef(v, op);
    return false;
}

bool tcg_op_eret(TcgVcpu *v, const TcgOp *op)
{
    if (v->user) {
        tcg_raise_undef(v, op);
        return false;
    }
    tcg_regs_store(v);
    arm_eret(v->env);
    tcg_regs_load(v);
    v->pc = v->env->pc;
    return false;
}
