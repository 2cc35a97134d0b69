/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the next sync will add to the send set: see ram.h. */
#include "qemu/osdep.h"

#include "qemu/bitmap.h"
#include "qemu/sweep.h"
#include "system/dirty-memory.h"

#include "ram/ram.h"

/* Words looked at at a time: 32,768 pages. */
#define CHUNK_WORDS 512u
#define CHUNK_BITS  (CHUNK_WORDS * 64u)

/* Dirty and not owed, in @nr_pages from @page on, which is a word's first. */
static uint64_t count_chunk(const RamSaveBlock *b, uint64_t page,
                            uint64_t nr_pages)
{
    uint64_t dirty[CHUNK_WORDS] = { 0 }, first, n = 0;
    uint64_t *bitmap = ram_block_dirty_bitmap(b->rb, DIRTY_MEMORY_MIGRATION,
                                              &first);

    if (!bitmap_sweep(dirty, 0, bitmap, first + page, nr_pages,
                      SWEEP_SRC_ATOMIC | SWEEP_SRC_KEEP, NULL)) {
        return 0;
    }
    for (uint64_t i = 0; i < DIV_ROUND_UP(nr_pages, 64); i++) {
        n += (uint64_t)__builtin_popcountll(dirty[i] & ~b->bmap[page / 64 + i]);
    }
    return n;
}

/* A page that the tracker keeps until the next sync: is it a new one? */
static void count_page(RAMBlock *rb, uint64_t page, void *opaque)
{
    const RamSaveBlock *b = qemu_ram_get_migration_state(rb);
    uint64_t *n = opaque, first;
    const uint64_t *dirty;

    if (!b || b->ignored || page >= b->nr_pages ||
        test_bit_atomic(page, b->bmap)) {
        return;
    }
    dirty = ram_block_dirty_bitmap(rb, DIRTY_MEMORY_MIGRATION, &first);
    *n += !test_bit_atomic(first + page, dirty);
}

uint64_t ram_pending_pages(const RamSave *rs)
{
    uint64_t n = 0;

    memory_global_dirty_log_look(count_page, &n);
    for (unsigned i = 0; i < rs->blocks->len; i++) {
        const RamSaveBlock *b = g_ptr_array_index(rs->blocks, i);

        for (uint64_t page = 0; !b->ignored && page < b->nr_pages;
             page += CHUNK_BITS) {
            n += count_chunk(b, page, MIN(CHUNK_BITS, b->nr_pages - page));
        }
    }
    return n;
}
