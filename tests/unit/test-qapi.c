/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Generated code and the QAPI engine: include/qapi/qapi-types-support.h. */
#include "qemu/osdep.h"

#include "qapi/json.h"
#include "qapi/keyval.h"
#include "qapi/qapi-commands-test-schema.h"
#include "qapi/qapi-events-test-schema.h"
#include "qemu/qmp-event.h"

static json_object *json(const char *text)
{
    return qobject_from_json(text, &error_abort);
}

/* @v is @text, up to spelling. */
static void assert_json(json_object *v, const char *text)
{
    g_autoptr(json_object) want = json(text);
    g_autofree char *a = qobject_to_json(v);
    g_autofree char *b = qobject_to_json(want);

    g_assert_cmpstr(a, ==, b);
}

/* @text is refused as TestAll's or @type's value, with words like @words. */
static void assert_refused(const QapiType *type, QapiInput input,
                           const char *text, const char *words)
{
    g_autoptr(json_object) v = json(text);
    Error *err = NULL;
    QapiSlot slot = { .u = 0x5a5a };

    if (qapi_value_from_json(type, v, NULL, input, &slot, &err)) {
        g_error("accepted: %s", text);
    }
    g_assert_cmphex(slot.u, ==, 0x5a5a); /* untouched */
    if (!strstr(error_get_pretty(err), words)) {
        g_error("%s: '%s' instead of '%s'", text, error_get_pretty(err), words);
    }
    error_free(err);
}

