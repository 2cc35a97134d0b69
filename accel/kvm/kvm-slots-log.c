/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether writes to slots are logged, and walks over slots: see kvm-slots.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"

#include "kvm-slots-internal.h"
#include "trace-kvm.h"

static int64_t page_size(void)
{
    return getpagesize();
}

/* ---- logging ---- */

static void call_log_changed(KvmSlots *s, KvmSlot *slot, bool on)
{
    if (s->hooks->log_changed) {
        s->hooks->log_changed(s->vm, slot, on);
    }
}

static bool set_slot_logging(KvmSlots *s, KvmSlot *slot, bool on, Error **errp)
{
    uint32_t flags = on ? slot->flags | KVM_MEM_LOG_DIRTY_PAGES
                        : slot->flags & ~KVM_MEM_LOG_DIRTY_PAGES;
    int ret = 0;

    if (on) {
        call_log_changed(s, slot, true);
    }
    if (on || !s->frozen) {
        ret = kvm_slot_tell_kernel(s->vm, slot, flags, slot->npages);
    }
    if (ret < 0) {
        kvm_slot_set_error(
            slot, on ? "log writes to" : "stop logging writes to", ret, errp);
        if (on) {
            call_log_changed(s, slot, false);
        }
        return false;
    }
    slot->flags = flags;
    s->stats.log_toggles++;
    trace_kvm_slot_logging(slot->id, on);
    if (!on) {
        call_log_changed(s, slot, false);
    }
    return true;
}

/* Those of @blocks whose state is not yet @on, and their slots. */
static GHashTable *blocks_to_change(const KvmSlots *s, RAMBlock *const *blocks,
                                    size_t nr_blocks, bool on)
{
    GHashTable *set = g_hash_table_new(NULL, NULL);

    for (size_t i = 0; i < nr_blocks; i++) {
        if (g_hash_table_contains(s->logged, blocks[i]) != on) {
            g_hash_table_add(set, blocks[i]);
        }
    }
    return set;
}

static void remember_logged(KvmSlots *s, GHashTable *blocks, bool on)
{
    GHashTableIter it;
    gpointer rb;

    g_hash_table_iter_init(&it, blocks);
    while (g_hash_table_iter_next(&it, &rb, NULL)) {
        if (on) {
            g_hash_table_add(s->logged, qemu_ram_ref(rb));
        } else {
            g_hash_table_remove(s->logged, rb);
            qemu_ram_unref(rb);
        }
    }
}

bool kvm_slots_set_logging(KvmVm *vm, RAMBlock *const *blocks, size_t nr_blocks,
                           bool on, Error **errp)
{
    ERRP_GUARD();
    KvmSlots *s = vm->slots;
    g_autoptr(GHashTable) set = NULL;
    bool ok = true;
    guint i;

    if (on) {
        kvm_fault_tracking_begins();
    }
    pthread_rwlock_wrlock(&s->lock);
    set = blocks_to_change(s, blocks, nr_blocks, on);
    for (i = 0; i < s->slots->len && (ok || !on); i++) {
        KvmSlot *slot = kvm_slot_at(s->slots, i);

        if (!slot->readonly && kvm_slot_is_logged(slot) != on &&
            g_hash_table_contains(set, slot->rb)) {
            ok &= set_slot_logging(s, slot, on, errp);
        }
    }
    if (ok || !on) {
        remember_logged(s, set, on);
    } else {
        /* None of them, then. What cannot be undone is logged in vain. */
        while (i-- > 0) {
            KvmSlot *slot = kvm_slot_at(s->slots, i);

            if (kvm_slot_is_logged(slot) &&
                g_hash_table_contains(set, slot->rb)) {
                set_slot_logging(s, slot, false, NULL);
            }
        }
    }
    pthread_rwlock_unlock(&s->lock);
    return ok;
}

void kvm_slots_freeze(KvmVm *vm, bool on)
{
    pthread_rwlock_wrlock(&vm->slots->lock);
    vm->slots->frozen = on;
    pthread_rwlock_unlock(&vm->slots->lock);
}

