/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of include/system/dirty-reaper.h, per promise, with an engine of the
 * test's own: producers are plain threads, and reset looks whether the reaper
 * keeps its order.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/cpus.h"
#include "system/dirty-memory.h"
#include "system/dirty-reaper.h"
#include "system/memory.h"
#include "test-ring.h"

#define PAGE  DIRTY_PAGE_SIZE
#define PAGES UINT64_C(8192)
#define MIG   DIRTY_MEMORY_MIGRATION
#define SOFT  (256 - DIRTY_RING_RESERVED)

/* ---- the engine ---- */

#define MAX_CPUS 4

static struct {
    RAMBlock *rb;
    CPUState *cpus[MAX_CPUS];
    TestRing *rings[MAX_CPUS];
    uint64_t slot_first; /* page of the block where slot 1 begins */
    uint32_t resets, due;
    unsigned no_room; /* rings found without any; under the reaper's lock */
} eng;

static void protect(uint32_t slot, uint64_t offset)
{
    if (slot == 1 && offset < PAGES) {
        /* Order: nobody has heard of the page yet. */
        g_assert_false(ram_block_get_dirty(
            eng.rb, (eng.slot_first + offset) * PAGE, PAGE, MIG));
    }
}

static uint32_t eng_reset(uint32_t due)
{
    uint32_t n = 0;

    g_assert_false(current_cpu);
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        if (eng.rings[i]) {
            n += dirty_ring_recycle(&eng.rings[i]->p, protect);
        }
    }
    eng.resets++;
    g_assert_cmpuint(n, >=, due);
    eng.due += due;
    return n;
}

/* Under the reaper's lock. */
static void eng_no_room(void)
{
    eng.no_room++;
}

static const DirtyReaperEngine engine = {
    .reset = eng_reset,
    .no_room = eng_no_room,
};

static CPUState *cpu_new(int index)
{
    CPUState *cpu = g_new0(CPUState, 1);

    cpu->cpu_index = index;
    qemu_event_init(&cpu->wake, false);
    return cpu;
}

static void add_vcpu(unsigned i)
{
    eng.rings[i] = ring_new(256, 0);
    dirty_reaper_add_ring(eng.cpus[i], eng.rings[i]->p.gfns, 256);
}

static void remove_vcpu(unsigned i)
{
    dirty_reaper_remove_ring(eng.cpus[i]);
    g_assert_cmpuint(dirty_ring_used(&eng.rings[i]->p), ==, 0);
    ring_delete(g_steal_pointer(&eng.rings[i]));
}

/* One vCPU, slot 1 = the whole block. */
static void begin(void)
{
    if (!eng.rb) {
        eng.rb = qemu_ram_alloc(PAGES * PAGE, 0, NULL, &error_abort);
        for (unsigned i = 0; i < MAX_CPUS; i++) {
            eng.cpus[i] = cpu_new(i);
        }
    }
    ram_block_collect_dirty(eng.rb, 0, PAGES * PAGE, MIG, NULL);
    eng.slot_first = 0;
    g_assert_true(dirty_reaper_start(&engine, &error_abort));
    dirty_reaper_add_slot(1, eng.rb, 0, PAGES);
    add_vcpu(0);
}

static void end(void)
{
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        if (eng.rings[i]) {
            remove_vcpu(i);
        }
    }
    dirty_reaper_stop();
    dirty_reaper_test_hook = NULL;
}

static void push(unsigned cpu, uint32_t slot, uint64_t offset)
{
    g_assert_nonnull(dirty_ring_push(&eng.rings[cpu]->p, slot, offset));
}

static uint64_t nr_dirty(void)
{
    return ram_block_count_dirty(eng.rb, 0, PAGES * PAGE, MIG);
}

