/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dirty tracker: an accelerator's way to learn which pages vCPUs wrote.
 *
 * One tracker is active per process. Devices, loader and qtest do not go
 * through it: address_space_write() marks the block bitmaps itself. What a
 * tracker sees it publishes to the block bitmaps, with ram_block_set_dirty()
 * or ram_block_merge_dirty(); it keeps no copy that others read.
 *
 *   start -> ( collect -> [take pages from the block bitmap]
 *              -> clean(range) -> [read the content of the range] )* -> stop
 *
 * Ordering, without which a migrated page would be stale:
 *   - clean(range) returns only when no vCPU can still store into the range
 *     through the old permission without being seen by the next collect.
 *   - clean() re-arms only what collect() has published. A write that nobody
 *     collected is never forgotten.
 *
 * Threads: setup is called in the main thread before the first vCPU exists;
 * select, start and stop under the BQL; collect and clean by any thread, with
 * or without the BQL. The wrappers see to it that
 *   - calls for ranges that share no page go in parallel: a tracker's collect
 *     and clean run on several threads at once, also in ranges that meet
 *     within a word of its bitmaps;
 *   - of calls whose ranges share a page one waits for the other, in order of
 *     arrival: two clients may clean the same page, and none of them may
 *     return before no vCPU stores unseen;
 *   - select, start, stop, and a collect of all blocks share pages with
 *     everything.
 * Collect and clean may wait for a vCPU to leave guest code, but not for one
 * that may itself be waiting for the BQL: a vCPU that waits for the BQL must
 * count as out of guest code.
 *
 * Used by: dirty memory (calls), accel/ (implements), migration (statistics).
 * Uses:    ram-block.h.
 */
#ifndef SYSTEM_DIRTY_TRACKER_H
#define SYSTEM_DIRTY_TRACKER_H

/* What is published by the end of the first collect after start. */
typedef enum DirtyTrackerFirst {
    DIRTY_TRACKER_FIRST_WRITTEN, /* pages written since start */
    DIRTY_TRACKER_FIRST_ALL,     /* every page of the armed blocks */
} DirtyTrackerFirst;

#include "system/ram-block.h"

enum {
    /* vCPUs are stopped and devices saved: read also what is read last. */
    DIRTY_COLLECT_LAST = 1 << 0,
};

/* Measured on this host; a value of 0 means "not known yet". */
typedef struct DirtyTrackerCost {
    double collect_ns_per_page; /* per page found dirty */
    double scan_ns_per_gib;     /* per GiB in which collect finds nothing */
    double scan_words_per_gib;  /* and what it reads; 0: a bit per page */
    double clean_ns_per_range;  /* fixed part of one clean */
    double clean_ns_per_page;   /* per page re-armed */
    double fault_ns_per_page;   /* what the guest pays for the next write */
    double update_ns_per_page;  /* for one that needs no fault (groups) */
} DirtyTrackerCost;

/*
 * Counts of a tracker that arms groups of pages (dbm). Cumulative since the
 * process started, but for *_now.
 */
typedef struct DirtyTrackerGroups {
    uint64_t faults;          /* writes that found no permission */
    uint64_t hw_updates;      /* pages made dirty without a fault */
    uint64_t groups_armed;    /* by a fault */
    uint64_t groups_disarmed; /* clean for too long */
    uint64_t groups_fallen;   /* to single pages */
    uint64_t groups_back;     /* from single pages */
    uint64_t groups_scanned;  /* by collects */
    uint64_t entries_scanned; /* page states that collects read */
    uint64_t summary_words;   /* and words of the summary */
    uint64_t pages_collected;
    uint64_t pages_cleaned;
    uint64_t groups_armed_now;
} DirtyTrackerGroups;

/* Measured on this host; a value of 0 means "not known yet". */
typedef struct DirtyTrackerMoveCost {
    double stand_ns; /* of all vCPUs */
    double pages;    /* that the guest has where it is, and faults for anew */
    double refault_ns_per_page;
} DirtyTrackerMoveCost;

