/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Marking and taking dirty pages: see include/system/dirty-memory.h. */
#include "qemu/osdep.h"

#include "qemu/bitmap-summary.h"
#include "qemu/sweep.h"
#include "system/memory.h"

#include "dirty-stats.h"
#include "memory-internal.h"
#include "ram-block-internal.h"

/* Set once, before vCPUs run. */
static CodeInvalidateFunc *_Atomic code_invalidate;

DirtyStats dirty_stats;

void physical_memory_set_code_invalidate_hook(CodeInvalidateFunc *func)
{
    atomic_store_explicit(&code_invalidate, func, memory_order_release);
}

static void assert_in_block(const RAMBlock *rb, ram_addr_t offset,
                            ram_addr_t length)
{
    assert(offset <= rb->max_length && length <= rb->max_length - offset);
}

/* The block of [start, start + length), which must lie in one. */
static RAMBlock *block_of_range(ram_addr_t start, ram_addr_t length,
                                ram_addr_t *offset)
{
    RAMBlock *rb = qemu_get_ram_block(start);

    assert(rb);
    *offset = start - qemu_ram_get_offset(rb);
    assert_in_block(rb, *offset, length);
    return rb;
}

/*
 * An engine that caches code of a page first cleans the page for CODE, then
 * reads it; we stored, and now mark. With a full barrier on both sides either
 * it reads our bytes, or we see the clean bit and invalidate.
 */
static void mark_code(RAMBlock *rb, ram_addr_t offset, ram_addr_t length)
{
    uint64_t bit = ram_block_bit(rb, offset);
    uint64_t nr = ram_pages_touched(offset, length);
    CodeInvalidateFunc *func = atomic_load_explicit(&code_invalidate,
                                                    memory_order_acquire);

    /* Not atomic_thread_fence(): the thread sanitizer has none. */
    __sync_synchronize();
    if (bitmap_test_and_set_atomic(rb->dirty[DIRTY_MEMORY_CODE], bit, nr) &&
        func) {
        func(rb, ROUND_DOWN(offset, DIRTY_PAGE_SIZE), nr << DIRTY_PAGE_BITS);
    }
}

void ram_block_set_dirty(RAMBlock *rb, ram_addr_t offset, ram_addr_t length,
                         unsigned mask)
{
    uint64_t bit = ram_block_bit(rb, offset);
    uint64_t nr = ram_pages_touched(offset, length);

    if (length == 0) {
        return;
    }
    assert_in_block(rb, offset, length);
    for (unsigned client = 0; client < DIRTY_MEMORY_NUM; client++) {
        if (client != DIRTY_MEMORY_CODE && mask & (1u << client)) {
            /* Release: pairs with the acquire in the sweep. */
            bitmap_set_atomic(rb->dirty[client], bit, nr);
            summary_mark(rb->summary[client], bit, nr);
        }
    }
    if (mask & (1u << DIRTY_MEMORY_CODE)) {
        mark_code(rb, offset, length);
    }
}

void physical_memory_set_dirty_range(ram_addr_t start, ram_addr_t length,
                                     unsigned mask)
{
    ram_addr_t offset;

    if (length != 0) {
        RAMBlock *rb = block_of_range(start, length, &offset);

        ram_block_set_dirty(rb, offset, length, mask);
    }
}

/* Bits of one word of the bitmaps. Returns how many were new for someone. */
static unsigned mark_word(RAMBlock *rb, uint64_t word, uint64_t bits,
                          unsigned mask)
{
    uint64_t fresh = 0;

    for (unsigned client = 0; client < DIRTY_MEMORY_NUM; client++) {
        _Atomic uint64_t *p = bitmap_atomic_word(rb->dirty[client], word);

        /*
         * Not skip-if-already-set: a taker that comes between needs this
         * release to see what the writer stored.
         */
        if (mask & (1u << client)) {
            fresh |= bits &
                     ~atomic_fetch_or_explicit(p, bits, memory_order_acq_rel);
            summary_mark(rb->summary[client], word * BITS_PER_WORD, 1);
        }
    }
    return __builtin_popcountll(fresh);
}

