/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest physical memory: regions, address spaces, access, listeners.
 *
 * A MemoryRegion is a named size that is RAM, ROM, MMIO (a table of
 * callbacks), an alias of a part of another region, or a pure container.
 * Regions form a tree; where siblings overlap the higher priority is seen. An
 * AddressSpace is a root region together with its FlatView: the sorted list
 * of what is visible where. A change of the tree under
 * memory_region_transaction_begin/commit replaces flat views as a whole and
 * tells the listeners the difference.
 *
 * Flat views are immutable and counted. Whoever holds a reference may use
 * what it shows: the RAM blocks it shows are ref'd by it, and so are the owner
 * objects of its regions. A vCPU keeps one for its TLB and takes the new one
 * when its listener's commit says so.
 *
 * Threads: the tree, listeners and address spaces change under the BQL.
 * Access (address_space_*, flatview_*, memory_region_dispatch_*) is for any
 * thread, with or without the BQL: MMIO callbacks run with the BQL held, which
 * dispatch takes itself if need be, unless the region was told otherwise
 * (memory_region_clear_global_locking()).
 *
 * Guests are little-endian; so are the ld/st functions here.
 *
 * Used by: devices, machines, engines, migration. Uses: ram-block.h, qom.
 */
#ifndef SYSTEM_MEMORY_H
#define SYSTEM_MEMORY_H

#include "system/dirty-memory.h"
#include "system/ram-block.h"

/* --- transactions of the bus ------------------------------------------- */

typedef struct MemTxAttrs {
    bool unspecified; /* nothing below is known */
    bool secure;
    bool user;
    uint16_t requester_id;
} MemTxAttrs;
#define MEMTXATTRS_UNSPECIFIED ((MemTxAttrs){ .unspecified = true })

typedef uint32_t MemTxResult;
enum {
    MEMTX_OK = 0,
    MEMTX_ERROR = 1 << 0,        /* the device said no */
    MEMTX_DECODE_ERROR = 1 << 1, /* nothing there, or not for such access */
};

enum device_endian {
    DEVICE_NATIVE_ENDIAN, /* little, for all our targets */
    DEVICE_BIG_ENDIAN,
    DEVICE_LITTLE_ENDIAN,
};

/*
 * Callbacks of an MMIO region. @addr is relative to the region, @size in
 * bytes. Give read or read_with_attrs, write or write_with_attrs.
 */
struct MemoryRegionOps {
    uint64_t (*read)(void *opaque, hwaddr addr, unsigned size);
    void (*write)(void *opaque, hwaddr addr, uint64_t data, unsigned size);
    MemTxResult (*read_with_attrs)(void *opaque, hwaddr addr, uint64_t *data,
                                   unsigned size, MemTxAttrs attrs);
    MemTxResult (*write_with_attrs)(void *opaque, hwaddr addr, uint64_t data,
                                    unsigned size, MemTxAttrs attrs);
    enum device_endian endianness;
    /* What the guest may do; else MEMTX_DECODE_ERROR. 0 means 1 and 4. */
    struct {
        unsigned min_access_size;
        unsigned max_access_size;
        bool unaligned;
        bool (*accepts)(void *opaque, hwaddr addr, unsigned size, bool is_write,
                        MemTxAttrs attrs);
    } valid;
    /* What the callbacks implement; others are split or widened. 0: 1 and 4 */
    struct {
        unsigned min_access_size;
        unsigned max_access_size;
        bool unaligned;
    } impl;
};

/* --- regions ------------------------------------------------------------ */

/* Embedded in devices, hence public; its fields are memory.c's. */
struct MemoryRegion {
    /* Constant after memory_region_init*(). */
    char *name;
    Object *owner;
    const MemoryRegionOps *ops; /* MMIO */
    void *opaque;
    RAMBlock *ram_block; /* RAM and ROM */
    MemoryRegion *alias; /* the target */
    bool terminates;     /* shows something itself */
    bool ram;
    bool rom_device;
    bool global_locking;

    /* Guarded by the BQL. */
    __int128 size; /* up to 2^64 */
    hwaddr addr;   /* in container */
    hwaddr alias_offset;
    MemoryRegion *container;
    int32_t priority;
    bool enabled;
    bool readonly;
    bool romd_mode;
    bool mapped_by_alias; /* is or was the target of one */
    uint8_t dirty_log_mask;
    unsigned vga_logging_count;
    GPtrArray *subregions; /* MemoryRegion *, highest priority first */
};

/* @size: bytes; UINT64_MAX stands for 2^64. @name is copied. All: BQL. */
void memory_region_init(MemoryRegion *mr, Object *owner, const char *name,
                        uint64_t size);
void memory_region_init_container(MemoryRegion *mr, Object *owner,
                                  const char *name, uint64_t size);
