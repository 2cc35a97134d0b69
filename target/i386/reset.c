/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a vCPU's registers hold after power-up: Intel SDM vol. 3, 10.1.1,
 * table 10-1, and for the local APIC 11.4.7.1.
 */
#include "qemu/osdep.h"

#include "internals.h"

/* Offsets in the local APIC's page (Intel SDM vol. 3, table 11-1). */
enum {
    APIC_ID = 0x20,
    APIC_LVR = 0x30,
    APIC_DFR = 0xe0,
    APIC_SPIV = 0xf0,
    APIC_LVT_FIRST = 0x320, /* timer */
    APIC_LVT_LINT0 = 0x350,
    APIC_LVT_LAST = 0x370, /* error */
};

/* Version 0x14 with six LVT entries. */
#define APIC_VERSION     0x00050014u
#define APIC_LVT_MASKED  0x00010000u
#define APIC_MODE_EXTINT 0x00000700u

static void put_apic(CPUX86State *env, unsigned offset, uint32_t val)
{
    memcpy(&env->apic_regs[offset], &val, sizeof(val));
}

static void reset_apic(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;

    memset(env->apic_regs, 0, sizeof(env->apic_regs));
    put_apic(env, APIC_ID, cpu->apic_id << 24);
    put_apic(env, APIC_LVR, APIC_VERSION);
    put_apic(env, APIC_DFR, UINT32_MAX);
    put_apic(env, APIC_SPIV, 0xff);
    for (unsigned o = APIC_LVT_FIRST; o <= APIC_LVT_LAST; o += 16) {
        put_apic(env, o, APIC_LVT_MASKED);
    }
    if (cpu->is_bsp) {
        /* As firmware leaves it: the 8259's interrupts pass through. */
        put_apic(env, APIC_LVT_LINT0, APIC_MODE_EXTINT);
    }
    env->apicbase = APIC_DEFAULT_ADDRESS | MSR_IA32_APICBASE_ENABLE |
                    (cpu->is_bsp ? MSR_IA32_APICBASE_BSP : 0);
}

static void reset_segments(CPUX86State *env)
{
    for (int i = 0; i < CPU_NB_SEGS; i++) {
        cpu_x86_load_seg_cache(env, i, 0, 0, 0xffff,
                               DESC_P_MASK | DESC_S_MASK | DESC_W_MASK |
                                   DESC_A_MASK);
    }
    cpu_x86_load_seg_cache(env, R_CS, 0xf000, 0xffff0000, 0xffff,
                           DESC_P_MASK | DESC_S_MASK | DESC_CS_MASK |
                               DESC_R_MASK | DESC_A_MASK);
    env->ldt.limit = 0xffff;
    env->ldt.flags = DESC_P_MASK | 2u << DESC_TYPE_SHIFT;
    env->tr.limit = 0xffff;
    env->tr.flags = DESC_P_MASK | 11u << DESC_TYPE_SHIFT;
    env->gdt.limit = 0xffff;
    env->idt.limit = 0xffff;
}

static void reset_fpu(CPUX86State *env)
{
    env->fpuc = 0x37f;
    memset(env->fptags, 1, sizeof(env->fptags));
    env->mxcsr = 0x1f80;
    env->mxcsr_mask = 0xffff;
    env->xcr0 = 1;
    /* The two that are always there count as in use. */
    env->xstate_bv = 3;
}

static void reset_msrs(CPUX86State *env)
{
    env->pat = UINT64_C(0x0007040600070406);
    env->smbase = 0x30000;
    env->msr_ia32_misc_enable = 1; /* fast strings */
    env->poll_control_msr = 1;     /* the host may poll for the guest */
    env->mcg_cap = env->mcg_cap_reset;
    if (env->mcg_cap & MCG_CTL_P) {
        env->mcg_ctl = UINT64_MAX;
    }
    for (unsigned i = 0; i < MIN(env->mcg_cap & 0xff, MCE_BANKS_DEF); i++) {
        env->mce_banks[i * 4] = UINT64_MAX;
    }
}

void x86_cpu_reset_state(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;
    CPUX86State old = *env;

    memset(env, 0, sizeof(*env));
    env->tsc_khz = old.tsc_khz;
    env->signature = old.signature;
    env->mcg_cap_reset = old.mcg_cap_reset;
    env->hwcr = env->hwcr_reset = old.hwcr_reset;
    env->apic_valid = old.apic_valid;

    env->regs[R_EDX] = env->signature;
    env->eip = 0xfff0;
    env->eflags = 0x2;
    reset_segments(env);
    env->cr[0] = CR0_CD_MASK | CR0_NW_MASK | CR0_ET_MASK;
    env->dr[6] = 0xffff0ff0;
    env->dr[7] = 0x400;
    env->a20_mask = -1;
    reset_fpu(env);
    reset_msrs(env);
    reset_apic(cpu);
    env->exception_nr = -1;
    env->interrupt_injected = -1;
    env->mp_state = cpu->is_bsp ? X86_MP_RUNNABLE : X86_MP_UNINITIALIZED;
}
