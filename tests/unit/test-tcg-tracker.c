/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The software engine's bitmap tracker: the rules that lose nothing, each
 * with the interleaving that it forbids, forced by test hooks.
 *
 * Rules are those of docs/architecture.rst, "Rules that lose nothing":
 *   1 clean returns only when no store through the old permission is left
 *   2 clean takes exactly what was collected
 *   4 nothing is stored through a map that is gone
 *   5 one client's taking hides nothing from another
 * (3 is about rings.)
 */
#include "qemu/osdep.h"

#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/dirty-tracker.h"
#include "native.h"
#include "tcg-harness.h"

#define CODE    (GUEST_RAM_BASE + 0x200000)
#define FLAG    (GUEST_RAM_BASE + 0x300000) /* page of the test, not tracked */
#define TRACK   (GUEST_RAM_BASE + 0x1000000)
#define OFFSET  (TRACK - GUEST_RAM_BASE)
#define PAGE    TCG_PAGE_SIZE
#define MIG     DIRTY_MEMORY_MIGRATION
#define MIGMASK (1u << DIRTY_MEMORY_MIGRATION)

#define ops (&tcg_bitmap_tracker)

static TcgVcpu *va, *vb, *vmax;
static RAMBlock *rb;

/* ---- holding a thread at a point ---- */

static struct {
    _Atomic bool armed;
    TcgTestPoint point;
    TcgVcpu *v;
    QemuEvent reached, go;
    QemuEvent waiting; /* a handshake waits for somebody */
} hold;

/* The next time anybody comes to @slow.point it takes that long. */
static struct {
    TcgTestPoint point;
    unsigned us;
} slow;

static void hook(TcgTestPoint point, TcgVcpu *v)
{
    if (slow.us && point == slow.point) {
        g_usleep(slow.us);
        slow.us = 0;
    }
    if (point == TCG_POINT_WAITING) {
        qemu_event_set(&hold.waiting);
    }
    if (atomic_load(&hold.armed) && point == hold.point &&
        (!hold.v || hold.v == v)) {
        atomic_store(&hold.armed, false);
        qemu_event_set(&hold.reached);
        qemu_event_wait(&hold.go);
    }
}

/* The next time @v (NULL: anybody) comes to @point it stays there. */
static void hold_at(TcgTestPoint point, TcgVcpu *v)
{
    hold.point = point;
    hold.v = v;
    qemu_event_reset(&hold.reached);
    qemu_event_reset(&hold.go);
    qemu_event_reset(&hold.waiting);
    atomic_store(&hold.armed, true);
}

static void wait_held(void)
{
    g_assert_true(qemu_event_timedwait(&hold.reached, 10000));
}

static void release(void)
{
    qemu_event_set(&hold.go);
}

/* ---- tracking ---- */

static void track(void)
{
    DirtyTrackerFirst first;

    g_assert_true(ops->start(&rb, 1, &first, &error_abort));
    g_assert_cmpint(first, ==, DIRTY_TRACKER_FIRST_WRITTEN);
}

static void untrack(void)
{
    ops->stop(&rb, 1);
    ram_block_collect_dirty(rb, 0, GUEST_RAM_BYTES, MIG, NULL);
}

/* Take what the block's bitmap has for the first 64 pages of TRACK. */
static uint64_t take(unsigned client)
{
    uint64_t mask = 0;
    unsigned i;

    for (i = 0; i < 64; i++) {
        if (ram_block_get_dirty(rb, OFFSET + i * PAGE, PAGE, client)) {
            mask |= UINT64_C(1) << i;
        }
    }
    ram_block_collect_dirty(rb, OFFSET, 64 * PAGE, client, NULL);
    return mask;
}

static uint64_t collect(void)
{
    ops->collect(rb, OFFSET, 64 * PAGE, 0);
    return take(MIG);
}

static void clean(unsigned page, unsigned n)
{
    ops->clean(rb, OFFSET + page * PAGE, n * PAGE);
}

typedef struct Cleaner {
    QemuThread thread;
    QemuEvent done;
} Cleaner;

