/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Model specific registers that are part of a vCPU's state.
 *
 * A register is read and written if the kernel lists it, or if CPUID gives it
 * to this guest (MTRRs and machine checks, which are in no list). One that the
 * kernel does not take after all is left out of a read; of a write only if the
 * kernel has that very value already.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"

#include "x86-kvm.h"

#define MAX_MSRS 256

#define MSR_TSC          0x10u
#define MSR_TSC_DEADLINE 0x6e0u
#define MSR_HWCR         0xc0010015u

/* When a register is written. */
typedef enum MsrKind {
    MSR_PLAIN, /* always */
    MSR_TIME,  /* not at KVM_PUT_RUNTIME: the kernel moves it on */
    MSR_RARE,  /* if it changes: some kernels log each write */
} MsrKind;

typedef struct Msr {
    uint32_t index;
    size_t offset;
    MsrKind kind;
} Msr;

#define FIELD(f) offsetof(CPUX86State, f)

/*
 * Numbers: Intel SDM vol. 4, table 2-2; AMD APM vol. 2, appendix A; and of
 * the kernel: Documentation/virt/kvm/x86/msr.rst.
 *
 * Order: what others depend on first (feature control).
 */
static const Msr msrs[] = {
    { 0x3a, FIELD(msr_ia32_feature_control) },
    { 0x174, FIELD(sysenter_cs) },
    { 0x175, FIELD(sysenter_esp) },
    { 0x176, FIELD(sysenter_eip) },
    { 0xc0000081, FIELD(star) },
    { 0xc0000082, FIELD(lstar) },
    { 0xc0000083, FIELD(cstar) },
    { 0xc0000084, FIELD(fmask) },
    { 0xc0000102, FIELD(kernelgsbase) },
    { 0xc0000103, FIELD(tsc_aux) },
    { 0x277, FIELD(pat) },
    { 0x1a0, FIELD(msr_ia32_misc_enable) },
    { 0x140, FIELD(misc_features_enables) },
    { 0x1d9, FIELD(debugctl), MSR_RARE },
    { 0x1fc, FIELD(power_ctl) },
    { 0xc0010015, FIELD(hwcr) },
    { 0xc0010117, FIELD(vm_hsave) },
    { 0x48, FIELD(spec_ctrl) },
    { 0xc001011f, FIELD(virt_ssbd) },
    { 0x122, FIELD(tsx_ctrl) },
    { 0xe1, FIELD(umwait) },
    { 0xda0, FIELD(xss) },
    { 0x9e, FIELD(smbase) },
    { 0x34, FIELD(smi_count) },
    { 0x17a, FIELD(mcg_status) },
    { 0x17b, FIELD(mcg_ctl) },
    { 0x4d0, FIELD(mcg_ext_ctl) },
    { 0x10, FIELD(tsc), MSR_TIME },
    { 0x3b, FIELD(tsc_adjust), MSR_TIME },
    { MSR_TSC_DEADLINE, FIELD(tsc_deadline), MSR_TIME },
    { 0x4b564d00, FIELD(wall_clock_msr), MSR_TIME },
    { 0x4b564d01, FIELD(system_time_msr), MSR_TIME },
    /* The second before the first: enabling it is what arms both. */
    { 0x4b564d06, FIELD(async_pf_int_msr) },
    { 0x4b564d02, FIELD(async_pf_en_msr) },
    { 0x4b564d03, FIELD(steal_time_msr) },
    { 0x4b564d04, FIELD(pv_eoi_en_msr) },
    { 0x4b564d05, FIELD(poll_control_msr) },
    { 0x4b564d08, FIELD(migration_control_msr) },
};

/* Leaf 1, EDX: the guest has MTRRs. */
#define CPUID_MTRR (1u << 12)

static const uint32_t mtrr_fixed[MTRR_FIXED_COUNT] = {
    0x250, 0x258, 0x259, 0x268, 0x269, 0x26a, 0x26b, 0x26c, 0x26d, 0x26e, 0x26f,
};

/* ---- what the kernel lists ---- */

/* The kernel's list, the same for all vCPUs. BQL, then constant. */
static struct {
    bool known;
    uint32_t n;
    uint32_t index[1024];
} listed;

static bool read_list(Error **errp)
{
    struct {
        struct kvm_msr_list head;
        uint32_t index[ARRAY_SIZE(listed.index)];
    } list = { .head.nmsrs = ARRAY_SIZE(listed.index) };
    int ret;

    if (listed.known) {
        return true;
    }
    ret = kvm_dev_ioctl(KVM_GET_MSR_INDEX_LIST, &list);
    if (ret < 0) {
        error_setg_errno(errp, -ret,
                         "cannot learn which model specific "
                         "registers the kernel's KVM keeps");
        return false;
    }
    listed.n = MIN(list.head.nmsrs, ARRAY_SIZE(listed.index));
    memcpy(listed.index, list.index, listed.n * sizeof(listed.index[0]));
    listed.known = true;
    return true;
}

