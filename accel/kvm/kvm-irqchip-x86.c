/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's PC interrupt controllers: two PICs, an I/O APIC, local APICs.
 * The timer (PIT) is not the kernel's: that one hides how many ticks it owes.
 *
 * Lines as on a PC: 0 to 15 lead to the PICs (but 2, the cascade) and to the
 * I/O APIC, where line 0 is pin 2; 16 to 23 lead to the I/O APIC only.
 *
 * split: only the local APICs are in the kernel; the board has PICs and I/O APIC
 * (board-chips.h). Pins whose interrupts' end it wants to be told of are routes
 * of their numbers, which nobody raises: the kernel leaves the guest
 * (KVM_EXIT_IOAPIC_EOI) at the end of the vectors that it finds in them. What is
 * sent goes by KVM_SIGNAL_MSI. What PICs ask for: x86-extint.c.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "system/board-chips.h"

#include "kvm-arch.h"
#include "kvm-caps.h"
#include "kvm-irqchip.h"
#include "x86-kvm.h"

#define NR_ISA_LINES 16
#define NR_LINES     24 /* pins of the I/O APIC */
#define CASCADE_LINE 2

QEMU_BUILD_BUG_ON(NR_LINES != BOARD_CHIPS_LINES);

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
    static const KvmCapInfo needed[] = {
        { KVM_CAP_INFO(SPLIT_IRQCHIP), "kernel-irqchip=split" },
        { KVM_CAP_INFO(IRQ_ROUTING), "kernel-irqchip=split" },
        { KVM_CAP_INFO(SIGNAL_MSI), "kernel-irqchip=split" },
    };
    int ret;

    if (!kvm_caps_require(needed, ARRAY_SIZE(needed), errp)) {
        return false;
    }
    ret = kvm_vm_enable_cap(vm, KVM_CAP_SPLIT_IRQCHIP, NR_LINES);
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot have kernel-irqchip=split (%s)",
                         "KVM_CAP_SPLIT_IRQCHIP");
        return false;
    }
    return true;
}

/* ---- a pulse, and what became of it ---- */

/* Of the I/O APIC's pins, as they were at the last pulse that went there. BQL. */
static struct {
    bool known;
    uint64_t entry;
} sent[NR_LINES];

/* What the guest does not set. */
#define ENTRY_STATUS (UINT64_C(1) << 12 | UINT64_C(1) << 14)

static struct kvm_irqchip get_chip(KvmVm *vm, unsigned id)
{
    struct kvm_irqchip c = { .chip_id = id };

    /* On failure: no interrupt waits, no entry is set. */
    kvm_vm_ioctl(vm, KVM_GET_IRQCHIP, &c);
    return c;
}

static uint64_t entry_of(KvmVm *vm, unsigned line)
{
    struct kvm_irqchip c = get_chip(vm, KVM_IRQCHIP_IOAPIC);

    return c.chip.ioapic.redirtbl[line == 0 ? CASCADE_LINE : line].bits &
           ~ENTRY_STATUS;
}

/*
 * The kernel says how many controllers took the edge, 0 if those that let it
 * through have one waiting, less if none lets it through; but then the PIC
 * keeps it, unless it has one. Of the I/O APIC it always says that it took it,
 * though a local APIC that has one waiting does not. A call that fails is made
 * once more, later.
 */
static AccelPulse kvm_x86_pulse(int gsi)
{
    KvmVm *vm = kvm_vm();
    struct kvm_irqchip c = get_chip(vm, gsi < 8 ? KVM_IRQCHIP_PIC_MASTER
                                                : KVM_IRQCHIP_PIC_SLAVE);
    const struct kvm_pic_state *pic = &c.chip.pic;
    uint8_t bit = gsi < NR_ISA_LINES ? 1u << gsi % 8 : 0;
    int by_pic = bit && !(pic->irr & bit) && !(pic->imr & bit);
    struct kvm_irq_level line = { .irq = gsi, .level = 1 };
    int took;

    if (kvm_vm_ioctl(vm, KVM_IRQ_LINE_STATUS, &line) < 0) {
        return ACCEL_PULSE_WAITS;
    }
    kvm_arch_set_gsi(vm, gsi, 0);
    took = (int32_t)line.status;
    if (took > by_pic) {
        sent[gsi].known = true;
        sent[gsi].entry = entry_of(vm, gsi);
        return ACCEL_PULSE_SENT;
    }
    if (took == 0) {
        return ACCEL_PULSE_WAITS;
    }
    return took < 0 && (pic->irr & bit) ? ACCEL_PULSE_MASKED
                                        : ACCEL_PULSE_TAKEN;
}

