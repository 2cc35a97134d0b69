/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every scenario over every tracker: no write lost, none invented, counts
 * exact. A tracker is one row of engines[]; a scenario is one row of
 * scenarios[]; each pair is one test.
 *
 * What a scenario knows of an engine is what the row says: whether a collect
 * re-arms (then a page stored to before its clean is reported again) and how
 * large rings are. What it may report is exactly what was stored to since the
 * page was last re-armed; nothing is "at least" but where two vCPUs race
 * freely, and there the copy is held against memory.
 */
#include "qemu/osdep.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "accel/qtest.h"
#include "hw/loader.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/reset.h"
#include "tracker-oracle.h"

static void rings_of_256(void)
{
    tcg_ring_set_entries(256, &error_abort);
}

static void rings_of_4096(void)
{
    tcg_ring_set_entries(4096, &error_abort);
}

static const TrackerEngine engines[] = {
    {
        .name = "bitmap",
        .ops = &tcg_bitmap_tracker,
        .half = TCG_POINT_FAULT_HALF,
    },
    {
        .name = "ring-256",
        .ops = &tcg_ring_tracker,
        .configure = rings_of_256,
        .half = TCG_POINT_RING_PUSHED,
        .collect_rearms = true,
        .ring_entries = 256,
    },
    {
        .name = "ring-4096",
        .ops = &tcg_ring_tracker,
        .configure = rings_of_4096,
        .half = TCG_POINT_RING_PUSHED,
        .collect_rearms = true,
        .ring_entries = 4096,
    },
};

/* ---- what is written ---- */

static void sequential(const TrackerEngine *e)
{
    uint64_t pages[1000];
    Oracle o;

    for (unsigned i = 0; i < ARRAY_SIZE(pages); i++) {
        pages[i] = TEST_FIRST + 37 + i;
    }
    oracle_begin(&o, e);
    g_assert_cmpuint(oracle_take(&o), ==, 0);
    for (uint64_t round = 1; round <= 3; round++) {
        guest_store_pages(va, pages, ARRAY_SIZE(pages), round);
        g_assert_cmpuint(oracle_take(&o), ==, ARRAY_SIZE(pages));
        oracle_expect(&o, pages, ARRAY_SIZE(pages));
        g_assert_cmpuint(oracle_take(&o), ==, 0);
        oracle_send(&o);
        g_assert_cmpuint(oracle_take(&o), ==, 0);
    }
    oracle_check_current(&o);
    oracle_end(&o);
}

static unsigned distinct(const uint64_t *pages, size_t n)
{
    g_autoptr(GHashTable) set = g_hash_table_new(NULL, NULL);

    for (size_t i = 0; i < n; i++) {
        g_hash_table_add(set, GUINT_TO_POINTER((guint)pages[i]));
    }
    return g_hash_table_size(set);
}

static void random_pages(const TrackerEngine *e)
{
    uint64_t pages[700];
    Oracle o;

    oracle_begin(&o, e);
    for (unsigned round = 1; round <= 4; round++) {
        for (unsigned i = 0; i < ARRAY_SIZE(pages); i++) {
            pages[i] = g_test_rand_int_range(TEST_FIRST, TEST_LAST);
        }
        guest_store_pages(round & 1 ? va : vb, pages, ARRAY_SIZE(pages), round);
        g_assert_cmpuint(oracle_take(&o), ==,
                         distinct(pages, ARRAY_SIZE(pages)));
        oracle_expect(&o, pages, ARRAY_SIZE(pages));
        oracle_send(&o);
    }
    oracle_check_current(&o);
    oracle_end(&o);
}

/* One page in each word of a bitmap, and none of their neighbours. */
static void sparse(const TrackerEngine *e)
{
    uint64_t pages[200];
    Oracle o;

    for (unsigned i = 0; i < ARRAY_SIZE(pages); i++) {
        pages[i] = TEST_FIRST + 64 * i + i % 64;
    }
    oracle_begin(&o, e);
    for (uint64_t round = 1; round <= 2; round++) {
        guest_store_pages(va, pages, ARRAY_SIZE(pages), round);
        g_assert_cmpuint(oracle_take(&o), ==, ARRAY_SIZE(pages));
        oracle_expect(&o, pages, ARRAY_SIZE(pages));
        oracle_send(&o);
    }
    oracle_check_current(&o);
    oracle_end(&o);
}

