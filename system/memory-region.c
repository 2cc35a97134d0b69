/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree of memory regions and its changes: see include/system/memory.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"

#include "memory-internal.h"

#define SIZE_ALL ((__int128)1 << 64)

/* Guarded by the BQL. */
static struct {
    unsigned depth;  /* of memory_region_transaction_begin() */
    bool pending;    /* something changed since the last update */
    bool committing; /* listeners run: they may not change the tree */
} transaction;

static __int128 size_from_u64(uint64_t size)
{
    return size == UINT64_MAX ? SIZE_ALL : (__int128)size;
}

/* --- making --------------------------------------------------------------- */

void memory_region_init(MemoryRegion *mr, Object *owner, const char *name,
                        uint64_t size)
{
    *mr = (MemoryRegion){
        .name = g_strdup(name ? name : ""),
        .owner = owner,
        .size = size_from_u64(size),
        .enabled = true,
        .romd_mode = true,
        .global_locking = true,
        .subregions = g_ptr_array_new(),
    };
}

void memory_region_init_container(MemoryRegion *mr, Object *owner,
                                  const char *name, uint64_t size)
{
    memory_region_init(mr, owner, name, size);
}

void memory_region_init_io(MemoryRegion *mr, Object *owner,
                           const MemoryRegionOps *ops, void *opaque,
                           const char *name, uint64_t size)
{
    assert((ops->read || ops->read_with_attrs) &&
           (ops->write || ops->write_with_attrs));
    memory_region_init(mr, owner, name, size);
    mr->ops = ops;
    mr->opaque = opaque;
    mr->terminates = true;
}

void memory_region_init_alias(MemoryRegion *mr, Object *owner, const char *name,
                              MemoryRegion *orig, hwaddr offset, uint64_t size)
{
    memory_region_init(mr, owner, name, size);
    mr->alias = orig;
    mr->alias_offset = offset;
    orig->mapped_by_alias = true;
}

/* Ends what memory_region_init() began: takes over @rb, or undoes. */
static bool finish_ram(MemoryRegion *mr, RAMBlock *rb)
{
    if (!rb) {
        memory_region_destroy(mr);
        return false;
    }
    mr->ram_block = rb;
    mr->ram = true;
    mr->terminates = true;
    mr->readonly = qemu_ram_is_readonly(rb);
    return true;
}

bool memory_region_init_ram_flags_nomigrate(MemoryRegion *mr, Object *owner,
                                            const char *name, uint64_t size,
                                            uint32_t ram_flags, Error **errp)
{
    memory_region_init(mr, owner, name, size);
    return finish_ram(mr, qemu_ram_alloc(size, ram_flags, mr, errp));
}

bool memory_region_register_ram(MemoryRegion *mr, const char *idstr,
                                Error **errp)
{
    assert(mr->ram_block);
    if (!qemu_ram_set_idstr(mr->ram_block, idstr, errp)) {
        return false;
    }
    qemu_ram_set_migratable(mr->ram_block, true);
    return true;
}

/* Registers by the region's name; undoes all on failure. */
static bool register_or_destroy(MemoryRegion *mr, Error **errp)
{
    if (!memory_region_register_ram(mr, mr->name, errp)) {
        memory_region_destroy(mr);
        return false;
    }
    return true;
}

bool memory_region_init_ram(MemoryRegion *mr, Object *owner, const char *name,
                            uint64_t size, Error **errp)
{
    return memory_region_init_ram_flags_nomigrate(mr, owner, name, size, 0,
                                                  errp) &&
           register_or_destroy(mr, errp);
}

bool memory_region_init_resizeable_ram(MemoryRegion *mr, Object *owner,
                                       const char *name, uint64_t size,
                                       uint64_t max_size, Error **errp)
{
    memory_region_init(mr, owner, name, size);
    return finish_ram(mr,
                      qemu_ram_alloc_resizeable(size, max_size, mr, errp)) &&
           register_or_destroy(mr, errp);
}

