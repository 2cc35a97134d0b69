/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stream chardev: see char-stream.h. */
#include "qemu/osdep.h"

#include <glib-unix.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "char-stream.h"
#include "qemu/tsan.h"

#define STREAM(chr) container_of(chr, StreamChardev, parent)

void stream_destroy_source(GSource **slot)
{
    if (*slot) {
        g_source_destroy(*slot);
        g_source_unref(*slot);
        *slot = NULL;
    }
}

void stream_attach_source(Chardev *chr, GSource **slot, GSource *source,
                          GSourceFunc fn, void *opaque)
{
    stream_destroy_source(slot);
    tsan_release(chr);
    g_source_set_callback(source, fn, opaque, NULL);
    g_source_attach(source, chr_context(chr));
    *slot = source;
}

Chardev *stream_woken(StreamChardev *s)
{
    tsan_acquire(&s->parent);
    return &s->parent;
}

static void close_fds(int **fds, int *nr)
{
    for (int i = 0; i < *nr; i++) {
        close((*fds)[i]);
    }
    g_clear_pointer(fds, g_free);
    *nr = 0;
}

/*
 * Output
 */

static size_t queued_bytes_locked(const StreamChardev *s)
{
    return s->queue ? s->queue->len - s->queue_done : 0;
}

size_t stream_queued_locked(Chardev *chr)
{
    return queued_bytes_locked(STREAM(chr));
}

static void queue_clear_locked(StreamChardev *s)
{
    g_clear_pointer(&s->queue, g_byte_array_unref);
    s->queue_done = 0;
    stream_destroy_source(&s->out_source);
}

/* Write to the channel: bytes taken; -1 if the peer is lost. */
static ssize_t channel_write_locked(StreamChardev *s, const uint8_t *buf,
                                    size_t len)
{
    struct iovec iov = { (void *)buf, len };
    ssize_t n;

    n = qio_channel_writev_full(s->out, &iov, 1, s->out_fds, s->nr_out_fds,
                                NULL);
    if (n == QIO_CHANNEL_ERR_BLOCK) {
        return 0;
    }
    if (n < 0) {
        /* A client that waits for what got lost must see an end; what it has
         * sent so far is still read. No socket: this fails, and it stays. */
        shutdown(qio_channel_get_fd(s->out, G_IO_OUT), SHUT_RDWR);
        s->out_broken = true;
        queue_clear_locked(s);
        errno = EPIPE;
        return -1;
    }
    if (n > 0 && s->out_fds) {
        close_fds(&s->out_fds, &s->nr_out_fds);
    }
    return n;
}

static void queue_send_locked(StreamChardev *s)
{
    while (queued_bytes_locked(s)) {
        ssize_t n = channel_write_locked(s, s->queue->data + s->queue_done,
                                         queued_bytes_locked(s));

        if (n <= 0) {
            return;
        }
        s->queue_done += n;
    }
    queue_clear_locked(s);
}

static void stream_peer_gone(StreamChardev *s)
{
    if (s->peer_gone) {
        s->peer_gone(s);
        return;
    }
    WITH_QEMU_LOCK_GUARD(&s->parent.lock)
    {
        stream_destroy_source(&s->in_source);
        s->in_ended = true;
    }
    chr_event(&s->parent, CHR_EVENT_CLOSED);
}

static gboolean stream_out_ready(gint fd, GIOCondition cond, gpointer opaque)
{
    StreamChardev *s = opaque;
    Chardev *chr = stream_woken(s);
    void (*cb)(void *) = NULL;
    void *cb_opaque = NULL;
    bool hang_up = false;

    WITH_QEMU_LOCK_GUARD(&chr->lock)
    {
        if (g_source_is_destroyed(g_main_current_source())) {
            return G_SOURCE_REMOVE;
        }
        queue_send_locked(s);
        if (!queued_bytes_locked(s)) {
            stream_destroy_source(&s->out_source);
            cb = chr->drained_cb;
            cb_opaque = chr->drained_opaque;
            chr->drained_cb = NULL;
            hang_up = s->closing;
        }
    }
    if (hang_up) {
        stream_peer_gone(s);
    } else if (cb) {
        cb(cb_opaque);
    }
    return G_SOURCE_CONTINUE; /* means nothing if it was destroyed above */
}

