/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Migration state: the tables of legal moves and of outcomes. */
#include "qemu/osdep.h"

#include "../../migration/state.h"

#define S(name) MIGRATION_STATUS_##name

/*
 * Whoever adds a status must say here whether our source, our target, or
 * neither can be in it.
 */
static void test_every_status_classified(void)
{
    unsigned used = 0, unused = 0;

    for (int st = 0; st < MIGRATION_STATUS__MAX; st++) {
        switch ((MigrationStatus)st) {
        case S(NONE):
        case S(SETUP):
        case S(CANCELLING):
        case S(CANCELLED):
        case S(ACTIVE):
        case S(PRE_SWITCHOVER):
        case S(DEVICE):
        case S(COMPLETED):
        case S(FAILED):
            used++;
            break;
        case S(POSTCOPY_DEVICE):
        case S(POSTCOPY_ACTIVE):
        case S(POSTCOPY_PAUSED):
        case S(POSTCOPY_RECOVER_SETUP):
        case S(POSTCOPY_RECOVER):
        case S(FAILING):
        case S(COLO):
        case S(WAIT_UNPLUG):
            unused++;
            for (int to = 0; to < MIGRATION_STATUS__MAX; to++) {
                g_assert_false(
                    migration_state_may_move(MIGRATION_SIDE_SOURCE, to, st));
                g_assert_false(
                    migration_state_may_move(MIGRATION_SIDE_TARGET, to, st));
            }
            break;
        default:
            g_assert_not_reached();
        }
    }
    g_assert_cmpuint(used + unused, ==, MIGRATION_STATUS__MAX);
}

/* Whatever is under way can fail and be cancelled; each end can be left. */
static void test_every_running_state_can_end(void)
{
    for (int st = 0; st < MIGRATION_STATUS__MAX; st++) {
        bool running = migration_status_is_running(st);

        if (running && st != S(CANCELLING)) {
            g_assert_true(
                migration_state_may_move(MIGRATION_SIDE_SOURCE, st, S(FAILED)));
            g_assert_true(migration_state_may_move(MIGRATION_SIDE_SOURCE, st,
                                                   S(CANCELLING)));
        }
        if (migration_status_is_end(st)) {
            g_assert_false(running);
            g_assert_true(
                migration_state_may_move(MIGRATION_SIDE_SOURCE, st, S(SETUP)));
            g_assert_false(migration_state_may_move(MIGRATION_SIDE_SOURCE, st,
                                                    S(CANCELLING)));
        }
    }
    /* A target lives once. */
    g_assert_false(
        migration_state_may_move(MIGRATION_SIDE_TARGET, S(FAILED), S(SETUP)));
}

static int nr_told;
static MigrationStatus last_told;

static void note(MigrationSide side, MigrationStatus to)
{
    nr_told++;
    last_told = to;
}

static void test_one_of_two_wins(void)
{
    MigrationStateVar var;

    nr_told = 0;
    migration_state_init(&var, MIGRATION_SIDE_SOURCE, note);
    g_assert_true(migration_state_move(&var, S(NONE), S(SETUP)));
    g_assert_true(migration_state_move(&var, S(SETUP), S(ACTIVE)));
    /* The thread fails, the user cancels: the second is told that it lost. */
    g_assert_true(migration_state_move(&var, S(ACTIVE), S(CANCELLING)));
    g_assert_false(migration_state_move(&var, S(ACTIVE), S(FAILED)));
    g_assert_false(migration_state_try(&var, S(FAILED)));
    g_assert_cmpint(migration_state_get(&var), ==, S(CANCELLING));
    g_assert_cmpint(nr_told, ==, 3);
    g_assert_cmpint(last_told, ==, S(CANCELLING));
}

static void test_illegal_move_aborts(void)
{
    if (g_test_subprocess()) {
        MigrationStateVar var;

        migration_state_init(&var, MIGRATION_SIDE_SOURCE, NULL);
        migration_state_move(&var, S(NONE), S(COMPLETED));
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*none to completed*");
}

/* Never two running copies, and never a stopped one without need. */
static void test_guest_fate(void)
{
    static const MigrationStatus states[] = { S(SETUP), S(ACTIVE),
                                              S(PRE_SWITCHOVER), S(DEVICE) };

    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        MigrationGuestFate fate = migration_guest_fate(states[i], false, false);

        g_assert_cmpint(fate, ==,
                        i < 2 ? MIGRATION_GUEST_UNTOUCHED
                              : MIGRATION_GUEST_RESUMES);
        g_assert_cmpint(migration_guest_fate(states[i], false, true), ==, fate);
    }
    g_assert_cmpint(migration_guest_fate(S(DEVICE), true, false), ==,
                    MIGRATION_GUEST_STAYS);
    g_assert_cmpint(migration_guest_fate(S(DEVICE), true, true), ==,
                    MIGRATION_GUEST_RESUMES);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/migration-state/every-status-classified",
                    test_every_status_classified);
    g_test_add_func("/migration-state/every-running-state-can-end",
                    test_every_running_state_can_end);
    g_test_add_func("/migration-state/one-of-two-wins", test_one_of_two_wins);
    g_test_add_func("/migration-state/illegal-move-aborts",
                    test_illegal_move_aborts);
    g_test_add_func("/migration-state/guest-fate", test_guest_fate);
    return g_test_run();
}
