/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DBM tracker: combined software and hardware dirty state.
 *
 * The engine plays the part of a machine with FEAT_HAFDBS at stage 2 (Arm ARM,
 * hardware management of the dirty state: a descriptor with DBM = 1 and no
 * write permission is "writable-clean", and the walk that serves a write makes
 * it "writable-dirty" by itself). Pages are taken in groups of 64. What would
 * be in the descriptors:
 *
 *   group          page not writable     page writable
 *   unarmed        write faults          dirty
 *   armed          writable-clean        writable-dirty
 *   single         write faults          dirty
 *
 * A fault in an unarmed group arms it, so later writes to its other pages
 * find writable-clean: no fault. A fault in a single group gives permission
 * to its page alone.
 *
 * There is one truth: a page is dirty if it is in `writable`, whoever put it
 * there, and not in `collected`. Collect moves: what it publishes it enters in
 * `collected` and nowhere else, and no page is found twice until it was
 * cleaned. Clean makes it clean again, in all three kinds of group, and
 * flushes write entries by the handshake.
 *
 * Which groups collect reads is said by a summary in two levels: `listed`, a
 * bit per group, and `top`, a bit per word of that. `armed` has no part in
 * what is found: it only decides whether a write faults.
 *
 *   vCPU      page into `writable` ; unless the group is listed: list it ;
 *             then the write entry, then the store
 *   collect   take the bits of the summary ; read `writable` ; list again
 *             the groups that stay armed
 *
 * All sequentially consistent: either the vCPU sees the bit gone and lists
 * the group again, or the collect sees the page. That holds for a page that
 * another vCPU made writable too, so nobody stores before it is reachable.
 * An armed group stays listed: its next dirty page makes no fault that could
 * say so. So collect costs a read per armed group, one per 16 MiB of guest
 * memory that has such a group, and one per GiB.
 *
 * Threads that own parts of a group or of a word of the summary do not take
 * the bits of the summary, for these are the neighbour's too; they read.
 */
#include "qemu/osdep.h"

#include <sys/mman.h>

#include "dbm-policy.h"
#include "tcg-int.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/timer.h"
#include "system/dirty-cost.h"
#include "system/dirty-memory.h"
#include "system/dirty-tracker.h"

#define GROUP_PAGES 64u
#define LIST_PAGES  (GROUP_PAGES * 64u) /* pages per word of `listed` */
#define TOP_PAGES   (LIST_PAGES * 64u)  /* and of `top` */

/* Of one armed block. */
struct TcgDbm {
    uint64_t *listed; /* atomic; bit per group */
    uint64_t *top;    /* atomic; bit per word of listed */
    _Atomic uint8_t *groups;
    void *base;
    size_t bytes;
};
typedef struct TcgDbm TcgDbm;

/* One tracker per process. */
static struct {
    /* Relaxed atomics. */
    _Atomic uint64_t groups_armed, changes[DBM_NR_CHANGES];
    _Atomic uint64_t groups_scanned, entries_scanned, summary_words;
    _Atomic uint64_t pages_collected, pages_cleaned;
    _Atomic uint64_t groups_armed_now;
    /* For dbm_cost(): a GiB in which nothing was found, a page, a range. */
    DirtyCost scan, collect, clean;
} dbm;

static void add(_Atomic uint64_t *sum, uint64_t n)
{
    atomic_fetch_add_explicit(sum, n, memory_order_relaxed);
}

static uint64_t get(_Atomic uint64_t *sum)
{
    return atomic_load_explicit(sum, memory_order_relaxed);
}

static bool dbm_probe(Error **errp)
{
    return true;
}

static bool dbm_setup(Error **errp)
{
    return true;
}

/* ---- the summary ---- */

static bool has_bit(uint64_t *map, uint64_t bit)
{
    return atomic_load(bitmap_atomic_word(map, BIT_WORD(bit))) & BIT_MASK(bit);
}

static void put_bits(uint64_t *map, uint64_t word, uint64_t bits)
{
    atomic_fetch_or(bitmap_atomic_word(map, word), bits);
}