void memory_region_init_io(MemoryRegion *mr, Object *owner,
                           const MemoryRegionOps *ops, void *opaque,
                           const char *name, uint64_t size);
void memory_region_init_alias(MemoryRegion *mr, Object *owner, const char *name,
                              MemoryRegion *orig, hwaddr offset, uint64_t size);
/*
 * RAM: anonymous unless a file is named. The _nomigrate ones leave the block
 * without a name on the wire (memory_region_register_ram() gives one).
 */
bool memory_region_init_ram(MemoryRegion *mr, Object *owner, const char *name,
                            uint64_t size, Error **errp);
bool memory_region_init_ram_flags_nomigrate(MemoryRegion *mr, Object *owner,
                                            const char *name, uint64_t size,
                                            uint32_t ram_flags, Error **errp);
bool memory_region_init_resizeable_ram(MemoryRegion *mr, Object *owner,
                                       const char *name, uint64_t size,
                                       uint64_t max_size, Error **errp);
bool memory_region_init_ram_from_file(MemoryRegion *mr, Object *owner,
                                      const char *name, uint64_t size,
                                      uint64_t align, uint32_t ram_flags,
                                      const char *path, uint64_t offset,
                                      Error **errp);
/* @fd: the region's on success, the caller's on failure. */
bool memory_region_init_ram_from_fd(MemoryRegion *mr, Object *owner,
                                    const char *name, uint64_t size,
                                    uint32_t ram_flags, int fd, uint64_t offset,
                                    Error **errp);
bool memory_region_init_ram_ptr(MemoryRegion *mr, Object *owner,
                                const char *name, uint64_t size, void *ptr,
                                Error **errp);
/* RAM that the guest cannot write. */
bool memory_region_init_rom(MemoryRegion *mr, Object *owner, const char *name,
                            uint64_t size, Error **errp);
/* Reads like RAM (in romd mode), writes go to @ops (flash). */
bool memory_region_init_rom_device(MemoryRegion *mr, Object *owner,
                                   const MemoryRegionOps *ops, void *opaque,
                                   const char *name, uint64_t size,
                                   Error **errp);

/* Name the block on the wire: @idstr, and let it migrate. */
bool memory_region_register_ram(MemoryRegion *mr, const char *idstr,
                                Error **errp);

/*
 * Undo memory_region_init*(): the region must be in no container and have
 * none inside. Frees its RAM block (memory lives on while views show it).
 */
void memory_region_destroy(MemoryRegion *mr);

void memory_region_add_subregion(MemoryRegion *mr, hwaddr offset,
                                 MemoryRegion *subregion);
void memory_region_add_subregion_overlap(MemoryRegion *mr, hwaddr offset,
                                         MemoryRegion *subregion, int priority);
void memory_region_del_subregion(MemoryRegion *mr, MemoryRegion *subregion);
void memory_region_set_enabled(MemoryRegion *mr, bool enabled);
void memory_region_set_address(MemoryRegion *mr, hwaddr addr);
void memory_region_set_size(MemoryRegion *mr, uint64_t size);
void memory_region_set_alias_offset(MemoryRegion *mr, hwaddr offset);
void memory_region_set_readonly(MemoryRegion *mr, bool readonly);
void memory_region_rom_device_set_romd(MemoryRegion *mr, bool romd_mode);
/* MMIO callbacks of this region take their own locks. Before it is mapped. */
void memory_region_clear_global_locking(MemoryRegion *mr);
/* Log writes for DIRTY_MEMORY_VGA (counted). */
void memory_region_set_log(MemoryRegion *mr, bool log, unsigned client);

/* Nest freely; views change at the outermost commit. BQL. */
void memory_region_transaction_begin(void);
void memory_region_transaction_commit(void);

const char *memory_region_name(const MemoryRegion *mr);
Object *memory_region_owner(const MemoryRegion *mr);
uint64_t memory_region_size(const MemoryRegion *mr); /* 2^64 -> UINT64_MAX */
static inline bool memory_region_is_ram(const MemoryRegion *mr)
{
    return mr->ram;
}
bool memory_region_is_rom(const MemoryRegion *mr);
bool memory_region_is_mapped(const MemoryRegion *mr);
void *memory_region_get_ram_ptr(MemoryRegion *mr);
ram_addr_t memory_region_get_ram_addr(MemoryRegion *mr);
int memory_region_get_fd(MemoryRegion *mr);
/* Mark after a write through memory_region_get_ram_ptr(): all clients. */
void memory_region_set_dirty(MemoryRegion *mr, hwaddr addr, hwaddr size);

/* --- flat views and address spaces -------------------------------------- */

struct AddressSpace {
    char *name;
    MemoryRegion *root;
    FlatView *view;              /* swapped under its lock, see memory-view.c */
    QemuMutex view_lock;         /* for the pointer and its reference only */
    _Atomic unsigned generation; /* bumped with each new view */
};