/*
 * For a tracker that works only where the guest is not: KVM logs by bitmap or
 * by rings for a VM's whole life, so the guest has to move to another kernel VM
 * over the same memory. BQL, all of them.
 *
 *   prepare                          vCPUs run
 *   save, (the old one's collect and stop), go, (start)    vCPUs stand
 *   finish                           vCPUs run
 *
 * Whatever fails, the guest is where it was, and goes on there.
 */
typedef struct DirtyTrackerMove {
    /* Is the guest where the tracker works? What follows is for if not. */
    bool (*is_there)(void);
    /* Have the new place ready, with @blocks armed. Takes milliseconds. */
    bool (*prepare)(RAMBlock *const *blocks, size_t nr_blocks, Error **errp);
    /* Read all state. From here on nothing need be disarmed in the old place. */
    bool (*save)(Error **errp);
    bool (*go)(Error **errp); /* after save; on failure that is undone */
    void (*go_back)(void);    /* after go, if start() failed */
    void (*finish)(void);     /* always after prepare, if that succeeded */
    void (*cost)(DirtyTrackerMoveCost *cost); /* any thread */
} DirtyTrackerMove;

struct DirtyTrackerOps {
    /* As in -accel X,dirty-tracking=NAME. */
    const char *name;

    /* Required. Can it work here, with what is configured? Else the reason. */
    bool (*probe)(Error **errp);

    /* Required. Before the first vCPU exists. */
    bool (*setup)(Error **errp);

    /*
     * Required. Arm tracking of @blocks; on failure none of them is armed.
     * May be called again for other blocks while some are armed. @first: if
     * it is FIRST_ALL the caller takes all pages as written anyhow, and the
     * tracker may publish all of them at once, where that makes arming cheaper;
     * set on success to what it does.
     */
    bool (*start)(RAMBlock *const *blocks, size_t nr_blocks,
                  DirtyTrackerFirst *first, Error **errp);
    /* Required. Disarm; what was written and not collected may be dropped. */
    void (*stop)(RAMBlock *const *blocks, size_t nr_blocks);

    /*
     * Required. Publish every write of vCPUs to [start, start + length) of
     * @block that happened before the call. @block NULL: all armed blocks.
     * More may be published than asked for, not more be cleaned.
     */
    void (*collect)(RAMBlock *block, ram_addr_t start, ram_addr_t length,
                    unsigned flags);

    /*
     * Optional (absent: a collect costs the guest nothing). Call @fn for pages
     * that a collect would publish, without taking them: collects of rings make
     * the guest fault again on each. A page may come twice, or not at all if
     * another thread collects meanwhile.
     */
    void (*look)(DirtyPageFunc *fn, void *opaque);

    /* Required. Re-arm the range; see the ordering above. */
    void (*clean)(RAMBlock *block, ram_addr_t start, ram_addr_t length);

    /*
     * Optional (absent: it has). Has it published all writes that it was to?
     * Any thread.
     */
    bool (*intact)(Error **errp);

    /* Optional. Publish what @cpu still holds; @cpu's thread or @cpu stopped. */
    void (*drain_vcpu)(CPUState *cpu);

    /* Optional. @cpu left the guest because its buffer is full. Its thread. */
    void (*vcpu_exit)(CPUState *cpu);

    /*
     * Optional (absent: cannot). Pages written by @cpu since last asked.
     * Returns false if it cannot tell for this vCPU.
     */
    bool (*attribute)(CPUState *cpu, uint64_t *pages);

    /* Optional (absent: nothing measured). Fill what is known. */
    void (*cost)(DirtyTrackerCost *cost);

    /* Optional (absent: it has no groups). */
    void (*groups)(DirtyTrackerGroups *groups);

    /* Optional (absent: it works wherever the guest is). */
    const DirtyTrackerMove *move;
};

/*
 * The tracker of a machine in which no vCPU executes guest code (qtest, the
 * machine "none"): there is nothing to see, so seeing nothing is right.
 */
extern const DirtyTrackerOps dirty_tracker_null;

/**
 * dirty_tracker_select: make @ops the active tracker
 *
 * Probes it, and sets it up unless it was set up before. Fails while tracking
 * is on, unless it is the active one. At start the null tracker is active. If
 * the guest has to move for it (see above), that must be prepared, and no vCPU
 * be in guest code: dirty_tracker_change() does both. BQL.
 */
