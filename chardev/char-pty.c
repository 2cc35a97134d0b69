/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pty chardev: a new pseudo terminal; people attach to its other side.
 *
 * The kernel does not tell the master when someone opens the slave, so while
 * nobody is there it is looked at four times a second and at each write.
 */
#include "qemu/osdep.h"

#include <poll.h>
#include <pty.h>
#include <termios.h>

#include "char-stream.h"
#include "io/channel-file.h"

#define PTY_LOOK_MS 250

typedef struct PtyChardev {
    StreamChardev parent;
    int fd;              /* of the master; the channel's; constant */
    char *link;          /* constant; symlink to the slave, or NULL */
    GSource *look_timer; /* guarded by parent.parent.lock */
} PtyChardev;

#define PTY(chr) container_of(chr, PtyChardev, parent.parent)

static bool pty_has_user(const PtyChardev *p)
{
    struct pollfd pfd = { p->fd, POLLOUT, 0 };

    return poll(&pfd, 1, 0) >= 0 && !(pfd.revents & POLLHUP);
}

static gboolean pty_look(gpointer opaque)
{
    PtyChardev *p = opaque;
    Chardev *chr = stream_woken(&p->parent);

    if (!pty_has_user(p)) {
        return G_SOURCE_CONTINUE;
    }
    WITH_QEMU_LOCK_GUARD(&chr->lock)
    {
        stream_destroy_source(&p->look_timer);
        chr->be_open = true;
    }
    stream_watch(&p->parent);
    chr_event(chr, CHR_EVENT_OPENED);
    return G_SOURCE_REMOVE;
}

static void pty_look_for_user(PtyChardev *p)
{
    Chardev *chr = &p->parent.parent;

    QEMU_LOCK_GUARD(&chr->lock);
    stream_destroy_source(&p->parent.in_source);
    stream_destroy_source(&p->parent.hup_source);
    stream_attach_source(chr, &p->look_timer, g_timeout_source_new(PTY_LOOK_MS),
                         pty_look, p);
}

static void pty_peer_gone(StreamChardev *s)
{
    bool was_open = s->parent.be_open;

    pty_look_for_user(container_of(s, PtyChardev, parent));
    if (was_open) {
        chr_event(&s->parent, CHR_EVENT_CLOSED);
    }
}

static void pty_context_leaving(StreamChardev *s)
{
    QEMU_LOCK_GUARD(&s->parent.lock);
    stream_destroy_source(&container_of(s, PtyChardev, parent)->look_timer);
}

static void pty_context_changed(StreamChardev *s)
{
    if (!s->parent.be_open) {
        pty_look_for_user(container_of(s, PtyChardev, parent));
    }
}

static int pty_write_locked(Chardev *chr, const uint8_t *buf, int len)
{
    if (!chr->be_open && !pty_has_user(PTY(chr))) {
        return len; /* nobody looks: as a terminal line without a terminal */
    }
    return stream_write_locked(chr, buf, len);
}

static int pty_queue_locked(Chardev *chr, const uint8_t *buf, int len)
{
    if (!chr->be_open && !pty_has_user(PTY(chr))) {
        return len;
    }
    return stream_queue_locked(chr, buf, len);
}

static bool pty_open(Chardev *chr, const ChardevOptions *o, bool *opened,
                     Error **errp)
{
    PtyChardev *p = PTY(chr);
    int master, slave;
    struct termios tty;
    char name[PATH_MAX];
    QIOChannel *ioc;

    if (openpty(&master, &slave, name, NULL, NULL) < 0) {
        error_setg_errno(errp, errno, "Failed to create PTY");
        return false;
    }
    tcgetattr(slave, &tty);
    cfmakeraw(&tty);
    tcsetattr(slave, TCSAFLUSH, &tty);
    close(slave);
    fcntl(master, F_SETFD, FD_CLOEXEC);

    ioc = QIO_CHANNEL(qio_channel_file_new_fd(master));
    p->fd = master;
    p->parent.peer_gone = pty_peer_gone;
    p->parent.context_leaving = pty_context_leaving;
    p->parent.context_changed = pty_context_changed;
    stream_set_channels(&p->parent, ioc, ioc);
    if (o->path) {
        if (symlink(name, o->path) < 0) {
            error_setg_errno(errp, errno, "Failed to create PTY symlink '%s'",
                             o->path);
            return false;
        }
        p->link = g_strdup(o->path);
    }
    chr_set_filename(chr, g_strdup_printf("pty:%s", name));
    printf("char device redirected to %s (label %s)\n", name, chr->label);
    fflush(stdout);
    *opened = false;
    return true;
}

static void pty_close(Chardev *chr)
{
    PtyChardev *p = PTY(chr);

    WITH_QEMU_LOCK_GUARD(&chr->lock)
    {
        stream_destroy_source(&p->look_timer);
    }
    stream_close(chr);
    if (p->link) {
        unlink(p->link);
        g_free(p->link);
    }
}

static const char *const pty_options[] = { "path", NULL };

const ChardevClass chardev_class_pty = {
    .name = "pty",
    .options = pty_options,
    .instance_size = sizeof(PtyChardev),
    .open = pty_open,
    .close = pty_close,
    .write_locked = pty_write_locked,
    .queue_locked = pty_queue_locked,
    .queued_locked = stream_queued_locked,
    .update_handlers = stream_update_handlers,
    .accept_input = stream_accept_input,
};
