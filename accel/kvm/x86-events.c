/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is about to be delivered, whether the vCPU runs, its local APIC. */
#include "qemu/osdep.h"

#include "qemu/error.h"

#include "x86-kvm.h"

/* ---- events ---- */

static bool get_pending(KvmVcpu *v, Error **errp)
{
    CPUX86State *env = kvm_x86_env(v);
    struct kvm_vcpu_events e = { 0 };

    if (!kvm_x86_get(v, KVM_GET_VCPU_EVENTS, &e, "pending events", errp)) {
        return false;
    }
    env->exception_injected = e.exception.injected;
    env->exception_pending = (e.flags & KVM_VCPUEVENT_VALID_PAYLOAD)
                                 ? e.exception.pending
                                 : 0;
    env->exception_nr = env->exception_injected || env->exception_pending
                            ? e.exception.nr
                            : -1;
    env->has_error_code = e.exception.has_error_code;
    env->error_code = e.exception.error_code;
    env->exception_has_payload = e.exception_has_payload;
    env->exception_payload = e.exception_payload;
    env->interrupt_injected = e.interrupt.injected ? e.interrupt.nr : -1;
    env->soft_interrupt = e.interrupt.soft;
    env->interrupt_shadow = e.interrupt.shadow;
    env->nmi_injected = e.nmi.injected;
    env->nmi_pending = e.nmi.pending;
    env->nmi_masked = e.nmi.masked;
    env->sipi_vector = e.sipi_vector;
    env->in_smm = e.smi.smm;
    env->smi_pending = e.smi.pending;
    env->smm_inside_nmi = e.smi.smm_inside_nmi;
    env->smi_latched_init = e.smi.latched_init;
    env->triple_fault_pending = e.triple_fault.pending;
    return true;
}

static bool put_pending(KvmVcpu *v, Error **errp)
{
    const CPUX86State *env = kvm_x86_env(v);
    const KvmX86Vm *xvm = kvm_x86_vm(v->vm);
    struct kvm_vcpu_events e = {
        .exception = {
            .injected = env->exception_injected,
            .pending = xvm->has_payload && env->exception_pending,
            .nr = env->exception_nr < 0 ? 0 : env->exception_nr,
            .has_error_code = env->has_error_code,
            .error_code = env->error_code,
        },
        .interrupt = {
            .injected = env->interrupt_injected >= 0,
            .nr = env->interrupt_injected < 0 ? 0 : env->interrupt_injected,
            .soft = env->soft_interrupt,
            .shadow = env->interrupt_shadow,
        },
        .nmi = {
            .injected = env->nmi_injected,
            .pending = env->nmi_pending,
            .masked = env->nmi_masked,
        },
        .sipi_vector = env->sipi_vector,
        .flags = KVM_VCPUEVENT_VALID_NMI_PENDING | KVM_VCPUEVENT_VALID_SHADOW |
                 KVM_VCPUEVENT_VALID_SIPI_VECTOR,
    };

    if (xvm->has_payload) {
        e.flags |= KVM_VCPUEVENT_VALID_PAYLOAD;
        e.exception_has_payload = env->exception_has_payload;
        e.exception_payload = env->exception_payload;
    } else {
        e.exception.injected |= env->exception_pending;
    }
    if (xvm->has_triple_fault) {
        e.flags |= KVM_VCPUEVENT_VALID_TRIPLE_FAULT;
        e.triple_fault.pending = env->triple_fault_pending;
    }
    if (xvm->has_smm) {
        e.flags |= KVM_VCPUEVENT_VALID_SMM;
        e.smi.smm = env->in_smm;
        e.smi.pending = env->smi_pending;
        e.smi.smm_inside_nmi = env->smm_inside_nmi;
        e.smi.latched_init = env->smi_latched_init;
    }
    return kvm_x86_set(v, KVM_SET_VCPU_EVENTS, &e, "pending events", errp);
}

/* ---- MP state and local APIC ---- */

static bool apic_in_kernel(KvmVcpu *v)
{
    return v->vm->irqchip != KVM_IRQCHIP_OFF;
}

static bool get_mp_state(KvmVcpu *v, Error **errp)
{
    struct kvm_mp_state mp;

    if (!kvm_x86_get(v, KVM_GET_MP_STATE, &mp, "MP state", errp)) {
        return false;
    }
    kvm_x86_env(v)->mp_state = mp.mp_state;
    if (apic_in_kernel(v)) {
        v->cs->halted = mp.mp_state == KVM_MP_STATE_HALTED;
    }
    return true;
}

static bool put_mp_state(KvmVcpu *v, Error **errp)
{
    struct kvm_mp_state mp = { .mp_state = kvm_x86_env(v)->mp_state };

    /* Without an APIC nobody can start it later: the kernel takes one state. */
    if (!apic_in_kernel(v)) {
        mp.mp_state = KVM_MP_STATE_RUNNABLE;
    }
    return kvm_x86_set(v, KVM_SET_MP_STATE, &mp, "MP state", errp);
}

QEMU_BUILD_BUG_ON(sizeof(struct kvm_lapic_state) != APIC_PAGE_SIZE);

static bool get_apic(KvmVcpu *v, Error **errp)
{
    return !apic_in_kernel(v) ||
           kvm_x86_get(v, KVM_GET_LAPIC, kvm_x86_env(v)->apic_regs,
                       "local APIC", errp);
}

static bool put_apic(KvmVcpu *v, Error **errp)
{
    return !apic_in_kernel(v) ||
           kvm_x86_set(v, KVM_SET_LAPIC, kvm_x86_env(v)->apic_regs,
                       "local APIC", errp);
}

/*
 * The MP state first: to read it makes the kernel act on INIT and SIPI that
 * have come, which changes the rest.
 */
bool kvm_x86_get_events(KvmVcpu *v, Error **errp)
{
    return get_mp_state(v, errp) && get_apic(v, errp) && get_pending(v, errp);
}

bool kvm_x86_put_events(KvmVcpu *v, Error **errp)
{
    return put_apic(v, errp) && put_mp_state(v, errp) && put_pending(v, errp);
}
