/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query-migrate: QEMU's fields, and beside them what we measured.
 *
 * Everything is taken from counters that outlive the migration, so the answer
 * after the end is the same as at the end.
 */
#include "qemu/osdep.h"

#include "qapi/qapi-commands-migration.h"
#include "qemu/timer.h"
#include "system/dirty-auto.h"
#include "system/cpu-throttle.h"
#include "system/dirty-choice.h"
#include "system/dirty-limit.h"
#include "system/dirty-tracker.h"

#include "incoming.h"
#include "source.h"
#include "ram/ram.h"

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US 1000

static int64_t end_or_now(const MigrationStats *stats)
{
    int64_t end_ns = STAT_GET(stats, end_ns);

    return end_ns ? end_ns : get_clock();
}

static uint64_t average_pps(const MigrationStats *stats)
{
    double s = (double)(end_or_now(stats) - STAT_GET(stats, start_ns)) / 1e9;
    uint64_t pages = STAT_GET(stats, normal_pages) +
                     STAT_GET(stats, zero_pages);

    return s > 0 ? (uint64_t)((double)pages / s) : 0;
}

static double average_mbps(const MigrationStats *stats)
{
    double s = (double)(end_or_now(stats) - STAT_GET(stats, start_ns)) / 1e9;

    return s > 0 ? (double)STAT_GET(stats, transferred_bytes) * 8 / 1e6 / s : 0;
}

static MigrationRAMStats *ram_stats(const MigrationStats *stats, bool ended)
{
    MigrationRAMStats *ram = g_new0(MigrationRAMStats, 1);

    ram->page_size = STAT_GET(stats, page_bytes);
    ram->transferred = STAT_GET(stats, transferred_bytes);
    ram->remaining = STAT_GET(stats, remaining_bytes);
    ram->total = STAT_GET(stats, total_bytes);
    ram->duplicate = STAT_GET(stats, zero_pages);
    ram->normal = STAT_GET(stats, normal_pages);
    ram->normal_bytes = ram->normal * ram->page_size;
    ram->dirty_pages_rate = STAT_GET(stats, dirty_pages_rate);
    ram->mbps = ended ? average_mbps(stats)
                      : (double)STAT_GET(stats, rate_bytes) * 8 / 1e6;
    ram->dirty_sync_count = STAT_GET(stats, dirty_sync_count);
    ram->pages_per_second = STAT_GET(stats, pages_per_second);
    if (ended && !ram->pages_per_second) {
        /* Over before there was anything to measure. */
        ram->pages_per_second = average_pps(stats);
    }
    ram->precopy_bytes = STAT_GET(stats, precopy_bytes);
    ram->downtime_bytes = STAT_GET(stats, downtime_bytes);
    return ram;
}

static MigrationRoundInfo *round_info(const MigrationRound *r)
{
    MigrationRoundInfo *info = g_new0(MigrationRoundInfo, 1);
    MigrationSyncInfo *sync = g_new0(MigrationSyncInfo, 1);

    sync->total = r->sync.total_ns / NS_PER_US;
    sync->collect = r->sync.collect_ns / NS_PER_US;
    sync->sweep = r->sync.sweep_ns / NS_PER_US;
    sync->clean = r->sync.clean_ns / NS_PER_US;
    sync->wait = r->sync.wait_ns / NS_PER_US;
    sync->clears = r->sync.clears;
    sync->new_pages = r->sync.new_pages;

    info->number = r->number;
    info->duration = (double)r->duration_ns / NS_PER_MS;
    info->bytes = r->bytes;
    info->normal = r->normal_pages;
    info->duplicate = r->zero_pages;
    info->remaining = r->remaining_bytes;
    info->sync = sync;
    return info;
}

static MigrationRoundInfoList *rounds_info(MigrationStats *stats)
{
    MigrationRound rounds[MIGRATION_ROUNDS_KEPT];
    unsigned n = migration_stats_get_rounds(stats, end_or_now(stats), rounds);
    MigrationRoundInfoList *head = NULL, **tail = &head;

    for (unsigned i = 0; i < n; i++) {
        QAPI_LIST_APPEND(tail, round_info(&rounds[i]));
    }
    return head;
}

static void part_us(int64_t ns, bool *has, int64_t *us)
{
    *has = ns >= 0;
    *us = ns >= 0 ? ns / NS_PER_US : 0;
}

static MigrationBlackoutInfo *blackout_info(MigrationStats *stats)
{
    MigrationBlackoutInfo *info;
    MigrationBlackout b;

    {
        QEMU_LOCK_GUARD(&stats->lock);
        b = stats->blackout;
    }
    if (b.stop_ns < 0) {
        return NULL;
    }
    info = g_new0(MigrationBlackoutInfo, 1);
    part_us(b.stop_ns, &info->has_stop, &info->stop);
    part_us(b.save_ns, &info->has_save, &info->save);
    part_us(b.collect_ns, &info->has_collect, &info->collect);
    part_us(b.pages_ns, &info->has_pages, &info->pages);
    part_us(b.device_ns, &info->has_devices, &info->devices);
    part_us(b.wait_ns, &info->has_wait, &info->wait);
    part_us(b.restore_devices_ns, &info->has_restore_devices,
            &info->restore_devices);
    part_us(b.restore_start_ns, &info->has_restore_start, &info->restore_start);
    part_us(b.total_ns, &info->has_total, &info->total);
    info->pages_bytes = b.pages_bytes;
    info->device_bytes = b.device_bytes;
    return info;
}

