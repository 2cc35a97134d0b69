/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exceptions to EL1 and the return from them.
 *
 * Arm ARM DDI 0487, D1.3 (exceptions), D1.4 (exception return). Vector
 * offsets: 0x000 current EL with SP_EL0, 0x200 current EL with SP_ELx, 0x400
 * lower EL in AArch64; plus 0x000 synchronous, 0x080 IRQ, 0x100 FIQ.
 */
#include "qemu/osdep.h"

#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "system/cpus.h"
#include "target/arm/cpu.h"
#include "target/arm/syndrome.h"
#include "trace-target-arm.h"

void arm_cpu_raise_exception(CPUState *cs, int excp, uint32_t syndrome,
                             int target_el)
{
    CPUARMState *env = arm_cpu_env(cs);

    cs->exception_index = excp;
    env->exception.syndrome = syndrome;
    env->exception.target_el = target_el;
}

static const char *excp_name(int excp)
{
    switch (excp) {
    case EXCP_UDEF:
        return "undefined instruction or trap";
    case EXCP_SWI:
        return "SVC";
    case EXCP_PREFETCH_ABORT:
        return "instruction abort";
    case EXCP_DATA_ABORT:
        return "data abort";
    case EXCP_IRQ:
        return "IRQ";
    case EXCP_FIQ:
        return "FIQ";
    case EXCP_BKPT:
        return "breakpoint";
    case EXCP_HVC:
        return "HVC";
    case EXCP_SMC:
        return "SMC";
    default:
        return "?";
    }
}

static void log_entry(CPUState *cs, uint32_t spsr, uint64_t ret)
{
    CPUARMState *env = arm_cpu_env(cs);

    if (!qemu_loglevel_mask(LOG_INT)) {
        return;
    }
    qemu_log("CPU %d: %s from EL%d, ESR 0x%" PRIx32 ", FAR 0x%" PRIx64
             ", SPSR 0x%" PRIx32 ", ELR 0x%" PRIx64 " -> PC 0x%" PRIx64 "\n",
             cs->cpu_index, excp_name(cs->exception_index),
             (int)((spsr & PSTATE_EL) >> 2), env->exception.syndrome,
             env->exception.vaddress, spsr, ret, env->pc);
}

/* Does the syndrome's class leave an address in FAR_EL1? */
static bool sets_far(uint32_t syndrome)
{
    switch (syn_get_ec(syndrome)) {
    case EC_INSN_ABORT:
    case EC_INSN_ABORT + 1:
    case EC_DATA_ABORT:
    case EC_DATA_ABORT + 1:
    case EC_PC_ALIGNMENT:
        return true;
    default:
        return false;
    }
}

static void enter_el1(CPUState *cs)
{
    CPUARMState *env = arm_cpu_env(cs);
    uint32_t spsr = arm_pstate_read(env);
    uint64_t ret = env->pc;
    uint64_t vector = env->sys.vbar_el1;
    int excp = cs->exception_index;

    if ((spsr & PSTATE_EL) == 0) {
        vector += 0x400;
    } else if (spsr & PSTATE_SP) {
        vector += 0x200;
    }
    if (excp == EXCP_IRQ) {
        vector += 0x80;
    } else if (excp == EXCP_FIQ) {
        vector += 0x100;
    } else {
        env->sys.esr_el1 = env->exception.syndrome;
        if (sets_far(env->exception.syndrome)) {
            env->sys.far_el1 = env->exception.vaddress;
        }
    }

    env->banked_spsr[BANKED_SPSR_EL1] = spsr;
    env->elr_el[1] = ret;
    /* Flags keep their values; IL and SS are cleared. */
    arm_pstate_write(env,
                     (spsr & PSTATE_NZCV) | PSTATE_DAIF | PSTATE_MODE_EL1h);
    env->pc = vector;
    log_entry(cs, spsr, ret);
    trace_arm_exception(cs->cpu_index, excp_name(excp), env->exception.syndrome,
                        ret, vector);
}

/* An HVC or SMC: a firmware call, or undefined as without EL2 and EL3. */
static bool answer_firmware_call(CPUState *cs, int conduit)
{
    CPUARMState *env = arm_cpu_env(cs);
    BQL_LOCK_GUARD();

    if (arm_handle_psci_call((ARMCPU *)cs, conduit)) {
        return true;
    }
    env->pc -= 4;
    cs->exception_index = EXCP_UDEF;
    env->exception.syndrome = syn_uncategorized();
    return false;
}

void arm_cpu_do_interrupt(CPUState *cs)
{
    bool done = false;

    if (cs->exception_index == EXCP_HVC) {
        done = answer_firmware_call(cs, PSCI_CONDUIT_HVC);
    } else if (cs->exception_index == EXCP_SMC) {
        done = answer_firmware_call(cs, PSCI_CONDUIT_SMC);
    }
    if (!done) {
        enter_el1(cs);
    }
    cs->exception_index = EXCP_NONE;
}

bool arm_cpu_exec_interrupt(CPUState *cs, uint32_t interrupt_request)
{
    CPUARMState *env = arm_cpu_env(cs);
    int excp;

    if ((interrupt_request & CPU_INTERRUPT_FIQ) && !(env->daif & PSTATE_F)) {
        excp = EXCP_FIQ;
    } else if ((interrupt_request & CPU_INTERRUPT_HARD) &&
               !(env->daif & PSTATE_I)) {
        excp = EXCP_IRQ;
    } else {
        return false;
    }
    cs->exception_index = excp;
    env->exception.target_el = 1;
    arm_cpu_do_interrupt(cs);
    return true;
}

/* Can ERET go from EL1 to the state that @spsr describes? (D1.4.2) */
static bool legal_return(uint32_t spsr)
{
    if (spsr & PSTATE_NRW) {
        return false; /* AArch32 */
    }
    switch (spsr & PSTATE_M) {
    case PSTATE_MODE_EL0t:
    case PSTATE_MODE_EL1t:
    case PSTATE_MODE_EL1h:
        return true;
    default:
        return false;
    }
}

void arm_eret(CPUARMState *env)
{
    uint32_t spsr = env->banked_spsr[BANKED_SPSR_EL1];

    env->exclusive_addr = UINT64_MAX;
    env->pc = env->elr_el[1];
    if (legal_return(spsr)) {
        /* Only what this architecture version keeps in PSTATE. */
        arm_pstate_write(env, spsr & (PSTATE_NZCV | PSTATE_DAIF | PSTATE_SS |
                                      PSTATE_IL | PSTATE_M));
        return;
    }
    qemu_log_mask(LOG_GUEST_ERROR,
                  "ERET to an illegal state, SPSR 0x%" PRIx32 ", ELR 0x%" PRIx64
                  "\n",
                  spsr, env->pc);
    arm_nzcv_write(env, spsr);
    env->daif = spsr & PSTATE_DAIF;
    env->pstate = (env->pstate & PSTATE_M) | (spsr & PSTATE_SS) | PSTATE_IL;
}
