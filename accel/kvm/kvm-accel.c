/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accelerator `kvm`: its options, and the machine's kernel VM.
 *
 * The VM is made when the accelerator is chosen: before the board, so that all
 * of its memory comes by commits, and before the dirty tracker is chosen, so
 * that the ring tracker's setup can still give it rings.
 */
#include "qemu/osdep.h"

#include "accel/kvm.h"
#include "qapi/qapi-types-common.h"
#include "qemu/error.h"
#include "system/accel.h"
#include "system/dirty-pagemap.h"
#include "system/memory.h"

#include "kvm-arch.h"
#include "kvm-caps.h"
#include "kvm-irqchip.h"
#include "kvm-slots.h"
#include "kvm-trackers.h"

/* A guest's write to a page that the host protects, in faults of our own. */
#define PAGEMAP_FAULT 3.8

#define TYPE_KVM_ACCEL ACCEL_CLASS_NAME("kvm")

typedef struct KvmState {
    AccelState parent_obj;
    /* Properties. */
    OnOffSplit irqchip;
    uint64_t slot_bytes;
    bool has_device; /* it has opened /dev/kvm */
    KvmVm *vm; /* the first; the guest may be in another by now: kvm_vm() */
} KvmState;

static KvmState *kvm_state(void *obj)
{
    return (KvmState *)OBJECT_CHECK(AccelState, obj, TYPE_KVM_ACCEL);
}

/* Constant once chosen: with lines, or without. */
static AccelOps ops;

static KvmIrqchip irqchip_kind(OnOffSplit wish)
{
    switch (wish) {
    case ON_OFF_SPLIT_ON:
        return KVM_IRQCHIP_ON;
    case ON_OFF_SPLIT_SPLIT:
        return KVM_IRQCHIP_SPLIT;
    default:
        return KVM_IRQCHIP_OFF;
    }
}

static bool check_options(const KvmState *s, Error **errp)
{
    const DirtyTrackingOptions *o = &s->parent_obj.dirty_tracking;

    if (!kvm_slot_bytes_check(s->slot_bytes, errp)) {
        return false;
    }
    return !o->has_ring_entries || !o->ring_entries ||
           kvm_ring_check(o->ring_entries, errp);
}

static bool kvm_init_machine(AccelState *as, MachineState *ms, Error **errp)
{
    KvmState *s = kvm_state(as);
    KvmVmConfig config = { .kind = KVM_LOG_BITMAP,
                           .irqchip = irqchip_kind(s->irqchip),
                           .slot_bytes = s->slot_bytes,
                           .smm = true };

    if (!kvm_dev_open(errp)) {
        return false;
    }
    s->has_device = true;
    if (!kvm_caps_probe(errp) || !kvm_arch_check_host(errp) ||
        !check_options(s, errp)) {
        return false;
    }
    get_system_memory();
    get_system_io(); /* made here: vCPUs only use it */
    s->vm = kvm_vm_new(&config, errp);
    if (!s->vm || !kvm_slots_attach(s->vm, errp) ||
        !kvm_irqchip_move(s->vm, errp)) {
        return false;
    }
    kvm_vm_set_current(s->vm);
    dirty_pagemap_set_guest_factor(PAGEMAP_FAULT);
    ops = kvm_accel_ops;
    ops.irq = &kvm_irq_ops;
    ops.set_gsi = config.irqchip == KVM_IRQCHIP_ON ? kvm_set_gsi : NULL;
    kvm_arch_complete_ops(&ops, config.irqchip);
    return true;
}

/*
 * It was not to be, and another accelerator is tried; or it was made to be
 * looked at, while the real one runs.
 */
static void kvm_accel_finalize(Object *obj)
{
    KvmState *s = kvm_state(obj);

    if (s->vm) {
        kvm_vm_free(kvm_vm() ? kvm_vm() : s->vm);
    }
    if (s->has_device) {
        kvm_dev_close();
    }
}

static void kvm_accel_class_init(ObjectClass *oc, const void *data)
{
    AccelClass *ac = ACCEL_CLASS(oc);

    ac->name = "kvm";
    ac->ops = &ops;
    ac->init_machine = kvm_init_machine;
    ac->trackers = kvm_trackers;
}

static const Property kvm_accel_props[] = {
    DEFINE_DIRTY_TRACKING_PROPS(),
    DEFINE_PROP_ENUM("kernel-irqchip", KvmState, irqchip, OnOffSplit,
                     ON_OFF_SPLIT_ON),
    DEFINE_PROP_SIZE("slot-size", KvmState, slot_bytes, 0),
    DEFINE_PROP_END_OF_LIST(),
};

static const TypeInfo kvm_accel_type_info = {
    .name = TYPE_KVM_ACCEL,
    .parent = TYPE_ACCEL,
    .instance_size = sizeof(KvmState),
    .instance_finalize = kvm_accel_finalize,
    .props = kvm_accel_props,
    .class_init = kvm_accel_class_init,
};

void kvm_accel_register_types(void)
{
    type_register_static(&kvm_accel_type_info);
}
