/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HMP's view of the object model. */
#include "qemu/osdep.h"

#include "qapi/json.h"
#include "qapi/qapi-commands-qom.h"
#include "qemu/monitor-sink.h"
#include "qom/hmp.h"
#include "qom/user-creatable.h"

static const char *arg(json_object *args, const char *name)
{
    json_object *v;

    return json_object_object_get_ex(args, name, &v) ? json_object_get_string(v)
                                                     : NULL;
}

static void hmp_object_add(Monitor *mon, json_object *args)
{
    Error *err = NULL;
    bool keyval, help = false;
    g_autoptr(json_object) options = user_creatable_parse(arg(args, "object"),
                                                          &keyval, &help, &err);

    if (options && !help) {
        user_creatable_add(options, keyval, &err);
    }
    if (err) {
        error_report_err(err);
    }
}

static void hmp_object_del(Monitor *mon, json_object *args)
{
    Error *err = NULL;

    if (!user_creatable_del(arg(args, "id"), &err)) {
        error_report_err(err);
    }
}

static void hmp_qom_list(Monitor *mon, json_object *args)
{
    const char *path = arg(args, "path");
    Error *err = NULL;
    g_autoptr(ObjectPropertyInfoList) list = NULL;

    if (!path) {
        monitor_printf(mon, "/\n");
        return;
    }
    list = qmp_qom_list(path, &err);
    if (err) {
        error_report_err(err);
    }
    for (ObjectPropertyInfoList *l = list; l; l = l->next) {
        monitor_printf(mon, "%s (%s)\n", l->value->name, l->value->type);
    }
}

static void hmp_qom_get(Monitor *mon, json_object *args)
{
    Error *err = NULL;
    g_autoptr(json_object)
        v = qmp_qom_get(arg(args, "path"), arg(args, "property"), &err);
    g_autofree char *text = NULL;

    if (err) {
        error_report_err(err);
        return;
    }
    text = qobject_to_json_pretty(v);
    monitor_printf(mon, "%s\n", text);
}

static void hmp_qom_set(Monitor *mon, json_object *args)
{
    const char *path = arg(args, "path"), *property = arg(args, "property");
    const char *value = arg(args, "value");
    Error *err = NULL;

    if (arg(args, "json")) {
        g_autoptr(json_object) v = qobject_from_json(value, &err);

        if (!err) {
            qmp_qom_set(path, property, v, &err);
        }
    } else {
        bool ambiguous;
        Object *obj = object_resolve_path(path, &ambiguous);

        if (!obj) {
            error_setg(&err,
                       ambiguous ? "Path '%s' is ambiguous"
                                 : "Device '%s' not found",
                       path);
        } else {
            object_property_parse(obj, property, value, &err);
        }
    }
    if (err) {
        error_report_err(err);
    }
}

typedef struct Tree {
    Monitor *mon;
    int depth;
} Tree;

static int print_tree(Object *obj, void *opaque)
{
    Tree *tree = opaque;
    Tree below = { tree->mon, tree->depth + 1 };
    const char *name = object_get_canonical_path_component(obj);

    monitor_printf(tree->mon, "%*s/%s (%s)\n", 2 * tree->depth, "",
                   name ? name : "", object_get_typename(obj));
    object_child_foreach(obj, print_tree, &below);
    return 0;
}

static void hmp_info_qom_tree(Monitor *mon, json_object *args)
{
    const char *path = arg(args, "path");
    Object *obj = object_resolve_path(path ? path : "/machine", NULL);
    Tree tree = { mon, 0 };

    if (!obj) {
        monitor_printf(mon, "Path '%s' could not be resolved.\n",
                       path ? path : "/machine");
        return;
    }
    print_tree(obj, &tree);
}

static void complete_type(HMPCompletion *c, const char *const *words,
                          unsigned n)
{
    g_autoptr(GSList) list = object_class_get_list(TYPE_USER_CREATABLE, false);

    for (GSList *l = list; l; l = l->next) {
        g_autofree char *text = g_strconcat(object_class_get_name(l->data), ",",
                                            NULL);

        hmp_completion_add(c, text);
    }
}

