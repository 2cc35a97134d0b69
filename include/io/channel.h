/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Channel: a stream of bytes to or from somewhere, behind one interface.
 *
 * A channel is blocking when created (except one from accept, which takes the
 * listener's default: blocking too). In blocking mode a call waits until it
 * can move at least one byte; otherwise it returns QIO_CHANNEL_ERR_BLOCK.
 * Every wait, whatever is below (socket, pipe, fifo, child process, a connect
 * under way), ends when another thread calls qio_channel_shutdown(): the
 * waiting call then fails. A peer that goes away never raises SIGPIPE: a write
 * fails with an Error.
 *
 * Threads: one reader and one writer may be at work at the same time;
 * qio_channel_shutdown(), _ref() and _unref() may be called by any thread that
 * holds a reference. Everything else belongs to one thread at a time.
 * qio_channel_close() needs all other threads out of the channel: shut down,
 * join, then close. The last unref closes.
 *
 * Lengths: a return value > 0 is a number of bytes and may be less than asked
 * (short read or write); the _all forms loop.
 *
 * Used by: vmstate/, chardev/, monitor/, migration/. Uses: util, qapi.
 */
#ifndef IO_CHANNEL_H
#define IO_CHANNEL_H

#include "qemu/error.h"

/* Would block (only in non-blocking mode). No Error is set. */
#define QIO_CHANNEL_ERR_BLOCK (-2)

/* readv: look without taking (needs QIO_CHANNEL_FEATURE_READ_MSG_PEEK). */
#define QIO_CHANNEL_READ_FLAG_MSG_PEEK 0x1

typedef enum QIOChannelFeature {
    QIO_CHANNEL_FEATURE_FD_PASS,       /* fds travel beside the bytes */
    QIO_CHANNEL_FEATURE_SHUTDOWN,      /* one direction can be shut alone */
    QIO_CHANNEL_FEATURE_LISTEN,        /* accepts, carries no bytes */
    QIO_CHANNEL_FEATURE_READ_MSG_PEEK, /* bytes can be looked at first */
    QIO_CHANNEL_FEATURE_SEEKABLE,      /* has positions: seek, pread, pwrite */
    QIO_CHANNEL_FEATURE_DUPLEX,        /* carries bytes both ways */
} QIOChannelFeature;

typedef enum QIOChannelShutdown {
    QIO_CHANNEL_SHUTDOWN_READ = 1,
    QIO_CHANNEL_SHUTDOWN_WRITE = 2,
    QIO_CHANNEL_SHUTDOWN_BOTH = 3,
} QIOChannelShutdown;

/*
 * What one kind of channel does. @type_name, readv or writev, and finalize
 * are required; the rest may be NULL, and the matching call then fails with
 * an Error that says so. Implementations only; users call the functions below.
 */
typedef struct QIOChannelClass {
    const char *type_name; /* for messages: "socket", "file" ... */
    ssize_t (*readv)(QIOChannel *ioc, const struct iovec *iov, size_t niov,
                     int **fds, size_t *nfds, int flags, Error **errp);
    ssize_t (*writev)(QIOChannel *ioc, const struct iovec *iov, size_t niov,
                      const int *fds, size_t nfds, Error **errp);
    ssize_t (*preadv)(QIOChannel *ioc, const struct iovec *iov, size_t niov,
                      off_t offset, Error **errp);
    ssize_t (*pwritev)(QIOChannel *ioc, const struct iovec *iov, size_t niov,
                       off_t offset, Error **errp);
    off_t (*seek)(QIOChannel *ioc, off_t offset, int whence, Error **errp);
    bool (*shutdown)(QIOChannel *ioc, QIOChannelShutdown how, Error **errp);
    bool (*close)(QIOChannel *ioc, Error **errp);
    bool (*set_blocking)(QIOChannel *ioc, bool enabled, Error **errp);
    int (*get_fd)(QIOChannel *ioc, GIOCondition cond); /* to poll, or -1 */
    void (*finalize)(QIOChannel *ioc); /* close if open; free what is inside */
} QIOChannelClass;

/* The part that all channels share. Users touch nothing in it. */
struct QIOChannel {
    const QIOChannelClass *klass; /* constant */
    _Atomic unsigned refcount;
    unsigned features; /* bits; set while it is being made or connected */
    bool blocking;     /* owned by who calls set_blocking */
    char *name;        /* for messages; may be NULL */

    /* Set by qio_channel_shutdown(), never cleared: QIOChannelShutdown bits */
    _Atomic int shut;
    /* Readable once anything was shut: waits poll it. -1: not needed. */
    int wake_fd;
};

#define QIO_CHANNEL(obj) ((QIOChannel *)(obj))

QIOChannel *qio_channel_ref(QIOChannel *ioc);
void qio_channel_unref(QIOChannel *ioc); /* NULL: nothing */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(QIOChannel, qio_channel_unref)

bool qio_channel_has_feature(QIOChannel *ioc, QIOChannelFeature feature);
const char *qio_channel_get_name(QIOChannel *ioc); /* never NULL */
void qio_channel_set_name(QIOChannel *ioc, const char *name);

/**
 * qio_channel_readv_full: read what is there into @iov, and fds with it
 *
 * @fds, @nfds: NULL, or get a g_malloc'd array of received descriptors that
 *     the caller now owns (close-on-exec is set); untouched on failure, NULL
 *     and 0 if none came
 * @flags: QIO_CHANNEL_READ_FLAG_*
 *
 * With @fds NULL, descriptors that the peer sends are closed, not leaked.
 * Returns bytes; 0 at the end of the stream; -1 with an Error;
 * QIO_CHANNEL_ERR_BLOCK.
 */
ssize_t qio_channel_readv_full(QIOChannel *ioc, const struct iovec *iov,
                               size_t niov, int **fds, size_t *nfds, int flags,
                               Error **errp);

/**
 * qio_channel_writev_full: write what fits from @iov, and pass @fds with it
 *
 * @fds, @nfds: NULL and 0, or descriptors to pass; they stay the caller's
 *
 * Returns bytes; -1 with an Error; QIO_CHANNEL_ERR_BLOCK.
 */
ssize_t qio_channel_writev_full(QIOChannel *ioc, const struct iovec *iov,
                                size_t niov, const int *fds, size_t nfds,
                                Error **errp);

ssize_t qio_channel_readv(QIOChannel *ioc, const struct iovec *iov, size_t niov,
                          Error **errp);
ssize_t qio_channel_writev(QIOChannel *ioc, const struct iovec *iov,
                           size_t niov, Error **errp);
ssize_t qio_channel_read(QIOChannel *ioc, void *buf, size_t buflen,
                         Error **errp);
ssize_t qio_channel_write(QIOChannel *ioc, const void *buf, size_t buflen,
                          Error **errp);

/**
 * qio_channel_readv_all_eof: fill all of @iov
 *
 * Returns 1 when filled; 0 if the stream had ended before the first byte;
 * -1 with an Error, also if it ended in the middle. A non-blocking channel is
 * waited for (never in the main loop, please).
 */
int qio_channel_readv_all_eof(QIOChannel *ioc, const struct iovec *iov,
                              size_t niov, Error **errp);
/* The same with an end before the first byte being an error too. */
bool qio_channel_readv_all(QIOChannel *ioc, const struct iovec *iov,
                           size_t niov, Error **errp);
bool qio_channel_writev_all(QIOChannel *ioc, const struct iovec *iov,
                            size_t niov, Error **errp);
int qio_channel_read_all_eof(QIOChannel *ioc, void *buf, size_t buflen,
                             Error **errp);
bool qio_channel_read_all(QIOChannel *ioc, void *buf, size_t buflen,
                          Error **errp);
bool qio_channel_write_all(QIOChannel *ioc, const void *buf, size_t buflen,
                           Error **errp);
/* The fds travel with the first byte written. */
bool qio_channel_writev_full_all(QIOChannel *ioc, const struct iovec *iov,
                                 size_t niov, const int *fds, size_t nfds,
                                 Error **errp);

/*
 * At a position, without moving the channel's own (SEEKABLE only). Any number
 * of threads at once. Short counts happen, except in the _all forms.
 */
ssize_t qio_channel_pread(QIOChannel *ioc, void *buf, size_t buflen,
                          off_t offset, Error **errp);
ssize_t qio_channel_pwrite(QIOChannel *ioc, const void *buf, size_t buflen,
                           off_t offset, Error **errp);
ssize_t qio_channel_preadv(QIOChannel *ioc, const struct iovec *iov,
                           size_t niov, off_t offset, Error **errp);
ssize_t qio_channel_pwritev(QIOChannel *ioc, const struct iovec *iov,
                            size_t niov, off_t offset, Error **errp);
bool qio_channel_pread_all(QIOChannel *ioc, void *buf, size_t buflen,
                           off_t offset, Error **errp);
bool qio_channel_pwrite_all(QIOChannel *ioc, const void *buf, size_t buflen,
                            off_t offset, Error **errp);
/* @whence: SEEK_SET ... Returns the new position, or -1 with an Error. */
off_t qio_channel_io_seek(QIOChannel *ioc, off_t offset, int whence,
                          Error **errp);

bool qio_channel_set_blocking(QIOChannel *ioc, bool enabled, Error **errp);

/**
 * qio_channel_shutdown: end reading, writing or both, and wake who waits
 *
 * Any thread, any kind of channel, more than once. Where a direction cannot
 * be shut at the peer (pipe, file), it is shut for us: calls under way and
 * later ones fail. Reads after a shutdown of reading fail with an Error, they
 * do not look like an end of the stream. Fails only if the kernel does; the
 * waiters are woken nevertheless.
 */
bool qio_channel_shutdown(QIOChannel *ioc, QIOChannelShutdown how,
                          Error **errp);

/**
 * qio_channel_close: close and say whether that went well
 *
 * See the thread rule at the top. A second close does nothing. For a child
 * process: closes its pipes and waits for it; an exit code other than 0 is an
 * Error.
 */
bool qio_channel_close(QIOChannel *ioc, Error **errp);

/**
 * qio_channel_wait: wait until @cond (G_IO_IN or G_IO_OUT) may succeed
 *
 * Returns false with an Error if the channel was shut down meanwhile.
 */
bool qio_channel_wait(QIOChannel *ioc, GIOCondition cond, Error **errp);

/**
 * qio_channel_add_watch: call @func in the main loop whenever @cond holds
 *
 * @func: returns G_SOURCE_CONTINUE or G_SOURCE_REMOVE
 *
 * Holds a reference while the watch lives. Main thread. Returns the source's
 * id for g_source_remove(), or 0 if this kind of channel has no descriptor to
 * poll. Remove it before closing the channel.
 */
typedef gboolean (*QIOChannelFunc)(QIOChannel *ioc, GIOCondition cond,
                                   void *opaque);
guint qio_channel_add_watch(QIOChannel *ioc, GIOCondition cond,
                            QIOChannelFunc func, void *opaque);

/* The descriptor to poll for @cond, or -1. Still the channel's. */
int qio_channel_get_fd(QIOChannel *ioc, GIOCondition cond);

/* --- for implementations --- */

/* Set up the shared part with one reference; @wakeable makes wake_fd. */
void qio_channel_init(QIOChannel *ioc, const QIOChannelClass *klass,
                      bool wakeable);
void qio_channel_set_feature(QIOChannel *ioc, QIOChannelFeature feature);
/*
 * Wait on @fd for poll(2) @events or for a shutdown of @how. False with an
 * Error only in the latter case.
 */
bool qio_channel_wait_fd(QIOChannel *ioc, int fd, short events,
                         QIOChannelShutdown how, Error **errp);
/* True if @how was shut; then an Error is set that says so. */
bool qio_channel_check_shut(QIOChannel *ioc, QIOChannelShutdown how,
                            Error **errp);

/* Sum of lengths, saturating at SSIZE_MAX. */
size_t qio_iov_size(const struct iovec *iov, size_t niov);

#endif /* IO_CHANNEL_H */
