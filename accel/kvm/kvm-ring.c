/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ring tracker: the kernel enters the pages that a vCPU writes into a ring of
 * that vCPU (KVM_CAP_DIRTY_LOG_RING_ACQ_REL); the reaper (dirty-reaper.h) takes
 * them out.
 *
 *   write     the first to a protected page faults: entry made, page writable
 *   reap      harvest ; KVM_RESET_DIRTY_RINGS protects the pages of what was
 *             harvested, of all rings, and frees the entries ; publish
 *   collect   a reap of all rings
 *   clean     nothing is left to re-arm: wait for a reap in flight
 *   full      the kernel does not let a vCPU in (exit 31) whose ring is near
 *             full: it waits, out of the guest, for a reap
 *
 * The order of the flags is the one of dirty-ring.h. The kernel remembers where
 * in a ring it is, for as long as the vCPU lives; so do we, from one start to
 * the next.
 *
 * Only vCPUs' writes are in rings. What the VMM's devices write is in the
 * block bitmaps anyhow; for what the kernel writes without a vCPU (arm64: tables
 * of the ITS) there is a bitmap beside the rings, read last, after devices
 * were saved: nothing else is ever in it.
 *
 * A processor with page modification logging (Intel's PML) keeps up to 512
 * pages back until its vCPU leaves the guest. There a collect has them all
 * leave it first.
 *
 * Slots: entries name slots by number. The number is told to the reaper before
 * the slot is logged. Before a slot goes, with no vCPU in the guest, all rings
 * are emptied and translated by the old layout. So the number can be used
 * again at once.
 *
 * Never together with "initially set": what counts as written from the start
 * is in no ring (kvm_vm_new() and set_kind() see to it).
 *
 * If KVM_RESET_DIRTY_RINGS fails for good, pages stay writable with no entry to
 * come: from then on every collect reports everything. Dear, but nothing is
 * lost. A vCPU whose ring gets full meanwhile cannot go on: the machine stops.
 */
#include "qemu/osdep.h"

#include <signal.h>

#include "kvm-caps.h"
#include "kvm-slots.h"
#include "kvm-trackers.h"
#include "kvm-twin.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/dirty-choice.h"
#include "system/dirty-memory.h"
#include "system/dirty-reaper.h"
#include "trace-kvm.h"

#define RESET_TRIES 100

/* One per process, as the tracker is. */
static struct {
    /* BQL. */
    GPtrArray *blocks;  /* that are armed */
    GHashTable *places; /* KvmVcpu * -> where its ring goes on, while idle */
    bool has_pml;
    double fault_ns; /* set before anybody asks */

    _Atomic bool broken; /* a reset failed: see above */
    _Atomic bool stuck;  /* the last one did */

    QemuMutex lock;
    GHashTable *told; /* CPUState * -> pages told so far; guarded by lock */
} rings = {
    .lock = { PTHREAD_MUTEX_INITIALIZER },
};

/* ---- what it can ---- */

static bool ring_probe(Error **errp)
{
    KvmVm *vm = kvm_vm();
    uint32_t entries = dirty_tracking_ring_entries();

    if (!vm) {
        error_setg(errp, "there is no KVM here");
        return false;
    }
    if (vm->kind == KVM_LOG_RING && entries == 0) {
        return true;
    }
    if (entries == 0) {
        error_setg(errp, "dirty-ring-size is 0");
        return false;
    }
    if (!kvm_ring_check(entries, errp)) {
        return false;
    }
    /* Before the first vCPU it becomes a VM of rings; then the guest moves. */
    return (vm->kind == KVM_LOG_RING && vm->ring_entries == entries) ||
           (vm->kind == KVM_LOG_BITMAP && !vm->vcpus->len) ||
           kvm_twin_possible(errp);
}

/* Whether the processor keeps written pages back. */
static bool probe_pml(void)
{
    g_autofree char *text = NULL;

    return g_file_get_contents("/sys/module/kvm_intel/parameters/pml", &text,
                               NULL, NULL) &&
           (text[0] == 'Y' || text[0] == '1');
}

static bool ring_setup(Error **errp)
{
    rings.has_pml = probe_pml();
    /* Once there are vCPUs, the guest moves to a VM that has them. */
    return kvm_vm()->kind == KVM_LOG_RING || kvm_vm()->vcpus->len ||
           kvm_vm_set_kind(kvm_vm(), KVM_LOG_RING,
                           dirty_tracking_ring_entries(), errp);
}

static bool is_armed(void)
{
    return rings.blocks && rings.blocks->len;
}

/* Where its ring goes on; while idle. */
static uint32_t place_of(KvmVcpu *v)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(rings.places, v));
}

