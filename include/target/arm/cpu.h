/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ARM CPU: the state of one AArch64 vCPU and what may be done to it.
 *
 * CPUARMState is laid out for an interpreter: the general registers first,
 * the stack pointer in use among them, the condition flags split so that an
 * operation stores its result instead of computing four bits. Only EL0 and
 * EL1 exist, in AArch64 state. System registers live in env->sys and are
 * reached by the descriptors of sysreg.h.
 *
 * Threads: a vCPU's state belongs to its thread while it runs; others touch
 * it when it is stopped, or by async_run_on_cpu(). What is marked atomic may
 * be used from anywhere.
 *
 * Used by: accel/tcg, hw/arm, hw/intc. Uses: system/, vmstate/, qom/.
 */
#ifndef TARGET_ARM_CPU_H
#define TARGET_ARM_CPU_H

typedef struct ARMCPU ARMCPU;
typedef struct ARMSysReg ARMSysReg;

/* PSTATE and SPSR bits (Arm ARM DDI 0487, C5.2.19 SPSR_EL1). */
#define PSTATE_SP   (1u << 0) /* 0: SP_EL0 in use, 1: SP_ELx */
#define PSTATE_M    0xfu
#define PSTATE_EL   (3u << 2)
#define PSTATE_NRW  (1u << 4) /* AArch32: cannot be entered here */
#define PSTATE_F    (1u << 6)
#define PSTATE_I    (1u << 7)
#define PSTATE_A    (1u << 8)
#define PSTATE_D    (1u << 9)
#define PSTATE_DAIF 0x3c0u
#define PSTATE_IL   (1u << 20)
#define PSTATE_SS   (1u << 21)
#define PSTATE_PAN  (1u << 22)
#define PSTATE_UAO  (1u << 23)
#define PSTATE_V    (1u << 28)
#define PSTATE_C    (1u << 29)
#define PSTATE_Z    (1u << 30)
#define PSTATE_N    (1u << 31)
#define PSTATE_NZCV 0xf0000000u

#define PSTATE_MODE_EL0t 0x0
#define PSTATE_MODE_EL1t 0x4
#define PSTATE_MODE_EL1h 0x5

/* Bits of SCTLR_EL1 that the engine asks about. */
#define SCTLR_M    (UINT64_C(1) << 0)
#define SCTLR_A    (UINT64_C(1) << 1)
#define SCTLR_C    (UINT64_C(1) << 2)
#define SCTLR_SA   (UINT64_C(1) << 3)
#define SCTLR_SA0  (UINT64_C(1) << 4)
#define SCTLR_UMA  (UINT64_C(1) << 9)
#define SCTLR_I    (UINT64_C(1) << 12)
#define SCTLR_DZE  (UINT64_C(1) << 14)
#define SCTLR_UCT  (UINT64_C(1) << 15)
#define SCTLR_NTWI (UINT64_C(1) << 16)
#define SCTLR_NTWE (UINT64_C(1) << 18)
#define SCTLR_E0E  (UINT64_C(1) << 24)
#define SCTLR_EE   (UINT64_C(1) << 25)
#define SCTLR_UCI  (UINT64_C(1) << 26)

/* Exceptions, as kept in CPUState.exception_index between raise and entry. */
enum {
    EXCP_NONE = -1,
    EXCP_UDEF = 1,
    EXCP_SWI = 2, /* SVC */
    EXCP_PREFETCH_ABORT = 3,
    EXCP_DATA_ABORT = 4,
    EXCP_IRQ = 5,
    EXCP_FIQ = 6,
    EXCP_BKPT = 7, /* BRK, and the debug exceptions */
    EXCP_HVC = 11,
    EXCP_SMC = 13,
};

/* CPUState.interrupt_request: IRQ is CPU_INTERRUPT_HARD, and FIQ is: */
#define CPU_INTERRUPT_FIQ 0x0010

/* GPIO inputs of the CPU device. */
enum {
    ARM_CPU_IRQ = 0,
    ARM_CPU_FIQ = 1,
    ARM_CPU_NUM_IRQS
};
enum {
    GTIMER_PHYS = 0,
    GTIMER_VIRT = 1,
    NUM_GTIMERS
};

#define GTIMER_FREQ_HZ UINT64_C(62500000)

typedef enum ARMPSCIState {
    PSCI_ON = 0,
    PSCI_OFF = 1,
    PSCI_ON_PENDING = 2
} ARMPSCIState;

enum {
    PSCI_CONDUIT_DISABLED = 0,
    PSCI_CONDUIT_SMC = 1,
    PSCI_CONDUIT_HVC = 2
};

