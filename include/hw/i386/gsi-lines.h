/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gsi-lines: the inputs of the interrupt controllers (which are the
 * accelerator's) as lines of a device, so that they can be watched.
 *
 * Inputs 0 to 23 are those of system/gsi.h.
 *
 * Used by: hw/i386, tests. Uses: qdev.h.
 */
#ifndef HW_I386_GSI_LINES_H
#define HW_I386_GSI_LINES_H

#include "hw/qdev.h"

#define TYPE_GSI_LINES "gsi-lines"
#define GSI_NUM_LINES  24

void gsi_lines_register_types(void);

#endif /* HW_I386_GSI_LINES_H */
