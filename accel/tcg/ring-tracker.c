/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ring tracker: dirty pages by write-protect faults, handed over in rings.
 *
 * The software engine's twin of KVM's dirty rings: the same entries and hand-
 * over (dirty-ring.h), the same reaper (dirty-reaper.h). A slot is one RAM
 * block. There is no log per slot; `writable` is what a page table has in
 * hardware: which pages may have a write entry in a TLB.
 *
 *   clean page     writable 0
 *   fault          enter the page in the vCPU's ring ; writable = 1 ; unless
 *                  the entry is free by then: done; else enter it again
 *   reap           harvest ; free the entries, then writable = 0 for their
 *                  pages ; handshake: all stores that began before are
 *                  finished and no write entry is left ; publish
 *   collect        a reap of all rings
 *   clean          nothing is left to re-arm: wait for a reap in flight that has
 *                  taken a page of the range
 *
 * Order in a fault: the entry before writable, so that another vCPU that finds
 * the page writable, and stores, is covered by an entry in some ring. The
 * price is that a reap may pass between the two and leave writable set with
 * no entry: hence the second look, with the argument in dirty-ring.h.
 *
 * Soft-full: the vCPU leaves guest code at the end of its block and waits,
 * out, for a reap; if that block ended in a WFI it only asks for one. Hard-full (more pages in one block than the reserve): the
 * operation is given up before its store, and executed again after the reap.
 */
#include "qemu/osdep.h"

#include "tcg-int.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/dirty-choice.h"
#include "system/dirty-reaper.h"
#include "system/dirty-tracker.h"

/* One per process, as the tracker is. Guarded by the BQL. */
static struct {
    unsigned nr_armed; /* blocks */
} rings;

static uint32_t reset_rings(uint32_t due);

static const DirtyReaperEngine reaper_engine = { .reset = reset_rings };

static bool ring_probe(Error **errp)
{
    if (dirty_tracking_ring_entries() == 0) {
        error_setg(errp, "dirty-ring-size is 0");
        return false;
    }
    return true;
}

static bool ring_setup(Error **errp)
{
    return true;
}

/* ---- the fault ---- */

static bool ring_mark(TcgVcpu *v, TcgRam *ram, uint64_t page)
{
    DirtyGfn *gfn;

    if (test_bit_atomic(page, ram->writable)) {
        return true;
    }
    tcg_test_point(TCG_POINT_FAULT, v);
    do {
        gfn = dirty_ring_push(&v->ring, ram->slot, page);
        if (!gfn) {
            /* Only the first time: our entry is the ring's newest, so if it
             * is free, the oldest is. */
            v->ring_full = v->ring_hard = true;
            return false;
        }
        tcg_count(&v->stats.dirty_faults);
        tcg_test_point(TCG_POINT_RING_PUSHED, v);
        /*
         * Acquire and release: if protect_page() came before in the order of
         * this word, we see that the entry is free.
         */
        set_bit_atomic(page, ram->writable);
    } while (dirty_gfn_is_free(gfn));
    tcg_pay_fault();
    if (dirty_ring_soft_full(&v->ring)) {
        v->ring_full = true;
        tcg_ask(v);
    }
    return true;
}

static bool ring_written(TcgRam *ram, uint64_t page)
{
    return test_bit_atomic(page, ram->writable);
}

void tcg_ring_make_room(TcgVcpu *v)
{
    tcg_leave(v);
    dirty_tracker_vcpu_exit(v->cs);
    tcg_enter(v);
    /* If it is full still (we were kicked), the next fault says so again. */
    v->ring_full = v->ring_hard = false;
}

void tcg_ring_sleeps(TcgVcpu *v)
{
    /* If no reap comes first, the next fault says so again. */
    dirty_reaper_vcpu_sleeps(v->cs, v->ring_hard);
    v->ring_full = v->ring_hard = false;
}

static void ring_vcpu_exit(CPUState *cpu)
{
    TcgVcpu *v = cpu->accel_data;

    dirty_reaper_vcpu_full(cpu, v->ring_hard);
}

/* ---- the reaper's side ---- */

static void protect_page(uint32_t slot, uint64_t page)
{
    clear_bit_atomic(page, tcg_ram_of_slot(slot)->writable);
}

static uint32_t reset_rings(uint32_t due)
{
    unsigned n = tcg_nr_vcpus(), i;
    uint32_t done = 0;

    for (i = 0; i < n; i++) {
        if (tcg_vcpu(i)->ring.gfns) {
            done += dirty_ring_recycle(&tcg_vcpu(i)->ring, protect_page);
        }
    }
    if (done) {
        tcg_handshake();
    }
    return done;
}

