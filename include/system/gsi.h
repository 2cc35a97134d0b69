/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GSI: interrupt inputs of the accelerator's interrupt controllers, by number.
 *
 * On a PC the numbers 0 to 15 are the ISA interrupts (PICs and I/O APIC) and
 * 16 to 23 further inputs of the I/O APIC; on an ARM machine number n is the
 * GIC's SPI n. An accelerator whose controllers
 * are in the kernel gives AccelOps.set_gsi; if the board has some of its own
 * (board-chips.h) lines lead there; else lines driven here go nowhere.
 *
 * Threads: under the BQL.
 *
 * Used by: hw/i386, hw/intc. Uses: accel-ops.h.
 */
#ifndef SYSTEM_GSI_H
#define SYSTEM_GSI_H

/* Do lines driven here reach the vCPUs? Constant once it is chosen. */
bool accel_has_gsi(void);
/* Drive input @gsi: 1 raises it, 0 lowers it. */
void accel_set_gsi(int gsi, int level);

/**
 * accel_create_gicv3: have the accelerator's GICv3 made, for the vCPUs there are
 *
 * @dist, @redist: where guests see it
 *
 * Once, after the last vCPU, before any of them runs; its section of the stream
 * and its reset come with it. An error if the accelerator has none.
 */
bool accel_create_gicv3(hwaddr dist, hwaddr redist, unsigned num_spis,
                        Error **errp);

#endif /* SYSTEM_GSI_H */