#define REFUSED(T, text, words) \
    assert_refused(&qapi_##T##_type, QAPI_INPUT_JSON, text, words)
#define REFUSED_KEYVAL(T, text, words) \
    assert_refused(&qapi_##T##_type, QAPI_INPUT_KEYVAL, text, words)

/* --------------------------------------------------------------- input */

static void test_scalars(void)
{
    g_autoptr(json_object) v = json(
        "{'s':'x','i':-9223372036854775808,'i8':-128,'i16':-32768,"
        "'i32':2147483647,'i64':9223372036854775807,'u8':255,'u16':65535,"
        "'u32':4294967295,'u64':18446744073709551615,"
        "'size':18446744073709551615,'n':-0.5,'b':true,'any':null,"
        "'colour':'dark-green'}");
    g_autoptr(TestScalars)
        t = qapi_TestScalars_from_json(v, NULL, &error_abort);
    g_autoptr(TestScalars) copy = qapi_TestScalars_clone(t);
    g_autoptr(json_object) back = qapi_TestScalars_to_json(copy);

    g_assert_cmpstr(t->s, ==, "x");
    g_assert_cmpint(t->i, ==, INT64_MIN);
    g_assert_cmpint(t->i8, ==, -128);
    g_assert_cmpint(t->i16, ==, INT16_MIN);
    g_assert_cmpint(t->i32, ==, INT32_MAX);
    g_assert_cmpint(t->i64, ==, INT64_MAX);
    g_assert_cmpuint(t->u8, ==, 255);
    g_assert_cmpuint(t->u16, ==, 65535);
    g_assert_cmpuint(t->u32, ==, UINT32_MAX);
    g_assert_cmpuint(t->u64, ==, UINT64_MAX);
    g_assert_cmpuint(t->size, ==, UINT64_MAX);
    g_assert_cmpfloat(t->n, ==, -0.5);
    g_assert_true(t->b && t->has_b);
    g_assert_null(t->any);
    g_assert_cmpint(t->colour, ==, TEST_COLOUR_DARK_GREEN);

    /* An optional "any" that is null can't be told from an absent one. */
    json_object_object_del(v, "any");
    g_assert_true(json_object_equal(v, back));
}

static void test_absent(void)
{
    g_autoptr(json_object) v = json("{}");
    g_autoptr(TestScalars)
        t = qapi_TestScalars_from_json(v, NULL, &error_abort);
    g_autoptr(json_object) back = qapi_TestScalars_to_json(t);

    g_assert_false(t->has_i || t->has_u8 || t->has_b || t->has_colour);
    g_assert_null(t->s);
    assert_json(back, "{}");
}

static void test_range(void)
{
    REFUSED(TestScalars, "{'i8':128}",
            "'i8' expects an integer from -128 to "
            "127");
    REFUSED(TestScalars, "{'i8':-129}", "-128");
    REFUSED(TestScalars, "{'i16':32768}", "32767");
    REFUSED(TestScalars, "{'i32':-2147483649}", "-2147483648");
    REFUSED(TestScalars, "{'i64':9223372036854775808}", "9223372036854775807");
    REFUSED(TestScalars, "{'i64':18446744073709551615}", "expects an integer");
    REFUSED(TestScalars, "{'u8':256}", "from 0 to 255");
    REFUSED(TestScalars, "{'u16':-1}", "from 0 to 65535");
    REFUSED(TestScalars, "{'u32':4294967296}", "from 0 to 4294967295");
    REFUSED(TestScalars, "{'u64':-1}", "from 0 to 18446744073709551615");
    REFUSED(TestScalars, "{'size':-1}", "from 0 to");
    /* Beyond 64 bits it is a double, and no integer. */
    REFUSED(TestScalars, "{'u64':18446744073709551616}", "expected: integer");
}

static void test_wrong_type(void)
{
    REFUSED(TestScalars, "[]", "expected: object");
    REFUSED(TestScalars, "null", "expected: object");
    REFUSED(TestScalars, "{'i':1.0}",
            "Invalid parameter type for 'i', expected: integer");
    REFUSED(TestScalars, "{'i':'1'}", "'i', expected: integer");
    REFUSED(TestScalars, "{'s':1}", "'s', expected: string");
    REFUSED(TestScalars, "{'s':null}", "'s', expected: string");
    REFUSED(TestScalars, "{'b':1}", "'b', expected: boolean");
    REFUSED(TestScalars, "{'n':'1'}", "'n', expected: number");
    REFUSED(TestScalars, "{'colour':1}", "'colour', expected: string");
    REFUSED(TestScalars, "{'colour':'pink'}",
            "'colour' does not accept value 'pink'; accepted: red, dark-green, "
            "blue");
    REFUSED(TestPolygon, "{'corners':{}}", "'corners', expected: array");
}

static void test_members(void)
{
    REFUSED(TestPoint, "{'x':1}", "Parameter 'y' is missing");
    REFUSED(TestPoint, "{'x':1,'y':2,'z':3}", "Parameter 'z' is unexpected");
    REFUSED(TestPoint, "{'x':1,'y':null}", "'y', expected: integer");
    REFUSED(TestShape, "{'colour':'red'}", "Parameter 'kind' is missing");
    REFUSED(TestShape, "{'kind':'circle','radius':1}", "'centre' is missing");
    /* A member of another branch is not one of this. */
    REFUSED(TestShape, "{'kind':'nothing','radius':1}",
            "'radius' is unexpected");
}

static void test_paths(void)
{
    REFUSED(TestAll, "{'scalars':{'u8':-1}}", "'scalars.u8'");
    REFUSED(TestAll,
            "{'scalars':{},'outer':{'type':'shape','kind':'polygon','corners':"
            "[{'x':1,'y':2},{'x':1,'y':'2'}]}}",
            "'outer.corners[1].y'");
    REFUSED(TestAll,
            "{'scalars':{},'outer':{'type':'point','x':1,'y':2,"
            "'name':'n','kind':'circle'}}",
            "'outer.kind' is unexpected");
    REFUSED(TestAll, "{'scalars':{},'alternates':[1,'x']}",
            "'alternates[1]', expected: TestAlternate");
    REFUSED(TestAll, "{'scalars':{},'alternates':[{'x':1}]}",
            "'alternates[0].y' is missing");
    REFUSED(TestAll, "{'scalars':{},'alternates':[],'numbers':[0,65536]}",
            "'numbers[1]'");
}

static void test_name_in_path(void)
{
    g_autoptr(json_object) v = json("{'x':'no'}");
    Error *err = NULL;

    g_assert_null(qapi_TestPoint_from_json(v, "where", &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "'where.x'"));
    error_free(err);
    /* No one need want to know. */
    g_assert_null(qapi_TestPoint_from_json(v, "where", NULL));
}

static const char everything[] =
    "{'scalars':{'s':'\\u20ac','n':0.1,'any':{'a':[1,null]}},"
    "'outer':{'type':'shape','kind':'polygon','colour':'blue',"
    "'corners':[{'x':-1,'y':2},{'x':3,'y':4}]},"
    "'alternates':[7,true,{'x':1,'y':2},['a','b'],null],"
    "'numbers':[1,65535],'flags':[true,false],'colours':['blue','red'],"
    "'maybe':[]}";

static void test_roundtrip(void)
{
    g_autoptr(json_object) v = json(everything);
    g_autoptr(TestAll) t = qapi_TestAll_from_json(v, NULL, &error_abort);
    g_autoptr(TestAll) copy = qapi_TestAll_clone(t);
    g_autoptr(json_object) back = qapi_TestAll_to_json(t);
    g_autoptr(json_object) back2 = qapi_TestAll_to_json(copy);
    TestOuter *outer = t->outer;

    assert_json(back, everything);
    assert_json(back2, everything);
    g_assert_cmpint(outer->type, ==, TEST_OUTER_KIND_SHAPE);
    g_assert_cmpint(outer->u.shape.kind, ==, TEST_SHAPE_KIND_POLYGON);
    g_assert_cmpint(outer->u.shape.u.polygon.corners->next->value->x, ==, 3);
    g_assert_cmpint(t->alternates->value->type, ==, QTYPE_QNUM);
    g_assert_cmpint(t->alternates->value->u.number, ==, 7);
    g_assert_cmpuint(t->numbers->next->value, ==, 65535);
    g_assert_cmpint(QAPI_LIST_LENGTH(t->alternates), ==, 5);
    g_assert_true(t->has_maybe && !t->maybe);
}

/* Cut the value short at every depth: whatever is refused leaks nothing
 * (address sanitizer) and leaves nothing behind. */
static void test_every_member_missing(void)
{
    g_autoptr(json_object) v = json(everything);

    json_object_object_foreach(v, key, unused)
    {
        g_autoptr(json_object) less = json(everything);
        TestAll *t;

        (void)unused;
        json_object_object_del(less, key);
        t = qapi_TestAll_from_json(less, NULL, NULL);
        g_assert_true(
            !t == !(strcmp(key, "outer") == 0 || strcmp(key, "maybe") == 0));
        qapi_free_TestAll(t);
    }
}

/* -------------------------------------------------------------- keyval */

static void test_keyval_scalars(void)
{
    g_autoptr(json_object) v = keyval_parse(
        "s=1,i=-0x10,u8=255,u64=18446744073709551615,size=1.5G,n=2.5e3,b=on,"
        "colour=blue",
        NULL, NULL, &error_abort);
    g_autoptr(TestScalars)
        t = qapi_TestScalars_from_keyval(v, NULL, &error_abort);

    g_assert_cmpstr(t->s, ==, "1");
    g_assert_cmpint(t->i, ==, -16);
    g_assert_cmpuint(t->u8, ==, 255);
    g_assert_cmpuint(t->u64, ==, UINT64_MAX);
    g_assert_cmpuint(t->size, ==, 3ull << 29);
    g_assert_cmpfloat(t->n, ==, 2500);
    g_assert_true(t->b);
    g_assert_cmpint(t->colour, ==, TEST_COLOUR_BLUE);
}

static void test_keyval_refused(void)
{
    REFUSED_KEYVAL(TestScalars, "{'i':''}", "'i', expected: integer");
    REFUSED_KEYVAL(TestScalars, "{'i':'1k'}", "'i', expected: integer");
    REFUSED_KEYVAL(TestScalars, "{'i':' 1'}", "'i', expected: integer");
    REFUSED_KEYVAL(TestScalars, "{'u8':'256'}", "from 0 to 255");
    REFUSED_KEYVAL(TestScalars, "{'u8':'-1'}", "from 0 to 255");
    REFUSED_KEYVAL(TestScalars, "{'u64':'18446744073709551616'}", "from 0 to");
    REFUSED_KEYVAL(TestScalars, "{'i64':'9223372036854775808'}", "from -");
    REFUSED_KEYVAL(TestScalars, "{'size':'1Q'}", "'size', expected: size");
    REFUSED_KEYVAL(TestScalars, "{'size':'16E'}", "'size'");
    REFUSED_KEYVAL(TestScalars, "{'size':'-1'}", "'size'");
    REFUSED_KEYVAL(TestScalars, "{'n':'x'}", "'n', expected: number");
    REFUSED_KEYVAL(TestScalars, "{'n':'inf'}", "'n', expected: number");
    REFUSED_KEYVAL(TestScalars, "{'b':'maybe'}", "'b'");
    REFUSED_KEYVAL(TestScalars, "{'b':{}}", "'b', expected: boolean");
}

static void test_keyval_nested(void)
{
    g_autoptr(json_object) v = keyval_parse(
        "shape,kind=polygon,corners.0.x=1,corners.0.y=2,corners.1.y=4,"
        "corners.1.x=3",
        "type", NULL, &error_abort);
    g_autoptr(TestOuter) t = qapi_TestOuter_from_keyval(v, NULL, &error_abort);
    g_autoptr(json_object) back = qapi_TestOuter_to_json(t);

    assert_json(back, "{'type':'shape','kind':'polygon','corners':"
                      "[{'x':1,'y':2},{'x':3,'y':4}]}");
}

static void test_keyval_alternate(void)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        { "{'x':'1','y':'2'}", "{'x':1,'y':2}" },
        { "['a']", "['a']" },
        { "'12'", "12" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        g_autoptr(json_object) v = json(cases[i].text);
        g_autoptr(TestAlternate)
            t = qapi_TestAlternate_from_keyval(v, NULL, &error_abort);
        g_autoptr(json_object) back = qapi_TestAlternate_to_json(t);

        assert_json(back, cases[i].json);
    }
}

/* ------------------------------------------------------------ commands */

static unsigned nothing_called;

void qmp_test_nothing(Error **errp)
{
    nothing_called++;
}

TestNamedPoint *qmp_test_move(TestPoint *point, bool has_by, int64_t by,
                              bool has_labels, strList *labels, Error **errp)
{
    TestNamedPoint *ret;

    if (has_by && by < 0) {
        error_set(errp, ERROR_CLASS_DEVICE_NOT_FOUND, "won't go back");
        return NULL;
    }
    ret = g_new0(TestNamedPoint, 1);
    ret->x = point->x + (has_by ? by : 1);
    ret->y = point->y;
    ret->name = g_strdup(labels ? labels->value : "none");
    return ret;
}

char *qmp_test_boxed(TestShape *arg, Error **errp)
{
    return g_strdup(TestShapeKind_str(arg->kind));
}

bool qmp_test_raw(json_object *args, json_object **ret, Error **errp)
{
    json_object *x;

    *ret = json_object_object_get_ex(args, "x", &x) ? json_object_get(x) : NULL;
    return true;
}

static json_object *call(const char *name, const char *args, Error **errp)
{
    g_autoptr(json_object) v = args ? json(args) : NULL;
    json_object *ret = NULL;
    bool ok = qmp_command_find(name)->marshal(v, &ret, errp);

    g_assert_true(ok || !ret);
    return ret;
}

static void test_commands(void)
{
    g_autoptr(json_object)
        moved = call("test-move", "{'point':{'x':1,'y':2},'labels':['a','b']}",
                     &error_abort);
    g_autoptr(json_object)
        kind = call("test-boxed", "{'kind':'nothing'}", &error_abort);
    g_autoptr(json_object) raw = call("test-raw", "{'x':[1]}", &error_abort);

    assert_json(moved, "{'x':2,'y':2,'name':'a'}");
    assert_json(kind, "'nothing'");
    assert_json(raw, "[1]");
    nothing_called = 0;
    g_assert_null(call("test-nothing", NULL, &error_abort));
    g_assert_null(call("test-nothing", "{}", &error_abort));
    g_assert_cmpuint(nothing_called, ==, 2);
}

static void test_commands_refuse(void)
{
    static const struct {
        const char *name, *args, *words;
    } cases[] = {
        { "test-nothing", "{'x':1}", "Parameter 'x' is unexpected" },
        { "test-move", "{}", "Parameter 'point' is missing" },
        { "test-move", "{'point':{'x':1}}", "Parameter 'point.y' is missing" },
        { "test-move", "{'point':{'x':1,'y':1},'by':-1}", "won't go back" },
        { "test-boxed", "{'kind':'circle'}", "'centre' is missing" },
    };

    nothing_called = 0;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        Error *err = NULL;

        g_assert_null(call(cases[i].name, cases[i].args, &err));
        g_assert_nonnull(strstr(error_get_pretty(err), cases[i].words));
        if (strstr(cases[i].words, "back")) {
            g_assert_cmpint(error_get_class(err), ==,
                            ERROR_CLASS_DEVICE_NOT_FOUND);
        }
        error_free(err);
    }
    g_assert_cmpuint(nothing_called, ==, 0);
}

