/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices: the base type of everything a machine is built of.
 *
 * A device is made by qdev_new(), given its properties, and realized; it then
 * stands in the QOM tree, is reset with the machine, and its state is saved
 * with it. Its lines: inputs are allocated by the device and fetched by who
 * drives them; outputs are places where a line is plugged in, before realize.
 * A name may set a group of lines apart; NULL is the unnamed group.
 *
 * Threads: under the BQL.
 *
 * Used by: hw/, system/main.c, accel/qtest. Uses: qom, vmstate, irq.h.
 */
#ifndef HW_QDEV_H
#define HW_QDEV_H

#include "hw/irq.h"
#include "qom/object.h"

#define TYPE_DEVICE "device"

typedef struct DeviceClass {
    ObjectClass parent_class;

    /* Build what depends on properties. Optional. */
    bool (*realize)(DeviceState *dev, Error **errp);
    void (*unrealize)(DeviceState *dev); /* optional */
    /* To the state after power-on. Optional. */
    void (*reset)(DeviceState *dev);
    /*
     * What is saved. NULL only for a device that says in a comment why it
     * has no state.
     */
    const VMStateDescription *vmsd;
    /* Shown by `-device help`; needed if user_creatable. */
    const char *desc;
    bool user_creatable; /* may be made by -device; default off */
} DeviceClass;

typedef struct NamedGPIOList NamedGPIOList;

struct DeviceState {
    Object parent_obj;

    char *id; /* of -device; NULL: made by the machine */
    bool realized;
    GPtrArray *gpios; /* of NamedGPIOList */
};

OBJECT_DECLARE_TYPE(DeviceState, DeviceClass, DEVICE)

/* One reference, the caller's. -global settings are applied. */
DeviceState *qdev_new(const char *type, Error **errp);

/**
 * qdev_realize: bring @dev to life
 *
 * If it is nobody's child yet it becomes one of /machine/unattached. Calls
 * realize, registers the reset and the state to save. On failure @dev is as
 * it was before.
 */
bool qdev_realize(DeviceState *dev, Error **errp);
/* The same, and drops the caller's reference, also on failure. */
bool qdev_realize_and_unref(DeviceState *dev, Error **errp);
void qdev_unrealize(DeviceState *dev);

void device_cold_reset(DeviceState *dev);

/* ---- lines ---- */

/* In instance_init: @n inputs that call @handler(@opaque, i, level). */
void qdev_init_gpio_in_named(DeviceState *dev, qemu_irq_handler handler,
                             void *opaque, const char *name, int n);
static inline void qdev_init_gpio_in(DeviceState *dev, qemu_irq_handler handler,
                                     int n)
{
    qdev_init_gpio_in_named(dev, handler, dev, NULL, n);
}
/* Asserts that there is such an input. */
qemu_irq qdev_get_gpio_in_named(DeviceState *dev, const char *name, int n);
static inline qemu_irq qdev_get_gpio_in(DeviceState *dev, int n)
{
    return qdev_get_gpio_in_named(dev, NULL, n);
}

/* In instance_init: @n outputs; the lines get plugged into @pins[]. */
void qdev_init_gpio_out_named(DeviceState *dev, qemu_irq *pins,
                              const char *name, int n);
static inline void qdev_init_gpio_out(DeviceState *dev, qemu_irq *pins, int n)
{
    qdev_init_gpio_out_named(dev, pins, NULL, n);
}
void qdev_connect_gpio_out_named(DeviceState *dev, const char *name, int n,
                                 qemu_irq input);
static inline void qdev_connect_gpio_out(DeviceState *dev, int n,
                                         qemu_irq input)
{
    qdev_connect_gpio_out_named(dev, NULL, n, input);
}

/*
 * qtest: have @handler(@opaque, i, level) see inputs / outputs of a group
 * (unconnected outputs included). Returns false if @dev has no such group.
 */
bool qdev_intercept_gpio_in(DeviceState *dev, const char *name,
                            qemu_irq_handler handler, void *opaque);
bool qdev_intercept_gpio_out(DeviceState *dev, const char *name,
                             qemu_irq_handler handler, void *opaque);
/* qtest: drive an input. False if there is none such. */
bool qdev_set_gpio_in(DeviceState *dev, const char *name, int n, int level);

/* The groups of lines, for who lists them. */
void qdev_gpio_foreach(DeviceState *dev,
                       void (*fn)(const char *name, int num_in, int num_out,
                                  void *opaque),
                       void *opaque);

void qdev_register_types(void); /* this type and sysbus.h's */
void sysbus_register_types(void);

#endif /* HW_QDEV_H */
