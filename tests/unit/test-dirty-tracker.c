/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who may be inside a tracker at the same time (dirty-tracker.h), and taking a
 * limited number of pages (dirty-memory.h), per promise.
 *
 * The tracker here does nothing but hold its callers until a test lets them
 * go, so what the tests see does not depend on time.
 */
#include "qemu/osdep.h"

#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/thread.h"
#include "qemu/units.h"
#include "system/dirty-memory.h"
#include "system/dirty-tracker.h"
#include "system/memory.h"
#include "system/ram-block.h"

#define PAGE    DIRTY_PAGE_SIZE
#define MIG     DIRTY_MEMORY_MIGRATION
#define MIGMASK (1u << MIG)
#define LONG_MS 20000

/* ---- a tracker that holds who comes ---- */

static struct {
    _Atomic bool holds;
    QemuSemaphore came, go;
    _Atomic unsigned inside, most_inside, calls, waited;
    QemuEvent waiting;
    /* Without holding: what it was asked. */
    ram_addr_t cleaned_start, cleaned_length;
    unsigned cleans;
    unsigned fail_starts; /* so many of the next ones */
} mock;

static void come_in(void)
{
    unsigned n = atomic_fetch_add(&mock.inside, 1) + 1;

    atomic_fetch_add(&mock.calls, 1);
    if (n > atomic_load(&mock.most_inside)) {
        atomic_store(&mock.most_inside, n);
    }
    if (atomic_load(&mock.holds)) {
        qemu_sem_post(&mock.came);
        qemu_sem_wait(&mock.go);
    }
    atomic_fetch_sub(&mock.inside, 1);
}

static bool mock_ok(Error **errp)
{
    return true;
}

static bool mock_start(RAMBlock *const *blocks, size_t nr,
                       DirtyTrackerFirst *first, Error **errp)
{
    *first = DIRTY_TRACKER_FIRST_WRITTEN;
    if (mock.fail_starts) {
        mock.fail_starts--;
        error_setg(errp, "no memory");
        return false;
    }
    return true;
}

static void mock_stop(RAMBlock *const *blocks, size_t nr)
{
    g_assert_cmpuint(atomic_load(&mock.inside), ==, 0);
}

static void mock_collect(RAMBlock *rb, ram_addr_t start, ram_addr_t length,
                         unsigned flags)
{
    come_in();
}

static void mock_clean(RAMBlock *rb, ram_addr_t start, ram_addr_t length)
{
    if (!atomic_load(&mock.holds)) {
        mock.cleans++;
        mock.cleaned_start = start;
        mock.cleaned_length = length;
    }
    come_in();
}

static const DirtyTrackerOps mock_ops = {
    .name = "mock",
    .probe = mock_ok,
    .setup = mock_ok,
    .start = mock_start,
    .stop = mock_stop,
    .collect = mock_collect,
    .clean = mock_clean,
};

static void note_waiting(void)
{
    atomic_fetch_add(&mock.waited, 1);
    qemu_event_set(&mock.waiting);
}

static RAMBlock *begin(bool holds)
{
    RAMBlock *rb = qemu_ram_alloc(4 * MiB, 0, NULL, &error_abort);

    atomic_store(&mock.holds, holds);
    atomic_store(&mock.most_inside, 0);
    atomic_store(&mock.calls, 0);
    atomic_store(&mock.waited, 0);
    mock.cleans = 0;
    qemu_event_reset(&mock.waiting);
    dirty_tracker_select(&mock_ops, &error_abort);
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    return rb;
}

static void end(RAMBlock *rb)
{
    if (memory_global_dirty_log_users()) {
        memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    }
    dirty_tracker_select(&dirty_tracker_null, &error_abort);
    qemu_ram_free(rb);
}

/* ---- callers ---- */

typedef struct Caller {
    RAMBlock *rb; /* NULL: a collect of everything */
    uint64_t first, nr;
    bool collects;
    QemuThread thread;
} Caller;

static void *call(void *opaque)
{
    Caller *c = opaque;

    if (!c->rb) {
        memory_global_dirty_log_sync(false);
    } else if (c->collects) {
        ram_block_dirty_sync_range(c->rb, c->first * PAGE, c->nr * PAGE);
    } else {
        ram_block_clean(c->rb, c->first * PAGE, c->nr * PAGE);
    }
    return NULL;
}

static void start_caller(Caller *c)
{
    qemu_thread_create(&c->thread, "caller", call, c, QEMU_THREAD_JOINABLE,
                       &error_abort);
}

static void wait_waiting(void)
{
    g_assert_true(qemu_event_timedwait(&mock.waiting, LONG_MS));
    qemu_event_reset(&mock.waiting);
}

/* ---- who is inside with whom ---- */

