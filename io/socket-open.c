/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket channel: connecting, listening, accepting. See channel-socket.h.
 */
#include "qemu/osdep.h"

#include <netinet/in.h>
#include <poll.h>

#include "qemu/fd-store.h"

#include "socket-internal.h"

#define BACKLOG_RETRY_MS 10

/*
 * Connecting.
 */

/* Wait for a connect under way. 0, an errno, or -1 with an Error (shut). */
static int wait_connected(QIOChannelSocket *sioc, int fd, Error **errp)
{
    if (!qio_channel_wait_fd(&sioc->parent, fd, POLLOUT,
                             QIO_CHANNEL_SHUTDOWN_BOTH, errp)) {
        return -1;
    }
    return qio_socket_get_option(fd, SO_ERROR);
}

/* Returns the descriptor; or -1: *@os_errno, or 0 and an Error (shut). */
static int connect_one(QIOChannelSocket *sioc, const struct sockaddr *sa,
                       socklen_t len, int *os_errno, Error **errp)
{
    int fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    0);
    int err = fd < 0 ? errno : 0;

    while (fd >= 0 && connect(fd, sa, len) < 0) {
        err = errno;
        if (err == EAGAIN) {
            /* A unix listener's backlog is full: there is nothing to poll. */
            g_usleep(BACKLOG_RETRY_MS * 1000);
            if (qio_channel_check_shut(&sioc->parent, QIO_CHANNEL_SHUTDOWN_BOTH,
                                       errp)) {
                err = -1;
                break;
            }
            err = 0;
            continue;
        }
        if (err == EINPROGRESS || err == EINTR) {
            err = wait_connected(sioc, fd, errp);
        }
        break;
    }
    if (!err) {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    *os_errno = MAX(err, 0);
    return -1;
}

static bool connect_inet(QIOChannelSocket *sioc, const InetSocketAddress *inet,
                         Error **errp)
{
    g_autoptr(AddrInfo) list = NULL;
    int err = 0;

    if (!socket_check_dead_peer(inet, errp)) {
        return false;
    }
    list = socket_resolve(inet, false, errp);
    if (!list) {
        return false;
    }
    for (AddrInfo *ai = list; ai; ai = ai->ai_next) {
        int fd = connect_one(sioc, ai->ai_addr, ai->ai_addrlen, &err, errp);

        if (fd >= 0) {
            socket_set_dead_peer(fd, inet);
            qio_socket_adopt_connected(sioc, fd);
            return true;
        }
        if (err == 0) {
            return false;
        }
    }
    error_setg_errno(errp, err, "Failed to connect to '%s:%s'", inet->host,
                     inet->port);
    return false;
}

static bool connect_unix(QIOChannelSocket *sioc, const UnixSocketAddress *addr,
                         Error **errp)
{
    struct sockaddr_un un;
    socklen_t len;
    int fd, err = 0;

    if (!socket_unix_address(addr, &un, &len, errp)) {
        return false;
    }
    fd = connect_one(sioc, (struct sockaddr *)&un, len, &err, errp);
    if (fd < 0) {
        if (err) {
            error_setg_errno(errp, err, "Failed to connect to '%s'",
                             addr->path);
        }
        return false;
    }
    qio_socket_adopt_connected(sioc, fd);
    return true;
}

/* @listening: what kind of socket it must be. */
static bool take_over_fd(QIOChannelSocket *sioc, const char *str,
                         bool listening, Error **errp)
{
    int fd = fd_store_param(str, errp);

    if (fd < 0) {
        return false;
    }
    if (qio_socket_get_option(fd, SO_TYPE) != SOCK_STREAM ||
        qio_socket_get_option(fd, SO_ACCEPTCONN) != listening) {
        error_setg(errp, "File descriptor '%s' is no %s socket", str,
                   listening ? "listening" : "connected stream");
        close(fd);
        return false;
    }
    qemu_set_cloexec(fd);
    if (listening) {
        qio_socket_adopt_listening(sioc, fd);
    } else {
        qio_socket_adopt_connected(sioc, fd);
    }
    return true;
}

