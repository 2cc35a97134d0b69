/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transports, inside: how one kind of address becomes a channel.
 *
 * Used by: migration/transport*.c only.
 */
#ifndef MIGRATION_TRANSPORT_INTERNAL_H
#define MIGRATION_TRANSPORT_INTERNAL_H

#include "io/channel.h"
#include "qapi/qapi-types-migration.h"

/*
 * @outgoing: for the source. A fifo that nobody reads yet is not an error of
 * transport_file_open(): NULL without an Error, to be tried again.
 */
QIOChannel *transport_file_open(const FileMigrationArgs *args, bool outgoing,
                                Error **errp);
/* A pipe or connected socket by number or name; ours from then on. */
QIOChannel *transport_fd_open(const char *str, bool outgoing, Error **errp);
QIOChannel *transport_exec_open(const MigrationExecCommand *cmd, bool outgoing,
                                Error **errp);

/* Whether what is sent to @addr, or taken at it, may cross a network. */
bool transport_leaves_host(const SocketAddress *addr);
/*
 * Warn, once for each side in a process, if it may: nothing here is encrypted.
 * (A channel that is must not get here.) Main thread.
 */
void transport_warn_plaintext_peer(QIOChannel *ioc, bool outgoing);
void transport_warn_plaintext_listen(const SocketAddressList *list);

static inline bool transport_is_fd(const MigrationAddress *addr)
{
    return addr->transport == MIGRATION_ADDRESS_TYPE_SOCKET &&
           addr->u.socket.type == SOCKET_ADDRESS_TYPE_FD;
}

#endif /* MIGRATION_TRANSPORT_INTERNAL_H */