/* Stored to 10,000 times: one page, and one fault. */
static void hot_page(const TrackerEngine *e)
{
    g_autofree uint64_t *pages = g_new(uint64_t, 10000);
    uint64_t faults;
    Oracle o;

    for (unsigned i = 0; i < 10000; i++) {
        pages[i] = TEST_FIRST + 5;
    }
    oracle_begin(&o, e);
    for (uint64_t round = 1; round <= 3; round++) {
        faults = atomic_load(&va->stats.dirty_faults);
        guest_store_pages(va, pages, 10000, round);
        g_assert_cmpuint(atomic_load(&va->stats.dirty_faults) - faults, ==, 1);
        g_assert_cmpuint(oracle_take(&o), ==, 1);
        oracle_expect(&o, pages, 1);
        oracle_send(&o);
    }
    oracle_check_current(&o);
    oracle_end(&o);
}

/* ---- when it is written ---- */

/*
 * Collected, stored to again, cleaned, read: the copy has the later store.
 * Whether the page is reported again depends on when the engine re-arms.
 */
static void between_collect_and_clean(const TrackerEngine *e)
{
    const uint64_t page = TEST_FIRST + 9;
    Oracle o;

    oracle_begin(&o, e);
    guest_store_page(va, page, 1);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    guest_store_page(vb, page, 2);
    oracle_send(&o);
    g_assert_cmpuint(o.copy[page], ==, 2);
    g_assert_cmpuint(oracle_take(&o), ==, e->collect_rearms ? 1 : 0);
    oracle_send(&o);
    /* The clean re-armed it, whichever way it went. */
    guest_store_page(va, page, 3);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* Cleaned, stored to before it is read: it is reported again. */
static void between_clean_and_send(const TrackerEngine *e)
{
    const uint64_t page = TEST_FIRST + 11;
    Oracle o;

    oracle_begin(&o, e);
    guest_store_page(va, page, 1);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    ram_block_clean(o.rb, page * PAGE, PAGE);
    guest_store_page(va, page, 2);
    oracle_send(&o);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    oracle_expect(&o, &page, 1);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* A clean of one page leaves its neighbours in the word as they are. */
static void clean_of_a_neighbour(const TrackerEngine *e)
{
    const uint64_t pages[] = { TEST_FIRST + 64, TEST_FIRST + 65,
                               TEST_FIRST + 66 };
    Oracle o;

    oracle_begin(&o, e);
    guest_store_pages(va, pages, 2, 1);
    g_assert_cmpuint(oracle_take(&o), ==, 2);
    guest_store_page(va, pages[2], 1); /* not collected */
    ram_block_clean(o.rb, pages[0] * PAGE, PAGE);
    ram_block_clean(o.rb, pages[2] * PAGE, PAGE);
    oracle_send(&o);
    guest_store_page(vb, pages[1], 2);
    g_assert_cmpuint(oracle_take(&o), ==, 2);
    oracle_expect(&o, &pages[1], 2);
    oracle_check_current(&o);
    oracle_end(&o);
}

/*
 * A vCPU is held at @point of the fault of a store, while a whole round
 * (collect, clean, read) goes by or gets stuck waiting for it. Whatever the
 * round saw: the store is in a copy at the end, and so is the next one, which
 * it would not be if the fault had left the page writable with nobody to
 * report it.
 */
static void round_with_vcpu_held(const TrackerEngine *e, TcgTestPoint point)
{
    const uint64_t page = TEST_FIRST + 20;
    RoundThread r;
    GuestThread t;
    Oracle o;

    oracle_begin(&o, e);
    guest_store_page(va, page, 1);
    oracle_round(&o);
    hold_at(point, va);
    guest_start_store(&t, va, &page, 1, 2);
    hold_wait();
    round_start(&r, &o);
    hold_wait_handshake(&r);
    hold_release();
    round_join(&r);
    guest_join(&t);
    oracle_round(&o);
    g_assert_cmpuint(o.copy[page], ==, 2);
    g_assert_cmpuint(oracle_take(&o), ==, 0);
    guest_store_page(va, page, 3);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    oracle_expect(&o, &page, 1);
    oracle_check_current(&o);
    oracle_end(&o);
}

static void held_before_fault(const TrackerEngine *e)
{
    round_with_vcpu_held(e, TCG_POINT_FAULT);
}

static void held_half_way(const TrackerEngine *e)
{
    round_with_vcpu_held(e, e->half);
}

static void held_marked(const TrackerEngine *e)
{
    round_with_vcpu_held(e, TCG_POINT_MARKED);
}

static void held_stored(const TrackerEngine *e)
{
    round_with_vcpu_held(e, TCG_POINT_STORED);
}

/* ---- who writes ---- */

/* A store by another vCPU, while the first is half-way through its fault. */
static void two_vcpus_one_fault(const TrackerEngine *e)
{
    const uint64_t page = TEST_FIRST + 30;
    RoundThread r;
    GuestThread t;
    Oracle o;

    oracle_begin(&o, e);
    hold_at(e->half, va);
    guest_start_store(&t, va, &page, 1, 7);
    hold_wait();
    guest_store_page(vb, page, 8);
    round_start(&r, &o);
    hold_wait_handshake(&r);
    hold_release();
    round_join(&r);
    guest_join(&t);
    oracle_round(&o);
    g_assert_cmpuint(o.copy[page], ==, oracle_content(&o, page));
    g_assert_cmpuint(oracle_take(&o), ==, 0);
    guest_store_page(vb, page, 9);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    guest_store_page(va, page, 10);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* Both at once, over the same pages, through many rounds. */
static void two_vcpus_racing(const TrackerEngine *e)
{
    int64_t end = g_get_monotonic_time() + 200 * 1000;
    uint64_t pages[300];
    GuestThread ta, tb;
    Oracle o;

    for (unsigned i = 0; i < ARRAY_SIZE(pages); i++) {
        pages[i] = TEST_FIRST + i * 3;
    }
    oracle_begin(&o, e);
    guest_start_loop(&ta, va, pages, 200);
    guest_start_loop(&tb, vb, pages + 100, 200);
    wait_content(&o, pages[0], 2);
    while (g_get_monotonic_time() < end) {
        oracle_take(&o);
        for (uint64_t i = 0; i < o.nr_pages; i++) {
            uint64_t n = i - TEST_FIRST;

            /* None invented. */
            g_assert_true(!(o.bmap[i / 64] >> i % 64 & 1) ||
                          (i >= TEST_FIRST && n % 3 == 0 && n < 900));
        }
        oracle_send(&o);
    }
    guest_stop(&ta);
    guest_stop(&tb);
    oracle_check_current(&o);
    oracle_end(&o);
}

static void by_a_device(const TrackerEngine *e)
{
    const uint64_t pages[] = { TEST_FIRST + 40, TEST_FIRST + 41,
                               TEST_FIRST + 43 };
    const hwaddr base = GUEST_RAM_BASE;
    uint8_t buf[PAGE];
    Oracle o;

    memset(buf, 0x5a, sizeof(buf));
    oracle_begin(&o, e);
    /* A whole page that begins in the middle of one, and a word. */
    guest_write(base + pages[0] * PAGE + 8, buf, PAGE);
    guest_write64(base + pages[2] * PAGE, 99);
    /* Seen without asking the tracker. */
    g_assert_cmpuint(oracle_take_published(&o), ==, 3);
    oracle_expect(&o, pages, 3);
    g_assert_cmpuint(oracle_take(&o), ==, 0);
    oracle_send(&o);

    /* Then the guest, then both: each page counts once. */
    guest_store_page(va, pages[1], 1);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    oracle_send(&o);
    guest_store_page(va, pages[1], 2);
    guest_write64(base + pages[1] * PAGE, 3);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* A line to the qtest server, and its answer. */
static void qtest_line(int fd, const char *line)
{
    char buf[256];
    size_t have = 0;
    ssize_t n;

    g_assert_cmpint(write(fd, line, strlen(line)), ==, strlen(line));
    do {
        main_loop_iterate(false);
        n = recv(fd, buf + have, sizeof(buf) - 1 - have, MSG_DONTWAIT);
        if (n > 0) {
            have += n;
        }
        buf[have] = 0;
    } while (!strchr(buf, '\n'));
    g_assert_cmpstr(buf, ==, "OK\n");
}

static int qtest_connect(void)
{
    g_autofree char *dir = g_dir_make_tmp("oracle-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "qtest", NULL);
    g_autofree char *spec = g_strdup_printf("unix:%s,server=on,wait=off", path);
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    qtest_server_init(spec, "none", &error_abort);
    g_strlcpy(addr.sun_path, path, sizeof(addr.sun_path));
    g_assert_cmpint(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), ==, 0);
    unlink(path);
    rmdir(dir);
    return fd;
}

static void by_qtest(const TrackerEngine *e)
{
    static int fd = -1; /* one server per process */
    const uint64_t pages[] = { TEST_FIRST + 50, TEST_FIRST + 52,
                               TEST_FIRST + 53 };
    g_autofree char *word = NULL, *bytes = NULL;
    Oracle o;

    if (fd < 0) {
        fd = qtest_connect();
    }
    word = g_strdup_printf("writeq 0x%" PRIx64 " 0x77\n",
                           GUEST_RAM_BASE + pages[0] * PAGE);
    bytes = g_strdup_printf("memset 0x%" PRIx64 " 0x1001 0x11\n",
                            GUEST_RAM_BASE + pages[1] * PAGE);
    oracle_begin(&o, e);
    qtest_line(fd, word);
    qtest_line(fd, bytes);
    g_assert_cmpuint(oracle_take(&o), ==, 3);
    oracle_expect(&o, pages, 3);
    g_assert_cmphex(oracle_content(&o, pages[0]), ==, 0x77);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* The loader's blobs come by a reset handler; the tail is zeroed. */
static void by_the_loader(const TrackerEngine *e)
{
    const LoaderRam ram = { GUEST_RAM_BASE, GUEST_RAM_BYTES };
    const uint64_t pages[] = { TEST_FIRST + 60, TEST_FIRST + 61,
                               TEST_FIRST + 62 };
    Oracle o;

    g_assert_true(rom_add_blob("image", g_strnfill(PAGE + 1, 'x'), PAGE + 1,
                               2 * PAGE + 1, GUEST_RAM_BASE + pages[0] * PAGE,
                               &ram, &error_abort));
    oracle_begin(&o, e);
    qemu_devices_reset();
    g_assert_cmpuint(oracle_take(&o), ==, 3);
    oracle_expect(&o, pages, 3);
    oracle_send(&o);
    /* The guest overwrites a part, and the next reset brings it back. */
    guest_store_page(va, pages[0], 5);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    oracle_send(&o);
    qemu_devices_reset();
    g_assert_cmpuint(oracle_take(&o), ==, 3);
    oracle_check_current(&o);
    g_assert_cmphex(o.copy[pages[0]], ==, UINT64_C(0x7878787878787878));
    oracle_end(&o);
    rom_clear();
}

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
    va->flush_pending = true; /* what the accelerator does then */
    tcg_ask(va);
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

/* A vCPU in WFI has no part in a round, and comes back without permissions. */
static void parked_in_wfi(const TrackerEngine *e)
{
    const uint64_t page = TEST_FIRST + 100;
    Oracle o;

    oracle_begin(&o, e);
    guest_store_page(va, page, 1);
    g_assert_true(va->cs->halted);
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
    while (atomic_load(&va->active)) {
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

/* Each vCPU's pages are its own, counted once. */
static void attribution(const TrackerEngine *e)
{
    uint64_t pages[50], a, b;
    Oracle o;

    for (unsigned i = 0; i < ARRAY_SIZE(pages); i++) {
        pages[i] = TEST_FIRST + 200 + i;
    }
    oracle_begin(&o, e);
    dirty_tracker_attribute(va->cs, &a);
    dirty_tracker_attribute(vb->cs, &b);
    guest_store_pages(va, pages, 30, 1);
    guest_store_pages(vb, pages + 20, 30, 1);
    guest_store_pages(va, pages, 30, 2);
    oracle_take(&o);
    g_assert_true(dirty_tracker_attribute(va->cs, &a));
    g_assert_true(dirty_tracker_attribute(vb->cs, &b));
    g_assert_cmpuint(a, ==, 30);
    g_assert_cmpuint(b, ==, 20);
    oracle_end(&o);
}

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
    DirtyReaperStats s;
    Oracle o;

    for (unsigned i = 0; i < SET * PASSES; i++) {
        pages[i] = TEST_FIRST + i % SET;
    }
    oracle_begin(&o, e);
    dirty_reaper_get_stats(&s);
    again = s.entries_refault;
    faults = atomic_load(&va->stats.dirty_faults);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        guest_store_pages(va, pages, SET * PASSES, round);
        g_assert_cmpuint(oracle_take(&o), ==, SET);
        oracle_expect(&o, pages, SET);
        oracle_send(&o);
    }
    faults = atomic_load(&va->stats.dirty_faults) - faults;
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
    oracle_check_current(&o);
    oracle_end(&o);
}

/* ---- rings ---- */

/* Soft-full many times: the vCPU goes on each time, nothing is lost. */
static void ring_full(const TrackerEngine *e)
{
    size_t n = MIN(3 * e->ring_entries, TEST_LAST - TEST_FIRST);
    g_autofree uint64_t *pages = g_new(uint64_t, n);
    DirtyReaperStats a, b;
    Oracle o;

    for (size_t i = 0; i < n; i++) {
        pages[i] = TEST_FIRST + i;
    }
    oracle_begin(&o, e);
    dirty_reaper_get_stats(&a);
    for (uint64_t round = 1; round <= 3; round++) {
        guest_store_pages(va, pages, n, round);
        /* It was not the collect that emptied the ring. */
        g_assert_cmpuint(dirty_ring_used(&va->ring), <, e->ring_entries);
        g_assert_cmpuint(oracle_take(&o), ==, n);
        oracle_expect(&o, pages, n);
        oracle_send(&o);
    }
    dirty_reaper_get_stats(&b);
    g_assert_cmpuint(b.soft_full_exits - a.soft_full_exits, >=, 3 * 2);
    g_assert_cmpuint(b.reaps_full - a.reaps_full, ==,
                     b.soft_full_exits - a.soft_full_exits);
    g_assert_cmpuint(b.hard_full_exits, ==, a.hard_full_exits);
    g_assert_cmpuint(b.entries_harvested - a.entries_harvested, ==, 3 * n);
    g_assert_cmpuint(b.entries_refault, ==, a.entries_refault);
    g_assert_cmpuint(b.thread_bql_acquisitions, ==, 0);
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
    if (e->ring_entries == 256) {
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
    g_assert_true(dirty_ring_soft_full(&va->ring));
    done = oracle_take(&o);
    g_assert_cmpuint(done, >=, dirty_ring_soft_limit(e->ring_entries));
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
    if (writable) {
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

typedef struct Scenario {
    const char *name;
    void (*func)(const TrackerEngine *e);
    bool rings_only;
} Scenario;

static const Scenario scenarios[] = {
    { "sequential", sequential },
    { "random", random_pages },
    { "sparse", sparse },
    { "hot-page", hot_page },
    { "between-collect-and-clean", between_collect_and_clean },
    { "between-clean-and-send", between_clean_and_send },
    { "clean-of-a-neighbour", clean_of_a_neighbour },
    { "held/before-fault", held_before_fault },
    { "held/half-way", held_half_way },
    { "held/marked", held_marked },
    { "held/stored", held_stored },
    { "two-vcpus/one-fault", two_vcpus_one_fault },
    { "two-vcpus/racing", two_vcpus_racing },
    { "by/device", by_a_device },
    { "by/qtest", by_qtest },
    { "by/loader", by_the_loader },
    { "slot-added-and-removed", slot_added_and_removed },
    { "guest-reset", guest_reset },
    { "stopped-and-restarted", stopped_and_restarted },
    { "parked/wfi", parked_in_wfi },
    { "parked/wfe", parked_in_wfe },
    { "attribution", attribution },
    { "faults-per-round", faults_per_round },
    { "ring/full", ring_full, .rings_only = true },
    { "ring/hard-full", ring_hard_full, .rings_only = true },
    { "ring/full-while-vcpu-stops", full_while_vcpu_stops, .rings_only = true },
    { "ring/full-while-tracking-stops", full_while_tracking_stops,
      .rings_only = true },
    { "ring/reaper-held/harvested", reaper_held_harvested, .rings_only = true },
    { "ring/reaper-held/reset", reaper_held_reset, .rings_only = true },
    { "ring/big-lock-held", big_lock_held, .rings_only = true },
};

typedef struct Pair {
    const TrackerEngine *e;
    const Scenario *s;
} Pair;

static void run_pair(gconstpointer opaque)
{
    const Pair *pair = opaque;

    pair->s->func(pair->e);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    oracle_init();
    for (unsigned i = 0; i < ARRAY_SIZE(engines); i++) {
        for (unsigned k = 0; k < ARRAY_SIZE(scenarios); k++) {
            g_autofree char *path = g_strdup_printf(
                "/tracker/%s/%s", engines[i].name, scenarios[k].name);
            Pair *pair = g_new(Pair, 1);

            if (scenarios[k].rings_only && !engines[i].ring_entries) {
                g_free(pair);
                continue;
            }
            *pair = (Pair){ &engines[i], &scenarios[k] };
            g_test_add_data_func_full(path, pair, run_pair, g_free);
        }
    }
    return g_test_run();
}
