/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of include/system/dirty-rate.h and system/dirty-sample.h. */
#include "qemu/osdep.h"

#include <sys/stat.h>

#include "dirty-sample.h"
#include "qapi/qapi-commands-dirty-rate.h"
#include "qemu/error.h"
#include "qemu/units.h"
#include "system/cpus.h"
#include "system/dirty-memory.h"
#include "system/dirty-rate.h"
#include "system/runstate.h"
#include "tracker-oracle.h"

#define NR_PAGES 3000u

static const TrackerEngine engine = {
    .name = "bitmap",
    .ops = &tcg_bitmap_tracker,
};

/* ---- samples ---- */

/* A block of zeros of its own, as large as all others together. */
static RAMBlock *big_block(void)
{
    return qemu_ram_alloc(256 * MiB, RAM_SHARED, NULL, &error_abort);
}

static uint64_t populated_bytes(RAMBlock *rb)
{
    struct stat st;

    g_assert_cmpint(fstat(qemu_ram_get_fd(rb), &st), ==, 0);
    return (uint64_t)st.st_blocks * 512;
}

static void test_sample_share(void)
{
    RAMBlock *rb = big_block();
    uint8_t *host = qemu_ram_get_host_addr(rb);
    DirtySample *s = dirty_sample_take(16384);
    uint64_t n = dirty_sample_pages(s), pages, bytes;

    /* 16,384 a GiB, of 256 MiB and of the 64 MiB that the harness has. */
    g_assert_cmpuint(n, ==, 4096 + 1024);
    g_assert_cmpuint(dirty_sample_compare(s, &pages), ==, 0);
    g_assert_cmpuint(pages, ==, 0);

    for (uint64_t off = 0; off < 256 * MiB; off += 2 * PAGE) {
        host[off + 77] = 1;
    }
    bytes = dirty_sample_compare(s, &pages);
    /* Half of 256 MiB; 4,096 tosses of a coin stay within 12 deviations. */
    g_assert_cmpuint(bytes, >, 100 * MiB);
    g_assert_cmpuint(bytes, <, 156 * MiB);
    g_assert_cmpuint(pages, >, 4096 * 2 / 5);
    g_assert_cmpuint(pages, <, 4096 * 3 / 5);
    dirty_sample_free(s);
    qemu_ram_free(rb);
}

static void test_sample_populates_nothing(void)
{
    RAMBlock *rb = big_block();
    uint64_t before = populated_bytes(rb);
    DirtySample *s = dirty_sample_take(16384);

    dirty_sample_compare(s, NULL);
    g_assert_cmpuint(populated_bytes(rb), ==, before);
    dirty_sample_free(s);
    qemu_ram_free(rb);
}

/* Whichever byte of a page changes. */
static void test_sample_sees_each_byte(void)
{
    RAMBlock *rb = qemu_ram_alloc(PAGE, RAM_SHARED, NULL, &error_abort);
    uint8_t *host = qemu_ram_get_host_addr(rb);

    for (unsigned i = 0; i < PAGE; i += 41) {
        DirtySample *s = dirty_sample_take(128);
        uint64_t pages;

        host[i] ^= 1 << i % 8;
        dirty_sample_compare(s, &pages);
        g_assert_cmpuint(pages, ==, 1);
        dirty_sample_free(s);
    }
    qemu_ram_free(rb);
}

static void test_sample_outlives_its_block(void)
{
    RAMBlock *rb = big_block();
    DirtySample *s = dirty_sample_take(512);

    qemu_ram_free(rb);
    dirty_sample_compare(s, NULL);
    dirty_sample_free(s);
}

/* ---- tracking ---- */

static uint64_t rate_pages(RAMBlock *rb)
{
    memory_global_dirty_log_sync(false);
    return ram_block_collect_dirty(rb, 0, qemu_ram_get_used_length(rb),
                                   DIRTY_MEMORY_RATE, NULL);
}

/*
 * Beside a migration: what was written before the measurement is still the
 * migration's, what is written in it is seen by both.
 */
