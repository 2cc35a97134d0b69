/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The accelerator's GICv3, as a device of the board: its inputs 0.. are SPIs.
 * Timers of vCPUs, their private interrupts, its state and its reset are the
 * accelerator's own.
 *
 * Used by: hw/arm. Uses: gsi.h, qdev.h.
 */
#ifndef HW_INTC_KERNEL_GICV3_H
#define HW_INTC_KERNEL_GICV3_H

#include "hw/qdev.h"

#define TYPE_KERNEL_GICV3 "kernel-gicv3"

/* After all vCPUs. NULL and @errp: the accelerator has none. */
DeviceState *kernel_gicv3_create(unsigned num_spis, hwaddr dist_base,
                                 hwaddr redist_base, Error **errp);

void kernel_gicv3_register_types(void);

#endif /* HW_INTC_KERNEL_GICV3_H */
