/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of include/system/dirty-memory.h and dirty-tracker.h, per promise.
 *
 * The oracle for taking is the definition, page by page. Blocks that begin in
 * the middle of a bitmap word are made on purpose: nothing in the machine
 * makes them, and the code must not care.
 */
#include "qemu/osdep.h"

#include <sched.h>

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/sweep.h"
#include "qemu/units.h"
#include "system/dirty-tracker.h"
#include "system/memory.h"

#define PAGE    DIRTY_PAGE_SIZE
#define MIG     DIRTY_MEMORY_MIGRATION
#define MIGMASK (1u << DIRTY_MEMORY_MIGRATION)

static void random_marks(RAMBlock *rb, uint64_t pages, unsigned density)
{
    for (uint64_t i = 0; i < pages; i++) {
        if (g_test_rand_int_range(0, 8) < (int)density) {
            ram_block_set_dirty(rb, i * PAGE + g_test_rand_int_range(0, PAGE),
                                1, MIGMASK);
        }
    }
}

/* --- marking ---------------------------------------------------------------- */

static void test_mark_touched_pages(void)
{
    RAMBlock *rb = qemu_ram_alloc(300 * PAGE, 0, NULL, &error_abort);

    ram_block_set_dirty(rb, 5 * PAGE + 4095, 2, MIGMASK);
    ram_block_set_dirty(rb, 60 * PAGE, 10 * PAGE, MIGMASK);
    ram_block_set_dirty(rb, 299 * PAGE, 0, MIGMASK);
    ram_block_set_dirty(rb, 300 * PAGE, 0, MIGMASK);
    g_assert_cmpuint(ram_block_count_dirty(rb, 0, 300 * PAGE, MIG), ==, 12);
    g_assert_true(ram_block_all_dirty(rb, 5 * PAGE, 2 * PAGE, MIG));
    g_assert_true(ram_block_all_dirty(rb, 60 * PAGE, 10 * PAGE, MIG));
    g_assert_false(ram_block_get_dirty(rb, 7 * PAGE, 53 * PAGE, MIG));
    g_assert_true(ram_block_get_dirty(rb, 69 * PAGE + 1, 1, MIG));
    qemu_ram_free(rb);
}

#define LIST_BLOCKS 3
#define LIST_PAGES  700

/* Marks as the list does, one page after the other. */
static uint64_t mark_one_by_one(RAMBlock *const *rbs, const DirtyPage *list,
                                size_t n, RAMBlock *const *twins)
{
    uint64_t nr_new = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned b = 0;

        while (list[i].rb != rbs[b]) {
            b++;
        }
        nr_new += ram_block_set_dirty_pages(twins[b], list[i].page, 1,
                                            DIRTY_CLIENTS_NOCODE);
    }
    return nr_new;
}

/* Lists in any order, pages twice, blocks mixed: as page by page. */
static void test_mark_list(void)
{
    RAMBlock *rbs[LIST_BLOCKS], *twins[LIST_BLOCKS];
    DirtyPage list[2000];

    for (unsigned b = 0; b < LIST_BLOCKS; b++) {
        rbs[b] = qemu_ram_alloc(LIST_PAGES * PAGE, 0, NULL, &error_abort);
        twins[b] = qemu_ram_alloc(LIST_PAGES * PAGE, 0, NULL, &error_abort);
    }
    for (unsigned round = 0; round < 200; round++) {
        size_t n = g_test_rand_int_range(0, ARRAY_SIZE(list) + 1);
        unsigned client = g_test_rand_int_range(0, DIRTY_MEMORY_NUM);
        uint64_t page = g_test_rand_int_range(0, LIST_PAGES);

        for (size_t i = 0; i < n; i++) {
            page = round % 3 == 0
                       ? (uint64_t)g_test_rand_int_range(0, LIST_PAGES)
                       : (page + round % 3) % LIST_PAGES;
            list[i].rb = rbs[round % 4 ? round % LIST_BLOCKS : i % LIST_BLOCKS];
            list[i].page = page;
        }
        g_assert_cmpuint(dirty_pages_set_dirty(list, n, DIRTY_CLIENTS_NOCODE),
                         ==, mark_one_by_one(rbs, list, n, twins));
        for (unsigned b = 0; b < LIST_BLOCKS; b++) {
            for (uint64_t p = 0; client != DIRTY_MEMORY_CODE && p < LIST_PAGES;
                 p++) {
                g_assert_cmpint(
                    ram_block_get_dirty(rbs[b], p * PAGE, PAGE, client), ==,
                    ram_block_get_dirty(twins[b], p * PAGE, PAGE, client));
            }
            /* A take goes by the summary. */
            g_assert_cmpuint(ram_block_collect_dirty(
                                 rbs[b], 0, LIST_PAGES * PAGE, MIG, NULL),
                             ==,
                             ram_block_collect_dirty(
                                 twins[b], 0, LIST_PAGES * PAGE, MIG, NULL));
        }
    }
    for (unsigned b = 0; b < LIST_BLOCKS; b++) {
        qemu_ram_free(rbs[b]);
        qemu_ram_free(twins[b]);
    }
}

