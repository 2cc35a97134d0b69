/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of objects' properties: see include/qom/object.h. */
#include "qemu/osdep.h"

#include "qom-internal.h"

/* -------------------------------------------------------- description */

const Property *object_class_property_find(ObjectClass *klass, const char *name)
{
    for (; klass; klass = klass->parent) {
        const Property *prop = klass->info->props;

        for (; prop && prop->name; prop++) {
            if (strcmp(prop->name, name) == 0) {
                return prop;
            }
        }
    }
    return NULL;
}

void object_class_property_foreach(ObjectClass *klass,
                                   void (*fn)(const Property *prop,
                                              void *opaque),
                                   void *opaque)
{
    const Property *prop = klass->info->props;

    if (klass->parent) {
        object_class_property_foreach(klass->parent, fn, opaque);
    }
    for (; prop && prop->name; prop++) {
        fn(prop, opaque);
    }
}

char *object_property_type_name(const Property *prop)
{
    if (prop->link_type) {
        return g_strdup_printf("link<%s>", prop->link_type);
    }
    if (prop->type_name) {
        return g_strdup(prop->type_name);
    }
    if (prop->type->kind == QAPI_KIND_STR) {
        return g_strdup("string");
    }
    if (prop->type->kind == QAPI_KIND_LIST) {
        return g_strdup_printf("[%s]", prop->type->elem->name);
    }
    return g_strdup(prop->type->name);
}

typedef struct ForEach {
    Object *obj;
    void (*fn)(const char *name, const char *type, void *opaque);
    void *opaque;
} ForEach;

static void foreach_class_property(const Property *prop, void *opaque)
{
    ForEach *each = opaque;
    g_autofree char *type = object_property_type_name(prop);

    /* One that a derived class redefined is told once, as redefined. */
    if (object_class_property_find(each->obj->class, prop->name) == prop) {
        each->fn(prop->name, type, each->opaque);
    }
}

static char *slot_type_name(const Slot *slot)
{
    const Property *prop;
    const Slot *other;

    switch (slot->kind) {
    case SLOT_CHILD:
        return g_strdup_printf("child<%s>", object_get_typename(slot->child));
    case SLOT_LINK:
        return g_strdup_printf("link<%s>", slot->target_type);
    default:
        other = object_find_slot(slot->target, slot->target_name);
        if (other) {
            return slot_type_name(other);
        }
        prop = object_class_property_find(slot->target->class,
                                          slot->target_name);
        return prop ? object_property_type_name(prop) : g_strdup("any");
    }
}

void object_property_foreach(Object *obj,
                             void (*fn)(const char *name, const char *type,
                                        void *opaque),
                             void *opaque)
{
    ForEach each = { obj, fn, opaque };

    object_class_property_foreach(obj->class, foreach_class_property, &each);
    for (guint i = 0; obj->slots && i < obj->slots->array->len; i++) {
        Slot *slot = g_ptr_array_index(obj->slots->array, i);
        g_autofree char *type = slot_type_name(slot);

        fn(slot->name, type, opaque);
    }
}

/* -------------------------------------------------- fields at an offset */

static void *prop_field(Object *obj, const Property *prop)
{
    return prop->offset == PROP_NO_OFFSET ? NULL : (char *)obj + prop->offset;
}

static void store_default(Object *obj, const Property *prop)
{
    void *field = prop_field(obj, prop);

    if (!prop->set_default || !field) {
        return;
    }
    if (prop->type->kind == QAPI_KIND_STR) {
        g_free(*(char **)field);
        *(char **)field = g_strdup(prop->defval.s);
    } else {
        /* Scalars: the low bytes of the 64-bit default, by size. */
        switch (prop->type->size) {
        case 1:
            *(uint8_t *)field = prop->defval.u;
            break;
        case 2:
            *(uint16_t *)field = prop->defval.u;
            break;
        case 4:
            *(uint32_t *)field = prop->defval.u;
            break;
        default:
            *(uint64_t *)field = prop->defval.u;
        }
    }
}

