/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transport: from an address to channels, for either side of a migration.
 *
 *   URI                             channel                       as source / destination
 *   tcp:HOST:PORT, tcp:[V6]:PORT    connect / listen (port 0: any)
 *   unix:PATH                       connect / listen
 *   exec:CMD                        /bin/sh -c CMD, its stdin / stdout, both ways
 *   fd:N, fd:NAME                   a pipe or socket by number or from getfd
 *   file:PATH[,offset=N]            create / open; the first N bytes are not ours
 *   file:/dev/fdset/N[,offset=N]    a descriptor of that set, by access mode
 *
 * Nothing here blocks the main loop: what may take long (name resolution,
 * connecting, a fifo without its other end) happens in a thread of its own.
 *
 * Threads: main thread under the BQL.
 * Used by: migration/. Uses: io, qapi.
 */
#ifndef MIGRATION_TRANSPORT_H
#define MIGRATION_TRANSPORT_H

#include "io/channel.h"

typedef struct MigrationAddress MigrationAddress;
typedef struct MigrationChannel MigrationChannel;
typedef struct MigrationChannelList MigrationChannelList;
typedef struct SocketAddressList SocketAddressList;

/**
 * migration_uri_parse: the address that @uri means
 *
 * Returns NULL with an Error, also for a bad offset. The caller frees.
 */
MigrationAddress *migration_uri_parse(const char *uri, Error **errp);
/* The reverse, for messages. */
char *migration_address_uri(const MigrationAddress *addr);

/**
 * migration_channels_parse: the address in a command's arguments
 *
 * Exactly one of @uri and @channels must be there; an empty list is there. It
 * must be a single channel of type main. The caller frees.
 */
MigrationAddress *migration_channels_parse(const char *uri, bool has_channels,
                                           const MigrationChannelList *channels,
                                           Error **errp);

/* --- source --- */

typedef struct MigrationConnect MigrationConnect;

/*
 * In the main loop, never before migration_transport_connect() has returned,
 * exactly once unless cancelled before. @ioc: blocking, the callee's
 * reference; or NULL and @err, the callee's to free.
 */
typedef void (*MigrationConnectFunc)(QIOChannel *ioc, Error *err, void *opaque);

/**
 * migration_transport_connect: begin to open @addr for writing
 *
 * A file is made if need be, and cut off at the offset, so that nothing of an
 * older and longer one is left behind the stream; it must not be what backs
 * memory of this VM.
 *
 * What can be known at once (a directory that does not exist, a descriptor
 * that is none) fails at once: NULL with an Error, and @func is not called.
 * The handle is valid until @func begins or migration_connect_cancel().
 */
MigrationConnect *migration_transport_connect(const MigrationAddress *addr,
                                              MigrationConnectFunc func,
                                              void *opaque, Error **errp);
/* @func will not be called; a connection that comes late is dropped. */
void migration_connect_cancel(MigrationConnect *connect);

/* --- destination --- */

typedef struct MigrationListener MigrationListener;

/*
 * In the main loop, never before migration_transport_listen() has returned:
 * once per connection (sockets), once (others). @ioc: blocking, the callee's
 * reference.
 */
typedef void (*MigrationIncomingFunc)(QIOChannel *ioc, void *opaque);

/**
 * migration_transport_listen: begin to wait for the source
 *
 * @max_channels: how many connections are expected at once (backlog)
 *
 * exec:, fd: and fifos: @func is called once there are bytes (or an end) to
 * read, so that nothing waits for a peer that has not begun.
 */
MigrationListener *migration_transport_listen(const MigrationAddress *addr,
                                              unsigned max_channels,
                                              MigrationIncomingFunc func,
                                              void *opaque, Error **errp);
/* What tcp: and unix: are really bound to; NULL for the others. Freed by the
 * caller. */
SocketAddressList *migration_listener_addresses(MigrationListener *listener);
/* Stop accepting; channels handed out live on. NULL: nothing. May be called
 * inside @func. */
void migration_listener_free(MigrationListener *listener);

#endif /* MIGRATION_TRANSPORT_H */
