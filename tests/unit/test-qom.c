/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The object model: include/qom/object.h and include/qom/user-creatable.h. */
#include "qemu/osdep.h"

#include "qapi/json.h"
#include "qapi/keyval.h"
#include "qapi/qapi-commands-qdev.h"
#include "qapi/qapi-commands-qom.h"
#include "qapi/qapi-types-common.h"
#include "qom/user-creatable.h"

/* ------------------------------------------------------- types for the test */

#define TYPE_SPEAKER "speaker"
typedef struct SpeakerClass {
    ObjectClass parent_class;
    const char *(*speak)(Object *obj);
} SpeakerClass;
DECLARE_CLASS_CHECKERS(SpeakerClass, SPEAKER, TYPE_SPEAKER)

#define TYPE_ANIMAL "animal"
OBJECT_DECLARE_TYPE(Animal, AnimalClass, ANIMAL)
struct Animal {
    Object parent_obj;
    bool tame;
    uint8_t legs;
    int32_t mood;
    uint64_t weight;
    char *call;
    OnOffAuto wild;
    Animal *friend;
    uint16List *sizes;
    unsigned order; /* of init and finalize */
};
struct AnimalClass {
    ObjectClass parent_class;
    unsigned inits;
};

#define TYPE_DOG "dog"
OBJECT_DECLARE_SIMPLE_TYPE(Dog, DOG)
struct Dog {
    Animal parent_obj;
    unsigned tricks;
    bool complete;
};

static GString *trail; /* what happened, in order */

static void animal_init(Object *obj)
{
    g_string_append(trail, "A+");
    g_assert_cmpuint(ANIMAL(obj)->legs, ==, 4); /* defaults are there */
}

static void animal_finalize(Object *obj)
{
    g_string_append(trail, "A-");
}

static const char *animal_speak(Object *obj)
{
    return "...";
}

static void animal_class_init(ObjectClass *klass, const void *data)
{
    SPEAKER_CLASS(klass)->speak = animal_speak;
    ANIMAL_CLASS(klass)->inits = 1;
}

static bool check_legs(Object *obj, const Property *prop, json_object *value,
                       Error **errp)
{
    if (json_object_get_int(value) % 2) {
        error_setg(errp, "an odd number of legs");
        return false;
    }
    return true;
}

static const Property animal_props[] = {
    DEFINE_PROP_BOOL("tame", Animal, tame, true),
    { .name = "legs",
      .type = &qapi_uint8_type,
      .offset = PROP_FIELD(Animal, legs, uint8_t),
      .check = check_legs,
      .set_default = true,
      .defval = { .u = 4 },
      .help = "how many" },
    DEFINE_PROP_INT32("mood", Animal, mood, -1),
    DEFINE_PROP_SIZE("weight", Animal, weight, 1024),
    DEFINE_PROP_STRING("call", Animal, call),
    DEFINE_PROP_ENUM("wild", Animal, wild, OnOffAuto, ON_OFF_AUTO_AUTO),
    DEFINE_PROP_LINK("friend", Animal, friend, TYPE_ANIMAL, Animal *),
    { .name = "sizes",
      .type = &qapi_uint16List_type,
      .offset = PROP_FIELD(Animal, sizes, uint16List *) },
    DEFINE_PROP_END_OF_LIST(),
};

static const char *const animal_interfaces[] = { TYPE_SPEAKER, NULL };

static void dog_init(Object *obj)
{
    g_string_append(trail, "D+");
}

static void dog_finalize(Object *obj)
{
    g_string_append(trail, "D-");
}

static const char *dog_speak(Object *obj)
{
    return "woof";
}

static bool dog_complete(UserCreatable *uc, Error **errp)
{
    Dog *dog = DOG((Object *)uc);

    if (!dog->parent_obj.tame) {
        error_setg(errp, "it bites");
        return false;
    }
    dog->complete = true;
    return true;
}

static bool dog_can_be_deleted(UserCreatable *uc)
{
    return DOG((Object *)uc)->tricks == 0;
}

static void dog_class_init(ObjectClass *klass, const void *data)
{
    g_assert_cmpstr(data, ==, "data");
    g_assert_cmpuint(ANIMAL_CLASS(klass)->inits, ==, 1); /* inherited */
    ANIMAL_CLASS(klass)->inits++;
    SPEAKER_CLASS(klass)->speak = dog_speak;
    USER_CREATABLE_CLASS(klass)->complete = dog_complete;
    USER_CREATABLE_CLASS(klass)->can_be_deleted = dog_can_be_deleted;
}

