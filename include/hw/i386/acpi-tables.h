/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ACPI tables that tell a guest of a PC's vCPUs, interrupts and sleep states.
 *
 * Used by: hw/i386. Uses: boot.h, pm.h.
 */
#ifndef HW_I386_ACPI_TABLES_H
#define HW_I386_ACPI_TABLES_H

#include "hw/acpi/pm.h"
#include "hw/i386/boot.h"

/* Into low RAM, at each reset; sets @info->rsdp. After all vCPUs are there. */
bool acpi_tables_add(X86BootInfo *info, AcpiPmState *pm, Error **errp);

#endif /* HW_I386_ACPI_TABLES_H */
