/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QMP's JSON text: as its clients have always seen it.
 *
 *   {"return": {"a": 1, "b": [1, 2]}, "id": "x"}
 *
 * One blank after ':' and ',', none inside brackets; pretty: a line for each
 * member, indented by 4. ASCII only: other characters are \uXXXX, so that no
 * transport can mangle them. Doubles have as many digits as they need.
 */
#include "qemu/osdep.h"

#include <math.h>

#include "monitor-int.h"

static void append_char(GString *out, gunichar c)
{
    static const char plain[] = "\"\\\b\f\n\r\t";
    static const char letter[] = "\"\\bfnrt";
    const char *p = c && c < 128 ? strchr(plain, (int)c) : NULL;

    if (p) {
        g_string_append_c(out, '\\');
        g_string_append_c(out, letter[p - plain]);
    } else if (c >= 0x20 && c < 0x7f) {
        g_string_append_c(out, (char)c);
    } else if (c < 0x10000) {
        g_string_append_printf(out, "\\u%04X", c);
    } else {
        c -= 0x10000;
        g_string_append_printf(out, "\\u%04X\\u%04X", 0xd800 + (c >> 10),
                               0xdc00 + (c & 0x3ff));
    }
}

static void append_string(GString *out, const char *s, size_t len)
{
    const char *end = s + len;

    g_string_append_c(out, '"');
    while (s < end) {
        gunichar c = *s ? g_utf8_get_char_validated(s, end - s) : 0;

        if (c == (gunichar)-1 || c == (gunichar)-2) {
            append_char(out, 0xfffd); /* no UTF-8: a stand-in */
            s++;
        } else {
            append_char(out, c);
            s += c ? g_unichar_to_utf8(c, NULL) : 1;
        }
    }
    g_string_append_c(out, '"');
}

static void append_double(GString *out, double d)
{
    char buf[G_ASCII_DTOSTR_BUF_SIZE];

    if (!isfinite(d)) {
        d = 0; /* JSON has no word for it */
    }
    for (int digits = 15; digits <= 17; digits++) {
        char fmt[8];

        snprintf(fmt, sizeof(fmt), "%%.%dg", digits);
        g_ascii_formatd(buf, sizeof(buf), fmt, d);
        if (g_ascii_strtod(buf, NULL) == d) {
            break;
        }
    }
    g_string_append(out, buf);
}

/* Between two elements, and after a bracket; @level -1: not pretty. */
static void append_break(GString *out, int level, bool between)
{
    if (level >= 0) {
        g_string_append_c(out, '\n');
        g_string_append_printf(out, "%*s", level * 4, "");
    } else if (between) {
        g_string_append_c(out, ' ');
    }
}

static void append_value(GString *out, json_object *v, int level);

static void append_object(GString *out, json_object *v, int level)
{
    int inner = level >= 0 ? level + 1 : -1;
    bool first = true;

    g_string_append_c(out, '{');
    json_object_object_foreach(v, key, value)
    {
        if (!first) {
            g_string_append_c(out, ',');
        }
        append_break(out, inner, !first);
        append_string(out, key, strlen(key));
        g_string_append(out, ": ");
        append_value(out, value, inner);
        first = false;
    }
    if (!first) {
        append_break(out, level, false);
    }
    g_string_append_c(out, '}');
}

static void append_array(GString *out, json_object *v, int level)
{
    int inner = level >= 0 ? level + 1 : -1;
    size_t n = json_object_array_length(v);

    g_string_append_c(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) {
            g_string_append_c(out, ',');
        }
        append_break(out, inner, i);
        append_value(out, json_object_array_get_idx(v, i), inner);
    }
    if (n) {
        append_break(out, level, false);
    }
    g_string_append_c(out, ']');
}

static void append_value(GString *out, json_object *v, int level)
{
    switch (json_object_get_type(v)) {
    case json_type_object:
        append_object(out, v, level);
        break;
    case json_type_array:
        append_array(out, v, level);
        break;
    case json_type_string:
        append_string(out, json_object_get_string(v),
                      json_object_get_string_len(v));
        break;
    case json_type_double:
        append_double(out, json_object_get_double(v));
        break;
    default: /* null, boolean, int: as json-c writes them */
        g_string_append(out, json_object_to_json_string(v));
        break;
    }
}

GString *qmp_json_line(json_object *v, bool pretty)
{
    GString *out = g_string_new(NULL);

    append_value(out, v, pretty ? 0 : -1);
    g_string_append_c(out, '\n');
    return out;
}
