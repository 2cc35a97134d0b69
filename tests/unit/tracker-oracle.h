/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracker oracle: a guest that stores where it is told, a migration that
 * keeps a copy, and what must hold between the two, for any tracker.
 *
 *   guest       stores a value into the first word of each page of a list
 *   migration   sync, take (block bitmap -> bmap), then per chunk: clean, read
 *   oracle      what bmap has is exactly the set that was stored to; after a
 *               last round with the guest stopped the copy equals memory
 *
 * Interleavings are forced: a thread is held at a named point of the engine
 * or of the reaper until the test lets it go.
 *
 * Threads: the test's main thread has the BQL; vCPU and migration threads do
 * not.
 */
#ifndef TESTS_UNIT_TRACKER_ORACLE_H
#define TESTS_UNIT_TRACKER_ORACLE_H

#include "system/dirty-reaper.h"
#include "system/dirty-tracker.h"
#ifdef ORACLE_KVM
#include "kvm-harness.h"
#else
#include "tcg-harness.h"
#endif

#define PAGE DIRTY_PAGE_SIZE
#define MIG  DIRTY_MEMORY_MIGRATION

/* Pages of the main block that tests may use; the others have code, lists. */
#define TEST_FIRST UINT64_C(1024)
#define TEST_LAST  UINT64_C(15000)

/* Behind them in the block: lists of addresses, one area per vCPU. */
#define LISTS      (GUEST_RAM_BASE + 0x3c00000)
#define LIST_BYTES UINT64_C(0x100000)

/* What an engine can show to a test. */
enum {
    CAN_HOLD = 1 << 0,      /* a vCPU stays where a fault is half done */
    CAN_COUNT = 1 << 1,     /* how many faults there were */
    CAN_ATTRIBUTE = 1 << 2, /* whose they were */
    CAN_SLEEP = 1 << 3,     /* inside guest code, until there is an event */
    /* What one vCPU was let write, all are: nothing is told of twice. */
    IS_ONCE = 1 << 4,
    CAN_ALL = CAN_HOLD | CAN_COUNT | CAN_ATTRIBUTE | CAN_SLEEP | IS_ONCE,
    HAS_RINGS = 1 << 8,
    HAS_HARD_FULL = 1 << 9, /* a ring can have no room at all */
};

/* One row of the table: an engine as configured. */
typedef struct TrackerEngine {
    const char *name;
    const DirtyTrackerOps *ops;
    /* Optional: before it is selected. */
    void (*configure)(void);
    /* Optional: why it cannot be had here; NULL: it can. */
    const char *(*unusable)(void);
    unsigned can; /* CAN_* */
    /* Between the two steps of a fault: half of it is done. */
    int half;
    /*
     * Trackers of one number can take each other's place; others need another
     * kind of guest (kvm: of kernel VM).
     */
    int kind;
    bool all_at_first; /* told to report all pages at first */
    /*
     * Whether a collect re-arms what it reports (rings), so that a store
     * before the clean is reported once more; else (bitmap) only after clean.
     */
    bool collect_rearms;
    unsigned ring_entries; /* per vCPU; 0: no rings */
} TrackerEngine;

extern const TrackerEngine tracker_engines[]; /* ends with a NULL name */

static inline bool tracker_engine_is_usable(const TrackerEngine *e)
{
    return !e->unusable || !e->unusable();
}

/* One row of the tables of scenarios. */
typedef struct Scenario {
    const char *name; /* NULL: end of the table */
    void (*func)(const TrackerEngine *e);
    unsigned needs; /* CAN_*: left out for an engine that lacks one */
} Scenario;
extern const Scenario write_scenarios[], event_scenarios[], ring_scenarios[];
extern const Scenario replace_scenarios[];

/* Each scenario over each engine; @skip: why none can run here, else NULL. */
void oracle_add_all(const char *skip);

typedef struct Oracle {
    const TrackerEngine *e;
    RAMBlock *rb;
    uint8_t *host;
    uint64_t nr_pages;
    uint64_t *bmap; /* the send set */
    uint64_t *copy; /* first word of each page as last read */
} Oracle;

extern GuestVcpu *va, *vb; /* two vCPUs */
void oracle_init(void);    /* once per process: guest, vCPUs, hooks */

