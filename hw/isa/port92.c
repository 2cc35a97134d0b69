/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Port 0x92: see port92.h. */
#include "qemu/osdep.h"

#include "hw/isa/port92.h"
#include "system/runstate.h"
#include "vmstate/vmstate.h"

#define FAST_RESET 0x01

static uint64_t port92_read(void *opaque, hwaddr addr, unsigned size)
{
    return PORT92(opaque)->outport;
}

static void port92_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    Port92State *s = opaque;
    uint8_t rising = val & ~s->outport;

    s->outport = val;
    if (rising & FAST_RESET) {
        qemu_system_reset_request(SHUTDOWN_CAUSE_GUEST_RESET);
    }
}

static const MemoryRegionOps port92_ops = {
    .read = port92_read,
    .write = port92_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .impl.min_access_size = 1,
    .impl.max_access_size = 1,
};

static const VMStateDescription vmstate_port92 = {
    .name = "port92",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT8(outport, Port92State),
            VMSTATE_END_OF_LIST(),
        },
};

static void port92_reset(DeviceState *dev)
{
    PORT92(dev)->outport &= ~FAST_RESET;
}

static bool port92_realize(DeviceState *dev, Error **errp)
{
    return isa_register_ioport(ISA_DEVICE(dev), &PORT92(dev)->io, 0x92, errp);
}

static void port92_instance_init(Object *obj)
{
    memory_region_init_io(&PORT92(obj)->io, obj, &port92_ops, obj, "port92", 1);
}

static void port92_class_init(ObjectClass *oc, const void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = port92_realize;
    dc->reset = port92_reset;
    dc->vmsd = &vmstate_port92;
    dc->desc = "port 0x92: A20 and fast reset";
}

static const TypeInfo port92_type = {
    .name = TYPE_PORT92,
    .parent = TYPE_ISA_DEVICE,
    .instance_size = sizeof(Port92State),
    .instance_init = port92_instance_init,
    .class_init = port92_class_init,
};

void port92_register_types(void)
{
    type_register_static(&port92_type);
}
