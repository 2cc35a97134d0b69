/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every scenario over every tracker: no write lost, none invented, counts
 * exact. A tracker is one row of tracker_engines[]; a scenario is one row of
 * a table in tracker-{writes,events,rings,replace}.c; each pair is one test.
 *
 * What a scenario knows of an engine is what the row says: whether a collect
 * re-arms (then a page stored to before its clean is reported again) and how
 * large rings are. What it may report is exactly what was stored to since the
 * page was last re-armed; nothing is "at least" but where two vCPUs race
 * freely, and there the copy is held against memory.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "system/dirty-choice.h"
#include "system/dirty-pagemap.h"
#include "tracker-oracle.h"

static void rings_of_256(void)
{
    dirty_tracking_set_ring_entries(256);
}

static void rings_of_4096(void)
{
    dirty_tracking_set_ring_entries(4096);
}

const TrackerEngine tracker_engines[] = {
    {
        .name = "bitmap",
        .ops = &tcg_bitmap_tracker,
        .can = CAN_ALL,
        .half = TCG_POINT_FAULT_HALF,
    },
    {
        .name = "dbm",
        .ops = &tcg_dbm_tracker,
        .can = CAN_ALL,
        .half = TCG_POINT_UNLISTED,
    },
    {
        .name = "ring-256",
        .ops = &tcg_ring_tracker,
        .can = CAN_ALL | HAS_RINGS,
        .configure = rings_of_256,
        .half = TCG_POINT_RING_PUSHED,
        .collect_rearms = true,
        .ring_entries = 256,
    },
    {
        .name = "ring-4096",
        .ops = &tcg_ring_tracker,
        .can = CAN_ALL | HAS_RINGS,
        .configure = rings_of_4096,
        .half = TCG_POINT_RING_PUSHED,
        .collect_rearms = true,
        .ring_entries = 4096,
    },
    {
        .name = "pagemap",
        .ops = &dirty_tracker_pagemap,
    },
    { .name = NULL },
};

typedef struct Pair {
    const TrackerEngine *e;
    const Scenario *s;
} Pair;

static void run_pair(gconstpointer opaque)
{
    const Pair *pair = opaque;
    g_autoptr(Error) err = NULL;

    if (pair->e->configure) {
        pair->e->configure();
    }
    if (pair->e->ops->probe(&err)) {
        pair->s->func(pair->e);
    } else {
        g_test_skip(error_get_pretty(err));
    }
}

static void add_scenarios(const TrackerEngine *e, const Scenario *s)
{
    for (; s->name; s++) {
        g_autofree char *path = g_strdup_printf("/tracker/%s/%s", e->name,
                                                s->name);
        Pair *pair = g_new(Pair, 1);

        *pair = (Pair){ e, s };
        if (s->needs & ~e->can) {
            g_free(pair);
        } else {
            g_test_add_data_func_full(path, pair, run_pair, g_free);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    oracle_init();
    for (const TrackerEngine *e = tracker_engines; e->name; e++) {
        add_scenarios(e, write_scenarios);
        add_scenarios(e, event_scenarios);
        add_scenarios(e, ring_scenarios);
        add_scenarios(e, replace_scenarios);
    }
    return g_test_run();
}
