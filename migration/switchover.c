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
#include "system/dirty-tracker.h"
#include "system/ram-block.h"

#include "globalstate.h"
#include "source.h"
#include "options.h"
#include "ram/ram.h"
#include "savevm-stream.h"
#include "stream-format.h"
#include "switchover.h"
#include "trace-migration.h"

/* Most that device state may take. */
#define DEVICE_STATE_MAX_BYTES (64 * MiB)

void switchover_lap(MigrationState *s, int64_t *part, int64_t *from_ns)
{
    int64_t now = get_clock(), span = now - *from_ns;

    trace_migration_switchover_part(span);
    QEMU_LOCK_GUARD(&s->stats.lock);
    *part = MAX(*part, 0) + span;
    *from_ns = now;
}

void switchover_note_bytes(MigrationState *s, uint64_t *field, uint64_t bytes)
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

/* A `stop` of the user's may have come while it stood still already. BQL. */
static void obey_stop(MigrationState *s)
{
    if (runstate_is_live(s->old_state) && vm_stop_is_wanted()) {
        s->old_state = RUN_STATE_PAUSED;
        global_state_store(s->old_state);
    }
}

void switchover_give_back(MigrationState *s)
{
    assert(bql_locked());
    s->guest_stopped = false;
    /* Someone else may have moved it on meanwhile (a shutdown request). */
    if (!runstate_check(RUN_STATE_FINISH_MIGRATE)) {
        return;
    }
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
    switchover_note_bytes(s, &s->stats.blackout.device_bytes, buffer->usage);
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
    switchover_lap(s, &s->stats.blackout.stop_ns, t);
    return true;
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
    switchover_lap(s, &s->stats.blackout.save_ns, t);
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
    switchover_lap(s, &b->collect_ns, t);

    before = qemu_file_transferred(s->to_dst);
    if (!dirty_tracker_intact(errp) || !qemu_ram_check_intact(errp) ||
        !send_last_pages(s, errp)) {
        return false;
    }
    switchover_note_bytes(s, &b->pages_bytes,
                          qemu_file_transferred(s->to_dst) - before);
    migration_note_transferred(s);
    switchover_lap(s, &b->pages_ns, t);

    if (!send_devices_and_end(s, buffer, errp)) {
        return false;
    }
    migration_note_transferred(s);
    switchover_lap(s, &b->device_ns, t);
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
    switchover_lap(s, &b->wait_ns, &t);
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
    result = switchover_try_pages(s, begin_ns, &t, errp);
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
    if (fate != MIGRATION_GUEST_STAYS) {
        switchover_give_back(s);
    } else if (runstate_check(RUN_STATE_FINISH_MIGRATE)) {
        runstate_set(RUN_STATE_PAUSED);
    }
}
