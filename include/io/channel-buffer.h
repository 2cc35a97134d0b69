/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Buffer channel: bytes in memory; null channel: bytes to nowhere.
 *
 * A buffer grows as it is written, up to its limit; a write beyond fails. It
 * is read and written at one position, @offset, as a file is: write, seek to
 * 0, read. SEEKABLE.
 *
 * Threads: one at a time. Used by: vmstate/, migration/. Uses: util.
 */
#ifndef IO_CHANNEL_BUFFER_H
#define IO_CHANNEL_BUFFER_H

#include "io/channel.h"

typedef struct QIOChannelBuffer {
    QIOChannel parent;
    size_t capacity; /* bytes allocated */
    size_t usage;    /* bytes of content */
    size_t offset;   /* where the next read or write happens, <= usage */
    size_t limit;    /* bytes of content at most; may be set by the owner */
    uint8_t *data;
} QIOChannelBuffer;

#define QIO_CHANNEL_BUFFER_LIMIT_DEFAULT (UINT64_C(1) << 30)

/* @capacity: bytes to allocate at once; may be 0. */
QIOChannelBuffer *qio_channel_buffer_new(size_t capacity);
/* A buffer that holds a copy of @data, at position 0. */
QIOChannelBuffer *qio_channel_buffer_new_data(const void *data, size_t len);

/* Reads are at the end at once; writes succeed and vanish. */
QIOChannel *qio_channel_null_new(void);

#endif /* IO_CHANNEL_BUFFER_H */
