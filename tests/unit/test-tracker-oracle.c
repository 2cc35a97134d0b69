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
        .can = CAN_ALL | HAS_RINGS | HAS_HARD_FULL,
        .configure = rings_of_256,
        .half = TCG_POINT_RING_PUSHED,
        .collect_rearms = true,
        .ring_entries = 256,
    },
    {
        .name = "ring-4096",
        .ops = &tcg_ring_tracker,
        .can = CAN_ALL | HAS_RINGS | HAS_HARD_FULL,
        .configure = rings_of_4096,
        .half = TCG_POINT_RING_PUSHED,
        .collect_rearms = true,
        .ring_entries = 4096,
    },
    {
        .name = "pagemap",
        .ops = &dirty_tracker_pagemap,
        .can = CAN_SLEEP | IS_ONCE,
    },
    { .name = NULL },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    oracle_init();
    oracle_add_all(NULL);
    return g_test_run();
}
