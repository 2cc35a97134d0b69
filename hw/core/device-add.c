/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Devices that the user makes: see include/hw/device-add.h. */
#include "qemu/osdep.h"

#include "hw/device-add.h"
#include "hw/hmp.h"
#include "qapi/keyval.h"
#include "qapi/qapi-commands-qdev.h"
#include "qemu/cutils.h"
#include "qemu/error.h"

static gint by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(object_class_get_name((ObjectClass *)a),
                  object_class_get_name((ObjectClass *)b));
}

/* Of ObjectClass *, sorted by name; the list is the caller's. */
static GSList *creatable_classes(void)
{
    GSList *all = object_class_get_list(TYPE_DEVICE, false), *list = NULL;

    for (GSList *l = all; l; l = l->next) {
        if (DEVICE_CLASS(l->data)->user_creatable) {
            list = g_slist_insert_sorted(list, l->data, by_name);
        }
    }
    g_slist_free(all);
    return list;
}

static ObjectClass *find_class(const char *name, Error **errp)
{
    g_autoptr(GSList) list = creatable_classes();
    g_autoptr(GString) names = g_string_new(NULL);

    for (GSList *l = list; l; l = l->next) {
        const char *type = object_class_get_name(l->data);

        if (g_str_equal(type, name)) {
            return l->data;
        }
        g_string_append_printf(names, "%s%s", names->len ? ", " : "", type);
    }
    if (!list) {
        error_setg(errp, "there is no device '%s', nor any other to be made",
                   name);
    } else {
        error_setg(errp, "there is no device '%s'; there are: %s", name,
                   names->str);
    }
    return NULL;
}

char *device_list_types(void)
{
    g_autoptr(GSList) list = creatable_classes();
    GString *text = g_string_new("Devices that can be made:\n");

    for (GSList *l = list; l; l = l->next) {
        g_string_append_printf(text, "name \"%s\", desc \"%s\"\n",
                               object_class_get_name(l->data),
                               DEVICE_CLASS(l->data)->desc);
    }
    return g_string_free(text, FALSE);
}

static void print_property(const Property *prop, void *opaque)
{
    g_autofree char *type = object_property_type_name(prop);
    g_autofree char *text = g_strdup_printf("%s=<%s>", prop->name, type);

    if (prop->help) {
        printf("  %-22s - %s\n", text, prop->help);
    } else {
        printf("  %s\n", text);
    }
}

bool device_print_properties(const char *name, Error **errp)
{
    ObjectClass *oc = find_class(name, errp);

    if (!oc) {
        return false;
    }
    printf("%s options:\n", name);
    object_class_property_foreach(oc, print_property, NULL);
    return true;
}

/*
 * The member's text, taken out of @props, into @text, the caller's; NULL if
 * there is none. False and @errp: it is no text.
 */
static bool take_text(json_object *props, const char *key, char **text,
                      Error **errp)
{
    json_object *v;

    if (!json_object_object_get_ex(props, key, &v)) {
        return true;
    }
    if (!json_object_is_type(v, json_type_string)) {
        error_setg(errp, "Invalid parameter type for '%s', expected: string",
                   key);
        return false;
    }
    *text = g_strdup(json_object_get_string(v));
    json_object_object_del(props, key);
    return true;
}

static bool adopt(DeviceState *dev, const char *id, Error **errp)
{
    Object *place;

    if (!id) {
        object_property_add_child(
            object_get_container("/machine/peripheral-anon"), "device[*]",
            OBJECT(dev));
        return true;
    }
    if (!id_check(id, errp)) {
        return false;
    }
    place = object_get_container("/machine/peripheral");
    if (object_resolve_path_component(place, id)) {
        error_setg(errp, "there is a device with the id '%s' already", id);
        return false;
    }
    object_property_add_child(place, id, OBJECT(dev));
    dev->id = g_strdup(id);
    return true;
}

