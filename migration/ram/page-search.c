/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Page search: the next owed page; see ram.h for the contract. */
#include "qemu/osdep.h"

#include "qemu/bitmap.h"

#include "ram/ram.h"

bool ram_find_page(RamSave *rs, RamSaveBlock **block, uint64_t *page)
{
    for (; rs->cur_block < rs->blocks->len; rs->cur_block++) {
        RamSaveBlock *b = g_ptr_array_index(rs->blocks, rs->cur_block);

        if (!b->ignored && rs->cur_page < b->nr_pages) {
            uint64_t p = find_next_bit(b->bmap, b->nr_pages, rs->cur_page);

            if (p < b->nr_pages) {
                rs->cur_page = p;
                *block = b;
                *page = p;
                return true;
            }
        }
        rs->cur_page = 0;
    }
    rs->cur_block = 0;
    rs->cur_page = 0;
    return false;
}

void ram_page_done(RamSave *rs, RamSaveBlock *block, uint64_t page)
{
    if (test_and_clear_bit(page, block->bmap)) {
        rs->owed_pages--;
        rs->sent_pages++;
    }
}
