/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dirty-log-perf: the phases of the kernel's dirty_log_perf_test, for each
 * engine of dirty tracking, on the software engine; dirty-log-perf-kvm is the
 * same on KVM (dirty-log-guest.h).
 *
 *   populate   each vCPU writes all its pages, untracked
 *   enable     tracking on
 *   per iteration:
 *     dirty    each vCPU writes its share of its pages, all at once
 *     get      collect, and take the bits into a send set
 *     clear    clean all memory, by chunks
 *   disable    tracking off
 *
 * Times are medians over runs, which alternate between the engines; those of
 * an iteration are sums over the iterations. Counts are of one run and do not
 * depend on the host. Each get is compared with what was written.
 *
 * A second table: threads that each own a part of the memory go over it,
 * collecting, taking and cleaning 256 pages at a time, while the vCPUs write
 * all the time. They do not wait for each other, but each clean waits for the
 * vCPUs: so several threads overlap their waits.
 *
 * Options: --vcpus N, --bytes SIZE (per vCPU), --iterations N, --slots N,
 * --write-share PERCENT, --random 1, --clear-chunk PAGES (0: a slot), --runs N,
 * --out DIR.
 *
 * In the model a fault does not leave the guest. What one would cost in
 * hardware is in the guest's time of `dirty` in the kernel's test; here it is
 * in the column `faults`.
 */
#include "qemu/osdep.h"

#include "bench-out.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/units.h"
#include "system/dirty-memory.h"
#include "system/dirty-reaper.h"
#include "system/dirty-choice.h"
#include "system/dirty-pagemap.h"
#include "system/dirty-tracker.h"

typedef struct Engine {
    const char *name;
    const DirtyTrackerOps *ops;
    uint32_t ring_entries;
    bool all_at_first; /* as for a migration */
} Engine;

#include "dirty-log-guest.h"

#define PAGE       DIRTY_PAGE_SIZE
#define LISTS      (GUEST_RAM_BASE + 0x400000)
#define MAX_VCPUS  16
#define MAX_SLOTS  64
#define MAX_RUNS   15
#define MAX_OWNERS 4

static struct {
    unsigned vcpus, iterations, slots, write_share, runs;
    bool random;
    uint64_t pages_per_vcpu, clear_chunk; /* pages */
} opt;

static struct {
    GuestVcpu *v[MAX_VCPUS];
    uint64_t *list[MAX_VCPUS];
    uint64_t nr_written; /* per vCPU and iteration */
    MemoryRegion slots[MAX_SLOTS];
    uint64_t slot_pages;
    uint64_t *bmap;
} vm;

enum {
    ENABLE,
    DIRTY,
    GET,
    CLEAR,
    DISABLE,
    NR_PHASES
};
static const char *const phase_names[] = { "enable ms", "dirty ms", "get ms",
                                           "clear ms", "disable ms" };

typedef struct Result {
    double ms[NR_PHASES][MAX_RUNS];
    uint64_t faults, entries, pages, calls;
} Result;

/* ---- the guest ---- */

