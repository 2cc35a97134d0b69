/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The base type of CPUs, and its section `cpu_common` (version 1):
 *   u32 halted, u32 interrupt_request
 */
#include "qemu/osdep.h"

#include "cpus-internal.h"
#include "qemu/error.h"
#include "qemu/log.h"
#include "system/memory.h"
#include "system/reset.h"
#include "vmstate/savevm.h"

static bool cpu_common_post_load(void *opaque, int version_id, Error **errp)
{
    CPUState *cpu = opaque;

    if (cpu->halted > 1) {
        error_setg(errp, "halted is %u, expected 0 or 1", cpu->halted);
        return false;
    }
    /*
     * EXITTB asks for nothing that survives a load; a bit that nobody
     * clears would keep a halted vCPU awake.
     */
    cpu->saved_interrupt_request &= ~CPU_INTERRUPT_EXITTB;
    atomic_store_explicit(&cpu->interrupt_request, cpu->saved_interrupt_request,
                          memory_order_relaxed);
    return true;
}

static bool cpu_common_pre_save(void *opaque, Error **errp)
{
    CPUState *cpu = opaque;

    if (cpu->env_stale) {
        error_setg(errp, "the state of CPU %d could not be read",
                   cpu->cpu_index);
        return false;
    }
    cpu->saved_interrupt_request = atomic_load_explicit(&cpu->interrupt_request,
                                                        memory_order_relaxed);
    return true;
}

static const VMStateDescription vmstate_cpu_common = {
    .name = "cpu_common",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = cpu_common_pre_save,
    .post_load = cpu_common_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(halted, CPUState),
            {
                .name = "interrupt_request",
                .offset = offsetof(CPUState, saved_interrupt_request),
                .size = sizeof(uint32_t),
                .flags = VMS_SINGLE,
                .info = &vmstate_info_uint32,
            },
            VMSTATE_END_OF_LIST(),
        },
};

bool cpu_has_work(CPUState *cpu)
{
    return CPU_GET_CLASS(cpu)->has_work(cpu);
}

void cpu_reset(CPUState *cpu)
{
    CPUClass *cc = CPU_GET_CLASS(cpu);

    if (qemu_loglevel_mask(LOG_RESET)) {
        g_autoptr(GString) text = g_string_new(NULL);

        cc->dump_state(cpu, text);
        qemu_log("CPU Reset (CPU %d)\n%s", cpu->cpu_index, text->str);
    }
    atomic_store_explicit(&cpu->interrupt_request, 0, memory_order_relaxed);
    cpu->halted = cpu->start_powered_off;
    cpu->exception_index = -1;
    cc->reset(cpu);
}

static void cpu_reset_handler(void *opaque)
{
    cpu_reset(opaque);
}

bool cpu_realize(CPUState *cpu, Error **errp)
{
    CPUClass *cc = CPU_GET_CLASS(cpu);

    cpu->as = &address_space_memory;
    cpu_list_append(cpu);
    if (!cc->realize(cpu, errp) ||
        !vmstate_register(NULL, cpu->cpu_index, &vmstate_cpu_common, cpu,
                          errp)) {
        return false;
    }
    if (cc->vmsd &&
        !vmstate_register(NULL, cpu->cpu_index, cc->vmsd, cpu, errp)) {
        return false;
    }
    qemu_register_reset(cpu_reset_handler, cpu);
    object_freeze(OBJECT(cpu));
    return cpu_start_thread(cpu, errp);
}

static void cpu_instance_init(Object *obj)
{
    CPUState *cpu = CPU(obj);

    cpu->cpu_index = -1;
    cpu->exception_index = -1;
    qemu_event_init(&cpu->wake, false);
    qemu_mutex_init(&cpu->work_lock);
}

static void cpu_instance_finalize(Object *obj)
{
    CPUState *cpu = CPU(obj);

    qemu_mutex_destroy(&cpu->work_lock);
    qemu_event_destroy(&cpu->wake);
}

static const TypeInfo cpu_type_info = {
    .name = TYPE_CPU,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(CPUState),
    .class_size = sizeof(CPUClass),
    .abstract = true,
    .instance_init = cpu_instance_init,
    .instance_finalize = cpu_instance_finalize,
};

void cpu_register_types(void)
{
    type_register_static(&cpu_type_info);
}
