/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dirty memory: which pages of guest RAM were written, per client.
 *
 * Each RAM block has one atomic bitmap per client; whoever writes guest memory
 * ends up there, and each client takes its own bits: no client's taking
 * hides a page from another. A page here is a host page (4 KiB).
 *
 * Ordering contract, needed for a migrated page to be current:
 *   writer:    store to guest memory, then mark (release)
 *   collector: memory_global_dirty_log_sync(), take the bits (acquire), clean,
 *              and only then read the content
 * A mark that races with a take is seen by that take or by the next one.
 *
 * Clients
 *   VGA        display; logged for regions with memory_region_set_log()
 *   CODE       inverted sense: a *clean* page holds code that an engine has
 *              cached. Marking it calls the invalidation hook.
 *   MIGRATION  GLOBAL_DIRTY_MIGRATION, a user of memory_global_dirty_log_start()
 *   RATE       GLOBAL_DIRTY_DIRTY_RATE, likewise
 * New blocks: VGA and CODE all set, the others all clear. A migration begins
 * with a send set of its own that has every page, so what MIGRATION still has
 * from before does not matter; RATE is cleared when its user starts.
 *
 * Who takes pages cleans them, for himself: a page that another client has
 * taken and not yet cleaned is then reported to that client once more, which
 * costs it a page sent twice and loses nothing.
 *
 * Threads: any, without the BQL, unless a function says otherwise.
 *
 * Used by: devices (through memory.h), trackers, migration, display.
 * Uses:    sweep, ram-block.h, dirty-tracker.h.
 */
#ifndef SYSTEM_DIRTY_MEMORY_H
#define SYSTEM_DIRTY_MEMORY_H

#include "system/ram-block.h"

#define DIRTY_PAGE_BITS 12
#define DIRTY_PAGE_SIZE (UINT64_C(1) << DIRTY_PAGE_BITS)

enum {
    DIRTY_MEMORY_VGA,
    DIRTY_MEMORY_CODE,
    DIRTY_MEMORY_MIGRATION,
    DIRTY_MEMORY_RATE,
    DIRTY_MEMORY_NUM
};
#define DIRTY_CLIENTS_ALL    ((1u << DIRTY_MEMORY_NUM) - 1)
#define DIRTY_CLIENTS_NOCODE (DIRTY_CLIENTS_ALL & ~(1u << DIRTY_MEMORY_CODE))

/**
 * ram_block_set_dirty: mark a written range of a block
 *
 * @mask: clients, 1 << DIRTY_MEMORY_*
 *
 * Call after the store. Every page that the range touches is marked; an empty
 * range marks nothing. The range must lie in the block's maximum length, else
 * this asserts. If @mask has CODE and a page was clean for it, the
 * invalidation hook runs before this returns.
 */
void ram_block_set_dirty(RAMBlock *rb, ram_addr_t offset, ram_addr_t length,
                         unsigned mask);
/* The same by address in the RAM address space; within one block. */
void physical_memory_set_dirty_range(ram_addr_t start, ram_addr_t length,
                                     unsigned mask);

/**
 * ram_block_set_dirty_pages: mark whole pages that a tracker found written
 *
 * @mask: clients without CODE
 *
 * Returns how many of the pages were new for at least one client in @mask.
 */
uint64_t ram_block_set_dirty_pages(RAMBlock *rb, uint64_t first_page,
                                   uint64_t nr_pages, unsigned mask);

/* A page of a block. */
typedef struct DirtyPage {
    RAMBlock *rb;
    uint64_t page;
} DirtyPage;

/**
 * dirty_pages_set_dirty: the same for a list, in any order
 *
 * Pages that are near each other in the list, or nearly so, and share a word
 * of the bitmaps are marked in one step.
 *
 * Returns how many were new for at least one client in @mask; a page that is
 * in the list twice is new at most once.
 */
uint64_t dirty_pages_set_dirty(const DirtyPage *pages, size_t nr_pages,
                               unsigned mask);

/**
 * ram_block_merge_dirty: mark pages by a tracker's bitmap
 *
 * @first_page: of the block, for bit @src_first of @src
 * @sweep_flags: SWEEP_SRC_* only; without KEEP the bits are taken from @src;
 *               an atomic source that is taken from is for one client only
 * @mask: clients without CODE
 *
 * Returns the number of pages newly dirty for the last client in @mask.
 */
uint64_t ram_block_merge_dirty(RAMBlock *rb, uint64_t first_page, uint64_t *src,
                               uint64_t src_first, uint64_t nr_pages,
                               unsigned sweep_flags, unsigned mask);

