/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of include/system/dirty-auto.h: what is predicted is counted, and what
 * is chosen follows from prices that the test sets. No clock.
 */
#include "qemu/osdep.h"

#include <math.h>

#include "system/dirty-auto.h"
#include "system/dirty-cost.h"

#define GIB_PAGES 262144
#define BITMAP    DIRTY_AUTO_BITMAP
#define RING      DIRTY_AUTO_RING
#define DBM       DIRTY_AUTO_DBM

static void assert_near(double value, double wanted, double share)
{
    if (fabs(value - wanted) > fabs(wanted) * share) {
        g_error("%g is not %g", value, wanted);
    }
}

/* ---- curves ---- */

static void test_fit_finds_the_curve(void)
{
    static const DirtyAutoCurve rows[] = {
        { 1000, 20000 },
        { 5000, 100000 },
        { 100000, 500000 },
        { 300, 3000 },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
        DirtyAutoCurve c = dirty_auto_fit(dirty_auto_at(&rows[i], 0.02), 0.02,
                                          dirty_auto_at(&rows[i], 0.07), 0.07,
                                          1e9);

        assert_near(c.limit, rows[i].limit, 0.01);
        assert_near(c.rate_per_s, rows[i].rate_per_s, 0.01);
        assert_near(dirty_auto_at(&c, 1), dirty_auto_at(&rows[i], 1), 0.01);
    }
}

/* A stream meets no page twice; a hot set has no more than was seen. */
static void test_fit_at_the_ends(void)
{
    DirtyAutoCurve stream = dirty_auto_fit(100, 0.01, 200, 0.02, 65536);
    DirtyAutoCurve hot = dirty_auto_fit(500, 0.01, 500, 0.02, 65536);
    DirtyAutoCurve idle = dirty_auto_fit(0, 0.01, 0, 0.02, 65536);
    DirtyAutoCurve late = dirty_auto_fit(0, 0.01, 10, 0.02, 65536);
    DirtyAutoCurve full = dirty_auto_fit(900, 0.01, 1000, 0.02, 950);

    g_assert_cmpfloat(stream.limit, ==, 65536);
    assert_near(stream.rate_per_s, 10000, 0.001);
    assert_near(hot.limit, 500, 0.03);
    g_assert_cmpfloat(hot.rate_per_s, >=, 50000);
    g_assert_cmpfloat(dirty_auto_at(&idle, 100), ==, 0);
    assert_near(dirty_auto_at(&late, 0.02), 10, 0.001);
    g_assert_cmpfloat(full.limit, <=, 950);
}

static void test_refit(void)
{
    DirtyAutoCurve c = { 1000, 20000 }, slower = { 1000, 5000 };

    dirty_auto_refit(&c, dirty_auto_at(&slower, 0.1), 0.1);
    assert_near(c.rate_per_s, 5000, 0.001);
    dirty_auto_refit(&c, 3000, 0.1); /* there were more than one thought */
    g_assert_cmpfloat(c.limit, >=, 3000);
    dirty_auto_refit(&c, 0, 0.1);
    g_assert_cmpfloat(dirty_auto_at(&c, 1), ==, 0);
    dirty_auto_refit(&c, 5, 0); /* no time passed: nothing is learnt */
    g_assert_cmpfloat(dirty_auto_at(&c, 1), ==, 0);
}

/* ---- decisions ---- */

/* A host on which a fault is dear, as with hardware's page tables. */
static const DirtyTrackerCost dear_faults[DIRTY_AUTO_NR] = {
    [BITMAP] = { .collect_ns_per_page = 10,
                 .scan_ns_per_gib = 20000,
                 .clean_ns_per_range = 5000,
                 .clean_ns_per_page = 10,
                 .fault_ns_per_page = 2000 },
    [RING] = { .collect_ns_per_page = 40, .fault_ns_per_page = 2000 },
    [DBM] = { .collect_ns_per_page = 10,
              .scan_ns_per_gib = 1000,
              .clean_ns_per_range = 5000,
              .clean_ns_per_page = 10,
              .fault_ns_per_page = 2000,
              .update_ns_per_page = 30 },
};

