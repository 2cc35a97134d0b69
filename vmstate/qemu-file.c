/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMUFile: see qemu-file.h for the contract. This file: life, errors,
 * positions, output; qemu-file-input.c: input.
 */
#include "qemu/osdep.h"

#include "qemu/tsan.h"

#include "qemu-file-internal.h"

static QEMUFile *file_new(QIOChannel *ioc, bool writable)
{
    QEMUFile *f = g_new0(QEMUFile, 1);

    f->ioc = qio_channel_ref(ioc);
    f->writable = writable;
    f->buf = g_malloc(QEMU_FILE_BUFFER_BYTES);
    qemu_mutex_init(&f->error_lock);
    return f;
}

QEMUFile *qemu_file_new_input(QIOChannel *ioc)
{
    return file_new(ioc, false);
}

QEMUFile *qemu_file_new_output(QIOChannel *ioc)
{
    return file_new(ioc, true);
}

QEMUFile *qemu_file_get_return_path(QEMUFile *f)
{
    if (!qio_channel_has_feature(f->ioc, QIO_CHANNEL_FEATURE_DUPLEX)) {
        return NULL;
    }
    return file_new(f->ioc, !f->writable);
}

bool qemu_file_is_writable(QEMUFile *f)
{
    return f->writable;
}

QIOChannel *qemu_file_get_ioc(QEMUFile *f)
{
    return f->ioc;
}

bool qemu_fclose(QEMUFile *f, Error **errp)
{
    bool ok;

    if (!f) {
        return true;
    }
    ok = f->writable ? qemu_fflush(f, errp) : qemu_file_check(f, errp);
    qio_channel_unref(f->ioc);
    qemu_mutex_destroy(&f->error_lock);
    error_free(f->error);
    g_free(f->buf);
    g_free(f);
    return ok;
}

/*
 * Errors.
 */

int qemu_file_get_error(QEMUFile *f)
{
    return qemu_file_error(f);
}

int qemu_file_get_error_obj(QEMUFile *f, Error **errp)
{
    QEMU_LOCK_GUARD(&f->error_lock);
    int ret = qemu_file_error(f);

    if (ret && errp) {
        error_propagate(errp, error_copy(f->error));
    }
    return ret;
}

bool qemu_file_check(QEMUFile *f, Error **errp)
{
    return !qemu_file_error(f) || !qemu_file_get_error_obj(f, errp);
}

void qemu_file_set_error_obj(QEMUFile *f, int ret, Error *err)
{
    assert(ret < 0);
    QEMU_LOCK_GUARD(&f->error_lock);

    if (qemu_file_error(f)) {
        error_free(err);
        return;
    }
    f->error = err;
    if (!err) {
        error_setg_errno(&f->error, -ret,
                         f->writable ? "Writing the migration stream failed"
                                     : "Reading the migration stream failed");
    }
    /* release: pairs with the acquire in qemu_file_error(). */
    atomic_store_explicit(&f->last_error, ret, memory_order_release);
}

void qemu_file_set_error(QEMUFile *f, int ret)
{
    qemu_file_set_error_obj(f, ret, NULL);
}

void qemu_file_shutdown(QEMUFile *f)
{
    Error *err = NULL;

    /* The words first: the woken thread must find them. */
    error_setg(&err, "The migration stream was shut down");
    qemu_file_set_error_obj(f, -ECANCELED, err);
    qio_channel_shutdown(f->ioc, QIO_CHANNEL_SHUTDOWN_BOTH, NULL);
}

uint64_t qemu_file_position(QEMUFile *f)
{
    return atomic_load_explicit(&f->position, memory_order_relaxed);
}

uint64_t qemu_file_transferred(QEMUFile *f)
{
    return qemu_file_position(f);
}

/*
 * Output. iov[] lists what is pending in order: pieces of buf and references.
 */

bool qemu_fflush(QEMUFile *f, Error **errp)
{
    Error *err = NULL;

    assert(f->writable);
    /* What was put by reference may be changing. */
    tsan_ignore_reads_begin();
    if (f->niov && !qemu_file_error(f) &&
        !qio_channel_writev_all(f->ioc, f->iov, f->niov, &err)) {
        qemu_file_set_error_obj(f, -EIO, err);
    }
    tsan_ignore_reads_end();
    f->niov = 0;
    f->pending = 0;
    f->buf_used = 0;
    return qemu_file_check(f, errp);
}

