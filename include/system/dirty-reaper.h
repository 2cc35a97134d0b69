/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reaper: empties the dirty rings of all vCPUs into the block bitmaps.
 *
 * A reap of a ring, by whoever does it:
 *
 *   1 harvest   its entries into a private batch, translated to (block, page)
 *               by the slots as they are now
 *   2 reset     the engine re-protects the pages of the entries; afterwards
 *               no vCPU can store to one of them unseen
 *   3 publish   the pages are set in the block's bitmaps, for every client
 *   4 epoch     counts on; vCPUs that wait for room go on
 *
 * A page is thus re-protected before anyone can learn that it is dirty, and
 * so before its content is read. A store that comes after 2 makes a new entry.
 *
 * Rings are reaped as late as possible, because each reset makes the guest
 * fault again on the pages that it keeps writing:
 *   - a ring that is full (soft or hard): its vCPU leaves the guest, wakes the
 *     reaper's thread and waits; only rings that are near full are reaped
 *   - a collect: reaps all rings on its own thread: it needs no other thread
 *     to be scheduled
 *   - a period: a backstop. Looks whether a ring is near full, and only then
 *     reaps it; it finds something only if a wake-up was lost.
 *
 * Several threads may reap at once. Harvests are short, and come one after the
 * other, under the reaper's lock; so do resets, under another, which frees and
 * protects what any of them has harvested. What is harvested and not published
 * yet, a batch in flight, is waited for by who asks for one of its pages, and
 * by nobody else: collects of disjoint ranges wait for each other only within
 * a reset, of which the hardware, too, makes one at a time.
 *
 * Nothing here takes the big lock, or waits for a thread that might: a vCPU that waits for the BQL
 * counts as out of the guest for reset.
 *
 * Slots: an entry is translated by the layout in which it was written. So who
 * removes or changes a slot stops writes to it first, and removal reaps all
 * rings under the old layout. What names no slot, or lies beyond its end, is
 * dropped and counted.
 *
 * Used by: trackers with rings. Uses: dirty-ring.h, dirty-memory.h.
 */
#ifndef SYSTEM_DIRTY_REAPER_H
#define SYSTEM_DIRTY_REAPER_H

#include "system/cpus.h"
#include "system/dirty-ring.h"
#include "system/dirty-tracker.h"

/* What the reaper needs of the engine that fills the rings. */
typedef struct DirtyReaperEngine {
    /*
     * Required. Free all harvested entries after re-protecting their pages.
     * Returns when no vCPU can store through the old permission. Called by one
     * thread at a time, while others harvest; must not wait for the BQL.
     * @due: so many were harvested and not freed before the call, at least.
     * Returns how many are free now.
     */
    uint32_t (*reset)(uint32_t due);
    /*
     * Optional: for a producer that should leave room, and may not. A ring was
     * found without any: entries may have been written over. Called before what
     * is there is harvested, by any thread, with the reaper's lock held.
     */
    void (*no_room)(void);
} DirtyReaperEngine;

/* Begin and end: the thread, nothing registered. Under the BQL. */
bool dirty_reaper_start(const DirtyReaperEngine *engine, Error **errp);
/*
 * Reaps what is left, lets waiting vCPUs go, ends the thread, and forgets
 * rings and slots.
 */
void dirty_reaper_stop(void);
bool dirty_reaper_is_running(void); /* any thread */

/*
 * vCPUs come and go while the reaper runs. @gfns stays the caller's and must
 * live until the ring is removed; removal reaps it first.
 */
void dirty_reaper_add_ring(CPUState *cpu, DirtyGfn *gfns, uint32_t entries);
/* The same for a ring in use: @next is what its removal returned. */
void dirty_reaper_add_ring_at(CPUState *cpu, DirtyGfn *gfns, uint32_t entries,
                              uint32_t next);
/* Returns where the next entry will be; counts on past entries. */
uint32_t dirty_reaper_remove_ring(CPUState *cpu);

/* dirty_ring_skip() on the ring of a vCPU that stands. All were reaped. */
void dirty_reaper_skip(CPUState *cpu, uint32_t n);

/*
 * What slot @slot means: pages [0, @nr_pages) are those of @rb from
 * @first_page. A slot that is there already is an error (asserts). The block
 * is ref'd.
 */
