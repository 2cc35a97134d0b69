/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Net listener: see net-listener.h for the contract.
 */
#include "qemu/osdep.h"

#include "io/net-listener.h"
#include "qapi/qapi-types-sockets.h"

#include "socket-internal.h"

struct QIONetListener {
    unsigned refcount; /* one for the owner, one for a call under way */
    char *name;
    GPtrArray *sockets; /* QIOChannelSocket, listening */
    GArray *watches;    /* guint, one per socket while there is a client func */
    QIONetListenerClientFunc func;
    void *opaque;
    bool failing; /* the last accept failed, and that was said */
};

QIONetListener *qio_net_listener_new(void)
{
    QIONetListener *l = g_new0(QIONetListener, 1);

    l->refcount = 1;
    l->sockets = g_ptr_array_new_with_free_func(
        (GDestroyNotify)qio_channel_unref);
    l->watches = g_array_new(false, false, sizeof(guint));
    return l;
}

static void listener_unref(QIONetListener *l)
{
    if (--l->refcount) {
        return;
    }
    g_ptr_array_unref(l->sockets);
    g_array_unref(l->watches);
    g_free(l->name);
    g_free(l);
}

void qio_net_listener_free(QIONetListener *l)
{
    if (l) {
        qio_net_listener_disconnect(l);
        l->func = NULL;
        listener_unref(l);
    }
}

void qio_net_listener_set_name(QIONetListener *l, const char *name)
{
    g_free(l->name);
    l->name = g_strdup(name);
}

static gboolean listener_ready(QIOChannel *ioc, GIOCondition cond, void *opaque)
{
    QIONetListener *l = opaque;
    g_autoptr(Error) err = NULL;
    QIOChannelSocket *client = qio_channel_socket_accept(
        QIO_CHANNEL_SOCKET(ioc), &err);

    if (err) {
        /* Out of descriptors, most likely: say it once, and do not spin. */
        if (!l->failing) {
            warn_report("%s", error_get_pretty(err));
        }
        l->failing = true;
        g_usleep(1000);
        return G_SOURCE_CONTINUE;
    }
    l->failing = false;
    if (!client) {
        return G_SOURCE_CONTINUE;
    }
    if (l->name) {
        qio_channel_set_name(QIO_CHANNEL(client), l->name);
    }
    l->refcount++;
    if (l->func) {
        l->func(l, client, l->opaque);
    }
    listener_unref(l);
    qio_channel_unref(QIO_CHANNEL(client));
    /* If the client function removed this watch, the value does not matter. */
    return G_SOURCE_CONTINUE;
}

static void remove_watches(QIONetListener *l)
{
    for (guint i = 0; i < l->watches->len; i++) {
        g_source_remove(g_array_index(l->watches, guint, i));
    }
    g_array_set_size(l->watches, 0);
}

static void add_watches(QIONetListener *l)
{
    remove_watches(l);
    for (guint i = 0; l->func && i < l->sockets->len; i++) {
        guint id = qio_channel_add_watch(g_ptr_array_index(l->sockets, i),
                                         G_IO_IN, listener_ready, l);

        g_array_append_val(l->watches, id);
    }
}

void qio_net_listener_add(QIONetListener *l, QIOChannelSocket *sioc)
{
    qio_channel_set_blocking(QIO_CHANNEL(sioc), false, &error_abort);
    g_ptr_array_add(l->sockets, qio_channel_ref(QIO_CHANNEL(sioc)));
    add_watches(l);
}

bool qio_net_listener_open_sync(QIONetListener *l, const SocketAddress *addr,
                                int backlog, Error **errp)
{
    g_autoptr(GPtrArray)
        all = g_ptr_array_new_with_free_func((GDestroyNotify)qio_channel_unref);

    if (!socket_listen_all(addr, backlog, all, errp)) {
        return false;
    }
    for (guint i = 0; i < all->len; i++) {
        qio_net_listener_add(l, g_ptr_array_index(all, i));
    }
    return true;
}

void qio_net_listener_set_client_func(QIONetListener *l,
                                      QIONetListenerClientFunc func,
                                      void *opaque)
{
    l->func = func;
    l->opaque = opaque;
    add_watches(l);
}

void qio_net_listener_disconnect(QIONetListener *l)
{
    remove_watches(l);
    for (guint i = 0; i < l->sockets->len; i++) {
        qio_channel_close(g_ptr_array_index(l->sockets, i), NULL);
    }
    g_ptr_array_set_size(l->sockets, 0);
}

bool qio_net_listener_is_connected(QIONetListener *l)
{
    return l->sockets->len > 0;
}

SocketAddressList *qio_net_listener_get_addresses(QIONetListener *l,
                                                  Error **errp)
{
    SocketAddressList *list = NULL, **tail = &list;

    for (guint i = 0; i < l->sockets->len; i++) {
        SocketAddress *addr = qio_channel_socket_get_local_address(
            g_ptr_array_index(l->sockets, i), errp);

        if (!addr) {
            qapi_free_SocketAddressList(list);
            return NULL;
        }
        QAPI_LIST_APPEND(tail, addr);
    }
    return list;
}
