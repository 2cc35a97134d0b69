/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sync-bench: one bitmap sync of a migration, by part, for guests of 1 GiB to
 * 12 TiB whose memory was never touched.
 *
 * The parts, as a KVM guest with vhost devices has them:
 *
 *   collect  the accelerator's log of each slot -> the block's bitmaps
 *   vhost    one log over guest physical addresses -> the block's bitmaps
 *   take     the block's bitmap -> the migration's send set
 *   clean    re-arming: one call per listener's section and one of the tracker
 *
 * Slots, the vhost log and blocks have different bit phases. A log here is a
 * bitmap of the bench's own, filled to a density, at random or in runs of 512
 * pages (2 MiB), so that the times are those of the sync alone.
 *
 * Layouts: `one`, a block of the whole size; `many`, 128 blocks of 4 MiB and
 * more that begin in the middle of a word, and one with the rest.
 *
 * Beside it "page by page": the same sync with a take, and if the page was
 * dirty a clean, for every single page; what is left of a sweep if each block
 * is misaligned for it. It is run over the first GiB and its time scaled up;
 * its cleans are counted, and cost nothing here, where a kernel's would.
 *
 * A second table has the software engine's trackers in the place of collect:
 * one block, a vCPU that has written that many pages, evenly spread. What its
 * trackers read of it then is what the vCPU wrote, not what the guest has.
 *
 * Words are those that the parts looked at, of logs, block bitmaps and their
 * summary.
 *
 * Options: --max SIZE, --runs N (of guests up to 256 GiB; 1 beyond), --out DIR,
 * --seconds N (50): rows are left out, and that is said, if what the same row of
 * the size before took makes one expect that its part of the time would not do.
 * The most telling rows come first. 0: no limit; all takes some minutes.
 */
#include "qemu/osdep.h"

#include "bench-out.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/sweep.h"
#include "qemu/units.h"
#include "system/dirty-memory.h"
#include "system/dirty-tracker.h"
#include "system/memory.h"
#include "system/ram-block.h"
#include "../unit/tcg-harness.h"

#define PAGE       DIRTY_PAGE_SIZE
#define MIG        DIRTY_MEMORY_MIGRATION
#define MAX_BLOCKS 256
#define MAX_RUNS   9
#define TILE_WORDS 4096u /* a GiB */
#define BEFORE_MAX (1 * GiB)

/* One block, its slot's log, its part of the vhost log. */
typedef struct Block {
    RAMBlock *rb;
    uint64_t pages;
    uint64_t *slot, *vhost; /* logs */
    unsigned slot_phase, vhost_phase;
    uint64_t *bmap;
} Block;

static struct {
    Block blocks[MAX_BLOCKS];
    unsigned nr;
    uint64_t tile[TILE_WORDS + 1];
    /* Of the sync that runs. */
    double collect_s, vhost_s;
    uint64_t cleans;
} vm;

/* ---- what the accelerator and vhost are played by ---- */

static void merge(Block *b, uint64_t *log, unsigned phase)
{
    /* A copy of the kernel's log: taken from, by nobody else. */
    ram_block_merge_dirty(b->rb, 0, log, phase, b->pages, 0,
                          DIRTY_CLIENTS_NOCODE);
}

static bool mock_ok(Error **errp)
{
    return true;
}

static bool mock_start(RAMBlock *const *blocks, size_t nr,
                       DirtyTrackerFirst *first, Error **errp)
{
    *first = DIRTY_TRACKER_FIRST_WRITTEN;
    return true;
}

static void mock_stop(RAMBlock *const *blocks, size_t nr)
{
}

static void mock_collect(RAMBlock *rb, ram_addr_t start, ram_addr_t length,
                         unsigned flags)
{
    double t = bench_now_s();

    for (unsigned i = 0; i < vm.nr; i++) {
        merge(&vm.blocks[i], vm.blocks[i].slot, vm.blocks[i].slot_phase);
    }
    vm.collect_s += bench_now_s() - t;
}

static void mock_clean(RAMBlock *rb, ram_addr_t start, ram_addr_t length)
{
    vm.cleans++;
}

