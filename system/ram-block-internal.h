/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inside of a RAM block, for the files ram-*.c and dirty-*.c.
 *
 * Used by: system/ram-*.c, system/dirty-*.c. Uses: ram-block.h.
 */
#ifndef SYSTEM_RAM_BLOCK_INTERNAL_H
#define SYSTEM_RAM_BLOCK_INTERNAL_H

#include "qemu/bitmap-summary.h"
#include "system/dirty-memory.h"
#include "system/ram-block.h"

/* Offsets are aligned so: a bitmap word of pages. */
#define RAM_OFFSET_ALIGN (DIRTY_PAGE_SIZE * BITS_PER_WORD)

struct RAMBlock {
    /* Constant after creation. */
    uint8_t *host;
    ram_addr_t offset;
    ram_addr_t max_length; /* whole pages */
    size_t page_size;
    uint32_t flags;
    int fd;
    uint64_t fd_offset;
    bool fd_is_nameless; /* memfd or unlinked file: nobody else's data */
    bool fd_is_foreign;  /* opened by a name: others may have it, too */
    bool fd_tells_holes; /* SEEK_DATA can be trusted (ram-holes.c) */
    void *map_base;      /* what to unmap: with alignment and guard page */
    size_t map_length;
    /*
     * One bit per page, first page at bit dirty_phase = (offset in pages) %
     * 64, which is 0 but for tests. Lock-free: dirty-memory.h's contract.
     */
    uint64_t *dirty[DIRTY_MEMORY_NUM];
    uint64_t *summary[DIRTY_MEMORY_NUM]; /* CODE: NULL; engines change it */
    unsigned dirty_phase;
    uint64_t created; /* ordinal, for the list's order */

    /* Guarded by the list lock; changed under the BQL too. */
    RAMBlock *next;
    MemoryRegion *mr; /* NULL once the region is gone */
    char idstr[256];
    bool migratable;

    /* Atomic. */
    _Atomic ram_addr_t used_length;
    _Atomic unsigned refcount;
    _Atomic(void *) migration_state;
    _Atomic bool populated_at_start;
    _Atomic unsigned discards;
    _Atomic bool tracked; /* written by dirty-log.c under the BQL */

    /* Guarded by the BQL: dirty-log.c's. */
    unsigned vga_users;

    /* dirty-pagemap.c's; changed by its start and stop alone. */
    struct PagemapBlock *pagemap;

    /* Guarded by the BQL. */
    bool unmergeable, undumpable;
};

/* Mapping half of a block (ram-map.c). On failure nothing is mapped. */
typedef struct RAMMapping {
    uint8_t *host;
    void *base;
    size_t length;
    size_t page_size;
} RAMMapping;
bool ram_map(RAMMapping *map, uint64_t size, uint64_t min_align,
             uint32_t ram_flags, int fd, uint64_t fd_offset, Error **errp);
void ram_unmap(void *base, size_t length);
size_t ram_fd_page_size(int fd);
/* A memfd with @name; @hugetlb_size 0: ordinary pages. */
int ram_create_memfd(const char *name, uint64_t size, bool hugetlb,
                     uint64_t hugetlb_size, bool seal, Error **errp);
int ram_open_file(const char *path, uint32_t ram_flags, Error **errp);
/* Tell the host what core dumps are to have of that part of @rb. Signals. */
void ram_advise_dump(const RAMBlock *rb, void *addr, size_t length);

/*
 * The block that @ptr lies in, for a signal handler: it does not wait for
 * long. NULL: in none, or the list is held, by this thread say.
 */
RAMBlock *ram_block_from_host_try(const void *ptr, ram_addr_t *offset);

/* Whether holes of the file can be asked for (ram-holes.c). */
bool ram_fd_tells_holes(int fd);
/* Open what is asked, while it can be opened. */
void ram_holes_init(void);
/* /proc/self/pagemap; -1: not to be had. Stays open. Any thread. */
int ram_pagemap_fd(void);

/* Install the SIGBUS handler once (ram-sigbus.c). */
void ram_sigbus_init(void);
/* Whether the block has all of that; else an error says so. */
bool ram_block_access_in_range(const RAMBlock *rb, ram_addr_t offset,
                               size_t length, Error **errp);
/*
 * Stand-ins (ram-plug.c). For the handler: false if there can be none. @broken:
 * the host's memory is, and what was there is lost.
 */
bool ram_plug(const void *addr, bool broken);
void ram_plug_init(void);
/* Whether a page of some block stands in for what is not there. */
bool ram_plug_any(void);
void ram_plug_block_removed(const RAMBlock *rb);

/* Pages of [offset, offset + length) as bits of the block's bitmaps. */
static inline uint64_t ram_block_bit(const RAMBlock *rb, ram_addr_t offset)
{
    return rb->dirty_phase + (offset >> DIRTY_PAGE_BITS);
}
static inline uint64_t ram_pages_touched(ram_addr_t offset, ram_addr_t length)
{
    return length == 0 ? 0
                       : ((offset + length - 1) >> DIRTY_PAGE_BITS) -
                             (offset >> DIRTY_PAGE_BITS) + 1;
}

/* A change of the list (ram-block.c) as dirty-log.c must see it. BQL. */
bool dirty_log_block_added(RAMBlock *rb, Error **errp);
void dirty_log_block_removed(RAMBlock *rb);

#endif /* SYSTEM_RAM_BLOCK_INTERNAL_H */
