/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration thread: from the header to the last round, and the end of it all.
 *
 *   1  header, configuration, return path, START sections
 *   2  rounds: PART sections under the bandwidth limit, until so little is
 *      owed that a switchover could keep the downtime limit; then a sync; and
 *      if it could still do so: the switchover (switchover.c), else on. Also
 *      on if that was called off; and with another tracker if the one in use
 *      has missed writes
 *   3  clean up, settle what becomes of the guest, last state move
 */
#include "qemu/osdep.h"

#include "qapi/qapi-events-migration.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/cpus.h"
#include "system/dirty-auto.h"
#include "system/dirty-choice.h"
#include "system/dirty-counters.h"
#include "system/dirty-memory.h"
#include "system/machine-info.h"

#include "guest-loss.h"
#include "source.h"
#include "options.h"
#include "own-kind.h"
#include "ram/ram.h"
#include "savevm-stream.h"
#include "stream-format.h"
#include "trace-migration.h"

/* Rates for the reports are measured over at least this time. */
#define RATE_WINDOW_NS INT64_C(100000000)
/*
 * Between two syncs at least this share of a sync's own time is spent on
 * sending, unless nothing is owed: else a large guest near its limit would be
 * synced all the time.
 */
#define MIN_ROUND_NS       INT64_C(2000000)
#define MIN_ROUND_PER_SYNC 4
/* How long a lost channel is given to bring the peer's reason along. */
#define LAST_WORDS_MS 200

#define NS_PER_MS INT64_C(1000000)

/* A way there and back that is not worth measuring better. */
#define DRAIN_SHORT_NS INT64_C(1000000)
#define DRAIN_POLL_MS  100
/* The guest's writes in this time are not worth another sync. */
#define DECISION_FRESH_NS INT64_C(4000000)

/* What the rounds need to remember. */
typedef struct Rounds {
    bool first_pass_done;
    DowntimePolish polish;   /* rounds that a switchover was put off by */
    unsigned pings;          /* sent to the target so far */
    GuestLoss loss;          /* see there */
    int64_t sync_end_ns;     /* when the last sync ended */
    int64_t window_begin_ns; /* of the rates for reports */
    uint64_t window_bytes, window_pages;
} Rounds;

void migration_note_transferred(MigrationState *s)
{
    uint64_t now = qemu_file_transferred(s->to_dst);
    uint64_t before = STAT_GET(&s->stats, transferred_bytes);

    STAT_SET(&s->stats, transferred_bytes, now);
    if (s->guest_stopped) {
        STAT_ADD(&s->stats, downtime_bytes, now - before);
    } else {
        STAT_ADD(&s->stats, precopy_bytes, now - before);
    }
}

/* ------------------------------------------------------- 1 beginning */

/* The return path's thread: the target failed, or is gone. */
static void return_path_lost(void *opaque)
{
    MigrationState *s = opaque;

    atomic_store(&s->quit, true);
    qemu_sem_post(&s->wake);
    qemu_sem_post(&s->go_on);
    QEMU_LOCK_GUARD(&s->lock);
    if (s->to_dst) {
        qemu_file_shutdown(s->to_dst);
    }
}

static bool open_return_path(MigrationState *s, Error **errp)
{
    QEMUFile *rp;

    if (!migrate_return_path()) {
        return true;
    }
    rp = qemu_file_get_return_path(s->to_dst);
    if (!rp) {
        error_setg(errp, "capability 'return-path' needs a channel that "
                         "carries bytes both ways, this one does not");
        return false;
    }
    if (!return_path_start(&s->rp, rp, &s->stats, return_path_lost, s, errp)) {
        return false;
    }
    stream_put_command(s->to_dst, MIG_CMD_OPEN_RETURN_PATH, NULL, 0);
    stream_put_ping(s->to_dst, 1);
    stream_put_ping(s->to_dst, OWN_KIND_HELLO);
    return true;
}

static void configure_ram(MigrationState *s)
{
    ram_save_configure(&(RamConfig){
        .target_page_bits = machine_info()->target_page_bits,
        .clear_bitmap_shift = migrate_clear_bitmap_shift(),
        .sync_by_page = migrate_sync_by_page(),
        .ignore_shared = migrate_ignore_shared(),
        .detect_zero = migrate_detect_zero_pages_flag(),
        .rate_limit = &s->rate_limit,
        .stats = &s->stats,
        .quit = &s->quit,
    });
}

