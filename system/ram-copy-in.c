/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many pages into a block at once: see ram_block_copy_in_pieces() in
 * ram-block.h.
 *
 * A store to a page of a shared mapping that is not there yet is a fault, in
 * which the kernel makes a page, clears it and maps it; then it is filled. A
 * write to the file of the mapping makes a page and fills it, without a fault
 * and without clearing what is overwritten. A read of one mapped page makes
 * the kernel map its neighbours that are there as well, so what was written
 * is mapped afterwards by one fault in 16 pages.
 *
 * Where pages are there already, or few, a store is the cheaper way; and the
 * way out where the file takes no writes, or fails in one: then the store
 * tells by SIGBUS what is wrong.
 */
#include "qemu/osdep.h"

#include <sys/uio.h>

#include "qemu/units.h"
#include "ram-block-internal.h"

/* Less than this is stored. */
#define WRITE_LEAST_BYTES (8 * DIRTY_PAGE_SIZE)
/* What one fault of reading maps, as Linux has it (fault_around_bytes). */
#define FAULT_AROUND_BYTES (64 * KiB)

static bool takes_writes(const RAMBlock *rb, ram_addr_t offset, size_t length)
{
    struct stat st;

    return rb->fd >= 0 && (rb->flags & RAM_SHARED) &&
           !(rb->flags & (RAM_READONLY | RAM_READONLY_FD)) &&
           rb->page_size == DIRTY_PAGE_SIZE && length >= WRITE_LEAST_BYTES &&
           !ram_plug_any() &&
           /* A write must not make a file longer that someone has cut. */
           fstat(rb->fd, &st) == 0 &&
           (uint64_t)st.st_size >= rb->fd_offset + offset + length;
}

static size_t total(const struct iovec *iov, unsigned n)
{
    size_t sum = 0;

    while (n--) {
        sum += iov[n].iov_len;
    }
    return sum;
}

typedef struct Pieces {
    RAMBlock *rb;
    ram_addr_t offset;
    const struct iovec *iov;
    unsigned n;
    size_t done; /* bytes from the first on that are there */
} Pieces;

static void store(void *opaque)
{
    Pieces *p = opaque;
    uint8_t *to = p->rb->host + p->offset;
    size_t at = 0;

    for (unsigned i = 0; i < p->n; i++) {
        size_t n = p->iov[i].iov_len;

        if (p->done < at + n) {
            memcpy(to + at, p->iov[i].iov_base, n);
        }
        at += n;
    }
}

/* One page in each window that was written, the last one. */
static void map(void *opaque)
{
    Pieces *p = opaque;
    const uint8_t *host = p->rb->host;
    ram_addr_t at = p->offset, end = p->offset + p->done;

    while (at < end) {
        ram_addr_t next = MIN(
            ROUND_DOWN(at, FAULT_AROUND_BYTES) + FAULT_AROUND_BYTES, end);

        (void)*(const volatile uint8_t *)(host + next - 1);
        at = next;
    }
}

bool ram_block_copy_in_pieces(RAMBlock *rb, ram_addr_t offset,
                              const struct iovec *iov, unsigned n, Error **errp)
{
    Pieces p = { .rb = rb, .offset = offset, .iov = iov, .n = n };
    size_t length = total(iov, n);

    if (!ram_block_access_in_range(rb, offset, length, errp)) {
        return false;
    }
    if (takes_writes(rb, offset, length)) {
        ssize_t done = pwritev(rb->fd, iov, n, rb->fd_offset + offset);

        p.done = done > 0 ? done : 0;
        if (p.done && !ram_access_try(map, &p, errp)) {
            return false;
        }
    }
    return p.done == length || ram_access_try(store, &p, errp);
}