static bool kvm_x86_pulse_may_be_lost(int gsi)
{
    return sent[gsi].known && entry_of(kvm_vm(), gsi) != sent[gsi].entry;
}

/* ---- split: what the board's chips send ---- */

/* Pins whose end is told. BQL. */
static struct {
    bool wanted;
    uint64_t address;
    uint32_t data;
} pins[NR_LINES];

static bool deliver_failed; /* and none was delivered since. BQL. */

static int split_deliver(uint64_t address, uint32_t data)
{
    struct kvm_msi msi = { .address_lo = address,
                           .address_hi = address >> 32,
                           .data = data };
    int ret = kvm_vm_ioctl(kvm_vm(), KVM_SIGNAL_MSI, &msi);

    if (ret == -EPERM) {
        ret = 0; /* what it says if no local APIC takes it */
    }
    if (ret < 0 && !deliver_failed) {
        error_report("KVM: the kernel does not take an interrupt of the I/O "
                     "APIC's: %s",
                     strerror(-ret));
    }
    deliver_failed = ret < 0;
    return ret;
}

static bool split_set_pin(unsigned pin, bool wanted, uint64_t address,
                          uint32_t data, Error **errp)
{
    __typeof__(pins[0]) old = pins[pin];

    pins[pin].wanted = wanted;
    pins[pin].address = address;
    pins[pin].data = data;
    if (!kvm_irqchip_update_routes(errp)) {
        pins[pin] = old;
        return false;
    }
    return true;
}

static const AccelChipOps split_chip_ops = {
    .set_extint = kvm_x86_set_extint,
    .deliver = split_deliver,
    .set_pin = split_set_pin,
};

void kvm_arch_complete_ops(AccelOps *ops, KvmIrqchip irqchip)
{
    static AccelIrqOps irq_ops;

    if (irqchip == KVM_IRQCHIP_SPLIT) {
        ops->chips = &split_chip_ops;
    }

    if (irqchip == KVM_IRQCHIP_ON) {
        irq_ops = *ops->irq;
        irq_ops.pulse_gsi = kvm_x86_pulse;
        irq_ops.pulse_may_be_lost = kvm_x86_pulse_may_be_lost;
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

static unsigned nr_pin_routes(void)
{
    unsigned n = 0;

    for (unsigned i = 0; i < NR_LINES; i++) {
        n += pins[i].wanted;
    }
    return n;
}

static void fill_pin_routes(struct kvm_irq_routing_entry *e)
{
    for (unsigned i = 0; i < NR_LINES; i++) {
        if (pins[i].wanted) {
            e->gsi = i;
            e->type = KVM_IRQ_ROUTING_MSI;
            e->u.msi.address_lo = pins[i].address;
            e->u.msi.address_hi = pins[i].address >> 32;
            e->u.msi.data = pins[i].data;
            e++;
        }
    }
}

unsigned kvm_arch_nr_fixed_routes(KvmVm *vm)
{
    switch (vm->irqchip) {
    case KVM_IRQCHIP_ON:
        return NR_ISA_LINES - 1 + NR_LINES - 1;
    case KVM_IRQCHIP_SPLIT:
        return nr_pin_routes();
    default:
        return 0;
    }
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
    if (vm->irqchip == KVM_IRQCHIP_SPLIT) {
        fill_pin_routes(e);
    }
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