/* ---- the reaper's engine ---- */

static void all_is_written(const char *why)
{
    if (!atomic_exchange(&rings.broken, true)) {
        warn_report("KVM_RESET_DIRTY_RINGS: %s; all pages count as written",
                    why);
    }
}

/*
 * A signal ends it half-way (Linux 6.16), and that is not said but by the
 * count. Entries may be free then whose pages are not protected (those that
 * were to be protected together with the next one). So no signal is let in;
 * if it ended early all the same (the process was stopped), no page is trusted.
 */
static uint32_t reset_rings(uint32_t due)
{
    unsigned tries = 0;
    uint32_t done = 0;
    sigset_t all, old;
    int ret;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    do {
        ret = kvm_vm_ioctl(kvm_vm(), KVM_RESET_DIRTY_RINGS, 0);
        done += ret > 0 ? ret : 0;
        if (ret >= 0 && done < due) {
            all_is_written("it ended early");
        }
    } while ((ret < 0 || done < due) && ++tries < RESET_TRIES);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    atomic_store(&rings.stuck, ret < 0);
    if (ret < 0) {
        all_is_written(g_strerror(-ret));
    }
    return done;
}

bool kvm_ring_is_stuck(int *err)
{
    int ret;

    if (likely(!atomic_load(&rings.stuck))) {
        return false;
    }
    ret = kvm_vm_ioctl(kvm_vm(), KVM_RESET_DIRTY_RINGS, 0);
    atomic_store(&rings.stuck, ret < 0);
    *err = -ret;
    return ret < 0;
}

/*
 * A vCPU leaves the guest while there is still room in its ring; but not while
 * the kernel interprets the guest's code (real mode on some hosts): then it
 * writes over entries that were not read yet. Which pages they were of is lost,
 * and so is where the ring goes on: nothing is known in this VM any more. A
 * migration then goes on in another VM, with the bitmap (dirty_tracking_mend()).
 */
static void no_room(void)
{
    atomic_store(&kvm_vm()->overrun, true);
}

/*
 * The kernel has counted the entries that it wrote over, and takes the ring for
 * nearly full though none is left; so many may be freed without going beyond
 * what it has counted: a quarter, and at least (entries - 64 - 512 for PML) is
 * the limit at which it says so.
 */
bool kvm_ring_skip(KvmVcpu *v)
{
    uint32_t n = v->vm->ring_entries / 4;

    assert(bql_locked());
    if (!atomic_load(&v->vm->overrun)) {
        return false;
    }
    if (is_armed()) {
        dirty_reaper_skip(v->cs, n);
    } else {
        DirtyRing ring = { v->ring, v->vm->ring_entries, place_of(v) };

        dirty_ring_skip(&ring, n);
        g_hash_table_insert(rings.places, v, GUINT_TO_POINTER(ring.next));
    }
    trace_kvm_ring_skip(v->id, n);
    return kvm_vm_ioctl(v->vm, KVM_RESET_DIRTY_RINGS, 0) > 0;
}

static bool ring_intact(Error **errp)
{
    if (atomic_load(&kvm_vm()->overrun)) {
        error_setg(errp,
                   "the kernel wrote to a dirty ring of %u entries that "
                   "was full, so that writes of the guest are not known",
                   kvm_vm()->ring_entries);
        return false;
    }
    return true;
}

static const DirtyReaperEngine reaper_engine = {
    .reset = reset_rings,
    .no_room = no_room,
};

static void ring_vcpu_exit(CPUState *cpu)
{
    dirty_reaper_vcpu_full(cpu, false);
}

