/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices at fixed addresses: see sysbus.h.
 */
#include "qemu/osdep.h"

#include "hw/sysbus.h"

void sysbus_init_mmio(SysBusDevice *dev, MemoryRegion *memory)
{
    assert(dev->num_mmio < SYSBUS_MAX_MMIO);
    dev->mmio[dev->num_mmio].addr = HWADDR_MAX;
    dev->mmio[dev->num_mmio].memory = memory;
    dev->num_mmio++;
}

void sysbus_init_irq(SysBusDevice *dev, qemu_irq *p)
{
    qdev_init_gpio_out_named(DEVICE(dev), p, SYSBUS_DEVICE_GPIO_IRQ, 1);
}

void sysbus_mmio_map(SysBusDevice *dev, int n, hwaddr addr)
{
    assert(n >= 0 && n < dev->num_mmio && dev->mmio[n].addr == HWADDR_MAX);
    dev->mmio[n].addr = addr;
    memory_region_add_subregion(get_system_memory(), addr, dev->mmio[n].memory);
}

MemoryRegion *sysbus_mmio_get_region(SysBusDevice *dev, int n)
{
    assert(n >= 0 && n < dev->num_mmio);
    return dev->mmio[n].memory;
}

void sysbus_connect_irq(SysBusDevice *dev, int n, qemu_irq irq)
{
    qdev_connect_gpio_out_named(DEVICE(dev), SYSBUS_DEVICE_GPIO_IRQ, n, irq);
}

static const TypeInfo sysbus_device_type = {
    .name = TYPE_SYS_BUS_DEVICE,
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(SysBusDevice),
    .abstract = true,
};

void sysbus_register_types(void)
{
    type_register_static(&sysbus_device_type);
}
