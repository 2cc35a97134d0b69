/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of the dirty rate: see include/system/dirty-limit.h. */
#include "qemu/osdep.h"

#include "qapi/qapi-commands-dirty-rate.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/cpu-throttle.h"
#include "system/dirty-limit.h"
#include "system/dirty-memory.h"
#include "system/dirty-rate.h"
#include "system/dirty-tracker.h"
#include "system/runstate.h"
#include "system/vcpu-time.h"

#define PAGES_PER_MIB ((1 << 20) / (double)DIRTY_PAGE_SIZE)
/* The first look comes after this part of a period. */
#define FIRST_PERIOD 4

typedef struct LimitedVcpu {
    CPUState *cpu;
    uint64_t limit[DIRTY_LIMIT_USERS]; /* MiB per second; 0: none */
    uint64_t written;                  /* pages, when the period began */
    double rate;                       /* MiB per second, in the last one */
    DirtyLimitLook last;
    int64_t ran_ns; /* of its thread, when the period began */
    uint32_t share;
} LimitedVcpu;

/* One per process, like the list of CPUs. */
static struct {
    /* BQL. */
    bool initialized, running;
    QemuThread thread;

    /* Any thread. */
    _Atomic int period_ms;
    _Atomic bool quit;
    QemuSemaphore wake;

    /* Guarded by lock. */
    QemuMutex lock;
    GArray *vcpus; /* LimitedVcpu, by index; NULL while there is no limit */
} limits = {
    .period_ms = DIRTY_LIMIT_PERIOD_DEFAULT_MS,
    .lock = { PTHREAD_MUTEX_INITIALIZER },
};

/* The lowest limit of @v; 0: none. */
static uint64_t limit_of(const LimitedVcpu *v)
{
    uint64_t limit = 0;

    for (int u = 0; u < DIRTY_LIMIT_USERS; u++) {
        if (v->limit[u] && (!limit || v->limit[u] < limit)) {
            limit = v->limit[u];
        }
    }
    return limit;
}

/* ------------------------------------------------------------ the thread */

/* How long @v executed in a period of so many seconds: nearly all that its
 * thread does is guest code. */
static double executed_s(LimitedVcpu *v, double seconds)
{
    int64_t now_ns = vcpu_ran_ns(v->cpu);
    double ran_s = (double)(now_ns - v->ran_ns) / 1e9;

    v->ran_ns = now_ns;
    return CLAMP(ran_s, 1e-6, seconds);
}

/* One look: what was written in the last @span_ns, and what follows. */
static void look(int64_t span_ns)
{
    double seconds = (double)span_ns / 1e9;

    QEMU_LOCK_GUARD(&limits.lock);
    for (guint i = 0; i < limits.vcpus->len; i++) {
        LimitedVcpu *v = &g_array_index(limits.vcpus, LimitedVcpu, i);
        uint64_t now = v->written, limit = limit_of(v);
        double mib;

        dirty_tracker_written(v->cpu, &now);
        mib = (double)(now - v->written) / PAGES_PER_MIB;
        v->rate = mib / seconds;
        v->written = now;
        v->share = limit ? dirty_limit_step(&v->last, cpu_throttle_get(v->cpu),
                                            mib, executed_s(v, seconds),
                                            seconds, (double)limit)
                         : 0;
        cpu_throttle_set(CPU_THROTTLE_LIMIT, v->cpu, v->share);
    }
}

static void *limit_thread(void *opaque)
{
    int64_t begin_ns = get_clock();
    int part = FIRST_PERIOD;

    while (!atomic_load(&limits.quit)) {
        int64_t now;

        qemu_sem_timedwait(&limits.wake,
                           MAX(atomic_load(&limits.period_ms) / part, 1));
        if (atomic_load(&limits.quit)) {
            break;
        }
        part = 1;
        now = get_clock();
        look(MAX(now - begin_ns, 1));
        begin_ns = get_clock();
        /* From here on each first write to a page counts again. */
        dirty_rate_rearm_all();
    }
    return NULL;
}

static void find_vcpus(void)
{
    CPUState *cpu;

    QEMU_LOCK_GUARD(&limits.lock);
    limits.vcpus = g_array_new(false, true, sizeof(LimitedVcpu));
    CPU_FOREACH (cpu) {
        LimitedVcpu v = { .cpu = cpu, .ran_ns = vcpu_ran_ns(cpu) };

        dirty_tracker_written(cpu, &v.written);
        g_array_append_val(limits.vcpus, v);
    }
}

static bool start(Error **errp)
{
    if (!memory_global_dirty_log_start(GLOBAL_DIRTY_LIMIT, errp)) {
        return false;
    }
    dirty_rate_rearm_all();
    find_vcpus();
    cpu_throttle_begin(CPU_THROTTLE_LIMIT);
    atomic_store(&limits.quit, false);
    qemu_thread_create(&limits.thread, "dirty-limit", limit_thread, NULL,
                       QEMU_THREAD_JOINABLE, &error_fatal);
    limits.running = true;
    return true;
}

static void stop(void)
{
    atomic_store(&limits.quit, true);
    qemu_sem_post(&limits.wake);
    /* Sleepers first. The thread does not take the BQL. */
    cpu_throttle_end(CPU_THROTTLE_LIMIT);
    qemu_thread_join(&limits.thread);
    limits.running = false;
    memory_global_dirty_log_stop(GLOBAL_DIRTY_LIMIT);
    QEMU_LOCK_GUARD(&limits.lock);
    g_clear_pointer(&limits.vcpus, g_array_unref);
}

