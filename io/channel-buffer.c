/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Buffer and null channels: see channel-buffer.h for the contract.
 */
#include "qemu/osdep.h"

#include "io/channel-buffer.h"

#define GROW_MIN_BYTES 4096

static QIOChannelBuffer *to_buffer(QIOChannel *ioc)
{
    return container_of(ioc, QIOChannelBuffer, parent);
}

static size_t copy_out(const QIOChannelBuffer *b, size_t pos,
                       const struct iovec *iov, size_t niov)
{
    size_t done = 0;

    for (size_t i = 0; i < niov && pos < b->usage; i++) {
        size_t n = MIN(iov[i].iov_len, b->usage - pos);

        if (n) {
            memcpy(iov[i].iov_base, b->data + pos, n);
        }
        pos += n;
        done += n;
    }
    return done;
}

static bool reserve(QIOChannelBuffer *b, size_t end, Error **errp)
{
    size_t capacity;

    if (end > b->limit) {
        error_setg(errp,
                   "The buffer '%s' would grow to %zu bytes, beyond its limit "
                   "of %zu",
                   qio_channel_get_name(&b->parent), end, b->limit);
        return false;
    }
    if (end <= b->capacity) {
        return true;
    }
    capacity = MAX(MAX(end, b->capacity * 2), (size_t)GROW_MIN_BYTES);
    b->data = g_realloc(b->data, capacity);
    b->capacity = capacity;
    return true;
}

/* @pos may be beyond the end: what is between becomes zero. */
static ssize_t copy_in(QIOChannelBuffer *b, size_t pos, const struct iovec *iov,
                       size_t niov, Error **errp)
{
    size_t total = qio_iov_size(iov, niov), start = pos;

    if (total == 0) {
        return 0;
    }
    if (total > SIZE_MAX - pos || !reserve(b, pos + total, errp)) {
        if (total > SIZE_MAX - pos) {
            error_setg(errp, "The buffer '%s' cannot be that large",
                       qio_channel_get_name(&b->parent));
        }
        return -1;
    }
    if (pos > b->usage) {
        memset(b->data + b->usage, 0, pos - b->usage);
    }
    for (size_t i = 0; i < niov; i++) {
        if (iov[i].iov_len) {
            memcpy(b->data + pos, iov[i].iov_base, iov[i].iov_len);
            pos += iov[i].iov_len;
        }
    }
    b->usage = MAX(b->usage, pos);
    return pos - start;
}

static ssize_t buffer_readv(QIOChannel *ioc, const struct iovec *iov,
                            size_t niov, int **fds, size_t *nfds, int flags,
                            Error **errp)
{
    QIOChannelBuffer *b = to_buffer(ioc);
    size_t n = copy_out(b, b->offset, iov, niov);

    if (!(flags & QIO_CHANNEL_READ_FLAG_MSG_PEEK)) {
        b->offset += n;
    }
    return n;
}

static ssize_t buffer_writev(QIOChannel *ioc, const struct iovec *iov,
                             size_t niov, const int *fds, size_t nfds,
                             Error **errp)
{
    QIOChannelBuffer *b = to_buffer(ioc);
    ssize_t n = copy_in(b, b->offset, iov, niov, errp);

    if (n > 0) {
        b->offset += n;
    }
    return n;
}

static ssize_t buffer_preadv(QIOChannel *ioc, const struct iovec *iov,
                             size_t niov, off_t offset, Error **errp)
{
    return copy_out(to_buffer(ioc), offset, iov, niov);
}

static ssize_t buffer_pwritev(QIOChannel *ioc, const struct iovec *iov,
                              size_t niov, off_t offset, Error **errp)
{
    return copy_in(to_buffer(ioc), offset, iov, niov, errp);
}

static off_t buffer_seek(QIOChannel *ioc, off_t offset, int whence,
                         Error **errp)
{
    QIOChannelBuffer *b = to_buffer(ioc);
    off_t base = whence == SEEK_SET   ? 0
                 : whence == SEEK_CUR ? (off_t)b->offset
                                      : (off_t)b->usage;

    if (offset < -base || offset > (off_t)b->usage - base) {
        error_setg(errp, "Position %lld is outside of the buffer '%s'",
                   (long long)(base + offset), qio_channel_get_name(ioc));
        return -1;
    }
    b->offset = base + offset;
    return b->offset;
}

static void buffer_finalize(QIOChannel *ioc)
{
    QIOChannelBuffer *b = to_buffer(ioc);

    g_free(b->data);
    g_free(b);
}

static const QIOChannelClass buffer_class = {
    .type_name = "buffer",
    .readv = buffer_readv,
    .writev = buffer_writev,
    .preadv = buffer_preadv,
    .pwritev = buffer_pwritev,
    .seek = buffer_seek,
    .finalize = buffer_finalize,
};

QIOChannelBuffer *qio_channel_buffer_new(size_t capacity)
{
    QIOChannelBuffer *b = g_new0(QIOChannelBuffer, 1);

    qio_channel_init(&b->parent, &buffer_class, false);
    qio_channel_set_feature(&b->parent, QIO_CHANNEL_FEATURE_SEEKABLE);
    qio_channel_set_feature(&b->parent, QIO_CHANNEL_FEATURE_READ_MSG_PEEK);
    b->limit = QIO_CHANNEL_BUFFER_LIMIT_DEFAULT;
    b->capacity = capacity;
    b->data = capacity ? g_malloc(capacity) : NULL;
    return b;
}

QIOChannelBuffer *qio_channel_buffer_new_data(const void *data, size_t len)
{
    QIOChannelBuffer *b = qio_channel_buffer_new(len);

    if (len) {
        memcpy(b->data, data, len);
    }
    b->usage = len;
    return b;
}

/*
 * Null.
 */

static ssize_t null_readv(QIOChannel *ioc, const struct iovec *iov, size_t niov,
                          int **fds, size_t *nfds, int flags, Error **errp)
{
    return 0;
}

static ssize_t null_writev(QIOChannel *ioc, const struct iovec *iov,
                           size_t niov, const int *fds, size_t nfds,
                           Error **errp)
{
    return qio_iov_size(iov, niov);
}

static void null_finalize(QIOChannel *ioc)
{
    g_free(ioc);
}

static const QIOChannelClass null_class = {
    .type_name = "null",
    .readv = null_readv,
    .writev = null_writev,
    .finalize = null_finalize,
};

QIOChannel *qio_channel_null_new(void)
{
    QIOChannel *ioc = g_new0(QIOChannel, 1);

    qio_channel_init(ioc, &null_class, false);
    return ioc;
}
