/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reaper: see include/system/dirty-reaper.h. */
#include "qemu/osdep.h"

#include <poll.h>
#include <sys/eventfd.h>

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/cpus.h"
#include "system/dirty-cost.h"
#include "system/dirty-memory.h"
#include "system/dirty-reaper.h"
#include "system/ram-block.h"
#include "trace-system.h"

#include "dirty-batch.h"
#include "dirty-stats.h"

#define PERIOD_MS 1000

typedef struct Ring {
    CPUState *cpu;
    DirtyRing ring;
    bool full; /* its vCPU waits for a reap, or sleeps and has told us */
    unsigned in_flight; /* batches with entries of it */
} Ring;

typedef struct Slot {
    RAMBlock *rb;
    uint64_t first_page, nr_pages;
} Slot;

static const BatchRange everything = { NULL };

typedef enum Cause {
    CAUSE_FULL,
    CAUSE_COLLECT,
    CAUSE_PERIOD,
    CAUSE_DRAIN,
    CAUSE_NUM
} Cause;

/* One per process, like the tracker that it belongs to. */
static struct {
    /* ---- guarded by lock ---- */
    QemuMutex lock;
    const DirtyReaperEngine *engine; /* NULL: not running */
    GPtrArray *rings;                /* of Ring */
    GHashTable *slots;               /* slot number -> Slot */
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
} reaper = {
    .lock = { PTHREAD_MUTEX_INITIALIZER },
    .batches = BATCHES_INIT,
    .reset_lock = { PTHREAD_MUTEX_INITIALIZER },
};

void (*dirty_reaper_test_hook)(DirtyReaperPoint point);

static void test_point(DirtyReaperPoint point)
{
    if (unlikely(dirty_reaper_test_hook)) {
        dirty_reaper_test_hook(point);
    }
}

static void count(_Atomic uint64_t *counter, uint64_t n)
{
    dirty_stats_add(counter, n);
}

static void note_longest(_Atomic uint64_t *longest, uint64_t ns)
{
    uint64_t old = dirty_stats_get(longest);

    while (ns > old && !atomic_compare_exchange_weak(longest, &old, ns)) {
        /* old is what another thread noted meanwhile */
    }
}

static void slot_free(void *p)
{
    Slot *slot = p;

    qemu_ram_unref(slot->rb);
    g_free(slot);
}

static Ring *find_ring_locked(CPUState *cpu)
{
    for (guint i = 0; reaper.rings && i < reaper.rings->len; i++) {
        Ring *r = reaper.rings->pdata[i];

        if (r->cpu == cpu) {
            return r;
        }
    }
    return NULL;
}

/* ---- one batch ---- */

/* Its vCPUs have room again: those that wait for it go on. */
static void land_locked(Batch *b)
{
    for (guint i = 0; i < b->rings->len; i++) {
        Ring *r = b->rings->pdata[i];

        r->in_flight--;
        if (r->full) {
            r->full = false;
            qemu_event_set(&r->cpu->wake);
        }
    }
    batch_land(&reaper.batches, b);
}

static void publish(const Batch *b)
{
    uint64_t fresh = dirty_pages_set_dirty(b->pages, b->nr,
                                           DIRTY_CLIENTS_NOCODE);

    count(&reaper.stats.refault, b->nr - fresh);
}

/*
 * The first @nr_harvested entries are reset when this returns, be it by another
 * thread: then that one had the lock, and has it until the pages are protected.
 */
static void reset(uint64_t nr_harvested)
{
    int64_t begin_ns;

    QEMU_LOCK_GUARD(&reaper.reset_lock);
    begin_ns = dirty_stats_clock_ns();
    reaper.nr_reset += reaper.engine->reset(nr_harvested -
                                            MIN(nr_harvested, reaper.nr_reset));
    count(&reaper.stats.reset_ns, dirty_stats_clock_ns() - begin_ns);
}

/*
 * Reset what was harvested, then publish it: without the lock, which is given
 * up meanwhile. The reaper does not stop, and no ring or slot of the batch
 * goes, while it is in flight.
 */
static void TSA_NO_CHECK finish_batch_locked(Batch *b)
{
    uint64_t nr_harvested = reaper.nr_harvested;

    if (b->nr_unreset == 0) {
        return;
    }
    batch_take_off(&reaper.batches, b);
    qemu_mutex_unlock(&reaper.lock);
    test_point(DIRTY_REAPER_HARVESTED);
    reset(nr_harvested);
    test_point(DIRTY_REAPER_RESET);
    publish(b);
    count(&reaper.stats.batches, 1);
    test_point(DIRTY_REAPER_PUBLISHED);
    qemu_mutex_lock(&reaper.lock);
    land_locked(b);
}

