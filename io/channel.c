/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Channel, the part all kinds share: see channel.h for the contract.
 *
 * How a wait is woken: every wait is a poll(2) on the channel's descriptor and
 * on wake_fd, an eventfd that qio_channel_shutdown() makes readable for ever.
 * The descriptors themselves never block (O_NONBLOCK or MSG_DONTWAIT).
 */
#include "qemu/osdep.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <glib-unix.h>

#include "io/channel.h"

/* After one direction was shut, the other cannot wait on wake_fd any more. */
#define HALF_SHUT_POLL_MS 20

void qio_channel_init(QIOChannel *ioc, const QIOChannelClass *klass,
                      bool wakeable)
{
    ioc->klass = klass;
    atomic_init(&ioc->refcount, 1);
    ioc->features = 0;
    ioc->blocking = true;
    ioc->name = NULL;
    atomic_init(&ioc->shut, 0);
    ioc->wake_fd = -1;
    if (wakeable) {
        ioc->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        /* Out of descriptors: half-shut polling takes its place. */
    }
}

QIOChannel *qio_channel_ref(QIOChannel *ioc)
{
    atomic_fetch_add_explicit(&ioc->refcount, 1, memory_order_relaxed);
    return ioc;
}

void qio_channel_unref(QIOChannel *ioc)
{
    if (!ioc) {
        return;
    }
    /* acq_rel: what other holders did happens before finalize. */
    if (atomic_fetch_sub_explicit(&ioc->refcount, 1, memory_order_acq_rel) !=
        1) {
        return;
    }
    int wake_fd = ioc->wake_fd;
    char *name = ioc->name;

    ioc->klass->finalize(ioc);
    if (wake_fd >= 0) {
        close(wake_fd);
    }
    g_free(name);
}

void qio_channel_set_feature(QIOChannel *ioc, QIOChannelFeature feature)
{
    ioc->features |= 1u << feature;
}

bool qio_channel_has_feature(QIOChannel *ioc, QIOChannelFeature feature)
{
    return ioc->features & (1u << feature);
}

const char *qio_channel_get_name(QIOChannel *ioc)
{
    return ioc->name ? ioc->name : ioc->klass->type_name;
}

void qio_channel_set_name(QIOChannel *ioc, const char *name)
{
    g_free(ioc->name);
    ioc->name = g_strdup(name);
}

size_t qio_iov_size(const struct iovec *iov, size_t niov)
{
    size_t total = 0;

    for (size_t i = 0; i < niov; i++) {
        if (iov[i].iov_len > SSIZE_MAX - total) {
            return SSIZE_MAX;
        }
        total += iov[i].iov_len;
    }
    return total;
}

bool qio_channel_check_shut(QIOChannel *ioc, QIOChannelShutdown how,
                            Error **errp)
{
    /* acquire: pairs with the fetch_or in qio_channel_shutdown(). */
    if (!(atomic_load_explicit(&ioc->shut, memory_order_acquire) & how)) {
        return false;
    }
    error_setg_errno(errp, ECANCELED, "The channel '%s' was shut down",
                     qio_channel_get_name(ioc));
    return true;
}

bool qio_channel_wait_fd(QIOChannel *ioc, int fd, short events,
                         QIOChannelShutdown how, Error **errp)
{
    for (;;) {
        struct pollfd pfd[2] = { { .fd = fd, .events = events },
                                 { .fd = ioc->wake_fd, .events = POLLIN } };
        bool half;
        int n;

        if (qio_channel_check_shut(ioc, how, errp)) {
            return false;
        }
        half = ioc->wake_fd < 0 || atomic_load(&ioc->shut);
        n = poll(pfd, half ? 1 : 2, half ? HALF_SHUT_POLL_MS : -1);
        if (n > 0 && pfd[0].revents) {
            return true;
        }
    }
}

/*
 * Reading and writing.
 */

