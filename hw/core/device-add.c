/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Devices that the user makes: see include/hw/device-add.h. */
#include "qemu/osdep.h"

#include "hw/device-add.h"
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

void device_print_types(void)
{
    g_autoptr(GSList) list = creatable_classes();

    printf("Devices that can be made:\n");
    for (GSList *l = list; l; l = l->next) {
        printf("name \"%s\", desc \"%s\"\n", object_class_get_name(l->data),
               DEVICE_CLASS(l->data)->desc);
    }
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

/* The member's text, taken out of @props; NULL: there is none. */
static char *take_text(json_object *props, const char *key)
{
    json_object *v = json_object_object_get(props, key);
    char *text = NULL;

    if (v && json_object_is_type(v, json_type_string)) {
        text = g_strdup(json_object_get_string(v));
        json_object_object_del(props, key);
    }
    return text;
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
    driver = take_text(rest, "driver");
    id = take_text(rest, "id");
    if (!driver) {
        error_setg(errp, "'driver' is missing");
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