/* What instruction groups this model has (env->features bits). */
enum {
    ARM_FEATURE_CRC32,
    ARM_FEATURE_LSE,
    ARM_FEATURE_FP, /* FP and Advanced SIMD */
    ARM_FEATURE_AES,
    ARM_FEATURE_PMULL,
    ARM_FEATURE_SHA1,
    ARM_FEATURE_SHA256,
};

/* Index of SPSR_ELx in banked_spsr[]; the others are AArch32's modes. */
#define BANKED_SPSR_EL1 1

typedef struct ARMVectorReg {
    uint64_t d[2]; /* low half, high half */
} QEMU_ALIGNED(16) ARMVectorReg;

typedef struct ARMGTimer {
    uint64_t ctl; /* ENABLE, IMASK; ISTATUS is computed */
    uint64_t cval;
} ARMGTimer;

/* Storage of the system registers that exist. All 64 bits wide. */
typedef struct ARMSysRegs {
    uint64_t sctlr_el1, actlr_el1, cpacr_el1;
    uint64_t ttbr0_el1, ttbr1_el1, tcr_el1, mair_el1, amair_el1;
    uint64_t esr_el1, far_el1, afsr0_el1, afsr1_el1, par_el1;
    uint64_t vbar_el1, contextidr_el1, csselr_el1;
    uint64_t tpidr_el0, tpidrro_el0, tpidr_el1;
    uint64_t cntkctl_el1, cntfrq_el0;
    ARMGTimer gt[NUM_GTIMERS];
    /* Debug. */
    uint64_t mdscr_el1, mdccint_el1, osdtrrx_el1, osdtrtx_el1, oseccr_el1;
    uint64_t oslsr_el1, osdlr_el1, dbgclaim, dbgvcr32;
    uint64_t dbgbvr[16], dbgbcr[16], dbgwvr[16], dbgwcr[16];
    /* Performance monitors: plain storage, nothing counts. */
    uint64_t pmcr_el0, pmcnten, pmovs, pminten, pmuserenr_el0, pmselr_el0;
    uint64_t pmccntr_el0, pmccfiltr_el0, pmevcntr[31], pmevtyper[31];
} ARMSysRegs;

typedef struct CPUARMState {
    /*
     * x0..x30, then the stack pointer in use: SP_EL0 or SP_EL1 as PSTATE.SP
     * and the EL say. The one not in use is in sp_el[]. Encoding 31 as the
     * zero register is the decoder's business, never read from here.
     */
    uint64_t xregs[32];
    uint64_t pc;

    /*
     * Condition flags, split: N is bit 31 of NF; Z is set when ZF is 0;
     * CF is 0 or 1; V is bit 31 of VF.
     */
    uint32_t NF, ZF, CF, VF;
    uint32_t daif;   /* PSTATE_DAIF bits at their place, no others */
    uint32_t pstate; /* all others of PSTATE: EL, SP, IL, SS, PAN, UAO */

    /* Exclusive monitor: address -1 = open. val/high: what was loaded. */
    uint64_t exclusive_addr, exclusive_val, exclusive_high;

    uint64_t sp_el[4];  /* index EL; stale for the one in use */
    uint64_t elr_el[4]; /* index EL */
    uint64_t banked_spsr[8];

    ARMSysRegs sys;

    struct {
        ARMVectorReg zregs[32]; /* V0..V31 */
        uint32_t fpcr, fpsr;
    } vfp;

    /* Set by arm_cpu_raise_exception(), used by arm_cpu_do_interrupt(). */
    struct {
        uint32_t syndrome;
        uint32_t fsr;
        uint64_t vaddress; /* goes to FAR_EL1 for aborts and misalignment */
        uint32_t target_el;
    } exception;

    /* An SError that waits to be taken: only of vCPUs in the kernel. */
    struct {
        uint8_t pending, has_esr;
        uint64_t esr;
    } serror;

    /* CPU_INTERRUPT_* bits of the lines that are up. Under the BQL. */
    uint32_t irq_line_state;

    /* AArch32 state nobody can reach, carried for the migration stream. */
    struct {
        uint32_t regs[16], spsr, banked_r13[8], banked_r14[8];
        uint32_t usr_regs[5], fiq_regs[5];
        uint32_t vfp_xregs[16];
    } aa32;

    /* Constant after realize: bits 1 << ARM_FEATURE_*. */
    uint64_t features;
} CPUARMState;

/* The state inside @cs, which must be an ARM CPU. */
CPUARMState *arm_cpu_env(CPUState *cs);

static inline bool arm_feature(const CPUARMState *env, int feature)
{
    return (env->features >> feature) & 1;
}

static inline int arm_current_el(const CPUARMState *env)
{
    return (env->pstate & PSTATE_EL) >> 2;
}

