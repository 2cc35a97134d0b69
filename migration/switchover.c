/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Switchover: the guest's pause on the source, in the one order that loses
 * nothing (rule 11):
 *
 *   1  BQL: note the run state, stop vCPUs and back ends
 *   2  without the BQL, unless there is next to nothing to send: a sync, the
 *      last pages, watched; if they go too slowly, the guest runs on and the
 *      rounds do (attempt.h)
 *   3  BQL: [pause-before-switchover: wait for migrate-continue, without it]
 *      save all devices into a buffer in memory, of bounded size; that may
 *      still write guest memory
 *   4  the last sync: whatever was written until now
 *   5  without the BQL from here: SWITCHOVER_START, what is left of the pages,
 *      END
 *   6  the buffer
 *   7  the point of no return: unless a cancel was first, EOF and VMDESC.
 *      From then on only the target knows whether it runs the guest
 *   8  wait for SHUT, where there is a return path; else close, and see
 *
 * Nothing is written to the peer under the BQL. Each part is timed.
 */
#include "qemu/osdep.h"

#include "io/channel-buffer.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "system/ram-block.h"

#include "globalstate.h"
#include "own-kind.h"
#include "source.h"
#include "options.h"
#include "ram/ram.h"
#include "savevm-stream.h"
#include "stream-format.h"
#include "trace-migration.h"

/* Most that device state may take. */
#define DEVICE_STATE_MAX_BYTES (64 * MiB)

/* Below this share of the limit the pages are not worth watching. */
#define WATCH_FROM 16
/*
 * Pages of a piece, the first and the most. While the channel takes pieces in
 * less than half of PIECE_NS they get larger, else smaller: a write that takes
 * long can't be called off.
 */
#define PIECE_PAGES_MIN 16
#define PIECE_PAGES_MAX 2048
#define PIECE_NS        INT64_C(2000000)
/* Longest wait for an answer between two looks at the watch. */
#define WATCH_WAIT_MS 2

#define NS_PER_MS INT64_C(1000000)

/* Adds the time since *@from_ns to a part of the blackout's record. */
static void lap(MigrationState *s, int64_t *part, int64_t *from_ns)
{
    int64_t now = get_clock(), span = now - *from_ns;

    trace_migration_switchover_part(span);
    QEMU_LOCK_GUARD(&s->stats.lock);
    *part = MAX(*part, 0) + span;
    *from_ns = now;
}

static void note_bytes(MigrationState *s, uint64_t *field, uint64_t bytes)
{
    QEMU_LOCK_GUARD(&s->stats.lock);
    *field += bytes;
}

/* BQL. */
static void stop_guest(MigrationState *s, int64_t now_ns)
{
    s->old_state = runstate_get();
    if (runstate_is_live(s->old_state)) {
        STAT_SET(&s->stats, downtime_start_ns, now_ns);
    }
    vm_stop_force_state(RUN_STATE_FINISH_MIGRATE);
    /* Behind the stop, which may find that the guest goes to sleep. */
    global_state_store(s->old_state);
    s->guest_stopped = true;
    ram_save_state()->guest_stopped = true;
}

/* Someone else may have moved it on meanwhile (a shutdown request). BQL. */
static bool is_still_ours(void)
{
    return runstate_check(RUN_STATE_FINISH_MIGRATE);
}

/* A `stop` of the user's may have come while it stood still already. BQL. */
static void obey_stop(MigrationState *s)
{
    if (runstate_is_live(s->old_state) && vm_stop_is_wanted()) {
        s->old_state = RUN_STATE_PAUSED;
        global_state_store(s->old_state);
    }
}

/* The guest as it was before it was stopped. BQL. */
static void give_back(MigrationState *s)
{
    obey_stop(s);
    if (runstate_is_live(s->old_state)) {
        vm_start();
    } else {
        runstate_set(s->old_state);
    }
}

/* Until migrate-continue, or a cancel. BQL, given up meanwhile. */
static void TSA_NO_CHECK wait_for_user(MigrationState *s)
{
    bql_unlock();
    qemu_sem_wait(&s->go_on);
    bql_lock();
}