int stream_write_locked(Chardev *chr, const uint8_t *buf, int len)
{
    StreamChardev *s = STREAM(chr);
    int done = 0;

    if (!s->out || s->out_broken || s->closing) {
        errno = ENOTCONN;
        return -1;
    }
    if (queued_bytes_locked(s)) {
        return 0;
    }
    while (done < len) {
        ssize_t n = channel_write_locked(s, buf + done, len - done);

        if (n <= 0) {
            return n < 0 && !done ? -1 : done;
        }
        done += n;
    }
    return done;
}

int stream_queue_locked(Chardev *chr, const uint8_t *buf, int len)
{
    StreamChardev *s = STREAM(chr);
    size_t max = chr->dialogue ? CHR_QUEUE_HARD_MAX_BYTES : CHR_QUEUE_MAX_BYTES;
    int done = stream_write_locked(chr, buf, len);
    size_t rest;

    if (done < 0 || done == len) {
        return done;
    }
    rest = MIN((size_t)(len - done), max - MIN(max, queued_bytes_locked(s)));
    if (!s->out_broken && rest) {
        int fd = qio_channel_get_fd(s->out, G_IO_OUT);

        if (!s->queue) {
            s->queue = g_byte_array_new();
        }
        g_byte_array_append(s->queue, buf + done, rest);
        if (!s->out_source && fd >= 0) {
            stream_attach_source(chr, &s->out_source,
                                 g_unix_fd_source_new(fd, G_IO_OUT),
                                 G_SOURCE_FUNC(stream_out_ready), s);
        }
        done += rest;
    }
    return done;
}

void stream_flush(StreamChardev *s, int ms)
{
    int64_t end_us = g_get_monotonic_time() + ms * 1000;

    QEMU_LOCK_GUARD(&s->parent.lock);
    while (s->out && queued_bytes_locked(s)) {
        struct pollfd p = { qio_channel_get_fd(s->out, G_IO_OUT), POLLOUT, 0 };
        int64_t left_us = end_us - g_get_monotonic_time();

        if (left_us <= 0 || poll(&p, 1, left_us / 1000 + 1) <= 0) {
            break;
        }
        queue_send_locked(s);
    }
}

bool stream_set_msgfds(Chardev *chr, const int *fds, int num, Error **errp)
{
    StreamChardev *s = STREAM(chr);

    QEMU_LOCK_GUARD(&chr->lock);
    if (!s->out ||
        !qio_channel_has_feature(s->out, QIO_CHANNEL_FEATURE_FD_PASS)) {
        error_setg(errp, "chardev '%s' cannot pass file descriptors now",
                   chr->label);
        return false;
    }
    if (queued_bytes_locked(s)) {
        error_setg(errp, "chardev '%s' still has output queued", chr->label);
        return false;
    }
    close_fds(&s->out_fds, &s->nr_out_fds);
    s->out_fds = g_new(int, num);
    for (int i = 0; i < num; i++) {
        int fd = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);

        if (fd < 0) {
            error_setg_errno(errp, errno, "File descriptor %d", fds[i]);
            close_fds(&s->out_fds, &s->nr_out_fds);
            return false;
        }
        s->out_fds[s->nr_out_fds++] = fd;
    }
    return true;
}

/*
 * Input
 */

int stream_get_msgfds(Chardev *chr, int *fds, int num)
{
    StreamChardev *s = STREAM(chr);
    int n = MIN(num, s->nr_in_fds);

    if (n <= 0) {
        return 0;
    }
    memcpy(fds, s->in_fds, n * sizeof(int));
    s->nr_in_fds -= n;
    memmove(s->in_fds, s->in_fds + n, s->nr_in_fds * sizeof(int));
    return n;
}

/* The peer may leave while nobody reads: notice it if nothing is unread. */
static gboolean stream_hup(gint fd, GIOCondition cond, gpointer opaque)
{
    StreamChardev *s = opaque;
    int unread = 0;

    stream_woken(s);
    if (ioctl(fd, FIONREAD, &unread) == 0 && unread == 0) {
        stream_peer_gone(s);
        return G_SOURCE_REMOVE;
    }
    WITH_QEMU_LOCK_GUARD(&s->parent.lock)
    {
        stream_destroy_source(&s->hup_source);
    }
    return G_SOURCE_REMOVE; /* reading on will find the end */
}

