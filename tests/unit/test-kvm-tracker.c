/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trackers of KVM: how often they call the kernel, what becomes of calls that
 * fail, slots of odd sizes, aliases, and that nothing is lost in ten thousand
 * rounds under two busy vCPUs (`make soak`; a second here). What every tracker
 * must do is in test-kvm-oracle.c.
 */
#include "qemu/osdep.h"

#include <signal.h>
#include <time.h>

#include "kvm-caps.h"
#include "kvm-slots.h"
#include "kvm-trackers.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "system/dirty-choice.h"
#include "tracker-oracle.h"

#define GET    kvm_call_index(KVM_GET_DIRTY_LOG)
#define CLEAR  kvm_call_index(KVM_CLEAR_DIRTY_LOG)
#define RESET  kvm_call_index(KVM_RESET_DIRTY_RINGS)
#define REGION kvm_call_index(KVM_SET_USER_MEMORY_REGION)

static const TrackerEngine *engine(const char *name)
{
    const TrackerEngine *e = tracker_engines;

    while (!g_str_equal(e->name, name)) {
        e++;
    }
    return e;
}

/* This one, or the next that can be had here. */
static const TrackerEngine *usable_from(const TrackerEngine *e)
{
    while (e->name && !tracker_engine_is_usable(e)) {
        e++;
    }
    return e;
}

static const TrackerEngine *first_engine(void)
{
    return usable_from(tracker_engines);
}

static const TrackerEngine *next_engine(const TrackerEngine *e)
{
    return usable_from(e + 1);
}

/* Pages of the main block, one list after the other. */
static void store_all(uint64_t first, unsigned n, unsigned step, uint64_t val)
{
    g_autofree uint64_t *pages = g_new(uint64_t, n);

    for (unsigned i = 0; i < n; i++) {
        pages[i] = first + i * step;
    }
    guest_store_pages(va, pages, n, val);
}

/* ---- how often the kernel is called ---- */

static void test_calls_bitmap(void)
{
    const TrackerEngine *e = engine("bitmap-small-slots");
    const uint64_t chunk = 64 * PAGE;
    unsigned slots, touched = 0;
    Oracle o;

    oracle_begin(&o, e);
    slots = kvm_slots_count(kvm_vm(), true);
    g_assert_cmpuint(slots, >, 60);
    for (uint64_t round = 1; round <= 3; round++) {
        /* 40 pages in 40 words, in 11 slots of 257 pages. */
        store_all(TEST_FIRST + 5, 40, 67, round);
        kvm_call_counts_reset();
        g_assert_cmpuint(oracle_take(&o), ==, 40);
        g_assert_cmpuint(kvm_call_count(GET), ==, slots);
        g_assert_cmpuint(kvm_call_count(CLEAR), ==, 0);

        /* Clean by chunks of 64 pages: a call only where there is something. */
        touched = 0;
        for (ram_addr_t at = 0; at < o.nr_pages * PAGE; at += chunk) {
            touched += find_next_bit(o.bmap, at / PAGE + 64, at / PAGE) <
                       at / PAGE + 64;
            ram_block_clean(o.rb, at, chunk);
        }
        g_assert_cmpuint(kvm_call_count(CLEAR), >=, touched);
        /* A chunk may lie in two slots. */
        g_assert_cmpuint(kvm_call_count(CLEAR), <=, touched + 11);
        oracle_send(&o); /* cleaned already: it reads */

        /* Once more: nothing. A whole block at once: one per slot. */
        kvm_call_counts_reset();
        ram_block_clean(o.rb, 0, o.nr_pages * PAGE);
        g_assert_cmpuint(kvm_call_count(CLEAR), ==, 0);
        store_all(TEST_FIRST + 5, 40, 67, round);
        oracle_take(&o);
        kvm_call_counts_reset();
        ram_block_clean(o.rb, 0, o.nr_pages * PAGE);
        g_assert_cmpuint(kvm_call_count(CLEAR), >=, 10);
        g_assert_cmpuint(kvm_call_count(CLEAR), <=, 12);
        oracle_send(&o); /* cleaned already: it reads */
    }
    /* A range asks for its own slots only. */
    kvm_call_counts_reset();
    ram_block_dirty_sync_range(o.rb, 100 * PAGE, 10 * PAGE);
    g_assert_cmpuint(kvm_call_count(GET), ==, 1);
    g_assert_cmpuint(kvm_call_count(RESET), ==, 0);
    store_all(TEST_FIRST, 300, 1, 9);
    g_assert_cmpuint(oracle_take(&o), ==, 300);
    oracle_check_current(&o);
    oracle_end(&o);
}

