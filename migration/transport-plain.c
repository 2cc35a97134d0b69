/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who can read along: a warning where a guest's memory crosses a network as it
 * is. See transport-internal.h.
 */
#include "qemu/osdep.h"

#include <gio/gio.h>

#include "io/channel-socket.h"
#include "qapi/qapi-types-sockets.h"
#include "qemu/error.h"

#include "transport-internal.h"

/* The last 4 bytes of an IPv6 address that stands for an IPv4 one. */
static const uint8_t *mapped_v4(GInetAddress *a)
{
    static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };
    const uint8_t *bytes = g_inet_address_to_bytes(a);

    return g_inet_address_get_family(a) == G_SOCKET_FAMILY_IPV6 &&
                   !memcmp(bytes, prefix, sizeof(prefix))
               ? bytes + sizeof(prefix)
               : NULL;
}

bool transport_leaves_host(const SocketAddress *addr)
{
    g_autoptr(GInetAddress) a = NULL;
    const uint8_t *v4;

    if (addr->type != SOCKET_ADDRESS_TYPE_INET) {
        return false;
    }
    a = g_inet_address_new_from_string(addr->u.inet.host);
    if (!a) {
        return true; /* a name: what it means is not known */
    }
    v4 = mapped_v4(a);
    return !g_inet_address_get_is_loopback(a) && !(v4 && v4[0] == 127);
}

/* Once for each side: who knows does not want to hear it each time. */
static _Atomic bool warned[2];

static void warn_once(const SocketAddress *addr, bool outgoing)
{
    g_autofree char *uri = NULL;

    if (!transport_leaves_host(addr) ||
        atomic_exchange(&warned[outgoing], true)) {
        return;
    }
    uri = socket_uri(addr);
    warn_report("the migration %s '%s' is not encrypted: who is on the way can "
                "read and change the guest's memory",
                outgoing ? "to" : "at", uri);
}

void transport_warn_plaintext_peer(QIOChannel *ioc, bool outgoing)
{
    g_autoptr(SocketAddress) addr = NULL;

    if (qio_channel_is_socket(ioc)) {
        addr = qio_channel_socket_get_remote_address(QIO_CHANNEL_SOCKET(ioc),
                                                     NULL);
        if (addr) {
            warn_once(addr, outgoing);
        }
    }
}

void transport_warn_plaintext_listen(const SocketAddressList *list)
{
    for (; list; list = list->next) {
        warn_once(list->value, false);
    }
}
