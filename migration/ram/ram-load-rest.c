/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holes on the target: pages that did not come are made zero, and pages that
 * are zero because there is nothing stay so. See ram-load.h and own-kind.h.
 */
#include "qemu/osdep.h"

#include "qemu/bitmap.h"
#include "qemu/timer.h"
#include "system/dirty-memory.h"
#include "system/ram-holes.h"

#include "ram/ram-load.h"
#include "ram/zero-page.h"
#include "trace-migration.h"

static _Atomic bool stop;
static _Atomic uint64_t cleared_pages;

/* ---- which pages came ---- */

void ram_load_forget_got(RamLoadBlock *b)
{
    g_clear_pointer(&b->got, g_free);
    g_clear_pointer(&b->group_got, g_free);
}

bool ram_load_note_block(RamLoadBlock *b)
{
    uint64_t pages = qemu_ram_get_used_length(b->rb) >> DIRTY_PAGE_BITS;

    b->nr_pages = pages;
    b->got = g_try_new0(uint64_t, bits_to_words(pages));
    b->group_got = g_try_new0(
        uint32_t, DIV_ROUND_UP(pages, UINT64_C(1) << RAM_GROUP_BITS));
    if (!b->got || !b->group_got) {
        ram_load_forget_got(b);
        return false;
    }
    return true;
}

void ram_load_got(RamLoadBlock *b, ram_addr_t offset)
{
    uint64_t page = offset >> DIRTY_PAGE_BITS;

    /* A list of blocks that came later may have made it longer. */
    if (b->got && page < b->nr_pages && !test_and_set_bit(page, b->got)) {
        b->group_got[page >> RAM_GROUP_BITS]++;
    }
}

/* ---- the others ---- */

typedef struct Clearing {
    RamLoadBlock *b;
    bool ok;
    Error **errp;
} Clearing;

static void clear_page(Clearing *c, uint64_t page)
{
    RAMBlock *rb = c->b->rb;
    ram_addr_t offset = page << DIRTY_PAGE_BITS;
    int zero;

    if (atomic_load_explicit(&stop, memory_order_relaxed)) {
        error_setg(c->errp, "stopped while making memory zero");
        c->ok = false;
        return;
    }
    zero = ram_block_page_is_zero(rb, offset, DIRTY_PAGE_SIZE, c->errp);
    c->ok = zero >= 0;
    if (zero == 0) {
        c->ok = ram_block_fill(rb, offset, 0, DIRTY_PAGE_SIZE, c->errp);
        atomic_fetch_add_explicit(&cleared_pages, 1, memory_order_relaxed);
    }
}

/* A run of pages that may hold data: those of it that did not come. */
static void clear_run(void *opaque, ram_addr_t start, ram_addr_t length)
{
    Clearing *c = opaque;
    uint64_t page = start >> DIRTY_PAGE_BITS;
    uint64_t end = page + (length >> DIRTY_PAGE_BITS);

    while (c->ok) {
        page = find_next_zero_bit(c->b->got, end, page);
        if (page >= end) {
            break;
        }
        clear_page(c, page++);
    }
}

static bool clear_block(RamLoadBlock *b, Error **errp)
{
    Clearing c = { .b = b, .ok = true, .errp = errp };
    uint64_t first = 0, end;

    for (; c.ok && first < b->nr_pages; first = end) {
        uint64_t group = first >> RAM_GROUP_BITS;

        end = MIN((group + 1) << RAM_GROUP_BITS, b->nr_pages);
        if (b->group_got[group] < end - first) {
            ram_block_foreach_data(b->rb, first << DIRTY_PAGE_BITS,
                                   (end - first) << DIRTY_PAGE_BITS, clear_run,
                                   &c);
        }
    }
    return c.ok;
}

bool ram_load_clear_rest(Error **errp)
{
    GPtrArray *blocks = ram_load_blocks();
    int64_t begin_ns = get_clock();
    bool ok = true;

    for (unsigned i = 0; blocks && ok && i < blocks->len; i++) {
        RamLoadBlock *b = g_ptr_array_index(blocks, i);

        if (b->got) {
            ok = clear_block(b, errp);
            ram_load_forget_got(b);
        }
    }
    trace_migration_clear_rest(atomic_load(&cleared_pages),
                               get_clock() - begin_ns);
    return ok;
}

void ram_load_stop(void)
{
    atomic_store(&stop, true);
}

uint64_t ram_load_cleared_pages(void)
{
    return atomic_load_explicit(&cleared_pages, memory_order_relaxed);
}

/* ---- zero records into nothing ---- */

static void note_data(void *opaque, ram_addr_t start, ram_addr_t length)
{
    RamLoadWindow *w = opaque;

    bitmap_set(w->data, (start - w->start) >> DIRTY_PAGE_BITS,
               length >> DIRTY_PAGE_BITS);
}

static uint64_t window_page(const RamLoadWindow *w, ram_addr_t offset)
{
    return (offset - w->start) >> DIRTY_PAGE_BITS;
}

static bool in_window(const RamLoadWindow *w, RAMBlock *rb, ram_addr_t offset)
{
    return w->rb == rb && offset - w->start < RAM_WINDOW_BYTES;
}

bool ram_window_is_hole(RamLoadWindow *w, RAMBlock *rb, ram_addr_t offset)
{
    if (!in_window(w, rb, offset)) {
        w->rb = rb;
        w->start = ROUND_DOWN(offset, RAM_WINDOW_BYTES);
        memset(w->data, 0, sizeof(w->data));
        ram_block_foreach_data(
            rb, w->start,
            MIN(RAM_WINDOW_BYTES, qemu_ram_get_max_length(rb) - w->start),
            note_data, w);
    }
    return !test_bit(window_page(w, offset), w->data);
}

void ram_window_write(RamLoadWindow *w, RAMBlock *rb, ram_addr_t offset)
{
    if (in_window(w, rb, offset)) {
        set_bit(window_page(w, offset), w->data);
    }
}
