/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupts and doorbells in the kernel.
 *
 * What devices registered (include/system/accel-irq.h) is kept in one table for the
 * process; every attached VM has it. So a second VM takes it over: attach it,
 * swap, detach the first. A doorbell rings for both while both are attached,
 * but only one of them has running vCPUs; an irqfd raises its line in both.
 * The new VM's interrupt state is loaded after that, from the old one.
 *
 * Used by: kvm-accel.c, the twin. Uses: kvm-int.h.
 */
#ifndef ACCEL_KVM_IRQCHIP_H
#define ACCEL_KVM_IRQCHIP_H

#include "kvm-int.h"
#include "system/accel-irq.h"

/* kvm_vm_new(): the irqchip of a new VM, as vm->irqchip says. */
bool kvm_irqchip_init(KvmVm *vm, Error **errp);

/* Have @vm take part. BQL. On failure it does not. */
bool kvm_irqchip_attach(KvmVm *vm, Error **errp);
void kvm_irqchip_detach(KvmVm *vm); /* if it is attached */

/*
 * Do the stores that the kernel gathered. They are in one ring per VM, which
 * every vCPU maps; @v is one that is out of KVM_RUN. Takes the BQL if needed.
 */
void kvm_coalesced_flush(const KvmVcpu *v);

/* AccelOps.set_gsi, where the lines are in the kernel (irqchip on). */
void kvm_set_gsi(int gsi, int level);
extern const AccelIrqOps kvm_irq_ops;

#endif /* ACCEL_KVM_IRQCHIP_H */
