/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timers that go on while the guest moves from one kernel VM to another.
 *
 * Used by: x86-twin.c. Uses: kvm-int.h.
 */
#ifndef ACCEL_KVM_X86_TWIN_H
#define ACCEL_KVM_X86_TWIN_H

#include "kvm-int.h"

/* ---- a local APIC's timer: pure functions ---- */

/* Periodic: it fired in the @ns before @s was read. */
bool kvm_x86_apic_fired_since(const struct kvm_lapic_state *s, int64_t ns);
/* One-shot: it has fired, or is about to. */
bool kvm_x86_apic_is_over(const struct kvm_lapic_state *s);
bool kvm_x86_apic_is_requested(const struct kvm_lapic_state *s, uint8_t vector);
/* @ns have passed since @s was read: as it would be now. */
void kvm_x86_apic_advance(struct kvm_lapic_state *s, int64_t ns);

/*
 * ---- the PIT ----
 *
 * The kernel does not tell how far its period has come, and begins a new one
 * whenever it is set. So what was lost of a period is kept, and once that is a
 * whole one a tick is added: the guest gets as many as it should, less than
 * one at any time. From the second change on it is known when a period began;
 * until then, and when the guest has set another period, half of one is
 * reckoned.
 *
 * Ticks that the kernel itself keeps back, because the guest does not take
 * them as fast as they come, are lost: it does not tell how many there are.
 */
typedef struct KvmX86PitLedger {
    int64_t period_ns; /* 0: none yet */
    int64_t begin_ns;
    double owed; /* periods */
} KvmX86PitLedger;

/* Pure functions. The second: is a tick to be added, which it @may_add? */
void kvm_x86_pit_stopped(KvmX86PitLedger *l,
                         const struct kvm_pit_channel_state *c, int64_t now_ns);
bool kvm_x86_pit_started(KvmX86PitLedger *l, int64_t now_ns, bool may_add);

/* All ticks until now are requested in the interrupt controllers after this. */
bool kvm_x86_pit_save(KvmVm *from, struct kvm_pit_state2 *state, Error **errp);
/* @requested: one is waiting there, and a second would be lost. */
bool kvm_x86_pit_load(KvmVm *to, struct kvm_pit_state2 *state, bool requested,
                      Error **errp);

#endif /* ACCEL_KVM_X86_TWIN_H */
