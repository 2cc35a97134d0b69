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

#include "dirty-reaper-internal.h"

static const BatchRange everything = { NULL };

DirtyReaper dirty_reaper = {
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

void dirty_reaper_note_longest(_Atomic uint64_t *longest, uint64_t ns)
{
    uint64_t old = dirty_stats_get(longest);

    while (ns > old && !atomic_compare_exchange_weak(longest, &old, ns)) {
        /* old is what another thread noted meanwhile */
    }
}

static void slot_free(void *p)
{
    ReaperSlot *slot = p;

    qemu_ram_unref(slot->rb);
    g_free(slot);
}

ReaperRing *dirty_reaper_find_ring_locked(CPUState *cpu)
{
    for (guint i = 0; dirty_reaper.rings && i < dirty_reaper.rings->len; i++) {
        ReaperRing *r = dirty_reaper.rings->pdata[i];

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
        ReaperRing *r = b->rings->pdata[i];

        r->in_flight--;
        if (r->full) {
            r->full = false;
            qemu_event_set(&r->cpu->wake);
        }
    }
    batch_land(&dirty_reaper.batches, b);
}

static void publish(const Batch *b)
{
    uint64_t fresh = dirty_pages_set_dirty(b->pages, b->nr,
                                           DIRTY_CLIENTS_NOCODE);

    dirty_reaper_count(&dirty_reaper.stats.refault, b->nr - fresh);
}

/*
 * The first @nr_harvested entries are reset when this returns, be it by another
 * thread: then that one had the lock, and has it until the pages are protected.
 */
static void reset(uint64_t nr_harvested)
{
    int64_t begin_ns;

    QEMU_LOCK_GUARD(&dirty_reaper.reset_lock);
    begin_ns = dirty_stats_clock_ns();
    dirty_reaper.nr_reset += dirty_reaper.engine->reset(
        nr_harvested - MIN(nr_harvested, dirty_reaper.nr_reset));
    dirty_reaper_count(&dirty_reaper.stats.reset_ns,
                       dirty_stats_clock_ns() - begin_ns);
}

/*
 * Reset what was harvested, then publish it: without the lock, which is given
 * up meanwhile. The reaper does not stop, and no ring or slot of the batch
 * goes, while it is in flight.
 */
static void TSA_NO_CHECK finish_batch_locked(Batch *b)
{
    uint64_t nr_harvested = dirty_reaper.nr_harvested;

    if (b->nr_unreset == 0) {
        return;
    }
    batch_take_off(&dirty_reaper.batches, b);
    qemu_mutex_unlock(&dirty_reaper.lock);
    test_point(DIRTY_REAPER_HARVESTED);
    reset(nr_harvested);
    test_point(DIRTY_REAPER_RESET);
    publish(b);
    dirty_reaper_count(&dirty_reaper.stats.batches, 1);
    test_point(DIRTY_REAPER_PUBLISHED);
    qemu_mutex_lock(&dirty_reaper.lock);
    land_locked(b);
}

static void TSA_REQUIRES(dirty_reaper.lock)
    wait_for_batches_locked(const BatchRange *range)
{
    batch_wait(&dirty_reaper.batches, &dirty_reaper.lock, range);
}

/* Mostly one page is in the same slot as the one before. */
typedef struct SlotMemo {
    uint32_t nr;
    const ReaperSlot *slot; /* NULL: look */
} SlotMemo;

/*
 * What @page means; NULL, and counted in one of these, if nothing. @last: the
 * slot looked up before.
 */
static const ReaperSlot *translate_locked(const DirtyRingPage *page,
                                          SlotMemo *last, uint64_t *unknown,
                                          uint64_t *beyond)
{
    const ReaperSlot *slot = last->slot;

    if (!slot || last->nr != page->slot) {
        slot = g_hash_table_lookup(dirty_reaper.slots,
                                   GUINT_TO_POINTER(page->slot));
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
static uint32_t harvest_locked(ReaperRing *r, Batch *b, uint32_t max)
{
    SlotMemo last = { 0 };
    uint64_t unknown = 0, beyond = 0;
    uint32_t n;

    if (dirty_reaper.engine->no_room &&
        dirty_ring_has(&r->ring, r->ring.entries)) {
        dirty_reaper.engine->no_room();
    }
    n = dirty_ring_harvest(&r->ring, dirty_reaper.pages,
                           MIN(max, b->cap - b->nr_unreset));

    if (n && !g_ptr_array_find(b->rings, r, NULL)) {
        g_ptr_array_add(b->rings, r);
        r->in_flight++;
    }
    for (uint32_t i = 0; i < n; i++) {
        const DirtyRingPage *page = &dirty_reaper.pages[i];
        const ReaperSlot *slot = translate_locked(page, &last, &unknown,
                                                  &beyond);

        if (slot) {
            b->pages[b->nr++] = (DirtyPage){
                slot->rb,
                slot->first_page + page->offset,
            };
        }
    }
    dirty_reaper_count(&dirty_reaper.stats.unknown, unknown);
    dirty_reaper_count(&dirty_reaper.stats.beyond, beyond);
    b->nr_unreset += n;
    dirty_reaper.nr_harvested += n;
    r->cpu->ring_stats.harvested += n;
    dirty_reaper_count(&dirty_reaper.stats.harvested, n);
    return n;
}

/* ---- a reap ---- */

static bool near_full(const ReaperRing *r)
{
    return r->full ||
           dirty_ring_has(&r->ring, dirty_ring_soft_limit(r->ring.entries));
}

static bool reaps(const ReaperRing *r, ReapCause cause)
{
    return cause == CAUSE_COLLECT || cause == CAUSE_DRAIN || near_full(r);
}

static const char *cause_name(ReapCause cause)
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
static uint64_t harvest_rings_locked(ReapCause cause, Batch *b)
{
    uint64_t entries = 0, removals = dirty_reaper.removals;
    uint32_t taken = 0; /* of ring i */
    guint i = 0;

    while (i < dirty_reaper.rings->len) {
        ReaperRing *r = dirty_reaper.rings->pdata[i];
        uint32_t n = 0;

        if (taken || reaps(r, cause)) {
            n = harvest_locked(r, b, r->ring.entries - taken);
        }
        entries += n;
        taken += n;
        if (n && b->nr_unreset == b->cap) {
            finish_batch_locked(b);
            if (removals != dirty_reaper.removals) {
                /* Another one may be in this place. */
                removals = dirty_reaper.removals;
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

static void count_reap(ReapCause cause, uint64_t entries, uint64_t ns)
{
    if (entries == 0) {
        return;
    }
    dirty_reaper_count(&dirty_reaper.stats.reaps[cause], 1);
    dirty_reaper_count(&dirty_reaper.stats.reap_ns, ns);
    dirty_cost_add(&dirty_reaper.stats.entry, (double)ns, entries,
                   DIRTY_COST_LEAST_PAGES);
    dirty_reaper_note_longest(&dirty_reaper.stats.longest_reap_ns, ns);
    dirty_reaper_note_longest(&dirty_reaper.stats.marked_reap_ns, ns);
    trace_dirty_reaper_reap(cause_name(cause), entries, ns);
}

/* Gives up the lock meanwhile. */
static void reap_locked(ReapCause cause)
{
    int64_t begin_ns = dirty_stats_clock_ns();
    uint64_t entries;
    Batch *b;

    if (!dirty_reaper.engine || dirty_reaper.rings->len == 0) {
        return;
    }
    b = batch_get(&dirty_reaper.batches, dirty_reaper.batch_cap);
    entries = harvest_rings_locked(cause, b);
    batch_put(&dirty_reaper.batches, b);
    count_reap(cause, entries, dirty_stats_clock_ns() - begin_ns);
}

/* What was written to @range before the call is published. */
static void collect(const BatchRange *range)
{
    QEMU_LOCK_GUARD(&dirty_reaper.lock);
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

static void look_locked(const ReaperRing *r, DirtyPageFunc *fn, void *opaque)
{
    SlotMemo last = { 0 };
    uint64_t dropped = 0; /* the harvest counts them */
    DirtyRingPage pages[256];
    uint32_t done = 0, n;

    do {
        n = dirty_ring_look(&r->ring, done, pages, G_N_ELEMENTS(pages));
        for (uint32_t i = 0; i < n; i++) {
            const ReaperSlot *slot = translate_locked(&pages[i], &last,
                                                      &dropped, &dropped);

            if (slot) {
                fn(slot->rb, slot->first_page + pages[i].offset, opaque);
            }
        }
        done += n;
    } while (n == G_N_ELEMENTS(pages));
}

void dirty_reaper_look(DirtyPageFunc *fn, void *opaque)
{
    QEMU_LOCK_GUARD(&dirty_reaper.lock);
    for (guint i = 0; dirty_reaper.rings && i < dirty_reaper.rings->len; i++) {
        look_locked(dirty_reaper.rings->pdata[i], fn, opaque);
    }
}

void dirty_reaper_wait(void)
{
    QEMU_LOCK_GUARD(&dirty_reaper.lock);
    wait_for_batches_locked(&everything);
}

void dirty_reaper_wait_range(RAMBlock *rb, uint64_t first_page,
                             uint64_t nr_pages)
{
    BatchRange range = { rb, first_page, first_page + nr_pages };

    QEMU_LOCK_GUARD(&dirty_reaper.lock);
    wait_for_batches_locked(&range);
}

/* Reap, and let nothing of @r (NULL: of anything) be in flight. */
static void TSA_REQUIRES(dirty_reaper.lock) drain_locked(const ReaperRing *r)
{
    reap_locked(CAUSE_DRAIN);
    while (r ? r->in_flight : dirty_reaper.batches.in_flight != NULL) {
        qemu_cond_wait(&dirty_reaper.batches.landed, &dirty_reaper.lock);
    }
}

/* ---- the thread ---- */

void dirty_reaper_wake_thread(void)
{
    uint64_t one = 1;
    ssize_t n;

    do {
        n = write(dirty_reaper.wake_fd, &one, sizeof(one));
    } while (n < 0 && errno == EINTR);
    /* EAGAIN: it has been told so often that it will surely look. */
}

static void *reaper_thread(void *opaque)
{
    struct pollfd pfd = { .fd = dirty_reaper.wake_fd, .events = POLLIN };

    for (;;) {
        uint64_t told;
        bool woken = poll(&pfd, 1, REAPER_PERIOD_MS) > 0;

        if (woken && read(dirty_reaper.wake_fd, &told, sizeof(told)) < 0) {
            woken = false;
        }
        if (atomic_load(&dirty_reaper.quit)) {
            break;
        }
        if (woken) {
            test_point(DIRTY_REAPER_WOKEN);
        }
        WITH_QEMU_LOCK_GUARD(&dirty_reaper.lock)
        {
            reap_locked(woken ? CAUSE_FULL : CAUSE_PERIOD);
        }
        atomic_store_explicit(&dirty_reaper.stats.bql_acquisitions,
                              bql_acquisitions_of_this_thread(),
                              memory_order_relaxed);
    }
    return NULL;
}

/* ---- begin and end ---- */

bool dirty_reaper_start(const DirtyReaperEngine *engine, Error **errp)
{
    assert(bql_locked() && engine->reset);
    dirty_reaper.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (dirty_reaper.wake_fd < 0) {
        error_setg_errno(errp, errno, "eventfd");
        return false;
    }
    atomic_store(&dirty_reaper.quit, false);
    WITH_QEMU_LOCK_GUARD(&dirty_reaper.lock)
    {
        assert(!dirty_reaper.engine);
        dirty_reaper.engine = engine;
        dirty_reaper.nr_harvested = dirty_reaper.nr_reset = 0;
        dirty_reaper.rings = g_ptr_array_new_with_free_func(g_free);
        dirty_reaper.slots = g_hash_table_new_full(NULL, NULL, NULL, slot_free);
    }
    if (!qemu_thread_create(&dirty_reaper.thread, "dirty-reaper", reaper_thread,
                            NULL, QEMU_THREAD_JOINABLE, errp)) {
        WITH_QEMU_LOCK_GUARD(&dirty_reaper.lock)
        {
            dirty_reaper.engine = NULL;
            g_clear_pointer(&dirty_reaper.rings, g_ptr_array_unref);
            g_clear_pointer(&dirty_reaper.slots, g_hash_table_unref);
        }
        close(dirty_reaper.wake_fd);
        return false;
    }
    atomic_store(&dirty_reaper.running, true);
    return true;
}

void dirty_reaper_stop(void)
{
    assert(bql_locked());
    WITH_QEMU_LOCK_GUARD(&dirty_reaper.lock)
    {
        assert(dirty_reaper.engine);
        drain_locked(NULL);
        for (guint i = 0; i < dirty_reaper.rings->len; i++) {
            qemu_event_set(
                &((ReaperRing *)dirty_reaper.rings->pdata[i])->cpu->wake);
        }
        /* From here on no ring is found, so none is waited for. */
        dirty_reaper.engine = NULL;
        g_clear_pointer(&dirty_reaper.rings, g_ptr_array_unref);
        g_clear_pointer(&dirty_reaper.slots, g_hash_table_unref);
        g_clear_pointer(&dirty_reaper.pages, g_free);
        batch_free_spare(&dirty_reaper.batches);
        dirty_reaper.batch_cap = 0;
    }
    atomic_store(&dirty_reaper.running, false);
    atomic_store(&dirty_reaper.quit, true);
    dirty_reaper_wake_thread();
    qemu_thread_join(&dirty_reaper.thread);
    close(dirty_reaper.wake_fd);
}

bool dirty_reaper_is_running(void)
{
    return atomic_load(&dirty_reaper.running);
}

void dirty_reaper_add_ring(CPUState *cpu, DirtyGfn *gfns, uint32_t entries)
{
    dirty_reaper_add_ring_at(cpu, gfns, entries, 0);
}

void dirty_reaper_add_ring_at(CPUState *cpu, DirtyGfn *gfns, uint32_t entries,
                              uint32_t next)
{
    ReaperRing *r = g_new0(ReaperRing, 1);

    r->cpu = cpu;
    r->ring = (DirtyRing){ .gfns = gfns, .entries = entries, .next = next };
    QEMU_LOCK_GUARD(&dirty_reaper.lock);
    assert(dirty_reaper.engine && !dirty_reaper_find_ring_locked(cpu));
    g_ptr_array_add(dirty_reaper.rings, r);
    cpu->ring_stats.has_ring = true;
    if (entries > dirty_reaper.batch_cap) {
        dirty_reaper.batch_cap = entries;
        dirty_reaper.pages = g_renew(DirtyRingPage, dirty_reaper.pages,
                                     entries);
    }
}

uint32_t dirty_reaper_remove_ring(CPUState *cpu)
{
    uint32_t next = 0;
    ReaperRing *r;

    QEMU_LOCK_GUARD(&dirty_reaper.lock);
    r = dirty_reaper_find_ring_locked(cpu);
    if (r) {
        drain_locked(r);
        qemu_event_set(&cpu->wake);
        next = r->ring.next;
        g_ptr_array_remove(dirty_reaper.rings, r);
        dirty_reaper.removals++;
    }
    return next;
}

void dirty_reaper_skip(CPUState *cpu, uint32_t n)
{
    ReaperRing *r;

    QEMU_LOCK_GUARD(&dirty_reaper.lock);
    r = dirty_reaper_find_ring_locked(cpu);
    if (r) {
        assert(!r->in_flight);
        dirty_ring_skip(&r->ring, n);
    }
}

void dirty_reaper_add_slot(uint32_t slot, RAMBlock *rb, uint64_t first_page,
                           uint64_t nr_pages)
{
    ReaperSlot *s = g_new(ReaperSlot, 1);

    *s = (ReaperSlot){ qemu_ram_ref(rb), first_page, nr_pages };
    QEMU_LOCK_GUARD(&dirty_reaper.lock);
    assert(dirty_reaper.engine);
    if (!g_hash_table_insert(dirty_reaper.slots, GUINT_TO_POINTER(slot), s)) {
        g_assert_not_reached();
    }
}

void dirty_reaper_remove_slot(uint32_t slot)
{
    QEMU_LOCK_GUARD(&dirty_reaper.lock);
    assert(dirty_reaper.engine);
    reap_locked(CAUSE_DRAIN);
    wait_for_batches_locked(&everything);
    g_hash_table_remove(dirty_reaper.slots, GUINT_TO_POINTER(slot));
}
