/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The software engine's DBM tracker: which writes fault, which groups collect
 * reads, and the interleavings of its summary. What it has in common with the
 * other trackers is in test-tracker-oracle.c.
 *
 * Counts are compared exactly; threads are held at named points.
 */
#include "qemu/osdep.h"

#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "tracker-oracle.h"

#define GROUP 64u
/* The first page of a group, and of a word of the summary. */
#define BASE UINT64_C(4096)

static const TrackerEngine engine = {
    .name = "dbm",
    .ops = &tcg_dbm_tracker,
    .half = TCG_POINT_UNLISTED,
};
static const TrackerEngine bitmap_engine = {
    .name = "bitmap",
    .ops = &tcg_bitmap_tracker,
};

static DirtyTrackerGroups since; /* what diff() counts from */

static void count_from_here(void)
{
    tcg_dbm_tracker.groups(&since);
}

static DirtyTrackerGroups counted(void)
{
    DirtyTrackerGroups s;

    tcg_dbm_tracker.groups(&s);
    s.faults -= since.faults;
    s.hw_updates -= since.hw_updates;
    s.groups_armed -= since.groups_armed;
    s.groups_disarmed -= since.groups_disarmed;
    s.groups_fallen -= since.groups_fallen;
    s.groups_back -= since.groups_back;
    s.groups_scanned -= since.groups_scanned;
    s.entries_scanned -= since.entries_scanned;
    s.summary_words -= since.summary_words;
    s.pages_collected -= since.pages_collected;
    s.pages_cleaned -= since.pages_cleaned;
    return s;
}

static void store_run(TcgVcpu *v, uint64_t first, unsigned n, unsigned step,
                      uint64_t val)
{
    uint64_t pages[4096];

    g_assert_cmpuint(n, <=, ARRAY_SIZE(pages));
    for (unsigned i = 0; i < n; i++) {
        pages[i] = first + i * step;
    }
    guest_store_pages(v, pages, n, val);
}

/* ---- arming ---- */

static void test_one_fault_arms_a_group(void)
{
    Oracle o;

    oracle_begin(&o, &engine);
    count_from_here();
    for (uint64_t round = 1; round <= 3; round++) {
        store_run(va, BASE, 2 * GROUP, 1, round);
        g_assert_cmpuint(oracle_take(&o), ==, 2 * GROUP);
        g_assert_cmpuint(counted().faults, ==, 2);
        g_assert_cmpuint(counted().hw_updates, ==, round * 2 * GROUP - 2);
        g_assert_cmpuint(counted().groups_armed, ==, 2);
        g_assert_cmpuint(counted().groups_armed_now, ==, 2);
        oracle_send(&o);
        g_assert_cmpuint(counted().pages_cleaned, ==, round * 2 * GROUP);
    }
    oracle_check_current(&o);
    oracle_end(&o);
    g_assert_cmpuint(counted().groups_armed_now, ==, 0);
}

/* Collect reads 64 entries per armed group, however large the guest is. */
static void test_collect_reads_armed_groups(void)
{
    Oracle o;

    oracle_begin(&o, &engine);
    count_from_here();
    g_assert_cmpuint(oracle_take(&o), ==, 0);
    g_assert_cmpuint(counted().groups_scanned, ==, 0);
    g_assert_cmpuint(counted().entries_scanned, ==, 0);
    /* 64 MiB: one word of the upper level. */
    g_assert_cmpuint(counted().summary_words, ==, 1);

    store_run(va, BASE, 20, GROUP / 2, 1); /* two in each of ten */
    count_from_here();
    g_assert_cmpuint(oracle_take(&o), ==, 20);
    g_assert_cmpuint(counted().groups_scanned, ==, 10);
    g_assert_cmpuint(counted().entries_scanned, ==, 10 * GROUP);
    g_assert_cmpuint(counted().summary_words, ==, 2);
    g_assert_cmpuint(counted().pages_collected, ==, 20);
    oracle_send(&o);
    oracle_end(&o);
}

