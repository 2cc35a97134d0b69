/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracker oracle: one tracker takes the place of another while tracking is on.
 *
 * What is at stake, for a page P written at any time:
 *
 *   written, not collected     the old one's last collect publishes it
 *   collected, not cleaned     it is in the send set; the new one has it clean
 *                              and will see the next write, before the page
 *                              is read or after
 *   cleaned, write permission  start takes all permissions back
 *   a round is inside          the replacement waits for its collect or clean
 */
#include "qemu/osdep.h"

#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "tracker-oracle.h"

/* Every engine that is another tracker than @e's. */
static const TrackerEngine *other(const TrackerEngine *e, unsigned *i)
{
    const TrackerEngine *x;

    while ((x = &tracker_engines[(*i)++])->name) {
        if (x->ops != e->ops && x->kind == e->kind) {
            return x;
        }
    }
    return NULL;
}

static void replace(Oracle *o, const TrackerEngine *x)
{
    g_assert_true(dirty_tracker_replace(x->ops, &error_abort));
    g_assert_true(dirty_tracker_active() == x->ops);
    o->e = x;
}

static void each_state_of_a_page(const TrackerEngine *e)
{
    const TrackerEngine *x;
    unsigned i = 0;

    while ((x = other(e, &i))) {
        const uint64_t uncollected = TEST_FIRST + 1;
        const uint64_t collected = TEST_FIRST + 130;
        const uint64_t cleaned = TEST_FIRST + 260;
        const uint64_t again[] = { uncollected, collected, cleaned };
        Oracle o;

        oracle_begin(&o, e);
        guest_store_page(va, cleaned, 1);
        oracle_round(&o);
        guest_store_page(va, collected, 1);
        g_assert_cmpuint(oracle_take(&o), ==, 1);
        guest_store_page(va, uncollected, 1);
        replace(&o, x);
        g_assert_cmpuint(oracle_take(&o), ==, 1);
        oracle_expect(&o, again, 2);

        /* Not sent yet, and written again: exactly once more. */
        guest_store_pages(va, again, 3, 2);
        oracle_send(&o);
        guest_store_pages(vb, again + 1, 2, 3);
        oracle_take(&o);
        g_assert_true(test_bit(collected, o.bmap));
        g_assert_true(test_bit(cleaned, o.bmap));
        oracle_send(&o);
        g_assert_cmpuint(oracle_take(&o), ==, 0);

        /* And back, with nothing pending. */
        replace(&o, e);
        g_assert_cmpuint(oracle_take(&o), ==, 0);
        guest_store_pages(va, again, 3, 4);
        g_assert_cmpuint(oracle_take(&o), ==, 3);
        oracle_expect(&o, again, 3);
        oracle_check_current(&o);
        oracle_end(&o);
    }
}

/* A writer that is stopped between two of its blocks, as vCPUs are. */
static void under_a_writer(const TrackerEngine *e)
{
    const TrackerEngine *x;
    uint64_t pages[200];
    unsigned i = 0;

    for (unsigned k = 0; k < ARRAY_SIZE(pages); k++) {
        pages[k] = TEST_FIRST + 3 * k;
    }
    while ((x = other(e, &i))) {
        Oracle o;

        oracle_begin(&o, e);
        for (unsigned round = 0; round < 20; round++) {
            GuestThread t;

            guest_start_loop(&t, va, pages, ARRAY_SIZE(pages));
            wait_content(&o, pages[199], oracle_content(&o, pages[0]));
            oracle_take(&o);
            if (round % 3) {
                oracle_send(&o);
            }
            guest_stop(&t);
            replace(&o, o.e == e ? x : e);
            if (round % 2) {
                oracle_check_current(&o);
            }
        }
        oracle_check_current(&o);
        oracle_end(&o);
    }
}

static void let_go(void)
{
    hold_release();
}

/* A round is held inside the old tracker: the replacement waits for it. */
static void held_round(const TrackerEngine *e, const TrackerEngine *x,
                       DirtyTrackerPoint point)
{
    void (*before)(void) = dirty_tracker_wait_hook;
    const uint64_t pages[] = { TEST_FIRST + 500, TEST_FIRST + 600 };
    RoundThread r;
    Oracle o;

    oracle_begin(&o, e);
    guest_store_pages(va, pages, 2, 1);
    hold_round_at(e, point);
    round_start(&r, &o);
    hold_wait();
    /* Written while the round is where it is. */
    guest_store_page(vb, pages[1], 2);
    /* It goes on only because the replacement waits for it. */
    dirty_tracker_wait_hook = let_go;
    replace(&o, x);
    dirty_tracker_wait_hook = before;
    round_join(&r);
    guest_store_page(va, pages[0], 3);
    oracle_check_current(&o);
    oracle_end(&o);
}

static void while_a_round_is_inside(const TrackerEngine *e)
{
    static const DirtyTrackerPoint points[] = { DIRTY_TRACKER_COLLECTED,
                                                DIRTY_TRACKER_CLEAN_TAKEN,
                                                DIRTY_TRACKER_CLEANED };
    const TrackerEngine *x;
    unsigned i = 0;

    while ((x = other(e, &i))) {
        /* Rings have one point, the reaper's. */
        unsigned n = e->ring_entries ? 1 : ARRAY_SIZE(points);

        for (unsigned k = 0; k < n; k++) {
            held_round(e, x, points[k]);
        }
    }
}

const Scenario replace_scenarios[] = {
    { "replaced/each-state-of-a-page", each_state_of_a_page },
    { "replaced/under-a-writer", under_a_writer },
    { "replaced/while-a-round-is-inside", while_a_round_is_inside },
    { .name = NULL },
};