static bool is_listed(TcgDbm *d, uint64_t group)
{
    return has_bit(d->listed, group) && has_bit(d->top, BIT_WORD(group));
}

/* After the page is in `writable`; before any store to it. */
static void list_group(TcgDbm *d, uint64_t group)
{
    uint64_t word = BIT_WORD(group);

    if (!has_bit(d->listed, group)) {
        put_bits(d->listed, word, BIT_MASK(group));
    }
    if (!has_bit(d->top, word)) {
        put_bits(d->top, BIT_WORD(word), BIT_MASK(word));
    }
}

/* ---- the vCPU's side ---- */

/* Write permission for @page, and what the fault does to its group. */
static void fault(TcgVcpu *v, TcgDbm *d, uint64_t group)
{
    uint8_t old = atomic_load(&d->groups[group]);

    tcg_count(&v->stats.dbm_faults);
    tcg_pay_fault();
    if (old & DBM_GROUP_SINGLE) {
        return;
    }
    old = atomic_fetch_or(&d->groups[group], DBM_GROUP_ARMED);
    if (!(old & DBM_GROUP_ARMED)) {
        add(&dbm.groups_armed, 1);
        add(&dbm.groups_armed_now, 1);
    }
}

static void make_dirty(TcgVcpu *v, TcgRam *ram, uint64_t page)
{
    uint64_t group = page / GROUP_PAGES;

    tcg_test_point(TCG_POINT_FAULT, v);
    if (atomic_load(&ram->dbm->groups[group]) & DBM_GROUP_ARMED) {
        /* The walker's own work. */
        tcg_count(&v->stats.dbm_updates);
    } else {
        fault(v, ram->dbm, group);
    }
    if (!(atomic_fetch_or(bitmap_atomic_word(ram->writable, BIT_WORD(page)),
                          BIT_MASK(page)) &
          BIT_MASK(page))) {
        tcg_count(&v->stats.dirty_faults);
    }
    tcg_test_point(TCG_POINT_UNLISTED, v);
}

static bool dbm_mark(TcgVcpu *v, TcgRam *ram, uint64_t page)
{
    if (!has_bit(ram->writable, page)) {
        make_dirty(v, ram, page);
    }
    /*
     * Published already: a clean that takes it from there waits for us. Else
     * it must be found, even if it was another vCPU that made it writable.
     */
    if (!has_bit(ram->collected, page)) {
        list_group(ram->dbm, page / GROUP_PAGES);
    }
    return true;
}

static bool dbm_written(TcgRam *ram, uint64_t page)
{
    return has_bit(ram->writable, page) &&
           (has_bit(ram->collected, page) ||
            is_listed(ram->dbm, page / GROUP_PAGES));
}

/* ---- start and stop ---- */

static bool is_tracked(TcgRam *ram)
{
    return atomic_load_explicit(&ram->mark, memory_order_acquire) == dbm_mark;
}

/* All groups unarmed; of pages that are zero until touched. */
static TcgDbm *dbm_new(const TcgRam *ram)
{
    uint64_t groups = DIV_ROUND_UP(ram->nr_pages, GROUP_PAGES);
    uint64_t words = bits_to_words(groups), tops = bits_to_words(words);
    size_t bytes = (words + tops) * sizeof(uint64_t) + groups;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    TcgDbm *d;

    if (p == MAP_FAILED) {
        return NULL;
    }
    d = g_new(TcgDbm, 1);
    d->base = p;
    d->bytes = bytes;
    d->top = p;
    d->listed = d->top + tops;
    d->groups = (_Atomic uint8_t *)(d->listed + words);
    return d;
}

static void free_states(TcgRam *ram)
{
    TcgDbm *d = g_steal_pointer(&ram->dbm);

    if (d) {
        munmap(d->base, d->bytes);
        g_free(d);
    }
    tcg_page_bitmap_free(ram, &ram->writable);
    tcg_page_bitmap_free(ram, &ram->collected);
}