void address_space_init(AddressSpace *as, MemoryRegion *root, const char *name);
void address_space_destroy(AddressSpace *as);

/* The system's: made on first use, in the main thread. */
extern AddressSpace address_space_memory;
extern AddressSpace address_space_io;
MemoryRegion *get_system_memory(void);
MemoryRegion *get_system_io(void);

/* A reference to the present view. Any thread. */
FlatView *address_space_get_flatview(AddressSpace *as);
void flatview_ref(FlatView *view);
void flatview_unref(FlatView *view);
/* Cheap test whether a view taken earlier may be outdated. */
static inline unsigned address_space_generation(AddressSpace *as)
{
    return atomic_load_explicit(&as->generation, memory_order_acquire);
}

/*
 * MemoryTranslation: what is at one guest physical address, and around it
 *
 * For RAM and ROM @block is set, and guest physical [first, last] lies
 * linearly in it; host = address of the byte asked for. For MMIO @block is
 * NULL: use memory_region_dispatch_*(mr, mr_offset, …).
 */
typedef struct MemoryTranslation {
    MemoryRegion *mr;
    hwaddr mr_offset; /* of the address in @mr */
    hwaddr first;     /* extent, inclusive */
    hwaddr last;
    RAMBlock *block;
    ram_addr_t block_offset;
    void *host;
    bool readonly; /* stores go to memory_region_dispatch_write() */
} MemoryTranslation;

/**
 * flatview_translate: find what @view shows at @addr
 *
 * Lock-free. Returns false if nothing is there (@t is untouched). Valid as
 * long as the caller holds its reference to @view.
 */
bool flatview_translate(const FlatView *view, hwaddr addr,
                        MemoryTranslation *t);

/**
 * memory_region_dispatch_read/write: one access to an MMIO region
 *
 * @size: 1, 2, 4 or 8; @data: the value in the low bytes
 *
 * Checks ops->valid, splits or widens to ops->impl, takes the BQL if the
 * caller has not got it. To a ROM, a write is MEMTX_DECODE_ERROR. On error a
 * read gives 0.
 */
MemTxResult memory_region_dispatch_read(MemoryRegion *mr, hwaddr addr,
                                        uint64_t *data, unsigned size,
                                        MemTxAttrs attrs);
MemTxResult memory_region_dispatch_write(MemoryRegion *mr, hwaddr addr,
                                         uint64_t data, unsigned size,
                                         MemTxAttrs attrs);

/* --- access by address --------------------------------------------------- */

/*
 * Any length, any mixture of RAM and MMIO. Writes mark the pages dirty for all
 * clients after the store. Aligned pieces of 1, 2, 4 or 8 bytes are stored as
 * one. Reads of what is not there give zeros. Returns the errors ORed.
 */
MemTxResult address_space_rw(AddressSpace *as, hwaddr addr, MemTxAttrs attrs,
                             void *buf, hwaddr len, bool is_write);
MemTxResult address_space_read(AddressSpace *as, hwaddr addr, MemTxAttrs attrs,
                               void *buf, hwaddr len);
MemTxResult address_space_write(AddressSpace *as, hwaddr addr, MemTxAttrs attrs,
                                const void *buf, hwaddr len);
/* Loader and debugger: writes ROM too, and skips MMIO. */
MemTxResult address_space_write_rom(AddressSpace *as, hwaddr addr,
                                    MemTxAttrs attrs, const void *buf,
                                    hwaddr len);
/* Loader and debugger: reads RAM and ROM only; false if any is neither. */
bool address_space_read_ram(AddressSpace *as, hwaddr addr, void *buf,
                            hwaddr len);
MemTxResult address_space_set(AddressSpace *as, hwaddr addr, uint8_t c,
                              hwaddr len, MemTxAttrs attrs);

/* Little-endian; one access to MMIO. @result may be NULL. */
uint8_t address_space_ldub(AddressSpace *as, hwaddr addr, MemTxAttrs attrs,
                           MemTxResult *result);
uint16_t address_space_lduw_le(AddressSpace *as, hwaddr addr, MemTxAttrs attrs,
                               MemTxResult *result);
uint32_t address_space_ldl_le(AddressSpace *as, hwaddr addr, MemTxAttrs attrs,
                              MemTxResult *result);
uint64_t address_space_ldq_le(AddressSpace *as, hwaddr addr, MemTxAttrs attrs,
                              MemTxResult *result);
void address_space_stb(AddressSpace *as, hwaddr addr, uint8_t val,
                       MemTxAttrs attrs, MemTxResult *result);
void address_space_stw_le(AddressSpace *as, hwaddr addr, uint16_t val,
                          MemTxAttrs attrs, MemTxResult *result);
void address_space_stl_le(AddressSpace *as, hwaddr addr, uint32_t val,
                          MemTxAttrs attrs, MemTxResult *result);
