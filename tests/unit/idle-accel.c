/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See idle-accel.h. */
#include "qemu/osdep.h"

#include "idle-accel.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qom/object.h"
#include "system/accel-ops.h"

static void TSA_REQUIRES(bql) * idle_vcpu_thread(void *opaque)
{
    CPUState *cpu = opaque;

    vcpu_thread_begin(cpu);
    while (vcpu_thread_wait(cpu)) {
        bql_unlock();
        g_usleep(100);
        bql_lock();
    }
    vcpu_thread_end(cpu);
    return NULL;
}

static bool create_idle_thread(CPUState *cpu, Error **errp)
{
    return qemu_thread_create(cpu->thread, "idle", idle_vcpu_thread, cpu,
                              QEMU_THREAD_JOINABLE, errp);
}

static const AccelOps idle_ops = { .create_vcpu_thread = create_idle_thread };

void TSA_ACQUIRE(bql) idle_accel_init(void)
{
    main_loop_init();
    qom_register_types();
    cpu_register_types();
    virtual_clock_set_manual();
    accel_ops_set(&idle_ops);
}