static uint64_t rnd(void)
{
    static uint64_t x = 88172645463325252;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

/* The first @n of the vCPU's pages in the order in which it writes. */
static void make_list(unsigned v, uint64_t n)
{
    uint64_t first = SLOT_BASE / PAGE + v * opt.pages_per_vcpu;
    uint64_t *list = vm.list[v];

    for (uint64_t i = 0; i < opt.pages_per_vcpu; i++) {
        list[i] = (first + i) * PAGE;
    }
    if (opt.random) {
        for (uint64_t i = 0; i < n; i++) {
            uint64_t k = i + rnd() % (opt.pages_per_vcpu - i), t = list[i];

            list[i] = list[k];
            list[k] = t;
        }
    }
}

static uint64_t list_addr(unsigned v)
{
    return LISTS + ((uint8_t *)vm.list[v] - (uint8_t *)vm.list[0]);
}

static void write_pages(uint64_t n)
{
    GuestThread t[MAX_VCPUS];

    for (unsigned i = 0; i < opt.vcpus; i++) {
        writer_start(&t[i], vm.v[i], list_addr(i), n, false);
    }
    for (unsigned i = 0; i < opt.vcpus; i++) {
        guest_join(&t[i]);
    }
}

static void TSA_ACQUIRE(bql) make_guest(void)
{
    uint64_t total = opt.vcpus * opt.pages_per_vcpu;
    uint8_t *host;

    writers_init();
    host = qemu_ram_get_host_addr(guest_ram());
    for (unsigned i = 0; i < opt.vcpus; i++) {
        vm.v[i] = guest_vcpu(GUEST_MODEL);
        vm.list[i] = (uint64_t *)(host + (LISTS - GUEST_RAM_BASE)) +
                     i * opt.pages_per_vcpu;
    }
    vm.slot_pages = DIV_ROUND_UP(total, opt.slots);
    for (unsigned i = 0; i < opt.slots; i++) {
        g_autofree char *name = g_strdup_printf("slot%u", i);

        memory_region_init_ram(&vm.slots[i], NULL, name, vm.slot_pages * PAGE,
                               &error_abort);
        memory_region_add_subregion(get_system_memory(),
                                    SLOT_BASE + i * vm.slot_pages * PAGE,
                                    &vm.slots[i]);
    }
    vm.bmap = bitmap_new(vm.slot_pages);
    vm.nr_written = MAX(opt.pages_per_vcpu * opt.write_share / 100, 1);
    for (unsigned i = 0; i < opt.vcpus; i++) {
        make_list(i, 0);
    }
}

/* ---- the phases ---- */

static uint64_t get_log(void)
{
    uint64_t found = 0;

    memory_global_dirty_log_sync(false);
    for (unsigned i = 0; i < opt.slots; i++) {
        bitmap_zero(vm.bmap, vm.slot_pages);
        found += ram_block_collect_dirty(vm.slots[i].ram_block, 0,
                                         vm.slot_pages * PAGE,
                                         DIRTY_MEMORY_MIGRATION, vm.bmap);
    }
    return found;
}

static void clear_log(void)
{
    uint64_t chunk = opt.clear_chunk ? opt.clear_chunk : vm.slot_pages;

    for (unsigned i = 0; i < opt.slots; i++) {
        for (uint64_t p = 0; p < vm.slot_pages; p += chunk) {
            ram_block_clean(vm.slots[i].ram_block, p * PAGE,
                            MIN(chunk, vm.slot_pages - p) * PAGE);
        }
    }
}

/* By all vCPUs, as far as the engine counts them. */
static uint64_t faults_so_far(const Engine *e)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < opt.vcpus; i++) {
        n += writer_faults(vm.v[i], e);
    }
    return n;
}

/* Page states that collects have read, or ring entries harvested. */
static uint64_t entries_so_far(const Engine *e)
{
    DirtyTrackerGroups groups = { 0 };
    DirtyReaperStats ring;

    if (e->ring_entries) {
        dirty_reaper_get_stats(&ring);
        return ring.entries_harvested;
    }
    if (e->ops->groups) {
        e->ops->groups(&groups);
    }
    return groups.entries_scanned;
}

/* Make @e the one that tracks; no vCPU runs. */
static void use_engine(const Engine *e)
{
    if (e->ring_entries) {
        dirty_tracking_set_ring_entries(e->ring_entries);
    }
    engine_configure(e);
    dirty_tracker_select(e->ops, &error_abort);
}

static void start_tracking(const Engine *e)
{
    memory_global_dirty_log_start(
        GLOBAL_DIRTY_MIGRATION |
            (e->all_at_first ? GLOBAL_DIRTY_ALL_WRITTEN : 0),
        &error_abort);
}