static int add_component(Object *obj, void *opaque)
{
    hmp_completion_add(opaque, object_get_canonical_path_component(obj));
    return 0;
}

static void complete_id(HMPCompletion *c, const char *const *words, unsigned n)
{
    object_child_foreach(object_get_objects_root(), add_component, c);
}

typedef struct PathCompletion {
    HMPCompletion *c;
    const char *head; /* of the path, up to the last / */
} PathCompletion;

static int has_child(Object *obj, void *opaque)
{
    return 1;
}

static int add_path(Object *obj, void *opaque)
{
    PathCompletion *pc = opaque;
    bool more = object_child_foreach(obj, has_child, NULL);
    g_autofree char *path = g_strconcat(
        pc->head, object_get_canonical_path_component(obj), more ? "/" : "",
        NULL);

    hmp_completion_add(pc->c, path);
    return 0;
}

/* A path, level by level; then a property of the object there. */
static void complete_path(HMPCompletion *c, const char *const *words,
                          unsigned n)
{
    const char *word = c->word, *slash = strrchr(word, '/');
    g_autofree char *head = slash ? g_strndup(word, slash + 1 - word)
                                  : g_strdup("/");
    Object *obj = object_resolve_path(n ? words[0] : head, NULL);

    if (obj && n == 0) {
        PathCompletion pc = { c, head };

        object_child_foreach(obj, add_path, &pc);
    } else if (obj && n == 1) {
        g_autoptr(ObjectPropertyInfoList) list = qmp_qom_list(words[0], NULL);

        for (ObjectPropertyInfoList *l = list; l; l = l->next) {
            hmp_completion_add(c, l->value->name);
        }
    }
}

/* The same, then the two values of a property that is a switch. */
static void complete_setting(HMPCompletion *c, const char *const *words,
                             unsigned n)
{
    g_autoptr(ObjectPropertyInfoList) list = NULL;

    if (n < 2) {
        complete_path(c, words, n);
        return;
    }
    list = qmp_qom_list(words[0], NULL);
    for (ObjectPropertyInfoList *l = list; n == 2 && l; l = l->next) {
        if (g_str_equal(l->value->name, words[1]) &&
            g_str_equal(l->value->type, "bool")) {
            hmp_completion_add(c, "off");
            hmp_completion_add(c, "on");
        }
    }
}

const HMPCommand hmp_qom_commands[] = {
    { .name = "object_add",
      .args_type = "object:S",
      .params = "[qom-type=]type,id=str[,prop=value][,...]",
      .help = "make an object",
      .cmd = hmp_object_add,
      .complete = complete_type },
    { .name = "object_del",
      .args_type = "id:s",
      .params = "id",
      .help = "remove an object",
      .cmd = hmp_object_del,
      .complete = complete_id },
    { .name = "qom-list",
      .args_type = "path:s?",
      .params = "path",
      .help = "list the properties of an object",
      .cmd = hmp_qom_list,
      .complete = complete_path },
    { .name = "qom-get",
      .args_type = "path:s,property:s",
      .params = "path property",
      .help = "print a property of an object",
      .cmd = hmp_qom_get,
      .complete = complete_path },
    { .name = "qom-set",
      .args_type = "json:-j,path:s,property:s,value:S",
      .params = "[-j] path property value",
      .help = "set a property of an object (-j: the value is JSON)",
      .cmd = hmp_qom_set,
      .complete = complete_setting },
    { .name = NULL },
};

const HMPCommand hmp_qom_info_commands[] = {
    { .name = "qom-tree",
      .args_type = "path:s?",
      .params = "[path]",
      .help = "show the tree of objects, below /machine or PATH",
      .cmd = hmp_info_qom_tree,
      .complete = complete_path },
    { .name = NULL },
};
