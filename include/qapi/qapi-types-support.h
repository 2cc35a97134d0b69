/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QAPI support: what generated types are made of, and the one engine that
 * checks, converts, copies and frees their values.
 *
 * The generator describes each type of the schema in a QapiType. Everything
 * that depends on a type's shape walks that description, so there is one
 * place where input is checked: unknown members, missing members, wrong JSON
 * types, integers out of range and unknown enumeration values are refused,
 * and the error names the path of the value ("channels[0].addr.port").
 *
 * C mapping. str: char *. int, int8..uint64, size, bool, number: by value.
 * any, null: json_object *, NULL for JSON's null. enum: C enum. struct,
 * union: pointer to the struct (a union's branch is inside, as .u.branch).
 * alternate: pointer to { QType type; union u }. ['X']: XList *, NULL when
 * empty. Optional: members that are no pointer, and lists, have a has_x
 * beside them; the other pointers are NULL when absent.
 *
 * Per type X there are qapi_X_from_json(), qapi_X_from_keyval(),
 * qapi_X_to_json(), qapi_X_clone(), qapi_free_X() and g_autoptr(X).
 *
 * Threads: descriptions are constant; a value belongs to one thread at a time.
 *
 * Used by: generated code, qom, all who own QAPI values. Uses: util, json-c.
 */
#ifndef QAPI_QAPI_TYPES_SUPPORT_H
#define QAPI_QAPI_TYPES_SUPPORT_H

#include <json-c/json.h>

#include "qemu/error.h"

/* ------------------------------------------------------------- enums */

typedef struct QEnumLookup {
    const char *const *array;
    int size;
} QEnumLookup;

/* The name of @val, which must be one of the enumeration. */
const char *qapi_enum_lookup(const QEnumLookup *lookup, int val);

/**
 * qapi_enum_parse: the value called @buf
 *
 * @buf: NULL yields @def
 *
 * Returns @def and sets an error (that lists the names) if there is none.
 */
int qapi_enum_parse(const QEnumLookup *lookup, const char *buf, int def,
                    Error **errp);

/* Add "; accepted: a, b, c" to the words of *@errp. */
void qapi_enum_append_names(Error **errp, const QEnumLookup *lookup);

/* ------------------------------------------------------ descriptions */

typedef enum QapiKind {
    QAPI_KIND_STR,
    QAPI_KIND_INT,  /* signed, of .size bytes */
    QAPI_KIND_UINT, /* unsigned, of .size bytes */
    QAPI_KIND_SIZE, /* uint64_t; strings may have a suffix */
    QAPI_KIND_BOOL,
    QAPI_KIND_NUMBER,
    QAPI_KIND_ANY,
    QAPI_KIND_NULL,
    QAPI_KIND_ENUM,
    QAPI_KIND_STRUCT,
    QAPI_KIND_UNION,
    QAPI_KIND_ALTERNATE,
    QAPI_KIND_LIST,
} QapiKind;

/* Which JSON type an alternate holds. */
typedef enum QType {
    QTYPE_NONE,
    QTYPE_QNULL,
    QTYPE_QNUM,
    QTYPE_QSTRING,
    QTYPE_QDICT,
    QTYPE_QLIST,
    QTYPE_QBOOL,
    QTYPE__MAX,
} QType;

typedef struct QapiType QapiType;

typedef struct QapiMember {
    const char *name; /* on the wire */
    const QapiType *type;
    uint32_t offset;
    int32_t has_offset; /* of has_x; -1: there is none */
    bool optional;
} QapiMember;

/* A branch of a union (at .value of the tag) or of an alternate. */
typedef struct QapiBranch {
    const QapiType *type; /* NULL: no members beyond the base's */
} QapiBranch;

struct QapiType {
    const char *name;
    QapiKind kind;
    uint32_t size;             /* of the C value, or of the struct */
    const QEnumLookup *lookup; /* enum */
    const QapiType *elem;      /* list */
    const QapiMember *members; /* struct, union: the base's included */
    uint32_t nr_members;
    uint32_t nr_branches;
    const QapiBranch *branches; /* union: by tag value; alternate */
    uint32_t tag_member;        /* union: index of the discriminator */
    uint32_t u_offset;          /* union, alternate: of .u */
};

/* The layout every XList shares (the value's own type varies). */
typedef struct QapiListNode {
    struct QapiListNode *next;
    char value[];
} QapiListNode;

extern const QapiType qapi_str_type, qapi_int_type, qapi_number_type,
    qapi_bool_type, qapi_int8_type, qapi_int16_type, qapi_int32_type,
    qapi_int64_type, qapi_uint8_type, qapi_uint16_type, qapi_uint32_type,
    qapi_uint64_type, qapi_size_type, qapi_any_type, qapi_null_type;

/* ------------------------------------------------------------ engine */

typedef enum QapiInput {
    QAPI_INPUT_JSON,   /* strict: numbers are numbers */
    QAPI_INPUT_KEYVAL, /* every scalar is a string, converted by type */
} QapiInput;

/* Room for any value as C holds it. */
typedef union QapiSlot {
    void *ptr;
    char *str;
    int64_t i;
    uint64_t u;
    double number;
    bool b;
    json_object *any;
} QapiSlot;

/**
 * qapi_value_from_json: convert @v to @type
 *
 * @v: borrowed
 * @name: what to call the value in errors; NULL if it has no name of its own
 * @slot: where the C value goes (type->size bytes; structs: a pointer)
 *
 * On failure @slot is untouched.
 */
bool qapi_value_from_json(const QapiType *type, json_object *v,
                          const char *name, QapiInput input, void *slot,
                          Error **errp);
/* A new reference; NULL is JSON's null. */
json_object *qapi_value_to_json(const QapiType *type, const void *slot);
/* Free what @slot owns (not @slot) and zero it. */
void qapi_value_clear(const QapiType *type, void *slot);
/* Deep copy into @dst, whose content is overwritten. */
void qapi_value_copy(const QapiType *type, void *dst, const void *src);

/* The same for types whose C value is a pointer. */
void *qapi_pointer_from_json(const QapiType *type, json_object *v,
                             const char *name, QapiInput input, Error **errp);
json_object *qapi_pointer_to_json(const QapiType *type, const void *obj);
void *qapi_pointer_clone(const QapiType *type, const void *obj);
void qapi_pointer_free(const QapiType *type, void *obj);

/*
 * A command's arguments: @args NULL is like {}, and names in errors are
 * relative to it. @type: qapi_empty_type if there are none.
 */
void *qapi_args_from_json(const QapiType *type, json_object *args,
                          Error **errp);
extern const QapiType qapi_empty_type;

/* Write into / read from a struct that the caller holds by value. */
json_object *qapi_struct_to_json(const QapiType *type, const void *obj);
void qapi_struct_clear(const QapiType *type, void *obj);

/* The description of member @name of struct @type; NULL if there is none. */
const QapiMember *qapi_type_find_member(const QapiType *type, const char *name);

/* Bytes that a value of @type takes where it is held (pointers: one). */
size_t qapi_type_slot_size(const QapiType *type);

/* The type of JSON value that a value of @type is. */
QType qapi_type_qtype(const QapiType *type);

#define QAPI_DECLARE_TYPE(T)                                                  \
    static inline G_GNUC_UNUSED T *qapi_##T##_from_json(                      \
        json_object *v, const char *name, Error **errp)                       \
    {                                                                         \
        return (T *)qapi_pointer_from_json(&qapi_##T##_type, v, name,         \
                                           QAPI_INPUT_JSON, errp);            \
    }                                                                         \
    static inline G_GNUC_UNUSED T *qapi_##T##_from_keyval(                    \
        json_object *v, const char *name, Error **errp)                       \
    {                                                                         \
        return (T *)qapi_pointer_from_json(&qapi_##T##_type, v, name,         \
                                           QAPI_INPUT_KEYVAL, errp);          \
    }                                                                         \
    static inline G_GNUC_UNUSED json_object *qapi_##T##_to_json(const T *obj) \
    {                                                                         \
        return qapi_pointer_to_json(&qapi_##T##_type, obj);                   \
    }                                                                         \
    static inline G_GNUC_UNUSED T *qapi_##T##_clone(const T *obj)             \
    {                                                                         \
        return (T *)qapi_pointer_clone(&qapi_##T##_type, obj);                \
    }                                                                         \
    static inline G_GNUC_UNUSED void qapi_free_##T(T *obj)                    \
    {                                                                         \
        qapi_pointer_free(&qapi_##T##_type, obj);                             \
    }                                                                         \
    G_DEFINE_AUTOPTR_CLEANUP_FUNC(T, qapi_free_##T)

/* ------------------------------------------------------------- lists */

/* Put @element in front of @list. */
#define QAPI_LIST_PREPEND(list, element)                     \
    do {                                                     \
        __typeof__(list) _node = g_malloc0(sizeof(*(list))); \
        _node->value = (element);                            \
        _node->next = (list);                                \
        (list) = _node;                                      \
    } while (0)

/* Append via @tail, which is &list at first: X **tail = &list. */
#define QAPI_LIST_APPEND(tail, element)        \
    do {                                       \
        *(tail) = g_malloc0(sizeof(**(tail))); \
        (*(tail))->value = (element);          \
        (tail) = &(*(tail))->next;             \
    } while (0)

#define QAPI_LIST_LENGTH(list)                                              \
    ({                                                                      \
        size_t _len = 0;                                                    \
        for (__typeof__(list) _tail = (list); _tail; _tail = _tail->next) { \
            _len++;                                                         \
        }                                                                   \
        _len;                                                               \
    })

#define QAPI_BUILTIN_LIST(name, ctype)            \
    typedef struct name##List {                   \
        struct name##List *next;                  \
        ctype value;                              \
    } name##List;                                 \
    extern const QapiType qapi_##name##List_type; \
    QAPI_DECLARE_TYPE(name##List)

QAPI_BUILTIN_LIST(str, char *)
QAPI_BUILTIN_LIST(int, int64_t)
QAPI_BUILTIN_LIST(number, double)
QAPI_BUILTIN_LIST(bool, bool)
QAPI_BUILTIN_LIST(int8, int8_t)
QAPI_BUILTIN_LIST(int16, int16_t)
QAPI_BUILTIN_LIST(int32, int32_t)
QAPI_BUILTIN_LIST(int64, int64_t)
QAPI_BUILTIN_LIST(uint8, uint8_t)
QAPI_BUILTIN_LIST(uint16, uint16_t)
QAPI_BUILTIN_LIST(uint32, uint32_t)
QAPI_BUILTIN_LIST(uint64, uint64_t)
QAPI_BUILTIN_LIST(size, uint64_t)
QAPI_BUILTIN_LIST(any, json_object *)

#endif /* QAPI_QAPI_TYPES_SUPPORT_H */
