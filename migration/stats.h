/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration statistics: what the source counted and timed, for its reports.
 *
 * Reset when a migration begins, readable for ever after it ended. Times are
 * nanoseconds of get_clock().
 *
 * Threads: counters are atomic; the migration thread writes them, anyone
 * reads them. Records (rounds, blackout, sync) are guarded by lock.
 *
 * Used by: ram/, thread.c, return-path.c, info.c. Uses: util.
 */
#ifndef MIGRATION_STATS_H
#define MIGRATION_STATS_H

#include "qemu/thread.h"

/* One dirty sync, and the cleaning that followed until the next one. */
typedef struct MigrationSync {
    int64_t total_ns;   /* the whole sync, as the migration thread saw it */
    int64_t collect_ns; /* trackers and listeners bring up what they saw */
    int64_t sweep_ns;   /* block bitmaps into the send set */
    int64_t clean_ns;   /* re-arming, chunk by chunk before its pages go */
    int64_t wait_ns;    /* of collect and clean: waiting for vCPUs */
    uint64_t clears;    /* clear operations that took */
    uint64_t new_pages; /* pages (host) not yet in the send set */
} MigrationSync;

/* From one sync to the next. */
typedef struct MigrationRound {
    unsigned number;          /* 1 = the first pass over all memory */
    int64_t duration_ns;      /* so far, while it goes on */
    uint64_t bytes;           /* written to the channel */
    uint64_t normal_pages;    /* pages of the stream sent with content */
    uint64_t zero_pages;      /* ... as zero records */
    uint64_t remaining_bytes; /* dirty memory at its beginning */
    MigrationSync sync;       /* the one that began it */
} MigrationRound;

#define MIGRATION_ROUNDS_KEPT 32

/* The guest's pause by part. -1: not known. */
typedef struct MigrationBlackout {
    int64_t stop_ns;            /* vCPUs and back ends */
    int64_t save_ns;            /* device state into the buffer */
    int64_t collect_ns;         /* the syncs in it */
    int64_t pages_ns;           /* the last pages */
    int64_t device_ns;          /* the buffer into the channel */
    int64_t wait_ns;            /* until the target said that it is done */
    int64_t restore_devices_ns; /* target: loading device state */
    int64_t restore_start_ns;   /* target: end of loading to running */
    int64_t total_ns;           /* stop until the source knew the end */
    uint64_t pages_bytes;       /* bytes of the last pages */
    uint64_t device_bytes;      /* bytes of device state */
} MigrationBlackout;

typedef struct MigrationStats {
    /* Atomic. */
    _Atomic int64_t start_ns, setup_end_ns, end_ns; /* 0: not yet */
    _Atomic int64_t downtime_start_ns, downtime_end_ns;
    _Atomic uint64_t transferred_bytes; /* handed to the channel */
    _Atomic uint64_t precopy_bytes;     /* of these, while the guest ran */
    _Atomic uint64_t downtime_bytes;    /* ... while it stood */
    _Atomic uint64_t normal_pages;      /* pages of the stream's size */
    _Atomic uint64_t zero_pages;
    _Atomic uint64_t hole_pages; /* not read: nothing was ever stored there */
    _Atomic uint64_t skipped_pages;    /* of these, not sent either */
    _Atomic uint64_t remaining_bytes;  /* in the send set */
    _Atomic uint64_t total_bytes;      /* of guest memory that takes part */
    _Atomic uint64_t page_bytes;       /* page size of the stream */
    _Atomic uint64_t dirty_sync_count; /* syncs while the guest ran */
    _Atomic uint64_t dirty_pages_rate; /* host pages per second, last round */
    _Atomic uint64_t pages_per_second; /* pages sent, last measurement */
    _Atomic uint64_t rate_bytes;       /* bytes per second, likewise */
    _Atomic uint64_t bandwidth_bytes;  /* the estimate */
    _Atomic int64_t expected_downtime_ns;
    _Atomic int64_t expected_fixed_ns; /* of it: everything but pages */
    _Atomic int64_t idle_ns;           /* waited for the bandwidth limit */
    _Atomic uint64_t called_off;       /* pauses (attempt.h) */
    _Atomic int64_t called_off_ns;     /* that they took of the guest's time */

    QemuMutex lock;
    /* Guarded by lock. */
    MigrationRound rounds[MIGRATION_ROUNDS_KEPT]; /* the latest ones */
    unsigned nr_rounds;                           /* begun so far */
    MigrationBlackout blackout;
    bool peer_is_own_kind;
} MigrationStats;

void migration_stats_init(MigrationStats *stats);  /* once */
void migration_stats_reset(MigrationStats *stats); /* a migration begins */
/* Nothing is known of the guest's pause (any more). Caller holds lock. */
void migration_stats_forget_blackout(MigrationStats *stats);

/* Begin round number nr_rounds + 1 with @sync's result; ends the one before. */
void migration_stats_round(MigrationStats *stats, int64_t now_ns,
                           uint64_t remaining_bytes, const MigrationSync *sync);
/* Note what cleaning has cost so far in the round under way. */
void migration_stats_cleaned(MigrationStats *stats, int64_t clean_ns,
                             int64_t wait_ns, uint64_t clears);
/* End the last round. */
void migration_stats_rounds_end(MigrationStats *stats, int64_t now_ns);
/* Copy the kept rounds, oldest first; the last one may still go on. Returns
 * how many; their numbers tell which were dropped. */
unsigned migration_stats_get_rounds(MigrationStats *stats, int64_t now_ns,
                                    MigrationRound out[MIGRATION_ROUNDS_KEPT]);

#define STAT_ADD(stats, field, n) \
    atomic_fetch_add_explicit(&(stats)->field, (n), memory_order_relaxed)
#define STAT_SET(stats, field, v) \
    atomic_store_explicit(&(stats)->field, (v), memory_order_relaxed)
#define STAT_GET(stats, field) \
    atomic_load_explicit(&(stats)->field, memory_order_relaxed)

#endif /* MIGRATION_STATS_H */