static void test_table(void)
{
    g_assert_cmpuint(qmp_command_find("test-nothing")->flags, ==,
                     QCO_ALLOW_OOB);
    g_assert_cmpuint(qmp_command_find("test-boxed")->flags, ==,
                     QCO_ALLOW_PRECONFIG);
    g_assert_null(qmp_command_find("test-pending"));
    g_assert_null(qmp_command_find("test"));
}

/* -------------------------------------------------------------- events */

static void take_event(void *opaque, const char *name, json_object *event)
{
    GString *out = opaque;
    json_object *data = NULL;

    json_object_object_get_ex(event, "data", &data);
    g_string_append_printf(
        out, "%s %s;", name,
        data ? json_object_to_json_string_ext(data, JSON_C_TO_STRING_PLAIN)
             : "-");
}

static void test_events(void)
{
    g_autoptr(GString) out = g_string_new(NULL);
    QmpEventSink *sink = qmp_event_add_sink(take_event, out);
    TestPoint point = { .x = 1, .y = 2 };
    TestColourList colour = { .value = TEST_COLOUR_BLUE };

    qapi_event_send_test_plain();
    qapi_event_send_test_moved(&point, NULL, true, &colour);
    qapi_event_send_test_moved(&point, "so", false, NULL);
    qmp_event_remove_sink(sink);
    g_assert_cmpstr(out->str, ==,
                    "TEST_PLAIN -;"
                    "TEST_MOVED {\"where\":{\"x\":1,\"y\":2},\"colours\":"
                    "[\"blue\"]};"
                    "TEST_MOVED {\"where\":{\"x\":1,\"y\":2},\"why\":\"so\"};");
}

