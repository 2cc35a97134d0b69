/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RAM on the source: see ram.h for the contract, ram-format.h for the bytes. */
#include "qemu/osdep.h"

#include "qemu/bitmap.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/dirty-memory.h"
#include "system/ram-block.h"

#include "ram/ram-format.h"
#include "ram/ram.h"
#include "ram/zero-page.h"

/* A PART ends after this time, so that its bytes reach the other side. */
#define PART_MAX_NS INT64_C(50000000)
/* Host pages between two looks at clock and cancel. */
#define PAGES_PER_LOOK 16
/* How far ahead of the page that is looked at its successors are fetched. */
#define PREFETCH_PAGES 4

/*
 * Singleton: RAM is one section of one process, registered before there is a
 * migration to belong to.
 */
static RamSave the_ram_save;

RamSave *ram_save_state(void)
{
    return &the_ram_save;
}

void ram_save_configure(const RamConfig *config)
{
    the_ram_save.config = *config;
}

uint64_t ram_save_owed_bytes(const RamSave *rs)
{
    return rs->owed_pages * DIRTY_PAGE_SIZE;
}

bool ram_block_is_ignored(const RAMBlock *rb, bool ignore_shared)
{
    return ignore_shared && qemu_ram_is_shared(rb);
}

static void save_block_free(gpointer data)
{
    RamSaveBlock *b = data;

    if (b->rb) {
        qemu_ram_set_migration_state(b->rb, NULL);
        qemu_ram_unref(b->rb);
    }
    g_free(b->bmap);
    g_free(b->group_owed);
    g_free(b->to_clean);
    g_free(b->fresh);
    g_free(b);
}

static bool add_block(RamSave *rs, RAMBlock *rb, Error **errp)
{
    RamSaveBlock *b = g_new0(RamSaveBlock, 1);

    b->rb = qemu_ram_ref(rb);
    b->host = qemu_ram_get_host_addr(rb);
    b->idstr = qemu_ram_get_idstr(rb);
    b->guest_addr = qemu_ram_get_guest_addr(rb);
    b->used_bytes = qemu_ram_get_used_length(rb);
    b->nr_pages = DIV_ROUND_UP(b->used_bytes, DIRTY_PAGE_SIZE);
    b->discards = qemu_ram_discards(rb);
    b->ignored = ram_block_is_ignored(rb, rs->config.ignore_shared);
    qemu_ram_set_migration_state(rb, b);
    g_ptr_array_add(rs->blocks, b);

    if (!QEMU_IS_ALIGNED(b->used_bytes, UINT64_C(1)
                                            << rs->config.target_page_bits)) {
        error_setg(errp,
                   "RAM block '%s' has a length of %" PRIu64
                   " bytes, which is no multiple of the page size %u",
                   b->idstr, b->used_bytes, 1u << rs->config.target_page_bits);
        return false;
    }
    if (b->ignored) {
        return true;
    }
    b->nr_chunks = DIV_ROUND_UP(b->nr_pages,
                                UINT64_C(1) << rs->config.clear_bitmap_shift);
    b->bmap = g_try_new0(uint64_t, bits_to_words(b->nr_pages));
    b->group_owed = g_try_new0(
        uint32_t, DIV_ROUND_UP(b->nr_pages, UINT64_C(1) << RAM_GROUP_BITS));
    b->to_clean = g_try_new0(uint64_t, bits_to_words(b->nr_chunks));
    b->fresh = g_try_new0(uint64_t, bits_to_words(b->nr_chunks));
    if (!b->bmap || !b->group_owed || !b->to_clean || !b->fresh) {
        error_setg(errp,
                   "no memory for the dirty bitmap of RAM block '%s' "
                   "(%" PRIu64 " pages)",
                   b->idstr, b->nr_pages);
        return false;
    }
    bitmap_set(b->fresh, 0, b->nr_chunks);
    b->nr_fresh = b->nr_chunks;
    rs->owed_pages += b->nr_pages;
    return true;
}

/*
 * Before START: send sets that owe every page, and tracking on. The first sync
 * takes what the tracker reports after arming (in some engines: all).
 */