static bool begin_stream(MigrationState *s, Error **errp)
{
    QEMUFile *f = s->to_dst;

    s->vmdesc = stream_vmdesc_new();
    configure_ram(s);
    stream_put_header(f);
    if (!stream_put_configuration(f, s->vmdesc, errp) ||
        !open_return_path(s, errp) || !stream_save_setup(f, errp) ||
        !qemu_fflush(f, errp)) {
        return false;
    }
    migration_note_transferred(s);
    STAT_SET(&s->stats, setup_end_ns, get_clock());
    if (!migration_state_move(&s->state, MIGRATION_STATUS_SETUP,
                              MIGRATION_STATUS_ACTIVE)) {
        error_setg(errp, "cancelled");
        return false;
    }
    return true;
}

/* ----------------------------------------------------------- 2 rounds */

static int64_t known_or(int64_t known_ns, int64_t guess_ns)
{
    return known_ns ? known_ns : guess_ns;
}

DowntimeInputs migration_downtime_inputs(MigrationState *s,
                                         uint64_t remaining_bytes)
{
    int64_t told_ns = s->rp.started
                          ? (int64_t)atomic_load(&s->rp.expect_restore_us) *
                                1000
                          : 0;
    int64_t cpus_ns = (int64_t)cpu_count() * 20000;

    return (DowntimeInputs){
        .remaining_bytes = remaining_bytes,
        .bandwidth_bytes = bandwidth_bytes_per_s(&s->bandwidth),
        .max_bandwidth = migrate_max_bandwidth(),
        .avail_switchover = migrate_avail_switchover_bandwidth(),
        .pause_bandwidth = s->attempts.speed,
        .device_bytes = s->known_device_bytes,
        .stop_ns = known_or(s->known_stop_ns, DOWNTIME_GUESS_STOP_NS + cpus_ns),
        .device_save_ns = known_or(s->known_save_ns,
                                   DOWNTIME_GUESS_SAVE_NS + cpus_ns),
        .sync_ns = ram_save_state()->last_sync.total_ns,
        .restore_ns = known_or(MAX(s->known_restore_ns, told_ns),
                               DOWNTIME_GUESS_RESTORE_NS),
        .dirtied_bytes = STAT_GET(&s->stats, dirty_pages_rate) *
                         DIRTY_PAGE_SIZE,
    };
}

static void note_prediction(MigrationState *s, const DowntimeInputs *in)
{
    int64_t ns = downtime_predict_ns(in);

    STAT_SET(&s->stats, bandwidth_bytes, downtime_bandwidth(in));
    STAT_SET(&s->stats, expected_downtime_ns,
             ns == INT64_MAX ? migrate_downtime_limit_ns() : ns);
    STAT_SET(&s->stats, expected_fixed_ns, downtime_fixed_ns(in));
}

static void note_rates(MigrationState *s, Rounds *r)
{
    int64_t now = get_clock(), span = now - r->window_begin_ns;
    uint64_t bytes = STAT_GET(&s->stats, transferred_bytes);
    uint64_t pages = STAT_GET(&s->stats, normal_pages) +
                     STAT_GET(&s->stats, zero_pages);

    if (span < RATE_WINDOW_NS) {
        return;
    }
    STAT_SET(
        &s->stats, rate_bytes,
        (uint64_t)((double)(bytes - r->window_bytes) * 1e9 / (double)span));
    STAT_SET(
        &s->stats, pages_per_second,
        (uint64_t)((double)(pages - r->window_pages) * 1e9 / (double)span));
    r->window_begin_ns = now;
    r->window_bytes = bytes;
    r->window_pages = pages;
}

/* Wait for the bandwidth limit. True if something may be sent now. */
static bool wait_for_credit(MigrationState *s)
{
    int64_t begin_ns = get_clock();
    int64_t wait_ns = rate_limit_wait_ns(&s->rate_limit, begin_ns);

    if (wait_ns == 0) {
        return true;
    }
    qemu_sem_timedwait(&s->wake, MAX(wait_ns / NS_PER_MS, 1));
    STAT_ADD(&s->stats, idle_ns, get_clock() - begin_ns);
    return false;
}

