/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupts and doorbells in the kernel.
 *
 * What devices registered (include/system/accel-irq.h) is kept in one table for
 * the process, and one VM has it: the kernel lets an eventfd raise a line of one
 * VM only. A second VM takes over by kvm_irqchip_move(), with vCPUs out of the
 * guest; what devices signal meanwhile waits in their eventfds.
 *
 * Used by: kvm-accel.c, the twin. Uses: kvm-int.h.
 */
#ifndef ACCEL_KVM_IRQCHIP_H
#define ACCEL_KVM_IRQCHIP_H

#include "kvm-int.h"
#include "system/accel-irq.h"

/* kvm_vm_new(): the irqchip of a new VM, as vm->irqchip says. */
bool kvm_irqchip_init(KvmVm *vm, Error **errp);

/*
 * Have @to take all over from the VM that has it (at first: none). On failure
 * that one still has it. BQL.
 */
bool kvm_irqchip_move(KvmVm *to, Error **errp);
void kvm_irqchip_detach(KvmVm *vm); /* if it has it; then nobody has */

/* What kvm_arch_fixed_routes() says has changed. False: it is as before. BQL. */
bool kvm_irqchip_update_routes(Error **errp);

/*
 * Do the stores that the kernel gathered. They are in one ring per VM, which
 * every vCPU maps; @v is one that is out of KVM_RUN. Takes the BQL if needed.
 */
void kvm_coalesced_flush(const KvmVcpu *v);

/* AccelOps.set_gsi, where the lines are in the kernel (irqchip on). */
void kvm_set_gsi(int gsi, int level);
extern const AccelIrqOps kvm_irq_ops;

#endif /* ACCEL_KVM_IRQCHIP_H */