bool memory_region_init_ram_from_file(MemoryRegion *mr, Object *owner,
                                      const char *name, uint64_t size,
                                      uint64_t align, uint32_t ram_flags,
                                      const char *path, uint64_t offset,
                                      Error **errp)
{
    memory_region_init(mr, owner, name, size);
    return finish_ram(mr, qemu_ram_alloc_from_file(size, align, ram_flags, path,
                                                   offset, mr, errp));
}

bool memory_region_init_ram_from_fd(MemoryRegion *mr, Object *owner,
                                    const char *name, uint64_t size,
                                    uint32_t ram_flags, int fd, uint64_t offset,
                                    Error **errp)
{
    memory_region_init(mr, owner, name, size);
    return finish_ram(
        mr, qemu_ram_alloc_from_fd(size, ram_flags, fd, offset, mr, errp));
}

bool memory_region_init_ram_ptr(MemoryRegion *mr, Object *owner,
                                const char *name, uint64_t size, void *ptr,
                                Error **errp)
{
    memory_region_init(mr, owner, name, size);
    return finish_ram(mr, qemu_ram_alloc_from_ptr(size, ptr, mr, errp));
}

bool memory_region_init_rom(MemoryRegion *mr, Object *owner, const char *name,
                            uint64_t size, Error **errp)
{
    if (!memory_region_init_ram(mr, owner, name, size, errp)) {
        return false;
    }
    mr->readonly = true;
    return true;
}

bool memory_region_init_rom_device(MemoryRegion *mr, Object *owner,
                                   const MemoryRegionOps *ops, void *opaque,
                                   const char *name, uint64_t size,
                                   Error **errp)
{
    if (!memory_region_init_ram(mr, owner, name, size, errp)) {
        return false;
    }
    mr->ram = false;
    mr->rom_device = true;
    mr->ops = ops;
    mr->opaque = opaque;
    return true;
}

void memory_region_destroy(MemoryRegion *mr)
{
    assert(!mr->container && mr->subregions->len == 0);
    while (mr->vga_logging_count) {
        memory_region_set_log(mr, false, DIRTY_MEMORY_VGA);
    }
    if (mr->ram_block) {
        qemu_ram_free(mr->ram_block);
        mr->ram_block = NULL;
    }
    g_ptr_array_free(mr->subregions, TRUE);
    mr->subregions = NULL;
    g_free(mr->name);
    mr->name = NULL;
}

/* --- transactions ---------------------------------------------------------- */

void memory_topology_changed(void)
{
    assert(!transaction.committing);
    transaction.pending = true;
}

void memory_region_transaction_begin(void)
{
    transaction.depth++;
}

void memory_region_transaction_commit(void)
{
    GPtrArray *spaces = address_spaces();

    assert(transaction.depth > 0);
    if (--transaction.depth > 0 || !transaction.pending) {
        return;
    }
    transaction.pending = false;
    transaction.committing = true;
    for (guint i = 0; i < spaces->len; i++) {
        AddressSpace *as = g_ptr_array_index(spaces, i);

        memory_listeners_update(as, flatview_render(as->root));
    }
    transaction.committing = false;
}

/* Run the statement as a transaction that changed something visible. */
#define WITH_CHANGE(stmt)                   \
    do {                                    \
        memory_region_transaction_begin();  \
        memory_topology_changed();          \
        stmt;                               \
        memory_region_transaction_commit(); \
    } while (0)

static void insert_subregion(MemoryRegion *mr, MemoryRegion *sub)
{
    guint i = 0;

    /* Among equals the one added last is seen. */
    while (i < mr->subregions->len &&
           ((MemoryRegion *)mr->subregions->pdata[i])->priority >
               sub->priority) {
        i++;
    }
    g_ptr_array_insert(mr->subregions, i, sub);
    sub->container = mr;
}

void memory_region_add_subregion_overlap(MemoryRegion *mr, hwaddr offset,
                                         MemoryRegion *subregion, int priority)
{
    assert(!subregion->container && !mr->alias);
    WITH_CHANGE({
        subregion->addr = offset;
        subregion->priority = priority;
        insert_subregion(mr, subregion);
    });
}

void memory_region_add_subregion(MemoryRegion *mr, hwaddr offset,
                                 MemoryRegion *subregion)
{
    memory_region_add_subregion_overlap(mr, offset, subregion, 0);
}