static void lap(double *sum_ms, double *begin_s)
{
    double now = bench_now_s();

    *sum_ms += (now - *begin_s) * 1e3;
    *begin_s = now;
}

static void run(const Engine *e, Result *r, unsigned nr)
{
    uint64_t faults = faults_so_far(e), entries = entries_so_far(e), found;
    uint64_t calls = calls_so_far();
    double ms[NR_PHASES] = { 0 }, t;

    use_engine(e);
    r->pages = 0;
    t = bench_now_s();
    start_tracking(e);
    lap(&ms[ENABLE], &t);
    if (e->all_at_first) {
        get_log();
    }
    for (unsigned i = 0; i < opt.iterations; i++) {
        if (opt.random) {
            for (unsigned v = 0; v < opt.vcpus; v++) {
                make_list(v, vm.nr_written);
            }
        }
        t = bench_now_s();
        write_pages(vm.nr_written);
        lap(&ms[DIRTY], &t);
        found = get_log();
        lap(&ms[GET], &t);
        clear_log();
        lap(&ms[CLEAR], &t);
        /* A ring that was full in between re-arms pages that are known. */
        if (found !=
            (e->all_at_first && i == 0 ? 0 : opt.vcpus * vm.nr_written)) {
            fprintf(stderr, "%s: %" PRIu64 " pages found of %" PRIu64 "\n",
                    e->name, found, opt.vcpus * vm.nr_written);
            exit(1);
        }
        r->pages += found;
    }
    t = bench_now_s();
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    lap(&ms[DISABLE], &t);
    for (unsigned i = 0; i < NR_PHASES; i++) {
        r->ms[i][nr] = ms[i];
    }
    r->faults = faults_so_far(e) - faults;
    r->entries = entries_so_far(e) - entries;
    r->calls = calls_so_far() - calls;
}

static void report(const Engine *e, Result *r)
{
    bench_row("dirty-log-perf");
    bench_text("engine", e->name);
    for (unsigned i = 0; i < NR_PHASES; i++) {
        bench_num(phase_names[i], bench_median(r->ms[i], opt.runs), 3);
    }
    bench_num("pages", r->pages, 0);
    bench_num("faults", r->faults, 0);
    bench_num("entries", r->entries, 0);
    bench_num(CALLS_NAME, r->calls, 0);
    bench_row_end();
}

/* ---- threads that own ranges ---- */

typedef struct Owner {
    RAMBlock *rb;
    ram_addr_t first, length;
    uint64_t *bmap;
    uint64_t calls, pages;
    QemuThread thread;
} Owner;

static void *own(void *opaque)
{
    Owner *o = opaque;
    ram_addr_t done;

    for (ram_addr_t at = 0; at < o->length; at += done) {
        o->pages += ram_block_take_some(o->rb, o->first + at, o->length - at,
                                        DIRTY_MEMORY_MIGRATION, NULL, 256,
                                        &done);
        o->calls++;
    }
    return NULL;
}

/* vCPUs go round and round for as long as the owners work. */
static double owners_s(unsigned n, uint64_t *calls, uint64_t *pages)
{
    RAMBlock *rb = vm.slots[0].ram_block;
    uint64_t part = ROUND_UP(vm.slot_pages / n, 64);
    Owner o[MAX_OWNERS];
    GuestThread t[MAX_VCPUS];
    double begin;

    write_pages(vm.nr_written);
    for (unsigned i = 0; i < opt.vcpus; i++) {
        writer_start(&t[i], vm.v[i], list_addr(i), vm.nr_written, true);
    }
    begin = bench_now_s();
    for (unsigned i = 0; i < n; i++) {
        uint64_t first = i * part;

        o[i] = (Owner){ .rb = rb,
                        .first = first * PAGE,
                        .length = MIN(part, vm.slot_pages - first) * PAGE };
        qemu_thread_create(&o[i].thread, "owner", own, &o[i],
                           QEMU_THREAD_JOINABLE, &error_abort);
    }
    *calls = *pages = 0;
    for (unsigned i = 0; i < n; i++) {
        qemu_thread_join(&o[i].thread);
        *calls += o[i].calls;
        *pages += o[i].pages;
    }
    begin = bench_now_s() - begin;
    for (unsigned i = 0; i < opt.vcpus; i++) {
        guest_stop(&t[i]);
    }
    return begin;
}