static void test_clients_are_separate(void)
{
    RAMBlock *rb = qemu_ram_alloc(64 * PAGE, 0, NULL, &error_abort);

    /* As new: nothing for migration, all for the others. */
    g_assert_cmpuint(ram_block_count_dirty(rb, 0, 64 * PAGE, MIG), ==, 0);
    g_assert_true(ram_block_all_dirty(rb, 0, 64 * PAGE, DIRTY_MEMORY_VGA));
    g_assert_true(ram_block_all_dirty(rb, 0, 64 * PAGE, DIRTY_MEMORY_CODE));
    ram_block_collect_dirty(rb, 0, 64 * PAGE, DIRTY_MEMORY_VGA, NULL);

    ram_block_set_dirty(rb, 3 * PAGE, 1, DIRTY_CLIENTS_ALL);
    g_assert_cmpuint(
        ram_block_test_and_clear_dirty(rb, 0, 64 * PAGE, MIG, NULL), ==, 1);
    g_assert_true(ram_block_get_dirty(rb, 3 * PAGE, 1, DIRTY_MEMORY_VGA));
    g_assert_cmpuint(ram_block_test_and_clear_dirty(rb, 0, 64 * PAGE,
                                                    DIRTY_MEMORY_VGA, NULL),
                     ==, 1);
    qemu_ram_free(rb);
}

static struct {
    RAMBlock *rb;
    ram_addr_t offset, length;
    unsigned calls;
} invalidated;

static void record_invalidate(RAMBlock *rb, ram_addr_t offset,
                              ram_addr_t length)
{
    invalidated.rb = rb;
    invalidated.offset = offset;
    invalidated.length = length;
    invalidated.calls++;
}

static void test_code_hook(void)
{
    RAMBlock *rb = qemu_ram_alloc(64 * PAGE, 0, NULL, &error_abort);

    physical_memory_set_code_invalidate_hook(record_invalidate);
    invalidated.calls = 0;
    ram_block_set_dirty(rb, 9 * PAGE + 5, 8, DIRTY_CLIENTS_ALL);
    g_assert_cmpuint(invalidated.calls, ==, 0); /* no code cached there */

    /* An engine caches code of page 9. */
    g_assert_cmpuint(ram_block_test_and_clear_dirty(rb, 9 * PAGE, PAGE,
                                                    DIRTY_MEMORY_CODE, NULL),
                     ==, 1);
    ram_block_set_dirty(rb, 10 * PAGE, PAGE, DIRTY_CLIENTS_ALL);
    ram_block_set_dirty(rb, 9 * PAGE, 8, DIRTY_CLIENTS_NOCODE);
    g_assert_cmpuint(invalidated.calls, ==, 0);
    ram_block_set_dirty(rb, 9 * PAGE + 4090, 8, DIRTY_CLIENTS_ALL);
    g_assert_cmpuint(invalidated.calls, ==, 1);
    g_assert_true(invalidated.rb == rb);
    g_assert_cmpuint(invalidated.offset, ==, 9 * PAGE);
    g_assert_cmpuint(invalidated.length, ==, 2 * PAGE);
    ram_block_set_dirty(rb, 9 * PAGE, 8, DIRTY_CLIENTS_ALL);
    g_assert_cmpuint(invalidated.calls, ==, 1); /* once */
    physical_memory_set_code_invalidate_hook(NULL);
    qemu_ram_free(rb);
}

/* --- taking ------------------------------------------------------------------ */

