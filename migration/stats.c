/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Migration statistics: see stats.h for the contract. */
#include "qemu/osdep.h"

#include "stats.h"

void migration_stats_init(MigrationStats *stats)
{
    memset(stats, 0, sizeof(*stats));
    qemu_mutex_init(&stats->lock);
}

void migration_stats_forget_blackout(MigrationStats *stats)
{
    stats->blackout = (MigrationBlackout){
        .stop_ns = -1,
        .save_ns = -1,
        .collect_ns = -1,
        .pages_ns = -1,
        .device_ns = -1,
        .wait_ns = -1,
        .restore_devices_ns = -1,
        .restore_start_ns = -1,
        .total_ns = -1,
    };
}

void migration_stats_reset(MigrationStats *stats)
{
    _Atomic uint64_t *const counters[] = {
        &stats->called_off,       &stats->transferred_bytes,
        &stats->precopy_bytes,    &stats->downtime_bytes,
        &stats->normal_pages,     &stats->zero_pages,
        &stats->hole_pages,       &stats->skipped_pages,
        &stats->remaining_bytes,  &stats->total_bytes,
        &stats->page_bytes,       &stats->dirty_sync_count,
        &stats->dirty_pages_rate, &stats->pages_per_second,
        &stats->rate_bytes,       &stats->bandwidth_bytes,
    };
    _Atomic int64_t *const times[] = {
        &stats->start_ns,
        &stats->setup_end_ns,
        &stats->end_ns,
        &stats->downtime_start_ns,
        &stats->downtime_end_ns,
        &stats->expected_downtime_ns,
        &stats->expected_fixed_ns,
        &stats->idle_ns,
        &stats->called_off_ns,
    };

    for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
        atomic_store_explicit(counters[i], 0, memory_order_relaxed);
    }
    for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
        atomic_store_explicit(times[i], 0, memory_order_relaxed);
    }
    QEMU_LOCK_GUARD(&stats->lock);
    memset(stats->rounds, 0, sizeof(stats->rounds));
    stats->nr_rounds = 0;
    stats->peer_is_own_kind = false;
    migration_stats_forget_blackout(stats);
}

static MigrationRound *round_slot(MigrationStats *stats, unsigned number)
{
    return &stats->rounds[(number - 1) % MIGRATION_ROUNDS_KEPT];
}

/*
 * A round's counts are kept as the counters' values at its beginning while it
 * goes on, and turned into differences when it ends.
 */
static void settle_round(MigrationStats *stats, MigrationRound *r,
                         int64_t now_ns)
{
    if (r->duration_ns > 0) {
        return;
    }
    r->duration_ns = MAX(now_ns + r->duration_ns, 1); /* was: minus begin */
    r->bytes = STAT_GET(stats, transferred_bytes) - r->bytes;
    r->normal_pages = STAT_GET(stats, normal_pages) - r->normal_pages;
    r->zero_pages = STAT_GET(stats, zero_pages) - r->zero_pages;
}

static void end_round(MigrationStats *stats, int64_t now_ns)
{
    if (stats->nr_rounds) {
        settle_round(stats, round_slot(stats, stats->nr_rounds), now_ns);
    }
}

void migration_stats_round(MigrationStats *stats, int64_t now_ns,
                           uint64_t remaining_bytes, const MigrationSync *sync)
{
    QEMU_LOCK_GUARD(&stats->lock);
    end_round(stats, now_ns);
    stats->nr_rounds++;
    *round_slot(stats, stats->nr_rounds) = (MigrationRound){
        .number = stats->nr_rounds,
        .duration_ns = -now_ns,
        .bytes = STAT_GET(stats, transferred_bytes),
        .normal_pages = STAT_GET(stats, normal_pages),
        .zero_pages = STAT_GET(stats, zero_pages),
        .remaining_bytes = remaining_bytes,
        .sync = *sync,
    };
}

void migration_stats_rounds_end(MigrationStats *stats, int64_t now_ns)
{
    QEMU_LOCK_GUARD(&stats->lock);
    end_round(stats, now_ns);
}

void migration_stats_cleaned(MigrationStats *stats, int64_t clean_ns,
                             int64_t wait_ns, uint64_t clears)
{
    QEMU_LOCK_GUARD(&stats->lock);
    if (stats->nr_rounds) {
        MigrationRound *r = round_slot(stats, stats->nr_rounds);

        r->sync.clean_ns = clean_ns;
        r->sync.wait_ns = wait_ns;
        r->sync.clears = clears;
    }
}

unsigned migration_stats_get_rounds(MigrationStats *stats, int64_t now_ns,
                                    MigrationRound out[MIGRATION_ROUNDS_KEPT])
{
    unsigned first, n;

    QEMU_LOCK_GUARD(&stats->lock);
    n = MIN(stats->nr_rounds, MIGRATION_ROUNDS_KEPT);
    first = stats->nr_rounds - n + 1;
    for (unsigned i = 0; i < n; i++) {
        out[i] = *round_slot(stats, first + i);
        settle_round(stats, &out[i], now_ns);
    }
    return n;
}