static void test_collect(void)
{
    DirtyReaperStats a, b;

    begin();
    add_vcpu(1);
    dirty_reaper_get_stats(&a);
    for (unsigned i = 0; i < 100; i++) {
        push(0, 1, i);
        push(1, 1, 8191 - 2 * i);
    }
    push(1, 1, 50); /* the same page from two vCPUs */
    g_assert_cmpuint(nr_dirty(), ==, 0);
    dirty_reaper_collect();
    g_assert_cmpuint(nr_dirty(), ==, 200);
    dirty_reaper_collect(); /* nothing new */
    dirty_reaper_get_stats(&b);
    g_assert_cmpuint(b.entries_harvested - a.entries_harvested, ==, 201);
    g_assert_cmpuint(b.entries_refault - a.entries_refault, ==, 1);
    g_assert_cmpuint(b.reaps_collect - a.reaps_collect, ==, 1);
    g_assert_cmpuint(b.batches - a.batches, ==, 1);
    g_assert_cmpuint(b.reaps_full - a.reaps_full, ==, 0);
    g_assert_cmpuint(b.rings_now, ==, 2);
    end();
}

typedef struct Seen {
    unsigned n;
    uint64_t sum;
} Seen;

static void see(RAMBlock *rb, uint64_t page, void *opaque)
{
    Seen *s = opaque;

    g_assert_true(rb == eng.rb);
    s->n++;
    s->sum += page;
}

/* A look finds all that is in rings, by slot, and takes nothing. */
static void test_look(void)
{
    DirtyReaperStats a, b;
    Seen s = { 0 };

    begin();
    add_vcpu(1);
    dirty_reaper_look(see, &s);
    g_assert_cmpuint(s.n, ==, 0);
    for (unsigned i = 0; i < 200; i++) {
        push(0, 1, i);
    }
    dirty_reaper_collect();
    g_assert_cmpuint(nr_dirty(), ==, 200);
    for (unsigned i = 0; i < 256; i++) { /* full, and past its end */
        push(0, 1, 1000 + i);
    }
    push(1, 1, 5000);
    push(1, 7, 1);     /* no such slot */
    push(1, 1, PAGES); /* beyond */
    dirty_reaper_get_stats(&a);
    dirty_reaper_look(see, &s);
    g_assert_cmpuint(s.n, ==, 257);
    g_assert_cmpuint(s.sum, ==, 256 * 1000 + 255 * 256 / 2 + 5000);
    dirty_reaper_get_stats(&b);
    g_assert_cmpmem(&a, sizeof(a), &b, sizeof(b));
    g_assert_cmpuint(nr_dirty(), ==, 200);
    dirty_reaper_collect();
    g_assert_cmpuint(nr_dirty(), ==, 457);
    end();
}

/* Three rings and a batch that holds one ring's worth. */
static void test_batches(void)
{
    uint32_t resets, due;

    begin();
    add_vcpu(1);
    add_vcpu(2);
    for (unsigned i = 0; i < 256; i++) {
        for (unsigned cpu = 0; cpu < 3; cpu++) {
            push(cpu, 1, cpu * 1000 + i);
        }
    }
    resets = eng.resets;
    due = eng.due;
    dirty_reaper_collect();
    g_assert_cmpuint(nr_dirty(), ==, 768);
    g_assert_cmpuint(eng.resets - resets, ==, 3);
    g_assert_cmpuint(eng.due - due, ==, 768);
    end();
}

static void test_unknown_is_dropped(void)
{
    DirtyReaperStats a, b;

    begin();
    dirty_reaper_get_stats(&a);
    push(0, 1, 10);
    push(0, 2, 10);           /* no such slot */
    push(0, 1 << 16 | 1, 10); /* another address space's */
    push(0, 1, PAGES);        /* past the end */
    push(0, 1, UINT64_MAX);
    push(0, 1, PAGES - 1);
    dirty_reaper_collect();
    dirty_reaper_get_stats(&b);
    g_assert_cmpuint(nr_dirty(), ==, 2);
    g_assert_cmpuint(b.entries_unknown - a.entries_unknown, ==, 2);
    g_assert_cmpuint(b.entries_beyond - a.entries_beyond, ==, 2);
    /* Dropped ones are room again, too. */
    g_assert_cmpuint(dirty_ring_used(&eng.rings[0]->p), ==, 0);
    end();
}

