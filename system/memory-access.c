/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access to guest memory by address: see include/system/memory.h.
 *
 * Each access takes a reference to the present view, cuts the range at the
 * view's boundaries, and copies or dispatches piece by piece. Writes to RAM
 * follow rule "store, then mark".
 */
#include "qemu/osdep.h"

#include "qemu/error.h"

#include "memory-internal.h"

/* Can a piece of this size at this host address be one access? */
static bool is_single(const void *host, hwaddr len)
{
    return (len == 1 || len == 2 || len == 4 || len == 8) &&
           QEMU_PTR_IS_ALIGNED(host, len);
}

/* A guest that looks meanwhile sees an aligned small piece whole. */
static void copy_to_ram(void *host, const void *buf, hwaddr len)
{
    if (!is_single(host, len)) {
        memcpy(host, buf, len);
    } else if (len == 8) {
        uint64_t v;
        memcpy(&v, buf, 8);
        __atomic_store_n((uint64_t *)host, v, __ATOMIC_RELAXED);
    } else if (len == 4) {
        uint32_t v;
        memcpy(&v, buf, 4);
        __atomic_store_n((uint32_t *)host, v, __ATOMIC_RELAXED);
    } else if (len == 2) {
        uint16_t v;
        memcpy(&v, buf, 2);
        __atomic_store_n((uint16_t *)host, v, __ATOMIC_RELAXED);
    } else {
        __atomic_store_n((uint8_t *)host, *(const uint8_t *)buf,
                         __ATOMIC_RELAXED);
    }
}

static void copy_from_ram(void *buf, const void *host, hwaddr len)
{
    if (!is_single(host, len)) {
        memcpy(buf, host, len);
    } else if (len == 8) {
        uint64_t v = __atomic_load_n((const uint64_t *)host, __ATOMIC_RELAXED);
        memcpy(buf, &v, 8);
    } else if (len == 4) {
        uint32_t v = __atomic_load_n((const uint32_t *)host, __ATOMIC_RELAXED);
        memcpy(buf, &v, 4);
    } else if (len == 2) {
        uint16_t v = __atomic_load_n((const uint16_t *)host, __ATOMIC_RELAXED);
        memcpy(buf, &v, 2);
    } else {
        *(uint8_t *)buf = __atomic_load_n((const uint8_t *)host,
                                          __ATOMIC_RELAXED);
    }
}

typedef struct RamCopy {
    uint8_t *host;
    uint8_t *buf; /* NULL: fill with @byte */
    hwaddr len;
    uint8_t byte;
    bool is_write;
} RamCopy;

static void do_ram_copy(void *opaque)
{
    RamCopy *c = opaque;

    if (!c->is_write) {
        copy_from_ram(c->buf, c->host, c->len);
    } else if (c->buf) {
        copy_to_ram(c->host, c->buf, c->len);
    } else {
        memset(c->host, c->byte, c->len);
    }
}

/* Memory behind a file may be missing: then it is the access that fails. */
static MemTxResult ram_access(const MemoryTranslation *t, RamCopy *c)
{
    Error *err = NULL;

    c->host = t->host;
    if (qemu_ram_get_fd(t->block) < 0) {
        do_ram_copy(c);
    } else if (!ram_access_try(do_ram_copy, c, &err)) {
        error_report_err(err);
        return MEMTX_ERROR;
    }
    if (c->is_write) {
        ram_block_set_dirty(t->block, t->block_offset, c->len,
                            DIRTY_CLIENTS_ALL);
    }
    return MEMTX_OK;
}

/* The largest access that @mr takes at @addr for a range of @len bytes. */
static unsigned mmio_size(const MemoryRegion *mr, hwaddr addr, hwaddr len)
{
    unsigned max = 4, size;

    if (mr->ops && mr->ops->valid.max_access_size) {
        max = mr->ops->valid.max_access_size;
    }
    if (!(mr->ops && mr->ops->impl.unaligned) && addr % max) {
        max = MIN(max, addr & -addr);
    }
    for (size = MIN(max, 8); size > len; size /= 2) {
    }
    return size;
}

/*
 * @c: all that is still to be done, for a device. Where a register of another
 * one lies over the inner bytes of one of @t's (PCI's address at 0xcf8 and a
 * PC's reset at 0xcf9), an access that begins before it is still one access,
 * as on a bus: the view's ranges don't cut it.
 */
static MemTxResult mmio_piece(const MemoryTranslation *t, RamCopy *c,
                              MemTxAttrs attrs)
{
    uint64_t value = 0;
    uint64_t in_region = memory_region_size(t->mr) - t->mr_offset;
    MemTxResult result;

    c->len = mmio_size(t->mr, t->mr_offset, MIN(c->len, in_region));
    if (!c->is_write) {
        result = memory_region_dispatch_read(t->mr, t->mr_offset, &value,
                                             c->len, attrs);
        value = GUINT64_TO_LE(value);
        memcpy(c->buf, &value, c->len);
        return result;
    }
    if (c->buf) {
        memcpy(&value, c->buf, c->len);
    } else {
        memset(&value, c->byte, c->len);
    }
    return memory_region_dispatch_write(t->mr, t->mr_offset,
                                        GUINT64_FROM_LE(value), c->len, attrs);
}

/* The length of the hole at @addr, at most @len. */
static hwaddr hole_length(const FlatView *view, hwaddr addr, hwaddr len)
{
    for (unsigned i = 0; i < view->nr_ranges; i++) {
        if (view->ranges[i].first > addr) {
            return MIN(len, view->ranges[i].first - addr);
        }
    }
    return len;
}

enum {
    ACCESS_WRITE_ROM = 1 << 0, /* writes reach read-only memory */
    ACCESS_RAM_ONLY = 1 << 1,  /* MMIO is skipped */
};