static void stream_watch_hup_locked(StreamChardev *s)
{
    int fd = s->in ? qio_channel_get_fd(s->in, G_IO_IN) : -1;

    stream_destroy_source(&s->in_source);
    if (fd >= 0 && s->peer_gone && !s->hup_source) {
        stream_attach_source(&s->parent, &s->hup_source,
                             g_unix_fd_source_new(fd, G_IO_HUP | G_IO_ERR),
                             G_SOURCE_FUNC(stream_hup), s);
    }
}

/* Returns false if input was accepted since @nr_accepts: look again. */
static bool stream_pause_input(StreamChardev *s, unsigned nr_accepts)
{
    QEMU_LOCK_GUARD(&s->parent.lock);
    if (nr_accepts != s->nr_accepts) {
        return false;
    }
    stream_watch_hup_locked(s);
    return true;
}

/* How much may be read; 0: input is paused now. */
static int stream_may_read(StreamChardev *s)
{
    unsigned nr_accepts;
    int may;

    do {
        WITH_QEMU_LOCK_GUARD(&s->parent.lock)
        {
            nr_accepts = s->nr_accepts;
        }
        may = chr_can_read(&s->parent);
    } while (may <= 0 && !stream_pause_input(s, nr_accepts));
    return MAX(may, 0);
}

/* It will send no more. Does it still listen to a dialogue? */
static void stream_input_ended(StreamChardev *s, gint fd)
{
    struct pollfd p = { fd, POLLOUT, 0 };
    bool listens = s->parent.dialogue && s->out;

    if (s->in == s->out) {
        listens &= poll(&p, 1, 0) >= 0 && !(p.revents & (POLLHUP | POLLERR));
    }
    if (!listens || s->in_ended) {
        stream_peer_gone(s);
        return;
    }
    WITH_QEMU_LOCK_GUARD(&s->parent.lock)
    {
        s->in_ended = true;
        stream_watch_hup_locked(s);
    }
    if (s->parent.fe && s->parent.fe->event) {
        s->parent.fe->event(s->parent.fe->opaque, CHR_EVENT_EOF);
    } else {
        stream_peer_gone(s);
    }
}

static gboolean stream_in_ready(gint fd, GIOCondition cond, gpointer opaque)
{
    StreamChardev *s = opaque;
    uint8_t buf[CHR_READ_BYTES];
    struct iovec iov = { buf, sizeof(buf) };
    g_autofree int *fds = NULL;
    size_t nr_fds = 0;
    ssize_t n;
    int may;

    stream_woken(s);
    may = stream_may_read(s);
    if (!may) {
        return G_SOURCE_REMOVE;
    }
    iov.iov_len = MIN(sizeof(buf), (size_t)may);
    if (qio_channel_has_feature(s->in, QIO_CHANNEL_FEATURE_FD_PASS)) {
        n = qio_channel_readv_full(s->in, &iov, 1, &fds, &nr_fds, 0, NULL);
    } else {
        n = qio_channel_readv_full(s->in, &iov, 1, NULL, NULL, 0, NULL);
    }
    if (n == QIO_CHANNEL_ERR_BLOCK) {
        return G_SOURCE_CONTINUE;
    }
    if (n <= 0) {
        if (n == 0) {
            stream_input_ended(s, fd);
        } else {
            stream_peer_gone(s);
        }
        return G_SOURCE_REMOVE;
    }
    if (nr_fds) {
        close_fds(&s->in_fds, &s->nr_in_fds);
        s->in_fds = g_steal_pointer(&fds);
        s->nr_in_fds = nr_fds;
    }
    chr_read(&s->parent, buf, n); /* @s may be gone after this */
    return G_SOURCE_CONTINUE;
}

static void stream_watch_locked(StreamChardev *s)
{
    int fd;

    if (!s->in || s->in_ended || s->in_source || s->start_source) {
        return;
    }
    stream_destroy_source(&s->hup_source);
    fd = qio_channel_get_fd(s->in, G_IO_IN);
    if (fd >= 0) {
        stream_attach_source(&s->parent, &s->in_source,
                             g_unix_fd_source_new(fd, G_IO_IN),
                             G_SOURCE_FUNC(stream_in_ready), s);
    }
}

void stream_watch(StreamChardev *s)
{
    QEMU_LOCK_GUARD(&s->parent.lock);
    stream_watch_locked(s);
}

void stream_accept_input(Chardev *chr, CharFrontend *fe)
{
    StreamChardev *s = STREAM(chr);

    QEMU_LOCK_GUARD(&chr->lock);
    s->nr_accepts++;
    stream_watch_locked(s);
}

