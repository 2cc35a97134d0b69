/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Throttling of vCPUs: see include/system/cpu-throttle.h for the contract. */
#include "qemu/osdep.h"

#include <sys/prctl.h>

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/cpu-throttle.h"

#define NS_PER_MS INT64_C(1000000)

/* Time in guest code between two sleeps, if the sleeps are not too long. */
#define SLICE_NS INT64_C(10000000)
/* A sleep is planned for half of its bound: slices last longer than planned. */
#define HEADROOM 2
/* What is slept for one bad moment, in longest sleeps; more is forgotten. */
#define DEBT_MAX 20
/* A sleep that is not worth it: less than one in so many of what is usual. */
#define SMALL_SLEEP 8
/* The bound of a sleep, as a part of the downtime limit; and the least. */
#define LIMIT_PARTS  4
#define BOUND_MIN_NS INT64_C(5000000)
/*
 * When to look again at a vCPU whose slice is over while it is not running:
 * soon if it may be on its way into the guest.
 */
#define RETRY_SOON_NS INT64_C(50000)
#define SOON_NS       INT64_C(500000)
#define RETRY_NS      INT64_C(1000000)

/* One per process, like the list of CPUs. */
static struct {
    QemuMutex lock;
    /* Guarded by lock. */
    unsigned users;
    QemuThread thread;

    /* Atomic. */
    _Atomic bool quit;
    _Atomic int64_t longest_ns; /* one sleep */
    QemuEvent wake;             /* of the thread */

    /* Constant while a vCPU is throttled. */
    CpuThrottleHook *hook;
} throttle = {
    .lock = { PTHREAD_MUTEX_INITIALIZER },
    .longest_ns = CPU_THROTTLE_LONGEST_NS,
};

static void __attribute__((constructor)) throttle_init(void)
{
    qemu_event_init(&throttle.wake, false);
}

/* ---------------------------------------------------------- arithmetic */

/* What has to be slept for @ran_ns of guest code, and the reverse. */
static int64_t sleep_for(int64_t ran_ns, uint32_t share)
{
    return (int64_t)((double)ran_ns * share / (CPU_THROTTLE_ONE - share));
}

static int64_t run_for(int64_t sleep_ns, uint32_t share)
{
    return (int64_t)((double)sleep_ns * (CPU_THROTTLE_ONE - share) / share);
}

void cpu_throttle_bound_sleep(int64_t longest_ns)
{
    atomic_store_explicit(&throttle.longest_ns, longest_ns,
                          memory_order_relaxed);
}

int64_t cpu_throttle_bound_for_limit(uint64_t limit_ms)
{
    /* Not more than this counts, and it does not overflow. */
    uint64_t ms = MIN(limit_ms,
                      LIMIT_PARTS * CPU_THROTTLE_LONGEST_NS / NS_PER_MS);

    return MAX((int64_t)ms * NS_PER_MS / LIMIT_PARTS, BOUND_MIN_NS);
}

int64_t cpu_throttle_longest_ns(uint32_t share)
{
    return MAX(atomic_load_explicit(&throttle.longest_ns, memory_order_relaxed),
               sleep_for(CPU_THROTTLE_SLICE_MIN_NS, share));
}

/* Planned, when there is no debt. */
static int64_t usual_slice_ns(uint32_t share)
{
    int64_t ns = run_for(cpu_throttle_longest_ns(share) / HEADROOM, share);

    return MIN(SLICE_NS, MAX(ns, CPU_THROTTLE_SLICE_MIN_NS));
}

int64_t cpu_throttle_sleep_ns(uint32_t share)
{
    return share ? sleep_for(usual_slice_ns(share), share) : 0;
}

int64_t cpu_throttle_slice_ns(int64_t debt_ns, uint32_t share)
{
    if (!share) {
        return SLICE_NS;
    }
    return CLAMP(usual_slice_ns(share) - run_for(debt_ns, share), 0, SLICE_NS);
}

int64_t cpu_throttle_owe(int64_t *debt_ns, uint32_t share, int64_t ran_ns)
{
    int64_t most = MAX(cpu_throttle_longest_ns(share), CPU_THROTTLE_LONGEST_NS);
    int64_t debt = MIN(*debt_ns + sleep_for(ran_ns, share), DEBT_MAX * most);

    *debt_ns = debt;
    if (debt <= cpu_throttle_sleep_ns(share) / SMALL_SLEEP) {
        return 0;
    }
    return MIN(debt, most);
}

void cpu_throttle_paid(int64_t *debt_ns, int64_t slept_ns)
{
    /* Not without end: the VM may have been stopped meanwhile. */
    *debt_ns = MAX(*debt_ns - slept_ns, -CPU_THROTTLE_LONGEST_NS);
}

/* ---------------------------------------------------------- what is set */

