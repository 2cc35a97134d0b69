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

#endif /* ACCEL_KVM_X86_TWIN_H */
