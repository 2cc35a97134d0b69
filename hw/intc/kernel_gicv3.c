/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines into the accelerator's GICv3: see kernel_gicv3.h. No state of its own. */
#include "qemu/osdep.h"

#include "hw/intc/kernel_gicv3.h"
#include "system/gsi.h"

static void drive_line(void *opaque, int n, int level)
{
    accel_set_gsi(n, level);
}

DeviceState *kernel_gicv3_create(unsigned num_spis, hwaddr dist_base,
                                 hwaddr redist_base, Error **errp)
{
    DeviceState *dev;

    if (!accel_create_gicv3(dist_base, redist_base, num_spis, errp)) {
        return NULL;
    }
    dev = qdev_new(TYPE_KERNEL_GICV3, errp);
    if (!dev) {
        return NULL;
    }
    qdev_init_gpio_in(dev, drive_line, num_spis);
    return qdev_realize_and_unref(dev, errp) ? dev : NULL;
}

static void kernel_gicv3_class_init(ObjectClass *oc, const void *data)
{
    DEVICE_CLASS(oc)->desc = "inputs of the accelerator's GICv3";
}

static const TypeInfo kernel_gicv3_type = {
    .name = TYPE_KERNEL_GICV3,
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(DeviceState),
    .class_init = kernel_gicv3_class_init,
};

void kernel_gicv3_register_types(void)
{
    type_register_static(&kernel_gicv3_type);
}