void address_space_stq_le(AddressSpace *as, hwaddr addr, uint64_t val,
                          MemTxAttrs attrs, MemTxResult *result);
uint8_t ldub_phys(AddressSpace *as, hwaddr addr);
uint16_t lduw_le_phys(AddressSpace *as, hwaddr addr);
uint32_t ldl_le_phys(AddressSpace *as, hwaddr addr);
uint64_t ldq_le_phys(AddressSpace *as, hwaddr addr);
void stb_phys(AddressSpace *as, hwaddr addr, uint8_t val);
void stw_le_phys(AddressSpace *as, hwaddr addr, uint16_t val);
void stl_le_phys(AddressSpace *as, hwaddr addr, uint32_t val);
void stq_le_phys(AddressSpace *as, hwaddr addr, uint64_t val);

/* address_space_memory, unspecified attributes. */
void cpu_physical_memory_rw(hwaddr addr, void *buf, hwaddr len, bool is_write);
static inline void cpu_physical_memory_read(hwaddr addr, void *buf, hwaddr len)
{
    cpu_physical_memory_rw(addr, buf, len, false);
}
static inline void cpu_physical_memory_write(hwaddr addr, const void *buf,
                                             hwaddr len)
{
    cpu_physical_memory_rw(addr, (void *)buf, len, true);
}

/* --- sections and listeners ---------------------------------------------- */

/* A contiguous range of an address space that shows a range of a region. */
struct MemoryRegionSection {
    MemoryRegion *mr;
    AddressSpace *as;
    hwaddr offset_within_region;
    hwaddr offset_within_address_space;
    __int128 size;
    bool readonly;
};

/* What @mr (a container or root) shows in [addr, addr+size): the first
 * section; .mr NULL if nothing. Not ref'd: BQL. */
MemoryRegionSection memory_region_find(MemoryRegion *mr, hwaddr addr,
                                       uint64_t size);

/*
 * MemoryListener: who wants to know what is where, and what is logged
 *
 * All callbacks are optional. Topology callbacks and log_(global_)start/stop
 * run under the BQL, and while no other callback does; log_sync*, log_clear in
 * any thread, with or without it, and on several threads at once.
 * region_add and log_start go by ascending, region_del and log_stop by
 * descending priority. No callback may register listeners or change regions.
 */
struct MemoryListener {
    const char *name;
    unsigned priority; /* MEMORY_LISTENER_PRIORITY_* */

    void (*begin)(MemoryListener *listener);
    void (*commit)(MemoryListener *listener);
    void (*region_add)(MemoryListener *listener, MemoryRegionSection *section);
    void (*region_del)(MemoryListener *listener, MemoryRegionSection *section);
    void (*region_nop)(MemoryListener *listener, MemoryRegionSection *section);
    /* The section's mask of logging clients changed. */
    void (*log_start)(MemoryListener *listener, MemoryRegionSection *section,
                      int old_mask, int new_mask);
    void (*log_stop)(MemoryListener *listener, MemoryRegionSection *section,
                     int old_mask, int new_mask);
    /* Publish writes to the section to the block bitmaps; or once for all. */
    void (*log_sync)(MemoryListener *listener, MemoryRegionSection *section);
    void (*log_sync_global)(MemoryListener *listener, bool last_stage);
    /* Re-arm exactly this range (offset and size may lie within a section
     * that region_add announced). Returns when no write can go unseen. */
    void (*log_clear)(MemoryListener *listener, MemoryRegionSection *section);
    bool (*log_global_start)(MemoryListener *listener, Error **errp);
    void (*log_global_stop)(MemoryListener *listener);

    /* Private to memory-listener.c. */
    AddressSpace *address_space;
};
enum {
    MEMORY_LISTENER_PRIORITY_MIN = 0,
    MEMORY_LISTENER_PRIORITY_ACCEL = 10,
    MEMORY_LISTENER_PRIORITY_DEV_BACKEND = 10,
};

/* Replays the present topology (begin, region_add…, commit). BQL. */
void memory_listener_register(MemoryListener *listener, AddressSpace *as);
void memory_listener_unregister(MemoryListener *listener);

/* --- information ---------------------------------------------------------- */

/* `info mtree [-f] [-o] [-D]`, `info ramblock`. BQL. */
void mtree_info(Monitor *mon, bool flatview, bool owner, bool disabled);
void ram_block_info(Monitor *mon);

/**
 * cpu_memory_read_debug: read what @cpu would see at virtual address @addr
 *
 * Without side effects on the CPU. BQL, @cpu stopped or not. Returns false if
 * a part is not mapped or does not answer.
 */
bool cpu_memory_read_debug(CPUState *cpu, vaddr addr, void *buf, size_t len);

#endif /* SYSTEM_MEMORY_H */