static void test_calls_ring(void)
{
    const TrackerEngine *e = engine("ring-256");
    DirtyReaperStats a, b;
    Oracle o;

    oracle_begin(&o, e);
    dirty_reaper_get_stats(&a);
    kvm_call_counts_reset();
    for (uint64_t round = 1; round <= 5; round++) {
        store_all(TEST_FIRST, 1000, 3, round);
        g_assert_cmpuint(oracle_take(&o), ==, 1000);
        oracle_send(&o);
    }
    dirty_reaper_get_stats(&b);
    g_assert_cmpuint(kvm_call_count(GET), ==, 0);
    g_assert_cmpuint(kvm_call_count(CLEAR), ==, 0);
    g_assert_cmpuint(kvm_call_count(RESET), >=, 5);
    g_assert_cmpuint(kvm_call_count(RESET), <=, b.batches - a.batches);
    g_assert_cmpuint(b.entries_unknown, ==, a.entries_unknown);
    g_assert_cmpuint(b.entries_beyond, ==, a.entries_beyond);
    oracle_end(&o);
}

/* ---- calls that fail ---- */

/* Nothing is known: all is reported. The next one tells what there is. */
static void test_get_fails(void)
{
    static const char *const names[] = { "bitmap", "bitmap-legacy" };

    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        Oracle o;

        oracle_begin(&o, engine(names[i]));
        store_all(TEST_FIRST, 10, 1, 1);
        kvm_fault_arm(2, ENOMEM, GET); /* the main block's */
        oracle_take(&o);
        g_assert_true(kvm_fault_fired());
        /* At least those of the block's first slot. */
        g_assert_true(bitmap_full(o.bmap, o.nr_pages / 2));
        oracle_send(&o);
        oracle_check_current(&o);
        store_all(TEST_FIRST, 10, 1, 2);
        oracle_take(&o);
        for (unsigned p = 0; p < 10; p++) {
            g_assert_true(test_bit(TEST_FIRST + p, o.bmap));
        }
        oracle_check_current(&o);
        oracle_end(&o);
    }
}