/*
 * A slot goes while its pages are in a ring, and its number comes back with
 * another meaning: old entries mean what they meant when they were made.
 */
static void test_old_layout(void)
{
    begin();
    push(0, 1, 20);
    dirty_reaper_remove_slot(1);
    dirty_reaper_add_slot(1, eng.rb, 4000, 100);
    eng.slot_first = 4000;
    push(0, 1, 20);
    dirty_reaper_collect();
    g_assert_cmpuint(nr_dirty(), ==, 2);
    g_assert_true(ram_block_get_dirty(eng.rb, 20 * PAGE, PAGE, MIG));
    g_assert_true(ram_block_get_dirty(eng.rb, 4020 * PAGE, PAGE, MIG));
    end();
}

/* vCPUs come and go; what they wrote stays. */
static void test_vcpus_come_and_go(void)
{
    CpuRingStats a, b, others;

    begin();
    dirty_reaper_vcpu_stats(eng.cpus[0], &a);
    dirty_reaper_vcpu_stats(eng.cpus[1], &others);
    for (unsigned round = 0; round < 20; round++) {
        add_vcpu(1);
        push(1, 1, round);
        push(0, 1, 100 + round);
        remove_vcpu(1);
        g_assert_cmpuint(nr_dirty(), ==, 2 * (round + 1));
    }
    g_assert_true(dirty_reaper_vcpu_stats(eng.cpus[0], &b));
    g_assert_cmpuint(b.harvested - a.harvested, ==, 20);
    /* Of all the rings that it had. */
    g_assert_true(dirty_reaper_vcpu_stats(eng.cpus[1], &b));
    g_assert_cmpuint(b.harvested - others.harvested, ==, 20);
    g_assert_false(dirty_reaper_vcpu_stats(eng.cpus[3], &b));
    end();
}

/* ---- holding a reap ---- */

static struct {
    _Atomic int point; /* -1: none */
    QemuEvent reached, go;
} hold;

static void hold_hook(DirtyReaperPoint point)
{
    int want = point;

    if (atomic_compare_exchange_strong(&hold.point, &want, -1)) {
        qemu_event_set(&hold.reached);
        qemu_event_wait(&hold.go);
    }
}

static void hold_at(DirtyReaperPoint point)
{
    qemu_event_reset(&hold.reached);
    qemu_event_reset(&hold.go);
    atomic_store(&hold.point, point);
    dirty_reaper_test_hook = hold_hook;
}

static void hold_wait(void)
{
    g_assert_true(qemu_event_timedwait(&hold.reached, 60000));
}

typedef struct Waiter {
    QemuThread thread;
    QemuEvent done;
    unsigned cpu;
    bool hard;
    uint64_t first, nr; /* pages */
} Waiter;

static void *collect_thread(void *opaque)
{
    dirty_reaper_collect();
    qemu_event_set(&((Waiter *)opaque)->done);
    return NULL;
}

static void *clean_thread(void *opaque)
{
    dirty_reaper_wait();
    qemu_event_set(&((Waiter *)opaque)->done);
    return NULL;
}

static void *collect_range_thread(void *opaque)
{
    Waiter *w = opaque;

    dirty_reaper_collect_range(eng.rb, w->first, w->nr);
    qemu_event_set(&w->done);
    return NULL;
}

static void *wait_range_thread(void *opaque)
{
    Waiter *w = opaque;

    dirty_reaper_wait_range(eng.rb, w->first, w->nr);
    qemu_event_set(&w->done);
    return NULL;
}

static void *full_thread(void *opaque)
{
    Waiter *w = opaque;

    dirty_reaper_vcpu_full(eng.cpus[w->cpu], w->hard);
    qemu_event_set(&w->done);
    return NULL;
}