static void report_owners(const Engine *e)
{
    double ms[3][MAX_RUNS];
    uint64_t calls[3], pages[3];

    use_engine(e);
    start_tracking(e);
    for (unsigned nr = 0; nr < opt.runs; nr++) {
        for (unsigned k = 0; k < 3; k++) {
            ms[k][nr] = owners_s(1u << k, &calls[k], &pages[k]) * 1e3;
        }
    }
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    for (unsigned k = 0; k < 3; k++) {
        bench_row("owners of ranges, vCPUs writing");
        bench_text("engine", e->name);
        bench_num("threads", 1u << k, 0);
        bench_num("calls", calls[k], 0);
        bench_num("pages", pages[k], 0);
        bench_num("us a call", bench_median(ms[k], opt.runs) * 1e3 / calls[k],
                  2);
        bench_row_end();
    }
}

static bool parse(int argc, char **argv)
{
    opt.vcpus = bench_arg(argc, argv, "vcpus", 2);
    opt.pages_per_vcpu = bench_arg(argc, argv, "bytes", 128 * MiB) / PAGE;
    opt.iterations = bench_arg(argc, argv, "iterations", 5);
    opt.slots = bench_arg(argc, argv, "slots", 1);
    opt.write_share = bench_arg(argc, argv, "write-share", 100);
    opt.random = bench_arg(argc, argv, "random", 0);
    opt.clear_chunk = bench_arg(argc, argv, "clear-chunk", 0);
    opt.runs = bench_arg(argc, argv, "runs", 7);
    return opt.vcpus && opt.vcpus <= MAX_VCPUS && opt.slots &&
           opt.slots <= MAX_SLOTS && opt.runs && opt.runs <= MAX_RUNS &&
           opt.write_share <= 100 && opt.iterations && opt.pages_per_vcpu &&
           opt.vcpus * opt.pages_per_vcpu * 8 <= GUEST_RAM_BYTES - 4 * MiB;
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    static Result results[ARRAY_SIZE(engines)];
    double t;

    if (!parse(argc, argv)) {
        fprintf(stderr, "options out of range\n");
        return 1;
    }
    if (writers_unusable()) {
        printf("skipped: %s\n", writers_unusable());
        return 0;
    }
    bench_out_begin(bench_arg_str(argc, argv, "out"), BENCH_NAME);
    make_guest();
    use_engine(&engines[0]);
    bench_say("# %u vCPUs of %" PRIu64 " MiB, %u iterations, %u slots, %u %% "
              "written%s, clear by %" PRIu64 " pages, median of %u runs\n",
              opt.vcpus, opt.pages_per_vcpu * PAGE / MiB, opt.iterations,
              opt.slots, opt.write_share, opt.random ? " at random" : "",
              opt.clear_chunk ? opt.clear_chunk : vm.slot_pages, opt.runs);
    t = bench_now_s();
    write_pages(opt.pages_per_vcpu);
    bench_say("# populate: %.1f ms\n", (bench_now_s() - t) * 1e3);
    for (unsigned nr = 0; nr < opt.runs; nr++) {
        for (unsigned i = 0; i < ARRAY_SIZE(engines); i++) {
            run(&engines[i], &results[i], nr);
        }
    }
    for (unsigned i = 0; i < ARRAY_SIZE(engines); i++) {
        report(&engines[i], &results[i]);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(engines); i++) {
        if (!engines[i].ring_entries && !engines[i].all_at_first) {
            report_owners(&engines[i]);
        }
    }
    bench_out_end();
    bql_unlock();
    return 0;
}