bool dirty_tracker_select(const DirtyTrackerOps *ops, Error **errp);
const DirtyTrackerOps *dirty_tracker_active(void); /* any thread */

/**
 * dirty_tracker_replace: make @ops the active tracker while blocks are armed
 *
 * No vCPU may be in guest code; BQL. What the old one knows is published, all
 * pages are clean for the new one: what a vCPU writes after this, the next
 * collect finds. Pages that were collected and not cleaned yet are clean, too:
 * cleaning them later does nothing, and that is right, for it comes before
 * their content is read.
 *
 * On failure the old one is armed again. If that fails, too (there was memory
 * for it a moment ago), each collect reports every page, until tracking ends:
 * dear, but nothing is lost.
 */
bool dirty_tracker_replace(const DirtyTrackerOps *ops, Error **errp);

/* Must the guest move before @ops can work? BQL, or while tracking is on. */
bool dirty_tracker_must_move(const DirtyTrackerOps *ops);
/* Let it get ready for that; then dirty_tracker_move_finish(). BQL. */
bool dirty_tracker_move_prepare(const DirtyTrackerOps *ops, Error **errp);
void dirty_tracker_move_finish(const DirtyTrackerOps *ops);
/**
 * dirty_tracker_change: dirty_tracker_select(), with vCPUs stopped if need be
 *
 * (dirty-switch.c.) May give up the BQL for a moment. Not on a vCPU's thread.
 */
bool dirty_tracker_change(const DirtyTrackerOps *ops, Error **errp);

/* Wrappers: what an absent optional hook means is decided here, once. */
void dirty_tracker_drain_vcpu(CPUState *cpu);
/* Has the active tracker seen everything? Else the reason. Any thread. */
bool dirty_tracker_intact(Error **errp);
bool dirty_tracker_can_miss(void); /* could it ever say no? Any thread. */
void dirty_tracker_vcpu_exit(CPUState *cpu);
bool dirty_tracker_attribute(CPUState *cpu, uint64_t *pages);
/*
 * The same for several who ask, each for itself: @pages is what @cpu has
 * written since the process started, as far as the trackers saw it. Who uses
 * this must not call dirty_tracker_attribute(). Any thread.
 */
bool dirty_tracker_written(CPUState *cpu, uint64_t *pages);
void dirty_tracker_cost(DirtyTrackerCost *cost);
bool dirty_tracker_groups(DirtyTrackerGroups *groups); /* false: it has none */
/* False: it has no such hook, nothing was done. Any thread. */
bool dirty_tracker_look(DirtyPageFunc *fn, void *opaque);

/*
 * Called by dirty memory only. Each waits for calls that came earlier and whose
 * range has a page in common. collect and clean do nothing for blocks that are
 * not armed, and return whether the hook was called.
 */
bool dirty_tracker_start(RAMBlock *const *blocks, size_t nr_blocks,
                         DirtyTrackerFirst *first, Error **errp);
void dirty_tracker_stop(RAMBlock *const *blocks, size_t nr_blocks);
bool dirty_tracker_collect(RAMBlock *block, ram_addr_t start, ram_addr_t length,
                           unsigned flags);
bool dirty_tracker_clean(RAMBlock *block, ram_addr_t start, ram_addr_t length);

/* Test hook: a call is about to wait for another; under the list's lock. */
extern void (*dirty_tracker_wait_hook)(void);

/*
 * Test hook: where a test may hold a thread in a tracker that has no test
 * points of its own. NULL outside of tests.
 */
typedef enum DirtyTrackerPoint {
    DIRTY_TRACKER_COLLECTED,   /* found, nothing published */
    DIRTY_TRACKER_CLEAN_TAKEN, /* not re-armed yet */
    DIRTY_TRACKER_CLEANED,     /* re-armed; found late, nothing published */
} DirtyTrackerPoint;
extern void (*dirty_tracker_test_hook)(DirtyTrackerPoint point);

static inline void dirty_tracker_test_point(DirtyTrackerPoint point)
{
    if (unlikely(dirty_tracker_test_hook)) {
        dirty_tracker_test_hook(point);
    }
}

#endif /* SYSTEM_DIRTY_TRACKER_H */