/* One take of [start, +length) compared with the page by page definition. */
static void check_take(RAMBlock *rb, uint64_t pages, ram_addr_t start,
                       ram_addr_t length, bool with_bmap, bool clear)
{
    g_autofree uint64_t *bmap = bitmap_new(pages), *want = bitmap_new(pages);
    uint64_t first_bit, count = 0, got;
    uint64_t *map = ram_block_dirty_bitmap(rb, MIG, &first_bit);
    g_autofree uint64_t *after = bitmap_new(first_bit + pages);
    ram_addr_t addr = qemu_ram_get_offset(rb) + start;

    for (uint64_t i = 0; i < pages; i++) {
        bool in = length && i >= start / PAGE &&
                  i <= (start + length - 1) / PAGE;
        bool dirty = test_bit_atomic(first_bit + i, map);

        if (g_test_rand_int_range(0, 3) == 0) {
            set_bit(i, bmap);
            set_bit(i, want);
        }
        if (dirty && !in) {
            set_bit(first_bit + i, after);
        }
        if (dirty && in && (!with_bmap || !test_and_set_bit(i, want))) {
            count++;
        }
    }
    got = clear ? physical_memory_test_and_clear_dirty(addr, length, MIG,
                                                       with_bmap ? bmap : NULL)
                : physical_memory_collect_dirty(addr, length, MIG,
                                                with_bmap ? bmap : NULL);
    g_assert_cmpuint(got, ==, count);
    if (with_bmap) {
        g_assert_cmpmem(bmap, bits_to_words(pages) * 8, want,
                        bits_to_words(pages) * 8);
    }
    g_assert_cmpmem(map, bits_to_words(first_bit + pages) * 8, after,
                    bits_to_words(first_bit + pages) * 8);
}

/* All phases of the block, many ranges and densities. */
static void test_take_against_oracle(void)
{
    for (unsigned phase = 0; phase < 64; phase++) {
        uint64_t pages = g_test_rand_int_range(1, 400);
        RAMBlock *rb;

        if (phase) {
            qemu_ram_set_next_offset_for_test((1024 + phase) * PAGE);
        }
        rb = qemu_ram_alloc(pages * PAGE, 0, NULL, &error_abort);
        g_assert_cmpuint(qemu_ram_get_offset(rb) / PAGE % 64, ==, phase);
        for (unsigned i = 0; i < 40; i++) {
            ram_addr_t start = g_test_rand_int_range(0, pages * PAGE);
            ram_addr_t length = g_test_rand_int_range(0,
                                                      pages * PAGE - start + 1);

            random_marks(rb, pages, i % 9);
            check_take(rb, pages, start, length, i & 1, i & 2);
        }
        check_take(rb, pages, 0, pages * PAGE, true, true);
        g_assert_cmpuint(ram_block_count_dirty(rb, 0, pages * PAGE, MIG), ==,
                         0);
        qemu_ram_free(rb);
    }
}

/* Blocks of several units of the summary, and ranges that end within one. */
static void test_take_of_large_blocks(void)
{
    for (unsigned phase = 0; phase < 64; phase += 9) {
        uint64_t pages = g_test_rand_int_range(4096, 20000);
        RAMBlock *rb;

        if (phase) {
            qemu_ram_set_next_offset_for_test((1024 + phase) * PAGE);
        }
        rb = qemu_ram_alloc(pages * PAGE, 0, NULL, &error_abort);
        for (unsigned i = 0; i < 16; i++) {
            ram_addr_t start = g_test_rand_int_range(0, pages / 2) * PAGE;
            ram_addr_t length = g_test_rand_int_range(0, pages / 2) * PAGE;

            random_marks(rb, pages, i % 9);
            check_take(rb, pages, start, length, i & 1, i & 2);
        }
        check_take(rb, pages, 0, pages * PAGE, true, true);
        g_assert_cmpuint(ram_block_count_dirty(rb, 0, pages * PAGE, MIG), ==,
                         0);
        qemu_ram_free(rb);
    }
}

static uint64_t words_of_a_take(RAMBlock *rb, uint64_t *nr)
{
    DirtyMemoryStats before, after;

    dirty_memory_get_stats(&before);
    *nr = ram_block_collect_dirty(rb, 0, qemu_ram_get_max_length(rb), MIG,
                                  NULL);
    dirty_memory_get_stats(&after);
    return after.sweep_words - before.sweep_words;
}

/* A take looks at a word per GiB, and at 64 for each 16 MiB with a mark. */
static void test_take_costs_what_is_dirty(void)
{
    RAMBlock *rb = qemu_ram_alloc(64 * GiB, RAM_NORESERVE, NULL, &error_abort);
    uint64_t nr;

    g_assert_cmpuint(words_of_a_take(rb, &nr), ==, 64);
    g_assert_cmpuint(nr, ==, 0);
    ram_block_set_dirty(rb, 5 * GiB, 1, MIGMASK);
    ram_block_set_dirty_pages(rb, 30 * GiB / PAGE, 1, MIGMASK);
    ram_block_set_dirty(rb, 31 * GiB - PAGE, 2 * PAGE, MIGMASK);
    g_assert_cmpuint(words_of_a_take(rb, &nr), ==, 64 + 4 * 64);
    g_assert_cmpuint(nr, ==, 4);
    g_assert_cmpuint(words_of_a_take(rb, &nr), ==, 64);
    g_assert_cmpuint(nr, ==, 0);
    qemu_ram_free(rb);
}