static void *cleaner_thread(void *opaque)
{
    clean(0, 64);
    qemu_event_set(&((Cleaner *)opaque)->done);
    return NULL;
}

static void cleaner_start(Cleaner *c)
{
    qemu_event_init(&c->done, false);
    qemu_thread_create(&c->thread, "clean", cleaner_thread, c,
                       QEMU_THREAD_JOINABLE, &error_abort);
}

static uint64_t content(unsigned page)
{
    return guest_read64(TRACK + page * PAGE);
}

/* ---- guests ---- */

/* Store x2 to [x1], end. */
static void code_store(void)
{
    GUEST_CODE(CODE, A64_WORD_STR(2, 1), A64_WORD_WFI);
}

/* Store, wait for FLAG, store again, end. */
static void code_store_wait_store(void)
{
    guest_write64(FLAG, 0);
    GUEST_CODE(CODE, A64_WORD_STR(2, 1), 0xf9400083, 0xb4ffffe3,
               A64_WORD_STR(5, 1), A64_WORD_WFI);
}

static void set_regs(TcgVcpu *v, unsigned page, uint64_t first, uint64_t second)
{
    v->env->xregs[1] = TRACK + page * PAGE;
    v->env->xregs[2] = first;
    v->env->xregs[4] = FLAG;
    v->env->xregs[5] = second;
}

static void store(TcgVcpu *v, unsigned page, uint64_t val)
{
    code_store();
    set_regs(v, page, val, 0);
    guest_run(v, CODE);
}

static void wait_content(unsigned page, uint64_t val)
{
    unsigned i;

    for (i = 0; content(page) != val; i++) {
        g_assert_cmpuint(i, <, 10000);
        g_usleep(1000);
    }
}

/* ---- tests ---- */

static void test_reports_what_was_written(void)
{
    track();
    g_assert_cmphex(collect(), ==, 0);
    store(va, 3, 1);
    store(va, 63, 1);
    store(vb, 3, 2);
    g_assert_cmphex(collect(), ==, UINT64_C(1) << 3 | UINT64_C(1) << 63);
    g_assert_cmphex(collect(), ==, 0);
    clean(0, 64);
    g_assert_cmphex(collect(), ==, 0);
    store(vb, 63, 3);
    g_assert_cmphex(collect(), ==, UINT64_C(1) << 63);
    untrack();
    store(va, 5, 1);
    g_assert_cmphex(take(MIG), ==, 0);
    /* Started anew, nothing of the first time is left. */
    track();
    g_assert_cmphex(collect(), ==, 0);
    store(va, 3, 4);
    g_assert_cmphex(collect(), ==, UINT64_C(1) << 3);
    untrack();
}

/* A write entry from before start must not hide the next store. */
static void test_start_forgets_permissions(void)
{
    GuestThread t;

    code_store_wait_store();
    set_regs(va, 7, 11, 12);
    guest_start(&t, va, CODE);
    wait_content(7, 11);
    track();
    guest_write64(FLAG, 1);
    guest_join(&t);
    g_assert_cmphex(collect(), ==, UINT64_C(1) << 7);
    untrack();
}

/*
 * Rule 1, through the TLB: the vCPU has a write entry, the page is collected
 * and cleaned while it spins inside guest code. If the entry outlived clean,
 * the second store would go unseen.
 */
static void test_entry_does_not_outlive_clean(void)
{
    GuestThread t;

    track();
    code_store_wait_store();
    set_regs(va, 1, 21, 22);
    guest_start(&t, va, CODE);
    wait_content(1, 21);
    g_assert_cmphex(collect(), ==, 2);
    clean(1, 1);
    g_assert_cmphex(collect(), ==, 0);
    guest_write64(FLAG, 1);
    guest_join(&t);
    g_assert_cmpuint(content(1), ==, 22);
    g_assert_cmphex(collect(), ==, 2);
    untrack();
}

/*
 * Rule 1, in the slow path: the vCPU has marked the page but not stored yet.
 * Collect reports it; if clean returned now, the content read next would be
 * the old one and the store would never be reported again.
 */