/* Is any page / are all pages of the range dirty for @client? */
bool ram_block_get_dirty(RAMBlock *rb, ram_addr_t offset, ram_addr_t length,
                         unsigned client);
bool ram_block_all_dirty(RAMBlock *rb, ram_addr_t offset, ram_addr_t length,
                         unsigned client);
bool physical_memory_get_dirty(ram_addr_t start, ram_addr_t length,
                               unsigned client);
/* Number of dirty pages in the range for @client. */
uint64_t ram_block_count_dirty(RAMBlock *rb, ram_addr_t offset,
                               ram_addr_t length, unsigned client);

/**
 * ram_block_dirty_bitmap: the bitmap itself, for engines' inline paths
 *
 * @first_bit: receives the bit of the block's first page (0 unless a test made
 *             a misaligned block)
 *
 * Use the _atomic functions of bitmap.h on it. Valid while @rb is ref'd.
 */
uint64_t *ram_block_dirty_bitmap(RAMBlock *rb, unsigned client,
                                 uint64_t *first_bit);

/* Of what is dirty: pages, words of 64 pages, units of the summary. */
typedef struct DirtyCount {
    uint64_t pages, groups, units;
} DirtyCount;

/**
 * ram_block_survey_dirty: add to @sum what is dirty for @client
 *
 * Takes nothing. By the summary, so that it costs what is dirty. Any thread;
 * of what is marked or taken meanwhile, some may be counted.
 */
void ram_block_survey_dirty(RAMBlock *rb, unsigned client, DirtyCount *sum);

/**
 * physical_memory_test_and_clear_dirty: take the dirty pages of a range
 *
 * @start, @length: within one block (else asserts); every page touched counts
 * @bmap: NULL, or bit 0 = first page of the block; owned by the caller (not
 *        atomic)
 *
 * Takes the bits, then cleans the trackers and listeners below with one ranged
 * clear over the contiguous range (per memory section it touches), and none at
 * all if no page was dirty. Content read after the return is current for the
 * taken pages.
 *
 * Returns: with @bmap the number of pages newly set in it; with NULL the
 * number of pages found dirty. Exact in both cases.
 */
uint64_t physical_memory_test_and_clear_dirty(ram_addr_t start,
                                              ram_addr_t length,
                                              unsigned client, uint64_t *bmap);
uint64_t ram_block_test_and_clear_dirty(RAMBlock *rb, ram_addr_t offset,
                                        ram_addr_t length, unsigned client,
                                        uint64_t *bmap);

/*
 * The same without the clear: for a caller that calls ram_block_clean() on
 * each chunk before it reads its content. Pages taken and not yet cleaned are
 * not seen again, however often they are written: so clean, then read.
 */
uint64_t physical_memory_collect_dirty(ram_addr_t start, ram_addr_t length,
                                       unsigned client, uint64_t *bmap);
uint64_t ram_block_collect_dirty(RAMBlock *rb, ram_addr_t offset,
                                 ram_addr_t length, unsigned client,
                                 uint64_t *bmap);

/**
 * ram_block_take_some: take the first dirty pages of a range, not more
 *
 * @offset, @length: within the block, as everywhere; @offset of a page
 * @bmap: as above
 * @max_pages: at least 1
 * @done: receives the number of bytes, from @offset on, that are dealt with:
 *        go on behind them. Whole pages, or @length.
 *
 * Asks the tracker for the range piece by piece, takes dirty pages from its
 * beginning until there are @max_pages, and cleans what it took with one ranged
 * clear. So the caller decides how much is re-armed at a time, and how long
 * that may take; threads that each own a range do not wait for each other.
 *
 * Returns as ram_block_test_and_clear_dirty().
 */
uint64_t ram_block_take_some(RAMBlock *rb, ram_addr_t offset, ram_addr_t length,
                             unsigned client, uint64_t *bmap,
                             uint64_t max_pages, ram_addr_t *done);

/**
 * ram_block_clean: re-arm a range in all trackers and listeners
 *
 * One call per listener and memory section that shows a part of it, one of
 * the active tracker; the range is widened to whole pages. Returns when no
 * vCPU can write unseen.
 */
void ram_block_clean(RAMBlock *rb, ram_addr_t start, ram_addr_t length);

/* Users of global tracking. */
enum {
    GLOBAL_DIRTY_MIGRATION = 1 << 0,
    GLOBAL_DIRTY_DIRTY_RATE = 1 << 1,
    GLOBAL_DIRTY_LIMIT = 1 << 2,
    GLOBAL_DIRTY_MASK = (1 << 3) - 1,

