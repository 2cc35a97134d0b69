/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bitmap tracker: the kernel keeps a bitmap per slot (KVM_GET_DIRTY_LOG).
 *
 * With manual protection, GET only copies the kernel's bitmap, and the kernel
 * clears a bit and protects its page when KVM_CLEAR_DIRTY_LOG is told to. Here,
 * per slot, is one set: collected, not cleaned yet.
 *
 *   write     the first to a protected page faults: bit set, page writable
 *   collect   GET; what is set and not in the set is new: into the set, then,
 *             by the sweep, into the block's bitmaps
 *   clean     take the range's bits out of the set, by atomic exchange; CLEAR
 *             exactly those
 *
 * CLEAR wants whole words of 64 pages, or the slot's rest. A range is widened
 * by zero bits, which it leaves alone: never by a neighbour's bits, never by
 * more calls. Words at either end that are zero are cut off, and where
 * nothing is set there is no call. A page that was written and not collected
 * is not in the set, so it is never cleared.
 *
 * "Initially set": when the log is switched on the kernel sets all bits and
 * protects nothing. So nothing is to be paid at once, and what is written
 * before a page is cleaned costs no fault. All pages are then in the set from
 * the start, and published: only for who takes them as written anyhow (a
 * migration). It belongs to the VM, and CLEAR looks at it again, to know that
 * huge pages are not protected yet: so it stays until the last slot's log is
 * off, and slots that are made meanwhile are cleared before a vCPU sees them.
 *
 * Without manual protection GET itself clears and protects the whole slot. Then
 * what it gave and nobody collected yet is kept (`pending`), and clean has
 * nothing left to do.
 *
 * A GET that fails tells nothing: all pages asked for are reported (without
 * manual protection those of the slot, for it may have cleared them). A CLEAR
 * that fails has done nothing: the bits are out of the set, set in the kernel
 * still, and so new for the next collect.
 *
 * A slot that is made while it is logged may find no memory for its bitmaps: then
 * all of it is reported by every collect, for as long as it lives.
 *
 * GET always copies the bitmap of a whole slot (13 us per GiB), whatever
 * range is wanted; threads that collect ranges of one slot take turns. Slots
 * of some GiB (slot-size) keep both small.
 */
#include "qemu/osdep.h"

#include <sys/mman.h>

#include "kvm-caps.h"
#include "kvm-slots.h"
#include "kvm-trackers.h"
#include "kvm-twin.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/sweep.h"
#include "qemu/timer.h"
#include "system/dirty-cost.h"
#include "system/dirty-memory.h"

/* A shorter slot tells little of what a GiB costs. */
#define COST_LEAST_SCAN 4096
/* The fixed part of a CLEAR: a system call and the kernel's locks. */
#define CALL_NS 1000.0

/* Pages of one CLEAR at most: 1 GiB, 32 KiB of bits. */
#define CLEAR_PAGES (UINT64_C(1) << 18)

typedef struct SlotLog {
    QemuMutex lock;      /* around GET and the use of what it gave */
    uint64_t *log;       /* what GET gives */
    uint64_t *pending;   /* NULL: manual protection */
    uint64_t *collected; /* atomic */
    size_t bytes;        /* of each */
} SlotLog;

/* Blocks. One tracker per process. BQL, and no call inside. */
static unsigned nr_armed;

/* For bitmap_cost(). */
static struct {
    DirtyCost scan;    /* a page of a slot, by GET */
    DirtyCost collect; /* a page that was found */
    DirtyCost clear;   /* a page, by CLEAR */
    _Atomic bool cleared;
    double fault_ns; /* BQL to write; set before anybody asks */
} cost;

static void tell_once(const char *what, int ret)
{
    static _Atomic bool told;

    if (!atomic_exchange(&told, true)) {
        warn_report("KVM: %s: %s; pages are reported more than once", what,
                    g_strerror(-ret));
    }
}

/* ---- what it can ---- */

static bool bitmap_probe(Error **errp)
{
    KvmVm *vm = kvm_vm();

    /* As it is made; where the guest can move, it can come back to that. */
    return (vm && vm->kind == KVM_LOG_BITMAP && !atomic_load(&vm->broken)) ||
           kvm_twin_possible(errp);
}

static bool bitmap_setup(Error **errp)
{
    return true;
}

/* ---- the logs of slots ---- */

static uint64_t *map_new(size_t bytes)
{
    void *p;

    return kvm_anon_mmap(bytes, &p) < 0 ? NULL : p;
}

static void map_free(uint64_t *map, size_t bytes)
{
    if (map) {
        munmap(map, bytes);
    }
}

static void log_free(KvmSlot *slot)
{
    SlotLog *l = slot->priv;

    slot->priv = NULL;
    if (l) {
        map_free(l->log, l->bytes);
        map_free(l->pending, l->bytes);
        map_free(l->collected, l->bytes);
        qemu_mutex_destroy(&l->lock);
        g_free(l);
    }
}

