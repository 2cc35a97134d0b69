/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lies in RAM blocks: populate, give back, resize (ram-block.h). */
#include "qemu/osdep.h"

#include <sys/mman.h>

#include "qemu/error.h"
#include "qemu/units.h"
#include "system/memory.h"

#include "ram-block-internal.h"

/* Linux 5.14; Debian 12's glibc knows them, older ones may not. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define POPULATE_STEP (16 * (size_t)MiB)

typedef struct PopulateJob {
    RAMBlock *rb;
    _Atomic uint64_t next;   /* offset of the next piece to take */
    _Atomic int first_errno; /* of the first failure; stops everyone */
} PopulateJob;

typedef struct TouchJob {
    volatile uint8_t *host;
    size_t length, page_size;
    bool readonly;
} TouchJob;

/* Kernels without MADV_POPULATE_*: rewrite a byte of each page. */
static void touch_pages(void *opaque)
{
    TouchJob *job = opaque;

    for (size_t i = 0; i < job->length; i += job->page_size) {
        if (job->readonly) {
            (void)job->host[i];
        } else {
            /* Atomic: a guest may run already (object-add). */
            atomic_fetch_or_explicit((_Atomic uint8_t *)&job->host[i], 0,
                                     memory_order_relaxed);
        }
    }
}

/* Returns 0 or the errno. */
static int populate_piece(RAMBlock *rb, uint64_t offset, size_t length)
{
    bool readonly = rb->flags & RAM_READONLY;
    int advice = readonly ? MADV_POPULATE_READ : MADV_POPULATE_WRITE;
    TouchJob touch = { rb->host + offset, length, rb->page_size, readonly };
    int ret;

    do {
        ret = madvise(rb->host + offset, length, advice);
    } while (ret < 0 && errno == EAGAIN);
    if (ret == 0) {
        return 0;
    }
    if (errno != EINVAL) {
        return errno;
    }
    return ram_access_try(touch_pages, &touch, NULL) ? 0 : EFAULT;
}

static void *populate_worker(void *opaque)
{
    PopulateJob *job = opaque;
    uint64_t size = qemu_ram_get_used_length(job->rb);
    size_t step = MAX(POPULATE_STEP, job->rb->page_size);
    uint64_t offset;

    while ((offset = atomic_fetch_add(&job->next, step)) < size &&
           !atomic_load(&job->first_errno)) {
        int err = populate_piece(job->rb, offset, MIN(step, size - offset));
        int none = 0;

        if (err) {
            atomic_compare_exchange_strong(&job->first_errno, &none, err);
        }
    }
    return NULL;
}

bool ram_block_populate(RAMBlock *rb, unsigned max_threads, Error **errp)
{
    PopulateJob job = { .rb = rb };
    uint64_t pieces = DIV_ROUND_UP(qemu_ram_get_used_length(rb), POPULATE_STEP);
    unsigned nr = MAX(1, MIN(MIN(max_threads, 64), pieces)), started = 0;
    QemuThread threads[64];
    int err;

    while (started + 1 < nr &&
           qemu_thread_create(&threads[started], "populate", populate_worker,
                              &job, QEMU_THREAD_JOINABLE, NULL)) {
        started++;
    }
    populate_worker(&job);
    for (unsigned i = 0; i < started; i++) {
        qemu_thread_join(&threads[i]);
    }
    err = atomic_load(&job.first_errno);
    if (err) {
        /* The kernel says EFAULT where an access would get SIGBUS. */
        error_setg_errno(errp, err == EFAULT ? ENOMEM : err,
                         "cannot populate RAM block '%s'",
                         rb->idstr[0] ? rb->idstr
                         : rb->mr     ? rb->mr->name
                                      : "(unnamed)");
        return false;
    }
    atomic_store(&rb->populated_at_start, true);
    return true;
}

/* Drop the pages of the range; they read as zero afterwards. */
static int drop_pages(RAMBlock *rb, ram_addr_t start, size_t length)
{
    if (rb->fd >= 0 &&
        fallocate(rb->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  rb->fd_offset + start, length) < 0) {
        return errno;
    }
    if (!(rb->flags & RAM_SHARED) &&
        madvise(rb->host + start, length, MADV_DONTNEED) < 0) {
        return errno;
    }
    return 0;
}

bool ram_block_discard_range(RAMBlock *rb, ram_addr_t start, size_t length,
                             Error **errp)
{
    int err;

    if (start % rb->page_size || length % rb->page_size ||
        start > rb->max_length || length > rb->max_length - start) {
        error_setg(errp,
                   "cannot discard 0x%zx bytes at 0x%" PRIx64
                   " of RAM block '%s': not whole pages of it",
                   length, start, rb->idstr);
        return false;
    }
    if (rb->flags & (RAM_PREALLOC | RAM_READONLY)) {
        error_setg(errp, "cannot discard memory of RAM block '%s': %s",
                   rb->idstr,
                   rb->flags & RAM_READONLY ? "it is read-only"
                                            : "its memory is not ours");
        return false;
    }
    if (rb->fd >= 0 && !(rb->flags & RAM_SHARED) && !rb->fd_is_nameless) {
        error_setg(errp,
                   "cannot discard memory of RAM block '%s': it is a private "
                   "mapping of a file whose content would come back",
                   rb->idstr);
        return false;
    }
    atomic_fetch_add(&rb->discards, 1);
    err = drop_pages(rb, start, length);
    if (err) {
        error_setg_errno(errp, err,
                         "cannot discard 0x%zx bytes at 0x%" PRIx64
                         " of RAM block '%s'",
                         length, start, rb->idstr);
        return false;
    }
    ram_block_set_dirty(rb, start, length, DIRTY_CLIENTS_ALL);
    return true;
}

unsigned qemu_ram_discards(const RAMBlock *rb)
{
    return atomic_load(&rb->discards);
}

bool qemu_ram_resize(RAMBlock *rb, ram_addr_t new_size, Error **errp)
{
    ram_addr_t old_size = qemu_ram_get_used_length(rb);

    new_size = ROUND_UP(new_size, DIRTY_PAGE_SIZE);
    if (new_size == old_size) {
        return true;
    }
    if (qemu_ram_is_fixed()) {
        error_setg(errp,
                   "RAM block '%s' cannot be resized while a migration is "
                   "under way",
                   rb->idstr);
        return false;
    }
    if (!(rb->flags & RAM_RESIZEABLE)) {
        error_setg(errp,
                   "RAM block '%s' has 0x%" PRIx64 " bytes, not 0x%" PRIx64,
                   rb->idstr, old_size, new_size);
        return false;
    }
    if (new_size == 0 || new_size > rb->max_length) {
        error_setg(errp,
                   "RAM block '%s' can have at most 0x%" PRIx64
                   " bytes, not 0x%" PRIx64,
                   rb->idstr, rb->max_length, new_size);
        return false;
    }
    if (new_size < old_size) {
        int err = drop_pages(rb, new_size, old_size - new_size);

        if (err) {
            error_setg_errno(errp, err, "cannot shrink RAM block '%s'",
                             rb->idstr);
            return false;
        }
    }
    atomic_store_explicit(&rb->used_length, new_size, memory_order_release);
    if (rb->mr) {
        memory_region_set_size(rb->mr, new_size);
    }
    if (new_size > old_size) {
        ram_block_set_dirty(rb, old_size, new_size - old_size,
                            DIRTY_CLIENTS_ALL);
    }
    return true;
}
