/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Devices that the user makes (-device).
 *
 * Used by: system/cmdline. Uses: qdev.h.
 */
#ifndef HW_DEVICE_ADD_H
#define HW_DEVICE_ADD_H

#include "hw/qdev.h"
#include "qapi/json.h"

/**
 * device_add: make and realize a device
 *
 * @props: driver, optionally id, and the type's properties; borrowed
 * @keyval: values are text, as of a command line; else JSON
 *
 * It stands in /machine/peripheral under its id, or in peripheral-anon. The
 * error for a driver that there is not names those that there are.
 */
bool device_add(json_object *props, bool keyval, Error **errp);

/* The types that device_add() knows, with what they are. Caller frees. */
char *device_list_types(void);
/* The properties of type @name. False and @errp: there is none such. */
bool device_print_properties(const char *name, Error **errp);

#endif /* HW_DEVICE_ADD_H */