static void store_default_of(const Property *prop, void *opaque)
{
    store_default(opaque, prop);
}

void object_init_properties(Object *obj)
{
    object_class_property_foreach(obj->class, store_default_of, obj);
}

void object_clear_properties(Object *obj)
{
    for (ObjectClass *k = obj->class; k; k = k->parent) {
        for (const Property *p = k->info->props; p && p->name; p++) {
            void *field = prop_field(obj, p);

            if (field && p->link_type) {
                object_unref(*(Object **)field);
                *(Object **)field = NULL;
            } else if (field) {
                qapi_value_clear(p->type, field);
            }
        }
    }
}

/* ------------------------------------------------------------ setting */

static bool fail_not_found(Object *obj, const char *name, Error **errp)
{
    error_setg(errp, "Property '%s.%s' not found", object_get_typename(obj),
               name);
    return false;
}

static bool check_settable(Object *obj, const Property *prop, Error **errp)
{
    if (prop->read_only || (!prop->set && prop->offset == PROP_NO_OFFSET)) {
        error_setg(errp, "Property '%s.%s' is not writable",
                   object_get_typename(obj), prop->name);
        return false;
    }
    if (obj->frozen && !prop->settable_after_realize) {
        error_setg(errp,
                   "Property '%s.%s' can't be set any more: the object is in "
                   "use",
                   object_get_typename(obj), prop->name);
        return false;
    }
    return true;
}

/* What the path @value leads to, of type @type; "" is no object. */
static bool resolve_link(const char *name, const char *type, json_object *value,
                         Object **target, Error **errp)
{
    const char *path;
    bool ambiguous;

    if (!json_object_is_type(value, json_type_string)) {
        error_setg(errp, "Invalid parameter type for '%s', expected: string",
                   name);
        return false;
    }
    path = json_object_get_string(value);
    *target = NULL;
    if (!*path) {
        return true;
    }
    *target = object_resolve_path_type(path, type, &ambiguous);
    if (ambiguous) {
        error_setg(errp, "Path '%s' does not uniquely identify an object",
                   path);
        return false;
    }
    if (!*target && object_resolve_path(path, NULL)) {
        error_setg(errp, "Invalid parameter type for '%s', expected: %s", name,
                   type);
        return false;
    }
    if (!*target) {
        error_set(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "Device '%s' not found",
                  path);
        return false;
    }
    return true;
}

static bool store_link(Object *obj, const Property *prop, Object *target,
                       Error **errp)
{
    Object **field = prop_field(obj, prop);

    if (!check_settable(obj, prop, errp)) {
        return false;
    }
    object_ref(target);
    object_unref(*field);
    *field = target;
    return true;
}

static bool set_link(Object *obj, const Property *prop, json_object *value,
                     Error **errp)
{
    Object *target;

    if (!resolve_link(prop->name, prop->link_type, value, &target, errp)) {
        return false;
    }
    if (prop->check && !prop->check(obj, prop, value, errp)) {
        return false;
    }
    return prop->set ? prop->set(obj, prop, value, errp)
                     : store_link(obj, prop, target, errp);
}

static bool set_value(Object *obj, const Property *prop, json_object *value,
                      QapiInput input, Error **errp)
{
    QapiSlot slot = { 0 };
    json_object *typed;
    bool ok;

    if (!qapi_value_from_json(prop->type, value, prop->name, input, &slot,
                              errp)) {
        return false;
    }
    typed = qapi_value_to_json(prop->type, &slot);
    ok = !prop->check || prop->check(obj, prop, typed, errp);
    if (ok && prop->set) {
        ok = prop->set(obj, prop, typed, errp);
    } else if (ok) {
        void *field = prop_field(obj, prop);
        size_t size = qapi_type_slot_size(prop->type);

        qapi_value_clear(prop->type, field);
        memcpy(field, &slot, size);
        memset(&slot, 0, sizeof(slot)); /* the field owns it now */
    }
    json_object_put(typed);
    qapi_value_clear(prop->type, &slot);
    return ok;
}

