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
 * A page is never cleaned after it was read (rule 1), but while the guest is
 * stopped: then nothing is cleaned, unless it is to run again. In that case
 * whatever was sent is cleaned before it does.
 *
 * The first pass owes everything. Its chunks are opened one by one: cleaned,
 * and only then is the host asked which pages of the chunk may hold data
 * (system/ram-holes.h). The rest is not read: it is sent as zero records, or
 * not at all if the target has promised to make zero what it does not get, or
 * the user has (../holes.c). A page that is a hole to the ask and is stored to later is
 * found by the next sync, because the clean came first:
 *
 *   arm ... clean(chunk)   ask   skip or zero record   ...   sync
 *           ^ stored before: the ask sees data
 *                        ^ stored after: found by the sync
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

/* Pages of a send set that are counted together. */
#define RAM_GROUP_BITS 18

typedef struct RamSaveBlock {
    /* Constant while the migration lasts. */
    RAMBlock *rb; /* referenced */
    uint8_t *host;
    const char *idstr;
    uint64_t used_bytes;
    uint64_t nr_pages; /* host pages */
    hwaddr guest_addr;
    bool ignored;      /* shared: listed, never sent */
    unsigned discards; /* ram_block_discard_range() before it */

    /* Migration thread. */
    uint64_t *bmap;       /* pages owed, of chunks that were opened */
    uint32_t *group_owed; /* how many in each group of 2^RAM_GROUP_BITS */
    uint64_t *to_clean;   /* chunks to clean before they are read */
    uint64_t *fresh;      /* chunks not opened yet: all of their pages are owed,
                             and none is in bmap */
    uint64_t nr_chunks, nr_fresh;
} RamSaveBlock;

/* Holes of the chunk that the search is in; they go as zero records. */
typedef struct RamHoles {
    const RamSaveBlock *block; /* NULL: none are known */
    uint64_t chunk;
    uint64_t *map; /* bit 0: the chunk's first page; 1: a hole */
    uint64_t map_bits;
} RamHoles;

/* Over which the guest's dirty rate is being measured. */
typedef struct RamRateWindow {
    int64_t begin_ns; /* 0: none yet */
    uint64_t new_pages, owed_pages;
} RamRateWindow;

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
    unsigned part_pages; /* most in a PART with the guest stopped */
    bool skip_holes; /* the target has zero, or makes it, where nothing comes */
    uint64_t skipped_pages;
    RamHoles holes;
    /* Where the search goes on. */
    unsigned cur_block;
    uint64_t cur_page;
    /* Block of the last page record, for CONTINUE. */
    const RamSaveBlock *last_sent;
    /* The round under way. */
    int64_t last_sync_ns;
    RamRateWindow rate;
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
 * The guest, which stands still, is to run again: from now on pages must be
 * clean before they are read, and those that were sent meanwhile are cleaned
 * here, while nobody writes them.
 */
void ram_save_resume(RamSave *rs);

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

typedef enum RamFound {
    RAM_FOUND_PAGE,
    RAM_FOUND_HOLES, /* a chunk was opened, and nothing of it is to be sent */
    RAM_FOUND_END,   /* of the last block; the next search begins anew */
} RamFound;

/* The next owed page, from where the last search ended. (page-search.c) */
RamFound ram_find_page(RamSave *rs, RamSaveBlock **block, uint64_t *page);
/* Note that @page was sent. */
void ram_page_done(RamSave *rs, RamSaveBlock *block, uint64_t page);

/* ---- open-chunk.c ---- */
/* Open the fresh chunk @chunk: clean it, ask for holes, fill the send set. */
void ram_open_chunk(RamSave *rs, RamSaveBlock *block, uint64_t chunk);
/* A chunk, just cleaned, of which pages may have been given back. */
void ram_find_holes(RamSave *rs, RamSaveBlock *block, uint64_t chunk);
/* Whether @page, which is owed, is known to be a hole. */
bool ram_page_is_hole(const RamSave *rs, const RamSaveBlock *block,
                      uint64_t page);
/* From here on, what was a hole may be one no more. */
void ram_forget_holes(RamSave *rs);

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

/* ---- target: ram-load-rest.c ---- */
/*
 * Begin to note which pages come, to make the others zero later. False if
 * pages have come already, or there is no memory to note them in.
 */
bool ram_load_note_pages(void);
/* Make every page zero that has not come so far, and note no more. */
bool ram_load_clear_rest(Error **errp);
/* The process ends: have that end soon, by an error. Any thread. */
void ram_load_stop(void);
/* Host pages that were made zero in that way; any thread. */
uint64_t ram_load_cleared_pages(void);

#endif /* MIGRATION_RAM_H */