static void exit_notify(Notifier *notifier, void *data)
{
    if (limits.running) {
        stop();
    }
}

static void init_once(void)
{
    static Notifier exit_notifier = { .notify = exit_notify };

    if (!limits.initialized) {
        qemu_sem_init(&limits.wake, 0);
        qemu_add_exit_notifier(&exit_notifier);
        limits.initialized = true;
    }
}

/* ------------------------------------------------------------------ users */

static bool check_index(int64_t cpu_index, Error **errp)
{
    if (cpu_index >= 0 && cpu_index < cpu_count()) {
        return true;
    }
    error_setg(errp, "there is no vCPU %" PRId64 ": there are %u", cpu_index,
               cpu_count());
    return false;
}

static bool check_tracker(Error **errp)
{
    const DirtyTrackerOps *tracker = dirty_tracker_active();

    if (!tracker->attribute) {
        error_setg(errp,
                   "limits need to know which vCPU writes, which dirty "
                   "tracking '%s' does not tell",
                   tracker->name);
        return false;
    }
    return true;
}

bool dirty_limit_set(DirtyLimitUser user, int64_t cpu_index, uint64_t mib,
                     Error **errp)
{
    assert(bql_locked());
    init_once();
    if (mib < 1 || mib > DIRTY_LIMIT_MAX_MIB) {
        error_setg(errp, "a limit must be between 1 and %" PRId64 " MB/s",
                   DIRTY_LIMIT_MAX_MIB);
        return false;
    }
    if ((cpu_index != -1 && !check_index(cpu_index, errp)) ||
        !check_tracker(errp) || (!limits.running && !start(errp))) {
        return false;
    }
    QEMU_LOCK_GUARD(&limits.lock);
    for (guint i = 0; i < limits.vcpus->len; i++) {
        if (cpu_index == -1 || i == cpu_index) {
            g_array_index(limits.vcpus, LimitedVcpu, i).limit[user] = mib;
        }
    }
    return true;
}

/* Returns whether there is still a limit of any. */
static bool cancel_locked(DirtyLimitUser user, int64_t cpu_index)
{
    bool any = false;

    for (guint i = 0; i < limits.vcpus->len; i++) {
        LimitedVcpu *v = &g_array_index(limits.vcpus, LimitedVcpu, i);

        if (cpu_index == -1 || i == cpu_index) {
            v->limit[user] = 0;
        }
        if (limit_of(v)) {
            any = true;
        } else {
            v->share = 0;
            cpu_throttle_set(CPU_THROTTLE_LIMIT, v->cpu, 0);
        }
    }
    return any;
}

void dirty_limit_cancel(DirtyLimitUser user, int64_t cpu_index)
{
    bool any;

    assert(bql_locked());
    if (!limits.running) {
        return;
    }
    WITH_QEMU_LOCK_GUARD(&limits.lock)
    {
        any = cancel_locked(user, cpu_index);
    }
    if (!any) {
        stop();
    }
}

void dirty_limit_set_period(int ms)
{
    atomic_store(&limits.period_ms, MAX(ms, 1));
}

GArray *dirty_limit_query(void)
{
    GArray *list = g_array_new(false, false, sizeof(DirtyLimitVcpu));

    QEMU_LOCK_GUARD(&limits.lock);
    for (guint i = 0; limits.vcpus && i < limits.vcpus->len; i++) {
        const LimitedVcpu *v = &g_array_index(limits.vcpus, LimitedVcpu, i);
        DirtyLimitVcpu out = {
            .cpu_index = v->cpu->cpu_index,
            .limit_mib = limit_of(v),
            .current_mib = (uint64_t)v->rate,
            .sleep_ns = cpu_throttle_sleep_ns(v->share),
        };

        if (out.limit_mib) {
            g_array_append_val(list, out);
        }
    }
    return list;
}

/* ------------------------------------------------------------------- QMP */

void qmp_set_vcpu_dirty_limit(bool has_cpu_index, int64_t cpu_index,
                              uint64_t dirty_rate, Error **errp)
{
    if (has_cpu_index && !check_index(cpu_index, errp)) {
        return;
    }
    if (dirty_rate == 0) {
        qmp_cancel_vcpu_dirty_limit(has_cpu_index, cpu_index, errp);
        return;
    }
    dirty_limit_set(DIRTY_LIMIT_BY_COMMAND, has_cpu_index ? cpu_index : -1,
                    dirty_rate, errp);
}

void qmp_cancel_vcpu_dirty_limit(bool has_cpu_index, int64_t cpu_index,
                                 Error **errp)
{
    if (has_cpu_index && !check_index(cpu_index, errp)) {
        return;
    }
    dirty_limit_cancel(DIRTY_LIMIT_BY_COMMAND, has_cpu_index ? cpu_index : -1);
}

DirtyLimitInfoList *qmp_query_vcpu_dirty_limit(Error **errp)
{
    DirtyLimitInfoList *head = NULL, **tail = &head;
    g_autoptr(GArray) list = dirty_limit_query();

    for (guint i = 0; i < list->len; i++) {
        const DirtyLimitVcpu *v = &g_array_index(list, DirtyLimitVcpu, i);
        DirtyLimitInfo *info = g_new0(DirtyLimitInfo, 1);

        info->cpu_index = v->cpu_index;
        info->limit_rate = v->limit_mib;
        info->current_rate = v->current_mib;
        QAPI_LIST_APPEND(tail, info);
    }
    return head;
}
