/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accelerator `tcg`: vCPU threads that execute A64 code in software. */
#include "qemu/osdep.h"

#include "accel/tcg.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/accel.h"
#include "system/dirty-pagemap.h"
#include "native.h"
#include "tcg-int.h"

#define TYPE_TCG_ACCEL ACCEL_CLASS_NAME("tcg")

/* The BQL is given up in the middle: more than the analysis can follow. */
static void *TSA_NO_CHECK tcg_vcpu_thread(void *opaque)
{
    CPUState *cpu = opaque;

    vcpu_thread_begin(cpu);
    while (vcpu_thread_wait(cpu)) {
        bql_unlock();
        vcpu_run_begin(cpu);
        tcg_exec(cpu->accel_data);
        vcpu_run_end(cpu);
        bql_lock();
    }
    vcpu_thread_end(cpu);
    return NULL;
}

static bool tcg_create_vcpu_thread(CPUState *cpu, Error **errp)
{
    g_autofree char *name = vcpu_thread_name(cpu, "TCG");

    tcg_vcpu_new(cpu);
    return qemu_thread_create(cpu->thread, name, tcg_vcpu_thread, cpu,
                              QEMU_THREAD_JOINABLE, errp);
}

static void tcg_kick_vcpu_thread(CPUState *cpu)
{
    TcgVcpu *v = cpu->accel_data;

    if (v) {
        tcg_ask(v);
        qemu_event_set(&v->wake);
    }
}

static void tcg_handle_interrupt(CPUState *cpu, uint32_t mask)
{
    tcg_kick_vcpu_thread(cpu);
}

/* Memory may have been replaced under the stopped vCPU (reset, load). */
static void tcg_forget_code(CPUState *cpu)
{
    TcgVcpu *v = cpu->accel_data;

    if (v) {
        v->flush_pending = true;
        tcg_ask(v);
    }
}

static bool tcg_loaded(CPUState *cpu, Error **errp)
{
    tcg_forget_code(cpu);
    return true;
}

static const AccelOps tcg_accel_ops = {
    .create_vcpu_thread = tcg_create_vcpu_thread,
    .kick_vcpu_thread = tcg_kick_vcpu_thread,
    .handle_interrupt = tcg_handle_interrupt,
    .synchronize_post_reset = tcg_forget_code,
    .synchronize_post_init = tcg_loaded,
};

/* After this, no vCPU uses what the old map showed. */
static void tcg_map_changed(MemoryListener *listener)
{
    tcg_handshake();
}

static MemoryListener tcg_listener = {
    .name = "tcg",
    .priority = MEMORY_LISTENER_PRIORITY_ACCEL,
    .commit = tcg_map_changed,
};

bool tcg_engine_init(Error **errp)
{
    tcg_code_init();
    get_system_memory(); /* makes address_space_memory */
    memory_listener_register(&tcg_listener, &address_space_memory);
    return dirty_tracker_select(&tcg_bitmap_tracker, errp);
}

typedef struct TcgAccelState {
    AccelState parent;
    uint32_t dirty_fault_ns; /* x-dirty-fault-ns: see tcg_pay_fault() */
    bool native_code;        /* native-code: see native.h */
} TcgAccelState;

static bool tcg_init_machine(AccelState *as, MachineState *ms, Error **errp)
{
    const TcgAccelState *s = container_of(as, TcgAccelState, parent);

    if (s->native_code && !TCG_NATIVE) {
        error_setg(errp, "native-code=on is not possible: this binary has "
                         "native code for x86-64 hosts only, and not with a "
                         "sanitizer");
        return false;
    }
    tcg_native_use(s->native_code ? TCG_NATIVE_ON : TCG_NATIVE_OFF);
    tcg_set_fault_price(s->dirty_fault_ns);
    return tcg_engine_init(errp);
}

static const DirtyTrackerOps *const tcg_trackers[] = {
    &tcg_bitmap_tracker,
    &tcg_ring_tracker,
    &tcg_dbm_tracker,
    &dirty_tracker_pagemap,
    NULL,
};

static void tcg_accel_class_init(ObjectClass *oc, const void *data)
{
    AccelClass *ac = ACCEL_CLASS(oc);

    ac->name = "tcg";
    ac->ops = &tcg_accel_ops;
    ac->init_machine = tcg_init_machine;
    ac->trackers = tcg_trackers;
}

static const Property tcg_accel_props[] = {
    DEFINE_DIRTY_TRACKING_PROPS(),
    DEFINE_PROP_UINT32("x-dirty-fault-ns", TcgAccelState, dirty_fault_ns, 0),
    DEFINE_PROP_BOOL("native-code", TcgAccelState, native_code, false),
    DEFINE_PROP_END_OF_LIST(),
};

static const TypeInfo tcg_accel_type_info = {
    .name = TYPE_TCG_ACCEL,
    .parent = TYPE_ACCEL,
    .instance_size = sizeof(TcgAccelState),
    .props = tcg_accel_props,
    .class_init = tcg_accel_class_init,
};

void tcg_accel_register_types(void)
{
    type_register_static(&tcg_accel_type_info);
}
