/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `info qtree`: the devices of the machine, their lines, properties, windows.
 */
#include "qemu/osdep.h"

#include "hw/hmp.h"
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

static int print_device(Object *obj, void *opaque)
{
    PrintContext ctx = { opaque, obj };
    SysBusDevice *dev;

    if (!object_dynamic_cast(obj, TYPE_SYS_BUS_DEVICE)) {
        return 0;
    }
    dev = SYS_BUS_DEVICE(obj);
    monitor_printf(ctx.mon, "  dev: %s, id \"%s\"\n", object_get_typename(obj),
                   DEVICE(obj)->id ? DEVICE(obj)->id : "");
    qdev_gpio_foreach(DEVICE(obj), print_lines, &ctx);
    object_class_property_foreach(object_get_class(obj), print_property, &ctx);
    for (int i = 0; i < dev->num_mmio; i++) {
        monitor_printf(ctx.mon, "    mmio %016" PRIx64 "/%016" PRIx64 "\n",
                       dev->mmio[i].addr,
                       memory_region_size(dev->mmio[i].memory));
    }
    return 0;
}

static void hmp_info_qtree(Monitor *mon, json_object *args)
{
    monitor_printf(mon, "bus: main-system-bus\n  type System\n");
    object_child_foreach_recursive(object_get_root(), print_device, mon);
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