/* Counting takes nothing, and costs what is dirty, too. */
static void test_survey(void)
{
    RAMBlock *rb = qemu_ram_alloc(64 * GiB, RAM_NORESERVE, NULL, &error_abort);
    DirtyMemoryStats before, after;
    DirtyCount sum = { 0 };
    uint64_t nr;

    ram_block_set_dirty(rb, 5 * GiB, 65 * PAGE, MIGMASK);
    ram_block_set_dirty(rb, 31 * GiB - PAGE, 2 * PAGE, MIGMASK);
    ram_block_set_dirty(rb, 64 * GiB - PAGE, PAGE, MIGMASK);
    for (unsigned times = 1; times <= 2; times++) {
        dirty_memory_get_stats(&before);
        ram_block_survey_dirty(rb, MIG, &sum);
        dirty_memory_get_stats(&after);
        g_assert_cmpuint(sum.pages, ==, times * 68);
        g_assert_cmpuint(sum.groups, ==, times * 5);
        g_assert_cmpuint(sum.units, ==, times * 4);
        g_assert_cmpuint(after.survey_words - before.survey_words, ==,
                         65 + 4 * 64);
    }
    words_of_a_take(rb, &nr);
    g_assert_cmpuint(nr, ==, 68);
    qemu_ram_free(rb);
}

#define RACE_PAGES  500
#define RACE_ROUNDS 20
/* In several units of the summary. */
#define RACE_PAGE(p) ((p)*UINT64_C(37))

typedef struct Writer {
    RAMBlock *rb;
    unsigned id;
    _Atomic unsigned *running;
    QemuThread thread;
} Writer;

/* Writes a number into the page, then marks it; waits until it was taken. */
static void *race_writer(void *opaque)
{
    Writer *w = opaque;
    uint8_t *host = qemu_ram_get_host_addr(w->rb);

    for (unsigned round = 1; round <= RACE_ROUNDS; round++) {
        for (unsigned p = w->id; p < RACE_PAGES; p += 2) {
            while (ram_block_get_dirty(w->rb, RACE_PAGE(p) * PAGE, 1, MIG)) {
                sched_yield();
            }
            atomic_store_explicit((_Atomic uint8_t *)&host[RACE_PAGE(p) * PAGE],
                                  round, memory_order_relaxed);
            ram_block_set_dirty(w->rb, RACE_PAGE(p) * PAGE, 1, MIGMASK);
        }
    }
    atomic_fetch_sub(w->running, 1);
    return NULL;
}

/*
 * Interleaving that this forbids: writer stores and marks, collector takes
 * the mark but reads the page as it was before the store. If it happened in
 * the last round of a page, the copy would keep the older number.
 */
static void test_race_copy_is_current(void)
{
    _Atomic unsigned running = 2;
    uint8_t copy[RACE_PAGES] = { 0 };
    g_autofree uint64_t *bmap = bitmap_new(RACE_PAGE(RACE_PAGES));
    uint64_t total = 0;
    Writer w[2];
    uint8_t *host;
    RAMBlock *rb;
    bool last;

    qemu_ram_set_next_offset_for_test((4096 + 37) * PAGE);
    rb = qemu_ram_alloc(RACE_PAGE(RACE_PAGES) * PAGE, 0, NULL, &error_abort);
    host = qemu_ram_get_host_addr(rb);
    for (unsigned i = 0; i < 2; i++) {
        w[i] = (Writer){ .rb = rb, .id = i, .running = &running };
        qemu_thread_create(&w[i].thread, "writer", race_writer, &w[i],
                           QEMU_THREAD_JOINABLE, &error_abort);
    }
    do {
        last = atomic_load(&running) == 0;
        total += ram_block_test_and_clear_dirty(
            rb, 0, RACE_PAGE(RACE_PAGES) * PAGE, MIG, bmap);
        for (unsigned p = 0; p < RACE_PAGES; p++) {
            if (test_and_clear_bit(RACE_PAGE(p), bmap)) {
                copy[p] = atomic_load_explicit(
                    (_Atomic uint8_t *)&host[RACE_PAGE(p) * PAGE],
                    memory_order_relaxed);
            }
        }
        sched_yield();
    } while (!last);
    for (unsigned i = 0; i < 2; i++) {
        qemu_thread_join(&w[i].thread);
    }
    g_assert_cmpuint(total, ==, RACE_PAGES * RACE_ROUNDS);
    for (unsigned p = 0; p < RACE_PAGES; p++) {
        g_assert_cmpuint(copy[p], ==, RACE_ROUNDS);
    }
    qemu_ram_free(rb);
}