uint64_t ram_block_set_dirty_pages(RAMBlock *rb, uint64_t first_page,
                                   uint64_t nr_pages, unsigned mask)
{
    uint64_t bit = rb->dirty_phase + first_page, end = bit + nr_pages, next;
    uint64_t nr_new = 0;

    assert(!(mask & (1u << DIRTY_MEMORY_CODE)) && mask);
    assert_in_block(rb, first_page << DIRTY_PAGE_BITS,
                    nr_pages << DIRTY_PAGE_BITS);
    for (; bit < end; bit = next) {
        next = MIN(end, (BIT_WORD(bit) + 1) * BITS_PER_WORD);
        nr_new += mark_word(
            rb, BIT_WORD(bit),
            word_mask(bit % BITS_PER_WORD, (next - 1) % BITS_PER_WORD), mask);
    }
    return nr_new;
}

/*
 * Words that wait for more bits: one for each stream of pages that a writer
 * may be busy with, found by the word's number.
 */
#define NR_PENDING 64

typedef struct PendingWord {
    RAMBlock *rb;
    uint64_t word, bits; /* 0: none */
} PendingWord;

uint64_t dirty_pages_set_dirty(const DirtyPage *pages, size_t nr_pages,
                               unsigned mask)
{
    PendingWord pending[NR_PENDING] = { 0 };
    uint64_t nr_new = 0;

    assert(!(mask & (1u << DIRTY_MEMORY_CODE)) && mask);
    for (size_t i = 0; i < nr_pages; i++) {
        RAMBlock *rb = pages[i].rb;
        uint64_t bit = rb->dirty_phase + pages[i].page, word = BIT_WORD(bit);
        PendingWord *p = &pending[word % NR_PENDING];

        assert(pages[i].page < rb->max_length >> DIRTY_PAGE_BITS);
        if (p->bits && (p->word != word || p->rb != rb)) {
            nr_new += mark_word(p->rb, p->word, p->bits, mask);
            p->bits = 0;
        }
        p->rb = rb;
        p->word = word;
        p->bits |= BIT_MASK(bit);
    }
    for (unsigned i = 0; i < NR_PENDING; i++) {
        if (pending[i].bits) {
            nr_new += mark_word(pending[i].rb, pending[i].word, pending[i].bits,
                                mask);
        }
    }
    return nr_new;
}

/* Bits merged at a time: 16 units of the summary, and 8 KiB of the source. */
#define MERGE_BITS UINT64_C(65536)

/*
 * One piece, into all clients of @mask; only the last one takes. With an
 * atomic source that gains bits between two clients, the earlier one would
 * miss them: so such a source is for one client only. Returns what was new
 * for the last one.
 */
static uint64_t merge_piece(RAMBlock *rb, uint64_t bit, uint64_t *src,
                            uint64_t src_first, uint64_t nr, unsigned flags,
                            unsigned mask)
{
    uint64_t nr_new = 0, found = 1;

    for (unsigned client = 0; found && mask >> client; client++) {
        bool last = (mask >> client) == 1;

        if (mask & (1u << client)) {
            nr_new = bitmap_sweep(rb->dirty[client], bit, src, src_first, nr,
                                  flags | SWEEP_DEST_ATOMIC |
                                      (last ? 0 : SWEEP_SRC_KEEP),
                                  &found);
            dirty_stats_add(&dirty_stats.merge_words, bits_to_words(nr));
            if (found) {
                summary_mark(rb->summary[client], bit, nr);
            }
        }
    }
    return nr_new;
}

