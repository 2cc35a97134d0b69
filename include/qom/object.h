/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Object model: whatever a user can create, name, inspect or set.
 *
 * A type is one static TypeInfo: single inheritance, interfaces, and its
 * properties as one constant array. Types are registered by an explicit list
 * per binary (system/types-ARCH.c), before main() does anything else; their
 * classes are built on first use.
 *
 * Properties carry the QAPI type of their value. There is one conversion and
 * one check for QMP, HMP, -object, -device, -machine and -global: the QAPI
 * engine's. Objects also have named children (which make the tree that
 * /machine and /objects are part of) and links.
 *
 * Threads: registration and class building: main thread or under the BQL.
 * object_ref/unref: any thread. All else: under the BQL.
 *
 * Used by: system, target, chardev, hw, migration, accel, monitor.
 * Uses:    util, qapi.
 */
#ifndef QOM_OBJECT_H
#define QOM_OBJECT_H

#include "qapi/qapi-types-support.h"

typedef struct TypeInfo TypeInfo;
typedef struct Property Property;
typedef struct ObjectSlots ObjectSlots;

struct ObjectClass {
    const TypeInfo *info;
    ObjectClass *parent;
    ObjectClass *concrete; /* of an interface's class: who implements it */
    GPtrArray *interfaces; /* of ObjectClass *, own and inherited */
};

struct Object {
    ObjectClass *class;
    ObjectSlots *slots; /* children and links; owned by object.c */
    Object *parent;     /* whose child this is; NULL: nobody's (yet) */
    char *name;         /* what the parent calls it */
    _Atomic uint32_t ref;
    bool frozen; /* see object_freeze() */
};

struct TypeInfo {
    const char *name;
    const char *parent;   /* NULL: TYPE_OBJECT */
    size_t instance_size; /* 0: the parent's */
    size_t class_size;    /* 0: the parent's */
    bool abstract;
    /* Parent's first; fields are zero, defaults of properties applied. */
    void (*instance_init)(Object *obj);
    /* Own first, then the parent's. Strings and links of properties with an
     * offset are freed afterwards by the model. */
    void (*instance_finalize)(Object *obj);
    /* @data: class_data. Starts from a copy of the parent's class. */
    void (*class_init)(ObjectClass *klass, const void *data);
    const void *class_data;
    const Property *props;         /* ends with a NULL name */
    const char *const *interfaces; /* NULL-terminated */
};

/* -------------------------------------------------------- properties */

struct Property {
    const char *name;
    const QapiType *type;  /* of the value; NULL for links */
    const char *link_type; /* link<T>: the field is an Object * */
    const char *type_name; /* shown instead of type's name; may be NULL */

    /* Where the value is; used when there is no get / set. -1: nowhere. */
    ptrdiff_t offset;
    /* A new reference to the value; NULL with an error on failure. */
    json_object *(*get)(Object *obj, const Property *prop, Error **errp);
    /* @value is of .type already (checked, converted); borrowed. */
    bool (*set)(Object *obj, const Property *prop, json_object *value,
                Error **errp);
    /* Optional: veto a value before the field at .offset takes it. */
    bool (*check)(Object *obj, const Property *prop, json_object *value,
                  Error **errp);

    bool set_default; /* defval is stored before instance_init */
    union {
        int64_t i; /* also bool, enum */
        uint64_t u;
        const char *s;
    } defval;
    const char *help; /* one line */
    bool read_only;
    bool settable_after_realize;
};

#define PROP_NO_OFFSET ((ptrdiff_t)-1)

/* Compile-time: the field has the C type that the property's type wants. */
#define PROP_FIELD(state, field, ctype)  \
    (ptrdiff_t)(offsetof(state, field) + \
                0 * sizeof((ctype *)0 == &((state *)0)->field))

#define DEFINE_PROP_(n, s, f, t, ct, ...)                                     \
    {                                                                         \
        .name = (n), .type = (t), .offset = PROP_FIELD(s, f, ct), __VA_ARGS__ \
    }
