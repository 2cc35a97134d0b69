/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which tracker costs the least: see include/system/dirty-auto.h. */
#include "qemu/osdep.h"

#include <math.h>

#include "system/dirty-auto.h"
#include "system/dirty-memory.h"
#include "system/dirty-ring.h"

#define PAGES_PER_GIB 262144.0
#define NS_PER_S      1e9
/* What is not known: the speed of a fast link. */
#define GUESS_BANDWIDTH 1e9

/* A look ahead ends when a round is as short as that, or after so many. */
#define LAST_ROUND_S 0.01
#define ROUNDS_AHEAD 8
/* A round is never shorter: the sync itself takes time. */
#define LEAST_ROUND_S 0.002

/*
 * A change is worth its price only if it saves this share of what is still to
 * be spent. Costs are measured on a host where other things run: repeated
 * measurements of one of them differ by about that.
 */
#define MARGIN 0.25
/* Each vCPU stands still for about that long. */
#define CHANGE_NS 100000.0

/* Two counts that differ by less, or by more, say nothing of the limit. */
#define FIT_FLAT  0.02
#define FIT_STEEP 0.98

/* From so many pages per group on, groups stay armed (dbm-policy.c). */
#define DENSE_PAGES 2.0

/*
 * Guesses until something is measured: the software engine's own figures
 * (docs/performance.rst). Only their proportions matter.
 */
static const DirtyTrackerCost guess[DIRTY_AUTO_NR] = {
    [DIRTY_AUTO_BITMAP] = { .collect_ns_per_page = 4,
                            .scan_ns_per_gib = 2000,
                            .clean_ns_per_page = 1,
                            .fault_ns_per_page = 35 },
    [DIRTY_AUTO_RING] = { .collect_ns_per_page = 20, .fault_ns_per_page = 35 },
    [DIRTY_AUTO_DBM] = { .collect_ns_per_page = 4,
                         .scan_ns_per_gib = 2000,
                         .clean_ns_per_page = 1,
                         .fault_ns_per_page = 35 },
    [DIRTY_AUTO_PAGEMAP] = { .collect_ns_per_page = 20,
                             .scan_ns_per_gib = 500000,
                             .clean_ns_per_range = 1000,
                             .clean_ns_per_page = 60,
                             .fault_ns_per_page = 1000 },
};
/* Of an update, at most; the processor's own work. */
#define GUESS_UPDATE_NS    100.0
#define GUESS_WORD_NS      0.5
#define GUESS_RING_EXIT_NS 20000.0
#define GUESS_WAIT_NS      2000.0
/* Of a page that is not mapped any more; of vCPUs, while a guest moves. */
#define GUESS_REFAULT_NS 4000.0
#define GUESS_STAND_NS   1000000.0

static const char *const names[DIRTY_AUTO_NR] = {
    [DIRTY_AUTO_BITMAP] = "bitmap",
    [DIRTY_AUTO_RING] = "ring",
    [DIRTY_AUTO_DBM] = "dbm",
    [DIRTY_AUTO_PAGEMAP] = "pagemap",
};

const char *dirty_auto_engine_name(DirtyAutoEngine engine)
{
    return names[engine];
}

DirtyAutoEngine dirty_auto_engine(const char *name)
{
    unsigned i = 0;

    while (i < DIRTY_AUTO_NR && !g_str_equal(names[i], name)) {
        i++;
    }
    return i;
}

/* ---- curves ---- */

/* (1 - e^(-a * t2)) / (1 - e^(-a * t1)) falls with a, from t2 / t1 to 1. */
static double growth(double a, double t1, double t2)
{
    return expm1(-a * t2) / expm1(-a * t1);
}

/* The a for which growth() is @wanted. */
static double solve(double wanted, double t1, double t2)
{
    double low = 1e-6 / t2, high = 40 / t1;

    for (unsigned i = 0; i < 60; i++) {
        double a = sqrt(low * high);

        if (growth(a, t1, t2) > wanted) {
            low = a;
        } else {
            high = a;
        }
    }
    return low;
}

DirtyAutoCurve dirty_auto_fit(double first, double first_s, double second,
                              double second_s, double most)
{
    DirtyAutoCurve c = { .limit = most, .rate_per_s = second / second_s };
    double steepest = second_s / first_s - 1;
    double more = first > 0 ? second / first - 1 : steepest;

    if (more < steepest * FIT_STEEP) {
        double a = solve(1 + MAX(more, steepest * FIT_FLAT), first_s, second_s);

        c.limit = MIN(-second / expm1(-a * second_s), most);
        c.rate_per_s = a * c.limit;
    }
    return c;
}

