/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isa-debug-exit: see debugexit.h. It has no state. */
#include "qemu/osdep.h"

#include "hw/misc/debugexit.h"
#include "qemu/error.h"
#include "system/runstate.h"

#define MAX_SIZE 8

static uint64_t debugexit_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0;
}

static void debugexit_write(void *opaque, hwaddr addr, uint64_t val,
                            unsigned size)
{
    qemu_system_shutdown_request_with_code(SHUTDOWN_CAUSE_GUEST_SHUTDOWN,
                                           (int)((val << 1) | 1) & 0xff);
}

static const MemoryRegionOps debugexit_ops = {
    .read = debugexit_read,
    .write = debugexit_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 1,
    .valid.max_access_size = 4,
    .impl.min_access_size = 1,
    .impl.max_access_size = 4,
};

static bool debugexit_realize(DeviceState *dev, Error **errp)
{
    ISADebugExitState *s = ISA_DEBUG_EXIT(dev);

    if (!s->iosize || s->iosize > MAX_SIZE) {
        error_setg(errp, "iosize is %" PRIu32 ", expected 1 to %d", s->iosize,
                   MAX_SIZE);
        return false;
    }
    memory_region_init_io(&s->io, OBJECT(dev), &debugexit_ops, s,
                          TYPE_ISA_DEBUG_EXIT, s->iosize);
    if (!isa_register_ioport(ISA_DEVICE(dev), &s->io, s->iobase, errp)) {
        memory_region_destroy(&s->io);
        return false;
    }
    return true;
}

static void debugexit_class_init(ObjectClass *oc, const void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = debugexit_realize;
    dc->desc = "a port that ends the program with a status";
    dc->user_creatable = true;
}

static const Property debugexit_props[] = {
    DEFINE_PROP_UINT32("iobase", ISADebugExitState, iobase, 0x501),
    DEFINE_PROP_UINT32("iosize", ISADebugExitState, iosize, 2),
    DEFINE_PROP_END_OF_LIST(),
};

static const TypeInfo debugexit_type = {
    .name = TYPE_ISA_DEBUG_EXIT,
    .parent = TYPE_ISA_DEVICE,
    .instance_size = sizeof(ISADebugExitState),
    .class_init = debugexit_class_init,
    .props = debugexit_props,
};

void debugexit_register_types(void)
{
    type_register_static(&debugexit_type);
}
