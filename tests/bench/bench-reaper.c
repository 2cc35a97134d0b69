/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an entry of a dirty ring costs the reaper, in ns, by the order in which
 * the guest writes pages.
 *
 *   one by one   publishing a batch page by page
 *   by words     publishing it as the reaper does
 *   reap         all of it: harvest, reset, publish; as the reaper does
 *
 * What is compared alternates within a run; medians of --runs N (7). The pages
 * are clean before each. Options: --entries N (a ring, 4096), --out DIR.
 */
#include "qemu/osdep.h"

#include "bench-out.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/dirty-memory.h"
#include "system/dirty-reaper.h"
#include "system/memory.h"
#include "system/ram-block.h"

#define PAGES    UINT64_C(262144) /* 1 GiB */
#define MAX_RUNS 101

static struct {
    RAMBlock *rb;
    uint64_t *writable; /* the engine's, as in accel/tcg/ring-tracker.c */
    DirtyRingProducer ring;
    CPUState cpu;
    uint32_t entries;
    uint64_t *order; /* the pages, as they are written */
    DirtyPage *batch;
    uint64_t x; /* of the generator */
} vm;

static uint64_t rnd(uint64_t below)
{
    vm.x ^= vm.x << 13;
    vm.x ^= vm.x >> 7;
    vm.x ^= vm.x << 17;
    return vm.x % below;
}

/* ---- orders ---- */

static uint64_t upwards(uint32_t i)
{
    return 1000 + i;
}

static uint64_t downwards(uint32_t i)
{
    return 200000 - i;
}

static uint64_t two_streams(uint32_t i)
{
    return i / 2 + i % 2 * 100000;
}

static uint64_t eight_streams(uint32_t i)
{
    return i / 8 + i % 8 * 30011;
}

static uint64_t every_second(uint32_t i)
{
    return 1000 + UINT64_C(2) * i;
}

static uint64_t random_dense(uint32_t i)
{
    return rnd(vm.entries);
}

static uint64_t random_all(uint32_t i)
{
    return rnd(PAGES);
}

static const struct {
    const char *name;
    uint64_t (*page)(uint32_t i);
} orders[] = {
    { "upwards", upwards },
    { "downwards", downwards },
    { "every second", every_second },
    { "two streams", two_streams },
    { "eight streams", eight_streams },
    { "random, dense", random_dense },
    { "random, 1 GiB", random_all },
};

/* ---- the engine ---- */

static void protect(uint32_t slot, uint64_t page)
{
    clear_bit_atomic(page, vm.writable);
}

static uint32_t reset(uint32_t due)
{
    return dirty_ring_recycle(&vm.ring, protect);
}

static const DirtyReaperEngine engine = { .reset = reset };

static void clean(void)
{
    for (unsigned c = 0; c < DIRTY_MEMORY_NUM; c++) {
        ram_block_collect_dirty(vm.rb, 0, PAGES * DIRTY_PAGE_SIZE, c, NULL);
    }
}

/* ---- what is compared; ns for all entries ---- */

static double one_by_one(void)
{
    double begin = bench_now_s();

    for (uint32_t i = 0; i < vm.entries; i++) {
        ram_block_set_dirty_pages(vm.rb, vm.batch[i].page, 1,
                                  DIRTY_CLIENTS_NOCODE);
    }
    return (bench_now_s() - begin) * 1e9;
}

static double by_words(void)
{
    double begin = bench_now_s();

    dirty_pages_set_dirty(vm.batch, vm.entries, DIRTY_CLIENTS_NOCODE);
    return (bench_now_s() - begin) * 1e9;
}

static double reap(void)
{
    double begin;

    for (uint32_t i = 0; i < vm.entries; i++) {
        dirty_ring_push(&vm.ring, 1, vm.order[i]);
    }
    begin = bench_now_s();
    dirty_reaper_collect();
    return (bench_now_s() - begin) * 1e9;
}

static double (*const ways[])(void) = { one_by_one, by_words, reap };

static void compare(unsigned order, unsigned runs)
{
    double ns[ARRAY_SIZE(ways)][MAX_RUNS];
    double medians[ARRAY_SIZE(ways)];

    vm.x = 88172645463325252;
    for (uint32_t i = 0; i < vm.entries; i++) {
        vm.order[i] = orders[order].page(i);
        vm.batch[i] = (DirtyPage){ vm.rb, vm.order[i] };
    }
    for (unsigned run = 0; run < runs; run++) {
        for (unsigned w = 0; w < ARRAY_SIZE(ways); w++) {
            clean();
            ns[w][run] = ways[w]() / vm.entries;
        }
    }
    for (unsigned w = 0; w < ARRAY_SIZE(ways); w++) {
        medians[w] = bench_median(ns[w], runs);
    }
    bench_row("ns per entry");
    bench_text("order", orders[order].name);
    bench_num("one by one", medians[0], 1);
    bench_num("by words", medians[1], 1);
    bench_num("ratio", medians[0] / medians[1], 1);
    bench_num("reap", medians[2], 1);
    bench_row_end();
}

int main(int argc, char **argv)
{
    unsigned runs = MIN(bench_arg(argc, argv, "runs", 7), MAX_RUNS);

    main_loop_init();
    get_system_memory();
    vm.entries = bench_arg(argc, argv, "entries", 4096);
    dirty_ring_check_entries(vm.entries, &error_fatal);
    vm.rb = qemu_ram_alloc(PAGES * DIRTY_PAGE_SIZE, 0, NULL, &error_abort);
    vm.writable = bitmap_new(PAGES);
    vm.order = g_new(uint64_t, vm.entries);
    vm.batch = g_new(DirtyPage, vm.entries);
    vm.ring = (DirtyRingProducer){
        .gfns = dirty_ring_alloc(vm.entries),
        .entries = vm.entries,
    };
    dirty_reaper_start(&engine, &error_abort);
    dirty_reaper_add_slot(1, vm.rb, 0, PAGES);
    dirty_reaper_add_ring(&vm.cpu, vm.ring.gfns, vm.entries);
    bench_out_begin(bench_arg_str(argc, argv, "out"), "reaper");
    for (unsigned i = 0; i < ARRAY_SIZE(orders); i++) {
        compare(i, runs);
    }
    bench_out_end();
    dirty_reaper_stop();
    bql_unlock();
    return 0;
}