double dirty_auto_at(const DirtyAutoCurve *c, double s)
{
    return c->limit > 0 ? -c->limit * expm1(-c->rate_per_s * s / c->limit) : 0;
}

void dirty_auto_refit(DirtyAutoCurve *c, double found, double s)
{
    if (s <= 0) {
        return;
    }
    if (found >= c->limit * FIT_STEEP) {
        /* All of it was written, and the rate is what it was at least. */
        double times = c->limit > 0 ? c->rate_per_s / c->limit : 1 / s;

        c->limit = MAX(c->limit, found);
        c->rate_per_s = times * c->limit;
    } else {
        c->rate_per_s = -c->limit * log1p(-found / c->limit) / s;
    }
}

/* ---- models: what one round of @s seconds makes a tracker do ---- */

typedef struct Round {
    const DirtyAutoInputs *in;
    double begin_s, s; /* since tracking was armed */
    double pages;      /* written in it */
} Round;

/*
 * A price of @e. What was not measured of it is guessed in proportion to what
 * another was measured to cost, first of all the tracker in use: else a slow
 * host would make each tracker look dear that was tried, and cheap that was
 * not.
 */
static double price_of(const DirtyAutoInputs *in, DirtyAutoEngine e,
                       size_t member)
{
#define MEMBER(cost) (*(const double *)((const char *)&(cost) + member))
    double price = MEMBER(in->cost[e]);

    for (unsigned i = 0; price <= 0 && i < DIRTY_AUTO_NR; i++) {
        DirtyAutoEngine o = (in->current + i) % DIRTY_AUTO_NR;

        if (MEMBER(in->cost[o]) > 0 && MEMBER(guess[o]) > 0) {
            price = MEMBER(guess[e]) * MEMBER(in->cost[o]) / MEMBER(guess[o]);
        }
    }
    return price > 0 ? price : MEMBER(guess[e]);
#undef MEMBER
}

#define PRICE(in, e, member) price_of(in, e, offsetof(DirtyTrackerCost, member))

static double gib_of_ram(const DirtyAutoInputs *in)
{
    return (double)in->ram_pages / PAGES_PER_GIB;
}

/*
 * By write protection: a fault for each page. All of the log is scanned, or, if
 * it has a summary, the units in which something is dirty.
 */
static void count_bitmap(const Round *r, DirtyAutoPrediction *p)
{
    p->faults += r->pages;
    p->collected += r->pages;
    p->scanned_gib += gib_of_ram(r->in);
    if (r->in->cost[DIRTY_AUTO_BITMAP].scan_words_per_gib > 0) {
        p->more_words += dirty_auto_at(&r->in->units, r->s) *
                         (DIRTY_AUTO_UNIT_PAGES / 64.0);
    }
}

/*
 * A page faults again each time its ring was emptied meanwhile. Nothing is
 * scanned.
 */
static void count_ring(const Round *r, DirtyAutoPrediction *p)
{
    const DirtyAutoInputs *in = r->in;
    double writers = in->writers ? in->writers : MAX(in->vcpus, 1);
    double room = (double)in->ring_entries - DIRTY_RING_RESERVED;
    double limit = in->pages.limit / writers, fill_s, fills;
    double faults = r->pages;

    if (room > 0 && limit > room) {
        fill_s = -limit / (in->pages.rate_per_s / writers) *
                 log1p(-room / limit);
        fills = floor(r->s / fill_s);
        if (fills > 0) {
            faults = writers * (fills * room) +
                     dirty_auto_at(&in->pages, r->s - fills * fill_s);
            p->ring_exits += writers * fills;
        }
    }
    p->faults += faults;
    p->collected += faults;
}

/*
 * A fault for each group that is new; the next pages of it have none. All
 * groups that were ever armed are read. Sparse groups are as single pages.
 */
static void count_dbm(const Round *r, DirtyAutoPrediction *p)
{
    const DirtyAutoInputs *in = r->in;
    double groups = MAX(dirty_auto_at(&in->groups, r->s), 1);
    double before = dirty_auto_at(&in->groups, r->begin_s);
    double armed = dirty_auto_at(&in->groups, r->begin_s + r->s);
    double faults = r->pages;

    p->scanned_gib += gib_of_ram(in);
    p->more_words += groups / 64;
    if (r->pages / groups >= DENSE_PAGES) {
        faults = MIN(armed - before, r->pages);
        p->more_words += armed;
    } else {
        p->more_words += groups;
    }
    p->faults += faults;
    p->updates += r->pages - faults;
    p->collected += r->pages;
}

