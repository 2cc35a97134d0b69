/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket channel: see channel-socket.h for the contract. This file: bytes and
 * descriptors over a socket that exists; socket-open.c: how it comes to be.
 *
 * Every system call is made non-blocking (MSG_DONTWAIT, or O_NONBLOCK of a
 * socket that connects or listens), so that descriptors that other processes
 * share keep their mode.
 */
#include "qemu/osdep.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include "qemu/fd-store.h"

#include "fd-io.h"
#include "socket-internal.h"

/* Descriptors in one message, as many as QEMU takes. */
#define FDS_MAX          16
#define BACKLOG_RETRY_MS 10

static QIOChannelSocket *to_socket(QIOChannel *ioc)
{
    return container_of(ioc, QIOChannelSocket, parent);
}

int qio_socket_fd(QIOChannelSocket *sioc)
{
    return atomic_load_explicit(&sioc->fd, memory_order_relaxed);
}

/*
 * The kernel tells ETIMEDOUT once, to whichever thread asks next; the others
 * see an end or EPIPE. All of them say the same here: who sees such a thing
 * first waits until the calls that others are in are over, and noted.
 */
static void begin_call(QIOChannelSocket *sioc)
{
    pthread_rwlock_rdlock(&sioc->call_lock);
}

/* Keeps errno. */
static void end_call(QIOChannelSocket *sioc, ssize_t n)
{
    int err = errno;

    if (n < 0 && err == ETIMEDOUT) {
        atomic_store(&sioc->timed_out, true);
    }
    pthread_rwlock_unlock(&sioc->call_lock);
    errno = err;
}

/* After an end, or an error. */
static bool peer_is_dead(QIOChannelSocket *sioc, Error **errp)
{
    pthread_rwlock_wrlock(&sioc->call_lock);
    pthread_rwlock_unlock(&sioc->call_lock);
    if (!atomic_load(&sioc->timed_out)) {
        return false;
    }
    error_setg_errno(errp, ETIMEDOUT,
                     "The peer '%s' is dead or does not read: it answered "
                     "nothing for as long as keep-alive or user-timeout allow",
                     qio_channel_get_name(&sioc->parent));
    return true;
}

/*
 * Bytes and descriptors.
 */

static void take_fds(struct msghdr *msg, int **fds, size_t *nfds)
{
    GArray *got = g_array_new(false, false, sizeof(int));

    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            g_array_append_vals(got, CMSG_DATA(c),
                                (c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        }
    }
    *nfds = got->len;
    *fds = (int *)(void *)g_array_free(got, got->len == 0);
}

static ssize_t socket_readv(QIOChannel *ioc, const struct iovec *iov,
                            size_t niov, int **fds, size_t *nfds, int flags,
                            Error **errp)
{
    int fd = qio_socket_fd(to_socket(ioc));
    bool peek = flags & QIO_CHANNEL_READ_FLAG_MSG_PEEK;
    union {
        char bytes[CMSG_SPACE(sizeof(int) * FDS_MAX)];
        struct cmsghdr align;
    } control;

    for (;;) {
        struct msghdr msg = { .msg_iov = (struct iovec *)iov,
                              .msg_iovlen = niov };
        ssize_t n;

        /* Without room for them the kernel drops descriptors: no leak. */
        if (fds && !peek) {
            msg.msg_control = control.bytes;
            msg.msg_controllen = sizeof(control);
        }
        begin_call(to_socket(ioc));
        n = recvmsg(fd, &msg,
                    MSG_DONTWAIT | MSG_CMSG_CLOEXEC | (peek ? MSG_PEEK : 0));
        end_call(to_socket(ioc), n);
        if (n == 0 && peer_is_dead(to_socket(ioc), errp)) {
            return -1;
        }
        if (n >= 0) {
            if (fds) {
                take_fds(&msg, fds, nfds);
            }
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
            int err = errno;

            if (!peer_is_dead(to_socket(ioc), errp)) {
                error_setg_errno(errp, err, "Cannot read from '%s'",
                                 qio_channel_get_name(ioc));
            }
            return -1;
        }
    }
}

