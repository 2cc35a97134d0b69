/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs: their list, threads, stopping and work: see include/system/cpus.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/accel-ops.h"
#include "system/cpu-throttle.h"
#include "system/cpus.h"
#include "system/runstate.h"
#include "cpus-internal.h"

struct QemuWorkItem {
    QemuWorkItem *next;
    run_on_cpu_func func;
    run_on_cpu_data data;
    bool waited_for; /* the caller's, on its stack */
    bool done;       /* guarded by the BQL */
};

__thread CPUState *current_cpu;

/* The machine's CPUs: one list per process. */
static struct {
    /* Written under the BQL, read by any thread; only ever appended to. */
    CPUState *_Atomic first;
    CPUState *last;
    unsigned count;

    const AccelOps *ops; /* constant once the accelerator is chosen */

    /* Signalled under the BQL when a vCPU was created, stopped, or did work. */
    QemuCond changed;
    bool changed_ready;
} cpus;

void accel_ops_set(const AccelOps *ops)
{
    cpus.ops = ops;
}

const AccelOps *accel_ops(void)
{
    return cpus.ops;
}

static QemuCond *changed_cond(void)
{
    if (!cpus.changed_ready) {
        qemu_cond_init(&cpus.changed);
        cpus.changed_ready = true;
    }
    return &cpus.changed;
}

/* ---- the list ---- */

CPUState *first_cpu(void)
{
    /* Acquire: pairs with the release in cpus_append(). */
    return atomic_load_explicit(&cpus.first, memory_order_acquire);
}

CPUState *cpu_list_next(CPUState *cpu)
{
    return atomic_load_explicit(&cpu->next, memory_order_acquire);
}

CPUState *qemu_get_cpu(int index)
{
    CPUState *cpu;

    CPU_FOREACH (cpu) {
        if (cpu->cpu_index == index) {
            return cpu;
        }
    }
    return NULL;
}

unsigned cpu_count(void)
{
    return cpus.count;
}

void cpu_list_append(CPUState *cpu)
{
    cpu->cpu_index = cpus.count++;
    /* Release: who finds it on the list finds it filled in. */
    if (cpus.last) {
        atomic_store_explicit(&cpus.last->next, cpu, memory_order_release);
    } else {
        atomic_store_explicit(&cpus.first, cpu, memory_order_release);
    }
    cpus.last = cpu;
}

/* ---- kicks and interrupts ---- */

void qemu_cpu_kick(CPUState *cpu)
{
    /* Release: pairs with the fence in vcpu_thread_wait(). */
    atomic_store_explicit(&cpu->exit_request, true, memory_order_release);
    qemu_event_set(&cpu->wake);
    if (cpus.ops && cpus.ops->kick_vcpu_thread) {
        cpus.ops->kick_vcpu_thread(cpu);
    }
}

void cpu_exit(CPUState *cpu)
{
    qemu_cpu_kick(cpu);
}

void cpu_interrupt(CPUState *cpu, uint32_t mask)
{
    /* Release: what the interrupt is about is seen by who sees the bit. */
    atomic_fetch_or_explicit(&cpu->interrupt_request, mask,
                             memory_order_release);
    if (cpus.ops && cpus.ops->handle_interrupt) {
        cpus.ops->handle_interrupt(cpu, mask);
    }
    if (cpu != current_cpu) {
        qemu_cpu_kick(cpu);
    } else {
        atomic_store_explicit(&cpu->exit_request, true, memory_order_relaxed);
    }
}

void cpu_reset_interrupt(CPUState *cpu, uint32_t mask)
{
    atomic_fetch_and_explicit(&cpu->interrupt_request, ~mask,
                              memory_order_relaxed);
}

/* ---- a vCPU's thread ---- */

char *vcpu_thread_name(CPUState *cpu, const char *accel)
{
    return g_strdup_printf("CPU %d/%s", cpu->cpu_index, accel);
}

void TSA_NO_CHECK vcpu_thread_begin(CPUState *cpu)
{
    bql_lock();
    current_cpu = cpu;
    cpu->thread_id = qemu_get_thread_id();
    cpu->created = true;
    qemu_cond_broadcast(changed_cond());
}

void TSA_NO_CHECK vcpu_thread_end(CPUState *cpu)
{
    cpu->created = false;
    cpu->stopped = true;
    qemu_cond_broadcast(changed_cond());
    bql_unlock();
}

static bool has_queued_work(CPUState *cpu)
{
    QEMU_LOCK_GUARD(&cpu->work_lock);
    return cpu->work_first != NULL;
}

static QemuWorkItem *take_work(CPUState *cpu)
{
    QemuWorkItem *wi;

    QEMU_LOCK_GUARD(&cpu->work_lock);
    wi = cpu->work_first;
    if (wi) {
        cpu->work_first = wi->next;
        if (!cpu->work_first) {
            cpu->work_last = NULL;
        }
    }
    return wi;
}

static void run_queued_work(CPUState *cpu)
{
    QemuWorkItem *wi;

    while ((wi = take_work(cpu))) {
        wi->func(cpu, wi->data);
        if (wi->waited_for) {
            wi->done = true;
            qemu_cond_broadcast(changed_cond());
        } else {
            g_free(wi);
        }
    }
}

static bool thread_is_idle(CPUState *cpu)
{
    if (cpu->stop || cpu->unplug || has_queued_work(cpu)) {
        return false;
    }
    if (cpu->stopped || !runstate_is_running()) {
        return true;
    }
    if (!cpu->halted || cpu_has_work(cpu)) {
        return false;
    }
    if (cpus.ops->cpu_thread_is_idle) {
        return cpus.ops->cpu_thread_is_idle(cpu);
    }
    return true;
}