static bool alloc_states(TcgRam *ram)
{
    ram->writable = tcg_page_bitmap_new(ram);
    ram->collected = tcg_page_bitmap_new(ram);
    ram->dbm = dbm_new(ram);
    if (ram->writable && ram->collected && ram->dbm) {
        return true;
    }
    free_states(ram);
    return false;
}

static bool dbm_start(RAMBlock *const *blocks, size_t nr_blocks,
                      DirtyTrackerFirst *first, Error **errp)
{
    if (!tcg_blocks_alloc(blocks, nr_blocks, alloc_states, free_states,
                          "page states", errp)) {
        return false;
    }
    tcg_blocks_arm(blocks, nr_blocks, dbm_mark, dbm_written);
    *first = DIRTY_TRACKER_FIRST_WRITTEN;
    return true;
}

/* Armed groups are listed: so this reads no others. */
static uint64_t count_armed(TcgRam *ram)
{
    uint64_t words = bits_to_words(DIV_ROUND_UP(ram->nr_pages, GROUP_PAGES));
    uint64_t n = 0;

    for (uint64_t w = find_next_bit(ram->dbm->top, words, 0); w < words;
         w = find_next_bit(ram->dbm->top, words, w + 1)) {
        for (uint64_t bits = ram->dbm->listed[w]; bits; bits &= bits - 1) {
            uint64_t group = w * 64 + __builtin_ctzll(bits);

            n += !!(atomic_load(&ram->dbm->groups[group]) & DBM_GROUP_ARMED);
        }
    }
    return n;
}

static void dbm_stop(RAMBlock *const *blocks, size_t nr_blocks)
{
    size_t i;

    /* Nobody is in a fault that still uses the states after this. */
    tcg_blocks_disarm(blocks, nr_blocks);
    for (i = 0; i < nr_blocks; i++) {
        TcgRam *ram = tcg_ram_get(blocks[i]);

        add(&dbm.groups_armed_now, -count_armed(ram));
        free_states(ram);
    }
}

/* ---- collect ---- */

/* One collect of one range of one block. */
typedef struct Collect {
    TcgRam *ram;
    uint64_t first, end; /* pages */
    /* Counts. */
    uint64_t groups, entries, words, pages;
} Collect;

/*
 * A collect found @nr_fresh dirty pages in a group, of @nr_writable that are
 * dirty or not cleaned yet. Returns whether it stays armed.
 */
static bool review(TcgDbm *d, uint64_t group, unsigned nr_fresh,
                   unsigned nr_writable)
{
    uint8_t old = atomic_load(&d->groups[group]);
    DbmChange change;
    uint8_t state = dbm_judge(old, nr_fresh, nr_writable, &change);

    /* If a fault came between, it is not the group that was looked at. */
    if (state != old &&
        !atomic_compare_exchange_strong(&d->groups[group], &old, state)) {
        return old & DBM_GROUP_ARMED;
    }
    add(&dbm.changes[change], 1);
    if (old & ~state & DBM_GROUP_ARMED) {
        add(&dbm.groups_armed_now, -1);
    }
    return state & DBM_GROUP_ARMED;
}

/*
 * Move the dirty pages of @group into @taken. @mask: its pages in the range.
 * Returns whether it must stay listed.
 */
static bool collect_group(Collect *c, uint64_t group, uint64_t mask,
                          bool is_whole, uint64_t *taken)
{
    _Atomic uint64_t *collected = bitmap_atomic_word(c->ram->collected, group);
    uint64_t writable, fresh;
    unsigned nr_fresh;

    writable = atomic_load(bitmap_atomic_word(c->ram->writable, group)) & mask;
    fresh = writable & ~atomic_load(collected);
    nr_fresh = __builtin_popcountll(fresh);
    c->groups++;
    c->pages += nr_fresh;
    /* Software knows which pages it gave; hardware must be asked for all. */
    c->entries += atomic_load(&c->ram->dbm->groups[group]) & DBM_GROUP_ARMED
                      ? __builtin_popcountll(mask)
                      : nr_fresh;
    if (fresh) {
        atomic_fetch_or(collected, fresh);
        *taken = fresh;
    }
    return !is_whole ||
           review(c->ram->dbm, group, nr_fresh, __builtin_popcountll(writable));
}