static void test_clean_waits_for_marked_store(void)
{
    GuestThread t;
    Cleaner c;

    store(va, 2, 30);
    track();
    code_store();
    set_regs(va, 2, 31, 0);
    hold_at(TCG_POINT_MARKED, va);
    guest_start(&t, va, CODE);
    wait_held();
    g_assert_cmphex(collect(), ==, 4);
    cleaner_start(&c);
    /* It does wait; and it cannot have ended while the store is not done. */
    g_assert_true(qemu_event_timedwait(&hold.waiting, 10000));
    g_assert_false(qemu_event_timedwait(&c.done, 20));
    g_assert_cmpuint(content(2), ==, 30);
    release();
    qemu_thread_join(&c.thread);
    g_assert_cmpuint(content(2), ==, 31);
    guest_join(&t);
    g_assert_cmphex(collect(), ==, 0);
    untrack();
}

/*
 * A fault that has seen the page clean, but marked nothing: collect and clean
 * pass it by. What it then does must be reported, and the page protected
 * again by the next clean.
 */
static void test_fault_before_marking(void)
{
    GuestThread t;

    track();
    store(va, 4, 40);
    g_assert_cmphex(collect(), ==, 1 << 4);
    clean(0, 64);
    code_store_wait_store();
    set_regs(va, 4, 41, 42);
    hold_at(TCG_POINT_FAULT, va);
    guest_start(&t, va, CODE);
    wait_held();
    g_assert_cmphex(collect(), ==, 0);
    clean(0, 64);
    release();
    wait_content(4, 41);
    g_assert_cmphex(collect(), ==, 1 << 4);
    clean(0, 64);
    guest_write64(FLAG, 1);
    guest_join(&t);
    g_assert_cmphex(collect(), ==, 1 << 4);
    untrack();
}

/*
 * A fault between "writable" and "log". A tracker that logs first loses here:
 * collect takes the log bit, clean the (not yet writable) page, then the
 * fault makes the page writable and nobody ever takes that back.
 */
static void test_fault_half_marked(void)
{
    GuestThread t;

    track();
    code_store_wait_store();
    set_regs(va, 6, 51, 52);
    hold_at(TCG_POINT_FAULT_HALF, va);
    guest_start(&t, va, CODE);
    wait_held();
    g_assert_cmphex(collect(), ==, 0);
    clean(0, 64);
    release();
    wait_content(6, 51);
    g_assert_cmphex(collect(), ==, 1 << 6);
    clean(0, 64);
    guest_write64(FLAG, 1);
    guest_join(&t);
    g_assert_cmphex(collect(), ==, 1 << 6);
    untrack();
}

/*
 * The other vCPU finds the page writable while the first one has not logged
 * it. Its store happened before the collect, so it must be in it.
 */
static void test_second_writer_logs_for_the_first(void)
{
    GuestThread t;
    Cleaner c;

    track();
    code_store();
    set_regs(va, 8, 61, 0);
    hold_at(TCG_POINT_FAULT_HALF, va);
    guest_start(&t, va, CODE);
    wait_held();
    set_regs(vb, 8, 62, 0);
    guest_run(vb, CODE);
    g_assert_cmpuint(content(8), ==, 62);
    g_assert_cmphex(collect(), ==, 1 << 8);
    cleaner_start(&c);
    g_assert_true(qemu_event_timedwait(&hold.waiting, 10000));
    release();
    qemu_thread_join(&c.thread);
    guest_join(&t);
    /* The first one's store came before clean's end: seen by who reads now. */
    g_assert_cmpuint(content(8), ==, 61);
    collect();
    clean(0, 64);
    store(vb, 8, 63);
    g_assert_cmphex(collect(), ==, 1 << 8);
    untrack();
}