    /*
     * Not a user, but a word with memory_global_dirty_log_start(): all of its
     * users take every page as written, so all pages may be reported at first.
     * That can make arming cheaper, for the guest too.
     */
    GLOBAL_DIRTY_ALL_WRITTEN = 1 << 8,
};

/**
 * memory_global_dirty_log_start: switch tracking on for @users
 *
 * The first user arms the tracker and calls the listeners' log_global_start;
 * further ones only count. The client RATE begins clear. A user that is on
 * already is a bug (asserts). On failure everything is as before. BQL.
 */
bool memory_global_dirty_log_start(unsigned users, Error **errp);
/* Switch it off for @users; the last one disarms. BQL. */
void memory_global_dirty_log_stop(unsigned users);
unsigned memory_global_dirty_log_users(void); /* any thread */

/**
 * memory_global_dirty_log_switch: another tracker, while @users track
 *
 * The vCPUs stand still for it, some 100 us. Refused, naming them, if others
 * than @users track. If the old one has missed writes (dirty_tracker_intact()),
 * all pages count as written for the migration. The BQL is given up while vCPUs
 * are waited for; not in a vCPU's thread.
 */
bool memory_global_dirty_log_switch(const DirtyTrackerOps *ops, unsigned users,
                                    Error **errp);
/* The same, and DIRTY_LOG_DISPLAY if a display's log is on. BQL. */
enum {
    DIRTY_LOG_DISPLAY = 1 << 3
};
unsigned dirty_log_all_users(void);
/* "migration, display": for messages. Caller frees. BQL. */
char *dirty_log_users_string(void);

/**
 * memory_global_dirty_log_sync: bring all that was written into the bitmaps
 *
 * Calls the listeners' log_sync(_global) and the tracker's collect.
 * @last_stage: vCPUs are stopped and devices saved. Any thread, without the
 * BQL too.
 */
void memory_global_dirty_log_sync(bool last_stage);
/*
 * Look what a sync would bring, for who only counts: brings into the bitmaps
 * what costs the guest nothing there, and calls @fn for pages that it does not
 * bring because the guest would have to fault on them again. Some of them may
 * be dirty in the bitmaps already. Any thread.
 */
void memory_global_dirty_log_look(DirtyPageFunc *fn, void *opaque);
/* A sync of one block: what a display wants. */
void ram_block_dirty_sync(RAMBlock *rb);
/*
 * The tracker's part of it for a range: for threads that each own one. What
 * listeners (vhost logs) know of it comes only with the block's sync.
 */
void ram_block_dirty_sync_range(RAMBlock *rb, ram_addr_t start,
                                ram_addr_t length);

/*
 * Whether stores by vCPUs to the block must be tracked now: global users, or
 * its region is logged. Any thread; changes are announced by the tracker's
 * start and stop.
 */
bool ram_block_is_tracked(RAMBlock *rb);

/**
 * physical_memory_set_code_invalidate_hook: what to do when code is written
 *
 * Called with a range of whole pages of which at least one was clean for CODE.
 * Any thread, with or without the BQL. Once, before vCPUs run.
 */
typedef void CodeInvalidateFunc(RAMBlock *rb, ram_addr_t offset,
                                ram_addr_t length);
void physical_memory_set_code_invalidate_hook(CodeInvalidateFunc *func);

/* Cumulative since start; each counted by whoever does the operation. */
typedef struct DirtyMemoryStats {
    uint64_t tracker_collects; /* calls of the tracker's collect */
    uint64_t tracker_cleans;   /* calls of the tracker's clean */
    uint64_t listener_clears;  /* calls of a listener's log_clear */
    uint64_t collect_ns;       /* in tracker and listeners */
    uint64_t clean_ns;         /* likewise */
    uint64_t sweep_ns;         /* block bitmap -> a client's bitmap */
    uint64_t sweep_words;      /* of block bitmaps and their summary that
                                  takes looked at */
    uint64_t merge_words;      /* of what is merged into block bitmaps,
                                  once per client that gains by it */
    uint64_t tracker_words;    /* of logs, their summaries and lists of groups
                                  that the tracker's collects looked at */
    uint64_t survey_words;     /* by ram_block_survey_dirty() */
    uint64_t wait_ns;          /* a tracker waited for vCPUs; part of the
                                  times above */
} DirtyMemoryStats;
void dirty_memory_get_stats(DirtyMemoryStats *stats);
/* For trackers: a collect has looked at @words. Any thread. */
void dirty_memory_note_words(uint64_t words);
/* For trackers: collect or clean has waited @ns for vCPUs. Any thread. */
void dirty_memory_note_wait(int64_t ns);

#endif /* SYSTEM_DIRTY_MEMORY_H */
