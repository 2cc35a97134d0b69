/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration, source side: one migration at a time, its thread and what the
 * main thread and the migration thread share.
 *
 *   main thread, BQL                     migration thread
 *   ----------------                     ----------------
 *   migrate: state setup, connect
 *   connected: start the thread     ->   header ... rounds ... switchover
 *   migrate_cancel: state               (every wait ends by a shutdown of the
 *     cancelling, quit, shutdown    ->    channel, or by a post of a semaphore)
 *                                        cleanup under the BQL, last state move
 *   the next migrate, or exit: join  <-
 *
 * The migration thread waits only for its peer and for the semaphores here,
 * and then does not hold the BQL.
 *
 * Used by: migration.c, thread.c, switchover.c and kin, info.c.
 */
#ifndef MIGRATION_SOURCE_H
#define MIGRATION_SOURCE_H

#include "attempt.h"
#include "bandwidth.h"
#include "downtime.h"
#include "qemu/thread.h"
#include "rate-limit.h"
#include "return-path.h"
#include "stall.h"
#include "state.h"
#include "stats.h"
#include "system/runstate.h"
#include "throttle.h"
#include "tracking.h"
#include "transport.h"
#include "vmstate/json-writer.h"

/* May the target have what it needs to start the guest? */
typedef enum HandOver {
    HAND_OVER_NOT_YET,
    HAND_OVER_DENIED, /* a cancel came first */
    HAND_OVER_DONE,   /* the last bytes went to the channel */
} HandOver;

typedef struct MigrationState {
    MigrationStateVar state;    /* any thread */
    MigrationStats stats;       /* see there */
    MigrationThrottle throttle; /* see there */

    /* Main thread, BQL. */
    MigrationConnect *connect; /* not NULL while connecting */
    bool thread_exists;        /* to be joined */
    QemuThread thread;

    /* Any thread. */
    _Atomic bool quit;     /* stop soon: cancelled, or the peer is lost */
    _Atomic bool exiting;  /* the process ends: the guest stays as it is */
    _Atomic int hand_over; /* HandOver */
    QemuSemaphore wake;    /* ends the wait for the bandwidth limit */
    QemuSemaphore go_on;   /* migrate-continue, or a cancel */
    RateLimit rate_limit;

    /* Guarded by lock. */
    QemuMutex lock;
    QEMUFile *to_dst; /* also used by the migration thread without lock */
    char *error_text; /* why it failed; kept until the next one begins */
    MigrationStatus cancelled_in; /* the state a cancel found */
    MigrationTracking tracking;   /* see there */

    /* Migration thread. */
    MigrationStall stall; /* see there */
    QIOChannel *ioc;
    ReturnPath rp;
    JSONWriter *vmdesc;
    BandwidthEstimate bandwidth;
    AttemptRecord attempts;
    int64_t rtt_ns;          /* shortest answer to a PING; 0: not known */
    RunState old_state;      /* of the guest, before we stopped it */
    bool guest_stopped;      /* by us */
    bool target_failed;      /* it said so */
    bool own_kind_asked;     /* for its restore times */
    bool target_notes_pages; /* ... that come, to make the others zero */
    bool rest_is_zero;       /* the target was told so */
    uint64_t device_bytes;

    /* What an earlier migration measured, for predictions. Migration thread;
     * 0: never. */
    int64_t known_stop_ns, known_save_ns, known_restore_ns;
    uint64_t known_device_bytes;
} MigrationState;

MigrationState *migrate_get_current(void);
bool migration_is_running(void);

/* Note why it failed; the first reason stays. Takes @err. Any thread. */
void migration_set_error(MigrationState *s, Error *err);

/*
 * At exit: join a thread that may still wait for the BQL, having seen to it
 * that it waits for nothing else. BQL, given up meanwhile.
 */
void migration_join_without_bql(QemuThread *thread);
/* Main loop: join the thread if its migration has ended. */
void migration_join_ended(void *opaque);

/* thread.c */
void *migration_thread(void *opaque);
/* What a switchover now would cost. */
DowntimeInputs migration_downtime_inputs(MigrationState *s,
                                         uint64_t remaining_bytes);
void migration_note_transferred(MigrationState *s);
/* If the target has proved to be our own kind, ask it once for its times. */
void migration_ask_own_kind(MigrationState *s);

/* holes.c */
/* Before the first page: find out whether pages may be left out. */
void migration_agree_on_holes(MigrationState *s);
/* The first pass is over: what was left out is zero. Idempotent. */
void migration_end_first_pass(MigrationState *s);

/* switchover.c */
typedef enum SwitchoverResult {
    SWITCHOVER_FAILED,
    SWITCHOVER_DONE,
    SWITCHOVER_CALLED_OFF, /* the guest runs, nothing is lost: go on */
} SwitchoverResult;
/* Stop the guest, send the rest, wait for the target. */
SwitchoverResult migration_switchover(MigrationState *s, Error **errp);
/* What becomes of the guest after a failure or a cancel. BQL. */
void migration_settle_guest(MigrationState *s, MigrationStatus found);

/* incoming.c */
void migration_incoming_init(void);
void migration_incoming_exit(void); /* at exit; BQL */

#endif /* MIGRATION_SOURCE_H */
