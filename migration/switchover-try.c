/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Step 2 of a switchover: the last pages, while it can be called off. */
#include "qemu/osdep.h"

#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/dirty-tracker.h"

#include "options.h"
#include "own-kind.h"
#include "ram/ram.h"
#include "savevm-stream.h"
#include "stream-format.h"
#include "switchover.h"
#include "trace-migration.h"

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

static bool is_worth_watching(MigrationState *s, const DowntimeInputs *in)
{
    int64_t limit_ns = migrate_downtime_limit_ns();

    return s->rp.started && s->old_state == RUN_STATE_RUNNING &&
           !in->avail_switchover &&
           downtime_predict_ns(in) - downtime_fixed_ns(in) >
               limit_ns / WATCH_FROM;
}

/* Look at the answers; false if the pause is better called off. */
static bool goes_well(MigrationState *s, AttemptWatch *w)
{
    uint32_t pong = atomic_load(&s->rp.last_pong);
    int64_t now_ns = get_clock();

    if ((pong & ~PING_COUNT_MASK) == ATTEMPT_PING) {
        attempt_heard(w, pong & PING_COUNT_MASK, now_ns);
    }
    return !attempt_is_lost(w, now_ns);
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

/* The guest goes on as if nothing had been. Returns the time. */
static int64_t call_off(MigrationState *s, int64_t begin_ns)
{
    int64_t now_ns;

    BQL_LOCK_GUARD();
    ram_save_resume(ram_save_state());
    switchover_give_back(s);
    now_ns = get_clock();
    /* What was sent in the pause is not owed to the limit. */
    rate_limit_forgive(&s->rate_limit, now_ns);
    STAT_ADD(&s->stats, called_off, 1);
    STAT_ADD(&s->stats, called_off_ns, now_ns - begin_ns);
    STAT_SET(&s->stats, downtime_start_ns, 0);
    QEMU_LOCK_GUARD(&s->stats.lock);
    migration_stats_forget_blackout(&s->stats);
    return now_ns;
}

static void call_off_slow(MigrationState *s, const AttemptWatch *w)
{
    int64_t now_ns = call_off(s, w->begin_ns);

    s->attempts = (AttemptRecord){
        .speed = attempt_speed(w, now_ns),
        .end_ns = now_ns,
        .cost_ns = now_ns - w->begin_ns,
        .count = s->attempts.count + 1,
    };
    trace_migration_called_off(s->attempts.cost_ns, w->loaded_bytes,
                               w->owed_bytes);
}

static void collect(MigrationState *s, int64_t *t)
{
    ram_sync(ram_save_state(), true);
    switchover_lap(s, &s->stats.blackout.collect_ns, t);
}

SwitchoverResult switchover_try_pages(MigrationState *s, int64_t begin_ns,
                                      int64_t *t, Error **errp)
{
    MigrationBlackout *b = &s->stats.blackout;
    RamSave *rs = ram_save_state();
    uint64_t before = qemu_file_transferred(s->to_dst);
    SwitchoverResult result;
    bool can_miss = dirty_tracker_can_miss();
    DowntimeInputs in;
    AttemptWatch w;

    if (can_miss) {
        collect(s, t);
        /* Now that no vCPU writes any more. The rounds will go on with another
         * tracker; after the devices were saved it would be too late. */
        if (!dirty_tracker_intact(NULL)) {
            call_off(s, begin_ns);
            return SWITCHOVER_CALLED_OFF;
        }
    }
    in = migration_downtime_inputs(s, ram_save_owed_bytes(rs));
    if (!is_worth_watching(s, &in)) {
        return SWITCHOVER_DONE;
    }
    if (!can_miss) {
        collect(s, t);
    }
    w = (AttemptWatch){
        .limit_ns = migrate_downtime_limit_ns(),
        .begin_ns = begin_ns,
        .rest_ns = downtime_fixed_ns(&in),
        .rtt_ns = s->rtt_ns,
        .send_ns = *t,
        .owed_bytes = ram_save_owed_bytes(rs),
    };
    result = send_watched(s, &w, errp);
    if (result == SWITCHOVER_CALLED_OFF) {
        call_off_slow(s, &w);
    } else if (result == SWITCHOVER_DONE) {
        switchover_note_bytes(s, &b->pages_bytes,
                              qemu_file_transferred(s->to_dst) - before);
        switchover_lap(s, &b->pages_ns, t);
    }
    return result;
}