/* One PART. Returns 1 if no page is owed, 0, or -1 on error. */
static int send_part(MigrationState *s, Rounds *r, Error **errp)
{
    const RamSave *rs = ram_save_state();
    int64_t begin_ns = get_clock();
    uint64_t owed = ram_save_owed_bytes(rs), skipped = rs->skipped_pages;
    uint64_t bytes = qemu_file_transferred(s->to_dst);
    int64_t clean_ns = ram_save_clean_ns();
    int done = stream_save_iterate(s->to_dst, errp);

    if (done < 0 || !qemu_fflush(s->to_dst, errp)) {
        return -1;
    }
    bandwidth_add(&s->bandwidth, qemu_file_transferred(s->to_dst) - bytes,
                  owed - ram_save_owed_bytes(rs) -
                      (rs->skipped_pages - skipped) * DIRTY_PAGE_SIZE,
                  get_clock() - begin_ns - (ram_save_clean_ns() - clean_ns));
    migration_note_transferred(s);
    note_rates(s, r);
    return done;
}

static bool sync_is_due(MigrationState *s, const Rounds *r, bool nothing_owed)
{
    int64_t last_sync_ns = ram_save_state()->last_sync.total_ns;
    int64_t limit_ns = migrate_downtime_limit_ns();
    uint64_t owed = ram_save_owed_bytes(ram_save_state());
    DowntimeInputs in = migration_downtime_inputs(s, owed);

    note_prediction(s, &in);
    if (nothing_owed) {
        return true;
    }
    if (!r->first_pass_done || r->polish.rounds ||
        !attempt_may_come(&s->attempts, get_clock())) {
        return false;
    }
    return owed <= downtime_page_budget(&in, limit_ns) &&
           get_clock() - r->sync_end_ns >
               MAX(MIN_ROUND_NS, last_sync_ns * MIN_ROUND_PER_SYNC);
}

/* Look whether it gets nearer to its end, and say so if not. */
static void look_for_stall(MigrationState *s, const Rounds *r)
{
    const RamSave *rs = ram_save_state();
    int64_t begin_ns = get_clock(), needed_ns;
    DowntimeInputs in;
    bool is_new;

    if (!r->first_pass_done || !stall_sample_is_due(&s->stall, begin_ns)) {
        return;
    }
    is_new = stall_sample(&s->stall, begin_ns,
                          rs->owed_pages + ram_pending_pages(rs),
                          rs->sent_pages);
    in = migration_downtime_inputs(s, atomic_load(&s->stall.lowest_bytes));
    needed_ns = downtime_predict_ns(&in);
    needed_ns = needed_ns == INT64_MAX ? 0 : needed_ns;
    atomic_store(&s->stall.needed_ns, needed_ns);
    s->stall.cost_ns = get_clock() - begin_ns;
    if (is_new && migrate_events()) {
        qapi_event_send_migration_stalled(
            in.remaining_bytes, downtime_bandwidth(&in),
            STAT_GET(&s->stats, dirty_pages_rate) * DIRTY_PAGE_SIZE,
            needed_ns / 1000);
    }
}

static DirtyAutoLink auto_link(MigrationState *s)
{
    uint64_t measured = bandwidth_bytes_per_s(&s->bandwidth);
    uint64_t most = migrate_max_bandwidth();

    return (DirtyAutoLink){
        .owed_pages = ram_save_state()->owed_pages,
        .chunk_pages = UINT64_C(1) << migrate_clear_bitmap_shift(),
        .bandwidth = most && (!measured || most < measured) ? most : measured,
    };
}

/* A sync, after which another tracker may be the better one. */
static void sync_round(MigrationState *s)
{
    RamSave *rs = ram_save_state();
    int64_t before_ns = rs->last_sync_ns;
    DirtyAutoLink link;

    ram_sync(rs, false);
    link = auto_link(s);
    dirty_auto_round(rs->last_sync.new_pages,
                     (double)(rs->last_sync_ns - before_ns) / 1e9, &link);
}