/* Each of them stays inside until all have come: so all are at once. */
static void test_disjoint_at_once(void)
{
    RAMBlock *rb = begin(true);
    /* They meet within a word, and do not share a page. */
    Caller c[] = {
        { rb, 0, 10, true },   { rb, 10, 7, false },   { rb, 17, 1, true },
        { rb, 18, 82, false }, { rb, 100, 400, true },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(c); i++) {
        start_caller(&c[i]);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(c); i++) {
        qemu_sem_wait(&mock.came);
    }
    g_assert_cmpuint(atomic_load(&mock.inside), ==, ARRAY_SIZE(c));
    g_assert_cmpuint(atomic_load(&mock.waited), ==, 0);
    for (unsigned i = 0; i < ARRAY_SIZE(c); i++) {
        qemu_sem_post(&mock.go);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(c); i++) {
        qemu_thread_join(&c[i].thread);
    }
    end(rb);
}

/*
 * Two cleans of one page: if the second returned at once, finding nothing to
 * do, its caller would read while a vCPU still stores unseen.
 */
static void test_shared_page_waits(void)
{
    RAMBlock *rb = begin(true);
    Caller a = { rb, 0, 65, false }, b = { rb, 64, 6, false };
    Caller other = { rb, 70, 5, false };

    start_caller(&a);
    qemu_sem_wait(&mock.came);
    start_caller(&b);
    wait_waiting();
    g_assert_cmpuint(atomic_load(&mock.inside), ==, 1);
    /* Who shares a page with neither goes by. */
    start_caller(&other);
    qemu_sem_wait(&mock.came);
    g_assert_cmpuint(atomic_load(&mock.inside), ==, 2);
    qemu_sem_post(&mock.go);
    qemu_sem_post(&mock.go);
    qemu_sem_wait(&mock.came);
    qemu_sem_post(&mock.go);
    qemu_thread_join(&a.thread);
    qemu_thread_join(&b.thread);
    qemu_thread_join(&other.thread);
    g_assert_cmpuint(atomic_load(&mock.most_inside), ==, 2);
    g_assert_cmpuint(atomic_load(&mock.calls), ==, 3);
    g_assert_cmpuint(atomic_load(&mock.waited), ==, 1);
    end(rb);
}

/* A page is shared if a byte range touches it. */
static void test_widened_to_pages(void)
{
    RAMBlock *rb = begin(true);
    Caller a = { rb, 3, 1, true };

    start_caller(&a);
    qemu_sem_wait(&mock.came);
    atomic_store(&mock.holds, false);
    dirty_tracker_clean(rb, 4 * PAGE, 1); /* does not wait */
    dirty_tracker_clean(rb, 3 * PAGE - 1, 1);
    g_assert_cmpuint(atomic_load(&mock.waited), ==, 0);
    qemu_sem_post(&mock.go);
    qemu_thread_join(&a.thread);
    end(rb);
}

/* A collect of all blocks is not overtaken by ranges that come after it. */
static void test_order_of_arrival(void)
{
    RAMBlock *rb = begin(true);
    Caller a = { rb, 0, 1, false }, all = { NULL, 0, 0, true };
    Caller later = { rb, 500, 1, false };

    start_caller(&a);
    qemu_sem_wait(&mock.came);
    start_caller(&all);
    wait_waiting();
    start_caller(&later);
    wait_waiting();
    g_assert_cmpuint(atomic_load(&mock.calls), ==, 1);
    for (unsigned i = 0; i < 2; i++) {
        qemu_sem_post(&mock.go);
        qemu_sem_wait(&mock.came);
        g_assert_cmpuint(atomic_load(&mock.calls), ==, 2 + i);
    }
    qemu_sem_post(&mock.go);
    qemu_thread_join(&a.thread);
    qemu_thread_join(&all.thread);
    qemu_thread_join(&later.thread);
    g_assert_cmpuint(atomic_load(&mock.most_inside), ==, 1);
    end(rb);
}

static void let_all_go(void)
{
    qemu_sem_post(&mock.go);
    qemu_sem_post(&mock.go);
}

/* Stop waits for everybody; mock_stop() looks that nobody is left. */
static void test_stop_waits(void)
{
    RAMBlock *rb = begin(true);
    Caller a = { rb, 0, 1, false }, b = { rb, 1, 1, true };

    start_caller(&a);
    start_caller(&b);
    qemu_sem_wait(&mock.came);
    qemu_sem_wait(&mock.came);
    dirty_tracker_wait_hook = let_all_go;
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    dirty_tracker_wait_hook = note_waiting;
    qemu_thread_join(&a.thread);
    qemu_thread_join(&b.thread);
    end(rb);
}

/* ---- a limit of pages ---- */

