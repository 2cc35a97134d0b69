/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BQL channel: see bql-channel.h for the contract. */
#include "qemu/osdep.h"

#include "qemu/main-loop.h"

#include "bql-channel.h"

typedef struct BqlChannel {
    QIOChannel parent;
    QIOChannel *below; /* referenced */
} BqlChannel;

static QIOChannel *below(QIOChannel *ioc)
{
    return ((BqlChannel *)ioc)->below;
}

/* The analysis cannot follow a lock that is given up only if it is held. */
static bool TSA_NO_CHECK give_up_bql(void)
{
    bool held = bql_locked();

    if (held) {
        bql_unlock();
    }
    return held;
}

static void TSA_NO_CHECK take_back_bql(bool held)
{
    if (held) {
        bql_lock();
    }
}

static ssize_t bql_channel_readv(QIOChannel *ioc, const struct iovec *iov,
                                 size_t niov, int **fds, size_t *nfds,
                                 int flags, Error **errp)
{
    bool held = give_up_bql();
    ssize_t ret = qio_channel_readv_full(below(ioc), iov, niov, fds, nfds,
                                         flags, errp);

    take_back_bql(held);
    return ret;
}

static ssize_t bql_channel_writev(QIOChannel *ioc, const struct iovec *iov,
                                  size_t niov, const int *fds, size_t nfds,
                                  Error **errp)
{
    bool held = give_up_bql();
    ssize_t ret = qio_channel_writev_full(below(ioc), iov, niov, fds, nfds,
                                          errp);

    take_back_bql(held);
    return ret;
}

static bool bql_channel_shutdown(QIOChannel *ioc, QIOChannelShutdown how,
                                 Error **errp)
{
    return qio_channel_shutdown(below(ioc), how, errp);
}

static bool bql_channel_close(QIOChannel *ioc, Error **errp)
{
    return qio_channel_close(below(ioc), errp);
}

static void bql_channel_finalize(QIOChannel *ioc)
{
    qio_channel_unref(below(ioc));
    g_free(ioc);
}

static const QIOChannelClass bql_channel_class = {
    .type_name = "incoming",
    .readv = bql_channel_readv,
    .writev = bql_channel_writev,
    .shutdown = bql_channel_shutdown,
    .close = bql_channel_close,
    .finalize = bql_channel_finalize,
};

QIOChannel *bql_channel_new(QIOChannel *ioc)
{
    BqlChannel *c = g_new0(BqlChannel, 1);

    qio_channel_init(&c->parent, &bql_channel_class, false);
    c->below = qio_channel_ref(ioc);
    qio_channel_set_name(&c->parent, qio_channel_get_name(ioc));
    if (qio_channel_has_feature(ioc, QIO_CHANNEL_FEATURE_DUPLEX)) {
        qio_channel_set_feature(&c->parent, QIO_CHANNEL_FEATURE_DUPLEX);
    }
    return &c->parent;
}