static bool ram_save_prepare(void *opaque, Error **errp)
{
    RamSave *rs = opaque;
    g_autoptr(GPtrArray) list = NULL;
    MigrationStats *stats = rs->config.stats;
    DirtyMemoryStats ds;

    BQL_LOCK_GUARD();
    assert(!rs->blocks);
    rs->blocks = g_ptr_array_new_with_free_func(save_block_free);
    rs->owed_pages = rs->synced_pages = rs->sent_pages = 0;
    rs->round_owed_pages = rs->skipped_pages = 0;
    rs->skip_holes = false;
    rs->guest_stopped = false;
    rs->last_sent = NULL;
    rs->cur_block = 0;
    rs->cur_page = 0;
    rs->last_sync_ns = 0;
    rs->rate = (RamRateWindow){ 0 };
    list = qemu_ram_blocks_snapshot();
    for (unsigned i = 0; i < list->len; i++) {
        RAMBlock *rb = g_ptr_array_index(list, i);

        if (qemu_ram_is_migratable(rb) && !add_block(rs, rb, errp)) {
            return false;
        }
    }
    STAT_SET(stats, total_bytes, ram_save_owed_bytes(rs));
    STAT_SET(stats, page_bytes, 1u << rs->config.target_page_bits);

    if (!memory_global_dirty_log_start(
            GLOBAL_DIRTY_MIGRATION | GLOBAL_DIRTY_ALL_WRITTEN, errp)) {
        return false;
    }
    rs->logging = true;
    dirty_memory_get_stats(&ds);
    rs->clean_ns_base = ds.clean_ns;
    rs->wait_ns_base = ds.wait_ns;
    rs->clears_base = ds.tracker_cleans + ds.listener_clears;
    return true;
}

static bool ram_save_setup(QEMUFile *f, void *opaque, Error **errp)
{
    RamSave *rs = opaque;
    uint64_t total = 0;

    ram_sync(rs, false);
    for (unsigned i = 0; i < rs->blocks->len; i++) {
        RamSaveBlock *b = g_ptr_array_index(rs->blocks, i);

        total += b->used_bytes;
    }
    qemu_put_be64(f, total | RAM_FLAG_MEM_SIZE);
    for (unsigned i = 0; i < rs->blocks->len; i++) {
        RamSaveBlock *b = g_ptr_array_index(rs->blocks, i);

        qemu_put_counted_string(f, b->idstr);
        qemu_put_be64(f, b->used_bytes);
        if (rs->config.ignore_shared) {
            qemu_put_be64(f, b->guest_addr);
        }
    }
    qemu_put_be64(f, RAM_FLAG_EOS);
    return qemu_file_check(f, errp);
}

static uint64_t put_head(RamSave *rs, QEMUFile *f, RamSaveBlock *b,
                         uint64_t offset, unsigned flag)
{
    bool cont = rs->last_sent == b;

    qemu_put_be64(f, offset | flag | (cont ? RAM_FLAG_CONTINUE : 0));
    if (!cont) {
        qemu_put_counted_string(f, b->idstr);
        rs->last_sent = b;
    }
    return ram_record_head_bytes(strlen(b->idstr), cont);
}

/* What is known of a page that is to be sent. */
typedef enum RamPageKind {
    RAM_PAGE_DATA, /* or is to be sent as if it were */
    RAM_PAGE_READ, /* read, and see */
    RAM_PAGE_HOLE, /* not to be read */
} RamPageKind;

/* One page of the stream's size. Returns bytes put. */
static uint64_t save_target_page(RamSave *rs, QEMUFile *f, RamSaveBlock *b,
                                 uint64_t offset, RamPageKind kind)
{
    size_t size = (size_t)1 << rs->config.target_page_bits;
    MigrationStats *stats = rs->config.stats;
    Error *err = NULL;
    uint64_t bytes;
    int zero = kind == RAM_PAGE_HOLE;

    if (kind == RAM_PAGE_READ) {
        zero = ram_block_page_is_zero(b->rb, offset, size, &err);
    }
    if (zero < 0) {
        qemu_file_set_error_obj(f, -EFAULT, err);
        return 0;
    }
    if (zero) {
        bytes = put_head(rs, f, b, offset, RAM_FLAG_ZERO);
        qemu_put_byte(f, 0);
        STAT_ADD(stats, zero_pages, 1);
        return bytes + 1;
    }
    bytes = put_head(rs, f, b, offset, RAM_FLAG_PAGE);
    qemu_put_buffer_async(f, b->host + offset, size);
    STAT_ADD(stats, normal_pages, 1);
    return bytes + size;
}

/*
 * The bytes that tell first whether a page is zero (zero-page.c). What is not
 * there stays so: a prefetch makes no page, and is no fault.
 */
static void prefetch_page(const uint8_t *page)
{
    __builtin_prefetch(page);
    __builtin_prefetch(page + DIRTY_PAGE_SIZE / 2);
    __builtin_prefetch(page + DIRTY_PAGE_SIZE - 1);
}

/* One host page: all pages of the stream in it, without a break. */
static void save_host_page(RamSave *rs, QEMUFile *f, RamSaveBlock *b,
                           uint64_t page)
{
    uint64_t offset = page << DIRTY_PAGE_BITS;
    uint64_t end = MIN(offset + DIRTY_PAGE_SIZE, b->used_bytes);
    uint64_t step = UINT64_C(1) << rs->config.target_page_bits;
    uint64_t bytes = 0;
    RamPageKind kind = RAM_PAGE_DATA;

    ram_clean_before_read(rs, b, page);
    if (ram_page_is_hole(rs, b, page)) {
        kind = RAM_PAGE_HOLE;
    } else if (atomic_load_explicit(rs->config.detect_zero,
                                    memory_order_relaxed)) {
        kind = RAM_PAGE_READ;
        if (offset + PREFETCH_PAGES * DIRTY_PAGE_SIZE < b->used_bytes) {
            prefetch_page(b->host + offset + PREFETCH_PAGES * DIRTY_PAGE_SIZE);
        }
    }
    for (; offset < end; offset += step) {
        bytes += save_target_page(rs, f, b, offset, kind);
    }
    ram_page_done(rs, b, page);
    rate_limit_spend(rs->config.rate_limit, bytes);
}

