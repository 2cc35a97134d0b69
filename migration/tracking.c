/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of dirty tracking: see tracking.h. */
#include "qemu/osdep.h"

#include "system/dirty-counters.h"
#include "system/dirty-reaper.h"

#include "source.h"

void migration_tracking_begin(MigrationState *s)
{
    MigrationTracking *t = &s->tracking;
    DirtyTrackingCounters *now = dirty_counters_now();

    dirty_reaper_mark();
    QEMU_LOCK_GUARD(&s->lock);
    g_clear_pointer(&t->begin, qapi_free_DirtyTrackingCounters);
    g_clear_pointer(&t->end, qapi_free_DirtyTrackingCounters);
    t->begin = now;
}

/* What is not counted, but as of now. */
static void keep_last(DirtyTrackingCounters *end, DirtyTrackingCounters *last)
{
    end->has_engine = last->has_engine;
    end->engine = last->engine;
    end->rings->rings = last->rings->rings;
    end->groups->armed_now = last->groups->armed_now;
    qapi_free_DirtyTrackingCost(end->cost);
    end->cost = g_steal_pointer(&last->cost);
}

void migration_tracking_end(MigrationState *s, DirtyTrackingCounters *last)
{
    DirtyTrackingCounters *end = dirty_counters_now();

    keep_last(end, last);
    qapi_free_DirtyTrackingCounters(last);
    /* Only the next migration's begin changes what we subtract. */
    dirty_counters_subtract(end, s->tracking.begin);
    dirty_counters_trim(end);
    QEMU_LOCK_GUARD(&s->lock);
    s->tracking.end = end;
}

DirtyTrackingCounters *migration_tracking_info(MigrationState *s, bool ended)
{
    /* Takes the reaper's lock: not under ours. */
    g_autoptr(DirtyTrackingCounters) now = ended ? NULL : dirty_counters_now();

    QEMU_LOCK_GUARD(&s->lock);
    if (s->tracking.end) {
        return qapi_DirtyTrackingCounters_clone(s->tracking.end);
    }
    if (!now || !s->tracking.begin) {
        return NULL;
    }
    dirty_counters_subtract(now, s->tracking.begin);
    dirty_counters_trim(now);
    return g_steal_pointer(&now);
}