static void test_take_some_is_exact(void)
{
    RAMBlock *rb;
    uint64_t bmap[16] = { 0 }, want[16] = { 0 }, total = 0;
    ram_addr_t at = 0, done, last_end = 0;

    qemu_ram_set_next_offset_for_test((16384 + 19) * PAGE);
    rb = begin(false);
    for (unsigned p = 0; p < 1024; p += 1 + p % 5) {
        ram_block_set_dirty(rb, p * PAGE, 1, MIGMASK);
        set_bit(p, want);
    }
    while (at < 4 * MiB) {
        uint64_t n = ram_block_take_some(rb, at, 4 * MiB - at, MIG, bmap, 7,
                                         &done);

        g_assert_cmpuint(n, <=, 7);
        g_assert_cmpuint(done, >, 0);
        if (n == 0) {
            g_assert_cmpuint(at + done, ==, 4 * MiB);
            break;
        }
        /* One clean, of what was dealt with; and no page behind it taken. */
        g_assert_cmpuint(mock.cleaned_start, ==, at);
        g_assert_cmpuint(mock.cleaned_length, ==, done);
        if (n == 7) {
            g_assert_true(test_bit((at + done) / PAGE - 1, bmap));
        }
        at += done;
        g_assert_cmpuint(find_next_bit(bmap, 1024, at / PAGE), ==, 1024);
        g_assert_cmpuint(mock.cleans, ==, 1 + total / 7);
        total += n;
        last_end = at;
    }
    g_assert_cmpuint(last_end, >, 0);
    g_assert_cmpmem(bmap, sizeof(bmap), want, sizeof(want));
    g_assert_cmpuint(ram_block_count_dirty(rb, 0, 4 * MiB, MIG), ==, 0);
    end(rb);
}

/* Newly set is what counts, found is what limits; NULL counts all found. */
static void test_take_some_counts(void)
{
    RAMBlock *rb = begin(false);
    uint64_t bmap[16] = { 0 };
    ram_addr_t done;

    ram_block_set_dirty(rb, 60 * PAGE, 10 * PAGE, MIGMASK);
    bitmap_set(bmap, 61, 3);
    g_assert_cmpuint(ram_block_take_some(rb, 0, 4 * MiB, MIG, bmap, 5, &done),
                     ==, 2);
    g_assert_cmpuint(done, ==, 65 * PAGE);
    g_assert_cmpuint(
        ram_block_take_some(rb, done, 3 * PAGE + 1, MIG, NULL, 100, &done), ==,
        4);
    g_assert_cmpuint(done, ==, 3 * PAGE + 1);
    g_assert_cmpuint(ram_block_count_dirty(rb, 0, 4 * MiB, MIG), ==, 1);
    end(rb);
}

/* A replacement that cannot start: the old one goes on. */
static void test_replace_fails(void)
{
    static DirtyTrackerOps another;
    RAMBlock *rb = begin(false);
    Error *err = NULL;

    another = mock_ops;
    another.name = "another";
    mock.fail_starts = 1;
    g_assert_false(dirty_tracker_replace(&another, &err));
    g_assert_cmpstr(error_get_pretty(err), ==, "no memory");
    error_free(err);
    g_assert_true(dirty_tracker_active() == &mock_ops);
    memory_global_dirty_log_sync(false);
    g_assert_cmpuint(atomic_load(&mock.calls), ==, 2); /* and when it stopped */
    g_assert_cmpuint(ram_block_count_dirty(rb, 0, 4 * MiB, MIG), ==, 0);
    end(rb);
}

/* Nor can the old one: all is reported, each time, until tracking ends. */
static void test_replace_fails_twice(void)
{
    static DirtyTrackerOps another;
    RAMBlock *rb = begin(false), *late;
    Error *err = NULL;

    another = mock_ops;
    another.name = "another";
    mock.fail_starts = 2;
    g_assert_false(dirty_tracker_replace(&another, &err));
    error_free(err);
    late = qemu_ram_alloc(MiB, 0, NULL, &error_abort);
    for (unsigned i = 0; i < 3; i++) {
        memory_global_dirty_log_sync(false);
        g_assert_cmpuint(
            ram_block_test_and_clear_dirty(rb, 0, 4 * MiB, MIG, NULL), ==,
            4 * MiB / PAGE);
        g_assert_cmpuint(
            ram_block_test_and_clear_dirty(late, 0, MiB, MIG, NULL), ==,
            MiB / PAGE);
    }
    qemu_ram_free(late);
    ram_block_dirty_sync_range(rb, PAGE, 2 * PAGE);
    g_assert_cmpuint(ram_block_count_dirty(rb, 0, 4 * MiB, MIG), ==, 2);
    memory_global_dirty_log_sync(false);
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    dirty_tracker_select(&mock_ops, &error_abort);
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    ram_block_collect_dirty(rb, 0, 4 * MiB, MIG, NULL);
    memory_global_dirty_log_sync(false);
    g_assert_cmpuint(ram_block_count_dirty(rb, 0, 4 * MiB, MIG), ==, 0);
    end(rb);
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    get_system_memory();
    qemu_sem_init(&mock.came, 0);
    qemu_sem_init(&mock.go, 0);
    qemu_event_init(&mock.waiting, false);
    dirty_tracker_wait_hook = note_waiting;
    g_test_add_func("/spans/disjoint-at-once", test_disjoint_at_once);
    g_test_add_func("/spans/shared-page-waits", test_shared_page_waits);
    g_test_add_func("/spans/widened-to-pages", test_widened_to_pages);
    g_test_add_func("/spans/order-of-arrival", test_order_of_arrival);
    g_test_add_func("/spans/stop-waits", test_stop_waits);
    g_test_add_func("/some/is-exact", test_take_some_is_exact);
    g_test_add_func("/some/counts", test_take_some_counts);
    g_test_add_func("/replace/fails", test_replace_fails);
    g_test_add_func("/replace/fails-twice", test_replace_fails_twice);
    return g_test_run();
}
