/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Capabilities of the kernel's KVM: see kvm-caps.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "system/dirty-ring.h"

#include "kvm-caps.h"

#define CAP KVM_CAP_INFO
static const KvmCapInfo caps[KVM_HAS_NR] = {
    [KVM_HAS_USER_MEMORY] = { CAP(USER_MEMORY), "guest memory", true },
    [KVM_HAS_DESTROY_REGION] = { CAP(DESTROY_MEMORY_REGION_WORKS),
                                 "changes of guest memory", true },
    [KVM_HAS_JOIN_REGIONS] = { CAP(JOIN_MEMORY_REGIONS_WORKS),
                               "changes of guest memory", true },
    [KVM_HAS_IMMEDIATE_EXIT] = { CAP(IMMEDIATE_EXIT), "stopping vCPUs", true },
    [KVM_HAS_NR_MEMSLOTS] = { CAP(NR_MEMSLOTS), "guest memory", true },
    [KVM_HAS_READONLY_MEM] = { CAP(READONLY_MEM), "read-only memory" },
    [KVM_HAS_COALESCED_MMIO] = { CAP(COALESCED_MMIO), "coalesced MMIO" },
    [KVM_HAS_COALESCED_PIO] = { CAP(COALESCED_PIO), "coalesced port I/O" },
    [KVM_HAS_IRQCHIP] = { CAP(IRQCHIP), "interrupts in the kernel" },
    [KVM_HAS_IRQ_ROUTING] = { CAP(IRQ_ROUTING), "routes of interrupts" },
    [KVM_HAS_IRQFD] = { CAP(IRQFD), "interrupts by eventfd" },
    [KVM_HAS_IRQFD_RESAMPLE] = { CAP(IRQFD_RESAMPLE),
                                 "level interrupts by eventfd" },
    [KVM_HAS_IOEVENTFD] = { CAP(IOEVENTFD), "doorbells by eventfd" },
    [KVM_HAS_IOEVENTFD_ANY_LENGTH] = { CAP(IOEVENTFD_ANY_LENGTH),
                                       "doorbells of any length" },
    [KVM_HAS_SIGNAL_MSI] = { CAP(SIGNAL_MSI), "MSI without a route" },
    [KVM_HAS_MANUAL_PROTECT] = { CAP(MANUAL_DIRTY_LOG_PROTECT2),
                                 "cleaning by range" },
    [KVM_HAS_RING_TSO] = { CAP(DIRTY_LOG_RING), "dirty rings" },
    [KVM_HAS_RING_ACQ_REL] = { CAP(DIRTY_LOG_RING_ACQ_REL), "dirty rings" },
    [KVM_HAS_RING_WITH_BITMAP] = { CAP(DIRTY_LOG_RING_WITH_BITMAP),
                                   "rings beside a bitmap" },
    [KVM_HAS_MAX_VCPUS] = { CAP(MAX_VCPUS), "more than one vCPU" },
    [KVM_HAS_MULTI_ADDRESS_SPACE] = { CAP(MULTI_ADDRESS_SPACE),
                                      "memory in SMM" },
    [KVM_HAS_SMM] = { CAP(X86_SMM), "system management mode" },
};

/* The kernel's answers: its KVM is one per process. Constant once probed. */
static int values[KVM_HAS_NR];

/* @value: the kernel's answer; errors count as 0. */
static bool require(const KvmCapInfo *info, int value, Error **errp)
{
    if (value <= 0) {
        error_setg(errp, "the kernel's KVM lacks %s, needed for %s", info->name,
                   info->needed_for);
    }
    return value > 0;
}

bool kvm_caps_probe(Error **errp)
{
    for (KvmCap c = 0; c < KVM_HAS_NR; c++) {
        values[c] = kvm_check_extension(caps[c].cap);
    }
    for (KvmCap c = 0; c < KVM_HAS_NR; c++) {
        if (caps[c].required && !kvm_cap_require(c, errp)) {
            return false;
        }
    }
    return true;
}

int kvm_cap(KvmCap cap)
{
    return values[cap];
}

const KvmCapInfo *kvm_cap_info(KvmCap cap)
{
    return &caps[cap];
}

bool kvm_cap_require(KvmCap cap, Error **errp)
{
    return require(&caps[cap], values[cap], errp);
}

bool kvm_caps_require(const KvmCapInfo *needed, size_t n, Error **errp)
{
    for (size_t i = 0; i < n; i++) {
        if (!require(&needed[i], kvm_check_extension(needed[i].cap), errp)) {
            return false;
        }
    }
    return true;
}

uint32_t kvm_ring_cap(void)
{
    return values[KVM_HAS_RING_ACQ_REL] ? KVM_CAP_DIRTY_LOG_RING_ACQ_REL
           : values[KVM_HAS_RING_TSO]   ? KVM_CAP_DIRTY_LOG_RING
                                        : 0;
}

uint32_t kvm_ring_max_entries(void)
{
    int bytes = values[KVM_HAS_RING_ACQ_REL] ? values[KVM_HAS_RING_ACQ_REL]
                                             : values[KVM_HAS_RING_TSO];

    return bytes / sizeof(DirtyGfn);
}
