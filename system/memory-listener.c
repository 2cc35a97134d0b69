/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory listeners: telling them what changed, and walking them for syncs and
 * clears. See MemoryListener in include/system/memory.h.
 *
 * A round of callbacks is a change (topology, begin and end of logging; under
 * the BQL) or a walk (log_sync, log_clear; any thread). A change has the
 * listeners to itself: so a clear or sync by the migration thread sees topology
 * as the listeners were told it, and never half of an update. Walks go in
 * parallel; new ones wait for a change that waits. A callback of a walk must
 * not take the BQL. listeners.lock is for that only, and not held in a round.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"

#include "memory-internal.h"

static struct {
    /* ---- changed in changes: by ascending priority ---- */
    GPtrArray *all;
    bool global_started; /* log_global_start was called; BQL */

    /* ---- guarded by lock ---- */
    QemuMutex lock;
    unsigned walks; /* under way */
    bool change;    /* under way, or waits for the walks */
    QemuCond round_end;
} listeners = {
    .lock = { PTHREAD_MUTEX_INITIALIZER },
    .round_end = { PTHREAD_COND_INITIALIZER },
};

static void begin_walk(void)
{
    QEMU_LOCK_GUARD(&listeners.lock);
    while (listeners.change) {
        qemu_cond_wait(&listeners.round_end, &listeners.lock);
    }
    listeners.walks++;
}

static void end_walk(void)
{
    QEMU_LOCK_GUARD(&listeners.lock);
    if (--listeners.walks == 0) {
        qemu_cond_broadcast(&listeners.round_end);
    }
}

static void begin_change(void)
{
    QEMU_LOCK_GUARD(&listeners.lock);
    /* The BQL is held: there is no other one. */
    assert(!listeners.change);
    listeners.change = true;
    while (listeners.walks) {
        qemu_cond_wait(&listeners.round_end, &listeners.lock);
    }
}

static void end_change(void)
{
    QEMU_LOCK_GUARD(&listeners.lock);
    listeners.change = false;
    qemu_cond_broadcast(&listeners.round_end);
}

/* In which order to call. */
typedef enum Direction {
    ASCENDING,
    DESCENDING
} Direction;

static MemoryListener *listener_at(guint i, Direction dir)
{
    guint len = listeners.all->len;

    return listeners.all->pdata[dir == ASCENDING ? i : len - 1 - i];
}