static void test_merge_from_tracker(void)
{
    RAMBlock *rb = qemu_ram_alloc(256 * PAGE, 0, NULL, &error_abort);
    unsigned both = MIGMASK | 1u << DIRTY_MEMORY_VGA;
    uint64_t log[4] = { 0 };

    ram_block_collect_dirty(rb, 0, 256 * PAGE, DIRTY_MEMORY_VGA, NULL);
    bitmap_set(log, 3, 70);
    ram_block_set_dirty(rb, 20 * PAGE, PAGE, MIGMASK);
    g_assert_cmpuint(ram_block_merge_dirty(rb, 20, log, 3, 100, 0, both), ==,
                     69);
    g_assert_true(bitmap_empty(log, 256));
    g_assert_true(ram_block_all_dirty(rb, 20 * PAGE, 70 * PAGE, MIG));
    g_assert_true(
        ram_block_all_dirty(rb, 20 * PAGE, 70 * PAGE, DIRTY_MEMORY_VGA));
    g_assert_cmpuint(ram_block_count_dirty(rb, 0, 256 * PAGE, MIG), ==, 70);
    qemu_ram_free(rb);
}

/* --- clears ------------------------------------------------------------------- */

typedef struct CountingListener {
    MemoryListener listener;
    unsigned clears, syncs, global_starts, global_stops;
    bool refuse;
    MemoryRegionSection last;
} CountingListener;

static void count_clear(MemoryListener *l, MemoryRegionSection *section)
{
    CountingListener *c = container_of(l, CountingListener, listener);

    c->clears++;
    c->last = *section;
}

static void count_sync(MemoryListener *l, MemoryRegionSection *section)
{
    container_of(l, CountingListener, listener)->syncs++;
}

static bool count_global_start(MemoryListener *l, Error **errp)
{
    CountingListener *c = container_of(l, CountingListener, listener);

    if (c->refuse) {
        error_setg(errp, "not today");
        return false;
    }
    c->global_starts++;
    return true;
}

static void count_global_stop(MemoryListener *l)
{
    container_of(l, CountingListener, listener)->global_stops++;
}

static const MemoryListener counting = {
    .name = "counting",
    .log_clear = count_clear,
    .log_sync = count_sync,
    .log_global_start = count_global_start,
    .log_global_stop = count_global_stop,
};

static struct {
    unsigned starts, stops, collects, cleans, blocks, flags;
    RAMBlock *rb;
    ram_addr_t start, length;
    bool refuse;
} seen;

static bool mock_ok(Error **errp)
{
    return true;
}

static bool mock_start(RAMBlock *const *blocks, size_t nr,
                       DirtyTrackerFirst *first, Error **errp)
{
    if (seen.refuse) {
        error_setg(errp, "cannot arm");
        return false;
    }
    for (size_t i = 0; i < nr; i++) {
        g_assert_true(ram_block_is_tracked(blocks[i]));
    }
    seen.starts++;
    seen.blocks += nr;
    *first = DIRTY_TRACKER_FIRST_ALL;
    return true;
}

static void mock_stop(RAMBlock *const *blocks, size_t nr)
{
    seen.stops++;
    seen.blocks -= nr;
}

static void mock_collect(RAMBlock *rb, ram_addr_t start, ram_addr_t length,
                         unsigned flags)
{
    seen.collects++;
    seen.flags = flags;
}

static void mock_clean(RAMBlock *rb, ram_addr_t start, ram_addr_t length)
{
    seen.cleans++;
    seen.rb = rb;
    seen.start = start;
    seen.length = length;
}

static const DirtyTrackerOps mock = {
    .name = "mock",
    .probe = mock_ok,
    .setup = mock_ok,
    .start = mock_start,
    .stop = mock_stop,
    .collect = mock_collect,
    .clean = mock_clean,
};

/*
 * Two listeners, a 4 MiB block that begins in the middle of a word, all dirty
 * or every other page: one clear each, and one of the tracker; none if
 * nothing was dirty. (Page by page it would be 2,048.)
 */