ssize_t qio_channel_readv_full(QIOChannel *ioc, const struct iovec *iov,
                               size_t niov, int **fds, size_t *nfds, int flags,
                               Error **errp)
{
    ssize_t n;

    if (!ioc->klass->readv) {
        error_setg(errp, "The channel '%s' cannot be read",
                   qio_channel_get_name(ioc));
        return -1;
    }
    if (fds && !qio_channel_has_feature(ioc, QIO_CHANNEL_FEATURE_FD_PASS)) {
        error_setg(errp, "The channel '%s' cannot carry file descriptors",
                   qio_channel_get_name(ioc));
        return -1;
    }
    if ((flags & QIO_CHANNEL_READ_FLAG_MSG_PEEK) &&
        !qio_channel_has_feature(ioc, QIO_CHANNEL_FEATURE_READ_MSG_PEEK)) {
        error_setg(errp, "The channel '%s' cannot be looked at before reading",
                   qio_channel_get_name(ioc));
        return -1;
    }
    if (qio_channel_check_shut(ioc, QIO_CHANNEL_SHUTDOWN_READ, errp)) {
        return -1;
    }
    n = ioc->klass->readv(ioc, iov, MIN(niov, (size_t)IOV_MAX), fds, nfds,
                          flags, errp);
    /* Our own shutdown looks like the peer's end from below. */
    if (n == 0 && qio_iov_size(iov, niov) > 0 &&
        qio_channel_check_shut(ioc, QIO_CHANNEL_SHUTDOWN_READ, errp)) {
        return -1;
    }
    return n;
}

ssize_t qio_channel_writev_full(QIOChannel *ioc, const struct iovec *iov,
                                size_t niov, const int *fds, size_t nfds,
                                Error **errp)
{
    if (!ioc->klass->writev) {
        error_setg(errp, "The channel '%s' cannot be written",
                   qio_channel_get_name(ioc));
        return -1;
    }
    if (nfds && !qio_channel_has_feature(ioc, QIO_CHANNEL_FEATURE_FD_PASS)) {
        error_setg(errp, "The channel '%s' cannot carry file descriptors",
                   qio_channel_get_name(ioc));
        return -1;
    }
    if (qio_channel_check_shut(ioc, QIO_CHANNEL_SHUTDOWN_WRITE, errp)) {
        return -1;
    }
    return ioc->klass->writev(ioc, iov, MIN(niov, (size_t)IOV_MAX), fds, nfds,
                              errp);
}

ssize_t qio_channel_readv(QIOChannel *ioc, const struct iovec *iov, size_t niov,
                          Error **errp)
{
    return qio_channel_readv_full(ioc, iov, niov, NULL, NULL, 0, errp);
}

ssize_t qio_channel_writev(QIOChannel *ioc, const struct iovec *iov,
                           size_t niov, Error **errp)
{
    return qio_channel_writev_full(ioc, iov, niov, NULL, 0, errp);
}

ssize_t qio_channel_read(QIOChannel *ioc, void *buf, size_t buflen,
                         Error **errp)
{
    struct iovec iov = { buf, buflen };

    return qio_channel_readv(ioc, &iov, 1, errp);
}

ssize_t qio_channel_write(QIOChannel *ioc, const void *buf, size_t buflen,
                          Error **errp)
{
    struct iovec iov = { (void *)buf, buflen };

    return qio_channel_writev(ioc, &iov, 1, errp);
}

/* A private copy of an iovec that can be eaten from the front. */
typedef struct IovCursor {
    struct iovec *all; /* what to free */
    struct iovec *iov;
    size_t niov;
} IovCursor;

static void iov_cursor_eat(IovCursor *c, size_t n)
{
    while (c->niov && n >= c->iov->iov_len) {
        n -= c->iov->iov_len;
        c->iov++;
        c->niov--;
    }
    if (n) {
        assert(c->niov);
        c->iov->iov_base = (char *)c->iov->iov_base + n;
        c->iov->iov_len -= n;
    }
}

static void iov_cursor_free(IovCursor *c)
{
    g_free(c->all);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IovCursor, iov_cursor_free)

static IovCursor iov_cursor(const struct iovec *iov, size_t niov)
{
    IovCursor c = { .niov = niov };

    c.all = c.iov = g_memdup2(iov, niov * sizeof(*iov));
    iov_cursor_eat(&c, 0); /* empty elements in front */
    return c;
}

int qio_channel_readv_all_eof(QIOChannel *ioc, const struct iovec *iov,
                              size_t niov, Error **errp)
{
    g_auto(IovCursor) c = iov_cursor(iov, niov);
    size_t total = qio_iov_size(iov, niov), done = 0;

    while (c.niov) {
        ssize_t n = qio_channel_readv(ioc, c.iov, c.niov, errp);

        if (n == QIO_CHANNEL_ERR_BLOCK) {
            if (!qio_channel_wait(ioc, G_IO_IN, errp)) {
                return -1;
            }
            continue;
        }
        if (n < 0) {
            return -1;
        }
        if (n == 0) {
            if (done == 0) {
                return 0;
            }
            error_setg(errp,
                       "The channel '%s' ended after %zu of %zu bytes that "
                       "were expected",
                       qio_channel_get_name(ioc), done, total);
            return -1;
        }
        done += n;
        iov_cursor_eat(&c, n);
    }
    return 1;
}

