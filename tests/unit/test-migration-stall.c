/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of migration/stall.h: curves, and what is to be said of them. */
#include "qemu/osdep.h"

#include "downtime.h"
#include "stall.h"

#define STEP_NS    (STALL_SAMPLE_NS)
#define PER_WINDOW (STALL_WINDOW_NS / STALL_SAMPLE_NS)

typedef struct Run {
    MigrationStall st;
    int64_t now_ns;
    uint64_t sent;
    unsigned found; /* times it was found to be stalled */
} Run;

static void begin(Run *r)
{
    memset(r, 0, sizeof(*r));
    stall_reset(&r->st);
    r->now_ns = 1000;
}

static void sample(Run *r, uint64_t remaining, uint64_t sent)
{
    r->now_ns += STEP_NS;
    r->sent += sent;
    g_assert_true(stall_sample_is_due(&r->st, r->now_ns));
    r->found += stall_sample(&r->st, r->now_ns, remaining, r->sent);
    g_assert_false(stall_sample_is_due(&r->st, r->now_ns + 1));
}

/* It stays where it is: found once, in the second window, and told on. */
static void test_flat(void)
{
    Run r;

    begin(&r);
    for (unsigned i = 0; i < 2 * PER_WINDOW; i++) {
        sample(&r, 4000, 1000);
        g_assert_cmpuint(r.found, ==, 0);
    }
    sample(&r, 4000, 1000);
    g_assert_cmpuint(r.found, ==, 1);
    g_assert_cmpint(stall_since_ns(&r.st), !=, 0);
    g_assert_cmpuint(atomic_load(&r.st.lowest_bytes), ==, 4000 * 4096);
    for (unsigned i = 0; i < 5 * PER_WINDOW; i++) {
        sample(&r, 4000, 1000);
    }
    g_assert_cmpuint(r.found, ==, 1);
    g_assert_cmpuint(atomic_load(&r.st.stalls), ==, 1);
}

/* Terabytes: a thousandth in a window, but a good part of what was sent. */
static void test_large_and_slow(void)
{
    uint64_t remaining = UINT64_C(1) << 30;
    Run r;

    begin(&r);
    for (unsigned i = 0; i < 50 * PER_WINDOW; i++) {
        sample(&r, remaining, 100000);
        remaining -= 30000;
    }
    g_assert_cmpuint(r.found, ==, 0);
}

/* Bursts: up and down, but the low points go down. */
static void test_bursts(void)
{
    Run r;

    begin(&r);
    for (unsigned i = 0; i < 20 * PER_WINDOW; i++) {
        uint64_t base = 400000 - 4000 * i;

        sample(&r, i % PER_WINDOW == 2 ? base : base + 50000, 10000);
    }
    g_assert_cmpuint(r.found, ==, 0);
}

/* Low points that stay, however high the others. */
static void test_bursts_stalled(void)
{
    Run r;

    begin(&r);
    for (unsigned i = 0; i < 20 * PER_WINDOW; i++) {
        sample(&r, i % PER_WINDOW == 2 ? 5000 : 90000 - 100 * i, 10000);
    }
    g_assert_cmpuint(r.found, ==, 1);
}

/* Over, and again. */
static void test_again(void)
{
    uint64_t remaining = 100000;
    Run r;

    begin(&r);
    for (unsigned i = 0; i < 4 * PER_WINDOW; i++) {
        sample(&r, remaining, 1000);
    }
    g_assert_cmpuint(r.found, ==, 1);
    for (unsigned i = 0; i < 4 * PER_WINDOW; i++) {
        remaining -= 500;
        sample(&r, remaining, 1000);
    }
    g_assert_cmpint(stall_since_ns(&r.st), ==, 0);
    for (unsigned i = 0; i < 4 * PER_WINDOW; i++) {
        sample(&r, remaining, 1000);
    }
    g_assert_cmpuint(r.found, ==, 2);
    g_assert_cmpuint(atomic_load(&r.st.stalls), ==, 2);
}

/* A peer that takes nothing is a stall, too. */
static void test_nothing_sent(void)
{
    Run r;

    begin(&r);
    for (unsigned i = 0; i < 3 * PER_WINDOW; i++) {
        sample(&r, 4000, 0);
    }
    g_assert_cmpuint(r.found, ==, 1);
}

/* Dear samples come less often. */
static void test_cost(void)
{
    Run r;

    begin(&r);
    sample(&r, 1, 0);
    r.st.cost_ns = STALL_SAMPLE_NS;
    g_assert_false(stall_sample_is_due(&r.st, r.now_ns + 19 * STALL_SAMPLE_NS));
    g_assert_true(stall_sample_is_due(&r.st, r.now_ns + 20 * STALL_SAMPLE_NS));
}

/* ---- what a stall is for ---- */

#define LINK     (UINT64_C(100) << 20) /* bytes per second */
#define LIMIT_NS INT64_C(100000000)
/* Pages that such a link carries within the limit, beside the fixed parts. */
#define WITHIN 2300
#define BEYOND 2600

