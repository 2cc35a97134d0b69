/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QAPI engine, output side: C to JSON, copying and freeing, by a type's
 * description. See include/qapi/qapi-types-support.h for the contract.
 */
#include "qemu/osdep.h"

#include <math.h>

#include "qapi/qapi-types-support.h"

/* Not one by means of the other: `bool` is a macro, and must not expand. */
#define BUILTIN(tname, tkind, ctype)       \
    const QapiType qapi_##tname##_type = { \
        .name = #tname,                    \
        .kind = QAPI_KIND_##tkind,         \
        .size = sizeof(ctype),             \
    }
#define BUILTIN_LIST(tname, tkind, ctype)      \
    const QapiType qapi_##tname##_type = {     \
        .name = #tname,                        \
        .kind = QAPI_KIND_##tkind,             \
        .size = sizeof(ctype),                 \
    };                                         \
    const QapiType qapi_##tname##List_type = { \
        .name = #tname "List",                 \
        .kind = QAPI_KIND_LIST,                \
        .size = sizeof(void *),                \
        .elem = &qapi_##tname##_type,          \
    }

BUILTIN_LIST(str, STR, char *);
BUILTIN_LIST(int, INT, int64_t);
BUILTIN_LIST(number, NUMBER, double);
BUILTIN_LIST(bool, BOOL, bool);
BUILTIN_LIST(int8, INT, int8_t);
BUILTIN_LIST(int16, INT, int16_t);
BUILTIN_LIST(int32, INT, int32_t);
BUILTIN_LIST(int64, INT, int64_t);
BUILTIN_LIST(uint8, UINT, uint8_t);
BUILTIN_LIST(uint16, UINT, uint16_t);
BUILTIN_LIST(uint32, UINT, uint32_t);
BUILTIN_LIST(uint64, UINT, uint64_t);
BUILTIN_LIST(size, SIZE, uint64_t);
BUILTIN_LIST(any, ANY, json_object *);
BUILTIN(null, NULL, json_object *);

const QapiType qapi_empty_type = {
    .name = "empty",
    .kind = QAPI_KIND_STRUCT,
    .size = 1,
};

size_t qapi_type_slot_size(const QapiType *type)
{
    switch (type->kind) {
    case QAPI_KIND_STRUCT:
    case QAPI_KIND_UNION:
    case QAPI_KIND_ALTERNATE:
    case QAPI_KIND_LIST:
        return sizeof(void *);
    default:
        return type->size;
    }
}

/* A member that is not there: has_x false, or a NULL pointer. */
static bool member_present(const QapiMember *m, const void *obj)
{
    const char *base = obj;
    void *ptr;

    if (m->has_offset >= 0) {
        return *(const bool *)(base + m->has_offset);
    }
    if (!m->optional) {
        return true;
    }
    memcpy(&ptr, base + m->offset, sizeof(ptr));
    return ptr != NULL;
}

static const QapiType *union_branch(const QapiType *type, const void *obj)
{
    const QapiMember *tag = &type->members[type->tag_member];
    int val;

    memcpy(&val, (const char *)obj + tag->offset, sizeof(val));
    assert(val >= 0 && (uint32_t)val < type->nr_branches);
    return type->branches[val].type;
}

static const QapiType *alternate_branch(const QapiType *type, const void *obj)
{
    QType have = *(const QType *)obj;

    for (uint32_t i = 0; i < type->nr_branches; i++) {
        if (qapi_type_qtype(type->branches[i].type) == have) {
            return type->branches[i].type;
        }
    }
    return NULL;
}

static bool by_value(const QapiType *branch)
{
    return branch->kind == QAPI_KIND_STRUCT || branch->kind == QAPI_KIND_UNION;
}

/* ------------------------------------------------------------ to JSON */

static json_object *signed_to_json(const QapiType *type, const void *slot)
{
    switch (type->size) {
    case 1:
        return json_object_new_int64(*(const int8_t *)slot);
    case 2:
        return json_object_new_int64(*(const int16_t *)slot);
    case 4:
        return json_object_new_int64(*(const int32_t *)slot);
    default:
        return json_object_new_int64(*(const int64_t *)slot);
    }
}