/*
 * Handlers, channels
 */

static gboolean stream_start(gpointer opaque)
{
    StreamChardev *s = opaque;

    stream_woken(s);
    WITH_QEMU_LOCK_GUARD(&s->parent.lock)
    {
        stream_destroy_source(&s->start_source);
        stream_watch_locked(s);
    }
    if (s->context_changed) {
        s->context_changed(s);
    }
    if (s->parent.be_open) {
        chr_event(&s->parent, CHR_EVENT_OPENED);
    }
    return G_SOURCE_REMOVE;
}

static gboolean stream_hang_up(gpointer opaque)
{
    StreamChardev *s = opaque;
    Chardev *chr = stream_woken(s);

    WITH_QEMU_LOCK_GUARD(&chr->lock)
    {
        if (g_source_is_destroyed(g_main_current_source())) {
            return G_SOURCE_REMOVE;
        }
        stream_destroy_source(&s->hangup_source);
    }
    stream_peer_gone(s);
    return G_SOURCE_REMOVE;
}

void stream_update_handlers(Chardev *chr, CharFrontend *fe)
{
    StreamChardev *s = STREAM(chr);

    if (s->context_leaving) {
        s->context_leaving(s);
    }
    WITH_QEMU_LOCK_GUARD(&chr->lock)
    {
        stream_destroy_source(&s->in_source);
        stream_destroy_source(&s->hup_source);
        stream_destroy_source(&s->start_source);
        if (s->out_source) {
            int fd = qio_channel_get_fd(s->out, G_IO_OUT);

            stream_attach_source(chr, &s->out_source,
                                 g_unix_fd_source_new(fd, G_IO_OUT),
                                 G_SOURCE_FUNC(stream_out_ready), s);
        }
        if (s->hangup_source) {
            /* Not in the context that the front end leaves. */
            stream_attach_source(chr, &s->hangup_source, g_idle_source_new(),
                                 stream_hang_up, s);
        }
        if (fe->context) {
            stream_attach_source(chr, &s->start_source, g_idle_source_new(),
                                 stream_start, s);
        }
    }
    if (!fe->context) {
        stream_start(s);
    }
}

void stream_set_channels(StreamChardev *s, QIOChannel *in, QIOChannel *out)
{
    QEMU_LOCK_GUARD(&s->parent.lock);
    s->in = in;
    s->out = out;
    s->in_ended = s->out_broken = s->closing = false;
    if (in) {
        qio_channel_set_blocking(in, false, NULL);
    }
    if (out && out != in) {
        qio_channel_set_blocking(out, false, NULL);
    }
}

void stream_drop(StreamChardev *s)
{
    QIOChannel *in, *out;

    WITH_QEMU_LOCK_GUARD(&s->parent.lock)
    {
        stream_destroy_source(&s->in_source);
        stream_destroy_source(&s->hup_source);
        stream_destroy_source(&s->hangup_source);
        queue_clear_locked(s);
        close_fds(&s->out_fds, &s->nr_out_fds);
        in = s->in;
        out = s->out;
        s->in = s->out = NULL;
        s->parent.drained_cb = NULL; /* CLOSED says it all */
    }
    close_fds(&s->in_fds, &s->nr_in_fds);
    if (out && out != in) {
        qio_channel_unref(out);
    }
    qio_channel_unref(in);
}

void stream_disconnect(Chardev *chr)
{
    StreamChardev *s = STREAM(chr);
    bool later = false;

    WITH_QEMU_LOCK_GUARD(&chr->lock)
    {
        if (!s->out) {
            return;
        }
        if (chr->dialogue && queued_bytes_locked(s)) {
            s->closing = later = true;
        }
    }
    if (later) {
        return;
    }
    if (chr_context(chr)) {
        QEMU_LOCK_GUARD(&chr->lock);
        stream_attach_source(chr, &s->hangup_source, g_idle_source_new(),
                             stream_hang_up, s);
    } else {
        stream_peer_gone(s);
    }
}

void stream_close(Chardev *chr)
{
    StreamChardev *s = STREAM(chr);

    stream_flush(s, 100);
    WITH_QEMU_LOCK_GUARD(&chr->lock)
    {
        stream_destroy_source(&s->start_source);
    }
    stream_drop(s);
}
