/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Policy of the DBM tracker: faults and entries read, for writers of several
 * kinds and for several thresholds. Counts only: they are the same on every
 * host. The last two columns weigh them by the prices that
 * accel/tcg/dbm-policy.c argues with: `sum ms` takes a fault and a read as
 * they are, `blackout ms` is what the last collect's reads alone would be.
 *
 * Options: --rounds N, --out DIR.
 */
#include "qemu/osdep.h"

#include "bench-out.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "system/dirty-memory.h"
#include "system/dirty-tracker.h"
#include "../unit/tcg-harness.h"

#define PAGE       TCG_PAGE_SIZE
#define CODE       (GUEST_RAM_BASE + 0x200000)
#define LIST       (GUEST_RAM_BASE + 0x400000)
#define SLOT_BASE  (UINT64_C(4) << 30)
#define GROUP      64u
#define NR_GROUPS  4096u
#define SLOT_PAGES (NR_GROUPS * GROUP)
#define FAULT_US   5.8
#define ENTRY_US   0.052

static struct {
    TcgVcpu *v;
    MemoryRegion slot;
    uint64_t *list;
    uint64_t n;
    uint64_t x; /* of the generator */
} vm;

static void page(uint64_t p)
{
    vm.list[vm.n++] = SLOT_BASE + p % SLOT_PAGES * PAGE;
}

static void run_of_pages(uint64_t first, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        page(first + i);
    }
}

static uint64_t rnd(uint64_t below)
{
    vm.x ^= vm.x << 13;
    vm.x ^= vm.x >> 7;
    vm.x ^= vm.x << 17;
    return vm.x % below;
}

/* ---- writers: what is written in a round ---- */

static void dense(unsigned round)
{
    run_of_pages(0, 256 * GROUP);
}

static void sequential(unsigned round)
{
    run_of_pages(round * UINT64_C(1601), 1601);
}

static void sparse_same(unsigned round)
{
    for (unsigned i = 0; i < 1024; i++) {
        page(i * GROUP + 5);
    }
}

static void sparse_random(unsigned round)
{
    for (unsigned i = 0; i < 1024; i++) {
        page(rnd(SLOT_PAGES));
    }
}

static void sparse_then_dense(unsigned round)
{
    if (round < 8) {
        for (unsigned i = 0; i < 256; i++) {
            page(i * GROUP + round);
        }
    } else {
        run_of_pages(0, 256 * GROUP);
    }
}

static void burst(unsigned round)
{
    run_of_pages(0, (round == 0 ? 1024 : 16) * GROUP);
}

static void every_fourth(unsigned round)
{
    run_of_pages(round % 4 * 64 * GROUP, 64 * GROUP);
}

static void every_second(unsigned round)
{
    run_of_pages(round % 2 * 128 * GROUP, 128 * GROUP);
}

static void two_a_group(unsigned round)
{
    for (unsigned i = 0; i < 1024; i++) {
        run_of_pages(i * GROUP + round, 2);
    }
}

static const struct {
    const char *name;
    void (*write)(unsigned round);
} writers[] = {
    { "dense", dense },
    { "sequential", sequential },
    { "one a group", sparse_same },
    { "two a group", two_a_group },
    { "random", sparse_random },
    { "sparse, then dense", sparse_then_dense },
    { "burst, then small", burst },
    { "every second round", every_second },
    { "every fourth round", every_fourth },
};

/* ---- one run ---- */

static void round_of(unsigned w, unsigned round)
{
    CPUARMState *env = vm.v->env;
    RAMBlock *rb = vm.slot.ram_block;

    vm.n = 0;
    writers[w].write(round);
    env->xregs[1] = LIST;
    env->xregs[2] = vm.n;
    guest_run(vm.v, CODE);
    memory_global_dirty_log_sync(false);
    ram_block_test_and_clear_dirty(rb, 0, SLOT_PAGES * PAGE,
                                   DIRTY_MEMORY_MIGRATION, NULL);
}

static void run(unsigned w, const TcgDbmPolicy *policy, unsigned rounds)
{
    DirtyTrackerGroups a, b, last;

    vm.x = 88172645463325252;
    tcg_dbm_set_policy(policy);
    tcg_dbm_tracker.groups(&a);
    last = a;
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    for (unsigned i = 0; i < rounds; i++) {
        tcg_dbm_tracker.groups(&last);
        round_of(w, i);
    }
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    tcg_dbm_tracker.groups(&b);

    bench_row("policy");
    bench_text("writer", writers[w].name);
    bench_num("fall", policy->fall_after, 0);
    bench_num("back", policy->back_pages, 0);
    bench_num("disarm", policy->disarm_after, 0);
    bench_num("pages", b.pages_collected - a.pages_collected, 0);
    bench_num("faults", b.faults - a.faults, 0);
    bench_num("entries", b.entries_scanned - a.entries_scanned, 0);
    bench_num("armed", b.groups_armed - a.groups_armed, 0);
    bench_num("disarmed", b.groups_disarmed - a.groups_disarmed, 0);
    bench_num("fallen", b.groups_fallen - a.groups_fallen, 0);
    bench_num("back again", b.groups_back - a.groups_back, 0);
    bench_num("sum ms",
              ((b.faults - a.faults) * FAULT_US +
               (b.entries_scanned - a.entries_scanned) * ENTRY_US) /
                  1e3,
              2);
    bench_num("blackout ms",
              (b.entries_scanned - last.entries_scanned) * ENTRY_US / 1e3, 3);
    bench_row_end();
}

static const TcgDbmPolicy policies[] = {
    { 2, 2, 2 }, /* the default */
    { 0, 2, 2 }, { 1, 2, 2 }, { 3, 2, 2 }, { 5, 2, 2 },
    { 2, 4, 2 }, { 2, 8, 2 }, { 2, 2, 0 }, { 2, 2, 1 },
    { 2, 2, 3 }, { 2, 2, 5 }, { 0, 2, 0 },
};

int main(int argc, char **argv)
{
    unsigned rounds = bench_arg(argc, argv, "rounds", 20);

    guest_init();
    vm.v = guest_vcpu("cortex-a57");
    /* 1: ldr x5, [x1], #8 ; str x4, [x5] ; subs x2, x2, #1 ; b.ne 1b ; wfi */
    GUEST_CODE(CODE, 0xf8408425, A64_WORD_STR(4, 5), 0xf1000442, 0x54ffffa1,
               A64_WORD_WFI);
    vm.list = (uint64_t *)((uint8_t *)qemu_ram_get_host_addr(guest_ram()) +
                           (LIST - GUEST_RAM_BASE));
    memory_region_init_ram(&vm.slot, NULL, "slot", SLOT_PAGES * PAGE,
                           &error_abort);
    memory_region_add_subregion(get_system_memory(), SLOT_BASE, &vm.slot);
    dirty_tracker_select(&tcg_dbm_tracker, &error_abort);
    bench_out_begin(bench_arg_str(argc, argv, "out"), "dbm-policy");
    for (unsigned w = 0; w < ARRAY_SIZE(writers); w++) {
        for (unsigned i = 0; i < ARRAY_SIZE(policies); i++) {
            run(w, &policies[i], rounds);
        }
    }
    bench_out_end();
    bql_unlock();
    return 0;
}
