/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMUFile, input side: see qemu-file.h for the contract.
 */
#include "qemu/osdep.h"

#include "qemu-file-internal.h"

static size_t available(const QEMUFile *f)
{
    return f->buf_used - f->buf_index;
}

static void take(QEMUFile *f, size_t n)
{
    f->buf_index += n;
    qemu_file_advance(f, n);
}

/*
 * Read once, waiting. Returns bytes, or 0: the stream has ended or failed.
 */
static size_t read_some(QEMUFile *f, const struct iovec *iov, size_t niov)
{
    Error *err = NULL;
    ssize_t n;

    if (f->ended || qemu_file_error(f)) {
        return 0;
    }
    for (;;) {
        n = qio_channel_readv(f->ioc, iov, niov, &err);
        if (n != QIO_CHANNEL_ERR_BLOCK) {
            break;
        }
        if (!qio_channel_wait(f->ioc, G_IO_IN, &err)) {
            n = -1;
            break;
        }
    }
    if (n < 0) {
        qemu_file_set_error_obj(f, -EIO, err);
        return 0;
    }
    f->ended = n == 0;
    return n;
}

/* Until @n bytes are in the buffer or no more come. Returns what is there. */
static size_t fill(QEMUFile *f, size_t n)
{
    assert(n <= QEMU_FILE_BUFFER_BYTES);
    while (available(f) < n) {
        struct iovec iov;
        size_t got;

        if (f->buf_index) {
            memmove(f->buf, f->buf + f->buf_index, available(f));
            f->buf_used -= f->buf_index;
            f->buf_index = 0;
        }
        iov.iov_base = f->buf + f->buf_used;
        iov.iov_len = QEMU_FILE_BUFFER_BYTES - f->buf_used;
        got = read_some(f, &iov, 1);
        if (!got) {
            break;
        }
        f->buf_used += got;
    }
    return available(f);
}

/* The stream is over although @missing more bytes belong here. */
static void set_end_error(QEMUFile *f, uint64_t missing)
{
    Error *err = NULL;

    if (qemu_file_error(f)) {
        return;
    }
    error_setg(&err,
               "The migration stream ended at offset %" PRIu64
               ", where %" PRIu64 " more bytes were expected",
               qemu_file_position(f), missing);
    qemu_file_set_error_obj(f, -EIO, err);
}

size_t qemu_get_buffer(QEMUFile *f, void *buf, size_t size)
{
    uint8_t *dst = buf;
    size_t done = 0;

    assert(!f->writable);
    if (qemu_file_error(f)) {
        return 0;
    }
    while (done < size) {
        size_t n = MIN(available(f), size - done);
        struct iovec iov[2];

        if (n) {
            memcpy(dst + done, f->buf + f->buf_index, n);
            take(f, n);
            done += n;
            continue;
        }
        /* The rest straight to its place, what follows into the buffer. */
        iov[0] = (struct iovec){ dst + done, size - done };
        iov[1] = (struct iovec){ f->buf, QEMU_FILE_BUFFER_BYTES };
        n = read_some(f, iov, 2);
        if (!n) {
            set_end_error(f, size - done);
            return done;
        }
        f->buf_index = 0;
        f->buf_used = n > size - done ? n - (size - done) : 0;
        n -= f->buf_used;
        qemu_file_advance(f, n);
        done += n;
    }
    return size;
}

size_t qemu_get_buffer_in_place(QEMUFile *f, uint8_t **buf, size_t size)
{
    assert(!f->writable);
    if (size > QEMU_FILE_BUFFER_BYTES || qemu_file_error(f) ||
        fill(f, size) < size) {
        return qemu_get_buffer(f, *buf, size);
    }
    *buf = f->buf + f->buf_index;
    take(f, size);
    return size;
}

size_t qemu_file_buffered(const QEMUFile *f)
{
    return available(f);
}

