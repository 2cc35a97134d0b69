/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUs for tests: see fake-cpu.h. */
#include "qemu/osdep.h"

#include "fake-cpu.h"
#include "qemu/error.h"
#include "qemu/timer.h"
#include "system/accel-ops.h"
#include "system/runstate.h"

#define TYPE_FAKE "fake-cpu"
#define ROUND_US  50

FakeCPU *fake_cpus[FAKE_CPUS_MAX];

/* ---- the CPU ---- */

static bool fake_realize(CPUState *cpu, Error **errp)
{
    return true;
}

static void fake_reset(CPUState *cpu)
{
    ((FakeCPU *)cpu)->resets++;
}

static bool fake_has_work(CPUState *cpu)
{
    return atomic_load(&((FakeCPU *)cpu)->has_work) ||
           cpu_test_interrupt(cpu, CPU_INTERRUPT_HARD);
}

static void fake_dump(CPUState *cpu, GString *out)
{
}

static void fake_class_init(ObjectClass *oc, const void *data)
{
    CPUClass *cc = CPU_CLASS(oc);

    cc->realize = fake_realize;
    cc->reset = fake_reset;
    cc->has_work = fake_has_work;
    cc->dump_state = fake_dump;
}

static const TypeInfo fake_type = {
    .name = TYPE_FAKE,
    .parent = TYPE_CPU,
    .instance_size = sizeof(FakeCPU),
    .class_init = fake_class_init,
};

/* ---- its accelerator ---- */

static void one_round(FakeCPU *f)
{
    atomic_fetch_add(&f->rounds, 1);
    if (CPU(f)->halted || atomic_load(&f->spins)) {
        return;
    }
    g_usleep(ROUND_US);
}

static void *TSA_NO_CHECK fake_thread(void *opaque)
{
    FakeCPU *f = opaque;
    CPUState *cpu = opaque;

    vcpu_thread_begin(cpu);
    while (vcpu_thread_wait(cpu)) {
        bql_unlock();
        vcpu_run_begin(cpu);
        do {
            one_round(f);
        } while (!vcpu_must_exit(cpu) && !cpu->halted);
        if (atomic_load(&f->slow)) {
            g_usleep(FAKE_SLOW_EXIT_US);
        }
        vcpu_run_end(cpu);
        bql_lock();
    }
    vcpu_thread_end(cpu);
    return NULL;
}

static bool fake_create_thread(CPUState *cpu, Error **errp)
{
    g_autofree char *name = vcpu_thread_name(cpu, "FAKE");

    return qemu_thread_create(cpu->thread, name, fake_thread, cpu,
                              QEMU_THREAD_JOINABLE, errp);
}

static const AccelOps fake_ops = { .create_vcpu_thread = fake_create_thread };

/* ---- for tests ---- */

void TSA_ACQUIRE(bql) fake_cpus_init(unsigned n)
{
    qom_register_types();
    cpu_register_types();
    type_register_static(&fake_type);
    main_loop_init();
    timers_init();
    runstate_init();
    accel_ops_set(&fake_ops);
    for (unsigned i = 0; i < n; i++) {
        fake_cpus[i] = (FakeCPU *)object_new(TYPE_FAKE);
        g_assert_true(cpu_realize(fake_cpu(i), &error_abort));
        g_assert_true(qemu_get_cpu(i) == fake_cpu(i));
    }
}

void TSA_NO_CHECK fake_cpus_exit(void)
{
    cpus_shutdown();
    bql_unlock();
}

void TSA_NO_CHECK fake_wait_for(uint64_t (*counter)(int), int i,
                                uint64_t at_least)
{
    bql_unlock();
    while (counter(i) < at_least) {
        g_usleep(100);
    }
    bql_lock();
}

void fake_wait_for_round(int i)
{
    fake_wait_for(fake_rounds, i, fake_rounds(i) + 1);
}

void fake_halt(CPUState *cpu, run_on_cpu_data data)
{
    cpu->halted = 1;
}
