/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isa-debug-exit: a port by which a guest ends this program: writing v makes
 * its exit status (v << 1) | 1. Reads give 0.
 *
 * Properties iobase (0x501), iosize (2).
 *
 * Used by: -device. Uses: isa.h.
 */
#ifndef HW_MISC_DEBUGEXIT_H
#define HW_MISC_DEBUGEXIT_H

#include "hw/isa/isa.h"

#define TYPE_ISA_DEBUG_EXIT "isa-debug-exit"

typedef struct ISADebugExitState {
    ISADevice parent_obj;

    MemoryRegion io;
    uint32_t iobase, iosize; /* properties */
} ISADebugExitState;

DECLARE_INSTANCE_CHECKER(ISADebugExitState, ISA_DEBUG_EXIT, TYPE_ISA_DEBUG_EXIT)

void debugexit_register_types(void);

#endif /* HW_MISC_DEBUGEXIT_H */