/* Not cleaned: the pages come again, and with them what was stored since. */
static void test_clear_fails(void)
{
    Oracle o;

    oracle_begin(&o, engine("bitmap"));
    store_all(TEST_FIRST, 10, 1, 1);
    g_assert_cmpuint(oracle_take(&o), ==, 10);
    kvm_fault_arm(1, ENOMEM, CLEAR);
    oracle_send(&o);
    g_assert_true(kvm_fault_fired());
    store_all(TEST_FIRST, 5, 1, 2); /* unseen by a fault */
    g_assert_cmpuint(oracle_take(&o), ==, 10);
    oracle_send(&o);
    g_assert_cmpuint(oracle_take(&o), ==, 0);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* Once: it is tried again. */
static void test_reset_fails_once(void)
{
    Oracle o;

    oracle_begin(&o, engine("ring-256"));
    store_all(TEST_FIRST, 10, 1, 1);
    kvm_fault_arm(1, EINTR, RESET);
    g_assert_cmpuint(oracle_take(&o), ==, 10);
    g_assert_true(kvm_fault_fired());
    oracle_send(&o);
    store_all(TEST_FIRST, 10, 1, 2);
    g_assert_cmpuint(oracle_take(&o), ==, 10);
    oracle_check_current(&o);
    oracle_end(&o);
}

/*
 * For good: what was harvested stays writable, with no entry to come. So each
 * collect has to report everything.
 */
static void test_reset_fails(void)
{
    Oracle o;

    oracle_begin(&o, engine("ring-4096"));
    store_all(TEST_FIRST, 10, 1, 1);
    kvm_fault_arm_all(EFAULT, RESET);
    for (uint64_t round = 2; round <= 4; round++) {
        oracle_take(&o);
        g_assert_true(bitmap_full(o.bmap, o.nr_pages));
        oracle_send(&o);
        store_all(TEST_FIRST, 10, 1, round);
    }
    oracle_check_current(&o);
    kvm_fault_arm(0, 0, KVM_CALL_ANY);
    oracle_end(&o);

    /* The next time it is as it was. */
    oracle_begin(&o, engine("ring-4096"));
    store_all(TEST_FIRST, 10, 1, 9);
    g_assert_cmpuint(oracle_take(&o), ==, 10);
    oracle_check_current(&o);
    oracle_end(&o);
}

static void on_signal(int sig)
{
}

/*
 * Signals, every 20 us, to the thread that resets. The kernel then ends a reset
 * half-way, and says so by the count only; pages that were not protected would
 * be missing in the next round.
 */
static void test_reset_signals(void)
{
    const struct itimerspec often = { { 0, 20000 }, { 0, 20000 } },
                            never = { { 0, 0 }, { 0, 0 } };
    struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
                           .sigev_signo = SIGUSR2,
                           ._sigev_un._tid = gettid() };
    const unsigned n = 2000;
    timer_t timer;
    Oracle o;

    sigaction(SIGUSR2, &sa, NULL);
    g_assert_cmpint(timer_create(CLOCK_MONOTONIC, &ev, &timer), ==, 0);
    oracle_begin(&o, engine("ring-4096"));
    for (uint64_t round = 1; round <= 30; round++) {
        uint64_t found;

        store_all(TEST_FIRST, n, 3, round);
        timer_settime(timer, 0, &often, NULL);
        found = oracle_take(&o);
        timer_settime(timer, 0, &never, NULL);
        g_assert_cmpuint(found, ==, n);
        oracle_send(&o);
        oracle_check_current(&o);
    }
    timer_delete(timer);
    oracle_end(&o);
}

/* Each call of a start, in turn: an error, and all is as before. */
static void start_fails(const char *name)
{
    const TrackerEngine *e = engine(name);
    unsigned nth, logged = 0;
    Oracle o;

    e->configure();
    g_assert_true(dirty_tracker_select(e->ops, &error_abort));
    for (nth = 1;; nth++) {
        Error *err = NULL;
        bool ok;

        kvm_fault_arm(nth, ENOMEM, KVM_CALL_ANY);
        ok = memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &err);
        if (!kvm_fault_fired()) {
            kvm_fault_arm(0, 0, KVM_CALL_ANY);
            g_assert_true(ok);
            memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
            break;
        }
        if (ok) {
            /* It could do without: nothing may be lost. */
            store_all(TEST_FIRST, 3, 1, 1);
            memory_global_dirty_log_sync(false);
            g_assert_true(ram_block_all_dirty(guest_ram(), TEST_FIRST * PAGE,
                                              3 * PAGE, MIG));
            memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
        } else {
            if (nth < 3) {
                g_test_message("%s", error_get_pretty(err));
            }
            error_free(err);
        }
        logged = kvm_slots_count(kvm_vm(), true);
        g_assert_cmpuint(logged, ==, 0);
    }
    g_assert_cmpuint(nth, >, 1);
    oracle_begin(&o, e);
    store_all(TEST_FIRST, 10, 1, 7);
    g_assert_cmpuint(oracle_take(&o), ==, 10);
    oracle_check_current(&o);
    oracle_end(&o);
}

