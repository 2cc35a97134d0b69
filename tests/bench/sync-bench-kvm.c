/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sync-bench-kvm: a sync and a clean with the trackers of KVM, for guests of
 * up to 1 TiB in slots of several sizes, of which a vCPU has written so many
 * pages, evenly spread.
 *
 *   start    tracking on (bitmap: every slot's log)
 *   collect  KVM_GET_DIRTY_LOG of each slot, or a reap, or PAGEMAP_SCAN
 *   take     block bitmap -> send set
 *   clean    by chunks of 1 GiB
 *
 * The memory was never touched but for these pages. GET copies the bitmap of a
 * whole slot: so a second table has ranges of 256 MiB collected one by one,
 * by one thread and by two, for each size of slots.
 *
 * A page costs the host two pages for itself and its page table, and KVM about
 * as much again: not too many of them.
 *
 * Options: --min SIZE, --max SIZE, --runs N, --out DIR; --seconds N: no row is
 * begun after that long, and how many were left out is said. Skipped where
 * there is no KVM.
 */
#include "qemu/osdep.h"

#include <sys/mman.h>

#include "bench-out.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/units.h"
#include "system/dirty-choice.h"
#include "system/dirty-pagemap.h"
#include "../unit/kvm-harness.h"
#include "kvm-slots.h"
#include "kvm-trackers.h"

#define PAGE     DIRTY_PAGE_SIZE
#define MIG      DIRTY_MEMORY_MIGRATION
#define MAX_RUNS 9
#define CHUNK    (1 * GiB)
#define RANGE    (256 * MiB)
/* Where the big block is, and tables that map all of it by 2 MiB pages. */
#define BIG_BASE    (1 * TiB)
#define TABLES_BASE UINT64_C(0x20000000)
/* GiB: it takes 2 MiB of page tables for each. */
#define PAGEMAP_MAX 256

typedef struct Engine {
    const char *name;
    const DirtyTrackerOps *ops;
    KvmVmConfig config;
} Engine;

#define BITMAP(size)                                                           \
    {                                                                          \
        .kind = KVM_LOG_BITMAP, .irqchip = KVM_IRQCHIP_OFF, .slot_bytes = size \
    }

static const Engine engines[] = {
    { "bitmap", &kvm_bitmap_tracker, BITMAP(0) },
    { "bitmap, 64 GiB slots", &kvm_bitmap_tracker, BITMAP(64 * GiB) },
    { "bitmap, 8 GiB slots", &kvm_bitmap_tracker, BITMAP(8 * GiB) },
    { "bitmap, 1 GiB slots", &kvm_bitmap_tracker, BITMAP(1 * GiB) },
    { "ring-65536",
      &kvm_ring_tracker,
      { .kind = KVM_LOG_RING,
        .ring_entries = 65536,
        .irqchip = KVM_IRQCHIP_OFF } },
    { "pagemap", &dirty_tracker_pagemap, BITMAP(0) },
};

static struct {
    MemoryRegion big, tables;
    RAMBlock *rb;
    uint64_t bytes, *bmap;
    GuestVcpu *v;
} vm;

extern const uint8_t sync_code[], sync_code_end[];
asm(".pushsection .rodata\n"
    ".globl sync_code, sync_code_end\n"
    "sync_code:\n" /* rcx times: a store at rdi, which grows by rdx */
    "1:  incq (%rdi)\n"
    "    addq %rdx, %rdi\n"
    "    decq %rcx\n"
    "    jnz 1b\n"
    "2:  outb %al, $0xf4\n"
    "    jmp 2b\n"
    "sync_code_end:\n"
    ".popsection\n");

/* ---- the guest ---- */

/* 4 KiB of PML4, of PDPTs for 512 GiB each, of PDs for 1 GiB each. */
static void make_tables(uint64_t gib)
{
    uint64_t pdpt = TABLES_BASE, pd = pdpt + 4 * PAGE;
    const uint64_t pml4 = 0x5000; /* the harness's */

    mini_ram(&vm.tables, "tables", TABLES_BASE, (4 + gib) * PAGE);
    for (uint64_t i = 0; i < gib; i++, pd += PAGE) {
        uint64_t at = BIG_BASE / GiB + i;

        if (i % 512 == 0) {
            guest_write64(pml4 + at / 512 * 8, (pdpt + i / 512 * PAGE) | 0x27);
        }
        guest_write64(pdpt + i / 512 * PAGE + at % 512 * 8, pd | 0x27);
        for (uint64_t k = 0; k < 512; k++) {
            guest_write64(pd + k * 8, (at * GiB + k * 2 * MiB) | 0xe7);
        }
    }
}

static void use(const Engine *e)
{
    if (e->config.ring_entries) {
        dirty_tracking_set_ring_entries(e->config.ring_entries);
    }
    guest_use_vm(&e->config);
    dirty_tracker_select(e->ops, &error_abort);
}

static void write_pages(uint64_t n)
{
    if (n) {
        vm.v->regs = (struct kvm_regs){
            .rdi = BIG_BASE,
            .rcx = n,
            .rdx = ROUND_DOWN(vm.bytes / n, PAGE),
        };
        guest_run(vm.v, GUEST_CODE_BASE);
    }
}

static void make_big(uint64_t gib)
{
    vm.bytes = gib * GiB;
    vm.rb = mini_ram(&vm.big, "big", BIG_BASE, vm.bytes);
    /* Else each page that is written is one of 2 MiB. */
    madvise(qemu_ram_get_host_addr(vm.rb), vm.bytes, MADV_NOHUGEPAGE);
    vm.bmap = bitmap_new(vm.bytes / PAGE);
}

static void drop_big(void)
{
    memory_region_del_subregion(get_system_memory(), &vm.big);
    memory_region_destroy(&vm.big);
    g_free(vm.bmap);
}

/* ---- a sync ---- */

static uint64_t take(void)
{
    return ram_block_collect_dirty(vm.rb, 0, vm.bytes, MIG, vm.bmap);
}

static void clean_all(void)
{
    for (ram_addr_t at = 0; at < vm.bytes; at += CHUNK) {
        ram_block_clean(vm.rb, at, MIN(CHUNK, vm.bytes - at));
    }
    bitmap_zero(vm.bmap, vm.bytes / PAGE);
}

static void measure(const Engine *e, uint64_t gib, uint64_t nr, unsigned runs)
{
    double start, collect[MAX_RUNS], took[MAX_RUNS], clean[MAX_RUNS], t;
    uint64_t found = 0, calls = 0;
    unsigned slots;

    use(e);
    write_pages(nr);
    t = bench_now_s();
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    start = bench_now_s() - t;
    slots = kvm_slots_count(kvm_vm(), false);
    take();
    bitmap_zero(vm.bmap, vm.bytes / PAGE);
    for (unsigned i = 0; i < runs; i++) {
        write_pages(nr);
        calls = kvm_call_count_all();
        t = bench_now_s();
        memory_global_dirty_log_sync(false);
        collect[i] = bench_now_s() - t;
        t = bench_now_s();
        found = take();
        took[i] = bench_now_s() - t;
        t = bench_now_s();
        clean_all();
        clean[i] = bench_now_s() - t;
        calls = kvm_call_count_all() - calls;
    }
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    g_assert_cmpuint(found, ==, nr);

    bench_row("sync");
    bench_text("engine", e->name);
    bench_num("GiB", gib, 0);
    bench_num("slots", slots, 0);
    bench_num("pages", found, 0);
    bench_num("start ms", start * 1e3, 2);
    bench_num("collect ms", bench_median(collect, runs) * 1e3, 3);
    bench_num("take ms", bench_median(took, runs) * 1e3, 3);
    bench_num("clean ms", bench_median(clean, runs) * 1e3, 3);
    bench_num("ioctls", calls, 0);
    bench_row_end();
}

/* ---- by ranges ---- */

typedef struct Owner {
    ram_addr_t first, end;
    QemuThread thread;
} Owner;

static void *own(void *opaque)
{
    Owner *o = opaque;

    for (ram_addr_t at = o->first; at < o->end; at += RANGE) {
        ram_addr_t n = MIN(RANGE, o->end - at);

        ram_block_dirty_sync_range(vm.rb, at, n);
        ram_block_test_and_clear_dirty(vm.rb, at, n, MIG, vm.bmap);
    }
    return NULL;
}

static void by_ranges(const Engine *e, uint64_t gib, uint64_t nr,
                      unsigned threads)
{
    Owner o[2];
    double t;

    use(e);
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    take();
    bitmap_zero(vm.bmap, vm.bytes / PAGE);
    write_pages(nr);
    t = bench_now_s();
    for (unsigned i = 0; i < threads; i++) {
        o[i].first = vm.bytes / threads * i;
        o[i].end = vm.bytes / threads * (i + 1);
        qemu_thread_create(&o[i].thread, "owner", own, &o[i],
                           QEMU_THREAD_JOINABLE, &error_abort);
    }
    for (unsigned i = 0; i < threads; i++) {
        qemu_thread_join(&o[i].thread);
    }
    t = bench_now_s() - t;
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    g_assert_cmpuint(bitmap_count_one(vm.bmap, vm.bytes / PAGE), ==, nr);

    bench_row("by ranges of 256 MiB");
    bench_text("engine", e->name);
    bench_num("GiB", gib, 0);
    bench_num("threads", threads, 0);
    bench_num("pages", nr, 0);
    bench_num("ms", t * 1e3, 3);
    bench_row_end();
}

/* Rows that were not begun: see --seconds. */
static struct {
    double end_s; /* 0: no limit */
    unsigned left_out;
} budget;

static bool in_time(void)
{
    bool yes = budget.end_s == 0 || bench_now_s() < budget.end_s;

    budget.left_out += !yes;
    return yes;
}

static void one_size(uint64_t gib, unsigned runs)
{
    static const uint64_t pages[] = { 0, 1000, 20000 };

    make_big(gib);
    for (unsigned e = 0; e < ARRAY_SIZE(engines); e++) {
        if (engines[e].ops == &dirty_tracker_pagemap && gib > PAGEMAP_MAX) {
            continue;
        }
        for (unsigned k = 0; k < ARRAY_SIZE(pages); k++) {
            if (in_time()) {
                measure(&engines[e], gib, pages[k], runs);
            }
        }
    }
    for (unsigned e = 0; e < 4; e++) {
        for (unsigned threads = 1; threads <= 2; threads++) {
            if (in_time()) {
                by_ranges(&engines[e], gib, 1000, threads);
            }
        }
    }
    drop_big();
}

int main(int argc, char **argv)
{
    static const uint64_t sizes_gib[] = { 1, 16, 256, 1024 };
    uint64_t max = bench_arg(argc, argv, "max", 1 * TiB) / GiB;
    uint64_t min = bench_arg(argc, argv, "min", 1 * GiB) / GiB;
    unsigned runs = bench_arg(argc, argv, "runs", 3);
    uint64_t seconds = bench_arg(argc, argv, "seconds", 0);

    if (mini_unusable()) {
        printf("skipped: %s\n", mini_unusable());
        return 0;
    }
    if (runs < 1 || runs > MAX_RUNS) {
        fprintf(stderr, "--runs: 1 to %u\n", MAX_RUNS);
        return 1;
    }
    budget.end_s = seconds ? bench_now_s() + seconds : 0;
    guest_init();
    guest_write(GUEST_CODE_BASE, sync_code, sync_code_end - sync_code);
    make_tables(MIN(max, 1024));
    use(&engines[0]);
    vm.v = guest_vcpu(GUEST_MODEL);
    bench_out_begin(bench_arg_str(argc, argv, "out"), "sync-bench-kvm");
    for (unsigned i = 0; i < ARRAY_SIZE(sizes_gib); i++) {
        if (sizes_gib[i] >= min && sizes_gib[i] <= max) {
            one_size(sizes_gib[i], runs);
        }
    }
    if (budget.left_out) {
        bench_say("%u rows left out: --seconds was not enough\n",
                  budget.left_out);
    }
    bench_out_end();
    bql_unlock();
    return 0;
}
