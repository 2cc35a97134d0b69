/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracker oracle: what happens while pages are written. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "system/reset.h"
#include "tracker-oracle.h"

/* ---- what happens meanwhile ---- */

static void slot_added_and_removed(const TrackerEngine *e)
{
    const hwaddr base = 0x80000000;
    MemoryRegion extra;
    GuestThread t;
    Oracle o, x;

    const uint64_t main_page = TEST_FIRST + 70;
    const uint64_t pages[] = { 3, 64, 255 };
    uint64_t as_main[3];

    for (unsigned i = 0; i < 3; i++) {
        as_main[i] = (base - GUEST_RAM_BASE) / PAGE + pages[i];
    }
    oracle_begin(&o, e);
    for (unsigned round = 1; round <= 2; round++) {
        guest_store_page(va, main_page, round);
        memory_region_init_ram(&extra, NULL, "extra", 256 * PAGE, &error_abort);
        memory_region_add_subregion(get_system_memory(), base, &extra);
        oracle_watch(&x, e, extra.ram_block);
        g_assert_cmpuint(oracle_take(&x), ==, 0);
        guest_store_pages(va, as_main, 3, round);
        g_assert_cmpuint(oracle_take(&x), ==, 3);
        oracle_expect(&x, pages, 3);
        oracle_send(&x);
        guest_store_pages(vb, as_main, 2, round + 10);
        oracle_check_current(&x);

        /* It goes while a vCPU stores to it and to what stays. */
        guest_start_loop(&t, vb, as_main, 3);
        wait_content(&x, 3, 2);
        memory_region_del_subregion(get_system_memory(), &extra);
        guest_join(&t); /* by an external abort */
        oracle_check_current(&x);
        oracle_unwatch(&x);
        memory_region_destroy(&extra);

        g_assert_cmpuint(oracle_take(&o), ==, 1);
        oracle_expect(&o, &main_page, 1);
        oracle_send(&o);
    }
    guest_store_page(va, main_page, 3);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    oracle_check_current(&o);
    oracle_end(&o);
}

static void guest_reset(const TrackerEngine *e)
{
    const uint64_t before = TEST_FIRST + 80, after = TEST_FIRST + 81;
    uint64_t both[] = { before, after };
    Oracle o;

    oracle_begin(&o, e);
    guest_store_page(va, before, 1);
    qemu_devices_reset();
    guest_forget_code(va);
    guest_store_page(va, after, 1);
    g_assert_cmpuint(oracle_take(&o), ==, 2);
    oracle_expect(&o, both, 2);
    oracle_send(&o);
    guest_store_pages(va, both, 2, 2);
    g_assert_cmpuint(oracle_take(&o), ==, 2);
    oracle_check_current(&o);
    oracle_end(&o);
}

static void stopped_and_restarted(const TrackerEngine *e)
{
    const uint64_t collected = TEST_FIRST + 90, untracked = TEST_FIRST + 91;
    GuestThread t;
    Oracle o;

    oracle_begin(&o, e);
    guest_store_page(va, collected, 1);
    oracle_round(&o);
    guest_store_page(va, collected, 2); /* writable, not collected */
    oracle_end(&o);
    guest_store_page(va, untracked, 1);

    /* All is forgotten; a permission from the first time is, too. */
    oracle_begin(&o, e);
    g_assert_cmpuint(oracle_take(&o), ==, 0);
    guest_store_page(va, collected, 3);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    oracle_expect(&o, &collected, 1);
    oracle_check_current(&o);
    oracle_end(&o);

    /* And while a vCPU is inside guest code all the time. */
    guest_start_loop(&t, va, &collected, 1);
    for (unsigned round = 0; round < 5; round++) {
        oracle_begin(&o, e);
        while (oracle_take(&o) == 0) {
            g_usleep(100);
        }
        oracle_expect(&o, &collected, 1);
        oracle_send(&o);
        oracle_end(&o);
    }
    oracle_begin(&o, e);
    guest_stop(&t);
    oracle_check_current(&o);
    oracle_end(&o);
}

/*
 * The engine is changed and changed back while a vCPU writes all the time,
 * inside guest code. Each time the first collect has all that is written.
 */
static void switched(const TrackerEngine *e)
{
    uint64_t pages[150];
    GuestThread t;
    Oracle o;

    for (unsigned i = 0; i < ARRAY_SIZE(pages); i++) {
        pages[i] = TEST_FIRST + 7 * i;
    }
    guest_start_loop(&t, va, pages, ARRAY_SIZE(pages));
    for (unsigned i = 0; tracker_engines[i / 2].name; i++) {
        const TrackerEngine *x = &tracker_engines[i / 2];
        uint64_t seen = 0;

        if (x->kind != e->kind) {
            continue; /* not under a running guest */
        }
        oracle_begin(&o, i & 1 ? e : x);
        while (seen < ARRAY_SIZE(pages)) {
            seen += oracle_take(&o);
        }
        oracle_expect(&o, pages, ARRAY_SIZE(pages));
        oracle_send(&o);
        oracle_end(&o);
    }
    oracle_begin(&o, e);
    oracle_round(&o);
    guest_stop(&t);
    oracle_check_current(&o);
    oracle_end(&o);
}

/*
 * Two users, each taking and cleaning at its own pace: neither takes a page
 * from the other, and what the one cleans, the other at most sees again.
 */
