/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Main loop and big lock: see include/qemu/main-loop.h. */
#include "qemu/osdep.h"

#include <poll.h>

#include "qemu/main-loop.h"
#include "qemu/tsan.h"

QemuMutex bql = { PTHREAD_MUTEX_INITIALIZER };

static __thread bool this_thread_has_bql;
static __thread uint64_t this_thread_acquisitions;

/* One main loop per process: the default GMainContext's. */
static struct {
    QemuThread thread; /* constant after main_loop_init() */
    GMainLoop *loop;   /* constant after main_loop_init() */
    _Atomic uint64_t acquisitions;
    /*
     * Bottom halves scheduled so far. Its release and acquire say to the
     * thread sanitizer, which cannot see into glib, what glib's locks do.
     */
    _Atomic uint64_t scheduled;
} main_loop;

void TSA_NO_CHECK bql_lock(void)
{
    assert(!this_thread_has_bql);
    qemu_mutex_lock(&bql);
    this_thread_has_bql = true;
    this_thread_acquisitions++;
    atomic_fetch_add_explicit(&main_loop.acquisitions, 1, memory_order_relaxed);
}

void TSA_NO_CHECK bql_unlock(void)
{
    assert(this_thread_has_bql);
    this_thread_has_bql = false;
    qemu_mutex_unlock(&bql);
}

bool bql_locked(void)
{
    return this_thread_has_bql;
}

void TSA_NO_CHECK qemu_cond_wait_bql(QemuCond *cond)
{
    assert(this_thread_has_bql);
    this_thread_has_bql = false;
    qemu_cond_wait(cond, &bql);
    this_thread_has_bql = true;
    this_thread_acquisitions++;
}

uint64_t bql_acquisitions_of_this_thread(void)
{
    return this_thread_acquisitions;
}

uint64_t bql_acquisitions_total(void)
{
    return atomic_load_explicit(&main_loop.acquisitions, memory_order_relaxed);
}

BqlGuard TSA_NO_CHECK bql_guard_lock(void)
{
    BqlGuard guard = { .taken = !bql_locked() };

    if (guard.taken) {
        bql_lock();
    }
    return guard;
}

void TSA_NO_CHECK bql_guard_unlock(BqlGuard *guard)
{
    if (guard->taken) {
        bql_unlock();
        guard->taken = false;
    }
}

/* glib's poll hook: the only place where the main thread gives up the BQL. */
static gint TSA_NO_CHECK poll_without_bql(GPollFD *fds, guint nfds,
                                          gint timeout_ms)
{
    bool held = bql_locked();
    int ret, saved_errno;

    QEMU_BUILD_BUG_ON(sizeof(GPollFD) != sizeof(struct pollfd));
    if (held && timeout_ms != 0) {
        /* A poll that finds work at once need not hand the lock around. */
        ret = poll((struct pollfd *)fds, nfds, 0);
        if (ret != 0) {
            return ret;
        }
    }
    if (held) {
        bql_unlock();
    }
    ret = poll((struct pollfd *)fds, nfds, timeout_ms);
    saved_errno = errno;
    if (held) {
        bql_lock();
    }
    errno = saved_errno;
    return ret;
}

void main_loop_init(void)
{
    qemu_thread_get_self(&main_loop.thread);
    g_main_context_set_poll_func(NULL, poll_without_bql);
    main_loop.loop = g_main_loop_new(NULL, FALSE);
    bql_lock();
}

void main_loop_run(void)
{
    g_main_loop_run(main_loop.loop);
}

void main_loop_quit(void)
{
    g_main_loop_quit(main_loop.loop);
}

bool main_loop_iterate(bool block)
{
    return g_main_context_iteration(NULL, block);
}

bool in_main_thread(void)
{
    return main_loop.loop && qemu_thread_is_self(&main_loop.thread);
}

typedef struct BottomHalf {
    void (*cb)(void *opaque);
    void *opaque;
} BottomHalf;

static gboolean bottom_half_run(gpointer data)
{
    BottomHalf *bh = data;

    tsan_acquire(bh);
    bh->cb(bh->opaque);
    return G_SOURCE_REMOVE;
}

void aio_bh_schedule_oneshot(void (*cb)(void *opaque), void *opaque)
{
    BottomHalf *bh = g_new(BottomHalf, 1);
    GSource *source = g_idle_source_new();

    *bh = (BottomHalf){ cb, opaque };
    atomic_fetch_add_explicit(&main_loop.scheduled, 1, memory_order_release);
    tsan_release(bh);
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, bottom_half_run, bh, g_free);
    g_source_attach(source, NULL);
    g_source_unref(source);
}
