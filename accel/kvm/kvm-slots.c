/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory slots of one kernel VM: see kvm-slots.h. What they shall show comes
 * from kvm-layout.c; logging and walks are in kvm-slots-log.c.
 */
#include "qemu/osdep.h"

#include "qemu/cutils.h"
#include "qemu/error.h"

#include "kvm-caps.h"
#include "kvm-layout.h"
#include "kvm-slots-internal.h"
#include "trace-kvm.h"

static const KvmSlotHooks no_hooks;

static int64_t page_size(void)
{
    return getpagesize();
}

/* ---- made and freed ---- */

static void slot_free(void *p)
{
    KvmSlot *slot = p;

    qemu_ram_unref(slot->rb);
    g_free(slot);
}

/* A multiple of 1 GiB, so that pieces begin where huge pages do. */
static uint64_t most_pages(void)
{
    return QEMU_ALIGN_DOWN(KVM_SLOT_MAX_PAGES,
                           (UINT64_C(1) << 30) / page_size());
}

bool kvm_slot_bytes_check(uint64_t bytes, Error **errp)
{
    if (bytes && (bytes % page_size() || bytes < KVM_SLOT_MIN_BYTES ||
                  bytes / page_size() > KVM_SLOT_MAX_PAGES)) {
        g_autofree char *least = size_to_str(KVM_SLOT_MIN_BYTES);

        error_setg(
            errp,
            "slot-size=%" PRIu64 " must be 0, or whole pages from %s to "
            "the kernel's limit of %" PRIu64 " pages (%" PRIu64 " bytes)",
            bytes, least, KVM_SLOT_MAX_PAGES, KVM_SLOT_MAX_PAGES * page_size());
        return false;
    }
    return true;
}

KvmSlots *kvm_slots_new(KvmVm *vm, uint64_t slot_bytes)
{
    KvmSlots *s = g_new0(KvmSlots, 1);
    pthread_rwlockattr_t attr;

    s->vm = vm;
    s->max_pages = slot_bytes ? slot_bytes / page_size() : most_pages();
    s->slots = g_ptr_array_new();
    s->by_block = g_ptr_array_new();
    for (unsigned space = 0; space < KVM_MAX_SPACES; space++) {
        s->by_id[space] = g_ptr_array_new();
    }
    s->logged = g_hash_table_new(NULL, NULL);
    s->hooks = &no_hooks;
    /* Collects follow each other closely: a change would wait for ever. */
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr,
                                  PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&s->lock, &attr);
    pthread_rwlockattr_destroy(&attr);
    return s;
}

static void forget_logged(KvmSlots *s)
{
    GHashTableIter it;
    gpointer rb;

    g_hash_table_iter_init(&it, s->logged);
    while (g_hash_table_iter_next(&it, &rb, NULL)) {
        qemu_ram_unref(rb);
    }
    g_hash_table_remove_all(s->logged);
}

void kvm_slots_free(KvmSlots *s)
{
    g_ptr_array_set_free_func(s->slots, slot_free);
    g_ptr_array_free(s->slots, TRUE);
    g_ptr_array_free(s->by_block, TRUE);
    for (unsigned space = 0; space < KVM_MAX_SPACES; space++) {
        g_ptr_array_free(s->by_id[space], TRUE);
    }
    forget_logged(s);
    g_hash_table_destroy(s->logged);
    pthread_rwlock_destroy(&s->lock);
    g_free(s);
}

/* ---- indexes ---- */

/* Where it is: < 0 if before (@space, @gpa), > 0 if behind. */
static int compare_place(const KvmSlot *x, unsigned space, hwaddr gpa)
{
    if (kvm_slot_space(x) != space) {
        return kvm_slot_space(x) < space ? -1 : 1;
    }
    return x->gpa < gpa ? -1 : x->gpa > gpa;
}

static gint by_place(gconstpointer a, gconstpointer b)
{
    const KvmSlot *x = *(KvmSlot *const *)a, *y = *(KvmSlot *const *)b;

    return compare_place(x, kvm_slot_space(y), y->gpa);
}

int kvm_slot_compare_block(const KvmSlot *x, const RAMBlock *rb,
                           uint64_t rb_page)
{
    if (x->rb != rb) {
        return (uintptr_t)x->rb < (uintptr_t)rb ? -1 : 1;
    }
    return x->rb_page < rb_page ? -1 : x->rb_page > rb_page;
}

static gint by_block(gconstpointer a, gconstpointer b)
{
    const KvmSlot *x = *(KvmSlot *const *)a, *y = *(KvmSlot *const *)b;

    return kvm_slot_compare_block(x, y->rb, y->rb_page);
}

static void reindex(KvmSlots *s)
{
    g_ptr_array_set_size(s->by_block, 0);
    g_ptr_array_sort(s->slots, by_place);
    s->longest = 0;
    for (guint i = 0; i < s->slots->len; i++) {
        KvmSlot *slot = kvm_slot_at(s->slots, i);

        g_ptr_array_add(s->by_block, slot);
        s->longest = MAX(s->longest, slot->npages);
    }
    g_ptr_array_sort(s->by_block, by_block);
}

