/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flat views and address spaces: see include/system/memory.h.
 *
 * Rendering: the tree is walked from the root, among siblings the highest
 * priority first, children before their parent's own content; each region
 * that shows something fills only what is still free of its range. So the
 * first to claim an address is the one that is seen.
 *
 * The pointer to an address space's view changes under its view_lock, which
 * is held just long enough to read the pointer and count a reference; all
 * else happens on immutable views.
 */
#include "qemu/osdep.h"

#include "qom/object.h"

#include "memory-internal.h"

/* [first, last]; wider than an address so that nothing overflows. */
typedef struct Span {
    __int128 first, last;
} Span;

static Span span_intersect(Span a, Span b)
{
    return (Span){ MAX(a.first, b.first), MIN(a.last, b.last) };
}

static bool span_empty(Span s)
{
    return s.first > s.last;
}

/* --- rendering -------------------------------------------------------------- */

static void insert_range(GArray *out, guint pos, MemoryRegion *mr, Span span,
                         __int128 base, bool readonly)
{
    hwaddr offset = span.first - base;
    FlatRange fr = {
        .first = span.first,
        .last = span.last,
        .mr = mr,
        .owner = mr->owner,
        .offset_in_region = offset,
        .readonly = readonly || mr->rom_device,
        .romd_mode = mr->romd_mode,
        .dirty_log_mask = mr->dirty_log_mask,
    };

    if (mr->ram_block && (mr->ram || mr->romd_mode)) {
        fr.block = mr->ram_block;
        fr.host = (uint8_t *)qemu_ram_get_host_addr(fr.block) + offset;
    }
    g_array_insert_val(out, pos, fr);
}

/* Give @mr, whose first byte is at @base, all of @span that is free. */
static void fill_gaps(GArray *out, MemoryRegion *mr, __int128 base, Span span,
                      bool readonly)
{
    guint i = 0;

    while (!span_empty(span)) {
        const FlatRange *fr = NULL;
        Span gap = span;

        while (i < out->len) {
            fr = &g_array_index(out, FlatRange, i);
            if (fr->last >= span.first) {
                break;
            }
            i++;
        }
        if (i == out->len) {
            insert_range(out, i, mr, gap, base, readonly);
            return;
        }
        gap.last = MIN(gap.last, (__int128)fr->first - 1);
        span.first = (__int128)fr->last + 1;
        if (!span_empty(gap)) {
            insert_range(out, i, mr, gap, base, readonly);
            i++;
        }
    }
}

/* @base: where @mr's container (or, for an alias, what replaces it) begins */
static void render(GArray *out, MemoryRegion *mr, __int128 base, Span clip,
                   bool readonly)
{
    Span span;

    if (!mr->enabled) {
        return;
    }
    base += mr->addr;
    span = span_intersect(clip, (Span){ base, base + mr->size - 1 });
    if (span_empty(span)) {
        return;
    }
    readonly |= mr->readonly;
    if (mr->alias) {
        /* So placed that the target's alias_offset comes to lie at @base. */
        render(out, mr->alias,
               base - (__int128)mr->alias_offset - mr->alias->addr, span,
               readonly);
        return;
    }
    for (guint i = 0; i < mr->subregions->len; i++) {
        render(out, mr->subregions->pdata[i], base, span, readonly);
    }
    if (mr->terminates) {
        fill_gaps(out, mr, base, span, readonly);
    }
}

static bool can_merge(const FlatRange *a, const FlatRange *b)
{
    return a->mr == b->mr && a->last != UINT64_MAX && a->last + 1 == b->first &&
           a->offset_in_region + (b->first - a->first) == b->offset_in_region &&
           a->readonly == b->readonly && a->romd_mode == b->romd_mode &&
           a->dirty_log_mask == b->dirty_log_mask;
}

static void merge_neighbours(GArray *ranges)
{
    guint kept = 0;

    for (guint i = 1; i < ranges->len; i++) {
        FlatRange *last = &g_array_index(ranges, FlatRange, kept);
        FlatRange *fr = &g_array_index(ranges, FlatRange, i);

        if (can_merge(last, fr)) {
            last->last = fr->last;
        } else {
            g_array_index(ranges, FlatRange, ++kept) = *fr;
        }
    }
    if (ranges->len) {
        g_array_set_size(ranges, kept + 1);
    }
}

FlatView *flatview_render(MemoryRegion *root)
{
    GArray *ranges = g_array_new(FALSE, FALSE, sizeof(FlatRange));
    FlatView *view = g_new0(FlatView, 1);

    assert(bql_locked());
    render(ranges, root, 0, (Span){ 0, UINT64_MAX }, false);
    merge_neighbours(ranges);

    view->root = root;
    atomic_init(&view->refcount, 1);
    view->nr_ranges = ranges->len;
    view->ranges = (FlatRange *)g_array_free(ranges, FALSE);
    for (unsigned i = 0; i < view->nr_ranges; i++) {
        FlatRange *fr = &view->ranges[i];

        if (fr->block) {
            qemu_ram_ref(fr->block);
        }
        if (fr->owner) {
            object_ref(fr->owner);
        }
    }
    return view;
}

void flatview_ref(FlatView *view)
{
    atomic_fetch_add_explicit(&view->refcount, 1, memory_order_relaxed);
}

/*
 * An owner's last reference may fall here, in any thread: finalizing it is
 * for the main loop.
 */
