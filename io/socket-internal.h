/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets, inside: the channel itself; names to kernel addresses and back.
 *
 * Used by: io/ only.
 */
#ifndef IO_SOCKET_INTERNAL_H
#define IO_SOCKET_INTERNAL_H

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "io/channel-socket.h"
#include "qapi/qapi-types-sockets.h"

struct QIOChannelSocket {
    QIOChannel parent;
    _Atomic int fd; /* -1: none (yet) */
    /* The kernel gave the peer up, and told one of the threads that use it.
     * Set under call_lock, shared, which is held during calls that read and
     * write (none of them waits); who has to know takes it alone, and looks. */
    _Atomic bool timed_out;
    pthread_rwlock_t call_lock;
    char *unlink_path; /* a listener's path, ours to remove */
    dev_t unlink_dev;  /* as it was made: not if somebody replaced it */
    ino_t unlink_ino;
};

int qio_socket_fd(QIOChannelSocket *sioc);
/* An int option of SOL_SOCKET, or -1; and one that bytes can flow without. */
int qio_socket_get_option(int fd, int option);
void qio_socket_set_option(int fd, int level, int option, int value);
/* From now on @fd is @sioc's. */
void qio_socket_adopt_connected(QIOChannelSocket *sioc, int fd);
void qio_socket_adopt_listening(QIOChannelSocket *sioc, int fd);

/* How dead peers are noticed: whether the kernel takes it; make it so. */
bool socket_check_dead_peer(const InetSocketAddress *inet, Error **errp);
void socket_set_dead_peer(int fd, const InetSocketAddress *inet);

typedef struct addrinfo AddrInfo;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AddrInfo, freeaddrinfo)

/* Resolve; @passive: to listen ("" = any address). */
AddrInfo *socket_resolve(const InetSocketAddress *inet, bool passive,
                         Error **errp);
bool socket_unix_address(const UnixSocketAddress *addr, struct sockaddr_un *un,
                         socklen_t *len, Error **errp);
SocketAddress *socket_address_from_kernel(const struct sockaddr_storage *sa,
                                          socklen_t len, Error **errp);
void socket_set_port(struct sockaddr *sa, uint16_t port);
uint16_t socket_get_port(const struct sockaddr *sa);
/* The ports to try when listening: from `port` to `to`. */
bool socket_port_range(const InetSocketAddress *inet, uint16_t *first,
                       uint16_t *last, Error **errp);

/*
 * Listen on every address that @addr means; adds QIOChannelSocket references
 * to @out. At least one, or false with an Error.
 */
bool socket_listen_all(const SocketAddress *addr, int backlog, GPtrArray *out,
                       Error **errp);

#endif /* IO_SOCKET_INTERNAL_H */