uint32_t cpu_throttle_get(const CPUState *cpu)
{
    uint32_t share = 0;

    for (int u = 0; u < CPU_THROTTLE_USERS; u++) {
        share = MAX(share, atomic_load_explicit(&cpu->throttle.share[u],
                                                memory_order_relaxed));
    }
    return share;
}

CpuThrottleStats cpu_throttle_stats(const CPUState *cpu)
{
    const CpuThrottle *t = &cpu->throttle;

    return (CpuThrottleStats){
        .sleeps = atomic_load_explicit(&t->sleeps, memory_order_relaxed),
        .cut_short = atomic_load_explicit(&t->cut_short, memory_order_relaxed),
        .slept_ns = atomic_load_explicit(&t->slept_ns, memory_order_relaxed),
    };
}

/* -------------------------------------------------- the throttle thread */

/* Send @cpu to sleep if its slice is over. Returns when to look again. */
static int64_t look_at(CPUState *cpu, int64_t now)
{
    CpuThrottle *t = &cpu->throttle;
    int64_t slice_end;

    /* Acquire: pairs with the release in end_sleep(). */
    if (cpu_throttle_get(cpu) == 0 ||
        atomic_load_explicit(&t->sleep_due, memory_order_acquire)) {
        return INT64_MAX; /* it wakes us when it has slept */
    }
    slice_end = atomic_load_explicit(&t->slice_end_ns, memory_order_relaxed);
    if (now < slice_end) {
        return slice_end;
    }
    if (!atomic_load_explicit(&cpu->running, memory_order_relaxed)) {
        return now + (now - slice_end < SOON_NS ? RETRY_SOON_NS : RETRY_NS);
    }
    atomic_store_explicit(&t->sleep_due, true, memory_order_release);
    qemu_cpu_kick(cpu);
    return INT64_MAX;
}

static void *throttle_thread(void *opaque)
{
    /* The kernel may be 50 us late by default: as long as the least slice. */
    prctl(PR_SET_TIMERSLACK, 1000UL);
    while (!atomic_load(&throttle.quit)) {
        int64_t now, next = INT64_MAX;
        CPUState *cpu;

        qemu_event_reset(&throttle.wake);
        now = get_clock();
        CPU_FOREACH (cpu) {
            next = MIN(next, look_at(cpu, now));
        }
        if (atomic_load(&throttle.quit)) {
            break;
        }
        qemu_event_timedwait_ns(
            &throttle.wake, next == INT64_MAX ? 1000 * NS_PER_MS : next - now);
    }
    return NULL;
}

/* --------------------------------------------------------- the sleeper */

/* Of this thread: what others on the host take is not the guest's. */
static int64_t cpu_time_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

void cpu_throttle_run_begin(CPUState *cpu)
{
    CpuThrottle *t = &cpu->throttle;

    if (cpu_throttle_get(cpu)) {
        t->run_begin_ns = cpu_time_ns();
    } else {
        t->run_begin_ns = t->ran_ns = t->debt_ns = 0;
    }
}

void cpu_throttle_run_end(CPUState *cpu)
{
    CpuThrottle *t = &cpu->throttle;

    if (t->run_begin_ns) {
        t->ran_ns += cpu_time_ns() - t->run_begin_ns;
    }
}

void cpu_throttle_set_hook(CpuThrottleHook *hook)
{
    throttle.hook = hook;
}

static void begin_sleep(CPUState *cpu, int64_t now, uint32_t share)
{
    CpuThrottle *t = &cpu->throttle;
    int64_t ns = cpu_throttle_owe(&t->debt_ns, share, t->ran_ns);

    if (ns) {
        t->sleep_begin_ns = now;
        t->sleep_end_ns = now + ns;
        atomic_fetch_add_explicit(&t->sleeps, 1, memory_order_relaxed);
        if (throttle.hook) {
            throttle.hook(cpu, t->ran_ns, ns);
        }
    }
    t->ran_ns = 0;
}

/* It slept, or need not. */
static void end_sleep(CpuThrottle *t, int64_t now)
{
    uint32_t share = cpu_throttle_get(container_of(t, CPUState, throttle));

    if (t->sleep_end_ns) {
        if (now < t->sleep_end_ns) {
            atomic_fetch_add_explicit(&t->cut_short, 1, memory_order_relaxed);
        }
        cpu_throttle_paid(&t->debt_ns, now - t->sleep_begin_ns);
        t->sleep_end_ns = 0;
    }
    atomic_store_explicit(&t->slice_end_ns,
                          now + cpu_throttle_slice_ns(t->debt_ns, share),
                          memory_order_relaxed);
    /* Release: pairs with the acquire in look_at(). */
    atomic_store_explicit(&t->sleep_due, false, memory_order_release);
    qemu_event_set(&throttle.wake);
}