void memory_region_del_subregion(MemoryRegion *mr, MemoryRegion *subregion)
{
    assert(subregion->container == mr);
    WITH_CHANGE({
        g_ptr_array_remove(mr->subregions, subregion);
        subregion->container = NULL;
    });
}

void memory_region_set_enabled(MemoryRegion *mr, bool enabled)
{
    if (mr->enabled != enabled) {
        WITH_CHANGE(mr->enabled = enabled);
    }
}

void memory_region_set_address(MemoryRegion *mr, hwaddr addr)
{
    if (mr->addr != addr) {
        WITH_CHANGE(mr->addr = addr);
    }
}

void memory_region_set_size(MemoryRegion *mr, uint64_t size)
{
    if (mr->size != size_from_u64(size)) {
        WITH_CHANGE(mr->size = size_from_u64(size));
    }
}

void memory_region_set_alias_offset(MemoryRegion *mr, hwaddr offset)
{
    assert(mr->alias);
    if (mr->alias_offset != offset) {
        WITH_CHANGE(mr->alias_offset = offset);
    }
}

void memory_region_set_readonly(MemoryRegion *mr, bool readonly)
{
    if (mr->readonly != readonly) {
        WITH_CHANGE(mr->readonly = readonly);
    }
}

void memory_region_rom_device_set_romd(MemoryRegion *mr, bool romd_mode)
{
    assert(mr->rom_device);
    if (mr->romd_mode != romd_mode) {
        WITH_CHANGE(mr->romd_mode = romd_mode);
    }
}

void memory_region_clear_global_locking(MemoryRegion *mr)
{
    mr->global_locking = false;
}

void memory_region_set_log(MemoryRegion *mr, bool log, unsigned client)
{
    assert(client == DIRTY_MEMORY_VGA && mr->ram_block);
    if (log) {
        if (mr->vga_logging_count++ == 0) {
            /* A display that cannot be tracked would show stale pictures. */
            dirty_log_vga_start(mr->ram_block, &error_fatal);
            WITH_CHANGE(mr->dirty_log_mask |= 1u << DIRTY_MEMORY_VGA);
        }
        return;
    }
    assert(mr->vga_logging_count > 0);
    if (--mr->vga_logging_count == 0) {
        dirty_log_vga_stop(mr->ram_block);
        WITH_CHANGE(mr->dirty_log_mask &= ~(1u << DIRTY_MEMORY_VGA));
    }
}

/* --- facts ------------------------------------------------------------------ */

const char *memory_region_name(const MemoryRegion *mr)
{
    return mr->name;
}

Object *memory_region_owner(const MemoryRegion *mr)
{
    return mr->owner;
}

uint64_t memory_region_size(const MemoryRegion *mr)
{
    return mr->size == SIZE_ALL ? UINT64_MAX : (uint64_t)mr->size;
}

bool memory_region_is_rom(const MemoryRegion *mr)
{
    return mr->ram && mr->readonly;
}

bool memory_region_is_mapped(const MemoryRegion *mr)
{
    return mr->container || mr->mapped_by_alias;
}

void *memory_region_get_ram_ptr(MemoryRegion *mr)
{
    uint64_t offset = 0;

    while (mr->alias) {
        offset += mr->alias_offset;
        mr = mr->alias;
    }
    assert(mr->ram_block);
    return (uint8_t *)qemu_ram_get_host_addr(mr->ram_block) + offset;
}

ram_addr_t memory_region_get_ram_addr(MemoryRegion *mr)
{
    return mr->ram_block ? qemu_ram_get_offset(mr->ram_block)
                         : RAM_ADDR_INVALID;
}

int memory_region_get_fd(MemoryRegion *mr)
{
    while (mr->alias) {
        mr = mr->alias;
    }
    return mr->ram_block ? qemu_ram_get_fd(mr->ram_block) : -1;
}

void memory_region_set_dirty(MemoryRegion *mr, hwaddr addr, hwaddr size)
{
    assert(mr->ram_block);
    ram_block_set_dirty(mr->ram_block, addr, size, DIRTY_CLIENTS_ALL);
}
