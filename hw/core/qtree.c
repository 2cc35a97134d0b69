/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `info qtree`: the devices of the machine, their lines, properties, windows.
 */
#include "qemu/osdep.h"

#include "hw/hmp.h"
#include "hw/isa/isa.h"
#include "hw/sysbus.h"
#include "qemu/error.h"
#include "qemu/monitor-sink.h"

typedef struct PrintContext {
    Monitor *mon;
    Object *obj;
} PrintContext;

static void print_lines(const char *name, int num_in, int num_out, void *opaque)
{
    PrintContext *ctx = opaque;

    if (num_in) {
        monitor_printf(ctx->mon, "    gpio-in \"%s\" %d\n", name ? name : "",
                       num_in);
    }
    if (num_out) {
        monitor_printf(ctx->mon, "    gpio-out \"%s\" %d\n", name ? name : "",
                       num_out);
    }
}

static void print_property(const Property *prop, void *opaque)
{
    PrintContext *ctx = opaque;
    json_object *val = object_property_get(ctx->obj, prop->name, NULL);

    if (val) {
        if (json_object_is_type(val, json_type_int)) {
            uint64_t n = json_object_get_uint64(val);

            monitor_printf(ctx->mon, "    %s = %" PRIu64 " (0x%" PRIx64 ")\n",
                           prop->name, n, n);
        } else {
            monitor_printf(
                ctx->mon, "    %s = %s\n", prop->name,
                json_object_to_json_string_ext(val, JSON_C_TO_STRING_PLAIN));
        }
        json_object_put(val);
    }
}

static void print_device(Object *obj, Monitor *mon)
{
    PrintContext ctx = { mon, obj };

    monitor_printf(mon, "  dev: %s, id \"%s\"\n", object_get_typename(obj),
                   DEVICE(obj)->id ? DEVICE(obj)->id : "");
    qdev_gpio_foreach(DEVICE(obj), print_lines, &ctx);
    object_class_property_foreach(object_get_class(obj), print_property, &ctx);
}

static int print_isa_device(Object *obj, void *opaque)
{
    ISADevice *dev;

    if (!object_dynamic_cast(obj, TYPE_ISA_DEVICE)) {
        return 0;
    }
    dev = ISA_DEVICE(obj);
    print_device(obj, opaque);
    for (int i = 0; i < dev->num_ports; i++) {
        monitor_printf(opaque, "    isa %04x/%04x\n", dev->port[i].base,
                       (unsigned)memory_region_size(dev->port[i].io));
    }
    return 0;
}

/* All that is on no other bus. */
static int print_system_device(Object *obj, void *opaque)
{
    SysBusDevice *dev;

    if (!object_dynamic_cast(obj, TYPE_DEVICE) ||
        object_dynamic_cast(obj, TYPE_ISA_DEVICE)) {
        return 0;
    }
    print_device(obj, opaque);
    if (!object_dynamic_cast(obj, TYPE_SYS_BUS_DEVICE)) {
        return 0;
    }
    dev = SYS_BUS_DEVICE(obj);
    for (int i = 0; i < dev->num_mmio; i++) {
        monitor_printf(opaque, "    mmio %016" PRIx64 "/%016" PRIx64 "\n",
                       dev->mmio[i].addr,
                       memory_region_size(dev->mmio[i].memory));
    }
    return 0;
}

static void hmp_info_qtree(Monitor *mon, json_object *args)
{
    monitor_printf(mon, "bus: main-system-bus\n  type System\n");
    object_child_foreach_recursive(object_get_root(), print_system_device, mon);
    if (isa_bus_present()) {
        monitor_printf(mon, "bus: isa.0\n  type ISA\n");
        object_child_foreach_recursive(object_get_root(), print_isa_device,
                                       mon);
    }
}

const HMPCommand hmp_hw_info_commands[] = {
    {
        .name = "qtree",
        .args_type = "",
        .params = "",
        .help = "show the devices of the machine",
        .cmd = hmp_info_qtree,
    },
    { .name = NULL },
};