typedef struct Row {
    const char *name;
    uint64_t ram_gib;
    unsigned vcpus, writers;
    DirtyAutoCurve pages, groups;
    uint64_t bandwidth;
    uint32_t ring_entries;
    DirtyAutoEngine current;
    unsigned without; /* bits: not possible */
    bool cheap;       /* guesses for prices, else dear_faults */
    DirtyAutoEngine choice;
} Row;

#define GBIT UINT64_C(125000000)

static const Row rows[] = {
    /* Nothing to win: it stays, whatever it is. */
    { "idle",
      1,
      1,
      0,
      { 65536, 0 },
      { 1024, 0 },
      10 * GBIT,
      65536,
      BITMAP,
      0,
      false,
      BITMAP },
    { "idle, rings",
      1,
      1,
      0,
      { 65536, 0 },
      { 1024, 0 },
      10 * GBIT,
      65536,
      RING,
      0,
      false,
      RING },
    /* Small rings fill again and again. */
    { "small rings",
      4,
      2,
      2,
      { 100000, 1e6 },
      { 2000, 1e6 },
      10 * GBIT,
      256,
      RING,
      1 << DBM,
      false,
      BITMAP },
    { "small rings, cheap faults",
      4,
      2,
      2,
      { 100000, 1e6 },
      { 2000, 1e6 },
      10 * GBIT,
      256,
      RING,
      1 << DBM,
      true,
      BITMAP },
    /* Rings that hold all are as good as a bitmap: no margin. */
    { "large rings",
      1,
      2,
      2,
      { 20000, 1e6 },
      { 400, 1e6 },
      10 * GBIT,
      65536,
      BITMAP,
      1 << DBM,
      false,
      BITMAP },
    /* A terabyte of which little is written: whoever scans it loses. */
    { "terabytes, little written",
      4096,
      4,
      1,
      { 2000, 20000 },
      { 2000, 20000 },
      100 * GBIT,
      65536,
      BITMAP,
      1 << DBM,
      false,
      RING },
    { "terabytes, dense",
      4096,
      4,
      1,
      { 64000, 1e6 },
      { 1000, 1e6 },
      100 * GBIT,
      4096,
      BITMAP,
      0,
      false,
      DBM },
    /* Groups in which only one page is written bring dbm nothing. */
    { "dense",
      4,
      1,
      1,
      { 64000, 1e6 },
      { 1000, 1e6 },
      10 * GBIT,
      65536,
      BITMAP,
      0,
      false,
      DBM },
    { "not possible",
      4,
      1,
      1,
      { 64000, 1e6 },
      { 1000, 1e6 },
      10 * GBIT,
      65536,
      BITMAP,
      1 << DBM | 1 << RING,
      false,
      BITMAP },
    /* The software engine's prices: a change brings less than it costs. */
    { "cheap faults",
      1,
      2,
      2,
      { 16384, 1e5 },
      { 256, 1e5 },
      GBIT,
      65536,
      BITMAP,
      0,
      true,
      BITMAP },
    { "link not known",
      1,
      1,
      1,
      { 16384, 1e5 },
      { 256, 1e5 },
      0,
      65536,
      BITMAP,
      0,
      true,
      BITMAP },
};

static void inputs_of(const Row *r, DirtyAutoInputs *in)
{
    *in = (DirtyAutoInputs){
        .ram_pages = r->ram_gib * GIB_PAGES,
        .owed_pages = r->ram_gib * GIB_PAGES,
        .chunk_pages = GIB_PAGES,
        .vcpus = r->vcpus,
        .writers = r->writers,
        .pages = r->pages,
        .groups = r->groups,
        .bandwidth = r->bandwidth,
        .ring_entries = r->ring_entries,
        .current = r->current,
    };
    for (unsigned e = 0; e < DIRTY_AUTO_NR; e++) {
        in->possible[e] = !(r->without & (1u << e));
        if (!r->cheap) {
            in->cost[e] = dear_faults[e];
        }
    }
}

