/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pagemap: a tracker that any accelerator can list. It asks the host's kernel
 * which pages of this process were written, whoever wrote them.
 *
 * Used by: accel/ (lists it), tests. Uses: dirty-tracker.h.
 */
#ifndef SYSTEM_DIRTY_PAGEMAP_H
#define SYSTEM_DIRTY_PAGEMAP_H

#include "system/dirty-tracker.h"

/*
 * Not possible where the kernel can't, or while there is memory that others
 * can write to through a mapping of their own. Which vCPU wrote is not known.
 */
extern const DirtyTrackerOps dirty_tracker_pagemap;

/* What a write that faults costs this process, measured once; 0: it can't be
 * known, since the kernel cannot do it. BQL. */
double dirty_pagemap_fault_ns(void);
/* How many times that a guest pays (1). Set by the accelerator. BQL. */
void dirty_pagemap_set_guest_factor(double times);

/* Cumulative since the process started. Any thread. */
typedef struct DirtyPagemapStats {
    uint64_t calls; /* of the kernel, for scans */
    uint64_t late;  /* pages that a clean found, and no collect before it */
} DirtyPagemapStats;
void dirty_pagemap_get_stats(DirtyPagemapStats *stats);

#endif /* SYSTEM_DIRTY_PAGEMAP_H */
