/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QAPI engine, input side: JSON to C by a type's description.
 * See include/qapi/qapi-types-support.h for the contract.
 *
 * Recursion is bounded by the depth of the type: only lists and members
 * descend, and JSON's own depth is limited by its parser.
 */
#include "qemu/osdep.h"

#include <math.h>

#include "qapi/qapi-types-support.h"
#include "qemu/cutils.h"

/* Where we are, as a chain on the stack; spelt out only for an error. */
typedef struct Path {
    const struct Path *up;
    const char *name; /* NULL: an element of a list */
    size_t index;
} Path;

typedef struct Input {
    QapiInput mode;
    Error **errp;
} Input;

static bool input_value(Input *in, const QapiType *type, json_object *v,
                        const Path *path, void *slot);

static void path_append(GString *out, const Path *path)
{
    if (path->up) {
        path_append(out, path->up);
    }
    if (path->name) {
        g_string_append_printf(out, "%s%s", out->len ? "." : "", path->name);
    } else if (path->up) {
        g_string_append_printf(out, "[%zu]", path->index);
    }
}

static char *path_str(const Path *path)
{
    GString *out = g_string_new(NULL);

    path_append(out, path);
    if (!out->len) {
        g_string_append(out, "null"); /* the whole value has no name */
    }
    return g_string_free(out, FALSE);
}

static bool fail_type(Input *in, const Path *path, const char *expected)
{
    g_autofree char *where = path_str(path);

    error_setg(in->errp, "Invalid parameter type for '%s', expected: %s", where,
               expected);
    return false;
}

static bool fail_range(Input *in, const QapiType *type, const Path *path)
{
    g_autofree char *where = path_str(path);

    if (type->kind == QAPI_KIND_INT) {
        uint64_t max = UINT64_MAX >> (65 - 8 * type->size);

        error_setg(in->errp,
                   "Parameter '%s' expects an integer from %" PRId64
                   " to %" PRIu64,
                   where, -(int64_t)max - 1, max);
    } else {
        error_setg(in->errp,
                   "Parameter '%s' expects an integer from 0 to %" PRIu64,
                   where, UINT64_MAX >> (64 - 8 * type->size));
    }
    return false;
}

/* ----------------------------------------------------------- scalars */

/* The string that keyval mode has in place of any scalar; NULL: none. */
static const char *keyval_text(Input *in, json_object *v)
{
    if (in->mode == QAPI_INPUT_KEYVAL &&
        json_object_is_type(v, json_type_string)) {
        return json_object_get_string(v);
    }
    return NULL;
}

static bool store_int(Input *in, const QapiType *type, const Path *path,
                      int64_t i, void *slot)
{
    int64_t max = (int64_t)(UINT64_MAX >> (65 - 8 * type->size));

    if (i > max || i < -max - 1) {
        return fail_range(in, type, path);
    }
    switch (type->size) {
    case 1:
        *(int8_t *)slot = i;
        break;
    case 2:
        *(int16_t *)slot = i;
        break;
    case 4:
        *(int32_t *)slot = i;
        break;
    default:
        *(int64_t *)slot = i;
    }
    return true;
}

static bool store_uint(Input *in, const QapiType *type, const Path *path,
                       uint64_t u, void *slot)
{
    if (u > UINT64_MAX >> (64 - 8 * type->size)) {
        return fail_range(in, type, path);
    }
    switch (type->size) {
    case 1:
        *(uint8_t *)slot = u;
        break;
    case 2:
        *(uint16_t *)slot = u;
        break;
    case 4:
        *(uint32_t *)slot = u;
        break;
    default:
        *(uint64_t *)slot = u;
    }
    return true;
}

