/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kvmclock: nanoseconds that the guest reads from a page the kernel fills in.
 *
 * It stands while the VM does: read when the VM stops, set when it goes on,
 * here or on another host, so the guest sees neither a step back nor the time
 * it was away. Where the kernel's clock does not run strictly with the TSC
 * (no KVM_CLOCK_TSC_STABLE) the guest may have computed a later time than
 * KVM_GET_CLOCK tells; then that counts.
 *
 * Section `kvmclock`, version 1: u64 clock; subsection
 * `kvmclock/clock_is_reliable`, version 1: bool.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "system/memory.h"
#include "system/runstate.h"
#include "vmstate/savevm.h"

#include "x86-kvm.h"

/* Of the machine, under the BQL. */
static struct {
    uint64_t clock;
    bool valid; /* clock is the guest's time: the VM stands */
    bool is_reliable;
    bool registered;
} kc;

bool kvm_x86_get_clock(KvmVm *vm, struct kvm_clock_data *data, Error **errp)
{
    int ret;

    memset(data, 0, sizeof(*data));
    ret = kvm_vm_ioctl(vm, KVM_GET_CLOCK, data);
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot get the guest's clock");
    }
    return ret >= 0;
}

bool kvm_x86_put_clock(KvmVm *vm, const struct kvm_clock_data *data,
                       Error **errp)
{
    struct kvm_clock_data set = {
        .clock = data->clock,
        .flags = data->flags & KVM_CLOCK_REALTIME,
        .realtime = data->realtime,
    };
    int ret = kvm_vm_ioctl(vm, KVM_SET_CLOCK, &set);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot set the guest's clock to %" PRIu64,
                         (uint64_t)data->clock);
    }
    return ret >= 0;
}

/* ---- what the guest may have computed ---- */

/* Linux: arch/x86/include/asm/pvclock-abi.h */
typedef struct PvclockInfo {
    uint32_t version, pad0;
    uint64_t tsc_timestamp, system_time;
    uint32_t tsc_to_system_mul;
    int8_t tsc_shift;
    uint8_t flags, pad[2];
} PvclockInfo;

QEMU_BUILD_BUG_ON(sizeof(PvclockInfo) != 32);

/* No page, or nonsense in it: 0. The guest can write there. */
uint64_t kvm_x86_guest_clock(const CPUX86State *env)
{
    PvclockInfo p;
    uint64_t delta;

    if (!(env->system_time_msr & 1) ||
        !address_space_read_ram(&address_space_memory,
                                env->system_time_msr & ~UINT64_C(1), &p,
                                sizeof(p)) ||
        env->tsc < p.tsc_timestamp || p.tsc_shift < -32 || p.tsc_shift > 31) {
        return 0;
    }
    delta = env->tsc - p.tsc_timestamp;
    delta = p.tsc_shift < 0 ? delta >> -p.tsc_shift : delta << p.tsc_shift;
    return p.system_time +
           (uint64_t)((unsigned __int128)delta * p.tsc_to_system_mul >> 32);
}

/* At most so far do a kernel's clock and its TSC part. */
#define MOST_AHEAD_NS UINT64_C(1000000000)

static uint64_t latest_clock(uint64_t clock)
{
    uint64_t latest = clock;
    CPUState *cs;

    CPU_FOREACH (cs) {
        uint64_t t;

        cpu_synchronize_state(cs);
        t = kvm_x86_guest_clock(x86_cpu_env(cs));
        if (t > latest && t - clock < MOST_AHEAD_NS) {
            latest = t;
        }
    }
    return latest;
}

/* ---- stop and go ---- */

static void read_clock(void)
{
    struct kvm_clock_data data;
    Error *err = NULL;

    if (!kvm_x86_get_clock(kvm_vm(), &data, &err)) {
        warn_report_err(err);
        return;
    }
    kc.is_reliable = data.flags & KVM_CLOCK_TSC_STABLE;
    kc.clock = kc.is_reliable ? data.clock : latest_clock(data.clock);
    kc.valid = true;
}

static void tell_of_pause(void)
{
    KvmVm *vm = kvm_vm();

    /* So that its watchdog does not bark. It need not have a kvmclock. */
    for (guint i = 0; i < vm->vcpus->len; i++) {
        kvm_vcpu_ioctl(vm->vcpus->pdata[i], KVM_KVMCLOCK_CTRL, 0);
    }
}

static void state_changed(void *opaque, bool running, RunState state)
{
    Error *err = NULL;
    struct kvm_clock_data data = { .clock = kc.clock };

    if (!kvm_vm()) {
        return;
    }
    if (!running) {
        if (!kc.valid) {
            read_clock();
        }
        return;
    }
    if (kc.valid) {
        if (!kvm_x86_put_clock(kvm_vm(), &data, &err)) {
            error_report_err(err);
        }
        kc.valid = false;
        tell_of_pause();
    }
}

/* ---- section ---- */

static bool clock_pre_save(void *opaque, Error **errp)
{
    if (!kc.valid) {
        read_clock(); /* it has not run yet, or does while it is saved */
        kc.valid = !runstate_is_running();
    }
    return true;
}

static bool clock_post_load(void *opaque, int version_id, Error **errp)
{
    if (kc.clock > INT64_MAX) {
        error_setg(errp, "clock is %" PRIu64 " ns, expected 0 to 2^63 - 1",
                   kc.clock);
        return false;
    }
    kc.valid = true;
    return true;
}

typedef __typeof__(kc) KvmClockState;

static bool always_needed(void *opaque)
{
    return true;
}

static const VMStateDescription vmstate_reliable = {
    .name = "kvmclock/clock_is_reliable",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = always_needed,
    .fields =
        (const VMStateField[]){
            {
                .name = "clock_is_reliable",
                .info = &vmstate_info_bool,
                .size = sizeof(bool),
                .flags = VMS_SINGLE,
                .offset = offsetof(KvmClockState, is_reliable),
            },
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_kvmclock = {
    .name = "kvmclock",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = clock_pre_save,
    .post_load = clock_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT64(clock, KvmClockState),
            VMSTATE_END_OF_LIST(),
        },
    .subsections = (const VMStateDescription *const[]){ &vmstate_reliable,
                                                        NULL },
};

void kvm_x86_clock_init(void)
{
    if (!kc.registered) {
        kc.registered = true;
        qemu_add_vm_change_state_handler(state_changed, NULL);
        vmstate_register(NULL, 0, &vmstate_kvmclock, &kc, &error_abort);
    }
}
