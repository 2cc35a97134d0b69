/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Page search: the next owed page; see ram.h for the contract. */
#include "qemu/osdep.h"

#include "qemu/bitmap.h"

#include "ram/ram.h"

/*
 * From rs->cur_page on, which moves along. Groups that owe nothing are passed
 * over without a look at their bits.
 */
static RamFound find_in_block(RamSave *rs, RamSaveBlock *b)
{
    unsigned shift = rs->config.clear_bitmap_shift;
    uint64_t *page = &rs->cur_page, end;

    for (; *page < b->nr_pages; *page = end) {
        uint64_t chunk = *page >> shift, group = *page >> RAM_GROUP_BITS;
        bool opened = b->nr_fresh && test_bit(chunk, b->fresh);

        end = MIN((group + 1) << RAM_GROUP_BITS, b->nr_pages);
        if (b->nr_fresh) {
            end = MIN(end, (chunk + 1) << shift);
        }
        if (opened) {
            ram_open_chunk(rs, b, chunk);
        }
        if (b->group_owed[group]) {
            uint64_t p = find_next_bit(b->bmap, end, *page);

            if (p < end) {
                *page = p;
                return RAM_FOUND_PAGE;
            }
        }
        if (opened) {
            *page = end;
            return RAM_FOUND_HOLES;
        }
    }
    return RAM_FOUND_END;
}

RamFound ram_find_page(RamSave *rs, RamSaveBlock **block, uint64_t *page)
{
    for (; rs->cur_block < rs->blocks->len; rs->cur_block++) {
        RamSaveBlock *b = g_ptr_array_index(rs->blocks, rs->cur_block);
        RamFound found = b->ignored ? RAM_FOUND_END : find_in_block(rs, b);

        if (found != RAM_FOUND_END) {
            *block = b;
            *page = rs->cur_page;
            return found;
        }
        rs->cur_page = 0;
    }
    rs->cur_block = 0;
    rs->cur_page = 0;
    return RAM_FOUND_END;
}

void ram_page_done(RamSave *rs, RamSaveBlock *block, uint64_t page)
{
    if (test_and_clear_bit(page, block->bmap)) {
        block->group_owed[page >> RAM_GROUP_BITS]--;
        rs->owed_pages--;
        rs->sent_pages++;
    }
}
