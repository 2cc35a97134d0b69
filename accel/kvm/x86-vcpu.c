/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A new vCPU: CPUID, TSC rate, machine checks; and what is around KVM_RUN. */
#include "qemu/osdep.h"

#include "qemu/error.h"

#include "kvm-caps.h"
#include "x86-kvm.h"

bool kvm_x86_get(KvmVcpu *v, unsigned long req, void *arg, const char *what,
                 Error **errp)
{
    int ret = kvm_vcpu_ioctl(v, req, arg);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot get %s of vCPU %lu", what, v->id);
    }
    return ret >= 0;
}

bool kvm_x86_set(KvmVcpu *v, unsigned long req, const void *arg,
                 const char *what, Error **errp)
{
    int ret = kvm_vcpu_ioctl(v, req, arg);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot set %s of vCPU %lu", what, v->id);
    }
    return ret >= 0;
}

/* ---- CPUID ---- */

static bool put_cpuid(KvmVcpu *v, const X86Cpuid *c, Error **errp)
{
    struct {
        struct kvm_cpuid2 head;
        struct kvm_cpuid_entry2 entries[X86_CPUID_MAX];
    } list = { .head.nent = c->n };

    for (unsigned i = 0; i < c->n; i++) {
        const X86CpuidEntry *e = &c->e[i];

        list.entries[i] = (struct kvm_cpuid_entry2){
            .function = e->function,
            .index = e->index,
            .flags = e->has_index ? KVM_CPUID_FLAG_SIGNIFCANT_INDEX : 0,
            .eax = e->regs[X86_EAX],
            .ebx = e->regs[X86_EBX],
            .ecx = e->regs[X86_ECX],
            .edx = e->regs[X86_EDX],
        };
    }
    return kvm_x86_set(v, KVM_SET_CPUID2, &list, "CPUID", errp);
}

bool kvm_x86_set_cpuid(KvmVcpu *v, Error **errp)
{
    KvmX86Vcpu *x = kvm_x86_vcpu(v);

    if (x->has_cpuid && x->cpuid_of == v->cs) {
        return true;
    }
    if (v->cs) {
        x86_cpu_build_cpuid(X86_CPU(v->cs), &x->cpuid);
    } else {
        x->cpuid = x86_host()->cpuid;
    }
    if (!put_cpuid(v, &x->cpuid, errp)) {
        return false;
    }
    x->cpuid_of = v->cs;
    x->has_cpuid = true;
    return true;
}

/* ---- time and machine checks ---- */

static bool set_tsc_rate(KvmVcpu *v, Error **errp)
{
    int64_t want = kvm_x86_env(v)->tsc_khz, have = 0;
    int ret = kvm_vcpu_ioctl(v, KVM_GET_TSC_KHZ, 0);

    if (ret > 0) {
        have = ret;
    }
    if (!want) {
        kvm_x86_env(v)->tsc_khz = have; /* as it is */
        return true;
    }
    if (want == have) {
        return true;
    }
    ret = kvm_vcpu_ioctl(v, KVM_SET_TSC_KHZ, want);
    if (ret < 0 && !(have && x86_same_tsc_rate(want, have))) {
        error_setg(errp,
                   "this host cannot run the TSC of vCPU %lu at %" PRId64
                   " kHz, its own rate is %" PRId64 " kHz",
                   v->id, want, have);
        return false;
    }
    return true;
}

static void set_machine_checks(KvmVcpu *v)
{
    uint64_t cap = kvm_x86_env(v)->mcg_cap_reset;

    /* Without it the guest sees no banks: then there are none to keep. */
    if (cap && kvm_vcpu_ioctl(v, KVM_X86_SETUP_MCE, &cap) < 0) {
        kvm_x86_env(v)->mcg_cap_reset = 0;
        kvm_x86_env(v)->mcg_cap = 0;
    }
}