static void test_start_fails(void)
{
    start_fails("bitmap");
    start_fails("bitmap-small-slots");
    start_fails("ring-256");
}

/* Calls of rounds, in turn: what was stored is always in the copy. */
static void rounds_with_faults(const TrackerEngine *e, int index)
{
    Oracle o;

    oracle_begin(&o, e);
    for (unsigned nth = 1; nth <= 12; nth++) {
        kvm_fault_arm(nth, EINTR, index);
        for (uint64_t round = 1; round <= 3; round++) {
            uint64_t val = nth * 10 + round;

            oracle_take(&o);
            store_all(TEST_FIRST, 50, 7, val); /* also what is owed */
            oracle_send(&o);
            store_all(TEST_FIRST + 1, 50, 11, val);
        }
        kvm_fault_arm(0, 0, KVM_CALL_ANY);
        oracle_check_current(&o);
    }
    oracle_end(&o);
}

static void test_rounds_with_faults(void)
{
    for (const TrackerEngine *e = first_engine(); e->name; e = next_engine(e)) {
        rounds_with_faults(e, GET);
        rounds_with_faults(e, CLEAR);
        rounds_with_faults(e, RESET);
    }
}

/* ---- slots ---- */

/* Odd sizes; single pages, runs, all of it; cleaned in odd pieces. */
static void odd_slot(const TrackerEngine *e, uint64_t nr_pages, uint64_t skip)
{
    const hwaddr base = 0x80000000 + skip * PAGE;
    const uint64_t first = (base - GUEST_RAM_BASE) / PAGE;
    g_autofree uint64_t *pages = g_new(uint64_t, nr_pages);
    MemoryRegion odd;
    Oracle o, x;

    oracle_begin(&o, e);
    memory_region_init_ram(&odd, NULL, "odd", nr_pages * PAGE, &error_abort);
    memory_region_add_subregion(get_system_memory(), base, &odd);
    oracle_watch(&x, e,
                 qemu_ram_block_from_host(memory_region_get_ram_ptr(&odd),
                                          &(ram_addr_t){ 0 }));
    g_assert_cmpuint(oracle_take(&x), ==, 0);
    for (unsigned step = 1; step <= MIN(67, nr_pages); step += 11) {
        uint64_t n = 0;

        for (uint64_t p = nr_pages; p > step - 1; p -= MIN(p, step)) {
            pages[n++] = first + p - 1;
        }
        guest_store_pages(va, pages, n, step);
        g_assert_cmpuint(oracle_take(&x), ==, n);
        for (uint64_t i = 0; i < n; i++) {
            g_assert_true(test_bit(pages[i] - first, x.bmap));
        }
        for (uint64_t p = 0; p < nr_pages; p += 37) {
            ram_block_clean(x.rb, p * PAGE, MIN(37, nr_pages - p) * PAGE);
        }
        guest_store_pages(vb, pages, (n + 1) / 2, step + 1);
        oracle_send(&x);
        g_assert_cmpuint(oracle_take(&x), ==, (n + 1) / 2);
        oracle_check_current(&x);
    }
    memory_region_del_subregion(get_system_memory(), &odd);
    oracle_unwatch(&x);
    memory_region_destroy(&odd);
    oracle_end(&o);
}

static void test_odd_slots(void)
{
    static const struct {
        uint64_t pages, skip;
    } rows[] = { { 1, 0 },  { 63, 0 },   { 64, 0 },    { 65, 0 },
                 { 64, 3 }, { 1025, 0 }, { 1025, 63 }, { 1024 + 1, 513 } };

    for (const TrackerEngine *e = first_engine(); e->name; e = next_engine(e)) {
        for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
            odd_slot(e, rows[i].pages, rows[i].skip);
        }
    }
}

