/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transport, the destination's side: see transport.h.
 */
#include "qemu/osdep.h"

#include "io/net-listener.h"
#include "qemu/main-loop.h"

#include "transport-internal.h"
#include "transport.h"

/* Main thread only. */
struct MigrationListener {
    MigrationIncomingFunc func; /* NULL: freed by its owner */
    void *opaque;
    QIONetListener *net; /* tcp, unix */
    QIOChannel *ioc;     /* others, until it is handed out */
    guint watch;         /* on ioc, until it fires */
    bool scheduled;      /* hand_out is under way and will free */
};

static void destroy(MigrationListener *l)
{
    if (l->watch) {
        g_source_remove(l->watch);
    }
    qio_net_listener_free(l->net);
    qio_channel_unref(l->ioc);
    g_free(l);
}

static void hand_out(void *opaque)
{
    MigrationListener *l = opaque;

    if (l->func) {
        transport_warn_plaintext_peer(l->ioc, false);
        l->func(g_steal_pointer(&l->ioc), l->opaque);
    }
    l->scheduled = false;
    if (!l->func) {
        destroy(l);
    }
}

/* Out of the source's callback, which must not free what it belongs to. */
static void schedule_hand_out(MigrationListener *l)
{
    l->scheduled = true;
    aio_bh_schedule_oneshot(hand_out, l);
}

static gboolean bytes_arrived(QIOChannel *ioc, GIOCondition cond, void *opaque)
{
    MigrationListener *l = opaque;

    l->watch = 0;
    schedule_hand_out(l);
    return G_SOURCE_REMOVE;
}

static void client_arrived(QIONetListener *net, QIOChannelSocket *sioc,
                           void *opaque)
{
    MigrationListener *l = opaque;

    qio_channel_set_blocking(QIO_CHANNEL(sioc), true, &error_abort);
    l->func(qio_channel_ref(QIO_CHANNEL(sioc)), l->opaque);
}

static bool open_other(MigrationListener *l, const MigrationAddress *addr,
                       Error **errp)
{
    if (addr->transport == MIGRATION_ADDRESS_TYPE_EXEC) {
        l->ioc = transport_exec_open(&addr->u.exec, false, errp);
    } else if (addr->transport == MIGRATION_ADDRESS_TYPE_FILE) {
        l->ioc = transport_file_open(&addr->u.file, false, errp);
    } else {
        l->ioc = transport_fd_open(addr->u.socket.u.fd.str, false, errp);
    }
    if (!l->ioc) {
        return false;
    }
    if (qio_channel_has_feature(l->ioc, QIO_CHANNEL_FEATURE_SEEKABLE)) {
        schedule_hand_out(l);
    } else {
        l->watch = qio_channel_add_watch(l->ioc, G_IO_IN | G_IO_HUP,
                                         bytes_arrived, l);
    }
    return true;
}

MigrationListener *migration_transport_listen(const MigrationAddress *addr,
                                              unsigned max_channels,
                                              MigrationIncomingFunc func,
                                              void *opaque, Error **errp)
{
    MigrationListener *l = g_new0(MigrationListener, 1);
    g_autoptr(SocketAddressList) addresses = NULL;

    l->func = func;
    l->opaque = opaque;
    if (addr->transport != MIGRATION_ADDRESS_TYPE_SOCKET ||
        transport_is_fd(addr)) {
        if (!open_other(l, addr, errp)) {
            destroy(l);
            return NULL;
        }
        return l;
    }
    l->net = qio_net_listener_new();
    if (!qio_net_listener_open_sync(l->net, &addr->u.socket, max_channels,
                                    errp)) {
        destroy(l);
        return NULL;
    }
    addresses = qio_net_listener_get_addresses(l->net, NULL);
    transport_warn_plaintext_listen(addresses);
    qio_net_listener_set_client_func(l->net, client_arrived, l);
    return l;
}

SocketAddressList *migration_listener_addresses(MigrationListener *l)
{
    return l->net ? qio_net_listener_get_addresses(l->net, NULL) : NULL;
}

void migration_listener_free(MigrationListener *l)
{
    if (!l) {
        return;
    }
    l->func = NULL;
    if (!l->scheduled) {
        destroy(l);
    }
}
