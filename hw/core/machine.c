/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Machines: see include/hw/boards.h. */
#include "qemu/osdep.h"

#include "hw/boards.h"
#include "machine-internal.h"
#include "qemu/error.h"
#include "qemu/fd-store.h"
#include "system/cpus.h"
#include "system/memory.h"

/* One machine per process. */
static struct {
    MachineState *current;
    Chardev *serial[MAX_SERIAL_HDS];
} the;

MachineState *current_machine(void)
{
    return the.current;
}

void current_machine_set(MachineState *ms)
{
    the.current = ms;
}

Chardev *serial_hd(unsigned index)
{
    return index < MAX_SERIAL_HDS ? the.serial[index] : NULL;
}

void serial_hd_set(unsigned index, Chardev *chr)
{
    assert(index < MAX_SERIAL_HDS);
    the.serial[index] = chr;
}

/* ---- classes ---- */

static gint by_name(gconstpointer a, gconstpointer b)
{
    return strcmp(((const MachineClass *)a)->name,
                  ((const MachineClass *)b)->name);
}

GSList *machine_get_classes(void)
{
    GSList *list = object_class_get_list(TYPE_MACHINE, false);

    for (GSList *l = list; l; l = l->next) {
        MachineClass *mc = MACHINE_CLASS(l->data);

        if (!mc->name) {
            const char *type = object_class_get_name(OBJECT_CLASS(mc));

            mc->name = g_strndup(type,
                                 strlen(type) - strlen(TYPE_MACHINE_SUFFIX));
        }
        l->data = mc;
    }
    return g_slist_sort(list, by_name);
}

bool machine_class_is(const MachineClass *mc, const char *name)
{
    return g_str_equal(mc->name, name) ||
           (mc->alias && g_str_equal(mc->alias, name));
}

MachineClass *machine_find_class(const char *name)
{
    g_autoptr(GSList) list = machine_get_classes();

    for (GSList *l = list; l; l = l->next) {
        if (machine_class_is(l->data, name)) {
            return l->data;
        }
    }
    return NULL;
}

MachineClass *machine_find_default_class(void)
{
    g_autoptr(GSList) list = machine_get_classes();

    for (GSList *l = list; l; l = l->next) {
        if (((MachineClass *)l->data)->is_default) {
            return l->data;
        }
    }
    return NULL;
}

/* ---- CPUs ---- */

static bool model_allowed(const MachineClass *mc, const char *model)
{
    return !mc->cpu_models || g_strv_contains(mc->cpu_models, model);
}

const char *machine_cpu_type_from_model(const MachineClass *mc,
                                        const char *model)
{
    g_autoptr(GSList) list = NULL;

    if (mc->cpu_type_from_model) {
        return mc->cpu_type_from_model(model);
    }
    list = object_class_get_list(TYPE_CPU, false);
    for (GSList *l = list; l; l = l->next) {
        const CPUClass *cc = CPU_CLASS(l->data);

        if (cc->model && g_str_equal(cc->model, model) &&
            model_allowed(mc, model)) {
            return object_class_get_name(l->data);
        }
    }
    return NULL;
}

CPUState *machine_create_cpu(MachineState *ms, Error **errp)
{
    g_autoptr(Object) obj = object_new(ms->cpu_type);

    if (!object_apply_globals(obj, errp) ||
        (ms->cpu_props &&
         !object_set_properties(obj, ms->cpu_props, true, errp))) {
        return NULL;
    }
    object_property_add_child(object_get_container("/machine/unattached"),
                              "device[*]", obj);
    return CPU(obj);
}

bool machine_run_board_init(MachineState *ms, Error **errp)
{
    MachineClass *mc = MACHINE_GET_CLASS(ms);

    get_system_memory(); /* it is there, and empty, where no board uses it */
    if (!machine_provide_ram(ms, errp)) {
        return false;
    }
    if (!ms->kernel_cmdline) {
        ms->kernel_cmdline = g_strdup("");
    }
    if (!mc->init(ms, errp)) {
        return false;
    }
    machine_advise_ram(ms);
    object_freeze(OBJECT(ms));
    ms->init_done = true;
    return true;
}

static bool save_file(const char *filename, const uint8_t *data, size_t len,
                      Error **errp)
{
    int fd = qemu_create(filename, O_WRONLY | O_TRUNC, 0666, errp);
    bool ok;

    if (fd < 0) {
        return false;
    }
    ok = qemu_write_all(fd, data, len, filename, errp);
    qemu_close(fd);
    return ok;
}

