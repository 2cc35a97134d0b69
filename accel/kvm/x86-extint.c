/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goes between the board's PICs and I/O APIC and the vCPUs, with
 * kernel-irqchip=split: interrupts without a message, ends of those with one.
 *
 * PICs ask the first vCPU, a level (as everywhere: LINT0 of others is of no
 * use). It is kicked, and before it enters the guest
 *
 *   it can take one    (the kernel said so when it came out, and nothing was
 *                      changed since): the PICs are acknowledged, and their
 *                      vector becomes the interrupt that is injected
 *   it cannot          the kernel is asked to come out as soon as it can
 *
 * The kernel has a call for that, KVM_INTERRUPT, but keeps the vector where
 * nobody can read it until the vCPU is entered; a guest that is stopped or moved
 * before would lose what its PICs believe is in service. So it is set among the
 * pending events (KVM_SET_VCPU_EVENTS), where it is found by whoever saves
 * them. A halted vCPU is not woken by those, so it is set running first.
 *
 * An I/O APIC hears of the end of a level-triggered interrupt by an exit of its
 * own, which the kernel keeps to itself until the vCPU is entered again. So when
 * the machine stops, and before the guest moves to another kernel VM, each vCPU
 * is entered once with a signal pending.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/board-chips.h"
#include "system/reset.h"
#include "system/runstate.h"

#include "x86-kvm.h"

#define RFLAGS_IF (1u << 9)
#define NO_VECTOR -1
#define FLUSH_MAX 300 /* ends a vCPU may have to tell: one for each vector */

static _Atomic bool asked; /* what PICs ask; changed under the BQL */
/* Acknowledged, and the kernel has not taken it. The first vCPU's thread. */
static int taken = NO_VECTOR;

void kvm_x86_set_extint(bool level)
{
    CPUState *cs = first_cpu();

    atomic_store(&asked, level);
    /* In its own thread: it looks before it enters the guest. */
    if (level && cs && cs != current_cpu) {
        qemu_cpu_kick(cs);
    }
}

/* ---- into the vCPU ---- */

/* Not in the midst of anything; with the state that it is decided by. */
static int may_take(KvmVcpu *v, struct kvm_mp_state *mp,
                    struct kvm_vcpu_events *e)
{
    struct kvm_regs regs;
    int ret = kvm_vcpu_ioctl(v, KVM_GET_MP_STATE, mp);

    /* This first: to read it makes the kernel act on INIT. */
    ret = ret < 0 ? ret : kvm_vcpu_ioctl(v, KVM_GET_VCPU_EVENTS, e);
    ret = ret < 0 ? ret : kvm_vcpu_ioctl(v, KVM_GET_REGS, &regs);
    if (ret < 0) {
        return ret;
    }
    return (mp->mp_state == KVM_MP_STATE_RUNNABLE ||
            mp->mp_state == KVM_MP_STATE_HALTED) &&
           (regs.rflags & RFLAGS_IF) && !e->interrupt.shadow &&
           !e->interrupt.injected && !e->exception.injected &&
           !e->exception.pending && !e->nmi.injected;
}

static int inject(KvmVcpu *v)
{
    struct kvm_mp_state mp = { 0 }, running = { KVM_MP_STATE_RUNNABLE };
    struct kvm_vcpu_events e = { 0 };
    int ret = may_take(v, &mp, &e);

    if (ret <= 0) {
        return ret;
    }
    if (mp.mp_state == KVM_MP_STATE_HALTED) {
        ret = kvm_vcpu_ioctl(v, KVM_SET_MP_STATE, &running);
        if (ret < 0) {
            return ret;
        }
    }
    if (taken == NO_VECTOR) {
        taken = board_chips_acknowledge();
    }
    e.interrupt.injected = 1;
    e.interrupt.nr = taken;
    e.interrupt.soft = 0;
    e.flags = 0; /* no more than that */
    ret = kvm_vcpu_ioctl(v, KVM_SET_VCPU_EVENTS, &e);
    if (ret >= 0) {
        taken = NO_VECTOR;
    }
    return ret;
}

static bool wants_to(void)
{
    return atomic_load(&asked) || taken != NO_VECTOR;
}

void kvm_x86_extint_pre_run(KvmVcpu *v)
{
    KvmX86Vcpu *x = kvm_x86_vcpu(v);
    int ret = 0;

    v->run->request_interrupt_window = 0;
    if (v->cs->cpu_index != 0 || !wants_to()) {
        return;
    }
    if (x->can_take) {
        BQL_LOCK_GUARD();
        x->can_take = false;
        if (wants_to()) {
            ret = inject(v);
            ret = ret < 0 ? inject(v) : ret; /* once more */
        }
    }
    if (ret < 0) {
        kvm_internal_error(v, "cannot give it an interrupt of the PICs: %s",
                           strerror(-ret));
    }
    v->run->request_interrupt_window = wants_to();
}

void kvm_x86_extint_post_run(KvmVcpu *v)
{
    kvm_x86_vcpu(v)->can_take = !v->io_pending &&
                                v->run->ready_for_interrupt_injection;
}

/* What the vCPU was about to take is gone. */
static void forget(void *opaque)
{
    taken = NO_VECTOR;
}

/* ---- ends of interrupts ---- */

void kvm_x86_eoi_exit(KvmVcpu *v)
{
    BQL_LOCK_GUARD();
    if (board_chips_present()) {
        board_chips_eoi(v->run->eoi.vector);
    }
}

static int flush_vcpu(KvmVcpu *v)
{
    int ret = 0;

    for (unsigned i = 0; i < FLUSH_MAX; i++) {
        ret = kvm_vcpu_run_nothing(v);
        if (ret != -EBUSY || v->run->exit_reason != KVM_EXIT_IOAPIC_EOI) {
            break;
        }
        kvm_x86_eoi_exit(v);
    }
    return ret == -EAGAIN ? 0 : ret; /* it waits for its start */
}

bool kvm_x86_flush_eois(KvmVm *vm, Error **errp)
{
    if (vm->irqchip != KVM_IRQCHIP_SPLIT) {
        return true;
    }
    for (guint i = 0; i < vm->vcpus->len; i++) {
        KvmVcpu *v = vm->vcpus->pdata[i];
        int ret = v->io_pending || v->regs_in_env ? 0 : flush_vcpu(v);

        if (ret < 0) {
            error_setg_errno(errp, -ret,
                             "cannot learn which interrupts of vCPU %lu are at "
                             "their end",
                             v->id);
            return false;
        }
    }
    return true;
}

static void state_changed(void *opaque, bool running, RunState state)
{
    Error *err = NULL;

    if (!running && kvm_vm() && !kvm_x86_flush_eois(kvm_vm(), &err)) {
        warn_report_err(err);
    }
}

void kvm_x86_extint_init(void)
{
    qemu_add_vm_change_state_handler(state_changed, NULL);
    qemu_register_reset(forget, NULL);
}