/* Rule 2: what nobody collected is not cleaned away, nor a neighbour. */
static void test_clean_takes_only_collected(void)
{
    TcgRam *ram = tcg_ram_get(rb);
    uint64_t faults;

    track();
    store(va, 10, 1);
    store(va, 11, 1);
    store(va, 12, 1);
    clean(0, 64);
    g_assert_cmphex(collect(), ==, 7 << 10);
    store(va, 13, 1);
    clean(11, 1);
    clean(13, 1);
    g_assert_true(test_bit_atomic(OFFSET / PAGE + 10, ram->writable));
    g_assert_false(test_bit_atomic(OFFSET / PAGE + 11, ram->writable));
    g_assert_true(test_bit_atomic(OFFSET / PAGE + 12, ram->writable));
    g_assert_true(test_bit_atomic(OFFSET / PAGE + 13, ram->writable));
    faults = atomic_load(&va->stats.dirty_faults);
    store(va, 10, 2);
    store(va, 11, 2);
    store(va, 12, 2);
    store(va, 13, 2);
    /* Only 11 was re-armed; 13 is still logged from before. */
    g_assert_cmpuint(atomic_load(&va->stats.dirty_faults) - faults, ==, 1);
    g_assert_cmphex(collect(), ==, UINT64_C(1) << 11 | UINT64_C(1) << 13);
    untrack();
}

/* clean stopped between its two steps; a store in between is either waited
 * for or faults. */
static void test_store_inside_clean(void)
{
    Cleaner c;

    track();
    store(va, 9, 71);
    g_assert_cmphex(collect(), ==, 1 << 9);
    hold_at(TCG_POINT_CLEAN_TAKEN, NULL);
    cleaner_start(&c);
    wait_held();
    store(va, 9, 72);
    release();
    qemu_thread_join(&c.thread);
    /* Whether it was logged or not: content read now is current. */
    g_assert_cmpuint(content(9), ==, 72);
    collect();
    clean(0, 64);
    store(va, 9, 73);
    g_assert_cmphex(collect(), ==, 1 << 9);
    untrack();
}

/* A page taken from the log, not yet in the set of the collected. */
static void *collector_thread(void *opaque)
{
    ops->collect(rb, OFFSET, 64 * PAGE, 0);
    return NULL;
}

static void test_store_inside_collect(void)
{
    QemuThread thread;

    track();
    store(va, 14, 81);
    hold_at(TCG_POINT_COLLECTED, NULL);
    qemu_thread_create(&thread, "collect", collector_thread, NULL,
                       QEMU_THREAD_JOINABLE, &error_abort);
    wait_held();
    store(vb, 14, 82);
    release();
    qemu_thread_join(&thread);
    g_assert_cmphex(take(MIG), ==, 1 << 14);
    clean(0, 64);
    g_assert_cmpuint(content(14), ==, 82);
    collect();
    clean(0, 64);
    store(vb, 14, 83);
    g_assert_cmphex(collect(), ==, 1 << 14);
    untrack();
}

/* A vCPU that sleeps in WFI is out: clean does not wait for it, and it does
 * not come back with what it knew. */
static void test_halted_vcpu_forgets(void)
{
    track();
    store(va, 15, 1);
    g_assert_true(va->cs->halted);
    g_assert_cmphex(collect(), ==, 1 << 15);
    clean(0, 64);
    store(va, 15, 2);
    g_assert_cmphex(collect(), ==, 1 << 15);
    untrack();
}

static uint64_t slow_read(void *opaque, hwaddr addr, unsigned size)
{
    return 99;
}

static void slow_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
}

static const MemoryRegionOps slow_ops = {
    .read = slow_read,
    .write = slow_write,
    .valid = { 1, 8 },
    .impl = { 1, 8 },
};

/* A vCPU that waits for the BQL in MMIO is out too: the BQL's holder may
 * clean. Otherwise this would never end. */
static void TSA_REQUIRES(bql) test_clean_under_bql_while_mmio_waits(void)
{
    MemoryRegion mr;
    GuestThread t;
    unsigned i;

    memory_region_init_io(&mr, NULL, &slow_ops, NULL, "slow", PAGE);
    memory_region_add_subregion(get_system_memory(), 0x10000000, &mr);
    track();
    GUEST_CODE(CODE, A64_WORD_STR(2, 1), 0xf9400083, A64_WORD_STR(3, 1),
               A64_WORD_WFI);
    set_regs(va, 16, 91, 0);
    va->env->xregs[4] = 0x10000000;
    g_assert_true(bql_locked());
    guest_start(&t, va, CODE);
    wait_content(16, 91);
    for (i = 0; atomic_load(&va->active); i++) {
        g_assert_cmpuint(i, <, 10000);
        g_usleep(1000);
    }
    g_assert_cmphex(collect(), ==, 1 << 16);
    clean(0, 64);
    bql_unlock();
    guest_join(&t);
    bql_lock();
    g_assert_cmpuint(content(16), ==, 99);
    g_assert_cmphex(collect(), ==, 1 << 16);
    untrack();
    memory_region_del_subregion(get_system_memory(), &mr);
    memory_region_destroy(&mr);
}