static json_object *get_tricks(Object *obj, const Property *prop, Error **errp)
{
    return json_object_new_int64(DOG(obj)->tricks);
}

static bool set_tricks(Object *obj, const Property *prop, json_object *value,
                       Error **errp)
{
    DOG(obj)->tricks = json_object_get_int(value);
    return true;
}

static bool set_secret(Object *obj, const Property *prop, json_object *value,
                       Error **errp)
{
    return true;
}

static const Property dog_props[] = {
    DEFINE_PROP_FN("tricks", &qapi_uint32_type, get_tricks, set_tricks,
                   .settable_after_realize = true),
    DEFINE_PROP_FN("age", &qapi_int_type, get_tricks, NULL, .read_only = true),
    DEFINE_PROP_FN("secret", &qapi_str_type, NULL, set_secret),
    DEFINE_PROP_END_OF_LIST(),
};

static const char *const dog_interfaces[] = { TYPE_USER_CREATABLE, NULL };

static const TypeInfo test_types[] = {
    /* A parent may come later. */
    { .name = TYPE_DOG,
      .parent = TYPE_ANIMAL,
      .instance_size = sizeof(Dog),
      .instance_init = dog_init,
      .instance_finalize = dog_finalize,
      .class_init = dog_class_init,
      .class_data = "data",
      .props = dog_props,
      .interfaces = dog_interfaces },
    { .name = TYPE_ANIMAL,
      .instance_size = sizeof(Animal),
      .class_size = sizeof(AnimalClass),
      .abstract = true,
      .instance_init = animal_init,
      .instance_finalize = animal_finalize,
      .class_init = animal_class_init,
      .props = animal_props,
      .interfaces = animal_interfaces },
    { .name = TYPE_SPEAKER,
      .parent = TYPE_INTERFACE,
      .class_size = sizeof(SpeakerClass),
      .abstract = true },
    { .name = "device", .abstract = true },
    { .name = "lamp", .parent = "device", .props = dog_props + 1 },
};

/* ------------------------------------------------------------- helpers */

/* The error has these words; take it away. */
static void expect(Error **errp, const char *words)
{
    if (!*errp || !strstr(error_get_pretty(*errp), words)) {
        g_error("'%s' instead of '%s'",
                *errp ? error_get_pretty(*errp) : "success", words);
    }
    error_free(*errp);
    *errp = NULL;
}

static void assert_value(Object *obj, const char *name, const char *text)
{
    g_autoptr(json_object) v = object_property_get(obj, name, &error_abort);
    g_autofree char *out = qobject_to_json(v);

    g_assert_cmpstr(out, ==, text);
}

static void set_json(Object *obj, const char *name, const char *text,
                     Error **errp)
{
    g_autoptr(json_object) v = qobject_from_json(text, &error_abort);
    bool ok = object_property_set(obj, name, v, errp);

    g_assert_true(ok == !*errp);
}

/* --------------------------------------------------------------- types */

static void test_classes(void)
{
    ObjectClass *dog = object_class_by_name(TYPE_DOG);
    ObjectClass *animal = object_class_by_name(TYPE_ANIMAL);

    g_assert_cmpstr(object_class_get_name(dog), ==, TYPE_DOG);
    g_assert_true(object_class_get_parent(dog) == animal);
    g_assert_true(object_class_is_abstract(animal));
    g_assert_false(object_class_is_abstract(dog));
    g_assert_null(object_class_by_name("cat"));
    g_assert_cmpuint(ANIMAL_CLASS(dog)->inits, ==, 2);
    g_assert_cmpuint(ANIMAL_CLASS(animal)->inits, ==, 1);
    /* An interface has methods per class, the derived one's its own. */
    g_assert_cmpstr(SPEAKER_CLASS(dog)->speak(NULL), ==, "woof");
    g_assert_cmpstr(SPEAKER_CLASS(animal)->speak(NULL), ==, "...");
    g_assert_null(object_class_dynamic_cast(animal, TYPE_USER_CREATABLE));
}

