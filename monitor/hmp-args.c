/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HMP arguments: a command line read by the letters of its args_type.
 *
 * The letters are listed in qemu/monitor-sink.h. An integer may be an
 * expression; precedence, lowest first, all binary ones to the left:
 *
 *   sum:     term { (+ | - | & | "|" | ^) term }      term: factor { (* / %) ..}
 *   factor:  number | 'c' | ( sum ) | + factor | - factor | ~ factor
 */
#include "qemu/osdep.h"

#include "monitor-int.h"
#include "qemu/cutils.h"
#include "qemu/units.h"

/*
 * Words
 */

static void skip_blanks(const char **p)
{
    while (g_ascii_isspace(**p)) {
        (*p)++;
    }
}

static bool append_escape(GString *word, char c, Error **errp)
{
    switch (c) {
    case 'n':
        g_string_append_c(word, '\n');
        return true;
    case 'r':
        g_string_append_c(word, '\r');
        return true;
    case '\\':
    case '\'':
    case '"':
        g_string_append_c(word, c);
        return true;
    default:
        error_setg(errp, "unsupported escape code: '\\%c'", c);
        return false;
    }
}

static bool quoted_word(const char **p, GString *word, Error **errp)
{
    for ((*p)++; **p && **p != '"'; (*p)++) {
        if (**p == '\\' && (*p)[1]) {
            if (!append_escape(word, *++*p, errp)) {
                return false;
            }
        } else {
            g_string_append_c(word, **p);
        }
    }
    if (**p != '"') {
        error_setg(errp, "unterminated string");
        return false;
    }
    (*p)++;
    return true;
}

char *hmp_next_word(const char **p, Error **errp)
{
    GString *word;

    skip_blanks(p);
    if (!**p) {
        return NULL;
    }
    word = g_string_new(NULL);
    if (**p == '"') {
        if (!quoted_word(p, word, errp)) {
            g_string_free(word, TRUE);
            return NULL;
        }
        return g_string_free(word, FALSE);
    }
    while (**p && !g_ascii_isspace(**p)) {
        g_string_append_c(word, *(*p)++);
    }
    return g_string_free(word, FALSE);
}

/*
 * Expressions
 */

#define EXPRESSION_MAX_DEPTH 64

static bool parse_sum(const char **p, int depth, int64_t *result, Error **errp);

static bool parse_number(const char **p, int64_t *result, Error **errp)
{
    const char *end;
    uint64_t value;

    if (**p == '\'' && (*p)[1] && (*p)[2] == '\'') {
        *result = (uint8_t)(*p)[1];
        *p += 3;
        return true;
    }
    if (!g_ascii_isdigit(**p)) {
        if (**p) {
            error_setg(errp, "invalid char '%c' in expression", **p);
        } else {
            error_setg(errp, "unexpected end of expression");
        }
        return false;
    }
    if (qemu_strtou64(*p, &end, 0, &value) < 0) {
        error_setg(errp, "number too large");
        return false;
    }
    *p = end;
    *result = (int64_t)value;
    return true;
}

static bool parse_factor(const char **p, int depth, int64_t *result,
                         Error **errp)
{
    char op;

    skip_blanks(p);
    if (depth > EXPRESSION_MAX_DEPTH) {
        error_setg(errp, "expression nests too deeply");
        return false;
    }
    op = **p;
    if (op == '(') {
        (*p)++;
        if (!parse_sum(p, depth + 1, result, errp)) {
            return false;
        }
        skip_blanks(p);
        if (**p != ')') {
            error_setg(errp, "')' expected");
            return false;
        }
        (*p)++;
        return true;
    }
    if (op == '+' || op == '-' || op == '~') {
        (*p)++;
        if (!parse_factor(p, depth + 1, result, errp)) {
            return false;
        }
        *result = op == '-'   ? (int64_t)(0 - (uint64_t)*result)
                  : op == '~' ? ~*result
                              : *result;
        return true;
    }
    if (op == '$') {
        error_setg(errp, "registers cannot be used in expressions");
        return false;
    }
    return parse_number(p, result, errp);
}