#define DEFINE_PROP_U_(n, s, f, t, ct, d)             \
    DEFINE_PROP_(n, s, f, t, ct, .set_default = true, \
                 .defval = { .u = (uint64_t)(d) })
#define DEFINE_PROP_I_(n, s, f, t, ct, d)             \
    DEFINE_PROP_(n, s, f, t, ct, .set_default = true, \
                 .defval = { .i = (int64_t)(d) })

#define DEFINE_PROP_BOOL(n, s, f, d) \
    DEFINE_PROP_I_(n, s, f, &qapi_bool_type, bool, d)
#define DEFINE_PROP_UINT8(n, s, f, d) \
    DEFINE_PROP_U_(n, s, f, &qapi_uint8_type, uint8_t, d)
#define DEFINE_PROP_UINT16(n, s, f, d) \
    DEFINE_PROP_U_(n, s, f, &qapi_uint16_type, uint16_t, d)
#define DEFINE_PROP_UINT32(n, s, f, d) \
    DEFINE_PROP_U_(n, s, f, &qapi_uint32_type, uint32_t, d)
#define DEFINE_PROP_UINT64(n, s, f, d) \
    DEFINE_PROP_U_(n, s, f, &qapi_uint64_type, uint64_t, d)
#define DEFINE_PROP_INT32(n, s, f, d) \
    DEFINE_PROP_I_(n, s, f, &qapi_int32_type, int32_t, d)
#define DEFINE_PROP_INT64(n, s, f, d) \
    DEFINE_PROP_I_(n, s, f, &qapi_int64_type, int64_t, d)
#define DEFINE_PROP_SIZE(n, s, f, d) \
    DEFINE_PROP_U_(n, s, f, &qapi_size_type, uint64_t, d)
/* char *, NULL at first; type name "str" as devices' have it. */
#define DEFINE_PROP_STRING(n, s, f) \
    DEFINE_PROP_(n, s, f, &qapi_str_type, char *, .type_name = "str")
/* @E: a QAPI enumeration; the field is of that C type. */
#define DEFINE_PROP_ENUM(n, s, f, E, d) \
    DEFINE_PROP_I_(n, s, f, &qapi_##E##_type, E, d)
/* @T: type name of the target; the field is a pointer to @ct. */
#define DEFINE_PROP_LINK(n, s, f, T, ct)                              \
    {                                                                 \
        .name = (n), .link_type = (T), .offset = PROP_FIELD(s, f, ct) \
    }
/* By functions; @s NULL: read-only, @g NULL: write-only. */
#define DEFINE_PROP_FN(n, t, g, s, ...)                                 \
    {                                                                   \
        .name = (n), .type = (t), .offset = PROP_NO_OFFSET, .get = (g), \
        .set = (s), ##__VA_ARGS__                                       \
    }
#define DEFINE_PROP_END_OF_LIST() \
    {                             \
        .name = NULL              \
    }

/* ------------------------------------------------- types and casting */

#define TYPE_OBJECT         "object"
#define TYPE_INTERFACE      "interface"
#define TYPE_CONTAINER      "container"
#define TYPE_USER_CREATABLE "user-creatable"

#define OBJECT(obj)       ((Object *)(obj))
#define OBJECT_CLASS(cls) ((ObjectClass *)(cls))
#define OBJECT_CHECK(type, obj, name) \
    ((type *)object_dynamic_cast_assert(OBJECT(obj), (name), __func__))
#define OBJECT_CLASS_CHECK(type, cls, name)                              \
    ((type *)object_class_dynamic_cast_assert(OBJECT_CLASS(cls), (name), \
                                              __func__))
#define OBJECT_GET_CLASS(type, obj, name) \
    OBJECT_CLASS_CHECK(type, object_get_class(OBJECT(obj)), name)

#define DECLARE_INSTANCE_CHECKER(InstanceType, OBJ_NAME, TYPENAME)      \
    static inline G_GNUC_UNUSED InstanceType *OBJ_NAME(const void *obj) \
    {                                                                   \
        return OBJECT_CHECK(InstanceType, (void *)obj, TYPENAME);       \
    }
#define DECLARE_CLASS_CHECKERS(ClassType, OBJ_NAME, TYPENAME)              \
    static inline G_GNUC_UNUSED ClassType *OBJ_NAME##_GET_CLASS(           \
        const void *obj)                                                   \
    {                                                                      \
        return OBJECT_GET_CLASS(ClassType, (void *)obj, TYPENAME);         \
    }                                                                      \
    static inline G_GNUC_UNUSED ClassType *OBJ_NAME##_CLASS(const void *k) \
    {                                                                      \
        return OBJECT_CLASS_CHECK(ClassType, (void *)k, TYPENAME);         \
    }
