/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters of dirty tracking, gathered: of trackers, reaper and vCPUs.
 *
 * Whatever tracker is active, all are asked: a migration may have changed it.
 *
 * Any thread; the parts are read one after the other, while tracking goes on.
 *
 * Used by: query-dirty-tracking, query-migrate. Uses: the trackers.
 */
#ifndef SYSTEM_DIRTY_COUNTERS_H
#define SYSTEM_DIRTY_COUNTERS_H

#include "qapi/qapi-types-dirty-tracking.h"

/* Since the process started; rings and groups are always there. */
DirtyTrackingCounters *dirty_counters_now(void);

/*
 * Leave out the rings, and the groups, if the engine has none and there is
 * nothing to tell of earlier.
 */
void dirty_counters_trim(DirtyTrackingCounters *c);

/*
 * What came between @begin and @now, into @now. A vCPU that is not in @begin is
 * new since. What is as of now (sizes, costs, *_now) stays; the longest times
 * become those since dirty_reaper_mark().
 */
void dirty_counters_subtract(DirtyTrackingCounters *now,
                             const DirtyTrackingCounters *begin);

#endif /* SYSTEM_DIRTY_COUNTERS_H */