bool kvm_x86_msr_is_listed(uint32_t index)
{
    for (uint32_t i = 0; i < listed.n; i++) {
        if (listed.index[i] == index) {
            return true;
        }
    }
    return false;
}

/* ---- the registers of one vCPU ---- */

typedef struct MsrSet {
    struct {
        struct kvm_msrs head;
        struct kvm_msr_entry e[MAX_MSRS];
    } k;
    size_t offset[MAX_MSRS];
} MsrSet;

static void add(MsrSet *s, uint32_t index, size_t offset)
{
    uint32_t n = s->k.head.nmsrs;

    assert(n < MAX_MSRS);
    s->k.e[n].index = index;
    s->offset[n] = offset;
    s->k.head.nmsrs = n + 1;
}

static void add_mtrrs(MsrSet *s)
{
    add(s, 0x2ff, FIELD(mtrr_deftype));
    for (int i = 0; i < MTRR_FIXED_COUNT; i++) {
        add(s, mtrr_fixed[i], FIELD(mtrr_fixed[0]) + i * sizeof(uint64_t));
    }
    for (int i = 0; i < MSR_MTRRcap_VCNT; i++) {
        size_t o = FIELD(mtrr_var[0]) + i * sizeof(MTRRVar);

        add(s, 0x200 + 2 * i, o + offsetof(MTRRVar, base));
        add(s, 0x201 + 2 * i, o + offsetof(MTRRVar, mask));
    }
}

static void add_machine_checks(MsrSet *s, const CPUX86State *env)
{
    unsigned banks = MIN(env->mcg_cap & 0xff, MCE_BANKS_DEF);

    for (unsigned i = 0; i < banks * 4; i++) {
        add(s, 0x400 + i, FIELD(mce_banks[0]) + i * sizeof(uint64_t));
    }
}

static bool has_value(KvmVcpu *v, uint32_t index, uint64_t value)
{
    struct {
        struct kvm_msrs head;
        struct kvm_msr_entry e;
    } m = { .head.nmsrs = 1, .e.index = index };

    return kvm_vcpu_ioctl(v, KVM_GET_MSRS, &m) == 1 && m.e.data == value;
}

static bool needed(const Msr *m, const CPUX86State *env, KvmPutLevel level)
{
    if (!kvm_x86_msr_is_listed(m->index) ||
        (level == KVM_PUT_RUNTIME && m->kind == MSR_TIME)) {
        return false;
    }
    /* Without the machine it belongs to it cannot be written. */
    return m->offset != FIELD(mcg_ctl) || (env->mcg_cap & MCG_CTL_P);
}

static void collect(MsrSet *s, KvmVcpu *v, KvmPutLevel level)
{
    const CPUX86State *env = kvm_x86_env(v);
    const X86CpuidEntry *leaf1 = x86_cpuid_find(&kvm_x86_vcpu(v)->cpuid, 1, 0);

    s->k.head.nmsrs = 0;
    for (size_t i = 0; i < ARRAY_SIZE(msrs); i++) {
        if (needed(&msrs[i], env, level)) {
            add(s, msrs[i].index, msrs[i].offset);
        }
    }
    if (leaf1 && (leaf1->regs[X86_EDX] & CPUID_MTRR)) {
        add_mtrrs(s);
    }
    add_machine_checks(s, env);
}

static uint64_t *value_of(CPUX86State *env, size_t offset)
{
    return (uint64_t *)((char *)env + offset);
}

/* ---- get ---- */

static void forget(MsrSet *s, uint32_t i)
{
    uint32_t n = --s->k.head.nmsrs;

    memmove(&s->k.e[i], &s->k.e[i + 1], (n - i) * sizeof(s->k.e[0]));
    memmove(&s->offset[i], &s->offset[i + 1], (n - i) * sizeof(s->offset[0]));
}

/* Reads all of @s; those that cannot be read are taken out. */
static bool read_set(KvmVcpu *v, MsrSet *s, Error **errp)
{
    int ret;

    for (;;) {
        ret = kvm_vcpu_ioctl(v, KVM_GET_MSRS, &s->k);
        if (ret < 0) {
            error_setg_errno(errp, -ret,
                             "cannot get model specific registers of vCPU %lu",
                             v->id);
            return false;
        }
        if ((uint32_t)ret >= s->k.head.nmsrs) {
            return true;
        }
        forget(s, ret);
    }
}

bool kvm_x86_get_msrs(KvmVcpu *v, Error **errp)
{
    CPUX86State *env = kvm_x86_env(v);
    g_autofree MsrSet *s = g_new0(MsrSet, 1);

    if (!read_list(errp)) {
        return false;
    }
    collect(s, v, KVM_PUT_FULL);
    if (!read_set(v, s, errp)) {
        return false;
    }
    for (uint32_t i = 0; i < s->k.head.nmsrs; i++) {
        *value_of(env, s->offset[i]) = s->k.e[i].data;
    }
    return true;
}

/* ---- put ---- */

