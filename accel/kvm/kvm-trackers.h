/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How KVM learns which pages were written.
 *
 *   bitmap    a bitmap in the kernel per slot (kvm-bitmap.c)
 *   ring      a ring in the kernel per vCPU (kvm-ring.c)
 *   dbm       what hardware may do one day; says why not (kvm-dbm.c)
 *   pagemap   of the process, for any accelerator (dirty-pagemap.h)
 *
 * A kernel VM logs by bitmap or by rings for its whole life. The ring
 * tracker's setup makes the machine's VM one of rings, which is possible until
 * the first vCPU exists; from then on the guest moves to another VM
 * (kvm-twin.h). All work on kvm_vm().
 *
 * Used by: kvm-accel.c, the twin, tests. Uses: kvm-slots.h, dirty-tracker.h.
 */
#ifndef ACCEL_KVM_TRACKERS_H
#define ACCEL_KVM_TRACKERS_H

#include "kvm-int.h"
#include "system/dirty-tracker.h"

extern const DirtyTrackerOps kvm_bitmap_tracker;
extern const DirtyTrackerOps kvm_ring_tracker;
extern const DirtyTrackerOps kvm_dbm_tracker;

/* Best first, NULL-terminated: for AccelClass.trackers. */
extern const DirtyTrackerOps *const kvm_trackers[];

/*
 * What a guest pays for a write that faults, 0: unknown. Not measured in a
 * guest, for that would take one: it is the process's own price of such a fault
 * (dirty-pagemap.h), times what a trip out of the guest adds, which was
 * measured once (docs/performance.rst). BQL.
 */
double kvm_fault_ns(void);

/*
 * A vCPU of kvm_vm() was made (its CPUState is known), or goes: its ring is
 * emptied while tracking is on. BQL; @v is not in the guest. One that has no
 * CPUState (any more) was never known here.
 */
void kvm_ring_vcpu_made(KvmVcpu *v);
void kvm_ring_vcpu_gone(KvmVcpu *v);

/*
 * The kernel did not let @v in, as its ring were nearly full, though all was
 * reaped. Let it have room again if that is since it wrote to a full ring;
 * false if not. More than once may be needed. BQL; no vCPU runs.
 */
bool kvm_ring_skip(KvmVcpu *v);

/*
 * Entries that were harvested could not be freed, and cannot now either: @err.
 * A vCPU whose ring is full can never go on then. Any thread.
 */
bool kvm_ring_is_stuck(int *err);

#endif /* ACCEL_KVM_TRACKERS_H */
