/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first pass beside a guest that stores into memory that it has never
 * touched, and gives memory back. A thread is the guest, the tracker that asks
 * the host's kernel finds its stores, and the stream is played into memory full
 * of 0xff, which must be the guest's in the end.
 *
 * Forbidden interleaving: ask (a hole), store, clean. The clean would take the
 * store's mark, nobody reads the page, and it is zero at the target.
 * That tracker forgives it, for it knows at the clean that the store is new; a
 * tracker that begins with all pages reported does not: store-in-clean.
 */
#include "qemu/osdep.h"

#include <sys/mman.h>

#include "io/channel-buffer.h"
#include "options.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "ram/ram-format.h"
#include "ram/ram.h"
#include "system/dirty-memory.h"
#include "system/dirty-pagemap.h"

#define PAGE  DIRTY_PAGE_SIZE
#define PAGES UINT64_C(8192)
#define SHIFT 6 /* pages of a chunk */

static struct {
    RAMBlock *rb;
    uint8_t *host;
    RateLimit rate_limit;
    MigrationStats stats;
    _Atomic bool quit, detect_zero;
    /* The target. */
    uint8_t *model;
    uint64_t got[PAGES / 64];
    /* The guest. */
    _Atomic bool guest_quit;
    bool discards;
    uint32_t seed;
} t;

static void *guest(void *opaque)
{
    GRand *rand = g_rand_new_with_seed(t.seed);

    while (!atomic_load(&t.guest_quit)) {
        uint64_t page = g_rand_int_range(rand, 0, PAGES);

        if (t.discards && g_rand_int_range(rand, 0, 40) == 0) {
            ram_block_discard_range(t.rb, page * PAGE, PAGE, &error_abort);
        } else {
            t.host[page * PAGE + g_rand_int_range(rand, 0, PAGE)] =
                g_rand_int_range(rand, 0, 256);
        }
        if (g_rand_int_range(rand, 0, 16) == 0) {
            g_usleep(20);
        }
    }
    g_rand_free(rand);
    return NULL;
}

static uint64_t get_be64(const uint8_t **p)
{
    uint64_t v = 0;

    for (int i = 0; i < 8; i++) {
        v = v << 8 | *(*p)++;
    }
    return v;
}

/* What a target does, in the simplest words. */
static void play(QIOChannelBuffer *buffer)
{
    const uint8_t *p = buffer->data, *end = p + buffer->usage;

    while (p < end) {
        uint64_t head = get_be64(&p), flags = head % PAGE, at = head - flags;

        if (flags & RAM_FLAG_MEM_SIZE) {
            p += 1 + p[0] + 8;
            continue;
        }
        if (!(flags & (RAM_FLAG_PAGE | RAM_FLAG_ZERO))) {
            g_assert_cmphex(flags, ==, RAM_FLAG_EOS);
            continue;
        }
        if (!(flags & RAM_FLAG_CONTINUE)) {
            p += 1 + p[0];
        }
        g_assert_cmpuint(at, <, PAGES * PAGE);
        set_bit(at / PAGE, t.got);
        if (flags & RAM_FLAG_ZERO) {
            memset(t.model + at, *p++, PAGE);
        } else {
            memcpy(t.model + at, p, PAGE);
            p += PAGE;
        }
    }
    g_assert_true(p == end);
    buffer->usage = 0;
    qio_channel_io_seek(QIO_CHANNEL(buffer), 0, SEEK_SET, &error_abort);
}

static void clear_rest(void)
{
    for (uint64_t i = 0; i < PAGES; i++) {
        if (!test_bit(i, t.got)) {
            memset(t.model + i * PAGE, 0, PAGE);
        }
    }
}

static void start(RamSave *rs, bool skip)
{
    migration_stats_reset(&t.stats);
    rate_limit_init(&t.rate_limit, 0, get_clock());
    ram_save_configure(&(RamConfig){
        .target_page_bits = DIRTY_PAGE_BITS,
        .clear_bitmap_shift = SHIFT,
        .detect_zero = &t.detect_zero,
        .rate_limit = &t.rate_limit,
        .stats = &t.stats,
        .quit = &t.quit,
    });
    g_assert_true(ram_handlers.save_prepare(rs, &error_abort));
    rs->skip_holes = skip;
    memset(t.model, 0xff, PAGES * PAGE);
    memset(t.got, 0, sizeof(t.got));
}

static void rounds(RamSave *rs, QEMUFile *f, QIOChannelBuffer *buffer, int n)
{
    g_assert_true(ram_handlers.save_setup(f, rs, &error_abort));
    for (int i = 0; i < n; i++) {
        int done = 0;

        while (!done) {
            done = ram_handlers.save_live_iterate(f, rs, &error_abort);
            g_assert_cmpint(done, >=, 0);
            g_assert_true(qemu_fflush(f, &error_abort));
            play(buffer);
        }
        if (i == 0 && rs->skip_holes) {
            clear_rest();
        }
        ram_sync(rs, false);
    }
}

