/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMUFile, inside.
 *
 * Used by: vmstate/qemu-file*.c only.
 */
#ifndef VMSTATE_QEMU_FILE_INTERNAL_H
#define VMSTATE_QEMU_FILE_INTERNAL_H

#include "qemu/thread.h"
#include "vmstate/qemu-file.h"

/* 128 pages with their headers between them. */
#define IOV_ENTRIES 256
/* A larger put is written at once instead of being copied. */
#define COPY_MAX_BYTES (QEMU_FILE_BUFFER_BYTES / 4)

struct QEMUFile {
    /* Constant. */
    QIOChannel *ioc;
    bool writable;

    /* Any thread. */
    _Atomic int last_error; /* 0 or -errno; set once */
    QemuMutex error_lock;
    Error *error; /* guarded by error_lock; set iff last_error is */

    /* Written by the owner, read by any. */
    _Atomic uint64_t position; /* bytes since the beginning */

    /* Owner only. */
    uint8_t *buf;     /* QEMU_FILE_BUFFER_BYTES */
    size_t buf_used;  /* output: filled; input: bytes that are there */
    size_t buf_index; /* input: the next one */
    bool ended;       /* input: the channel has said so */
    struct iovec iov[IOV_ENTRIES];
    size_t niov;
    size_t pending; /* output: bytes in iov */
};

static inline int qemu_file_error(QEMUFile *f)
{
    /* acquire: pairs with the release in qemu_file_set_error_obj(). */
    return atomic_load_explicit(&f->last_error, memory_order_acquire);
}

static inline void qemu_file_advance(QEMUFile *f, uint64_t n)
{
    uint64_t pos = atomic_load_explicit(&f->position, memory_order_relaxed);

    /* One writer: no need for an atomic addition. */
    atomic_store_explicit(&f->position, pos + n, memory_order_relaxed);
}

#endif /* VMSTATE_QEMU_FILE_INTERNAL_H */
