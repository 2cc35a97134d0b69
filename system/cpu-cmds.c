/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Human commands about one CPU: `cpu`, `info registers`. */
#include "qemu/osdep.h"

#include <json-c/json.h>

#include "qemu/error.h"
#include "qemu/monitor-sink.h"
#include "system/cpus.h"
#include "system/monitor-cmds.h"

/* The CPU that @mon looks at; NULL (and said so) if there is none. */
static CPUState *cpu_of_monitor(Monitor *mon)
{
    CPUState *cpu = qemu_get_cpu(MAX(mon->cpu_index, 0));

    if (!cpu) {
        monitor_puts(mon, "No CPU available\n");
    }
    return cpu;
}

static void hmp_cpu(Monitor *mon, json_object *args)
{
    int index = json_object_get_int(json_object_object_get(args, "index"));

    if (!qemu_get_cpu(index)) {
        monitor_puts(mon, "invalid CPU index\n");
        return;
    }
    mon->cpu_index = index;
}

/* On the vCPU's own thread, so that it shows one moment of a running one. */
static void dump_state(CPUState *cpu, run_on_cpu_data data)
{
    cpu_synchronize_state(cpu);
    CPU_GET_CLASS(cpu)->dump_state(cpu, data.host_ptr);
}

static void print_registers(Monitor *mon, CPUState *cpu)
{
    g_autoptr(GString) text = g_string_new(NULL);

    run_on_cpu(cpu, dump_state, RUN_ON_CPU_HOST_PTR(text));
    monitor_printf(mon, "\nCPU#%d\n%s", cpu->cpu_index, text->str);
}

static void hmp_info_registers(Monitor *mon, json_object *args)
{
    CPUState *cpu;

    if (json_object_object_get(args, "cpustate_all")) {
        CPU_FOREACH (cpu) {
            print_registers(mon, cpu);
        }
        return;
    }
    cpu = cpu_of_monitor(mon);
    if (cpu) {
        print_registers(mon, cpu);
    }
}

void hmp_complete_cpu_index(HMPCompletion *c, const char *const *words,
                            unsigned n)
{
    CPUState *cpu;

    CPU_FOREACH (cpu) {
        g_autofree char *text = g_strdup_printf("%d", cpu->cpu_index);

        hmp_completion_add(c, text);
    }
}

const HMPCommand hmp_cpu_commands[] = {
    { .name = "cpu",
      .args_type = "index:i",
      .params = "index",
      .help = "choose the CPU that other commands look at",
      .cmd = hmp_cpu,
      .complete = hmp_complete_cpu_index },
    { .name = NULL },
};

const HMPCommand hmp_cpu_info_commands[] = {
    { .name = "registers",
      .args_type = "cpustate_all:-a",
      .params = "[-a]",
      .help = "show the registers of the chosen CPU (-a: of all)",
      .cmd = hmp_info_registers },
    { .name = NULL },
};
