/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keyval: see include/qapi/keyval.h for the grammar.
 *
 * First every key goes into nested objects, list indices being keys like any
 * other; then, from the leaves up, objects whose keys are indices become
 * arrays.
 */
#include "qemu/osdep.h"

#include <json-c/json.h>

#include "qapi/json.h"
#include "qapi/keyval.h"

#define KEYVAL_MAX_FRAGMENTS 32
#define KEYVAL_MAX_FRAGMENT  128

static bool is_index(const char *s)
{
    size_t n = strspn(s, "0123456789");

    return n && s[n] == '\0' && (s[0] != '0' || n == 1) && n <= 9;
}

static bool is_name(const char *s)
{
    if (!g_ascii_isalpha(*s) && *s != '_') {
        return false;
    }
    while (g_ascii_isalnum(*s) || *s == '-' || *s == '_') {
        s++;
    }
    return *s == '\0';
}

/* ------------------------------------------------------------- elements */

/* The value at @s, ",," turned into one comma; *@end: after its comma. */
static char *take_value(const char *s, const char **end)
{
    GString *value = g_string_new(NULL);

    for (; *s; s++) {
        if (*s == ',') {
            s++;
            if (*s != ',') {
                break;
            }
        }
        g_string_append_c(value, *s);
    }
    *end = s;
    return g_string_free(value, FALSE);
}

/* @name's object in @dict, made if need be; NULL: it is a scalar there. */
static json_object *descend(json_object *dict, const char *name)
{
    json_object *child;

    if (!json_object_object_get_ex(dict, name, &child)) {
        child = json_object_new_object();
        json_object_object_add(dict, name, child);
    }
    return json_object_is_type(child, json_type_object) ? child : NULL;
}

static bool put(json_object *dict, const char *key, const char *value,
                Error **errp)
{
    g_auto(GStrv) parts = g_strsplit(key, ".", KEYVAL_MAX_FRAGMENTS + 1);
    guint n = g_strv_length(parts);
    json_object *old;

    for (guint i = 0; i < n; i++) {
        if ((!is_name(parts[i]) && (i == 0 || !is_index(parts[i]))) ||
            strlen(parts[i]) >= KEYVAL_MAX_FRAGMENT ||
            n > KEYVAL_MAX_FRAGMENTS) {
            error_setg(errp, "Invalid parameter '%s'", key);
            return false;
        }
    }
    if (!n) {
        error_setg(errp, "Invalid parameter '%s'", key);
        return false;
    }
    for (guint i = 0; i + 1 < n; i++) {
        dict = descend(dict, parts[i]);
        if (!dict) {
            break;
        }
    }
    if (!dict || (json_object_object_get_ex(dict, parts[n - 1], &old) &&
                  json_object_is_type(old, json_type_object))) {
        error_setg(errp, "Parameters '%s.*' used inconsistently", key);
        return false;
    }
    json_object_object_add(dict, parts[n - 1], json_object_new_string(value));
    return true;
}

typedef struct Scan {
    const char *s;
    const char *implied_key; /* NULL once past the first element */
    bool *p_help;
    json_object *dict;
} Scan;

static bool is_help(const char *s, size_t len)
{
    return (len == 4 && strncmp(s, "help", 4) == 0) || (len == 1 && *s == '?');
}

static bool take_element(Scan *scan, Error **errp)
{
    size_t len = strcspn(scan->s, "=,");
    bool has_value = scan->s[len] == '=';
    const char *implied_key = scan->implied_key;
    g_autofree char *key = NULL;
    g_autofree char *value = NULL;

    scan->implied_key = NULL;
    /* "help" stands alone: in "help,,x" the comma is part of a value. */
    if (!has_value && is_help(scan->s, len) &&
        !g_str_has_prefix(scan->s + len, ",,")) {
        if (!scan->p_help) {
            error_setg(errp, "Help is not available for this option");
            return false;
        }
        *scan->p_help = true;
        scan->s += len + (scan->s[len] == ',');
        return true;
    }
    if (!has_value && !implied_key) {
        error_setg(errp, "Expected '=' after parameter '%.*s'", (int)len,
                   scan->s);
        return false;
    }
    key = has_value ? g_strndup(scan->s, len) : g_strdup(implied_key);
    value = take_value(has_value ? scan->s + len + 1 : scan->s, &scan->s);
    return put(scan->dict, key, value, errp);
}

/* ---------------------------------------------------------------- lists */

static char *child_path(const char *path, const char *name)
{
    return path ? g_strconcat(path, ".", name, NULL) : g_strdup(name);
}

static json_object *to_array(json_object *dict, const char *path, Error **errp)
{
    json_object *array = json_object_new_array();
    int n = json_object_object_length(dict);

    for (int i = 0; i < n; i++) {
        char index[16];
        json_object *v;

        snprintf(index, sizeof(index), "%d", i);
        if (!json_object_object_get_ex(dict, index, &v)) {
            error_setg(errp, "Parameter '%s.%d' missing", path, i);
            json_object_put(array);
            return NULL;
        }
        json_object_array_add(array, json_object_get(v));
    }
    return array;
}

/*
 * @dict with its index-keyed descendants made arrays, itself perhaps too.
 * A new reference; NULL on failure.
 */
static json_object *listify(json_object *dict, const char *path, Error **errp)
{
    int indices = 0, names = 0;

    json_object_object_foreach(dict, key, child)
    {
        indices += is_index(key);
        names += !is_index(key);
        if (json_object_is_type(child, json_type_object)) {
            g_autofree char *sub = child_path(path, key);
            json_object *better = listify(child, sub, errp);

            if (!better) {
                return NULL;
            }
            json_object_object_add(dict, key, better);
        }
    }
    if (indices && names) {
        error_setg(errp, "Parameters '%s.*' used inconsistently", path);
        return NULL;
    }
    return indices ? to_array(dict, path, errp) : json_object_get(dict);
}

/* --------------------------------------------------------------- public */

json_object *keyval_parse(const char *params, const char *implied_key,
                          bool *p_help, Error **errp)
{
    g_autoptr(json_object) dict = json_object_new_object();
    Scan scan = { params, implied_key, p_help, dict };

    if (p_help) {
        *p_help = false;
    }
    while (*scan.s) {
        if (!take_element(&scan, errp)) {
            return NULL;
        }
    }
    return listify(dict, NULL, errp);
}

bool keyval_parse_into(json_object *dict, const char *params,
                       const char *implied_key, bool *p_help, Error **errp)
{
    g_autoptr(json_object)
        more = keyval_parse(params, implied_key, p_help, errp);

    return more && keyval_merge(dict, more, errp);
}

bool keyval_merge(json_object *dst, json_object *src, Error **errp)
{
    json_object_object_foreach(src, key, value)
    {
        json_object *old;
        json_type type = json_object_get_type(value);

        if (!json_object_object_get_ex(dst, key, &old)) {
            json_object_object_add(dst, key, json_object_get(value));
            continue;
        }
        if (json_object_get_type(old) != type &&
            (type == json_type_object || type == json_type_array ||
             json_object_is_type(old, json_type_object) ||
             json_object_is_type(old, json_type_array))) {
            error_setg(errp, "Parameter '%s' used inconsistently", key);
            return false;
        }
        if (type == json_type_object) {
            if (!keyval_merge(old, value, errp)) {
                return false;
            }
        } else if (type == json_type_array) {
            for (size_t i = 0; i < json_object_array_length(value); i++) {
                json_object_array_add(
                    old, json_object_get(json_object_array_get_idx(value, i)));
            }
        } else {
            json_object_object_add(dst, key, json_object_get(value));
        }
    }
    return true;
}
