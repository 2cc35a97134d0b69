/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GSI: interrupt inputs of the accelerator's interrupt controllers, by number.
 *
 * On a PC the numbers 0 to 15 are the ISA interrupts (PICs and I/O APIC) and
 * 16 to 23 further inputs of the I/O APIC. An accelerator whose controllers
 * are in the kernel gives AccelOps.set_gsi; one without has none, and lines
 * driven here go nowhere.
 *
 * Threads: under the BQL.
 *
 * Used by: hw/i386. Uses: accel-ops.h.
 */
#ifndef SYSTEM_GSI_H
#define SYSTEM_GSI_H

/* Do lines driven here reach the vCPUs? Constant once it is chosen. */
bool accel_has_gsi(void);
/* Drive input @gsi: 1 raises it, 0 lowers it. */
void accel_set_gsi(int gsi, int level);

#endif /* SYSTEM_GSI_H */