/*
 * A fault for each page, all page tables are read; and again, chunk by chunk,
 * where something is cleaned.
 */
static void count_pagemap(const Round *r, DirtyAutoPrediction *p)
{
    double again = MIN(r->pages * (double)r->in->chunk_pages,
                       (double)r->in->ram_pages);

    p->faults += r->pages;
    p->collected += r->pages;
    p->scanned_gib += gib_of_ram(r->in) + again / PAGES_PER_GIB;
}

static void (*const count[DIRTY_AUTO_NR])(const Round *,
                                          DirtyAutoPrediction *) = {
    [DIRTY_AUTO_BITMAP] = count_bitmap,
    [DIRTY_AUTO_RING] = count_ring,
    [DIRTY_AUTO_DBM] = count_dbm,
    [DIRTY_AUTO_PAGEMAP] = count_pagemap,
};

/* Chunks that have a page to be sent. */
static double ranges(const DirtyAutoInputs *in, double pages)
{
    double chunks = ceil((double)in->ram_pages /
                         (double)MAX(in->chunk_pages, 1));

    return MIN(pages, chunks);
}

/*
 * Taking permissions back means waiting for the vCPUs: that depends on the
 * host, not on the tracker. Rings do it when they are reaped. Only the host's
 * own page tables are another matter.
 */
static double range_ns(const DirtyAutoInputs *in, DirtyAutoEngine e)
{
    double ns = 0;

    if (e == DIRTY_AUTO_PAGEMAP) {
        return PRICE(in, e, clean_ns_per_range);
    }
    for (unsigned i = 0; i < DIRTY_AUTO_PAGEMAP; i++) {
        ns = MAX(ns, in->cost[i].clean_ns_per_range);
    }
    return ns > 0 ? ns : GUESS_WAIT_NS;
}

/* Words of @e that are read for a GiB in which nothing is dirty. */
static double words_per_gib(const DirtyAutoInputs *in, DirtyAutoEngine e)
{
    double words = in->cost[e].scan_words_per_gib;

    if (e == DIRTY_AUTO_PAGEMAP) {
        return PAGES_PER_GIB; /* of page tables */
    }
    if (e == DIRTY_AUTO_BITMAP) {
        return words > 0 ? words : PAGES_PER_GIB / 64;
    }
    return PAGES_PER_GIB / DIRTY_AUTO_UNIT_PAGES / 64;
}

/*
 * Where no update was seen, it is taken to be as dear as the processor's own
 * work can be, on a host as fast as a collect shows, but no dearer than a fault:
 * a change for what is not known should be worth while in any case.
 */
static double update_ns(const DirtyAutoInputs *in, DirtyAutoEngine e)
{
    double slow = PRICE(in, DIRTY_AUTO_BITMAP, collect_ns_per_page) /
                  guess[DIRTY_AUTO_BITMAP].collect_ns_per_page;

    if (in->cost[e].update_ns_per_page > 0) {
        return in->cost[e].update_ns_per_page;
    }
    return MIN(GUESS_UPDATE_NS * MAX(slow, 1), PRICE(in, e, fault_ns_per_page));
}

static void price(const DirtyAutoInputs *in, DirtyAutoEngine e,
                  DirtyAutoPrediction *p)
{
    double page_ns = PRICE(in, e, collect_ns_per_page) +
                     PRICE(in, e, clean_ns_per_page);

    p->scanned_words = p->scanned_gib * words_per_gib(in, e) + p->more_words;
    p->guest_ns = p->faults * PRICE(in, e, fault_ns_per_page) +
                  p->updates * update_ns(in, e) +
                  p->ring_exits * (in->ring_exit_ns > 0 ? in->ring_exit_ns
                                                        : GUESS_RING_EXIT_NS);
    p->thread_ns = p->scanned_gib * PRICE(in, e, scan_ns_per_gib) +
                   p->more_words * GUESS_WORD_NS + p->collected * page_ns +
                   p->cleaned_ranges * range_ns(in, e);
}

/* If the guest has to move, all that it uses faults, not only what it writes. */
static double move_ns(const DirtyAutoInputs *in, DirtyAutoEngine e)
{
    const DirtyTrackerMoveCost *m = &in->move[e];
    double pages = m->pages > 0 ? m->pages : (double)in->ram_pages;
    double refault_ns = m->refault_ns_per_page > 0 ? m->refault_ns_per_page
                                                   : GUESS_REFAULT_NS;
    double stand_ns = m->stand_ns > 0 ? m->stand_ns : GUESS_STAND_NS;

    return stand_ns * MAX(in->vcpus, 1) + pages * refault_ns;
}