static void waiter_start(Waiter *w, void *(*fn)(void *))
{
    qemu_event_init(&w->done, false);
    qemu_thread_create(&w->thread, "waiter", fn, w, QEMU_THREAD_JOINABLE,
                       &error_abort);
}

static void waiter_join(Waiter *w)
{
    qemu_thread_join(&w->thread);
    qemu_event_destroy(&w->done);
}

/*
 * The interleaving that this forbids: the reaper has taken a page from the
 * ring and not published it; a collect finds the ring empty, returns, and the
 * migration ends without the page.
 */
static void batch_in_flight(DirtyReaperPoint point, void *(*fn)(void *))
{
    Waiter reap = { 0 }, w = { 0 };

    begin();
    push(0, 1, 33);
    hold_at(point);
    waiter_start(&reap, collect_thread);
    hold_wait();
    waiter_start(&w, fn);
    g_assert_false(qemu_event_timedwait(&w.done, 30));
    qemu_event_set(&hold.go);
    waiter_join(&w);
    g_assert_cmpuint(nr_dirty(), ==, 1);
    waiter_join(&reap);
    end();
}

static void test_collect_waits_for_harvested(void)
{
    batch_in_flight(DIRTY_REAPER_HARVESTED, collect_thread);
}

static void test_collect_waits_for_reset(void)
{
    batch_in_flight(DIRTY_REAPER_RESET, collect_thread);
}

static void test_clean_waits(void)
{
    batch_in_flight(DIRTY_REAPER_RESET, clean_thread);
}

/*
 * A reap holds page 33. Who asks for other pages gets his, and does not wait:
 * also if they are in the same ring. Who asks for that one waits.
 */
static void disjoint(DirtyReaperPoint point)
{
    Waiter reap = { 0 };
    Waiter with = { .first = 0, .nr = 34 }, after = { .first = 34, .nr = 100 };
    Waiter clean_with = { .first = 33, .nr = 1 };
    Waiter clean_after = { .first = 34, .nr = 1 };

    begin();
    push(0, 1, 33);
    hold_at(point);
    waiter_start(&reap, collect_thread);
    hold_wait();
    push(0, 1, 40);
    push(0, 1, 20);
    waiter_start(&after, collect_range_thread);
    waiter_join(&after);
    g_assert_true(ram_block_get_dirty(eng.rb, 40 * PAGE, PAGE, MIG));
    g_assert_false(ram_block_get_dirty(eng.rb, 33 * PAGE, PAGE, MIG));
    /* What was reaped meanwhile has room again; the held ones, too. */
    g_assert_cmpuint(dirty_ring_used(&eng.rings[0]->p), ==, 0);
    waiter_start(&clean_after, wait_range_thread);
    waiter_join(&clean_after);

    push(0, 1, 21);
    /* It publishes its own, and waits for the other's. */
    waiter_start(&with, collect_range_thread);
    waiter_start(&clean_with, wait_range_thread);
    while (!ram_block_get_dirty(eng.rb, 21 * PAGE, PAGE, MIG)) {
        g_usleep(100);
    }
    g_assert_false(qemu_event_timedwait(&with.done, 30));
    g_assert_false(qemu_event_timedwait(&clean_with.done, 0));
    qemu_event_set(&hold.go);
    waiter_join(&with);
    waiter_join(&clean_with);
    g_assert_cmpuint(nr_dirty(), ==, 4);
    waiter_join(&reap);
    end();
}

static void test_disjoint_harvested(void)
{
    disjoint(DIRTY_REAPER_HARVESTED);
}

static void test_disjoint_reset(void)
{
    disjoint(DIRTY_REAPER_RESET);
}

/* A slot, a ring, the reaper itself: not while a batch is in flight. */
static void *remove_slot_thread(void *opaque)
{
    dirty_reaper_remove_slot(1);
    qemu_event_set(&((Waiter *)opaque)->done);
    return NULL;
}

static void *remove_ring_thread(void *opaque)
{
    dirty_reaper_remove_ring(eng.cpus[0]);
    qemu_event_set(&((Waiter *)opaque)->done);
    return NULL;
}