/* State to `device`, by way of `pre-switchover` if the user wants that. BQL. */
static bool enter_device_state(MigrationState *s, int64_t *t, Error **errp)
{
    MigrationStatus from = MIGRATION_STATUS_ACTIVE;
    bool ok = true;

    if (migrate_pause_before_switchover()) {
        ok = migration_state_move(&s->state, from,
                                  MIGRATION_STATUS_PRE_SWITCHOVER);
        from = MIGRATION_STATUS_PRE_SWITCHOVER;
        if (ok) {
            wait_for_user(s);
            *t = get_clock(); /* a user's pause is not ours */
        }
    }
    if (!ok || atomic_load(&s->quit) ||
        !migration_state_move(&s->state, from, MIGRATION_STATUS_DEVICE)) {
        error_setg(errp, "stopped before the switchover");
        return false;
    }
    return true;
}

/* BQL. NULL on error. */
static QIOChannelBuffer *save_devices(MigrationState *s, Error **errp)
{
    QIOChannelBuffer *buffer = qio_channel_buffer_new(MiB);
    QEMUFile *f = qemu_file_new_output(QIO_CHANNEL(buffer));
    bool ok;

    buffer->limit = DEVICE_STATE_MAX_BYTES;
    ok = stream_save_devices(f, s->vmdesc, errp);
    /* On success it was flushed, and there is nothing left that could fail. */
    qemu_fclose(f, NULL);
    if (!ok) {
        qio_channel_unref(QIO_CHANNEL(buffer));
        return NULL;
    }
    note_bytes(s, &s->stats.blackout.device_bytes, buffer->usage);
    return buffer;
}

/* Step 1. Fills *@begin_ns: when the pause began. */
static bool begin_pause(MigrationState *s, int64_t *begin_ns, int64_t *t,
                        Error **errp)
{
    BQL_LOCK_GUARD();
    if (atomic_load(&s->quit)) {
        error_setg(errp, "stopped before the switchover");
        return false;
    }
    *begin_ns = *t = get_clock();
    stop_guest(s, *t);
    lap(s, &s->stats.blackout.stop_ns, t);
    return true;
}

/* ------------------------------------------ 2 pages, while it can go back */

static bool is_worth_watching(MigrationState *s, const DowntimeInputs *in)
{
    int64_t limit_ns = (int64_t)migrate_downtime_limit_ms() * NS_PER_MS;

    return s->rp.started && s->old_state == RUN_STATE_RUNNING &&
           !in->avail_switchover &&
           downtime_predict_ns(in) - downtime_fixed_ns(in) >
               limit_ns / WATCH_FROM;
}

/* Look at the answers; false if the pause is better called off. */
static bool goes_well(MigrationState *s, AttemptWatch *w)
{
    uint32_t pong = atomic_load(&s->rp.last_pong);

    if ((pong & ~PING_COUNT_MASK) == ATTEMPT_PING) {
        attempt_heard(w, pong & PING_COUNT_MASK);
    }
    return !attempt_is_lost(w, get_clock());
}

/* What was sent and is not loaded yet counts like what is not sent. */
static bool wait_for_loads(MigrationState *s, AttemptWatch *w)
{
    int64_t worth_ns = w->limit_ns / WATCH_FROM + w->rtt_ns;

    while (!atomic_load(&s->quit) &&
           attempt_in_flight_ns(w, get_clock()) > worth_ns) {
        return_path_next_pong(&s->rp, atomic_load(&s->rp.last_pong),
                              WATCH_WAIT_MS);
        if (!goes_well(s, w)) {
            return false;
        }
    }
    return true;
}

/* Returns 1 if that was the last one, 0, or -1 on error. */
static int send_piece(MigrationState *s, AttemptWatch *w, Error **errp)
{
    RamSave *rs = ram_save_state();
    int64_t begin_ns = get_clock(), took_ns;
    int done = stream_save_iterate(s->to_dst, errp);

    if (done < 0) {
        return -1;
    }
    stream_put_ping(s->to_dst,
                    ATTEMPT_PING + attempt_mark(w, ram_save_owed_bytes(rs)));
    if (!qemu_fflush(s->to_dst, errp)) {
        return -1;
    }
    migration_note_transferred(s);
    took_ns = get_clock() - begin_ns;
    if (took_ns < PIECE_NS / 2) {
        rs->part_pages = MIN(rs->part_pages * 2, PIECE_PAGES_MAX);
    } else if (took_ns > PIECE_NS) {
        rs->part_pages = MAX(rs->part_pages / 2, PIECE_PAGES_MIN);
    }
    return done;
}

