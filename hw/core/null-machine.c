/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine `none`: nothing but, if asked for, RAM at address 0 (-m) and one
 * CPU (-cpu) that never starts. For clients that want to ask a binary what
 * it can do, and for migration tests without a guest.
 */
#include "qemu/osdep.h"

#include "hw/boards.h"
#include "qemu/error.h"
#include "system/cpus.h"
#include "system/memory.h"

static bool none_init(MachineState *ms, Error **errp)
{
    CPUState *cpu;

    if (ms->ram) {
        memory_region_add_subregion(get_system_memory(), 0, ms->ram);
    }
    if (ms->kernel_filename) {
        error_setg(errp, "The -kernel parameter is not supported "
                         "by machine 'none'");
        return false;
    }
    if (!ms->cpu_type) {
        return true;
    }
    cpu = machine_create_cpu(ms, errp);
    if (!cpu) {
        return false;
    }
    cpu->start_powered_off = true;
    return cpu_realize(cpu, errp);
}

static void none_class_init(ObjectClass *oc, const void *data)
{
    MachineClass *mc = MACHINE_CLASS(oc);

    mc->desc = "empty machine";
    mc->init = none_init;
    mc->max_cpus = 1;
    mc->default_ram_size_bytes = 0;
    mc->default_ram_id = "ram";
    mc->no_serial = true;
}

static const TypeInfo none_type_info = {
    .name = MACHINE_TYPE_NAME("none"),
    .parent = TYPE_MACHINE,
    .class_init = none_class_init,
};

void null_machine_register_types(void)
{
    type_register_static(&none_type_info);
}
