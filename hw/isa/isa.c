/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ISA devices: see isa.h. */
#include "qemu/osdep.h"

#include "hw/isa/isa.h"
#include "qemu/error.h"

#define NUM_PORTS 0x10000u

/* One bus per process, as there is one machine. */
static struct {
    bool present;
    qemu_irq irq[ISA_NUM_IRQS];
    unsigned raised[ISA_NUM_IRQS]; /* how many drive it */
    GSList *devices;               /* ISADevice * that have ports */
} bus;

/* One user's line to an interrupt. */
typedef struct IsaLine {
    qemu_irq line;
    bool level;
} IsaLine;

void isa_bus_init(const qemu_irq *irqs)
{
    assert(!bus.present);
    bus.present = true;
    memcpy(bus.irq, irqs, sizeof(bus.irq));
}

bool isa_bus_present(void)
{
    return bus.present;
}

static const ISADevice *owner_of_ports(uint32_t base, uint32_t last)
{
    for (GSList *l = bus.devices; l; l = l->next) {
        const ISADevice *dev = l->data;

        for (int i = 0; i < dev->num_ports; i++) {
            uint32_t first = dev->port[i].base;

            if (base < first + memory_region_size(dev->port[i].io) &&
                first <= last) {
                return dev;
            }
        }
    }
    return NULL;
}

bool isa_register_ioport(ISADevice *dev, MemoryRegion *io, uint32_t base,
                         Error **errp)
{
    uint64_t size = memory_region_size(io);
    const ISADevice *other;

    assert(dev->num_ports < ISA_MAX_PORTS);
    if (!bus.present) {
        error_setg(errp, "this machine has no ISA bus");
        return false;
    }
    if (base >= NUM_PORTS || size > NUM_PORTS - base) {
        error_setg(errp,
                   "%" PRIu64 " ports at 0x%" PRIx32
                   " are beyond the last one, 0xffff",
                   size, base);
        return false;
    }
    other = owner_of_ports(base, base + size - 1);
    if (other && other != dev) {
        error_setg(errp, "ports 0x%" PRIx32 " to 0x%" PRIx32 " are taken by %s",
                   base, (uint32_t)(base + size - 1),
                   object_get_typename(OBJECT(other)));
        return false;
    }
    if (!dev->num_ports) {
        bus.devices = g_slist_prepend(bus.devices, dev);
    }
    dev->port[dev->num_ports].base = base;
    dev->port[dev->num_ports++].io = io;
    memory_region_add_subregion(get_system_io(), base, io);
    return true;
}

void isa_unregister_ioports(ISADevice *dev)
{
    while (dev->num_ports) {
        memory_region_del_subregion(get_system_io(),
                                    dev->port[--dev->num_ports].io);
    }
    bus.devices = g_slist_remove(bus.devices, dev);
}

static void drive(void *opaque, int n, int level)
{
    IsaLine *line = opaque;

    if (line->level == !!level) {
        return;
    }
    line->level = level;
    if (level ? bus.raised[n]++ == 0 : --bus.raised[n] == 0) {
        qemu_set_irq(bus.irq[n], level);
    }
}

bool isa_connect_irq(ISADevice *dev, qemu_irq *pin, uint32_t irq, Error **errp)
{
    IsaLine *line;

    if (!bus.present) {
        error_setg(errp, "this machine has no ISA bus");
        return false;
    }
    if (irq >= ISA_NUM_IRQS) {
        error_setg(errp, "interrupt %" PRIu32 " is beyond the last one, %d",
                   irq, ISA_NUM_IRQS - 1);
        return false;
    }
    line = g_new0(IsaLine, 1);
    line->line = qemu_allocate_irq(drive, line, irq);
    dev->lines = g_slist_prepend(dev->lines, line);
    *pin = line->line;
    return true;
}

static void free_line(void *opaque)
{
    IsaLine *line = opaque;

    qemu_set_irq(line->line, 0);
    qemu_free_irq(line->line);
    g_free(line);
}

static void isa_device_instance_finalize(Object *obj)
{
    g_slist_free_full(ISA_DEVICE(obj)->lines, free_line);
}

static const TypeInfo isa_device_type = {
    .name = TYPE_ISA_DEVICE,
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(ISADevice),
    .instance_finalize = isa_device_instance_finalize,
    .abstract = true,
};

void isa_register_types(void)
{
    type_register_static(&isa_device_type);
}
