/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening chunks in the first pass, and their holes: see ram.h. */
#include "qemu/osdep.h"

#include "qemu/bitmap.h"
#include "system/dirty-memory.h"
#include "system/ram-holes.h"

#include "ram/ram.h"
#include "trace-migration.h"

typedef struct Opening {
    RamSaveBlock *block;
    uint64_t *holes;     /* NULL: put data into the send set */
    uint64_t first_page; /* of the chunk: bit 0 of holes */
    uint64_t data_pages;
} Opening;

/* Into the send set, each page counted once. */
static void owe_data(void *opaque, ram_addr_t start, ram_addr_t length)
{
    Opening *o = opaque;
    uint64_t page = start >> DIRTY_PAGE_BITS, nr = length >> DIRTY_PAGE_BITS;

    o->data_pages += nr -
                     bitmap_count_one_with_offset(o->block->bmap, page, nr);
    bitmap_set(o->block->bmap, page, nr);
}

static void owe_group(RamSaveBlock *b, uint64_t first, uint64_t end)
{
    for (uint64_t next; first < end; first = next) {
        uint64_t group = first >> RAM_GROUP_BITS;

        next = MIN((group + 1) << RAM_GROUP_BITS, end);
        b->group_owed[group] += bitmap_count_one_with_offset(b->bmap, first,
                                                             next - first);
    }
}

static void clear_holes(void *opaque, ram_addr_t start, ram_addr_t length)
{
    Opening *o = opaque;
    uint64_t bit = (start >> DIRTY_PAGE_BITS) - o->first_page;
    uint64_t nr = length >> DIRTY_PAGE_BITS;

    o->data_pages += bitmap_count_one_with_offset(o->holes, bit, nr);
    bitmap_clear(o->holes, bit, nr);
}

/*
 * Pages of the chunk that hold nothing go as zero records, if they are owed.
 * Returns how many may hold something.
 */
static uint64_t mark_holes(RamSave *rs, RamSaveBlock *b, uint64_t chunk)
{
    unsigned shift = rs->config.clear_bitmap_shift;
    uint64_t first = chunk << shift;
    uint64_t nr = MIN(b->nr_pages - first, UINT64_C(1) << shift);
    RamHoles *h = &rs->holes;
    Opening o = { .block = b, .first_page = first };

    ram_forget_holes(rs);
    if (h->map_bits < nr) {
        g_free(h->map);
        h->map = g_try_new0(uint64_t, bits_to_words(nr));
        h->map_bits = h->map ? nr : 0;
        if (!h->map) {
            return nr; /* read them */
        }
    }
    bitmap_set(h->map, 0, nr);
    o.holes = h->map;
    ram_block_foreach_data(b->rb, first << DIRTY_PAGE_BITS,
                           nr << DIRTY_PAGE_BITS, clear_holes, &o);
    if (o.data_pages < nr) {
        h->block = b;
        h->chunk = chunk;
    }
    return o.data_pages;
}

void ram_find_holes(RamSave *rs, RamSaveBlock *block, uint64_t chunk)
{
    mark_holes(rs, block, chunk);
}

void ram_open_chunk(RamSave *rs, RamSaveBlock *b, uint64_t chunk)
{
    unsigned shift = rs->config.clear_bitmap_shift;
    uint64_t first = chunk << shift;
    uint64_t nr = MIN(b->nr_pages - first, UINT64_C(1) << shift), data = nr;
    uint64_t per_page = DIRTY_PAGE_SIZE >> rs->config.target_page_bits;

    ram_clean_before_read(rs, b, first);
    clear_bit(chunk, b->fresh);
    b->nr_fresh--;
    if (rs->skip_holes) {
        Opening o = { .block = b };

        ram_block_foreach_data(b->rb, first << DIRTY_PAGE_BITS,
                               nr << DIRTY_PAGE_BITS, owe_data, &o);
        data = o.data_pages;
        rs->owed_pages -= nr - data;
        rs->skipped_pages += nr - data;
        STAT_ADD(rs->config.stats, skipped_pages, (nr - data) * per_page);
    } else {
        bitmap_set(b->bmap, first, nr);
        data = mark_holes(rs, b, chunk);
    }
    if (data || !rs->skip_holes) {
        owe_group(b, first, first + nr);
    }
    STAT_ADD(rs->config.stats, hole_pages, (nr - data) * per_page);
    trace_migration_open_chunk(b->idstr, first << DIRTY_PAGE_BITS, nr, data);
}

bool ram_page_is_hole(const RamSave *rs, const RamSaveBlock *block,
                      uint64_t page)
{
    const RamHoles *h = &rs->holes;
    unsigned shift = rs->config.clear_bitmap_shift;

    return h->block == block && h->chunk == page >> shift &&
           test_bit(page - (h->chunk << shift), h->map);
}

void ram_forget_holes(RamSave *rs)
{
    rs->holes.block = NULL;
}