bool TSA_NO_CHECK vcpu_thread_wait(CPUState *cpu)
{
    for (;;) {
        /*
         * Forget what was asked so far, then look. Full fence: pairs with
         * the askers' order (state, then exit_request and wake).
         */
        atomic_store_explicit(&cpu->exit_request, false, memory_order_relaxed);
        qemu_event_reset(&cpu->wake);
        atomic_thread_fence(memory_order_seq_cst);

        if (cpu->stop) {
            cpu->stop = false;
            cpu->stopped = true;
            qemu_cond_broadcast(changed_cond());
        }
        run_queued_work(cpu);
        if (cpu->unplug) {
            return false;
        }
        if (!thread_is_idle(cpu)) {
            /* A stop that came during the work is seen next round. */
            if (!cpu->stop && !cpu_throttle_sleep(cpu)) {
                return true;
            }
            continue;
        }
        bql_unlock();
        qemu_event_wait(&cpu->wake);
        bql_lock();
    }
}

/* Start the thread and wait until it is there. */
bool TSA_NO_CHECK cpu_start_thread(CPUState *cpu, Error **errp)
{
    cpu->stopped = true;
    cpu->thread = g_new0(QemuThread, 1);
    if (!cpus.ops->create_vcpu_thread(cpu, errp)) {
        g_clear_pointer(&cpu->thread, g_free);
        return false;
    }
    while (!cpu->created) {
        qemu_cond_wait_bql(changed_cond());
    }
    return true;
}

/* ---- work ---- */

static void queue_work(CPUState *cpu, QemuWorkItem *wi)
{
    WITH_QEMU_LOCK_GUARD(&cpu->work_lock)
    {
        if (cpu->work_last) {
            cpu->work_last->next = wi;
        } else {
            cpu->work_first = wi;
        }
        cpu->work_last = wi;
    }
    qemu_cpu_kick(cpu);
}

void TSA_NO_CHECK run_on_cpu(CPUState *cpu, run_on_cpu_func func,
                             run_on_cpu_data data)
{
    QemuWorkItem wi = { .func = func, .data = data, .waited_for = true };
    CPUState *self = current_cpu;

    assert(bql_locked());
    if (cpu == self || !cpu->created) {
        func(cpu, data);
        return;
    }
    queue_work(cpu, &wi);
    while (!wi.done) {
        /* A vCPU that waits for another must not be waited for in turn. */
        if (self) {
            run_queued_work(self);
        }
        if (!wi.done) {
            qemu_cond_wait_bql(changed_cond());
        }
    }
}

void async_run_on_cpu(CPUState *cpu, run_on_cpu_func func, run_on_cpu_data data)
{
    QemuWorkItem *wi = g_new0(QemuWorkItem, 1);

    wi->func = func;
    wi->data = data;
    queue_work(cpu, wi);
}

/* ---- all of them ---- */

bool cpu_is_stopped(CPUState *cpu)
{
    return cpu->stopped || !cpu->created;
}

bool all_vcpus_paused(void)
{
    CPUState *cpu;

    CPU_FOREACH (cpu) {
        if (cpu->created && !cpu->stopped) {
            return false;
        }
    }
    return true;
}

void TSA_NO_CHECK pause_all_vcpus(void)
{
    CPUState *cpu;

    assert(bql_locked());
    assert(!current_cpu);
    /* Asked again: who waits with us may have resumed them before we woke. */
    while (!all_vcpus_paused()) {
        CPU_FOREACH (cpu) {
            if (cpu->created && !cpu->stopped && !cpu->stop) {
                cpu->stop = true;
                qemu_cpu_kick(cpu);
            }
        }
        qemu_cond_wait_bql(changed_cond());
    }
}

void cpu_resume(CPUState *cpu)
{
    cpu->stop = false;
    cpu->stopped = false;
    qemu_cpu_kick(cpu);
}

void resume_all_vcpus(void)
{
    CPUState *cpu;

    assert(bql_locked());
    if (!runstate_is_running()) {
        return;
    }
    CPU_FOREACH (cpu) {
        cpu_resume(cpu);
    }
}

void TSA_NO_CHECK cpus_shutdown(void)
{
    CPUState *cpu;

    assert(bql_locked());
    CPU_FOREACH (cpu) {
        cpu->unplug = true;
        qemu_cpu_kick(cpu);
    }
    CPU_FOREACH (cpu) {
        if (cpu->thread) {
            bql_unlock();
            qemu_thread_join(cpu->thread);
            bql_lock();
            g_clear_pointer(&cpu->thread, g_free);
        }
    }
}

static void call_all(void (*fn)(CPUState *cpu))
{
    CPUState *cpu;

    if (fn) {
        CPU_FOREACH (cpu) {
            fn(cpu);
        }
    }
}

void cpu_synchronize_state(CPUState *cpu)
{
    if (cpus.ops && cpus.ops->synchronize_state) {
        cpus.ops->synchronize_state(cpu);
    }
}

void cpu_synchronize_all_states(void)
{
    call_all(cpus.ops ? cpus.ops->synchronize_state : NULL);
}

void cpu_synchronize_all_post_reset(void)
{
    call_all(cpus.ops ? cpus.ops->synchronize_post_reset : NULL);
}

bool cpu_synchronize_all_post_init(Error **errp)
{
    CPUState *cpu;

    if (cpus.ops && cpus.ops->synchronize_post_init) {
        CPU_FOREACH (cpu) {
            if (!cpus.ops->synchronize_post_init(cpu, errp)) {
                return false;
            }
        }
    }
    return true;
}

void cpu_synchronize_all_pre_loadvm(void)
{
    call_all(cpus.ops ? cpus.ops->synchronize_pre_loadvm : NULL);
}