static json_object *unsigned_to_json(const QapiType *type, const void *slot)
{
    switch (type->size) {
    case 1:
        return json_object_new_int64(*(const uint8_t *)slot);
    case 2:
        return json_object_new_int64(*(const uint16_t *)slot);
    case 4:
        return json_object_new_int64(*(const uint32_t *)slot);
    default:
        return json_object_new_uint64(*(const uint64_t *)slot);
    }
}

static void members_to_json(const QapiType *type, const void *obj,
                            json_object *out)
{
    const QapiType *branch;

    for (uint32_t i = 0; i < type->nr_members; i++) {
        const QapiMember *m = &type->members[i];

        if (member_present(m, obj)) {
            json_object_object_add(
                out, m->name,
                qapi_value_to_json(m->type, (const char *)obj + m->offset));
        }
    }
    if (type->kind == QAPI_KIND_UNION) {
        branch = union_branch(type, obj);
        if (branch) {
            members_to_json(branch, (const char *)obj + type->u_offset, out);
        }
    }
}

json_object *qapi_struct_to_json(const QapiType *type, const void *obj)
{
    json_object *out = json_object_new_object();

    members_to_json(type, obj, out);
    return out;
}

static json_object *list_to_json(const QapiType *type, const QapiListNode *node)
{
    json_object *out = json_object_new_array();

    for (; node; node = node->next) {
        json_object_array_add(out, qapi_value_to_json(type->elem, node->value));
    }
    return out;
}

/* With as few digits as say exactly this double. */
static json_object *number_to_json(double d)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];

    assert(isfinite(d)); /* JSON has no others */
    for (int digits = 15; digits <= 17; digits++) {
        char format[8];

        snprintf(format, sizeof(format), "%%.%dg", digits);
        g_ascii_formatd(text, sizeof(text), format, d);
        if (g_ascii_strtod(text, NULL) == d) {
            break;
        }
    }
    return json_object_new_double_s(d, text);
}

static json_object *str_to_json(const char *s)
{
    /* A char * that nobody set reads as the empty string. */
    return json_object_new_string(s ? s : "");
}

json_object *qapi_pointer_to_json(const QapiType *type, const void *obj)
{
    const QapiType *branch;

    if (type->kind == QAPI_KIND_LIST) {
        return list_to_json(type, obj);
    }
    assert(obj);
    if (type->kind != QAPI_KIND_ALTERNATE) {
        return qapi_struct_to_json(type, obj);
    }
    branch = alternate_branch(type, obj);
    assert(branch);
    obj = (const char *)obj + type->u_offset;
    return by_value(branch) ? qapi_struct_to_json(branch, obj)
                            : qapi_value_to_json(branch, obj);
}

json_object *qapi_value_to_json(const QapiType *type, const void *slot)
{
    switch (type->kind) {
    case QAPI_KIND_STR:
        return str_to_json(*(char *const *)slot);
    case QAPI_KIND_INT:
        return signed_to_json(type, slot);
    case QAPI_KIND_UINT:
    case QAPI_KIND_SIZE:
        return unsigned_to_json(type, slot);
    case QAPI_KIND_BOOL:
        return json_object_new_boolean(*(const bool *)slot);
    case QAPI_KIND_NUMBER:
        return number_to_json(*(const double *)slot);
    case QAPI_KIND_ANY:
        return json_object_get(*(json_object *const *)slot);
    case QAPI_KIND_NULL:
        return NULL;
    case QAPI_KIND_ENUM:
        return json_object_new_string(
            qapi_enum_lookup(type->lookup, *(const int *)slot));
    default:
        return qapi_pointer_to_json(type, *(void *const *)slot);
    }
}

/* ------------------------------------------------------------ freeing */

void qapi_struct_clear(const QapiType *type, void *obj)
{
    if (type->kind == QAPI_KIND_UNION) {
        const QapiType *branch = union_branch(type, obj);

        if (branch) {
            qapi_struct_clear(branch, (char *)obj + type->u_offset);
        }
    }
    for (uint32_t i = 0; i < type->nr_members; i++) {
        const QapiMember *m = &type->members[i];

        qapi_value_clear(m->type, (char *)obj + m->offset);
        if (m->has_offset >= 0) {
            *((bool *)((char *)obj + m->has_offset)) = false;
        }
    }
}