static void test_casts(void)
{
    g_autoptr(Object) dog = object_new(TYPE_DOG);

    g_assert_true(object_dynamic_cast(dog, TYPE_ANIMAL) == dog);
    g_assert_true(object_dynamic_cast(dog, TYPE_SPEAKER) == dog);
    g_assert_true(object_dynamic_cast(dog, TYPE_OBJECT) == dog);
    g_assert_null(object_dynamic_cast(dog, "lamp"));
    g_assert_null(object_dynamic_cast(NULL, TYPE_DOG));
    g_assert_cmpstr(SPEAKER_GET_CLASS(dog)->speak(dog), ==, "woof");
}

static void test_bad_cast_aborts(void)
{
    if (g_test_subprocess()) {
        OBJECT_CHECK(void, object_new(TYPE_DOG), "lamp");
        return;
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*'dog' is no 'lamp'*");
}

static void test_class_list(void)
{
    GSList *list = object_class_get_list(TYPE_ANIMAL, false);

    g_assert_cmpuint(g_slist_length(list), ==, 1);
    g_assert_cmpstr(object_class_get_name(list->data), ==, TYPE_DOG);
    g_slist_free(list);
    list = object_class_get_list(TYPE_SPEAKER, true);
    g_assert_cmpuint(g_slist_length(list), ==, 3); /* animal, dog, speaker */
    g_slist_free(list);
}

static void test_lifetime(void)
{
    Object *dog;

    g_string_truncate(trail, 0);
    dog = object_new(TYPE_DOG);
    object_ref(dog);
    object_unref(dog);
    g_assert_cmpstr(trail->str, ==, "A+D+");
    object_unref(dog);
    g_assert_cmpstr(trail->str, ==, "A+D+D-A-");
}

/* ---------------------------------------------------------- properties */

static void test_defaults(void)
{
    g_autoptr(Object) dog = object_new(TYPE_DOG);

    assert_value(dog, "tame", "true");
    assert_value(dog, "legs", "4");
    assert_value(dog, "mood", "-1");
    assert_value(dog, "weight", "1024");
    assert_value(dog, "call", "\"\"");
    assert_value(dog, "wild", "\"auto\"");
    assert_value(dog, "friend", "\"\"");
    assert_value(dog, "type", "\"dog\"");
    assert_value(dog, "sizes", "[]");
}

static void test_set(void)
{
    g_autoptr(Object) dog = object_new(TYPE_DOG);
    Error *err = NULL;

    set_json(dog, "tame", "false", &err);
    set_json(dog, "legs", "6", &err);
    set_json(dog, "weight", "18446744073709551615", &err);
    set_json(dog, "call", "'rex'", &err);
    set_json(dog, "call", "'max'", &err);
    set_json(dog, "wild", "'on'", &err);
    set_json(dog, "sizes", "[1,2]", &err);
    set_json(dog, "sizes", "[3]", &err);
    set_json(dog, "tricks", "3", &err);
    g_assert_null(err);
    g_assert_false(ANIMAL(dog)->tame);
    g_assert_cmpuint(ANIMAL(dog)->legs, ==, 6);
    g_assert_cmpuint(ANIMAL(dog)->weight, ==, UINT64_MAX);
    g_assert_cmpstr(ANIMAL(dog)->call, ==, "max");
    g_assert_cmpint(ANIMAL(dog)->wild, ==, ON_OFF_AUTO_ON);
    g_assert_cmpint(ANIMAL(dog)->sizes->value, ==, 3);
    g_assert_cmpuint(DOG(dog)->tricks, ==, 3);
}

static void test_set_refused(void)
{
    g_autoptr(Object) dog = object_new(TYPE_DOG);
    Error *err = NULL;

    set_json(dog, "colour", "1", &err);
    expect(&err, "Property 'dog.colour' not found");
    set_json(dog, "legs", "'4'", &err);
    expect(&err, "Invalid parameter type for 'legs', expected: integer");
    set_json(dog, "legs", "256", &err);
    expect(&err, "from 0 to 255");
    set_json(dog, "legs", "3", &err);
    expect(&err, "odd number");
    set_json(dog, "tame", "1", &err);
    expect(&err, "Invalid parameter type for 'tame', expected: boolean");
    set_json(dog, "wild", "'often'", &err);
    expect(&err, "accepted: auto, on, off");
    set_json(dog, "age", "1", &err);
    expect(&err, "Property 'dog.age' is not writable");
    set_json(dog, "type", "'cat'", &err);
    expect(&err, "not writable");
    set_json(dog, "sizes", "[65536]", &err);
    expect(&err, "'sizes[0]'");
    g_assert_null(object_property_get(dog, "secret", &err));
    expect(&err, "Property 'dog.secret' is not readable");
    assert_value(dog, "legs", "4");
}

static void test_parse(void)
{
    g_autoptr(Object) dog = object_new(TYPE_DOG);
    Error *err = NULL;

    g_assert_true(object_property_parse(dog, "tame", "off", &error_abort));
    g_assert_true(object_property_parse(dog, "legs", "0x2", &error_abort));
    g_assert_true(object_property_parse(dog, "weight", "2M", &error_abort));
    g_assert_true(object_property_parse(dog, "wild", "off", &error_abort));
    g_assert_true(object_property_parse(dog, "call", "12", &error_abort));
    assert_value(dog, "weight", "2097152");
    assert_value(dog, "call", "\"12\"");
    g_assert_cmpuint(ANIMAL(dog)->legs, ==, 2);
    g_assert_false(object_property_parse(dog, "tame", "2", &err));
    expect(&err, "'tame'");
    g_assert_false(object_property_parse(dog, "weight", "much", &err));
    expect(&err, "'weight'");
}

static void test_typed_access(void)
{
    g_autoptr(Object) dog = object_new(TYPE_DOG);
    g_autofree char *type = object_property_get_str(dog, "type", &error_abort);
    Error *err = NULL;

    g_assert_cmpstr(type, ==, "dog");
    g_assert_true(object_property_set_int(dog, "mood", -7, &error_abort));
    g_assert_cmpint(object_property_get_int(dog, "mood", &error_abort), ==, -7);
    g_assert_true(
        object_property_set_uint(dog, "weight", UINT64_MAX, &error_abort));
    g_assert_cmpuint(object_property_get_uint(dog, "weight", &error_abort), ==,
                     UINT64_MAX);
    g_assert_true(object_property_set_bool(dog, "tame", false, &error_abort));
    g_assert_false(object_property_get_bool(dog, "tame", &error_abort));
    g_assert_true(object_property_set_str(dog, "wild", "on", &error_abort));
    object_property_get_bool(dog, "mood", &err);
    expect(&err, "expected: boolean");
}

static void test_freeze(void)
{
    g_autoptr(Object) dog = object_new(TYPE_DOG);
    Error *err = NULL;

    object_freeze(dog);
    set_json(dog, "tricks", "2", &err);
    g_assert_null(err);
    set_json(dog, "tame", "false", &err);
    expect(&err, "'dog.tame' can't be set any more");
    g_assert_true(ANIMAL(dog)->tame);
}

/* ---------------------------------------------------------------- tree */

static Object *add_dog(Object *parent, const char *name)
{
    Object *dog = object_new(TYPE_DOG);

    object_property_add_child(parent, name, dog);
    object_unref(dog);
    return dog;
}

static void test_tree(void)
{
    Object *kennel = object_get_container("/yard/kennel");
    Object *a = add_dog(kennel, "dog[*]");
    Object *b = add_dog(kennel, "dog[*]");
    g_autofree char *path = object_get_canonical_path(b);
    g_autoptr(Object) stray = object_new(TYPE_DOG);
    bool ambiguous;

    g_assert_cmpstr(path, ==, "/yard/kennel/dog[1]");
    g_assert_null(object_get_canonical_path(stray));
    g_assert_cmpstr(object_get_canonical_path_component(a), ==, "dog[0]");
    g_assert_true(object_resolve_path("/yard/kennel/dog[0]", NULL) == a);
    g_assert_true(object_resolve_path("kennel/dog[0]", NULL) == a);
    g_assert_true(object_resolve_path("dog[1]", &ambiguous) == b);
    g_assert_false(ambiguous);
    g_assert_true(object_resolve_path("/", NULL) == object_get_root());
    g_assert_null(object_resolve_path("/yard/dog[0]", NULL));
    g_assert_null(object_resolve_path("cat", NULL));
    g_assert_null(object_resolve_path_type("dog[0]", "lamp", NULL));
    add_dog(object_get_container("/yard"), "dog[0]");
    g_assert_null(object_resolve_path("dog[0]", &ambiguous));
    g_assert_true(ambiguous);

    g_string_truncate(trail, 0);
    object_unparent(object_get_container("/yard")); /* and all below it */
    g_assert_cmpstr(trail->str, ==, "D-A-D-A-D-A-");
    g_assert_null(object_resolve_path("/yard", NULL));
}

static int count_child(Object *child, void *opaque)
{
    (*(unsigned *)opaque)++;
    return *(unsigned *)opaque == 3 ? 7 : 0;
}

static void test_child_foreach(void)
{
    Object *pack = object_get_container("/pack");
    unsigned n = 0;

    add_dog(pack, "a");
    add_dog(object_resolve_path("/pack/a", NULL), "pup");
    g_assert_cmpint(object_child_foreach(pack, count_child, &n), ==, 0);
    g_assert_cmpuint(n, ==, 1);
    g_assert_cmpint(object_child_foreach_recursive(pack, count_child, &n), ==,
                    7);
    object_unparent(pack);
}

static void test_links(void)
{
    Object *pack = object_get_container("/pack");
    Object *a = add_dog(pack, "a"), *b = add_dog(pack, "b");
    Object *weak = NULL;
    Error *err = NULL;

    set_json(a, "friend", "'/pack/b'", &err);
    assert_value(a, "friend", "\"/pack/b\"");
    g_assert_true(object_property_get_link(a, "friend", &error_abort) == b);
    g_assert_true(object_resolve_path("/pack/a/friend", NULL) == b);
    set_json(a, "friend", "'/pack/c'", &err);
    expect(&err, "'/pack/c' not found");
    set_json(a, "friend", "'/pack'", &err);
    expect(&err, "expected: animal");
    set_json(a, "friend", "1", &err);
    expect(&err, "expected: string");
    g_assert_false(object_property_set_link(a, "friend", pack, &err));
    expect(&err, "expected: animal");
    g_assert_true(object_property_set_link(a, "friend", NULL, &error_abort));
    assert_value(a, "friend", "\"\"");

    object_property_add_link(b, "boss", TYPE_DOG, &weak);
    set_json(b, "boss", "'a'", &err);
    g_assert_true(weak == a);
    object_property_add_alias(pack, "legs", a, "legs");
    set_json(pack, "legs", "8", &err);
    assert_value(a, "legs", "8");
    assert_value(pack, "legs", "8");
    g_assert_null(err);
    object_unparent(pack);
}

/* A link holds on to its target. */
static void test_link_keeps(void)
{
    Object *pack = object_get_container("/pack");
    Object *a = add_dog(pack, "a"), *b = add_dog(pack, "b");

    object_property_set_link(a, "friend", b, &error_abort);
    g_string_truncate(trail, 0);
    object_unparent(b);
    g_assert_cmpstr(trail->str, ==, "");
    object_unparent(pack);
    g_assert_cmpstr(trail->str, ==, "D-A-D-A-");
}

/* ------------------------------------------------------ user-creatable */

static Object *user_add(const char *text, Error **errp)
{
    g_autoptr(json_object) v = qobject_from_json(text, &error_abort);

    return user_creatable_add(v, false, errp);
}

static void test_user_creatable(void)
{
    Object *dog = user_add("{'qom-type':'dog','id':'rex','legs':2}",
                           &error_abort);
    g_autofree char *path = object_get_canonical_path(dog);
    Error *err = NULL;

    g_assert_true(DOG(dog)->complete);
    g_assert_cmpstr(path, ==, "/objects/rex");
    g_assert_cmpuint(ANIMAL(dog)->legs, ==, 2);
    set_json(dog, "legs", "4", &err);
    expect(&err, "can't be set any more");
    set_json(dog, "tricks", "1", &err);
    g_assert_false(user_creatable_del("rex", &err));
    expect(&err, "'rex' is in use");
    set_json(dog, "tricks", "0", &err);
    g_assert_true(user_creatable_del("rex", &error_abort));
    g_assert_false(user_creatable_del("rex", &err));
    expect(&err, "'rex' not found");
}

static void test_user_creatable_refused(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        { "{}", "'qom-type' is missing" },
        { "{'qom-type':1}", "'qom-type', expected: string" },
        { "{'qom-type':'dog'}", "'id' is missing" },
        { "{'qom-type':'cat','id':'a'}", "invalid object type: cat" },
        { "{'qom-type':'lamp','id':'a'}", "isn't supported by object-add" },
        { "{'qom-type':'animal','id':'a'}", "isn't supported" },
        { "{'qom-type':'dog','id':'1'}", "expects an identifier" },
        { "{'qom-type':'dog','id':'a/b'}", "expects an identifier" },
        { "{'qom-type':'dog','id':''}", "expects an identifier" },
        { "{'qom-type':'dog','id':'a','x':1}", "'dog.x' not found" },
        { "{'qom-type':'dog','id':'a','legs':1}", "odd" },
        { "{'qom-type':'dog','id':'a','tame':false}", "it bites" },
        { "{'qom-type':'dog','id':'taken'}", "'taken' already" },
    };
    Error *err = NULL;

    user_add("{'qom-type':'dog','id':'taken'}", &error_abort);
    g_string_truncate(trail, 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        g_assert_null(user_add(cases[i].text, &err));
        expect(&err, cases[i].words);
        g_assert_null(object_resolve_path("/objects/a", NULL));
    }
    /* What was made went away again. */
    g_assert_cmpstr(trail->str, ==, "A+D+D-A-A+D+D-A-A+D+D-A-");
    user_creatable_cleanup();
    g_assert_null(object_resolve_path("/objects/taken", NULL));
}

