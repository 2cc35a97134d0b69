/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of include/system/dirty-ring.h: the hand-over, by both ends. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/thread.h"
#include "test-ring.h"

static void test_sizes(void)
{
    static const uint64_t bad[] = { 1,
                                    2,
                                    64,
                                    128,
                                    255,
                                    257,
                                    384,
                                    65535,
                                    98304,
                                    131072,
                                    UINT64_C(1) << 32,
                                    (UINT64_C(1) << 32) + 4096 };

    g_assert_true(dirty_ring_check_entries(0, &error_abort));
    for (unsigned n = 256; n <= 65536; n *= 2) {
        g_assert_true(dirty_ring_check_entries(n, &error_abort));
    }
    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        Error *err = NULL;

        g_assert_false(dirty_ring_check_entries(bad[i], &err));
        g_assert_nonnull(strstr(error_get_pretty(err), "power of two"));
        g_assert_nonnull(strstr(error_get_pretty(err), "256 to 65536"));
        error_free(err);
    }
}

static uint64_t protected_sum;

static void sum_protected(uint32_t slot, uint64_t offset)
{
    protected_sum += offset;
}

static void test_hand_over(void)
{
    TestRing *r = ring_new(256, UINT32_MAX - 3);
    DirtyRingPage pages[256];

    for (uint64_t i = 0; i < 10; i++) {
        g_assert_nonnull(dirty_ring_push(&r->p, 7, 100 + i));
    }
    g_assert_cmpuint(dirty_ring_used(&r->p), ==, 10);
    g_assert_true(dirty_ring_has(&r->h, 10));
    g_assert_false(dirty_ring_has(&r->h, 11));
    g_assert_cmpuint(dirty_ring_count(&r->h), ==, 10);
    /* Not harvested: nothing to recycle. */
    g_assert_cmpuint(dirty_ring_recycle(&r->p, sum_protected), ==, 0);
    g_assert_cmpuint(dirty_ring_harvest(&r->h, pages, 6), ==, 6);
    g_assert_cmpuint(pages[0].slot, ==, 7);
    g_assert_cmpuint(pages[0].offset, ==, 100);
    g_assert_cmpuint(pages[5].offset, ==, 105);
    /* Harvested is not free yet. */
    g_assert_cmpuint(dirty_ring_used(&r->p), ==, 10);
    protected_sum = 0;
    g_assert_cmpuint(dirty_ring_recycle(&r->p, sum_protected), ==, 6);
    g_assert_cmpuint(protected_sum, ==, 615);
    g_assert_cmpuint(dirty_ring_used(&r->p), ==, 4);
    g_assert_cmpuint(dirty_ring_harvest(&r->h, pages, 256), ==, 4);
    g_assert_cmpuint(dirty_ring_harvest(&r->h, pages, 256), ==, 0);
    g_assert_cmpuint(dirty_ring_recycle(&r->p, sum_protected), ==, 4);
    ring_delete(r);
}

/* As the kernel: only the prefix that is harvested is recycled. */
static void test_recycles_prefix(void)
{
    TestRing *r = ring_new(256, 0);
    DirtyGfn *first = dirty_ring_push(&r->p, 0, 1);
    DirtyGfn *second = dirty_ring_push(&r->p, 0, 2);

    dirty_gfn_set_harvested(second);
    g_assert_cmpuint(dirty_ring_recycle(&r->p, sum_protected), ==, 0);
    dirty_gfn_set_harvested(first);
    g_assert_cmpuint(dirty_ring_recycle(&r->p, sum_protected), ==, 2);
    ring_delete(r);
}

/* A producer that wrote over 40 entries of a full ring, and counted them. */
static void test_skip(void)
{
    TestRing *r = ring_new(256, UINT32_MAX - 100);
    DirtyRingPage pages[256];

    for (unsigned i = 0; i < 256; i++) {
        g_assert_nonnull(dirty_ring_push(&r->p, 0, i));
    }
    atomic_fetch_add(&r->p.pushed, 40);
    g_assert_cmpuint(dirty_ring_harvest(&r->h, pages, 256), ==, 256);
    g_assert_cmpuint(dirty_ring_recycle(&r->p, sum_protected), ==, 256);
    g_assert_cmpuint(dirty_ring_used(&r->p), ==, 40);
    /* What comes now, nobody sees... */
    g_assert_nonnull(dirty_ring_push(&r->p, 0, 1000));
    g_assert_cmpuint(dirty_ring_harvest(&r->h, pages, 256), ==, 0);
    /* ... before what is missing was passed by. */
    dirty_ring_skip(&r->h, 30);
    dirty_ring_skip(&r->h, 10);
    g_assert_cmpuint(dirty_ring_harvest(&r->h, pages, 256), ==, 1);
    g_assert_cmpuint(pages[0].offset, ==, 1000);
    g_assert_cmpuint(dirty_ring_recycle(&r->p, sum_protected), ==, 41);
    g_assert_cmpuint(dirty_ring_used(&r->p), ==, 0);
    ring_delete(r);
}

