/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory slots: guest memory as the kernel's VM knows it.
 *
 * A slot shows pages of one RAM block at a guest physical address. The slots
 * of every attached VM follow address_space_memory at each commit: what is the
 * same stays untouched; what is gone is removed, then what is new is made.
 * Ranges are clipped to whole pages (what is left of a page is emulated) and
 * cut into pieces of at most slot_bytes. ROM, and ROM devices in ROM mode, are
 * read-only slots; MMIO is none.
 *
 * Address spaces
 *
 *   Where the kernel emulates system management mode (x86), a vCPU in that mode
 *   has an address space of its own, with slots and logs of its own. What it
 *   shows there beside the memory of address_space_memory is a chip set's
 *   business; none of our machines has such memory. So the slots of both are
 *   the same, and each page has two: aliases (see below).
 *
 * No running vCPU ever misses memory: if something is removed that something
 * new overlaps, or a slot that is logged comes or goes, the gate (kvm-int.h)
 * is closed from before the first removal until the last slot is made. Other
 * changes are made with vCPUs running.
 *
 * Trackers
 *
 *   - a slot is logged if its block is (kvm_slots_set_logging) and it can be
 *     written; new slots of a logged block are logged from the start
 *   - hooks tell a tracker: `made` before vCPUs may use the slot, `gone` while
 *     the kernel's slot with its log is still there and no vCPU is in the guest
 *     (for logged slots): collect or harvest now, by this layout
 *   - two slots can show the same pages of a block (aliases): a page is dirty
 *     if it is in one of them, and clean only when cleaned in all
 *
 * Lock: KvmSlots.lock, a readers-writer lock. Walks hold it shared, so several
 * threads collect and clean at once; changes, with their ioctls and hooks, hold
 * it alone. It comes after the BQL and listeners.lock, before reaper.lock; who
 * holds it takes none of the former. Hooks and callbacks must not call a
 * kvm_slots_ function.
 *
 * Used by: kvm-accel.c, trackers, the twin. Uses: memory.h.
 */
#ifndef ACCEL_KVM_SLOTS_H
#define ACCEL_KVM_SLOTS_H

#include "kvm-int.h"
#include "system/memory.h"

/* The kernel takes fewer than 2^31 pages in one slot. */
#define KVM_SLOT_MAX_PAGES ((UINT64_C(1) << 31) - 1)
/* Shorter ones would only cost slots. */
#define KVM_SLOT_MIN_BYTES (UINT64_C(1) << 20)

typedef struct KvmSlot {
    /* Constant while the slot exists. */
    /*
     * The kernel's number, as in rings: space << 16 | 0 .. KVM_CAP_NR_MEMSLOTS
     * - 1; used again after its end.
     */
    uint32_t id;
    hwaddr gpa;
    uint64_t npages;
    uint8_t *hva;
    RAMBlock *rb; /* ref'd */
    uint64_t rb_page;
    bool readonly;

    /* Guarded by the slots' lock. */
    uint32_t flags; /* KVM_MEM_*, as the kernel has them */

    /* The tracker's. Set up by `made`, torn down by `gone`. */
    void *priv;
} KvmSlot;

static inline unsigned kvm_slot_space(const KvmSlot *slot)
{
    return slot->id >> 16;
}

static inline bool kvm_slot_is_logged(const KvmSlot *slot)
{
    return slot->flags & KVM_MEM_LOG_DIRTY_PAGES;
}

typedef struct KvmSlotHooks {
    /*
     * All optional. @slot->flags says whether it is logged. Slots that exist
     * when hooks are set are announced then, and `gone` when they are unset.
     */
    void (*made)(KvmVm *vm, KvmSlot *slot);
    void (*gone)(KvmVm *vm, KvmSlot *slot);
    /* Logging of a slot that stays went on (before) or off (after). */
    void (*log_changed)(KvmVm *vm, KvmSlot *slot, bool on);
} KvmSlotHooks;

/* Of one VM; NULL: none. BQL; no vCPU in the guest if blocks are logged. */
void kvm_slots_set_hooks(KvmVm *vm, const KvmSlotHooks *hooks);

/**
 * kvm_slots_attach: let @vm have the memory of address_space_memory
 *
 * At once, and from now on. BQL. On failure it is not attached and has no
 * slots. Undone by kvm_slots_detach(), which kvm_vm_free() does, too.
 */
bool kvm_slots_attach(KvmVm *vm, Error **errp);
void kvm_slots_detach(KvmVm *vm);

/**
 * kvm_slots_set_logging: have the kernel log writes to slots of @blocks, or not
 *
 * All of them, or on failure none. With vCPUs running. A block that is logged
 * already stays so. BQL.
 */
bool kvm_slots_set_logging(KvmVm *vm, RAMBlock *const *blocks, size_t nr_blocks,
                           bool on, Error **errp);

/* A part of a slot that shows a part of a block. */
typedef struct KvmSlotPart {
    KvmSlot *slot;
    uint64_t slot_page; /* the first, in the slot */
    uint64_t rb_page;   /* the same one, in the block */
    uint64_t npages;
} KvmSlotPart;
typedef void KvmSlotPartFunc(KvmVm *vm, const KvmSlotPart *part, void *opaque);

/**
 * kvm_slots_foreach_range: call @fn for each part of a slot that shows
 * [@start, @start + @length) of @rb
 *
 * @rb NULL: every slot, as a whole. @logged_only: skip slots that are not
 * logged. @start and @length are rounded outwards to pages. In order of the
 * block's pages (@rb NULL: of guest addresses, one address space after the
 * other). Any thread.
 */
void kvm_slots_foreach_range(KvmVm *vm, RAMBlock *rb, ram_addr_t start,
                             ram_addr_t length, bool logged_only,
                             KvmSlotPartFunc *fn, void *opaque);

unsigned kvm_slots_count(KvmVm *vm, bool logged_only); /* any thread */
/*
 * Page @page of slot @id and what follows; false: there is no such. BQL, or the
 * slot may be gone when this returns.
 */
bool kvm_slots_find(KvmVm *vm, uint32_t id, uint64_t page, KvmSlotPart *part);

/* Try again what the kernel refused: sets @vm broken, or mended. BQL. */
void kvm_slots_retry(KvmVm *vm);

/* ---- the twin's ---- */

/*
 * The VM will not run again, or if it does, is unfrozen first: logging that goes
 * off, goes off here, and in the kernel it stays on, which is cheaper. BQL.
 */
void kvm_slots_freeze(KvmVm *vm, bool on);
/* No longer follow changes of memory; the kernel keeps its slots. BQL. */
void kvm_slots_leave(KvmVm *vm);

/* ---- the core's ---- */
KvmSlots *kvm_slots_new(KvmVm *vm, uint64_t slot_bytes);
void kvm_slots_free(KvmSlots *slots);
/* 0 (no wish), or whole pages up to the kernel's limit; else an error. */
bool kvm_slot_bytes_check(uint64_t bytes, Error **errp);

/* For tests: changes of layout applied, and how often the gate was closed. */
typedef struct KvmSlotStats {
    uint64_t made, removed, log_toggles, gate_closed;
} KvmSlotStats;
KvmSlotStats kvm_slots_stats(KvmVm *vm);

#endif /* ACCEL_KVM_SLOTS_H */