/* @buf NULL: a fill with @byte. */
static MemTxResult view_access(const FlatView *view, hwaddr addr,
                               MemTxAttrs attrs, uint8_t *buf, uint8_t byte,
                               hwaddr len, bool is_write, unsigned flags)
{
    MemTxResult result = MEMTX_OK;

    while (len > 0) {
        RamCopy c = { .buf = buf, .byte = byte, .is_write = is_write };
        MemoryTranslation t;

        if (!flatview_translate(view, addr, &t)) {
            c.len = hole_length(view, addr, len);
            result |= MEMTX_DECODE_ERROR;
            if (!is_write) {
                memset(buf, 0, c.len);
            }
        } else {
            c.len = MIN(len - 1, t.last - addr) + 1;
            if (t.block && (!is_write || !t.readonly ||
                            (flags & ACCESS_WRITE_ROM &&
                             !qemu_ram_is_readonly(t.block)))) {
                result |= ram_access(&t, &c);
            } else if (flags & ACCESS_RAM_ONLY) {
                result |= MEMTX_DECODE_ERROR;
                if (!is_write) {
                    memset(buf, 0, c.len);
                }
            } else {
                c.len = t.block ? c.len : len;
                result |= mmio_piece(&t, &c, attrs);
            }
        }
        len -= c.len;
        addr += c.len;
        buf = buf ? buf + c.len : NULL;
    }
    return result;
}

static MemTxResult as_access(AddressSpace *as, hwaddr addr, MemTxAttrs attrs,
                             void *buf, uint8_t byte, hwaddr len, bool is_write,
                             unsigned flags)
{
    FlatView *view = address_space_get_flatview(as);
    MemTxResult result = view_access(view, addr, attrs, buf, byte, len,
                                     is_write, flags);

    flatview_unref(view);
    return result;
}

MemTxResult address_space_rw(AddressSpace *as, hwaddr addr, MemTxAttrs attrs,
                             void *buf, hwaddr len, bool is_write)
{
    return as_access(as, addr, attrs, buf, 0, len, is_write, 0);
}

MemTxResult address_space_read(AddressSpace *as, hwaddr addr, MemTxAttrs attrs,
                               void *buf, hwaddr len)
{
    return address_space_rw(as, addr, attrs, buf, len, false);
}

MemTxResult address_space_write(AddressSpace *as, hwaddr addr, MemTxAttrs attrs,
                                const void *buf, hwaddr len)
{
    return address_space_rw(as, addr, attrs, (void *)buf, len, true);
}

MemTxResult address_space_write_rom(AddressSpace *as, hwaddr addr,
                                    MemTxAttrs attrs, const void *buf,
                                    hwaddr len)
{
    return as_access(as, addr, attrs, (void *)buf, 0, len, true,
                     ACCESS_WRITE_ROM | ACCESS_RAM_ONLY);
}

bool address_space_read_ram(AddressSpace *as, hwaddr addr, void *buf,
                            hwaddr len)
{
    return as_access(as, addr, MEMTXATTRS_UNSPECIFIED, buf, 0, len, false,
                     ACCESS_RAM_ONLY) == MEMTX_OK;
}

MemTxResult address_space_set(AddressSpace *as, hwaddr addr, uint8_t c,
                              hwaddr len, MemTxAttrs attrs)
{
    return as_access(as, addr, attrs, NULL, c, len, true, 0);
}

/* --- values ------------------------------------------------------------------ */

#define DEFINE_LDST(ld_name, st_name, type, to_le, from_le)                   \
    type address_space_##ld_name(AddressSpace *as, hwaddr addr,               \
                                 MemTxAttrs attrs, MemTxResult *result)       \
    {                                                                         \
        type value = 0;                                                       \
        MemTxResult r = address_space_read(as, addr, attrs, &value,           \
                                           sizeof(value));                    \
                                                                              \
        if (result) {                                                         \
            *result = r;                                                      \
        }                                                                     \
        return from_le(value);                                                \
    }                                                                         \
                                                                              \
    void address_space_##st_name(AddressSpace *as, hwaddr addr, type val,     \
                                 MemTxAttrs attrs, MemTxResult *result)       \
    {                                                                         \
        type value = to_le(val);                                              \
        MemTxResult r = address_space_write(as, addr, attrs, &value,          \
                                            sizeof(value));                   \
                                                                              \
        if (result) {                                                         \
            *result = r;                                                      \
        }                                                                     \
    }                                                                         \
                                                                              \
    type ld_name##_phys(AddressSpace *as, hwaddr addr)                        \
    {                                                                         \
        return address_space_##ld_name(as, addr, MEMTXATTRS_UNSPECIFIED,      \
                                       NULL);                                 \
    }                                                                         \
                                                                              \
    void st_name##_phys(AddressSpace *as, hwaddr addr, type val)              \
    {                                                                         \
        address_space_##st_name(as, addr, val, MEMTXATTRS_UNSPECIFIED, NULL); \
    }

#define SAME(x) (x)
DEFINE_LDST(ldub, stb, uint8_t, SAME, SAME)
DEFINE_LDST(lduw_le, stw_le, uint16_t, GUINT16_TO_LE, GUINT16_FROM_LE)
DEFINE_LDST(ldl_le, stl_le, uint32_t, GUINT32_TO_LE, GUINT32_FROM_LE)
DEFINE_LDST(ldq_le, stq_le, uint64_t, GUINT64_TO_LE, GUINT64_FROM_LE)

void cpu_physical_memory_rw(hwaddr addr, void *buf, hwaddr len, bool is_write)
{
    address_space_rw(&address_space_memory, addr, MEMTXATTRS_UNSPECIFIED, buf,
                     len, is_write);
}
