/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files memory-*.c and dirty-*.c share: flat views and the walk over
 * listeners.
 *
 * Used by: system/memory-*.c, system/dirty-log.c. Uses: memory.h.
 */
#ifndef SYSTEM_MEMORY_INTERNAL_H
#define SYSTEM_MEMORY_INTERNAL_H

#include "qemu/main-loop.h"
#include "system/memory.h"

/* A visible range; inclusive ends, so that 2^64 needs no special case. */
typedef struct FlatRange {
    hwaddr first, last;
    MemoryRegion *mr;
    hwaddr offset_in_region;
    /* As they were when the view was made. */
    Object *owner;   /* ref'd by the view; may be NULL */
    RAMBlock *block; /* ref'd by the view; NULL: MMIO */
    uint8_t *host;   /* of @first */
    bool readonly;   /* stores do not go to the block */
    bool romd_mode;
    uint8_t dirty_log_mask;
} FlatRange;

/* Immutable once published. */
struct FlatView {
    MemoryRegion *root;
    _Atomic unsigned refcount;
    unsigned nr_ranges;
    FlatRange *ranges; /* by address */
};

FlatView *flatview_render(MemoryRegion *root); /* asserts the BQL */
const FlatRange *flatview_find(const FlatView *view, hwaddr addr);
MemoryRegionSection flat_range_section(AddressSpace *as, const FlatRange *fr);

/* All address spaces, for update and `info mtree`. BQL. */
GPtrArray *address_spaces(void);

/* Something in the tree changed: views must be made anew. BQL. */
void memory_topology_changed(void);

/*
 * Replace @as's view by @view (takes over the reference), telling the
 * listeners the difference. BQL.
 */
void memory_listeners_update(AddressSpace *as, FlatView *view);
void address_space_swap_view(AddressSpace *as, FlatView *view);

/* Called by dirty-log.c. The first two: BQL; the others: any thread. */
bool memory_listeners_global_start(Error **errp);
void memory_listeners_global_stop(void);
void memory_listeners_sync(bool last_stage);
void memory_listeners_sync_block(RAMBlock *rb);
/* Returns the number of log_clear calls made. */
unsigned memory_listeners_clear(RAMBlock *rb, ram_addr_t start,
                                ram_addr_t length);

/* Log of one region for VGA went on or off (counted in @rb). BQL. */
bool dirty_log_vga_start(RAMBlock *rb, Error **errp);
void dirty_log_vga_stop(RAMBlock *rb);

#endif /* SYSTEM_MEMORY_INTERNAL_H */