static void migrate_beside_guest(bool skip, bool discards)
{
    QIOChannelBuffer *buffer = qio_channel_buffer_new(0);
    QEMUFile *f = qemu_file_new_output(QIO_CHANNEL(buffer));
    RamSave *rs = ram_save_state();
    QemuThread thread;

    t.discards = discards;
    t.seed = g_test_rand_int();
    start(rs, skip);
    atomic_store(&t.guest_quit, false);
    qemu_thread_create(&thread, "guest", guest, NULL, QEMU_THREAD_JOINABLE,
                       &error_abort);
    rounds(rs, f, buffer, 4);
    atomic_store(&t.guest_quit, true);
    qemu_thread_join(&thread);

    rs->guest_stopped = true;
    ram_sync(rs, true);
    g_assert_true(ram_handlers.save_live_complete_precopy(f, rs, &error_abort));
    g_assert_true(qemu_fflush(f, &error_abort));
    play(buffer);
    g_assert_cmpuint(rs->owed_pages, ==, 0);
    if (!skip) {
        g_assert_true(bitmap_full(t.got, PAGES));
    }
    for (uint64_t i = 0; i < PAGES; i++) {
        if (memcmp(t.model + i * PAGE, t.host + i * PAGE, PAGE)) {
            g_error("page %" PRIu64 " was lost (%s)", i,
                    test_bit(i, t.got) ? "it came" : "it did not come");
        }
    }
    {
        BQL_LOCK_GUARD();
        ram_handlers.save_cleanup(rs);
    }
    qemu_fclose(f, NULL);
    qio_channel_unref(QIO_CHANNEL(buffer));
}

typedef struct Kind {
    const char *name;
    bool memfd, skip, discards;
} Kind;

static void run(gconstpointer opaque)
{
    const Kind *k = opaque;
    Error *err = NULL;

    for (int i = 0; i < 8; i++) {
        {
            BQL_LOCK_GUARD();
            t.rb = qemu_ram_alloc(PAGES * PAGE, k->memfd ? RAM_SHARED : 0, NULL,
                                  &error_abort);
            qemu_ram_set_idstr(t.rb, "ram", &error_abort);
            qemu_ram_set_migratable(t.rb, true);
            t.host = qemu_ram_get_host_addr(t.rb);
            madvise(t.host, PAGES * PAGE, MADV_NOHUGEPAGE);
            if (!dirty_tracker_select(&dirty_tracker_pagemap, &err)) {
                g_test_skip(error_get_pretty(err));
                g_clear_pointer(&err, error_free);
                qemu_ram_free(t.rb);
                return;
            }
        }
        migrate_beside_guest(k->skip, k->discards);
        /* A second one, of memory that has holes by now. */
        migrate_beside_guest(k->skip, k->discards);
        BQL_LOCK_GUARD();
        qemu_ram_free(t.rb);
    }
}

/* What the source counts, and that it read nothing of what it left out. */
static void test_counts(void)
{
    RamSave *rs = ram_save_state();
    QIOChannelBuffer *buffer = qio_channel_buffer_new(0);
    QEMUFile *f = qemu_file_new_output(QIO_CHANNEL(buffer));
    g_autofree unsigned char *vec = g_malloc(PAGES);
    uint64_t resident = 0;

    {
        BQL_LOCK_GUARD();
        t.rb = qemu_ram_alloc(PAGES * PAGE, RAM_SHARED, NULL, &error_abort);
        qemu_ram_set_idstr(t.rb, "ram", &error_abort);
        qemu_ram_set_migratable(t.rb, true);
    }
    t.host = qemu_ram_get_host_addr(t.rb);
    t.host[5 * PAGE] = 1;
    t.host[4000 * PAGE] = 0;
    t.host[6000 * PAGE] = 1;
    t.host[6001 * PAGE] = 1;
    start(rs, true);
    rounds(rs, f, buffer, 1);
    g_assert_cmpuint(STAT_GET(&t.stats, normal_pages), ==, 3);
    g_assert_cmpuint(STAT_GET(&t.stats, zero_pages), ==, 1);
    g_assert_cmpuint(STAT_GET(&t.stats, hole_pages), ==, PAGES - 4);
    g_assert_cmpuint(STAT_GET(&t.stats, skipped_pages), ==, PAGES - 4);
    g_assert_cmpuint(rs->owed_pages, ==, 0);

    /* Given back: zero in the next round, and still not read. */
    g_assert_true(
        ram_block_discard_range(t.rb, 6000 * PAGE, PAGE, &error_abort));
    ram_sync(rs, false);
    g_assert_cmpuint(rs->owed_pages, ==, 1);
    g_assert_cmpint(ram_handlers.save_live_iterate(f, rs, &error_abort), ==, 1);
    g_assert_true(qemu_fflush(f, &error_abort));
    play(buffer);
    g_assert_cmpuint(STAT_GET(&t.stats, zero_pages), ==, 2);
    g_assert_cmpmem(t.model, PAGES * PAGE, t.host, PAGES * PAGE);
    {
        BQL_LOCK_GUARD();
        ram_handlers.save_cleanup(rs);
    }

    /* Zero records: one for each hole. */
    madvise(t.host, PAGES * PAGE, MADV_REMOVE);
    t.host[77 * PAGE] = 1;
    start(rs, false);
    rounds(rs, f, buffer, 1);
    g_assert_cmpuint(STAT_GET(&t.stats, normal_pages), ==, 1);
    g_assert_cmpuint(STAT_GET(&t.stats, zero_pages), ==, PAGES - 1);
    g_assert_cmpuint(STAT_GET(&t.stats, hole_pages), ==, PAGES - 1);
    g_assert_cmpuint(STAT_GET(&t.stats, skipped_pages), ==, 0);
    g_assert_cmpint(mincore(t.host, PAGES * PAGE, vec), ==, 0);
    for (uint64_t i = 0; i < PAGES; i++) {
        resident += vec[i] & 1;
    }
    g_assert_cmpuint(resident, ==, 1);
    {
        BQL_LOCK_GUARD();
        ram_handlers.save_cleanup(rs);
        qemu_ram_free(t.rb);
    }
    qemu_fclose(f, NULL);
    qio_channel_unref(QIO_CHANNEL(buffer));
}

