/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types and classes of the object model: see include/qom/object.h. */
#include "qemu/osdep.h"

#include "qom-internal.h"
#include "qom/user-creatable.h"

typedef struct TypeEntry {
    const TypeInfo *info;
    ObjectClass *klass; /* NULL until first used */
} TypeEntry;

/* All types of this program: there is one object model in a process. */
static GHashTable *types; /* name → TypeEntry * */

static const char *const no_interfaces[] = { NULL };

static TypeEntry *type_find(const char *name)
{
    return name && types ? g_hash_table_lookup(types, name) : NULL;
}

static TypeEntry *type_parent(const TypeEntry *entry)
{
    const TypeInfo *info = entry->info;
    TypeEntry *parent;

    if (strcmp(info->name, TYPE_OBJECT) == 0 ||
        strcmp(info->name, TYPE_INTERFACE) == 0) {
        return NULL;
    }
    parent = type_find(info->parent ? info->parent : TYPE_OBJECT);
    if (!parent) {
        error_report("type '%s' extends '%s', which is not registered",
                     info->name, info->parent);
        abort();
    }
    return parent;
}

void type_register_static(const TypeInfo *info)
{
    TypeEntry *entry;

    if (!types) {
        types = g_hash_table_new(g_str_hash, g_str_equal);
    }
    if (type_find(info->name)) {
        error_report("type '%s' is registered twice", info->name);
        abort();
    }
    entry = g_new0(TypeEntry, 1);
    entry->info = info;
    g_hash_table_insert(types, (char *)info->name, entry);
}

static size_t class_size(const TypeEntry *entry)
{
    size_t size = sizeof(ObjectClass);

    for (; entry; entry = type_parent(entry)) {
        size = MAX(size, entry->info->class_size);
    }
    return size;
}

static ObjectClass *class_of(TypeEntry *entry);

/* The class of interface @iface as @klass implements it; @from: start values */
static void add_interface(ObjectClass *klass, const ObjectClass *from)
{
    size_t size = class_size(type_find(from->info->name));
    ObjectClass *iface = g_malloc0(size);

    memcpy(iface, from, size);
    iface->concrete = klass;
    iface->interfaces = NULL;
    g_ptr_array_add(klass->interfaces, iface);
}

static void inherit_interfaces(ObjectClass *klass)
{
    const char *const *names = klass->info->interfaces;

    klass->interfaces = g_ptr_array_new();
    for (guint i = 0; klass->parent && klass->parent->interfaces &&
                      i < klass->parent->interfaces->len;
         i++) {
        add_interface(klass, g_ptr_array_index(klass->parent->interfaces, i));
    }
    for (names = names ? names : no_interfaces; *names; names++) {
        TypeEntry *entry = type_find(*names);

        if (!entry) {
            error_report("type '%s' has the interface '%s', "
                         "which is not registered",
                         klass->info->name, *names);
            abort();
        }
        if (!object_class_dynamic_cast(klass, *names)) {
            add_interface(klass, class_of(entry));
        }
    }
}

static ObjectClass *class_of(TypeEntry *entry)
{
    TypeEntry *parent = type_parent(entry);
    ObjectClass *klass;

    if (entry->klass) {
        return entry->klass;
    }
    klass = g_malloc0(class_size(entry));
    if (parent) {
        memcpy(klass, class_of(parent), class_size(parent));
        klass->parent = parent->klass;
    }
    klass->info = entry->info;
    entry->klass = klass;
    inherit_interfaces(klass);
    if (entry->info->class_init) {
        entry->info->class_init(klass, entry->info->class_data);
    }
    return klass;
}

ObjectClass *object_class_by_name(const char *type)
{
    TypeEntry *entry = type_find(type);

    return entry ? class_of(entry) : NULL;
}

ObjectClass *object_get_class(const Object *obj)
{
    return obj->class;
}

ObjectClass *object_class_get_parent(ObjectClass *klass)
{
    return klass->parent;
}

const char *object_class_get_name(const ObjectClass *klass)
{
    return klass->info->name;
}

const char *object_get_typename(const Object *obj)
{
    return obj->class->info->name;
}

bool object_class_is_abstract(const ObjectClass *klass)
{
    return klass->info->abstract;
}

ObjectClass *object_class_dynamic_cast(ObjectClass *klass, const char *type)
{
    if (!klass) {
        return NULL;
    }
    for (ObjectClass *k = klass; k; k = k->parent) {
        if (k->info->name == type || strcmp(k->info->name, type) == 0) {
            return klass;
        }
    }
    for (guint i = 0; klass->interfaces && i < klass->interfaces->len; i++) {
        ObjectClass *iface = g_ptr_array_index(klass->interfaces, i);

        if (object_class_dynamic_cast(iface, type)) {
            return iface;
        }
    }
    return NULL;
}

Object *object_dynamic_cast(Object *obj, const char *type)
{
    return obj && object_class_dynamic_cast(obj->class, type) ? obj : NULL;
}

static void bad_cast(const ObjectClass *klass, const char *type,
                     const char *func)
{
    error_report("%s: '%s' is no '%s'", func, klass->info->name, type);
    abort();
}

Object *object_dynamic_cast_assert(Object *obj, const char *type,
                                   const char *func)
{
    if (obj && !object_class_dynamic_cast(obj->class, type)) {
        bad_cast(obj->class, type, func);
    }
    return obj;
}

ObjectClass *object_class_dynamic_cast_assert(ObjectClass *klass,
                                              const char *type,
                                              const char *func)
{
    ObjectClass *ret = object_class_dynamic_cast(klass, type);

    if (klass && !ret) {
        bad_cast(klass, type, func);
    }
    return ret;
}

static gint by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(object_class_get_name(a), object_class_get_name(b));
}

GSList *object_class_get_list(const char *implements_type,
                              bool include_abstract)
{
    g_autoptr(GList) entries = g_hash_table_get_values(types);
    GSList *list = NULL;

    for (GList *l = entries; l; l = l->next) {
        TypeEntry *entry = l->data;

        if (entry->info->abstract && !include_abstract) {
            continue;
        }
        if (!implements_type ||
            object_class_dynamic_cast(class_of(entry), implements_type)) {
            list = g_slist_prepend(list, class_of(entry));
        }
    }
    return g_slist_sort(list, by_name);
}

/* --------------------------------------------------- the model's own types */

static json_object *get_type(Object *obj, const Property *prop, Error **errp)
{
    return json_object_new_string(object_get_typename(obj));
}

static const Property object_props[] = {
    DEFINE_PROP_FN("type", &qapi_str_type, get_type, NULL, .read_only = true),
    DEFINE_PROP_END_OF_LIST(),
};

static const TypeInfo own_types[] = {
    {
        .name = TYPE_OBJECT,
        .instance_size = sizeof(Object),
        .class_size = sizeof(ObjectClass),
        .abstract = true,
        .props = object_props,
    },
    {
        .name = TYPE_INTERFACE,
        .class_size = sizeof(ObjectClass),
        .abstract = true,
    },
    { .name = TYPE_CONTAINER },
    {
        .name = TYPE_USER_CREATABLE,
        .parent = TYPE_INTERFACE,
        .class_size = sizeof(UserCreatableClass),
        .abstract = true,
    },
};

void qom_register_types(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(own_types); i++) {
        type_register_static(&own_types[i]);
    }
}
