/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Twin: another kernel VM over the same memory, to which the running guest
 * moves, because a kernel VM logs by bitmap or by rings for its whole life, and
 * its rings have one size.
 *
 *   prepare   VM, irqchip, slots with the log flags wanted, vCPUs   guest runs
 *   save      all vCPUs out; instructions under way completed; state read; from
 *             here on the old VM's log is only read, not switched off
 *             (the old tracker's collect: what was written until now)
 *   go        state loaded; routes, eventfds and doorbells moved; accel_data of
 *             all vCPUs points to the new ones          about 0.3 ms since save
 *   finish    the VM that is not in use goes, on a thread of its own
 *
 * A page that is written before is in the old log, which is read after the last
 * vCPU has left the guest; one that is written after faults in the new VM,
 * whose tables are empty, and whose slots have been logged from the first.
 * Whichever step fails, the old VM is as it was, and goes on.
 *
 * The price comes afterwards: each page that the guest uses has to be mapped
 * once more, a fault each.
 *
 * Time: see x86-twin.c. Threads: BQL, all calls; the moment of the change is
 * also in a lock of its own, since vCPUs are kicked by any thread.
 *
 * Used by: the trackers (DirtyTrackerMove). Uses: kvm-int.h, kvm-slots.h.
 */
#ifndef ACCEL_KVM_TWIN_H
#define ACCEL_KVM_TWIN_H

#include "kvm-int.h"
#include "system/dirty-tracker.h"

/* For DirtyTrackerOps.move: to a VM that logs by bitmap; by rings. */
extern const DirtyTrackerMove kvm_twin_to_bitmap;
/* Of dirty_tracking_ring_entries() entries. */
extern const DirtyTrackerMove kvm_twin_to_rings;

/* Could there be a twin at all? The reason, if not. */
bool kvm_twin_possible(Error **errp);

/*
 * 4 KiB pages that the kernel has mapped for the guest: what it would fault for
 * in another VM. 0: it does not say. Any thread.
 */
uint64_t kvm_twin_mapped_pages(KvmVm *vm);

/* Run with the vCPU's KvmVcpu, which cannot change meanwhile. Any thread. */
void kvm_twin_with_vcpu(CPUState *cpu, void (*fn)(KvmVcpu *v));

/* Since the process started; times are of the last one that went well. */
typedef struct KvmTwinStats {
    uint64_t moves, failures, backs;
    int64_t prepare_ns; /* the guest runs */
    int64_t save_ns, load_ns, swap_ns;
    int64_t stand_ns; /* from the gate's close to its end, harvest included */
    int64_t free_ns;  /* of the old VM, on its thread */
    uint64_t flushes; /* interrupts that had to be looked for again */
} KvmTwinStats;
KvmTwinStats kvm_twin_stats(void); /* BQL */
/* Wait until all that is to be freed is. For tests; BQL, not given up. */
void kvm_twin_wait_freed(void);

#endif /* ACCEL_KVM_TWIN_H */
