/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * socket chardev: unix or TCP stream socket, server or client.
 *
 * A server has one client at a time; others wait in the kernel's backlog. A
 * client connects when made, or with reconnect-ms= in a thread of its own,
 * again and again. Descriptors pass both ways on unix sockets.
 *
 *   no connection --(accept | connect)--> connected --(peer leaves)--> no ...
 *
 * The states change in the front end's context only.
 */
#include "qemu/osdep.h"

#include <glib-unix.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "char-stream.h"
#include "io/channel-socket.h"
#include "qapi/qapi-types-sockets.h"
#include "qemu/fd-store.h"
#include "qemu/main-loop.h"
#include "qemu/tsan.h"

typedef struct SocketChardev SocketChardev;

/* A connect under way in a thread; outlives the chardev if need be. */
typedef struct ConnectJob {
    QemuMutex lock;
    SocketChardev *owner; /* guarded by lock; NULL: nobody cares any more */
    _Atomic int refs;
    SocketAddress *address; /* constant */
    GMainContext *context;  /* constant; the owner's: it cancels, then leaves */
    QIOChannelSocket *sioc; /* result, handed over by the idle source */
    Error *err;
} ConnectJob;

struct SocketChardev {
    StreamChardev parent;

    /* Constant after open. */
    SocketAddress *address;
    char *words; /* of it, for people */
    bool is_listen;
    bool is_unix;
    bool has_nodelay, nodelay;
    int64_t reconnect_ms; /* 0: never */

    /* Context thread; sources guarded by parent.parent.lock. */
    QIOChannelSocket *listener;
    GSource *listen_source;
    GSource *retry_source;
    ConnectJob *job;
    bool connected;
    bool said_error;
};

#define SOCKET(chr) container_of(chr, SocketChardev, parent.parent)

static void socket_expect_peer(SocketChardev *s);

/*
 * Waiting for a peer in the main loop happens only where someone asked for
 * it: a server's wait=on, a client without reconnect-ms. The guest must not
 * wait with us. Nothing of ours changes meanwhile: chardevs are made and
 * deleted by the main thread only.
 */
static bool TSA_NO_CHECK bql_leave(void)
{
    bool held = bql_locked();

    if (held) {
        bql_unlock();
    }
    return held;
}

static void TSA_NO_CHECK bql_rejoin(bool held)
{
    if (held) {
        bql_lock();
    }
}

static QIOChannelSocket *connect_now(const SocketAddress *address, Error **errp)
{
    QIOChannelSocket *sioc = qio_channel_socket_new();
    bool held = bql_leave();
    bool ok = qio_channel_socket_connect_sync(sioc, address, errp);

    bql_rejoin(held);
    if (!ok) {
        qio_channel_unref(QIO_CHANNEL(sioc));
        return NULL;
    }
    return sioc;
}

static void set_disconnected_words(SocketChardev *s)
{
    chr_set_filename(&s->parent.parent,
                     g_strdup_printf("disconnected:%s", s->words));
}

static char *peer_words(QIOChannelSocket *sioc, bool remote)
{
    SocketAddress *addr = remote ? qio_channel_socket_get_remote_address(sioc,
                                                                         NULL)
                                 : qio_channel_socket_get_local_address(sioc,
                                                                        NULL);
    char *words = addr ? socket_uri(addr) : g_strdup("?");

    qapi_free_SocketAddress(addr);
    return words;
}

static void set_connected_words(SocketChardev *s, QIOChannelSocket *sioc)
{
    g_autofree char *local = NULL, *remote = NULL;
    char *words;

    if (s->is_unix) {
        words = g_strdup(s->words);
    } else {
        local = peer_words(sioc, false);
        remote = peer_words(sioc, true);
        words = g_strdup_printf(
            "%s%s <-> %s", local, s->is_listen ? ",server=on" : "",
            g_str_has_prefix(remote, "tcp:") ? remote + 4 : remote);
    }
    chr_set_filename(&s->parent.parent, words);
}