static void wait_for_batches_locked(const BatchRange *range)
{
    batch_wait(&reaper.batches, &reaper.lock, range);
}

/* Mostly one page is in the same slot as the one before. */
typedef struct SlotMemo {
    uint32_t nr;
    const Slot *slot; /* NULL: look */
} SlotMemo;

/*
 * What @page means; NULL, and counted in one of these, if nothing. @last: the
 * slot looked up before.
 */
static const Slot *translate_locked(const DirtyRingPage *page, SlotMemo *last,
                                    uint64_t *unknown, uint64_t *beyond)
{
    const Slot *slot = last->slot;

    if (!slot || last->nr != page->slot) {
        slot = g_hash_table_lookup(reaper.slots, GUINT_TO_POINTER(page->slot));
        *last = (SlotMemo){ page->slot, slot };
    }
    if (!slot) {
        (*unknown)++;
        return NULL;
    }
    if (page->offset >= slot->nr_pages) {
        (*beyond)++;
        return NULL;
    }
    return slot;
}

/* At most @max entries. Returns how many. */
static uint32_t harvest_locked(Ring *r, Batch *b, uint32_t max)
{
    SlotMemo last = { 0 };
    uint64_t unknown = 0, beyond = 0;
    uint32_t n = dirty_ring_harvest(&r->ring, reaper.pages,
                                    MIN(max, b->cap - b->nr_unreset));

    if (n && !g_ptr_array_find(b->rings, r, NULL)) {
        g_ptr_array_add(b->rings, r);
        r->in_flight++;
    }
    for (uint32_t i = 0; i < n; i++) {
        const DirtyRingPage *page = &reaper.pages[i];
        const Slot *slot = translate_locked(page, &last, &unknown, &beyond);

        if (slot) {
            b->pages[b->nr++] = (DirtyPage){
                slot->rb,
                slot->first_page + page->offset,
            };
        }
    }
    count(&reaper.stats.unknown, unknown);
    count(&reaper.stats.beyond, beyond);
    b->nr_unreset += n;
    reaper.nr_harvested += n;
    r->cpu->ring_stats.harvested += n;
    count(&reaper.stats.harvested, n);
    return n;
}

/* ---- a reap ---- */

static bool near_full(const Ring *r)
{
    return r->full ||
           dirty_ring_has(&r->ring, dirty_ring_soft_limit(r->ring.entries));
}

static bool reaps(const Ring *r, Cause cause)
{
    return cause == CAUSE_COLLECT || cause == CAUSE_DRAIN || near_full(r);
}

static const char *cause_name(Cause cause)
{
    static const char *const names[CAUSE_NUM] = {
        [CAUSE_FULL] = "full",
        [CAUSE_COLLECT] = "collect",
        [CAUSE_PERIOD] = "period",
        [CAUSE_DRAIN] = "drain",
    };

    return names[cause];
}

/*
 * At most one round through each ring: a fast writer does not keep us here.
 * Returns the number of entries. Gives up the lock between batches.
 */
static uint64_t harvest_rings_locked(Cause cause, Batch *b)
{
    uint64_t entries = 0, removals = reaper.removals;
    uint32_t taken = 0; /* of ring i */
    guint i = 0;

    while (i < reaper.rings->len) {
        Ring *r = reaper.rings->pdata[i];
        uint32_t n = 0;

        if (taken || reaps(r, cause)) {
            n = harvest_locked(r, b, r->ring.entries - taken);
        }
        entries += n;
        taken += n;
        if (n && b->nr_unreset == b->cap) {
            finish_batch_locked(b);
            if (removals != reaper.removals) {
                /* Another one may be in this place. */
                removals = reaper.removals;
                i = taken = 0;
            }
            continue;
        }
        i++;
        taken = 0;
    }
    finish_batch_locked(b);
    return entries;
}

static void count_reap(Cause cause, uint64_t entries, uint64_t ns)
{
    if (entries == 0) {
        return;
    }
    count(&reaper.stats.reaps[cause], 1);
    count(&reaper.stats.reap_ns, ns);
    dirty_cost_add(&reaper.stats.entry, (double)ns, entries,
                   DIRTY_COST_LEAST_PAGES);
    note_longest(&reaper.stats.longest_reap_ns, ns);
    note_longest(&reaper.stats.marked_reap_ns, ns);
    trace_dirty_reaper_reap(cause_name(cause), entries, ns);
}