/* Whether to end this PART of @n pages: cancelled, broken, or long enough. */
static bool time_to_look_up(RamSave *rs, QEMUFile *f, unsigned n,
                            int64_t begin_ns)
{
    STAT_SET(rs->config.stats, remaining_bytes, ram_save_owed_bytes(rs));
    return atomic_load_explicit(rs->config.quit, memory_order_relaxed) ||
           qemu_file_get_error(f) ||
           (rs->guest_stopped && n >= rs->part_pages) ||
           get_clock() - begin_ns > PART_MAX_NS;
}

static int ram_save_iterate(QEMUFile *f, void *opaque, Error **errp)
{
    RamSave *rs = opaque;
    int64_t begin_ns = get_clock();
    RamFound found = RAM_FOUND_HOLES;
    RamSaveBlock *b;
    uint64_t page;

    for (unsigned n = 1;
         rs->guest_stopped || rate_limit_has_credit(rs->config.rate_limit);
         n++) {
        found = ram_find_page(rs, &b, &page);
        if (found == RAM_FOUND_END) {
            break;
        }
        if (found == RAM_FOUND_PAGE) {
            save_host_page(rs, f, b, page);
        }
        if ((n % PAGES_PER_LOOK == 0 || found == RAM_FOUND_HOLES) &&
            time_to_look_up(rs, f, n, begin_ns)) {
            break;
        }
    }
    STAT_SET(rs->config.stats, remaining_bytes, ram_save_owed_bytes(rs));
    qemu_put_be64(f, RAM_FLAG_EOS);
    if (!qemu_file_check(f, errp)) {
        return -1;
    }
    return found == RAM_FOUND_END && rs->owed_pages == 0;
}

static void ram_pending_estimate(void *opaque, uint64_t *must_precopy,
                                 uint64_t *can_postcopy)
{
    *must_precopy += ram_save_owed_bytes(opaque);
}

static bool ram_pending_exact(void *opaque, uint64_t *must_precopy,
                              uint64_t *can_postcopy, Error **errp)
{
    RamSave *rs = opaque;

    ram_sync(rs, false);
    *must_precopy += ram_save_owed_bytes(rs);
    return true;
}

/* The last sync was made by the caller, after devices were saved. */
static bool ram_save_complete(QEMUFile *f, void *opaque, Error **errp)
{
    RamSave *rs = opaque;
    RamSaveBlock *b;
    uint64_t page;
    unsigned n = 0;

    assert(rs->guest_stopped);
    while (rs->owed_pages) {
        if (ram_find_page(rs, &b, &page) != RAM_FOUND_PAGE) {
            continue;
        }
        save_host_page(rs, f, b, page);
        if (++n % PAGES_PER_LOOK == 0) {
            STAT_SET(rs->config.stats, remaining_bytes,
                     ram_save_owed_bytes(rs));
            if (qemu_file_get_error(f) ||
                atomic_load_explicit(rs->config.quit, memory_order_relaxed)) {
                break;
            }
        }
    }
    STAT_SET(rs->config.stats, remaining_bytes, ram_save_owed_bytes(rs));
    qemu_put_be64(f, RAM_FLAG_EOS);
    if (!qemu_file_check(f, errp)) {
        return false;
    }
    if (rs->owed_pages) {
        error_setg(errp, "stopped with %" PRIu64 " pages still to send",
                   rs->owed_pages);
        return false;
    }
    return true;
}

static void ram_save_cleanup(void *opaque)
{
    RamSave *rs = opaque;

    assert(bql_locked());
    if (rs->logging) {
        memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
        rs->logging = false;
    }
    if (rs->blocks) {
        g_ptr_array_unref(rs->blocks);
        rs->blocks = NULL;
    }
    g_clear_pointer(&rs->holes.map, g_free);
    rs->holes = (RamHoles){ 0 };
    rs->last_sent = NULL;
}

const SaveVMHandlers ram_handlers = {
    .save_prepare = ram_save_prepare,
    .save_setup = ram_save_setup,
    .save_live_iterate = ram_save_iterate,
    .state_pending_estimate = ram_pending_estimate,
    .state_pending_exact = ram_pending_exact,
    .save_live_complete_precopy = ram_save_complete,
    .save_cleanup = ram_save_cleanup,
    .load_setup = ram_load_setup,
    .load_state = ram_load_state,
    .load_cleanup = ram_load_cleanup,
};