static void test_table(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
        DirtyAutoInputs in;
        DirtyAutoDecision d;

        inputs_of(&rows[i], &in);
        dirty_auto_decide(&in, &d);
        for (unsigned e = 0; e < DIRTY_AUTO_NR; e++) {
            const DirtyAutoPrediction *p = &d.predicted[e];

            g_test_message("%s: %s: %g faults, %g updates, %g words, %g exits, "
                           "%g ranges: %g ms",
                           rows[i].name, dirty_auto_engine_name(e), p->faults,
                           p->updates, p->scanned_words, p->ring_exits,
                           p->cleaned_ranges, dirty_auto_cost_ns(p) / 1e6);
            g_assert_true(p->possible == in.possible[e]);
        }
        if (d.choice != rows[i].choice) {
            g_error("%s: %s instead of %s", rows[i].name,
                    dirty_auto_engine_name(d.choice),
                    dirty_auto_engine_name(rows[i].choice));
        }
        g_assert_true(in.possible[d.choice]);
        /* Never one that is dearer than what there is. */
        g_assert_cmpfloat(dirty_auto_cost_ns(&d.predicted[d.choice]), <=,
                          dirty_auto_cost_ns(&d.predicted[in.current]));
        /* And having changed, one stays. */
        in.current = d.choice;
        dirty_auto_decide(&in, &d);
        g_assert_cmpint(d.choice, ==, in.current);
    }
}

/* One round, of a second: every count can be said. */
static DirtyAutoInputs one_second(void)
{
    DirtyAutoInputs in = {
        .ram_pages = GIB_PAGES,
        .owed_pages = 100000,
        .chunk_pages = GIB_PAGES / 8,
        .vcpus = 2,
        .bandwidth = 100000 * 4096,
        .ring_entries = 1024,
        .current = BITMAP,
        .possible = { true, true, true },
    };

    return in;
}

static void test_counts_of_an_idle_guest(void)
{
    DirtyAutoInputs in = one_second();
    DirtyAutoDecision d;

    dirty_auto_decide(&in, &d);
    g_assert_cmpuint(d.rounds, ==, 2); /* the second has nothing to send */
    for (unsigned e = 0; e < DIRTY_AUTO_NR; e++) {
        g_assert_cmpfloat(d.predicted[e].faults, ==, 0);
        g_assert_cmpfloat(d.predicted[e].updates, ==, 0);
        g_assert_cmpfloat(d.predicted[e].ring_exits, ==, 0);
        g_assert_cmpfloat(d.predicted[e].guest_ns, ==, 0);
    }
    g_assert_cmpfloat(d.predicted[BITMAP].scanned_words, ==, 2 * 4096);
    g_assert_cmpfloat(d.predicted[BITMAP].cleaned_ranges, ==, 8);
    g_assert_cmpfloat(d.predicted[RING].scanned_words, ==, 0);
    g_assert_cmpfloat(d.predicted[RING].cleaned_ranges, ==, 2);
    g_assert_cmpfloat(d.predicted[DBM].scanned_words, <, 10);
}

static void test_counts_of_faults(void)
{
    DirtyAutoInputs in = one_second();
    DirtyAutoDecision d;

    /* 960 pages in each of two rings that hold 960; each pass takes 1/64. */
    in.pages = (DirtyAutoCurve){ 1920, 1e6 };
    in.groups = (DirtyAutoCurve){ 30, 1e6 };
    dirty_auto_decide(&in, &d);
    g_assert_cmpuint(d.rounds, ==, 8); /* of 1 s, and of 19 ms for ever */
    assert_near(d.predicted[BITMAP].faults, 8 * 1920, 0.01);
    assert_near(d.predicted[RING].faults, 8 * 1920, 0.01);
    g_assert_cmpfloat(d.predicted[RING].ring_exits, ==, 0);
    assert_near(d.predicted[DBM].faults, 30, 0.01);
    assert_near(d.predicted[DBM].updates, 8 * 1920 - 30, 0.01);

    /* Twice the pages: they fill, and each page faults again and again. */
    in.pages = (DirtyAutoCurve){ 3840, 1e6 };
    dirty_auto_decide(&in, &d);
    assert_near(d.predicted[BITMAP].faults, d.rounds * 3840.0, 0.01);
    g_assert_cmpfloat(d.predicted[RING].ring_exits, >, 500);
    g_assert_cmpfloat(d.predicted[RING].faults, >,
                      100 * d.predicted[BITMAP].faults / d.rounds);

    /* One of the two writes: its ring alone must do. */
    in.pages = (DirtyAutoCurve){ 1800, 1e6 };
    in.writers = 1;
    dirty_auto_decide(&in, &d);
    g_assert_cmpfloat(d.predicted[RING].ring_exits, >, 100);

    /* Sparse: each page a group of its own, a fault each. */
    in.pages = in.groups = (DirtyAutoCurve){ 1920, 1e6 };
    dirty_auto_decide(&in, &d);
    assert_near(d.predicted[DBM].faults, d.predicted[BITMAP].faults, 0.01);
    g_assert_cmpfloat(d.predicted[DBM].updates, ==, 0);
}

