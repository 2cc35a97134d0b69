/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layout: the RAM and ROM of address_space_memory in whole pages, as a kernel
 * VM can have it. One for the process; every attached VM follows it.
 *
 * Used by: kvm-slots.c. Uses: memory.h.
 */
#ifndef ACCEL_KVM_LAYOUT_H
#define ACCEL_KVM_LAYOUT_H

#include "kvm-int.h"

/* Whole pages, all of them. */
typedef struct KvmRange {
    hwaddr gpa;
    uint64_t size;
    uint8_t *hva;
    RAMBlock *rb; /* ref'd */
    ram_addr_t rb_offset;
    bool readonly;
} KvmRange;

/*
 * Make the slots of @vm those of @layout (KvmRange, by gpa). On failure as many
 * as the kernel takes, and the first error. BQL.
 */
bool kvm_slots_apply(KvmVm *vm, const GArray *layout, Error **errp);

#endif /* ACCEL_KVM_LAYOUT_H */
