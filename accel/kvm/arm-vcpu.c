/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A new vCPU of an arm64 host; the guest's counter; around KVM_RUN. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "system/runstate.h"
#include "target/arm/host-regs.h"

#include "arm-kvm.h"
#include "kvm-caps.h"

bool kvm_arm_get_reg(KvmVcpu *v, uint64_t id, void *value, Error **errp)
{
    struct kvm_one_reg r = { .id = id, .addr = (uintptr_t)value };
    int ret = kvm_vcpu_ioctl(v, KVM_GET_ONE_REG, &r);

    if (ret < 0) {
        error_setg_errno(errp, -ret,
                         "cannot get register 0x%" PRIx64 " of vCPU %lu", id,
                         v->id);
    }
    return ret >= 0;
}

bool kvm_arm_set_reg(KvmVcpu *v, uint64_t id, const void *value, Error **errp)
{
    struct kvm_one_reg r = { .id = id, .addr = (uintptr_t)value };
    int ret = kvm_vcpu_ioctl(v, KVM_SET_ONE_REG, &r);

    if (ret < 0) {
        error_setg_errno(errp, -ret,
                         "cannot set register 0x%" PRIx64 " of vCPU %lu", id,
                         v->id);
    }
    return ret >= 0;
}

bool kvm_arch_check_host(Error **errp)
{
    static const KvmCapInfo needed[] = {
        { KVM_CAP_INFO(ONE_REG), "registers" },
        { KVM_CAP_INFO(ARM_PSCI_0_2), "more than one vCPU" },
        { KVM_CAP_INFO(MP_STATE), "vCPUs that are off" },
        { KVM_CAP_INFO(DEVICE_CTRL), "interrupts" },
    };

    return kvm_caps_require(needed, ARRAY_SIZE(needed), errp);
}

/* ---- the list of registers ---- */

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Core registers have their fields; sizes but 32 and 64 bits are vectors'. */
static bool travels_in_list(uint64_t id)
{
    uint64_t size = id & KVM_REG_SIZE_MASK;

    return (id & KVM_REG_ARM_COPROC_MASK) != KVM_REG_ARM_CORE &&
           (size == KVM_REG_SIZE_U32 || size == KVM_REG_SIZE_U64);
}

static bool read_list(KvmVcpu *v, Error **errp)
{
    KvmArmVcpu *x = kvm_arm_vcpu(v);
    struct kvm_reg_list probe = { .n = 0 };
    g_autofree struct kvm_reg_list *list = NULL;
    int ret = kvm_vcpu_ioctl(v, KVM_GET_REG_LIST, &probe);

    if (ret == -E2BIG && probe.n < 65536) {
        list = g_malloc0(sizeof(*list) + probe.n * sizeof(list->reg[0]));
        list->n = probe.n;
        ret = kvm_vcpu_ioctl(v, KVM_GET_REG_LIST, list);
    }
    if (ret < 0 || !list) {
        error_setg_errno(errp, ret < 0 ? -ret : EINVAL,
                         "cannot list the registers of vCPU %lu", v->id);
        return false;
    }
    x->ids = g_new0(uint64_t, list->n);
    for (uint64_t i = 0; i < list->n; i++) {
        if (travels_in_list(list->reg[i])) {
            x->ids[x->n_ids++] = list->reg[i];
        }
    }
    qsort(x->ids, x->n_ids, sizeof(x->ids[0]), compare_ids);
    return true;
}

/* ---- made ---- */

bool kvm_arm_init_vcpu(KvmVcpu *v, Error **errp)
{
    KvmArmVcpu *x = kvm_arm_vcpu(v);
    int ret;

    x->init.features[0] &= ~(1u << KVM_ARM_VCPU_POWER_OFF);
    if (v->cs && v->cs->start_powered_off) {
        x->init.features[0] |= 1u << KVM_ARM_VCPU_POWER_OFF;
    }
    ret = kvm_vcpu_ioctl(v, KVM_ARM_VCPU_INIT, &x->init);
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot initialize vCPU %lu", v->id);
    }
    return ret >= 0;
}