/* ---- walks ---- */

/* First in by_block that could show [first, …) of @rb. */
static guint first_candidate(const KvmSlots *s, const RAMBlock *rb,
                             uint64_t first)
{
    uint64_t from = first > s->longest ? first - s->longest : 0;
    guint lo = 0, hi = s->by_block->len;

    while (lo < hi) {
        guint mid = lo + (hi - lo) / 2;

        if (kvm_slot_compare_block(kvm_slot_at(s->by_block, mid), rb, from) <
            0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static void walk_block(KvmSlots *s, RAMBlock *rb, uint64_t first, uint64_t end,
                       bool logged_only, KvmSlotPartFunc *fn, void *opaque)
{
    for (guint i = first_candidate(s, rb, first); i < s->by_block->len; i++) {
        KvmSlot *slot = kvm_slot_at(s->by_block, i);
        uint64_t from = MAX(first, slot->rb_page);
        uint64_t to = MIN(end, slot->rb_page + slot->npages);

        if (slot->rb != rb || slot->rb_page >= end) {
            break;
        }
        if (from < to && (!logged_only || kvm_slot_is_logged(slot))) {
            KvmSlotPart part = { .slot = slot,
                                 .slot_page = from - slot->rb_page,
                                 .rb_page = from,
                                 .npages = to - from };

            fn(s->vm, &part, opaque);
        }
    }
}

static void walk_all(KvmSlots *s, bool logged_only, KvmSlotPartFunc *fn,
                     void *opaque)
{
    for (guint i = 0; i < s->slots->len; i++) {
        KvmSlot *slot = kvm_slot_at(s->slots, i);
        KvmSlotPart part = { .slot = slot,
                             .rb_page = slot->rb_page,
                             .npages = slot->npages };

        if (!logged_only || kvm_slot_is_logged(slot)) {
            fn(s->vm, &part, opaque);
        }
    }
}

void kvm_slots_foreach_range(KvmVm *vm, RAMBlock *rb, ram_addr_t start,
                             ram_addr_t length, bool logged_only,
                             KvmSlotPartFunc *fn, void *opaque)
{
    KvmSlots *s = vm->slots;

    pthread_rwlock_rdlock(&s->lock);
    if (!rb) {
        walk_all(s, logged_only, fn, opaque);
    } else if (length) {
        walk_block(s, rb, start / page_size(),
                   DIV_ROUND_UP(start + length, page_size()), logged_only, fn,
                   opaque);
    }
    pthread_rwlock_unlock(&s->lock);
}

unsigned kvm_slots_count(KvmVm *vm, bool logged_only)
{
    KvmSlots *s = vm->slots;
    unsigned n = 0;

    pthread_rwlock_rdlock(&s->lock);
    for (guint i = 0; i < s->slots->len; i++) {
        n += !logged_only || kvm_slot_is_logged(kvm_slot_at(s->slots, i));
    }
    pthread_rwlock_unlock(&s->lock);
    return n;
}

bool kvm_slots_find(KvmVm *vm, uint32_t id, uint64_t page, KvmSlotPart *part)
{
    KvmSlots *s = vm->slots;
    unsigned space = id >> 16;
    KvmSlot *slot = NULL;

    id &= UINT16_MAX;
    pthread_rwlock_rdlock(&s->lock);
    if (space < KVM_MAX_SPACES && id < s->by_id[space]->len) {
        slot = kvm_slot_at(s->by_id[space], id);
    }
    if (slot && page < slot->npages) {
        *part = (KvmSlotPart){ .slot = slot,
                               .slot_page = page,
                               .rb_page = slot->rb_page + page,
                               .npages = slot->npages - page };
    } else {
        slot = NULL;
    }
    pthread_rwlock_unlock(&s->lock);
    return slot != NULL;
}

KvmSlotStats kvm_slots_stats(KvmVm *vm)
{
    KvmSlots *s = vm->slots;
    KvmSlotStats stats;

    pthread_rwlock_rdlock(&s->lock);
    stats = s->stats;
    pthread_rwlock_unlock(&s->lock);
    return stats;
}