/* Owns @sioc's reference. */
static void socket_connected(SocketChardev *s, QIOChannelSocket *sioc)
{
    Chardev *chr = &s->parent.parent;
    int fd = qio_channel_get_fd(QIO_CHANNEL(sioc), G_IO_IN);

    if (!s->is_unix && s->has_nodelay) {
        int on = s->nodelay;

        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    WITH_QEMU_LOCK_GUARD(&chr->lock)
    {
        stream_destroy_source(&s->listen_source);
        stream_destroy_source(&s->retry_source);
    }
    s->connected = true;
    s->said_error = false;
    set_connected_words(s, sioc);
    stream_set_channels(&s->parent, QIO_CHANNEL(sioc), QIO_CHANNEL(sioc));
}

static void socket_announce(SocketChardev *s)
{
    stream_watch(&s->parent);
    chr_event(&s->parent.parent, CHR_EVENT_OPENED);
}

static void socket_peer_gone(StreamChardev *stream)
{
    SocketChardev *s = container_of(stream, SocketChardev, parent);

    if (!s->connected) {
        return;
    }
    s->connected = false;
    stream_drop(stream);
    set_disconnected_words(s);
    socket_expect_peer(s);
    chr_event(&stream->parent, CHR_EVENT_CLOSED);
}

/*
 * Server
 */

static gboolean socket_accept_ready(gint fd, GIOCondition cond, gpointer opaque)
{
    SocketChardev *s = opaque;
    QIOChannelSocket *sioc;

    stream_woken(&s->parent);
    sioc = qio_channel_socket_accept(s->listener, NULL);
    if (sioc) {
        socket_connected(s, sioc);
        socket_announce(s);
    }
    return G_SOURCE_CONTINUE; /* means nothing if it was destroyed above */
}

static bool socket_wait_client(SocketChardev *s, Error **errp)
{
    QIOChannelSocket *sioc = NULL;
    Error *err = NULL;

    info_report("waiting for connection on: %s", s->words);
    while (!sioc && !err) {
        bool held = bql_leave();
        bool ok = qio_channel_wait(QIO_CHANNEL(s->listener), G_IO_IN, errp);

        bql_rejoin(held);
        if (!ok) {
            return false;
        }
        sioc = qio_channel_socket_accept(s->listener, &err);
    }
    if (err) {
        error_propagate(errp, err);
        return false;
    }
    socket_connected(s, sioc);
    return true;
}

static void socket_words_of_port(SocketChardev *s)
{
    if (s->address->type == SOCKET_ADDRESS_TYPE_INET) {
        g_autofree char *local = peer_words(s->listener, false);

        g_free(s->words); /* port 0 has become a real one */
        s->words = g_strdup_printf("%s,server=on", local);
    }
}

static bool socket_listen(SocketChardev *s, const ChardevOptions *o,
                          Error **errp)
{
    if (o->fd) {
        int fd = fd_store_param(o->fd, errp);

        s->listener = fd < 0 ? NULL : qio_channel_socket_new_fd(fd, errp);
        if (!s->listener) {
            return false;
        }
    } else {
        s->listener = qio_channel_socket_new();
        if (!qio_channel_socket_listen_sync(s->listener, s->address, 1, errp)) {
            return false;
        }
    }
    qio_channel_set_blocking(QIO_CHANNEL(s->listener), false, NULL);
    socket_words_of_port(s);
    return true;
}

/*
 * Client
 */

static void connect_job_unref(ConnectJob *job)
{
    if (atomic_fetch_sub(&job->refs, 1) == 1) {
        if (job->sioc) {
            qio_channel_unref(QIO_CHANNEL(job->sioc));
        }
        error_free(job->err);
        qemu_mutex_destroy(&job->lock);
        qapi_free_SocketAddress(job->address);
        g_free(job);
    }
}

static void socket_retry_later(SocketChardev *s);

/* In the context's thread, so the owner cannot be leaving meanwhile. */
static gboolean connect_job_done(gpointer opaque)
{
    ConnectJob *job = opaque;
    SocketChardev *s = NULL;

    tsan_acquire(job);
    WITH_QEMU_LOCK_GUARD(&job->lock)
    {
        s = job->owner;
    }
    if (s) {
        s->job = NULL;
        if (job->sioc) {
            socket_connected(s, g_steal_pointer(&job->sioc));
            socket_announce(s);
        } else {
            if (!s->said_error) {
                s->said_error = true;
                warn_report("chardev '%s': %s", s->parent.parent.label,
                            error_get_pretty(job->err));
            }
            socket_retry_later(s);
        }
        connect_job_unref(job); /* the owner's */
    }
    connect_job_unref(job); /* the thread's */
    return G_SOURCE_REMOVE;
}

static void *connect_job_thread(void *opaque)
{
    ConnectJob *job = opaque;
    bool wanted = false;

    job->sioc = connect_now(job->address, &job->err);
    WITH_QEMU_LOCK_GUARD(&job->lock)
    {
        if (job->owner) {
            GSource *idle = g_idle_source_new();

            g_source_set_callback(idle, connect_job_done, job, NULL);
            tsan_release(job);
            g_source_attach(idle, job->context);
            g_source_unref(idle);
            wanted = true;
        }
    }
    if (!wanted) {
        connect_job_unref(job);
    }
    return NULL;
}

static void socket_connect_async(SocketChardev *s)
{
    ConnectJob *job = g_new0(ConnectJob, 1);
    QemuThread thread;

    qemu_mutex_init(&job->lock);
    job->owner = s;
    job->refs = 2;
    job->address = qapi_SocketAddress_clone(s->address);
    job->context = chr_context(&s->parent.parent);
    s->job = job;
    if (!qemu_thread_create(&thread, "chr-connect", connect_job_thread, job,
                            QEMU_THREAD_DETACHED, NULL)) {
        s->job = NULL;
        connect_job_unref(job);
        connect_job_unref(job);
        socket_retry_later(s);
    }
}

static void connect_job_cancel(SocketChardev *s)
{
    if (s->job) {
        WITH_QEMU_LOCK_GUARD(&s->job->lock)
        {
            s->job->owner = NULL;
        }
        connect_job_unref(g_steal_pointer(&s->job));
    }
}

static gboolean socket_retry(gpointer opaque)
{
    SocketChardev *s = opaque;

    stream_woken(&s->parent);
    WITH_QEMU_LOCK_GUARD(&s->parent.parent.lock)
    {
        stream_destroy_source(&s->retry_source);
    }
    socket_connect_async(s);
    return G_SOURCE_REMOVE;
}

static void socket_retry_later(SocketChardev *s)
{
    Chardev *chr = &s->parent.parent;

    QEMU_LOCK_GUARD(&chr->lock);
    stream_attach_source(chr, &s->retry_source,
                         g_timeout_source_new(s->reconnect_ms), socket_retry,
                         s);
}

/*
 * Both
 */

/* Without a connection: watch the listener, or try again. */
static void socket_expect_peer(SocketChardev *s)
{
    Chardev *chr = &s->parent.parent;

    if (s->connected) {
        return;
    }
    if (s->is_listen) {
        int fd = qio_channel_get_fd(QIO_CHANNEL(s->listener), G_IO_IN);

        QEMU_LOCK_GUARD(&chr->lock);
        stream_attach_source(chr, &s->listen_source,
                             g_unix_fd_source_new(fd, G_IO_IN),
                             G_SOURCE_FUNC(socket_accept_ready), s);
    } else if (s->reconnect_ms && !s->job) {
        socket_retry_later(s);
    }
}

static void socket_context_leaving(StreamChardev *stream)
{
    SocketChardev *s = container_of(stream, SocketChardev, parent);

    connect_job_cancel(s);
    QEMU_LOCK_GUARD(&stream->parent.lock);
    stream_destroy_source(&s->listen_source);
    stream_destroy_source(&s->retry_source);
}

static void socket_context_changed(StreamChardev *stream)
{
    SocketChardev *s = container_of(stream, SocketChardev, parent);

    if (s->connected || s->is_listen) {
        socket_expect_peer(s);
    } else if (s->reconnect_ms) {
        socket_connect_async(s);
    }
}

static bool socket_check_options(const ChardevOptions *o, Error **errp)
{
    int addresses = (o->path != NULL) + (o->host || o->port) + (o->fd != NULL);

    if (o->telnet || o->tn3270 || o->websocket) {
        error_setg(errp,
                   "chardev: socket: %s is not supported, only plain "
                   "bytes are",
                   o->telnet   ? "telnet"
                   : o->tn3270 ? "tn3270"
                               : "websocket");
        return false;
    }
    if (o->tls_creds) {
        error_setg(errp, "chardev: socket: tls-creds is not supported");
        return false;
    }
    if (addresses != 1) {
        error_setg(errp, addresses ? "chardev: socket: 'path', 'host' and 'fd' "
                                     "exclude each other"
                                   : "chardev: socket: no address given");
        return false;
    }
    if (o->host && !o->port) {
        error_setg(errp, "chardev: socket: no port given");
        return false;
    }
    if (o->has_wait && o->wait && !o->server) {
        error_setg(errp, "'wait' option is incompatible with socket in client "
                         "connect mode");
        return false;
    }
    if ((o->has_reconnect || o->has_reconnect_ms) && o->server) {
        error_setg(errp, "'reconnect' option is incompatible with socket in "
                         "server listen mode");
        return false;
    }
    if (o->has_reconnect && o->has_reconnect_ms) {
        error_setg(errp, "'reconnect' and 'reconnect-ms' are mutually "
                         "exclusive");
        return false;
    }
    if (o->has_to && (!o->server || !o->port || o->to > UINT16_MAX)) {
        error_setg(errp, "'to' needs a listening TCP socket and is a port");
        return false;
    }
    if ((o->has_abstract || o->has_tight) && !o->path) {
        error_setg(errp, "'abstract' and 'tight' go with 'path' only");
        return false;
    }
    return true;
}

static SocketAddress *address_from_options(const ChardevOptions *o)
{
    SocketAddress *addr = g_new0(SocketAddress, 1);

    if (o->path) {
        addr->type = SOCKET_ADDRESS_TYPE_UNIX;
        addr->u.q_unix = (UnixSocketAddress){
            .path = g_strdup(o->path),
            .has_abstract = o->has_abstract,
            .abstract = o->abstract,
            .has_tight = o->has_tight,
            .tight = o->tight,
        };
    } else if (o->fd) {
        addr->type = SOCKET_ADDRESS_TYPE_FD;
        addr->u.fd.str = g_strdup(o->fd);
    } else {
        const char *host = o->host && *o->host ? o->host
                           : o->server         ? ""
                                               : "localhost";

        addr->type = SOCKET_ADDRESS_TYPE_INET;
        addr->u.inet = (InetSocketAddress){
            .host = g_strdup(host),
            .port = g_strdup(o->port),
            .has_to = o->has_to,
            .to = o->to,
            .has_ipv4 = o->has_ipv4,
            .ipv4 = o->ipv4,
            .has_ipv6 = o->has_ipv6,
            .ipv6 = o->ipv6,
        };
    }
    return addr;
}

/* "unix:/x,server=on", "unix:x,abstract=on", "tcp:[::1]:4444" */
static char *address_words(const SocketAddress *addr, bool server)
{
    g_autofree char *uri = socket_uri(addr);
    bool abstract = addr->type == SOCKET_ADDRESS_TYPE_UNIX &&
                    addr->u.q_unix.abstract;

    return g_strdup_printf("%s%s%s", uri, abstract ? ",abstract=on" : "",
                           server ? ",server=on" : "");
}

static bool socket_open(Chardev *chr, const ChardevOptions *o, bool *opened,
                        Error **errp)
{
    SocketChardev *s = SOCKET(chr);
    QIOChannelSocket *sioc;

    s->parent.peer_gone = socket_peer_gone;
    s->parent.context_leaving = socket_context_leaving;
    s->parent.context_changed = socket_context_changed;
    if (!socket_check_options(o, errp)) {
        return false;
    }
    s->is_listen = o->server;
    s->is_unix = o->path || o->fd;
    s->has_nodelay = o->has_nodelay || o->has_delay;
    s->nodelay = o->has_nodelay ? o->nodelay : !o->delay;
    s->reconnect_ms = o->has_reconnect ? (int64_t)o->reconnect * 1000
                                       : (int64_t)o->reconnect_ms;
    s->reconnect_ms = CLAMP(s->reconnect_ms, 0, INT_MAX);
    s->address = address_from_options(o);
    s->words = address_words(s->address, s->is_listen);
    *opened = false;
    if (s->is_listen) {
        if (!socket_listen(s, o, errp)) {
            return false;
        }
        set_disconnected_words(s);
        if (!o->has_wait || o->wait) {
            *opened = socket_wait_client(s, errp);
            return *opened;
        }
    } else if (s->reconnect_ms) {
        set_disconnected_words(s);
        socket_connect_async(s);
    } else {
        sioc = connect_now(s->address, errp);
        if (!sioc) {
            return false;
        }
        socket_connected(s, sioc);
        *opened = true;
        return true;
    }
    socket_expect_peer(s);
    return true;
}

static void socket_close(Chardev *chr)
{
    SocketChardev *s = SOCKET(chr);

    connect_job_cancel(s);
    WITH_QEMU_LOCK_GUARD(&chr->lock)
    {
        stream_destroy_source(&s->listen_source);
        stream_destroy_source(&s->retry_source);
    }
    stream_close(chr);
    if (s->listener) {
        qio_channel_unref(QIO_CHANNEL(s->listener)); /* unlinks its path */
    }
    qapi_free_SocketAddress(s->address);
    g_free(s->words);
}

static bool socket_wait_connected(Chardev *chr, Error **errp)
{
    SocketChardev *s = SOCKET(chr);
    QIOChannelSocket *sioc;

    if (s->connected) {
        return true;
    }
    if (s->is_listen) {
        if (!socket_wait_client(s, errp)) {
            return false;
        }
    } else {
        connect_job_cancel(s);
        sioc = connect_now(s->address, errp);
        if (!sioc) {
            socket_expect_peer(s);
            return false;
        }
        socket_connected(s, sioc);
    }
    socket_announce(s);
    return true;
}

static const char *const socket_options[] = {
    "path",      "host",      "port",         "fd",        "to",
    "ipv4",      "ipv6",      "server",       "wait",      "nodelay",
    "delay",     "reconnect", "reconnect-ms", "abstract",  "tight",
    "tls-creds", "telnet",    "tn3270",       "websocket", NULL,
};

const ChardevClass chardev_class_socket = {
    .name = "socket",
    .options = socket_options,
    .instance_size = sizeof(SocketChardev),
    .open = socket_open,
    .close = socket_close,
    .get_msgfds = stream_get_msgfds,
    .set_msgfds = stream_set_msgfds,
    .disconnect = stream_disconnect,
    .wait_connected = socket_wait_connected,
    STREAM_HOOKS,
};
