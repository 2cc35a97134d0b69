/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File channel: a file, block device, fifo, pipe or terminal by path or fd.
 *
 * Regular files and block devices are SEEKABLE. For anything else the
 * descriptor is made non-blocking as long as the channel has it (the flag is
 * put back on close), so that reads and writes can be woken.
 *
 * Used by: chardev/, migration/. Uses: util (qemu_open: /dev/fdset/N).
 */
#ifndef IO_CHANNEL_FILE_H
#define IO_CHANNEL_FILE_H

#include "io/channel.h"

typedef struct QIOChannelFile QIOChannelFile;

/* Owns @fd from then on. */
QIOChannelFile *qio_channel_file_new_fd(int fd);

/**
 * qio_channel_file_new_path: open @path
 *
 * @flags: of open(2); with O_CREAT @mode counts. "/dev/fdset/N" takes a
 *     descriptor of that set whose access mode fits.
 *
 * A fifo is opened without waiting for its other end: reading waits for the
 * first writer; opening for writing with no reader fails with ENXIO in
 * @os_errno (may be NULL), so that the caller can try again.
 */
QIOChannelFile *qio_channel_file_new_path(const char *path, int flags,
                                          mode_t mode, int *os_errno,
                                          Error **errp);

/* Length of a regular file or device is @length now; else an Error. */
bool qio_channel_file_truncate(QIOChannelFile *fioc, off_t length,
                               Error **errp);

#endif /* IO_CHANNEL_FILE_H */
