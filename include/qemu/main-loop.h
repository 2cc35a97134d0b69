/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Main loop and big lock: the control plane's thread and what guards it.
 *
 * The main thread runs the default GMainContext and holds the big lock (BQL)
 * all the time except while it waits in poll(). So every source's callback
 * (monitor, listener, timer, bottom half) runs under the BQL. Other threads
 * take it only to touch state that it guards, and never while they wait for
 * a peer. Attach sources to the default context (g_unix_fd_add() and kin).
 *
 * Used by: all. Uses: glib, thread.h.
 */
#ifndef QEMU_MAIN_LOOP_H
#define QEMU_MAIN_LOOP_H

#include "qemu/thread.h"

/* The lock itself, for annotations (TSA_REQUIRES(bql)) only. */
extern QemuMutex bql;

void bql_lock(void) TSA_ACQUIRE(bql);
void bql_unlock(void) TSA_RELEASE(bql);
bool bql_locked(void); /* by the calling thread */

/* Wait on @cond giving up the BQL meanwhile. */
void qemu_cond_wait_bql(QemuCond *cond) TSA_REQUIRES(bql);

/*
 * Accounting: how often the calling thread / all threads took the BQL since
 * they began. Tests assert on the first that a thread lives without it.
 */
uint64_t bql_acquisitions_of_this_thread(void);
uint64_t bql_acquisitions_total(void);

#define BQL_LOCK_GUARD()                              \
    g_auto(BqlGuard) G_PASTE(bql_guard_, __COUNTER__) \
        G_GNUC_UNUSED = bql_guard_lock()
/* Takes the lock only if this thread does not hold it yet. */
typedef struct BqlGuard {
    bool taken;
} BqlGuard;
BqlGuard bql_guard_lock(void);
void bql_guard_unlock(BqlGuard *guard);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(BqlGuard, bql_guard_unlock)

/**
 * main_loop_init: make the calling thread the main one
 *
 * Returns holding the BQL.
 */
void main_loop_init(void) TSA_ACQUIRE(bql);
void main_loop_run(void) TSA_REQUIRES(bql); /* until main_loop_quit() */
void main_loop_quit(void);                  /* any thread */
/* One turn; @block: wait for something to happen. For tests and start-up. */
bool main_loop_iterate(bool block) TSA_REQUIRES(bql);
bool in_main_thread(void);

/**
 * aio_bh_schedule_oneshot: run @cb(@opaque) once, soon, in the main loop
 *
 * Any thread. Calls made by one thread run in the order they were made.
 */
void aio_bh_schedule_oneshot(void (*cb)(void *opaque), void *opaque);

#endif /* QEMU_MAIN_LOOP_H */