/* One block at two addresses: two slots that show the same pages. */
static void alias(const TrackerEngine *e)
{
    const hwaddr base = 0x90000000;
    const uint64_t page = TEST_FIRST + 100, n = 130;
    const uint64_t there = (base - GUEST_RAM_BASE) / PAGE;
    MemoryRegion window;
    Oracle o;

    oracle_begin(&o, e);
    memory_region_init_alias(&window, NULL, "window", guest_ram_region(),
                             page * PAGE, n * PAGE);
    memory_region_add_subregion(get_system_memory(), base, &window);
    for (uint64_t round = 1; round <= 3; round++) {
        const uint64_t here_and_there[] = { page + 3, there + 3, there + 5,
                                            there + n - 1 };
        const uint64_t seen[] = { page + 3, page + 5, page + n - 1 };

        guest_store_pages(va, here_and_there, 4, round);
        g_assert_cmpuint(oracle_take(&o), ==, 3);
        oracle_expect(&o, seen, 3);
        oracle_send(&o);
        g_assert_cmpuint(oracle_take(&o), ==, 0);
        guest_store_page(vb, there + 5, round + 10);
        guest_store_page(vb, page + 3, round + 10);
        g_assert_cmpuint(oracle_take(&o), ==, 2);
        oracle_check_current(&o);
    }
    /* Written through the window and not collected, when it goes. */
    guest_store_page(va, there + 7, 99);
    memory_region_del_subregion(get_system_memory(), &window);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    oracle_check_current(&o);
    guest_store_page(va, page + 7, 100);
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    oracle_check_current(&o);
    memory_region_destroy(&window);
    oracle_end(&o);
}

static void test_alias(void)
{
    for (const TrackerEngine *e = first_engine(); e->name; e = next_engine(e)) {
        alias(e);
    }
}

/*
 * There is no memory for the bitmaps of a slot that comes while it is logged:
 * all that it shows is reported, again and again, until it goes.
 */
static void test_slot_without_bitmap(void)
{
    static const char *const names[] = { "bitmap", "bitmap-legacy" };
    const hwaddr base = 0x90000000;
    const uint64_t page = TEST_FIRST + 100, n = 130;
    const uint64_t there = (base - GUEST_RAM_BASE) / PAGE;

    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        MemoryRegion window;
        Oracle o;

        oracle_begin(&o, engine(names[i]));
        memory_region_init_alias(&window, NULL, "window", guest_ram_region(),
                                 page * PAGE, n * PAGE);
        kvm_fault_arm(1, ENOMEM, KVM_CALL_MMAP);
        memory_region_add_subregion(get_system_memory(), base, &window);
        g_assert_true(kvm_fault_fired());
        for (uint64_t round = 1; round <= 3; round++) {
            guest_store_page(va, there + 5, round);
            guest_store_page(vb, page + n, round);
            g_assert_cmpuint(oracle_take(&o), ==, n + 1);
            oracle_send(&o);
            guest_store_page(va, there + 5, round + 10);
            g_assert_cmpuint(oracle_take(&o), ==, n);
            oracle_send(&o);
            oracle_check_current(&o);
        }
        memory_region_del_subregion(get_system_memory(), &window);
        g_assert_cmpuint(oracle_take(&o), ==, n);
        oracle_send(&o);
        guest_store_page(va, page + 7, 100);
        g_assert_cmpuint(oracle_take(&o), ==, 1);
        oracle_check_current(&o);
        memory_region_destroy(&window);
        oracle_end(&o);
    }
}

/* ---- all at first ---- */

