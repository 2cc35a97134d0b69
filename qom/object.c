/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects and the tree they form: see include/qom/object.h. */
#include "qemu/osdep.h"

#include "qom-internal.h"

/* ---------------------------------------------------------- lifetime */

static size_t instance_size(const ObjectClass *klass)
{
    size_t size = sizeof(Object);

    for (; klass; klass = klass->parent) {
        size = MAX(size, klass->info->instance_size);
    }
    return size;
}

static void instance_init(Object *obj, const ObjectClass *klass)
{
    if (klass->parent) {
        instance_init(obj, klass->parent);
    }
    if (klass->info->instance_init) {
        klass->info->instance_init(obj);
    }
}

Object *object_new(const char *type)
{
    ObjectClass *klass = object_class_by_name(type);
    Object *obj;

    if (!klass || klass->info->abstract) {
        error_report("can't make an object of type '%s': it %s", type,
                     klass ? "is abstract" : "is not registered");
        abort();
    }
    obj = g_malloc0(instance_size(klass));
    obj->class = klass;
    atomic_init(&obj->ref, 1);
    object_init_properties(obj);
    instance_init(obj, klass);
    return obj;
}

void *object_ref(void *opaque)
{
    Object *obj = opaque;

    if (obj) {
        atomic_fetch_add_explicit(&obj->ref, 1, memory_order_relaxed);
    }
    return obj;
}

static void slot_free(Slot *slot)
{
    g_free(slot->name);
    g_free(slot->target_type);
    g_free(slot->target_name);
    g_free(slot);
}

static void object_finalize(Object *obj)
{
    assert(!obj->parent);
    while (obj->slots && obj->slots->array->len) {
        GPtrArray *array = obj->slots->array;
        Slot *slot = g_ptr_array_index(array, array->len - 1);

        if (slot->kind == SLOT_CHILD) {
            object_unparent(slot->child);
        } else {
            g_ptr_array_remove_index(array, array->len - 1);
            slot_free(slot);
        }
    }
    for (const ObjectClass *k = obj->class; k; k = k->parent) {
        if (k->info->instance_finalize) {
            k->info->instance_finalize(obj);
        }
    }
    object_clear_properties(obj);
    if (obj->slots) {
        g_ptr_array_free(obj->slots->array, TRUE);
        g_free(obj->slots);
    }
    g_free(obj);
}

void object_unref(void *opaque)
{
    Object *obj = opaque;

    /* The release of every drop pairs with the acquire of the last one. */
    if (obj &&
        atomic_fetch_sub_explicit(&obj->ref, 1, memory_order_acq_rel) == 1) {
        object_finalize(obj);
    }
}

void object_freeze(Object *obj)
{
    obj->frozen = true;
}

/* ------------------------------------------------------------- slots */

Slot *object_find_slot(const Object *obj, const char *name)
{
    for (guint i = 0; obj->slots && i < obj->slots->array->len; i++) {
        Slot *slot = g_ptr_array_index(obj->slots->array, i);

        if (strcmp(slot->name, name) == 0) {
            return slot;
        }
    }
    return NULL;
}

static bool name_is_taken(Object *obj, const char *name)
{
    return object_find_slot(obj, name) ||
           object_class_property_find(obj->class, name);
}

/* @name with a final "[*]" replaced by the first free index. */
static char *free_name(Object *obj, const char *name)
{
    size_t len = strlen(name);

    if (!g_str_has_suffix(name, "[*]")) {
        return g_strdup(name);
    }
    for (unsigned i = 0;; i++) {
        char *full = g_strdup_printf("%.*s[%u]", (int)len - 3, name, i);

        if (!name_is_taken(obj, full)) {
            return full;
        }
        g_free(full);
    }
}

static Slot *slot_add(Object *obj, const char *name, SlotKind kind)
{
    Slot *slot = g_new0(Slot, 1);

    slot->name = free_name(obj, name);
    slot->kind = kind;
    if (name_is_taken(obj, slot->name)) {
        error_report("object of type '%s' has '%s' already",
                     object_get_typename(obj), slot->name);
        abort();
    }
    if (!obj->slots) {
        obj->slots = g_new0(ObjectSlots, 1);
        obj->slots->array = g_ptr_array_new();
    }
    g_ptr_array_add(obj->slots->array, slot);
    return slot;
}

void object_property_add_child(Object *parent, const char *name, Object *child)
{
    Slot *slot;

    assert(!child->parent && child != parent);
    slot = slot_add(parent, name, SLOT_CHILD);
    slot->child = object_ref(child);
    child->parent = parent;
    child->name = g_strdup(slot->name);
}

void object_unparent(Object *obj)
{
    Object *parent = obj->parent;
    Slot *slot;

    if (!parent) {
        return;
    }
    slot = object_find_slot(parent, obj->name);
    g_ptr_array_remove(parent->slots->array, slot);
    slot_free(slot);
    g_clear_pointer(&obj->name, g_free);
    obj->parent = NULL;
    object_unref(obj);
}

void object_property_add_link(Object *obj, const char *name,
                              const char *target_type, Object **field)
{
    Slot *slot = slot_add(obj, name, SLOT_LINK);

    slot->target_type = g_strdup(target_type);
    slot->field = field;
}

