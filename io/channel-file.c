/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File channel: see channel-file.h for the contract.
 */
#include "qemu/osdep.h"

#include <poll.h>

#include "io/channel-file.h"
#include "qemu/fd-store.h"

#include "fd-io.h"

struct QIOChannelFile {
    QIOChannel parent;
    int fd;        /* -1: closed */
    int old_flags; /* of the descriptor, to restore; -1: as found */
    bool pollable; /* not a regular file: can wait */
    /* A fifo reads as ended until its first writer comes: wait for that.
     * Owned by the reader. */
    bool await_writer;
};

static QIOChannelFile *to_file(QIOChannel *ioc)
{
    return container_of(ioc, QIOChannelFile, parent);
}

/* 1: there is something; QIO_CHANNEL_ERR_BLOCK; -1. */
static int await_writer(QIOChannelFile *fioc, Error **errp)
{
    if (!fioc->parent.blocking) {
        struct pollfd pfd = { .fd = fioc->fd, .events = POLLIN };

        if (poll(&pfd, 1, 0) <= 0) {
            return QIO_CHANNEL_ERR_BLOCK;
        }
    } else if (!qio_channel_wait_fd(&fioc->parent, fioc->fd, POLLIN,
                                    QIO_CHANNEL_SHUTDOWN_READ, errp)) {
        return -1;
    }
    fioc->await_writer = false;
    return 1;
}

static ssize_t file_readv(QIOChannel *ioc, const struct iovec *iov, size_t niov,
                          int **fds, size_t *nfds, int flags, Error **errp)
{
    QIOChannelFile *fioc = to_file(ioc);

    if (fioc->await_writer) {
        int ret = await_writer(fioc, errp);

        if (ret != 1) {
            return ret;
        }
    }
    return qio_fd_readv(ioc, fioc->fd, iov, niov, errp);
}

static ssize_t file_writev(QIOChannel *ioc, const struct iovec *iov,
                           size_t niov, const int *fds, size_t nfds,
                           Error **errp)
{
    return qio_fd_writev(ioc, to_file(ioc)->fd, iov, niov, errp);
}

static ssize_t file_preadv(QIOChannel *ioc, const struct iovec *iov,
                           size_t niov, off_t offset, Error **errp)
{
    ssize_t n;

    do {
        n = preadv(to_file(ioc)->fd, iov, niov, offset);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        error_setg_errno(errp, errno, "Cannot read from '%s' at %lld",
                         qio_channel_get_name(ioc), (long long)offset);
    }
    return n;
}

static ssize_t file_pwritev(QIOChannel *ioc, const struct iovec *iov,
                            size_t niov, off_t offset, Error **errp)
{
    ssize_t n;

    do {
        n = pwritev(to_file(ioc)->fd, iov, niov, offset);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        error_setg_errno(errp, errno, "Cannot write to '%s' at %lld",
                         qio_channel_get_name(ioc), (long long)offset);
    }
    return n;
}

static off_t file_seek(QIOChannel *ioc, off_t offset, int whence, Error **errp)
{
    off_t pos = lseek(to_file(ioc)->fd, offset, whence);

    if (pos < 0) {
        error_setg_errno(errp, errno, "Cannot go to %lld in '%s'",
                         (long long)offset, qio_channel_get_name(ioc));
    }
    return pos;
}

static bool file_close(QIOChannel *ioc, Error **errp)
{
    QIOChannelFile *fioc = to_file(ioc);
    int fd = fioc->fd;

    if (fd < 0) {
        return true;
    }
    fioc->fd = -1;
    if (fioc->old_flags >= 0) {
        fcntl(fd, F_SETFL, fioc->old_flags);
    }
    if (qemu_close(fd) < 0) {
        error_setg_errno(errp, errno, "Closing '%s' failed",
                         qio_channel_get_name(ioc));
        return false;
    }
    return true;
}

static int file_get_fd(QIOChannel *ioc, GIOCondition cond)
{
    return to_file(ioc)->fd;
}

static void file_finalize(QIOChannel *ioc)
{
    file_close(ioc, NULL);
    g_free(to_file(ioc));
}

static const QIOChannelClass file_class = {
    .type_name = "file",
    .readv = file_readv,
    .writev = file_writev,
    .preadv = file_preadv,
    .pwritev = file_pwritev,
    .seek = file_seek,
    .close = file_close,
    .get_fd = file_get_fd,
    .finalize = file_finalize,
};

QIOChannelFile *qio_channel_file_new_fd(int fd)
{
    QIOChannelFile *fioc = g_new0(QIOChannelFile, 1);
    g_autofree char *name = g_strdup_printf("fd:%d", fd);
    struct stat st;

    fioc->fd = fd;
    fioc->old_flags = -1;
    fioc->pollable = fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) &&
                     !S_ISBLK(st.st_mode);
    qio_channel_init(&fioc->parent, &file_class, fioc->pollable);
    qio_channel_set_name(&fioc->parent, name);
    if (fioc->pollable) {
        int flags = qio_fd_set_nonblock(fd, true);

        fioc->old_flags = flags >= 0 && !(flags & O_NONBLOCK) ? flags : -1;
        if ((flags & O_ACCMODE) == O_RDWR) {
            qio_channel_set_feature(&fioc->parent, QIO_CHANNEL_FEATURE_DUPLEX);
        }
        qio_ignore_sigpipe();
    } else {
        qio_channel_set_feature(&fioc->parent, QIO_CHANNEL_FEATURE_SEEKABLE);
    }
    return fioc;
}

QIOChannelFile *qio_channel_file_new_path(const char *path, int flags,
                                          mode_t mode, int *os_errno,
                                          Error **errp)
{
    QIOChannelFile *fioc;
    struct stat st;
    int fd;

    /* O_NONBLOCK means nothing to files, and makes opening a fifo not wait. */
    fd = flags & O_CREAT ? qemu_create(path, flags | O_NONBLOCK, mode, errp)
                         : qemu_open(path, flags | O_NONBLOCK, errp);
    if (fd < 0) {
        if (os_errno) {
            *os_errno = errno;
        }
        return NULL;
    }
    fioc = qio_channel_file_new_fd(fd);
    qio_channel_set_name(&fioc->parent, path);
    fioc->await_writer = fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) &&
                         (flags & O_ACCMODE) == O_RDONLY;
    return fioc;
}

bool qio_channel_file_truncate(QIOChannelFile *fioc, off_t length, Error **errp)
{
    if (ftruncate(fioc->fd, length) < 0) {
        error_setg_errno(errp, errno, "Cannot set the length of '%s' to %lld",
                         qio_channel_get_name(&fioc->parent),
                         (long long)length);
        return false;
    }
    return true;
}