static void test_all_at_first(void)
{
    const ram_addr_t all = GUEST_RAM_BYTES;
    const TrackerEngine *e = engine("bitmap");
    RAMBlock *rb = guest_ram();

    e->configure();
    g_assert_true(dirty_tracker_select(e->ops, &error_abort));
    if (!(kvm_cap(KVM_HAS_MANUAL_PROTECT) & KVM_DIRTY_LOG_INITIALLY_SET)) {
        g_test_skip("this kernel's logs begin clean");
        return;
    }
    store_all(TEST_FIRST, 2000, 1, 1); /* mapped, writable */
    ram_block_collect_dirty(rb, 0, all, MIG, NULL);
    memory_global_dirty_log_start(
        GLOBAL_DIRTY_MIGRATION | GLOBAL_DIRTY_ALL_WRITTEN, &error_abort);
    g_assert_true(ram_block_all_dirty(rb, 0, all, MIG));

    /* Another user comes: he sees what is written from now on. */
    ram_block_clean(rb, 0, all);
    memory_global_dirty_log_start(GLOBAL_DIRTY_DIRTY_RATE, &error_abort);
    store_all(TEST_FIRST, 100, 3, 2);
    memory_global_dirty_log_sync(false);
    g_assert_cmpuint(ram_block_count_dirty(rb, 0, all, DIRTY_MEMORY_RATE), ==,
                     100);
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION |
                                 GLOBAL_DIRTY_DIRTY_RATE);

    /* And who does not ask for it does not get it. */
    memory_global_dirty_log_start(GLOBAL_DIRTY_DIRTY_RATE, &error_abort);
    memory_global_dirty_log_sync(false);
    g_assert_cmpuint(ram_block_count_dirty(rb, 0, all, DIRTY_MEMORY_RATE), ==,
                     0);
    memory_global_dirty_log_stop(GLOBAL_DIRTY_DIRTY_RATE);
    ram_block_collect_dirty(rb, 0, all, MIG, NULL);
}

/* ---- what cannot be had ---- */

static void assert_impossible(const DirtyTrackerOps *ops, const char *words)
{
    Error *err = NULL;

    g_assert_false(dirty_tracker_select(ops, &err));
    g_test_message("%s", error_get_pretty(err));
    g_assert_nonnull(strstr(error_get_pretty(err), words));
    error_free(err);
}

static void test_impossible(void)
{
    engine("bitmap")->configure();
    g_assert_true(dirty_tracker_select(&kvm_bitmap_tracker, &error_abort));
    assert_impossible(&kvm_ring_tracker, "no kernel VM for it yet");
    assert_impossible(&kvm_dbm_tracker, "own dirty state");
    engine("ring-256")->configure();
    g_assert_true(dirty_tracker_select(&kvm_ring_tracker, &error_abort));
    assert_impossible(&kvm_bitmap_tracker, "no kernel VM for it yet");
}

/* ---- many threads, many rounds ---- */

enum {
    RANGES = 4
};

typedef struct RangeThread {
    Oracle *o;
    QemuThread thread;
    uint64_t first, end;
    _Atomic bool *stop;
    unsigned rounds;
} RangeThread;

static void range_round(RangeThread *r)
{
    Oracle *o = r->o;
    ram_addr_t at = r->first * PAGE, length = (r->end - r->first) * PAGE;
    uint64_t page = r->first;

    ram_block_dirty_sync_range(o->rb, at, length);
    ram_block_collect_dirty(o->rb, at, length, MIG, o->bmap);
    while ((page = find_next_bit(o->bmap, r->end, page)) < r->end) {
        uint64_t n = MIN(r->end - page, 100);

        ram_block_clean(o->rb, page * PAGE, n * PAGE);
        for (n += page; page < n; page++) {
            if (test_and_clear_bit(page, o->bmap)) {
                o->copy[page] = oracle_content(o, page);
            }
        }
    }
    r->rounds++;
}

static void *range_thread(void *opaque)
{
    RangeThread *r = opaque;

    do {
        range_round(r);
    } while (!atomic_load(r->stop));
    return NULL;
}

