/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Execution of one vCPU: between its thread's loop and the interpreter. */
#include "qemu/osdep.h"

#include <sys/mman.h>

#include "tcg-int.h"
#include "target/arm/arm-cpu.h"
#include "target/arm/syndrome.h"

void tcg_regs_load(TcgVcpu *v)
{
    const CPUARMState *env = v->env;
    uint64_t sctlr = env->sys.sctlr_el1;

    memcpy(v->x, env->xregs, sizeof(env->xregs));
    v->x[A64_ZR] = 0;
    v->fl_n = (uint64_t)env->NF << 32;
    v->fl_z = env->ZF;
    v->fl_c = env->CF;
    v->fl_v = (uint32_t)env->VF >> 31;
    v->pc = env->pc;
    v->user = arm_current_el(env) == 0;
    v->sp_mask = sctlr & (v->user ? SCTLR_SA0 : SCTLR_SA) ? 15 : 0;
    /* Without translation all data accesses are to Device memory. */
    v->align_check = (sctlr & SCTLR_A) || !(sctlr & SCTLR_M);
}

void tcg_regs_store(TcgVcpu *v)
{
    CPUARMState *env = v->env;

    memcpy(env->xregs, v->x, sizeof(env->xregs));
    env->NF = v->fl_n >> 32;
    env->ZF = v->fl_z != 0;
    env->CF = v->fl_c;
    env->VF = (uint32_t)v->fl_v << 31;
    env->pc = v->pc;
}

static unsigned decoder_features(const CPUARMState *env)
{
    return (arm_feature(env, ARM_FEATURE_CRC32) ? A64_FEATURE_CRC32 : 0) |
           (arm_feature(env, ARM_FEATURE_LSE) ? A64_FEATURE_LSE : 0);
}

/* ID_AA64MMFR0_EL1.PARange */
static unsigned physical_address_bits(CPUState *cs)
{
    static const unsigned bits[] = { 32, 36, 40, 42, 44, 48, 52 };
    const ARMSysReg *r = arm_sysreg_lookup(ARM_CPU(cs), 3, 0, 0, 7, 0);
    unsigned range = r ? r->resetvalue & 15 : 0;

    return bits[MIN(range, ARRAY_SIZE(bits) - 1)];
}

TcgVcpu *tcg_vcpu_new(CPUState *cs)
{
    TcgVcpu *v = mmap(NULL, sizeof(*v), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    g_assert(v != MAP_FAILED);
    v->cs = cs;
    v->env = arm_cpu_env(cs);
    v->features = decoder_features(v->env);
    v->phys_bits = physical_address_bits(cs);
    qemu_mutex_init(&v->inval_lock);
    qemu_event_init(&v->wake, false);
    tcg_blocks_init(v);
    tcg_tlb_init(v);
    cs->accel_data = v;
    cs->exception_index = EXCP_NONE;
    tcg_ring_vcpu_added(v);
    tcg_vcpu_register(v);
    return v;
}

/* Enter what is in cs->exception_index. May wait for the BQL (PSCI). */
static void enter_exception(TcgVcpu *v)
{
    tcg_regs_store(v);
    tcg_leave(v);
    arm_cpu_do_interrupt(v->cs);
    tcg_enter(v);
    tcg_regs_load(v);
}

static void enter_interrupt(TcgVcpu *v, uint32_t interrupts)
{
    tcg_regs_store(v);
    tcg_leave(v);
    arm_cpu_exec_interrupt(v->cs, interrupts);
    tcg_enter(v);
    tcg_regs_load(v);
}

/* Wake from WFI. False: sleep on. */
static bool leave_halt(CPUState *cs)
{
    if (cs->halted) {
        if (!cpu_has_work(cs)) {
            return false;
        }
        cs->halted = 0;
    }
    return true;
}

void tcg_exec(TcgVcpu *v)
{
    CPUState *cs = v->cs;

    if (!leave_halt(cs)) {
        return;
    }
    tcg_enter(v);
    tcg_blocks_follow_log(v);
    tcg_regs_load(v);
    while (!vcpu_must_exit(cs) && !cs->halted) {
        uint32_t interrupts = atomic_load_explicit(&cs->interrupt_request,
                                                   memory_order_acquire);

        if (v->ring_full) {
            tcg_ring_make_room(v);
            continue;
        }
        if (arm_interrupt_unmasked(v->env, interrupts)) {
            enter_interrupt(v, interrupts);
        }
        if (v->env->pstate & PSTATE_IL) {
            tcg_raise(v, v->pc, EXCP_UDEF, syn_illegal_state());
            enter_exception(v);
            continue;
        }
        if (tcg_run(v) == TCG_EXIT_EXCEPTION) {
            enter_exception(v);
        }
    }
    tcg_regs_store(v);
    tcg_leave(v);
    if (cs->halted && v->ring_full) {
        tcg_ring_sleeps(v);
    }
}
