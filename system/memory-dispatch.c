/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One access to an MMIO region: memory_region_dispatch_read/write().
 *
 * An access that ops->valid forbids is a decode error. One that is larger
 * than ops->impl can do is split, one that is smaller goes to the callback at
 * the implementation's smallest size and at the same address; the callback
 * decodes addresses by its own register width.
 */
#include "qemu/osdep.h"

#include "qemu/log.h"
#include "qemu/main-loop.h"

#include "memory-internal.h"

static uint64_t size_mask(unsigned size)
{
    return size >= 8 ? UINT64_MAX : (UINT64_C(1) << (size * 8)) - 1;
}

static uint64_t swap_bytes(uint64_t value, unsigned size)
{
    return GUINT64_SWAP_LE_BE(value) >> (64 - size * 8);
}

static bool access_valid(MemoryRegion *mr, hwaddr addr, unsigned size,
                         bool is_write, MemTxAttrs attrs)
{
    const MemoryRegionOps *ops = mr->ops;
    unsigned min, max;

    if (!ops) {
        return false; /* a write to ROM */
    }
    min = ops->valid.min_access_size ? ops->valid.min_access_size : 1;
    max = ops->valid.max_access_size ? ops->valid.max_access_size : 4;
    return size >= min && size <= max &&
           (ops->valid.unaligned || addr % size == 0) &&
           (!ops->valid.accepts ||
            ops->valid.accepts(mr->opaque, addr, size, is_write, attrs));
}

static unsigned impl_size(const MemoryRegionOps *ops, unsigned size)
{
    unsigned min = ops->impl.min_access_size ? ops->impl.min_access_size : 1;
    unsigned max = ops->impl.max_access_size ? ops->impl.max_access_size : 4;

    return MAX(MIN(size, max), min);
}

static MemTxResult read_piece(MemoryRegion *mr, hwaddr addr, uint64_t *data,
                              unsigned size, MemTxAttrs attrs)
{
    if (mr->ops->read) {
        *data = mr->ops->read(mr->opaque, addr, size);
        return MEMTX_OK;
    }
    *data = 0;
    return mr->ops->read_with_attrs(mr->opaque, addr, data, size, attrs);
}

static MemTxResult write_piece(MemoryRegion *mr, hwaddr addr, uint64_t data,
                               unsigned size, MemTxAttrs attrs)
{
    if (mr->ops->write) {
        mr->ops->write(mr->opaque, addr, data, size);
        return MEMTX_OK;
    }
    return mr->ops->write_with_attrs(mr->opaque, addr, data, size, attrs);
}

/* Where piece @i of @step bytes lies in a value of @size bytes. */
static unsigned piece_shift(const MemoryRegionOps *ops, unsigned i,
                            unsigned step, unsigned size)
{
    if (step >= size) {
        return 0;
    }
    return 8 * (ops->endianness == DEVICE_BIG_ENDIAN ? size - step - i : i);
}

static MemTxResult read_locked(MemoryRegion *mr, hwaddr addr, uint64_t *data,
                               unsigned size, MemTxAttrs attrs)
{
    unsigned step = impl_size(mr->ops, size);
    MemTxResult result = MEMTX_OK;
    uint64_t value = 0;

    for (unsigned i = 0; i < size; i += step) {
        uint64_t piece = 0;

        result |= read_piece(mr, addr + i, &piece, step, attrs);
        value |= (piece & size_mask(step))
                 << piece_shift(mr->ops, i, step, size);
    }
    value &= size_mask(size);
    *data = mr->ops->endianness == DEVICE_BIG_ENDIAN ? swap_bytes(value, size)
                                                     : value;
    return result;
}

static MemTxResult write_locked(MemoryRegion *mr, hwaddr addr, uint64_t data,
                                unsigned size, MemTxAttrs attrs)
{
    unsigned step = impl_size(mr->ops, size);
    MemTxResult result = MEMTX_OK;

    data &= size_mask(size);
    if (mr->ops->endianness == DEVICE_BIG_ENDIAN) {
        data = swap_bytes(data, size);
    }
    for (unsigned i = 0; i < size; i += step) {
        uint64_t piece = data >> piece_shift(mr->ops, i, step, size);

        result |= write_piece(mr, addr + i, piece & size_mask(step), step,
                              attrs);
    }
    return result;
}

static BqlGuard lock_for(MemoryRegion *mr)
{
    return mr->global_locking ? bql_guard_lock() : (BqlGuard){ false };
}

MemTxResult memory_region_dispatch_read(MemoryRegion *mr, hwaddr addr,
                                        uint64_t *data, unsigned size,
                                        MemTxAttrs attrs)
{
    MemTxResult result;
    BqlGuard guard = lock_for(mr);

    if (access_valid(mr, addr, size, false, attrs)) {
        result = read_locked(mr, addr, data, size, attrs);
    } else {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "invalid read of %u bytes at 0x%" PRIx64 " of '%s'\n",
                      size, addr, mr->name);
        result = MEMTX_DECODE_ERROR;
    }
    if (result != MEMTX_OK) {
        *data = 0;
    }
    bql_guard_unlock(&guard);
    return result;
}

MemTxResult memory_region_dispatch_write(MemoryRegion *mr, hwaddr addr,
                                         uint64_t data, unsigned size,
                                         MemTxAttrs attrs)
{
    MemTxResult result;
    BqlGuard guard = lock_for(mr);

    if (access_valid(mr, addr, size, true, attrs)) {
        result = write_locked(mr, addr, data, size, attrs);
    } else {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "invalid write of %u bytes, 0x%" PRIx64 ", at 0x%" PRIx64
                      " of '%s'\n",
                      size, data, addr, mr->name);
        result = MEMTX_DECODE_ERROR;
    }
    bql_guard_unlock(&guard);
    return result;
}
