/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86 CPUs as objects: types, properties, realize, reset.
 */
#include "qemu/osdep.h"

#include "internals.h"
#include "qemu/error.h"
#include "vmstate/savevm.h"

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
        cpu->apic_id = x86_apic_id_of(&cpu->topology, cs->cpu_index);
    }
    cpu->is_bsp = cs->cpu_index == 0;
    if (!x86_cpu_expand_model(cpu, errp)) {
        return false;
    }
    if (!vmstate_register(NULL, cs->cpu_index, &vmstate_x86_apic, cpu, errp)) {
        return false;
    }
    cpu->realized = true;
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

void x86_cpu_set_topology(X86CPU *cpu, const X86Topology *topology)
{
    assert(!cpu->realized && topology->dies && topology->cores &&
           topology->threads);
    cpu->topology = *topology;
}

/* ---- types ---- */

static void x86_cpu_instance_init(Object *obj)
{
    X86_CPU(obj)->topology = (X86Topology){ 1, 1, 1 };
}

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
    cc->vmsd = &vmstate_x86_cpu;
}

static void x86_model_class_init(ObjectClass *oc, const void *data)
{
    CPU_CLASS(oc)->model = data;
}

static const Property own_props[] = {
    DEFINE_PROP_UINT32("apic-id", X86CPU, apic_id, X86_APIC_ID_BY_INDEX),
    DEFINE_PROP_INT32("family", X86CPU, family, -1),
    DEFINE_PROP_INT32("model", X86CPU, model_number, -1),
    DEFINE_PROP_INT32("stepping", X86CPU, stepping, -1),
    DEFINE_PROP_STRING("vendor", X86CPU, vendor),
    DEFINE_PROP_STRING("model-id", X86CPU, model_id),
    DEFINE_PROP_UINT32("phys-bits", X86CPU, phys_bits, 0),
    DEFINE_PROP_BOOL("host-phys-bits", X86CPU, host_phys_bits, false),
    DEFINE_PROP_INT64("tsc-frequency", X86CPU, tsc_frequency, 0),
    DEFINE_PROP_BOOL("migratable", X86CPU, migratable, true),
    DEFINE_PROP_BOOL("check", X86CPU, check_cpuid, true),
    DEFINE_PROP_BOOL("enforce", X86CPU, enforce_cpuid, false),
    DEFINE_PROP_BOOL("kvm", X86CPU, expose_kvm, true),
};

static TypeInfo x86_cpu_type = {
    .name = TYPE_X86_CPU,
    .parent = TYPE_CPU,
    .instance_size = sizeof(X86CPU),
    .abstract = true,
    .instance_init = x86_cpu_instance_init,
    .class_init = x86_cpu_class_init,
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
    /* Own properties and one for each feature; lives as long as the type. */
    GArray *props = g_array_new(TRUE, FALSE, sizeof(Property));

    g_array_append_vals(props, own_props, ARRAY_SIZE(own_props));
    x86_feature_properties(props);
    x86_cpu_type.props = (const Property *)g_array_free(props, FALSE);
    type_register_static(&x86_cpu_type);
    for (size_t i = 0; i < ARRAY_SIZE(x86_model_types); i++) {
        type_register_static(&x86_model_types[i]);
    }
}