static bool parse_term(const char **p, int depth, int64_t *result, Error **errp)
{
    int64_t right;

    if (!parse_factor(p, depth, result, errp)) {
        return false;
    }
    for (;;) {
        char op;

        skip_blanks(p);
        op = **p;
        if (op != '*' && op != '/' && op != '%') {
            return true;
        }
        (*p)++;
        if (!parse_factor(p, depth, &right, errp)) {
            return false;
        }
        if (op == '*') {
            *result = (int64_t)((uint64_t)*result * (uint64_t)right);
        } else if (right == 0) {
            error_setg(errp, "division by zero");
            return false;
        } else if (right == -1) { /* INT64_MIN / -1 traps */
            *result = op == '/' ? (int64_t)(0 - (uint64_t)*result) : 0;
        } else {
            *result = op == '/' ? *result / right : *result % right;
        }
    }
}

static bool parse_sum(const char **p, int depth, int64_t *result, Error **errp)
{
    int64_t right;

    if (!parse_term(p, depth, result, errp)) {
        return false;
    }
    for (;;) {
        char op;

        skip_blanks(p);
        op = **p;
        if (!op || !strchr("+-&|^", op)) {
            return true;
        }
        (*p)++;
        if (!parse_term(p, depth, &right, errp)) {
            return false;
        }
        switch (op) {
        case '+':
            *result = (int64_t)((uint64_t)*result + (uint64_t)right);
            break;
        case '-':
            *result = (int64_t)((uint64_t)*result - (uint64_t)right);
            break;
        case '&':
            *result &= right;
            break;
        case '|':
            *result |= right;
            break;
        default:
            *result ^= right;
            break;
        }
    }
}

/*
 * Arguments
 */

/* One element of args_type. */
typedef struct ArgSpec {
    char *name;
    char type;
    char flag;        /* of '-': its letter */
    bool flag_string; /* of '-': takes a string */
    bool optional;
} ArgSpec;

static bool next_spec(const char **p, ArgSpec *spec)
{
    const char *colon;

    if (!**p) {
        return false;
    }
    colon = strchr(*p, ':');
    assert(colon && colon[1]);
    *spec = (ArgSpec){ .name = g_strndup(*p, colon - *p), .type = colon[1] };
    *p = colon + 2;
    if (spec->type == '-') {
        spec->flag = *(*p)++;
        if (**p == 's') {
            spec->flag_string = true;
            (*p)++;
        }
    }
    if (**p == '?') {
        spec->optional = true;
        (*p)++;
    }
    assert(!**p || **p == ',');
    if (**p) {
        (*p)++;
    }
    return true;
}

static bool parse_int(const ArgSpec *spec, const char **p, json_object **value,
                      Error **errp)
{
    int64_t n;

    if (!parse_sum(p, 0, &n, errp)) {
        return false;
    }
    /* The sum takes the spaces behind it along. */
    if (**p && !g_ascii_isspace(**p) && !g_ascii_isspace((*p)[-1])) {
        error_setg(errp, "unexpected '%c' after the number", **p);
        return false;
    }
    if (spec->type == 'i' && (n > UINT32_MAX || n < INT32_MIN)) {
        error_setg(errp, "integer is for 32-bit values");
        return false;
    }
    if (spec->type == 'M') {
        if (n < 0 || n > INT64_MAX / MiB) {
            error_setg(errp, "enter a positive value");
            return false;
        }
        n *= MiB;
    }
    *value = json_object_new_int64(n);
    return true;
}

static bool parse_size(const char **p, json_object **value, Error **errp)
{
    const char *end;
    uint64_t size;

    if (qemu_strtosz_MiB(*p, &end, &size) < 0 || size > INT64_MAX ||
        (*end && !g_ascii_isspace(*end))) {
        error_setg(errp, "invalid size");
        return false;
    }
    *p = end;
    *value = json_object_new_int64(size);
    return true;
}