static void two_users(const TrackerEngine *e)
{
    uint64_t pages[100], n = ARRAY_SIZE(pages);
    ram_addr_t all;
    Oracle o;

    for (unsigned i = 0; i < n; i++) {
        pages[i] = TEST_FIRST + 300 + 2 * i;
    }
    oracle_begin(&o, e);
    all = o.nr_pages * PAGE;
    memory_global_dirty_log_start(GLOBAL_DIRTY_DIRTY_RATE, &error_abort);
    for (uint64_t round = 1; round <= 3; round++) {
        guest_store_pages(va, pages, n, 2 * round);
        g_assert_cmpuint(oracle_take(&o), ==, n);
        oracle_send(&o);
        /* The other has them still; cleaned or not, it sees the next ones. */
        g_assert_cmpuint(ram_block_test_and_clear_dirty(
                             o.rb, 0, all, DIRTY_MEMORY_RATE, NULL),
                         ==, n);
        guest_store_pages(vb, pages, n / 2, 2 * round + 1);
        memory_global_dirty_log_sync(false);
        g_assert_cmpuint(ram_block_test_and_clear_dirty(
                             o.rb, 0, all, DIRTY_MEMORY_RATE, NULL),
                         ==, n / 2);
        g_assert_cmpuint(oracle_take(&o), ==, n / 2);
        oracle_expect(&o, pages, n / 2);
        oracle_send(&o);
    }
    memory_global_dirty_log_stop(GLOBAL_DIRTY_DIRTY_RATE);
    guest_store_pages(va, pages, n, 99);
    g_assert_cmpuint(oracle_take(&o), ==, n);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* A vCPU in WFI has no part in a round, and comes back without permissions. */
static void parked_in_wfi(const TrackerEngine *e)
{
    const uint64_t page = TEST_FIRST + 100;
    Oracle o;

    oracle_begin(&o, e);
    guest_store_page(va, page, 1);
    g_assert_true(guest_is_parked(va));
    for (uint64_t round = 2; round <= 4; round++) {
        g_assert_cmpuint(oracle_take(&o), ==, 1);
        oracle_send(&o);
        g_assert_cmpuint(oracle_take(&o), ==, 0);
        guest_store_page(va, page, round);
    }
    oracle_check_current(&o);
    oracle_end(&o);
}

/* The same in WFE, on a thread that is inside its execution loop. */
static void parked_in_wfe(const TrackerEngine *e)
{
    const uint64_t first = TEST_FIRST + 101, second = TEST_FIRST + 102;
    GuestThread t;
    Oracle o;

    oracle_begin(&o, e);
    guest_start_wfe(&t, va, first, second, 5);
    wait_content(&o, first, 5);
    while (!guest_is_asleep(va)) {
        g_usleep(100);
    }
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    oracle_expect(&o, &first, 1);
    oracle_send(&o);
    guest_end_wfe();
    guest_join(&t);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    oracle_expect(&o, &second, 1);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* A vCPU that is made while tracking is on is tracked from its first store. */
static void vcpu_appears(const TrackerEngine *e)
{
    const uint64_t pages[] = { TEST_FIRST + 400, TEST_FIRST + 401 };
    GuestVcpu *late;
    Oracle o;

    oracle_begin(&o, e);
    guest_store_page(va, pages[0], 1);
    late = guest_vcpu(GUEST_MODEL);
    guest_store_page(late, pages[1], 2);
    g_assert_cmpuint(oracle_take(&o), ==, 2);
    oracle_expect(&o, pages, 2);
    oracle_send(&o);
    guest_store_pages(late, pages, 2, 3);
    g_assert_cmpuint(oracle_take(&o), ==, 2);
    oracle_check_current(&o);
    oracle_end(&o);
    /* And when it begins anew. */
    oracle_begin(&o, e);
    guest_store_page(late, pages[0], 4);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* Each vCPU's pages are its own, counted once. */
static void attribution(const TrackerEngine *e)
{
    uint64_t pages[50], a, b, a_after, b_after;
    Oracle o;

    for (unsigned i = 0; i < ARRAY_SIZE(pages); i++) {
        pages[i] = TEST_FIRST + 200 + i;
    }
    oracle_begin(&o, e);
    dirty_tracker_written(va->cs, &a);
    dirty_tracker_written(vb->cs, &b);
    guest_store_pages(va, pages, 30, 1);
    guest_store_pages(vb, pages + 20, 30, 1);
    guest_store_pages(va, pages, 30, 2);
    oracle_take(&o);
    g_assert_true(dirty_tracker_written(va->cs, &a_after));
    g_assert_true(dirty_tracker_written(vb->cs, &b_after));
    if (e->can & IS_ONCE) {
        g_assert_cmpuint(a_after - a, ==, 30);
        g_assert_cmpuint(b_after - b, ==, 20);
    } else {
        /*
         * Those that the other one wrote before may count, too; and a few of
         * the guest's page tables, where walking them counts as writing.
         */
        g_assert_cmpuint(a_after - a, >=, 30);
        g_assert_cmpuint(a_after - a, <=, 40);
        g_assert_cmpuint(b_after - b, >=, 20);
        g_assert_cmpuint(b_after - b, <=, 40);
    }
    oracle_end(&o);
}

const Scenario event_scenarios[] = {
    { "slot-added-and-removed", slot_added_and_removed },
    { "guest-reset", guest_reset },
    { "stopped-and-restarted", stopped_and_restarted },
    { "switched", switched },
    { "two-users", two_users },
    { "parked/wfi", parked_in_wfi },
    { "parked/wfe", parked_in_wfe, CAN_SLEEP },
    { "vcpu-appears", vcpu_appears },
    { "attribution", attribution, CAN_ATTRIBUTE },
    { .name = NULL },
};
