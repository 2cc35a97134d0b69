/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pagemap tracker: dirty pages by asking the host which pages of this process
 * were written (dirty-pagemap-host.h). Any accelerator whose vCPUs write by
 * this process's page tables, or by tables that follow them, as KVM's do. It
 * sees all writers of the process; what devices wrote and marked themselves
 * is reported once more.
 *
 * The host keeps one bit per page, written or protected. We keep one set per
 * block beside it: collected, not cleaned yet.
 *
 *   write     protected -> written, by the host, without a word
 *   collect   look, and do not protect: what is written and not in the set is
 *             new: put it into the set, publish it
 *   clean     take the range's bits out of the set; if there were any, protect
 *             what is written from the first to the last of them; what turns
 *             out to be written and was not in the set is new: publish it
 *
 * A page in the set may be stored to as often as the guest likes: no fault
 * until it is cleaned, and it is cleaned before it is read. Nothing is lost in
 * a clean, because the host finds and protects a page in one step: a store is
 * either before, and then the page is in what the clean was told of, or after,
 * and then the page is written again. To take the set's bits first is right,
 * because a page that is new to a clean is protected when it is published: like
 * a page that was collected and cleaned at once.
 *
 * Why not protect in collect (one scan instead of two): the guest would pay a
 * second fault for each page that it writes between a sync and the sending of
 * the page, a microsecond here and four under KVM, and the last sync, with the
 * guest standing still, would protect pages in vain.
 *
 * Huge pages (hugetlb) are written and protected as a whole. A clean of a part
 * cleans all of it; calls for one such block take turns.
 *
 * If a scan fails half-way, we do not know what it has protected: then all of
 * the range is reported.
 */
#include "qemu/osdep.h"

#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/sweep.h"
#include "qemu/timer.h"
#include "system/dirty-cost.h"
#include "system/dirty-memory.h"
#include "system/dirty-pagemap.h"

#include "dirty-pagemap-host.h"
#include "ram-block-internal.h"

/* Pages that are merged at a time. */
#define WINDOW_WORDS 512u
#define WINDOW_BITS  (WINDOW_WORDS * 64u)

/* A shorter scan tells little of what a GiB costs. */
#define COST_LEAST_SCAN 4096
/* The fixed part of a clean is one call; what it costs was not told apart. */
#define CALL_NS 1000.0

typedef struct PagemapBlock {
    RAMBlock *rb;
    uint64_t nr_pages;
    uint64_t granule;    /* pages that are written and protected as one */
    uint64_t *collected; /* atomic; NULL: nobody can write to the block */
    QemuMutex huge_lock; /* if granule > 1: around collect and clean */
} PagemapBlock;

/*
 * One per process, as the tracker is. Changed by start and stop, which have
 * everything to themselves, under the BQL.
 */
static struct {
    PagemapHost host;
    GPtrArray *armed; /* PagemapBlock */
    bool probed, possible;
    double fault_ns;
    char *reason;
} pm;

/* For pagemap_cost(), and counts. */
static struct {
    DirtyCost scan;    /* a page looked at, by collects that found nothing */
    DirtyCost collect; /* a page found: what is above looking */
    DirtyCost clean;   /* a page, by cleans */
    _Atomic bool cleaned;
    double guest_factor;
    _Atomic uint64_t late, calls;
} cost = {
    .guest_factor = 1,
};