static SwitchoverResult send_watched(MigrationState *s, AttemptWatch *w,
                                     Error **errp)
{
    int done;

    ram_save_state()->part_pages = PIECE_PAGES_MIN;
    do {
        if (atomic_load(&s->quit)) {
            error_setg(errp, "stopped before the switchover");
            return SWITCHOVER_FAILED;
        }
        done = send_piece(s, w, errp);
        if (done < 0) {
            return SWITCHOVER_FAILED;
        }
        if (!goes_well(s, w)) {
            return SWITCHOVER_CALLED_OFF;
        }
    } while (!done);
    return wait_for_loads(s, w) ? SWITCHOVER_DONE : SWITCHOVER_CALLED_OFF;
}

/* The guest goes on as if nothing had been. */
static void call_off(MigrationState *s, const AttemptWatch *w)
{
    int64_t now_ns;

    BQL_LOCK_GUARD();
    ram_save_resume(ram_save_state());
    s->guest_stopped = false;
    if (is_still_ours()) {
        give_back(s);
    }
    now_ns = get_clock();
    s->attempts = (AttemptRecord){
        .speed = attempt_speed(w, now_ns),
        .end_ns = now_ns,
        .cost_ns = now_ns - w->begin_ns,
        .count = s->attempts.count + 1,
    };
    trace_migration_called_off(s->attempts.cost_ns, w->loaded_bytes,
                               w->owed_bytes);
    /* What was sent in the pause is not owed to the limit. */
    rate_limit_forgive(&s->rate_limit, now_ns);
    STAT_ADD(&s->stats, called_off, 1);
    STAT_ADD(&s->stats, called_off_ns, s->attempts.cost_ns);
    STAT_SET(&s->stats, downtime_start_ns, 0);
    QEMU_LOCK_GUARD(&s->stats.lock);
    migration_stats_forget_blackout(&s->stats);
}

/* Step 2. */
static SwitchoverResult try_pages(MigrationState *s, int64_t begin_ns,
                                  int64_t *t, Error **errp)
{
    MigrationBlackout *b = &s->stats.blackout;
    RamSave *rs = ram_save_state();
    uint64_t before = qemu_file_transferred(s->to_dst);
    SwitchoverResult result;
    DowntimeInputs in;
    AttemptWatch w;

    in = migration_downtime_inputs(s, ram_save_owed_bytes(rs));
    if (!is_worth_watching(s, &in)) {
        return SWITCHOVER_DONE;
    }
    ram_sync(rs, true);
    lap(s, &b->collect_ns, t);
    w = (AttemptWatch){
        .limit_ns = (int64_t)migrate_downtime_limit_ms() * NS_PER_MS,
        .begin_ns = begin_ns,
        .rest_ns = downtime_fixed_ns(&in),
        .rtt_ns = s->rtt_ns,
        .send_ns = *t,
        .owed_bytes = ram_save_owed_bytes(rs),
    };
    result = send_watched(s, &w, errp);
    if (result == SWITCHOVER_CALLED_OFF) {
        call_off(s, &w);
    } else if (result == SWITCHOVER_DONE) {
        note_bytes(s, &b->pages_bytes,
                   qemu_file_transferred(s->to_dst) - before);
        lap(s, &b->pages_ns, t);
    }
    return result;
}

/* ------------------------------------------------- 3 to 8: no way back */

/* Step 3. */
static QIOChannelBuffer *finish_devices(MigrationState *s, int64_t *t,
                                        Error **errp)
{
    QIOChannelBuffer *buffer;

    BQL_LOCK_GUARD();
    if (!enter_device_state(s, t, errp)) {
        return NULL;
    }
    obey_stop(s);
    buffer = save_devices(s, errp);
    lap(s, &s->stats.blackout.save_ns, t);
    return buffer;
}

static bool send_last_pages(MigrationState *s, Error **errp)
{
    migration_ask_own_kind(s);
    if (migrate_send_switchover_start()) {
        stream_put_command(s->to_dst, MIG_CMD_SWITCHOVER_START, NULL, 0);
    }
    if (!stream_save_complete(s->to_dst, errp)) {
        return false;
    }
    assert(s->rest_is_zero || !s->target_notes_pages);
    return qemu_fflush(s->to_dst, errp);
}

/* The buffer; and EOF, if no cancel came before. */
static bool send_devices_and_end(MigrationState *s, QIOChannelBuffer *buffer,
                                 Error **errp)
{
    int expected = HAND_OVER_NOT_YET;

    qemu_put_buffer(s->to_dst, buffer->data, buffer->usage);
    if (!qemu_file_check(s->to_dst, errp)) {
        return false;
    }
    if (atomic_load(&s->quit) ||
        !atomic_compare_exchange_strong(&s->hand_over, &expected,
                                        HAND_OVER_DONE)) {
        error_setg(errp, "stopped before the hand-over");
        return false;
    }
    stream_put_eof(s->to_dst);
    stream_put_vmdesc(s->to_dst, s->vmdesc);
    return qemu_fflush(s->to_dst, errp);
}