static void unref_owner(void *opaque)
{
    object_unref(opaque);
}

void flatview_unref(FlatView *view)
{
    if (atomic_fetch_sub_explicit(&view->refcount, 1, memory_order_acq_rel) !=
        1) {
        return;
    }
    for (unsigned i = 0; i < view->nr_ranges; i++) {
        FlatRange *fr = &view->ranges[i];

        if (fr->block) {
            qemu_ram_unref(fr->block);
        }
        if (fr->owner && bql_locked()) {
            object_unref(fr->owner);
        } else if (fr->owner) {
            aio_bh_schedule_oneshot(unref_owner, fr->owner);
        }
    }
    g_free(view->ranges);
    g_free(view);
}

/* --- lookup ------------------------------------------------------------------ */

const FlatRange *flatview_find(const FlatView *view, hwaddr addr)
{
    unsigned lo = 0, hi = view->nr_ranges;

    while (lo < hi) {
        unsigned mid = lo + (hi - lo) / 2;
        const FlatRange *fr = &view->ranges[mid];

        if (addr < fr->first) {
            hi = mid;
        } else if (addr > fr->last) {
            lo = mid + 1;
        } else {
            return fr;
        }
    }
    return NULL;
}

bool flatview_translate(const FlatView *view, hwaddr addr, MemoryTranslation *t)
{
    const FlatRange *fr = flatview_find(view, addr);

    if (!fr) {
        return false;
    }
    *t = (MemoryTranslation){
        .mr = fr->mr,
        .mr_offset = fr->offset_in_region + (addr - fr->first),
        .first = fr->first,
        .last = fr->last,
        .block = fr->block,
        .readonly = fr->readonly,
    };
    if (fr->block) {
        t->block_offset = t->mr_offset;
        t->host = fr->host + (addr - fr->first);
    }
    return true;
}

MemoryRegionSection flat_range_section(AddressSpace *as, const FlatRange *fr)
{
    return (MemoryRegionSection){
        .mr = fr->mr,
        .as = as,
        .offset_within_region = fr->offset_in_region,
        .offset_within_address_space = fr->first,
        .size = (__int128)fr->last - fr->first + 1,
        .readonly = fr->readonly,
    };
}

MemoryRegionSection memory_region_find(MemoryRegion *mr, hwaddr addr,
                                       uint64_t size)
{
    FlatView *view = flatview_render(mr);
    MemoryRegionSection section = { .mr = NULL };
    hwaddr last = addr + size - 1;

    addr += mr->addr; /* the view is in the coordinates of the container */
    last += mr->addr;
    for (unsigned i = 0; size && i < view->nr_ranges; i++) {
        FlatRange fr = view->ranges[i];

        if (fr.last < addr || fr.first > last) {
            continue;
        }
        if (fr.first < addr) {
            fr.offset_in_region += addr - fr.first;
            fr.first = addr;
        }
        fr.last = MIN(fr.last, last);
        section = flat_range_section(NULL, &fr);
        section.offset_within_address_space -= mr->addr;
        break;
    }
    flatview_unref(view);
    return section;
}

/* --- address spaces ------------------------------------------------------------ */

AddressSpace address_space_memory;
AddressSpace address_space_io;

static MemoryRegion system_memory;
static MemoryRegion system_io;

GPtrArray *address_spaces(void)
{
    static GPtrArray *spaces; /* the process's; guarded by the BQL */

    if (!spaces) {
        spaces = g_ptr_array_new();
    }
    return spaces;
}

void address_space_init(AddressSpace *as, MemoryRegion *root, const char *name)
{
    as->name = g_strdup(name);
    as->root = root;
    qemu_mutex_init(&as->view_lock);
    atomic_init(&as->generation, 0);
    as->view = flatview_render(root);
    g_ptr_array_add(address_spaces(), as);
}

void address_space_destroy(AddressSpace *as)
{
    g_ptr_array_remove(address_spaces(), as);
    flatview_unref(as->view);
    qemu_mutex_destroy(&as->view_lock);
    g_free(as->name);
    as->view = NULL;
}

static void system_spaces_init(void)
{
    static bool done; /* guarded by the BQL */

    if (done) {
        return;
    }
    done = true;
    memory_region_init(&system_memory, NULL, "system", UINT64_MAX);
    address_space_init(&address_space_memory, &system_memory, "memory");
    memory_region_init(&system_io, NULL, "io", 65536);
    address_space_init(&address_space_io, &system_io, "I/O");
}

MemoryRegion *get_system_memory(void)
{
    system_spaces_init();
    return &system_memory;
}

MemoryRegion *get_system_io(void)
{
    system_spaces_init();
    return &system_io;
}

FlatView *address_space_get_flatview(AddressSpace *as)
{
    FlatView *view;

    qemu_mutex_lock(&as->view_lock);
    view = as->view;
    flatview_ref(view);
    qemu_mutex_unlock(&as->view_lock);
    return view;
}

void address_space_swap_view(AddressSpace *as, FlatView *view)
{
    FlatView *old;

    qemu_mutex_lock(&as->view_lock);
    old = as->view;
    as->view = view;
    qemu_mutex_unlock(&as->view_lock);
    /* Release: who sees the new number finds the new view. */
    atomic_fetch_add_explicit(&as->generation, 1, memory_order_release);
    flatview_unref(old);
}
