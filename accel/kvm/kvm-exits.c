/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exits: what a vCPU came out of the guest for. See kvm-int.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "system/dirty-tracker.h"
#include "system/memory.h"
#include "system/runstate.h"

#include "kvm-arch.h"
#include "kvm-trackers.h"

/* ---- the guest cannot go on ---- */

/* "CPU 0 at 0x1000", with its registers in the log. */
static char *where(KvmVcpu *v)
{
    CPUClass *cc = CPU_GET_CLASS(v->cs);

    cpu_synchronize_state(v->cs);
    if (!v->regs_in_env) {
        return g_strdup_printf("CPU %d", v->cs->cpu_index);
    }
    if (qemu_loglevel_mask(LOG_CPU | LOG_GUEST_ERROR)) {
        g_autoptr(GString) text = g_string_new(NULL);

        cc->dump_state(v->cs, text);
        qemu_log("%s", text->str);
    }
    return g_strdup_printf("CPU %d at 0x%" PRIx64, v->cs->cpu_index,
                           cc->get_pc(v->cs));
}

KvmExitAction kvm_internal_error(KvmVcpu *v, const char *fmt, ...)
{
    g_autofree char *text = NULL, *place = NULL;
    va_list ap;

    va_start(ap, fmt);
    text = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    BQL_LOCK_GUARD();
    place = where(v);
    error_report("KVM: the guest cannot go on: %s: %s", place, text);
    vm_stop(RUN_STATE_INTERNAL_ERROR);
    return KVM_LEAVE;
}

KvmExitAction kvm_run_failed(KvmVcpu *v, int ret)
{
    return kvm_internal_error(v, "KVM_RUN: %s", strerror(-ret));
}

static const char *suberror_name(uint32_t suberror)
{
    switch (suberror) {
    case KVM_INTERNAL_ERROR_EMULATION:
        return "an instruction that the kernel cannot emulate";
    case KVM_INTERNAL_ERROR_SIMUL_EX:
        return "an exception during an exception";
    case KVM_INTERNAL_ERROR_DELIVERY_EV:
        return "an exit during the delivery of an event";
    case KVM_INTERNAL_ERROR_UNEXPECTED_EXIT_REASON:
        return "the processor left the guest for an unknown reason";
    default:
        return "internal error of the kernel";
    }
}

static KvmExitAction internal_error(KvmVcpu *v)
{
    const struct kvm_run *run = v->run;
    g_autoptr(GString) data = g_string_new(NULL);
    uint32_t n = MIN(run->internal.ndata, G_N_ELEMENTS(run->internal.data));

    for (uint32_t i = 0; i < n; i++) {
        g_string_append_printf(data, "%s0x%" PRIx64, i ? " " : ", data ",
                               (uint64_t)run->internal.data[i]);
    }
    return kvm_internal_error(v, "%s (suberror %u%s)",
                              suberror_name(run->internal.suberror),
                              run->internal.suberror, data->str);
}

/* ---- I/O ---- */

static void port_io(const struct kvm_run *run)
{
    uint8_t *data = (uint8_t *)run + run->io.data_offset;
    bool out = run->io.direction == KVM_EXIT_IO_OUT;

    for (uint32_t i = 0; i < run->io.count; i++, data += run->io.size) {
        MemTxResult res = address_space_rw(&address_space_io, run->io.port,
                                           MEMTXATTRS_UNSPECIFIED, data,
                                           run->io.size, out);

        if (!out && (res & MEMTX_DECODE_ERROR)) {
            memset(data, 0xff, run->io.size); /* nobody drives the bus */
        }
    }
}

static MemTxResult mmio_once(struct kvm_run *run)
{
    return address_space_rw(&address_space_memory, run->mmio.phys_addr,
                            MEMTXATTRS_UNSPECIFIED, run->mmio.data,
                            MIN(run->mmio.len, sizeof(run->mmio.data)),
                            run->mmio.is_write);
}