static void name_after(QIOChannelSocket *sioc, const SocketAddress *addr)
{
    g_autofree char *uri = socket_uri(addr);

    qio_channel_set_name(&sioc->parent, uri);
}

bool qio_channel_socket_connect_sync(QIOChannelSocket *sioc,
                                     const SocketAddress *addr, Error **errp)
{
    name_after(sioc, addr);
    switch (addr->type) {
    case SOCKET_ADDRESS_TYPE_INET:
        return connect_inet(sioc, &addr->u.inet, errp);
    case SOCKET_ADDRESS_TYPE_UNIX:
        return connect_unix(sioc, &addr->u.q_unix, errp);
    case SOCKET_ADDRESS_TYPE_FD:
        return take_over_fd(sioc, addr->u.fd.str, false, errp);
    default:
        g_assert_not_reached();
    }
}

/*
 * Listening.
 */

/* Returns a listening descriptor, or -1 with *@os_errno. */
static int bind_one(const struct sockaddr *sa, socklen_t len, int v6only,
                    int backlog, int *os_errno)
{
    int fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    0);

    if (fd < 0) {
        *os_errno = errno;
        return -1;
    }
    if (sa->sa_family != AF_UNIX) {
        qio_socket_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    }
    if (sa->sa_family == AF_INET6) {
        qio_socket_set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, v6only);
    }
    if (bind(fd, sa, len) < 0 || listen(fd, backlog) < 0) {
        *os_errno = errno;
        close(fd);
        return -1;
    }
    return fd;
}

static uint16_t bound_port(int fd)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof(ss);

    return getsockname(fd, (struct sockaddr *)&ss, &len) < 0
               ? 0
               : socket_get_port((struct sockaddr *)&ss);
}

static QIOChannelSocket *new_listening(int fd, const SocketAddress *addr)
{
    QIOChannelSocket *sioc = qio_channel_socket_new();

    name_after(sioc, addr);
    qio_socket_adopt_listening(sioc, fd);
    return sioc;
}

/*
 * All addresses in @list on one port: @port, or what the kernel chose for the
 * first. Returns how many; *@os_errno is the last failure.
 */
static size_t bind_list(AddrInfo *list, bool dual, uint16_t port, int backlog,
                        const SocketAddress *addr, GPtrArray *out,
                        int *os_errno)
{
    size_t n = 0;

    for (AddrInfo *ai = list; ai; ai = ai->ai_next) {
        int fd;

        socket_set_port(ai->ai_addr, port);
        fd = bind_one(ai->ai_addr, ai->ai_addrlen, !dual, backlog, os_errno);
        if (fd < 0) {
            continue;
        }
        /* What it accepts inherits these. */
        socket_set_dead_peer(fd, &addr->u.inet);
        port = bound_port(fd);
        g_ptr_array_add(out, new_listening(fd, addr));
        n++;
    }
    return n;
}

/* "" with both families allowed: one socket of IPv6 takes both. */
static bool is_any_address(const InetSocketAddress *inet)
{
    return !*inet->host && !inet->has_ipv4 && !inet->has_ipv6;
}

static bool listen_inet(const SocketAddress *addr, int backlog, GPtrArray *out,
                        Error **errp)
{
    const InetSocketAddress *inet = &addr->u.inet;
    g_autoptr(AddrInfo) list = NULL, both = NULL;
    uint16_t first, last;
    int err = 0;

    if (!socket_check_dead_peer(inet, errp) ||
        !socket_port_range(inet, &first, &last, errp)) {
        return false;
    }
    list = socket_resolve(inet, true, errp);
    if (!list) {
        return false;
    }
    if (is_any_address(inet)) {
        InetSocketAddress any = *inet;

        any.host = (char *)"::";
        both = socket_resolve(&any, true, NULL);
    }
    if (!g_ascii_isdigit(*inet->port)) {
        first = last = socket_get_port(list->ai_addr);
    }
    for (uint32_t port = first; port <= last; port++) {
        if ((both && bind_list(both, true, port, backlog, addr, out, &err)) ||
            bind_list(list, false, port, backlog, addr, out, &err)) {
            return true;
        }
    }
    error_setg_errno(errp, err, "Failed to listen on '%s:%s'", inet->host,
                     inet->port);
    return false;
}