/* The kernel's local APICs begin with it, and have no other as x2APICs. */
unsigned long kvm_arch_vcpu_id(CPUState *cs)
{
    return X86_CPU(cs)->apic_id;
}

bool kvm_arch_init_vcpu(KvmVcpu *v, Error **errp)
{
    KvmX86Vcpu *x = g_new0(KvmX86Vcpu, 1);
    int bytes = kvm_vm_check_extension(v->vm, KVM_CAP_XSAVE2);

    v->arch = x;
    x->xsave_bytes = MAX(bytes, (int)sizeof(struct kvm_xsave));
    x->xsave = g_malloc0(x->xsave_bytes);
    if (!kvm_x86_set_cpuid(v, errp)) {
        return false;
    }
    if (v->cs) {
        kvm_x86_env(v)->apic_valid = v->vm->irqchip != KVM_IRQCHIP_OFF;
        set_machine_checks(v);
        return set_tsc_rate(v, errp) && kvm_x86_get_first_msrs(v, errp) &&
               (v->vm != kvm_vm() || kvm_x86_sections_init(errp));
    }
    return true;
}

void kvm_arch_destroy_vcpu(KvmVcpu *v)
{
    KvmX86Vcpu *x = v->arch;

    if (x) {
        g_free(x->xsave);
        g_free(x);
    }
    v->arch = NULL;
}

/* ---- around KVM_RUN ---- */

void kvm_arch_pre_run(KvmVcpu *v)
{
    if (!v->cs) {
        return;
    }
    if (cpu_test_interrupt(v->cs, X86_INTERRUPT_NMI)) {
        cpu_reset_interrupt(v->cs, X86_INTERRUPT_NMI);
        kvm_vcpu_ioctl(v, KVM_NMI, 0); /* fails only without an APIC at all */
    }
    if (v->vm->irqchip == KVM_IRQCHIP_OFF) {
        v->run->cr8 = kvm_x86_env(v)->cr8;
    } else if (v->vm->irqchip == KVM_IRQCHIP_SPLIT) {
        kvm_x86_extint_pre_run(v);
    }
}

void kvm_arch_post_run(KvmVcpu *v)
{
    if (v->cs && v->vm->irqchip == KVM_IRQCHIP_OFF) {
        kvm_x86_env(v)->cr8 = v->run->cr8;
    } else if (v->cs && v->vm->irqchip == KVM_IRQCHIP_SPLIT) {
        kvm_x86_extint_post_run(v);
    }
}

bool kvm_arch_handle_exit(KvmVcpu *v, KvmExitAction *action)
{
    if (v->run->exit_reason == KVM_EXIT_IOAPIC_EOI) {
        kvm_x86_eoi_exit(v);
        *action = KVM_GO_ON;
        return true;
    }
    return false;
}

bool kvm_arch_has_work(KvmVcpu *v)
{
    return v->cs && cpu_has_work(v->cs);
}

/* ---- registers: which parts, in an order that the kernel takes ---- */

bool kvm_arch_get_registers(KvmVcpu *v, Error **errp)
{
    return kvm_x86_get_events(v, errp) && kvm_x86_get_core(v, errp) &&
           kvm_x86_get_msrs(v, errp);
}

/*
 * What changes only from outside the vCPU (pending NMI, INIT and SIPI, the
 * local APIC, the time) is left alone at RUNTIME: the kernel's is newer.
 */
bool kvm_arch_put_registers(KvmVcpu *v, KvmPutLevel level, Error **errp)
{
    kvm_x86_vcpu(v)->can_take = false;
    /* A stream may bring another rate than the vCPU was made with. */
    if (!kvm_x86_set_cpuid(v, errp) ||
        (level == KVM_PUT_FULL && !set_tsc_rate(v, errp)) ||
        !kvm_x86_put_core(v, errp) || !kvm_x86_put_msrs(v, level, errp)) {
        return false;
    }
    return level == KVM_PUT_RUNTIME ||
           (kvm_x86_put_events(v, errp) && kvm_x86_put_deadline(v, errp));
}