/* False: no memory. */
static bool log_new(KvmVm *vm, KvmSlot *slot)
{
    SlotLog *l = g_new0(SlotLog, 1);
    bool manual = vm->manual_protect;

    qemu_mutex_init(&l->lock);
    l->bytes = bits_to_words(slot->npages) * sizeof(uint64_t);
    l->log = map_new(l->bytes);
    l->collected = map_new(l->bytes);
    l->pending = manual ? NULL : map_new(l->bytes);
    slot->priv = l;
    if (!l->log || !l->collected || (!manual && !l->pending)) {
        log_free(slot);
        return false;
    }
    return true;
}

typedef struct Prepare {
    bool ok;
} Prepare;

static void prepare_slot(KvmVm *vm, const KvmSlotPart *part, void *opaque)
{
    Prepare *p = opaque;

    if (!part->slot->readonly && !part->slot->priv) {
        p->ok &= log_new(vm, part->slot);
    }
}

/* For all slots of @blocks: while a slot can still be refused. */
static bool prepare(KvmVm *vm, RAMBlock *const *blocks, size_t nr_blocks,
                    Error **errp)
{
    Prepare p = { .ok = true };

    for (size_t i = 0; i < nr_blocks; i++) {
        kvm_slots_foreach_range(vm, blocks[i], 0,
                                qemu_ram_get_max_length(blocks[i]), false,
                                prepare_slot, &p);
    }
    if (!p.ok) {
        error_setg(errp, "no memory for the dirty bitmaps of slots");
    }
    return p.ok;
}

/* ---- collect ---- */

/* The kernel's bitmap into l->log. */
static bool get_log(KvmVm *vm, KvmSlot *slot, SlotLog *l)
{
    struct kvm_dirty_log arg = { .slot = slot->id, .dirty_bitmap = l->log };
    int64_t begin_ns = get_clock();
    int ret = kvm_vm_ioctl(vm, KVM_GET_DIRTY_LOG, &arg);

    dirty_cost_add(&cost.scan, (double)(get_clock() - begin_ns), slot->npages,
                   COST_LEAST_SCAN);
    if (ret < 0) {
        tell_once("KVM_GET_DIRTY_LOG", ret);
    }
    return ret >= 0;
}

/* Leaves in @log what was not in the set before, and puts it there. */
static uint64_t put_into_set(SlotLog *l, uint64_t *log, uint64_t first,
                             uint64_t npages)
{
    uint64_t end = first + npages, fresh = 0;

    for (uint64_t w = first / 64; w * 64 < end; w++) {
        unsigned lo = w * 64 < first ? first % 64 : 0;
        unsigned hi = MIN(end - w * 64, 64) - 1;
        uint64_t bits = log[w] & word_mask(lo, hi);

        if (bits) {
            bits &= ~atomic_fetch_or(bitmap_atomic_word(l->collected, w), bits);
            log[w] = (log[w] & ~word_mask(lo, hi)) | bits;
            fresh += __builtin_popcountll(bits);
        }
    }
    return fresh;
}

/* Pages [first, +npages) of the slot, out of @log. */
static uint64_t publish(KvmSlot *slot, SlotLog *l, uint64_t *log,
                        uint64_t first, uint64_t npages)
{
    uint64_t fresh;

    dirty_tracker_test_point(DIRTY_TRACKER_COLLECTED);
    if (l->pending) {
        fresh = bitmap_count_one_with_offset(log, first, npages);
    } else {
        fresh = put_into_set(l, log, first, npages);
    }
    if (fresh) {
        ram_block_merge_dirty(slot->rb, slot->rb_page + first, log, first,
                              npages, 0, DIRTY_CLIENTS_NOCODE);
    }
    return fresh;
}

static void report_all(KvmSlot *slot, uint64_t first, uint64_t npages)
{
    ram_block_set_dirty_pages(slot->rb, slot->rb_page + first, npages,
                              DIRTY_CLIENTS_NOCODE);
}

/* GET has cleared: what is not wanted now is wanted later. */
static uint64_t *keep_pending(SlotLog *l, uint64_t npages)
{
    bitmap_sweep(l->pending, 0, l->log, 0, npages, 0, NULL);
    return l->pending;
}

static void collect_slot(KvmVm *vm, KvmSlot *slot, uint64_t first,
                         uint64_t npages)
{
    SlotLog *l = slot->priv;
    int64_t begin_ns;
    uint64_t *log, n;

    if (!l) {
        report_all(slot, first, npages); /* see slot_made() */
        return;
    }
    QEMU_LOCK_GUARD(&l->lock);
    if (!get_log(vm, slot, l)) {
        if (l->pending) {
            first = 0;
            npages = slot->npages;
        }
        report_all(slot, first, npages);
        return;
    }
    begin_ns = get_clock();
    log = l->pending ? keep_pending(l, slot->npages) : l->log;
    n = publish(slot, l, log, first, npages);
    dirty_cost_add(&cost.collect, (double)(get_clock() - begin_ns), n,
                   DIRTY_COST_LEAST_PAGES);
}