/* ------------------------------------------------------- introspection */

static json_object *find(json_object *schema, const char *name)
{
    for (size_t i = 0; i < json_object_array_length(schema); i++) {
        json_object *e = json_object_array_get_idx(schema, i);
        json_object *n = json_object_object_get(e, "name");

        if (strcmp(json_object_get_string(n), name) == 0) {
            return e;
        }
    }
    return NULL;
}

static const char *str_of(json_object *v, const char *name)
{
    return json_object_get_string(json_object_object_get(v, name));
}

static void test_introspection(void)
{
    g_autoptr(json_object) schema = json(qmp_schema_json);
    json_object *move = find(schema, "test-move");
    json_object *args = find(schema, str_of(move, "arg-type"));
    json_object *shape = find(schema,
                              str_of(find(schema, "test-boxed"), "arg-type"));
    json_object *member, *values;

    g_assert_null(find(schema, "test-pending"));
    g_assert_null(find(schema, "TestPoint")); /* names are masked */
    assert_json(
        json_object_object_get(find(schema, "test-nothing"), "allow-oob"),
        "true");
    assert_json(find(schema, "int"),
                "{'meta-type':'builtin','name':'int','json-type':'int'}");
    g_assert_cmpstr(str_of(find(schema, "TEST_PLAIN"), "meta-type"), ==,
                    "event");
    member = json_object_array_get_idx(json_object_object_get(args, "members"),
                                       1);
    assert_json(member, "{'name':'by','type':'int','default':null,"
                        "'features':['unstable']}");
    member = json_object_array_get_idx(json_object_object_get(args, "members"),
                                       2);
    g_assert_cmpstr(str_of(member, "type"), ==, "[str]");
    g_assert_cmpstr(str_of(find(schema, "[str]"), "element-type"), ==, "str");
    g_assert_cmpstr(str_of(shape, "tag"), ==, "kind");
    values = json_object_object_get(shape, "variants");
    g_assert_cmpint(json_object_array_length(values), ==, 3);
    member = find(schema, str_of(json_object_array_get_idx(values, 2), "type"));
    assert_json(json_object_object_get(member, "members"), "[]");
}

