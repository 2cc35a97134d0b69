/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that describe the machine: -machine, -accel, -cpu, -smp, -m, … */
#include "qemu/osdep.h"

#include "cmdline.h"
#include "qapi/json.h"
#include "qapi/keyval.h"
#include "qemu/cutils.h"
#include "qom/object.h"

/* JSON's scalars as the text that key=value syntax would have. */
static json_object *as_keyval(json_object *v)
{
    json_object *out;

    switch (json_object_get_type(v)) {
    case json_type_object:
        out = json_object_new_object();
        json_object_object_foreach(v, key, member)
        {
            json_object_object_add(out, key, as_keyval(member));
        }
        return out;
    case json_type_boolean:
        return json_object_new_string(json_object_get_boolean(v) ? "on"
                                                                 : "off");
    case json_type_int:
        return json_object_new_string(json_object_get_string(v));
    default:
        return json_object_get(v);
    }
}

static bool parse_machine(Options *o, const char *arg, Error **errp)
{
    g_autoptr(json_object) v = NULL;
    bool help = false;

    if (*arg == '{') {
        g_autoptr(json_object) text = NULL;

        v = qobject_from_json(arg, errp);
        if (!v) {
            return false;
        }
        text = as_keyval(v);
        return keyval_merge(o->machine, text, errp);
    }
    if (!keyval_parse_into(o->machine, arg, "type", &help, errp)) {
        return false;
    }
    if (help) {
        /* Answered by start_help(), once the type is known. */
        options_set_machine(o, "help", "on");
    }
    return true;
}

static bool parse_accel(Options *o, const char *arg, Error **errp)
{
    g_ptr_array_add(o->accels, g_strdup(arg));
    return true;
}

static bool parse_enable_kvm(Options *o, const char *arg, Error **errp)
{
    return parse_accel(o, "kvm", errp);
}

static bool parse_cpu(Options *o, const char *arg, Error **errp)
{
    g_free(o->cpu);
    o->cpu = g_strdup(arg);
    return true;
}

static bool parse_smp(Options *o, const char *arg, Error **errp)
{
    return options_merge(&o->smp, arg, "cpus",
                         "smp options: cpus, sockets, dies, clusters, cores, "
                         "threads, maxcpus",
                         errp);
}

/* Here a bare number counts MiB, as nowhere else. */
static bool parse_memory(Options *o, const char *arg, Error **errp)
{
    static const char *const refused[] = { "slots", "maxmem", NULL };
    g_autofree char *text = NULL;
    json_object *size;
    uint64_t bytes;

    if (!options_merge(&o->memory, arg, "size", "memory options: size", errp)) {
        return false;
    }
    for (const char *const *p = refused; *p; p++) {
        if (json_object_object_get(o->memory, *p)) {
            error_setg(errp, "'%s': memory hotplug is not supported", *p);
            return false;
        }
    }
    size = json_object_object_get(o->memory, "size");
    if (!size) {
        return true;
    }
    if (qemu_strtosz_MiB(json_object_get_string(size), NULL, &bytes) < 0) {
        error_setg(errp, "invalid RAM size '%s'", json_object_get_string(size));
        return false;
    }
    text = g_strdup_printf("%" PRIu64, bytes);
    json_object_object_add(o->memory, "size", json_object_new_string(text));
    return true;
}

static bool parse_object(Options *o, const char *arg, Error **errp)
{
    options_add_backend(o, BACKEND_OBJECT, arg);
    return true;
}

/* DRIVER.PROPERTY=VALUE, or driver=,property=,value= */
static bool parse_global(Options *o, const char *arg, Error **errp)
{
    const char *eq = strchr(arg, '='), *dot = strchr(arg, '.');
    g_autoptr(json_object) v = NULL;
    const char *part[3];

    if (eq && dot && dot < eq && !strstart(arg, "driver=", NULL)) {
        g_autofree char *driver = g_strndup(arg, dot - arg);
        g_autofree char *property = g_strndup(dot + 1, eq - dot - 1);

        object_register_global(driver, property, eq + 1);
        return true;
    }
    v = keyval_parse(arg, NULL, NULL, errp);
    if (!v) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        static const char *const key[] = { "driver", "property", "value" };
        json_object *m = json_object_object_get(v, key[i]);

        if (!m) {
            error_setg(errp, "'%s' is missing: expected DRIVER.PROPERTY=VALUE",
                       key[i]);
            return false;
        }
        part[i] = json_object_get_string(m);
    }
    object_register_global(part[0], part[1], part[2]);
    return true;
}

static bool parse_kernel(Options *o, const char *arg, Error **errp)
{
    options_set_machine(o, "kernel", arg);
    return true;
}

static bool parse_initrd(Options *o, const char *arg, Error **errp)
{
    options_set_machine(o, "initrd", arg);
    return true;
}

static bool parse_append(Options *o, const char *arg, Error **errp)
{
    options_set_machine(o, "append", arg);
    return true;
}

static bool parse_dtb(Options *o, const char *arg, Error **errp)
{
    options_set_machine(o, "dtb", arg);
    return true;
}

#define MACHINE_PARAMS "[type=]NAME[,PROP=VALUE...]"
#define MACHINE_HELP                                                        \
    "the machine ('help' lists them, 'NAME,help' its properties); several " \
    "add up; accel=A:B is as -accel A -accel B"

const CmdOption opts_machine[] = {
    { "machine", MACHINE_PARAMS, MACHINE_HELP, parse_machine },
    { "M", MACHINE_PARAMS, "the same", parse_machine },
    { "accel", "NAME[,PROP=VALUE...]",
      "what runs guest code ('help' lists them); of several the first that "
      "can be had",
      parse_accel, true },
    { "enable-kvm", NULL, "the same as -accel kvm", parse_enable_kvm },
    { "cpu", "MODEL[,PROP=VALUE...]", "model of the CPUs ('help' lists them)",
      parse_cpu, true },
    { "smp",
      "[cpus=]N[,maxcpus=N][,sockets=N][,clusters=N][,cores=N]"
      "[,threads=N]",
      "number and grouping of CPUs", parse_smp, true },
    { "m", "[size=]MiB|SIZE", "size of RAM", parse_memory, true },
    { "object", "TYPE,id=ID[,PROP=VALUE...]|JSON",
      "make an object ('help' lists the types)", parse_object },
    { "global", "TYPE.PROP=VALUE", "set a property of all objects of a type",
      parse_global },
    { "kernel", "FILE", "what to run: Linux image, ELF, or raw", parse_kernel },
    { "initrd", "FILE", "initial RAM disk for the kernel", parse_initrd },
    { "append", "TEXT", "command line of the kernel", parse_append },
    { "dtb", "FILE", "device tree instead of the machine's own", parse_dtb },
    { NULL },
};
