/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracker oracle: what tracking costs the guest, and full rings. */
#include "qemu/osdep.h"

#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "tracker-oracle.h"

/* ---- what it costs the guest ---- */

/*
 * A set of pages, written many times between two collects: one fault per page
 * and round, for the bitmap and for a ring that holds the set. A ring that
 * does not pays for each reap; every such fault is counted as one of a page
 * that was known to be dirty.
 */
static void faults_per_round(const TrackerEngine *e)
{
    enum {
        SET = 3000,
        PASSES = 5,
        ROUNDS = 4
    };
    g_autofree uint64_t *pages = g_new(uint64_t, SET * PASSES);
    bool fits = !e->ring_entries ||
                dirty_ring_soft_limit(e->ring_entries) >= SET;
    uint64_t faults, again;
    DirtyTrackerCost cost;
    DirtyReaperStats s;
    Oracle o;

    for (unsigned i = 0; i < SET * PASSES; i++) {
        pages[i] = TEST_FIRST + i % SET;
    }
    oracle_begin(&o, e);
    dirty_reaper_get_stats(&s);
    again = s.entries_refault;
    faults = guest_faults(va);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        guest_store_pages(va, pages, SET * PASSES, round);
        g_assert_cmpuint(oracle_take(&o), ==, SET);
        oracle_expect(&o, pages, SET);
        oracle_send(&o);
    }
    faults = guest_faults(va) - faults;
    dirty_reaper_get_stats(&s);
    again = s.entries_refault - again;
    g_test_message("%" PRIu64 " faults for %u pages in %u rounds, %" PRIu64
                   " of them again",
                   faults, SET, ROUNDS, again);
    if (fits) {
        g_assert_cmpuint(faults, ==, SET * ROUNDS);
    } else {
        g_assert_cmpuint(faults, >, SET * ROUNDS);
    }
    g_assert_cmpuint(again, ==, faults - SET * ROUNDS);
    dirty_tracker_cost(&cost);
    g_assert_cmpfloat(cost.fault_ns_per_page, >, 0);
    g_assert_cmpfloat(cost.collect_ns_per_page, >, 0);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* ---- rings ---- */

/* Soft-full many times: the vCPU goes on each time, nothing is lost. */
static void ring_full(const TrackerEngine *e)
{
    /* Not full again at the WFI: who reaps then is left to chance. */
    size_t n = MIN(3 * e->ring_entries - 8, TEST_LAST - TEST_FIRST);
    g_autofree uint64_t *pages = g_new(uint64_t, n);
    DirtyReaperStats a, b;
    uint64_t again;
    Oracle o;

    for (size_t i = 0; i < n; i++) {
        pages[i] = TEST_FIRST + i;
    }
    oracle_begin(&o, e);
    dirty_reaper_get_stats(&a);
    for (uint64_t round = 1; round <= 3; round++) {
        guest_store_pages(va, pages, n, round);
        /* It was not the collect that emptied the ring. */
        g_assert_cmpuint(guest_ring_used(va), <, e->ring_entries);
        g_assert_cmpuint(oracle_take(&o), ==, n);
        oracle_expect(&o, pages, n);
        oracle_send(&o);
    }
    dirty_reaper_get_stats(&b);
    g_assert_cmpuint(b.soft_full_exits - a.soft_full_exits, >=, 3 * 2);
    g_assert_cmpuint(b.reaps_full - a.reaps_full, ==,
                     b.soft_full_exits - a.soft_full_exits);
    g_assert_cmpuint(b.hard_full_exits, ==, a.hard_full_exits);
    again = b.entries_harvested - a.entries_harvested - 3 * n;
    if (e->can & IS_ONCE) {
        g_assert_cmpuint(again, ==, 0);
        g_assert_cmpuint(b.entries_refault, ==, a.entries_refault);
    } else {
        /*
         * It enters a page, and leaves before the store: it comes again. And
         * the kernel may enter a page twice for other reasons.
         */
        g_assert_cmpuint(again, <, n);
    }
    g_assert_cmpuint(b.thread_bql_acquisitions, ==, 0);
    oracle_check_current(&o);
    oracle_end(&o);
}

/*
 * The store that fills the ring is followed by a WFI in the same block: the
 * reaper hears of it at once, not by its period, and the vCPU does not wait.
 */
