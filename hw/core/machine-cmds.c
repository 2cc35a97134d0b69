/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands about machines and their CPUs: QMP and HMP. */
#include "qemu/osdep.h"

#include "hw/boards.h"
#include "hw/monitor-cmds.h"
#include "qapi/qapi-commands-machine.h"
#include "qemu/error.h"
#include "system/cpus.h"
#include "system/machine-info.h"

static MachineInfo *machine_entry(const MachineClass *mc)
{
    MachineInfo *info = g_new0(MachineInfo, 1);

    info->name = g_strdup(mc->name);
    info->alias = g_strdup(mc->alias);
    info->has_is_default = mc->is_default;
    info->is_default = mc->is_default;
    info->cpu_max = MAX(mc->max_cpus, 1);
    info->default_cpu_type = g_strdup(mc->default_cpu_type);
    info->default_ram_id = g_strdup(mc->default_ram_id);
    return info;
}

MachineInfoList *qmp_query_machines(Error **errp)
{
    g_autoptr(GSList) classes = machine_get_classes();
    MachineInfoList *list = NULL, **tail = &list;

    for (GSList *l = classes; l; l = l->next) {
        QAPI_LIST_APPEND(tail, machine_entry(l->data));
    }
    return list;
}

/* Threads first, then cores, clusters, sockets: as the numbers are given. */
static CpuInstanceProperties *place_of_cpu(const CpuTopology *t, int index)
{
    CpuInstanceProperties *p = g_new0(CpuInstanceProperties, 1);

    p->has_thread_id = p->has_core_id = true;
    p->has_cluster_id = p->has_socket_id = true;
    p->thread_id = index % t->threads;
    index /= t->threads;
    p->core_id = index % t->cores;
    index /= t->cores;
    p->cluster_id = index % t->clusters;
    index /= t->clusters;
    p->socket_id = index / t->dies;
    return p;
}

CpuInfoFastList *qmp_query_cpus_fast(Error **errp)
{
    const CpuTopology *topology = &current_machine()->smp;
    CpuInfoFastList *list = NULL, **tail = &list;
    CPUState *cpu;

    CPU_FOREACH (cpu) {
        CpuInfoFast *info = g_new0(CpuInfoFast, 1);

        info->cpu_index = cpu->cpu_index;
        info->qom_path = object_get_canonical_path(OBJECT(cpu));
        info->qom_type = g_strdup(object_get_typename(OBJECT(cpu)));
        info->thread_id = cpu->thread_id;
        info->props = place_of_cpu(topology, cpu->cpu_index);
        info->target = qapi_enum_parse(
            &SysEmuTarget_lookup, machine_info()->target_name, 0, &error_abort);
        QAPI_LIST_APPEND(tail, info);
    }
    return list;
}

void qmp_dumpdtb(const char *filename, Error **errp)
{
    machine_dump_dtb(current_machine(), filename, errp);
}

static void hmp_dumpdtb(Monitor *mon, json_object *args)
{
    json_object *name = json_object_object_get(args, "filename");
    Error *err = NULL;

    qmp_dumpdtb(json_object_get_string(name), &err);
    hmp_handle_error(mon, err);
}

static void hmp_info_cpus(Monitor *mon, json_object *args)
{
    CPUState *cpu;

    CPU_FOREACH (cpu) {
        monitor_printf(mon, "%c CPU #%d: thread_id=%d model=%s\n",
                       cpu->cpu_index == MAX(mon->cpu_index, 0) ? '*' : ' ',
                       cpu->cpu_index, cpu->thread_id,
                       CPU_GET_CLASS(cpu)->model);
    }
}

const HMPCommand hmp_machine_commands[] = {
    { .name = "dumpdtb",
      .args_type = "filename:F",
      .params = "filename",
      .help = "save the machine's device tree into a file",
      .cmd = hmp_dumpdtb },
    { .name = NULL },
};

const HMPCommand hmp_machine_info_commands[] = {
    { .name = "cpus",
      .args_type = "",
      .params = "",
      .help = "show the CPUs and their threads",
      .cmd = hmp_info_cpus },
    { .name = NULL },
};
