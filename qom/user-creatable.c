/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What -object and object-add make: see include/qom/user-creatable.h. */
#include "qemu/osdep.h"

#include "qapi/json.h"
#include "qapi/keyval.h"
#include "qemu/cutils.h"
#include "qom/user-creatable.h"

static const char *string_member(json_object *options, const char *name,
                                 Error **errp)
{
    json_object *v;

    if (!json_object_object_get_ex(options, name, &v)) {
        error_setg(errp, "Parameter '%s' is missing", name);
        return NULL;
    }
    if (!json_object_is_type(v, json_type_string)) {
        error_setg(errp, "Invalid parameter type for '%s', expected: string",
                   name);
        return NULL;
    }
    return json_object_get_string(v);
}

static bool check_id(const char *id, Error **errp)
{
    if (!id_check(id, errp)) {
        return false;
    }
    if (object_resolve_path_component(object_get_objects_root(), id)) {
        error_setg(errp, "there is an object with the id '%s' already", id);
        return false;
    }
    return true;
}

static bool check_type(const char *type, Error **errp)
{
    ObjectClass *klass = object_class_by_name(type);

    if (!klass) {
        error_setg(errp, "invalid object type: %s", type);
        return false;
    }
    if (!object_class_dynamic_cast(klass, TYPE_USER_CREATABLE)) {
        error_setg(errp, "object type '%s' isn't supported by object-add",
                   type);
        return false;
    }
    if (object_class_is_abstract(klass)) {
        error_setg(errp, "object type '%s' is abstract", type);
        return false;
    }
    return true;
}

static bool set_and_complete(Object *obj, json_object *options, bool keyval,
                             Error **errp)
{
    UserCreatableClass *ucc = USER_CREATABLE_GET_CLASS(obj);

    json_object_object_foreach(options, name, value)
    {
        bool ok = true;

        if (strcmp(name, "qom-type") == 0 || strcmp(name, "id") == 0) {
            continue;
        }
        ok = keyval ? object_property_set_keyval(obj, name, value, errp)
                    : object_property_set(obj, name, value, errp);
        if (!ok) {
            return false;
        }
    }
    if (ucc->complete && !ucc->complete(USER_CREATABLE(obj), errp)) {
        return false;
    }
    object_freeze(obj);
    return true;
}

Object *user_creatable_add(json_object *options, bool keyval, Error **errp)
{
    const char *type = string_member(options, "qom-type", errp);
    const char *id = type ? string_member(options, "id", errp) : NULL;
    Object *obj;

    if (!id || !check_type(type, errp) || !check_id(id, errp)) {
        return NULL;
    }
    obj = object_new(type);
    /* In the tree first: complete() may want the path. */
    object_property_add_child(object_get_objects_root(), id, obj);
    if (!set_and_complete(obj, options, keyval, errp)) {
        object_unparent(obj);
        object_unref(obj);
        return NULL;
    }
    object_unref(obj);
    return obj;
}

static bool can_be_deleted(Object *obj)
{
    UserCreatableClass *ucc = USER_CREATABLE_GET_CLASS(obj);

    return !ucc->can_be_deleted || ucc->can_be_deleted(USER_CREATABLE(obj));
}

bool user_creatable_del(const char *id, Error **errp)
{
    Object *obj = object_resolve_path_component(object_get_objects_root(), id);

    if (!obj || !object_dynamic_cast(obj, TYPE_USER_CREATABLE)) {
        error_setg(errp, "object '%s' not found", id);
        return false;
    }
    if (!can_be_deleted(obj)) {
        error_setg(errp, "object '%s' is in use, can not be deleted", id);
        return false;
    }
    object_unparent(obj);
    return true;
}

static int delete_one(Object *obj, void *opaque)
{
    if (object_dynamic_cast(obj, TYPE_USER_CREATABLE) && can_be_deleted(obj)) {
        object_unparent(obj);
    }
    return 0;
}

void user_creatable_cleanup(void)
{
    object_child_foreach(object_get_objects_root(), delete_one, NULL);
}

/* --------------------------------------------------------------- -object */

static void print_property(const Property *prop, void *opaque)
{
    g_autofree char *type = object_property_type_name(prop);

    if (prop->set || (prop->offset != PROP_NO_OFFSET && !prop->read_only)) {
        printf("  %s=<%s>%s%s\n", prop->name, type, prop->help ? " - " : "",
               prop->help ? prop->help : "");
    }
}

static void print_help(json_object *options)
{
    const char *type = string_member(options, "qom-type", NULL);
    ObjectClass *klass = type ? object_class_by_name(type) : NULL;
    GSList *list;

    if (klass && object_class_dynamic_cast(klass, TYPE_USER_CREATABLE)) {
        printf("%s options:\n", type);
        object_class_property_foreach(klass, print_property, NULL);
        return;
    }
    list = object_class_get_list(TYPE_USER_CREATABLE, false);
    printf("List of user creatable objects:\n");
    for (GSList *l = list; l; l = l->next) {
        printf("  %s\n", object_class_get_name(l->data));
    }
    g_slist_free(list);
}

json_object *user_creatable_parse(const char *optarg, bool *p_keyval,
                                  bool *p_help, Error **errp)
{
    json_object *options;
    bool help = false;

    if (*optarg == '{') {
        *p_keyval = false;
        options = qobject_from_json(optarg, errp);
    } else {
        *p_keyval = true;
        options = keyval_parse(optarg, "qom-type", &help, errp);
    }
    if (options && help) {
        print_help(options);
    }
    *p_help = help;
    return options;
}