/* With a return path the target's word counts, else that all was taken. */
static bool wait_for_target(MigrationState *s, Error **errp)
{
    if (!s->rp.started) {
        if (!qio_channel_close(s->ioc, errp)) {
            /* Who does not take the stream does not run the guest. */
            s->target_failed = true;
            return false;
        }
        return true;
    }
    return_path_wait(&s->rp, -1);
    if (!s->rp.got_shut) {
        error_setg(errp,
                   "the connection was lost after all was sent, and the "
                   "target did not say whether it runs the guest (%s); the "
                   "guest stays stopped here, 'cont' lets it run",
                   s->rp.err ? error_get_pretty(s->rp.err) : "no reason");
        return false;
    }
    if (s->rp.shut_value) {
        error_setg(errp, "the target could not load the guest");
        return false;
    }
    return_path_stop(&s->rp);
    return true;
}

/* What the next migration of this process may go by. */
static void remember_times(MigrationState *s)
{
    const MigrationBlackout *b = &s->stats.blackout;

    QEMU_LOCK_GUARD(&s->stats.lock);
    s->known_stop_ns = b->stop_ns;
    s->known_save_ns = b->save_ns;
    s->known_device_bytes = b->device_bytes;
    if (b->restore_devices_ns >= 0 && b->restore_start_ns >= 0) {
        s->known_restore_ns = b->restore_devices_ns + b->restore_start_ns;
    }
}

/* Steps 4 to 7. */
static bool send_the_rest(MigrationState *s, QIOChannelBuffer *buffer,
                          int64_t *t, Error **errp)
{
    MigrationBlackout *b = &s->stats.blackout;
    uint64_t before;

    ram_sync(ram_save_state(), true);
    lap(s, &b->collect_ns, t);

    before = qemu_file_transferred(s->to_dst);
    if (!qemu_ram_check_intact(errp) || !send_last_pages(s, errp)) {
        return false;
    }
    note_bytes(s, &b->pages_bytes, qemu_file_transferred(s->to_dst) - before);
    migration_note_transferred(s);
    lap(s, &b->pages_ns, t);

    if (!send_devices_and_end(s, buffer, errp)) {
        return false;
    }
    migration_note_transferred(s);
    lap(s, &b->device_ns, t);
    return true;
}

static bool finish(MigrationState *s, int64_t begin_ns, int64_t t, Error **errp)
{
    MigrationBlackout *b = &s->stats.blackout;
    QIOChannelBuffer *buffer = finish_devices(s, &t, errp);
    bool ok;

    if (!buffer) {
        return false;
    }
    ok = send_the_rest(s, buffer, &t, errp) && wait_for_target(s, errp);
    qio_channel_unref(QIO_CHANNEL(buffer));
    if (!ok) {
        return false;
    }
    lap(s, &b->wait_ns, &t);
    remember_times(s);
    if (STAT_GET(&s->stats, downtime_start_ns)) {
        STAT_SET(&s->stats, downtime_end_ns, t);
    }
    QEMU_LOCK_GUARD(&s->stats.lock);
    b->total_ns = t - begin_ns;
    return true;
}

SwitchoverResult migration_switchover(MigrationState *s, Error **errp)
{
    SwitchoverResult result;
    int64_t begin_ns, t;

    if (!begin_pause(s, &begin_ns, &t, errp)) {
        return SWITCHOVER_FAILED;
    }
    result = try_pages(s, begin_ns, &t, errp);
    if (result == SWITCHOVER_DONE && !finish(s, begin_ns, t, errp)) {
        result = SWITCHOVER_FAILED;
    }
    return result;
}

void migration_settle_guest(MigrationState *s, MigrationStatus found)
{
    bool handed_over = atomic_load(&s->hand_over) == HAND_OVER_DONE;
    MigrationGuestFate fate = migration_guest_fate(found, handed_over,
                                                   s->target_failed);

    assert(bql_locked());
    trace_migration_fate(fate);
    if (!s->guest_stopped || atomic_load(&s->exiting)) {
        return;
    }
    if (!is_still_ours()) {
        return;
    }
    if (fate == MIGRATION_GUEST_STAYS) {
        runstate_set(RUN_STATE_PAUSED);
    } else {
        give_back(s);
    }
}