/* Condition flags packed into bits 31:28, and back. */
static inline uint32_t arm_nzcv_read(const CPUARMState *env)
{
    return (env->NF & PSTATE_N) | (env->ZF == 0 ? PSTATE_Z : 0) |
           (env->CF << 29) | ((env->VF & PSTATE_N) >> 3);
}

static inline void arm_nzcv_write(CPUARMState *env, uint32_t nzcv)
{
    env->NF = nzcv & PSTATE_N;
    env->ZF = (nzcv & PSTATE_Z) == 0;
    env->CF = (nzcv >> 29) & 1;
    env->VF = (nzcv << 3) & PSTATE_N;
}

/* The whole PSTATE as an SPSR holds it. */
static inline uint32_t arm_pstate_read(const CPUARMState *env)
{
    return arm_nzcv_read(env) | env->daif | env->pstate;
}

/**
 * arm_pstate_write: set flags, masks and mode from an SPSR-shaped value
 *
 * Moves the stack pointers so that xregs[31] is again the one in use. The
 * caller has checked that the mode is one that exists.
 */
void arm_pstate_write(CPUARMState *env, uint32_t val);

/* MSR SPSel, #sel and the writes that go with a change of EL. */
void arm_set_spsel(CPUARMState *env, bool sel);

/* Any SP_ELx, in use or not. */
uint64_t arm_sp_read(const CPUARMState *env, int el);
void arm_sp_write(CPUARMState *env, int el, uint64_t val);

/**
 * arm_cpu_raise_exception: note that the vCPU takes an exception
 *
 * @excp: EXCP_*
 * @syndrome: ESR value to report (syndrome.h); not used by EXCP_IRQ/FIQ
 * @target_el: 1, the only one there is
 *
 * Sets cs->exception_index and env->exception; returns. The engine then
 * leaves its block with env->pc = the address to return to (of the faulting
 * instruction; of the one after it for SVC, HVC, SMC) and calls
 * arm_cpu_do_interrupt(). For aborts and PC misalignment set
 * env->exception.vaddress before.
 */
void arm_cpu_raise_exception(CPUState *cs, int excp, uint32_t syndrome,
                             int target_el);

/**
 * arm_cpu_do_interrupt: enter the exception in cs->exception_index
 *
 * PSCI calls by the conduit in force (EXCP_HVC or EXCP_SMC) are answered
 * here instead; an HVC or SMC that nobody listens to becomes undefined, with
 * the return address moved back to the instruction. Takes the BQL where it
 * must. vCPU thread. Leaves cs->exception_index EXCP_NONE.
 */
void arm_cpu_do_interrupt(CPUState *cs);

/**
 * arm_cpu_exec_interrupt: enter a pending and unmasked interrupt
 *
 * @interrupt_request: cs->interrupt_request as the caller read it
 *
 * FIQ before IRQ. Returns true if one was entered (pc has changed).
 */
bool arm_cpu_exec_interrupt(CPUState *cs, uint32_t interrupt_request);

/* Whether an interrupt is pending that PSTATE does not mask. */
static inline bool arm_interrupt_unmasked(const CPUARMState *env,
                                          uint32_t interrupt_request)
{
    return ((interrupt_request & CPU_INTERRUPT_FIQ) &&
            !(env->daif & PSTATE_F)) ||
           ((interrupt_request & 0x0002 /* CPU_INTERRUPT_HARD */) &&
            !(env->daif & PSTATE_I));
}

/*
 * Whether a halted vCPU should go on: it is powered on and something is
 * pending, masked or not (WFI wakes all the same).
 */
bool arm_cpu_has_work(CPUState *cs);

/**
 * arm_eret: return from the current exception level
 *
 * Loads PSTATE and pc from SPSR_EL1 and ELR_EL1. An SPSR that asks for a
 * state that does not exist sets PSTATE.IL and keeps EL and SP ("illegal
 * return"); the next instruction then faults. Clears the exclusive monitor.
 * The caller has checked that the EL is not 0.
 */
void arm_eret(CPUARMState *env);

/**
 * arm_handle_psci_call: perform the PSCI function in x0
 *
 * @conduit: PSCI_CONDUIT_HVC or _SMC, the way it was called
 *
 * Returns false if @conduit is not the one in force. Otherwise x0 holds the
 * result (unknown functions: NOT_SUPPORTED) or the vCPU is halted.
 */
bool arm_handle_psci_call(ARMCPU *cpu, int conduit);

/* Clear everything that a reset clears: registers, not power state. */
void arm_cpu_reset_state(ARMCPU *cpu);

#endif /* TARGET_ARM_CPU_H */