/*
 * Rule 4: when a change of the memory map returns, nobody stores through the
 * old one; and what was stored before is in the log.
 */
static void test_unmapped_while_writing(void)
{
    MemoryRegion extra;
    GuestThread t;
    RAMBlock *block;
    DirtyTrackerFirst first;
    uint64_t before, *host;

    memory_region_init_ram(&extra, NULL, "extra", 16 * PAGE, &error_abort);
    memory_region_add_subregion(get_system_memory(), 0x80000000, &extra);
    block = extra.ram_block;
    host = memory_region_get_ram_ptr(&extra);
    g_assert_true(ops->start(&block, 1, &first, &error_abort));
    /* 1: add x5, x5, #1 ; str x5, [x1] ; b 1b */
    GUEST_CODE(CODE, 0x910004a5, A64_WORD_STR(5, 1), A64_WORD_B(-2));
    va->env->xregs[1] = 0x80000000;
    guest_start(&t, va, CODE);
    while (__atomic_load_n(host, __ATOMIC_RELAXED) < 1000) {
        g_usleep(100);
    }
    memory_region_del_subregion(get_system_memory(), &extra);
    before = __atomic_load_n(host, __ATOMIC_RELAXED);
    ops->collect(block, 0, 16 * PAGE, 0);
    g_assert_cmpuint(ram_block_count_dirty(block, 0, 16 * PAGE, MIG), ==, 1);
    guest_join(&t);
    g_assert_cmpuint(__atomic_load_n(host, __ATOMIC_RELAXED), ==, before);
    /* It ended by a synchronous external abort of a write. */
    g_assert_cmphex(va->env->sys.esr_el1, ==, 0x96000050);
    g_assert_cmphex(va->env->sys.far_el1, ==, 0x80000000);
    ops->stop(&block, 1);
    memory_region_destroy(&extra);
}

/* Rule 5. */
static void test_clients_do_not_eat_each_other(void)
{
    take(DIRTY_MEMORY_VGA);
    track();
    store(va, 17, 1);
    g_assert_cmphex(collect(), ==, 1 << 17);
    g_assert_cmphex(take(DIRTY_MEMORY_VGA), ==, 1 << 17);
    untrack();
}

/* Each kind of store on a page of its own; crossing ones mark both. */
static void test_every_kind_of_store_marks(void)
{
    static const struct {
        uint32_t words[2];
        unsigned offset;
        uint64_t mask;
    } kinds[] = {
        { { 0x39000022, A64_WORD_WFI }, 0, 1 },    /* strb w2, [x1] */
        { { 0xf8004022, A64_WORD_WFI }, 4090, 3 }, /* stur x2, [x1, #4] */
        { { 0xa93f8c22, A64_WORD_WFI }, 4096, 3 }, /* stp x2, x3, [x1, #-8] */
        { { 0xc85f7c23, 0xc8067c22 }, 0, 1 },      /* ldxr, stxr */
        { { 0xc87f1424, 0xc8260c22 }, 0, 1 },      /* ldxp, stxp */
        { { 0xc89ffc22, A64_WORD_WFI }, 0, 1 },    /* stlr */
        { { 0xd50b7421, A64_WORD_WFI }, 0, 1 },    /* dc zva */
        { { 0xf8220023, A64_WORD_WFI }, 0, 1 },    /* ldadd */
        { { 0xc8a27c23, A64_WORD_WFI }, 0, 1 },    /* cas */
        { { 0x48227c24, A64_WORD_WFI }, 0, 1 },    /* casp */
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(kinds); i++) {
        GUEST_CODE(CODE, kinds[i].words[0], kinds[i].words[1], A64_WORD_WFI);
        track();
        vmax->env->xregs[1] = TRACK + 20 * PAGE + kinds[i].offset;
        g_assert_cmphex(guest_run(vmax, CODE), ==, 0);
        g_assert_cmphex(collect(), ==, kinds[i].mask << 20);
        untrack();
    }
}

