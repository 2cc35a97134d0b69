/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket addresses, inside: names to kernel addresses and back.
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