bool kvm_x86_get_first_msrs(KvmVcpu *v, Error **errp)
{
    struct {
        struct kvm_msrs head;
        struct kvm_msr_entry e;
    } m = { .head.nmsrs = 1, .e.index = MSR_HWCR };

    if (!read_list(errp)) {
        return false;
    }
    if (kvm_x86_msr_is_listed(MSR_HWCR) &&
        kvm_vcpu_ioctl(v, KVM_GET_MSRS, &m) == 1) {
        kvm_x86_env(v)->hwcr_reset = m.e.data;
        if (!kvm_vm() ||
            v->vm == kvm_vm()) { /* else of a guest that runs already */
            kvm_x86_env(v)->hwcr = m.e.data;
        }
    }
    return true;
}

/* Writes all of @s, which is used up by it. */
static bool write_set(KvmVcpu *v, MsrSet *s, Error **errp)
{
    while (s->k.head.nmsrs) {
        int ret = kvm_vcpu_ioctl(v, KVM_SET_MSRS, &s->k);
        const struct kvm_msr_entry *e;

        if (ret < 0) {
            error_setg_errno(errp, -ret,
                             "cannot set model specific registers of vCPU %lu",
                             v->id);
            return false;
        }
        if ((uint32_t)ret >= s->k.head.nmsrs) {
            return true;
        }
        e = &s->k.e[ret];
        if (e->data && !has_value(v, e->index, e->data)) {
            error_setg(errp,
                       "the kernel's KVM does not let register 0x%x of vCPU "
                       "%lu be 0x%" PRIx64,
                       e->index, v->id, (uint64_t)e->data);
            return false;
        }
        forget(s, ret);
        /* What was written before it need not be again. */
        s->k.head.nmsrs -= ret;
        memmove(&s->k.e[0], &s->k.e[ret], s->k.head.nmsrs * sizeof(s->k.e[0]));
    }
    return true;
}

/* Set once, by what the model has; a constant of the vCPU. */
static void put_arch_capabilities(KvmVcpu *v)
{
    const X86CPU *cpu = X86_CPU(v->cs);
    struct {
        struct kvm_msrs head;
        struct kvm_msr_entry e;
    } m = { .head.nmsrs = 1,
            .e = { .index = 0x10a,
                   .data = cpu->features[FEAT_ARCH_CAPABILITIES] } };

    if (cpu->features[FEAT_7_0_EDX] >> 29 & 1) {
        kvm_vcpu_ioctl(v, KVM_SET_MSRS, &m); /* else it has the host's */
    }
}

/*
 * The kernel takes a TSC that is less than a second away from what it has for
 * an attempt to set vCPUs to the same time, and keeps its own: the guest's
 * could then step back by as much. So the first vCPU goes far away from there
 * before it gets its value; that of the others may be taken in this way, and
 * then all have the same, as they should.
 */
static void unsettle_tsc(KvmVcpu *v)
{
    const CPUX86State *env = kvm_x86_env(v);
    struct {
        struct kvm_msrs head;
        struct kvm_msr_entry e;
    } m = { .head.nmsrs = 1,
            .e = { .index = MSR_TSC, .data = env->tsc + 4000 * env->tsc_khz } };

    if (v->vm->vcpus->len && v->vm->vcpus->pdata[0] == v) {
        kvm_vcpu_ioctl(v, KVM_SET_MSRS, &m);
    }
}

bool kvm_x86_put_deadline(KvmVcpu *v, Error **errp)
{
    g_autofree MsrSet *s = g_new0(MsrSet, 1);

    if (v->vm->irqchip == KVM_IRQCHIP_OFF ||
        !kvm_x86_msr_is_listed(MSR_TSC_DEADLINE)) {
        return true;
    }
    add(s, MSR_TSC_DEADLINE, FIELD(tsc_deadline));
    s->k.e[0].data = kvm_x86_env(v)->tsc_deadline;
    return write_set(v, s, errp);
}

static void drop_unchanged(KvmVcpu *v, MsrSet *s)
{
    for (uint32_t i = s->k.head.nmsrs; i-- > 0;) {
        for (size_t k = 0; k < ARRAY_SIZE(msrs); k++) {
            if (msrs[k].kind == MSR_RARE && msrs[k].index == s->k.e[i].index &&
                has_value(v, s->k.e[i].index, s->k.e[i].data)) {
                forget(s, i);
                break;
            }
        }
    }
}

bool kvm_x86_put_msrs(KvmVcpu *v, KvmPutLevel level, Error **errp)
{
    CPUX86State *env = kvm_x86_env(v);
    g_autofree MsrSet *s = g_new0(MsrSet, 1);

    if (!read_list(errp)) {
        return false;
    }
    collect(s, v, level);
    for (uint32_t i = 0; i < s->k.head.nmsrs; i++) {
        s->k.e[i].data = *value_of(env, s->offset[i]);
    }
    drop_unchanged(v, s);
    if (level == KVM_PUT_FULL) {
        unsettle_tsc(v);
    }
    if (level != KVM_PUT_RUNTIME) {
        put_arch_capabilities(v);
    }
    return write_set(v, s, errp);
}