static void test_slot_goes_in_flight(void)
{
    batch_in_flight(DIRTY_REAPER_RESET, remove_slot_thread);
}

static void test_ring_goes_in_flight(void)
{
    batch_in_flight(DIRTY_REAPER_HARVESTED, remove_ring_thread);
}

/* Its entries are taken, and are no room yet: it waits without asking again. */
static void test_full_in_flight(void)
{
    DirtyReaperStats a, b;
    Waiter reap = { 0 }, w = { 0 };

    begin();
    dirty_reaper_get_stats(&a);
    for (unsigned i = 0; i < 256; i++) {
        push(0, 1, i);
    }
    hold_at(DIRTY_REAPER_HARVESTED);
    waiter_start(&reap, collect_thread);
    hold_wait();
    waiter_start(&w, full_thread);
    g_assert_false(qemu_event_timedwait(&w.done, 30));
    qemu_event_set(&hold.go);
    waiter_join(&w);
    waiter_join(&reap);
    g_assert_cmpuint(dirty_ring_used(&eng.rings[0]->p), ==, 0);
    dirty_reaper_get_stats(&b);
    g_assert_cmpuint(b.soft_full_exits - a.soft_full_exits, ==, 1);
    end();
}

typedef struct HalfCollector {
    QemuThread thread;
    uint64_t first;
    _Atomic bool stop;
} HalfCollector;

static void *half_thread(void *opaque)
{
    HalfCollector *h = opaque;

    while (!atomic_load(&h->stop)) {
        dirty_reaper_collect_range(eng.rb, h->first, PAGES / 2);
    }
    return NULL;
}

/* ---- full rings ---- */

static void fill(unsigned cpu, unsigned n, uint64_t first)
{
    for (unsigned i = 0; i < n; i++) {
        push(cpu, 1, first + i);
    }
}

/* Only what is near full is reaped; the others keep their pages writable. */
static void test_full_reaps_only_full(void)
{
    DirtyReaperStats a, b;
    Waiter w = { 0 };

    begin();
    add_vcpu(1);
    add_vcpu(2);
    dirty_reaper_get_stats(&a);
    fill(0, SOFT, 0);
    fill(1, SOFT - 1, 1000);
    fill(2, SOFT + 10, 2000);
    waiter_start(&w, full_thread);
    waiter_join(&w);
    dirty_reaper_wait(); /* ring 2 may be in a second batch */
    dirty_reaper_get_stats(&b);
    g_assert_cmpuint(dirty_ring_used(&eng.rings[0]->p), ==, 0);
    g_assert_cmpuint(dirty_ring_used(&eng.rings[1]->p), ==, SOFT - 1);
    g_assert_cmpuint(dirty_ring_used(&eng.rings[2]->p), ==, 0);
    g_assert_cmpuint(b.reaps_full - a.reaps_full, ==, 1);
    g_assert_cmpuint(b.soft_full_exits - a.soft_full_exits, ==, 1);
    g_assert_cmpuint(b.hard_full_exits - a.hard_full_exits, ==, 0);
    g_assert_cmpuint(b.full_wait_ns, >, a.full_wait_ns);
    g_assert_cmpuint(b.longest_wait_ns, >, 0);
    end();
}

static void test_hard_full(void)
{
    DirtyReaperStats a, b;
    Waiter w = { .hard = true };

    begin();
    dirty_reaper_get_stats(&a);
    fill(0, 256, 0);
    waiter_start(&w, full_thread);
    waiter_join(&w);
    dirty_reaper_get_stats(&b);
    g_assert_cmpuint(b.hard_full_exits - a.hard_full_exits, ==, 1);
    g_assert_cmpuint(nr_dirty(), ==, 256);
    end();
}