unsigned long kvm_arch_vcpu_id(CPUState *cs)
{
    return cs->cpu_index;
}

bool kvm_arch_init_vcpu(KvmVcpu *v, Error **errp)
{
    KvmArmVcpu *x = g_new0(KvmArmVcpu, 1);
    int ret;

    v->arch = x;
    ret = kvm_vm_ioctl(v->vm, KVM_ARM_PREFERRED_TARGET, &x->init);
    if (ret < 0) {
        error_setg_errno(errp, -ret,
                         "the kernel's KVM knows no vCPU for this "
                         "host");
        return false;
    }
    x->init.features[0] |= 1u << KVM_ARM_VCPU_PSCI_0_2;
    if (!kvm_arm_init_vcpu(v, errp) || !read_list(v, errp)) {
        return false;
    }
    if (!v->cs) {
        return true;
    }
    kvm_arm_clock_init();
    return arm_cpu_set_host_regs(ARM_CPU(v->cs), x->ids, x->n_ids, errp);
}

void kvm_arch_destroy_vcpu(KvmVcpu *v)
{
    KvmArmVcpu *x = v->arch;

    if (x) {
        g_free(x->ids);
        g_free(x);
    }
    v->arch = NULL;
}

/* ---- the virtual counter ---- */

/*
 * Of the machine, under the BQL: read when the VM stops and written before it
 * goes on, so that the guest does not see the time in between. The kernel
 * gives all vCPUs the offset that follows from one.
 */
static struct {
    bool registered, held;
    uint64_t count;
} counter;

static void state_changed(void *opaque, bool running, RunState state)
{
    Error *err = NULL;
    CPUState *cs = first_cpu();
    KvmVcpu *v = cs ? kvm_vcpu(cs) : NULL;

    if (!v || running != counter.held) {
        return;
    }
    if (running) {
        kvm_arm_set_reg(v, KVM_REG_ARM_TIMER_CNT, &counter.count, &err);
    } else {
        kvm_arm_get_reg(v, KVM_REG_ARM_TIMER_CNT, &counter.count, &err);
    }
    counter.held = !running && !err;
    if (err) {
        warn_report_err(err);
    }
}

void kvm_arm_clock_init(void)
{
    if (!counter.registered) {
        counter.registered = true;
        qemu_add_vm_change_state_handler(state_changed, NULL);
    }
}

bool kvm_arm_copy_time(KvmVcpu *from, KvmVcpu *to, Error **errp)
{
    uint64_t count;

    return kvm_arm_get_reg(from, KVM_REG_ARM_TIMER_CNT, &count, errp) &&
           kvm_arm_set_reg(to, KVM_REG_ARM_TIMER_CNT, &count, errp);
}

/* ---- around KVM_RUN ---- */

void kvm_arch_pre_run(KvmVcpu *v)
{
}

void kvm_arch_post_run(KvmVcpu *v)
{
}

bool kvm_arch_handle_exit(KvmVcpu *v, KvmExitAction *action)
{
    if (v->run->exit_reason != KVM_EXIT_ARM_NISV) {
        return false;
    }
    *action = kvm_internal_error(v,
                                 "an access to 0x%" PRIx64 ", where no memory "
                                 "is, by an instruction that the processor "
                                 "does not describe (ESR 0x%" PRIx64 ")",
                                 (uint64_t)v->run->arm_nisv.fault_ipa,
                                 (uint64_t)v->run->arm_nisv.esr_iss);
    return true;
}

bool kvm_arch_has_work(KvmVcpu *v)
{
    return v->cs && cpu_has_work(v->cs);
}

/* The kernel keeps the address of the fault to itself. */
unsigned kvm_arch_accesses(KvmVcpu *v, hwaddr *addr)
{
    return 0;
}