void dirty_reaper_add_slot(uint32_t slot, RAMBlock *rb, uint64_t first_page,
                           uint64_t nr_pages);
void dirty_reaper_remove_slot(uint32_t slot);

/*
 * Everything that vCPUs wrote before the call, or of it what is in a range of
 * @rb, is published. Any thread.
 */
void dirty_reaper_collect(void);
void dirty_reaper_collect_range(RAMBlock *rb, uint64_t first_page,
                                uint64_t nr_pages);
/*
 * Call @fn for each page in a ring, and leave it there: nothing is protected.
 * With the reaper's lock, so @fn is short and calls nothing of this file. What
 * is in flight is left out. Any thread.
 */
void dirty_reaper_look(DirtyPageFunc *fn, void *opaque);
/* Wait for batches in flight, or those with pages of a range. Any thread. */
void dirty_reaper_wait(void);
void dirty_reaper_wait_range(RAMBlock *rb, uint64_t first_page,
                             uint64_t nr_pages);

/**
 * dirty_reaper_vcpu_full: wait until @cpu's ring has been reaped
 *
 * @hard: there was no room at all; else it is near full
 *
 * On @cpu's thread, out of the guest. Returns earlier if @cpu
 * was asked to leave its loop (exit_request): then the ring may be full still.
 */
void dirty_reaper_vcpu_full(CPUState *cpu, bool hard);
/*
 * The same for a vCPU that is about to sleep (WFI): the reaper is told, and
 * nothing is waited for. Else its ring would be found near full by the period
 * only, or when the vCPU goes on, and has to wait then.
 */
void dirty_reaper_vcpu_sleeps(CPUState *cpu, bool hard);

/* Entries of @cpu's rings so far, harvested or not; false: it has none now. */
bool dirty_reaper_entered(CPUState *cpu, uint64_t *pages);

/* Cumulative since the process started, but for *_now. */
typedef struct DirtyReaperStats {
    uint64_t entries_harvested;
    uint64_t entries_refault; /* page was dirty for all clients already */
    uint64_t entries_unknown; /* dropped: no such slot */
    uint64_t entries_beyond;  /* dropped: past the slot's end */
    uint64_t batches;         /* resets; also the epoch */
    uint64_t reaps_full;      /* by a full ring */
    uint64_t reaps_collect;   /* by a collect that found entries */
    uint64_t reaps_period;    /* by the backstop */
    uint64_t reaps_drain;     /* by a slot, ring or tracking that ends */
    uint64_t reap_ns;         /* in all of them, and: */
    uint64_t reset_ns;        /* of which in the engine's reset */
    uint64_t longest_reap_ns;
    uint64_t soft_full_exits;
    uint64_t hard_full_exits;
    uint64_t full_wait_ns; /* vCPUs out of the guest, waiting for room */
    uint64_t longest_wait_ns;
    double entry_ns;     /* of a reap, and */
    double full_exit_ns; /* of such a wait: see dirty-cost.h; 0: unknown */
    uint64_t period_ms;
    uint64_t thread_bql_acquisitions; /* by the reaper's thread: stays 0 */
    unsigned rings_now, slots_now;
    /* The longest since dirty_reaper_mark(). */
    uint64_t marked_longest_reap_ns, marked_longest_wait_ns;
} DirtyReaperStats;
void dirty_reaper_get_stats(DirtyReaperStats *stats);
/* Of these, cheaply. */
uint64_t dirty_reaper_soft_full_exits(void);
/* From now on the marked_* tell the longest. One user: a migration's begin. */
void dirty_reaper_mark(void);

/* Of the rings of one vCPU, since that was made. False: it never had one. */
bool dirty_reaper_vcpu_stats(CPUState *cpu, CpuRingStats *stats);

/*
 * Test hooks: where a test may hold a reap. NULL outside of tests.
 */
typedef enum DirtyReaperPoint {
    DIRTY_REAPER_HARVESTED, /* entries taken, pages still writable */
    DIRTY_REAPER_RESET,     /* re-protected, nothing published */
    DIRTY_REAPER_PUBLISHED,
    DIRTY_REAPER_WOKEN, /* the thread, before it takes the lock */
} DirtyReaperPoint;
extern void (*dirty_reaper_test_hook)(DirtyReaperPoint point);

#endif /* SYSTEM_DIRTY_REAPER_H */
