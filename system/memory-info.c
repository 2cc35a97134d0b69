/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `info mtree` and `info ramblock`: guest memory for human eyes. */
#include "qemu/osdep.h"

#include "qemu/cutils.h"
#include "qemu/monitor-sink.h"
#include "qom/object.h"

#include "memory-internal.h"

static const char *region_type(const MemoryRegion *mr)
{
    if (mr->alias) {
        return region_type(mr->alias);
    }
    if (mr->rom_device) {
        return "romd";
    }
    if (memory_region_is_rom(mr)) {
        return "rom";
    }
    if (mr->ram) {
        return "ram";
    }
    return mr->terminates ? "i/o" : "container";
}

static const char *region_label(const MemoryRegion *mr)
{
    return mr->name && mr->name[0] ? mr->name : "anonymous";
}

static void print_owner(Monitor *mon, const MemoryRegion *mr)
{
    g_autofree char *path = NULL;

    if (mr->owner) {
        path = object_get_canonical_path(mr->owner);
        monitor_printf(mon, " owner:{%s path=%s}",
                       object_get_typename(mr->owner), path ? path : "(none)");
    }
}

typedef struct TreePrinter {
    Monitor *mon;
    bool owner, disabled;
    GPtrArray *targets; /* of aliases, each once: printed as trees too */
} TreePrinter;

static void print_tree(TreePrinter *tp, MemoryRegion *mr, unsigned level,
                       hwaddr base)
{
    hwaddr first = base + mr->addr;
    hwaddr last = first + (hwaddr)(mr->size - 1);

    if (!mr->enabled && !tp->disabled) {
        return;
    }
    monitor_printf(tp->mon, "%*s%016" PRIx64 "-%016" PRIx64 " (prio %d, %s): ",
                   level * 2, "", first, last, mr->priority, region_type(mr));
    if (mr->alias) {
        if (!g_ptr_array_find(tp->targets, mr->alias, NULL)) {
            g_ptr_array_add(tp->targets, mr->alias);
        }
        monitor_printf(tp->mon, "alias %s @%s %016" PRIx64 "-%016" PRIx64,
                       region_label(mr), region_label(mr->alias),
                       mr->alias_offset,
                       mr->alias_offset + (hwaddr)(mr->size - 1));
    } else {
        monitor_puts(tp->mon, region_label(mr));
    }
    if (!mr->enabled) {
        monitor_puts(tp->mon, " [disabled]");
    }
    if (tp->owner) {
        print_owner(tp->mon, mr);
    }
    monitor_puts(tp->mon, "\n");

    /* By address, then as they hide each other. */
    for (hwaddr next = 0;;) {
        bool more = false;
        hwaddr found = 0;

        for (guint i = 0; i < mr->subregions->len; i++) {
            MemoryRegion *sub = mr->subregions->pdata[i];

            if (sub->addr >= next && (!more || sub->addr < found)) {
                found = sub->addr;
                more = true;
            }
        }
        for (guint i = 0; more && i < mr->subregions->len; i++) {
            MemoryRegion *sub = mr->subregions->pdata[i];

            if (sub->addr == found) {
                print_tree(tp, sub, level + 1, first);
            }
        }
        if (!more || found == UINT64_MAX) {
            break;
        }
        next = found + 1;
    }
}

static void print_trees(Monitor *mon, bool owner, bool disabled)
{
    g_autoptr(GPtrArray) targets = g_ptr_array_new();
    TreePrinter tp = { mon, owner, disabled, targets };
    GPtrArray *spaces = address_spaces();

    for (guint i = 0; i < spaces->len; i++) {
        AddressSpace *as = spaces->pdata[i];

        monitor_printf(mon, "address-space: %s\n", as->name);
        print_tree(&tp, as->root, 1, 0);
        monitor_puts(mon, "\n");
    }
    /* Grows while we print. */
    for (guint i = 0; i < targets->len; i++) {
        MemoryRegion *mr = targets->pdata[i];

        monitor_printf(mon, "memory-region: %s\n", region_label(mr));
        print_tree(&tp, mr, 1, -mr->addr);
        monitor_puts(mon, "\n");
    }
}

static void print_view(Monitor *mon, AddressSpace *as, bool owner)
{
    const FlatView *view = as->view; /* changes under the BQL only */

    monitor_printf(mon, " Root memory region: %s\n", region_label(as->root));
    for (unsigned i = 0; i < view->nr_ranges; i++) {
        const FlatRange *fr = &view->ranges[i];

        monitor_printf(mon, "  %016" PRIx64 "-%016" PRIx64 " (prio %d, %s): %s",
                       fr->first, fr->last, fr->mr->priority,
                       fr->readonly && fr->mr->ram ? "rom"
                                                   : region_type(fr->mr),
                       region_label(fr->mr));
        if (fr->offset_in_region) {
            monitor_printf(mon, " @%016" PRIx64, fr->offset_in_region);
        }
        if (owner) {
            print_owner(mon, fr->mr);
        }
        monitor_puts(mon, "\n");
    }
    if (view->nr_ranges == 0) {
        monitor_puts(mon, "  No rendered FlatView\n");
    }
    monitor_puts(mon, "\n");
}

static void print_views(Monitor *mon, bool owner)
{
    GPtrArray *spaces = address_spaces();
    unsigned nr = 0;

    for (guint i = 0; i < spaces->len; i++) {
        AddressSpace *as = spaces->pdata[i];
        bool seen = false;

        /* Spaces with the same root show the same. */
        for (guint j = 0; j < i; j++) {
            seen |= ((AddressSpace *)spaces->pdata[j])->root == as->root;
        }
        if (seen) {
            continue;
        }
        monitor_printf(mon, "FlatView #%u\n", nr++);
        for (guint j = i; j < spaces->len; j++) {
            AddressSpace *other = spaces->pdata[j];

            if (other->root == as->root) {
                monitor_printf(mon, " AS \"%s\", root: %s\n", other->name,
                               region_label(other->root));
            }
        }
        print_view(mon, as, owner);
    }
}

void mtree_info(Monitor *mon, bool flatview, bool owner, bool disabled)
{
    if (flatview) {
        print_views(mon, owner);
    } else {
        print_trees(mon, owner, disabled);
    }
}

void ram_block_info(Monitor *mon)
{
    g_autoptr(GPtrArray) blocks = qemu_ram_blocks_snapshot();

    monitor_printf(mon, "%24s %8s  %18s %18s %18s %18s %3s\n", "Block Name",
                   "PSize", "Offset", "Used", "Total", "HVA", "RO");
    for (guint i = 0; i < blocks->len; i++) {
        RAMBlock *rb = blocks->pdata[i];
        g_autofree char *psize = size_to_str(qemu_ram_pagesize(rb));

        monitor_printf(mon,
                       "%24s %8s  0x%016" PRIx64 " 0x%016" PRIx64
                       " 0x%016" PRIx64 " 0x%016" PRIx64 " %3s\n",
                       qemu_ram_get_idstr(rb), psize, qemu_ram_get_offset(rb),
                       qemu_ram_get_used_length(rb),
                       qemu_ram_get_max_length(rb),
                       (uint64_t)(uintptr_t)qemu_ram_get_host_addr(rb),
                       qemu_ram_is_readonly(rb) ? "ro" : "rw");
    }
}