bool TSA_NO_CHECK cpu_throttle_sleep(CPUState *cpu)
{
    CpuThrottle *t = &cpu->throttle;
    uint32_t share = cpu_throttle_get(cpu);
    int64_t now;

    if (!atomic_load_explicit(&t->sleep_due, memory_order_acquire)) {
        return false;
    }
    now = get_clock();
    if (t->sleep_end_ns == 0 && share) {
        begin_sleep(cpu, now, share);
    }
    if (share == 0 || now >= t->sleep_end_ns) {
        end_sleep(t, now);
        return false;
    }
    bql_unlock();
    qemu_event_timedwait_ns(&cpu->wake, t->sleep_end_ns - now);
    bql_lock();
    atomic_fetch_add_explicit(&t->slept_ns, get_clock() - now,
                              memory_order_relaxed);
    return true;
}

/* --------------------------------------------------------------- users */

void cpu_throttle_begin(CpuThrottleUser user)
{
    QEMU_LOCK_GUARD(&throttle.lock);
    assert(!(throttle.users & (1u << user)));
    if (!throttle.users) {
        atomic_store(&throttle.quit, false);
        qemu_thread_create(&throttle.thread, "cpu-throttle", throttle_thread,
                           NULL, QEMU_THREAD_JOINABLE, &error_fatal);
    }
    throttle.users |= 1u << user;
}

void cpu_throttle_end(CpuThrottleUser user)
{
    CPUState *cpu;

    QEMU_LOCK_GUARD(&throttle.lock);
    if (!(throttle.users & (1u << user))) {
        return;
    }
    CPU_FOREACH (cpu) {
        atomic_store(&cpu->throttle.share[user], 0);
        if (cpu_throttle_get(cpu) == 0) {
            qemu_cpu_kick(cpu);
        }
    }
    throttle.users &= ~(1u << user);
    if (!throttle.users) {
        atomic_store(&throttle.quit, true);
        qemu_event_set(&throttle.wake);
        qemu_thread_join(&throttle.thread);
    }
}

bool cpu_throttle_is_on(CpuThrottleUser user)
{
    QEMU_LOCK_GUARD(&throttle.lock);
    return throttle.users & (1u << user);
}

void cpu_throttle_set(CpuThrottleUser user, CPUState *cpu, uint32_t share)
{
    uint32_t before;

    QEMU_LOCK_GUARD(&throttle.lock);
    if (!(throttle.users & (1u << user))) {
        return;
    }
    before = cpu_throttle_get(cpu);
    atomic_store(&cpu->throttle.share[user], MIN(share, CPU_THROTTLE_MAX));
    if (before && cpu_throttle_get(cpu) == 0) {
        qemu_cpu_kick(cpu);
    } else if (!before) {
        qemu_event_set(&throttle.wake);
    }
}

/* ------------------------------------------------------------- dividing */

/*
 * out = k * demand, where that is not too much; k such that the reduction is
 * what is wanted. Who would get too much gets the maximum, and the others make
 * up for it: at most @n times.
 */
static void divide(const double *demand, unsigned n, double share, double *out)
{
    const double most = (double)CPU_THROTTLE_MAX / CPU_THROTTLE_ONE;
    bool again = true;

    for (unsigned i = 0; i < n; i++) {
        out[i] = 0;
    }
    for (unsigned round = 0; again && round <= n; round++) {
        double wanted = 0, squares = 0, k;

        again = false;
        for (unsigned i = 0; i < n; i++) {
            wanted += demand[i] * share;
            if (out[i] >= most) {
                wanted -= demand[i] * most;
            } else {
                squares += demand[i] * demand[i];
            }
        }
        k = squares > 0 ? MAX(wanted, 0) / squares : 0;
        for (unsigned i = 0; i < n; i++) {
            if (out[i] < most) {
                out[i] = MIN(k * demand[i], most);
                again |= out[i] >= most;
            }
        }
    }
}

void cpu_throttle_divide(const double *demand, unsigned n, uint32_t share,
                         uint32_t *out)
{
    g_autofree double *of_writers = g_new0(double, n);
    g_autofree double *shares = g_new0(double, n);
    double largest = 0;

    for (unsigned i = 0; i < n; i++) {
        largest = MAX(largest, demand[i]);
    }
    for (unsigned i = 0; i < n; i++) {
        of_writers[i] = demand[i] * CPU_THROTTLE_SMALL < largest ? 0
                                                                 : demand[i];
    }
    divide(of_writers, n, (double)share / CPU_THROTTLE_ONE, shares);
    for (unsigned i = 0; i < n; i++) {
        out[i] = largest > 0 ? (uint32_t)(shares[i] * CPU_THROTTLE_ONE)
                             : MIN(share, CPU_THROTTLE_MAX);
    }
}
