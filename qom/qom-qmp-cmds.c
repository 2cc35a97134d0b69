/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QMP's view of the object model: qom-*, object-add and -del. */
#include "qemu/osdep.h"

#include "qapi/qapi-commands-qdev.h"
#include "qapi/qapi-commands-qom.h"
#include "qom/user-creatable.h"

static Object *resolve(const char *path, Error **errp)
{
    bool ambiguous = false;
    Object *obj = object_resolve_path(path, &ambiguous);

    if (ambiguous) {
        error_setg(errp, "Path '%s' is ambiguous", path);
    } else if (!obj) {
        error_set(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Device '%s' not found",
                  path);
    }
    return obj;
}

static void add_info(const char *name, const char *type, void *opaque)
{
    ObjectPropertyInfoList ***tail = opaque;
    ObjectPropertyInfo *info = g_new0(ObjectPropertyInfo, 1);

    info->name = g_strdup(name);
    info->type = g_strdup(type);
    QAPI_LIST_APPEND(*tail, info);
}

ObjectPropertyInfoList *qmp_qom_list(const char *path, Error **errp)
{
    ObjectPropertyInfoList *list = NULL, **tail = &list;
    Object *obj = resolve(path, errp);

    if (obj) {
        object_property_foreach(obj, add_info, &tail);
    }
    return list;
}

json_object *qmp_qom_get(const char *path, const char *property, Error **errp)
{
    Object *obj = resolve(path, errp);

    return obj ? object_property_get(obj, property, errp) : NULL;
}

void qmp_qom_set(const char *path, const char *property, json_object *value,
                 Error **errp)
{
    Object *obj = resolve(path, errp);

    if (obj) {
        object_property_set(obj, property, value, errp);
    }
}

ObjectTypeInfoList *qmp_qom_list_types(const char *implements,
                                       bool has_abstract, bool abstract,
                                       Error **errp)
{
    ObjectTypeInfoList *list = NULL, **tail = &list;
    GSList *classes = object_class_get_list(implements,
                                            has_abstract && abstract);

    for (GSList *l = classes; l; l = l->next) {
        ObjectClass *klass = l->data;
        ObjectClass *parent = object_class_get_parent(klass);
        ObjectTypeInfo *info = g_new0(ObjectTypeInfo, 1);

        info->name = g_strdup(object_class_get_name(klass));
        info->has_abstract = info->abstract = object_class_is_abstract(klass);
        info->parent = parent ? g_strdup(object_class_get_name(parent)) : NULL;
        QAPI_LIST_APPEND(tail, info);
    }
    g_slist_free(classes);
    return list;
}

/* ------------------------------------------------- properties of a type */

static json_object *default_of(const Property *prop)
{
    if (!prop->set_default) {
        return NULL;
    }
    switch (prop->type->kind) {
    case QAPI_KIND_BOOL:
        return json_object_new_boolean(prop->defval.u);
    case QAPI_KIND_ENUM:
        return json_object_new_string(
            qapi_enum_lookup(prop->type->lookup, prop->defval.i));
    case QAPI_KIND_STR:
        return json_object_new_string(prop->defval.s);
    case QAPI_KIND_INT:
        return json_object_new_int64(prop->defval.i);
    default:
        return json_object_new_uint64(prop->defval.u);
    }
}

typedef struct Listing {
    ObjectClass *klass;
    ObjectPropertyInfoList **tail;
    bool device; /* leave out what nobody sets on -device */
} Listing;

static void list_property(const Property *prop, void *opaque)
{
    Listing *out = opaque;
    ObjectPropertyInfo *info;

    if (object_class_property_find(out->klass, prop->name) != prop ||
        (out->device &&
         (prop->read_only || strcmp(prop->name, "realized") == 0))) {
        return;
    }
    info = g_new0(ObjectPropertyInfo, 1);
    info->name = g_strdup(prop->name);
    info->type = object_property_type_name(prop);
    info->description = g_strdup(prop->help);
    info->default_value = default_of(prop);
    QAPI_LIST_APPEND(out->tail, info);
}

static ObjectPropertyInfoList *list_properties(ObjectClass *klass, bool device)
{
    ObjectPropertyInfoList *list = NULL;
    Listing out = { klass, &list, device };

    object_class_property_foreach(klass, list_property, &out);
    return list;
}

static ObjectClass *class_by_name(const char *type, Error **errp)
{
    ObjectClass *klass = object_class_by_name(type);

    if (!klass) {
        error_set(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Class '%s' not found",
                  type);
    }
    return klass;
}

ObjectPropertyInfoList *qmp_qom_list_properties(const char *type, Error **errp)
{
    ObjectClass *klass = class_by_name(type, errp);

    return klass ? list_properties(klass, false) : NULL;
}

ObjectPropertyInfoList *qmp_device_list_properties(const char *type,
                                                   Error **errp)
{
    ObjectClass *klass = object_class_by_name(type);

    if (!klass) {
        error_set(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Device '%s' not found",
                  type);
        return NULL;
    }
    if (!object_class_dynamic_cast(klass, "device") ||
        object_class_is_abstract(klass)) {
        error_setg(errp,
                   "Parameter 'typename' expects a non-abstract device type");
        return NULL;
    }
    return list_properties(klass, true);
}

/* ------------------------------------------------------ object-add, -del */

void qmp_object_add(ObjectOptions *arg, Error **errp)
{
    json_object *options = qapi_ObjectOptions_to_json(arg);

    user_creatable_add(options, false, errp);
    json_object_put(options);
}

void qmp_object_del(const char *id, Error **errp)
{
    user_creatable_del(id, errp);
}
