/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split-chips: PICs and I/O APIC of a PC whose accelerator has local APICs only
 * (kernel-irqchip=split), put together as system/board-chips.h wants them.
 *
 * Line 0 is pin 2 of the I/O APIC, every other line the pin of its number; lines
 * 0 to 15, but 2, lead to the PICs as well.
 *
 * Used by: pc.c. Uses: i8259.h, ioapic.h, board-chips.h.
 */
#ifndef HW_I386_SPLIT_CHIPS_H
#define HW_I386_SPLIT_CHIPS_H

#include "qom/object.h"

/* After isa_bus_init(). Children of @parent; for the process's lifetime. */
bool split_chips_create(Object *parent, Error **errp);

#endif /* HW_I386_SPLIT_CHIPS_H */
