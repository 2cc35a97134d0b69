/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between dirty-reaper.c (reaps, the thread) and dirty-reaper-full.c (vCPUs
 * whose ring is full, what is known).
 */
#ifndef SYSTEM_DIRTY_REAPER_INTERNAL_H
#define SYSTEM_DIRTY_REAPER_INTERNAL_H

#include "system/cpus.h"
#include "system/dirty-cost.h"
#include "system/dirty-reaper.h"

#include "dirty-batch.h"
#include "dirty-stats.h"

#define REAPER_PERIOD_MS 1000

typedef struct ReaperRing {
    CPUState *cpu;
    DirtyRing ring;
    bool full; /* its vCPU waits for a reap, or sleeps and has told us */
    unsigned in_flight; /* batches with entries of it */
} ReaperRing;

typedef struct ReaperSlot {
    RAMBlock *rb;
    uint64_t first_page, nr_pages;
} ReaperSlot;

typedef enum ReapCause {
    CAUSE_FULL,
    CAUSE_COLLECT,
    CAUSE_PERIOD,
    CAUSE_DRAIN,
    CAUSE_NUM
} ReapCause;

/* One per process, like the tracker that it belongs to. */
typedef struct DirtyReaper {
    /* ---- guarded by lock ---- */
    QemuMutex lock;
    const DirtyReaperEngine *engine; /* NULL: not running */
    GPtrArray *rings;                /* of ReaperRing */
    GHashTable *slots;               /* slot number -> ReaperSlot */
    DirtyRingPage *pages;            /* harvest of one ring */
    uint32_t batch_cap;              /* of pages, and of batches */
    uint64_t removals;               /* of rings */
    uint64_t nr_harvested;           /* entries, since the start */
    Batches batches;

    /* Held while the engine resets; never together with lock. */
    QemuMutex reset_lock;
    uint64_t nr_reset; /* of nr_harvested; guarded by reset_lock */

    /* ---- guarded by the BQL ---- */
    QemuThread thread;

    /* ---- constant while the thread runs ---- */
    int wake_fd;

    /* ---- atomic ---- */
    _Atomic bool running, quit;
    struct {
        _Atomic uint64_t harvested, refault, unknown, beyond, batches;
        _Atomic uint64_t reaps[CAUSE_NUM];
        _Atomic uint64_t reap_ns, reset_ns, longest_reap_ns;
        DirtyCost entry, full_exit;
        _Atomic uint64_t soft_full, hard_full, full_wait_ns, longest_wait_ns;
        _Atomic uint64_t marked_reap_ns, marked_wait_ns;
        _Atomic uint64_t bql_acquisitions;
    } stats;
} DirtyReaper;
extern DirtyReaper dirty_reaper;

ReaperRing *dirty_reaper_find_ring_locked(CPUState *cpu);
/* Have the thread look. */
void dirty_reaper_wake_thread(void);
void dirty_reaper_note_longest(_Atomic uint64_t *longest, uint64_t ns);

static inline void dirty_reaper_count(_Atomic uint64_t *counter, uint64_t n)
{
    dirty_stats_add(counter, n);
}

#endif /* SYSTEM_DIRTY_REAPER_INTERNAL_H */