static MigrationStallInfo *stall_info(const MigrationStall *st)
{
    int64_t since_ns = stall_since_ns(st);
    MigrationStallInfo *info;

    if (!since_ns) {
        return NULL;
    }
    info = g_new0(MigrationStallInfo, 1);
    info->duration = (get_clock() - since_ns) / NS_PER_MS;
    info->remaining = atomic_load(&st->lowest_bytes);
    info->downtime = atomic_load(&st->needed_ns) / NS_PER_US;
    info->count = atomic_load(&st->stalls);
    return info;
}

static MigrationPrediction *prediction_info(const MigrationStats *stats)
{
    MigrationPrediction *p = g_new0(MigrationPrediction, 1);
    double bandwidth = (double)STAT_GET(stats, bandwidth_bytes);
    double dirty = (double)STAT_GET(stats, dirty_pages_rate) * 4096;

    p->bandwidth = STAT_GET(stats, bandwidth_bytes);
    p->downtime = STAT_GET(stats, expected_downtime_ns) / NS_PER_US;
    p->downtime_fixed = STAT_GET(stats, expected_fixed_ns) / NS_PER_US;
    if (bandwidth > dirty) {
        p->has_time_left = true;
        p->time_left = (int64_t)((double)STAT_GET(stats, remaining_bytes) /
                                 (bandwidth - dirty) * 1000);
    }
    return p;
}

static MigrationThrottledVcpu *throttled_vcpu(const ThrottledVcpu *r)
{
    MigrationThrottledVcpu *v = g_new0(MigrationThrottledVcpu, 1);

    v->id = r->cpu_index;
    v->asleep = (double)r->share / CPU_THROTTLE_PCT;
    v->sleeps = r->sleeps;
    v->slept = r->slept_ns / NS_PER_MS;
    v->written = r->written_pages;
    return v;
}

static MigrationThrottleInfo *throttle_info(MigrationThrottle *t)
{
    MigrationThrottleInfo *info;
    MigrationThrottledVcpuList **tail;

    QEMU_LOCK_GUARD(&t->lock);
    if (!t->report) {
        return NULL;
    }
    info = g_new0(MigrationThrottleInfo, 1);
    info->percentage = atomic_load(&t->pct);
    info->checks = atomic_load(&t->checks);
    tail = &info->vcpus;
    for (guint i = 0; i < t->report->len; i++) {
        QAPI_LIST_APPEND(
            tail, throttled_vcpu(&g_array_index(t->report, ThrottledVcpu, i)));
    }
    return info;
}

static MigrationDetails *details(MigrationState *s, bool ended)
{
    MigrationDetails *d = g_new0(MigrationDetails, 1);

    {
        QEMU_LOCK_GUARD(&s->stats.lock);
        d->own_kind = s->stats.peer_is_own_kind;
        d->rounds = s->stats.nr_rounds;
    }
    d->idle_time = STAT_GET(&s->stats, idle_ns) / NS_PER_MS;
    d->holes = STAT_GET(&s->stats, hole_pages);
    d->skipped = STAT_GET(&s->stats, skipped_pages);
    d->recent_rounds = rounds_info(&s->stats);
    d->blackout = blackout_info(&s->stats);
    d->called_off = STAT_GET(&s->stats, called_off);
    d->called_off_time = STAT_GET(&s->stats, called_off_ns) / NS_PER_US;
    d->dirty_tracking = dirty_auto_query();
    d->throttle = throttle_info(&s->throttle);
    if (!ended) {
        d->prediction = prediction_info(&s->stats);
        d->prediction->stall = stall_info(&s->stall);
    }
    return d;
}

static void fill_times(MigrationInfo *info, const MigrationStats *stats,
                       bool ended)
{
    int64_t start_ns = STAT_GET(stats, start_ns);
    int64_t setup_end_ns = STAT_GET(stats, setup_end_ns);

    info->has_total_time = true;
    info->total_time = (end_or_now(stats) - start_ns) / NS_PER_MS;
    info->has_setup_time = true;
    info->setup_time = setup_end_ns ? (setup_end_ns - start_ns) / NS_PER_MS : 0;
    if (ended) {
        info->has_downtime = true;
        info->downtime = (STAT_GET(stats, downtime_end_ns) -
                          STAT_GET(stats, downtime_start_ns)) /
                         NS_PER_MS;
    } else {
        info->has_expected_downtime = true;
        info->expected_downtime = STAT_GET(stats, expected_downtime_ns) /
                                  NS_PER_MS;
    }
}

