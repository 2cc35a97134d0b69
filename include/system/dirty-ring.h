/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dirty ring: how one vCPU hands the pages that it wrote to one harvester.
 *
 * The layout and the hand-over are those of the kernel's struct kvm_dirty_gfn
 * (Documentation/virt/kvm/api.rst, KVM_CAP_DIRTY_LOG_RING), so that the same
 * harvester serves KVM's rings and those of a software engine:
 *
 *   byte  0..3   flags   bit 0 DIRTY, bit 1 RESET
 *         4..7   slot    address space << 16 | slot
 *         8..15  offset  of the page in its slot, in pages
 *
 *   free (0)  --producer-->  DIRTY  --harvester-->  RESET  --reset-->  free
 *
 *   producer   the vCPU: see free (acquire), fill slot and offset, then DIRTY
 *              (release), then make the page writable
 *   harvester  see DIRTY (acquire), copy, then RESET (release); in order
 *   reset      see RESET (acquire), copy, free (release): room again; then
 *              re-protect the page
 *
 * Free comes before re-protect, and the producer looks after it made the page
 * writable whether its entry is free already: if it is, the page may have been
 * re-protected too early, and is entered once more. That is at most once, as
 * the next reset begins only when the producer has left the guest.
 *
 * A page is in the ring from the moment that it became writable until it is
 * re-protected; a page that is writable already is not entered again. The
 * same page can be in two rings, or twice in one.
 *
 * A ring is soft-full when DIRTY_RING_RESERVED entries or fewer are left: the
 * vCPU leaves the guest at the next chance and waits for a reset. What it
 * still writes on the way out goes into the reserve. Hard-full is when there is
 * no room at all: then the page stays protected and the store is not done.
 *
 * Threads: one producer (push), one harvester (harvest) and one that resets
 * per ring at a time; the last two are under a lock of theirs (dirty-reaper.h).
 *
 * Used by: dirty-reaper.h (harvests), software engines (produce and reset),
 *          KVM (maps the kernel's). Uses: nothing.
 */
#ifndef SYSTEM_DIRTY_RING_H
#define SYSTEM_DIRTY_RING_H

#define DIRTY_RING_MIN_ENTRIES 256u
#define DIRTY_RING_MAX_ENTRIES 65536u
#define DIRTY_RING_RESERVED    64u

enum {
    DIRTY_GFN_DIRTY = 1 << 0,
    DIRTY_GFN_RESET = 1 << 1,
};

/* struct kvm_dirty_gfn; mapped from the kernel or from the heap. */
typedef struct DirtyGfn {
    _Atomic uint32_t flags;
    uint32_t slot;
    uint64_t offset;
} DirtyGfn;
QEMU_BUILD_BUG_ON(sizeof(DirtyGfn) != 16);

/* ---- the hand-over states: read and written by these only ---- */

/* Harvester. Acquire: pairs with dirty_gfn_set_dirty(), or the kernel's. */
static inline bool dirty_gfn_is_dirty(DirtyGfn *gfn)
{
    return (atomic_load_explicit(&gfn->flags, memory_order_acquire) &
            (DIRTY_GFN_DIRTY | DIRTY_GFN_RESET)) == DIRTY_GFN_DIRTY;
}

/* Harvester. Release: its reads of slot and offset come before. */
static inline void dirty_gfn_set_harvested(DirtyGfn *gfn)
{
    atomic_store_explicit(&gfn->flags, DIRTY_GFN_RESET, memory_order_release);
}

/* Producer. Release: slot and offset come before. */
static inline void dirty_gfn_set_dirty(DirtyGfn *gfn)
{
    atomic_store_explicit(&gfn->flags, DIRTY_GFN_DIRTY, memory_order_release);
}

/* Reset. Acquire: pairs with dirty_gfn_set_harvested(). */
static inline bool dirty_gfn_is_harvested(DirtyGfn *gfn)
{
    return atomic_load_explicit(&gfn->flags, memory_order_acquire) &
           DIRTY_GFN_RESET;
}

/* Reset. Release: its reads of slot and offset come before. */
static inline void dirty_gfn_set_free(DirtyGfn *gfn)
{
    atomic_store_explicit(&gfn->flags, 0, memory_order_release);
}

/* Producer. Acquire: pairs with dirty_gfn_set_free(). */
static inline bool dirty_gfn_is_free(DirtyGfn *gfn)
{
    return atomic_load_explicit(&gfn->flags, memory_order_acquire) == 0;
}

/* ---- sizes ---- */

/*
 * 0 (no ring), or a power of two from DIRTY_RING_MIN_ENTRIES to
 * DIRTY_RING_MAX_ENTRIES; else false and an error that says so.
 */
bool dirty_ring_check_entries(uint64_t entries, Error **errp);

static inline uint32_t dirty_ring_soft_limit(uint32_t entries)
{
    return entries - DIRTY_RING_RESERVED;
}

/* All free. Free with dirty_ring_free(). Aborts if memory runs out. */
DirtyGfn *dirty_ring_alloc(uint32_t entries);
void dirty_ring_free(DirtyGfn *gfns, uint32_t entries);

/* ---- the harvester's end ---- */

typedef struct DirtyRing {
    /* Constant. */
    DirtyGfn *gfns;
    uint32_t entries;
    /* The harvester's. */
    uint32_t next; /* counts on past entries; wraps */
} DirtyRing;

/* One page found dirty, as the ring names it. */
typedef struct DirtyRingPage {
    uint32_t slot;
    uint64_t offset;
} DirtyRingPage;

/* Take @n entries, whatever they say: where the producer did not keep to the
 * hand-over, and what they say is worth nothing. */
void dirty_ring_skip(DirtyRing *ring, uint32_t n);

/**
 * dirty_ring_harvest: take the dirty entries, oldest first, and mark them so
 *
 * @pages: receives at most @max
 *
 * Stops at the first entry that is not dirty. Returns the number taken.
 */
uint32_t dirty_ring_harvest(DirtyRing *ring, DirtyRingPage *pages,
                            uint32_t max);

/*
 * The entries that a harvest would take, from the @skip-th on, left as they
 * are. Returns how many of at most @max. Harvester.
 */
uint32_t dirty_ring_look(const DirtyRing *ring, uint32_t skip,
                         DirtyRingPage *pages, uint32_t max);

/* Would a harvest find at least @n entries? */
bool dirty_ring_has(const DirtyRing *ring, uint32_t n);
/* How many would it find? Dirty entries are without gaps. */
uint32_t dirty_ring_count(const DirtyRing *ring);

/* ---- the producer's end: in the kernel, or in a software engine ---- */

typedef struct DirtyRingProducer {
    /* Constant. */
    DirtyGfn *gfns;
    uint32_t entries;
    /* Each counts on past entries and wraps. Written by the producer: */
    _Atomic uint32_t pushed;
    /* Written by who resets: */
    _Atomic uint32_t reset;
} DirtyRingProducer;

/* Entries that are not free, or only just. Any thread. */
static inline uint32_t dirty_ring_used(DirtyRingProducer *p)
{
    /* Acquire: what was pushed before is counted; no negative result. */
    uint32_t reset = atomic_load_explicit(&p->reset, memory_order_acquire);

    return atomic_load_explicit(&p->pushed, memory_order_relaxed) - reset;
}

static inline bool dirty_ring_soft_full(DirtyRingProducer *p)
{
    return dirty_ring_used(p) >= dirty_ring_soft_limit(p->entries);
}

/**
 * dirty_ring_push: enter a page
 *
 * Producer only. Returns the entry, NULL if the ring is hard-full.
 */
DirtyGfn *dirty_ring_push(DirtyRingProducer *p, uint32_t slot, uint64_t offset);

/**
 * dirty_ring_recycle: free the harvested entries, oldest first
 *
 * @protect: called for each, after it is free
 *
 * Stops at the first that is not harvested. Returns the number freed.
 */
uint32_t dirty_ring_recycle(DirtyRingProducer *p,
                            void (*protect)(uint32_t slot, uint64_t offset));

#endif /* SYSTEM_DIRTY_RING_H */
