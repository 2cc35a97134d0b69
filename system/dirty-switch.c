/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Another tracker while one tracks: see dirty-memory.h, dirty-tracker.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/cpus.h"
#include "system/dirty-memory.h"
#include "system/dirty-tracker.h"
#include "system/ram-block.h"

/* What vCPUs were seen to write is the old tracker's to say. */
static void note_written(void)
{
    CPUState *cpu;

    CPU_FOREACH (cpu) {
        uint64_t pages;

        dirty_tracker_written(cpu, &pages);
    }
}

/* vCPUs stand. Has the tracker in use missed anything, up to now? */
static bool has_missed(void)
{
    const DirtyTrackerOps *ops = dirty_tracker_active();

    if (!ops->intact) {
        return false;
    }
    ops->collect(NULL, 0, 0, 0);
    return !ops->intact(NULL);
}

/* What was missed will be sent with all the rest. */
static void all_is_written(void)
{
    g_autoptr(GPtrArray) blocks = qemu_ram_blocks_snapshot();

    for (guint i = 0; i < blocks->len; i++) {
        RAMBlock *rb = blocks->pdata[i];

        ram_block_set_dirty_pages(
            rb, 0, qemu_ram_get_max_length(rb) >> DIRTY_PAGE_BITS,
            1u << DIRTY_MEMORY_MIGRATION);
    }
}

static bool only_users(unsigned users, const char *name, Error **errp)
{
    g_autofree char *names = NULL;

    if (dirty_log_all_users() == users) {
        return true;
    }
    names = dirty_log_users_string();
    error_setg(errp,
               "dirty tracking is in use (%s): cannot change it to '%s' now",
               names, name);
    return false;
}

bool memory_global_dirty_log_switch(const DirtyTrackerOps *ops, unsigned users,
                                    Error **errp)
{
    bool move, ok;

    assert(bql_locked());
    if (!only_users(users, ops->name, errp)) {
        return false;
    }
    move = dirty_tracker_must_move(ops);
    if (move && !dirty_tracker_move_prepare(ops, errp)) {
        return false;
    }
    pause_all_vcpus();
    /* Somebody may have come while the BQL was not ours. */
    ok = only_users(users, ops->name, errp);
    if (ok) {
        bool missed = has_missed();

        note_written();
        ok = dirty_tracker_replace(ops, errp);
        if (ok && missed) {
            all_is_written();
        }
    }
    resume_all_vcpus();
    if (move) {
        dirty_tracker_move_finish(ops);
    }
    return ok;
}

bool dirty_tracker_change(const DirtyTrackerOps *ops, Error **errp)
{
    bool ok;

    assert(bql_locked());
    if (dirty_log_all_users() || !dirty_tracker_must_move(ops)) {
        return dirty_tracker_select(ops, errp);
    }
    if (!dirty_tracker_move_prepare(ops, errp)) {
        return false;
    }
    pause_all_vcpus();
    ok = dirty_tracker_select(ops, errp);
    resume_all_vcpus();
    dirty_tracker_move_finish(ops);
    return ok;
}
