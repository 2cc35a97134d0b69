/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the x86 files of accel/kvm share.
 *
 *   x86-host.c    what the kernel offers: CPUID, TSC, machine checks
 *   x86-vcpu.c    a new vCPU: CPUID, TSC rate; around KVM_RUN
 *   x86-regs.c    general, segment, control, debug, FPU and vector registers
 *   x86-msrs.c    model specific registers
 *   x86-events.c  pending events, MP state, local APIC
 *   x86-vm.c      what a VM has once: irqchip; moving it to another VM
 *   x86-clock.c   kvmclock
 *   x86-sections.c  sections of all these
 *   x86-extint.c  split: between vCPUs and the board's PICs and I/O APIC
 *
 * Used by: accel/kvm. Uses: kvm-int.h, target/i386.
 */
#ifndef ACCEL_KVM_X86_KVM_H
#define ACCEL_KVM_X86_KVM_H

#include "kvm-arch.h"
#include "target/i386/x86-cpu.h"
#include "target/i386/cpuid.h"

/* kvm-arch.h's vm->arch. */
typedef struct KvmX86Vm {
    /* Constant. */
    bool has_sregs2;
    bool has_payload, has_triple_fault, has_smm; /* in vcpu_events */
} KvmX86Vm;

/* v->arch */
typedef struct KvmX86Vcpu {
    /* Constant, but changes with cs: see kvm_x86_set_cpuid(). */
    CPUState *cpuid_of; /* whose CPUID the kernel has; NULL: the host's */
    bool has_cpuid;
    X86Cpuid cpuid;

    /* Split: it was able to take an interrupt. Its thread, or as registers. */
    bool can_take;

    /* Scratch, of who gets or sets registers. */
    uint8_t *xsave; /* xsave_bytes, page-aligned */
    size_t xsave_bytes;
} KvmX86Vcpu;

static inline KvmX86Vm *kvm_x86_vm(KvmVm *vm)
{
    return vm->arch;
}

static inline KvmX86Vcpu *kvm_x86_vcpu(KvmVcpu *v)
{
    return v->arch;
}

static inline CPUX86State *kvm_x86_env(KvmVcpu *v)
{
    return x86_cpu_env(v->cs);
}

/* A request that must not fail: "cannot get/set WHAT of vCPU N". */
bool kvm_x86_get(KvmVcpu *v, unsigned long req, void *arg, const char *what,
                 Error **errp);
bool kvm_x86_set(KvmVcpu *v, unsigned long req, const void *arg,
                 const char *what, Error **errp);

/* ---- x86-host.c ---- */

/* Fills x86_host() unless it is known. @irqchip: who emulates it. */
bool kvm_x86_host_init(KvmIrqchip irqchip, Error **errp);

/* ---- x86-vcpu.c ---- */

/* Tell the kernel the CPUID of v->cs, if it has another's. */
bool kvm_x86_set_cpuid(KvmVcpu *v, Error **errp);

/* ---- x86-regs.c, x86-msrs.c, x86-events.c: by kvm_arch_get/put_registers ---- */

bool kvm_x86_get_core(KvmVcpu *v, Error **errp);
bool kvm_x86_put_core(KvmVcpu *v, Error **errp);
bool kvm_x86_get_msrs(KvmVcpu *v, Error **errp);
bool kvm_x86_put_msrs(KvmVcpu *v, KvmPutLevel level, Error **errp);
/*
 * The TSC's deadline. The kernel ignores it, and forgets what it had, until the
 * local APIC's timer is in that mode: so this comes after put_events().
 */
bool kvm_x86_put_deadline(KvmVcpu *v, Error **errp);
bool kvm_x86_get_events(KvmVcpu *v, Error **errp);
bool kvm_x86_put_events(KvmVcpu *v, Error **errp);

/* ---- x86-vm.c ---- */

/* All that a VM has once and that is not memory. */
typedef struct KvmX86VmState {
    bool has_irqchip;
    struct kvm_irqchip chips[3];
    struct kvm_clock_data clock;
} KvmX86VmState;

/* The first two, or all. What the VM has not got is left out. */
bool kvm_x86_get_irqchip(KvmVm *vm, KvmX86VmState *s, Error **errp);
bool kvm_x86_put_irqchip(KvmVm *vm, const KvmX86VmState *s, Error **errp);
bool kvm_x86_get_vm_state(KvmVm *vm, KvmX86VmState *s, Error **errp);
bool kvm_x86_put_vm_state(KvmVm *vm, const KvmX86VmState *s, Error **errp);

/* ---- x86-msrs.c ---- */

/* What a reset shall leave as the kernel made it. A new vCPU's. */
bool kvm_x86_get_first_msrs(KvmVcpu *v, Error **errp);
/* In KVM_GET_MSR_INDEX_LIST; after the first of the above. */
bool kvm_x86_msr_is_listed(uint32_t index);

/* ---- x86-clock.c ---- */

bool kvm_x86_get_clock(KvmVm *vm, struct kvm_clock_data *data, Error **errp);
bool kvm_x86_put_clock(KvmVm *vm, const struct kvm_clock_data *data,
                       Error **errp);
/* What the guest computes from its page at the TSC in @env; 0: no page. */
uint64_t kvm_x86_guest_clock(const CPUX86State *env);
/* kvmclock stands while the VM does; section `kvmclock`. Once. */
void kvm_x86_clock_init(void);

/* ---- x86-extint.c: for kernel-irqchip=split ---- */

void kvm_x86_extint_init(void); /* once */
/* AccelChipOps.set_extint. */
void kvm_x86_set_extint(bool level);
/* Around KVM_RUN; its thread. */
void kvm_x86_extint_pre_run(KvmVcpu *v);
void kvm_x86_extint_post_run(KvmVcpu *v);
/* @v came out with KVM_EXIT_IOAPIC_EOI. */
void kvm_x86_eoi_exit(KvmVcpu *v);
/* What the kernel has not told yet. vCPUs out of the guest; BQL. */
bool kvm_x86_flush_eois(KvmVm *vm, Error **errp);

/* ---- x86-sections.c ---- */

/* Sections and resets of what kvm_vm() has once. Once. */
bool kvm_x86_sections_init(Error **errp);

#endif /* ACCEL_KVM_X86_KVM_H */
