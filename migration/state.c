/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Migration state: see state.h for the contract. */
#include "qemu/osdep.h"

#include "qemu/error.h"

#include "state.h"
#include "trace-migration.h"

#define SOURCE  MIGRATION_SIDE_SOURCE
#define TARGET  MIGRATION_SIDE_TARGET
#define S(name) MIGRATION_STATUS_##name

typedef struct StateMove {
    MigrationSide side;
    MigrationStatus from, to;
} StateMove;

static const StateMove legal_moves[] = {
    /* migrate: from the beginning or from any end */
    { SOURCE, S(NONE), S(SETUP) },
    { SOURCE, S(COMPLETED), S(SETUP) },
    { SOURCE, S(FAILED), S(SETUP) },
    { SOURCE, S(CANCELLED), S(SETUP) },

    /* refused before anything was begun: back to the beginning */
    { SOURCE, S(SETUP), S(NONE) },

    /* connected, header and START sections sent */
    { SOURCE, S(SETUP), S(ACTIVE) },

    /* guest stopped for the switchover, with or without waiting for
     * migrate-continue */
    { SOURCE, S(ACTIVE), S(PRE_SWITCHOVER) },
    { SOURCE, S(PRE_SWITCHOVER), S(DEVICE) },
    { SOURCE, S(ACTIVE), S(DEVICE) },

    /* all sent, and where there is a return path, loaded at the other side */
    { SOURCE, S(DEVICE), S(COMPLETED) },

    /* failures */
    { SOURCE, S(SETUP), S(FAILED) },
    { SOURCE, S(ACTIVE), S(FAILED) },
    { SOURCE, S(PRE_SWITCHOVER), S(FAILED) },
    { SOURCE, S(DEVICE), S(FAILED) },

    /* migrate_cancel; cancelled once the thread has cleaned up */
    { SOURCE, S(SETUP), S(CANCELLING) },
    { SOURCE, S(ACTIVE), S(CANCELLING) },
    { SOURCE, S(PRE_SWITCHOVER), S(CANCELLING) },
    { SOURCE, S(DEVICE), S(CANCELLING) },
    { SOURCE, S(CANCELLING), S(CANCELLED) },
    /* the cancel came when the target had said that the guest runs there */
    { SOURCE, S(CANCELLING), S(COMPLETED) },

    /* incoming: listening; could not listen; a stream arrives; its end */
    { TARGET, S(NONE), S(SETUP) },
    { TARGET, S(SETUP), S(NONE) },
    { TARGET, S(SETUP), S(ACTIVE) },
    { TARGET, S(ACTIVE), S(COMPLETED) },
    { TARGET, S(SETUP), S(FAILED) },
    { TARGET, S(ACTIVE), S(FAILED) },
};

typedef struct StateFate {
    MigrationStatus status;
    bool handed_over;
    bool target_failed;
    MigrationGuestFate fate;
} StateFate;

/*
 * Once the end of the stream was handed to the channel nobody but the target
 * knows whether it runs. Only its own word that it does not lets ours go on:
 * two copies of one guest are worse than a stopped one, which `cont` revives.
 */
static const StateFate fates[] = {
    { S(SETUP), false, false, MIGRATION_GUEST_UNTOUCHED },
    { S(SETUP), false, true, MIGRATION_GUEST_UNTOUCHED },
    { S(ACTIVE), false, false, MIGRATION_GUEST_UNTOUCHED },
    { S(ACTIVE), false, true, MIGRATION_GUEST_UNTOUCHED },
    { S(PRE_SWITCHOVER), false, false, MIGRATION_GUEST_RESUMES },
    { S(PRE_SWITCHOVER), false, true, MIGRATION_GUEST_RESUMES },
    { S(DEVICE), false, false, MIGRATION_GUEST_RESUMES },
    { S(DEVICE), false, true, MIGRATION_GUEST_RESUMES },
    { S(DEVICE), true, false, MIGRATION_GUEST_STAYS },
    { S(DEVICE), true, true, MIGRATION_GUEST_RESUMES },
};

void migration_state_init(MigrationStateVar *var, MigrationSide side,
                          MigrationStateNotify *notify)
{
    var->side = side;
    var->notify = notify;
    atomic_store(&var->status, S(NONE));
}

MigrationStatus migration_state_get(MigrationStateVar *var)
{
    return atomic_load(&var->status);
}

bool migration_state_may_move(MigrationSide side, MigrationStatus from,
                              MigrationStatus to)
{
    for (size_t i = 0; i < ARRAY_SIZE(legal_moves); i++) {
        const StateMove *m = &legal_moves[i];

        if (m->side == side && m->from == from && m->to == to) {
            return true;
        }
    }
    return false;
}

bool migration_state_move(MigrationStateVar *var, MigrationStatus from,
                          MigrationStatus to)
{
    int expected = from;

    if (!migration_state_may_move(var->side, from, to)) {
        error_report("bug: illegal migration state change from %s to %s",
                     MigrationStatus_str(from), MigrationStatus_str(to));
        abort();
    }
    if (!atomic_compare_exchange_strong(&var->status, &expected, to)) {
        return false;
    }
    trace_migrate_set_state(var->side == SOURCE ? "source" : "target",
                            MigrationStatus_str(from), MigrationStatus_str(to));
    if (var->notify) {
        var->notify(var->side, to);
    }
    return true;
}

bool migration_state_try(MigrationStateVar *var, MigrationStatus to)
{
    for (;;) {
        MigrationStatus from = migration_state_get(var);

        if (!migration_state_may_move(var->side, from, to)) {
            return false;
        }
        if (migration_state_move(var, from, to)) {
            return true;
        }
    }
}

bool migration_status_is_running(MigrationStatus status)
{
    return status == S(SETUP) || status == S(ACTIVE) ||
           status == S(PRE_SWITCHOVER) || status == S(DEVICE) ||
           status == S(CANCELLING);
}

bool migration_status_is_end(MigrationStatus status)
{
    return status == S(COMPLETED) || status == S(FAILED) ||
           status == S(CANCELLED);
}

MigrationGuestFate migration_guest_fate(MigrationStatus status,
                                        bool handed_over, bool target_failed)
{
    for (size_t i = 0; i < ARRAY_SIZE(fates); i++) {
        const StateFate *f = &fates[i];

        if (f->status == status && f->handed_over == handed_over &&
            f->target_failed == target_failed) {
            return f->fate;
        }
    }
    error_report("bug: no outcome defined for migration state %s%s",
                 MigrationStatus_str(status),
                 handed_over ? " after hand-over" : "");
    abort();
}
