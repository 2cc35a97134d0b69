/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accelerator `qtest`: vCPUs that sleep, time that steps. */
#include "qemu/osdep.h"

#include "accel/qtest.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/accel.h"

#define TYPE_QTEST_ACCEL ACCEL_CLASS_NAME("qtest")

static void *TSA_NO_CHECK dummy_vcpu_thread(void *opaque)
{
    CPUState *cpu = opaque;

    vcpu_thread_begin(cpu);
    while (vcpu_thread_wait(cpu)) {
        bql_unlock();
        vcpu_run_begin(cpu);
        while (!vcpu_must_exit(cpu)) {
            qemu_event_wait(&cpu->wake);
        }
        vcpu_run_end(cpu);
        bql_lock();
    }
    vcpu_thread_end(cpu);
    return NULL;
}

static bool create_dummy_vcpu_thread(CPUState *cpu, Error **errp)
{
    g_autofree char *name = vcpu_thread_name(cpu, "DUMMY");

    return qemu_thread_create(cpu->thread, name, dummy_vcpu_thread, cpu,
                              QEMU_THREAD_JOINABLE, errp);
}

static const AccelOps qtest_accel_ops = {
    .create_vcpu_thread = create_dummy_vcpu_thread,
};

static bool qtest_init_machine(AccelState *as, MachineState *ms, Error **errp)
{
    virtual_clock_set_manual();
    return true;
}

static void qtest_accel_class_init(ObjectClass *oc, const void *data)
{
    AccelClass *ac = ACCEL_CLASS(oc);

    ac->name = "qtest";
    ac->ops = &qtest_accel_ops;
    ac->init_machine = qtest_init_machine;
}

static const TypeInfo qtest_accel_type_info = {
    .name = TYPE_QTEST_ACCEL,
    .parent = TYPE_ACCEL,
    .class_init = qtest_accel_class_init,
};

void qtest_accel_register_types(void)
{
    type_register_static(&qtest_accel_type_info);
}

bool qtest_enabled(void)
{
    return g_str_equal(current_accel_name(), "qtest");
}
