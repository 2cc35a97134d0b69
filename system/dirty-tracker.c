/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The active tracker and its wrappers: see include/system/dirty-tracker.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/cpus.h"
#include "system/dirty-tracker.h"

#include "ram-block-internal.h"

static bool null_probe(Error **errp)
{
    return true;
}

static bool null_setup(Error **errp)
{
    return true;
}

static bool null_start(RAMBlock *const *blocks, size_t nr_blocks,
                       DirtyTrackerFirst *first, Error **errp)
{
    *first = DIRTY_TRACKER_FIRST_WRITTEN;
    return true;
}

static void null_stop(RAMBlock *const *blocks, size_t nr_blocks)
{
}

static void null_collect(RAMBlock *block, ram_addr_t start, ram_addr_t length,
                         unsigned flags)
{
}

static void null_clean(RAMBlock *block, ram_addr_t start, ram_addr_t length)
{
}

/* Nothing to do is right here, because nothing runs that it could miss. */
const DirtyTrackerOps dirty_tracker_null = {
    .name = "null",
    .probe = null_probe,
    .setup = null_setup,
    .start = null_start,
    .stop = null_stop,
    .collect = null_collect,
    .clean = null_clean,
};

/* One per process, like the accelerator that it belongs to. */
static struct {
    QemuMutex lock;    /* around start, stop, collect, clean */
    unsigned nr_armed; /* blocks; guarded by lock */
    GPtrArray *set_up; /* DirtyTrackerOps whose setup was called; BQL */
    const DirtyTrackerOps *_Atomic active;
    QemuMutex written_lock; /* around attribute and written_pages */
} tracker = {
    .lock = { PTHREAD_MUTEX_INITIALIZER },
    .written_lock = { PTHREAD_MUTEX_INITIALIZER },
    .active = &dirty_tracker_null,
};

static bool is_complete(const DirtyTrackerOps *ops)
{
    return ops->name && ops->probe && ops->setup && ops->start && ops->stop &&
           ops->collect && ops->clean;
}

bool dirty_tracker_select(const DirtyTrackerOps *ops, Error **errp)
{
    ERRP_GUARD();

    assert(is_complete(ops));
    QEMU_LOCK_GUARD(&tracker.lock);
    if (tracker.nr_armed) {
        g_autofree char *users = dirty_log_users_string();

        error_setg(errp,
                   "dirty tracking '%s' is in use (%s): cannot change it to "
                   "'%s' now",
                   dirty_tracker_active()->name, users, ops->name);
        return false;
    }
    if (!ops->probe(errp)) {
        error_prepend(errp, "dirty tracking '%s' is not possible: ", ops->name);
        return false;
    }
    if (!tracker.set_up) {
        tracker.set_up = g_ptr_array_new();
    }
    if (!g_ptr_array_find(tracker.set_up, ops, NULL)) {
        if (!ops->setup(errp)) {
            error_prepend(errp, "dirty tracking '%s': ", ops->name);
            return false;
        }
        g_ptr_array_add(tracker.set_up, (gpointer)ops);
    }
    atomic_store_explicit(&tracker.active, ops, memory_order_release);
    return true;
}

const DirtyTrackerOps *dirty_tracker_active(void)
{
    return atomic_load_explicit(&tracker.active, memory_order_acquire);
}

void dirty_tracker_drain_vcpu(CPUState *cpu)
{
    const DirtyTrackerOps *ops = dirty_tracker_active();

    /* Absent: a vCPU holds nothing back. */
    if (ops->drain_vcpu) {
        ops->drain_vcpu(cpu);
    }
}

void dirty_tracker_vcpu_exit(CPUState *cpu)
{
    const DirtyTrackerOps *ops = dirty_tracker_active();

    /* Absent: it was full for a tracker that is not active any more. */
    if (ops->vcpu_exit) {
        ops->vcpu_exit(cpu);
    }
}

bool dirty_tracker_attribute(CPUState *cpu, uint64_t *pages)
{
    const DirtyTrackerOps *ops = dirty_tracker_active();

    return ops->attribute && ops->attribute(cpu, pages);
}

bool dirty_tracker_written(CPUState *cpu, uint64_t *pages)
{
    uint64_t more = 0;

    QEMU_LOCK_GUARD(&tracker.written_lock);
    if (!dirty_tracker_attribute(cpu, &more)) {
        return false;
    }
    cpu->written_pages += more;
    *pages = cpu->written_pages;
    return true;
}

void dirty_tracker_cost(DirtyTrackerCost *cost)
{
    const DirtyTrackerOps *ops = dirty_tracker_active();

    *cost = (DirtyTrackerCost){ 0 };
    if (ops->cost) {
        ops->cost(cost);
    }
}

bool dirty_tracker_start(RAMBlock *const *blocks, size_t nr_blocks,
                         DirtyTrackerFirst *first, Error **errp)
{
    *first = DIRTY_TRACKER_FIRST_WRITTEN;
    if (nr_blocks == 0) {
        return true;
    }
    QEMU_LOCK_GUARD(&tracker.lock);
    if (!dirty_tracker_active()->start(blocks, nr_blocks, first, errp)) {
        return false;
    }
    tracker.nr_armed += nr_blocks;
    return true;
}

void dirty_tracker_stop(RAMBlock *const *blocks, size_t nr_blocks)
{
    if (nr_blocks == 0) {
        return;
    }
    QEMU_LOCK_GUARD(&tracker.lock);
    assert(tracker.nr_armed >= nr_blocks);
    tracker.nr_armed -= nr_blocks;
    dirty_tracker_active()->stop(blocks, nr_blocks);
}

bool dirty_tracker_collect(RAMBlock *block, ram_addr_t start, ram_addr_t length,
                           unsigned flags)
{
    QEMU_LOCK_GUARD(&tracker.lock);
    if (tracker.nr_armed == 0 || (block && !ram_block_is_tracked(block))) {
        return false;
    }
    dirty_tracker_active()->collect(block, start, length, flags);
    return true;
}

bool dirty_tracker_clean(RAMBlock *block, ram_addr_t start, ram_addr_t length)
{
    QEMU_LOCK_GUARD(&tracker.lock);
    if (tracker.nr_armed == 0 || !ram_block_is_tracked(block)) {
        return false;
    }
    dirty_tracker_active()->clean(block, start, length);
    return true;
}
