/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices: see qdev.h for the contract.
 */
#include "qemu/osdep.h"

#include "hw/qdev.h"
#include "qemu/error.h"
#include "system/reset.h"
#include "vmstate/savevm.h"

struct NamedGPIOList {
    char *name; /* NULL: the unnamed group */
    int num_in, num_out;
    qemu_irq *in;    /* num_in lines, owned */
    qemu_irq **pins; /* num_out places in the device */
};

static NamedGPIOList *find_group(DeviceState *dev, const char *name)
{
    for (guint i = 0; i < dev->gpios->len; i++) {
        NamedGPIOList *list = g_ptr_array_index(dev->gpios, i);

        if (g_strcmp0(list->name, name) == 0) {
            return list;
        }
    }
    return NULL;
}

static NamedGPIOList *get_group(DeviceState *dev, const char *name)
{
    NamedGPIOList *list = find_group(dev, name);

    if (!list) {
        list = g_new0(NamedGPIOList, 1);
        list->name = g_strdup(name);
        g_ptr_array_add(dev->gpios, list);
    }
    return list;
}

static void free_group(gpointer data)
{
    NamedGPIOList *list = data;

    qemu_free_irqs(list->in, list->num_in);
    g_free(list->pins);
    g_free(list->name);
    g_free(list);
}

void qdev_init_gpio_in_named(DeviceState *dev, qemu_irq_handler handler,
                             void *opaque, const char *name, int n)
{
    NamedGPIOList *list = get_group(dev, name);

    list->in = g_renew(qemu_irq, list->in, list->num_in + n);
    for (int i = list->num_in; i < list->num_in + n; i++) {
        list->in[i] = qemu_allocate_irq(handler, opaque, i);
    }
    list->num_in += n;
}

qemu_irq qdev_get_gpio_in_named(DeviceState *dev, const char *name, int n)
{
    NamedGPIOList *list = find_group(dev, name);

    assert(list && n >= 0 && n < list->num_in);
    return list->in[n];
}

void qdev_init_gpio_out_named(DeviceState *dev, qemu_irq *pins,
                              const char *name, int n)
{
    NamedGPIOList *list = get_group(dev, name);

    list->pins = g_renew(qemu_irq *, list->pins, list->num_out + n);
    for (int i = 0; i < n; i++) {
        list->pins[list->num_out + i] = &pins[i];
    }
    list->num_out += n;
}

void qdev_connect_gpio_out_named(DeviceState *dev, const char *name, int n,
                                 qemu_irq input)
{
    NamedGPIOList *list = find_group(dev, name);

    assert(list && n >= 0 && n < list->num_out);
    *list->pins[n] = input;
}

/* ---- for qtest ---- */

bool qdev_intercept_gpio_in(DeviceState *dev, const char *name,
                            qemu_irq_handler handler, void *opaque)
{
    NamedGPIOList *list = find_group(dev, name);

    if (!list || !list->num_in) {
        return false;
    }
    for (int i = 0; i < list->num_in; i++) {
        qemu_irq_intercept(list->in[i], handler, opaque, i);
    }
    return true;
}

static void drop_level(void *opaque, int n, int level)
{
}

bool qdev_intercept_gpio_out(DeviceState *dev, const char *name,
                             qemu_irq_handler handler, void *opaque)
{
    NamedGPIOList *list = find_group(dev, name);

    if (!list || !list->num_out) {
        return false;
    }
    for (int i = 0; i < list->num_out; i++) {
        if (!*list->pins[i]) {
            *list->pins[i] = qemu_allocate_irq(drop_level, NULL, i);
        }
        qemu_irq_intercept(*list->pins[i], handler, opaque, i);
    }
    return true;
}

bool qdev_set_gpio_in(DeviceState *dev, const char *name, int n, int level)
{
    NamedGPIOList *list = find_group(dev, name);

    if (!list || n < 0 || n >= list->num_in) {
        return false;
    }
    qemu_set_irq(list->in[n], level);
    return true;
}

void qdev_gpio_foreach(DeviceState *dev,
                       void (*fn)(const char *name, int num_in, int num_out,
                                  void *opaque),
                       void *opaque)
{
    for (guint i = 0; i < dev->gpios->len; i++) {
        NamedGPIOList *list = g_ptr_array_index(dev->gpios, i);

        fn(list->name, list->num_in, list->num_out, opaque);
    }
}

/* ---- life ---- */

DeviceState *qdev_new(const char *type, Error **errp)
{
    g_autoptr(Object) obj = NULL;

    if (!object_class_by_name(type)) {
        error_setg(errp, "there is no device type '%s'", type);
        return NULL;
    }
    obj = object_new(type);
    if (!object_apply_globals(obj, errp)) {
        return NULL;
    }
    return DEVICE(g_steal_pointer(&obj));
}

void device_cold_reset(DeviceState *dev)
{
    DeviceClass *dc = DEVICE_GET_CLASS(dev);

    if (dc->reset) {
        dc->reset(dev);
    }
}

static void reset_handler(void *opaque)
{
    device_cold_reset(opaque);
}

bool qdev_realize(DeviceState *dev, Error **errp)
{
    DeviceClass *dc = DEVICE_GET_CLASS(dev);
    bool adopted = false;

    assert(!dev->realized);
    if (!OBJECT(dev)->parent) {
        object_property_add_child(object_get_container("/machine/unattached"),
                                  "device[*]", OBJECT(dev));
        adopted = true;
    }
    if (dc->realize && !dc->realize(dev, errp)) {
        goto fail;
    }
    if (dc->vmsd &&
        !vmstate_register(NULL, VMSTATE_INSTANCE_ID_ANY, dc->vmsd, dev, errp)) {
        if (dc->unrealize) {
            dc->unrealize(dev);
        }
        goto fail;
    }
    qemu_register_reset(reset_handler, dev);
    device_cold_reset(dev);
    object_freeze(OBJECT(dev));
    dev->realized = true;
    return true;
fail:
    if (adopted) {
        object_unparent(OBJECT(dev));
    }
    return false;
}

bool qdev_realize_and_unref(DeviceState *dev, Error **errp)
{
    bool ok = qdev_realize(dev, errp);

    object_unref(OBJECT(dev));
    return ok;
}

void qdev_unrealize(DeviceState *dev)
{
    DeviceClass *dc = DEVICE_GET_CLASS(dev);

    if (!dev->realized) {
        return;
    }
    qemu_unregister_reset(reset_handler, dev);
    if (dc->vmsd) {
        vmstate_unregister(dc->vmsd, dev);
    }
    if (dc->unrealize) {
        dc->unrealize(dev);
    }
    dev->realized = false;
}

static void device_instance_init(Object *obj)
{
    DEVICE(obj)->gpios = g_ptr_array_new_with_free_func(free_group);
}

static void device_instance_finalize(Object *obj)
{
    DeviceState *dev = DEVICE(obj);

    g_ptr_array_unref(dev->gpios);
    g_free(dev->id);
}

static const TypeInfo device_type = {
    .name = TYPE_DEVICE,
    .instance_size = sizeof(DeviceState),
    .class_size = sizeof(DeviceClass),
    .abstract = true,
    .instance_init = device_instance_init,
    .instance_finalize = device_instance_finalize,
};

void qdev_register_types(void)
{
    type_register_static(&device_type);
    sysbus_register_types();
}
