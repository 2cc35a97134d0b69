/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Start-up: from -machine, -accel, -cpu, -smp and -m to a machine object. */
#include "qemu/osdep.h"

#include "accel/qtest.h"
#include "cmdline.h"
#include "target.h"
#include "hw/boards.h"
#include "qapi/keyval.h"
#include "qemu/cutils.h"
#include "system/accel.h"
#include "system/cpus.h"
#include "system/machine-info.h"
#include "system/ram-block.h"

/* ---- help ---- */

static void print_machines(void)
{
    g_autoptr(GSList) list = machine_get_classes();

    printf("Supported machines are:\n");
    for (GSList *l = list; l; l = l->next) {
        const MachineClass *mc = l->data;

        if (mc->alias) {
            printf("%-20s %s (alias of %s)\n", mc->alias, mc->desc, mc->name);
        }
        printf("%-20s %s%s\n", mc->name, mc->desc,
               mc->is_default ? " (default)" : "");
    }
}

static void print_property(const Property *prop, void *opaque)
{
    g_autofree char *type = object_property_type_name(prop);
    g_autofree char *text = g_strdup_printf("%s=<%s>", prop->name, type);

    printf("  %-30s %s\n", text, prop->help ? prop->help : "");
}

static void print_machine_properties(const char *name)
{
    MachineClass *mc = machine_find_class(name);

    if (!mc) {
        print_machines();
        return;
    }
    printf("%s options:\n", mc->name);
    object_class_property_foreach(OBJECT_CLASS(mc), print_property, NULL);
}

static void print_accels(void)
{
    g_autoptr(GSList) list = object_class_get_list(TYPE_ACCEL, false);

    printf("Accelerators supported in QEMU binary:\n");
    for (GSList *l = list; l; l = l->next) {
        printf("%s\n", ACCEL_CLASS(l->data)->name);
    }
}

static void print_cpu_models(void)
{
    g_autoptr(GSList) list = object_class_get_list(TYPE_CPU, false);

    printf("Available CPUs:\n");
    for (GSList *l = list; l; l = l->next) {
        const CPUClass *cc = CPU_CLASS(l->data);

        if (cc->model) {
            printf("  %s\n", cc->model);
        }
    }
    if (target_desc.print_cpu_options) {
        target_desc.print_cpu_options();
    }
}

static bool is_help(const char *s)
{
    return g_str_equal(s, "help") || g_str_equal(s, "?");
}

bool start_help(const Options *o, Error **errp)
{
    json_object *type = json_object_object_get(o->machine, "type");

    for (guint i = 0; i < o->accels->len; i++) {
        if (is_help(o->accels->pdata[i])) {
            print_accels();
            exit(0);
        }
    }
    if (json_object_object_get(o->machine, "help")) {
        if (type) {
            print_machine_properties(json_object_get_string(type));
        } else {
            print_machines();
        }
        exit(0);
    }
    if (o->cpu && is_help(o->cpu)) {
        print_cpu_models();
        exit(0);
    }
    start_devices_help(o);
    start_backends_help(o);
    return true;
}

/* ---- machine ---- */

/* The member's text, taken out of @v; NULL: there is none. Caller frees. */
static char *take_member(json_object *v, const char *key)
{
    json_object *m = json_object_object_get(v, key);
    char *text;

    if (!m) {
        return NULL;
    }
    text = g_strdup(json_object_get_string(m));
    json_object_object_del(v, key);
    return text;
}

static MachineClass *choose_class(Options *o, Error **errp)
{
    g_autofree char *type = take_member(o->machine, "type");
    MachineClass *mc = type ? machine_find_class(type)
                            : machine_find_default_class();

    if (mc) {
        return mc;
    }
    if (type) {
        error_setg(errp, "unsupported machine type: \"%s\"", type);
    } else {
        error_setg(errp, "No machine specified, and there is no default");
    }
    error_append_hint(errp, "Use -machine help to list supported machines\n");
    return NULL;
}

/* -machine accel=A:B */
static bool take_accels(Options *o, Error **errp)
{
    g_autofree char *list = take_member(o->machine, "accel");
    g_auto(GStrv) names = NULL;

    if (!list) {
        return true;
    }
    if (!*list) {
        error_setg(errp, "-machine accel=: the accelerator's name is missing");
        return false;
    }
    if (o->accels->len) {
        error_setg(errp, "The -accel and \"-machine accel=\" options are "
                         "incompatible");
        return false;
    }
    names = g_strsplit(list, ":", -1);
    for (char **p = names; *p; p++) {
        g_ptr_array_add(o->accels, g_strdup(*p));
    }
    o->accels_from_machine = true;
    return true;
}

static bool merge_section(json_object *machine, const char *key,
                          json_object *section, Error **errp)
{
    g_autoptr(json_object) v = NULL;

    if (!section) {
        return true;
    }
    v = json_object_new_object();
    json_object_object_add(v, key, json_object_get(section));
    return keyval_merge(machine, v, errp);
}