static ssize_t socket_writev(QIOChannel *ioc, const struct iovec *iov,
                             size_t niov, const int *fds, size_t nfds,
                             Error **errp)
{
    int fd = qio_socket_fd(to_socket(ioc));
    union {
        char bytes[CMSG_SPACE(sizeof(int) * FDS_MAX)];
        struct cmsghdr align;
    } control;
    struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = niov };

    if (nfds > FDS_MAX) {
        error_setg(errp, "%zu file descriptors at once, at most %d", nfds,
                   FDS_MAX);
        return -1;
    }
    if (nfds) {
        memset(&control, 0, sizeof(control));
        msg.msg_control = control.bytes;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
        control.align.cmsg_len = CMSG_LEN(sizeof(int) * nfds);
        control.align.cmsg_level = SOL_SOCKET;
        control.align.cmsg_type = SCM_RIGHTS;
        memcpy(CMSG_DATA(&control.align), fds, sizeof(int) * nfds);
    }
    for (;;) {
        ssize_t n;

        begin_call(to_socket(ioc));
        n = sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
        end_call(to_socket(ioc), n);
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
            int err = errno;

            if (!qio_channel_check_shut(ioc, QIO_CHANNEL_SHUTDOWN_WRITE,
                                        errp) &&
                !peer_is_dead(to_socket(ioc), errp)) {
                error_setg_errno(errp, err, "Cannot write to '%s'",
                                 qio_channel_get_name(ioc));
            }
            return -1;
        }
    }
}

static bool socket_shutdown(QIOChannel *ioc, QIOChannelShutdown how,
                            Error **errp)
{
    int fd = qio_socket_fd(to_socket(ioc));
    int kernel_how = how == QIO_CHANNEL_SHUTDOWN_READ    ? SHUT_RD
                     : how == QIO_CHANNEL_SHUTDOWN_WRITE ? SHUT_WR
                                                         : SHUT_RDWR;

    if (fd >= 0 && shutdown(fd, kernel_how) < 0 && errno != ENOTCONN) {
        error_setg_errno(errp, errno, "Cannot shut down '%s'",
                         qio_channel_get_name(ioc));
        return false;
    }
    return true;
}

static void unlink_own_path(QIOChannelSocket *sioc)
{
    struct stat st;

    if (sioc->unlink_path && lstat(sioc->unlink_path, &st) == 0 &&
        st.st_dev == sioc->unlink_dev && st.st_ino == sioc->unlink_ino) {
        unlink(sioc->unlink_path);
    }
    g_clear_pointer(&sioc->unlink_path, g_free);
}

static bool socket_close(QIOChannel *ioc, Error **errp)
{
    QIOChannelSocket *sioc = to_socket(ioc);
    int fd = atomic_exchange(&sioc->fd, -1);

    if (fd >= 0) {
        unlink_own_path(sioc);
        close(fd);
    }
    return true;
}

static int socket_get_fd(QIOChannel *ioc, GIOCondition cond)
{
    return qio_socket_fd(to_socket(ioc));
}

static void socket_finalize(QIOChannel *ioc)
{
    socket_close(ioc, NULL);
    pthread_rwlock_destroy(&to_socket(ioc)->call_lock);
    g_free(to_socket(ioc));
}

static const QIOChannelClass socket_class = {
    .type_name = "socket",
    .readv = socket_readv,
    .writev = socket_writev,
    .shutdown = socket_shutdown,
    .close = socket_close,
    .get_fd = socket_get_fd,
    .finalize = socket_finalize,
};

/*
 * Making.
 */

QIOChannelSocket *qio_channel_socket_new(void)
{
    QIOChannelSocket *sioc = g_new0(QIOChannelSocket, 1);

    qio_channel_init(&sioc->parent, &socket_class, true);
    atomic_init(&sioc->fd, -1);
    pthread_rwlock_init(&sioc->call_lock, NULL);
    return sioc;
}

bool qio_channel_is_socket(QIOChannel *ioc)
{
    return ioc->klass == &socket_class;
}

QIOChannelSocket *qio_channel_socket_cast(QIOChannel *ioc)
{
    assert(qio_channel_is_socket(ioc));
    return to_socket(ioc);
}

