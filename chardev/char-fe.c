/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chardev front ends: see chardev/char.h. */
#include "qemu/osdep.h"

#include "char-int.h"

bool qemu_chr_fe_init(CharFrontend *fe, Chardev *chr, Error **errp)
{
    *fe = (CharFrontend){ 0 };
    if (!chr) {
        return true;
    }
    if (chr->klass->attach) {
        if (!chr->klass->attach(chr, fe, errp)) {
            return false;
        }
    } else if (chr->fe) {
        error_setg(errp, "chardev '%s' is already in use", chr->label);
        return false;
    } else {
        chr->fe = fe;
    }
    fe->chr = chr;
    return true;
}

void qemu_chr_fe_deinit(CharFrontend *fe, bool del)
{
    Chardev *chr = fe->chr;

    if (!chr) {
        return;
    }
    qemu_chr_fe_set_handlers(fe, NULL, NULL, NULL, NULL, NULL);
    WITH_QEMU_LOCK_GUARD(&chr->lock)
    {
        chr->drained_cb = NULL;
    }
    if (chr->klass->detach) {
        chr->klass->detach(chr, fe);
    } else {
        chr->fe = NULL;
    }
    fe->chr = NULL;
    if (del) {
        chardev_delete(chr);
    }
}

bool qemu_chr_fe_backend_connected(const CharFrontend *fe)
{
    return fe->chr;
}

bool qemu_chr_fe_backend_open(const CharFrontend *fe)
{
    return fe->chr && fe->chr->be_open;
}

void qemu_chr_fe_set_handlers(CharFrontend *fe, IOCanReadHandler *can_read,
                              IOReadHandler *read, IOEventHandler *event,
                              void *opaque, GMainContext *context)
{
    Chardev *chr = fe->chr;

    if (!chr) {
        return;
    }
    WITH_QEMU_LOCK_GUARD(&chr->lock)
    {
        fe->can_read = can_read;
        fe->read = read;
        fe->event = event;
        fe->opaque = opaque;
        fe->context = context;
    }
    if (chr->klass->update_handlers) {
        chr->klass->update_handlers(chr, fe);
    } else if (event && chr->be_open) {
        event(opaque, CHR_EVENT_OPENED);
    }
}

static void log_output_locked(Chardev *chr, const uint8_t *buf, int len)
{
    while (chr->logfd >= 0 && len > 0) {
        ssize_t n = write(chr->logfd, buf, len);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break; /* a full disk must not stop the guest */
        }
        buf += n;
        len -= n;
    }
}

int qemu_chr_fe_write(CharFrontend *fe, const uint8_t *buf, int len)
{
    Chardev *chr = fe->chr;
    int n;

    if (!chr) {
        return len;
    }
    QEMU_LOCK_GUARD(&chr->lock);
    n = chr->klass->write_locked(chr, buf, len);
    if (n > 0) {
        log_output_locked(chr, buf, n);
    }
    return n;
}

int qemu_chr_fe_write_all(CharFrontend *fe, const uint8_t *buf, int len)
{
    Chardev *chr = fe->chr;
    int n;

    if (!chr) {
        return len;
    }
    QEMU_LOCK_GUARD(&chr->lock);
    log_output_locked(chr, buf, len);
    if (chr->klass->queue_locked) {
        n = chr->klass->queue_locked(chr, buf, len);
    } else {
        n = chr->klass->write_locked(chr, buf, len);
    }
    return n == len ? len : -1;
}

void qemu_chr_fe_printf(CharFrontend *fe, const char *fmt, ...)
{
    g_autofree char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    qemu_chr_fe_write_all(fe, (uint8_t *)text, strlen(text));
}

size_t qemu_chr_fe_queued(const CharFrontend *fe)
{
    Chardev *chr = fe->chr;

    if (!chr || !chr->klass->queued_locked) {
        return 0;
    }
    QEMU_LOCK_GUARD(&chr->lock);
    return chr->klass->queued_locked(chr);
}

void qemu_chr_fe_set_dialogue(CharFrontend *fe)
{
    if (fe->chr) {
        QEMU_LOCK_GUARD(&fe->chr->lock);
        fe->chr->dialogue = true;
    }
}

bool qemu_chr_fe_notify_drained(CharFrontend *fe, void (*cb)(void *opaque),
                                void *opaque)
{
    Chardev *chr = fe->chr;

    if (!chr || !chr->klass->queued_locked) {
        return false;
    }
    QEMU_LOCK_GUARD(&chr->lock);
    if (chr->klass->queued_locked(chr) == 0) {
        return false;
    }
    chr->drained_cb = cb;
    chr->drained_opaque = opaque;
    return true;
}

void qemu_chr_fe_accept_input(CharFrontend *fe)
{
    if (fe->chr && fe->chr->klass->accept_input) {
        fe->chr->klass->accept_input(fe->chr, fe);
    }
}

int qemu_chr_fe_get_msgfds(CharFrontend *fe, int *fds, int num)
{
    if (!fe->chr || !fe->chr->klass->get_msgfds) {
        return 0;
    }
    return fe->chr->klass->get_msgfds(fe->chr, fds, num);
}

int qemu_chr_fe_get_msgfd(CharFrontend *fe)
{
    int fd;

    return qemu_chr_fe_get_msgfds(fe, &fd, 1) == 1 ? fd : -1;
}

bool qemu_chr_fe_set_msgfds(CharFrontend *fe, const int *fds, int num,
                            Error **errp)
{
    if (!fe->chr || !fe->chr->klass->set_msgfds) {
        error_setg(errp, "chardev '%s' cannot pass file descriptors",
                   fe->chr ? fe->chr->label : "none");
        return false;
    }
    return fe->chr->klass->set_msgfds(fe->chr, fds, num, errp);
}

void qemu_chr_fe_disconnect(CharFrontend *fe)
{
    if (fe->chr && fe->chr->klass->disconnect) {
        fe->chr->klass->disconnect(fe->chr);
    }
}

void qemu_chr_fe_set_echo(CharFrontend *fe, bool echo)
{
    if (fe->chr && fe->chr->klass->set_echo) {
        fe->chr->klass->set_echo(fe->chr, echo);
    }
}

bool qemu_chr_fe_wait_connected(CharFrontend *fe, Error **errp)
{
    if (fe->chr && fe->chr->klass->wait_connected) {
        return fe->chr->klass->wait_connected(fe->chr, errp);
    }
    return true;
}

/*
 * For back ends
 */

GMainContext *chr_context(Chardev *chr)
{
    return chr->fe ? chr->fe->context : NULL;
}

int chr_can_read(Chardev *chr)
{
    CharFrontend *fe = chr->fe;

    if (!fe || !fe->read) {
        return 0;
    }
    return fe->can_read ? fe->can_read(fe->opaque) : INT_MAX;
}

void chr_read(Chardev *chr, const uint8_t *buf, int len)
{
    CharFrontend *fe = chr->fe;

    if (fe && fe->read) {
        fe->read(fe->opaque, buf, len);
    }
}

void chr_event(Chardev *chr, QEMUChrEvent event)
{
    CharFrontend *fe = chr->fe;

    if (event == CHR_EVENT_OPENED) {
        chr->be_open = true;
    } else if (event == CHR_EVENT_CLOSED) {
        chr->be_open = false;
    }
    if (fe && fe->event) {
        fe->event(fe->opaque, event);
    }
}
