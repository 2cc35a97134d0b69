/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stall: a migration that sends and sends, and does not get nearer to its end.
 *
 * What a switchover would have to send now is what is owed and what was
 * written since the last sync. Within rounds and from round to round that is
 * one curve; it is sampled a few times a second, from the end of the first pass
 * on. Its lowest point of one window is compared with that of the window
 * before: if it went down by less than a twentieth of what was sent in the
 * window, the migration is stalled. A guest that writes in bursts has its low
 * points in both windows; a guest of terabytes is not expected to shrink by
 * any share of itself.
 *
 * While it is stalled, the first moment at which the downtime limit would be
 * kept is taken: nothing is put off in the hope of a shorter pause.
 *
 * Threads: the migration thread; stall_since_ns() and the like by any.
 *
 * Used by: thread.c, info.c. Uses: nothing.
 */
#ifndef MIGRATION_STALL_H
#define MIGRATION_STALL_H

#define STALL_WINDOW_NS       INT64_C(2000000000)
#define STALL_SAMPLE_NS       INT64_C(500000000)
#define STALL_SAMPLE_PER_COST 20 /* at most a twentieth of the time */

typedef struct MigrationStall {
    /* Migration thread. */
    int64_t sample_ns, cost_ns; /* the last sample: when, how long */
    int64_t window_begin_ns;    /* 0: no sample yet */
    uint64_t window_sent;       /* pages sent when it began */
    uint64_t low, before;       /* lowest of this window, of the one before */
    bool has_before;

    /* Atomic. */
    _Atomic int64_t since_ns;      /* 0: not stalled */
    _Atomic int64_t needed_ns;     /* the limit that would have let it end */
    _Atomic uint64_t lowest_bytes; /* of the last whole window */
    _Atomic uint64_t stalls; /* how often it began to be, in this migration */
} MigrationStall;

void stall_reset(MigrationStall *st); /* a migration begins */

/* Is it time for a sample? */
bool stall_sample_is_due(const MigrationStall *st, int64_t now_ns);

/**
 * stall_sample: take note of a point of the curve
 *
 * @remaining_pages: owed and written since
 * @sent_pages: since the migration began
 *
 * Returns whether the migration was found to be stalled just now.
 */
bool stall_sample(MigrationStall *st, int64_t now_ns, uint64_t remaining_pages,
                  uint64_t sent_pages);

static inline int64_t stall_since_ns(const MigrationStall *st)
{
    return atomic_load_explicit(&st->since_ns, memory_order_relaxed);
}

#endif /* MIGRATION_STALL_H */