/* Gives up the lock meanwhile. */
static void reap_locked(Cause cause)
{
    int64_t begin_ns = dirty_stats_clock_ns();
    uint64_t entries;
    Batch *b;

    if (!reaper.engine || reaper.rings->len == 0) {
        return;
    }
    b = batch_get(&reaper.batches, reaper.batch_cap);
    entries = harvest_rings_locked(cause, b);
    batch_put(&reaper.batches, b);
    count_reap(cause, entries, dirty_stats_clock_ns() - begin_ns);
}

/* What was written to @range before the call is published. */
static void collect(const BatchRange *range)
{
    QEMU_LOCK_GUARD(&reaper.lock);
    reap_locked(CAUSE_COLLECT);
    wait_for_batches_locked(range);
}

void dirty_reaper_collect(void)
{
    collect(&everything);
}

void dirty_reaper_collect_range(RAMBlock *rb, uint64_t first_page,
                                uint64_t nr_pages)
{
    collect(&(BatchRange){ rb, first_page, first_page + nr_pages });
}

static void look_locked(const Ring *r, DirtyPageFunc *fn, void *opaque)
{
    SlotMemo last = { 0 };
    uint64_t dropped = 0; /* the harvest counts them */
    DirtyRingPage pages[256];
    uint32_t done = 0, n;

    do {
        n = dirty_ring_look(&r->ring, done, pages, G_N_ELEMENTS(pages));
        for (uint32_t i = 0; i < n; i++) {
            const Slot *slot = translate_locked(&pages[i], &last, &dropped,
                                                &dropped);

            if (slot) {
                fn(slot->rb, slot->first_page + pages[i].offset, opaque);
            }
        }
        done += n;
    } while (n == G_N_ELEMENTS(pages));
}

void dirty_reaper_look(DirtyPageFunc *fn, void *opaque)
{
    QEMU_LOCK_GUARD(&reaper.lock);
    for (guint i = 0; reaper.rings && i < reaper.rings->len; i++) {
        look_locked(reaper.rings->pdata[i], fn, opaque);
    }
}

void dirty_reaper_wait(void)
{
    QEMU_LOCK_GUARD(&reaper.lock);
    wait_for_batches_locked(&everything);
}

void dirty_reaper_wait_range(RAMBlock *rb, uint64_t first_page,
                             uint64_t nr_pages)
{
    BatchRange range = { rb, first_page, first_page + nr_pages };

    QEMU_LOCK_GUARD(&reaper.lock);
    wait_for_batches_locked(&range);
}

/* Reap, and let nothing of @r (NULL: of anything) be in flight. */
static void drain_locked(const Ring *r)
{
    reap_locked(CAUSE_DRAIN);
    while (r ? r->in_flight : reaper.batches.in_flight != NULL) {
        qemu_cond_wait(&reaper.batches.landed, &reaper.lock);
    }
}

/* ---- the thread ---- */

static void wake_thread(void)
{
    uint64_t one = 1;
    ssize_t n;

    do {
        n = write(reaper.wake_fd, &one, sizeof(one));
    } while (n < 0 && errno == EINTR);
    /* EAGAIN: it has been told so often that it will surely look. */
}

static void *reaper_thread(void *opaque)
{
    struct pollfd pfd = { .fd = reaper.wake_fd, .events = POLLIN };

    for (;;) {
        uint64_t told;
        bool woken = poll(&pfd, 1, PERIOD_MS) > 0;

        if (woken && read(reaper.wake_fd, &told, sizeof(told)) < 0) {
            woken = false;
        }
        if (atomic_load(&reaper.quit)) {
            break;
        }
        if (woken) {
            test_point(DIRTY_REAPER_WOKEN);
        }
        WITH_QEMU_LOCK_GUARD(&reaper.lock)
        {
            reap_locked(woken ? CAUSE_FULL : CAUSE_PERIOD);
        }
        atomic_store_explicit(&reaper.stats.bql_acquisitions,
                              bql_acquisitions_of_this_thread(),
                              memory_order_relaxed);
    }
    return NULL;
}

/* ---- begin and end ---- */