/* Call @hook(args) of each listener of @as (NULL: of all) that has it. */
#define CALL_LISTENERS(as, dir, hook, ...)                                   \
    do {                                                                     \
        for (guint i_ = 0; listeners.all && i_ < listeners.all->len; i_++) { \
            MemoryListener *l_ = listener_at(i_, (dir));                     \
            if ((!(as) || l_->address_space == (as)) && l_->hook) {          \
                l_->hook(l_, ##__VA_ARGS__);                                 \
            }                                                                \
        }                                                                    \
    } while (0)

/* --- topology --------------------------------------------------------------- */

/* Seen by listeners as the same thing in the same place? */
static bool same_range(const FlatRange *a, const FlatRange *b)
{
    return a->first == b->first && a->last == b->last && a->mr == b->mr &&
           a->offset_in_region == b->offset_in_region && a->block == b->block &&
           a->readonly == b->readonly && a->romd_mode == b->romd_mode;
}

static const FlatRange *find_same(const FlatView *view, const FlatRange *fr)
{
    const FlatRange *found = flatview_find(view, fr->first);

    return found && same_range(found, fr) ? found : NULL;
}

static void tell_removed(AddressSpace *as, const FlatView *old,
                         const FlatView *new)
{
    for (unsigned i = 0; i < old->nr_ranges; i++) {
        const FlatRange *fr = &old->ranges[i];

        if (!find_same(new, fr)) {
            MemoryRegionSection section = flat_range_section(as, fr);

            CALL_LISTENERS(as, DESCENDING, region_del, &section);
        }
    }
}

static void tell_log_mask(AddressSpace *as, MemoryRegionSection *section,
                          uint8_t old_mask, uint8_t new_mask)
{
    if (new_mask & ~old_mask) {
        CALL_LISTENERS(as, ASCENDING, log_start, section, old_mask, new_mask);
    }
    if (old_mask & ~new_mask) {
        CALL_LISTENERS(as, DESCENDING, log_stop, section, old_mask, new_mask);
    }
}

static void tell_added_and_kept(AddressSpace *as, const FlatView *old,
                                const FlatView *new)
{
    for (unsigned i = 0; i < new->nr_ranges; i++) {
        const FlatRange *fr = &new->ranges[i];
        const FlatRange *was = find_same(old, fr);
        MemoryRegionSection section = flat_range_section(as, fr);

        if (was) {
            CALL_LISTENERS(as, ASCENDING, region_nop, &section);
        } else {
            CALL_LISTENERS(as, ASCENDING, region_add, &section);
        }
        tell_log_mask(as, &section, was ? was->dirty_log_mask : 0,
                      fr->dirty_log_mask);
    }
}

void memory_listeners_update(AddressSpace *as, FlatView *view)
{
    FlatView *old = address_space_get_flatview(as);

    begin_change();
    CALL_LISTENERS(as, ASCENDING, begin);
    tell_removed(as, old, view);
    tell_added_and_kept(as, old, view);
    address_space_swap_view(as, view);
    CALL_LISTENERS(as, ASCENDING, commit);
    end_change();
    flatview_unref(old);
}

static void replay(MemoryListener *listener)
{
    AddressSpace *as = listener->address_space;
    const FlatView *view = as->view;

    if (listener->begin) {
        listener->begin(listener);
    }
    if (listeners.global_started && listener->log_global_start) {
        /* Too late to refuse: it joins a running migration. */
        listener->log_global_start(listener, &error_fatal);
    }
    for (unsigned i = 0; i < view->nr_ranges; i++) {
        const FlatRange *fr = &view->ranges[i];
        MemoryRegionSection section = flat_range_section(as, fr);

        if (listener->region_add) {
            listener->region_add(listener, &section);
        }
        if (fr->dirty_log_mask && listener->log_start) {
            listener->log_start(listener, &section, 0, fr->dirty_log_mask);
        }
    }
    if (listener->commit) {
        listener->commit(listener);
    }
}

void memory_listener_register(MemoryListener *listener, AddressSpace *as)
{
    guint i = 0;

    begin_change();
    if (!listeners.all) {
        listeners.all = g_ptr_array_new();
    }
    assert(!g_ptr_array_find(listeners.all, listener, NULL));
    listener->address_space = as;
    while (i < listeners.all->len &&
           listener_at(i, ASCENDING)->priority <= listener->priority) {
        i++;
    }
    g_ptr_array_insert(listeners.all, i, listener);
    replay(listener);
    end_change();
}

void memory_listener_unregister(MemoryListener *listener)
{
    AddressSpace *as = listener->address_space;
    const FlatView *view = as->view;

    begin_change();
    if (listener->begin) {
        listener->begin(listener);
    }
    for (unsigned i = 0; i < view->nr_ranges; i++) {
        const FlatRange *fr = &view->ranges[i];
        MemoryRegionSection section = flat_range_section(as, fr);

        if (fr->dirty_log_mask && listener->log_stop) {
            listener->log_stop(listener, &section, fr->dirty_log_mask, 0);
        }
        if (listener->region_del) {
            listener->region_del(listener, &section);
        }
    }
    if (listener->commit) {
        listener->commit(listener);
    }
    g_ptr_array_remove(listeners.all, listener);
    listener->address_space = NULL;
    end_change();
}

/* --- dirty logging ------------------------------------------------------------ */

static bool global_start(Error **errp)
{
    guint n = listeners.all ? listeners.all->len : 0;

    for (guint i = 0; i < n; i++) {
        MemoryListener *l = listener_at(i, ASCENDING);

        if (l->log_global_start && !l->log_global_start(l, errp)) {
            /* Those before it had begun. */
            while (i-- > 0) {
                l = listener_at(i, ASCENDING);
                if (l->log_global_stop) {
                    l->log_global_stop(l);
                }
            }
            return false;
        }
    }
    listeners.global_started = true;
    return true;
}

bool memory_listeners_global_start(Error **errp)
{
    bool ok;

    begin_change();
    ok = global_start(errp);
    end_change();
    return ok;
}

void memory_listeners_global_stop(void)
{
    begin_change();
    listeners.global_started = false;
    CALL_LISTENERS(NULL, DESCENDING, log_global_stop);
    end_change();
}

/*
 * Call @fn for each range of the listener's address space that shows memory
 * of @rb (NULL: of any block).
 */
static void for_each_ram_range(MemoryListener *l, RAMBlock *rb,
                               void (*fn)(MemoryListener *l,
                                          const FlatRange *fr, void *opaque),
                               void *opaque)
{
    /* Not ref'd: it cannot be replaced during a walk. */
    const FlatView *view = l->address_space->view;

    for (unsigned i = 0; i < view->nr_ranges; i++) {
        const FlatRange *fr = &view->ranges[i];

        if (fr->block && (!rb || fr->block == rb)) {
            fn(l, fr, opaque);
        }
    }
}

static void sync_range(MemoryListener *l, const FlatRange *fr, void *opaque)
{
    MemoryRegionSection section = flat_range_section(l->address_space, fr);

    l->log_sync(l, &section);
}

static void sync_listeners(RAMBlock *rb, bool last_stage)
{
    begin_walk();
    for (guint i = 0; listeners.all && i < listeners.all->len; i++) {
        MemoryListener *l = listener_at(i, ASCENDING);

        if (l->log_sync_global) {
            l->log_sync_global(l, last_stage);
        } else if (l->log_sync) {
            for_each_ram_range(l, rb, sync_range, NULL);
        }
    }
    end_walk();
}

void memory_listeners_sync(bool last_stage)
{
    sync_listeners(NULL, last_stage);
}

void memory_listeners_sync_block(RAMBlock *rb)
{
    sync_listeners(rb, false);
}

typedef struct ClearRange {
    ram_addr_t first, last; /* in the block */
    unsigned nr_calls;
} ClearRange;

static void clear_range(MemoryListener *l, const FlatRange *fr, void *opaque)
{
    ClearRange *clear = opaque;
    FlatRange part = *fr;
    ram_addr_t block_first = fr->offset_in_region;
    ram_addr_t block_last = block_first + (fr->last - fr->first);
    ram_addr_t first = MAX(clear->first, block_first);
    ram_addr_t last = MIN(clear->last, block_last);
    MemoryRegionSection section;

    if (first > last) {
        return;
    }
    part.first = fr->first + (first - block_first);
    part.last = fr->first + (last - block_first);
    part.offset_in_region = first;
    section = flat_range_section(l->address_space, &part);
    l->log_clear(l, &section);
    clear->nr_calls++;
}

unsigned memory_listeners_clear(RAMBlock *rb, ram_addr_t start,
                                ram_addr_t length)
{
    ClearRange clear = { .first = start, .last = start + length - 1 };

    begin_walk();
    for (guint i = 0; listeners.all && i < listeners.all->len; i++) {
        MemoryListener *l = listener_at(i, ASCENDING);

        if (l->log_clear) {
            for_each_ram_range(l, rb, clear_range, &clear);
        }
    }
    end_walk();
    return clear.nr_calls;
}
