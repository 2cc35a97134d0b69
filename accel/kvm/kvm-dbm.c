/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracker "dbm" under KVM: there is none to be had, and this says why.
 *
 * Processors have hardware dirty state (a bit in the page tables of x86 and
 * arm64; arm64's FEAT_HDBSS, a buffer that the processor fills with the pages
 * it made dirty; FEAT_HACDBS, an engine that cleans what such a buffer lists).
 * No released kernel lets user space choose it for a VM, or see it: KVM uses it
 * inside, at most, to fill the logs that we read. When one does, it will offer
 * a capability to be enabled before vCPUs exist; kvm-caps.c is where to ask
 * for it, and this file where to use it. docs/devel/memory.rst says how the
 * hooks of a tracker fit.
 */
#include "qemu/osdep.h"

#include "kvm-trackers.h"
#include "qemu/error.h"
#include "system/dirty-pagemap.h"

static bool dbm_probe(Error **errp)
{
    error_setg(errp, "the kernel's KVM does not offer the processor's own "
                     "dirty state (no capability for it)");
    return false;
}

/* Never called: probe comes first. */
static bool dbm_setup(Error **errp)
{
    g_assert_not_reached();
}

static bool dbm_start(RAMBlock *const *blocks, size_t nr_blocks,
                      DirtyTrackerFirst *first, Error **errp)
{
    g_assert_not_reached();
}

static void dbm_stop(RAMBlock *const *blocks, size_t nr_blocks)
{
    g_assert_not_reached();
}

static void dbm_collect(RAMBlock *block, ram_addr_t start, ram_addr_t length,
                        unsigned flags)
{
    g_assert_not_reached();
}

static void dbm_clean(RAMBlock *block, ram_addr_t start, ram_addr_t length)
{
    g_assert_not_reached();
}

const DirtyTrackerOps kvm_dbm_tracker = {
    .name = "dbm",
    .probe = dbm_probe,
    .setup = dbm_setup,
    .start = dbm_start,
    .stop = dbm_stop,
    .collect = dbm_collect,
    .clean = dbm_clean,
};

/* Of a fault for KVM's own log. */
#define GUEST_FAULT 2.7

double kvm_fault_ns(void)
{
    return GUEST_FAULT * dirty_pagemap_fault_ns();
}

const DirtyTrackerOps *const kvm_trackers[] = {
    &kvm_bitmap_tracker,
    &kvm_ring_tracker,
    &dirty_tracker_pagemap,
    &kvm_dbm_tracker,
    NULL,
};