/* ---- the migration ---- */
/* Select the engine, start tracking, read everything once. */
void oracle_begin(Oracle *o, const TrackerEngine *e);
void oracle_end(Oracle *o);
/* The same over another block, while tracking is on already. */
void oracle_watch(Oracle *o, const TrackerEngine *e, RAMBlock *rb);
void oracle_unwatch(Oracle *o);

/* Sync and take. Returns the number of pages newly in bmap. */
uint64_t oracle_take(Oracle *o);
/* Take without a sync: what is published already. */
uint64_t oracle_take_published(Oracle *o);
/* For each chunk of bmap: clean it, read its pages. */
void oracle_send(Oracle *o);
void oracle_round(Oracle *o); /* both */
/* bmap is exactly the @n pages (duplicates allowed) of @pages. */
void oracle_expect(Oracle *o, const uint64_t *pages, size_t n);
/* A last round; the copy equals memory. No vCPU runs. */
void oracle_check_current(Oracle *o);
uint64_t oracle_content(Oracle *o, uint64_t page);

/* A round on a thread of its own. */
typedef struct RoundThread {
    Oracle *o;
    QemuThread thread;
    QemuEvent done;
} RoundThread;
void round_start(RoundThread *r, Oracle *o);
void round_join(RoundThread *r);

/* ---- the guest ---- */
/* Pages count in the main block; the list is not a write to guest memory. */
void guest_store_pages(GuestVcpu *v, const uint64_t *pages, size_t n,
                       uint64_t val);
void guest_store_page(GuestVcpu *v, uint64_t page, uint64_t val);
/*
 * @n stores of two words each across the border of pages 2i and 2i+1 from
 * @first on, in blocks of 126 pages: more than a ring's reserve.
 */
void guest_store_crossing(GuestVcpu *v, uint64_t first, unsigned n,
                          uint64_t val);
/* One store, and a WFI in the same block; CAN_SLEEP. */
void guest_store_and_sleep(GuestVcpu *v, uint64_t page, uint64_t val);
/* Stores on a thread; guest_join() it. */
void guest_start_store(GuestThread *t, GuestVcpu *v, const uint64_t *pages,
                       size_t n, uint64_t val);
/* Store round and round, the value rising from 1, until guest_stop(). */
void guest_start_loop(GuestThread *t, GuestVcpu *v, const uint64_t *pages,
                      size_t n);
/* Store to @first, sleep in WFE until guest_end_wfe(), store to @second. */
void guest_start_wfe(GuestThread *t, GuestVcpu *v, uint64_t first,
                     uint64_t second, uint64_t val);
void guest_end_wfe(void);
/* Until @page's first word is at least @val (a minute at most). */
void wait_content(Oracle *o, uint64_t page, uint64_t val);

/* ---- what each guest (tracker-guest-*.c) brings with it ---- */
void oracle_guest_init(void); /* once: memory, programs */
/* Points of a store's way; -1: this guest cannot be held there. */
typedef enum GuestPoint {
    GUEST_POINT_FAULT,  /* before anything is marked */
    GUEST_POINT_MARKED, /* marked, not stored */
    GUEST_POINT_STORED,
    GUEST_POINT_NUM
} GuestPoint;
extern const int guest_points[GUEST_POINT_NUM];
int guest_round_point(DirtyTrackerPoint point); /* CAN_HOLD */
uint64_t guest_faults(GuestVcpu *v);            /* CAN_COUNT: so far */
uint32_t guest_ring_used(GuestVcpu *v);         /* HAS_RINGS: entries */
void guest_forget_code(GuestVcpu *v);           /* as at a reset */
bool guest_is_asleep(GuestVcpu *v);             /* CAN_SLEEP */
/* What a guest's own test hook calls. */
void hold_vcpu_point(int point, GuestVcpu *v);
void hold_handshake_waits(void);

/* ---- holding a thread ---- */
/* The next time @v (NULL: anybody) comes to @point it stays there. */
void hold_at(int point, GuestVcpu *v);
/* The same for a collect or clean of @e. */
void hold_round_at(const TrackerEngine *e, DirtyTrackerPoint point);
void hold_wait(void);    /* until it is there */
void hold_release(void); /* let it go */
/* The same for a point of the reaper. */
void hold_reaper_at(DirtyReaperPoint point);
/* Until a handshake waits for somebody; false: @r ended before. */
bool hold_wait_handshake(RoundThread *r);

#endif /* TESTS_UNIT_TRACKER_ORACLE_H */
