/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * X86CPU: the QOM object of an x86 vCPU, for who builds a machine of them.
 *
 * Types "host-x86_64-cpu", "max-x86_64-cpu" and "qemu64-x86_64-cpu" below the
 * abstract "x86_64-cpu".
 *
 *     CPUState *cs = machine_create_cpu(ms, errp);
 *     object_property_set_uint(OBJECT(cs), "apic-id", i, errp);
 *     cpu_realize(cs, errp)
 *
 * Used by: hw/i386, accel/kvm. Uses: cpu.h, cpus.h, qom.
 */
#ifndef TARGET_I386_X86_CPU_H
#define TARGET_I386_X86_CPU_H

#include "target/i386/cpu.h"

#define TYPE_X86_CPU         "x86_64-cpu"
#define X86_CPU_TYPE_SUFFIX  "-" TYPE_X86_CPU
#define X86_CPU_TYPE_NAME(m) m X86_CPU_TYPE_SUFFIX

typedef struct X86CPU {
    CPUState parent_obj;

    CPUX86State env; /* see its own rules */

    /* Constant after realize. */
    uint32_t apic_id; /* property apic-id; default: the vCPU's index */
    bool is_bsp;      /* the first vCPU starts, others wait for INIT */
} X86CPU;

DECLARE_INSTANCE_CHECKER(X86CPU, X86_CPU, TYPE_X86_CPU)

/* apic_id before realize: by the vCPU's index. */
#define X86_APIC_ID_BY_INDEX UINT32_MAX

/* To what Intel SDM vol. 3, table 10-1 says of a power-up; mp_state as well. */
void x86_cpu_reset_state(X86CPU *cpu);

void x86_cpu_register_types(void);

#endif /* TARGET_I386_X86_CPU_H */