/*
 * A change to @e takes all permissions back: what is written in a second faults
 * once more, or one page of each group does.
 */
static double change_ns(const DirtyAutoInputs *in, DirtyAutoEngine e)
{
    double pages = dirty_auto_at(&in->pages, 1);
    double faults = pages;

    if (in->must_move[e]) {
        return move_ns(in, e);
    }
    if (e == DIRTY_AUTO_DBM) {
        double groups = MAX(dirty_auto_at(&in->groups, 1), 1);

        faults = pages / groups >= DENSE_PAGES ? groups : pages;
    }
    return CHANGE_NS * MAX(in->vcpus, 1) +
           faults * PRICE(in, e, fault_ns_per_page) +
           (pages - faults) * update_ns(in, e);
}

/* Returns the number of rounds. */
static unsigned predict(const DirtyAutoInputs *in, DirtyAutoEngine e,
                        DirtyAutoPrediction *p)
{
    double bandwidth = in->bandwidth ? (double)in->bandwidth : GUESS_BANDWIDTH;
    Round r = { .in = in };
    double owed = (double)in->owed_pages;
    unsigned n = 0;

    do {
        r.s = MAX(owed * (double)DIRTY_PAGE_SIZE / bandwidth, LEAST_ROUND_S);
        r.pages = dirty_auto_at(&in->pages, r.s);
        count[e](&r, p);
        p->cleaned_ranges += e == DIRTY_AUTO_RING ? 1 : ranges(in, owed);
        r.begin_s += r.s;
        owed = r.pages;
        n++;
    } while (n < ROUNDS_AHEAD && r.s > LAST_ROUND_S);
    price(in, e, p);
    return n;
}

/* It faults as often as the bitmap; where everything costs more, it loses. */
static bool pagemap_loses(const DirtyAutoInputs *in)
{
#define CHEAPER(member)                      \
    (PRICE(in, DIRTY_AUTO_BITMAP, member) <= \
     PRICE(in, DIRTY_AUTO_PAGEMAP, member))
    return in->possible[DIRTY_AUTO_BITMAP] && CHEAPER(fault_ns_per_page) &&
           CHEAPER(scan_ns_per_gib) && CHEAPER(clean_ns_per_page);
#undef CHEAPER
}

/*
 * Rings fault at least as often as the bitmap: all that they save is to read it
 * each round. The guest does not move for that unless it is very large.
 */
static bool rings_lose(const DirtyAutoInputs *in)
{
    double gib = (double)in->ram_pages / PAGES_PER_GIB;

    return in->current == DIRTY_AUTO_BITMAP && in->must_move[DIRTY_AUTO_RING] &&
           ROUNDS_AHEAD * gib * PRICE(in, DIRTY_AUTO_BITMAP, scan_ns_per_gib) <
               move_ns(in, DIRTY_AUTO_RING);
}

bool dirty_auto_has_choice(const DirtyAutoInputs *in)
{
    for (unsigned e = 0; e < DIRTY_AUTO_NR; e++) {
        if (e != in->current && in->possible[e] &&
            !(e == DIRTY_AUTO_PAGEMAP && pagemap_loses(in)) &&
            !(e == DIRTY_AUTO_RING && rings_lose(in))) {
            return true;
        }
    }
    return false;
}

double dirty_auto_cost_ns(const DirtyAutoPrediction *p)
{
    return p->guest_ns + p->thread_ns;
}

void dirty_auto_decide(const DirtyAutoInputs *in, DirtyAutoDecision *out)
{
    double now_ns, best_ns = INFINITY;

    assert(in->current < DIRTY_AUTO_NR && in->possible[in->current]);
    *out = (DirtyAutoDecision){ .choice = in->current, .best = in->current };
    for (unsigned e = 0; e < DIRTY_AUTO_NR; e++) {
        DirtyAutoPrediction *p = &out->predicted[e];

        p->possible = in->possible[e];
        if (!p->possible) {
            continue;
        }
        out->rounds = predict(in, e, p);
        if (dirty_auto_cost_ns(p) < best_ns) {
            best_ns = dirty_auto_cost_ns(p);
            out->best = e;
        }
    }
    out->change_ns = change_ns(in, out->best);
    now_ns = dirty_auto_cost_ns(&out->predicted[in->current]);
    if (best_ns + out->change_ns < now_ns && best_ns < now_ns * (1 - MARGIN)) {
        out->choice = out->best;
    }
}