static void add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static uint64_t get(_Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* ---- what it can, and for which memory ---- */

static bool check_block(RAMBlock *rb, Error **errp)
{
    if (qemu_ram_has_other_writers(rb)) {
        error_setg(errp,
                   "memory '%s' is a file that other processes may write to, "
                   "which would go unseen",
                   rb->idstr);
        return false;
    }
    if ((uintptr_t)rb->host % rb->page_size) {
        error_setg(errp, "memory '%s' does not begin at a page", rb->idstr);
        return false;
    }
    if (rb->page_size >> DIRTY_PAGE_BITS > WINDOW_BITS) {
        error_setg(errp,
                   "memory '%s' has pages of %zu MiB: each write would count "
                   "as a write to all of such a page",
                   rb->idstr, rb->page_size >> 20);
        return false;
    }
    return true;
}

static bool check_host(Error **errp)
{
    g_autoptr(Error) err = NULL;

    if (!pm.probed) {
        pm.possible = pagemap_host_probe(&pm.fault_ns, &err);
        pm.reason = err ? g_strdup(error_get_pretty(err)) : NULL;
        pm.probed = true;
    }
    if (!pm.possible) {
        error_setg(errp, "%s", pm.reason);
    }
    return pm.possible;
}

static bool pagemap_probe(Error **errp)
{
    g_autoptr(GPtrArray) blocks = qemu_ram_blocks_snapshot();

    if (!check_host(errp)) {
        return false;
    }
    for (guint i = 0; i < blocks->len; i++) {
        if (!check_block(blocks->pdata[i], errp)) {
            return false;
        }
    }
    return true;
}

static bool pagemap_setup(Error **errp)
{
    return true;
}

/* ---- start and stop ---- */

static void block_free(PagemapBlock *b)
{
    if (b->collected) {
        pagemap_host_disarm(&pm.host, b->rb->host, b->rb->max_length);
        g_free(b->collected);
    }
    qemu_mutex_destroy(&b->huge_lock);
    b->rb->pagemap = NULL;
    g_free(b);
}

static bool block_arm(RAMBlock *rb, Error **errp)
{
    ERRP_GUARD();
    PagemapBlock *b;

    if (!check_block(rb, errp)) {
        return false;
    }
    b = g_new0(PagemapBlock, 1);
    b->rb = rb;
    b->nr_pages = rb->max_length >> DIRTY_PAGE_BITS;
    b->granule = rb->page_size >> DIRTY_PAGE_BITS;
    qemu_mutex_init(&b->huge_lock);
    rb->pagemap = b;
    if (!(rb->flags & RAM_READONLY)) {
        if (!pagemap_host_arm(&pm.host, rb->host, rb->max_length, errp)) {
            error_prepend(errp, "RAM block '%s': ", rb->idstr);
            block_free(b);
            return false;
        }
        b->collected = bitmap_new(b->nr_pages);
    }
    g_ptr_array_add(pm.armed, b);
    return true;
}

static void close_if_idle(void)
{
    if (pm.armed->len == 0) {
        pagemap_host_close(&pm.host);
        g_clear_pointer(&pm.armed, g_ptr_array_unref);
    }
}

static bool pagemap_start(RAMBlock *const *blocks, size_t nr_blocks,
                          DirtyTrackerFirst *first, Error **errp)
{
    size_t i;

    assert(bql_locked());
    if (!pm.armed) {
        if (!pagemap_host_open(&pm.host, errp)) {
            return false;
        }
        pm.armed = g_ptr_array_new();
    }
    for (i = 0; i < nr_blocks; i++) {
        if (!block_arm(blocks[i], errp)) {
            while (i-- > 0) {
                PagemapBlock *b = blocks[i]->pagemap;

                g_ptr_array_remove(pm.armed, b);
                block_free(b);
            }
            close_if_idle();
            return false;
        }
    }
    *first = DIRTY_TRACKER_FIRST_WRITTEN;
    return true;
}

static void pagemap_stop(RAMBlock *const *blocks, size_t nr_blocks)
{
    assert(bql_locked());
    for (size_t i = 0; i < nr_blocks; i++) {
        PagemapBlock *b = blocks[i]->pagemap;

        g_ptr_array_remove(pm.armed, b);
        block_free(b);
    }
    close_if_idle();
}

/* ---- a scan's pages, window by window ---- */

typedef struct Scan {
    PagemapBlock *b;
    uint64_t first;  /* of the block: page 0 of the scan */
    uint64_t window; /* page that bit 0 of found stands for */
    bool dirty;      /* found has bits */
    uint64_t total;  /* pages reported that were new */
    /* What is done with a window's bits before what is left is published. */
    void (*filter)(struct Scan *s);
    uint64_t found[WINDOW_WORDS];
    uint64_t taken[WINDOW_WORDS]; /* clean: out of the set */
} Scan;

static uint64_t window_of(uint64_t page)
{
    return page - page % WINDOW_BITS;
}

static void flush_window(Scan *s)
{
    uint64_t n = MIN(WINDOW_BITS, s->b->nr_pages - s->window);

    if (!s->dirty) {
        return;
    }
    s->filter(s);
    s->dirty = false;
    if (!bitmap_empty(s->found, n)) {
        s->total += bitmap_count_one(s->found, n);
        ram_block_merge_dirty(s->b->rb, s->window, s->found, 0, n, 0,
                              DIRTY_CLIENTS_NOCODE);
    }
}

static void page_found(void *opaque, uint64_t first, uint64_t nr)
{
    Scan *s = opaque;
    uint64_t page = s->first + first, end = page + nr, n;

    for (; page < end; page += n) {
        if (window_of(page) != s->window) {
            flush_window(s);
            s->window = window_of(page);
        }
        n = MIN(end, s->window + WINDOW_BITS) - page;
        bitmap_set(s->found, page - s->window, n);
        s->dirty = true;
    }
}

/* [first, end) of the block; true: all went well. */
static bool scan(Scan *s, uint64_t first, uint64_t end, bool protect)
{
    unsigned calls;

    s->first = first;
    s->window = window_of(first);
    calls = pagemap_host_scan(&pm.host, s->b->rb->host + (first << 12),
                              (end - first) << DIRTY_PAGE_BITS, protect,
                              page_found, s);
    flush_window(s);
    add(&cost.calls, calls);
    if (calls == 0) {
        ram_block_set_dirty_pages(s->b->rb, first, end - first,
                                  DIRTY_CLIENTS_NOCODE);
    }
    return calls;
}

/* The pages of a range, by whole granules. */
static bool pages_of(PagemapBlock *b, ram_addr_t start, ram_addr_t length,
                     uint64_t *first, uint64_t *end)
{
    *first = ROUND_DOWN(start >> DIRTY_PAGE_BITS, b->granule);
    *end = ROUND_UP(DIV_ROUND_UP(start + length, DIRTY_PAGE_SIZE), b->granule);
    *end = MIN(*end, b->nr_pages);
    return b->collected && *first < *end;
}

static void lock_huge(PagemapBlock *b) TSA_NO_CHECK
{
    if (b->granule > 1) {
        qemu_mutex_lock(&b->huge_lock);
    }
}

static void unlock_huge(PagemapBlock *b) TSA_NO_CHECK
{
    if (b->granule > 1) {
        qemu_mutex_unlock(&b->huge_lock);
    }
}

/* ---- collect ---- */

/* Into the set; left are those that were not in it. */
static void put_into_set(Scan *s)
{
    dirty_tracker_test_point(DIRTY_TRACKER_COLLECTED);
    for (unsigned i = 0; i < WINDOW_WORDS; i++) {
        if (s->found[i]) {
            s->found[i] &= ~atomic_fetch_or(
                bitmap_atomic_word(s->b->collected, s->window / 64 + i),
                s->found[i]);
        }
    }
}

static void collect_block(PagemapBlock *b, ram_addr_t start, ram_addr_t length)
{
    Scan s = { .b = b, .filter = put_into_set };
    int64_t begin_ns = get_clock();
    uint64_t first, end;
    double ns;

    if (!pages_of(b, start, length, &first, &end)) {
        return;
    }
    lock_huge(b);
    scan(&s, first, end, false);
    unlock_huge(b);
    ns = (double)(get_clock() - begin_ns);
    if (s.total) {
        ns -= dirty_cost_ns(&cost.scan) * (double)(end - first);
        dirty_cost_add(&cost.collect, MAX(ns, 0), s.total,
                       DIRTY_COST_LEAST_PAGES);
    } else {
        dirty_cost_add(&cost.scan, ns, end - first, COST_LEAST_SCAN);
    }
}

static void pagemap_collect(RAMBlock *block, ram_addr_t start,
                            ram_addr_t length, unsigned flags)
{
    if (block) {
        if (block->pagemap) {
            collect_block(block->pagemap, start, length);
        }
        return;
    }
    for (guint i = 0; i < pm.armed->len; i++) {
        PagemapBlock *b = pm.armed->pdata[i];

        collect_block(b, 0, b->rb->max_length);
    }
}

/* ---- clean ---- */

static void not_in_set(Scan *s)
{
    dirty_tracker_test_point(DIRTY_TRACKER_CLEANED);
    for (unsigned i = 0; i < WINDOW_WORDS; i++) {
        s->found[i] &= ~s->taken[i];
    }
}

/*
 * One window: takes [first, end) out of the set, protects what lies between
 * the first and the last that was there. Returns how many there were.
 */
static uint64_t clean_window(PagemapBlock *b, uint64_t first, uint64_t end)
{
    Scan s = { .b = b, .filter = not_in_set };
    uint64_t window = window_of(first), n;

    bitmap_sweep(s.taken, first - window, b->collected, first, end - first,
                 SWEEP_SRC_ATOMIC, &n);
    if (n == 0) {
        return 0;
    }
    dirty_tracker_test_point(DIRTY_TRACKER_CLEAN_TAKEN);
    first = window + find_next_bit(s.taken, WINDOW_BITS, 0);
    end = window + find_last_bit(s.taken, WINDOW_BITS) + 1;
    scan(&s, ROUND_DOWN(first, b->granule),
         MIN(ROUND_UP(end, b->granule), b->nr_pages), true);
    add(&cost.late, s.total);
    return n;
}

static void pagemap_clean(RAMBlock *block, ram_addr_t start, ram_addr_t length)
{
    PagemapBlock *b = block->pagemap;
    uint64_t page, end, next, n = 0;
    int64_t begin_ns = get_clock();

    if (!b || !pages_of(b, start, length, &page, &end)) {
        return;
    }
    lock_huge(b);
    for (; page < end; page = next) {
        next = MIN(window_of(page) + WINDOW_BITS, end);
        n += clean_window(b, page, next);
    }
    unlock_huge(b);
    if (n) {
        dirty_cost_add(&cost.clean, (double)(get_clock() - begin_ns) - CALL_NS,
                       n, DIRTY_COST_LEAST_PAGES);
        atomic_store_explicit(&cost.cleaned, true, memory_order_relaxed);
    }
}

/* ---- what it costs ---- */

static void pagemap_cost(DirtyTrackerCost *c)
{
    bool cleaned = atomic_load_explicit(&cost.cleaned, memory_order_relaxed);

    c->scan_ns_per_gib = dirty_cost_ns(&cost.scan) * (double)(1 << 18);
    c->collect_ns_per_page = dirty_cost_ns(&cost.collect);
    c->clean_ns_per_range = cleaned ? CALL_NS : 0;
    c->clean_ns_per_page = dirty_cost_ns(&cost.clean);
    c->fault_ns_per_page = pm.fault_ns * cost.guest_factor;
}

double dirty_pagemap_fault_ns(void)
{
    return check_host(NULL) ? pm.fault_ns : 0;
}

void dirty_pagemap_set_guest_factor(double times)
{
    cost.guest_factor = times;
}

void dirty_pagemap_get_stats(DirtyPagemapStats *stats)
{
    *stats = (DirtyPagemapStats){
        .calls = get(&cost.calls),
        .late = get(&cost.late),
    };
}

const DirtyTrackerOps dirty_tracker_pagemap = {
    .name = "pagemap",
    .probe = pagemap_probe,
    .setup = pagemap_setup,
    .start = pagemap_start,
    .stop = pagemap_stop,
    .collect = pagemap_collect,
    .clean = pagemap_clean,
    .cost = pagemap_cost,
};
