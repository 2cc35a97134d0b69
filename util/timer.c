/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clocks and timers: see include/qemu/timer.h.
 *
 * One list per clock, sorted by expiry. One timerfd wakes the main loop at
 * the earliest expiry of all running clocks (poll's own timeout is too
 * coarse: milliseconds). The lock is a leaf: nothing is called under it.
 */
#include "qemu/osdep.h"

#include <glib-unix.h>
#include <sys/timerfd.h>

#include "qemu/main-loop.h"
#include "qemu/timer.h"

struct QEMUTimer {
    QEMUClockType type; /* constant */
    int scale;          /* constant: ns per unit of timer_mod() */
    QEMUTimerCB *cb;    /* constant */
    void *opaque;       /* constant */
    /* Guarded by timers.lock. */
    int64_t expire_ns; /* -1: not pending */
    QEMUTimer *next;
};

/* One set of clocks per process, as there is one main loop. */
static struct {
    QemuMutex lock;
    int fd; /* timerfd; -1 before timers_init() */

    /* Guarded by lock. */
    QEMUTimer *first[QEMU_CLOCK_MAX];
    bool ticks_enabled;
    CpuTimersState cpu; /* see there: value or distance */
    bool manual;
    int64_t manual_ns;
} timers = { .lock = { PTHREAD_MUTEX_INITIALIZER }, .fd = -1 };

int64_t get_clock(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NANOSECONDS_PER_SECOND + ts.tv_nsec;
}

static int64_t get_wall_clock(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return ts.tv_sec * NANOSECONDS_PER_SECOND + ts.tv_nsec;
}

static int64_t host_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    int64_t v;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
    return v;
#else
    return get_clock();
#endif
}

static int64_t cpu_clock_locked(void) TSA_REQUIRES(timers.lock);
static int64_t cpu_clock_locked(void)
{
    int64_t offset = timers.cpu.cpu_clock_offset;

    return timers.ticks_enabled ? get_clock() + offset : offset;
}

static int64_t clock_ns_locked(QEMUClockType type) TSA_REQUIRES(timers.lock);
static int64_t clock_ns_locked(QEMUClockType type)
{
    switch (type) {
    case QEMU_CLOCK_REALTIME:
        return get_clock();
    case QEMU_CLOCK_HOST:
        return get_wall_clock();
    case QEMU_CLOCK_VIRTUAL:
        if (timers.manual) {
            return timers.manual_ns;
        }
        /* fall through */
    case QEMU_CLOCK_VIRTUAL_RT:
        return cpu_clock_locked();
    default:
        g_assert_not_reached();
    }
}

int64_t qemu_clock_get_ns(QEMUClockType type)
{
    QEMU_LOCK_GUARD(&timers.lock);
    return clock_ns_locked(type);
}

int64_t qemu_clock_get_us(QEMUClockType type)
{
    return qemu_clock_get_ns(type) / SCALE_US;
}

int64_t qemu_clock_get_ms(QEMUClockType type)
{
    return qemu_clock_get_ns(type) / SCALE_MS;
}

/* Do timers of this clock fire by themselves? Not while the VM is stopped. */
static bool clock_fires_locked(QEMUClockType type)
{
    bool is_guest_time = type == QEMU_CLOCK_VIRTUAL ||
                         type == QEMU_CLOCK_VIRTUAL_RT;

    return timers.ticks_enabled || !is_guest_time;
}

/* Set the timerfd to the earliest expiry of the clocks that run. */
static void rearm_locked(void) TSA_REQUIRES(timers.lock);
static void rearm_locked(void)
{
    struct itimerspec its = { 0 };
    int64_t best = INT64_MAX;

    if (timers.fd < 0) {
        return;
    }
    for (int i = 0; i < QEMU_CLOCK_MAX; i++) {
        int64_t delta;

        if (!timers.first[i] || !clock_fires_locked(i)) {
            continue;
        }
        delta = timers.first[i]->expire_ns - clock_ns_locked(i);
        if (delta > 0 && i == QEMU_CLOCK_VIRTUAL && timers.manual) {
            continue; /* waiting does not bring it nearer */
        }
        best = MIN(best, MAX(delta, 1)); /* 0 would disarm */
    }
    if (best != INT64_MAX) {
        its.it_value.tv_sec = best / NANOSECONDS_PER_SECOND;
        its.it_value.tv_nsec = best % NANOSECONDS_PER_SECOND;
    }
    timerfd_settime(timers.fd, 0, &its, NULL);
}

