/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration state: where a migration stands, and where it may go from there.
 *
 * One table (state.c) holds every legal move of both sides; a move that is
 * not in it is a bug and aborts. A second table holds what becomes of the
 * guest when a migration is cancelled or fails, for each state: one defined
 * outcome each.
 *
 *   source   none -> setup -> active -> [pre-switchover ->] device -> completed
 *            each of setup ... device may go to failed, or to cancelling and
 *            then to cancelled; from the three ends a new one may begin
 *   target   none -> setup -> active -> completed
 *            setup, active -> failed; setup -> none (could not listen)
 *
 * A move is a compare-and-exchange: of two threads that want to leave a state
 * (a cancel and a failure, say), one wins and the other is told.
 *
 * Threads: any. Used by: migration.c, thread.c, incoming.c. Uses: qapi.
 */
#ifndef MIGRATION_STATE_H
#define MIGRATION_STATE_H

#include "qapi/qapi-types-migration.h"

typedef enum MigrationSide {
    MIGRATION_SIDE_SOURCE,
    MIGRATION_SIDE_TARGET,
} MigrationSide;

/* Called after a move, by the thread that made it. May be NULL. */
typedef void MigrationStateNotify(MigrationSide side, MigrationStatus to);

typedef struct MigrationStateVar {
    MigrationSide side;           /* constant */
    MigrationStateNotify *notify; /* constant */
    _Atomic int status;           /* MigrationStatus */
} MigrationStateVar;

void migration_state_init(MigrationStateVar *var, MigrationSide side,
                          MigrationStateNotify *notify);
MigrationStatus migration_state_get(MigrationStateVar *var);

/**
 * migration_state_move: go from @from to @to
 *
 * Aborts if the table does not allow it. Returns false, having done nothing,
 * if the state is not @from any more.
 */
bool migration_state_move(MigrationStateVar *var, MigrationStatus from,
                          MigrationStatus to);
/*
 * From whatever state it is in to @to, if the table allows that. Returns
 * whether it moved.
 */
bool migration_state_try(MigrationStateVar *var, MigrationStatus to);

bool migration_state_may_move(MigrationSide side, MigrationStatus from,
                              MigrationStatus to);

/* setup ... device, cancelling: something is under way. */
bool migration_status_is_running(MigrationStatus status);
/* completed, failed, cancelled. */
bool migration_status_is_end(MigrationStatus status);

/* What becomes of the source's guest after a cancel or a failure. */
typedef enum MigrationGuestFate {
    MIGRATION_GUEST_UNTOUCHED, /* it was never stopped: runs on */
    MIGRATION_GUEST_RESUMES,   /* was stopped by us: goes on as before */
    MIGRATION_GUEST_STAYS,     /* stopped: the target may be running it */
} MigrationGuestFate;

/**
 * migration_guest_fate: what to do with the source's guest
 *
 * @status: the state in which the cancel or failure found the migration
 * @handed_over: the last byte that the target needs to start was given to the
 *               channel
 * @target_failed: the target said that it does not run the guest
 */
MigrationGuestFate migration_guest_fate(MigrationStatus status,
                                        bool handed_over, bool target_failed);

#endif /* MIGRATION_STATE_H */
