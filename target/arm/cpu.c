/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ARM CPUs as objects: types, properties, realize, reset, interrupt inputs.
 */
#include "qemu/osdep.h"

#include "internals.h"
#include "models.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/accel.h"
#include "target/arm/arm-cpu.h"

CPUARMState *arm_cpu_env(CPUState *cs)
{
    return &((ARMCPU *)cs)->env;
}

const char *arm_cpu_dtb_compatible(const ARMCPU *cpu)
{
    return cpu->model->dtb_compatible;
}

/* ---- interrupts ---- */

void arm_cpu_set_irq(void *opaque, int irq, int level)
{
    static const uint32_t mask[ARM_CPU_NUM_IRQS] = {
        [ARM_CPU_IRQ] = CPU_INTERRUPT_HARD,
        [ARM_CPU_FIQ] = CPU_INTERRUPT_FIQ,
    };
    ARMCPU *cpu = opaque;

    assert(bql_locked() && irq >= 0 && irq < ARM_CPU_NUM_IRQS);
    if (level) {
        cpu->env.irq_line_state |= mask[irq];
        cpu_interrupt(CPU(cpu), mask[irq]);
    } else {
        cpu->env.irq_line_state &= ~mask[irq];
        cpu_reset_interrupt(CPU(cpu), mask[irq]);
    }
}

bool arm_cpu_has_work(CPUState *cs)
{
    return arm_cpu_power_state((ARMCPU *)cs) == PSCI_ON &&
           cpu_test_interrupt(cs, CPU_INTERRUPT_HARD | CPU_INTERRUPT_FIQ |
                                      CPU_INTERRUPT_EXITTB);
}

/* ---- reset ---- */

static const uint32_t mvfr[3] = { 0x43, 0x12111111, 0x10110222 };

void arm_cpu_reset_state(ARMCPU *cpu)
{
    CPUARMState *env = &cpu->env;
    uint64_t features = env->features;
    uint32_t lines = env->irq_line_state;

    memset(env, 0, sizeof(*env));
    env->features = features;
    env->irq_line_state = lines; /* the wires are not ours */
    env->exclusive_addr = UINT64_MAX;
    env->daif = PSTATE_DAIF;
    env->pstate = PSTATE_MODE_EL1h;
    /* Also Z is set (ZF is 0), as on the machine whose streams we share. */

    arm_sysregs_reset(cpu);
    arm_cpregs_reset(cpu);

    env->aa32.vfp_xregs[0] = cpu->model->fpsid;
    for (int i = 0; i < 3; i++) {
        env->aa32.vfp_xregs[5 + i] = mvfr[i];
    }
}

static void arm_cpu_reset(CPUState *cs)
{
    ARMCPU *cpu = ARM_CPU(cs);

    arm_cpu_reset_state(cpu);
    cpu->env.irq_line_state = 0; /* who drives them is reset as well */
    arm_cpu_set_power_state(cpu, cs->start_powered_off ? PSCI_OFF : PSCI_ON);
    for (int i = 0; i < NUM_GTIMERS; i++) {
        arm_gtimer_update(cpu, i);
    }
}

/* ---- realize ---- */

/* Under KVM a vCPU has the host's registers, and only there. */
static bool check_model(CPUState *cs, Error **errp)
{
    bool is_host = g_str_equal(CPU_GET_CLASS(cs)->model, "host");
    bool is_kvm = g_str_equal(current_accel_name(), "kvm");

    if (is_host && !is_kvm) {
        error_setg(errp, "-cpu host needs -accel kvm");
        return false;
    }
    if (is_kvm && !is_host && !g_str_equal(CPU_GET_CLASS(cs)->model, "max")) {
        error_setg(errp,
                   "-accel kvm has the host's CPU, not a %s: use -cpu host",
                   CPU_GET_CLASS(cs)->model);
        return false;
    }
    return true;
}

static bool arm_cpu_realize(CPUState *cs, Error **errp)
{
    ARMCPU *cpu = ARM_CPU(cs);

    if (!check_model(cs, errp)) {
        return false;
    }
    cs->env = &cpu->env;
    if (cpu->mp_affinity == ARM_AFFINITY_BY_INDEX) {
        cpu->mp_affinity = cs->cpu_index;
    }
    arm_sysregs_init(cpu);
    arm_cpregs_init(cpu);
    cpu->env.features = arm_cpu_model_features(cpu);
    arm_gtimer_init(cpu);
    cpu->wfxt_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, NULL, NULL);
    cpu->wfxt_timer_travels = !g_str_equal(current_accel_name(), "qtest");
    cpu_reset(cs);
    return true;
}

/* ---- registers as text, as `info registers` shows them ---- */

