/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RAM of a migration: the source's send set and the target's loader.
 *
 * Source. Each block that takes part has a send set `bmap`, one bit per host
 * page that is still owed, and one bit per chunk of 2^clear_bitmap_shift
 * pages, "to be cleaned". A sync moves what was written into bmap and marks
 * every chunk; when the first page of a marked chunk is about to be read, the
 * chunk is cleaned, once, so that a write after that is seen by the next sync:
 *
 *   sync (collect)   ...   clean(chunk)   read page   read page   ...   sync
 *                    ^ found by the sync or in what is read
 *                                   ^ found by the next sync
 *
 * A page is never cleaned after it was read (rule 1). With the guest stopped
 * nothing is cleaned any more.
 *
 * Threads: the migration thread, without the BQL but for ram_save_cleanup();
 * the configuration is set before it starts.
 *
 * Used by: thread.c, incoming.c. Uses: system (RAM blocks, dirty memory),
 * vmstate (QEMUFile, registry).
 */
#ifndef MIGRATION_RAM_H
#define MIGRATION_RAM_H

#include "rate-limit.h"
#include "stats.h"
#include "vmstate/savevm.h"

/* What a migration tells its RAM handler before it begins. */
typedef struct RamConfig {
    unsigned target_page_bits;
    unsigned clear_bitmap_shift; /* chunk = 2^n host pages */
    bool sync_by_page; /* to measure by: no sweep; a clean for each page */
    bool ignore_shared;
    _Atomic bool *detect_zero; /* may change under way */
    RateLimit *rate_limit;
    MigrationStats *stats;
    _Atomic bool *quit; /* stop sending soon */
} RamConfig;

typedef struct RamSaveBlock {
    /* Constant while the migration lasts. */
    RAMBlock *rb; /* referenced */
    uint8_t *host;
    const char *idstr;
    uint64_t used_bytes;
    uint64_t nr_pages; /* host pages */
    hwaddr guest_addr;
    bool ignored; /* shared: listed, never sent */

    /* Migration thread. */
    uint64_t *bmap;     /* pages owed */
    uint64_t *to_clean; /* chunks to clean before they are read */
    uint64_t nr_chunks;
} RamSaveBlock;

typedef struct RamSave {
    RamConfig config; /* constant while the migration lasts */

    /* Migration thread. */
    GPtrArray *blocks; /* RamSaveBlock, in stream order; NULL: none */
    uint64_t owed_pages;
    uint64_t synced_pages;     /* that syncs have added to the send set */
    uint64_t sent_pages;       /* that were taken from it */
    uint64_t round_owed_pages; /* when the round under way began */
    bool logging;
    bool guest_stopped;
    /* Where the search goes on. */
    unsigned cur_block;
    uint64_t cur_page;
    /* Block of the last page record, for CONTINUE. */
    const RamSaveBlock *last_sent;
    /* The round under way. */
    int64_t last_sync_ns;
    uint64_t clean_ns_base, wait_ns_base, clears_base;
    MigrationSync last_sync;
} RamSave;

extern const SaveVMHandlers ram_handlers;
/* The one RAM handler of this process: source and target state. */
RamSave *ram_save_state(void);
void ram_save_configure(const RamConfig *config);

/* Bytes owed, by the send set. */
uint64_t ram_save_owed_bytes(const RamSave *rs);

/**
 * ram_sync: find out what was written, and begin a new round
 *
 * @last: the guest is stopped and devices are saved
 */
void ram_sync(RamSave *rs, bool last);

/*
 * Pages that are dirty now, and not owed: what a sync would add. Takes nothing,
 * and costs the guest nothing: pages in rings are counted where they are.
 * (ram-pending.c)
 */
uint64_t ram_pending_pages(const RamSave *rs);

/* Time spent on cleaning so far, by this and earlier migrations. */
int64_t ram_save_clean_ns(void);
/* Clean the chunk of @page of @block if that is still to do. */
void ram_clean_before_read(RamSave *rs, RamSaveBlock *block, uint64_t page);

/**
 * ram_find_page: the next owed page, from where the last search ended
 *
 * Returns false if there is none up to the end of the last block; then the
 * next search begins anew. (page-search.c)
 */
bool ram_find_page(RamSave *rs, RamSaveBlock **block, uint64_t *page);
/* Note that @page was sent. */
void ram_page_done(RamSave *rs, RamSaveBlock *block, uint64_t page);

/* Whether the stream leaves out @rb's content under x-ignore-shared. */
bool ram_block_is_ignored(const RAMBlock *rb, bool ignore_shared);

/* ---- target: ram-load.c ---- */
bool ram_load_setup(QEMUFile *f, void *opaque, Error **errp);
bool ram_load_state(QEMUFile *f, void *opaque, int version_id, Error **errp);
void ram_load_cleanup(void *opaque);

typedef struct RamLoadConfig {
    unsigned target_page_bits;
    bool ignore_shared;
} RamLoadConfig;
void ram_load_configure(const RamLoadConfig *config);
/* Pages loaded so far; any thread. */
void ram_load_counts(uint64_t *normal_pages, uint64_t *zero_pages);

#endif /* MIGRATION_RAM_H */