bool dirty_reaper_start(const DirtyReaperEngine *engine, Error **errp)
{
    assert(bql_locked() && engine->reset);
    reaper.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (reaper.wake_fd < 0) {
        error_setg_errno(errp, errno, "eventfd");
        return false;
    }
    atomic_store(&reaper.quit, false);
    WITH_QEMU_LOCK_GUARD(&reaper.lock)
    {
        assert(!reaper.engine);
        reaper.engine = engine;
        reaper.nr_harvested = reaper.nr_reset = 0;
        reaper.rings = g_ptr_array_new_with_free_func(g_free);
        reaper.slots = g_hash_table_new_full(NULL, NULL, NULL, slot_free);
    }
    if (!qemu_thread_create(&reaper.thread, "dirty-reaper", reaper_thread, NULL,
                            QEMU_THREAD_JOINABLE, errp)) {
        WITH_QEMU_LOCK_GUARD(&reaper.lock)
        {
            reaper.engine = NULL;
            g_clear_pointer(&reaper.rings, g_ptr_array_unref);
            g_clear_pointer(&reaper.slots, g_hash_table_unref);
        }
        close(reaper.wake_fd);
        return false;
    }
    atomic_store(&reaper.running, true);
    return true;
}

void dirty_reaper_stop(void)
{
    assert(bql_locked());
    WITH_QEMU_LOCK_GUARD(&reaper.lock)
    {
        assert(reaper.engine);
        drain_locked(NULL);
        for (guint i = 0; i < reaper.rings->len; i++) {
            qemu_event_set(&((Ring *)reaper.rings->pdata[i])->cpu->wake);
        }
        /* From here on no ring is found, so none is waited for. */
        reaper.engine = NULL;
        g_clear_pointer(&reaper.rings, g_ptr_array_unref);
        g_clear_pointer(&reaper.slots, g_hash_table_unref);
        g_clear_pointer(&reaper.pages, g_free);
        batch_free_spare(&reaper.batches);
        reaper.batch_cap = 0;
    }
    atomic_store(&reaper.running, false);
    atomic_store(&reaper.quit, true);
    wake_thread();
    qemu_thread_join(&reaper.thread);
    close(reaper.wake_fd);
}

bool dirty_reaper_is_running(void)
{
    return atomic_load(&reaper.running);
}

void dirty_reaper_add_ring(CPUState *cpu, DirtyGfn *gfns, uint32_t entries)
{
    dirty_reaper_add_ring_at(cpu, gfns, entries, 0);
}

void dirty_reaper_add_ring_at(CPUState *cpu, DirtyGfn *gfns, uint32_t entries,
                              uint32_t next)
{
    Ring *r = g_new0(Ring, 1);

    r->cpu = cpu;
    r->ring = (DirtyRing){ .gfns = gfns, .entries = entries, .next = next };
    QEMU_LOCK_GUARD(&reaper.lock);
    assert(reaper.engine && !find_ring_locked(cpu));
    g_ptr_array_add(reaper.rings, r);
    cpu->ring_stats.has_ring = true;
    if (entries > reaper.batch_cap) {
        reaper.batch_cap = entries;
        reaper.pages = g_renew(DirtyRingPage, reaper.pages, entries);
    }
}

uint32_t dirty_reaper_remove_ring(CPUState *cpu)
{
    uint32_t next = 0;
    Ring *r;

    QEMU_LOCK_GUARD(&reaper.lock);
    r = find_ring_locked(cpu);
    if (r) {
        drain_locked(r);
        qemu_event_set(&cpu->wake);
        next = r->ring.next;
        g_ptr_array_remove(reaper.rings, r);
        reaper.removals++;
    }
    return next;
}

void dirty_reaper_add_slot(uint32_t slot, RAMBlock *rb, uint64_t first_page,
                           uint64_t nr_pages)
{
    Slot *s = g_new(Slot, 1);

    *s = (Slot){ qemu_ram_ref(rb), first_page, nr_pages };
    QEMU_LOCK_GUARD(&reaper.lock);
    assert(reaper.engine);
    if (!g_hash_table_insert(reaper.slots, GUINT_TO_POINTER(slot), s)) {
        g_assert_not_reached();
    }
}

void dirty_reaper_remove_slot(uint32_t slot)
{
    QEMU_LOCK_GUARD(&reaper.lock);
    assert(reaper.engine);
    reap_locked(CAUSE_DRAIN);
    wait_for_batches_locked(&everything);
    g_hash_table_remove(reaper.slots, GUINT_TO_POINTER(slot));
}

/* ---- full rings ---- */

/* Marks @cpu's ring as waited for; false: there is nothing to wait for. */
static bool begin_wait(CPUState *cpu, bool hard)
{
    Ring *r;

    QEMU_LOCK_GUARD(&reaper.lock);
    r = find_ring_locked(cpu);
    /* What is in flight is not room yet. */
    if (!r || (!r->in_flight && !dirty_ring_has(&r->ring, 1))) {
        return false;
    }
    r->full = true;
    if (hard) {
        cpu->ring_stats.hard_full_exits++;
        count(&reaper.stats.hard_full, 1);
    } else {
        cpu->ring_stats.soft_full_exits++;
        count(&reaper.stats.soft_full, 1);
    }
    wake_thread();
    return true;
}