uint64_t ram_block_merge_dirty(RAMBlock *rb, uint64_t first_page, uint64_t *src,
                               uint64_t src_first, uint64_t nr_pages,
                               unsigned sweep_flags, unsigned mask)
{
    uint64_t bit = rb->dirty_phase + first_page, nr_new = 0;

    assert(!(mask & (1u << DIRTY_MEMORY_CODE)) && mask);
    assert(!(sweep_flags & SWEEP_DEST_ATOMIC));
    assert(!(mask & (mask - 1)) || !(sweep_flags & SWEEP_SRC_ATOMIC) ||
           sweep_flags & SWEEP_SRC_KEEP);
    assert_in_block(rb, first_page << DIRTY_PAGE_BITS,
                    nr_pages << DIRTY_PAGE_BITS);
    while (nr_pages) {
        uint64_t n = MIN(nr_pages, MERGE_BITS - bit % MERGE_BITS);

        nr_new += merge_piece(rb, bit, src, src_first, n, sweep_flags, mask);
        bit += n;
        src_first += n;
        nr_pages -= n;
    }
    return nr_new;
}

uint64_t ram_block_count_dirty(RAMBlock *rb, ram_addr_t offset,
                               ram_addr_t length, unsigned client)
{
    assert_in_block(rb, offset, length);
    return bitmap_count_one_atomic(rb->dirty[client], ram_block_bit(rb, offset),
                                   ram_pages_touched(offset, length));
}

bool ram_block_get_dirty(RAMBlock *rb, ram_addr_t offset, ram_addr_t length,
                         unsigned client)
{
    uint64_t bit = ram_block_bit(rb, offset);
    uint64_t end = bit + ram_pages_touched(offset, length);

    assert_in_block(rb, offset, length);
    return find_next_bit_atomic(rb->dirty[client], end, bit) < end;
}

bool ram_block_all_dirty(RAMBlock *rb, ram_addr_t offset, ram_addr_t length,
                         unsigned client)
{
    return ram_block_count_dirty(rb, offset, length, client) ==
           ram_pages_touched(offset, length);
}

bool physical_memory_get_dirty(ram_addr_t start, ram_addr_t length,
                               unsigned client)
{
    ram_addr_t offset;
    RAMBlock *rb = block_of_range(start, length, &offset);

    return ram_block_get_dirty(rb, offset, length, client);
}

uint64_t *ram_block_dirty_bitmap(RAMBlock *rb, unsigned client,
                                 uint64_t *first_bit)
{
    *first_bit = rb->dirty_phase;
    return rb->dirty[client];
}

/* Bits [@bit, @end), of one unit. */
static uint64_t count_unit(RAMBlock *rb, unsigned client, uint64_t bit,
                           uint64_t end, DirtyCount *sum)
{
    uint64_t pages = 0, first = BIT_WORD(bit), last = BIT_WORD(end - 1);

    for (uint64_t w = first; w <= last; w++) {
        uint64_t bits = atomic_load_explicit(
            bitmap_atomic_word(rb->dirty[client], w), memory_order_relaxed);

        pages += __builtin_popcountll(bits);
        sum->groups += bits != 0;
    }
    sum->pages += pages;
    sum->units += pages != 0;
    return last - first + 1;
}

void ram_block_survey_dirty(RAMBlock *rb, unsigned client, DirtyCount *sum)
{
    uint64_t bit = rb->dirty_phase, words = 0, next;
    uint64_t end = bit + ram_pages_touched(0, qemu_ram_get_max_length(rb));
    uint64_t *summary = rb->summary[client];

    if (summary) {
        words += BIT_WORD(end / SUMMARY_UNIT_BITS) + 1;
    }
    for (; bit < end; bit = next) {
        uint64_t unit = bit / SUMMARY_UNIT_BITS;

        next = MIN((unit + 1) * SUMMARY_UNIT_BITS, end);
        if (!summary || test_bit_atomic(unit, summary)) {
            words += count_unit(rb, client, bit, next, sum);
        }
    }
    dirty_stats_add(&dirty_stats.survey_words, words);
}

