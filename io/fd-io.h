/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What channels on plain descriptors (file, command) share: readv and writev
 * that wait by poll, and SIGPIPE out of the way.
 *
 * Used by: io/ only.
 */
#ifndef IO_FD_IO_H
#define IO_FD_IO_H

#include "io/channel.h"

/* @fd must be O_NONBLOCK or always ready (a regular file). */
ssize_t qio_fd_readv(QIOChannel *ioc, int fd, const struct iovec *iov,
                     size_t niov, Error **errp);
ssize_t qio_fd_writev(QIOChannel *ioc, int fd, const struct iovec *iov,
                      size_t niov, Error **errp);

/* Returns the flags from before, or -1 with errno. */
int qio_fd_set_nonblock(int fd, bool nonblock);

/*
 * A write to a pipe without reader raises SIGPIPE, which only a disposition
 * can prevent: set it to be ignored if it still is the default.
 */
void qio_ignore_sigpipe(void);

#endif /* IO_FD_IO_H */