static void test_one_clear_per_listener(void)
{
    CountingListener a = { counting }, b = { counting };
    g_autofree uint64_t *bmap = bitmap_new(1024);
    DirtyMemoryStats before, after;
    MemoryRegion mr;
    RAMBlock *rb;

    qemu_ram_set_next_offset_for_test((8192 + 19) * PAGE);
    memory_region_init_ram(&mr, NULL, "odd", 4 * MiB, &error_abort);
    memory_region_add_subregion(get_system_memory(), 0x40001000, &mr);
    rb = mr.ram_block;
    memory_listener_register(&a.listener, &address_space_memory);
    memory_listener_register(&b.listener, &address_space_memory);
    dirty_tracker_select(&mock, &error_abort);
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    memset(&seen, 0, sizeof(seen));
    seen.blocks = 1;

    dirty_memory_get_stats(&before);
    for (unsigned step = 1; step <= 2; step++) {
        a.clears = b.clears = seen.cleans = 0;
        bitmap_zero(bmap, 1024);
        for (unsigned p = 0; p < 1024; p += step) {
            ram_block_set_dirty(rb, p * PAGE, 1, MIGMASK);
        }
        g_assert_cmpuint(physical_memory_test_and_clear_dirty(
                             qemu_ram_get_offset(rb), 4 * MiB, MIG, bmap),
                         ==, 1024 / step);
        g_assert_cmpuint(a.clears + b.clears, ==, 2);
        g_assert_cmpuint(seen.cleans, ==, 1);
        g_assert_cmpuint(a.last.offset_within_region, ==, 0);
        g_assert_cmpuint(a.last.offset_within_address_space, ==, 0x40001000);
        g_assert_cmpuint((uint64_t)a.last.size, ==, 4 * MiB);
        g_assert_cmpuint(seen.start, ==, 0);
        g_assert_cmpuint(seen.length, ==, 4 * MiB);
    }
    dirty_memory_get_stats(&after);
    g_assert_cmpuint(after.listener_clears - before.listener_clears, ==, 4);
    g_assert_cmpuint(after.tracker_cleans - before.tracker_cleans, ==, 2);

    /* Dirty, though nothing new in bmap: the clear is needed all the same. */
    ram_block_set_dirty(rb, 8 * PAGE, 1, MIGMASK);
    g_assert_cmpuint(ram_block_test_and_clear_dirty(rb, 0, 4 * MiB, MIG, bmap),
                     ==, 0);
    g_assert_cmpuint(a.clears, ==, 2);
    /* Nothing dirty: none. */
    g_assert_cmpuint(ram_block_test_and_clear_dirty(rb, 0, 4 * MiB, MIG, bmap),
                     ==, 0);
    g_assert_cmpuint(a.clears, ==, 2);

    /* Lazy: taking alone clears nothing; the chunk's clean does. */
    ram_block_set_dirty(rb, 100 * PAGE, 50 * PAGE, MIGMASK);
    g_assert_cmpuint(ram_block_collect_dirty(rb, 0, 4 * MiB, MIG, NULL), ==,
                     50);
    g_assert_cmpuint(a.clears, ==, 2);
    ram_block_clean(rb, 100 * PAGE + 5, 10 * PAGE);
    g_assert_cmpuint(a.clears, ==, 3);
    g_assert_cmpuint(a.last.offset_within_region, ==, 100 * PAGE);
    g_assert_cmpuint((uint64_t)a.last.size, ==, 11 * PAGE);
    g_assert_cmpuint(a.last.offset_within_address_space, ==,
                     0x40001000 + 100 * PAGE);

    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    /* Not tracked: nothing to clear. */
    ram_block_set_dirty(rb, 0, PAGE, MIGMASK);
    ram_block_test_and_clear_dirty(rb, 0, 4 * MiB, MIG, NULL);
    g_assert_cmpuint(a.clears, ==, 3);

    memory_listener_unregister(&a.listener);
    memory_listener_unregister(&b.listener);
    memory_region_del_subregion(get_system_memory(), &mr);
    memory_region_destroy(&mr);
    dirty_tracker_select(&dirty_tracker_null, &error_abort);
}

/* A block shown in two parts: a clear per part that the range touches. */
static void test_one_clear_per_section(void)
{
    CountingListener a = { counting };
    MemoryRegion mr, low, high;

    memory_region_init_ram(&mr, NULL, "split", 4 * MiB, &error_abort);
    memory_region_init_alias(&low, NULL, "low", &mr, 0, 1 * MiB);
    memory_region_init_alias(&high, NULL, "high", &mr, 1 * MiB, 3 * MiB);
    memory_region_add_subregion(get_system_memory(), 0, &low);
    memory_region_add_subregion(get_system_memory(), 4 * GiB, &high);
    memory_listener_register(&a.listener, &address_space_memory);
    memory_global_dirty_log_start(GLOBAL_DIRTY_DIRTY_RATE, &error_abort);

    ram_block_clean(mr.ram_block, 0, 4 * MiB);
    g_assert_cmpuint(a.clears, ==, 2);
    ram_block_clean(mr.ram_block, 2 * MiB, PAGE);
    g_assert_cmpuint(a.clears, ==, 3);
    g_assert_cmpuint(a.last.offset_within_address_space, ==, 4 * GiB + 1 * MiB);

    memory_global_dirty_log_sync(false);
    g_assert_cmpuint(a.syncs, ==, 2);

    memory_global_dirty_log_stop(GLOBAL_DIRTY_DIRTY_RATE);
    memory_listener_unregister(&a.listener);
    memory_region_del_subregion(get_system_memory(), &low);
    memory_region_del_subregion(get_system_memory(), &high);
    memory_region_destroy(&low);
    memory_region_destroy(&high);
    memory_region_destroy(&mr);
}

