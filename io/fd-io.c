/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plain descriptors: see fd-io.h.
 */
#include "qemu/osdep.h"

#include <poll.h>
#include <signal.h>

#include "fd-io.h"

ssize_t qio_fd_readv(QIOChannel *ioc, int fd, const struct iovec *iov,
                     size_t niov, Error **errp)
{
    for (;;) {
        ssize_t n = readv(fd, iov, niov);

        if (n >= 0) {
            return n;
        }
        if (errno == EAGAIN) {
            if (!ioc->blocking) {
                return QIO_CHANNEL_ERR_BLOCK;
            }
            if (!qio_channel_wait_fd(ioc, fd, POLLIN, QIO_CHANNEL_SHUTDOWN_READ,
                                     errp)) {
                return -1;
            }
        } else if (errno != EINTR) {
            error_setg_errno(errp, errno, "Cannot read from '%s'",
                             qio_channel_get_name(ioc));
            return -1;
        }
    }
}

ssize_t qio_fd_writev(QIOChannel *ioc, int fd, const struct iovec *iov,
                      size_t niov, Error **errp)
{
    for (;;) {
        ssize_t n = writev(fd, iov, niov);

        if (n >= 0) {
            return n;
        }
        if (errno == EAGAIN) {
            if (!ioc->blocking) {
                return QIO_CHANNEL_ERR_BLOCK;
            }
            if (!qio_channel_wait_fd(ioc, fd, POLLOUT,
                                     QIO_CHANNEL_SHUTDOWN_WRITE, errp)) {
                return -1;
            }
        } else if (errno != EINTR) {
            error_setg_errno(errp, errno, "Cannot write to '%s'",
                             qio_channel_get_name(ioc));
            return -1;
        }
    }
}

int qio_fd_set_nonblock(int fd, bool nonblock)
{
    int flags = fcntl(fd, F_GETFL);
    int wanted;

    if (flags < 0) {
        return -1;
    }
    wanted = nonblock ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
    if (wanted != flags && fcntl(fd, F_SETFL, wanted) < 0) {
        return -1;
    }
    return flags;
}

static gpointer sigpipe_once(gpointer unused)
{
    struct sigaction old;

    if (sigaction(SIGPIPE, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) &&
        old.sa_handler == SIG_DFL) {
        signal(SIGPIPE, SIG_IGN);
    }
    return NULL;
}

void qio_ignore_sigpipe(void)
{
    static GOnce once = G_ONCE_INIT;

    g_once(&once, sigpipe_once, NULL);
}