#define DECLARE_OBJ_CHECKERS(InstanceType, ClassType, OBJ_NAME, TYPENAME) \
    DECLARE_INSTANCE_CHECKER(InstanceType, OBJ_NAME, TYPENAME)            \
    DECLARE_CLASS_CHECKERS(ClassType, OBJ_NAME, TYPENAME)

/* typedefs (which may repeat) and casts of a type with / without a class. */
#define OBJECT_DECLARE_TYPE(InstanceType, ClassType, OBJ_NAME) \
    typedef struct InstanceType InstanceType;                  \
    typedef struct ClassType ClassType;                        \
    G_DEFINE_AUTOPTR_CLEANUP_FUNC(InstanceType, object_unref)  \
    DECLARE_OBJ_CHECKERS(InstanceType, ClassType, OBJ_NAME, TYPE_##OBJ_NAME)
#define OBJECT_DECLARE_SIMPLE_TYPE(InstanceType, OBJ_NAME)    \
    typedef struct InstanceType InstanceType;                 \
    G_DEFINE_AUTOPTR_CLEANUP_FUNC(InstanceType, object_unref) \
    DECLARE_INSTANCE_CHECKER(InstanceType, OBJ_NAME, TYPE_##OBJ_NAME)

/* A name may be registered once; its parent may come later. */
void type_register_static(const TypeInfo *info);
void qom_register_types(void); /* object, interface, container, ... */

ObjectClass *object_class_by_name(const char *type); /* NULL: unknown */
ObjectClass *object_get_class(const Object *obj);
ObjectClass *object_class_get_parent(ObjectClass *klass);
const char *object_class_get_name(const ObjectClass *klass);
const char *object_get_typename(const Object *obj);
bool object_class_is_abstract(const ObjectClass *klass);
/* @obj / @klass itself (an interface's class for an interface), or NULL. */
Object *object_dynamic_cast(Object *obj, const char *type);
ObjectClass *object_class_dynamic_cast(ObjectClass *klass, const char *type);
Object *object_dynamic_cast_assert(Object *obj, const char *type,
                                   const char *func);
ObjectClass *object_class_dynamic_cast_assert(ObjectClass *klass,
                                              const char *type,
                                              const char *func);
/* Classes that are or implement @implements_type, sorted by name. */
GSList *object_class_get_list(const char *implements_type,
                              bool include_abstract);

/* ---------------------------------------------------------- lifetime */

/* One reference, the caller's. The type must exist and not be abstract. */
Object *object_new(const char *type);
void *object_ref(void *obj);
void object_unref(void *obj);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Object, object_unref)

/* From now on only properties settable_after_realize can be set. */
void object_freeze(Object *obj);

/* -------------------------------------------------------------- tree */

Object *object_get_root(void);          /* "/" */
Object *object_get_objects_root(void);  /* "/objects" */
Object *object_get_internal_root(void); /* not in the tree */
/* The container at @path ("/backend"), made if need be. */
Object *object_get_container(const char *path);

/**
 * object_property_add_child: make @child @parent's, called @name
 *
 * @name: may end in "[*]": the first free index is put there
 *
 * Takes a reference. The name must be free and @child nobody's child.
 */
void object_property_add_child(Object *parent, const char *name, Object *child);
/* Undo it; drops the parent's reference. No-op for nobody's child. */
void object_unparent(Object *obj);
/* A link without a field; @target may be NULL; a weak pointer. */
void object_property_add_link(Object *obj, const char *name,
                              const char *target_type, Object **field);
/* @name of @obj is then @target_name of @target, which must live longer. */
void object_property_add_alias(Object *obj, const char *name, Object *target,
                               const char *target_name);

char *object_get_canonical_path(const Object *obj); /* NULL: not in the tree */
const char *object_get_canonical_path_component(const Object *obj);
/* Absolute, or a partial path that names one object; else NULL. */
Object *object_resolve_path(const char *path, bool *ambiguous);
Object *object_resolve_path_type(const char *path, const char *type,
                                 bool *ambiguous);
Object *object_resolve_path_component(Object *parent, const char *part);
/* In order of addition, until @fn returns non-zero; returns that. */
int object_child_foreach(Object *obj, int (*fn)(Object *child, void *opaque),
                         void *opaque);
int object_child_foreach_recursive(Object *obj,
                                   int (*fn)(Object *child, void *opaque),
                                   void *opaque);

/* ------------------------------------------------- values by property */

/* @value is borrowed and must have exactly the property's JSON type. */
bool object_property_set(Object *obj, const char *name, json_object *value,
                         Error **errp);
/* The value as a string (or from keyval_parse()): converted by type. */
bool object_property_parse(Object *obj, const char *name, const char *value,
                           Error **errp);
bool object_property_set_keyval(Object *obj, const char *name,
                                json_object *value, Error **errp);
/* A new reference. NULL with an error on failure. */
json_object *object_property_get(Object *obj, const char *name, Error **errp);

bool object_property_set_str(Object *obj, const char *name, const char *value,
                             Error **errp);
bool object_property_set_bool(Object *obj, const char *name, bool value,
                              Error **errp);
bool object_property_set_int(Object *obj, const char *name, int64_t value,
                             Error **errp);
bool object_property_set_uint(Object *obj, const char *name, uint64_t value,
                              Error **errp);
bool object_property_set_link(Object *obj, const char *name, Object *value,
                              Error **errp);
char *object_property_get_str(Object *obj, const char *name, Error **errp);
bool object_property_get_bool(Object *obj, const char *name, Error **errp);
int64_t object_property_get_int(Object *obj, const char *name, Error **errp);
uint64_t object_property_get_uint(Object *obj, const char *name, Error **errp);
Object *object_property_get_link(Object *obj, const char *name, Error **errp);

/* Each member of @props, in order; stops at the first failure. */
bool object_set_properties(Object *obj, json_object *props, bool keyval,
                           Error **errp);

/* The property's description, own class first; NULL: no such property. */
const Property *object_class_property_find(ObjectClass *klass,
                                           const char *name);
/* All of the class, parents' first. */
void object_class_property_foreach(ObjectClass *klass,
                                   void (*fn)(const Property *prop,
                                              void *opaque),
                                   void *opaque);
/* "bool", "string", "link<irq>", ...: what qom-list calls it. Caller frees. */
char *object_property_type_name(const Property *prop);
/* Also children, links and aliases of @obj: name, type name. */
void object_property_foreach(Object *obj,
                             void (*fn)(const char *name, const char *type,
                                        void *opaque),
                             void *opaque);

/* ----------------------------------------------------------- -global */

/* Remember -global @driver.@property=@value; applied in order. */
void object_register_global(const char *driver, const char *property,
                            const char *value);
/*
 * Apply what names @obj's type or a parent of it. Whoever creates objects
 * that -global reaches (devices, CPUs, migration) calls it once, after
 * object_new() and before the user's own settings.
 */
bool object_apply_globals(Object *obj, Error **errp);
/* Warn of each that named no type or was never used. */
void object_check_globals(void);

#endif /* QOM_OBJECT_H */