static void test_user_creatable_text(void)
{
    static const char *const texts[] = {
        "dog,id=rex,weight=1k,tame=on",
        "{'qom-type':'dog','id':'rex','weight':1024,'tame':true}",
    };
    bool keyval, help;
    Error *err = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        g_autoptr(json_object)
            v = user_creatable_parse(texts[i], &keyval, &help, &error_abort);
        Object *dog = user_creatable_add(v, keyval, &error_abort);

        g_assert_false(help);
        assert_value(dog, "weight", "1024");
        user_creatable_del("rex", &error_abort);
    }
    g_assert_null(user_creatable_parse("dog,id", &keyval, &help, &err));
    expect(&err, "Expected '='");
    g_assert_null(user_creatable_parse("{'a'", &keyval, &help, &err));
    expect(&err, "JSON parse error");
}

/* ------------------------------------------------------------- globals */

static void test_globals(void)
{
    g_autoptr(Object) dog = NULL;
    g_autoptr(Object) lamp = NULL;
    Error *err = NULL;

    object_register_global("animal", "legs", "2");
    object_register_global("animal", "weight", "1M");
    object_register_global("dog", "legs", "6");
    dog = object_new(TYPE_DOG);
    g_assert_true(object_apply_globals(dog, &error_abort));
    assert_value(dog, "legs", "6"); /* in order */
    assert_value(dog, "weight", "1048576");
    lamp = object_new("lamp");
    g_assert_true(object_apply_globals(lamp, &error_abort));
    object_register_global("lamp", "light", "on");
    g_assert_false(object_apply_globals(lamp, &err));
    expect(&err, "can't apply global lamp.light=on: Property 'lamp.light' not "
                 "found");
}

