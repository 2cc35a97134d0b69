/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dirty limit: how much memory a vCPU may write in a second.
 *
 * Works with every tracker that can tell who writes. While there is a limit,
 * a thread looks once in a period at what each vCPU wrote, re-arms tracking so
 * that the next write to a page counts again, and makes those that wrote more
 * than they may sleep (cpu-throttle.h) for as large a share of the time as would
 * have kept them within. It does not take the BQL.
 *
 * Limits come from users who do not know of each other: the monitor, and a
 * migration; a vCPU obeys the lowest.
 *
 * What counts is pages that are written at all in a period, not writes. The
 * guest pays for it with a fault for each page and period.
 *
 * Threads: BQL, unless a function says otherwise.
 *
 * Used by: monitor, migration (capability dirty-limit). Uses: cpu-throttle.h,
 * dirty-tracker.h, dirty-rate.h.
 */
#ifndef SYSTEM_DIRTY_LIMIT_H
#define SYSTEM_DIRTY_LIMIT_H

#define DIRTY_LIMIT_MAX_MIB           (INT64_MAX >> 20)
#define DIRTY_LIMIT_PERIOD_DEFAULT_MS 1000

typedef enum DirtyLimitUser {
    DIRTY_LIMIT_BY_COMMAND,
    DIRTY_LIMIT_BY_MIGRATION,
    DIRTY_LIMIT_USERS
} DirtyLimitUser;

/**
 * dirty_limit_set: limit a vCPU, or all
 *
 * @cpu_index: -1: all of them
 * @mib: MiB per second, 1...DIRTY_LIMIT_MAX_MIB
 *
 * Fails if there is no such vCPU, or the tracker cannot tell who writes.
 */
bool dirty_limit_set(DirtyLimitUser user, int64_t cpu_index, uint64_t mib,
                     Error **errp);
/* Sleepers that have no other reason wake up at once. -1: all vCPUs. */
void dirty_limit_cancel(DirtyLimitUser user, int64_t cpu_index);

/* Time between two looks, 1 ms at least; any thread. */
void dirty_limit_set_period(int ms);

/* What is known of a limited vCPU. Any thread. */
typedef struct DirtyLimitVcpu {
    int cpu_index;
    uint64_t limit_mib;   /* the lowest */
    uint64_t current_mib; /* MiB per second, in the last period */
    int64_t sleep_ns;     /* of one sleep now */
} DirtyLimitVcpu;
/* GArray of them, by index; empty: no limit. Free with g_array_unref(). */
GArray *dirty_limit_query(void);

/* What a look found: MiB of pages written in so long a time of execution. */
typedef struct DirtyLimitLook {
    double executed_s, mib;
} DirtyLimitLook;

/**
 * dirty_limit_step: how much of the time to sleep in the next period
 *
 * @last: the look before, all 0 if there was none; becomes this one
 * @share: that it slept in the last period, in millionths (cpu-throttle.h)
 * @mib: what was written in it
 * @executed_s, @seconds: how long the vCPU really executed, and how long the
 *                        period was; the host may have given time to others
 * @limit: MiB per second that may be
 *
 * A vCPU whose demand is steady is within a fifth of its limit after two steps,
 * if CPU_THROTTLE_MAX is enough for that; who writes (nearly) nothing is let go
 * by and by.
 */
uint32_t dirty_limit_step(DirtyLimitLook *last, uint32_t share, double mib,
                          double executed_s, double seconds, double limit);

#endif /* SYSTEM_DIRTY_LIMIT_H */
