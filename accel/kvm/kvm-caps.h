/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel's KVM can do: one table, filled when /dev/kvm is opened.
 *
 * Used by: accel/kvm. Uses: kvm-ioctl.h.
 */
#ifndef ACCEL_KVM_CAPS_H
#define ACCEL_KVM_CAPS_H

#include "kvm-ioctl.h"

typedef enum KvmCap {
    KVM_HAS_USER_MEMORY,
    KVM_HAS_DESTROY_REGION,
    KVM_HAS_JOIN_REGIONS,
    KVM_HAS_IMMEDIATE_EXIT,
    KVM_HAS_NR_MEMSLOTS,
    KVM_HAS_READONLY_MEM,
    KVM_HAS_COALESCED_MMIO, /* value: page of the ring */
    KVM_HAS_COALESCED_PIO,
    KVM_HAS_IRQCHIP,
    KVM_HAS_IRQ_ROUTING, /* value: number of routes */
    KVM_HAS_IRQFD,
    KVM_HAS_IRQFD_RESAMPLE,
    KVM_HAS_IOEVENTFD,
    KVM_HAS_IOEVENTFD_ANY_LENGTH,
    KVM_HAS_SIGNAL_MSI,
    KVM_HAS_MANUAL_PROTECT, /* value: bits that may be enabled */
    KVM_HAS_RING_TSO,       /* value: bytes of the largest ring */
    KVM_HAS_RING_ACQ_REL,   /* likewise */
    KVM_HAS_RING_WITH_BITMAP,
    KVM_HAS_MAX_VCPUS,
    KVM_HAS_SMM,                 /* of x86 */
    KVM_HAS_MULTI_ADDRESS_SPACE, /* value: how many; 0: one */
    KVM_HAS_NR
} KvmCap;

typedef struct KvmCapInfo {
    uint32_t cap; /* KVM_CAP_* */
    const char *name;
    const char *needed_for; /* "without it there is no …" */
    bool required;
} KvmCapInfo;
/* The first two members, by the name after KVM_CAP_. */
#define KVM_CAP_INFO(c) .cap = KVM_CAP_##c, .name = "KVM_CAP_" #c

/* Ask for all. False: a required one is missing; the error says which. */
bool kvm_caps_probe(Error **errp);
/* The kernel's answer; 0: it has it not. After kvm_caps_probe(). */
int kvm_cap(KvmCap cap);
const KvmCapInfo *kvm_cap_info(KvmCap cap);
/* Sets "the kernel's KVM lacks NAME, needed for WHAT"; returns false. */
bool kvm_cap_require(KvmCap cap, Error **errp);

/* Ask for each of @needed, beside the table; the same error. Device open. */
bool kvm_caps_require(const KvmCapInfo *needed, size_t n, Error **errp);

/* The capability to enable rings by, ACQ_REL first; 0: no rings. */
uint32_t kvm_ring_cap(void);
uint32_t kvm_ring_max_entries(void);

#endif /* ACCEL_KVM_CAPS_H */
