/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Write guard: what stands between an open file and the first byte that we
 * write there.
 *
 * A process may live on files: its guest's memory, the images of its disks.
 * Nothing that it is told to write (a log, a chardev, a stream, a dump) may
 * land in one of those, nor the other way round. So every file that is opened
 * for writing passes here, before it is cut or changed.
 *
 * Threads: any; one lock inside, under which nothing is called.
 *
 * Used by: fd-store.c (whoever opens by qemu_open()), log.c, start-up;
 *          system/ (sets the guard, asks who writes). Uses: thread.h, error.h.
 */
#ifndef QEMU_WRITE_GUARD_H
#define QEMU_WRITE_GUARD_H

#include "qemu/error.h"

/* Whether @fd may be written to; @path is how it was asked for. False with
 * @errp naming both it and what it is. */
typedef bool QemuWriteGuard(int fd, const char *path, Error **errp);

/* One for the process; stays. */
void qemu_set_write_guard(QemuWriteGuard *guard);

/**
 * qemu_begin_write: ask the guard, and remember that @fd is written to
 *
 * @fd: open for writing, without O_TRUNC (that would not have asked)
 * @truncate: make it empty; what has no length is left alone
 *
 * False with @errp and errno (EBUSY: the guard's answer); @fd stays open then.
 */
bool qemu_begin_write(int fd, const char *path, bool truncate, Error **errp);

/* The path by which somebody else than @fd has that file open for writing, by
 * qemu_begin_write(); NULL: nobody has. To be freed. */
char *qemu_who_writes(int fd);

#endif /* QEMU_WRITE_GUARD_H */
