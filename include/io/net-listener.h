/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Net listener: accept connections in the main loop.
 *
 * Listens on every address that a name resolves to (at least one must work);
 * with port 0 all use the port that the kernel chose for the first.
 *
 * Threads: main thread under the BQL only. The client function is called
 * there too. Used by: chardev/, monitor/, migration/. Uses: io, qapi.
 */
#ifndef IO_NET_LISTENER_H
#define IO_NET_LISTENER_H

#include "io/channel-socket.h"

typedef struct SocketAddressList SocketAddressList;
typedef struct QIONetListener QIONetListener;

/* @sioc is the listener's; take a reference to keep it. */
typedef void (*QIONetListenerClientFunc)(QIONetListener *listener,
                                         QIOChannelSocket *sioc, void *opaque);

QIONetListener *qio_net_listener_new(void);
/* Disconnects and frees; safe inside the client function. NULL: nothing. */
void qio_net_listener_free(QIONetListener *listener);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(QIONetListener, qio_net_listener_free)

void qio_net_listener_set_name(QIONetListener *listener, const char *name);

/**
 * qio_net_listener_open_sync: bind to @addr and start to listen
 *
 * @backlog: connections that may wait
 *
 * Connections wait in the kernel until a client function is set.
 */
bool qio_net_listener_open_sync(QIONetListener *listener,
                                const SocketAddress *addr, int backlog,
                                Error **errp);
/* Take over a listening socket (takes a reference). */
void qio_net_listener_add(QIONetListener *listener, QIOChannelSocket *sioc);

/* NULL @func: leave connections waiting. */
void qio_net_listener_set_client_func(QIONetListener *listener,
                                      QIONetListenerClientFunc func,
                                      void *opaque);
/* Close the sockets (unix paths are unlinked). Can be opened again. */
void qio_net_listener_disconnect(QIONetListener *listener);
bool qio_net_listener_is_connected(QIONetListener *listener);
/* What it is bound to, in order. The caller frees. */
SocketAddressList *qio_net_listener_get_addresses(QIONetListener *listener,
                                                  Error **errp);

#endif /* IO_NET_LISTENER_H */