/* The last place of a ring taken: its producer may have gone on. */
static void test_no_room(void)
{
    begin();
    eng.no_room = 0;
    fill(0, 255, 0);
    dirty_reaper_collect();
    g_assert_cmpuint(eng.no_room, ==, 0);
    fill(0, 256, 1000);
    dirty_reaper_collect();
    g_assert_cmpuint(eng.no_room, ==, 1);
    fill(0, 1, 2000);
    dirty_reaper_collect();
    g_assert_cmpuint(eng.no_room, ==, 1);
    end();
}

/* A vCPU that is asked to stop does not wait for the reaper. */
static void test_kick_ends_the_wait(void)
{
    Waiter w = { 0 };

    begin();
    fill(0, SOFT, 0);
    hold_at(DIRTY_REAPER_WOKEN);
    waiter_start(&w, full_thread);
    hold_wait();
    g_assert_false(qemu_event_timedwait(&w.done, 20));
    atomic_store(&eng.cpus[0]->exit_request, true);
    qemu_event_set(&eng.cpus[0]->wake);
    waiter_join(&w);
    g_assert_cmpuint(dirty_ring_used(&eng.rings[0]->p), ==, SOFT);
    atomic_store(&eng.cpus[0]->exit_request, false);
    qemu_event_set(&hold.go);
    end();
    g_assert_cmpuint(nr_dirty(), ==, SOFT);
}

/* The wake-up is lost (here: never sent): the backstop finds the ring. */
static void test_backstop(void)
{
    DirtyReaperStats a, b;

    begin();
    add_vcpu(1);
    dirty_reaper_get_stats(&a);
    fill(0, SOFT, 0);
    fill(1, 10, 1000);
    for (unsigned i = 0; dirty_ring_used(&eng.rings[0]->p); i++) {
        g_assert_cmpuint(i, <, 60000);
        g_usleep(1000);
    }
    dirty_reaper_wait();
    dirty_reaper_get_stats(&b);
    g_assert_cmpuint(b.reaps_period - a.reaps_period, ==, 1);
    g_assert_cmpuint(dirty_ring_used(&eng.rings[1]->p), ==, 10);
    end();
}

typedef struct Writer {
    unsigned cpu;
    QemuThread thread;
    _Atomic bool stop;
    _Atomic uint64_t pushed;
} Writer;

/* A vCPU that writes flat out, and waits when its ring is near full. */
static void *writer_thread(void *opaque)
{
    Writer *w = opaque;
    TestRing *r = eng.rings[w->cpu];
    uint64_t n = 0;

    while (!atomic_load(&w->stop)) {
        if (dirty_ring_soft_full(&r->p)) {
            dirty_reaper_vcpu_full(eng.cpus[w->cpu], false);
            continue;
        }
        /* Slot 9 is dropped: no order of marks is asserted for it. */
        push(w->cpu, 9, n++ % PAGES);
        atomic_store(&w->pushed, n);
    }
    return NULL;
}

/* Two threads collect half of the block each, over and over, meanwhile. */
static void test_halves(void)
{
    HalfCollector h[2] = { { .first = 0 }, { .first = PAGES / 2 } };
    Writer w[2] = { { .cpu = 0 }, { .cpu = 1 } };
    DirtyReaperStats a, b;

    begin();
    add_vcpu(1);
    dirty_reaper_get_stats(&a);
    for (unsigned i = 0; i < 2; i++) {
        qemu_thread_create(&h[i].thread, "half", half_thread, &h[i],
                           QEMU_THREAD_JOINABLE, &error_abort);
        qemu_thread_create(&w[i].thread, "writer", writer_thread, &w[i],
                           QEMU_THREAD_JOINABLE, &error_abort);
    }
    g_usleep(300 * 1000);
    for (unsigned i = 0; i < 2; i++) {
        atomic_store(&w[i].stop, true);
        qemu_thread_join(&w[i].thread);
        atomic_store(&h[i].stop, true);
        qemu_thread_join(&h[i].thread);
    }
    dirty_reaper_collect();
    dirty_reaper_get_stats(&b);
    g_assert_cmpuint(b.entries_harvested - a.entries_harvested, ==,
                     atomic_load(&w[0].pushed) + atomic_load(&w[1].pushed));
    g_assert_cmpuint(atomic_load(&w[0].pushed), >, 256);
    end();
}