void object_property_add_alias(Object *obj, const char *name, Object *target,
                               const char *target_name)
{
    Slot *slot = slot_add(obj, name, SLOT_ALIAS);

    slot->target = target;
    slot->target_name = g_strdup(target_name);
}

/* -------------------------------------------------------------- tree */

Object *object_get_root(void)
{
    /* The one tree of this process; lives as long as it. */
    static Object *root;

    if (!root) {
        root = object_new(TYPE_CONTAINER);
        /* There to be looked into before the first object is. */
        object_get_container("/objects");
    }
    return root;
}

Object *object_get_internal_root(void)
{
    static Object *root;

    if (!root) {
        root = object_new(TYPE_CONTAINER);
    }
    return root;
}

Object *object_get_container(const char *path)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    Object *obj = object_get_root();

    for (char **part = parts; *part; part++) {
        Object *child;

        if (!**part) {
            continue;
        }
        child = object_resolve_path_component(obj, *part);
        if (!child) {
            child = object_new(TYPE_CONTAINER);
            object_property_add_child(obj, *part, child);
            object_unref(child); /* the tree's now */
        }
        obj = child;
    }
    return obj;
}

Object *object_get_objects_root(void)
{
    return object_get_container("/objects");
}

const char *object_get_canonical_path_component(const Object *obj)
{
    return obj->name;
}

char *object_get_canonical_path(const Object *obj)
{
    const Object *root = object_get_root();
    char *path = NULL;

    if (obj == root) {
        return g_strdup("/");
    }
    for (; obj && obj->parent; obj = obj->parent) {
        char *longer = g_strconcat("/", obj->name, path, NULL);

        g_free(path);
        path = longer;
    }
    if (obj != root) {
        g_clear_pointer(&path, g_free);
    }
    return path;
}

Object *object_resolve_path_component(Object *parent, const char *part)
{
    Slot *slot = object_find_slot(parent, part);
    const Property *prop;

    if (slot && slot->kind == SLOT_CHILD) {
        return slot->child;
    }
    if (slot && slot->kind == SLOT_LINK) {
        return *slot->field;
    }
    if (slot) {
        return object_resolve_path_component(slot->target, slot->target_name);
    }
    prop = object_class_property_find(parent->class, part);
    return prop && prop->link_type
               ? object_property_get_link(parent, part, NULL)
               : NULL;
}

static Object *resolve_parts(Object *from, char **parts, const char *type)
{
    Object *obj = from;

    for (; obj && *parts; parts++) {
        if (**parts) {
            obj = object_resolve_path_component(obj, *parts);
        }
    }
    return object_dynamic_cast(obj, type);
}

/* Look for @parts below every object of the subtree of @from. */
static Object *resolve_partial(Object *from, char **parts, const char *type,
                               bool *ambiguous)
{
    Object *found = resolve_parts(from, parts, type);

    for (guint i = 0; from->slots && i < from->slots->array->len; i++) {
        Slot *slot = g_ptr_array_index(from->slots->array, i);
        Object *other;

        if (slot->kind != SLOT_CHILD) {
            continue;
        }
        other = resolve_partial(slot->child, parts, type, ambiguous);
        if (*ambiguous || (other && found && other != found)) {
            *ambiguous = true;
            return NULL;
        }
        found = found ? found : other;
    }
    return found;
}

Object *object_resolve_path_type(const char *path, const char *type,
                                 bool *ambiguous)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", -1);
    bool several = false;
    Object *obj;

    if (*path == '/') {
        obj = resolve_parts(object_get_root(), parts, type);
    } else {
        obj = resolve_partial(object_get_root(), parts, type, &several);
    }
    if (ambiguous) {
        *ambiguous = several;
    }
    return obj;
}

Object *object_resolve_path(const char *path, bool *ambiguous)
{
    return object_resolve_path_type(path, TYPE_OBJECT, ambiguous);
}

static int child_foreach(Object *obj, int (*fn)(Object *child, void *opaque),
                         void *opaque, bool recurse)
{
    g_autoptr(GPtrArray) children = NULL;
    int ret = 0;

    if (!obj->slots) {
        return 0;
    }
    /* A copy that holds references: @fn may add and remove children. */
    children = g_ptr_array_new_with_free_func(object_unref);
    for (guint i = 0; i < obj->slots->array->len; i++) {
        Slot *slot = g_ptr_array_index(obj->slots->array, i);

        if (slot->kind == SLOT_CHILD) {
            g_ptr_array_add(children, object_ref(slot->child));
        }
    }
    for (guint i = 0; i < children->len && !ret; i++) {
        Object *child = g_ptr_array_index(children, i);

        ret = fn(child, opaque);
        if (!ret && recurse) {
            ret = child_foreach(child, fn, opaque, true);
        }
    }
    return ret;
}

int object_child_foreach(Object *obj, int (*fn)(Object *child, void *opaque),
                         void *opaque)
{
    return child_foreach(obj, fn, opaque, false);
}

int object_child_foreach_recursive(Object *obj,
                                   int (*fn)(Object *child, void *opaque),
                                   void *opaque)
{
    return child_foreach(obj, fn, opaque, true);
}