/* Sync; true if the switchover may come now. */
static bool sync_and_decide(MigrationState *s, Rounds *r)
{
    int64_t limit_ns = migrate_downtime_limit_ns();
    DowntimeInputs in;
    bool stalled;

    sync_round(s);
    guest_loss_round(&r->loss, ram_save_state());
    r->first_pass_done = true;
    r->sync_end_ns = get_clock();
    if (migrate_events()) {
        qapi_event_send_migration_pass(STAT_GET(&s->stats, dirty_sync_count));
    }
    in = migration_downtime_inputs(s, ram_save_owed_bytes(ram_save_state()));
    in.held_up = r->loss.share;
    note_prediction(s, &in);
    trace_migration_decide(in.remaining_bytes, downtime_bandwidth(&in),
                           downtime_predict_ns(&in), limit_ns,
                           (unsigned)(in.held_up * 100));
    if (!dirty_tracker_intact(NULL) ||
        !attempt_may_come(&s->attempts, r->sync_end_ns)) {
        return false;
    }
    stalled = stall_since_ns(&s->stall) != 0;
    if (downtime_allows(&in, limit_ns)) {
        return downtime_decide(&r->polish, &in, limit_ns, stalled);
    }
    r->polish = (DowntimePolish){ 0 };
    return s->rp.started && runstate_is_running() &&
           attempt_is_worth_it(&in, limit_ns, stalled);
}

void migration_ask_own_kind(MigrationState *s)
{
    if (!s->own_kind_asked && s->rp.started && atomic_load(&s->rp.own_kind)) {
        s->own_kind_asked = true;
        stream_put_ping(s->to_dst, OWN_KIND_ASK_TIMES);
    }
}

/* Ask the target, and wait for its answer. Notes how long that took. */
static bool ping_target(MigrationState *s, Rounds *r, int64_t *took_ns,
                        Error **errp)
{
    int64_t begin_ns = get_clock();
    uint32_t ping = DRAIN_PING + (r->pings++ & PING_COUNT_MASK);

    stream_put_ping(s->to_dst, ping);
    if (!qemu_fflush(s->to_dst, errp)) {
        return false;
    }
    while (!return_path_wait_pong(&s->rp, ping, DRAIN_POLL_MS)) {
        if (atomic_load(&s->quit)) {
            error_setg(errp, "stopped while waiting for the target");
            return false;
        }
    }
    *took_ns = get_clock() - begin_ns;
    s->rtt_ns = s->rtt_ns ? MIN(s->rtt_ns, *took_ns) : *took_ns;
    return true;
}

/*
 * Wait until the target has loaded all that was sent so far. What lies in the
 * channel's buffers, or is slow to load (zero records into memory that is not
 * there yet), would else be waited for while the guest stands still. If it
 * takes time, the way there and back is measured as well, now that it is free.
 */
static bool drain_channel(MigrationState *s, Rounds *r, Error **errp)
{
    int64_t took_ns = 0;

    return !s->rp.started ||
           (ping_target(s, r, &took_ns, errp) &&
            (took_ns < DRAIN_SHORT_NS || ping_target(s, r, &took_ns, errp)));
}

/*
 * Since the decision the guest has gone on writing: while the target was
 * waited for, or who holds the BQL, without which the guest can't be stopped.
 * If that was long, what there is to send by now decides. Nothing lies in the
 * channel then: there is no need to wait for the target again.
 */
static bool still_holds(MigrationState *s, Rounds *r)
{
    bql_lock();
    bql_unlock();
    return get_clock() - r->sync_end_ns <= DECISION_FRESH_NS ||
           sync_and_decide(s, r);
}

/* Whatever the tracker missed is sent with all the rest, once more. */
static bool mend_tracking(Error **errp)
{
    if (likely(dirty_tracker_intact(NULL))) {
        return true;
    }
    BQL_LOCK_GUARD();
    return dirty_tracking_mend(GLOBAL_DIRTY_MIGRATION, errp);
}

static bool run_rounds(MigrationState *s, Error **errp)
{
    SwitchoverResult result;
    Rounds r = {
        .sync_end_ns = get_clock(),
        .window_begin_ns = get_clock(),
    };

    guest_loss_begin(&r.loss, ram_save_state());
    migration_agree_on_holes(s);
    migration_throttle_begin(s);
    dirty_auto_begin(migrate_change_tracking());
    for (;;) {
        int done;

        if (atomic_load(&s->quit)) {
            error_setg(errp, "stopped while sending memory");
            return false;
        }
        migration_throttle_check(s, r.first_pass_done);
        look_for_stall(s, &r);
        if (!r.first_pass_done) {
            DirtyAutoLink link = auto_link(s);

            dirty_auto_look(&link);
        }
        if (!mend_tracking(errp)) {
            return false;
        }
        if (!wait_for_credit(s)) {
            note_rates(s, &r);
            continue;
        }
        migration_ask_own_kind(s);
        done = send_part(s, &r, errp);
        if (done < 0) {
            return false;
        }
        if (done == 1) {
            migration_end_first_pass(s);
        }
        if (!sync_is_due(s, &r, done == 1) || !sync_and_decide(s, &r)) {
            continue;
        }
        if (!drain_channel(s, &r, errp)) {
            return false;
        }
        if (!still_holds(s, &r)) {
            continue;
        }
        result = migration_switchover(s, errp);
        if (result != SWITCHOVER_CALLED_OFF) {
            return result == SWITCHOVER_DONE;
        }
        r.polish = (DowntimePolish){ 0 };
    }
}