static GPtrArray *ids_of(KvmSlots *s, const KvmSlot *slot)
{
    return s->by_id[kvm_slot_space(slot)];
}

/* Where it is in ids_of(). */
static guint nr_of(const KvmSlot *slot)
{
    return slot->id & UINT16_MAX;
}

/* ---- one slot in the kernel ---- */

int kvm_slot_tell_kernel(KvmVm *vm, const KvmSlot *slot, uint32_t flags,
                         uint64_t npages)
{
    struct kvm_userspace_memory_region r = {
        .slot = slot->id,
        .flags = flags,
        .guest_phys_addr = slot->gpa,
        .memory_size = npages * page_size(),
        .userspace_addr = (uintptr_t)slot->hva,
    };

    return kvm_vm_ioctl(vm, KVM_SET_USER_MEMORY_REGION, &r);
}

void kvm_slot_set_error(const KvmSlot *slot, const char *what, int ret,
                        Error **errp)
{
    if (!errp || *errp) {
        return; /* the first one counts */
    }
    error_setg_errno(
        errp, -ret,
        "the kernel does not %s guest memory 0x%" PRIx64 "-0x%" PRIx64
        " (%s, slot %u%s)",
        what, slot->gpa, slot->gpa + slot->npages * page_size() - 1,
        *qemu_ram_get_idstr(slot->rb) ? qemu_ram_get_idstr(slot->rb)
                                      : "no name",
        nr_of(slot), kvm_slot_space(slot) ? " of SMM" : "");
}

static bool take_id(KvmSlots *s, KvmSlot *slot, Error **errp)
{
    GPtrArray *ids = ids_of(s, slot);
    guint id = 0;

    while (id < ids->len && ids->pdata[id]) {
        id++;
    }
    if (id >= (guint)kvm_cap(KVM_HAS_NR_MEMSLOTS)) {
        if (errp && !*errp) {
            error_setg(errp,
                       "guest memory needs more than the kernel's %d "
                       "slots",
                       kvm_cap(KVM_HAS_NR_MEMSLOTS));
        }
        return false;
    }
    if (id == ids->len) {
        g_ptr_array_add(ids, NULL);
    }
    slot->id |= id;
    return true;
}

static void call_made(KvmSlots *s, KvmSlot *slot)
{
    if (s->hooks->made) {
        s->hooks->made(s->vm, slot);
    }
}

static void call_gone(KvmSlots *s, KvmSlot *slot)
{
    if (s->hooks->gone) {
        s->hooks->gone(s->vm, slot);
    }
}

/* Takes over @slot. */
static bool make_slot(KvmSlots *s, KvmSlot *slot, Error **errp)
{
    int ret;

    if (!take_id(s, slot, errp)) {
        slot_free(slot);
        return false;
    }
    ret = kvm_slot_tell_kernel(s->vm, slot, slot->flags, slot->npages);
    if (ret < 0) {
        kvm_slot_set_error(slot, "take", ret, errp);
        slot_free(slot);
        return false;
    }
    ids_of(s, slot)->pdata[nr_of(slot)] = slot;
    g_ptr_array_add(s->slots, slot);
    s->stats.made++;
    trace_kvm_slot_made(slot->id, slot->gpa, slot->npages, slot->flags);
    call_made(s, slot);
    return true;
}

static bool remove_slot(KvmSlots *s, KvmSlot *slot, Error **errp)
{
    int ret;

    call_gone(s, slot);
    ret = kvm_slot_tell_kernel(s->vm, slot, 0, 0);
    if (ret < 0) {
        kvm_slot_set_error(slot, "give up", ret, errp);
        call_made(s, slot); /* it is still there */
        return false;
    }
    ids_of(s, slot)->pdata[nr_of(slot)] = NULL;
    g_ptr_array_remove(s->slots, slot);
    s->stats.removed++;
    trace_kvm_slot_gone(slot->id, slot->gpa, slot->npages);
    slot_free(slot);
    return true;
}

/* ---- from a layout to slots ---- */

/* Its number is still to be taken; the address space is in it already. */
static KvmSlot *slot_new(const KvmSlots *s, unsigned space,
                         const KvmRange *range, uint64_t page, uint64_t npages)
{
    KvmSlot *slot = g_new0(KvmSlot, 1);

    slot->id = space << 16;
    slot->gpa = range->gpa + page * page_size();
    slot->npages = npages;
    slot->hva = range->hva + page * page_size();
    slot->rb = qemu_ram_ref(range->rb);
    slot->rb_page = range->rb_offset / page_size() + page;
    slot->readonly = range->readonly;
    if (slot->readonly) {
        slot->flags |= KVM_MEM_READONLY;
    } else if (g_hash_table_contains(s->logged, range->rb)) {
        slot->flags |= KVM_MEM_LOG_DIRTY_PAGES;
    }
    return slot;
}

static void add_wanted(const KvmSlots *s, unsigned space, const GArray *layout,
                       GPtrArray *wanted)
{
    for (guint i = 0; i < layout->len; i++) {
        const KvmRange *range = &g_array_index(layout, KvmRange, i);
        uint64_t npages = range->size / page_size();

        for (uint64_t page = 0; page < npages; page += s->max_pages) {
            g_ptr_array_add(wanted, slot_new(s, space, range, page,
                                             MIN(npages - page, s->max_pages)));
        }
    }
}

