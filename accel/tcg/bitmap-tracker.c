/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bitmap tracker: dirty pages by write-protect faults of the software engine.
 *
 * Three bitmaps per armed block, one bit per page:
 *
 *   writable   a vCPU may have a write entry: stores go unseen
 *   log        written, not collected; with a summary above it
 *   collected  published to the block's bitmaps, not cleaned yet
 *
 *   clean page     writable 0
 *   fault          writable = 1 ; unless in log or collected: log = 1 ;
 *                  then the write entry, then the store
 *   collect        log -> collected and block bitmaps
 *   clean          take collected (atomic) ; writable = 0 for exactly these ;
 *                  handshake: all stores that began before are finished and
 *                  no write entry is left
 *
 * Order in a fault: writable before log. With log first, a collect and a
 * clean between the two would leave the page writable with nobody to report
 * it. As it is, what is collected has been made writable before, so clean
 * takes that back; a fault that is between the two when clean comes is in
 * nobody's collected set, is not touched, and is logged right after.
 *
 * A store between collect and clean is not reported again: clean comes before
 * the content is read, and waits for it.
 *
 * Arming costs one handshake and three allocations of zero pages: no walk
 * over memory or translations.
 */
#include "qemu/osdep.h"

#include <sys/mman.h>

#include "tcg-int.h"
#include "qemu/bitmap-summary.h"
#include "qemu/error.h"
#include "qemu/sweep.h"
#include "qemu/timer.h"
#include "system/dirty-cost.h"
#include "system/dirty-memory.h"
#include "system/dirty-tracker.h"

/* Words of log taken at a time: 32,768 pages. */
#define CHUNK_WORDS 512u
#define CHUNK_BITS  (CHUNK_WORDS * 64u)
/* What a collect of clean memory reads: a bit for each 16 MiB. */
#define TCG_SUMMARY_WORDS_PER_GIB 1

/* For bitmap_cost(); one tracker per process. */
static struct {
    DirtyCost scan;    /* a GiB, by collects that found nothing */
    DirtyCost collect; /* a page, by those that did */
    DirtyCost clean;   /* a range, with a handshake */
} measured;

static bool bitmap_probe(Error **errp)
{
    return true;
}

static bool bitmap_setup(Error **errp)
{
    return true;
}

static size_t bitmap_bytes(const TcgRam *ram)
{
    return ROUND_UP(bits_to_words(ram->nr_pages) * sizeof(uint64_t),
                    TCG_PAGE_SIZE);
}