/* By a summary: what is dirty is read, and a word for each GiB. */
static void test_counts_of_words(void)
{
    DirtyAutoInputs in = one_second();
    DirtyAutoDecision d;

    in.ram_pages = 16 * GIB_PAGES;
    in.pages = (DirtyAutoCurve){ 1000, 1e6 };
    in.groups = (DirtyAutoCurve){ 500, 5e5 };
    in.units = (DirtyAutoCurve){ 100, 1e5 };
    dirty_auto_decide(&in, &d);
    assert_near(d.predicted[BITMAP].scanned_words, d.rounds * 16 * 4096.0,
                0.001);
    in.cost[BITMAP].scan_words_per_gib = 1;
    dirty_auto_decide(&in, &d);
    assert_near(d.predicted[BITMAP].scanned_words, d.rounds * (16 + 6400.0),
                0.01);
    g_assert_cmpfloat(d.predicted[RING].scanned_words, ==, 0);
    assert_near(d.predicted[DBM].scanned_words,
                d.rounds * (16 + 500 / 64.0 + 500), 0.01);
}

/*
 * An update that was never seen is as slow as the processor, and not as dear as
 * a fault: else dbm would not be tried where it is worth most.
 */
static void test_price_of_updates(void)
{
    DirtyAutoInputs in = one_second();
    DirtyAutoDecision d;

    in.pages = (DirtyAutoCurve){ 20000, 1e6 };
    in.groups = (DirtyAutoCurve){ 400, 1e6 };
    in.ring_entries = 65536;
    in.cost[BITMAP] = (DirtyTrackerCost){ .collect_ns_per_page = 15,
                                          .clean_ns_per_range = 2000,
                                          .fault_ns_per_page = 5800 };
    dirty_auto_decide(&in, &d);
    g_assert_cmpint(d.choice, ==, DBM);
    /* No fault is so dear that it leaves the guest: no change for a guess. */
    in.cost[BITMAP].fault_ns_per_page = 40;
    dirty_auto_decide(&in, &d);
    g_assert_cmpint(d.choice, ==, BITMAP);
    in.cost[BITMAP].fault_ns_per_page = 5800;
    /* Seen, it is dear: not worth while. */
    in.cost[DBM].update_ns_per_page = 5000;
    dirty_auto_decide(&in, &d);
    g_assert_cmpint(d.choice, ==, BITMAP);
}

/* What is only a little better is left; the same, twice as good, is taken. */
static void test_margin(void)
{
    DirtyAutoInputs in = one_second();
    DirtyAutoDecision d;

    in.pages = (DirtyAutoCurve){ 50000, 1e6 };
    in.groups = (DirtyAutoCurve){ 50000, 1e6 };
    in.ring_entries = 65536;
    in.possible[DBM] = false;
    in.cost[BITMAP].fault_ns_per_page = 10000;
    in.cost[RING].fault_ns_per_page = 9000;
    dirty_auto_decide(&in, &d);
    g_assert_cmpint(d.best, ==, RING);
    g_assert_cmpint(d.choice, ==, BITMAP);
    in.cost[RING].fault_ns_per_page = 5000;
    dirty_auto_decide(&in, &d);
    g_assert_cmpint(d.choice, ==, RING);
    /* Near the end there is no time left in which it would pay. */
    in.pages = in.groups = (DirtyAutoCurve){ 1000, 1e3 };
    in.owed_pages = 1;
    dirty_auto_decide(&in, &d);
    g_assert_cmpint(d.best, ==, RING);
    g_assert_cmpint(d.choice, ==, BITMAP);
}