static const DirtyTrackerOps mock = {
    .name = "mock",
    .probe = mock_ok,
    .setup = mock_ok,
    .start = mock_start,
    .stop = mock_stop,
    .collect = mock_collect,
    .clean = mock_clean,
};

static void vhost_sync(MemoryListener *l, bool last)
{
    double t = bench_now_s();

    for (unsigned i = 0; i < vm.nr; i++) {
        merge(&vm.blocks[i], vm.blocks[i].vhost, vm.blocks[i].vhost_phase);
    }
    vm.vhost_s += bench_now_s() - t;
}

static void vhost_clear(MemoryListener *l, MemoryRegionSection *s)
{
    vm.cleans++;
}

static MemoryListener vhost = {
    .name = "vhost",
    .log_sync_global = vhost_sync,
    .log_clear = vhost_clear,
};

/* ---- guests ---- */

static MemoryRegion regions[MAX_BLOCKS];

static void add_block(uint64_t bytes, unsigned phase)
{
    static hwaddr at = 0;
    Block *b = &vm.blocks[vm.nr];
    g_autofree char *name = g_strdup_printf("ram%u", vm.nr);

    if (vm.nr == 0) {
        at = UINT64_C(1) << 40; /* past the harness' own */
    }
    if (phase) {
        qemu_ram_set_next_offset_for_test((UINT64_C(1) << 50) + at * 2 +
                                          phase * PAGE);
    }
    memory_region_init_ram_flags_nomigrate(&regions[vm.nr], NULL, name, bytes,
                                           RAM_NORESERVE, &error_abort);
    memory_region_add_subregion(get_system_memory(), at, &regions[vm.nr]);
    at += bytes + PAGE;
    *b = (Block){
        .rb = regions[vm.nr].ram_block,
        .pages = bytes / PAGE,
        .slot_phase = phase ? (phase * 7 + 3) % 64 : 0,
        .vhost_phase = phase ? (phase * 5 + 1) % 64 : 0,
    };
    b->slot = bitmap_new(b->pages + 64);
    b->vhost = bitmap_new(b->pages + 64);
    b->bmap = bitmap_new(b->pages);
    vm.nr++;
}

static void make_guest(uint64_t bytes, bool many)
{
    vm.nr = 0;
    for (unsigned i = 0; many && i < 128; i++) {
        uint64_t size = (4 + i % 5) * MiB;

        add_block(size, 1 + i % 63);
        bytes -= size;
    }
    add_block(bytes, 0);
    memory_listener_register(&vhost, &address_space_memory);
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    /* What is dirty from the beginning is not the sync's matter. */
    for (unsigned i = 0; i < vm.nr; i++) {
        for (unsigned c = 0; c < DIRTY_MEMORY_NUM; c++) {
            if (c != DIRTY_MEMORY_CODE) {
                ram_block_collect_dirty(vm.blocks[i].rb, 0,
                                        vm.blocks[i].pages * PAGE, c, NULL);
            }
        }
    }
}

static void free_guest(void)
{
    for (unsigned i = 0; i < vm.nr; i++) {
        memory_region_del_subregion(get_system_memory(), &regions[i]);
        memory_region_destroy(&regions[i]);
        g_free(vm.blocks[i].slot);
        g_free(vm.blocks[i].vhost);
        g_free(vm.blocks[i].bmap);
    }
}

static void drop_guest(void)
{
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    memory_listener_unregister(&vhost);
    free_guest();
}

/* ---- densities ---- */

