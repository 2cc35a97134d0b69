/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Throttling of vCPUs: see include/system/cpu-throttle.h for the contract. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/cpu-throttle.h"

#define NS_PER_MS INT64_C(1000000)

/* Time in guest code between two sleeps, if the sleeps are not too long. */
#define SLICE_NS INT64_C(10000000)
/* Slice and sleep together take no longer, unless the slice would be... */
#define PERIOD_MAX_NS INT64_C(200000000)
/* ... shorter than what a wake-up can be relied on for. */
#define SLICE_MIN_NS INT64_C(1000000)
/* When to look again at a vCPU whose slice is over while it is not running. */
#define RETRY_NS INT64_C(1000000)

/* One per process, like the list of CPUs. */
static struct {
    QemuMutex lock;
    /* Guarded by lock. */
    unsigned users;
    QemuThread thread;

    /* Atomic. */
    _Atomic bool quit;
    QemuEvent wake; /* of the thread */
} throttle = { .lock = { PTHREAD_MUTEX_INITIALIZER } };

static void __attribute__((constructor)) throttle_init(void)
{
    qemu_event_init(&throttle.wake, false);
}

static int64_t slice_ns(uint32_t share)
{
    int64_t awake = CPU_THROTTLE_ONE - share;
    int64_t in_period = PERIOD_MAX_NS * awake / CPU_THROTTLE_ONE;

    return MIN(SLICE_NS, MAX(in_period, SLICE_MIN_NS));
}

int64_t cpu_throttle_sleep_ns(uint32_t share)
{
    return slice_ns(share) * share / (CPU_THROTTLE_ONE - share);
}

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
        return now + RETRY_NS;
    }
    atomic_store_explicit(&t->sleep_due, true, memory_order_release);
    qemu_cpu_kick(cpu);
    return INT64_MAX;
}

static void *throttle_thread(void *opaque)
{
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
        /* Rounded up: a slice is not cut short. */
        qemu_event_timedwait(
            &throttle.wake,
            next == INT64_MAX
                ? 1000
                : (int)((next - now + NS_PER_MS - 1) / NS_PER_MS));
    }
    return NULL;
}

/* --------------------------------------------------------- the sleeper */

static void end_sleep(CpuThrottle *t, int64_t now, bool early)
{
    uint32_t share = cpu_throttle_get(container_of(t, CPUState, throttle));

    if (early) {
        atomic_fetch_add_explicit(&t->cut_short, 1, memory_order_relaxed);
    }
    t->sleep_end_ns = 0;
    atomic_store_explicit(&t->slice_end_ns, now + slice_ns(share),
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
        t->sleep_end_ns = now + cpu_throttle_sleep_ns(share);
        atomic_fetch_add_explicit(&t->sleeps, 1, memory_order_relaxed);
    }
    if (share == 0 || now >= t->sleep_end_ns) {
        end_sleep(t, now, t->sleep_end_ns && now < t->sleep_end_ns);
        return false;
    }
    bql_unlock();
    qemu_event_timedwait(
        &cpu->wake, (int)((t->sleep_end_ns - now + NS_PER_MS - 1) / NS_PER_MS));
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