static bool parse_time(const char **p, json_object **value, Error **errp)
{
    static const struct {
        const char *suffix;
        double factor;
    } units[] = { { "ms", 1e-3 }, { "us", 1e-6 }, { "ns", 1e-9 } };
    const char *end;
    double d;

    if (qemu_strtod(*p, &end, &d) < 0) {
        error_setg(errp, "number expected");
        return false;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(units); i++) {
        if (g_str_has_prefix(end, units[i].suffix)) {
            d *= units[i].factor;
            end += 2;
            break;
        }
    }
    if (*end && !g_ascii_isspace(*end)) {
        error_setg(errp, "unknown unit suffix");
        return false;
    }
    *p = end;
    *value = json_object_new_double(d);
    return true;
}

static bool parse_bool_word(const char **p, json_object **value, Error **errp)
{
    g_autofree char *word = hmp_next_word(p, errp);

    if (!word) {
        return false;
    }
    if (!g_str_equal(word, "on") && !g_str_equal(word, "off")) {
        error_setg(errp, "expected 'on' or 'off'");
        return false;
    }
    *value = json_object_new_boolean(g_str_equal(word, "on"));
    return true;
}

/* "/16xb": count, format letter, size letter. Adds three members. */
static bool parse_format(const char **p, json_object *args, Error **errp)
{
    int64_t count = 1;
    char format = 'x', c;
    int size = 4;
    bool has_size = false;

    if (**p == '/') {
        const char *end;
        int n;

        (*p)++;
        if (g_ascii_isdigit(**p)) {
            if (qemu_strtoi(*p, &end, 10, &n) < 0) {
                error_setg(errp, "invalid count");
                return false;
            }
            count = n;
            *p = end;
        }
        for (; (c = **p) && !g_ascii_isspace(c); (*p)++) {
            const char *sizes = "bhwg", *s = strchr(sizes, c);

            if (s) {
                size = 1 << (s - sizes);
                has_size = true;
            } else if (strchr("oduxcis", c)) {
                format = c;
            } else {
                error_setg(errp, "invalid char in format: '%c'", c);
                return false;
            }
        }
        if (format == 'c' && !has_size) {
            size = 1;
        }
    }
    json_object_object_add(args, "count", json_object_new_int64(count));
    json_object_object_add(args, "format", json_object_new_int(format));
    json_object_object_add(args, "size", json_object_new_int(size));
    return true;
}

/* The one of @flags that the word at @q is; NULL: none, leave it alone. */
static const ArgSpec *match_flag(GArray *flags, const char *q)
{
    if (q[0] != '-' || !q[1] || (q[2] && !g_ascii_isspace(q[2]))) {
        return NULL;
    }
    for (guint i = 0; i < flags->len; i++) {
        const ArgSpec *spec = &g_array_index(flags, ArgSpec, i);

        if (spec->flag == q[1]) {
            return spec;
        }
    }
    return NULL;
}

/* A run of "-x" and "-x WORD", in any order, each or none. */
static bool parse_flags(GArray *flags, const char **p, json_object *args,
                        Error **errp)
{
    const ArgSpec *spec;

    skip_blanks(p);
    while ((spec = match_flag(flags, *p))) {
        json_object *value;

        *p += 2;
        if (spec->flag_string) {
            g_autofree char *word = hmp_next_word(p, errp);

            if (!word) {
                if (!*errp) {
                    error_setg(errp, "option -%c needs a value", spec->flag);
                }
                return false;
            }
            value = json_object_new_string(word);
        } else {
            value = json_object_new_boolean(true);
        }
        json_object_object_add(args, spec->name, value);
        skip_blanks(p);
    }
    if (flags->len && **p == '-' && g_ascii_isalpha((*p)[1])) {
        error_setg(errp, "unsupported option -%c", (*p)[1]);
        return false;
    }
    return true;
}

