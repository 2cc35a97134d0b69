/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host gives no memory for a page of the guest (a tmpfs or a pool of huge
 * pages is full, the file was cut).
 *
 * KVM_RUN ends with EFAULT then, before the instruction has done anything, and
 * as a rule does not say which page it was. It is looked for among those that
 * the instruction may use: touched, in a way that survives, the missing one
 * tells itself. The machine stops with `io-error` and names it, `cont` is an
 * error as long as it is missing, and then the instruction is run again
 * (qemu_ram_touch()). If none of them is missing, the page has come meanwhile,
 * and the instruction is run again at once; or, if that does not help, the
 * machine stops all the same, and no page is named.
 *
 * Where the kernel emulates the instruction it takes RAM that it cannot reach
 * for a device: the exit is MMIO. That access is done here, to a page that stands
 * in as for a software engine (system/ram-plug.c).
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/linux-compat.h"
#include "qemu/main-loop.h"
#include "system/memory.h"
#include "system/runstate.h"

#include "kvm-arch.h"
#include "trace-kvm.h"

/* The instruction is run again so often, if no page is missing. */
#define TRIES 3

/* What linux-compat.h's KVM_EXIT_MEMORY_FAULT has of struct kvm_run's union. */
typedef struct MemoryFault {
    uint64_t flags, gpa, size;
} MemoryFault;

/* Of the RAM at @addr. False: there is none. */
static bool find_ram(hwaddr addr, MemoryRegionSection *s)
{
    *s = memory_region_find(get_system_memory(), addr, 1);
    return s->mr && memory_region_is_ram(s->mr);
}

bool kvm_touch(hwaddr addr)
{
    MemoryRegionSection s;
    uint8_t *host;

    if (!find_ram(addr, &s)) {
        return false;
    }
    trace_kvm_touch(addr);
    host = memory_region_get_ram_ptr(s.mr);
    __atomic_fetch_or(host + s.offset_within_region, 0, __ATOMIC_SEQ_CST);
    return true;
}

static bool is_missing(hwaddr addr)
{
    MemoryRegionSection s;

    return find_ram(addr, &s) &&
           !qemu_ram_touch(s.mr->ram_block, s.offset_within_region);
}

/* True: one was found, and the machine stops. */
static bool stop_for_page(KvmVcpu *v)
{
    const MemoryFault *f = (const void *)&v->run->hw;
    hwaddr pages[KVM_ARCH_ACCESSES_MAX];
    unsigned n;

    if (v->run->exit_reason == KVM_EXIT_MEMORY_FAULT && is_missing(f->gpa)) {
        return true;
    }
    n = kvm_arch_accesses(v, pages);
    for (unsigned i = 0; i < n; i++) {
        if (is_missing(pages[i])) {
            return true;
        }
    }
    return false;
}

KvmExitAction kvm_memory_fault(KvmVcpu *v)
{
    BQL_LOCK_GUARD();
    if (stop_for_page(v)) {
        v->fault_tries = 0;
        return KVM_LEAVE;
    }
    if (v->fault_tries++ < TRIES) {
        return KVM_GO_ON;
    }
    v->fault_tries = 0;
    error_report("KVM: the host gives no memory for a page of the guest, CPU "
                 "%d, and it is not known which: the guest is stopped, 'cont' "
                 "tries once more",
                 v->cs->cpu_index);
    vm_stop(RUN_STATE_IO_ERROR);
    return KVM_LEAVE;
}