bool device_add(json_object *props, bool keyval, Error **errp)
{
    g_autoptr(json_object) rest = json_object_new_object();
    g_autofree char *driver = NULL, *id = NULL;
    DeviceState *dev;

    json_object_object_foreach(props, key, value)
    {
        json_object_object_add(rest, key, json_object_get(value));
    }
    if (!take_text(rest, "driver", &driver, errp) ||
        !take_text(rest, "id", &id, errp)) {
        return false;
    }
    if (!driver) {
        error_setg(errp, "Parameter 'driver' is missing");
        return false;
    }
    if (!find_class(driver, errp)) {
        return false;
    }
    dev = qdev_new(driver, errp);
    if (!dev) {
        return false;
    }
    if (!object_set_properties(OBJECT(dev), rest, keyval, errp) ||
        !adopt(dev, id, errp)) {
        object_unref(OBJECT(dev));
        return false;
    }
    if (!qdev_realize(dev, errp)) {
        object_unparent(OBJECT(dev));
        object_unref(OBJECT(dev));
        return false;
    }
    object_unref(OBJECT(dev));
    return true;
}

/*
 * While the machine exists: nothing can be plugged, and who tries is told
 * whether that is so for this device or whether there is no such device.
 */
bool qmp_device_add(json_object *args, json_object **ret, Error **errp)
{
    g_autoptr(json_object) rest = json_object_new_object();
    g_autofree char *driver = NULL, *id = NULL;

    if (args) {
        json_object_object_foreach(args, key, value)
        {
            json_object_object_add(rest, key, json_object_get(value));
        }
    }
    if (!take_text(rest, "driver", &driver, errp) ||
        !take_text(rest, "id", &id, errp)) {
        return false;
    }
    if (!driver) {
        error_setg(errp, "Parameter 'driver' is missing");
        return false;
    }
    if (find_class(driver, errp)) {
        error_setg(errp,
                   "a device '%s' cannot be added to a machine that is built: "
                   "there is no hot-plug; use -device",
                   driver);
    }
    return false;
}

void qmp_device_del(const char *id, Error **errp)
{
    Object *obj = *id == '/'
                      ? object_resolve_path(id, NULL)
                      : object_resolve_path_component(
                            object_get_container("/machine/peripheral"), id);

    if (!obj || !object_dynamic_cast(obj, TYPE_DEVICE)) {
        error_set(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Device '%s' not found",
                  id);
        return;
    }
    error_setg(errp,
               "the device '%s' cannot be removed from a machine that is "
               "built: there is no hot-unplug",
               id);
}

static void hmp_device_add(Monitor *mon, json_object *args)
{
    const char *text = json_object_get_string(
        json_object_object_get(args, "device"));
    g_autoptr(json_object) props = NULL;
    json_object *nothing = NULL;
    bool help = false;
    Error *err = NULL;

    props = keyval_parse(text, "driver", &help, &err);
    if (props && help) {
        g_autofree char *types = device_list_types();

        monitor_puts(mon, types);
        return;
    }
    if (props) {
        qmp_device_add(props, &nothing, &err);
    }
    hmp_handle_error(mon, err);
}

static void hmp_device_del(Monitor *mon, json_object *args)
{
    Error *err = NULL;

    qmp_device_del(json_object_get_string(json_object_object_get(args, "id")),
                   &err);
    hmp_handle_error(mon, err);
}

static void complete_driver(HMPCompletion *c, const char *const *words,
                            unsigned n)
{
    g_autoptr(GSList) list = creatable_classes();

    for (GSList *l = list; l; l = l->next) {
        hmp_completion_add(c, object_class_get_name(l->data));
    }
}

static int add_id(Object *obj, void *opaque)
{
    hmp_completion_add(opaque, object_get_canonical_path_component(obj));
    return 0;
}

static void complete_id(HMPCompletion *c, const char *const *words, unsigned n)
{
    object_child_foreach(object_get_container("/machine/peripheral"), add_id,
                         c);
}

const HMPCommand hmp_hw_commands[] = {
    {
        .name = "device_add",
        .args_type = "device:S",
        .params = "driver[,prop=value][,...]",
        .help = "say why the device cannot be added; 'help' lists those that "
                "-device makes",
        .cmd = hmp_device_add,
        .complete = complete_driver,
    },
    {
        .name = "device_del",
        .args_type = "id:s",
        .params = "id",
        .help = "say why the device cannot be removed",
        .cmd = hmp_device_del,
        .complete = complete_id,
    },
    { .name = NULL },
};
