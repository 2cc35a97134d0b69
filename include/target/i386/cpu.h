/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86 CPU: the registers of one vCPU, as the kernel's KVM gets and sets them
 * and as the section `cpu` carries them.
 *
 * Nothing here executes instructions: what runs the guest is accel/kvm, and
 * CPUX86State is where its registers are while anybody else looks at them. All
 * of a register's state is in one place; what can be computed (hflags, which
 * the stream has) is not kept.
 *
 * Threads: a vCPU's state belongs to its thread while it runs; others touch
 * it when it is stopped, after cpu_synchronize_state(), under the BQL.
 *
 * Bits: Intel SDM (325462), vol. 3, 2.5 (control registers), 3.4.5 (segment
 * descriptors), 4.2-4.5 (paging); vol. 1, 3.4.3 (EFLAGS), 13.4 (XSAVE area).
 *
 * Used by: accel/kvm, hw/i386. Uses: system/, vmstate/, qom/.
 */
#ifndef TARGET_I386_CPU_H
#define TARGET_I386_CPU_H

#include "system/cpus.h"

/* Index in regs[], as instructions encode them. */
enum {
    R_EAX = 0,
    R_ECX = 1,
    R_EDX = 2,
    R_EBX = 3,
    R_ESP = 4,
    R_EBP = 5,
    R_ESI = 6,
    R_EDI = 7,
    R_R8 = 8,
    R_R9 = 9,
    R_R10 = 10,
    R_R11 = 11,
    R_R12 = 12,
    R_R13 = 13,
    R_R14 = 14,
    R_R15 = 15,
    CPU_NB_REGS = 16
};

/* Index in segs[]. */
enum {
    R_ES = 0,
    R_CS = 1,
    R_SS = 2,
    R_DS = 3,
    R_FS = 4,
    R_GS = 5,
    CPU_NB_SEGS = 6
};

/* SegmentCache.flags: bits 8..23 of a descriptor's second word. */
#define DESC_TYPE_SHIFT 8
#define DESC_A_MASK     (1u << 8)
#define DESC_R_MASK     (1u << 9)  /* code: may be read */
#define DESC_W_MASK     (1u << 9)  /* data: may be written */
#define DESC_C_MASK     (1u << 10) /* code: conforming */
#define DESC_E_MASK     (1u << 10) /* data: expands down */
#define DESC_CS_MASK    (1u << 11) /* code, not data */
#define DESC_S_MASK     (1u << 12) /* code or data, not of the system */
#define DESC_DPL_SHIFT  13
#define DESC_P_MASK     (1u << 15)
#define DESC_AVL_MASK   (1u << 20)
#define DESC_L_MASK     (1u << 21)
#define DESC_B_MASK     (1u << 22)
#define DESC_G_MASK     (1u << 23)

#define CR0_PE_MASK (1u << 0)
#define CR0_MP_MASK (1u << 1)
#define CR0_EM_MASK (1u << 2)
#define CR0_TS_MASK (1u << 3)
#define CR0_ET_MASK (1u << 4)
#define CR0_NE_MASK (1u << 5)
#define CR0_WP_MASK (1u << 16)
#define CR0_AM_MASK (1u << 18)
#define CR0_NW_MASK (1u << 29)
#define CR0_CD_MASK (1u << 30)
#define CR0_PG_MASK (1u << 31)

#define CR4_PSE_MASK        (1u << 4)
#define CR4_PAE_MASK        (1u << 5)
#define CR4_PGE_MASK        (1u << 7)
#define CR4_OSFXSR_MASK     (1u << 9)
#define CR4_OSXMMEXCPT_MASK (1u << 10)
#define CR4_LA57_MASK       (1u << 12)
#define CR4_OSXSAVE_MASK    (1u << 18)