static bool parse_value(const ArgSpec *spec, const char **p,
                        json_object **value, Error **errp)
{
    char *word;

    switch (spec->type) {
    case 's':
    case 'F':
    case 'B':
    case 'O':
        word = hmp_next_word(p, errp);
        if (!word) {
            return false;
        }
        *value = json_object_new_string(word);
        g_free(word);
        return true;
    case 'S':
        *value = json_object_new_string(*p);
        *p += strlen(*p);
        return true;
    case 'i':
    case 'l':
    case 'M':
        return parse_int(spec, p, value, errp);
    case 'o':
        return parse_size(p, value, errp);
    case 'T':
        return parse_time(p, value, errp);
    case 'b':
        return parse_bool_word(p, value, errp);
    default:
        g_assert_not_reached();
    }
}

static bool parse_arg(const ArgSpec *spec, const char **p, json_object *args,
                      Error **errp)
{
    json_object *value = NULL;

    skip_blanks(p);
    if (spec->type == '/') {
        return parse_format(p, args, errp);
    }
    if (!**p) {
        if (!spec->optional) {
            error_setg(errp, "parameter '%s' is missing", spec->name);
        }
        return spec->optional;
    }
    if (!parse_value(spec, p, &value, errp)) {
        error_prepend(errp, "parameter '%s': ", spec->name);
        return false;
    }
    json_object_object_add(args, spec->name, value);
    return true;
}

static void arg_spec_clear(gpointer data)
{
    g_free(((ArgSpec *)data)->name);
}

json_object *hmp_parse_args(const char *args_type, const char *text,
                            Error **errp)
{
    ERRP_GUARD();
    g_autoptr(GArray) flags = g_array_new(FALSE, FALSE, sizeof(ArgSpec));
    json_object *args = json_object_new_object();
    ArgSpec spec;
    const char *p = text;
    bool ok = true;

    g_array_set_clear_func(flags, arg_spec_clear);
    while (ok && next_spec(&args_type, &spec)) {
        if (spec.type == '-') {
            g_array_append_val(flags, spec);
            continue;
        }
        ok = parse_flags(flags, &p, args, errp) &&
             parse_arg(&spec, &p, args, errp);
        g_array_set_size(flags, 0);
        g_free(spec.name);
    }
    ok = ok && parse_flags(flags, &p, args, errp);
    skip_blanks(&p);
    if (ok && *p) {
        error_setg(errp, "extraneous characters at the end of line");
        ok = false;
    }
    if (!ok) {
        json_object_put(args);
        return NULL;
    }
    return args;
}

static void sort_specs(const char *args_type, GArray *flags, GArray *rest)
{
    ArgSpec spec;

    while (next_spec(&args_type, &spec)) {
        g_array_append_val(spec.type == '-' ? flags : rest, spec);
    }
}

char hmp_next_arg(const char *args_type, const char *const *words, unsigned n,
                  GPtrArray *before, char **flags)
{
    g_autoptr(GArray) options = g_array_new(FALSE, FALSE, sizeof(ArgSpec));
    g_autoptr(GArray) rest = g_array_new(FALSE, FALSE, sizeof(ArgSpec));
    GString *letters = g_string_new(NULL);
    guint at = 0;
    bool value = false; /* the next word belongs to an option */

    g_array_set_clear_func(options, arg_spec_clear);
    g_array_set_clear_func(rest, arg_spec_clear);
    sort_specs(args_type, options, rest);
    for (guint i = 0; i < options->len; i++) {
        g_string_append_c(letters, g_array_index(options, ArgSpec, i).flag);
    }
    *flags = g_string_free(letters, FALSE);
    for (unsigned i = 0; i < n; i++) {
        const ArgSpec *option = match_flag(options, words[i]);
        char type = at < rest->len ? g_array_index(rest, ArgSpec, at).type : 0;

        if (value || option) {
            value = !value && option->flag_string;
            continue;
        }
        g_ptr_array_add(before, (gpointer)words[i]);
        at += type != 'S'; /* that is all the line */
    }
    return value || at >= rest->len ? 0 : g_array_index(rest, ArgSpec, at).type;
}