/* ---- start and stop ---- */

static void give_ring(TcgVcpu *v)
{
    uint32_t entries = dirty_tracking_ring_entries();

    /* Nobody looks at the old one: no block is armed. */
    dirty_ring_free(v->ring.gfns, v->ring.entries);
    v->ring = (DirtyRingProducer){
        .gfns = dirty_ring_alloc(entries),
        .entries = entries,
    };
    dirty_reaper_add_ring(v->cs, v->ring.gfns, v->ring.entries);
}

void tcg_ring_vcpu_added(TcgVcpu *v)
{
    if (rings.nr_armed) {
        give_ring(v);
    }
}

static bool begin_reaping(Error **errp)
{
    unsigned i;

    if (rings.nr_armed) {
        return true;
    }
    if (!dirty_reaper_start(&reaper_engine, errp)) {
        return false;
    }
    for (i = 0; i < tcg_nr_vcpus(); i++) {
        give_ring(tcg_vcpu(i));
    }
    return true;
}

static bool alloc_writable(TcgRam *ram)
{
    ram->writable = tcg_page_bitmap_new(ram);
    return ram->writable;
}

static void free_writable(TcgRam *ram)
{
    tcg_page_bitmap_free(ram, &ram->writable);
}

static bool ring_start(RAMBlock *const *blocks, size_t nr_blocks,
                       DirtyTrackerFirst *first, Error **errp)
{
    size_t i;

    g_assert(bql_locked());
    if (!tcg_blocks_alloc(blocks, nr_blocks, alloc_writable, free_writable,
                          "page states", errp)) {
        return false;
    }
    if (!begin_reaping(errp)) {
        for (i = 0; i < nr_blocks; i++) {
            free_writable(tcg_ram_get(blocks[i]));
        }
        return false;
    }
    rings.nr_armed += nr_blocks;
    for (i = 0; i < nr_blocks; i++) {
        TcgRam *ram = tcg_ram_get(blocks[i]);

        dirty_reaper_add_slot(ram->slot, ram->rb, 0, ram->nr_pages);
    }
    tcg_blocks_arm(blocks, nr_blocks, ring_mark, ring_written);
    *first = DIRTY_TRACKER_FIRST_WRITTEN;
    return true;
}

static void ring_stop(RAMBlock *const *blocks, size_t nr_blocks)
{
    size_t i;

    g_assert(bql_locked());
    /* After this nobody enters pages of these blocks. */
    tcg_blocks_disarm(blocks, nr_blocks);
    for (i = 0; i < nr_blocks; i++) {
        TcgRam *ram = tcg_ram_get(blocks[i]);

        /* Reaps, so no ring names the slot any more. */
        dirty_reaper_remove_slot(ram->slot);
        free_writable(ram);
    }
    rings.nr_armed -= nr_blocks;
    if (rings.nr_armed == 0) {
        dirty_reaper_stop();
    }
}

/* ---- collect, clean, and what is known ---- */

static void ring_collect(RAMBlock *block, ram_addr_t start, ram_addr_t length,
                         unsigned flags)
{
    if (block) {
        dirty_reaper_collect_range(block, start >> TCG_PAGE_BITS,
                                   length >> TCG_PAGE_BITS);
    } else {
        dirty_reaper_collect();
    }
}

static void ring_clean(RAMBlock *block, ram_addr_t start, ram_addr_t length)
{
    dirty_reaper_wait_range(block, start >> TCG_PAGE_BITS,
                            length >> TCG_PAGE_BITS);
}

static void ring_cost(DirtyTrackerCost *cost)
{
    DirtyReaperStats s;

    dirty_reaper_get_stats(&s);
    /* Re-arming is part of it: clean costs nothing. */
    cost->collect_ns_per_page = s.entry_ns;
    cost->fault_ns_per_page = tcg_fault_ns();
}

const DirtyTrackerOps tcg_ring_tracker = {
    .name = "ring",
    .probe = ring_probe,
    .setup = ring_setup,
    .start = ring_start,
    .stop = ring_stop,
    .collect = ring_collect,
    .look = dirty_reaper_look,
    .clean = ring_clean,
    .vcpu_exit = ring_vcpu_exit,
    .attribute = tcg_attribute,
    .cost = ring_cost,
};