#define MSR_EFER_SCE  (1u << 0)
#define MSR_EFER_LME  (1u << 8)
#define MSR_EFER_LMA  (1u << 10)
#define MSR_EFER_NXE  (1u << 11)
#define MSR_EFER_SVME (1u << 12)

#define CC_C      0x0001u
#define CC_P      0x0004u
#define CC_A      0x0010u
#define CC_Z      0x0040u
#define CC_S      0x0080u
#define TF_MASK   0x0100u
#define IF_MASK   0x0200u
#define DF_MASK   0x0400u
#define CC_O      0x0800u
#define IOPL_MASK 0x3000u
#define RF_MASK   0x10000u
#define VM_MASK   0x20000u
#define AC_MASK   0x40000u

/* CPUState.interrupt_request: INTR is CPU_INTERRUPT_HARD, and: */
#define X86_INTERRUPT_POLL CPU_INTERRUPT_TGT_EXT_1
#define X86_INTERRUPT_SMI  CPU_INTERRUPT_TGT_EXT_2
#define X86_INTERRUPT_NMI  CPU_INTERRUPT_TGT_EXT_3
#define X86_INTERRUPT_INIT CPU_INTERRUPT_TGT_INT_1
#define X86_INTERRUPT_SIPI CPU_INTERRUPT_TGT_INT_2

/* Of the local APIC's base register. */
#define MSR_IA32_APICBASE_BSP    (1u << 8)
#define MSR_IA32_APICBASE_EXTD   (1u << 10)
#define MSR_IA32_APICBASE_ENABLE (1u << 11)
#define APIC_DEFAULT_ADDRESS     0xfee00000u
#define APIC_PAGE_SIZE           1024 /* what KVM_GET_LAPIC gives */

/* mp_state: the numbers of the kernel's KVM_MP_STATE_*. */
enum {
    X86_MP_RUNNABLE = 0,
    X86_MP_UNINITIALIZED = 1, /* waits for INIT */
    X86_MP_INIT_RECEIVED = 2, /* waits for SIPI */
    X86_MP_HALTED = 3,
    X86_MP_SIPI_RECEIVED = 4
};

typedef struct SegmentCache {
    uint32_t selector;
    uint64_t base;
    uint32_t limit; /* in bytes, also with DESC_G_MASK */
    uint32_t flags; /* DESC_*; a segment without DESC_P_MASK is unusable */
} SegmentCache;

/* 80 bits: significand, then sign and exponent. */
typedef struct X87Reg {
    uint64_t mant;
    uint16_t exp;
} X87Reg;

typedef struct ZMMReg {
    uint64_t q[8]; /* XMM 0..1, YMM 0..3, ZMM 0..7 */
} ZMMReg;

typedef struct MTRRVar {
    uint64_t base, mask;
} MTRRVar;

#define MCG_CTL_P        (UINT64_C(1) << 8)  /* mcg_cap: mcg_ctl is there */
#define MCG_SER_P        (UINT64_C(1) << 24) /* recovery by software */
#define MSR_MTRRcap_VCNT 8
#define MTRR_FIXED_COUNT 11
#define MCE_BANKS_DEF    10

