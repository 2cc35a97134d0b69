/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fd store: file descriptors that clients handed over, until they are used.
 *
 * Two kinds. A named fd (QMP getfd) waits under its name and is taken once.
 * An fd set (QMP add-fd, -add-fd) is a number under which fds of different
 * access modes lie; the path "/dev/fdset/N" opens a duplicate of the one whose
 * access mode fits. A set lives as long as it has an fd or a duplicate.
 *
 * Threads: any; one lock inside.
 *
 * Used by: monitor/ (puts in); migration/, chardev/, io/, hostmem (take out).
 * Uses:    thread.h, error.h, write-guard.h.
 */
#ifndef QEMU_FD_STORE_H
#define QEMU_FD_STORE_H

/*
 * Named fds.
 */

/* Takes ownership of @fd, also on failure. Replaces (and closes) an fd of the
 * same name. A name must not begin with a digit. */
bool fd_store_put(const char *name, int fd, Error **errp);
/* Ownership passes to the caller; the name is forgotten. Returns -1 on error.*/
int fd_store_take(const char *name, Error **errp);
bool fd_store_close(const char *name, Error **errp);
/* Calls @fn for each name, in no order, with the lock held. */
void fd_store_foreach(void (*fn)(void *opaque, const char *name), void *opaque);
/* @fdname: a name of the store, or the number of an inherited fd, which must
 * be open. Returns the fd, owned by the caller, or -1. */
int fd_store_param(const char *fdname, Error **errp);

/*
 * Fd sets.
 */

/**
 * fdset_add_fd: put @fd into a set
 *
 * @id: the set, made if need be; -1: the first number not in use
 * @opaque: free words for query-fdsets; may be NULL
 * @id_out: the set's number; may be NULL
 *
 * Takes ownership of @fd, also on failure.
 */
bool fdset_add_fd(int fd, int64_t id, const char *opaque, int64_t *id_out,
                  Error **errp);
/* Close and forget @fd of set @id; @fd -1: all its fds. */
bool fdset_remove_fd(int64_t id, int fd, Error **errp);

/**
 * fdset_dup_fd: a duplicate of the fd of set @id that fits @flags
 *
 * @flags: as of open(2); the access mode and O_DIRECT choose; O_TRUNC acts
 *
 * Returns an fd to be closed with qemu_close(), or -1.
 */
int fdset_dup_fd(int64_t id, int flags, Error **errp);

/* Calls @fn for each fd, sets in ascending order, with the lock held. An empty
 * set (only duplicates are left) gives one call with fd -1. */
void fdset_foreach(void (*fn)(void *opaque, int64_t id, int fd,
                              const char *fd_opaque),
                   void *opaque);

/*
 * Monitors count as users of the sets: when the last client has gone, fds of
 * sets without duplicates are closed.
 */
void fdset_client_arrived(void);
void fdset_client_left(void);

/*
 * Files.
 */

/**
 * qemu_open: open(2), close-on-exec, that knows "/dev/fdset/N"
 *
 * Never creates. For writing: passes qemu_begin_write() before it is cut.
 * Returns an fd for qemu_close(), or -1 with errno kept and @errp naming the
 * path.
 */
int qemu_open(const char *path, int flags, Error **errp);
/* The same, made with @mode if it is not there yet (O_CREAT is added). */
int qemu_create(const char *path, int flags, mode_t mode, Error **errp);
/* All of it, by as many write(2) as that takes. @path: for the error. */
bool qemu_write_all(int fd, const void *buf, size_t len, const char *path,
                    Error **errp);
/* close(2) that tells the set; for any fd, also ones not of a set. */
int qemu_close(int fd);
/* "/dev/fdset/N" -> N; -1: it is no such path. */
int64_t qemu_fdset_id_from_path(const char *path);

bool qemu_set_cloexec(int fd);
bool qemu_set_blocking(int fd, bool block, Error **errp);

#endif /* QEMU_FD_STORE_H */