static uint64_t rnd(void)
{
    static uint64_t x = 88172645463325252;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

static void make_tile(double percent, bool clustered)
{
    memset(vm.tile, percent == 100 ? 0xff : 0, sizeof(vm.tile));
    if (percent == 100) {
        return;
    }
    if (clustered) {
        uint64_t runs = MAX(TILE_WORDS / 8 * percent / 100, 1);

        for (uint64_t i = 0; i < runs;) {
            uint64_t *w = &vm.tile[rnd() % (TILE_WORDS / 8) * 8];

            i += !*w;
            memset(w, 0xff, 64);
        }
    } else {
        uint64_t bits = TILE_WORDS * 64.0 * percent / 100;

        for (uint64_t i = 0; i < bits;) {
            i += !test_and_set_bit(rnd() % (TILE_WORDS * 64), vm.tile);
        }
    }
}

/* From the tile, round and round; where it begins depends on the block. */
static void fill(uint64_t *log, uint64_t words, bool is_dirty, unsigned block)
{
    uint64_t from = block * 167 % TILE_WORDS, n;

    for (uint64_t w = 0; is_dirty && w < words; w += n, from = 0) {
        n = MIN(words - w, TILE_WORDS - from);
        memcpy(log + w, vm.tile + from, n * 8);
    }
}

/* Both logs have about the same pages, so each costs what all of it costs. */
static void fill_all(bool is_dirty)
{
    for (unsigned i = 0; i < vm.nr; i++) {
        Block *b = &vm.blocks[i];

        fill(b->slot, bits_to_words(b->slot_phase + b->pages), is_dirty, i);
        fill(b->vhost, bits_to_words(b->vhost_phase + b->pages), is_dirty, i);
    }
}

/* The clients that nobody asks for here, and the send set. */
static void forget(void)
{
    for (unsigned i = 0; i < vm.nr; i++) {
        Block *b = &vm.blocks[i];

        ram_block_collect_dirty(b->rb, 0, b->pages * PAGE, DIRTY_MEMORY_VGA,
                                NULL);
        ram_block_collect_dirty(b->rb, 0, b->pages * PAGE, DIRTY_MEMORY_RATE,
                                NULL);
    }
}

/* ---- the sync ---- */

typedef struct Sample {
    double collect[MAX_RUNS], vhost[MAX_RUNS], take[MAX_RUNS], clean[MAX_RUNS],
        total[MAX_RUNS];
    uint64_t pages, words, cleans;
} Sample;

static void sync_once(Sample *s, unsigned run)
{
    DirtyMemoryStats before, after;
    double t, total;

    vm.collect_s = vm.vhost_s = 0;
    vm.cleans = 0;
    s->pages = 0;
    dirty_memory_get_stats(&before);
    t = bench_now_s();
    memory_global_dirty_log_sync(false);
    for (unsigned i = 0; i < vm.nr; i++) {
        Block *b = &vm.blocks[i];

        s->pages += ram_block_test_and_clear_dirty(b->rb, 0, b->pages * PAGE,
                                                   MIG, b->bmap);
    }
    total = bench_now_s() - t;
    dirty_memory_get_stats(&after);
    s->collect[run] = vm.collect_s;
    s->vhost[run] = vm.vhost_s;
    s->take[run] = (after.sweep_ns - before.sweep_ns) / 1e9;
    s->clean[run] = (after.clean_ns - before.clean_ns) / 1e9;
    s->total[run] = total;
    s->words = after.sweep_words - before.sweep_words + after.merge_words -
               before.merge_words;
    s->cleans = vm.cleans;
}

/* The first GiB page by page, seconds per page. */
static double page_by_page(uint64_t *pages, uint64_t *cleans)
{
    uint64_t left = BEFORE_MAX / PAGE, done = 0;
    double t;

    memory_global_dirty_log_sync(false);
    vm.cleans = 0;
    t = bench_now_s();
    for (unsigned i = 0; i < vm.nr && left; i++) {
        Block *b = &vm.blocks[i];
        uint64_t n = MIN(left, b->pages);

        for (uint64_t p = 0; p < n; p++) {
            ram_block_test_and_clear_dirty(b->rb, p * PAGE, PAGE, MIG, b->bmap);
        }
        left -= n;
        done += n;
    }
    t = bench_now_s() - t;
    *pages = done;
    *cleans = vm.cleans;
    return t / done;
}

static void clear_sets(void)
{
    for (unsigned i = 0; i < vm.nr; i++) {
        Block *b = &vm.blocks[i];

        ram_block_collect_dirty(b->rb, 0, b->pages * PAGE, MIG, NULL);
        bitmap_zero(b->bmap, b->pages);
    }
    forget();
}

static void measure(const char *layout, uint64_t gib, double percent,
                    bool clustered, unsigned runs)
{
    uint64_t all = gib * GiB / PAGE, part, cleans;
    Sample s = { .pages = 0 };
    double before_s;

    make_tile(percent, clustered);
    for (unsigned i = 0; i < runs; i++) {
        fill_all(percent > 0);
        sync_once(&s, i);
        clear_sets();
    }
    fill_all(percent > 0);
    before_s = page_by_page(&part, &cleans) * all;
    clear_sets();

    bench_row("sync");
    bench_text("layout", layout);
    bench_num("GiB", gib, 0);
    bench_num("dirty %", percent, 1);
    bench_text("kind", percent == 0 || percent == 100 ? "-"
                       : clustered                    ? "clustered"
                                                      : "random");
    bench_num("collect ms", bench_median(s.collect, runs) * 1e3, 3);
    bench_num("vhost ms", bench_median(s.vhost, runs) * 1e3, 3);
    bench_num("take ms", bench_median(s.take, runs) * 1e3, 3);
    bench_num("clean ms", bench_median(s.clean, runs) * 1e3, 3);
    bench_num("total ms", bench_median(s.total, runs) * 1e3, 3);
    bench_num("Mwords", s.words / 1e6, 3);
    bench_num("cleans", s.cleans, 0);
    bench_num("pages", s.pages, 0);
    bench_num("by page ms", before_s * 1e3, 1);
    bench_num("its cleans", (double)cleans * all / part, 0);
    bench_row_end();
}

/* ---- the software engine's trackers ---- */

/* As if @v had stored to it; as in prepare_write() of accel/tcg/tlb.c. */
static void write_page(TcgVcpu *v, TcgRam *ram, uint64_t page)
{
    TcgMarkFunc *mark = atomic_load(&ram->mark);

    while (!mark(v, ram, page)) {
        tcg_ring_make_room(v);
    }
}

static void measure_engine(TcgVcpu *v, const DirtyTrackerOps *ops, uint64_t gib,
                           uint64_t nr, unsigned runs)
{
    double collect[MAX_RUNS], total[MAX_RUNS], t;
    Block *b = &vm.blocks[0];
    TcgRam *ram = tcg_ram_get(b->rb);
    DirtyTrackerGroups g0 = { 0 }, g1 = { 0 };
    uint64_t found = 0;

    dirty_tracker_select(ops, &error_abort);
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    clear_sets();
    for (unsigned i = 0; i < runs; i++) {
        tcg_enter(v);
        for (uint64_t k = 0; k < nr; k++) {
            write_page(v, ram, k * (b->pages / nr));
        }
        tcg_leave(v);
        if (ops->groups) {
            ops->groups(&g0);
        }
        t = bench_now_s();
        memory_global_dirty_log_sync(false);
        collect[i] = bench_now_s() - t;
        found = ram_block_collect_dirty(b->rb, 0, b->pages * PAGE, MIG,
                                        b->bmap);
        total[i] = bench_now_s() - t;
        if (ops->groups) {
            ops->groups(&g1);
        }
        ram_block_clean(b->rb, 0, nr ? b->pages * PAGE : PAGE);
        clear_sets();
    }
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    g_assert_cmpuint(found, ==, nr);

    bench_row("trackers");
    bench_text("engine", ops->name);
    bench_num("GiB", gib, 0);
    bench_num("pages", found, 0);
    bench_num("collect ms", bench_median(collect, runs) * 1e3, 3);
    bench_num("sync ms", bench_median(total, runs) * 1e3, 3);
    bench_num("entries", g1.entries_scanned - g0.entries_scanned, 0);
    bench_row_end();
}

static const uint64_t sizes_gib[] = { 1, 16, 256, 1024, 4096, 12288 };
static const struct {
    double percent;
    bool clustered;
} densities[] = {
    { 0, false },  { 1, false },  { 1, true },  { 100, false }, { 0.1, false },
    { 0.1, true }, { 10, false }, { 10, true }, { 5, false },   { 5, true },
};

/* What is left of --seconds, and for what weight of parts. */
static struct {
    bool limited;
    double end_s;
    unsigned weight;
    double took_s[ARRAY_SIZE(densities)]; /* a run of a GiB, the last time */
} budget;

static unsigned weight_of(uint64_t gib)
{
    return gib >= 12288 ? 5 : gib >= 4096 ? 2 : 1;
}

static double begin_part(uint64_t gib)
{
    unsigned weight = weight_of(gib);
    double now = bench_now_s();
    double share = (double)weight / MAX(budget.weight, weight);

    budget.weight -= weight;
    return now + (budget.end_s - now) * share;
}

static bool fits(double expected_s, double part_end_s)
{
    return !budget.limited || bench_now_s() + expected_s <= part_end_s;
}

static void measure_engines(TcgVcpu *v, uint64_t gib, unsigned runs)
{
    static const DirtyTrackerOps *const ops[] = { &tcg_bitmap_tracker,
                                                  &tcg_ring_tracker,
                                                  &tcg_dbm_tracker };
    static const uint64_t pages[] = { 0, 1000, 100000 };

    static double took_s[ARRAY_SIZE(ops)][ARRAY_SIZE(pages)];
    double end_s = begin_part(gib), begin_s;
    unsigned left_out = 0;

    vm.nr = 0;
    add_block(gib * GiB, 0);
    for (unsigned k = 0; k < ARRAY_SIZE(pages); k++) {
        for (unsigned i = 0; i < ARRAY_SIZE(ops); i++) {
            if (k > 0 && !fits(took_s[i][k] * runs, end_s)) {
                left_out++;
                continue;
            }
            begin_s = bench_now_s();
            measure_engine(v, ops[i], gib, pages[k], runs);
            took_s[i][k] = (bench_now_s() - begin_s) / runs;
        }
    }
    free_guest();
    if (left_out) {
        bench_say("(%" PRIu64 " GiB: %u rows of trackers left out, see "
                  "--seconds)\n",
                  gib, left_out);
    }
}

static void measure_size(uint64_t gib, bool many, unsigned runs)
{
    double end_s = begin_part(gib), begin_s;
    unsigned left_out = 0;

    runs = gib > 256 ? 1 : runs;
    make_guest(gib * GiB, many);
    for (unsigned d = 0; d < ARRAY_SIZE(densities); d++) {
        /* The first row is the one that everything else is compared with. */
        if (d > 0 && !fits(budget.took_s[d] * gib * runs, end_s)) {
            left_out++;
            continue;
        }
        begin_s = bench_now_s();
        measure(many ? "many" : "one", gib, densities[d].percent,
                densities[d].clustered, runs);
        budget.took_s[d] = (bench_now_s() - begin_s) / gib / runs;
    }
    drop_guest();
    if (left_out) {
        bench_say("(%" PRIu64 " GiB, %s: %u rows left out, see --seconds)\n",
                  gib, many ? "many" : "one", left_out);
    }
}

int main(int argc, char **argv)
{
    uint64_t max = bench_arg(argc, argv, "max", 12 * TiB) / GiB;
    unsigned runs = bench_arg(argc, argv, "runs", 3);
    uint64_t seconds = bench_arg(argc, argv, "seconds", 50);
    TcgVcpu *v;

    if (runs < 1 || runs > MAX_RUNS) {
        fprintf(stderr, "--runs: 1 to %u\n", MAX_RUNS);
        return 1;
    }
    guest_init();
    v = guest_vcpu("cortex-a57");
    bench_out_begin(bench_arg_str(argc, argv, "out"), "sync-bench");
    budget.limited = seconds > 0;
    budget.end_s = bench_now_s() + seconds;
    for (unsigned i = 0; i < ARRAY_SIZE(sizes_gib); i++) {
        if (sizes_gib[i] <= max) {
            budget.weight += weight_of(sizes_gib[i]) *
                             (sizes_gib[i] > 1 ? 3 : 2);
        }
    }
    for (unsigned i = 0; i < ARRAY_SIZE(sizes_gib); i++) {
        if (sizes_gib[i] <= max) {
            measure_engines(v, sizes_gib[i], runs);
        }
    }
    dirty_tracker_select(&mock, &error_abort);
    for (unsigned i = 0; i < ARRAY_SIZE(sizes_gib); i++) {
        if (sizes_gib[i] <= max) {
            measure_size(sizes_gib[i], false, runs);
            if (sizes_gib[i] > 1) {
                measure_size(sizes_gib[i], true, runs);
            }
        }
    }
    bench_out_end();
    bql_unlock();
    return 0;
}
