/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From flat views to what a kernel VM can have: see kvm-layout.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "system/memory.h"

#include "kvm-layout.h"
#include "kvm-slots.h"

/* One address space, one layout. Guarded by the BQL. */
static struct {
    GPtrArray *vms;    /* attached, KvmVm * */
    GArray *ranges;    /* KvmRange: the layout */
    GArray *addresses; /* hwaddr, while an update goes on: begins of ranges */
} layout;

static void clear_range(void *p)
{
    KvmRange *range = p;

    qemu_ram_unref(range->rb);
}

static GArray *ranges_new(void)
{
    GArray *ranges = g_array_new(FALSE, FALSE, sizeof(KvmRange));

    g_array_set_clear_func(ranges, clear_range);
    return ranges;
}

/* ---- one range ---- */

/* What is left of @t in whole pages; false: nothing. */
static bool clip(const MemoryTranslation *t, KvmRange *range)
{
    __int128 page = getpagesize();
    __int128 first = QEMU_ALIGN_UP((__int128)t->first, page);
    __int128 end = QEMU_ALIGN_DOWN((__int128)t->last + 1, page);
    uint64_t skip = first - t->first;

    if (first >= end) {
        return false;
    }
    *range = (KvmRange){
        .gpa = first,
        .size = end - first,
        .hva = (uint8_t *)t->host + (first - t->first),
        .rb = t->block,
        .rb_offset = t->block_offset + skip,
        .readonly = t->readonly || qemu_ram_is_readonly(t->block),
    };
    /* Shifted against the host's pages: it is emulated, byte by byte. */
    return (uintptr_t)range->hva % (uintptr_t)page == 0 &&
           range->rb_offset % (ram_addr_t)page == 0;
}

static void add_range(GArray *ranges, const FlatView *view, hwaddr addr)
{
    MemoryTranslation t;
    KvmRange range;

    if (flatview_translate(view, addr, &t) && t.block && clip(&t, &range)) {
        qemu_ram_ref(range.rb);
        g_array_append_val(ranges, range);
    }
}

/* ---- listener ---- */

static void on_begin(MemoryListener *listener)
{
    g_array_set_size(layout.addresses, 0);
}

static void on_region(MemoryListener *listener, MemoryRegionSection *section)
{
    g_array_append_val(layout.addresses, section->offset_within_address_space);
}

void kvm_slots_retry(KvmVm *vm)
{
    g_autoptr(Error) err = NULL;

    if (!kvm_slots_apply(vm, layout.ranges, &err)) {
        kvm_vm_set_broken(vm, error_get_pretty(err), false);
    } else {
        kvm_vm_set_mended(vm);
    }
}

static void on_commit(MemoryListener *listener)
{
    FlatView *view = address_space_get_flatview(listener->address_space);
    GArray *old = layout.ranges;

    layout.ranges = ranges_new();
    for (guint i = 0; i < layout.addresses->len; i++) {
        add_range(layout.ranges, view,
                  g_array_index(layout.addresses, hwaddr, i));
    }
    flatview_unref(view);
    for (guint i = 0; i < layout.vms->len; i++) {
        kvm_slots_retry(layout.vms->pdata[i]);
    }
    g_array_unref(old);
}

static MemoryListener kvm_listener = {
    .name = "kvm",
    .priority = MEMORY_LISTENER_PRIORITY_ACCEL,
    .begin = on_begin,
    .region_add = on_region,
    .region_nop = on_region,
    .commit = on_commit,
};

bool kvm_slots_attach(KvmVm *vm, Error **errp)
{
    if (!layout.vms) {
        layout.vms = g_ptr_array_new();
        layout.ranges = ranges_new();
        layout.addresses = g_array_new(FALSE, FALSE, sizeof(hwaddr));
    }
    if (!layout.vms->len) {
        get_system_memory(); /* makes address_space_memory */
        memory_listener_register(&kvm_listener, &address_space_memory);
    }
    g_ptr_array_add(layout.vms, vm);
    if (!kvm_slots_apply(vm, layout.ranges, errp)) {
        kvm_slots_detach(vm);
        return false;
    }
    return true;
}

void kvm_slots_leave(KvmVm *vm)
{
    g_ptr_array_remove(layout.vms, vm);
}

void kvm_slots_detach(KvmVm *vm)
{
    g_autoptr(GArray) none = NULL;

    if (!layout.vms || !g_ptr_array_remove(layout.vms, vm)) {
        return;
    }
    none = ranges_new();
    kvm_slots_apply(vm, none, NULL);
    if (!layout.vms->len) {
        memory_listener_unregister(&kvm_listener);
    }
}
