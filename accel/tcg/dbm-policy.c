/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a group of the DBM tracker changes its way: see dbm-policy.h. */
#include "qemu/osdep.h"

#include "dbm-policy.h"
#include "tcg-int.h"

/* In a group's byte. */
enum {
    IDLE_SHIFT = 3, /* collects in a row that found it clean */
    ONES_SHIFT = 0, /* in a row, but for those, that found one page */
    COUNT_MAX = 7,
};

/*
 * F: a fault; S: reading one entry.
 *
 * The model has no fault of a real machine, so F and S are those of arm64
 * hardware as posted with the patches that proposed this (2023; 96 vCPUs of
 * 512 MiB, 5 rounds, taken as totals): 3.8 s of faults saved by each vCPU for
 * its 655,360 pages, 3.25 s to read 62.9 million entries by one thread. So F
 * is about 5.8 us, S about 52 ns, and a group scanned costs 64 S = 3.3 us.
 *
 * fall_after: a group with one page a round costs 3.3 us of scan or 5.8 us of
 *   fault; but the scan is one thread's, in the blackout, with all vCPUs
 *   waiting, and the fault is one vCPU's: so one page is too few and two
 *   (11.6 us) are enough. Twice in a row, because a sequential writer leaves
 *   such a group wherever a round ends: in tests/bench/bench-dbm.c, 1 costs it
 *   an eighth more faults (564 instead of 501), 2 none, and more than 2 only
 *   has sparse groups scanned longer.
 * back_pages: two pages for the same reason; 4 or 8 change nothing for
 *   writers that become dense.
 * disarm_after: scanning a clean group for F / 64 S = 1.8 rounds costs what
 *   the next fault costs; whoever stops there pays at most twice what the
 *   one pays who knows the future. In bench-dbm, 1 has a group that is written
 *   every second round fault each time (2,560 faults instead of 256), never
 *   has a sequential writer scanned seven times as long in the blackout.
 */
#define DEFAULT_POLICY                                      \
    {                                                       \
        .fall_after = 2, .back_pages = 2, .disarm_after = 2 \
    }

const TcgDbmPolicy tcg_dbm_default_policy = DEFAULT_POLICY;

/* Constant while a block is armed. */
static TcgDbmPolicy policy = DEFAULT_POLICY;

void tcg_dbm_set_policy(const TcgDbmPolicy *new_policy)
{
    g_assert(new_policy->fall_after <= COUNT_MAX &&
             new_policy->disarm_after <= COUNT_MAX);
    policy = *new_policy;
}

static bool counted_enough(uint8_t *state, unsigned shift, unsigned limit)
{
    unsigned n = (*state >> shift & COUNT_MAX) + 1;

    *state = (*state & ~(COUNT_MAX << shift)) | MIN(n, COUNT_MAX) << shift;
    return limit && n >= limit;
}

uint8_t dbm_judge(uint8_t state, unsigned nr_fresh, unsigned nr_writable,
                  DbmChange *change)
{
    *change = DBM_NO_CHANGE;
    if (nr_fresh) {
        state &= ~(COUNT_MAX << IDLE_SHIFT);
    }
    if (nr_writable > 1) {
        state &= ~(COUNT_MAX << ONES_SHIFT);
    }
    if (state & DBM_GROUP_SINGLE) {
        if (nr_fresh >= policy.back_pages) {
            *change = DBM_BACK;
            return 0; /* the next fault arms it */
        }
    } else if (nr_fresh == 1 && nr_writable == 1) {
        if (counted_enough(&state, ONES_SHIFT, policy.fall_after)) {
            *change = DBM_FALLEN;
            return DBM_GROUP_SINGLE;
        }
    } else if (nr_writable == 0 && state & DBM_GROUP_ARMED) {
        if (counted_enough(&state, IDLE_SHIFT, policy.disarm_after)) {
            *change = DBM_DISARMED;
            return 0;
        }
    }
    return state;
}