/* Loads, and a store exclusive that fails, mark nothing. */
static void test_loads_mark_nothing(void)
{
    GUEST_CODE(CODE, A64_WORD_LDR(2, 1), 0xd5033f5f, 0xc8067c22, A64_WORD_WFI);
    track();
    set_regs(va, 30, 0, 0);
    g_assert_cmphex(guest_run(va, CODE), ==, 0);
    g_assert_cmpuint(va->env->xregs[6], ==, 1);
    g_assert_cmphex(collect(), ==, 0);
    untrack();
}

/* Generations of write entries wrap; each time all must be forgotten. */
static void test_generations_wrap(void)
{
    unsigned i;

    track();
    for (i = 0; i < 1200; i++) {
        store(va, 31, i);
        g_assert_cmphex(collect(), ==, UINT64_C(1) << 31);
        clean(0, 64);
    }
    untrack();
}

/* A page that is dirty already costs one fault, not one per store. */
static void test_dirty_page_costs_nothing(void)
{
    uint64_t fills;

    /* 1: str x2, [x1] ; subs x0, x0, #1 ; b.ne 1b ; wfi */
    GUEST_CODE(CODE, A64_WORD_STR(2, 1), 0xf1000400, 0x54ffffc1, A64_WORD_WFI);
    track();
    set_regs(va, 33, 1, 0);
    va->env->xregs[0] = 100000;
    fills = atomic_load(&va->stats.tlb_fills);
    guest_run(va, CODE);
    g_assert_cmpuint(atomic_load(&va->stats.tlb_fills) - fills, <, 4);
    g_assert_cmphex(collect(), ==, UINT64_C(1) << 33);
    untrack();
}

/* What loading and then storing a word of page @n costs @v in TLB misses. */
static uint64_t misses_of_load_and_store(TcgVcpu *v, unsigned n)
{
    uint64_t fills = atomic_load(&v->stats.tlb_fills);

    set_regs(v, n, 1, 0);
    guest_run(v, CODE);
    return atomic_load(&v->stats.tlb_fills) - fills;
}

/*
 * A load fills the write entry too if a store would tell the tracker nothing:
 * the page is dirty, collected or not. Else it must not.
 */
static void test_load_of_a_dirty_page(void)
{
    TcgVcpu *vcpus[] = { vb, vmax };
    unsigned i;

    GUEST_CODE(CODE, A64_WORD_LDR(3, 1), A64_WORD_STR(2, 1), A64_WORD_WFI);
    for (i = 0; i < ARRAY_SIZE(vcpus); i++) {
        misses_of_load_and_store(vcpus[i], 0); /* the code itself */
    }
    track();
    set_regs(va, 58, 1, 0);
    guest_run(va, CODE);
    g_assert_cmpuint(misses_of_load_and_store(vb, 58), ==, 1);
    g_assert_cmphex(collect(), ==, UINT64_C(1) << 58);
    g_assert_cmpuint(misses_of_load_and_store(vmax, 58), ==, 1);
    g_assert_cmphex(collect(), ==, 0);
    clean(0, 64);
    g_assert_cmpuint(misses_of_load_and_store(vb, 58), ==, 1); /* the store */
    g_assert_cmphex(collect(), ==, UINT64_C(1) << 58);
    g_assert_cmpuint(misses_of_load_and_store(vb, 59), ==, 2); /* it is clean */
    g_assert_cmphex(collect(), ==, UINT64_C(1) << 59);
    untrack();
}