uint64_t *tcg_page_bitmap_new(const TcgRam *ram)
{
    void *p = mmap(NULL, bitmap_bytes(ram), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

void tcg_page_bitmap_free(const TcgRam *ram, uint64_t **map)
{
    if (*map) {
        munmap(*map, bitmap_bytes(ram));
        *map = NULL;
    }
}

static void free_bitmaps(TcgRam *ram)
{
    tcg_page_bitmap_free(ram, &ram->log);
    g_clear_pointer(&ram->log_summary, g_free);
    tcg_page_bitmap_free(ram, &ram->writable);
    tcg_page_bitmap_free(ram, &ram->collected);
}

static bool alloc_bitmaps(TcgRam *ram)
{
    ram->log = tcg_page_bitmap_new(ram);
    ram->writable = tcg_page_bitmap_new(ram);
    ram->collected = tcg_page_bitmap_new(ram);
    ram->log_summary = g_try_new0(uint64_t,
                                  bits_to_words(summary_bits(ram->nr_pages)));
    if (ram->log && ram->log_summary && ram->writable && ram->collected) {
        return true;
    }
    free_bitmaps(ram);
    return false;
}

static bool bitmap_mark(TcgVcpu *v, TcgRam *ram, uint64_t page)
{
    if (!test_bit_atomic(page, ram->writable)) {
        tcg_test_point(TCG_POINT_FAULT, v);
        test_and_set_bit_atomic(page, ram->writable);
        tcg_pay_fault();
        tcg_test_point(TCG_POINT_FAULT_HALF, v);
    }
    /*
     * Also when the page was writable already: the vCPU that made it so may
     * not have got to this yet, and a collect that comes after our store must
     * find the page. The same goes for the summary.
     */
    if (!test_bit_atomic(page, ram->log)) {
        if (test_bit_atomic(page, ram->collected)) {
            return true;
        }
        if (!test_and_set_bit_atomic(page, ram->log)) {
            tcg_count(&v->stats.dirty_faults);
        }
    }
    tcg_test_point(TCG_POINT_UNLISTED, v);
    summary_mark(ram->log_summary, page, 1);
    return true;
}

/* A bit of the summary that is set for nothing is no harm: see there. */
static bool bitmap_written(TcgRam *ram, uint64_t page)
{
    if (!test_bit_atomic(page, ram->writable)) {
        return false;
    }
    if (test_bit_atomic(page, ram->log)) {
        summary_mark(ram->log_summary, page, 1);
        return true;
    }
    return test_bit_atomic(page, ram->collected);
}

static bool bitmap_start(RAMBlock *const *blocks, size_t nr_blocks,
                         DirtyTrackerFirst *first, Error **errp)
{
    if (!tcg_blocks_alloc(blocks, nr_blocks, alloc_bitmaps, free_bitmaps,
                          "dirty bitmaps", errp)) {
        return false;
    }
    tcg_blocks_arm(blocks, nr_blocks, bitmap_mark, bitmap_written);
    *first = DIRTY_TRACKER_FIRST_WRITTEN;
    return true;
}

static void bitmap_stop(RAMBlock *const *blocks, size_t nr_blocks)
{
    size_t i;

    /* Nobody is in a fault that still uses the bitmaps after this. */
    tcg_blocks_disarm(blocks, nr_blocks);
    for (i = 0; i < nr_blocks; i++) {
        free_bitmaps(tcg_ram_get(blocks[i]));
    }
}

typedef struct Collect {
    TcgRam *ram;
    uint64_t found, words;
} Collect;

static void collect_chunk(Collect *c, uint64_t page, uint64_t nr_pages)
{
    uint64_t taken[CHUNK_WORDS] = { 0 };
    TcgRam *ram = c->ram;
    uint64_t found = bitmap_sweep(taken, 0, ram->log, page, nr_pages,
                                  SWEEP_SRC_ATOMIC, NULL);

    if (found) {
        tcg_test_point(TCG_POINT_COLLECTED, NULL);
        bitmap_sweep(ram->collected, page, taken, 0, nr_pages,
                     SWEEP_SRC_KEEP | SWEEP_DEST_ATOMIC, NULL);
        ram_block_merge_dirty(ram->rb, page, taken, 0, nr_pages, 0,
                              DIRTY_CLIENTS_NOCODE);
        c->found += found;
    }
}

static void collect_pages(void *opaque, uint64_t page, uint64_t end)
{
    Collect *c = opaque;

    c->words += BIT_WORD(end - 1) - BIT_WORD(page) + 1;
    while (page < end) {
        uint64_t n = MIN(end - page, CHUNK_BITS - page % CHUNK_BITS);

        collect_chunk(c, page, n);
        page += n;
    }
}

static void collect_ram(TcgRam *ram, ram_addr_t start, ram_addr_t length)
{
    uint64_t page = start >> TCG_PAGE_BITS, end;
    Collect c = { .ram = ram };
    int64_t begin_ns = get_clock();

    end = MIN(DIV_ROUND_UP(start + length, TCG_PAGE_SIZE), ram->nr_pages);
    c.words += summary_walk(ram->log_summary, page, end, collect_pages, &c);
    dirty_memory_note_words(c.words);
    if (c.found) {
        dirty_cost_add(&measured.collect, get_clock() - begin_ns, c.found,
                       DIRTY_COST_LEAST_PAGES);
    } else {
        dirty_cost_add(&measured.scan,
                       (get_clock() - begin_ns) * (0x1p30 / (double)length), 1,
                       0);
    }
}

static bool is_tracked(TcgRam *ram)
{
    return atomic_load_explicit(&ram->mark, memory_order_acquire) ==
           bitmap_mark;
}

static void bitmap_collect(RAMBlock *block, ram_addr_t start, ram_addr_t length,
                           unsigned flags)
{
    unsigned iter = 0;
    TcgRam *ram;

    if (block) {
        ram = tcg_ram_get(block);
        if (is_tracked(ram)) {
            collect_ram(ram, start, length);
        }
        return;
    }
    while ((ram = tcg_ram_next(&iter))) {
        if (is_tracked(ram)) {
            collect_ram(ram, 0, ram->nr_pages << TCG_PAGE_BITS);
        }
    }
}

/* Returns how many pages of the word were taken. */
static unsigned clean_word(TcgRam *ram, uint64_t word, uint64_t mask)
{
    _Atomic uint64_t *collected = bitmap_atomic_word(ram->collected, word);
    uint64_t taken;

    if (!(atomic_load_explicit(collected, memory_order_relaxed) & mask)) {
        return 0;
    }
    taken = atomic_fetch_and(collected, ~mask) & mask;
    tcg_test_point(TCG_POINT_CLEAN_TAKEN, NULL);
    atomic_fetch_and(bitmap_atomic_word(ram->writable, word), ~taken);
    return __builtin_popcountll(taken);
}

uint64_t tcg_pages_clean(TcgRam *ram, ram_addr_t start, ram_addr_t length)
{
    uint64_t page = start >> TCG_PAGE_BITS, end, taken = 0;

    end = MIN(DIV_ROUND_UP(start + length, TCG_PAGE_SIZE), ram->nr_pages);
    while (page < end) {
        uint64_t n = MIN(end - page, 64 - page % 64);

        taken += clean_word(ram, page / 64,
                            word_mask(page % 64, page % 64 + n - 1));
        page += n;
    }
    if (taken) {
        tcg_test_point(TCG_POINT_CLEAN_ASKED, NULL);
        tcg_handshake();
    }
    return taken;
}

static void bitmap_clean(RAMBlock *block, ram_addr_t start, ram_addr_t length)
{
    TcgRam *ram = tcg_ram_get(block);
    int64_t begin_ns = get_clock();

    if (is_tracked(ram) && tcg_pages_clean(ram, start, length)) {
        dirty_cost_add(&measured.clean, get_clock() - begin_ns, 1, 0);
    }
}

/* Re-arming costs per range, nearly nothing per page. */
static void bitmap_cost(DirtyTrackerCost *cost)
{
    cost->collect_ns_per_page = dirty_cost_ns(&measured.collect);
    cost->scan_ns_per_gib = dirty_cost_ns(&measured.scan);
    cost->scan_words_per_gib = TCG_SUMMARY_WORDS_PER_GIB;
    cost->clean_ns_per_range = dirty_cost_ns(&measured.clean);
    cost->fault_ns_per_page = tcg_fault_ns();
}

bool tcg_attribute(CPUState *cpu, uint64_t *pages)
{
    TcgVcpu *v = cpu->accel_data;
    uint64_t now, before;

    if (!v) {
        return false;
    }
    now = atomic_load(&v->stats.dirty_faults);
    before = atomic_exchange(&v->faults_attributed, now);
    *pages = now - before;
    return true;
}

const DirtyTrackerOps tcg_bitmap_tracker = {
    .name = "bitmap",
    .probe = bitmap_probe,
    .setup = bitmap_setup,
    .start = bitmap_start,
    .stop = bitmap_stop,
    .collect = bitmap_collect,
    .clean = bitmap_clean,
    .attribute = tcg_attribute,
    .cost = bitmap_cost,
};
