/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading and writing JSON text: include/qapi/json.h. */
#include "qemu/osdep.h"

#include "qapi/json.h"

static void check_accepted(const char *text, const char *canonical)
{
    g_autoptr(json_object) v = NULL;
    g_autofree char *out = NULL;

    g_assert_true(json_parse(text, strlen(text), &v, &error_abort));
    out = qobject_to_json(v);
    g_assert_cmpstr(out, ==, canonical);
}

static void test_accepts(void)
{
    static const struct {
        const char *text, *canonical;
    } cases[] = {
        { "null", "null" },
        { " true ", "true" },
        { "-0", "0" },
        { "-9223372036854775808", "-9223372036854775808" },
        { "18446744073709551615", "18446744073709551615" },
        { "1e2", "1e2" },
        { "\"\"", "\"\"" },
        { "'it\\'s \"so\"'", "\"it's \\\"so\\\"\"" },
        { "\"\\ud83d\\ude00\\u20AC\"", "\"\xf0\x9f\x98\x80\xe2\x82\xac\"" },
        { "{\"b\":1,\t'a':[ ],\r\n\"\":{}}", "{\"b\":1,\"a\":[],\"\":{}}" },
        { "[[],[{}],1,\"x\",null]", "[[],[{}],1,\"x\",null]" },
        { "{'a':{'x':1},'b':{'x':1}}", "{\"a\":{\"x\":1},\"b\":{\"x\":1}}" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        check_accepted(cases[i].text, cases[i].canonical);
    }
}

static void test_exact_integers(void)
{
    g_autoptr(json_object)
        big = qobject_from_json("18446744073709551615", &error_abort);
    g_autoptr(json_object)
        beyond = qobject_from_json("18446744073709551616", &error_abort);

    g_assert_cmpuint(json_object_get_uint64(big), ==, UINT64_MAX);
    g_assert_true(json_object_is_type(beyond, json_type_double));
    g_assert_cmpfloat(json_object_get_double(beyond), ==,
                      18446744073709551616.0);
}

static void check_refused(const char *text, size_t len, const char *words)
{
    json_object *v = (void *)0x1;
    Error *err = NULL;

    if (json_parse(text, len, &v, &err)) {
        g_error("accepted: %s", text);
    }
    g_assert_true(v == (void *)0x1); /* untouched */
    if (!g_str_has_prefix(error_get_pretty(err), "JSON parse error, ") ||
        !strstr(error_get_pretty(err), words)) {
        g_error("%s: '%s' instead of '%s'", text, error_get_pretty(err), words);
    }
    error_free(err);
}

static void test_refuses(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        { "", "no value" },
        { "  ", "no value" },
        { "{", "ends within" },
        { "\"a", "ends within" },
        { "\"a\\", "ends within" },
        { "{]", "closes nothing" },
        { "]", "closes nothing" },
        { "{}}", "more text" },
        { "{} {}", "more text" },
        { "1 2", "more text" },
        { "1,2", "more text" },
        { ",", "invalid character" },
        { "{'a'}", "at offset" },
        { "{'a':}", "at offset" },
        { "{'a':1,}", "at offset" },
        { "{,}", "at offset" },
        { "{1:2}", "at offset" },
        { "[1,]", "at offset" },
        { "[1 2]", "at offset" },
        { "[,1]", "at offset" },
        { "[1:2]", "at offset" },
        { "{'a':1 'b':2}", "at offset" },
        { "nul", "keyword 'nul'" },
        { "True", "keyword 'True'" },
        { "NaN", "keyword 'NaN'" },
        { "[Infinity]", "keyword 'Infinity'" },
        { "-Infinity", "keyword '-Infinity'" },
        { "01", "keyword '01'" },
        { "1.", "keyword '1.'" },
        { ".5", "keyword '.5'" },
        { "+1", "keyword '+1'" },
        { "0x10", "keyword '0x10'" },
        { "1e", "keyword '1e'" },
        { "--1", "keyword '--1'" },
        { "1e999", "out of range" },
        { "-1e999", "out of range" },
        { "// x", "invalid character" },
        { "/* x */ 1", "invalid character" },
        { "#", "invalid character" },
        { "\"\\x41\"", "invalid escape" },
        { "\"\\u12g4\"", "invalid escape" },
        { "\"\\u0000\"", "\\u0000" },
        { "\"\\ud800\"", "surrogate" },
        { "\"\\ud800x\"", "surrogate" },
        { "\"\\ud800\\n\"", "surrogate" },
        { "\"\\ud800\\ud800\"", "surrogate" },
        { "\"\\udc00\"", "surrogate" },
        { "\"a\nb\"", "control character" },
        { "\"a\tb\"", "control character" },
        { "[\x01]", "control character" },
        { "\"\xc3\"", "UTF-8" },
        { "\"\xc0\x80\"", "UTF-8" },
        { "\"\xed\xa0\x80\"", "UTF-8" },
        { "\"\xf4\x90\x80\x80\"", "UTF-8" },
        { "\xc3\xa9", "invalid character" },
        { "{'a':1,'b':2,'a':3}", "twice" },
        { "{'a':1,'\\u0061':3}", "twice" },
        { "[{'x':{'a':1,'a':1}}]", "twice" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        check_refused(cases[i].text, strlen(cases[i].text), cases[i].words);
    }
    check_refused("1\0", 2, "");
    check_refused("[1,\0002]", 5, "control character");
}

static char *repeated(const char *what, size_t n, const char *tail)
{
    GString *s = g_string_new(NULL);

    while (n--) {
        g_string_append(s, what);
    }
    return g_string_free(g_string_append(s, tail), FALSE);
}

static void test_limits(void)
{
    g_autofree char *closing = repeated("]", JSON_MAX_DEPTH, "");
    g_autofree char *deep = repeated("[", JSON_MAX_DEPTH, closing);
    g_autofree char *deeper = repeated("[", JSON_MAX_DEPTH + 1, "");
    g_autofree char *many = repeated("0,", JSON_MAX_TOKENS / 2, "0]");
    g_autofree char *too_many = g_strconcat("[", many, NULL);
    g_autofree char *spaces = g_malloc(JSON_MAX_BYTES + 2);
    g_autoptr(json_object) v = NULL;

    g_assert_true(json_parse(deep, strlen(deep), &v, &error_abort));
    check_refused(deeper, strlen(deeper), "nested too deeply");
    check_refused(too_many, strlen(too_many), "too many tokens");
    memset(spaces, 'x', JSON_MAX_BYTES + 2);
    spaces[0] = '"';
    check_refused(spaces, JSON_MAX_BYTES + 2, "too long");
}

/* Doubles come back as they were, and no longer than they need be. */
static void test_doubles(void)
{
    check_accepted("0.1", "0.1");
    check_accepted("[1.5,-2e-3]", "[1.5,-2e-3]");
}

/* -------------------------------------------------------------- stream */

static void note(void *opaque, json_object *v, Error *err)
{
    GString *out = opaque;

    g_string_append(
        out,
        err ? "!" : json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN));
    g_string_append_c(out, ' ');
    json_object_put(v);
    error_free(err);
}