typedef struct CPUX86State {
    uint64_t regs[CPU_NB_REGS];
    uint64_t eip;
    uint64_t eflags;

    SegmentCache segs[CPU_NB_SEGS];
    SegmentCache ldt, tr;
    SegmentCache gdt, idt; /* base and limit only */

    uint64_t cr[5]; /* cr[1] does not exist */
    uint64_t cr8;   /* the priority of the task, 0..15 */
    uint64_t dr[8];
    uint64_t efer;
    uint64_t xcr0;
    /* The four entries of PAE paging that CR3's load fetched. */
    bool pdptrs_valid;
    uint64_t pdptrs[4];
    int32_t a20_mask; /* -1: all address lines */

    /* x87. fptags[i]: 1 = physical register i is empty. */
    X87Reg fpregs[8]; /* ST(0)..ST(7), not by physical number */
    uint16_t fpuc, fpus;
    uint8_t fptags[8];
    uint16_t fpop;
    uint64_t fpip, fpdp; /* 64-bit form, selectors are in the upper half */
    uint32_t mxcsr, mxcsr_mask;
    /* SSE, AVX, AVX-512 and what else XSAVE has (xsave.h). */
    ZMMReg xmm_regs[32];
    uint64_t opmask_regs[8];
    uint64_t pkru;
    uint64_t xstate_bv; /* which of these are not in their initial state */

    /* Model specific registers. */
    uint64_t sysenter_cs, sysenter_esp, sysenter_eip;
    uint64_t star, lstar, cstar, fmask, kernelgsbase;
    uint64_t apicbase;
    uint64_t tsc, tsc_adjust, tsc_deadline, tsc_aux;
    uint64_t smbase, smi_count;
    uint64_t pat;
    uint64_t mtrr_fixed[MTRR_FIXED_COUNT], mtrr_deftype;
    MTRRVar mtrr_var[MSR_MTRRcap_VCNT];
    uint64_t mcg_cap, mcg_status, mcg_ctl, mcg_ext_ctl;
    uint64_t mce_banks[MCE_BANKS_DEF * 4]; /* ctl, status, addr, misc */
    uint64_t msr_ia32_misc_enable, msr_ia32_feature_control;
    uint64_t misc_features_enables, debugctl, power_ctl, hwcr, vm_hsave;
    uint64_t spec_ctrl, virt_ssbd, tsx_ctrl, umwait, xss;
    /* Of KVM's paravirtual interface. */
    uint64_t system_time_msr, wall_clock_msr;
    uint64_t async_pf_en_msr, async_pf_int_msr, pv_eoi_en_msr;
    uint64_t steal_time_msr, poll_control_msr, migration_control_msr;

    /* What is about to be delivered (struct kvm_vcpu_events). */
    int32_t exception_nr; /* -1: none */
    uint8_t exception_pending, exception_injected;
    uint8_t has_error_code, exception_has_payload;
    uint32_t error_code;
    uint64_t exception_payload;
    int32_t interrupt_injected; /* vector; -1: none */
    uint8_t soft_interrupt, interrupt_shadow;
    uint8_t nmi_injected, nmi_pending, nmi_masked;
    uint8_t in_smm, smm_inside_nmi, smi_pending, smi_latched_init;
    uint8_t triple_fault_pending;
    uint32_t sipi_vector;
    uint32_t mp_state; /* X86_MP_* */

    /* Local APIC in the kernel: registers at 16-byte steps. */
    bool apic_valid; /* there is one */
    uint8_t apic_regs[APIC_PAGE_SIZE];

    /* ---- kept over a reset ---- */
    int64_t tsc_khz;        /* 0: not known */
    uint32_t signature;     /* CPUID 1, EAX: in EDX after a reset */
    uint64_t mcg_cap_reset; /* machine checks that this model has */
    uint64_t hwcr_reset;    /* what the kernel starts it with */
} CPUX86State;

/* The state inside @cs, which must be an x86 CPU. */
CPUX86State *x86_cpu_env(CPUState *cs);

/* Current privilege level. */
static inline unsigned x86_cpl(const CPUX86State *env)
{
    return (env->segs[R_SS].flags >> DESC_DPL_SHIFT) & 3;
}

/* 64-bit code: long mode is active and CS says so. */
static inline bool x86_in_64bit_code(const CPUX86State *env)
{
    return (env->efer & MSR_EFER_LMA) && (env->segs[R_CS].flags & DESC_L_MASK);
}

static inline void cpu_x86_load_seg_cache(CPUX86State *env, int seg,
                                          uint32_t selector, uint64_t base,
                                          uint32_t limit, uint32_t flags)
{
    env->segs[seg] = (SegmentCache){ selector, base, limit, flags };
}

#endif /* TARGET_I386_CPU_H */