/* RAM is among it if the kernel emulates, and the host gives no memory. */
static void mmio(struct kvm_run *run)
{
    if (mmio_once(run) & MEMTX_ERROR) {
        BQL_LOCK_GUARD();
        if (kvm_touch(run->mmio.phys_addr) &&
            kvm_touch(run->mmio.phys_addr + run->mmio.len - 1)) {
            mmio_once(run);
        }
    }
}

/* ---- requests of the guest's ---- */

/* Out of the guest until somebody resumes it (a reset, a cont). */
static KvmExitAction stand_still(KvmVcpu *v)
{
    v->cs->stop = true;
    cpu_exit(v->cs);
    return KVM_LEAVE;
}

static KvmExitAction reset_guest(KvmVcpu *v)
{
    BQL_LOCK_GUARD();
    qemu_system_reset_request(SHUTDOWN_CAUSE_GUEST_RESET);
    return stand_still(v);
}

static KvmExitAction system_event(KvmVcpu *v)
{
    uint32_t type = v->run->system_event.type;

    switch (type) {
    case KVM_SYSTEM_EVENT_SHUTDOWN: {
        BQL_LOCK_GUARD();
        qemu_system_shutdown_request(SHUTDOWN_CAUSE_GUEST_SHUTDOWN);
        return stand_still(v);
    }
    case KVM_SYSTEM_EVENT_RESET:
        return reset_guest(v);
    case KVM_SYSTEM_EVENT_CRASH: {
        BQL_LOCK_GUARD();
        error_report("KVM: the guest says that it has crashed");
        vm_stop(RUN_STATE_GUEST_PANICKED);
        return KVM_LEAVE;
    }
    default:
        return kvm_internal_error(v, "unknown system event %u", type);
    }
}

/* Without an irqchip: sleep in vcpu_thread_wait() until something comes. */
static KvmExitAction halt(KvmVcpu *v)
{
    BQL_LOCK_GUARD();
    if (!kvm_arch_has_work(v)) {
        v->cs->halted = 1;
    }
    return KVM_LEAVE;
}

KvmExitAction kvm_handle_exit(KvmVcpu *v)
{
    struct kvm_run *run = v->run;
    KvmExitAction action;
    int err;

    switch (run->exit_reason) {
    case KVM_EXIT_IO:
        port_io(run);
        return KVM_GO_ON;
    case KVM_EXIT_MMIO:
        mmio(run);
        return KVM_GO_ON;
    case KVM_EXIT_INTR:
    case KVM_EXIT_IRQ_WINDOW_OPEN:
        return KVM_GO_ON;
    case KVM_EXIT_HLT:
        return halt(v);
    case KVM_EXIT_SHUTDOWN:
        return reset_guest(v);
    case KVM_EXIT_SYSTEM_EVENT:
        return system_event(v);
    case KVM_EXIT_DIRTY_RING_FULL:
        dirty_tracker_vcpu_exit(v->cs);
        if (kvm_ring_is_stuck(&err)) {
            return kvm_internal_error(v,
                                      "its dirty ring is full and cannot be "
                                      "freed (KVM_RESET_DIRTY_RINGS: %s)",
                                      g_strerror(err));
        }
        return vcpu_must_exit(v->cs) ? KVM_LEAVE : KVM_GO_ON;
    case KVM_EXIT_HYPERCALL:
        run->hypercall.ret = -ENOSYS; /* we offer none */
        return KVM_GO_ON;
    case KVM_EXIT_INTERNAL_ERROR:
        return internal_error(v);
    case KVM_EXIT_FAIL_ENTRY:
        return kvm_internal_error(
            v,
            "the processor refuses its state (hardware reason 0x%" PRIx64 ")",
            (uint64_t)run->fail_entry.hardware_entry_failure_reason);
    case KVM_EXIT_UNKNOWN:
        return kvm_internal_error(
            v,
            "the processor left the guest for the unknown hardware reason "
            "0x%" PRIx64,
            (uint64_t)run->hw.hardware_exit_reason);
    default:
        break;
    }
    if (kvm_arch_handle_exit(v, &action)) {
        return action;
    }
    return kvm_internal_error(v, "exit %u, which nobody here knows",
                              run->exit_reason);
}