/* What comes out of @text when fed in pieces of @step bytes. */
static char *stream(const char *text, size_t step)
{
    GString *out = g_string_new(NULL);
    g_autoptr(JSONMessageParser) p = json_message_parser_new(note, out);
    size_t len = strlen(text);

    for (size_t i = 0; i < len; i += step) {
        json_message_parser_feed(p, text + i, MIN(step, len - i));
    }
    json_message_parser_flush(p);
    return g_string_free(out, FALSE);
}

static void test_stream(void)
{
    static const struct {
        const char *text, *out;
    } cases[] = {
        { "{'a':1}{'b':2}\n", "{\"a\":1} {\"b\":2} " },
        { "[1]\n\n  2 'x'null true", "[1] 2 \"x\" null true " },
        { "1[2]", "1 [2] " },
        /* One error a bad value, and the next is good again. */
        { "{'a':bogus,'b':{'c':1}}{'d':1}", "! {\"d\":1} " },
        { "{'a':1,}{'d':1}", "! {\"d\":1} " },
        { "{]{'d':1}", "! {\"d\":1} " },
        { "{\xff{'d':1}", "! {\"d\":1} " },
        { "{'bad \xff{'d':1}", "! {\"d\":1} " },
        { "{\x01{'d':1}", "! {\"d\":1} " },
        { "{'execute':'x','id':'\n{'d':1}", "! {\"d\":1} " },
        { "%p\n{'d':1}", "! {\"d\":1} " },
        { "rubbish ]]] ,,, :\n{'d':1}", "! ! {\"d\":1} " },
        { "\xff\xff{'d':1}\xff", "{\"d\":1} " },
        { "12\xff", "12 " },
        { "{'a':", "! " },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        for (size_t step = 1; step <= 7; step++) {
            g_autofree char *out = stream(cases[i].text, step);

            g_assert_cmpstr(out, ==, cases[i].out);
        }
    }
}

/*
 * Whatever comes, a parser that is told 0xff and then given a good value
 * delivers it, as the last thing.
 */
static void test_stream_hostile(void)
{
    static const char alphabet[] = "{}[]:,\"'\\u0d8c 1-.etrfn\n\t\x01\x80\xff/";
    GString *out = g_string_new(NULL);
    g_autoptr(JSONMessageParser) p = json_message_parser_new(note, out);

    for (int round = 0; round < 20000; round++) {
        char buf[48];
        size_t len = g_test_rand_int_range(1, sizeof(buf));

        for (size_t i = 0; i < len; i++) {
            buf[i] = alphabet[g_test_rand_int_range(0, sizeof(alphabet))];
        }
        json_message_parser_feed(p, buf, len);
        json_message_parser_feed(p, "\xff", 1);
        g_string_truncate(out, 0);
        json_message_parser_feed(p, "{'ok':[1]}", 10);
        g_assert_cmpstr(out->str, ==, "{\"ok\":[1]} ");
    }
    g_string_free(out, TRUE);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/json/accepts", test_accepts);
    g_test_add_func("/json/exact-integers", test_exact_integers);
    g_test_add_func("/json/doubles", test_doubles);
    g_test_add_func("/json/refuses", test_refuses);
    g_test_add_func("/json/limits", test_limits);
    g_test_add_func("/json/stream/values", test_stream);
    g_test_add_func("/json/stream/hostile", test_stream_hostile);
    return g_test_run();
}