/* A host that makes all slow makes nobody change. */
static void test_slow_host(void)
{
    DirtyAutoInputs in = one_second();
    DirtyAutoDecision d;

    in.pages = (DirtyAutoCurve){ 20000, 1e6 };
    in.groups = (DirtyAutoCurve){ 400, 1e6 };
    in.ring_entries = 65536;
    for (unsigned e = 0; e <= DBM; e++) {
        in.current = e;
        memset(in.cost, 0, sizeof(in.cost));
        dirty_auto_decide(&in, &d);
        for (unsigned times = 1; times <= 1000; times *= 10) {
            DirtyAutoEngine before = d.best;

            in.cost[e].collect_ns_per_page = (e == RING ? 20.0 : 4.0) * times;
            in.cost[e].fault_ns_per_page = 35.0 * times;
            in.cost[e].clean_ns_per_range = 2000.0 * times;
            dirty_auto_decide(&in, &d);
            g_assert_cmpint(d.best, ==, before);
        }
    }
}

/* ---- prices ---- */

static void add_samples(DirtyCost *c, unsigned nr, double ns)
{
    while (nr--) {
        dirty_cost_add(c, ns, 1, 0);
    }
}

static void test_cost_estimate(void)
{
    DirtyCost c = { 0 };

    g_assert_cmpfloat(dirty_cost_ns(&c), ==, 0);
    add_samples(&c, DIRTY_COST_ENOUGH - 1, 50);
    g_assert_cmpfloat(dirty_cost_ns(&c), ==, 0);
    add_samples(&c, 1, 1e7); /* one of three is an outlier */
    g_assert_cmpfloat(dirty_cost_ns(&c), ==, 50);
    dirty_cost_add(&c, 1e9, 63, 64); /* too few units */
    dirty_cost_add(&c, 1e9, 0, 0);
    g_assert_cmpuint(atomic_load(&c.nr), ==, DIRTY_COST_ENOUGH);
    for (unsigned i = 0; i < DIRTY_COST_SAMPLES; i++) {
        dirty_cost_add(&c, 6400, 64, 64);
    }
    g_assert_cmpfloat(dirty_cost_ns(&c), ==, 100);
    /* Up to half may be wrong. */
    add_samples(&c, DIRTY_COST_SAMPLES / 2, 1e9);
    g_assert_cmpfloat(dirty_cost_ns(&c), ==, 100);
    add_samples(&c, 1, 200);
    g_assert_cmpfloat(dirty_cost_ns(&c), ==, 200);
    /* Less than a picosecond is known, too. */
    add_samples(&c, DIRTY_COST_SAMPLES, 0);
    g_assert_cmpfloat(dirty_cost_ns(&c), >, 0);
}

/* The price of a fault of each tracker, as measured. */
static void decide_by(DirtyAutoInputs *in, const DirtyCost *faults,
                      DirtyAutoDecision *d)
{
    for (unsigned e = 0; e < DIRTY_AUTO_NR; e++) {
        in->cost[e].fault_ns_per_page = dirty_cost_ns(&faults[e]);
    }
    dirty_auto_decide(in, d);
}

/* Each sample in turn is a time slice of 10 ms that went to others. */
static void test_outliers_change_nothing(void)
{
    DirtyCost faults[DIRTY_AUTO_NR] = { 0 };
    DirtyAutoInputs in = one_second();
    DirtyAutoDecision before, d;

    in.pages = (DirtyAutoCurve){ 50000, 1e6 };
    in.groups = (DirtyAutoCurve){ 50000, 1e6 };
    in.ring_entries = 65536;
    for (unsigned e = 0; e < DIRTY_AUTO_NR; e++) {
        add_samples(&faults[e], DIRTY_COST_SAMPLES, 1000);
    }
    decide_by(&in, faults, &before);
    g_assert_cmpint(before.choice, ==, BITMAP);
    for (unsigned i = 0; i < 100; i++) {
        add_samples(&faults[BITMAP], 1, 1e7);
        decide_by(&in, faults, &d);
        g_assert_cmpint(d.choice, ==, BITMAP);
        g_assert_cmpint(d.best, ==, before.best);
        g_assert_cmpfloat(dirty_auto_cost_ns(&d.predicted[BITMAP]), ==,
                          dirty_auto_cost_ns(&before.predicted[BITMAP]));
        add_samples(&faults[BITMAP], 2, 1000);
    }
}

