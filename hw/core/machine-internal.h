/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What machine.c calls of machine-ram.c.
 *
 * Used by: these two. Uses: boards.h.
 */
#ifndef HW_CORE_MACHINE_INTERNAL_H
#define HW_CORE_MACHINE_INTERNAL_H

#include "hw/boards.h"

/* Set ms->ram and ms->ram_size_bytes for good. */
bool machine_provide_ram(MachineState *ms, Error **errp);
/* mem-merge, for all blocks. */
void machine_advise_ram(MachineState *ms);

#endif /* HW_CORE_MACHINE_INTERNAL_H */
