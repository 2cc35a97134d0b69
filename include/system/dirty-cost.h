/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an operation costs, from timed samples of which some are worthless.
 *
 * A thread that loses its processor in the middle of a sample measures a time
 * slice of the host, a thousand times what it meant to. So the estimate is the
 * median of the last DIRTY_COST_SAMPLES: up to half of them may be wrong by any
 * factor, and it stays between what two good ones said; a cost that changes for
 * good is followed once it has been seen in most of them, and what was measured
 * an hour ago is forgotten. A mean does neither.
 *
 * It is not the thread's own processor time that is measured, which would leave
 * the slices out: to wait for vCPUs is what a clean costs, and that clock is a
 * system call, which would cost more than a fault.
 *
 * Samples of fewer than `least` units are dropped: they are of what comes before
 * the first unit.
 *
 * Threads: any, at the same time; nobody waits. An estimate that is made
 * meanwhile may miss the newest samples.
 *
 * Used by: trackers, the reaper, dirty-auto. Uses: nothing.
 */
#ifndef SYSTEM_DIRTY_COST_H
#define SYSTEM_DIRTY_COST_H

#define DIRTY_COST_SAMPLES 15u
/* With fewer nothing is known: one of two cannot be told from an outlier. */
#define DIRTY_COST_ENOUGH 3u
/* Of what is found by a collect, or a reap: see above. */
#define DIRTY_COST_LEAST_PAGES 64u

/* Static storage is a valid one without samples. Relaxed atomics. */
typedef struct DirtyCost {
    _Atomic uint64_t nr;                     /* samples so far */
    _Atomic uint64_t ps[DIRTY_COST_SAMPLES]; /* of one unit, the last ones */
} DirtyCost;

/* @units took @ns; dropped if @units is less than @least. */
void dirty_cost_add(DirtyCost *cost, double ns, uint64_t units, uint64_t least);

/* Nanoseconds of a unit; 0: not known yet. */
double dirty_cost_ns(const DirtyCost *cost);

#endif /* SYSTEM_DIRTY_COST_H */