/* Of what lasts, only what is clearly better is followed; there and back. */
static void test_lasting_change(void)
{
    static const struct {
        double ns;
        bool is_clear;
    } rows[] = { { 1100, false }, { 1250, false }, { 2000, true } };

    for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
        DirtyCost faults[DIRTY_AUTO_NR] = { 0 };
        DirtyAutoInputs in = one_second();
        DirtyAutoDecision d;
        unsigned n = 0;

        in.pages = in.groups = (DirtyAutoCurve){ 50000, 1e6 };
        in.ring_entries = 65536;
        in.possible[DBM] = false;
        add_samples(&faults[BITMAP], DIRTY_COST_SAMPLES, 1000);
        add_samples(&faults[RING], DIRTY_COST_SAMPLES, 1000);
        decide_by(&in, faults, &d);
        for (; d.choice == BITMAP && n < 100; n++) {
            add_samples(&faults[BITMAP], 1, rows[i].ns);
            decide_by(&in, faults, &d);
        }
        if (!rows[i].is_clear) {
            g_assert_cmpint(d.choice, ==, BITMAP);
            continue;
        }
        g_assert_cmpint(d.choice, ==, RING);
        g_assert_cmpuint(n, ==, DIRTY_COST_SAMPLES / 2 + 1);
        in.current = RING;
        add_samples(&faults[RING], DIRTY_COST_SAMPLES, rows[i].ns * 2);
        decide_by(&in, faults, &d);
        g_assert_cmpint(d.choice, ==, BITMAP);
    }
}

/* The tracker in use was just taken: what others cost here is known. */
static void test_slow_host_known_by_another(void)
{
    DirtyAutoInputs in = one_second();
    DirtyAutoDecision cheap, d;

    in.pages = (DirtyAutoCurve){ 20000, 1e6 };
    in.groups = (DirtyAutoCurve){ 400, 1e6 };
    in.ring_entries = 65536;
    dirty_auto_decide(&in, &cheap);
    in.cost[DBM].collect_ns_per_page = 4e3;
    in.cost[DBM].fault_ns_per_page = 35e3;
    in.cost[DBM].clean_ns_per_range = 2e6;
    dirty_auto_decide(&in, &d);
    g_assert_cmpint(d.best, ==, cheap.best);
}

/* Page tables are dear: taken only if write protection is dearer by far. */
static void test_pagemap(void)
{
    DirtyAutoInputs in = one_second();
    DirtyAutoDecision d;

    in.pages = (DirtyAutoCurve){ 20000, 1e6 };
    in.groups = (DirtyAutoCurve){ 400, 1e6 };
    in.ring_entries = 65536;
    in.possible[DIRTY_AUTO_PAGEMAP] = true;
    dirty_auto_decide(&in, &d);
    g_assert_cmpint(d.best, !=, DIRTY_AUTO_PAGEMAP);
    g_assert_cmpfloat(d.predicted[DIRTY_AUTO_PAGEMAP].faults, ==,
                      d.predicted[BITMAP].faults);
    g_assert_cmpfloat(d.predicted[DIRTY_AUTO_PAGEMAP].scanned_words, >,
                      d.predicted[BITMAP].scanned_words);

    in.cost[DIRTY_AUTO_PAGEMAP].fault_ns_per_page = 1000;
    for (unsigned e = 0; e <= DBM; e++) {
        in.cost[e].fault_ns_per_page = 100e3;
        in.cost[e].update_ns_per_page = 100e3;
    }
    dirty_auto_decide(&in, &d);
    g_assert_cmpint(d.choice, ==, DIRTY_AUTO_PAGEMAP);
}

