/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this host lets a vCPU have: KVM_GET_SUPPORTED_CPUID, corrected.
 */
#include "qemu/osdep.h"

#include <cpuid.h>

#include "qemu/error.h"

#include "kvm-caps.h"
#include "x86-kvm.h"

#define MSR_ARCH_CAPABILITIES 0x10a

typedef struct CpuidList {
    struct kvm_cpuid2 head;
    struct kvm_cpuid_entry2 entries[X86_CPUID_MAX];
} CpuidList;

static bool read_supported(X86Host *host, Error **errp)
{
    g_autofree CpuidList *list = g_new0(CpuidList, 1);
    int ret;

    list->head.nent = X86_CPUID_MAX;
    ret = kvm_dev_ioctl(KVM_GET_SUPPORTED_CPUID, list);
    if (ret < 0) {
        error_setg_errno(errp, -ret,
                         "cannot learn what CPUID the kernel's KVM "
                         "supports");
        return false;
    }
    for (uint32_t i = 0; i < MIN(list->head.nent, X86_CPUID_MAX); i++) {
        const struct kvm_cpuid_entry2 *e = &list->entries[i];
        bool indexed = e->flags & KVM_CPUID_FLAG_SIGNIFCANT_INDEX;

        x86_cpuid_add(&host->cpuid, e->function, indexed ? (int)e->index : -1,
                      e->eax, e->ebx, e->ecx, e->edx);
    }
    return true;
}

static void change(X86Host *host, uint32_t function, X86CpuidReg reg,
                   uint32_t bit, bool on)
{
    for (unsigned i = 0; i < host->cpuid.n; i++) {
        X86CpuidEntry *e = &host->cpuid.e[i];

        if (e->function == function && (!e->has_index || e->index == 0)) {
            e->regs[reg] = on ? e->regs[reg] | 1u << bit
                              : e->regs[reg] & ~(1u << bit);
        }
    }
}

/*
 * Hints of how fast string instructions are: nothing that a kernel has to
 * support, so some leave them out.
 */
static void add_hints(X86Host *host)
{
    uint32_t eax, ebx, ecx, edx;

    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        if (ebx & 1u << 9) {
            change(host, 7, X86_EBX, 9, true); /* erms */
        }
        if (edx & 1u << 4) {
            change(host, 7, X86_EDX, 4, true); /* fsrm */
        }
    }
}

/* What the kernel's list does not know, or says for all kinds of VM. */
static void correct(X86Host *host, KvmIrqchip irqchip)
{
    bool apic = irqchip != KVM_IRQCHIP_OFF;
    bool deadline = apic && kvm_check_extension(KVM_CAP_TSC_DEADLINE_TIMER);

    change(host, 1, X86_ECX, 31, true);          /* hypervisor */
    change(host, 1, X86_ECX, 27, false);         /* OSXSAVE: follows CR4 */
    change(host, 7, X86_ECX, 4, false);          /* OSPKE: likewise */
    change(host, 1, X86_ECX, 24, deadline);      /* TSC deadline */
    change(host, 1, X86_ECX, 21, apic);          /* x2APIC */
    change(host, 6, X86_EAX, 2, apic);           /* APIC timer always runs */
    change(host, 1, X86_EDX, 28, false);         /* by the topology */
    change(host, 0x80000001, X86_ECX, 1, false); /* likewise */
    if (!strcmp(host->vendor, "AuthenticAMD")) {
        /* The kernel makes it up; AMD has no such register. */
        change(host, 7, X86_EDX, 29, false);
    }
    if (!apic) {
        change(host, 0x40000001, X86_EAX, 7, false);  /* pv-unhalt */
        change(host, 0x40000001, X86_EAX, 11, false); /* pv-ipi */
        change(host, 0x40000001, X86_EAX, 4, false);  /* async page faults */
        change(host, 0x40000001, X86_EAX, 14, false);
    }
}

static void identify(X86Host *host)
{
    const X86CpuidEntry *e = x86_cpuid_find(&host->cpuid, 0, 0);
    uint32_t r[4];

    if (e) {
        memcpy(host->vendor, &e->regs[X86_EBX], 4);
        memcpy(host->vendor + 4, &e->regs[X86_EDX], 4);
        memcpy(host->vendor + 8, &e->regs[X86_ECX], 4);
    }
    /* The kernel's list leaves the name out. */
    for (int i = 0; i < 3; i++) {
        if (__get_cpuid(0x80000002 + i, &r[0], &r[1], &r[2], &r[3])) {
            memcpy(host->model_id + 16 * i, r, 16);
        }
    }
}

static void read_msr(uint32_t index, uint64_t *value)
{
    struct {
        struct kvm_msrs head;
        struct kvm_msr_entry entry;
    } m = { .head.nmsrs = 1, .entry.index = index };

    if (kvm_dev_ioctl(KVM_GET_MSRS, &m) == 1) {
        *value = m.entry.data;
    }
}

static void read_machine_checks(X86Host *host)
{
    int banks = kvm_check_extension(KVM_CAP_MCE);
    uint64_t supported = 0;

    if (banks > 0 &&
        kvm_dev_ioctl(KVM_X86_GET_MCE_CAP_SUPPORTED, &supported) == 0) {
        host->mcg_cap = MIN(banks, MCE_BANKS_DEF) |
                        (supported & (MCG_CTL_P | MCG_SER_P));
    }
}

bool kvm_x86_host_init(KvmIrqchip irqchip, Error **errp)
{
    g_autofree X86Host *host = g_new0(X86Host, 1);
    uint64_t caps = 0;

    if (x86_host()) {
        return true;
    }
    if (!read_supported(host, errp)) {
        return false;
    }
    identify(host);
    correct(host, irqchip);
    add_hints(host);
    if (x86_cpuid_find(&host->cpuid, 7, 0) &&
        (x86_cpuid_find(&host->cpuid, 7, 0)->regs[X86_EDX] & 1u << 29)) {
        read_msr(MSR_ARCH_CAPABILITIES, &caps);
    }
    host->arch_capabilities = caps;
    read_machine_checks(host);
    host->tsc_scaling = kvm_check_extension(KVM_CAP_TSC_CONTROL) > 0;
    x86_host_set(host);
    return true;
}

bool kvm_arch_check_host(Error **errp)
{
    static const KvmCapInfo needed[] = {
        { KVM_CAP_INFO(EXT_CPUID), "CPUID" },
        { KVM_CAP_INFO(XSAVE), "vector registers" },
        { KVM_CAP_INFO(XCRS), "vector registers" },
        { KVM_CAP_INFO(VCPU_EVENTS), "pending events" },
        { KVM_CAP_INFO(DEBUGREGS), "debug registers" },
        { KVM_CAP_INFO(MP_STATE), "halted vCPUs" },
        { KVM_CAP_INFO(ADJUST_CLOCK), "the guest's clock" },
    };

    return kvm_caps_require(needed, ARRAY_SIZE(needed), errp);
}