static bool set_slot(Object *obj, Slot *slot, json_object *value,
                     QapiInput input, Error **errp)
{
    Object *target;

    switch (slot->kind) {
    case SLOT_ALIAS:
        return input == QAPI_INPUT_KEYVAL
                   ? object_property_set_keyval(slot->target, slot->target_name,
                                                value, errp)
                   : object_property_set(slot->target, slot->target_name, value,
                                         errp);
    case SLOT_LINK:
        if (!resolve_link(slot->name, slot->target_type, value, &target,
                          errp)) {
            return false;
        }
        *slot->field = target;
        return true;
    default:
        error_setg(errp, "Property '%s.%s' is not writable",
                   object_get_typename(obj), slot->name);
        return false;
    }
}

static bool property_set(Object *obj, const char *name, json_object *value,
                         QapiInput input, Error **errp)
{
    const Property *prop = object_class_property_find(obj->class, name);
    Slot *slot;

    if (!prop) {
        slot = object_find_slot(obj, name);
        return slot ? set_slot(obj, slot, value, input, errp)
                    : fail_not_found(obj, name, errp);
    }
    if (!check_settable(obj, prop, errp)) {
        return false;
    }
    if (prop->link_type) {
        return set_link(obj, prop, value, errp);
    }
    return set_value(obj, prop, value, input, errp);
}

bool object_property_set(Object *obj, const char *name, json_object *value,
                         Error **errp)
{
    return property_set(obj, name, value, QAPI_INPUT_JSON, errp);
}

bool object_property_set_keyval(Object *obj, const char *name,
                                json_object *value, Error **errp)
{
    return property_set(obj, name, value, QAPI_INPUT_KEYVAL, errp);
}

/* Set and drop @value. */
static bool set_owned(Object *obj, const char *name, json_object *value,
                      QapiInput input, Error **errp)
{
    bool ok = property_set(obj, name, value, input, errp);

    json_object_put(value);
    return ok;
}

bool object_property_parse(Object *obj, const char *name, const char *value,
                           Error **errp)
{
    return set_owned(obj, name, json_object_new_string(value),
                     QAPI_INPUT_KEYVAL, errp);
}

bool object_property_set_str(Object *obj, const char *name, const char *value,
                             Error **errp)
{
    return set_owned(obj, name, json_object_new_string(value ? value : ""),
                     QAPI_INPUT_JSON, errp);
}

bool object_property_set_bool(Object *obj, const char *name, bool value,
                              Error **errp)
{
    return set_owned(obj, name, json_object_new_boolean(value), QAPI_INPUT_JSON,
                     errp);
}

bool object_property_set_int(Object *obj, const char *name, int64_t value,
                             Error **errp)
{
    return set_owned(obj, name, json_object_new_int64(value), QAPI_INPUT_JSON,
                     errp);
}

bool object_property_set_uint(Object *obj, const char *name, uint64_t value,
                              Error **errp)
{
    return set_owned(obj, name, json_object_new_uint64(value), QAPI_INPUT_JSON,
                     errp);
}

bool object_property_set_link(Object *obj, const char *name, Object *value,
                              Error **errp)
{
    const Property *prop = object_class_property_find(obj->class, name);
    Slot *slot = object_find_slot(obj, name);
    const char *type;

    if (slot && slot->kind == SLOT_ALIAS) {
        return object_property_set_link(slot->target, slot->target_name, value,
                                        errp);
    }
    type = prop ? prop->link_type : slot ? slot->target_type : NULL;
    if (!type) {
        return fail_not_found(obj, name, errp);
    }
    if (value && !object_dynamic_cast(value, type)) {
        error_setg(errp, "Invalid parameter type for '%s', expected: %s", name,
                   type);
        return false;
    }
    if (prop) {
        return store_link(obj, prop, value, errp);
    }
    *slot->field = value;
    return true;
}