/* Each thread has a range; two of them share a word of a slot's bitmap never. */
static void test_ranges_in_parallel(void)
{
    for (const TrackerEngine *e = first_engine(); e->name; e = next_engine(e)) {
        RangeThread r[RANGES];
        _Atomic bool stop = false;
        uint64_t pages[4000];
        GuestThread ta, tb;
        Oracle o;

        for (unsigned i = 0; i < ARRAY_SIZE(pages); i++) {
            pages[i] = TEST_FIRST + i * 3;
        }
        oracle_begin(&o, e);
        guest_start_loop(&ta, va, pages, 3000);
        guest_start_loop(&tb, vb, pages + 1000, 3000);
        for (unsigned i = 0; i < RANGES; i++) {
            uint64_t part = ROUND_DOWN(o.nr_pages / RANGES, 64);

            r[i] = (RangeThread){ .o = &o,
                                  .first = i * part,
                                  .end = i == RANGES - 1 ? o.nr_pages
                                                         : (i + 1) * part,
                                  .stop = &stop };
            qemu_thread_create(&r[i].thread, "range", range_thread, &r[i],
                               QEMU_THREAD_JOINABLE, &error_abort);
        }
        g_usleep(150 * 1000);
        guest_stop(&ta);
        guest_stop(&tb);
        atomic_store(&stop, true);
        for (unsigned i = 0; i < RANGES; i++) {
            qemu_thread_join(&r[i].thread);
        }
        oracle_check_current(&o);
        oracle_end(&o);
    }
}

static void test_rounds(void)
{
    unsigned most = 10000, least = getenv("FERRY_SOAK") ? most : 1;

    if (getenv("KVM_TRACKER_SOAK") && least == 1) {
        g_test_skip("for `make soak`");
        return;
    }
    for (const TrackerEngine *e = first_engine(); e->name; e = next_engine(e)) {
        int64_t end = g_get_monotonic_time() + 300 * 1000;
        uint64_t pages[600];
        GuestThread ta, tb;
        unsigned n = 0;
        Oracle o;

        for (unsigned i = 0; i < ARRAY_SIZE(pages); i++) {
            pages[i] = TEST_FIRST + i * 5;
        }
        oracle_begin(&o, e);
        guest_start_loop(&ta, va, pages, 400);
        guest_start_loop(&tb, vb, pages + 200, 400);
        wait_content(&o, pages[0], 2);
        for (; n < most && (n < least || g_get_monotonic_time() < end); n++) {
            oracle_round(&o);
        }
        guest_stop(&ta);
        guest_stop(&tb);
        oracle_check_current(&o);
        g_test_message("%s: %u rounds, %" PRIu64 " and %" PRIu64 " passes",
                       e->name, n, oracle_content(&o, pages[0]),
                       oracle_content(&o, pages[599]));
        oracle_end(&o);
    }
}

/* ---- */

static const struct {
    const char *name;
    void (*func)(void);
} tests[] = {
    { "calls/bitmap", test_calls_bitmap },
    { "calls/ring", test_calls_ring },
    { "fails/get", test_get_fails },
    { "fails/clear", test_clear_fails },
    { "fails/reset-once", test_reset_fails_once },
    { "fails/reset", test_reset_fails },
    { "fails/reset-signals", test_reset_signals },
    { "fails/start", test_start_fails },
    { "fails/rounds", test_rounds_with_faults },
    { "slots/odd", test_odd_slots },
    { "slots/alias", test_alias },
    { "slots/without-bitmap", test_slot_without_bitmap },
    { "all-at-first", test_all_at_first },
    { "impossible", test_impossible },
    { "ranges-in-parallel", test_ranges_in_parallel },
    { "rounds", test_rounds },
};

static void run(gconstpointer i)
{
    if (mini_unusable()) {
        g_test_skip(mini_unusable());
    } else {
        tests[GPOINTER_TO_UINT(i)].func();
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!mini_unusable()) {
        oracle_init();
    }
    for (unsigned i = 0; i < ARRAY_SIZE(tests); i++) {
        g_autofree char *path = g_strdup_printf("/kvm/tracker/%s",
                                                tests[i].name);

        g_test_add_data_func(path, GUINT_TO_POINTER(i), run);
    }
    return g_test_run();
}
