/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's PC interrupt controllers: two PICs, an I/O APIC, local APICs and
 * the PIT.
 *
 * Lines as on a PC: 0 to 15 lead to the PICs (but 2, the cascade) and to the
 * I/O APIC, where line 0 is pin 2; 16 to 23 lead to the I/O APIC only.
 *
 * split: only the local APICs are in the kernel. Nobody emulates PICs and I/O
 * APIC here, so there are no lines, but messages.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"

#include "kvm-arch.h"
#include "kvm-caps.h"

#define NR_ISA_LINES 16
#define NR_LINES     24 /* pins of the I/O APIC */
#define CASCADE_LINE 2

static bool create_full(KvmVm *vm, Error **errp)
{
    struct kvm_pit_config pit = { .flags = KVM_PIT_SPEAKER_DUMMY };
    int ret = kvm_vm_ioctl(vm, KVM_CREATE_IRQCHIP, 0);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot have the kernel's irqchip");
        return false;
    }
    ret = kvm_vm_ioctl(vm, KVM_CREATE_PIT2, &pit);
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot have the kernel's timer (PIT)");
        return false;
    }
    return true;
}

static bool create_split(KvmVm *vm, Error **errp)
{
    int ret = kvm_vm_enable_cap(vm, KVM_CAP_SPLIT_IRQCHIP, NR_LINES);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot have kernel-irqchip=split (%s)",
                         "KVM_CAP_SPLIT_IRQCHIP");
        return false;
    }
    return true;
}

void kvm_arch_complete_ops(AccelOps *ops, KvmIrqchip irqchip)
{
}

bool kvm_arch_irqchip_create(KvmVm *vm, Error **errp)
{
    switch (vm->irqchip) {
    case KVM_IRQCHIP_ON:
        return create_full(vm, errp);
    case KVM_IRQCHIP_SPLIT:
        return create_split(vm, errp);
    default:
        return true;
    }
}

unsigned kvm_arch_nr_gsis(KvmVm *vm)
{
    return vm->irqchip == KVM_IRQCHIP_OFF ? 0 : NR_LINES;
}

int kvm_arch_set_gsi(KvmVm *vm, int gsi, int level)
{
    struct kvm_irq_level line = { .irq = gsi, .level = level };

    return kvm_vm_ioctl(vm, KVM_IRQ_LINE, &line);
}

unsigned kvm_arch_nr_fixed_routes(KvmVm *vm)
{
    return vm->irqchip == KVM_IRQCHIP_ON ? NR_ISA_LINES - 1 + NR_LINES - 1 : 0;
}

static void fill(struct kvm_irq_routing_entry *e, unsigned gsi, unsigned chip,
                 unsigned pin)
{
    e->gsi = gsi;
    e->type = KVM_IRQ_ROUTING_IRQCHIP;
    e->u.irqchip.irqchip = chip;
    e->u.irqchip.pin = pin;
}

void kvm_arch_fixed_routes(KvmVm *vm, struct kvm_irq_routing_entry *e)
{
    if (vm->irqchip != KVM_IRQCHIP_ON) {
        return;
    }
    for (unsigned i = 0; i < NR_ISA_LINES; i++) {
        if (i != CASCADE_LINE) {
            fill(e++, i, i < 8 ? KVM_IRQCHIP_PIC_MASTER : KVM_IRQCHIP_PIC_SLAVE,
                 i % 8);
        }
    }
    for (unsigned i = 0; i < NR_LINES; i++) {
        if (i != CASCADE_LINE) {
            fill(e++, i, KVM_IRQCHIP_IOAPIC, i == 0 ? CASCADE_LINE : i);
        }
    }
}