static void fill_error(MigrationInfo *info, QemuMutex *lock, char **text)
{
    QEMU_LOCK_GUARD(lock);
    g_free(info->error_desc);
    info->error_desc = g_strdup(*text);
}

/* While vCPUs are limited: the longest sleep, the shortest time for a ring. */
static void fill_limit(MigrationInfo *info, MigrationState *s)
{
    g_autoptr(GArray) list = dirty_limit_query();
    bool rings = !strcmp(dirty_tracker_active()->name, "ring");
    uint64_t ring_bytes = (uint64_t)dirty_tracking_ring_entries() * 4096;
    uint64_t fastest_mib = 0;
    int64_t sleep_ns = 0;

    if (!atomic_load(&s->throttle.limiting)) {
        return;
    }
    for (guint i = 0; i < list->len; i++) {
        const DirtyLimitVcpu *v = &g_array_index(list, DirtyLimitVcpu, i);

        sleep_ns = MAX(sleep_ns, v->sleep_ns);
        fastest_mib = MAX(fastest_mib, v->current_mib);
    }
    info->has_dirty_limit_throttle_time_per_round = true;
    info->dirty_limit_throttle_time_per_round = (uint64_t)sleep_ns / NS_PER_US;
    if (rings && fastest_mib) {
        info->has_dirty_limit_ring_full_time = true;
        info->dirty_limit_ring_full_time =
            (uint64_t)((double)ring_bytes * 1e6 / (double)(fastest_mib << 20));
    }
}

static void fill_source(MigrationInfo *info)
{
    MigrationState *s = migrate_get_current();
    MigrationStatus status = migration_state_get(&s->state);
    bool ended = migration_status_is_end(status);

    if (status == MIGRATION_STATUS_NONE) {
        return;
    }
    info->has_status = true;
    info->status = status;
    switch (status) {
    case MIGRATION_STATUS_SETUP:
        break;
    case MIGRATION_STATUS_CANCELLED:
        info->dirty_tracking = migration_tracking_info(s, ended);
        break;
    case MIGRATION_STATUS_FAILED:
        fill_error(info, &s->lock, &s->error_text);
        info->details = details(s, ended);
        info->dirty_tracking = migration_tracking_info(s, ended);
        break;
    default:
        info->ram = ram_stats(&s->stats, ended);
        info->details = details(s, ended);
        info->dirty_tracking = migration_tracking_info(s, ended);
        fill_times(info, &s->stats, ended);
        if (!ended) {
            info->has_remaining = true;
            info->remaining = STAT_GET(&s->stats, remaining_bytes);
            info->cpu_throttle_percentage = atomic_load(&s->throttle.pct);
            info->has_cpu_throttle_percentage = info->cpu_throttle_percentage >
                                                0;
            fill_limit(info, s);
        }
        break;
    }
}

static void fill_blocked(MigrationInfo *info)
{
    const char *device = savevm_unmigratable();

    if (device) {
        QAPI_LIST_PREPEND(
            info->blocked_reasons,
            g_strdup_printf("the device '%s' cannot be migrated", device));
        info->has_blocked_reasons = true;
    }
}

static MigrationRestoreInfo *restore_info(MigrationIncomingState *mis)
{
    MigrationRestoreInfo *r = g_new0(MigrationRestoreInfo, 1);

    {
        QEMU_LOCK_GUARD(&mis->lock);
        r->load = mis->times.load_ns / NS_PER_US;
        r->devices = mis->times.devices_ns / NS_PER_US;
        r->start = mis->times.start_ns / NS_PER_US;
    }
    ram_load_counts(&r->normal, &r->duplicate);
    r->cleared = ram_load_cleared_pages();
    return r;
}

static SocketAddressList *clone_addresses(const SocketAddressList *list)
{
    SocketAddressList *head = NULL, **tail = &head;

    for (; list; list = list->next) {
        QAPI_LIST_APPEND(tail, qapi_SocketAddress_clone(list->value));
    }
    return head;
}

static void fill_target(MigrationInfo *info)
{
    MigrationIncomingState *mis = migration_incoming_get_current();
    MigrationStatus status = migration_state_get(&mis->state);

    if (status == MIGRATION_STATUS_NONE) {
        return;
    }
    info->has_status = true;
    info->status = status;
    switch (status) {
    case MIGRATION_STATUS_SETUP:
    case MIGRATION_STATUS_ACTIVE:
        info->socket_address = clone_addresses(mis->addresses);
        info->has_socket_address = info->socket_address != NULL;
        break;
    case MIGRATION_STATUS_COMPLETED:
        info->restore = restore_info(mis);
        break;
    case MIGRATION_STATUS_FAILED:
        fill_error(info, &mis->lock, &mis->error_text);
        break;
    default:
        break;
    }
}

MigrationInfo *qmp_query_migrate(Error **errp)
{
    MigrationInfo *info = g_new0(MigrationInfo, 1);

    fill_blocked(info);
    fill_target(info);
    fill_source(info);
    return info;
}