static bool listen_unix(const SocketAddress *addr, int backlog, GPtrArray *out,
                        Error **errp)
{
    const UnixSocketAddress *ua = &addr->u.q_unix;
    bool in_fs = !(ua->has_abstract && ua->abstract);
    QIOChannelSocket *sioc;
    struct sockaddr_un un;
    struct stat st;
    socklen_t len;
    int fd, err = 0;

    if (!socket_unix_address(ua, &un, &len, errp)) {
        return false;
    }
    /* What a process that died has left behind; nothing but a socket. */
    if (in_fs && lstat(ua->path, &st) == 0 && S_ISSOCK(st.st_mode)) {
        unlink(ua->path);
    }
    fd = bind_one((struct sockaddr *)&un, len, 0, backlog, &err);
    if (fd < 0) {
        error_setg_errno(errp, err, "Failed to bind socket to %s", ua->path);
        return false;
    }
    sioc = new_listening(fd, addr);
    if (in_fs && lstat(ua->path, &st) == 0) {
        sioc->unlink_path = g_strdup(ua->path);
        sioc->unlink_dev = st.st_dev;
        sioc->unlink_ino = st.st_ino;
    }
    g_ptr_array_add(out, sioc);
    return true;
}

bool socket_listen_all(const SocketAddress *addr, int backlog, GPtrArray *out,
                       Error **errp)
{
    QIOChannelSocket *sioc;

    switch (addr->type) {
    case SOCKET_ADDRESS_TYPE_INET:
        return listen_inet(addr, backlog, out, errp);
    case SOCKET_ADDRESS_TYPE_UNIX:
        return listen_unix(addr, backlog, out, errp);
    case SOCKET_ADDRESS_TYPE_FD:
        sioc = qio_channel_socket_new();
        name_after(sioc, addr);
        if (!take_over_fd(sioc, addr->u.fd.str, true, errp)) {
            qio_channel_unref(QIO_CHANNEL(sioc));
            return false;
        }
        g_ptr_array_add(out, sioc);
        return true;
    default:
        g_assert_not_reached();
    }
}

bool qio_channel_socket_listen_sync(QIOChannelSocket *sioc,
                                    const SocketAddress *addr, int backlog,
                                    Error **errp)
{
    g_autoptr(GPtrArray)
        all = g_ptr_array_new_with_free_func((GDestroyNotify)qio_channel_unref);
    QIOChannelSocket *first;

    if (!socket_listen_all(addr, backlog, all, errp)) {
        return false;
    }
    /* Move what the first one has over to @sioc. */
    first = g_ptr_array_index(all, 0);
    name_after(sioc, addr);
    qio_socket_adopt_listening(sioc, atomic_exchange(&first->fd, -1));
    sioc->unlink_path = g_steal_pointer(&first->unlink_path);
    sioc->unlink_dev = first->unlink_dev;
    sioc->unlink_ino = first->unlink_ino;
    return true;
}

QIOChannelSocket *qio_channel_socket_accept(QIOChannelSocket *sioc,
                                            Error **errp)
{
    for (;;) {
        int fd = accept4(qio_socket_fd(sioc), NULL, NULL, SOCK_CLOEXEC);

        if (fd >= 0) {
            QIOChannelSocket *client = qio_channel_socket_new();

            qio_socket_adopt_connected(client, fd);
            qio_channel_set_name(&client->parent,
                                 qio_channel_get_name(&sioc->parent));
            return client;
        }
        if (errno == EINTR) {
            continue;
        }
        if (errno != EAGAIN && errno != ECONNABORTED) {
            int err = errno;

            if (!qio_channel_check_shut(&sioc->parent,
                                        QIO_CHANNEL_SHUTDOWN_READ, errp)) {
                error_setg_errno(errp, err, "Cannot accept on '%s'",
                                 qio_channel_get_name(&sioc->parent));
            }
            return NULL;
        }
        if (!sioc->parent.blocking) {
            return NULL;
        }
        if (!qio_channel_wait_fd(&sioc->parent, qio_socket_fd(sioc), POLLIN,
                                 QIO_CHANNEL_SHUTDOWN_READ, errp)) {
            return NULL;
        }
    }
}