/* -------------------------------------------------------- QMP commands */

static const char *type_in(ObjectPropertyInfoList *list, const char *name)
{
    for (; list; list = list->next) {
        if (strcmp(list->value->name, name) == 0) {
            return list->value->type;
        }
    }
    return NULL;
}

static void test_qom_list(void)
{
    Object *dog = user_add("{'qom-type':'dog','id':'rex'}", &error_abort);
    g_autoptr(ObjectPropertyInfoList) list = NULL;
    g_autoptr(ObjectPropertyInfoList) top = NULL;
    Error *err = NULL;

    add_dog(dog, "pup");
    list = qmp_qom_list("/objects/rex", &error_abort);
    g_assert_cmpstr(type_in(list, "type"), ==, "string");
    g_assert_cmpstr(type_in(list, "tame"), ==, "bool");
    g_assert_cmpstr(type_in(list, "legs"), ==, "uint8");
    g_assert_cmpstr(type_in(list, "weight"), ==, "size");
    g_assert_cmpstr(type_in(list, "call"), ==, "str");
    g_assert_cmpstr(type_in(list, "wild"), ==, "OnOffAuto");
    g_assert_cmpstr(type_in(list, "friend"), ==, "link<animal>");
    g_assert_cmpstr(type_in(list, "pup"), ==, "child<dog>");
    top = qmp_qom_list("/objects", &error_abort);
    g_assert_cmpstr(type_in(top, "rex"), ==, "child<dog>");
    g_assert_null(qmp_qom_list("/objects/max", &err));
    g_assert_cmpint(error_get_class(err), ==, ERROR_CLASS_DEVICE_NOT_FOUND);
    expect(&err, "Device '/objects/max' not found");
    user_creatable_cleanup();
}