typedef struct Take {
    RAMBlock *rb;
    unsigned client;
    uint64_t *bmap;
    uint64_t nr_new, nr_found, words;
} Take;

/* Bits [@bit, @end) of the block's bitmap. */
static void take_bits(void *opaque, uint64_t bit, uint64_t end)
{
    Take *t = opaque;
    uint64_t found;

    t->nr_new += bitmap_sweep(t->bmap, bit - t->rb->dirty_phase,
                              t->rb->dirty[t->client], bit, end - bit,
                              SWEEP_SRC_ATOMIC, &found);
    t->nr_found += found;
    t->words += BIT_WORD(end - 1) - BIT_WORD(bit) + 1;
}

static void take_range(Take *t, uint64_t bit, uint64_t end)
{
    if (t->rb->summary[t->client]) {
        t->words += summary_walk(t->rb->summary[t->client], bit, end, take_bits,
                                 t);
    } else if (bit < end) {
        take_bits(t, bit, end);
    }
}

/* Takes; @found: pages that were dirty, new in @bmap or not. */
static uint64_t take_dirty(RAMBlock *rb, ram_addr_t offset, ram_addr_t length,
                           unsigned client, uint64_t *bmap, uint64_t *found)
{
    int64_t begin_ns = dirty_stats_clock_ns();
    uint64_t bit = ram_block_bit(rb, offset);
    Take t = { .rb = rb, .client = client, .bmap = bmap };

    assert_in_block(rb, offset, length);
    take_range(&t, bit, bit + ram_pages_touched(offset, length));
    dirty_stats_add(&dirty_stats.sweep_words, t.words);
    dirty_stats_add(&dirty_stats.sweep_ns, dirty_stats_clock_ns() - begin_ns);
    if (found) {
        *found = t.nr_found;
    }
    return t.nr_new;
}

uint64_t ram_block_collect_dirty(RAMBlock *rb, ram_addr_t offset,
                                 ram_addr_t length, unsigned client,
                                 uint64_t *bmap)
{
    return take_dirty(rb, offset, length, client, bmap, NULL);
}

uint64_t physical_memory_collect_dirty(ram_addr_t start, ram_addr_t length,
                                       unsigned client, uint64_t *bmap)
{
    ram_addr_t offset;
    RAMBlock *rb;

    if (length == 0) {
        return 0;
    }
    rb = block_of_range(start, length, &offset);
    return ram_block_collect_dirty(rb, offset, length, client, bmap);
}

uint64_t ram_block_test_and_clear_dirty(RAMBlock *rb, ram_addr_t offset,
                                        ram_addr_t length, unsigned client,
                                        uint64_t *bmap)
{
    uint64_t found;
    uint64_t nr = take_dirty(rb, offset, length, client, bmap, &found);

    /* CODE is the engine's own: no tracker below knows of it. */
    if (found && client != DIRTY_MEMORY_CODE) {
        ram_block_clean(rb, offset, length);
    }
    return nr;
}

uint64_t physical_memory_test_and_clear_dirty(ram_addr_t start,
                                              ram_addr_t length,
                                              unsigned client, uint64_t *bmap)
{
    ram_addr_t offset;
    RAMBlock *rb;

    if (length == 0) {
        return 0;
    }
    rb = block_of_range(start, length, &offset);
    return ram_block_test_and_clear_dirty(rb, offset, length, client, bmap);
}

/* Pages that ram_block_take_some() asks the tracker for at a time. */
#define SOME_PAGES UINT64_C(32768)

/* Take the first @left dirty pages of what [@bit, @bit + @n) is of a word. */
static uint64_t take_of_word(uint64_t *map, uint64_t bit, unsigned n,
                             uint64_t left)
{
    unsigned first = bit % BITS_PER_WORD;
    _Atomic uint64_t *word = bitmap_atomic_word(map, BIT_WORD(bit));
    uint64_t want = atomic_load_explicit(word, memory_order_relaxed) &
                    word_mask(first, first + n - 1);

    while ((uint64_t)__builtin_popcountll(want) > left) {
        want &= ~(UINT64_C(1) << (63 - __builtin_clzll(want)));
    }
    /* Pairs with the release of who set the bits. */
    return want == 0 ? 0
                     : want & atomic_fetch_and_explicit(word, ~want,
                                                        memory_order_acq_rel);
}

