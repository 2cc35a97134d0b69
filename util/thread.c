/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads: see include/qemu/thread.h. */
#include "qemu/osdep.h"

#include <signal.h>
#include <sys/syscall.h>

#include "qemu/error.h"
#include "qemu/thread.h"

static void check(int err, const char *what)
{
    if (err) {
        fprintf(stderr, "%s: %s\n", what, strerror(err));
        abort();
    }
}

void qemu_mutex_init(QemuMutex *mutex)
{
    check(pthread_mutex_init(&mutex->lock, NULL), __func__);
}

void qemu_mutex_destroy(QemuMutex *mutex)
{
    check(pthread_mutex_destroy(&mutex->lock), __func__);
}

void TSA_NO_CHECK qemu_mutex_lock(QemuMutex *mutex)
{
    check(pthread_mutex_lock(&mutex->lock), __func__);
}

bool TSA_NO_CHECK qemu_mutex_trylock(QemuMutex *mutex)
{
    int err = pthread_mutex_trylock(&mutex->lock);

    if (err == EBUSY) {
        return false;
    }
    check(err, __func__);
    return true;
}

void TSA_NO_CHECK qemu_mutex_unlock(QemuMutex *mutex)
{
    check(pthread_mutex_unlock(&mutex->lock), __func__);
}

void qemu_cond_init(QemuCond *cond)
{
    pthread_condattr_t attr;

    check(pthread_condattr_init(&attr), __func__);
    /* Not the wall clock: it jumps. */
    check(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC), __func__);
    check(pthread_cond_init(&cond->cond, &attr), __func__);
    pthread_condattr_destroy(&attr);
}

void qemu_cond_destroy(QemuCond *cond)
{
    check(pthread_cond_destroy(&cond->cond), __func__);
}

void qemu_cond_signal(QemuCond *cond)
{
    check(pthread_cond_signal(&cond->cond), __func__);
}

void qemu_cond_broadcast(QemuCond *cond)
{
    check(pthread_cond_broadcast(&cond->cond), __func__);
}

void qemu_cond_wait(QemuCond *cond, QemuMutex *mutex)
{
    check(pthread_cond_wait(&cond->cond, &mutex->lock), __func__);
}

static struct timespec deadline_in_ns(int64_t ns)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    ts.tv_sec += ns / 1000000000;
    ts.tv_nsec += ns % 1000000000;
    if (ts.tv_nsec >= 1000000000L) {
        ts.tv_sec++;
        ts.tv_nsec -= 1000000000L;
    }
    return ts;
}

static struct timespec deadline_in_ms(int ms)
{
    return deadline_in_ns((int64_t)ms * 1000000);
}

static bool cond_wait_until(QemuCond *cond, QemuMutex *mutex,
                            const struct timespec *deadline)
{
    int err = pthread_cond_timedwait(&cond->cond, &mutex->lock, deadline);

    if (err == ETIMEDOUT) {
        return false;
    }
    check(err, __func__);
    return true;
}

bool qemu_cond_timedwait(QemuCond *cond, QemuMutex *mutex, int ms)
{
    struct timespec deadline = deadline_in_ms(ms);

    return cond_wait_until(cond, mutex, &deadline);
}

void qemu_sem_init(QemuSemaphore *sem, unsigned count)
{
    qemu_mutex_init(&sem->mutex);
    qemu_cond_init(&sem->cond);
    sem->count = count;
}

void qemu_sem_destroy(QemuSemaphore *sem)
{
    qemu_cond_destroy(&sem->cond);
    qemu_mutex_destroy(&sem->mutex);
}

void qemu_sem_post(QemuSemaphore *sem)
{
    qemu_mutex_lock(&sem->mutex);
    sem->count++;
    qemu_cond_signal(&sem->cond);
    qemu_mutex_unlock(&sem->mutex);
}

