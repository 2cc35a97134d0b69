/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86 CPUs as objects: types, properties, realize, reset.
 */
#include "qemu/osdep.h"

#include "internals.h"
#include "qemu/error.h"

CPUX86State *x86_cpu_env(CPUState *cs)
{
    return &((X86CPU *)cs)->env;
}

/*
 * Only for an accelerator that leaves halts to us (no interrupt controller in
 * the kernel): a masked INTR does not wake, NMI, INIT and SMI do.
 */
static bool x86_cpu_has_work(CPUState *cs)
{
    const CPUX86State *env = x86_cpu_env(cs);

    if (cpu_test_interrupt(cs, CPU_INTERRUPT_HARD) && (env->eflags & IF_MASK)) {
        return true;
    }
    return cpu_test_interrupt(cs, X86_INTERRUPT_NMI | X86_INTERRUPT_SMI |
                                      X86_INTERRUPT_INIT | X86_INTERRUPT_SIPI);
}

static void x86_cpu_reset(CPUState *cs)
{
    X86CPU *cpu = X86_CPU(cs);

    x86_cpu_reset_state(cpu);
    cs->halted = !cpu->is_bsp;
}

static bool x86_cpu_realize(CPUState *cs, Error **errp)
{
    X86CPU *cpu = X86_CPU(cs);

    cs->env = &cpu->env;
    if (cpu->apic_id == X86_APIC_ID_BY_INDEX) {
        cpu->apic_id = cs->cpu_index;
    }
    cpu->is_bsp = cs->cpu_index == 0;
    cpu_reset(cs);
    return true;
}

static void x86_cpu_set_pc(CPUState *cs, vaddr pc)
{
    x86_cpu_env(cs)->eip = pc;
}

static vaddr x86_cpu_get_pc(CPUState *cs)
{
    const CPUX86State *env = x86_cpu_env(cs);

    return env->eip + env->segs[R_CS].base;
}

/* ---- types ---- */

static void x86_cpu_class_init(ObjectClass *oc, const void *data)
{
    CPUClass *cc = CPU_CLASS(oc);

    cc->realize = x86_cpu_realize;
    cc->reset = x86_cpu_reset;
    cc->has_work = x86_cpu_has_work;
    cc->set_pc = x86_cpu_set_pc;
    cc->get_pc = x86_cpu_get_pc;
    cc->dump_state = x86_cpu_dump_state;
    cc->translate_debug = x86_cpu_translate_debug;
}

static void x86_model_class_init(ObjectClass *oc, const void *data)
{
    CPU_CLASS(oc)->model = data;
}

static const Property x86_cpu_props[] = {
    DEFINE_PROP_UINT32("apic-id", X86CPU, apic_id, X86_APIC_ID_BY_INDEX),
    DEFINE_PROP_END_OF_LIST(),
};

static const TypeInfo x86_cpu_type = {
    .name = TYPE_X86_CPU,
    .parent = TYPE_CPU,
    .instance_size = sizeof(X86CPU),
    .abstract = true,
    .class_init = x86_cpu_class_init,
    .props = x86_cpu_props,
};

#define MODEL_TYPE(model)                                         \
    {                                                             \
        .name = X86_CPU_TYPE_NAME(model), .parent = TYPE_X86_CPU, \
        .class_init = x86_model_class_init, .class_data = model,  \
    }

static const TypeInfo x86_model_types[] = {
    MODEL_TYPE("host"),
    MODEL_TYPE("max"),
    MODEL_TYPE("qemu64"),
};

void x86_cpu_register_types(void)
{
    type_register_static(&x86_cpu_type);
    for (size_t i = 0; i < ARRAY_SIZE(x86_model_types); i++) {
        type_register_static(&x86_model_types[i]);
    }
}
