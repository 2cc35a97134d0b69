/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vCPUs: the kernel's part of one, how it enters and leaves the guest, and its
 * thread. The hand-over of enter(), leave() and kvm_vcpu_kick() is the one of
 * kvm-int.h.
 */
#include "qemu/osdep.h"

#include <signal.h>
#include <sys/mman.h>

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/runstate.h"

#include "kvm-arch.h"
#include "kvm-caps.h"
#include "kvm-irqchip.h"
#include "trace-kvm.h"
#include "kvm-trackers.h"
#include "kvm-twin.h"

/* Ends KVM_RUN of the thread it is sent to. Ours alone: glib uses none. */
#define KICK_SIGNAL SIGUSR1

/* ---- made and freed ---- */

static size_t ring_bytes(const KvmVm *vm)
{
    return (size_t)vm->ring_entries * sizeof(DirtyGfn);
}

static bool map(KvmVcpu *v, Error **errp)
{
    KvmVm *vm = v->vm;
    void *p;
    int ret = kvm_fd_mmap(v->fd, vm->run_size, 0, &p);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot map the state of vCPU %lu", v->id);
        return false;
    }
    v->run = p;
    if (vm->kind == KVM_LOG_RING) {
        ret = kvm_fd_mmap(
            v->fd, ring_bytes(vm),
            (off_t)KVM_DIRTY_LOG_PAGE_OFFSET * (off_t)getpagesize(), &p);
        if (ret < 0) {
            error_setg_errno(errp, -ret,
                             "cannot map the dirty ring of vCPU %lu", v->id);
            return false;
        }
        v->ring = p;
    }
    return true;
}

KvmVcpu *kvm_vcpu_new(KvmVm *vm, unsigned long id, CPUState *cs, Error **errp)
{
    KvmVcpu *v = g_new0(KvmVcpu, 1);

    v->vm = vm;
    v->cs = cs;
    v->id = id;
    v->fd = kvm_vm_ioctl(vm, KVM_CREATE_VCPU, id);
    if (v->fd < 0) {
        error_setg_errno(errp, -v->fd, "cannot create vCPU %lu%s", id,
                         v->fd == -EINVAL ? " (the kernel's KVM takes a "
                                            "limited number)"
                                          : "");
    }
    if (v->fd < 0 || !map(v, errp) || !kvm_arch_init_vcpu(v, errp)) {
        kvm_vcpu_free(v);
        return NULL;
    }
    trace_kvm_vcpu_made(id);
    QEMU_LOCK_GUARD(&vm->lock);
    g_ptr_array_add(vm->vcpus, v);
    return v;
}

void kvm_vcpu_free(KvmVcpu *v)
{
    assert(!atomic_load(&v->in_run) && !v->has_thread);
    kvm_ring_vcpu_gone(v);
    WITH_QEMU_LOCK_GUARD(&v->vm->lock)
    {
        g_ptr_array_remove(v->vm->vcpus, v);
    }
    kvm_arch_destroy_vcpu(v);
    if (v->ring) {
        munmap(v->ring, ring_bytes(v->vm));
    }
    if (v->run) {
        munmap(v->run, v->vm->run_size);
    }
    if (v->fd >= 0) {
        close(v->fd);
    }
    g_free(v);
}

/* ---- in and out of the guest ---- */

static _Atomic uint8_t *immediate_exit(KvmVcpu *v)
{
    return (_Atomic uint8_t *)&v->run->immediate_exit;
}

void kvm_vcpu_kick_locked(KvmVcpu *v)
{
    /* Sequentially consistent, all of them: pairs with enter(). */
    atomic_store(immediate_exit(v), 1);
    if (atomic_load(&v->in_run) && v->has_thread) {
        pthread_kill(v->thread, KICK_SIGNAL);
    }
}

