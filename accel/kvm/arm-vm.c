/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * VMs of an arm64 host: interrupt lines, and what moves to another VM.
 *
 * Line n is SPI n; kernel-irqchip=off and split do not exist here.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"

#include "arm-kvm.h"
#include "kvm-caps.h"

#define NR_PRIVATE_IRQS 32
#define NR_SPIS         256

unsigned long kvm_arch_vm_type(void)
{
    return 0; /* 40 bits of guest physical addresses */
}

bool kvm_arch_init_vm(KvmVm *vm, Error **errp)
{
    KvmArmVm *x = g_new0(KvmArmVm, 1);

    x->gic_fd = -1;
    vm->arch = x;
    return true;
}

void kvm_arch_destroy_vm(KvmVm *vm)
{
    KvmArmVm *x = vm->arch;

    if (x) {
        if (x->gic_fd >= 0) {
            close(x->gic_fd);
        }
        g_free(x);
    }
    vm->arch = NULL;
}

/* ---- lines ---- */

static bool create_gicv3(hwaddr dist, hwaddr redist, unsigned num_spis,
                         Error **errp)
{
    return kvm_arm_gic_realize(kvm_vm(), dist, redist,
                               num_spis + NR_PRIVATE_IRQS, errp);
}

void kvm_arch_complete_ops(AccelOps *ops, KvmIrqchip irqchip)
{
    ops->create_gicv3 = irqchip == KVM_IRQCHIP_ON ? create_gicv3 : NULL;
}

bool kvm_arch_irqchip_create(KvmVm *vm, Error **errp)
{
    struct kvm_create_device cd = { .type = KVM_DEV_TYPE_ARM_VGIC_V3 };
    int ret;

    if (vm->irqchip == KVM_IRQCHIP_OFF) {
        return true;
    }
    if (vm->irqchip == KVM_IRQCHIP_SPLIT) {
        error_setg(errp, "kernel-irqchip=split is not there on arm64");
        return false;
    }
    ret = kvm_vm_ioctl(vm, KVM_CREATE_DEVICE, &cd);
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot have the kernel's GICv3");
        return false;
    }
    kvm_arm_vm(vm)->gic_fd = cd.fd;
    return true;
}

unsigned kvm_arch_nr_gsis(KvmVm *vm)
{
    return vm->irqchip == KVM_IRQCHIP_OFF ? 0 : NR_SPIS;
}

int kvm_arch_set_gsi(KvmVm *vm, int gsi, int level)
{
    struct kvm_irq_level line = {
        .irq = KVM_ARM_IRQ_TYPE_SPI << KVM_ARM_IRQ_TYPE_SHIFT |
               (gsi + NR_PRIVATE_IRQS),
        .level = level,
    };

    return kvm_vm_ioctl(vm, KVM_IRQ_LINE, &line);
}

unsigned kvm_arch_nr_fixed_routes(KvmVm *vm)
{
    return kvm_arch_nr_gsis(vm);
}

void kvm_arch_fixed_routes(KvmVm *vm, struct kvm_irq_routing_entry *e)
{
    for (unsigned i = 0; i < kvm_arch_nr_gsis(vm); i++) {
        e[i].gsi = i;
        e[i].type = KVM_IRQ_ROUTING_IRQCHIP;
        e[i].u.irqchip.irqchip = 0;
        e[i].u.irqchip.pin = i; /* counts from the first SPI */
    }
}

/* ---- to another VM of this process ---- */

bool kvm_arm_copy_vm_state(KvmVm *from, KvmVm *to, Error **errp)
{
    KvmGicState *s;
    bool ok;

    if (!kvm_arm_vm(from)->nr_irqs) {
        return true;
    }
    s = kvm_arm_gic_state_new(from->vcpus->len);
    ok = kvm_arm_gic_get(from, s, errp) && kvm_arm_gic_put(to, s, errp);
    kvm_arm_gic_state_free(s);
    return ok;
}