static QEMUTimer *timer_new_scaled(QEMUClockType type, int scale,
                                   QEMUTimerCB *cb, void *opaque)
{
    QEMUTimer *ts = g_new0(QEMUTimer, 1);

    ts->type = type;
    ts->scale = scale;
    ts->cb = cb;
    ts->opaque = opaque;
    ts->expire_ns = -1;
    return ts;
}

QEMUTimer *timer_new_ns(QEMUClockType type, QEMUTimerCB *cb, void *opaque)
{
    return timer_new_scaled(type, SCALE_NS, cb, opaque);
}

QEMUTimer *timer_new_us(QEMUClockType type, QEMUTimerCB *cb, void *opaque)
{
    return timer_new_scaled(type, SCALE_US, cb, opaque);
}

QEMUTimer *timer_new_ms(QEMUClockType type, QEMUTimerCB *cb, void *opaque)
{
    return timer_new_scaled(type, SCALE_MS, cb, opaque);
}

static void unlink_locked(QEMUTimer *ts)
{
    QEMUTimer **p;

    if (ts->expire_ns < 0) {
        return;
    }
    for (p = &timers.first[ts->type]; *p != ts; p = &(*p)->next) {
    }
    *p = ts->next;
    ts->next = NULL;
    ts->expire_ns = -1;
}

static void insert_locked(QEMUTimer *ts, int64_t expire_ns)
{
    QEMUTimer **p = &timers.first[ts->type];

    while (*p && (*p)->expire_ns <= expire_ns) {
        p = &(*p)->next;
    }
    ts->expire_ns = expire_ns;
    ts->next = *p;
    *p = ts;
}

void timer_mod_ns(QEMUTimer *ts, int64_t expire_ns)
{
    QEMU_LOCK_GUARD(&timers.lock);
    unlink_locked(ts);
    insert_locked(ts, MAX(expire_ns, 0));
    if (timers.first[ts->type] == ts) {
        rearm_locked();
    }
}

void timer_mod(QEMUTimer *ts, int64_t expire)
{
    int64_t ns;

    if (__builtin_mul_overflow(expire, (int64_t)ts->scale, &ns)) {
        ns = expire < 0 ? 0 : INT64_MAX;
    }
    timer_mod_ns(ts, ns);
}

void timer_mod_anticipate_ns(QEMUTimer *ts, int64_t expire_ns)
{
    QEMU_LOCK_GUARD(&timers.lock);
    if (ts->expire_ns < 0 || expire_ns < ts->expire_ns) {
        unlink_locked(ts);
        insert_locked(ts, MAX(expire_ns, 0));
        if (timers.first[ts->type] == ts) {
            rearm_locked();
        }
    }
}

void timer_del(QEMUTimer *ts)
{
    /* A timerfd armed too early wakes the main loop once for nothing. */
    QEMU_LOCK_GUARD(&timers.lock);
    unlink_locked(ts);
}

void timer_free(QEMUTimer *ts)
{
    if (ts) {
        timer_del(ts);
        g_free(ts);
    }
}

bool timer_pending(const QEMUTimer *ts)
{
    QEMU_LOCK_GUARD(&timers.lock);
    return ts->expire_ns >= 0;
}

uint64_t timer_expire_time_ns(const QEMUTimer *ts)
{
    QEMU_LOCK_GUARD(&timers.lock);
    return ts->expire_ns >= 0 ? (uint64_t)ts->expire_ns : UINT64_MAX;
}

int64_t qemu_clock_deadline_ns(QEMUClockType type)
{
    QEMUTimer *ts;

    QEMU_LOCK_GUARD(&timers.lock);
    ts = timers.first[type];
    return ts ? MAX(ts->expire_ns - clock_ns_locked(type), 0) : -1;
}

/* Take the first timer of @type off its list if it expired by @now_ns. */
static bool pop_expired(QEMUClockType type, int64_t now_ns, QEMUTimerCB **cb,
                        void **opaque)
{
    QEMUTimer *ts;

    QEMU_LOCK_GUARD(&timers.lock);
    ts = timers.first[type];
    if (!ts || ts->expire_ns > now_ns) {
        return false;
    }
    /* The callback may free the timer: keep what the call needs. */
    *cb = ts->cb;
    *opaque = ts->opaque;
    unlink_locked(ts);
    return true;
}

