/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What accel/kvm's core asks of an architecture: x86-*.c, arm-*.c.
 *
 * All return true, or false with @errp set and nothing half done.
 *
 * Used by: accel/kvm. Uses: kvm-int.h.
 */
#ifndef ACCEL_KVM_ARCH_H
#define ACCEL_KVM_ARCH_H

#include "kvm-int.h"

typedef enum KvmPutLevel {
    KVM_PUT_RUNTIME, /* what a debugger or a device may have changed */
    KVM_PUT_RESET,   /* after a reset: also what only a reset changes */
    KVM_PUT_FULL,    /* after a load: everything */
} KvmPutLevel;

/* Is the kernel's KVM fit for us: capabilities nobody can do without. */
bool kvm_arch_check_host(Error **errp);
/* The `type` argument of KVM_CREATE_VM. */
unsigned long kvm_arch_vm_type(void);

/* A new VM, before its irqchip, memory and vCPUs. May set vm->arch. */
bool kvm_arch_init_vm(KvmVm *vm, Error **errp);
void kvm_arch_destroy_vm(KvmVm *vm); /* also after a failed init */
/* The number that the kernel shall know @cs by: x86: its APIC id. */
unsigned long kvm_arch_vcpu_id(CPUState *cs);
/*
 * A new vCPU: CPUID, features, vm->arch. v->cs may be NULL (tests; then the
 * host's features) and is realized otherwise.
 */
bool kvm_arch_init_vcpu(KvmVcpu *v, Error **errp);
void kvm_arch_destroy_vcpu(KvmVcpu *v); /* also after a failed init */

/*
 * Kernel → v->cs->env, and back. The vCPU's thread, or any with it stopped;
 * BQL held for get and for RESET and FULL, not for RUNTIME.
 */
bool kvm_arch_get_registers(KvmVcpu *v, Error **errp);
bool kvm_arch_put_registers(KvmVcpu *v, KvmPutLevel level, Error **errp);

/*
 * For the twin: all state that is not memory, of the VM and its vCPUs, as the
 * kernel has it, from one VM to another of this process. BQL. `from` and `to`
 * have vCPUs of the same numbers, in the same order.
 *
 *   prepare  vCPUs of `from` run: memory, what the kernel knows
 *   save     none is in the guest, none has an instruction to complete
 *   load     `to` was never run
 *   undo     `from` goes on after all: have what was written to guest memory
 *            for `to` reported, by @mark
 */
typedef struct KvmArchMove KvmArchMove;
bool kvm_arch_can_move(KvmVm *vm, Error **errp); /* else why not */
KvmArchMove *kvm_arch_move_prepare(KvmVm *from, KvmVm *to, Error **errp);
bool kvm_arch_move_save(KvmArchMove *m, Error **errp);
bool kvm_arch_move_load(KvmArchMove *m, Error **errp);
void kvm_arch_move_undo(KvmArchMove *m, void (*mark)(KvmVm *vm, hwaddr addr));
void kvm_arch_move_free(KvmArchMove *m);
/* How often a vCPU's timer fired at the wrong moment and was asked again. */
unsigned kvm_arch_move_flushes(const KvmArchMove *m);

/* Around KVM_RUN, its thread, no BQL: interrupts without an irqchip, CR8. */
void kvm_arch_pre_run(KvmVcpu *v);
void kvm_arch_post_run(KvmVcpu *v);
/*
 * An exit that the core does not know. False: nor do we (it becomes an
 * internal error). Its thread, no BQL.
 */
bool kvm_arch_handle_exit(KvmVcpu *v, KvmExitAction *action);
/* HLT and friends, without an irqchip: is there something to wake up for? */
bool kvm_arch_has_work(KvmVcpu *v);

/*
 * Guest physical addresses that the instruction at which @v stands may access:
 * a guess, in which the right one may be missing. Its thread, BQL. How many.
 */
#define KVM_ARCH_ACCESSES_MAX 40
unsigned kvm_arch_accesses(KvmVcpu *v, hwaddr *addr);

/* ---- kvm-irqchip-x86.c and its like ---- */

/* What the accelerator can do for boards of this architecture. */
void kvm_arch_complete_ops(AccelOps *ops, KvmIrqchip irqchip);
/* The irqchip that vm->irqchip asks for; for OFF there is nothing to do. */
bool kvm_arch_irqchip_create(KvmVm *vm, Error **errp);
/* Lines that devices have, from 0; messages get the numbers after them. */
unsigned kvm_arch_nr_gsis(KvmVm *vm);
int kvm_arch_set_gsi(KvmVm *vm, int gsi, int level); /* 0 or -errno */
/* Where these lines lead, as KVM_SET_GSI_ROUTING wants to know. */
unsigned kvm_arch_nr_fixed_routes(KvmVm *vm);
void kvm_arch_fixed_routes(KvmVm *vm, struct kvm_irq_routing_entry *entries);

#endif /* ACCEL_KVM_ARCH_H */