static void full_then_asleep(const TrackerEngine *e)
{
    size_t n = dirty_ring_soft_limit(e->ring_entries);
    g_autofree uint64_t *pages = g_new(uint64_t, n);
    DirtyReaperStats a, b;
    Oracle o;

    for (size_t i = 0; i < n; i++) {
        pages[i] = TEST_FIRST + i;
    }
    oracle_begin(&o, e);
    dirty_reaper_get_stats(&a);
    for (uint64_t round = 1; round <= 3; round++) {
        guest_store_pages(va, pages, n - 1, round);
        hold_reaper_at(DIRTY_REAPER_WOKEN);
        guest_store_and_sleep(va, pages[n - 1], round);
        /* It did not wait: nobody has reaped. */
        g_assert_cmpuint(guest_ring_used(va), ==, n);
        hold_wait();
        hold_release();
        for (unsigned i = 0; guest_ring_used(va); i++) {
            g_assert_cmpuint(i, <, 60000);
            g_usleep(1000);
        }
        g_assert_cmpuint(oracle_take(&o), ==, n);
        oracle_expect(&o, pages, n);
        oracle_send(&o);
    }
    dirty_reaper_get_stats(&b);
    g_assert_cmpuint(b.soft_full_exits - a.soft_full_exits, ==, 3);
    g_assert_cmpuint(b.reaps_full - a.reaps_full, ==, 3);
    g_assert_cmpuint(b.reaps_period, ==, a.reaps_period);
    g_assert_cmpuint(b.full_wait_ns, ==, a.full_wait_ns);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* It wakes up before the reaper has come: what it then writes is not lost. */
static void full_asleep_and_up_again(const TrackerEngine *e)
{
    size_t n = dirty_ring_soft_limit(e->ring_entries);
    g_autofree uint64_t *pages = g_new(uint64_t, n + 1);
    GuestThread t;
    Oracle o;

    for (size_t i = 0; i <= n; i++) {
        pages[i] = TEST_FIRST + i;
    }
    oracle_begin(&o, e);
    guest_store_pages(va, pages, n - 1, 1);
    hold_reaper_at(DIRTY_REAPER_WOKEN);
    guest_store_and_sleep(va, pages[n - 1], 1);
    hold_wait();
    /* Full again by this: it waits until the reaper is let go. */
    guest_start_store(&t, va, pages + 1, n, 2);
    while (guest_ring_used(va) != n + 1) {
        g_usleep(1000);
    }
    hold_release();
    guest_join(&t);
    g_assert_cmpuint(oracle_take(&o), ==, n + 1);
    oracle_expect(&o, pages, n + 1);
    oracle_send(&o);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* More pages in one block than the reserve: the store waits, and is done. */
static void ring_hard_full(const TrackerEngine *e)
{
    /* 64, then 126 in each block: 190 is below the soft limit of 256. */
    const unsigned before = 64, n = 63 * 40;
    g_autofree uint64_t *pages = g_new(uint64_t, before + 2 * n);
    DirtyReaperStats a, b;
    Oracle o;

    for (unsigned i = 0; i < before + 2 * n; i++) {
        pages[i] = TEST_FIRST + i;
    }
    oracle_begin(&o, e);
    dirty_reaper_get_stats(&a);
    for (uint64_t round = 1; round <= 2; round++) {
        guest_store_pages(va, pages, before, round);
        guest_store_crossing(va, pages[before], n, round);
        g_assert_cmpuint(oracle_take(&o), ==, before + 2 * n);
        oracle_expect(&o, pages, before + 2 * n);
        for (unsigned i = 1; i < 2 * n; i += 2) {
            g_assert_cmpuint(oracle_content(&o, pages[before + i]), ==, round);
        }
        oracle_send(&o);
    }
    dirty_reaper_get_stats(&b);
    if (e->ring_entries == 256 && (e->can & HAS_HARD_FULL)) {
        g_assert_cmpuint(b.hard_full_exits, >, a.hard_full_exits);
    }
    oracle_check_current(&o);
    oracle_end(&o);
}

/*
 * The reaper is held before it reaps, the vCPU waits for it, out of the
 * guest. A stop does not wait for the reaper; the last collect finds what is
 * in the full ring.
 */
static void full_while_vcpu_stops(const TrackerEngine *e)
{
    size_t n = e->ring_entries;
    g_autofree uint64_t *pages = g_new(uint64_t, n);
    GuestThread t;
    uint64_t done;
    Oracle o;

    for (size_t i = 0; i < n; i++) {
        pages[i] = TEST_FIRST + i;
    }
    oracle_begin(&o, e);
    hold_reaper_at(DIRTY_REAPER_WOKEN);
    guest_start_loop(&t, va, pages, n);
    hold_wait();
    guest_stop(&t);
    g_assert_cmpuint(guest_ring_used(va), >=,
                     dirty_ring_soft_limit(e->ring_entries));
    done = oracle_take(&o);
    /* Some of the entries may be of the guest's page tables. */
    g_assert_cmpuint(done, >=,
                     dirty_ring_soft_limit(e->ring_entries) -
                         (e->can & IS_ONCE ? 0 : 16));
    oracle_expect(&o, pages, done);
    oracle_check_current(&o);
    hold_release();
    oracle_end(&o);
}

static void *release_later(void *opaque)
{
    g_usleep(30 * 1000);
    hold_release();
    return NULL;
}

/* Tracking ends while a vCPU waits for room: it goes on. */
static void full_while_tracking_stops(const TrackerEngine *e)
{
    size_t n = 2 * e->ring_entries;
    g_autofree uint64_t *pages = g_new(uint64_t, n);
    GuestThread t;
    QemuThread later;
    Oracle o;

    for (size_t i = 0; i < n; i++) {
        pages[i] = TEST_FIRST + i;
    }
    oracle_begin(&o, e);
    hold_reaper_at(DIRTY_REAPER_WOKEN);
    guest_start_store(&t, va, pages, n, 44);
    hold_wait();
    qemu_thread_create(&later, "later", release_later, NULL,
                       QEMU_THREAD_JOINABLE, &error_abort);
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    guest_join(&t);
    qemu_thread_join(&later);
    g_assert_cmpuint(oracle_content(&o, pages[n - 1]), ==, 44);
    oracle_unwatch(&o);

    /* And from the beginning. */
    oracle_begin(&o, e);
    guest_store_pages(va, pages, 10, 45);
    g_assert_cmpuint(oracle_take(&o), ==, 10);
    oracle_check_current(&o);
    oracle_end(&o);
}

/*
 * The reaper has taken entries, and is held. A round waits for it; a store in
 * between, through the permission that is still there, is in its copy.
 */
static void reaper_held(const TrackerEngine *e, DirtyReaperPoint point,
                        bool writable)
{
    /* A few more than it takes: a vCPU that ends in WFI would not wait. */
    size_t n = dirty_ring_soft_limit(e->ring_entries) + 8;
    g_autofree uint64_t *pages = g_new(uint64_t, n);
    RoundThread r;
    GuestThread t;
    Oracle o;

    for (size_t i = 0; i < n; i++) {
        pages[i] = TEST_FIRST + i;
    }
    oracle_begin(&o, e);
    hold_reaper_at(point);
    guest_start_store(&t, va, pages, n, 1);
    hold_wait();
    round_start(&r, &o);
    g_assert_false(qemu_event_timedwait(&r.done, 20));
    guest_store_page(vb, pages[n / 2], 2);
    hold_release();
    round_join(&r);
    guest_join(&t);
    if (writable && (e->can & IS_ONCE)) {
        g_assert_cmpuint(o.copy[pages[n / 2]], ==, 2);
        oracle_take(&o);
        g_assert_false(test_bit(pages[n / 2], o.bmap));
    }
    oracle_check_current(&o);
    guest_store_page(vb, pages[n / 2], 3);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    oracle_check_current(&o);
    oracle_end(&o);
}

static void reaper_held_harvested(const TrackerEngine *e)
{
    reaper_held(e, DIRTY_REAPER_HARVESTED, true);
}

static void reaper_held_reset(const TrackerEngine *e)
{
    reaper_held(e, DIRTY_REAPER_RESET, false);
}

/*
 * This thread has the big lock, and keeps it until the rings were full fifty
 * times: they are emptied and both vCPUs go on, and nobody takes it.
 */
static void big_lock_held(const TrackerEngine *e)
{
    uint64_t pages[2000], total = bql_acquisitions_total();
    DirtyReaperStats a, b;
    GuestThread ta, tb;
    Oracle o;

    for (unsigned i = 0; i < ARRAY_SIZE(pages); i++) {
        pages[i] = TEST_FIRST + 5 * i;
    }
    g_assert_true(bql_locked());
    oracle_begin(&o, e);
    dirty_reaper_get_stats(&a);
    guest_start_loop(&ta, va, pages, ARRAY_SIZE(pages));
    guest_start_loop(&tb, vb, pages, ARRAY_SIZE(pages));
    for (unsigned i = 0;; i++) {
        dirty_reaper_get_stats(&b);
        if (e->ring_entries > ARRAY_SIZE(pages)) {
            /* Never full: a collect empties them. */
            oracle_round(&o);
        }
        if (b.reaps_full + b.reaps_collect - a.reaps_full - a.reaps_collect >=
            50) {
            break;
        }
        g_assert_cmpuint(i, <, 60000);
        g_usleep(1000);
    }
    g_assert_cmpuint(b.thread_bql_acquisitions, ==, 0);
    g_assert_cmpuint(bql_acquisitions_total(), ==, total);
    guest_stop(&ta);
    guest_stop(&tb);
    oracle_check_current(&o);
    oracle_end(&o);
}

const Scenario ring_scenarios[] = {
    { "faults-per-round", faults_per_round, CAN_COUNT },
    { "ring/full", ring_full, HAS_RINGS },
    { "ring/full-then-asleep", full_then_asleep, HAS_RINGS | CAN_SLEEP },
    { "ring/full-asleep-and-up-again", full_asleep_and_up_again,
      HAS_RINGS | CAN_SLEEP },
    { "ring/hard-full", ring_hard_full, HAS_RINGS },
    { "ring/full-while-vcpu-stops", full_while_vcpu_stops, HAS_RINGS },
    { "ring/full-while-tracking-stops", full_while_tracking_stops, HAS_RINGS },
    { "ring/reaper-held/harvested", reaper_held_harvested, HAS_RINGS },
    { "ring/reaper-held/reset", reaper_held_reset, HAS_RINGS },
    { "ring/big-lock-held", big_lock_held, HAS_RINGS },
    { .name = NULL },
};
