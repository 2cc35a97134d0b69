/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dirty sync and cleaning: see ram.h for the contract. */
#include "qemu/osdep.h"

#include "qemu/bitmap.h"
#include "qemu/timer.h"
#include "system/dirty-memory.h"
#include "system/ram-block.h"

#include "ram/ram.h"
#include "trace-migration.h"

void ram_clean_before_read(RamSave *rs, RamSaveBlock *block, uint64_t page)
{
    unsigned shift = rs->config.clear_bitmap_shift;
    uint64_t chunk = page >> shift;
    uint64_t start, end;

    /* Nobody writes any more: whatever is there is what there will be. */
    if (rs->guest_stopped || !test_and_clear_bit(chunk, block->to_clean)) {
        return;
    }
    start = chunk << shift << DIRTY_PAGE_BITS;
    end = MIN((chunk + 1) << shift << DIRTY_PAGE_BITS, block->used_bytes);
    trace_migration_bitmap_clear_dirty(block->idstr, start, end - start);
    ram_block_clean(block->rb, start, end - start);
    if (block->discards != qemu_ram_discards(block->rb) &&
        !test_bit(chunk, block->fresh)) {
        ram_find_holes(rs, block, chunk);
    }
}

void ram_save_resume(RamSave *rs)
{
    rs->guest_stopped = false;
    for (unsigned i = 0; i < rs->blocks->len; i++) {
        RamSaveBlock *b = g_ptr_array_index(rs->blocks, i);

        for (uint64_t chunk = 0; chunk < b->nr_chunks; chunk++) {
            ram_clean_before_read(rs, b,
                                  chunk << rs->config.clear_bitmap_shift);
        }
    }
}

int64_t ram_save_clean_ns(void)
{
    DirtyMemoryStats s;

    dirty_memory_get_stats(&s);
    return s.clean_ns;
}

/* What the trackers have spent on cleaning since the last sync. */
static void book_cleaning(RamSave *rs)
{
    DirtyMemoryStats s;

    dirty_memory_get_stats(&s);
    migration_stats_cleaned(rs->config.stats, s.clean_ns - rs->clean_ns_base,
                            s.wait_ns - rs->wait_ns_base,
                            s.tracker_cleans + s.listener_clears -
                                rs->clears_base);
    rs->clean_ns_base = s.clean_ns;
    rs->wait_ns_base = s.wait_ns;
    rs->clears_base = s.tracker_cleans + s.listener_clears;
}

/* As a sync is without the sweep: the benchmarks' "before". */
static uint64_t take_pages(RamSaveBlock *b, uint64_t page, uint64_t end,
                           uint64_t *bmap)
{
    uint64_t n = 0;

    for (; page < end; page++) {
        n += ram_block_test_and_clear_dirty(b->rb, page << DIRTY_PAGE_BITS,
                                            DIRTY_PAGE_SIZE,
                                            DIRTY_MEMORY_MIGRATION, bmap);
    }
    return n;
}

/*
 * Into the send set, group by group. Of a chunk that is fresh everything is
 * owed anyway: what was written there is only taken.
 */
static uint64_t sweep_pages(RamSave *rs, RamSaveBlock *b)
{
    unsigned shift = rs->config.clear_bitmap_shift;
    uint64_t nr_new = 0, end;

    for (uint64_t page = 0; page < b->nr_pages; page = end) {
        uint64_t chunk = page >> shift, group = page >> RAM_GROUP_BITS, n;
        bool fresh = b->nr_fresh && test_bit(chunk, b->fresh);
        uint64_t *bmap = fresh ? NULL : b->bmap;

        end = MIN((group + 1) << RAM_GROUP_BITS, b->nr_pages);
        if (b->nr_fresh == b->nr_chunks) {
            end = b->nr_pages;
        } else if (b->nr_fresh) {
            end = MIN(end, (chunk + 1) << shift);
        }
        if (rs->config.sync_by_page) {
            n = take_pages(b, page, end, bmap);
        } else {
            n = ram_block_collect_dirty(b->rb, page << DIRTY_PAGE_BITS,
                                        (end - page) << DIRTY_PAGE_BITS,
                                        DIRTY_MEMORY_MIGRATION, bmap);
        }
        if (!fresh) {
            b->group_owed[group] += n;
            nr_new += n;
        }
    }
    return nr_new;
}

static uint64_t sweep_block(RamSave *rs, RamSaveBlock *b)
{
    if (b->ignored) {
        return 0;
    }
    if (rs->config.sync_by_page) {
        return sweep_pages(rs, b); /* it cleans each page, too */
    }
    /*
     * Every chunk is marked, not only those in which this sync found pages:
     * an extra clean of a chunk where nothing was collected costs a look at
     * the tracker's own set, a missing one a lost write.
     */
    bitmap_set(b->to_clean, 0, b->nr_chunks);
    return sweep_pages(rs, b);
}

/*
 * Pages that are owed are not clean, and can't be found written again: a rate
 * is taken over a time in which at least half of what was owed was settled.
 */
static void book_dirty_rate(RamSave *rs, int64_t now_ns, uint64_t new_pages)
{
    RamRateWindow *w = &rs->rate;
    int64_t span_ns = now_ns - w->begin_ns;
    uint64_t settled; /* sent, or found to be holes */

    w->new_pages += new_pages;
    settled = w->owed_pages + w->new_pages - rs->owed_pages;
    if (w->begin_ns && settled * 2 < w->owed_pages) {
        return;
    }
    if (w->begin_ns && span_ns > 0) {
        STAT_SET(rs->config.stats, dirty_pages_rate,
                 (uint64_t)((double)w->new_pages * 1e9 / (double)span_ns));
    }
    *w = (RamRateWindow){
        .begin_ns = now_ns,
        .owed_pages = rs->owed_pages,
    };
}

void ram_sync(RamSave *rs, bool last)
{
    MigrationStats *stats = rs->config.stats;
    int64_t begin_ns = get_clock(), end_ns;
    DirtyMemoryStats before, after;
    MigrationSync sync = { 0 };

    trace_migration_bitmap_sync_start();
    book_cleaning(rs);
    ram_forget_holes(rs);
    dirty_memory_get_stats(&before);
    memory_global_dirty_log_sync(last);
    for (unsigned i = 0; i < rs->blocks->len; i++) {
        sync.new_pages += sweep_block(rs, g_ptr_array_index(rs->blocks, i));
    }
    dirty_memory_get_stats(&after);
    rs->owed_pages += sync.new_pages;
    rs->synced_pages += sync.new_pages;
    rs->round_owed_pages = rs->owed_pages;

    end_ns = get_clock();
    sync.total_ns = end_ns - begin_ns;
    sync.collect_ns = after.collect_ns - before.collect_ns;
    sync.sweep_ns = after.sweep_ns - before.sweep_ns;
    rs->last_sync = sync;
    trace_migration_bitmap_sync_end(sync.new_pages, rs->owed_pages,
                                    sync.total_ns);
    book_dirty_rate(rs, begin_ns, sync.new_pages);
    rs->last_sync_ns = begin_ns;
    if (!last) {
        STAT_ADD(stats, dirty_sync_count, 1);
    }
    STAT_SET(stats, remaining_bytes, ram_save_owed_bytes(rs));
    migration_stats_round(stats, end_ns, ram_save_owed_bytes(rs), &sync);
}
