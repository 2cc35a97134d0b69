/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads, mutexes, condition variables, semaphores and events.
 *
 * Thin names over pthreads and C11 atomics, with clang's thread-safety
 * attributes, so that "who holds what" is checked by the compiler. A failure
 * of a pthread call other than creating a thread is a bug and aborts.
 *
 * Used by: all. Uses: pthreads.
 */
#ifndef QEMU_THREAD_H
#define QEMU_THREAD_H

#include <pthread.h>

#include "qemu/tsa.h"

typedef struct TSA_CAPABILITY("mutex") QemuMutex {
    pthread_mutex_t lock;
} QemuMutex;

void qemu_mutex_init(QemuMutex *mutex);
void qemu_mutex_destroy(QemuMutex *mutex);
void qemu_mutex_lock(QemuMutex *mutex) TSA_ACQUIRE(*mutex);
bool qemu_mutex_trylock(QemuMutex *mutex) TSA_TRY_ACQUIRE(true, *mutex);
void qemu_mutex_unlock(QemuMutex *mutex) TSA_RELEASE(*mutex);

typedef struct QemuCond {
    pthread_cond_t cond;
} QemuCond;

void qemu_cond_init(QemuCond *cond);
void qemu_cond_destroy(QemuCond *cond);
void qemu_cond_signal(QemuCond *cond);
void qemu_cond_broadcast(QemuCond *cond);
void qemu_cond_wait(QemuCond *cond, QemuMutex *mutex) TSA_REQUIRES(*mutex);
/* Returns false if @ms milliseconds passed without a signal. */
bool qemu_cond_timedwait(QemuCond *cond, QemuMutex *mutex, int ms)
    TSA_REQUIRES(*mutex);

typedef struct QemuSemaphore {
    QemuMutex mutex;
    QemuCond cond;
    unsigned count; /* guarded by mutex */
} QemuSemaphore;

void qemu_sem_init(QemuSemaphore *sem, unsigned count);
void qemu_sem_destroy(QemuSemaphore *sem);
void qemu_sem_post(QemuSemaphore *sem);
void qemu_sem_wait(QemuSemaphore *sem);
bool qemu_sem_timedwait(QemuSemaphore *sem, int ms); /* false: timed out */

/*
 * A flag that one can wait for. What was stored before qemu_event_set() is
 * seen after qemu_event_wait() returns, and what was stored before
 * qemu_event_reset() is seen by whoever reads state before waiting again.
 */
typedef struct QemuEvent {
    QemuMutex mutex;
    QemuCond cond;
    bool value; /* guarded by mutex */
} QemuEvent;

void qemu_event_init(QemuEvent *ev, bool set);
void qemu_event_destroy(QemuEvent *ev);
void qemu_event_set(QemuEvent *ev);
void qemu_event_reset(QemuEvent *ev);
void qemu_event_wait(QemuEvent *ev);
bool qemu_event_timedwait(QemuEvent *ev, int ms); /* false: timed out */
bool qemu_event_timedwait_ns(QemuEvent *ev, int64_t ns);

typedef struct QemuThread {
    pthread_t thread;
} QemuThread;

enum {
    QEMU_THREAD_JOINABLE,
    QEMU_THREAD_DETACHED
};

/**
 * qemu_thread_create: start a thread
 *
 * @name: at most 15 characters reach the kernel
 * @mode: QEMU_THREAD_JOINABLE or QEMU_THREAD_DETACHED
 *
 * All signals are blocked in the new thread: they belong to the main one.
 * Returns false and sets @errp if the system has no thread to give.
 */
bool qemu_thread_create(QemuThread *thread, const char *name,
                        void *(*start)(void *), void *arg, int mode,
                        Error **errp);
void *qemu_thread_join(QemuThread *thread);
void qemu_thread_get_self(QemuThread *thread);
bool qemu_thread_is_self(const QemuThread *thread);
int qemu_get_thread_id(void); /* the kernel's */

/* Hold @m until the end of the block. */
#define QEMU_LOCK_GUARD(m)                                      \
    g_auto(QemuLockable) G_PASTE(qemu_lock_guard_, __COUNTER__) \
        G_GNUC_UNUSED = qemu_lockable_lock(m);                  \
    qemu_mutex_assume_locked(m)
#define WITH_QEMU_LOCK_GUARD(m)                                         \
    for (g_auto(QemuLockable) qemu_lockable_it = qemu_lockable_lock(m); \
         qemu_lockable_it.mutex && qemu_mutex_assume_locked(m);         \
         qemu_lockable_unlock(&qemu_lockable_it))

typedef struct QemuLockable {
    QemuMutex *mutex; /* NULL: released already */
} QemuLockable;

/*
 * The analysis cannot follow a lock through a cleanup attribute: it is told
 * that @mutex is held from here on, and does not ask when that ends.
 */
static inline bool qemu_mutex_assume_locked(QemuMutex *mutex)
    TSA_ASSERT(*mutex);
static inline bool TSA_NO_CHECK qemu_mutex_assume_locked(QemuMutex *mutex)
{
    return mutex != NULL;
}

static inline QemuLockable TSA_NO_CHECK qemu_lockable_lock(QemuMutex *mutex)
{
    qemu_mutex_lock(mutex);
    return (QemuLockable){ mutex };
}

static inline void TSA_NO_CHECK qemu_lockable_unlock(QemuLockable *x)
{
    if (x->mutex) {
        qemu_mutex_unlock(x->mutex);
        x->mutex = NULL;
    }
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(QemuLockable, qemu_lockable_unlock)

#endif /* QEMU_THREAD_H */
