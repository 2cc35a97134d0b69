/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between kvm-slots.c (from a layout to slots in the kernel) and
 * kvm-slots-log.c (logging, walks).
 */
#ifndef ACCEL_KVM_SLOTS_INTERNAL_H
#define ACCEL_KVM_SLOTS_INTERNAL_H

#include "kvm-slots.h"

struct KvmSlots {
    /* Constant. */
    KvmVm *vm;
    uint64_t max_pages; /* of one slot */

    pthread_rwlock_t lock;

    /* Guarded by lock; changed under the BQL. */
    GPtrArray *slots;    /* KvmSlot *, by address space, then gpa */
    GPtrArray *by_block; /* the same, by block, then rb_page */
    /* The same, of one address space, at their number in it; NULL: free. */
    GPtrArray *by_id[KVM_MAX_SPACES];
    uint64_t longest;   /* pages of the longest one */
    bool frozen;        /* see kvm_slots_freeze() */
    GHashTable *logged; /* set of RAMBlock *, ref'd */
    const KvmSlotHooks *hooks;
    KvmSlotStats stats;
};

static inline KvmSlot *kvm_slot_at(const GPtrArray *a, guint i)
{
    return a->pdata[i];
}

/* By block, then page: < 0 if @x comes before page @rb_page of @rb. */
int kvm_slot_compare_block(const KvmSlot *x, const RAMBlock *rb,
                           uint64_t rb_page);
/* Have the kernel's slot be so; 0 or -errno. */
int kvm_slot_tell_kernel(KvmVm *vm, const KvmSlot *slot, uint32_t flags,
                         uint64_t npages);
/* "the kernel does not @what guest memory ...", unless there is an error. */
void kvm_slot_set_error(const KvmSlot *slot, const char *what, int ret,
                        Error **errp);

#endif /* ACCEL_KVM_SLOTS_INTERNAL_H */
