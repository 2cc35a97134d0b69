/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters of dirty tracking in one migration, for query-migrate.
 *
 * They are taken when it begins, and again when tracking has ended, so that
 * what ending it found counts, too; then they stay. How many rings and armed
 * groups there were, and what tracking costs, is as it was before the end.
 *
 * Threads: guarded by MigrationState.lock.
 *
 * Used by: migration.c, thread.c, info.c. Uses: dirty-counters.h.
 */
#ifndef MIGRATION_TRACKING_H
#define MIGRATION_TRACKING_H

#include "qapi/qapi-types-dirty-tracking.h"

typedef struct MigrationState MigrationState;

typedef struct MigrationTracking {
    DirtyTrackingCounters *begin; /* NULL: no migration yet */
    DirtyTrackingCounters *end;   /* its difference; NULL: not ended */
} MigrationTracking;

/* Before tracking begins. Main thread. */
void migration_tracking_begin(MigrationState *s);
/* @last: from dirty_counters_now(), before tracking ended. Takes it. */
void migration_tracking_end(MigrationState *s, DirtyTrackingCounters *last);
/* NULL: @ended, and it had not begun to track. Any thread. */
DirtyTrackingCounters *migration_tracking_info(MigrationState *s, bool ended);

#endif /* MIGRATION_TRACKING_H */