static bool input_int_text(Input *in, const QapiType *type, const char *text,
                           const Path *path, void *slot)
{
    const char *end = text;
    int64_t i;
    uint64_t u;
    int ret;

    if (type->kind == QAPI_KIND_SIZE) {
        ret = qemu_strtosz(text, &end, &u);
        if (ret == -ERANGE) {
            return fail_range(in, type, path);
        }
        if (ret < 0 || *end) {
            return fail_type(in, path,
                             "size (a number, which may end in k, M, G, T, "
                             "P or E)");
        }
        *(uint64_t *)slot = u;
        return true;
    }
    if (type->kind == QAPI_KIND_INT) {
        ret = qemu_strtoi64(text, &end, 0, &i);
    } else if (*text == '-') {
        ret = -ERANGE;
    } else {
        ret = qemu_strtou64(text, &end, 0, &u);
    }
    if (ret == -ERANGE) {
        return fail_range(in, type, path);
    }
    if (ret < 0 || *end || g_ascii_isspace(*text)) {
        return fail_type(in, path, "integer");
    }
    return type->kind == QAPI_KIND_INT ? store_int(in, type, path, i, slot)
                                       : store_uint(in, type, path, u, slot);
}

static bool input_int(Input *in, const QapiType *type, json_object *v,
                      const Path *path, void *slot)
{
    const char *text = keyval_text(in, v);
    int64_t i;

    if (text) {
        return input_int_text(in, type, text, path, slot);
    }
    if (!json_object_is_type(v, json_type_int)) {
        return fail_type(in, path, "integer");
    }
    /* json-c clamps: a value beyond int64_t reads as INT64_MAX, exact when
     * asked for as uint64_t; a negative one reads as 0 there. */
    i = json_object_get_int64(v);
    if (type->kind == QAPI_KIND_INT) {
        if (i == INT64_MAX && json_object_get_uint64(v) > INT64_MAX) {
            return fail_range(in, type, path);
        }
        return store_int(in, type, path, i, slot);
    }
    if (i < 0) {
        return fail_range(in, type, path);
    }
    return store_uint(in, type, path, json_object_get_uint64(v), slot);
}

static bool input_number(Input *in, json_object *v, const Path *path,
                         double *slot)
{
    const char *text = keyval_text(in, v);

    if (text) {
        char *end;
        double d = g_ascii_strtod(text, &end);

        if (end == text || *end || !isfinite(d) || g_ascii_isspace(*text)) {
            return fail_type(in, path, "number");
        }
        *slot = d;
        return true;
    }
    if (json_object_is_type(v, json_type_double)) {
        *slot = json_object_get_double(v);
        return true;
    }
    if (json_object_is_type(v, json_type_int)) {
        int64_t i = json_object_get_int64(v);

        *slot = i < 0 ? (double)i : (double)json_object_get_uint64(v);
        return true;
    }
    return fail_type(in, path, "number");
}

static bool input_bool(Input *in, json_object *v, const Path *path, bool *slot)
{
    const char *text = keyval_text(in, v);

    if (text) {
        g_autofree char *where = path_str(path);

        if (qemu_parse_bool(where, text, slot, NULL)) {
            return true;
        }
        error_setg(in->errp, "Parameter '%s' expects 'on' or 'off'", where);
        return false;
    }
    if (!json_object_is_type(v, json_type_boolean)) {
        return fail_type(in, path, "boolean");
    }
    *slot = json_object_get_boolean(v);
    return true;
}

static bool input_str(Input *in, json_object *v, const Path *path, char **slot)
{
    if (!json_object_is_type(v, json_type_string)) {
        return fail_type(in, path, "string");
    }
    if (strlen(json_object_get_string(v)) !=
        (size_t)json_object_get_string_len(v)) {
        return fail_type(in, path, "string without NUL characters");
    }
    *slot = g_strdup(json_object_get_string(v));
    return true;
}

static bool input_enum(Input *in, const QapiType *type, json_object *v,
                       const Path *path, int *slot)
{
    Error *err = NULL;
    int val;

    if (!json_object_is_type(v, json_type_string)) {
        return fail_type(in, path, "string");
    }
    val = qapi_enum_parse(type->lookup, json_object_get_string(v), -1, &err);
    if (val < 0) {
        g_autofree char *where = path_str(path);

        error_free(err);
        error_setg(in->errp, "Parameter '%s' does not accept value '%s'", where,
                   json_object_get_string(v));
        qapi_enum_append_names(in->errp, type->lookup);
        return false;
    }
    *slot = val;
    return true;
}

/* ----------------------------------------------------------- objects */

const QapiMember *qapi_type_find_member(const QapiType *type, const char *name)
{
    for (uint32_t i = 0; i < type->nr_members; i++) {
        if (strcmp(type->members[i].name, name) == 0) {
            return &type->members[i];
        }
    }
    return NULL;
}

