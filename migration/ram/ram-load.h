/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RAM on the target, inside: what is known of each block while it is loaded.
 *
 * Threads: the incoming thread. Used by: ram-load.c, ram-load-rest.c.
 */
#ifndef MIGRATION_RAM_LOAD_H
#define MIGRATION_RAM_LOAD_H

#include "ram.h"
#include "system/ram-block.h"

typedef struct RamLoadBlock {
    RAMBlock *rb; /* referenced */
    bool listed;  /* the source has it, too */

    /* NULL unless pages are noted. */
    uint64_t *got;       /* host pages that came */
    uint32_t *group_got; /* how many in each group of 2^RAM_GROUP_BITS */
    uint64_t nr_pages;
} RamLoadBlock;

/* All blocks of this process; NULL: nothing is being loaded. */
GPtrArray *ram_load_blocks(void); /* RamLoadBlock */

/* The page at @offset came, with content or as a zero record. */
void ram_load_got(RamLoadBlock *b, ram_addr_t offset);
void ram_load_forget_got(RamLoadBlock *b);
/* No page of the block is noted as having come, and all that will be is. */
bool ram_load_note_block(RamLoadBlock *b);

/*
 * What is known of holes here. A zero record into a hole has nothing to do,
 * and to read the page would allocate it. Only the incoming thread writes to
 * guest memory meanwhile.
 */
typedef struct RamLoadWindow {
    RAMBlock *rb;     /* NULL: nothing is known */
    ram_addr_t start; /* of RAM_WINDOW_BYTES */
    uint64_t data[8]; /* pages that may hold something */
} RamLoadWindow;
#define RAM_WINDOW_BYTES (UINT64_C(512) * 4096)

bool ram_window_is_hole(RamLoadWindow *w, RAMBlock *rb, ram_addr_t offset);
/* The page at @offset is being written. */
void ram_window_write(RamLoadWindow *w, RAMBlock *rb, ram_addr_t offset);

#endif /* MIGRATION_RAM_LOAD_H */