/* One round's end, with so many pages left. Returns whether it switches. */
static bool ends_round(Run *r, DowntimePolish *polish, uint64_t remaining)
{
    DowntimeInputs in = {
        .remaining_bytes = remaining * 4096,
        .bandwidth_bytes = LINK,
        .stop_ns = DOWNTIME_GUESS_STOP_NS,
        .device_save_ns = DOWNTIME_GUESS_SAVE_NS,
        .restore_ns = DOWNTIME_GUESS_RESTORE_NS,
    };

    sample(r, remaining, 10000);
    return downtime_decide(polish, &in, LIMIT_NS, stall_since_ns(&r->st) != 0);
}

/*
 * It goes up and down beyond the limit, is found to be stalled, and the first
 * low point within the limit is taken: it is not put off, though the pause is
 * nearly all pages, nor is a lower one waited for.
 */
static void test_switches_at_low_point(void)
{
    static const uint64_t curve[] = { 9000, 4000, BEYOND, 7000 };
    DowntimePolish polish = { 0 };
    Run r;

    begin(&r);
    for (unsigned i = 0; i < 10 * PER_WINDOW; i++) {
        g_assert_false(ends_round(&r, &polish, curve[i % G_N_ELEMENTS(curve)]));
    }
    g_assert_cmpuint(r.found, ==, 1);
    g_assert_true(ends_round(&r, &polish, WITHIN));
    g_assert_cmpuint(polish.rounds, ==, 0);
}

/* A low point that the limit does not allow is none to switch at, ever. */
static void test_never_beyond_limit(void)
{
    DowntimePolish polish = { 0 };
    Run r;

    begin(&r);
    for (unsigned i = 0; i < 50 * PER_WINDOW; i++) {
        g_assert_false(ends_round(&r, &polish, i % 3 ? 5000 : BEYOND));
    }
    g_assert_cmpuint(r.found, ==, 1);
    /* What it would have taken, for whoever sets the limit. */
    g_assert_cmpuint(atomic_load(&r.st.lowest_bytes), ==, BEYOND * 4096);
}

/* The same low point without a stall: a shorter pause is tried for. */
static void test_puts_off_without_stall(void)
{
    static const uint64_t curve[] = { 40000, 20000, 9000, WITHIN, 1200, 700 };
    DowntimePolish polish = { 0 };
    Run r;

    begin(&r);
    for (unsigned i = 0; i < G_N_ELEMENTS(curve); i++) {
        g_assert_false(ends_round(&r, &polish, curve[i]));
    }
    g_assert_cmpuint(polish.rounds, ==, 3);
    g_assert_true(ends_round(&r, &polish, 650)); /* hardly less than 700 */
    g_assert_cmpuint(r.found, ==, 0);
}

/*
 * A guest that dirties as fast as the link sends gains nothing by a further
 * round: the limit is kept, so it moves now.
 */
static void test_not_put_off_for_a_fast_writer(void)
{
    static const struct {
        uint64_t dirtied;
        bool now;
    } cases[] = {
        { 0, false },
        { LINK / 2, false },
        { LINK * 69 / 100, false },
        { LINK * 71 / 100, true },
        { LINK, true },
        { LINK * 4, true },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        DowntimePolish polish = { 0 };
        DowntimeInputs in = {
            .remaining_bytes = WITHIN * 4096,
            .bandwidth_bytes = LINK,
            .dirtied_bytes = cases[i].dirtied,
        };

        g_assert_cmpint(downtime_decide(&polish, &in, LIMIT_NS, false), ==,
                        cases[i].now);
        g_assert_cmpuint(polish.rounds, ==, !cases[i].now);
        /* Beyond the limit it never moves. */
        in.remaining_bytes = BEYOND * 4096;
        g_assert_false(downtime_decide(&polish, &in, LIMIT_NS, false));
    }
}

/* A stall that is over is forgotten: putting off begins anew. */
static void test_after_a_stall(void)
{
    DowntimePolish polish = { 0 };
    uint64_t remaining = 200000;
    Run r;

    begin(&r);
    for (unsigned i = 0; i < 3 * PER_WINDOW; i++) {
        g_assert_false(ends_round(&r, &polish, remaining));
    }
    g_assert_cmpuint(r.found, ==, 1);
    while (stall_since_ns(&r.st) || remaining > WITHIN + 8000) {
        remaining -= 8000;
        g_assert_false(ends_round(&r, &polish, remaining));
    }
    g_assert_false(ends_round(&r, &polish, WITHIN));
    g_assert_cmpuint(polish.rounds, ==, 1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/migration-stall/flat", test_flat);
    g_test_add_func("/migration-stall/large-and-slow", test_large_and_slow);
    g_test_add_func("/migration-stall/bursts", test_bursts);
    g_test_add_func("/migration-stall/bursts-stalled", test_bursts_stalled);
    g_test_add_func("/migration-stall/again", test_again);
    g_test_add_func("/migration-stall/nothing-sent", test_nothing_sent);
    g_test_add_func("/migration-stall/cost", test_cost);
    g_test_add_func("/migration-stall/switches-at-low-point",
                    test_switches_at_low_point);
    g_test_add_func("/migration-stall/never-beyond-limit",
                    test_never_beyond_limit);
    g_test_add_func("/migration-stall/puts-off-without-stall",
                    test_puts_off_without_stall);
    g_test_add_func("/migration-stall/not-put-off-for-a-fast-writer",
                    test_not_put_off_for_a_fast_writer);
    g_test_add_func("/migration-stall/after-a-stall", test_after_a_stall);
    return g_test_run();
}
