/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The price of an operation: see include/system/dirty-cost.h. */
#include "qemu/osdep.h"

#include "system/dirty-cost.h"

#define PS_PER_NS 1000u

void dirty_cost_add(DirtyCost *cost, double ns, uint64_t units, uint64_t least)
{
    uint64_t i;

    if (units == 0 || units < least || ns < 0) {
        return;
    }
    i = atomic_fetch_add_explicit(&cost->nr, 1, memory_order_relaxed);
    /* A unit that takes no time that the clock can see is not unknown. */
    atomic_store_explicit(&cost->ps[i % DIRTY_COST_SAMPLES],
                          MAX((uint64_t)(ns * PS_PER_NS / (double)units), 1),
                          memory_order_relaxed);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

double dirty_cost_ns(const DirtyCost *cost)
{
    uint64_t ps[DIRTY_COST_SAMPLES], nr = 0;

    for (unsigned i = 0; i < DIRTY_COST_SAMPLES; i++) {
        uint64_t v = atomic_load_explicit(&cost->ps[i], memory_order_relaxed);

        if (v) { /* else nobody has been here, or is just coming */
            ps[nr++] = v;
        }
    }
    if (nr < DIRTY_COST_ENOUGH) {
        return 0;
    }
    qsort(ps, nr, sizeof(ps[0]), compare);
    /* Of an even number the lower one: outliers are above. */
    return (double)ps[(nr - 1) / 2] / PS_PER_NS;
}