/* More pages than any cache of translations used to hold: no second miss. */
static void test_tlb_reach(void)
{
    uint64_t fills;
    unsigned i;

    /* 1: str x2, [x1] ; add x1, x1, x3 ; subs x0, x0, #1 ; b.ne 1b ; wfi */
    GUEST_CODE(CODE, A64_WORD_STR(2, 1), 0x8b030021, 0xf1000400, 0x54ffffa1,
               A64_WORD_WFI);
    for (i = 0; i < 3; i++) {
        va->env->xregs[0] = 8192;
        va->env->xregs[1] = TRACK;
        va->env->xregs[3] = PAGE;
        fills = atomic_load(&va->stats.tlb_fills);
        guest_run(va, CODE);
    }
    g_assert_cmpuint(atomic_load(&va->stats.tlb_fills), ==, fills);
}

/* Pages written are counted for the vCPU that wrote them. */
static void test_attribution(void)
{
    uint64_t a, b;

    track();
    ops->attribute(va->cs, &a);
    ops->attribute(vb->cs, &b);
    store(va, 40, 1);
    store(va, 41, 1);
    store(vb, 42, 1);
    store(vb, 41, 2);
    g_assert_true(ops->attribute(va->cs, &a));
    g_assert_true(ops->attribute(vb->cs, &b));
    g_assert_cmpuint(a, ==, 2);
    g_assert_cmpuint(b, ==, 1);
    g_assert_true(ops->attribute(va->cs, &a));
    g_assert_cmpuint(a, ==, 0);
    untrack();
}

/* All that it times; of 256 probes of a write one is looked at. */
static void cost_round(uint64_t value)
{
    for (unsigned page = 0; page < 64; page++) {
        store(va, page, value);
    }
    collect();
    clean(0, 64);
    collect();
}

/* A thread that loses its processor in a sample: the price is as before. */
static void test_cost_outlier(void)
{
    static const TcgTestPoint points[] = { TCG_POINT_COLLECTED,
                                           TCG_POINT_CLEAN_TAKEN,
                                           TCG_POINT_FAULT };
    DirtyTrackerCost cost = { 0 };

    track();
    for (unsigned i = 0; i < 100; i++) {
        if (i % 5 == 0) {
            slow.point = points[i / 5 % ARRAY_SIZE(points)];
            slow.us = 20000;
        }
        cost_round(i);
    }
    untrack();
    ops->cost(&cost);
    /* Each of them would be 312 us a page; their mean with four good ones,
     * 60. A busy host may be that slow now and then, not most of the time. */
    g_assert_cmpfloat(cost.collect_ns_per_page, <, 20000);
    g_assert_cmpfloat(cost.clean_ns_per_range, <, 1000000);
    g_assert_cmpfloat(cost.fault_ns_per_page, <, 1000000);
}

/* What it measured of itself. */
static void test_cost(void)
{
    DirtyTrackerCost cost = { 0 };

    track();
    /* Of 256 probes of a write one is looked at. */
    for (unsigned i = 0; i < 20; i++) {
        cost_round(i);
    }
    untrack();
    ops->cost(&cost);
    g_assert_cmpfloat(cost.collect_ns_per_page, >, 0);
    g_assert_cmpfloat(cost.scan_ns_per_gib, >, 0);
    g_assert_cmpfloat(cost.clean_ns_per_range, >, 0);
    g_assert_cmpfloat(cost.fault_ns_per_page, >, 0);
}

/*
 * All at once, as a migration does it: two vCPUs count in 64 pages at random
 * while a copy is kept by collect, clean, read. At the end, with one last
 * collect, the copy must equal memory.
 */
