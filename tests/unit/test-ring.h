/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Both ends of a dirty ring, for tests. Used by: test-dirty-ring.c,
 * test-dirty-reaper.c.
 */
#ifndef TESTS_UNIT_TEST_RING_H
#define TESTS_UNIT_TEST_RING_H

#include "system/dirty-ring.h"

typedef struct TestRing {
    DirtyRingProducer p;
    DirtyRing h;
} TestRing;

/* Both ends begin at @at, to see them wrap. */
static inline TestRing *ring_new(uint32_t entries, uint32_t at)
{
    TestRing *r = g_new0(TestRing, 1);

    r->p.gfns = r->h.gfns = dirty_ring_alloc(entries);
    r->p.entries = r->h.entries = entries;
    atomic_store(&r->p.pushed, at);
    atomic_store(&r->p.reset, at);
    r->h.next = at;
    return r;
}

static inline void ring_delete(TestRing *r)
{
    dirty_ring_free(r->p.gfns, r->p.entries);
    g_free(r);
}

#endif /* TESTS_UNIT_TEST_RING_H */