static void test_qom_get_set(void)
{
    g_autoptr(json_object) v = NULL;
    g_autoptr(json_object) five = json_object_new_int(6);
    Error *err = NULL;

    user_add("{'qom-type':'dog','id':'rex'}", &error_abort);
    qmp_qom_set("rex", "tricks", five, &error_abort);
    v = qmp_qom_get("/objects/rex", "tricks", &error_abort);
    g_assert_cmpint(json_object_get_int(v), ==, 6);
    qmp_qom_set("rex", "none", five, &err);
    expect(&err, "Property 'dog.none' not found");
    g_assert_null(qmp_qom_get("max", "tricks", &err));
    expect(&err, "not found");
    object_property_set_int(object_resolve_path("rex", NULL), "tricks", 0,
                            &error_abort);
    user_creatable_cleanup();
}

static void test_qom_list_types(void)
{
    g_autoptr(ObjectTypeInfoList)
        list = qmp_qom_list_types(TYPE_ANIMAL, true, true, &error_abort);

    g_assert_cmpint(QAPI_LIST_LENGTH(list), ==, 2);
    g_assert_cmpstr(list->value->name, ==, "animal");
    g_assert_true(list->value->has_abstract && list->value->abstract);
    g_assert_cmpstr(list->value->parent, ==, "object");
    g_assert_cmpstr(list->next->value->name, ==, "dog");
    g_assert_false(list->next->value->has_abstract);
}