static void collect_part(KvmVm *vm, const KvmSlotPart *part, void *opaque)
{
    collect_slot(vm, part->slot, part->slot_page, part->npages);
}

static void bitmap_collect(RAMBlock *block, ram_addr_t start, ram_addr_t length,
                           unsigned flags)
{
    kvm_slots_foreach_range(kvm_vm(), block, start, length, true, collect_part,
                            NULL);
}

/* ---- clean ---- */

/*
 * Takes the bits of [first, +npages) out of the set into @bits, whose bit 0 is
 * page first / 64 * 64. Returns how many; [*begin, *end): the words that have
 * any.
 */
static uint64_t take(SlotLog *l, uint64_t first, uint64_t npages,
                     uint64_t *bits, uint64_t *begin, uint64_t *end)
{
    uint64_t base = first / 64, last = first + npages, n = 0;

    for (uint64_t w = base; w * 64 < last; w++) {
        unsigned lo = w * 64 < first ? first % 64 : 0;
        unsigned hi = MIN(last - w * 64, 64) - 1;
        uint64_t mask = word_mask(lo, hi);
        _Atomic uint64_t *word = bitmap_atomic_word(l->collected, w);
        uint64_t taken = 0;

        if (atomic_load_explicit(word, memory_order_relaxed) & mask) {
            taken = atomic_fetch_and(word, ~mask) & mask;
        }
        bits[w - base] = taken;
        if (taken) {
            *begin = n ? *begin : w - base;
            *end = w - base + 1;
            n += __builtin_popcountll(taken);
        }
    }
    return n;
}

static void clear_pages(KvmVm *vm, KvmSlot *slot, uint64_t first,
                        uint64_t npages)
{
    uint64_t bits[CLEAR_PAGES / 64 + 1], begin = 0, end = 0;
    uint64_t n = take(slot->priv, first, npages, bits, &begin, &end);
    struct kvm_clear_dirty_log arg = { .slot = slot->id };
    int64_t begin_ns;
    int ret;

    if (n == 0) {
        return;
    }
    dirty_tracker_test_point(DIRTY_TRACKER_CLEAN_TAKEN);
    begin_ns = get_clock();
    arg.first_page = (first / 64 + begin) * 64;
    arg.num_pages = MIN((end - begin) * 64, slot->npages - arg.first_page);
    arg.dirty_bitmap = bits + begin;
    ret = kvm_vm_ioctl(vm, KVM_CLEAR_DIRTY_LOG, &arg);
    if (ret < 0) {
        tell_once("KVM_CLEAR_DIRTY_LOG", ret);
    }
    dirty_cost_add(&cost.clear, (double)(get_clock() - begin_ns) - CALL_NS, n,
                   DIRTY_COST_LEAST_PAGES);
    atomic_store_explicit(&cost.cleared, true, memory_order_relaxed);
    dirty_tracker_test_point(DIRTY_TRACKER_CLEANED);
}

static void clean_part(KvmVm *vm, const KvmSlotPart *part, void *opaque)
{
    SlotLog *l = part->slot->priv;
    uint64_t page = part->slot_page, end = page + part->npages, n;

    if (!l || l->pending) {
        return;
    }
    for (; page < end; page += n) {
        /* In pieces that begin where words do. */
        n = MIN(end - page, CLEAR_PAGES - page % 64);
        clear_pages(vm, part->slot, page, n);
    }
}

static void clear_all(KvmVm *vm, KvmSlot *slot)
{
    KvmSlotPart all = { .slot = slot, .npages = slot->npages };

    clean_part(vm, &all, NULL);
}

static void bitmap_clean(RAMBlock *block, ram_addr_t start, ram_addr_t length)
{
    kvm_slots_foreach_range(kvm_vm(), block, start, length, true, clean_part,
                            NULL);
}

/* ---- slots come and go ---- */

/* Do logs that are switched on now begin with all bits set? */
static bool is_all_set(const KvmVm *vm)
{
    return vm->manual_protect & KVM_DIRTY_LOG_INITIALLY_SET;
}

static void put_all_into_set(KvmSlot *slot)
{
    SlotLog *l = slot->priv;

    assert(l); /* prepare()'s, or slot_made()'s */
    memset(l->collected, 0xff, l->bytes);
}