/* --- users --------------------------------------------------------------------- */

/* A clear of the first page is held; others are not. */
static struct {
    QemuEvent reached, go, done;
    RAMBlock *rb;
    _Atomic bool changed;
} held;

static void hold_clear(MemoryListener *l, MemoryRegionSection *section)
{
    if (section->offset_within_region == 0) {
        qemu_event_set(&held.reached);
        qemu_event_wait(&held.go);
        g_assert_false(atomic_load(&held.changed));
    }
}

static void hold_commit(MemoryListener *l)
{
    atomic_store(&held.changed, true);
}

static const MemoryListener holding = {
    .name = "holding",
    .log_clear = hold_clear,
    .commit = hold_commit,
};

static void *clear_first_page(void *opaque)
{
    ram_block_clean(held.rb, 0, PAGE);
    return NULL;
}

static void *clear_other_page(void *opaque)
{
    ram_block_clean(held.rb, 100 * PAGE, PAGE);
    ram_block_dirty_sync_range(held.rb, 200 * PAGE, PAGE);
    qemu_event_set(&held.done);
    return NULL;
}

static void *let_go_later(void *opaque)
{
    g_usleep(30 * 1000);
    qemu_event_set(&held.go);
    return NULL;
}

/*
 * Listeners are asked on two threads at once: the clear of a range does not
 * wait for that of another. A change of topology waits for both.
 */
static void test_clears_of_disjoint_ranges(void)
{
    MemoryListener listener = holding;
    QemuThread first, other, later;
    MemoryRegion mr, more;

    qemu_event_init(&held.reached, false);
    qemu_event_init(&held.go, false);
    qemu_event_init(&held.done, false);
    memory_region_init_ram(&mr, NULL, "held", 4 * MiB, &error_abort);
    memory_region_init_ram(&more, NULL, "more", MiB, &error_abort);
    memory_region_add_subregion(get_system_memory(), 0x50000000, &mr);
    held.rb = mr.ram_block;
    memory_listener_register(&listener, &address_space_memory);
    dirty_tracker_select(&mock, &error_abort);
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    atomic_store(&held.changed, false);

    qemu_thread_create(&first, "first", clear_first_page, NULL,
                       QEMU_THREAD_JOINABLE, &error_abort);
    g_assert_true(qemu_event_timedwait(&held.reached, 60000));
    qemu_thread_create(&other, "other", clear_other_page, NULL,
                       QEMU_THREAD_JOINABLE, &error_abort);
    g_assert_true(qemu_event_timedwait(&held.done, 60000));
    qemu_thread_join(&other);

    qemu_thread_create(&later, "later", let_go_later, NULL,
                       QEMU_THREAD_JOINABLE, &error_abort);
    memory_region_add_subregion(get_system_memory(), 0x60000000, &more);
    g_assert_true(atomic_load(&held.changed));
    qemu_thread_join(&later);
    qemu_thread_join(&first);

    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    memory_listener_unregister(&listener);
    memory_region_del_subregion(get_system_memory(), &more);
    memory_region_del_subregion(get_system_memory(), &mr);
    memory_region_destroy(&more);
    memory_region_destroy(&mr);
    dirty_tracker_select(&dirty_tracker_null, &error_abort);
}