/* ---- slots: under their lock, held alone ---- */

static void tell_slot(KvmSlot *slot)
{
    dirty_reaper_add_slot(slot->id, slot->rb, slot->rb_page, slot->npages);
}

static void report_all(KvmSlot *slot)
{
    ram_block_set_dirty_pages(slot->rb, slot->rb_page, slot->npages,
                              DIRTY_CLIENTS_NOCODE);
}

/* What no vCPU wrote. Without it, or on failure: see reset_rings(). */
static void read_backup(KvmVm *vm, KvmSlot *slot)
{
    uint64_t words = bits_to_words(slot->npages);
    g_autofree uint64_t *log = g_try_new0(uint64_t, words);
    struct kvm_dirty_log arg = { .slot = slot->id, .dirty_bitmap = log };

    if (!log || kvm_vm_ioctl(vm, KVM_GET_DIRTY_LOG, &arg) < 0) {
        report_all(slot);
        return;
    }
    ram_block_merge_dirty(slot->rb, slot->rb_page, log, 0, slot->npages, 0,
                          DIRTY_CLIENTS_NOCODE);
}

static void forget_slot(KvmVm *vm, KvmSlot *slot)
{
    dirty_reaper_remove_slot(slot->id);
    if (atomic_load(&rings.broken)) {
        report_all(slot);
    }
}

static void slot_made(KvmVm *vm, KvmSlot *slot)
{
    if (kvm_slot_is_logged(slot)) {
        tell_slot(slot);
    }
}

static void slot_gone(KvmVm *vm, KvmSlot *slot)
{
    if (kvm_slot_is_logged(slot)) {
        forget_slot(vm, slot);
        if (vm->ring_with_bitmap) {
            read_backup(vm, slot);
        }
    }
}

static void slot_log_changed(KvmVm *vm, KvmSlot *slot, bool on)
{
    if (on) {
        tell_slot(slot);
    } else {
        forget_slot(vm, slot);
    }
}

static const KvmSlotHooks hooks = {
    .made = slot_made,
    .gone = slot_gone,
    .log_changed = slot_log_changed,
};

/* ---- vCPUs ---- */

static void give_ring(KvmVcpu *v)
{
    dirty_reaper_add_ring_at(v->cs, v->ring, v->vm->ring_entries, place_of(v));
}

static void take_ring(KvmVcpu *v)
{
    uint32_t next = dirty_reaper_remove_ring(v->cs);

    g_hash_table_insert(rings.places, v, GUINT_TO_POINTER(next));
}

void kvm_ring_vcpu_made(KvmVcpu *v)
{
    if (is_armed() && v->ring) {
        give_ring(v);
    }
}

void kvm_ring_vcpu_gone(KvmVcpu *v)
{
    if (!v->cs) {
        return;
    }
    if (is_armed() && v->ring && v->vm == kvm_vm()) {
        take_ring(v);
    }
    if (rings.places) {
        g_hash_table_remove(rings.places, v);
    }
}

static void each_vcpu(void (*fn)(KvmVcpu *v))
{
    KvmVm *vm = kvm_vm();

    /* The list changes under the BQL only. */
    for (guint i = 0; i < vm->vcpus->len; i++) {
        KvmVcpu *v = vm->vcpus->pdata[i];

        if (v->cs) {
            fn(v);
        }
    }
}

/* ---- start and stop ---- */

static bool begin_reaping(Error **errp)
{
    if (is_armed()) {
        return true;
    }
    if (!rings.blocks) {
        rings.blocks = g_ptr_array_new();
        rings.places = g_hash_table_new(NULL, NULL);
    }
    rings.fault_ns = kvm_fault_ns();
    if (!dirty_reaper_start(&reaper_engine, errp)) {
        return false;
    }
    kvm_slots_set_hooks(kvm_vm(), &hooks);
    each_vcpu(give_ring);
    return true;
}

static void end_reaping(void)
{
    if (!is_armed()) {
        kvm_slots_set_hooks(kvm_vm(), NULL);
        each_vcpu(take_ring);
        dirty_reaper_stop();
        atomic_store(&rings.broken, false);
        atomic_store(&rings.stuck, false);
    }
}