bool qio_channel_readv_all(QIOChannel *ioc, const struct iovec *iov,
                           size_t niov, Error **errp)
{
    int ret = qio_channel_readv_all_eof(ioc, iov, niov, errp);

    if (ret == 0) {
        error_setg(errp, "The channel '%s' ended where %zu bytes were expected",
                   qio_channel_get_name(ioc), qio_iov_size(iov, niov));
    }
    return ret == 1;
}

bool qio_channel_writev_full_all(QIOChannel *ioc, const struct iovec *iov,
                                 size_t niov, const int *fds, size_t nfds,
                                 Error **errp)
{
    g_auto(IovCursor) c = iov_cursor(iov, niov);

    while (c.niov) {
        ssize_t n = qio_channel_writev_full(ioc, c.iov, c.niov, fds, nfds,
                                            errp);

        if (n == QIO_CHANNEL_ERR_BLOCK) {
            if (!qio_channel_wait(ioc, G_IO_OUT, errp)) {
                return false;
            }
            continue;
        }
        if (n < 0) {
            return false;
        }
        if (n > 0) {
            nfds = 0;
        }
        iov_cursor_eat(&c, n);
    }
    return true;
}

bool qio_channel_writev_all(QIOChannel *ioc, const struct iovec *iov,
                            size_t niov, Error **errp)
{
    return qio_channel_writev_full_all(ioc, iov, niov, NULL, 0, errp);
}

int qio_channel_read_all_eof(QIOChannel *ioc, void *buf, size_t buflen,
                             Error **errp)
{
    struct iovec iov = { buf, buflen };

    return qio_channel_readv_all_eof(ioc, &iov, 1, errp);
}

bool qio_channel_read_all(QIOChannel *ioc, void *buf, size_t buflen,
                          Error **errp)
{
    struct iovec iov = { buf, buflen };

    return qio_channel_readv_all(ioc, &iov, 1, errp);
}

bool qio_channel_write_all(QIOChannel *ioc, const void *buf, size_t buflen,
                           Error **errp)
{
    struct iovec iov = { (void *)buf, buflen };

    return qio_channel_writev_all(ioc, &iov, 1, errp);
}

/*
 * Positions.
 */

static bool check_seekable(QIOChannel *ioc, const void *hook, Error **errp)
{
    if (hook && qio_channel_has_feature(ioc, QIO_CHANNEL_FEATURE_SEEKABLE)) {
        return true;
    }
    error_setg(errp, "The channel '%s' has no positions to seek",
               qio_channel_get_name(ioc));
    return false;
}

ssize_t qio_channel_preadv(QIOChannel *ioc, const struct iovec *iov,
                           size_t niov, off_t offset, Error **errp)
{
    if (!check_seekable(ioc, ioc->klass->preadv, errp) ||
        qio_channel_check_shut(ioc, QIO_CHANNEL_SHUTDOWN_READ, errp)) {
        return -1;
    }
    return ioc->klass->preadv(ioc, iov, MIN(niov, (size_t)IOV_MAX), offset,
                              errp);
}

ssize_t qio_channel_pwritev(QIOChannel *ioc, const struct iovec *iov,
                            size_t niov, off_t offset, Error **errp)
{
    if (!check_seekable(ioc, ioc->klass->pwritev, errp) ||
        qio_channel_check_shut(ioc, QIO_CHANNEL_SHUTDOWN_WRITE, errp)) {
        return -1;
    }
    return ioc->klass->pwritev(ioc, iov, MIN(niov, (size_t)IOV_MAX), offset,
                               errp);
}

ssize_t qio_channel_pread(QIOChannel *ioc, void *buf, size_t buflen,
                          off_t offset, Error **errp)
{
    struct iovec iov = { buf, buflen };

    return qio_channel_preadv(ioc, &iov, 1, offset, errp);
}

ssize_t qio_channel_pwrite(QIOChannel *ioc, const void *buf, size_t buflen,
                           off_t offset, Error **errp)
{
    struct iovec iov = { (void *)buf, buflen };

    return qio_channel_pwritev(ioc, &iov, 1, offset, errp);
}