/* Pages of @group in the range, as bits. */
static uint64_t group_mask(const Collect *c, uint64_t group)
{
    uint64_t first = group * GROUP_PAGES, last = first + GROUP_PAGES - 1;

    if (c->first > last || c->end <= first) {
        return 0;
    }
    return word_mask(c->first > first ? c->first - first : 0,
                     MIN(last, c->end - 1) - first);
}

static bool group_is_whole(const Collect *c, uint64_t group)
{
    return c->first <= group * GROUP_PAGES &&
           MIN((group + 1) * GROUP_PAGES, c->ram->nr_pages) <= c->end;
}

/* Bits of the groups of word @w that lie in the range wholly. */
static uint64_t whole_groups(const Collect *c, uint64_t w)
{
    uint64_t first = DIV_ROUND_UP(c->first, GROUP_PAGES);
    uint64_t end = c->end == c->ram->nr_pages
                       ? DIV_ROUND_UP(c->end, GROUP_PAGES)
                       : c->end / GROUP_PAGES;

    first = MAX(first, w * 64);
    end = MIN(end, w * 64 + 64);
    return first < end ? word_mask(first % 64, (end - 1) % 64) : 0;
}

/* All groups of word @w that the block has. */
static bool word_is_whole(const Collect *c, uint64_t w)
{
    return c->first <= w * LIST_PAGES &&
           MIN((w + 1) * LIST_PAGES, c->ram->nr_pages) <= c->end;
}

static void publish(Collect *c, uint64_t w, uint64_t *taken)
{
    uint64_t first = w * LIST_PAGES;

    tcg_test_point(TCG_POINT_COLLECTED, NULL);
    ram_block_merge_dirty(c->ram->rb, first, taken, 0,
                          MIN(LIST_PAGES, c->ram->nr_pages - first), 0,
                          DIRTY_CLIENTS_NOCODE);
}

/* The groups of one word of `listed`. */
static void collect_word(Collect *c, uint64_t w)
{
    uint64_t taken[64] = { 0 }, keep = 0, before = c->pages, bits;
    TcgDbm *d = c->ram->dbm;

    if (word_is_whole(c, w)) {
        atomic_fetch_and(bitmap_atomic_word(d->top, BIT_WORD(w)), ~BIT_MASK(w));
    }
    bits = atomic_fetch_and(bitmap_atomic_word(d->listed, w),
                            ~whole_groups(c, w));
    c->words++;
    tcg_test_point(TCG_POINT_DBM_DELISTED, NULL);
    for (; bits; bits &= bits - 1) {
        unsigned i = __builtin_ctzll(bits);
        uint64_t mask = group_mask(c, w * 64 + i);

        if (mask && collect_group(c, w * 64 + i, mask,
                                  group_is_whole(c, w * 64 + i), &taken[i])) {
            keep |= BIT_MASK(i);
        }
    }
    if (keep) {
        put_bits(d->listed, w, keep);
        put_bits(d->top, BIT_WORD(w), BIT_MASK(w));
    }
    if (c->pages != before) {
        publish(c, w, taken);
    }
}

static void count_collect(const Collect *c, int64_t ns)
{
    add(&dbm.groups_scanned, c->groups);
    add(&dbm.entries_scanned, c->entries);
    add(&dbm.summary_words, c->words);
    add(&dbm.pages_collected, c->pages);
    dirty_memory_note_words(c->words + c->groups);
    if (c->pages) {
        dirty_cost_add(&dbm.collect, ns, c->pages, DIRTY_COST_LEAST_PAGES);
    } else {
        dirty_cost_add(
            &dbm.scan,
            ns * (0x1p30 / (double)((c->end - c->first) << TCG_PAGE_BITS)), 1,
            0);
    }
}

