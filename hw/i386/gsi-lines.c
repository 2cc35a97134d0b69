/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines into the accelerator's interrupt controllers: see gsi-lines.h. No
 * state: the levels are the drivers', who drive them anew after a load, and
 * what became of them is the controllers'.
 */
#include "qemu/osdep.h"

#include "hw/i386/gsi-lines.h"
#include "system/gsi.h"
#include "trace-hw.h"

static void drive_line(void *opaque, int n, int level)
{
    trace_gsi_line(n, level);
    accel_set_gsi(n, level);
}

static void gsi_lines_instance_init(Object *obj)
{
    qdev_init_gpio_in(DEVICE(obj), drive_line, GSI_NUM_LINES);
}

static void gsi_lines_class_init(ObjectClass *oc, const void *data)
{
    DEVICE_CLASS(oc)->desc =
        "inputs of the accelerator's interrupt controllers";
}

static const TypeInfo gsi_lines_type = {
    .name = TYPE_GSI_LINES,
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(DeviceState),
    .instance_init = gsi_lines_instance_init,
    .class_init = gsi_lines_class_init,
};

void gsi_lines_register_types(void)
{
    type_register_static(&gsi_lines_type);
}