uint8_t *qemu_file_swap_buffer(QEMUFile *f, uint8_t *mem)
{
    uint8_t *old = f->buf;

    assert(!f->writable);
    f->buf_used = available(f);
    memcpy(mem, old + f->buf_index, f->buf_used);
    f->buf_index = 0;
    f->buf = mem;
    return old;
}

size_t qemu_peek_buffer(QEMUFile *f, const uint8_t **buf, size_t size,
                        size_t offset)
{
    size_t there;

    assert(!f->writable);
    assert(size <= QEMU_FILE_BUFFER_BYTES &&
           offset <= QEMU_FILE_BUFFER_BYTES - size);
    if (qemu_file_error(f)) {
        return 0;
    }
    there = fill(f, offset + size);
    *buf = f->buf + f->buf_index + MIN(offset, there);
    return there > offset ? MIN(there - offset, size) : 0;
}

int qemu_peek_byte(QEMUFile *f, size_t offset)
{
    const uint8_t *p;

    return qemu_peek_buffer(f, &p, 1, offset) == 1 ? *p : -1;
}

void qemu_file_skip(QEMUFile *f, uint64_t size)
{
    assert(!f->writable);
    while (size && !qemu_file_error(f)) {
        size_t n = MIN(fill(f, 1), size);

        if (!n) {
            set_end_error(f, size);
            return;
        }
        take(f, n);
        size -= n;
    }
}

bool qemu_file_at_end(QEMUFile *f)
{
    return qemu_peek_byte(f, 0) < 0 && !qemu_file_error(f);
}

int qemu_get_byte(QEMUFile *f)
{
    uint8_t v = 0;

    if (likely(available(f) && !qemu_file_error(f))) {
        v = f->buf[f->buf_index];
        take(f, 1);
        return v;
    }
    return qemu_get_buffer(f, &v, 1) == 1 ? v : 0;
}

unsigned qemu_get_be16(QEMUFile *f)
{
    uint16_t v = 0;

    return qemu_get_buffer(f, &v, sizeof(v)) == sizeof(v) ? GUINT16_FROM_BE(v)
                                                          : 0;
}

uint32_t qemu_get_be32(QEMUFile *f)
{
    uint32_t v = 0;

    return qemu_get_buffer(f, &v, sizeof(v)) == sizeof(v) ? GUINT32_FROM_BE(v)
                                                          : 0;
}

uint64_t qemu_get_be64(QEMUFile *f)
{
    uint64_t v = 0;

    return qemu_get_buffer(f, &v, sizeof(v)) == sizeof(v) ? GUINT64_FROM_BE(v)
                                                          : 0;
}

bool qemu_get_counted_string(QEMUFile *f, char buf[256])
{
    uint64_t start = qemu_file_position(f);
    size_t len = qemu_get_byte(f), i;
    Error *err = NULL;

    buf[0] = '\0';
    if (qemu_get_buffer(f, buf, len) != len || qemu_file_error(f)) {
        buf[0] = '\0';
        return false;
    }
    buf[len] = '\0';
    /* No section or block is called so, and it may end up on a terminal. */
    for (i = 0; i < len && g_ascii_isprint(buf[i]); i++) {
    }
    if (i == len) {
        return true;
    }
    error_setg(&err,
               "The name at offset %" PRIu64 " of the migration stream, %zu "
               "bytes, contains 0x%02x, expected printable characters",
               start, len, (uint8_t)buf[i]);
    qemu_file_set_error_obj(f, -EINVAL, err);
    buf[0] = '\0';
    return false;
}

bool qemu_get_buffer_at(QEMUFile *f, void *buf, size_t size, off_t pos,
                        Error **errp)
{
    Error *err = NULL;

    assert(!f->writable);
    if (!qemu_file_error(f) &&
        !qio_channel_pread_all(f->ioc, buf, size, pos, &err)) {
        qemu_file_set_error_obj(f, -EIO, err);
    }
    return qemu_file_check(f, errp);
}
