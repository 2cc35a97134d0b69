/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ISA devices: I/O ports and interrupts 0 to 15, given by number.
 *
 * A machine with an ISA bus says so by isa_bus_init() before it makes such
 * devices. Ports of two devices may not overlap; an interrupt may be shared:
 * it is high as long as one of its users drives it.
 *
 * Threads: under the BQL.
 *
 * Used by: hw/. Uses: qdev.h, memory.h.
 */
#ifndef HW_ISA_ISA_H
#define HW_ISA_ISA_H

#include "hw/qdev.h"
#include "system/memory.h"

#define TYPE_ISA_DEVICE "isa-device"
#define ISA_NUM_IRQS    16
#define ISA_MAX_PORTS   6

typedef struct ISADevice {
    DeviceState parent_obj;

    int num_ports;
    struct {
        uint16_t base;
        MemoryRegion *io;
    } port[ISA_MAX_PORTS];
    GSList *lines; /* to interrupts; isa.c's */
} ISADevice;

DECLARE_INSTANCE_CHECKER(ISADevice, ISA_DEVICE, TYPE_ISA_DEVICE)

/* @irqs: the ISA_NUM_IRQS inputs of the machine's interrupt controller. */
void isa_bus_init(const qemu_irq *irqs);
bool isa_bus_present(void);

/*
 * In realize: put @io at @base of the I/O ports. Fails, naming the other one,
 * where a device is already or beyond port 0xffff.
 */
bool isa_register_ioport(ISADevice *dev, MemoryRegion *io, uint32_t base,
                         Error **errp);
/* In realize: a line to interrupt @irq, the bus's. */
bool isa_connect_irq(ISADevice *dev, qemu_irq *pin, uint32_t irq, Error **errp);
/* Undo all isa_register_ioport(): for a realize that fails, and unrealize. */
void isa_unregister_ioports(ISADevice *dev);

void isa_register_types(void);

#endif /* HW_ISA_ISA_H */
