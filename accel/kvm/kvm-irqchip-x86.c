/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's PC interrupt controllers: two PICs, an I/O APIC, local APICs.
 * The timer (PIT) is not the kernel's: that one hides how many ticks it owes.
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
#include "kvm-irqchip.h"

#define NR_ISA_LINES 16
#define NR_LINES     24 /* pins of the I/O APIC */
#define CASCADE_LINE 2

static bool create_full(KvmVm *vm, Error **errp)
{
    int ret = kvm_vm_ioctl(vm, KVM_CREATE_IRQCHIP, 0);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot have the kernel's irqchip");
    }
    return ret >= 0;
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

/* ---- a pulse, and what became of it ---- */

/* Does one wait in the PICs? Masked or not. */
static bool waits_in_pic(KvmVm *vm, unsigned line)
{
    struct kvm_irqchip c = { .chip_id = line < 8 ? KVM_IRQCHIP_PIC_MASTER
                                                 : KVM_IRQCHIP_PIC_SLAVE };

    return line < NR_ISA_LINES && kvm_vm_ioctl(vm, KVM_GET_IRQCHIP, &c) >= 0 &&
           (c.chip.pic.irr >> line % 8 & 1);
}

/*
 * The kernel says how many controllers took the edge, 0 if those that let it
 * through have one waiting, less if none lets it through; but then the PIC
 * keeps it, unless it has one. A call that fails is made once more, later.
 */
static AccelPulse kvm_x86_pulse(int gsi)
{
    KvmVm *vm = kvm_vm();
    bool waited = waits_in_pic(vm, gsi);
    struct kvm_irq_level line = { .irq = gsi, .level = 1 };

    if (kvm_vm_ioctl(vm, KVM_IRQ_LINE_STATUS, &line) < 0) {
        return ACCEL_PULSE_WAITS;
    }
    kvm_arch_set_gsi(vm, gsi, 0);
    if (line.status == 0) {
        return ACCEL_PULSE_WAITS;
    }
    return (int32_t)line.status < 0 && waited ? ACCEL_PULSE_MASKED
                                              : ACCEL_PULSE_TAKEN;
}

void kvm_arch_complete_ops(AccelOps *ops, KvmIrqchip irqchip)
{
    static AccelIrqOps irq_ops;

    if (irqchip == KVM_IRQCHIP_ON) {
        irq_ops = *ops->irq;
        irq_ops.pulse_gsi = kvm_x86_pulse;
        ops->irq = &irq_ops;
    }
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