/* Every type that an entity names is there. */
static void test_introspection_closed(void)
{
    static const char *const refs[] = { "arg-type", "ret-type",
                                        "element-type" };
    g_autoptr(json_object) schema = json(qmp_schema_json);

    for (size_t i = 0; i < json_object_array_length(schema); i++) {
        json_object *e = json_object_array_get_idx(schema, i);
        json_object *members = json_object_object_get(e, "members");

        for (size_t r = 0; r < ARRAY_SIZE(refs); r++) {
            g_assert_true(!str_of(e, refs[r]) ||
                          find(schema, str_of(e, refs[r])));
        }
        for (size_t m = 0; members && m < json_object_array_length(members);
             m++) {
            json_object *member = json_object_array_get_idx(members, m);

            g_assert_true(!str_of(member, "type") ||
                          find(schema, str_of(member, "type")));
        }
    }
}

static void test_enum(void)
{
    Error *err = NULL;

    g_assert_cmpstr(TestColour_str(TEST_COLOUR_DARK_GREEN), ==, "dark-green");
    g_assert_cmpint(
        qapi_enum_parse(&TestColour_lookup, "blue", -1, &error_abort), ==,
        TEST_COLOUR_BLUE);
    g_assert_cmpint(qapi_enum_parse(&TestColour_lookup, NULL, 7, &error_abort),
                    ==, 7);
    g_assert_cmpint(qapi_enum_parse(&TestColour_lookup, "Blue", 7, &err), ==,
                    7);
    g_assert_nonnull(strstr(error_get_pretty(err), "red, dark-green, blue"));
    error_free(err);
}

