/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON writer: see json-writer.h for the contract.
 */
#include "qemu/osdep.h"

#include "vmstate/json-writer.h"

struct JSONWriter {
    GString *text;
    bool need_comma; /* the next value has a sibling before it */
};

JSONWriter *json_writer_new(void)
{
    JSONWriter *w = g_new0(JSONWriter, 1);

    w->text = g_string_new(NULL);
    return w;
}

void json_writer_free(JSONWriter *w)
{
    if (w) {
        g_string_free(w->text, true);
        g_free(w);
    }
}

const char *json_writer_get(JSONWriter *w, size_t *len)
{
    if (len) {
        *len = w->text->len;
    }
    return w->text->str;
}

static void put_string(GString *text, const char *s)
{
    g_string_append_c(text, '"');
    while (*s) {
        gunichar c = g_utf8_get_char_validated(s, -1);

        if (c == (gunichar)-1 || c == (gunichar)-2) {
            g_string_append(text, "\\uFFFD");
            s++;
            continue;
        }
        s = g_utf8_next_char(s);
        if (c == '"' || c == '\\') {
            g_string_append_printf(text, "\\%c", (char)c);
        } else if (c >= 0x20 && c < 0x7f) {
            g_string_append_c(text, (char)c);
        } else if (c > 0xffff) {
            g_string_append_printf(text, "\\u%04X\\u%04X",
                                   0xd800 + ((c - 0x10000) >> 10),
                                   0xdc00 + ((c - 0x10000) & 0x3ff));
        } else {
            g_string_append_printf(text, "\\u%04X", c);
        }
    }
    g_string_append_c(text, '"');
}

/* Separator and key of the next value. */
static GString *begin(JSONWriter *w, const char *name)
{
    if (w->need_comma) {
        g_string_append(w->text, ", ");
    }
    if (name) {
        put_string(w->text, name);
        g_string_append(w->text, ": ");
    }
    w->need_comma = true;
    return w->text;
}

static void open_bracket(JSONWriter *w, const char *name, char c)
{
    if (w) {
        g_string_append_c(begin(w, name), c);
        w->need_comma = false;
    }
}

static void close_bracket(JSONWriter *w, char c)
{
    if (w) {
        g_string_append_c(w->text, c);
        w->need_comma = true;
    }
}

void json_writer_start_object(JSONWriter *w, const char *name)
{
    open_bracket(w, name, '{');
}

void json_writer_end_object(JSONWriter *w)
{
    close_bracket(w, '}');
}

void json_writer_start_array(JSONWriter *w, const char *name)
{
    open_bracket(w, name, '[');
}

void json_writer_end_array(JSONWriter *w)
{
    close_bracket(w, ']');
}

void json_writer_str(JSONWriter *w, const char *name, const char *value)
{
    if (w) {
        put_string(begin(w, name), value);
    }
}

void json_writer_int64(JSONWriter *w, const char *name, int64_t value)
{
    if (w) {
        g_string_append_printf(begin(w, name), "%" PRId64, value);
    }
}

void json_writer_bool(JSONWriter *w, const char *name, bool value)
{
    if (w) {
        g_string_append(begin(w, name), value ? "true" : "false");
    }
}