static void collect_ram(TcgRam *ram, ram_addr_t start, ram_addr_t length)
{
    Collect c = {
        .ram = ram,
        .first = start >> TCG_PAGE_BITS,
        .end = MIN(DIV_ROUND_UP(start + length, TCG_PAGE_SIZE), ram->nr_pages),
    };
    int64_t begin_ns = get_clock();
    uint64_t end;

    if (c.first >= c.end) {
        return;
    }
    end = DIV_ROUND_UP(c.end, LIST_PAGES);
    for (uint64_t w = c.first / LIST_PAGES; w < end;) {
        uint64_t bits = atomic_load(
            bitmap_atomic_word(ram->dbm->top, BIT_WORD(w)));

        bits &= UINT64_MAX << w % 64;
        c.words++;
        for (; bits; bits &= bits - 1) {
            uint64_t word = ROUND_DOWN(w, 64) + __builtin_ctzll(bits);

            if (word < end) {
                collect_word(&c, word);
            }
        }
        w = ROUND_DOWN(w, 64) + 64;
    }
    count_collect(&c, get_clock() - begin_ns);
}

static void dbm_collect(RAMBlock *block, ram_addr_t start, ram_addr_t length,
                        unsigned flags)
{
    unsigned iter = 0;
    TcgRam *ram;

    if (block) {
        ram = tcg_ram_get(block);
        if (is_tracked(ram)) {
            collect_ram(ram, start, length);
        }
        return;
    }
    while ((ram = tcg_ram_next(&iter))) {
        if (is_tracked(ram)) {
            collect_ram(ram, 0, ram->nr_pages << TCG_PAGE_BITS);
        }
    }
}

static void dbm_clean(RAMBlock *block, ram_addr_t start, ram_addr_t length)
{
    TcgRam *ram = tcg_ram_get(block);
    int64_t begin_ns = get_clock();
    uint64_t pages;

    if (!is_tracked(ram)) {
        return;
    }
    pages = tcg_pages_clean(ram, start, length);
    if (pages) {
        add(&dbm.pages_cleaned, pages);
        dirty_cost_add(&dbm.clean, get_clock() - begin_ns, 1, 0);
    }
}

/* ---- what is known ---- */

static void dbm_groups(DirtyTrackerGroups *s)
{
    *s = (DirtyTrackerGroups){
        .groups_armed = get(&dbm.groups_armed),
        .groups_disarmed = get(&dbm.changes[DBM_DISARMED]),
        .groups_fallen = get(&dbm.changes[DBM_FALLEN]),
        .groups_back = get(&dbm.changes[DBM_BACK]),
        .groups_scanned = get(&dbm.groups_scanned),
        .entries_scanned = get(&dbm.entries_scanned),
        .summary_words = get(&dbm.summary_words),
        .pages_collected = get(&dbm.pages_collected),
        .pages_cleaned = get(&dbm.pages_cleaned),
        .groups_armed_now = get(&dbm.groups_armed_now),
    };
    for (unsigned i = 0; i < tcg_nr_vcpus(); i++) {
        s->faults += get(&tcg_vcpu(i)->stats.dbm_faults);
        s->hw_updates += get(&tcg_vcpu(i)->stats.dbm_updates);
    }
}

/*
 * Times of the model. Its fault leaves no guest, so without x-dirty-fault-ns a
 * page costs the same with and without one: what that is worth on hardware is
 * in the counts.
 */
static void dbm_cost(DirtyTrackerCost *cost)
{
    cost->collect_ns_per_page = dirty_cost_ns(&dbm.collect);
    cost->scan_ns_per_gib = dirty_cost_ns(&dbm.scan);
    cost->clean_ns_per_range = dirty_cost_ns(&dbm.clean);
    cost->fault_ns_per_page = tcg_fault_ns();
    cost->update_ns_per_page = tcg_update_ns();
}

/*
 * Hardware would not say whose write it was. The model's walker runs on the
 * vCPU's own thread, and counts there.
 */
const DirtyTrackerOps tcg_dbm_tracker = {
    .name = "dbm",
    .probe = dbm_probe,
    .setup = dbm_setup,
    .start = dbm_start,
    .stop = dbm_stop,
    .collect = dbm_collect,
    .clean = dbm_clean,
    .attribute = tcg_attribute,
    .cost = dbm_cost,
    .groups = dbm_groups,
};