static void test_soft_and_hard_full(void)
{
    TestRing *r = ring_new(256, UINT32_MAX - 100);
    DirtyRingPage pages[256];

    for (unsigned i = 0; i < 256; i++) {
        g_assert_cmpint(dirty_ring_soft_full(&r->p), ==,
                        i >= 256 - DIRTY_RING_RESERVED);
        g_assert_nonnull(dirty_ring_push(&r->p, 0, i));
    }
    g_assert_null(dirty_ring_push(&r->p, 0, 256));
    g_assert_cmpuint(dirty_ring_harvest(&r->h, pages, 1), ==, 1);
    g_assert_null(dirty_ring_push(&r->p, 0, 256));
    g_assert_cmpuint(dirty_ring_recycle(&r->p, sum_protected), ==, 1);
    g_assert_nonnull(dirty_ring_push(&r->p, 0, 256));
    g_assert_null(dirty_ring_push(&r->p, 0, 257));
    g_assert_cmpuint(dirty_ring_harvest(&r->h, pages, 256), ==, 256);
    g_assert_cmpuint(pages[255].offset, ==, 256);
    ring_delete(r);
}

static DirtyGfn *being_freed;

static void is_free_already(uint32_t slot, uint64_t offset)
{
    g_assert_true(dirty_gfn_is_free(being_freed));
    /* What stands there now is not what was read before. */
    being_freed->offset = 99;
    g_assert_cmpuint(offset, ==, 5);
}

/*
 * The interleaving that this forbids: reset protects the page; the producer,
 * half-way through its fault, makes it writable and sees its entry still in
 * the ring; reset frees the entry. The page stays writable, in no ring.
 */
static void test_free_comes_before_protect(void)
{
    TestRing *r = ring_new(256, 0);
    DirtyRingPage page;

    being_freed = dirty_ring_push(&r->p, 3, 5);
    dirty_ring_harvest(&r->h, &page, 1);
    g_assert_cmpuint(dirty_ring_recycle(&r->p, is_free_already), ==, 1);
    ring_delete(r);
}

#define RACE_PAGES 200000

static void *race_producer(void *opaque)
{
    DirtyRingProducer *p = opaque;

    for (uint64_t i = 0; i < RACE_PAGES; i++) {
        while (!dirty_ring_push(p, (uint32_t)(i * 3), i)) {
            sched_yield();
        }
    }
    return NULL;
}

/* One thread pushes, another harvests and recycles: each page once, in order. */
static void test_race(void)
{
    TestRing *r = ring_new(256, 0);
    DirtyRingPage pages[256];
    QemuThread thread;
    uint64_t seen = 0;

    qemu_thread_create(&thread, "producer", race_producer, &r->p,
                       QEMU_THREAD_JOINABLE, &error_abort);
    while (seen < RACE_PAGES) {
        uint32_t n = dirty_ring_harvest(&r->h, pages, 256);

        for (uint32_t i = 0; i < n; i++, seen++) {
            g_assert_cmpuint(pages[i].offset, ==, seen);
            g_assert_cmpuint(pages[i].slot, ==, (uint32_t)(seen * 3));
        }
        g_assert_cmpuint(dirty_ring_recycle(&r->p, sum_protected), ==, n);
        if (n == 0) {
            sched_yield();
        }
    }
    qemu_thread_join(&thread);
    ring_delete(r);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ring/sizes", test_sizes);
    g_test_add_func("/ring/hand-over", test_hand_over);
    g_test_add_func("/ring/recycles-prefix", test_recycles_prefix);
    g_test_add_func("/ring/skip", test_skip);
    g_test_add_func("/ring/soft-and-hard-full", test_soft_and_hard_full);
    g_test_add_func("/ring/free-before-protect",
                    test_free_comes_before_protect);
    g_test_add_func("/ring/race", test_race);
    return g_test_run();
}