bool start_machine(Options *o, Error **errp)
{
    ERRP_GUARD();
    MachineClass *mc = choose_class(o, errp);
    MachineState *ms;

    if (!mc || !take_accels(o, errp) ||
        !merge_section(o->machine, "smp", o->smp, errp) ||
        !merge_section(o->machine, "memory", o->memory, errp)) {
        return false;
    }
    ms = MACHINE(object_new(object_class_get_name(OBJECT_CLASS(mc))));
    object_property_add_child(object_get_root(), "machine", OBJECT(ms));
    object_get_container("/machine/unattached");
    object_get_container("/machine/peripheral");
    object_get_container("/machine/peripheral-anon");
    current_machine_set(ms);
    if (!object_apply_globals(OBJECT(ms), errp) ||
        !object_set_properties(OBJECT(ms), o->machine, true, errp)) {
        return false;
    }
    qemu_ram_set_dump_default(ms->dump_guest_core);
    if (ms->kernel_cmdline && *ms->kernel_cmdline && !ms->kernel_filename) {
        error_setg(errp, "-append only allowed with -kernel option");
        return false;
    }
    if (ms->initrd_filename && !ms->kernel_filename) {
        error_setg(errp, "-initrd only allowed with -kernel option");
        return false;
    }
    return true;
}

/* ---- accelerator ---- */

static char *names_of_accels(void)
{
    g_autoptr(GSList) list = object_class_get_list(TYPE_ACCEL, false);
    GString *s = g_string_new(NULL);

    for (GSList *l = list; l; l = l->next) {
        g_string_append_printf(s, "%s%s", s->len ? ", " : "",
                               ACCEL_CLASS(l->data)->name);
    }
    return g_string_free(s, FALSE);
}

/*
 * Test programs ask for kvm first everywhere: no noise then, as long as there
 * is another candidate.
 */
static bool is_silent(const Options *o, const char *name, bool last)
{
    return o->qtest && !last && g_str_equal(name, "kvm");
}

/* One candidate. A wrong option is an error; not to be had is not. */
static bool try_accel(const Options *o, const char *arg, bool last,
                      Error **errp)
{
    g_autofree char *prefix = o->accels_from_machine
                                  ? g_strdup("")
                                  : g_strdup_printf("-accel %s: ", arg);
    g_autoptr(json_object) props = keyval_parse(arg, "accel", NULL, errp);
    g_autofree char *name = NULL;
    Error *err = NULL;

    if (!props) {
        error_prepend(errp, "%s", prefix);
        return false;
    }
    name = take_member(props, "accel");
    if (!name) {
        error_setg(errp, "%sthe accelerator's name is missing", prefix);
        return false;
    }
    if (!accel_find(name)) {
        if (!is_silent(o, name, last)) {
            accel_try(name, NULL, NULL, &err); /* says why */
            error_reportf_err(err, "%s", prefix);
        }
    } else if (!accel_try(name, props, current_machine(), &err)) {
        if (is_silent(o, name, last)) {
            error_free(err);
        } else {
            error_reportf_err(err, "%sfailed to initialize %s: ", prefix, name);
        }
    }
    return true;
}

bool start_accel(const Options *o, Error **errp)
{
    ERRP_GUARD();
    g_autofree char *names = NULL;
    guint tried = 0;

    if (!o->accels->len && (accel_find("tcg") || accel_find("kvm"))) {
        if (!try_accel(o, accel_find("tcg") ? "tcg" : "kvm", true, errp)) {
            return false;
        }
        tried = 1;
    }
    while (tried < o->accels->len && !current_accel()) {
        const char *arg = o->accels->pdata[tried++];

        if (!try_accel(o, arg, tried == o->accels->len, errp)) {
            return false;
        }
    }
    if (!current_accel()) {
        names = names_of_accels();
        error_setg(errp, "no accelerator found (this binary has: %s)", names);
        return false;
    }
    if (tried > 1 && !o->qtest) {
        error_report("falling back to %s", current_accel_name());
    }
    return true;
}

/* ---- CPUs ---- */

bool start_cpu(const Options *o, Error **errp)
{
    ERRP_GUARD();
    MachineState *ms = current_machine();
    MachineClass *mc = MACHINE_GET_CLASS(ms);
    g_autofree char *model = NULL;

    ms->cpu_type = mc->default_cpu_type;
    if (!o->cpu) {
        return true;
    }
    if (target_desc.parse_cpu) {
        ms->cpu_props = target_desc.parse_cpu(o->cpu, &model, errp);
    } else {
        ms->cpu_props = keyval_parse(o->cpu, "model", NULL, errp);
    }
    if (!ms->cpu_props) {
        error_prepend(errp, "-cpu %s: ", o->cpu);
        return false;
    }
    if (!model) {
        model = take_member(ms->cpu_props, "model");
    }
    ms->cpu_type = model ? machine_cpu_type_from_model(mc, model) : NULL;
    if (!ms->cpu_type) {
        error_setg(errp, "unable to find CPU model '%s' for machine '%s'",
                   model ? model : "", mc->name);
        error_append_hint(errp, "Use -cpu help to list them\n");
        return false;
    }
    return true;
}