/* All slots that @layout asks for, by place. */
static GPtrArray *wanted_slots(const KvmSlots *s, const GArray *layout)
{
    GPtrArray *wanted = g_ptr_array_new();

    for (unsigned space = 0; space < s->vm->nr_spaces; space++) {
        add_wanted(s, space, layout, wanted);
    }
    return wanted;
}

static bool same_slot(const KvmSlot *a, const KvmSlot *b)
{
    return kvm_slot_space(a) == kvm_slot_space(b) && a->gpa == b->gpa &&
           a->npages == b->npages && a->hva == b->hva && a->rb == b->rb &&
           a->rb_page == b->rb_page && a->readonly == b->readonly;
}

/*
 * What is in both goes from @wanted; @gone receives what is in @s only. What
 * is left in @wanted is new.
 */
static void compare(const KvmSlots *s, GPtrArray *wanted, GPtrArray *gone)
{
    g_autoptr(GPtrArray) added = g_ptr_array_new();
    guint i = 0, k = 0;

    while (i < s->slots->len || k < wanted->len) {
        KvmSlot *old = i < s->slots->len ? kvm_slot_at(s->slots, i) : NULL;
        KvmSlot *new = k < wanted->len ? kvm_slot_at(wanted, k) : NULL;

        if (old && new &&same_slot(old, new)) {
            slot_free(new);
            i++;
            k++;
        } else if (old && (!new || compare_place(old, kvm_slot_space(new),
                                                 new->gpa) <= 0)) {
            g_ptr_array_add(gone, old);
            i++;
        } else {
            g_ptr_array_add(added, new);
            k++;
        }
    }
    g_ptr_array_set_size(wanted, 0);
    for (guint n = 0; n < added->len; n++) {
        g_ptr_array_add(wanted, added->pdata[n]);
    }
}

static hwaddr slot_last(const KvmSlot *slot)
{
    return slot->gpa + (slot->npages * page_size() - 1);
}

/* Does all of @a come before all of @b? */
static bool is_before(const KvmSlot *a, const KvmSlot *b)
{
    return compare_place(a, kvm_slot_space(b), b->gpa) < 0 &&
           (kvm_slot_space(a) != kvm_slot_space(b) || slot_last(a) < b->gpa);
}

static bool any_overlap(const GPtrArray *a, const GPtrArray *b)
{
    guint i = 0, k = 0;

    while (i < a->len && k < b->len) {
        if (is_before(kvm_slot_at(a, i), kvm_slot_at(b, k))) {
            i++;
        } else if (is_before(kvm_slot_at(b, k), kvm_slot_at(a, i))) {
            k++;
        } else {
            return true;
        }
    }
    return false;
}

static bool any_logged(const GPtrArray *a)
{
    for (guint i = 0; i < a->len; i++) {
        if (kvm_slot_is_logged(kvm_slot_at(a, i))) {
            return true;
        }
    }
    return false;
}

bool kvm_slots_apply(KvmVm *vm, const GArray *layout, Error **errp)
{
    ERRP_GUARD();
    KvmSlots *s = vm->slots;
    g_autoptr(GPtrArray) wanted = wanted_slots(s, layout);
    g_autoptr(GPtrArray) gone = g_ptr_array_new();
    bool gate, ok = true;

    /* Read without the lock: only who has the BQL changes it. */
    compare(s, wanted, gone);
    if (!gone->len && !wanted->len) {
        return true;
    }
    gate = any_overlap(gone, wanted) || any_logged(gone) || any_logged(wanted);
    trace_kvm_slots_applied(gone->len, wanted->len, gate);
    if (gate) {
        kvm_gate_close(vm);
    }
    pthread_rwlock_wrlock(&s->lock);
    s->stats.gate_closed += gate;
    for (guint i = 0; i < gone->len; i++) {
        ok &= remove_slot(s, kvm_slot_at(gone, i), errp);
    }
    for (guint i = 0; i < wanted->len; i++) {
        ok &= make_slot(s, kvm_slot_at(wanted, i), errp);
    }
    reindex(s);
    pthread_rwlock_unlock(&s->lock);
    if (!ok) {
        /* The reason comes later; before, nobody gets the BQL to ask for it. */
        atomic_store(&vm->broken, true);
    }
    if (gate) {
        kvm_gate_open(vm);
    }
    return ok;
}

void kvm_slots_set_hooks(KvmVm *vm, const KvmSlotHooks *hooks)
{
    KvmSlots *s = vm->slots;

    pthread_rwlock_wrlock(&s->lock);
    for (guint i = 0; i < s->slots->len; i++) {
        call_gone(s, kvm_slot_at(s->slots, i));
    }
    s->hooks = hooks ? hooks : &no_hooks;
    for (guint i = 0; i < s->slots->len; i++) {
        call_made(s, kvm_slot_at(s->slots, i));
    }
    pthread_rwlock_unlock(&s->lock);
}