/* A page is found once, until it was cleaned, whatever is stored meanwhile. */
static void test_moved_not_copied(void)
{
    Oracle o;

    oracle_begin(&o, &engine);
    store_run(va, BASE, 10, 1, 1);
    g_assert_cmpuint(oracle_take(&o), ==, 10);
    bitmap_zero(o.bmap, o.nr_pages);
    store_run(vb, BASE, 12, 1, 2);
    g_assert_cmpuint(oracle_take(&o), ==, 2);
    /* A part is cleaned, and shows again. */
    ram_block_clean(o.rb, BASE * PAGE, 5 * PAGE);
    store_run(va, BASE, 12, 1, 3);
    g_assert_cmpuint(oracle_take(&o), ==, 5);
    bitmap_set(o.bmap, BASE, 12);
    oracle_send(&o);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* ---- single pages, and back ---- */

static void test_sparse_falls_back(void)
{
    const unsigned groups = 100, after = tcg_dbm_default_policy.fall_after;
    Oracle o;

    oracle_begin(&o, &engine);
    count_from_here();
    for (uint64_t round = 1; round <= after; round++) {
        store_run(va, BASE + 7, groups, GROUP, round);
        oracle_round(&o);
        g_assert_cmpuint(counted().faults, ==, groups);
    }
    g_assert_cmpuint(counted().groups_fallen, ==, groups);
    g_assert_cmpuint(counted().groups_armed_now, ==, 0);

    /* Now it pays for itself alone: a fault and an entry per page. */
    count_from_here();
    store_run(va, BASE + 9, groups, GROUP, 3);
    g_assert_cmpuint(oracle_take(&o), ==, groups);
    g_assert_cmpuint(counted().faults, ==, groups);
    g_assert_cmpuint(counted().entries_scanned, ==, groups);
    g_assert_cmpuint(counted().groups_armed, ==, 0);
    oracle_send(&o);
    count_from_here();
    g_assert_cmpuint(oracle_take(&o), ==, 0);
    g_assert_cmpuint(counted().groups_scanned, ==, 0);

    /* Several pages in one round: it comes back, and the next fault arms. */
    store_run(va, BASE, 3, 1, 4);
    oracle_round(&o);
    g_assert_cmpuint(counted().faults, ==, 3);
    g_assert_cmpuint(counted().groups_back, ==, 1);
    count_from_here();
    store_run(va, BASE, GROUP, 1, 5);
    g_assert_cmpuint(oracle_take(&o), ==, GROUP);
    g_assert_cmpuint(counted().faults, ==, 1);
    g_assert_cmpuint(counted().groups_armed, ==, 1);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* One fresh page beside others that are not cleaned yet is not sparse. */
static void test_not_sparse_while_uncleaned(void)
{
    Oracle o;

    oracle_begin(&o, &engine);
    count_from_here();
    for (unsigned i = 0; i < 10; i++) {
        store_run(va, BASE + i, 1, 1, 1);
        g_assert_cmpuint(oracle_take(&o), ==, 1);
    }
    g_assert_cmpuint(counted().groups_fallen, ==, 0);
    g_assert_cmpuint(counted().faults, ==, 1);
    oracle_send(&o);
    oracle_end(&o);
}

/* ---- disarming ---- */

static void test_clean_groups_are_disarmed(void)
{
    const unsigned after = tcg_dbm_default_policy.disarm_after;
    Oracle o;

    oracle_begin(&o, &engine);
    store_run(va, BASE, 30 * GROUP, 1, 1);
    oracle_take(&o);
    /* Not while pages wait for their clean: stores to these show nothing. */
    count_from_here();
    for (unsigned i = 0; i < after + 1; i++) {
        g_assert_cmpuint(oracle_take(&o), ==, 0);
    }
    g_assert_cmpuint(counted().groups_disarmed, ==, 0);
    oracle_send(&o);

    /* Ten stay in use. */
    count_from_here();
    for (unsigned i = 0; i < after; i++) {
        store_run(va, BASE, 20, GROUP / 2, 2 + i);
        g_assert_cmpuint(oracle_take(&o), ==, 20);
        oracle_send(&o);
    }
    g_assert_cmpuint(counted().groups_disarmed, ==, 20);
    g_assert_cmpuint(counted().groups_armed_now, ==, 10);
    g_assert_cmpuint(counted().faults, ==, 0);

    count_from_here();
    g_assert_cmpuint(oracle_take(&o), ==, 0);
    g_assert_cmpuint(counted().entries_scanned, ==, 10 * GROUP);
    /* A disarmed group is a new one. */
    store_run(va, BASE + 20 * GROUP, 5, 1, 9);
    g_assert_cmpuint(oracle_take(&o), ==, 5);
    g_assert_cmpuint(counted().faults, ==, 1);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* ---- odd sizes ---- */

/* A block of @nr_pages, its last group, and stores to its last pages. */
static void block_of(uint64_t nr_pages)
{
    const hwaddr base = 0x80000000;
    uint64_t first = (base - GUEST_RAM_BASE) / PAGE;
    uint64_t groups = DIV_ROUND_UP(nr_pages, GROUP);
    MemoryRegion mr;
    Oracle o, x;

    oracle_begin(&o, &engine);
    memory_region_init_ram(&mr, NULL, "odd", nr_pages * PAGE, &error_abort);
    memory_region_add_subregion(get_system_memory(), base, &mr);
    oracle_watch(&x, &engine, mr.ram_block);
    count_from_here();
    for (uint64_t round = 1; round <= 4; round++) {
        store_run(va, first, nr_pages, 1, round);
        g_assert_cmpuint(oracle_take(&x), ==, nr_pages);
        oracle_send(&x);
    }
    if (nr_pages % GROUP != 1) {
        g_assert_cmpuint(counted().faults, ==, groups);
        g_assert_cmpuint(counted().entries_scanned, ==, 4 * nr_pages);
    } else {
        /* A last group of one page is as sparse as can be. */
        g_assert_cmpuint(counted().groups_fallen, ==, 1);
    }
    store_run(vb, first + nr_pages - 1, 1, 1, 9);
    g_assert_cmpuint(oracle_take(&x), ==, 1);
    g_assert_true(test_bit(nr_pages - 1, x.bmap));
    oracle_check_current(&x);
    memory_region_del_subregion(get_system_memory(), &mr);
    oracle_unwatch(&x);
    memory_region_destroy(&mr);
    oracle_end(&o);
}

static void test_odd_blocks(void)
{
    static const unsigned sizes[] = { 1, 2, 10, 63, 64, 65, 100, 128, 130 };

    for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
        block_of(sizes[i]);
    }
}

/* Ranges that end within groups: each page is found, by its own range. */
static void test_ranges_within_groups(void)
{
    const uint64_t cuts[] = { 0, 3, 64, 100, 128, 129, 191, 4096, 4100, 8192 };
    uint64_t found;
    Oracle o;

    oracle_begin(&o, &engine);
    for (uint64_t round = 1; round <= 6; round++) {
        store_run(va, BASE, 1500, 3, round);
        store_run(vb, BASE + 1, 1500, 3, round);
        for (unsigned i = 0; i + 1 < ARRAY_SIZE(cuts); i++) {
            uint64_t n = cuts[i + 1] - cuts[i];

            ram_block_dirty_sync_range(o.rb, (BASE + cuts[i]) * PAGE, n * PAGE);
            g_assert_cmpuint(
                ram_block_count_dirty(o.rb, (BASE + cuts[i + 1]) * PAGE,
                                      (15000 - BASE - cuts[i + 1]) * PAGE, MIG),
                ==, 0);
        }
        found = oracle_take_published(&o);
        g_assert_cmpuint(found, ==, 3000);
        oracle_send(&o);
    }
    oracle_check_current(&o);
    oracle_end(&o);
}

/* ---- interleavings ---- */

/*
 * A vCPU is in the fault that makes a page writable, and has not entered it in
 * the summary (dbm: its group). Another stores to the page: it must not rely on the first to list it.
 */
static void test_found_for_the_second_vcpu(gconstpointer e)
{
    const uint64_t page = BASE + 5;
    GuestThread t;
    Oracle o;

    oracle_begin(&o, e);
    hold_at(TCG_POINT_UNLISTED, va);
    guest_start_store(&t, va, &page, 1, 7);
    hold_wait();
    guest_store_page(vb, page, 8);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    hold_release();
    guest_join(&t);
    oracle_send(&o);
    oracle_check_current(&o);
    oracle_end(&o);
}

/*
 * The same, after the group was listed, and a collect that found the page
 * clean has disarmed it while the first vCPU was on its way.
 */
static void test_disarmed_under_a_fault(void)
{
    const uint64_t page = BASE + 5, other = BASE + 6;
    GuestThread t;
    Oracle o;

    oracle_begin(&o, &engine);
    guest_store_page(vb, other, 1);
    guest_store_page(vb, other + 1, 1);
    oracle_round(&o);
    hold_at(TCG_POINT_FAULT, va);
    guest_start_store(&t, va, &page, 1, 7);
    hold_wait();
    count_from_here();
    for (unsigned i = 0; i < tcg_dbm_default_policy.disarm_after; i++) {
        g_assert_cmpuint(oracle_take(&o), ==, 0);
    }
    g_assert_cmpuint(counted().groups_disarmed, ==, 1);
    hold_release();
    guest_join(&t);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    g_assert_cmpuint(counted().faults, ==, 1);
    oracle_expect(&o, &page, 1);
    oracle_send(&o);
    oracle_check_current(&o);
    oracle_end(&o);
}

static void *take_thread(void *opaque)
{
    oracle_take(opaque);
    return NULL;
}

/*
 * A collect has taken the summary's bits and is held; a vCPU dirties a page of
 * a listed and one of an unlisted group. Nothing is lost: each is found by
 * this collect or by the next.
 */
static void test_store_under_a_delisted_group(void)
{
    const uint64_t pages[] = { BASE + 1, BASE + 2, BASE + 3 * GROUP };
    QemuThread thread;
    Oracle o;

    oracle_begin(&o, &engine);
    guest_store_page(vb, pages[0], 1);
    hold_at(TCG_POINT_DBM_DELISTED, NULL);
    qemu_thread_create(&thread, "collect", take_thread, &o,
                       QEMU_THREAD_JOINABLE, &error_abort);
    hold_wait();
    guest_store_pages(va, pages + 1, 2, 2);
    hold_release();
    qemu_thread_join(&thread);
    g_assert_true(test_bit(pages[0], o.bmap));
    g_assert_true(test_bit(pages[1], o.bmap));
    oracle_take(&o);
    oracle_expect(&o, pages, 3);
    oracle_send(&o);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* Two vCPUs store to sets that overlap, while collects go on: exact. */
static void test_exact_under_collects(void)
{
    uint64_t a[3000], b[3000], total, seed = 12345;
    GuestThread ta, tb;
    Oracle o;

    for (unsigned round = 1; round <= 4; round++) {
        g_autofree uint64_t *want = NULL;
        uint64_t distinct;

        oracle_begin(&o, &engine);
        want = bitmap_new(o.nr_pages);
        for (unsigned i = 0; i < ARRAY_SIZE(a); i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1;
            a[i] = TEST_FIRST + (seed >> 33) % 9000;
            b[i] = TEST_FIRST + (seed >> 40) % 9000;
            set_bit(a[i], want);
            set_bit(b[i], want);
        }
        distinct = bitmap_count_one(want, o.nr_pages);
        guest_start_store(&ta, va, a, ARRAY_SIZE(a), round);
        guest_start_store(&tb, vb, b, ARRAY_SIZE(b), round);
        total = 0;
        for (unsigned i = 0; i < 50; i++) {
            total += oracle_take(&o);
        }
        guest_join(&ta);
        guest_join(&tb);
        total += oracle_take(&o);
        /* Without cleans none comes twice. */
        g_assert_cmpuint(total, ==, distinct);
        g_assert_cmpmem(o.bmap, o.nr_pages / 8, want, o.nr_pages / 8);
        oracle_send(&o);
        oracle_check_current(&o);
        oracle_end(&o);
    }
}

/* ---- ranges at once ---- */

typedef struct Ranger {
    Oracle *o;
    uint64_t first, nr;
    QemuThread thread;
} Ranger;

static void *clean_thread(void *opaque)
{
    Ranger *r = opaque;

    ram_block_clean(r->o->rb, r->first * PAGE, r->nr * PAGE);
    return NULL;
}

/*
 * One thread is held inside its clean, pages taken, handshake to come;
 * meanwhile another collects and cleans its own range, which begins in the
 * same word, to the end.
 */
static void ranges_at_once(const TrackerEngine *e)
{
    uint64_t mine = BASE + 10;
    Ranger r;
    Oracle o;

    oracle_begin(&o, e);
    store_run(va, BASE, 100, 1, 1);
    g_assert_cmpuint(oracle_take(&o), ==, 100);
    r = (Ranger){ .o = &o, .first = BASE, .nr = 10 };
    hold_at(TCG_POINT_CLEAN_ASKED, NULL);
    qemu_thread_create(&r.thread, "clean", clean_thread, &r,
                       QEMU_THREAD_JOINABLE, &error_abort);
    hold_wait();
    ram_block_clean(o.rb, mine * PAGE, 90 * PAGE);
    store_run(va, mine, 90, 1, 2);
    ram_block_dirty_sync_range(o.rb, mine * PAGE, 90 * PAGE);
    g_assert_cmpuint(
        ram_block_collect_dirty(o.rb, mine * PAGE, 90 * PAGE, MIG, NULL), ==,
        90);
    hold_release();
    qemu_thread_join(&r.thread);
    bitmap_set(o.bmap, BASE, 100);
    oracle_send(&o);
    oracle_check_current(&o);
    oracle_end(&o);
}

static void test_ranges_at_once(gconstpointer e)
{
    ranges_at_once(e);
}

/* A thread that owns a range: collects, takes, cleans, reads, many times. */
static void *own_range_thread(void *opaque)
{
    Ranger *r = opaque;
    Oracle *o = r->o;
    g_autofree uint64_t *bmap = bitmap_new(o->nr_pages);

    for (unsigned round = 0; round < 60; round++) {
        ram_addr_t at = 0, done;

        for (; at < r->nr * PAGE; at += done) {
            ram_block_take_some(o->rb, r->first * PAGE + at, r->nr * PAGE - at,
                                MIG, bmap, 50, &done);
        }
        for (uint64_t p = r->first; p < r->first + r->nr; p++) {
            if (test_and_clear_bit(p, bmap)) {
                o->copy[p] = oracle_content(o, p);
            }
        }
    }
    return NULL;
}

/* Four owners of ranges that meet within words; two vCPUs write all over. */
static void test_owners(gconstpointer e)
{
    const uint64_t cuts[] = { 1024, 2001, 4100, 4161, 6000 };
    uint64_t a[1500], b[1500];
    GuestThread ta, tb;
    Ranger r[4];
    Oracle o;

    for (unsigned i = 0; i < ARRAY_SIZE(a); i++) {
        a[i] = TEST_FIRST + i * 3;
        b[i] = TEST_FIRST + 4900 - i * 2;
    }
    oracle_begin(&o, e);
    guest_start_loop(&ta, va, a, ARRAY_SIZE(a));
    guest_start_loop(&tb, vb, b, ARRAY_SIZE(b));
    for (unsigned i = 0; i < ARRAY_SIZE(r); i++) {
        r[i] = (Ranger){ .o = &o,
                         .first = cuts[i],
                         .nr = cuts[i + 1] - cuts[i] };
        qemu_thread_create(&r[i].thread, "owner", own_range_thread, &r[i],
                           QEMU_THREAD_JOINABLE, &error_abort);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(r); i++) {
        qemu_thread_join(&r[i].thread);
    }
    guest_stop(&ta);
    guest_stop(&tb);
    oracle_check_current(&o);
    oracle_end(&o);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    oracle_init();
    g_test_add_func("/dbm/arming/one-fault", test_one_fault_arms_a_group);
    g_test_add_func("/dbm/arming/collect-reads-armed-groups",
                    test_collect_reads_armed_groups);
    g_test_add_func("/dbm/moved-not-copied", test_moved_not_copied);
    g_test_add_func("/dbm/single/sparse-falls-back", test_sparse_falls_back);
    g_test_add_func("/dbm/single/not-while-uncleaned",
                    test_not_sparse_while_uncleaned);
    g_test_add_func("/dbm/disarming", test_clean_groups_are_disarmed);
    g_test_add_func("/dbm/odd-blocks", test_odd_blocks);
    g_test_add_func("/dbm/ranges-within-groups", test_ranges_within_groups);
    g_test_add_data_func("/held/second-vcpu/dbm", &engine,
                         test_found_for_the_second_vcpu);
    g_test_add_data_func("/held/second-vcpu/bitmap", &bitmap_engine,
                         test_found_for_the_second_vcpu);
    g_test_add_func("/dbm/held/disarmed", test_disarmed_under_a_fault);
    g_test_add_func("/dbm/held/delisted", test_store_under_a_delisted_group);
    g_test_add_func("/dbm/exact-under-collects", test_exact_under_collects);
    g_test_add_data_func("/ranges/at-once/dbm", &engine, test_ranges_at_once);
    g_test_add_data_func("/ranges/at-once/bitmap", &bitmap_engine,
                         test_ranges_at_once);
    g_test_add_data_func("/ranges/owners/dbm", &engine, test_owners);
    g_test_add_data_func("/ranges/owners/bitmap", &bitmap_engine, test_owners);
    return g_test_run();
}