size_t qemu_file_pending(QEMUFile *f)
{
    return f->pending;
}

static void add_iov(QEMUFile *f, const void *base, size_t size)
{
    struct iovec *last = f->niov ? &f->iov[f->niov - 1] : NULL;

    if (last && (char *)last->iov_base + last->iov_len == base) {
        last->iov_len += size;
    } else {
        f->iov[f->niov++] = (struct iovec){ (void *)base, size };
    }
    f->pending += size;
    qemu_file_advance(f, size);
    if (f->niov == ARRAY_SIZE(f->iov)) {
        qemu_fflush(f, NULL);
    }
}

void qemu_put_buffer_async(QEMUFile *f, const void *buf, size_t size)
{
    assert(f->writable);
    if (size && !qemu_file_error(f)) {
        add_iov(f, buf, size);
    }
}

void qemu_put_buffer(QEMUFile *f, const void *buf, size_t size)
{
    const uint8_t *p = buf;

    assert(f->writable);
    if (size > COPY_MAX_BYTES) {
        /* Cheaper than a copy: write it now, before we return. */
        qemu_put_buffer_async(f, buf, size);
        qemu_fflush(f, NULL);
        return;
    }
    while (size && !qemu_file_error(f)) {
        size_t n = MIN(size, (size_t)QEMU_FILE_BUFFER_BYTES - f->buf_used);
        uint8_t *dst = f->buf + f->buf_used;

        memcpy(dst, p, n);
        f->buf_used += n;
        p += n;
        size -= n;
        add_iov(f, dst, n);
        if (f->buf_used == QEMU_FILE_BUFFER_BYTES) {
            qemu_fflush(f, NULL);
        }
    }
}

void qemu_put_byte(QEMUFile *f, int v)
{
    uint8_t b = v;

    qemu_put_buffer(f, &b, 1);
}

void qemu_put_be16(QEMUFile *f, unsigned v)
{
    uint16_t be = GUINT16_TO_BE(v);

    qemu_put_buffer(f, &be, sizeof(be));
}

void qemu_put_be32(QEMUFile *f, uint32_t v)
{
    uint32_t be = GUINT32_TO_BE(v);

    qemu_put_buffer(f, &be, sizeof(be));
}

void qemu_put_be64(QEMUFile *f, uint64_t v)
{
    uint64_t be = GUINT64_TO_BE(v);

    qemu_put_buffer(f, &be, sizeof(be));
}

void qemu_put_counted_string(QEMUFile *f, const char *str)
{
    size_t len = strlen(str);

    if (len > UINT8_MAX) {
        Error *err = NULL;

        error_setg(&err,
                   "'%.40s...' is %zu bytes long, a name in the stream "
                   "has at most 255",
                   str, len);
        qemu_file_set_error_obj(f, -EINVAL, err);
        return;
    }
    qemu_put_byte(f, len);
    qemu_put_buffer(f, str, len);
}

/*
 * Positions in a file.
 */

bool qemu_put_buffer_at(QEMUFile *f, const void *buf, size_t size, off_t pos,
                        Error **errp)
{
    Error *err = NULL;

    assert(f->writable);
    if (!qemu_file_error(f) &&
        !qio_channel_pwrite_all(f->ioc, buf, size, pos, &err)) {
        qemu_file_set_error_obj(f, -EIO, err);
    }
    return qemu_file_check(f, errp);
}

bool qemu_set_offset(QEMUFile *f, off_t pos, Error **errp)
{
    Error *err = NULL;

    if (f->writable) {
        qemu_fflush(f, NULL);
    } else {
        f->buf_index = f->buf_used = 0;
        f->ended = false;
    }
    if (!qemu_file_error(f) &&
        qio_channel_io_seek(f->ioc, pos, SEEK_SET, &err) < 0) {
        qemu_file_set_error_obj(f, -EIO, err);
    }
    return qemu_file_check(f, errp);
}

off_t qemu_get_offset(QEMUFile *f, Error **errp)
{
    off_t pos = qio_channel_io_seek(f->ioc, 0, SEEK_CUR, errp);

    if (pos < 0) {
        return -1;
    }
    return f->writable ? pos + (off_t)f->pending
                       : pos - (off_t)(f->buf_used - f->buf_index);
}