void dirty_reaper_vcpu_sleeps(CPUState *cpu, bool hard)
{
    begin_wait(cpu, hard);
}

static bool is_waited_for(CPUState *cpu)
{
    const Ring *r;

    QEMU_LOCK_GUARD(&reaper.lock);
    r = find_ring_locked(cpu);
    return r && r->full;
}

void dirty_reaper_vcpu_full(CPUState *cpu, bool hard)
{
    int64_t begin_ns = dirty_stats_clock_ns();
    uint64_t ns;

    if (!begin_wait(cpu, hard)) {
        return;
    }
    for (;;) {
        /* Reset, look, wait: who changes what we look at sets it after. */
        qemu_event_reset(&cpu->wake);
        if (atomic_load(&cpu->exit_request) || !is_waited_for(cpu)) {
            break;
        }
        qemu_event_wait(&cpu->wake);
    }
    ns = dirty_stats_clock_ns() - begin_ns;
    count(&reaper.stats.full_wait_ns, ns);
    dirty_cost_add(&reaper.stats.full_exit, (double)ns, 1, 0);
    note_longest(&reaper.stats.longest_wait_ns, ns);
    note_longest(&reaper.stats.marked_wait_ns, ns);
}

/* ---- what is known ---- */

bool dirty_reaper_entered(CPUState *cpu, uint64_t *pages)
{
    Ring *r;

    QEMU_LOCK_GUARD(&reaper.lock);
    r = find_ring_locked(cpu);
    if (!r) {
        return false;
    }
    *pages = cpu->ring_stats.harvested + dirty_ring_count(&r->ring);
    return true;
}

uint64_t dirty_reaper_soft_full_exits(void)
{
    return dirty_stats_get(&reaper.stats.soft_full);
}

void dirty_reaper_get_stats(DirtyReaperStats *stats)
{
    *stats = (DirtyReaperStats){
        .entries_harvested = dirty_stats_get(&reaper.stats.harvested),
        .entries_refault = dirty_stats_get(&reaper.stats.refault),
        .entries_unknown = dirty_stats_get(&reaper.stats.unknown),
        .entries_beyond = dirty_stats_get(&reaper.stats.beyond),
        .batches = dirty_stats_get(&reaper.stats.batches),
        .reaps_full = dirty_stats_get(&reaper.stats.reaps[CAUSE_FULL]),
        .reaps_collect = dirty_stats_get(&reaper.stats.reaps[CAUSE_COLLECT]),
        .reaps_period = dirty_stats_get(&reaper.stats.reaps[CAUSE_PERIOD]),
        .reaps_drain = dirty_stats_get(&reaper.stats.reaps[CAUSE_DRAIN]),
        .reap_ns = dirty_stats_get(&reaper.stats.reap_ns),
        .reset_ns = dirty_stats_get(&reaper.stats.reset_ns),
        .longest_reap_ns = dirty_stats_get(&reaper.stats.longest_reap_ns),
        .soft_full_exits = dirty_stats_get(&reaper.stats.soft_full),
        .hard_full_exits = dirty_stats_get(&reaper.stats.hard_full),
        .full_wait_ns = dirty_stats_get(&reaper.stats.full_wait_ns),
        .longest_wait_ns = dirty_stats_get(&reaper.stats.longest_wait_ns),
        .entry_ns = dirty_cost_ns(&reaper.stats.entry),
        .full_exit_ns = dirty_cost_ns(&reaper.stats.full_exit),
        .marked_longest_reap_ns = dirty_stats_get(&reaper.stats.marked_reap_ns),
        .marked_longest_wait_ns = dirty_stats_get(&reaper.stats.marked_wait_ns),
        .period_ms = PERIOD_MS,
        .thread_bql_acquisitions = dirty_stats_get(
            &reaper.stats.bql_acquisitions),
    };
    QEMU_LOCK_GUARD(&reaper.lock);
    stats->rings_now = reaper.rings ? reaper.rings->len : 0;
    stats->slots_now = reaper.slots ? g_hash_table_size(reaper.slots) : 0;
}

void dirty_reaper_mark(void)
{
    atomic_store(&reaper.stats.marked_reap_ns, 0);
    atomic_store(&reaper.stats.marked_wait_ns, 0);
}

bool dirty_reaper_vcpu_stats(CPUState *cpu, CpuRingStats *stats)
{
    QEMU_LOCK_GUARD(&reaper.lock);
    *stats = cpu->ring_stats;
    return stats->has_ring;
}