static void dump_fp(const CPUARMState *env, GString *out)
{
    unsigned fpen = (env->sys.cpacr_el1 >> 20) & 3;

    if (fpen != 3 && !(fpen == 1 && arm_current_el(env) > 0)) {
        g_string_append(out, "    FPU disabled\n");
        return;
    }
    g_string_append_printf(out, "     FPCR=%08" PRIx32 " FPSR=%08" PRIx32 "\n",
                           env->vfp.fpcr, env->vfp.fpsr);
    for (int i = 0; i < 32; i++) {
        g_string_append_printf(out, "Q%02d=%016" PRIx64 ":%016" PRIx64 "%s", i,
                               env->vfp.zregs[i].d[1], env->vfp.zregs[i].d[0],
                               i & 1 ? "\n" : " ");
    }
}

static void arm_cpu_dump_state(CPUState *cs, GString *out)
{
    CPUARMState *env = arm_cpu_env(cs);
    uint64_t psr = arm_pstate_read(env);

    g_string_append_printf(out, " PC=%016" PRIx64 " ", env->pc);
    for (int i = 0; i < 31; i++) {
        g_string_append_printf(out, "X%02d=%016" PRIx64 "%s", i, env->xregs[i],
                               (i + 2) % 3 ? " " : "\n");
    }
    g_string_append_printf(out, " SP=%016" PRIx64 "\n", env->xregs[31]);
    g_string_append_printf(
        out, "PSTATE=%016" PRIx64 " %c%c%c%c EL%d%c", psr,
        psr & PSTATE_N ? 'N' : '-', psr & PSTATE_Z ? 'Z' : '-',
        psr & PSTATE_C ? 'C' : '-', psr & PSTATE_V ? 'V' : '-',
        arm_current_el(env), psr & PSTATE_SP ? 'h' : 't');
    dump_fp(env, out);
}

static void arm_cpu_set_pc(CPUState *cs, vaddr pc)
{
    arm_cpu_env(cs)->pc = pc;
}

static vaddr arm_cpu_get_pc(CPUState *cs)
{
    return arm_cpu_env(cs)->pc;
}

/* ---- types ---- */

static void arm_cpu_instance_finalize(Object *obj)
{
    ARMCPU *cpu = ARM_CPU(obj);

    arm_gtimer_free(cpu);
    timer_free(cpu->wfxt_timer);
    arm_cpregs_free(cpu);
    arm_sysregs_free(cpu);
}

static void arm_cpu_class_init(ObjectClass *oc, const void *data)
{
    CPUClass *cc = CPU_CLASS(oc);

    cc->realize = arm_cpu_realize;
    cc->reset = arm_cpu_reset;
    cc->has_work = arm_cpu_has_work;
    cc->set_pc = arm_cpu_set_pc;
    cc->get_pc = arm_cpu_get_pc;
    cc->dump_state = arm_cpu_dump_state;
    cc->vmsd = &vmstate_arm_cpu;
}

static void arm_model_class_init(ObjectClass *oc, const void *data)
{
    CPU_CLASS(oc)->model = data;
}

static void arm_model_instance_init(Object *obj)
{
    ARM_CPU(obj)->model = arm_cpu_model_find(CPU_GET_CLASS(obj)->model);
}

static const Property arm_cpu_props[] = {
    DEFINE_PROP_UINT32("psci-conduit", ARMCPU, psci_conduit,
                       PSCI_CONDUIT_DISABLED),
    DEFINE_PROP_UINT64("mp-affinity", ARMCPU, mp_affinity,
                       ARM_AFFINITY_BY_INDEX),
    DEFINE_PROP_UINT64("reset-cbar", ARMCPU, reset_cbar, 0),
    DEFINE_PROP_UINT32("core-count", ARMCPU, core_count, 1),
    DEFINE_PROP_BOOL("start-powered-off", ARMCPU, parent_obj.start_powered_off,
                     false),
    DEFINE_PROP_END_OF_LIST(),
};

static const TypeInfo arm_cpu_type = {
    .name = TYPE_ARM_CPU,
    .parent = TYPE_CPU,
    .instance_size = sizeof(ARMCPU),
    .abstract = true,
    .instance_finalize = arm_cpu_instance_finalize,
    .class_init = arm_cpu_class_init,
    .props = arm_cpu_props,
};

#define MODEL_TYPE(model)                                         \
    {                                                             \
        .name = ARM_CPU_TYPE_NAME(model), .parent = TYPE_ARM_CPU, \
        .instance_init = arm_model_instance_init,                 \
        .class_init = arm_model_class_init, .class_data = model,  \
    }

static const TypeInfo arm_model_types[] = {
    MODEL_TYPE("cortex-a53"), MODEL_TYPE("cortex-a57"),
    MODEL_TYPE("cortex-a72"), MODEL_TYPE("max"),
#ifdef __aarch64__
    MODEL_TYPE("host"),
#endif
};

void arm_cpu_register_types(void)
{
    type_register_static(&arm_cpu_type);
    for (size_t i = 0; i < ARRAY_SIZE(arm_model_types); i++) {
        type_register_static(&arm_model_types[i]);
    }
}
