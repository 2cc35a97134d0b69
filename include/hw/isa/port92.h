/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Port 0x92 of PCs: bit 0 rising resets the machine; bit 1 (A20) is kept, but
 * A20 is always on, whatever it says.
 *
 * Used by: hw/i386. Uses: isa.h.
 */
#ifndef HW_ISA_PORT92_H
#define HW_ISA_PORT92_H

#include "hw/isa/isa.h"

#define TYPE_PORT92 "port92"

typedef struct Port92State {
    ISADevice parent_obj;

    MemoryRegion io;
    uint8_t outport; /* guarded by the BQL; saved */
} Port92State;

DECLARE_INSTANCE_CHECKER(Port92State, PORT92, TYPE_PORT92)

void port92_register_types(void);

#endif /* HW_ISA_PORT92_H */