/* The branch that @obj's tag selects; NULL: none, or no members. */
static const QapiType *union_branch(const QapiType *type, const void *obj)
{
    const QapiMember *tag = &type->members[type->tag_member];
    int val;

    memcpy(&val, (const char *)obj + tag->offset, sizeof(val));
    return type->branches[val].type;
}

/* Whether the members of @type at @obj (converted already) include @name. */
static bool object_has_member(const QapiType *type, const void *obj,
                              const char *name)
{
    const QapiType *branch;

    if (qapi_type_find_member(type, name)) {
        return true;
    }
    if (type->kind != QAPI_KIND_UNION) {
        return false;
    }
    branch = union_branch(type, obj);
    return branch &&
           object_has_member(branch, (const char *)obj + type->u_offset, name);
}

static bool input_members(Input *in, const QapiType *type, json_object *v,
                          const Path *path, void *obj)
{
    const QapiType *branch;

    for (uint32_t i = 0; i < type->nr_members; i++) {
        const QapiMember *m = &type->members[i];
        Path here = { path, m->name, 0 };
        json_object *child;

        if (!json_object_object_get_ex(v, m->name, &child)) {
            if (!m->optional) {
                g_autofree char *where = path_str(&here);

                error_setg(in->errp, "Parameter '%s' is missing", where);
                return false;
            }
            continue;
        }
        if (!input_value(in, m->type, child, &here, (char *)obj + m->offset)) {
            return false;
        }
        if (m->has_offset >= 0) {
            *((bool *)((char *)obj + m->has_offset)) = true;
        }
    }
    if (type->kind != QAPI_KIND_UNION) {
        return true;
    }
    branch = union_branch(type, obj);
    return !branch ||
           input_members(in, branch, v, path, (char *)obj + type->u_offset);
}

static bool input_object(Input *in, const QapiType *type, json_object *v,
                         const Path *path, void *obj)
{
    if (!json_object_is_type(v, json_type_object)) {
        return fail_type(in, path, "object");
    }
    if (!input_members(in, type, v, path, obj)) {
        return false;
    }
    json_object_object_foreach(v, key, unused)
    {
        (void)unused;
        if (!object_has_member(type, obj, key)) {
            Path here = { path, key, 0 };
            g_autofree char *where = path_str(&here);

            error_setg(in->errp, "Parameter '%s' is unexpected", where);
            return false;
        }
    }
    return true;
}

static bool input_pointer(Input *in, const QapiType *type, json_object *v,
                          const Path *path, void **slot)
{
    void *obj = g_malloc0(type->size);

    if (!input_object(in, type, v, path, obj)) {
        qapi_pointer_free(type, obj);
        return false;
    }
    *slot = obj;
    return true;
}

/* -------------------------------------------------------- alternates */

static QType qtype_of(json_object *v)
{
    switch (json_object_get_type(v)) {
    case json_type_null:
        return QTYPE_QNULL;
    case json_type_boolean:
        return QTYPE_QBOOL;
    case json_type_double:
    case json_type_int:
        return QTYPE_QNUM;
    case json_type_object:
        return QTYPE_QDICT;
    case json_type_array:
        return QTYPE_QLIST;
    default:
        return QTYPE_QSTRING;
    }
}

QType qapi_type_qtype(const QapiType *type)
{
    switch (type->kind) {
    case QAPI_KIND_STR:
    case QAPI_KIND_ENUM:
        return QTYPE_QSTRING;
    case QAPI_KIND_INT:
    case QAPI_KIND_UINT:
    case QAPI_KIND_SIZE:
    case QAPI_KIND_NUMBER:
        return QTYPE_QNUM;
    case QAPI_KIND_BOOL:
        return QTYPE_QBOOL;
    case QAPI_KIND_NULL:
        return QTYPE_QNULL;
    case QAPI_KIND_LIST:
        return QTYPE_QLIST;
    default:
        return QTYPE_QDICT;
    }
}

