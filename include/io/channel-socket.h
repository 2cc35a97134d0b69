/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket channel: TCP (IPv4, IPv6) and unix stream sockets.
 *
 * Names are resolved by the calling thread and may take as long as the
 * resolver does; connecting and accepting end early on
 * qio_channel_shutdown(). TCP sockets get TCP_NODELAY (a migration writes
 * large pieces and then waits for an answer). A unix path that a listener
 * made is unlinked when the listener is closed.
 *
 * Used by: chardev/, monitor/, migration/. Uses: util, qapi (SocketAddress).
 */
#ifndef IO_CHANNEL_SOCKET_H
#define IO_CHANNEL_SOCKET_H

#include "io/channel.h"

typedef struct SocketAddress SocketAddress;
typedef struct QIOChannelSocket QIOChannelSocket;

/* Checked downcast: a channel of another kind is a bug and aborts. */
QIOChannelSocket *qio_channel_socket_cast(QIOChannel *ioc);
#define QIO_CHANNEL_SOCKET(ioc) qio_channel_socket_cast(QIO_CHANNEL(ioc))
bool qio_channel_is_socket(QIOChannel *ioc);

QIOChannelSocket *qio_channel_socket_new(void);

/**
 * qio_channel_socket_new_fd: a channel on a connected or listening socket
 *
 * Owns @fd from then on if it succeeds. Fails if it is not a stream socket.
 */
QIOChannelSocket *qio_channel_socket_new_fd(int fd, Error **errp);

/* Two ends connected to each other (unix). */
bool qio_channel_socket_new_pair(QIOChannelSocket **a, QIOChannelSocket **b,
                                 Error **errp);

/**
 * qio_channel_socket_connect_sync: connect, trying each resolved address
 *
 * @addr: inet, unix, or fd (a name of the fd store or a number)
 *
 * Waits; never call it in the main loop with anything but unix or fd.
 */
bool qio_channel_socket_connect_sync(QIOChannelSocket *sioc,
                                     const SocketAddress *addr, Error **errp);

/**
 * qio_channel_socket_listen_sync: bind to the first address that works
 *
 * An inet address with `to` tries the ports from `port` to `to`. Port 0: the
 * kernel chooses; qio_channel_socket_get_local_address() tells.
 */
bool qio_channel_socket_listen_sync(QIOChannelSocket *sioc,
                                    const SocketAddress *addr, int backlog,
                                    Error **errp);

/**
 * qio_channel_socket_accept: take the next connection
 *
 * Waits if the listener is blocking. Returns a new channel, or NULL: with an
 * Error, or without one when a non-blocking listener has none waiting (a
 * connection that was gone again before we took it counts as none).
 */
QIOChannelSocket *qio_channel_socket_accept(QIOChannelSocket *sioc,
                                            Error **errp);

/* What it is really bound / connected to. The caller frees. */
SocketAddress *qio_channel_socket_get_local_address(QIOChannelSocket *sioc,
                                                    Error **errp);
SocketAddress *qio_channel_socket_get_remote_address(QIOChannelSocket *sioc,
                                                     Error **errp);

/**
 * socket_parse: "HOST:PORT", "[V6]:PORT", ":PORT", "unix:PATH", "fd:NAME",
 *     "tcp:HOST:PORT" as an address
 *
 * After an inet address: ",ipv4=on|off,ipv6=on|off,to=N,keep-alive=on|off,
 * keep-alive-count=N,keep-alive-idle=S,keep-alive-interval=S,user-timeout=MS".
 * A host "" means any address when listening. Returns NULL with an Error.
 */
SocketAddress *socket_parse(const char *str, Error **errp);
/* The reverse: "tcp:127.0.0.1:4444", "tcp:[::1]:4444", "unix:/x", "fd:7". */
char *socket_uri(const SocketAddress *addr);

#endif /* IO_CHANNEL_SOCKET_H */
