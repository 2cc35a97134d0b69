/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fault channel: see channel-fault.h for the contract.
 */
#include "qemu/osdep.h"

#include "io/channel-fault.h"
#include "qemu/cutils.h"

#define RANDOM_CHUNK_DEFAULT 4096
#define NAP_US               1000

/* One direction; owned by its thread, except @bytes. */
typedef struct FaultState {
    const QIOFaultDirection *plan;
    QIOChannelShutdown how;
    _Atomic uint64_t bytes; /* let through */
    uint64_t calls;
    uint32_t random;
} FaultState;

typedef struct QIOChannelFault {
    QIOChannel parent;
    QIOChannel *below;
    QIOFaultPlan plan;
    FaultState rd, wr;
} QIOChannelFault;

static QIOChannelFault *to_fault(QIOChannel *ioc)
{
    return container_of(ioc, QIOChannelFault, parent);
}

static uint32_t next_random(FaultState *s)
{
    s->random = s->random * UINT32_C(1664525) + UINT32_C(1013904223);
    return s->random >> 8;
}

/* False with an Error: shut down meanwhile. */
static bool nap(QIOChannel *ioc, FaultState *s, uint64_t us, Error **errp)
{
    for (uint64_t slept = 0; slept < us; slept += NAP_US) {
        if (qio_channel_check_shut(ioc, s->how, errp)) {
            return false;
        }
        g_usleep(MIN(us - slept, (uint64_t)NAP_US));
    }
    return true;
}

enum {
    FAULT_PASS,
    FAULT_CUT,
    FAULT_FAIL,
    FAULT_BLOCK
};

/*
 * What happens to the next call: FAULT_PASS with the most bytes it may move in
 * *@max; FAULT_FAIL with an Error.
 */
static int next_call(QIOChannel *ioc, FaultState *s, size_t *max, Error **errp)
{
    const QIOFaultDirection *p = s->plan;
    uint64_t at = atomic_load(&s->bytes);
    uint64_t stop = MIN(MIN(p->stall_at, p->cut_at), p->error_at);

    s->calls++;
    if (p->delay_us && !nap(ioc, s, p->delay_us, errp)) {
        return FAULT_FAIL;
    }
    if (at >= stop) {
        if (at >= p->error_at) {
            error_setg_errno(errp, EIO, "Injected failure at byte %" PRIu64,
                             at);
            return FAULT_FAIL;
        }
        if (at >= p->cut_at) {
            return FAULT_CUT;
        }
        nap(ioc, s, UINT64_MAX, errp);
        return FAULT_FAIL;
    }
    if (p->block_every && s->calls % p->block_every == 0 && !ioc->blocking) {
        return FAULT_BLOCK;
    }
    *max = stop - at;
    if (p->random_chunk) {
        size_t most = p->max_chunk ? p->max_chunk : RANDOM_CHUNK_DEFAULT;

        *max = MIN(*max, next_random(s) % most + 1);
    } else if (p->max_chunk) {
        *max = MIN(*max, p->max_chunk);
    }
    return FAULT_PASS;
}

/* The first @max bytes of @iov, as a new array. */
static struct iovec *cut_iov(const struct iovec *iov, size_t *niov, size_t max)
{
    struct iovec *cut = g_memdup2(iov, *niov * sizeof(*iov));

    for (size_t i = 0; i < *niov; i++) {
        cut[i].iov_len = MIN(cut[i].iov_len, max);
        max -= cut[i].iov_len;
    }
    return cut;
}

static void do_cut(QIOChannelFault *fc)
{
    if (fc->plan.cut_shuts) {
        qio_channel_shutdown(fc->below, QIO_CHANNEL_SHUTDOWN_BOTH, NULL);
    }
}

static ssize_t fault_readv(QIOChannel *ioc, const struct iovec *iov,
                           size_t niov, int **fds, size_t *nfds, int flags,
                           Error **errp)
{
    QIOChannelFault *fc = to_fault(ioc);
    g_autofree struct iovec *cut = NULL;
    size_t max = 0;
    ssize_t n;

    switch (next_call(ioc, &fc->rd, &max, errp)) {
    case FAULT_CUT:
        do_cut(fc);
        return 0;
    case FAULT_FAIL:
        return -1;
    case FAULT_BLOCK:
        return QIO_CHANNEL_ERR_BLOCK;
    }
    cut = cut_iov(iov, &niov, max);
    n = qio_channel_readv_full(fc->below, cut, niov, fds, nfds, flags, errp);
    if (n > 0 && !(flags & QIO_CHANNEL_READ_FLAG_MSG_PEEK)) {
        atomic_fetch_add(&fc->rd.bytes, n);
    }
    return n;
}

static ssize_t fault_writev(QIOChannel *ioc, const struct iovec *iov,
                            size_t niov, const int *fds, size_t nfds,
                            Error **errp)
{
    QIOChannelFault *fc = to_fault(ioc);
    g_autofree struct iovec *cut = NULL;
    size_t max = 0;
    ssize_t n;

    switch (next_call(ioc, &fc->wr, &max, errp)) {
    case FAULT_CUT:
        do_cut(fc);
        error_setg_errno(errp, EPIPE, "Injected cut at byte %" PRIu64,
                         atomic_load(&fc->wr.bytes));
        return -1;
    case FAULT_FAIL:
        return -1;
    case FAULT_BLOCK:
        return QIO_CHANNEL_ERR_BLOCK;
    }
    cut = cut_iov(iov, &niov, max);
    n = qio_channel_writev_full(fc->below, cut, niov, fds, nfds, errp);
    if (n > 0) {
        atomic_fetch_add(&fc->wr.bytes, n);
    }
    return n;
}

