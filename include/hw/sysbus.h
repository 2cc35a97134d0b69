/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices at fixed addresses: register windows and interrupt outputs that a
 * machine puts in place by number.
 *
 * Used by: hw/. Uses: qdev.h, memory.h.
 */
#ifndef HW_SYSBUS_H
#define HW_SYSBUS_H

#include "hw/qdev.h"
#include "system/memory.h"

#define TYPE_SYS_BUS_DEVICE "sys-bus-device"
#define SYSBUS_MAX_MMIO     32

/* What qdev_init_gpio_out_named() calls a sysbus device's interrupts. */
#define SYSBUS_DEVICE_GPIO_IRQ "sysbus-irq"

typedef struct SysBusDevice {
    DeviceState parent_obj;

    int num_mmio;
    struct {
        hwaddr addr; /* HWADDR_MAX: not mapped */
        MemoryRegion *memory;
    } mmio[SYSBUS_MAX_MMIO];
} SysBusDevice;

DECLARE_INSTANCE_CHECKER(SysBusDevice, SYS_BUS_DEVICE, TYPE_SYS_BUS_DEVICE)

/* In instance_init or realize: the next window / interrupt output. */
void sysbus_init_mmio(SysBusDevice *dev, MemoryRegion *memory);
void sysbus_init_irq(SysBusDevice *dev, qemu_irq *p);

/* By the machine, after realize. */
void sysbus_mmio_map(SysBusDevice *dev, int n, hwaddr addr);
MemoryRegion *sysbus_mmio_get_region(SysBusDevice *dev, int n);
void sysbus_connect_irq(SysBusDevice *dev, int n, qemu_irq irq);

#endif /* HW_SYSBUS_H */