static void slot_made(KvmVm *vm, KvmSlot *slot)
{
    if (!kvm_slot_is_logged(slot) || slot->priv) {
        return;
    }
    if (!log_new(vm, slot)) {
        warn_report(
            "KVM: no memory for the dirty bitmap of guest memory 0x%" PRIx64
            ": all of it counts as written",
            slot->gpa);
    } else if (is_all_set(vm)) {
        put_all_into_set(slot);
        clear_all(vm, slot);
    }
}

/* No vCPU is in the guest: what is collected now is all there ever will be. */
static void slot_gone(KvmVm *vm, KvmSlot *slot)
{
    if (kvm_slot_is_logged(slot)) {
        collect_slot(vm, slot, 0, slot->npages);
    }
    log_free(slot);
}

static void slot_log_changed(KvmVm *vm, KvmSlot *slot, bool on)
{
    if (!on) {
        log_free(slot);
    } else if (is_all_set(vm) && slot->priv) {
        put_all_into_set(slot);
    }
}

static const KvmSlotHooks hooks = {
    .made = slot_made,
    .gone = slot_gone,
    .log_changed = slot_log_changed,
};

/* ---- start and stop ---- */

/* Have logs begin with all bits set, or not, as far as the kernel lets us. */
static void set_all_set(KvmVm *vm, bool on)
{
    uint64_t bits = KVM_DIRTY_LOG_MANUAL_PROTECT_ENABLE |
                    (on ? KVM_DIRTY_LOG_INITIALLY_SET : 0);

    if (vm->manual_protect && vm->manual_protect != bits &&
        (kvm_cap(KVM_HAS_MANUAL_PROTECT) & bits) == bits &&
        kvm_vm_enable_cap(vm, KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2, bits) == 0) {
        vm->manual_protect = bits;
    }
}

static void drop_hooks_if_idle(void)
{
    if (nr_armed == 0) {
        kvm_slots_set_hooks(kvm_vm(), NULL);
        set_all_set(kvm_vm(), false);
    }
}

static void publish_all(KvmVm *vm, const KvmSlotPart *part, void *opaque)
{
    report_all(part->slot, part->slot_page, part->npages);
}

/* All is in the set: either everybody learns of it, or nobody. */
static void begin_with_all(KvmVm *vm, RAMBlock *const *blocks, size_t nr_blocks,
                           bool want)
{
    for (size_t i = 0; i < nr_blocks; i++) {
        kvm_slots_foreach_range(vm, blocks[i], 0,
                                qemu_ram_get_max_length(blocks[i]), true,
                                want ? publish_all : clean_part, NULL);
    }
}

static bool bitmap_start(RAMBlock *const *blocks, size_t nr_blocks,
                         DirtyTrackerFirst *first, Error **errp)
{
    KvmVm *vm = kvm_vm();
    bool want = *first == DIRTY_TRACKER_FIRST_ALL, ok;

    assert(bql_locked());
    if (nr_armed == 0) {
        cost.fault_ns = kvm_fault_ns();
        kvm_slots_set_hooks(vm, &hooks);
        set_all_set(vm, want);
    }
    ok = prepare(vm, blocks, nr_blocks, errp) &&
         kvm_slots_set_logging(vm, blocks, nr_blocks, true, errp);
    if (!ok) {
        drop_hooks_if_idle();
    } else {
        nr_armed += nr_blocks;
        want &= is_all_set(vm);
        *first = want ? DIRTY_TRACKER_FIRST_ALL : DIRTY_TRACKER_FIRST_WRITTEN;
        if (is_all_set(vm)) {
            begin_with_all(vm, blocks, nr_blocks, want);
        }
    }
    return ok;
}

static void bitmap_stop(RAMBlock *const *blocks, size_t nr_blocks)
{
    Error *err = NULL;

    assert(bql_locked());
    if (!kvm_slots_set_logging(kvm_vm(), blocks, nr_blocks, false, &err)) {
        warn_report_err(err);
    }
    nr_armed -= nr_blocks;
    drop_hooks_if_idle();
}

/* ---- what it costs ---- */

static void bitmap_cost(DirtyTrackerCost *c)
{
    bool cleared = atomic_load_explicit(&cost.cleared, memory_order_relaxed);

    c->scan_ns_per_gib = dirty_cost_ns(&cost.scan) * (double)(1 << 18);
    c->collect_ns_per_page = dirty_cost_ns(&cost.collect);
    c->clean_ns_per_range = cleared ? CALL_NS : 0;
    c->clean_ns_per_page = dirty_cost_ns(&cost.clear);
    c->fault_ns_per_page = cost.fault_ns;
}

const DirtyTrackerOps kvm_bitmap_tracker = {
    .name = "bitmap",
    .probe = bitmap_probe,
    .setup = bitmap_setup,
    .start = bitmap_start,
    .stop = bitmap_stop,
    .collect = bitmap_collect,
    .clean = bitmap_clean,
    .cost = bitmap_cost,
    .move = &kvm_twin_to_bitmap,
};