/* -------------------------------------------------------------- 3 end */

/* The peer's own reason, if it gave one, is better than ours. */
static void note_failure(MigrationState *s, Error *err)
{
    bool ended = s->rp.started && return_path_wait(&s->rp, LAST_WORDS_MS);

    {
        QEMU_LOCK_GUARD(&s->lock);
        qemu_file_shutdown(s->to_dst);
    }
    if (s->rp.started) {
        Error *theirs = NULL;

        return_path_stop(&s->rp);
        if (s->rp.got_shut && s->rp.shut_value) {
            s->target_failed = true;
            error_setg(&theirs,
                       "the target could not load the guest (it said %u); its "
                       "own messages tell why",
                       s->rp.shut_value);
        } else if (ended && s->rp.err &&
                   atomic_load(&s->hand_over) != HAND_OVER_DONE) {
            /* Ended before we shut it: what came after is its consequence. */
            error_setg(&theirs, "the target was lost: %s",
                       error_get_pretty(s->rp.err));
        }
        if (theirs) {
            migration_set_error(s, theirs);
        }
        g_clear_pointer(&s->rp.err, error_free);
    }
    migration_set_error(s, err);
}

static void close_channel(MigrationState *s)
{
    QEMUFile *f;

    {
        QEMU_LOCK_GUARD(&s->lock);
        f = s->to_dst;
        s->to_dst = NULL;
    }
    qemu_fclose(f, NULL);
    g_clear_pointer(&s->ioc, qio_channel_unref);
}

/*
 * Everything but the last state move, after which the next migration may
 * begin. Returns the state to move to.
 */
static MigrationStatus wind_up(MigrationState *s, bool ok, Error *err)
{
    MigrationStatus found = migration_state_get(&s->state);
    bool cancelled = found == MIGRATION_STATUS_CANCELLING;
    DirtyTrackingCounters *tracked;

    migration_throttle_end(s);
    migration_stats_rounds_end(&s->stats, get_clock());
    dirty_auto_end();
    if (!ok) {
        note_failure(s, err);
    }
    close_channel(s);
    g_clear_pointer(&s->vmdesc, json_writer_free);
    STAT_SET(&s->stats, end_ns, get_clock());

    BQL_LOCK_GUARD();
    tracked = dirty_counters_now();
    stream_save_cleanup();
    migration_tracking_end(s, tracked);
    if (cancelled) {
        QEMU_LOCK_GUARD(&s->lock);
        found = s->cancelled_in;
        g_clear_pointer(&s->error_text, g_free);
    }
    if (ok) {
        runstate_set(RUN_STATE_POSTMIGRATE);
        return MIGRATION_STATUS_COMPLETED;
    }
    migration_settle_guest(s, found);
    return cancelled ? MIGRATION_STATUS_CANCELLED : MIGRATION_STATUS_FAILED;
}

/*
 * A cancel may come at any moment, also after the outcome is settled: then it
 * came too late to change what has become of the guest.
 */
static void move_to_end(MigrationState *s, MigrationStatus end)
{
    if (migration_state_try(&s->state, end)) {
        return;
    }
    migration_state_move(&s->state, MIGRATION_STATUS_CANCELLING,
                         MIGRATION_STATUS_CANCELLED);
}

void *migration_thread(void *opaque)
{
    MigrationState *s = opaque;
    Error *err = NULL;
    bool ok = begin_stream(s, &err) && run_rounds(s, &err);

    move_to_end(s, wind_up(s, ok, err));
    aio_bh_schedule_oneshot(migration_join_ended, s);
    return NULL;
}