static bool ring_start(RAMBlock *const *blocks, size_t nr_blocks,
                       DirtyTrackerFirst *first, Error **errp)
{
    assert(bql_locked());
    if (!begin_reaping(errp)) {
        return false;
    }
    if (!kvm_slots_set_logging(kvm_vm(), blocks, nr_blocks, true, errp)) {
        end_reaping();
        return false;
    }
    for (size_t i = 0; i < nr_blocks; i++) {
        g_ptr_array_add(rings.blocks, blocks[i]);
    }
    *first = DIRTY_TRACKER_FIRST_WRITTEN;
    return true;
}

static void ring_stop(RAMBlock *const *blocks, size_t nr_blocks)
{
    Error *err = NULL;

    assert(bql_locked());
    if (!kvm_slots_set_logging(kvm_vm(), blocks, nr_blocks, false, &err)) {
        warn_report_err(err);
    }
    for (size_t i = 0; i < nr_blocks; i++) {
        g_ptr_array_remove(rings.blocks, blocks[i]);
    }
    end_reaping();
}

/* ---- collect and clean ---- */

static void backup_part(KvmVm *vm, const KvmSlotPart *part, void *opaque)
{
    read_backup(vm, part->slot);
}

static void report_part(KvmVm *vm, const KvmSlotPart *part, void *opaque)
{
    report_all(part->slot);
}

static void ring_collect(RAMBlock *block, ram_addr_t start, ram_addr_t length,
                         unsigned flags)
{
    KvmVm *vm = kvm_vm();

    if (rings.has_pml) {
        kvm_gate_close(vm);
        kvm_gate_open(vm);
    }
    if (block) {
        dirty_reaper_collect_range(block, start >> DIRTY_PAGE_BITS,
                                   length >> DIRTY_PAGE_BITS);
    } else {
        dirty_reaper_collect();
    }
    if (vm->ring_with_bitmap && (flags & DIRTY_COLLECT_LAST)) {
        kvm_slots_foreach_range(vm, block, start, length, true, backup_part,
                                NULL);
    }
    if (unlikely(atomic_load(&rings.broken))) {
        kvm_slots_foreach_range(vm, block, start, length, true, report_part,
                                NULL);
    }
}

static void ring_clean(RAMBlock *block, ram_addr_t start, ram_addr_t length)
{
    dirty_reaper_wait_range(block, start >> DIRTY_PAGE_BITS,
                            length >> DIRTY_PAGE_BITS);
}

/* ---- what is known ---- */

static bool ring_attribute(CPUState *cpu, uint64_t *pages)
{
    uint64_t *before, now;

    if (!dirty_reaper_entered(cpu, &now)) {
        return false;
    }
    QEMU_LOCK_GUARD(&rings.lock);
    if (!rings.told) {
        rings.told = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    }
    before = g_hash_table_lookup(rings.told, cpu);
    if (!before) {
        before = g_new0(uint64_t, 1);
        g_hash_table_insert(rings.told, cpu, before);
    }
    /* An entry may be between two counts. */
    *pages = now > *before ? now - *before : 0;
    *before = MAX(now, *before);
    return true;
}

static void ring_cost(DirtyTrackerCost *cost)
{
    DirtyReaperStats s;

    dirty_reaper_get_stats(&s);
    /* Re-arming is part of it: clean costs nothing. */
    cost->collect_ns_per_page = s.entry_ns;
    cost->fault_ns_per_page = rings.fault_ns;
}

const DirtyTrackerOps kvm_ring_tracker = {
    .name = "ring",
    .probe = ring_probe,
    .setup = ring_setup,
    .start = ring_start,
    .stop = ring_stop,
    .collect = ring_collect,
    .look = dirty_reaper_look,
    .clean = ring_clean,
    .intact = ring_intact,
    .vcpu_exit = ring_vcpu_exit,
    .attribute = ring_attribute,
    .cost = ring_cost,
    .move = &kvm_twin_to_rings,
};
