/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accelerator `kvm`: the host kernel's KVM runs the guest's instructions.
 *
 * Only in binaries whose guest architecture is the host's.
 *
 * Used by: system/types-*.c. Uses: nothing.
 */
#ifndef ACCEL_KVM_H
#define ACCEL_KVM_H

void kvm_accel_register_types(void);

#endif /* ACCEL_KVM_H */