/* Which branch takes @v: by JSON type; a keyval string fits any scalar. */
static const QapiType *alternate_branch(Input *in, const QapiType *type,
                                        json_object *v)
{
    QType want = qtype_of(v);

    for (uint32_t i = 0; i < type->nr_branches; i++) {
        if (qapi_type_qtype(type->branches[i].type) == want) {
            return type->branches[i].type;
        }
    }
    for (uint32_t i = 0; keyval_text(in, v) && i < type->nr_branches; i++) {
        QType has = qapi_type_qtype(type->branches[i].type);

        if (has == QTYPE_QNUM || has == QTYPE_QBOOL) {
            return type->branches[i].type;
        }
    }
    return NULL;
}

static bool input_alternate(Input *in, const QapiType *type, json_object *v,
                            const Path *path, void **slot)
{
    const QapiType *branch = alternate_branch(in, type, v);
    char *obj;
    bool ok;

    if (!branch) {
        return fail_type(in, path, type->name);
    }
    obj = g_malloc0(type->size);
    *(QType *)obj = qapi_type_qtype(branch);
    if (branch->kind == QAPI_KIND_STRUCT || branch->kind == QAPI_KIND_UNION) {
        ok = input_object(in, branch, v, path, obj + type->u_offset);
    } else {
        ok = input_value(in, branch, v, path, obj + type->u_offset);
    }
    if (!ok) {
        qapi_pointer_free(type, obj);
        return false;
    }
    *slot = obj;
    return true;
}

/* -------------------------------------------------------------- lists */

static bool input_list(Input *in, const QapiType *type, json_object *v,
                       const Path *path, void **slot)
{
    const QapiType *elem = type->elem;
    QapiListNode *head = NULL, **tail = &head;
    size_t n;

    if (!json_object_is_type(v, json_type_array)) {
        return fail_type(in, path, "array");
    }
    n = json_object_array_length(v);
    for (size_t i = 0; i < n; i++) {
        Path here = { path, NULL, i };

        *tail = g_malloc0(sizeof(QapiListNode) + sizeof(QapiSlot));
        if (!input_value(in, elem, json_object_array_get_idx(v, i), &here,
                         (*tail)->value)) {
            qapi_value_clear(type, &head);
            return false;
        }
        tail = &(*tail)->next;
    }
    *slot = head;
    return true;
}

static bool input_value(Input *in, const QapiType *type, json_object *v,
                        const Path *path, void *slot)
{
    switch (type->kind) {
    case QAPI_KIND_STR:
        return input_str(in, v, path, slot);
    case QAPI_KIND_INT:
    case QAPI_KIND_UINT:
    case QAPI_KIND_SIZE:
        return input_int(in, type, v, path, slot);
    case QAPI_KIND_BOOL:
        return input_bool(in, v, path, slot);
    case QAPI_KIND_NUMBER:
        return input_number(in, v, path, slot);
    case QAPI_KIND_ANY:
        *(json_object **)slot = json_object_get(v);
        return true;
    case QAPI_KIND_NULL:
        if (v) {
            return fail_type(in, path, "null");
        }
        *(json_object **)slot = NULL;
        return true;
    case QAPI_KIND_ENUM:
        return input_enum(in, type, v, path, slot);
    case QAPI_KIND_STRUCT:
    case QAPI_KIND_UNION:
        return input_pointer(in, type, v, path, slot);
    case QAPI_KIND_ALTERNATE:
        return input_alternate(in, type, v, path, slot);
    case QAPI_KIND_LIST:
        return input_list(in, type, v, path, slot);
    }
    g_assert_not_reached();
}

bool qapi_value_from_json(const QapiType *type, json_object *v,
                          const char *name, QapiInput mode, void *slot,
                          Error **errp)
{
    ERRP_GUARD();
    Input in = { .mode = mode, .errp = errp };
    Path path = { .name = name };

    return input_value(&in, type, v, &path, slot);
}

void *qapi_pointer_from_json(const QapiType *type, json_object *v,
                             const char *name, QapiInput mode, Error **errp)
{
    void *obj = NULL;

    qapi_value_from_json(type, v, name, mode, &obj, errp);
    return obj;
}

void *qapi_args_from_json(const QapiType *type, json_object *args, Error **errp)
{
    json_object *empty = args ? NULL : json_object_new_object();
    void *obj = qapi_pointer_from_json(type, args ? args : empty, NULL,
                                       QAPI_INPUT_JSON, errp);

    json_object_put(empty);
    return obj;
}