static void test_lists(void)
{
    strList *list = NULL, **tail = &list;

    QAPI_LIST_APPEND(tail, g_strdup("b"));
    QAPI_LIST_APPEND(tail, g_strdup("c"));
    QAPI_LIST_PREPEND(list, g_strdup("a"));
    g_assert_cmpint(QAPI_LIST_LENGTH(list), ==, 3);
    g_assert_cmpstr(list->next->value, ==, "b");
    qapi_free_strList(list);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/qapi/input/scalars", test_scalars);
    g_test_add_func("/qapi/input/absent", test_absent);
    g_test_add_func("/qapi/input/range", test_range);
    g_test_add_func("/qapi/input/wrong-type", test_wrong_type);
    g_test_add_func("/qapi/input/members", test_members);
    g_test_add_func("/qapi/input/paths", test_paths);
    g_test_add_func("/qapi/input/name-in-path", test_name_in_path);
    g_test_add_func("/qapi/input/member-missing", test_every_member_missing);
    g_test_add_func("/qapi/roundtrip", test_roundtrip);
    g_test_add_func("/qapi/keyval/scalars", test_keyval_scalars);
    g_test_add_func("/qapi/keyval/refused", test_keyval_refused);
    g_test_add_func("/qapi/keyval/nested", test_keyval_nested);
    g_test_add_func("/qapi/keyval/alternate", test_keyval_alternate);
    g_test_add_func("/qapi/commands/call", test_commands);
    g_test_add_func("/qapi/commands/refuse", test_commands_refuse);
    g_test_add_func("/qapi/commands/table", test_table);
    g_test_add_func("/qapi/events", test_events);
    g_test_add_func("/qapi/introspection/form", test_introspection);
    g_test_add_func("/qapi/introspection/closed", test_introspection_closed);
    g_test_add_func("/qapi/enum", test_enum);
    g_test_add_func("/qapi/lists", test_lists);
    return g_test_run();
}