/* Nothing is looked at where nothing can be better. */
static void test_has_choice(void)
{
    DirtyAutoInputs in = one_second();

    g_assert_true(dirty_auto_has_choice(&in));
    in.possible[RING] = in.possible[DBM] = false;
    g_assert_false(dirty_auto_has_choice(&in));
    in.possible[DIRTY_AUTO_PAGEMAP] = true;
    in.cost[DIRTY_AUTO_PAGEMAP].fault_ns_per_page = 1000;
    g_assert_false(dirty_auto_has_choice(&in));
    in.cost[BITMAP].fault_ns_per_page = 5000;
    g_assert_true(dirty_auto_has_choice(&in));
    in.cost[BITMAP].fault_ns_per_page = 0;
    in.current = DIRTY_AUTO_PAGEMAP;
    g_assert_true(dirty_auto_has_choice(&in));
}

/* If the guest has to move for it, a change costs what it has mapped. */
static void test_must_move(void)
{
    DirtyAutoInputs in = one_second();
    DirtyAutoDecision d, dear;

    in.possible[DBM] = false;
    in.current = RING;
    in.ring_entries = 256;
    in.pages = (DirtyAutoCurve){ 20000, 1e6 };
    dirty_auto_decide(&in, &d);
    g_assert_cmpint(d.choice, ==, BITMAP);
    in.must_move[BITMAP] = true;
    in.move[BITMAP] = (DirtyTrackerMoveCost){ .stand_ns = 1e6,
                                              .pages = 1000,
                                              .refault_ns_per_page = 5000 };
    dirty_auto_decide(&in, &d);
    g_assert_cmpint(d.choice, ==, BITMAP);
    g_assert_cmpfloat(d.change_ns, ==, 1e6 * in.vcpus + 5e6);
    in.move[BITMAP].pages = 1e9;
    dirty_auto_decide(&in, &dear);
    g_assert_cmpint(dear.best, ==, BITMAP);
    g_assert_cmpint(dear.choice, ==, RING);
    g_assert_true(dirty_auto_has_choice(&in));

    /* From the bitmap to rings: only where to read it costs more than all. */
    in.current = BITMAP;
    in.must_move[BITMAP] = false;
    in.must_move[RING] = true;
    in.move[RING] = (DirtyTrackerMoveCost){ .pages = 100000 };
    in.ram_pages = 1 << 20;
    g_assert_false(dirty_auto_has_choice(&in));
    in.ram_pages = UINT64_C(1) << 40;
    g_assert_true(dirty_auto_has_choice(&in));
    in.must_move[RING] = false;
    in.ram_pages = 1 << 20;
    g_assert_true(dirty_auto_has_choice(&in));
}

static void test_names(void)
{
    for (unsigned e = 0; e < DIRTY_AUTO_NR; e++) {
        g_assert_cmpint(dirty_auto_engine(dirty_auto_engine_name(e)), ==, e);
    }
    g_assert_cmpint(dirty_auto_engine("null"), ==, DIRTY_AUTO_NR);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dirty-auto/fit/finds-the-curve",
                    test_fit_finds_the_curve);
    g_test_add_func("/dirty-auto/fit/at-the-ends", test_fit_at_the_ends);
    g_test_add_func("/dirty-auto/refit", test_refit);
    g_test_add_func("/dirty-auto/decide/table", test_table);
    g_test_add_func("/dirty-auto/decide/idle-guest",
                    test_counts_of_an_idle_guest);
    g_test_add_func("/dirty-auto/decide/faults", test_counts_of_faults);
    g_test_add_func("/dirty-auto/decide/words", test_counts_of_words);
    g_test_add_func("/dirty-auto/decide/updates", test_price_of_updates);
    g_test_add_func("/dirty-auto/decide/margin", test_margin);
    g_test_add_func("/dirty-auto/decide/slow-host", test_slow_host);
    g_test_add_func("/dirty-auto/price/estimate", test_cost_estimate);
    g_test_add_func("/dirty-auto/price/outliers", test_outliers_change_nothing);
    g_test_add_func("/dirty-auto/price/lasting-change", test_lasting_change);
    g_test_add_func("/dirty-auto/price/known-by-another",
                    test_slow_host_known_by_another);
    g_test_add_func("/dirty-auto/pagemap", test_pagemap);
    g_test_add_func("/dirty-auto/has-choice", test_has_choice);
    g_test_add_func("/dirty-auto/must-move", test_must_move);
    g_test_add_func("/dirty-auto/names", test_names);
    return g_test_run();
}
