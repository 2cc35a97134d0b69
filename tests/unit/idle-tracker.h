/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A dirty tracker that sees nothing, for tests of who chooses and changes
 * trackers. Used by: test-dirty-choice.c, test-migration-missed.c.
 */
#ifndef TESTS_UNIT_IDLE_TRACKER_H
#define TESTS_UNIT_IDLE_TRACKER_H

#include "system/dirty-tracker.h"

static inline bool idle_ok(Error **errp)
{
    return true;
}

static inline bool idle_start(RAMBlock *const *blocks, size_t nr,
                              DirtyTrackerFirst *first, Error **errp)
{
    return true;
}

static inline void idle_stop(RAMBlock *const *blocks, size_t nr)
{
}

static inline void idle_collect(RAMBlock *rb, ram_addr_t at, ram_addr_t length,
                                unsigned flags)
{
}

static inline void idle_clean(RAMBlock *rb, ram_addr_t at, ram_addr_t length)
{
}

/* Members of a DirtyTrackerOps. */
#define IDLE_TRACKER_BUT_COLLECT(n, can)                            \
    .name = n, .probe = can, .setup = idle_ok, .start = idle_start, \
    .stop = idle_stop, .clean = idle_clean
#define IDLE_TRACKER(n, can) \
    IDLE_TRACKER_BUT_COLLECT(n, can), .collect = idle_collect

#endif /* TESTS_UNIT_IDLE_TRACKER_H */