static bool fault_shutdown(QIOChannel *ioc, QIOChannelShutdown how,
                           Error **errp)
{
    return qio_channel_shutdown(to_fault(ioc)->below, how, errp);
}

static bool fault_close(QIOChannel *ioc, Error **errp)
{
    return qio_channel_close(to_fault(ioc)->below, errp);
}

static bool fault_set_blocking(QIOChannel *ioc, bool enabled, Error **errp)
{
    return qio_channel_set_blocking(to_fault(ioc)->below, enabled, errp);
}

static int fault_get_fd(QIOChannel *ioc, GIOCondition cond)
{
    return qio_channel_get_fd(to_fault(ioc)->below, cond);
}

static void fault_finalize(QIOChannel *ioc)
{
    QIOChannelFault *fc = to_fault(ioc);

    qio_channel_unref(fc->below);
    g_free(fc);
}

static const QIOChannelClass fault_class = {
    .type_name = "fault",
    .readv = fault_readv,
    .writev = fault_writev,
    .shutdown = fault_shutdown,
    .close = fault_close,
    .set_blocking = fault_set_blocking,
    .get_fd = fault_get_fd,
    .finalize = fault_finalize,
};

QIOChannel *qio_channel_fault_new(QIOChannel *below, const QIOFaultPlan *plan)
{
    QIOChannelFault *fc = g_new0(QIOChannelFault, 1);

    qio_channel_init(&fc->parent, &fault_class, false);
    fc->below = qio_channel_ref(below);
    fc->plan = *plan;
    fc->rd.plan = &fc->plan.rd;
    fc->wr.plan = &fc->plan.wr;
    fc->rd.how = QIO_CHANNEL_SHUTDOWN_READ;
    fc->wr.how = QIO_CHANNEL_SHUTDOWN_WRITE;
    fc->rd.random = plan->seed;
    fc->wr.random = ~plan->seed;
    /* No positions: a plan counts a stream. */
    fc->parent.features = below->features &
                          ~(1u << QIO_CHANNEL_FEATURE_SEEKABLE);
    fc->parent.blocking = below->blocking;
    qio_channel_set_name(&fc->parent, qio_channel_get_name(below));
    return &fc->parent;
}

uint64_t qio_channel_fault_bytes_read(QIOChannel *ioc)
{
    assert(ioc->klass == &fault_class);
    return atomic_load(&to_fault(ioc)->rd.bytes);
}

uint64_t qio_channel_fault_bytes_written(QIOChannel *ioc)
{
    assert(ioc->klass == &fault_class);
    return atomic_load(&to_fault(ioc)->wr.bytes);
}

/*
 * Plans from words.
 */

static bool plan_set_direction(QIOFaultDirection *d, const char *key,
                               const char *value, Error **errp)
{
    uint64_t n = 0;

    if (g_str_equal(key, "random")) {
        return qemu_parse_bool(key, value, &d->random_chunk, errp);
    }
    if (parse_uint_full(value, 10, &n)) {
        error_setg(errp, "Fault plan: '%s' is no number", value);
        return false;
    }
    if (g_str_equal(key, "chunk")) {
        d->max_chunk = n;
    } else if (g_str_equal(key, "delay")) {
        d->delay_us = n;
    } else if (g_str_equal(key, "block")) {
        d->block_every = n;
    } else if (g_str_equal(key, "stall")) {
        d->stall_at = n;
    } else if (g_str_equal(key, "cut")) {
        d->cut_at = n;
    } else if (g_str_equal(key, "error")) {
        d->error_at = n;
    } else {
        error_setg(errp, "Fault plan: '%s' is not known", key);
        return false;
    }
    return true;
}

static bool plan_set(QIOFaultPlan *plan, const char *key, const char *value,
                     Error **errp)
{
    uint64_t n = 0;

    if (g_str_has_prefix(key, "rd.")) {
        return plan_set_direction(&plan->rd, key + 3, value, errp);
    }
    if (g_str_has_prefix(key, "wr.")) {
        return plan_set_direction(&plan->wr, key + 3, value, errp);
    }
    if (g_str_equal(key, "cut-shuts")) {
        return qemu_parse_bool(key, value, &plan->cut_shuts, errp);
    }
    if (g_str_equal(key, "seed") && parse_uint_full(value, 10, &n) == 0 &&
        n <= UINT32_MAX) {
        plan->seed = n;
        return true;
    }
    error_setg(errp, "Fault plan: '%s=%s' is not known", key, value);
    return false;
}

bool qio_fault_plan_parse(const char *str, QIOFaultPlan *plan, Error **errp)
{
    QIOFaultPlan p = QIO_FAULT_PLAN_NONE;
    g_auto(GStrv) words = g_strsplit(str, ",", -1);

    for (char **w = words; *w; w++) {
        char *eq = strchr(*w, '=');

        if (!eq) {
            error_setg(errp, "Fault plan: '%s' has no value", *w);
            return false;
        }
        *eq = '\0';
        if (!plan_set(&p, *w, eq + 1, errp)) {
            return false;
        }
    }
    *plan = p;
    return true;
}