static void test_migrating_copy_is_exact(void)
{
    static uint64_t copy[64];
    GuestThread ta, tb;
    int64_t end = g_get_monotonic_time() + 300 * 1000;
    unsigned rounds = 0, i;
    uint64_t mask;

    /*
     * x6: random (xorshift); address = x1 + (x6 >> 20 & 63) * 4096 + x7
     * 1: eor x6,x6,x6,lsl 13; eor x6,x6,x6,lsr 7; eor x6,x6,x6,lsl 17
     *    ubfx x8,x6,#20,#6; add x8,x7,x8,lsl #12
     *    ldr x9,[x8]; add x9,x9,#1; str x9,[x8]; b 1b
     */
    GUEST_CODE(CODE, 0xca0634c6, 0xca461cc6, 0xca0644c6, 0xd35464c8, 0x8b0830e8,
               0xf9400109, 0x91000529, 0xf9000109, A64_WORD_B(-8));
    track();
    for (i = 0; i < 64; i++) {
        guest_write64(TRACK + i * PAGE, 0);
        guest_write64(TRACK + i * PAGE + 8, 0);
        copy[i] = 0;
    }
    take(MIG);
    va->env->xregs[6] = 12345;
    va->env->xregs[7] = TRACK;
    vb->env->xregs[6] = 54321;
    vb->env->xregs[7] = TRACK + 8;
    guest_start(&ta, va, CODE);
    guest_start(&tb, vb, CODE);
    while (g_get_monotonic_time() < end) {
        mask = collect();
        clean(0, 64);
        for (i = 0; i < 64; i++) {
            if (mask >> i & 1) {
                copy[i] = content(i) + guest_read64(TRACK + i * PAGE + 8);
            }
        }
        rounds++;
    }
    guest_stop(&ta);
    guest_stop(&tb);
    mask = collect();
    for (i = 0; i < 64; i++) {
        uint64_t is = content(i) + guest_read64(TRACK + i * PAGE + 8);

        if (mask >> i & 1) {
            copy[i] = is;
        }
        g_assert_cmpuint(copy[i], ==, is);
        g_assert_cmpuint(is, >, 0);
    }
    g_test_message("%u rounds, %" PRIu64 " handshakes", rounds,
                   tcg_handshakes());
    untrack();
}

int main(int argc, char **argv)
{
    int ret;
    g_test_init(&argc, &argv, NULL);
    guest_init();
    tcg_native_use(TCG_NATIVE_OFF);
    vb = guest_vcpu("cortex-a57");
    tcg_native_use(TCG_NATIVE_EVERYWHERE);
    va = guest_vcpu("cortex-a57");
    vmax = guest_vcpu("max");
    rb = guest_ram();
    qemu_event_init(&hold.reached, false);
    qemu_event_init(&hold.go, false);
    qemu_event_init(&hold.waiting, false);
    tcg_test_hook = hook;
#define ADD(path, f) g_test_add_func("/tcg-tracker/" path, f)
    ADD("reports-what-was-written", test_reports_what_was_written);
    ADD("start-forgets-permissions", test_start_forgets_permissions);
    ADD("rule-1/entry-does-not-outlive-clean",
        test_entry_does_not_outlive_clean);
    ADD("rule-1/clean-waits-for-marked-store",
        test_clean_waits_for_marked_store);
    ADD("rule-1/fault-before-marking", test_fault_before_marking);
    ADD("rule-1/fault-half-marked", test_fault_half_marked);
    ADD("rule-1/second-writer-logs-for-the-first",
        test_second_writer_logs_for_the_first);
    ADD("rule-2/clean-takes-only-collected", test_clean_takes_only_collected);
    ADD("rule-2/store-inside-clean", test_store_inside_clean);
    ADD("rule-2/store-inside-collect", test_store_inside_collect);
    ADD("rule-1/halted-vcpu-forgets", test_halted_vcpu_forgets);
    ADD("rule-1/clean-under-bql-while-mmio-waits",
        test_clean_under_bql_while_mmio_waits);
    ADD("rule-4/unmapped-while-writing", test_unmapped_while_writing);
    ADD("rule-5/clients-do-not-eat-each-other",
        test_clients_do_not_eat_each_other);
    ADD("every-kind-of-store-marks", test_every_kind_of_store_marks);
    ADD("loads-mark-nothing", test_loads_mark_nothing);
    ADD("generations-wrap", test_generations_wrap);
    ADD("dirty-page-costs-nothing", test_dirty_page_costs_nothing);
    ADD("load-of-a-dirty-page", test_load_of_a_dirty_page);
    ADD("tlb-reach", test_tlb_reach);
    ADD("attribution", test_attribution);
    ADD("cost", test_cost);
    ADD("cost/outlier", test_cost_outlier);
    ADD("migrating-copy-is-exact", test_migrating_copy_is_exact);
    ret = g_test_run();
    bql_unlock();
    return ret;
}