typedef struct Some {
    uint64_t *bmap;
    uint64_t left; /* pages that may be taken yet */
    uint64_t nr_found, nr_new;
} Some;

/* Take from pages [@page, @end). Returns the first that was not looked at. */
static uint64_t take_some(RAMBlock *rb, unsigned client, uint64_t page,
                          uint64_t end, Some *some)
{
    while (page < end && some->left) {
        uint64_t bit = rb->dirty_phase + page;
        unsigned first = bit % BITS_PER_WORD;
        unsigned n = MIN(end - page, BITS_PER_WORD - first);
        uint64_t bits = take_of_word(rb->dirty[client], bit, n, some->left);

        some->nr_found += __builtin_popcountll(bits);
        some->left -= __builtin_popcountll(bits);
        if (some->left == 0) {
            n = 64 - __builtin_clzll(bits) - first; /* not past the last one */
        }
        for (; bits; bits &= bits - 1) {
            uint64_t p = page + __builtin_ctzll(bits) - first;

            some->nr_new += !some->bmap || !test_and_set_bit(p, some->bmap);
        }
        page += n;
    }
    return page;
}

uint64_t ram_block_take_some(RAMBlock *rb, ram_addr_t offset, ram_addr_t length,
                             unsigned client, uint64_t *bmap,
                             uint64_t max_pages, ram_addr_t *done)
{
    uint64_t first = offset >> DIRTY_PAGE_BITS, page = first;
    uint64_t end = first + ram_pages_touched(offset, length);
    Some some = { .bmap = bmap, .left = max_pages };

    assert(max_pages && offset % DIRTY_PAGE_SIZE == 0);
    assert_in_block(rb, offset, length);
    while (page < end && some.left) {
        uint64_t stop = MIN(end, ROUND_DOWN(page, SOME_PAGES) + SOME_PAGES);

        ram_block_dirty_sync_range(rb, page << DIRTY_PAGE_BITS,
                                   (stop - page) << DIRTY_PAGE_BITS);
        page = take_some(rb, client, page, stop, &some);
    }
    *done = MIN((page - first) << DIRTY_PAGE_BITS, length);
    if (some.nr_found) {
        ram_block_clean(rb, offset, *done);
    }
    return some.nr_new;
}

void dirty_memory_note_wait(int64_t ns)
{
    dirty_stats_add(&dirty_stats.wait_ns, ns);
}

void dirty_memory_note_words(uint64_t words)
{
    dirty_stats_add(&dirty_stats.tracker_words, words);
}

void dirty_memory_get_stats(DirtyMemoryStats *stats)
{
    *stats = (DirtyMemoryStats){
        .tracker_collects = dirty_stats_get(&dirty_stats.tracker_collects),
        .tracker_cleans = dirty_stats_get(&dirty_stats.tracker_cleans),
        .listener_clears = dirty_stats_get(&dirty_stats.listener_clears),
        .collect_ns = dirty_stats_get(&dirty_stats.collect_ns),
        .clean_ns = dirty_stats_get(&dirty_stats.clean_ns),
        .sweep_ns = dirty_stats_get(&dirty_stats.sweep_ns),
        .wait_ns = dirty_stats_get(&dirty_stats.wait_ns),
        .sweep_words = dirty_stats_get(&dirty_stats.sweep_words),
        .merge_words = dirty_stats_get(&dirty_stats.merge_words),
        .tracker_words = dirty_stats_get(&dirty_stats.tracker_words),
        .survey_words = dirty_stats_get(&dirty_stats.survey_words),
    };
}