bool qio_channel_pread_all(QIOChannel *ioc, void *buf, size_t buflen,
                           off_t offset, Error **errp)
{
    for (size_t done = 0; done < buflen;) {
        ssize_t n = qio_channel_pread(ioc, (char *)buf + done, buflen - done,
                                      offset + (off_t)done, errp);

        if (n < 0) {
            return false;
        }
        if (n == 0) {
            error_setg(errp,
                       "'%s' ends at %lld, where %zu more bytes were expected",
                       qio_channel_get_name(ioc),
                       (long long)offset + (long long)done, buflen - done);
            return false;
        }
        done += n;
    }
    return true;
}

bool qio_channel_pwrite_all(QIOChannel *ioc, const void *buf, size_t buflen,
                            off_t offset, Error **errp)
{
    for (size_t done = 0; done < buflen;) {
        ssize_t n = qio_channel_pwrite(ioc, (const char *)buf + done,
                                       buflen - done, offset + (off_t)done,
                                       errp);

        if (n < 0) {
            return false;
        }
        done += n;
    }
    return true;
}

off_t qio_channel_io_seek(QIOChannel *ioc, off_t offset, int whence,
                          Error **errp)
{
    if (!check_seekable(ioc, ioc->klass->seek, errp)) {
        return -1;
    }
    return ioc->klass->seek(ioc, offset, whence, errp);
}

/*
 * State.
 */

bool qio_channel_set_blocking(QIOChannel *ioc, bool enabled, Error **errp)
{
    if (ioc->klass->set_blocking &&
        !ioc->klass->set_blocking(ioc, enabled, errp)) {
        return false;
    }
    ioc->blocking = enabled;
    return true;
}

bool qio_channel_shutdown(QIOChannel *ioc, QIOChannelShutdown how, Error **errp)
{
    bool ok = true;

    /* Before the wake-up, so that a woken thread sees why. */
    atomic_fetch_or(&ioc->shut, how);
    if (ioc->klass->shutdown) {
        ok = ioc->klass->shutdown(ioc, how, errp);
    }
    if (ioc->wake_fd >= 0) {
        uint64_t one = 1;
        ssize_t n = write(ioc->wake_fd, &one, sizeof(one));

        (void)n; /* cannot fail but by being full, which is readable too */
    }
    return ok;
}

bool qio_channel_close(QIOChannel *ioc, Error **errp)
{
    return ioc->klass->close ? ioc->klass->close(ioc, errp) : true;
}

int qio_channel_get_fd(QIOChannel *ioc, GIOCondition cond)
{
    return ioc->klass->get_fd ? ioc->klass->get_fd(ioc, cond) : -1;
}

bool qio_channel_wait(QIOChannel *ioc, GIOCondition cond, Error **errp)
{
    int fd = qio_channel_get_fd(ioc, cond);
    short events = (cond & G_IO_IN ? POLLIN : 0) |
                   (cond & G_IO_OUT ? POLLOUT : 0);
    int how = (cond & G_IO_IN ? QIO_CHANNEL_SHUTDOWN_READ : 0) |
              (cond & G_IO_OUT ? QIO_CHANNEL_SHUTDOWN_WRITE : 0);

    if (fd < 0) {
        return !qio_channel_check_shut(ioc, how, errp);
    }
    return qio_channel_wait_fd(ioc, fd, events, how, errp);
}

typedef struct Watch {
    QIOChannel *ioc;
    QIOChannelFunc func;
    void *opaque;
} Watch;

static gboolean watch_dispatch(gint fd, GIOCondition cond, gpointer opaque)
{
    Watch *w = opaque;

    return w->func(w->ioc, cond, w->opaque);
}

static void watch_free(gpointer opaque)
{
    Watch *w = opaque;

    qio_channel_unref(w->ioc);
    g_free(w);
}

guint qio_channel_add_watch(QIOChannel *ioc, GIOCondition cond,
                            QIOChannelFunc func, void *opaque)
{
    int fd = qio_channel_get_fd(ioc, cond);
    Watch *w;

    if (fd < 0) {
        return 0;
    }
    w = g_new(Watch, 1);
    *w = (Watch){ qio_channel_ref(ioc), func, opaque };
    return g_unix_fd_add_full(G_PRIORITY_DEFAULT, fd, cond, watch_dispatch, w,
                              watch_free);
}