static void test_users_are_counted(void)
{
    CountingListener a = { counting }, b = { counting };
    RAMBlock *rb = qemu_ram_alloc(MiB, 0, NULL, &error_abort), *later;
    Error *err = NULL;

    memory_listener_register(&a.listener, &address_space_memory);
    memory_listener_register(&b.listener, &address_space_memory);
    dirty_tracker_select(&mock, &error_abort);
    memset(&seen, 0, sizeof(seen));

    memory_global_dirty_log_sync(false);
    g_assert_cmpuint(seen.collects, ==, 0); /* not armed */

    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    memory_global_dirty_log_start(GLOBAL_DIRTY_LIMIT, &error_abort);
    g_assert_cmpuint(seen.starts, ==, 1);
    g_assert_cmpuint(seen.blocks, ==, 1);
    g_assert_cmpuint(a.global_starts, ==, 1);
    g_assert_true(ram_block_is_tracked(rb));
    g_assert_false(dirty_tracker_select(&dirty_tracker_null, &err));
    error_free_or_abort(&err);
    memory_global_dirty_log_sync(true);
    g_assert_cmpuint(seen.collects, ==, 1);
    g_assert_cmpuint(seen.flags, ==, DIRTY_COLLECT_LAST);

    later = qemu_ram_alloc(MiB, 0, NULL, &error_abort);
    g_assert_cmpuint(seen.blocks, ==, 2);
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    g_assert_cmpuint(seen.stops, ==, 0);
    qemu_ram_free(later);
    g_assert_cmpuint(seen.blocks, ==, 1);
    memory_global_dirty_log_stop(GLOBAL_DIRTY_LIMIT);
    g_assert_cmpuint(seen.blocks, ==, 0);
    g_assert_cmpuint(a.global_stops, ==, 1);
    g_assert_false(ram_block_is_tracked(rb));

    /* A refusal leaves nothing begun: of a listener, of the tracker. */
    b.refuse = true;
    g_assert_false(memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &err));
    error_free_or_abort(&err);
    b.refuse = false;
    seen.refuse = true;
    g_assert_false(memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &err));
    g_assert_cmpstr(error_get_pretty(err), ==, "cannot arm");
    error_free_or_abort(&err);
    g_assert_cmpuint(a.global_starts, ==, 3);
    g_assert_cmpuint(a.global_stops, ==, 3);
    g_assert_cmpuint(b.global_starts, ==, b.global_stops);
    g_assert_cmpuint(memory_global_dirty_log_users(), ==, 0);
    g_assert_false(ram_block_is_tracked(rb));

    memory_listener_unregister(&a.listener);
    memory_listener_unregister(&b.listener);
    dirty_tracker_select(&dirty_tracker_null, &error_abort);
    qemu_ram_free(rb);
}

/* A display's log arms its block alone, and outlives a migration's. */
static void test_display_log(void)
{
    RAMBlock *other = qemu_ram_alloc(MiB, 0, NULL, &error_abort);
    MemoryRegion mr;

    dirty_tracker_select(&mock, &error_abort);
    memset(&seen, 0, sizeof(seen));
    memory_region_init_ram(&mr, NULL, "vram", MiB, &error_abort);
    memory_region_set_log(&mr, true, DIRTY_MEMORY_VGA);
    memory_region_set_log(&mr, true, DIRTY_MEMORY_VGA);
    g_assert_cmpuint(seen.blocks, ==, 1);
    g_assert_false(ram_block_is_tracked(other));
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    g_assert_cmpuint(seen.blocks, ==, 2);
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    g_assert_cmpuint(seen.blocks, ==, 1);
    g_assert_true(ram_block_is_tracked(mr.ram_block));
    ram_block_dirty_sync(mr.ram_block);
    g_assert_cmpuint(seen.collects, ==, 1);
    memory_region_set_log(&mr, false, DIRTY_MEMORY_VGA);
    g_assert_cmpuint(seen.blocks, ==, 1);
    memory_region_set_log(&mr, false, DIRTY_MEMORY_VGA);
    g_assert_cmpuint(seen.blocks, ==, 0);
    memory_region_destroy(&mr);
    qemu_ram_free(other);
    dirty_tracker_select(&dirty_tracker_null, &error_abort);
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    get_system_memory();
    g_test_add_func("/mark/touched-pages", test_mark_touched_pages);
    g_test_add_func("/mark/clients-are-separate", test_clients_are_separate);
    g_test_add_func("/mark/list", test_mark_list);
    g_test_add_func("/mark/code-hook", test_code_hook);
    g_test_add_func("/take/against-oracle", test_take_against_oracle);
    g_test_add_func("/take/large-blocks", test_take_of_large_blocks);
    g_test_add_func("/take/costs-what-is-dirty", test_take_costs_what_is_dirty);
    g_test_add_func("/survey", test_survey);
    g_test_add_func("/take/race-copy-is-current", test_race_copy_is_current);
    g_test_add_func("/merge/from-tracker", test_merge_from_tracker);
    g_test_add_func("/clear/one-per-listener", test_one_clear_per_listener);
    g_test_add_func("/clear/one-per-section", test_one_clear_per_section);
    g_test_add_func("/clear/disjoint-ranges", test_clears_of_disjoint_ranges);
    g_test_add_func("/users/counted", test_users_are_counted);
    g_test_add_func("/users/display", test_display_log);
    return g_test_run();
}