static void test_rearm_takes_nothing_away(void)
{
    uint64_t pages[100], before, after;
    Oracle o;

    for (unsigned i = 0; i < ARRAY_SIZE(pages); i++) {
        pages[i] = TEST_FIRST + 3 * i;
    }
    oracle_begin(&o, &engine);
    guest_store_pages(va, pages, 100, 1);
    memory_global_dirty_log_start(GLOBAL_DIRTY_DIRTY_RATE, &error_abort);
    dirty_rate_rearm_all();
    rate_pages(o.rb);
    g_assert_true(dirty_tracker_written(va->cs, &before));

    guest_store_pages(va, pages, 60, 2); /* dirty already, seen again */
    g_assert_cmpuint(rate_pages(o.rb), ==, 60);
    g_assert_true(dirty_tracker_written(va->cs, &after));
    g_assert_cmpuint(after - before, ==, 60);

    g_assert_cmpuint(oracle_take(&o), ==, 100);
    oracle_expect(&o, pages, 100);
    oracle_send(&o);
    memory_global_dirty_log_stop(GLOBAL_DIRTY_DIRTY_RATE);
    guest_store_pages(vb, pages, 10, 3);
    g_assert_cmpuint(oracle_take(&o), ==, 10);
    oracle_send(&o);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* Several who ask what a vCPU wrote: none takes it from another. */
static void test_written_is_for_all(void)
{
    uint64_t a, b, c;
    Oracle o;

    oracle_begin(&o, &engine);
    g_assert_true(dirty_tracker_written(va->cs, &a));
    guest_store_page(va, TEST_FIRST, 1);
    g_assert_true(dirty_tracker_written(va->cs, &b));
    guest_store_page(va, TEST_FIRST + 1, 1);
    guest_store_page(vb, TEST_FIRST + 2, 1);
    g_assert_true(dirty_tracker_written(va->cs, &c));
    g_assert_cmpuint(b - a, ==, 1);
    g_assert_cmpuint(c - a, ==, 2);
    oracle_end(&o);
}

static DirtyRateInfo TSA_REQUIRES(bql) * measured(void)
{
    for (;;) {
        DirtyRateInfo *info = qmp_query_dirty_rate(true, TIME_UNIT_MILLISECOND,
                                                   &error_abort);

        if (info->status == DIRTY_RATE_STATUS_MEASURED) {
            return info;
        }
        g_assert_false(info->has_dirty_rate);
        qapi_free_DirtyRateInfo(info);
        bql_unlock();
        g_usleep(2000);
        bql_lock();
    }
}

/* va writes the same pages round and round: each counts once. */
static void TSA_REQUIRES(bql) test_measure_by_bitmap(void)
{
    uint64_t pages[NR_PAGES];
    DirtyRateInfo *info;
    GuestThread t;
    int64_t most;

    for (unsigned i = 0; i < NR_PAGES; i++) {
        pages[i] = TEST_FIRST + i;
    }
    guest_start_loop(&t, va, pages, NR_PAGES);
    qmp_calc_dirty_rate(200, true, TIME_UNIT_MILLISECOND, false, 0, true,
                        DIRTY_RATE_MEASURE_MODE_DIRTY_BITMAP, &error_abort);
    g_assert_true(memory_global_dirty_log_users() & GLOBAL_DIRTY_DIRTY_RATE);
    info = measured();
    guest_stop(&t);
    g_assert_cmpuint(memory_global_dirty_log_users(), ==, 0);

    most = dirty_rate_of_bytes(NR_PAGES * PAGE, 200 * SCALE_MS);
    g_assert_cmpint(info->dirty_rate, >, 0);
    g_assert_cmpint(info->dirty_rate, <=, most);
    g_assert_cmpint(info->calc_time, ==, 200);
    g_assert_cmpuint(info->sample_pages, ==, 0);
    qapi_free_DirtyRateInfo(info);
}

static void refused(int64_t time, TimeUnit unit, int64_t samples,
                    DirtyRateMeasureMode mode, const char *words)
{
    Error *err = NULL;

    qmp_calc_dirty_rate(time, true, unit, samples >= 0, samples, true, mode,
                        &err);
    g_assert_nonnull(err);
    if (!strstr(error_get_pretty(err), words)) {
        g_error("'%s' does not say '%s'", error_get_pretty(err), words);
    }
    error_free(err);
}

static void TSA_REQUIRES(bql) test_ranges(void)
{
    const DirtyRateMeasureMode sampling = DIRTY_RATE_MEASURE_MODE_PAGE_SAMPLING;
    const TimeUnit s = TIME_UNIT_SECOND, ms = TIME_UNIT_MILLISECOND;
    DirtyRateInfo *info;

    refused(49, ms, -1, sampling, "50");
    refused(60001, ms, -1, sampling, "60000");
    refused(0, s, -1, sampling, "50");
    refused(61, s, -1, sampling, "60000");
    refused(INT64_MAX, s, -1, sampling, "60000");
    refused(-1, s, -1, sampling, "50");
    refused(INT64_MIN, s, -1, sampling, "50");
    refused(1, s, 127, sampling, "128");
    refused(1, s, 16385, sampling, "16384");
    refused(1, s, 512, DIRTY_RATE_MEASURE_MODE_DIRTY_BITMAP, "sample-pages");
    refused(1, s, -1, DIRTY_RATE_MEASURE_MODE_DIRTY_RING, "'bitmap'");

    qmp_calc_dirty_rate(50, true, ms, true, 128, false, 0, &error_abort);
    refused(1, s, -1, sampling, "already");
    info = measured();
    g_assert_cmpint(info->dirty_rate, ==, 0);
    g_assert_cmpuint(info->sample_pages, ==, 128);
    g_assert_false(info->has_vcpu_dirty_rate);
    qapi_free_DirtyRateInfo(info);
}

static void test_units(void)
{
    g_assert_cmpint(dirty_rate_of_bytes(3 * MiB, NANOSECONDS_PER_SECOND), ==,
                    3);
    g_assert_cmpint(dirty_rate_of_bytes(3 * MiB, 50 * SCALE_MS), ==, 60);
    g_assert_cmpint(dirty_rate_of_bytes(MiB - 1, NANOSECONDS_PER_SECOND), ==,
                    0);
    g_assert_cmpint(dirty_rate_of_bytes(MiB, 0), ==, 0);
    g_assert_cmpint(
        dirty_rate_of_bytes(UINT64_C(64) << 40, 60 * NANOSECONDS_PER_SECOND),
        ==, 1118481);
}

int main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    oracle_init();
    g_test_add_func("/dirty-sample/share", test_sample_share);
    g_test_add_func("/dirty-sample/populates-nothing",
                    test_sample_populates_nothing);
    g_test_add_func("/dirty-sample/sees-each-byte", test_sample_sees_each_byte);
    g_test_add_func("/dirty-sample/outlives-its-block",
                    test_sample_outlives_its_block);
    g_test_add_func("/dirty-rate/units", test_units);
    g_test_add_func("/dirty-rate/rearm-takes-nothing-away",
                    test_rearm_takes_nothing_away);
    g_test_add_func("/dirty-rate/written-is-for-all", test_written_is_for_all);
    g_test_add_func("/dirty-rate/ranges", test_ranges);
    g_test_add_func("/dirty-rate/by-bitmap", test_measure_by_bitmap);
    ret = g_test_run();
    qemu_run_exit_notifiers(); /* the thread that measured is joined */
    return ret;
}
