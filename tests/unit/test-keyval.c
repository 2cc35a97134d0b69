/* SPDX-License-Identifier: GPL-2.0-or-later */
/* KEY=VALUE,... options: include/qapi/keyval.h. */
#include "qemu/osdep.h"

#include "qapi/json.h"
#include "qapi/keyval.h"

typedef struct Case {
    const char *params, *implied_key;
    const char *want;  /* JSON; or NULL, then: */
    const char *words; /* of the error */
} Case;

static const Case cases[] = {
    { "", NULL, "{}" },
    { "a=1", NULL, "{'a':'1'}" },
    { "a=1,", NULL, "{'a':'1'}" },
    { "a=,b=", NULL, "{'a':'','b':''}" },
    { "a=x=y", NULL, "{'a':'x=y'}" },
    { "a=1,,2,b=,,", NULL, "{'a':'1,2','b':','}" },
    { "a=1,a=2", NULL, "{'a':'2'}" },
    { "virt,gic-version=3", "type", "{'type':'virt','gic-version':'3'}" },
    { "virt,", "type", "{'type':'virt'}" },
    { "x,,y,b=1", "path", "{'path':'x,y','b':'1'}" },
    { "b=1", "type", "{'b':'1'}" },
    { "a.b.c=1,a.d=2", NULL, "{'a':{'b':{'c':'1'},'d':'2'}}" },
    { "a.1=y,a.0=x", NULL, "{'a':['x','y']}" },
    { "a.0.b=1,a.1.b=2", NULL, "{'a':[{'b':'1'},{'b':'2'}]}" },
    { "a.0.0=1", NULL, "{'a':[['1']]}" },
    { "a.b=1,a.b=2", NULL, "{'a':{'b':'2'}}" },
    { "help,,x", "type", "{'type':'help,x'}" },
    /* Refused. */
    { "a", NULL, NULL, "Expected '=' after parameter 'a'" },
    { "a=1,b", "type", NULL, "Expected '=' after parameter 'b'" },
    { "=1", NULL, NULL, "Invalid parameter ''" },
    { ",a=1", NULL, NULL, "Expected '='" },
    { "a..b=1", NULL, NULL, "Invalid parameter 'a..b'" },
    { ".a=1", NULL, NULL, "Invalid parameter '.a'" },
    { "a.=1", NULL, NULL, "Invalid parameter 'a.'" },
    { "0=1", NULL, NULL, "Invalid parameter '0'" },
    { "1a=1", NULL, NULL, "Invalid parameter '1a'" },
    { "a b=1", NULL, NULL, "Invalid parameter 'a b'" },
    { "a.00=1", NULL, NULL, "Invalid parameter 'a.00'" },
    { "a.1=1", NULL, NULL, "Parameter 'a.0' missing" },
    { "a.0=1,a.2=1", NULL, NULL, "Parameter 'a.1' missing" },
    { "a.999999999=1", NULL, NULL, "Parameter 'a.0' missing" },
    { "a.99999999999999999999=1", NULL, NULL, "Invalid parameter" },
    { "a.b.2=1", NULL, NULL, "Parameter 'a.b.0' missing" },
    { "a.0=1,a.b=1", NULL, NULL, "'a.*' used inconsistently" },
    { "a=1,a.b=1", NULL, NULL, "used inconsistently" },
    { "a.b=1,a=1", NULL, NULL, "used inconsistently" },
    { "help", NULL, NULL, "Help is not available" },
};

static void test_cases(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const Case *c = &cases[i];
        Error *err = NULL;
        g_autoptr(json_object)
            v = keyval_parse(c->params, c->implied_key, NULL, &err);

        if (c->want) {
            g_autoptr(json_object)
                want = qobject_from_json(c->want, &error_abort);

            if (err || !json_object_equal(v, want)) {
                g_error("%s: %s", c->params,
                        err ? error_get_pretty(err)
                            : json_object_to_json_string(v));
            }
        } else if (v || !strstr(error_get_pretty(err), c->words)) {
            g_error("%s: %s", c->params,
                    v ? json_object_to_json_string(v) : error_get_pretty(err));
        }
        error_free(err);
    }
}

static void test_help(void)
{
    static const char *const asks[] = { "help",      "?",        "a=1,help",
                                        "virt,help", "help,a=1", "a=1,?,b=2" };
    bool help;

    for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
        g_autoptr(json_object) G_GNUC_UNUSED v = keyval_parse(
            asks[i], "type", &help, &error_abort);

        g_assert_true(help);
    }
    {
        g_autoptr(json_object)
            G_GNUC_UNUSED v = keyval_parse("a=help", NULL, &help, &error_abort);

        g_assert_false(help);
    }
}

static void test_depth(void)
{
    g_autoptr(GString) s = g_string_new("a");
    Error *err = NULL;

    for (int i = 0; i < 100000; i++) {
        g_string_append(s, ".a");
    }
    g_string_append(s, "=1");
    g_assert_null(keyval_parse(s->str, NULL, NULL, &err));
    error_free(err);
}

static void test_merge(void)
{
    g_autoptr(json_object) dst = keyval_parse("virt,gic-version=2,a.b=1,l.0=x",
                                              "type", NULL, &error_abort);
    g_autoptr(json_object) want = qobject_from_json(
        "{'type':'virt','gic-version':'3','a':{'b':'1','c':'2'},"
        "'l':['x','y'],'usb':'off'}",
        &error_abort);
    Error *err = NULL;

    g_assert_true(keyval_parse_into(dst, "gic-version=3,usb=off,a.c=2,l.0=y",
                                    "type", NULL, &error_abort));
    g_assert_true(json_object_equal(dst, want));
    g_assert_false(keyval_parse_into(dst, "a=1", NULL, NULL, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "'a'"));
    error_free(err);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/keyval/cases", test_cases);
    g_test_add_func("/keyval/help", test_help);
    g_test_add_func("/keyval/depth", test_depth);
    g_test_add_func("/keyval/merge", test_merge);
    return g_test_run();
}
