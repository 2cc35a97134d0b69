/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dirty rings: see include/system/dirty-ring.h. */
#include "qemu/osdep.h"

#include <sys/mman.h>

#include "qemu/error.h"
#include "system/dirty-ring.h"

bool dirty_ring_check_entries(uint64_t entries, Error **errp)
{
    if (entries == 0 ||
        (entries >= DIRTY_RING_MIN_ENTRIES &&
         entries <= DIRTY_RING_MAX_ENTRIES && (entries & (entries - 1)) == 0)) {
        return true;
    }
    error_setg(errp,
               "dirty-ring-size %" PRIu64 " is not possible: it must be 0 (no "
               "ring) or a power of two from %u to %u",
               entries, DIRTY_RING_MIN_ENTRIES, DIRTY_RING_MAX_ENTRIES);
    return false;
}

DirtyGfn *dirty_ring_alloc(uint32_t entries)
{
    /* Whole pages, as the kernel's; populated when they are used. */
    void *p = mmap(NULL, entries * sizeof(DirtyGfn), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    g_assert(p != MAP_FAILED);
    return p;
}

void dirty_ring_free(DirtyGfn *gfns, uint32_t entries)
{
    if (gfns) {
        munmap(gfns, entries * sizeof(DirtyGfn));
    }
}

uint32_t dirty_ring_harvest(DirtyRing *ring, DirtyRingPage *pages, uint32_t max)
{
    uint32_t n;

    for (n = 0; n < max; n++, ring->next++) {
        DirtyGfn *gfn = &ring->gfns[ring->next & (ring->entries - 1)];

        if (!dirty_gfn_is_dirty(gfn)) {
            break;
        }
        pages[n] = (DirtyRingPage){ gfn->slot, gfn->offset };
        dirty_gfn_set_harvested(gfn);
    }
    return n;
}

void dirty_ring_skip(DirtyRing *ring, uint32_t n)
{
    while (n--) {
        dirty_gfn_set_harvested(
            &ring->gfns[ring->next++ & (ring->entries - 1)]);
    }
}

uint32_t dirty_ring_look(const DirtyRing *ring, uint32_t skip,
                         DirtyRingPage *pages, uint32_t max)
{
    uint32_t n;

    for (n = 0; n < max && skip + n < ring->entries; n++) {
        DirtyGfn *gfn =
            &ring->gfns[(ring->next + skip + n) & (ring->entries - 1)];

        if (!dirty_gfn_is_dirty(gfn)) {
            break;
        }
        pages[n] = (DirtyRingPage){ gfn->slot, gfn->offset };
    }
    return n;
}

bool dirty_ring_has(const DirtyRing *ring, uint32_t n)
{
    uint32_t last = ring->next + n - 1;

    return n == 0 ||
           dirty_gfn_is_dirty(&ring->gfns[last & (ring->entries - 1)]);
}

uint32_t dirty_ring_count(const DirtyRing *ring)
{
    uint32_t have = 0, not_have = ring->entries + 1;

    while (not_have - have > 1) {
        uint32_t n = have + (not_have - have) / 2;

        if (dirty_ring_has(ring, n)) {
            have = n;
        } else {
            not_have = n;
        }
    }
    return have;
}

DirtyGfn *dirty_ring_push(DirtyRingProducer *p, uint32_t slot, uint64_t offset)
{
    uint32_t pushed = atomic_load_explicit(&p->pushed, memory_order_relaxed);
    DirtyGfn *gfn = &p->gfns[pushed & (p->entries - 1)];

    if (!dirty_gfn_is_free(gfn)) {
        return NULL;
    }
    gfn->slot = slot;
    gfn->offset = offset;
    /* Before the entry can be freed, else `reset` could overtake it. */
    atomic_store_explicit(&p->pushed, pushed + 1, memory_order_relaxed);
    dirty_gfn_set_dirty(gfn);
    return gfn;
}

uint32_t dirty_ring_recycle(DirtyRingProducer *p,
                            void (*protect)(uint32_t slot, uint64_t offset))
{
    uint32_t first = atomic_load_explicit(&p->reset, memory_order_relaxed);
    uint32_t i;

    for (i = first; i - first < p->entries; i++) {
        DirtyGfn *gfn = &p->gfns[i & (p->entries - 1)];
        uint32_t slot;
        uint64_t offset;

        if (!dirty_gfn_is_harvested(gfn)) {
            break;
        }
        slot = gfn->slot;
        offset = gfn->offset;
        /* Free, then protect: see dirty-ring.h. */
        dirty_gfn_set_free(gfn);
        protect(slot, offset);
    }
    /* Release: pairs with the acquire in dirty_ring_used(). */
    atomic_store_explicit(&p->reset, i, memory_order_release);
    return i - first;
}