void kvm_vcpu_kick(KvmVcpu *v)
{
    atomic_store(immediate_exit(v), 1);
    if (atomic_load(&v->in_run)) {
        QEMU_LOCK_GUARD(&v->vm->lock); /* its thread does not end meanwhile */
        kvm_vcpu_kick_locked(v);
    }
}

static void on_kick_signal(int sig)
{
    /* KVM_RUN has ended, or finds immediate_exit: that is all. */
}

void kvm_vcpu_attach_thread(KvmVcpu *v)
{
    struct sigaction sa = { .sa_handler = on_kick_signal,
                            .sa_flags = SA_RESTART };
    sigset_t set;

    sigaction(KICK_SIGNAL, &sa, NULL);
    sigemptyset(&set);
    sigaddset(&set, KICK_SIGNAL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    QEMU_LOCK_GUARD(&v->vm->lock);
    v->thread = pthread_self();
    v->has_thread = true;
}

void kvm_vcpu_detach_thread(KvmVcpu *v)
{
    QEMU_LOCK_GUARD(&v->vm->lock);
    v->has_thread = false;
}

/* What the kernel calls a signal mask in KVM_RUN: bit N - 1 for signal N. */
static int set_run_mask(KvmVcpu *v, bool on)
{
    struct {
        struct kvm_signal_mask head;
        uint64_t blocked;
    } __attribute__((packed)) mask = {
        .head.len = sizeof(uint64_t),
        .blocked = ~(UINT64_C(1) << (KICK_SIGNAL - 1)),
    };

    return kvm_vcpu_ioctl(v, KVM_SET_SIGNAL_MASK, on ? &mask : NULL);
}

int kvm_vcpu_run_nothing(KvmVcpu *v)
{
    struct timespec none = { 0 };
    sigset_t set, old;
    bool full;
    int ret;

    sigemptyset(&set);
    sigaddset(&set, KICK_SIGNAL);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    ret = set_run_mask(v, true);
    if (ret >= 0) {
        pthread_kill(pthread_self(), KICK_SIGNAL);
        v->run->request_interrupt_window = 0; /* as asked by the last entry */
        do {
            atomic_store(immediate_exit(v), 0);
            ret = kvm_vcpu_ioctl(v, KVM_RUN, 0);
            full = ret == 0 && v->run->exit_reason == KVM_EXIT_DIRTY_RING_FULL;
        } while (full && kvm_ring_skip(v)); /* it was not even let in */
        set_run_mask(v, false);
        sigtimedwait(&set, NULL, &none);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return ret == -EINTR ? 0 : ret < 0 ? ret : -EBUSY;
}

static void leave(KvmVcpu *v)
{
    atomic_store(&v->in_run, false);
    if (atomic_load(&v->vm->gate)) {
        QEMU_LOCK_GUARD(&v->vm->lock);
        qemu_cond_broadcast(&v->vm->changed);
    }
}

static void wait_at_gate(KvmVm *vm)
{
    QEMU_LOCK_GUARD(&vm->lock);
    while (atomic_load(&vm->gate)) {
        qemu_cond_wait(&vm->changed, &vm->lock);
    }
}

/* False: it must not run. */
static bool enter(KvmVcpu *v)
{
    for (;;) {
        /* What was asked until here is looked at below. */
        atomic_exchange(immediate_exit(v), 0);
        atomic_store(&v->in_run, true);
        if (!atomic_load(&v->vm->gate)) {
            break;
        }
        leave(v);
        wait_at_gate(v->vm);
    }
    /* Who broke it kicked before, or did so with the gate closed. */
    if (!atomic_load(&v->vm->broken) &&
        (!v->cs || !atomic_load(&v->cs->exit_request))) {
        return true;
    }
    if (v->io_pending) {
        atomic_store(immediate_exit(v), 1); /* complete it, no more */
        return true;
    }
    leave(v);
    return false;
}

/* Does the kernel wait for an answer to this exit? */
static bool exit_needs_completion(uint32_t reason)
{
    return reason == KVM_EXIT_IO || reason == KVM_EXIT_MMIO ||
           reason == KVM_EXIT_HYPERCALL || reason == KVM_EXIT_X86_RDMSR ||
           reason == KVM_EXIT_X86_WRMSR;
}

int kvm_vcpu_run(KvmVcpu *v)
{
    int ret;

    kvm_arch_pre_run(v);
    if (!enter(v)) {
        return -EINTR;
    }
    ret = kvm_vcpu_ioctl(v, KVM_RUN, 0);
    v->io_pending = ret == 0 && exit_needs_completion(v->run->exit_reason);
    leave(v);
    atomic_fetch_add_explicit(&v->exits, 1, memory_order_relaxed);
    if (ret == 0) {
        trace_kvm_run_exit(v->id, v->run->exit_reason);
    }
    kvm_arch_post_run(v);
    kvm_coalesced_flush(v);
    return ret < 0 ? ret : 0;
}

/* ---- its thread ---- */

/* What env has of it, at the level that is due. */
static bool put_registers(KvmVcpu *v)
{
    g_autoptr(Error) err = NULL;

    if (!v->regs_in_env) {
        return true;
    }
    if (!kvm_arch_put_registers(v, v->put_level, &err)) {
        kvm_internal_error(v, "%s", error_get_pretty(err));
        return false;
    }
    v->regs_in_env = false;
    v->put_level = KVM_PUT_RUNTIME;
    return true;
}

/* Broken: mend it, or stop. */
static bool mend(CPUState *cpu)
{
    BQL_LOCK_GUARD();
    if (kvm_vm_try_mend(kvm_vcpu(cpu)->vm)) {
        return true;
    }
    vm_stop(RUN_STATE_INTERNAL_ERROR);
    return false;
}

static void run_guest(CPUState *cpu)
{
    KvmVcpu *v = kvm_vcpu(cpu);
    int ret;

    if (v->vm->irqchip == KVM_IRQCHIP_OFF) {
        cpu->halted = 0; /* vcpu_thread_wait() found something to do */
    }
    for (;;) {
        /* Not in the midst of an instruction: its registers would be torn. */
        if (atomic_load(&v->vm->broken) && !v->io_pending && !mend(cpu)) {
            return;
        }
        if (!put_registers(v)) {
            return;
        }
        ret = kvm_vcpu_run(v);
        if (ret == 0) {
            v->fault_tries = 0;
            if (kvm_handle_exit(v) == KVM_LEAVE) {
                return;
            }
        } else if (ret == -EFAULT) {
            if (kvm_memory_fault(v) == KVM_LEAVE) {
                return;
            }
        } else if (ret != -EINTR && ret != -EAGAIN) {
            kvm_run_failed(v, ret);
            return;
        } else if (vcpu_must_exit(cpu)) {
            return;
        }
    }
}

/* The BQL is given up in the middle: more than the analysis can follow. */
static void *TSA_NO_CHECK kvm_vcpu_thread(void *opaque)
{
    CPUState *cpu = opaque;

    vcpu_thread_begin(cpu);
    kvm_vcpu_attach_thread(kvm_vcpu(cpu));
    while (vcpu_thread_wait(cpu)) {
        bql_unlock();
        vcpu_run_begin(cpu);
        run_guest(cpu);
        vcpu_run_end(cpu);
        bql_lock();
    }
    kvm_vcpu_detach_thread(kvm_vcpu(cpu));
    vcpu_thread_end(cpu);
    return NULL;
}

static bool create_vcpu_thread(CPUState *cpu, Error **errp)
{
    g_autofree char *name = vcpu_thread_name(cpu, "KVM");
    KvmVcpu *v = kvm_vcpu_new(kvm_vm(), kvm_arch_vcpu_id(cpu), cpu, errp);

    if (!v) {
        return false;
    }
    cpu->accel_data = v;
    kvm_ring_vcpu_made(v);
    if (!qemu_thread_create(cpu->thread, name, kvm_vcpu_thread, cpu,
                            QEMU_THREAD_JOINABLE, errp)) {
        cpu->accel_data = NULL;
        kvm_vcpu_free(v);
        return false;
    }
    return true;
}

static void kick_vcpu_thread(CPUState *cpu)
{
    kvm_twin_with_vcpu(cpu, kvm_vcpu_kick);
}

/* With an irqchip a halted vCPU waits in KVM_RUN. */
static bool cpu_thread_is_idle(CPUState *cpu)
{
    return kvm_vcpu(cpu)->vm->irqchip == KVM_IRQCHIP_OFF &&
           !kvm_arch_has_work(kvm_vcpu(cpu));
}

/* ---- registers, here or in the kernel ---- */

static void get_state(CPUState *cpu, run_on_cpu_data data)
{
    KvmVcpu *v = kvm_vcpu(cpu);
    Error *err = NULL;

    if (v->regs_in_env) {
        return;
    }
    cpu->env_stale = !kvm_arch_get_registers(v, &err);
    if (cpu->env_stale) {
        error_reportf_err(
            err, "KVM: cannot read the state of CPU %d: ", cpu->cpu_index);
        return;
    }
    v->regs_in_env = true;
}

typedef struct PutState {
    KvmPutLevel level;
    Error *err; /* out */
} PutState;

static void put_state(CPUState *cpu, run_on_cpu_data data)
{
    KvmVcpu *v = kvm_vcpu(cpu);
    PutState *put = data.host_ptr;

    cpu->env_stale = false; /* it has just been written */
    v->regs_in_env = true;
    v->put_level = MAX(v->put_level, (unsigned)put->level);
    if (kvm_arch_put_registers(v, v->put_level, &put->err)) {
        v->regs_in_env = false;
        v->put_level = KVM_PUT_RUNTIME;
    }
}

static void forget_state(CPUState *cpu, run_on_cpu_data data)
{
    kvm_vcpu(cpu)->regs_in_env = true;
    cpu->env_stale = false;
}

static void synchronize_state(CPUState *cpu)
{
    if (!kvm_vcpu(cpu)->regs_in_env) {
        run_on_cpu(cpu, get_state, RUN_ON_CPU_NULL);
    }
}

static void synchronize_post_reset(CPUState *cpu)
{
    PutState put = { .level = KVM_PUT_RESET };

    run_on_cpu(cpu, put_state, RUN_ON_CPU_HOST_PTR(&put));
    if (put.err) {
        warn_report("KVM: the state of CPU %d will be set later: %s",
                    cpu->cpu_index, error_get_pretty(put.err));
        error_free(put.err);
    }
}

/* What the kernel refuses twice it will refuse when the guest is to run. */
static bool synchronize_post_init(CPUState *cpu, Error **errp)
{
    PutState put = { .level = KVM_PUT_FULL };

    run_on_cpu(cpu, put_state, RUN_ON_CPU_HOST_PTR(&put));
    if (put.err) {
        error_free(put.err);
        put.err = NULL;
        run_on_cpu(cpu, put_state, RUN_ON_CPU_HOST_PTR(&put));
    }
    error_propagate(errp, put.err);
    return !put.err;
}

static void synchronize_pre_loadvm(CPUState *cpu)
{
    run_on_cpu(cpu, forget_state, RUN_ON_CPU_NULL);
}

const AccelOps kvm_accel_ops = {
    .create_vcpu_thread = create_vcpu_thread,
    .kick_vcpu_thread = kick_vcpu_thread,
    .cpu_thread_is_idle = cpu_thread_is_idle,
    .synchronize_state = synchronize_state,
    .synchronize_post_reset = synchronize_post_reset,
    .synchronize_post_init = synchronize_post_init,
    .synchronize_pre_loadvm = synchronize_pre_loadvm,
};