void qemu_sem_wait(QemuSemaphore *sem)
{
    qemu_mutex_lock(&sem->mutex);
    while (!sem->count) {
        qemu_cond_wait(&sem->cond, &sem->mutex);
    }
    sem->count--;
    qemu_mutex_unlock(&sem->mutex);
}

bool qemu_sem_timedwait(QemuSemaphore *sem, int ms)
{
    struct timespec deadline = deadline_in_ms(ms);
    bool ok;

    qemu_mutex_lock(&sem->mutex);
    while (!sem->count && cond_wait_until(&sem->cond, &sem->mutex, &deadline)) {
    }
    ok = sem->count > 0;
    sem->count -= ok;
    qemu_mutex_unlock(&sem->mutex);
    return ok;
}

void qemu_event_init(QemuEvent *ev, bool set)
{
    qemu_mutex_init(&ev->mutex);
    qemu_cond_init(&ev->cond);
    ev->value = set;
}

void qemu_event_destroy(QemuEvent *ev)
{
    qemu_cond_destroy(&ev->cond);
    qemu_mutex_destroy(&ev->mutex);
}

void qemu_event_set(QemuEvent *ev)
{
    qemu_mutex_lock(&ev->mutex);
    ev->value = true;
    qemu_cond_broadcast(&ev->cond);
    qemu_mutex_unlock(&ev->mutex);
}

void qemu_event_reset(QemuEvent *ev)
{
    qemu_mutex_lock(&ev->mutex);
    ev->value = false;
    qemu_mutex_unlock(&ev->mutex);
}

void qemu_event_wait(QemuEvent *ev)
{
    qemu_mutex_lock(&ev->mutex);
    while (!ev->value) {
        qemu_cond_wait(&ev->cond, &ev->mutex);
    }
    qemu_mutex_unlock(&ev->mutex);
}

bool qemu_event_timedwait(QemuEvent *ev, int ms)
{
    return qemu_event_timedwait_ns(ev, (int64_t)ms * 1000000);
}

bool qemu_event_timedwait_ns(QemuEvent *ev, int64_t ns)
{
    struct timespec deadline = deadline_in_ns(ns);
    bool set;

    qemu_mutex_lock(&ev->mutex);
    while (!ev->value && cond_wait_until(&ev->cond, &ev->mutex, &deadline)) {
    }
    set = ev->value;
    qemu_mutex_unlock(&ev->mutex);
    return set;
}

typedef struct ThreadStart {
    void *(*start)(void *);
    void *arg;
    char name[16]; /* the kernel's limit, NUL included */
} ThreadStart;

static void *thread_entry(void *opaque)
{
    ThreadStart start = *(ThreadStart *)opaque;

    g_free(opaque);
    pthread_setname_np(pthread_self(), start.name);
    return start.start(start.arg);
}

bool qemu_thread_create(QemuThread *thread, const char *name,
                        void *(*start)(void *), void *arg, int mode,
                        Error **errp)
{
    ThreadStart *ts = g_new0(ThreadStart, 1);
    sigset_t all, old;
    pthread_attr_t attr;
    int err;

    ts->start = start;
    ts->arg = arg;
    g_strlcpy(ts->name, name, sizeof(ts->name));

    check(pthread_attr_init(&attr), __func__);
    if (mode == QEMU_THREAD_DETACHED) {
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    }
    sigfillset(&all);
    /* Faults are raised by the thread itself and must reach it. */
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    err = pthread_create(&thread->thread, &attr, thread_entry, ts);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (err) {
        g_free(ts);
        error_setg_errno(errp, err, "Could not create thread '%s'", name);
        return false;
    }
    return true;
}

void *qemu_thread_join(QemuThread *thread)
{
    void *ret;

    check(pthread_join(thread->thread, &ret), __func__);
    return ret;
}

void qemu_thread_get_self(QemuThread *thread)
{
    thread->thread = pthread_self();
}

bool qemu_thread_is_self(const QemuThread *thread)
{
    return pthread_equal(pthread_self(), thread->thread);
}

int qemu_get_thread_id(void)
{
    return syscall(SYS_gettid);
}
