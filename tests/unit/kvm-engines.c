/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trackers that KVM has, each with the kernel VM that it needs. */
#include "qemu/osdep.h"

#include "kvm-caps.h"
#include "kvm-trackers.h"
#include "qemu/error.h"
#include "system/dirty-choice.h"
#include "system/dirty-pagemap.h"
#include "tracker-oracle.h"

enum {
    OF_BITMAP = 1,
    OF_SMALL_SLOTS,
    OF_LEGACY,
    OF_RINGS_256,
    OF_RINGS_4096,
    OF_BITMAP_SMM,
    OF_LEGACY_SMM,
    OF_RINGS_SMM,
};

static void use_bitmap(uint64_t slot_bytes)
{
    guest_use_vm(&(KvmVmConfig){ .kind = KVM_LOG_BITMAP,
                                 .irqchip = KVM_IRQCHIP_OFF,
                                 .slot_bytes = slot_bytes });
}

static void with_bitmap(void)
{
    use_bitmap(0);
}

/* 257 pages: slots begin in the middle of words, of clean's chunks too. */
static void with_small_slots(void)
{
    use_bitmap(257 * PAGE);
}

static void take_manual_protect(void)
{
    if (kvm_vm()->manual_protect) {
        g_assert_cmpint(
            kvm_vm_enable_cap(kvm_vm(), KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2, 0),
            >=, 0);
        kvm_vm()->manual_protect = 0;
    }
}

/* A slot size of its own, so that the VM is another one. */
static void with_legacy(void)
{
    use_bitmap(UINT64_C(48) << 20);
    take_manual_protect();
}

static void with_rings(uint32_t entries)
{
    dirty_tracking_set_ring_entries(entries);
    guest_use_vm(&(KvmVmConfig){ .kind = KVM_LOG_RING,
                                 .ring_entries = entries,
                                 .irqchip = KVM_IRQCHIP_OFF });
}

static void with_rings_of_256(void)
{
    with_rings(256);
}

static void with_rings_of_4096(void)
{
    with_rings(4096);
}

/* ---- two address spaces: each page is in two slots ---- */

static const char *smm_unusable(void)
{
    return kvm_cap(KVM_HAS_SMM) && kvm_cap(KVM_HAS_MULTI_ADDRESS_SPACE) > 1
               ? NULL
               : "the kernel's KVM has one address space, and no SMM";
}

static void with_smm(void)
{
    guest_use_vm(&(KvmVmConfig){ .kind = KVM_LOG_BITMAP,
                                 .irqchip = KVM_IRQCHIP_OFF,
                                 .slot_bytes = UINT64_C(30) << 20,
                                 .smm = true });
}

static void with_legacy_smm(void)
{
    guest_use_vm(&(KvmVmConfig){
        .kind = KVM_LOG_BITMAP, .irqchip = KVM_IRQCHIP_OFF, .smm = true });
    take_manual_protect();
}

static void with_rings_smm(void)
{
    dirty_tracking_set_ring_entries(1024);
    guest_use_vm(&(KvmVmConfig){ .kind = KVM_LOG_RING,
                                 .ring_entries = 1024,
                                 .irqchip = KVM_IRQCHIP_OFF,
                                 .slot_bytes = UINT64_C(30) << 20,
                                 .smm = true });
}

const TrackerEngine tracker_engines[] = {
    {
        .name = "bitmap",
        .ops = &kvm_bitmap_tracker,
        .configure = with_bitmap,
        .kind = OF_BITMAP,
    },
    {
        .name = "bitmap-all-set",
        .ops = &kvm_bitmap_tracker,
        .configure = with_bitmap,
        .kind = OF_BITMAP,
        .all_at_first = true,
    },
    {
        .name = "bitmap-small-slots",
        .ops = &kvm_bitmap_tracker,
        .configure = with_small_slots,
        .kind = OF_SMALL_SLOTS,
    },
    {
        .name = "bitmap-legacy",
        .ops = &kvm_bitmap_tracker,
        .configure = with_legacy,
        .kind = OF_LEGACY,
        .collect_rearms = true,
    },
    {
        .name = "pagemap",
        .ops = &dirty_tracker_pagemap,
        .configure = with_bitmap,
        .kind = OF_BITMAP,
    },
    {
        .name = "ring-256",
        .ops = &kvm_ring_tracker,
        .configure = with_rings_of_256,
        .kind = OF_RINGS_256,
        .collect_rearms = true,
        .ring_entries = 256,
        .can = CAN_ATTRIBUTE | HAS_RINGS,
    },
    {
        .name = "ring-4096",
        .ops = &kvm_ring_tracker,
        .configure = with_rings_of_4096,
        .kind = OF_RINGS_4096,
        .collect_rearms = true,
        .ring_entries = 4096,
        .can = CAN_ATTRIBUTE | HAS_RINGS,
    },
    {
        .name = "pagemap-over-rings",
        .ops = &dirty_tracker_pagemap,
        .configure = with_rings_of_4096,
        .kind = OF_RINGS_4096,
    },
    {
        .name = "bitmap-smm",
        .ops = &kvm_bitmap_tracker,
        .configure = with_smm,
        .unusable = smm_unusable,
        .kind = OF_BITMAP_SMM,
    },
    {
        .name = "bitmap-all-set-smm",
        .ops = &kvm_bitmap_tracker,
        .configure = with_smm,
        .unusable = smm_unusable,
        .kind = OF_BITMAP_SMM,
        .all_at_first = true,
    },
    {
        .name = "bitmap-legacy-smm",
        .ops = &kvm_bitmap_tracker,
        .configure = with_legacy_smm,
        .unusable = smm_unusable,
        .kind = OF_LEGACY_SMM,
        .collect_rearms = true,
    },
    {
        .name = "ring-smm",
        .ops = &kvm_ring_tracker,
        .configure = with_rings_smm,
        .unusable = smm_unusable,
        .kind = OF_RINGS_SMM,
        .collect_rearms = true,
        .ring_entries = 1024,
        .can = CAN_ATTRIBUTE | HAS_RINGS,
    },
    { .name = NULL },
};
