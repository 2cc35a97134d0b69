/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transport, the source's side: see transport.h.
 *
 * An attempt has two owners, the main loop and (for sockets and fifos) a
 * thread that waits. The thread's last act is to hand the result to the main
 * loop; cancelling marks the attempt and wakes the thread, and whatever comes
 * then is dropped by the hand-over.
 */
#include "qemu/osdep.h"

#include "io/channel-socket.h"
#include "qemu/main-loop.h"
#include "qemu/thread.h"

#include "transport-internal.h"
#include "transport.h"

#define FIFO_RETRY_MS 20

struct MigrationConnect {
    /* Constant. */
    MigrationAddress *addr;
    MigrationConnectFunc func;
    void *opaque;
    QIOChannelSocket *sioc; /* what the thread connects, to wake it */

    _Atomic bool cancelled;

    /* The thread's until the hand-over, then the main loop's. */
    QIOChannel *ioc;
    Error *err;
};

/* In the main loop. */
static void hand_over(void *opaque)
{
    MigrationConnect *c = opaque;

    if (atomic_load(&c->cancelled)) {
        qio_channel_unref(c->ioc);
        error_free(c->err);
    } else {
        if (c->ioc) {
            transport_warn_plaintext_peer(c->ioc, true);
        }
        c->func(c->ioc, c->err, c->opaque);
    }
    if (c->sioc) {
        qio_channel_unref(QIO_CHANNEL(c->sioc));
    }
    qapi_free_MigrationAddress(c->addr);
    g_free(c);
}

static void *socket_thread(void *opaque)
{
    MigrationConnect *c = opaque;

    if (qio_channel_socket_connect_sync(c->sioc, &c->addr->u.socket, &c->err)) {
        c->ioc = qio_channel_ref(QIO_CHANNEL(c->sioc));
    }
    aio_bh_schedule_oneshot(hand_over, c);
    return NULL;
}

/* A fifo cannot be opened for writing before somebody reads, nor polled. */
static void *fifo_thread(void *opaque)
{
    MigrationConnect *c = opaque;

    while (!c->ioc && !c->err && !atomic_load(&c->cancelled)) {
        g_usleep(FIFO_RETRY_MS * 1000);
        c->ioc = transport_file_open(&c->addr->u.file, true, &c->err);
    }
    aio_bh_schedule_oneshot(hand_over, c);
    return NULL;
}

static bool run(MigrationConnect *c, void *(*fn)(void *), Error **errp)
{
    QemuThread thread;

    return qemu_thread_create(&thread, "mig-connect", fn, c,
                              QEMU_THREAD_DETACHED, errp);
}

static bool begin_connect(MigrationConnect *c, Error **errp)
{
    ERRP_GUARD();

    if (c->addr->transport == MIGRATION_ADDRESS_TYPE_EXEC) {
        c->ioc = transport_exec_open(&c->addr->u.exec, true, errp);
    } else if (transport_is_fd(c->addr)) {
        c->ioc = transport_fd_open(c->addr->u.socket.u.fd.str, true, errp);
    } else if (c->addr->transport == MIGRATION_ADDRESS_TYPE_FILE) {
        c->ioc = transport_file_open(&c->addr->u.file, true, errp);
        if (!c->ioc && !*errp) {
            return run(c, fifo_thread, errp);
        }
    } else {
        c->sioc = qio_channel_socket_new();
        return run(c, socket_thread, errp);
    }
    if (c->ioc) {
        aio_bh_schedule_oneshot(hand_over, c);
    }
    return c->ioc != NULL;
}

MigrationConnect *migration_transport_connect(const MigrationAddress *addr,
                                              MigrationConnectFunc func,
                                              void *opaque, Error **errp)
{
    MigrationConnect *c = g_new0(MigrationConnect, 1);

    c->addr = qapi_MigrationAddress_clone(addr);
    c->func = func;
    c->opaque = opaque;
    if (!begin_connect(c, errp)) {
        if (c->sioc) {
            qio_channel_unref(QIO_CHANNEL(c->sioc));
        }
        qapi_free_MigrationAddress(c->addr);
        g_free(c);
        return NULL;
    }
    return c;
}

void migration_connect_cancel(MigrationConnect *c)
{
    atomic_store(&c->cancelled, true);
    if (c->sioc) {
        qio_channel_shutdown(QIO_CHANNEL(c->sioc), QIO_CHANNEL_SHUTDOWN_BOTH,
                             NULL);
    }
}
