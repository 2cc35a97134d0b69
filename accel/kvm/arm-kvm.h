/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the arm64 files of accel/kvm share.
 *
 *   arm-vcpu.c   a new vCPU, its list of registers; around KVM_RUN
 *   arm-regs.c   registers in and out
 *   arm-gic.c    the GICv3 in the kernel: made, saved, loaded
 *   arm-gic-section.c  its section
 *   arm-vm.c     VMs: lines, what moves to another VM
 *
 * Used by: accel/kvm. Uses: kvm-int.h, target/arm.
 */
#ifndef ACCEL_KVM_ARM_KVM_H
#define ACCEL_KVM_ARM_KVM_H

#include "kvm-arch.h"
#include "target/arm/arm-cpu.h"

/* vm->arch */
typedef struct KvmArmVm {
    int gic_fd;       /* -1: none yet */
    unsigned nr_irqs; /* of the GIC, with its 32 private ones; 0: not ready */
} KvmArmVm;

/* v->arch */
typedef struct KvmArmVcpu {
    struct kvm_vcpu_init init;
    /* Ids of the registers that travel in the list, rising. */
    uint64_t *ids;
    size_t n_ids;
} KvmArmVcpu;

static inline KvmArmVm *kvm_arm_vm(KvmVm *vm)
{
    return vm->arch;
}

static inline KvmArmVcpu *kvm_arm_vcpu(KvmVcpu *v)
{
    return v->arch;
}

/* KVM_GET_ONE_REG, KVM_SET_ONE_REG; the size is in @id. "cannot get ...". */
bool kvm_arm_get_reg(KvmVcpu *v, uint64_t id, void *value, Error **errp);
bool kvm_arm_set_reg(KvmVcpu *v, uint64_t id, const void *value, Error **errp);

/* ---- arm-vcpu.c ---- */

/* As after a power-up, in the kernel. */
bool kvm_arm_init_vcpu(KvmVcpu *v, Error **errp);
/* The guest's virtual counter: stands while the VM does. Once. */
void kvm_arm_clock_init(void);

/* ---- arm-gic.c ---- */

/**
 * kvm_arm_gic_realize: make @vm's GICv3, for the vCPUs that it has
 *
 * @dist, @redist: where the guest sees it; @nr_irqs: with the 32 private ones
 *
 * After the vCPUs, before any of them runs. Registers section `arm_gicv3` for
 * kvm_vm().
 */
bool kvm_arm_gic_realize(KvmVm *vm, hwaddr dist, hwaddr redist,
                         unsigned nr_irqs, Error **errp);

typedef struct KvmGicState KvmGicState;
KvmGicState *kvm_arm_gic_state_new(unsigned num_cpu);
void kvm_arm_gic_state_free(KvmGicState *s);
bool kvm_arm_gic_get(KvmVm *vm, KvmGicState *s, Error **errp);
bool kvm_arm_gic_put(KvmVm *vm, const KvmGicState *s, Error **errp);
/* For tests: values that a kernel takes, in each kind of register. */
void kvm_arm_gic_test_change(KvmGicState *s);
extern const VMStateDescription vmstate_kvm_arm_gicv3; /* of a KvmGicState */

/*
 * State from one VM to another: what @from has beside memory and vCPUs; the
 * counter of a vCPU that has got its registers. No vCPU in the guest.
 */
bool kvm_arm_copy_vm_state(KvmVm *from, KvmVm *to, Error **errp);
bool kvm_arm_copy_time(KvmVcpu *from, KvmVcpu *to, Error **errp);

#endif /* ACCEL_KVM_ARM_KVM_H */
