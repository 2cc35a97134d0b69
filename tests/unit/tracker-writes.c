/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracker oracle: what is written, when, and by whom. */
#include "qemu/osdep.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "accel/qtest.h"
#include "hw/loader.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/reset.h"
#include "tracker-oracle.h"

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
        faults = guest_faults(va);
        guest_store_pages(va, pages, 10000, round);
        faults = guest_faults(va) - faults;
        g_assert_cmpuint(faults, ==, e->can & CAN_COUNT ? 1 : 0);
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
static void round_with_vcpu_held(const TrackerEngine *e, int point)
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
    round_with_vcpu_held(e, guest_points[GUEST_POINT_FAULT]);
}

static void held_half_way(const TrackerEngine *e)
{
    round_with_vcpu_held(e, e->half);
}

static void held_marked(const TrackerEngine *e)
{
    round_with_vcpu_held(e, guest_points[GUEST_POINT_MARKED]);
}

static void held_stored(const TrackerEngine *e)
{
    round_with_vcpu_held(e, guest_points[GUEST_POINT_STORED]);
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
static void TSA_REQUIRES(bql) qtest_line(int fd, const char *line)
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

static void TSA_REQUIRES(bql) by_qtest(const TrackerEngine *e)
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

const Scenario write_scenarios[] = {
    { "sequential", sequential },
    { "random", random_pages },
    { "sparse", sparse },
    { "hot-page", hot_page },
    { "between-collect-and-clean", between_collect_and_clean },
    { "between-clean-and-send", between_clean_and_send },
    { "clean-of-a-neighbour", clean_of_a_neighbour },
    { "held/before-fault", held_before_fault, CAN_HOLD },
    { "held/half-way", held_half_way, CAN_HOLD },
    { "held/marked", held_marked, CAN_HOLD },
    { "held/stored", held_stored, CAN_HOLD },
    { "two-vcpus/one-fault", two_vcpus_one_fault, CAN_HOLD },
    { "two-vcpus/racing", two_vcpus_racing },
    { "by/device", by_a_device },
    { "by/qtest", by_qtest },
    { "by/loader", by_the_loader },
    { .name = NULL },
};