static void run_clock(QEMUClockType type)
{
    QEMUTimerCB *cb;
    void *opaque;
    int64_t now_ns;
    bool fires;

    /* The time is taken once, so that this ends. */
    WITH_QEMU_LOCK_GUARD(&timers.lock)
    {
        now_ns = clock_ns_locked(type);
        fires = clock_fires_locked(type);
    }
    while (fires && pop_expired(type, now_ns, &cb, &opaque)) {
        cb(opaque);
        WITH_QEMU_LOCK_GUARD(&timers.lock)
        {
            fires = clock_fires_locked(type); /* it may have stopped the VM */
        }
    }
}

static gboolean timerfd_ready(gint fd, GIOCondition cond, gpointer opaque)
{
    uint64_t count;

    if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN) {
        g_error("timerfd: %s", strerror(errno));
    }
    for (int i = 0; i < QEMU_CLOCK_MAX; i++) {
        run_clock(i);
    }
    WITH_QEMU_LOCK_GUARD(&timers.lock)
    {
        rearm_locked();
    }
    return G_SOURCE_CONTINUE;
}

void timers_init(void)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

    if (fd < 0) {
        g_error("timerfd_create: %s", strerror(errno));
    }
    g_unix_fd_add(fd, G_IO_IN, timerfd_ready, NULL);
    QEMU_LOCK_GUARD(&timers.lock);
    timers.fd = fd;
    rearm_locked();
}

/* ---- guest time ---- */

void cpu_enable_ticks(void)
{
    QEMU_LOCK_GUARD(&timers.lock);
    if (!timers.ticks_enabled) {
        timers.cpu.cpu_ticks_offset -= host_ticks();
        timers.cpu.cpu_clock_offset -= get_clock();
        timers.ticks_enabled = true;
        rearm_locked();
    }
}

void cpu_disable_ticks(void)
{
    QEMU_LOCK_GUARD(&timers.lock);
    if (timers.ticks_enabled) {
        timers.cpu.cpu_ticks_offset += host_ticks();
        timers.cpu.cpu_clock_offset += get_clock();
        timers.ticks_enabled = false;
    }
}

bool cpu_ticks_enabled(void)
{
    QEMU_LOCK_GUARD(&timers.lock);
    return timers.ticks_enabled;
}

int64_t cpu_get_ticks(void)
{
    QEMU_LOCK_GUARD(&timers.lock);
    return timers.cpu.cpu_ticks_offset +
           (timers.ticks_enabled ? host_ticks() : 0);
}

int64_t cpu_get_clock(void)
{
    QEMU_LOCK_GUARD(&timers.lock);
    return cpu_clock_locked();
}

CpuTimersState cpu_timers_get_state(void)
{
    QEMU_LOCK_GUARD(&timers.lock);
    return timers.cpu;
}

void cpu_timers_set_state(CpuTimersState state)
{
    QEMU_LOCK_GUARD(&timers.lock);
    assert(!timers.ticks_enabled);
    timers.cpu = state;
}

void virtual_clock_set_manual(void)
{
    QEMU_LOCK_GUARD(&timers.lock);
    timers.manual = true;
}

bool virtual_clock_is_manual(void)
{
    QEMU_LOCK_GUARD(&timers.lock);
    return timers.manual;
}

/* Advance to the next expiry, at most to @dest_ns; true if one was met. */
static bool warp_once(int64_t dest_ns)
{
    QEMUTimer *ts;

    QEMU_LOCK_GUARD(&timers.lock);
    ts = timers.first[QEMU_CLOCK_VIRTUAL];
    if (ts && ts->expire_ns <= dest_ns) {
        timers.manual_ns = MAX(timers.manual_ns, ts->expire_ns);
        return true;
    }
    timers.manual_ns = MAX(timers.manual_ns, dest_ns);
    return false;
}

int64_t virtual_clock_warp(int64_t dest_ns)
{
    QEMUTimerCB *cb;
    void *opaque;

    assert(virtual_clock_is_manual());
    while (warp_once(dest_ns)) {
        int64_t now_ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

        while (pop_expired(QEMU_CLOCK_VIRTUAL, now_ns, &cb, &opaque)) {
            cb(opaque);
            if (qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) != now_ns) {
                break;
            }
        }
    }
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}