static void test_list_properties(void)
{
    g_autoptr(ObjectPropertyInfoList)
        list = qmp_qom_list_properties("dog", &error_abort);
    g_autoptr(ObjectPropertyInfoList)
        lamp = qmp_device_list_properties("lamp", &error_abort);
    Error *err = NULL;

    for (ObjectPropertyInfoList *l = list; l; l = l->next) {
        if (strcmp(l->value->name, "legs") == 0) {
            g_assert_cmpstr(l->value->description, ==, "how many");
            g_assert_cmpint(json_object_get_int(l->value->default_value), ==,
                            4);
        }
    }
    g_assert_nonnull(type_in(list, "legs"));
    g_assert_cmpstr(type_in(lamp, "secret"), ==, "string");
    g_assert_null(type_in(lamp, "age"));
    g_assert_null(qmp_qom_list_properties("cat", &err));
    expect(&err, "Class 'cat' not found");
    g_assert_null(qmp_device_list_properties("dog", &err));
    expect(&err, "expects a non-abstract device type");
    g_assert_null(qmp_device_list_properties("cat", &err));
    expect(&err, "Device 'cat' not found");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    trail = g_string_new(NULL);
    qom_register_types();
    for (size_t i = 0; i < ARRAY_SIZE(test_types); i++) {
        type_register_static(&test_types[i]);
    }
    g_test_add_func("/qom/classes", test_classes);
    g_test_add_func("/qom/casts", test_casts);
    g_test_add_func("/qom/bad-cast-aborts", test_bad_cast_aborts);
    g_test_add_func("/qom/class-list", test_class_list);
    g_test_add_func("/qom/lifetime", test_lifetime);
    g_test_add_func("/qom/property/defaults", test_defaults);
    g_test_add_func("/qom/property/set", test_set);
    g_test_add_func("/qom/property/set-refused", test_set_refused);
    g_test_add_func("/qom/property/parse", test_parse);
    g_test_add_func("/qom/property/typed-access", test_typed_access);
    g_test_add_func("/qom/property/freeze", test_freeze);
    g_test_add_func("/qom/tree/paths", test_tree);
    g_test_add_func("/qom/tree/child-foreach", test_child_foreach);
    g_test_add_func("/qom/tree/links", test_links);
    g_test_add_func("/qom/tree/link-keeps-target", test_link_keeps);
    g_test_add_func("/qom/user-creatable/add-del", test_user_creatable);
    g_test_add_func("/qom/user-creatable/refused", test_user_creatable_refused);
    g_test_add_func("/qom/user-creatable/text", test_user_creatable_text);
    g_test_add_func("/qom/globals", test_globals);
    g_test_add_func("/qom/qmp/qom-list", test_qom_list);
    g_test_add_func("/qom/qmp/qom-get-set", test_qom_get_set);
    g_test_add_func("/qom/qmp/qom-list-types", test_qom_list_types);
    g_test_add_func("/qom/qmp/list-properties", test_list_properties);
    return g_test_run();
}