bool object_set_properties(Object *obj, json_object *props, bool keyval,
                           Error **errp)
{
    QapiInput input = keyval ? QAPI_INPUT_KEYVAL : QAPI_INPUT_JSON;

    json_object_object_foreach(props, name, value)
    {
        if (!property_set(obj, name, value, input, errp)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------ getting */

static json_object *path_of(const Object *obj)
{
    g_autofree char *path = obj ? object_get_canonical_path(obj) : NULL;

    return json_object_new_string(path ? path : "");
}

static json_object *get_slot(const Slot *slot, Error **errp)
{
    switch (slot->kind) {
    case SLOT_CHILD:
        return path_of(slot->child);
    case SLOT_LINK:
        return path_of(*slot->field);
    default:
        return object_property_get(slot->target, slot->target_name, errp);
    }
}

json_object *object_property_get(Object *obj, const char *name, Error **errp)
{
    const Property *prop = object_class_property_find(obj->class, name);
    Slot *slot;

    if (!prop) {
        slot = object_find_slot(obj, name);
        if (!slot) {
            fail_not_found(obj, name, errp);
            return NULL;
        }
        return get_slot(slot, errp);
    }
    if (prop->get) {
        return prop->get(obj, prop, errp);
    }
    if (prop->offset == PROP_NO_OFFSET) {
        error_setg(errp, "Property '%s.%s' is not readable",
                   object_get_typename(obj), name);
        return NULL;
    }
    if (prop->link_type) {
        return path_of(*(Object **)prop_field(obj, prop));
    }
    return qapi_value_to_json(prop->type, prop_field(obj, prop));
}

/* The value, if it is of JSON type @type; else an error that says @expected. */
static json_object *get_typed(Object *obj, const char *name, json_type type,
                              const char *expected, Error **errp)
{
    ERRP_GUARD();
    json_object *value = object_property_get(obj, name, errp);

    if (*errp) {
        return NULL;
    }
    if (!json_object_is_type(value, type)) {
        error_setg(errp, "Invalid parameter type for '%s', expected: %s", name,
                   expected);
        json_object_put(value);
        return NULL;
    }
    return value;
}

char *object_property_get_str(Object *obj, const char *name, Error **errp)
{
    json_object *value = get_typed(obj, name, json_type_string, "string", errp);
    char *str = value ? g_strdup(json_object_get_string(value)) : NULL;

    json_object_put(value);
    return str;
}

bool object_property_get_bool(Object *obj, const char *name, Error **errp)
{
    json_object *value = get_typed(obj, name, json_type_boolean, "boolean",
                                   errp);
    bool b = value && json_object_get_boolean(value);

    json_object_put(value);
    return b;
}

int64_t object_property_get_int(Object *obj, const char *name, Error **errp)
{
    json_object *value = get_typed(obj, name, json_type_int, "integer", errp);
    int64_t i = value ? json_object_get_int64(value) : -1;

    json_object_put(value);
    return i;
}

uint64_t object_property_get_uint(Object *obj, const char *name, Error **errp)
{
    json_object *value = get_typed(obj, name, json_type_int, "integer", errp);
    uint64_t u = value ? json_object_get_uint64(value) : 0;

    json_object_put(value);
    return u;
}

Object *object_property_get_link(Object *obj, const char *name, Error **errp)
{
    const Property *prop = object_class_property_find(obj->class, name);
    Slot *slot = object_find_slot(obj, name);

    if (prop && prop->link_type && prop->offset != PROP_NO_OFFSET) {
        return *(Object **)prop_field(obj, prop);
    }
    if (slot && slot->kind == SLOT_LINK) {
        return *slot->field;
    }
    if (slot && slot->kind == SLOT_ALIAS) {
        return object_property_get_link(slot->target, slot->target_name, errp);
    }
    fail_not_found(obj, name, errp);
    return NULL;
}
