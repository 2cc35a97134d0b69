/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters behind dirty_memory_get_stats(): relaxed atomics, never reset.
 *
 * Used by: system/dirty-*.c. Uses: nothing.
 */
#ifndef SYSTEM_DIRTY_STATS_H
#define SYSTEM_DIRTY_STATS_H

typedef struct DirtyStats {
    _Atomic uint64_t tracker_collects;
    _Atomic uint64_t tracker_cleans;
    _Atomic uint64_t listener_clears;
    _Atomic uint64_t collect_ns;
    _Atomic uint64_t clean_ns;
    _Atomic uint64_t sweep_ns;
    _Atomic uint64_t wait_ns;
    _Atomic uint64_t sweep_words;
    _Atomic uint64_t merge_words;
    _Atomic uint64_t tracker_words;
    _Atomic uint64_t survey_words;
} DirtyStats;

extern DirtyStats dirty_stats;

static inline void dirty_stats_add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static inline uint64_t dirty_stats_get(_Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static inline int64_t dirty_stats_clock_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

#endif /* SYSTEM_DIRTY_STATS_H */
