/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Start-up: qtest's interrupt commands, connected to the devices' lines. */
#include "qemu/osdep.h"

#include "accel/qtest.h"
#include "cmdline.h"
#include "hw/qdev.h"

static DeviceState *device_at(const char *path)
{
    Object *obj = object_resolve_path(path, NULL);

    return obj && object_dynamic_cast(obj, TYPE_DEVICE) ? DEVICE(obj) : NULL;
}

static bool intercept(const char *path, const char *name, bool out)
{
    DeviceState *dev = device_at(path);

    if (!dev) {
        return false;
    }
    return out ? qdev_intercept_gpio_out(dev, name, qtest_irq_seen, NULL)
               : qdev_intercept_gpio_in(dev, name, qtest_irq_seen, NULL);
}

static bool set_in(const char *path, const char *name, int n, int level)
{
    DeviceState *dev = device_at(path);

    return dev && qdev_set_gpio_in(dev, name, n, level);
}

void start_qtest_irqs(void)
{
    static const QTestIrqOps ops = { intercept, set_in };

    qtest_set_irq_ops(&ops);
}