void qapi_pointer_free(const QapiType *type, void *obj)
{
    const QapiType *branch;

    if (!obj) {
        return;
    }
    if (type->kind == QAPI_KIND_LIST) {
        QapiListNode *node = obj, *next;

        for (; node; node = next) {
            next = node->next;
            qapi_value_clear(type->elem, node->value);
            g_free(node);
        }
        return;
    }
    if (type->kind == QAPI_KIND_ALTERNATE) {
        branch = alternate_branch(type, obj);
        if (branch && by_value(branch)) {
            qapi_struct_clear(branch, (char *)obj + type->u_offset);
        } else if (branch) {
            qapi_value_clear(branch, (char *)obj + type->u_offset);
        }
    } else {
        qapi_struct_clear(type, obj);
    }
    g_free(obj);
}

void qapi_value_clear(const QapiType *type, void *slot)
{
    switch (type->kind) {
    case QAPI_KIND_STR:
        g_free(*(char **)slot);
        break;
    case QAPI_KIND_ANY:
        json_object_put(*(json_object **)slot);
        break;
    case QAPI_KIND_STRUCT:
    case QAPI_KIND_UNION:
    case QAPI_KIND_ALTERNATE:
    case QAPI_KIND_LIST:
        qapi_pointer_free(type, *(void **)slot);
        break;
    default:
        break;
    }
    memset(slot, 0, qapi_type_slot_size(type));
}

/* ------------------------------------------------------------ copying */

static void struct_copy(const QapiType *type, void *dst, const void *src)
{
    for (uint32_t i = 0; i < type->nr_members; i++) {
        const QapiMember *m = &type->members[i];

        if (member_present(m, src)) {
            qapi_value_copy(m->type, (char *)dst + m->offset,
                            (const char *)src + m->offset);
            if (m->has_offset >= 0) {
                *((bool *)((char *)dst + m->has_offset)) = true;
            }
        }
    }
    if (type->kind == QAPI_KIND_UNION) {
        const QapiType *branch = union_branch(type, src);

        if (branch) {
            struct_copy(branch, (char *)dst + type->u_offset,
                        (const char *)src + type->u_offset);
        }
    }
}

static void *list_copy(const QapiType *type, const QapiListNode *node)
{
    QapiListNode *head = NULL, **tail = &head;

    for (; node; node = node->next) {
        *tail = g_malloc0(sizeof(QapiListNode) + sizeof(QapiSlot));
        qapi_value_copy(type->elem, (*tail)->value, node->value);
        tail = &(*tail)->next;
    }
    return head;
}

void *qapi_pointer_clone(const QapiType *type, const void *obj)
{
    const QapiType *branch;
    char *copy;

    if (!obj) {
        return NULL;
    }
    if (type->kind == QAPI_KIND_LIST) {
        return list_copy(type, obj);
    }
    copy = g_malloc0(type->size);
    if (type->kind != QAPI_KIND_ALTERNATE) {
        struct_copy(type, copy, obj);
        return copy;
    }
    *(QType *)copy = *(const QType *)obj;
    branch = alternate_branch(type, obj);
    assert(branch);
    obj = (const char *)obj + type->u_offset;
    if (by_value(branch)) {
        struct_copy(branch, copy + type->u_offset, obj);
    } else {
        qapi_value_copy(branch, copy + type->u_offset, obj);
    }
    return copy;
}

void qapi_value_copy(const QapiType *type, void *dst, const void *src)
{
    switch (type->kind) {
    case QAPI_KIND_STR:
        *(char **)dst = g_strdup(*(char *const *)src);
        break;
    case QAPI_KIND_ANY:
        *(json_object **)dst = json_object_get(*(json_object *const *)src);
        break;
    case QAPI_KIND_STRUCT:
    case QAPI_KIND_UNION:
    case QAPI_KIND_ALTERNATE:
    case QAPI_KIND_LIST:
        *(void **)dst = qapi_pointer_clone(type, *(void *const *)src);
        break;
    default:
        memcpy(dst, src, type->size);
    }
}