bool machine_dump_dtb(MachineState *ms, const char *filename, Error **errp)
{
    MachineClass *mc = MACHINE_GET_CLASS(ms);
    const void *fdt;
    size_t size_bytes;

    fdt = mc->get_fdt ? mc->get_fdt(ms, &size_bytes) : NULL;
    if (!fdt) {
        error_setg(errp, "Machine '%s' has no device tree", mc->name);
        return false;
    }
    return save_file(filename, fdt, size_bytes, errp);
}

/* ---- properties ---- */

static json_object *get_smp(Object *obj, const Property *prop, Error **errp)
{
    const CpuTopology *t = &MACHINE(obj)->smp;
    SMPConfiguration c = {
        .has_cpus = true,
        .cpus = t->cpus,
        .has_sockets = true,
        .sockets = t->sockets,
        .has_dies = true,
        .dies = t->dies,
        .has_clusters = true,
        .clusters = t->clusters,
        .has_cores = true,
        .cores = t->cores,
        .has_threads = true,
        .threads = t->threads,
        .has_maxcpus = true,
        .maxcpus = t->max_cpus,
    };

    return qapi_SMPConfiguration_to_json(&c);
}

static bool set_smp(Object *obj, const Property *prop, json_object *value,
                    Error **errp)
{
    g_autoptr(SMPConfiguration)
        c = qapi_SMPConfiguration_from_json(value, "smp", errp);

    return c && machine_parse_smp(MACHINE(obj), c, errp);
}

static json_object *get_memory(Object *obj, const Property *prop, Error **errp)
{
    MemorySizeConfiguration c = {
        .has_size = true,
        .size = MACHINE(obj)->ram_size_bytes,
    };

    return qapi_MemorySizeConfiguration_to_json(&c);
}

static bool set_memory(Object *obj, const Property *prop, json_object *value,
                       Error **errp)
{
    MachineState *ms = MACHINE(obj);
    g_autoptr(MemorySizeConfiguration)
        c = qapi_MemorySizeConfiguration_from_json(value, "memory", errp);

    if (!c) {
        return false;
    }
    if (c->has_size) {
        if (c->size == 0 && MACHINE_GET_CLASS(ms)->default_ram_size_bytes) {
            return true; /* -m 0: the default, as without -m */
        }
        ms->ram_size_bytes = ROUND_UP(c->size, UINT64_C(8192));
        ms->ram_size_given = true;
    }
    return true;
}

static const Property machine_props[] = {
    DEFINE_PROP_STRING("kernel", MachineState, kernel_filename),
    DEFINE_PROP_STRING("initrd", MachineState, initrd_filename),
    DEFINE_PROP_STRING("append", MachineState, kernel_cmdline),
    DEFINE_PROP_STRING("dtb", MachineState, dtb),
    DEFINE_PROP_STRING("dumpdtb", MachineState, dumpdtb),
    DEFINE_PROP_STRING("memory-backend", MachineState, memory_backend_id),
    /* For RAM that devices make of their own accord; none of ours does. */
    DEFINE_PROP_BOOL("aux-ram-share", MachineState, aux_ram_share, false),
    DEFINE_PROP_BOOL("suppress-vmdesc", MachineState, suppress_vmdesc, false),
    DEFINE_PROP_BOOL("dump-guest-core", MachineState, dump_guest_core, false),
    DEFINE_PROP_BOOL("mem-merge", MachineState, mem_merge, true),
    DEFINE_PROP_BOOL("graphics", MachineState, graphics, true),
    DEFINE_PROP_FN("smp", &qapi_SMPConfiguration_type, get_smp, set_smp,
                   .help = "CPUs and how they are grouped"),
    DEFINE_PROP_FN("memory", &qapi_MemorySizeConfiguration_type, get_memory,
                   set_memory, .help = "size of RAM"),
    DEFINE_PROP_END_OF_LIST(),
};

static void machine_instance_init(Object *obj)
{
    MachineState *ms = MACHINE(obj);
    MachineClass *mc = MACHINE_GET_CLASS(ms);
    SMPConfiguration none = { 0 };

    ms->ram_size_bytes = mc->default_ram_size_bytes;
    machine_parse_smp(ms, &none, &error_abort);
}

static void machine_instance_finalize(Object *obj)
{
    json_object_put(MACHINE(obj)->cpu_props);
}

static const TypeInfo machine_type_info = {
    .name = TYPE_MACHINE,
    .parent = TYPE_OBJECT,
    .abstract = true,
    .instance_size = sizeof(MachineState),
    .class_size = sizeof(MachineClass),
    .instance_init = machine_instance_init,
    .instance_finalize = machine_instance_finalize,
    .props = machine_props,
};

void machine_register_types(void)
{
    type_register_static(&machine_type_info);
}
