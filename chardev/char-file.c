/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chardevs without a partner who comes and goes: null, file, pipe, ringbuf.
 *
 *   null             takes all, gives nothing
 *   file             output to path= (append=on), input from input-path=
 *   pipe             fifos PATH.in and PATH.out, or one fifo PATH for both
 *   ringbuf          keeps the last size= bytes, for ringbuf-read
 */
#include "qemu/osdep.h"

#include "char-ringbuf.h"
#include "char-stream.h"
#include "io/channel-file.h"
#include "qemu/fd-store.h"
#include "qemu/units.h"

static bool null_open(Chardev *chr, const ChardevOptions *o, bool *opened,
                      Error **errp)
{
    *opened = false;
    return true;
}

static int null_write_locked(Chardev *chr, const uint8_t *buf, int len)
{
    return len;
}

const ChardevClass chardev_class_null = {
    .name = "null",
    .instance_size = sizeof(Chardev),
    .open = null_open,
    .write_locked = null_write_locked,
};

static QIOChannel *open_file(const char *path, int flags, Error **errp)
{
    QIOChannelFile *fioc = qio_channel_file_new_path(path, flags, 0666, NULL,
                                                     errp);

    return fioc ? QIO_CHANNEL(fioc) : NULL;
}

static bool file_open(Chardev *chr, const ChardevOptions *o, bool *opened,
                      Error **errp)
{
    StreamChardev *s = container_of(chr, StreamChardev, parent);
    int flags = O_WRONLY | O_CREAT | (o->append ? O_APPEND : O_TRUNC);
    QIOChannel *in = NULL, *out;

    if (!o->path) {
        error_setg(errp, "chardev: file: no filename given");
        return false;
    }
    out = open_file(o->path, flags, errp);
    if (!out) {
        return false;
    }
    if (o->input_path) {
        in = open_file(o->input_path, O_RDONLY, errp);
        if (!in) {
            qio_channel_unref(out);
            return false;
        }
    }
    stream_set_channels(s, in, out);
    return true;
}

static const char *const file_options[] = { "path", "append", "input-path",
                                            NULL };

const ChardevClass chardev_class_file = {
    .name = "file",
    .options = file_options,
    .instance_size = sizeof(StreamChardev),
    .open = file_open,
    .close = stream_close,
    STREAM_HOOKS,
};

static bool pipe_open(Chardev *chr, const ChardevOptions *o, bool *opened,
                      Error **errp)
{
    StreamChardev *s = container_of(chr, StreamChardev, parent);
    g_autofree char *path_in = NULL, *path_out = NULL;
    QIOChannel *in, *out;

    if (!o->path) {
        error_setg(errp, "chardev: pipe: no device path given");
        return false;
    }
    path_in = g_strdup_printf("%s.in", o->path);
    path_out = g_strdup_printf("%s.out", o->path);
    if (access(path_in, F_OK) == 0 && access(path_out, F_OK) == 0) {
        /* O_RDWR: neither waits for the other end nor ever sees an end. */
        in = open_file(path_in, O_RDWR, errp);
        out = in ? open_file(path_out, O_RDWR, errp) : NULL;
        if (in && !out) {
            qio_channel_unref(in);
        }
    } else {
        in = out = open_file(o->path, O_RDWR, errp);
    }
    if (!out) {
        return false;
    }
    stream_set_channels(s, in, out);
    return true;
}

static const char *const pipe_options[] = { "path", NULL };

const ChardevClass chardev_class_pipe = {
    .name = "pipe",
    .options = pipe_options,
    .instance_size = sizeof(StreamChardev),
    .open = pipe_open,
    .close = stream_close,
    STREAM_HOOKS,
};

/*
 * Ring buffer
 */

typedef struct RingbufChardev {
    Chardev parent;
    uint64_t size; /* constant, a power of two */

    /* Guarded by parent.lock; positions count bytes and never wrap. */
    uint8_t *data;
    uint64_t written;
    uint64_t read;
} RingbufChardev;

static bool ringbuf_open(Chardev *chr, const ChardevOptions *o, bool *opened,
                         Error **errp)
{
    RingbufChardev *r = container_of(chr, RingbufChardev, parent);

    r->size = o->has_size ? o->size : 64 * KiB;
    if (!is_power_of_2(r->size) || r->size > GiB) {
        error_setg(errp, "size of ringbuf chardev must be a power of two, at "
                         "most 1 GiB");
        return false;
    }
    r->data = g_malloc0(r->size);
    return true;
}

static void ringbuf_close(Chardev *chr)
{
    g_free(container_of(chr, RingbufChardev, parent)->data);
}

static int ringbuf_write_locked(Chardev *chr, const uint8_t *buf, int len)
{
    RingbufChardev *r = container_of(chr, RingbufChardev, parent);

    for (int i = 0; i < len; i++) {
        r->data[r->written++ & (r->size - 1)] = buf[i];
    }
    if (r->written - r->read > r->size) {
        r->read = r->written - r->size;
    }
    return len;
}

bool chardev_is_ringbuf(const Chardev *chr)
{
    return chr->klass == &chardev_class_ringbuf;
}

uint64_t chardev_ringbuf_used(Chardev *chr)
{
    RingbufChardev *r = container_of(chr, RingbufChardev, parent);

    QEMU_LOCK_GUARD(&chr->lock);
    return r->written - r->read;
}

int chardev_ringbuf_read(Chardev *chr, uint8_t *buf, int len)
{
    RingbufChardev *r = container_of(chr, RingbufChardev, parent);
    int n;

    QEMU_LOCK_GUARD(&chr->lock);
    for (n = 0; n < len && r->read < r->written; n++) {
        buf[n] = r->data[r->read++ & (r->size - 1)];
    }
    return n;
}

int chardev_ringbuf_write(Chardev *chr, const uint8_t *buf, int len)
{
    QEMU_LOCK_GUARD(&chr->lock);
    return ringbuf_write_locked(chr, buf, len);
}

static const char *const ringbuf_options[] = { "size", NULL };

const ChardevClass chardev_class_ringbuf = {
    .name = "ringbuf",
    .options = ringbuf_options,
    .instance_size = sizeof(RingbufChardev),
    .open = ringbuf_open,
    .close = ringbuf_close,
    .write_locked = ringbuf_write_locked,
};
