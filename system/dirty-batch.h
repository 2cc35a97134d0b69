/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Batches of the reaper: pages that were harvested together, on their way to
 * the block bitmaps.
 *
 *   spare -> get -> [pages are added] -> take off -> [reset, publish] -> land
 *         -> put -> spare
 *
 * Between take off and land it is in flight, and its pages do not change: who
 * asks for a range looks whether one of his is among them, and if so waits.
 *
 * Threads: all under a lock of the caller's, the same for all batches.
 *
 * Used by: dirty-reaper.c. Uses: dirty-memory.h.
 */
#ifndef SYSTEM_DIRTY_BATCH_H
#define SYSTEM_DIRTY_BATCH_H

#include "qemu/thread.h"
#include "system/dirty-memory.h"

typedef struct Batch {
    DirtyPage *pages;
    uint32_t nr;         /* of pages */
    uint32_t nr_unreset; /* entries, also of those that were dropped */
    uint32_t cap;        /* of entries */
    GPtrArray *rings;    /* whose entries they are; the caller's */
    uint64_t number;     /* in order of harvest */
    struct Batch *next;  /* in flight, or spare */
} Batch;

typedef struct Batches {
    Batch *in_flight, *spare;
    uint64_t last_number;
    QemuCond landed;
} Batches;
#define BATCHES_INIT                           \
    {                                          \
        .landed = { PTHREAD_COND_INITIALIZER } \
    }

/* Pages that somebody asks for. */
typedef struct BatchRange {
    RAMBlock *rb; /* NULL: everything */
    uint64_t first, end;
} BatchRange;

/* An empty one, for @cap entries. */
Batch *batch_get(Batches *bs, uint32_t cap);
void batch_put(Batches *bs, Batch *b);
void batch_free_spare(Batches *bs);

void batch_take_off(Batches *bs, Batch *b);
/* Wakes who waits; @b is empty then. */
void batch_land(Batches *bs, Batch *b);

/*
 * Wait, with @lock, until no batch that has taken off by now holds back a page
 * of @range.
 */
void batch_wait(Batches *bs, QemuMutex *lock, const BatchRange *range)
    TSA_REQUIRES(lock);

#endif /* SYSTEM_DIRTY_BATCH_H */