/* ------------------------------------- stores at the worst moment */

/*
 * A tracker that reports every page at first and protects nothing until it is
 * cleaned, as KVM's bitmap does; and a guest that stores just then: in a clean,
 * before the protection acts, so that nobody is ever told.
 */
static bool worst_ok(Error **errp)
{
    return true;
}

static bool worst_start(RAMBlock *const *blocks, size_t nr_blocks,
                        DirtyTrackerFirst *first, Error **errp)
{
    for (size_t i = 0; i < nr_blocks; i++) {
        ram_block_set_dirty(blocks[i], 0, PAGES * PAGE,
                            1u << DIRTY_MEMORY_MIGRATION);
    }
    *first = DIRTY_TRACKER_FIRST_ALL;
    return true;
}

static void worst_stop(RAMBlock *const *blocks, size_t nr_blocks)
{
}

static void worst_collect(RAMBlock *block, ram_addr_t start, ram_addr_t length,
                          unsigned flags)
{
}

static void worst_clean(RAMBlock *block, ram_addr_t start, ram_addr_t length)
{
    t.host[start + PAGE * (start / PAGE / 64 % 64)] = 0x77;
}

static const DirtyTrackerOps worst_tracker = {
    .name = "worst",
    .probe = worst_ok,
    .setup = worst_ok,
    .start = worst_start,
    .stop = worst_stop,
    .collect = worst_collect,
    .clean = worst_clean,
};

static void test_store_in_clean(gconstpointer opaque)
{
    const Kind *k = opaque;
    RamSave *rs = ram_save_state();
    QIOChannelBuffer *buffer = qio_channel_buffer_new(0);
    QEMUFile *f = qemu_file_new_output(QIO_CHANNEL(buffer));

    {
        BQL_LOCK_GUARD();
        t.rb = qemu_ram_alloc(PAGES * PAGE, k->memfd ? RAM_SHARED : 0, NULL,
                              &error_abort);
        qemu_ram_set_idstr(t.rb, "ram", &error_abort);
        qemu_ram_set_migratable(t.rb, true);
        t.host = qemu_ram_get_host_addr(t.rb);
        madvise(t.host, PAGES * PAGE, MADV_NOHUGEPAGE);
        g_assert_true(dirty_tracker_select(&worst_tracker, &error_abort));
    }
    start(rs, k->skip);
    rounds(rs, f, buffer, 1);
    g_assert_cmpuint(STAT_GET(&t.stats, normal_pages), ==, PAGES / 64);
    g_assert_cmpuint(STAT_GET(&t.stats, hole_pages), ==, PAGES - PAGES / 64);
    g_assert_cmpmem(t.model, PAGES * PAGE, t.host, PAGES * PAGE);
    {
        BQL_LOCK_GUARD();
        ram_handlers.save_cleanup(rs);
        qemu_ram_free(t.rb);
    }
    qemu_fclose(f, NULL);
    qio_channel_unref(QIO_CHANNEL(buffer));
}

static const Kind worst_kinds[] = {
    { "/migration-holes/store-in-clean/anonymous", .skip = true },
    { "/migration-holes/store-in-clean/memfd", .memfd = true, .skip = true },
    { "/migration-holes/store-in-clean/zero-records", .memfd = true },
};

static const Kind kinds[] = {
    { "/migration-holes/anonymous-left-out", .skip = true },
    { "/migration-holes/anonymous-zero-records" },
    { "/migration-holes/anonymous-discards", .skip = true, .discards = true },
    { "/migration-holes/memfd-left-out", .memfd = true, .skip = true },
    { "/migration-holes/memfd-discards", .memfd = true, .discards = true },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    migration_stats_init(&t.stats);
    t.model = g_malloc(PAGES * PAGE);
    atomic_store(&t.detect_zero, true);
    g_test_add_func("/migration-holes/counts", test_counts);
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        g_test_add_data_func(kinds[i].name, &kinds[i], run);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(worst_kinds); i++) {
        g_test_add_data_func(worst_kinds[i].name, &worst_kinds[i],
                             test_store_in_clean);
    }
    return g_test_run();
}