/*
 * The big lock is held by this thread all the time, here and for a second:
 * the rings are emptied and their writers go on. Nobody takes it, the reaper
 * least of all.
 */
static void test_big_lock_held(void)
{
    Writer w[2] = { { .cpu = 0 }, { .cpu = 1 } };
    uint64_t total;
    DirtyReaperStats a, b;

    begin();
    add_vcpu(1);
    g_assert_true(bql_locked());
    total = bql_acquisitions_total();
    dirty_reaper_get_stats(&a);
    for (unsigned i = 0; i < 2; i++) {
        qemu_thread_create(&w[i].thread, "writer", writer_thread, &w[i],
                           QEMU_THREAD_JOINABLE, &error_abort);
    }
    g_usleep(1000 * 1000);
    for (unsigned i = 0; i < 2; i++) {
        /* Many times what a ring holds. */
        g_assert_cmpuint(atomic_load(&w[i].pushed), >, 20 * 256);
        atomic_store(&w[i].stop, true);
    }
    for (unsigned i = 0; i < 2; i++) {
        qemu_thread_join(&w[i].thread);
    }
    dirty_reaper_get_stats(&b);
    g_assert_cmpuint(b.reaps_full - a.reaps_full, >, 20);
    g_assert_cmpuint(b.thread_bql_acquisitions, ==, 0);
    g_assert_cmpuint(bql_acquisitions_total(), ==, total);
    g_test_message("%" PRIu64 " entries in %" PRIu64 " reaps",
                   b.entries_harvested - a.entries_harvested,
                   b.reaps_full - a.reaps_full);
    dirty_reaper_collect();
    dirty_reaper_get_stats(&b);
    g_assert_cmpuint(b.entries_harvested - a.entries_harvested, ==,
                     atomic_load(&w[0].pushed) + atomic_load(&w[1].pushed));
    end();
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    get_system_memory();
    qemu_event_init(&hold.reached, false);
    qemu_event_init(&hold.go, false);
    atomic_store(&hold.point, -1);
    g_test_add_func("/reaper/collect", test_collect);
    g_test_add_func("/reaper/look", test_look);
    g_test_add_func("/reaper/batches", test_batches);
    g_test_add_func("/reaper/unknown-is-dropped", test_unknown_is_dropped);
    g_test_add_func("/reaper/old-layout", test_old_layout);
    g_test_add_func("/reaper/vcpus-come-and-go", test_vcpus_come_and_go);
    g_test_add_func("/reaper/in-flight/harvested",
                    test_collect_waits_for_harvested);
    g_test_add_func("/reaper/in-flight/reset", test_collect_waits_for_reset);
    g_test_add_func("/reaper/in-flight/clean", test_clean_waits);
    g_test_add_func("/reaper/in-flight/disjoint-harvested",
                    test_disjoint_harvested);
    g_test_add_func("/reaper/in-flight/disjoint-reset", test_disjoint_reset);
    g_test_add_func("/reaper/in-flight/slot-goes", test_slot_goes_in_flight);
    g_test_add_func("/reaper/in-flight/ring-goes", test_ring_goes_in_flight);
    g_test_add_func("/reaper/in-flight/full", test_full_in_flight);
    g_test_add_func("/reaper/halves", test_halves);
    g_test_add_func("/reaper/full/only-full", test_full_reaps_only_full);
    g_test_add_func("/reaper/full/hard", test_hard_full);
    g_test_add_func("/reaper/full/no-room", test_no_room);
    g_test_add_func("/reaper/full/kick-ends-the-wait", test_kick_ends_the_wait);
    g_test_add_func("/reaper/full/backstop", test_backstop);
    g_test_add_func("/reaper/big-lock-held", test_big_lock_held);
    return g_test_run();
}