int qio_socket_get_option(int fd, int option)
{
    int value = -1;
    socklen_t len = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, option, &value, &len) < 0 ? -1 : value;
}

void qio_socket_set_option(int fd, int level, int option, int value)
{
    /* None of those we set is needed for bytes to flow. */
    (void)setsockopt(fd, level, option, &value, sizeof(value));
}

/* A connected socket: from now on @sioc has it. */
void qio_socket_adopt_connected(QIOChannelSocket *sioc, int fd)
{
    int domain = qio_socket_get_option(fd, SO_DOMAIN);

    qio_channel_set_feature(&sioc->parent, QIO_CHANNEL_FEATURE_SHUTDOWN);
    qio_channel_set_feature(&sioc->parent, QIO_CHANNEL_FEATURE_READ_MSG_PEEK);
    qio_channel_set_feature(&sioc->parent, QIO_CHANNEL_FEATURE_DUPLEX);
    if (domain == AF_UNIX) {
        qio_channel_set_feature(&sioc->parent, QIO_CHANNEL_FEATURE_FD_PASS);
    } else {
        qio_socket_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    }
    atomic_store(&sioc->fd, fd);
    /* Somebody may have shut us down before there was anything to shut. */
    if (atomic_load(&sioc->parent.shut)) {
        socket_shutdown(&sioc->parent, atomic_load(&sioc->parent.shut), NULL);
    }
}

void qio_socket_adopt_listening(QIOChannelSocket *sioc, int fd)
{
    qio_fd_set_nonblock(fd, true);
    qio_channel_set_feature(&sioc->parent, QIO_CHANNEL_FEATURE_LISTEN);
    atomic_store(&sioc->fd, fd);
}

QIOChannelSocket *qio_channel_socket_new_fd(int fd, Error **errp)
{
    QIOChannelSocket *sioc;
    g_autofree char *name = g_strdup_printf("fd:%d", fd);

    if (qio_socket_get_option(fd, SO_TYPE) != SOCK_STREAM) {
        error_setg(errp, "File descriptor %d is no stream socket", fd);
        return NULL;
    }
    sioc = qio_channel_socket_new();
    qemu_set_cloexec(fd);
    qio_channel_set_name(&sioc->parent, name);
    if (qio_socket_get_option(fd, SO_ACCEPTCONN) == 1) {
        qio_socket_adopt_listening(sioc, fd);
    } else {
        qio_socket_adopt_connected(sioc, fd);
    }
    return sioc;
}

bool qio_channel_socket_new_pair(QIOChannelSocket **a, QIOChannelSocket **b,
                                 Error **errp)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
        error_setg_errno(errp, errno, "Cannot make a pair of sockets");
        return false;
    }
    *a = qio_channel_socket_new();
    *b = qio_channel_socket_new();
    qio_socket_adopt_connected(*a, fds[0]);
    qio_socket_adopt_connected(*b, fds[1]);
    return true;
}

SocketAddress *qio_channel_socket_get_local_address(QIOChannelSocket *sioc,
                                                    Error **errp)
{
    struct sockaddr_storage ss = { 0 };
    socklen_t len = sizeof(ss);

    if (getsockname(qio_socket_fd(sioc), (struct sockaddr *)&ss, &len) < 0) {
        error_setg_errno(errp, errno, "Cannot tell where '%s' is bound",
                         qio_channel_get_name(&sioc->parent));
        return NULL;
    }
    return socket_address_from_kernel(&ss, len, errp);
}

SocketAddress *qio_channel_socket_get_remote_address(QIOChannelSocket *sioc,
                                                     Error **errp)
{
    struct sockaddr_storage ss = { 0 };
    socklen_t len = sizeof(ss);

    if (getpeername(qio_socket_fd(sioc), (struct sockaddr *)&ss, &len) < 0) {
        error_setg_errno(errp, errno, "Cannot tell the peer of '%s'",
                         qio_channel_get_name(&sioc->parent));
        return NULL;
    }
    return socket_address_from_kernel(&ss, len, errp);
}
