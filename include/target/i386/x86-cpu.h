/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * X86CPU: the QOM object of an x86 vCPU, for who builds a machine of them.
 *
 * Types "host-x86_64-cpu", "max-x86_64-cpu" and "qemu64-x86_64-cpu" below the
 * abstract "x86_64-cpu".
 *
 *     CPUState *cs = machine_create_cpu(ms, errp);
 *     x86_cpu_set_topology(X86_CPU(cs), &(X86Topology){ dies, cores, threads });
 *     cpu_realize(cs, errp)
 *
 * Used by: hw/i386, accel/kvm. Uses: cpu.h, cpus.h, qom.
 */
#ifndef TARGET_I386_X86_CPU_H
#define TARGET_I386_X86_CPU_H

#include "target/i386/cpu.h"
#include "target/i386/cpuid.h"

#define TYPE_X86_CPU         "x86_64-cpu"
#define X86_CPU_TYPE_SUFFIX  "-" TYPE_X86_CPU
#define X86_CPU_TYPE_NAME(m) m X86_CPU_TYPE_SUFFIX

/* How threads are grouped below a package; each at least 1. */
typedef struct X86Topology {
    unsigned dies, cores, threads;
} X86Topology;

struct X86CPU {
    CPUState parent_obj;

    CPUX86State env; /* see its own rules */

    /* Constant after realize. Properties. */
    uint32_t apic_id;                       /* default: by topology and index */
    int32_t family, model_number, stepping; /* -1: the model's */
    char *vendor, *model_id;                /* NULL: the model's */
    uint32_t phys_bits;                     /* 0: the model's */
    int64_t tsc_frequency;                  /* Hz; 0: the host's */
    bool host_phys_bits, migratable, check_cpuid, enforce_cpuid, expose_kvm;
    uint32_t features_on[FEATURE_WORDS], features_off[FEATURE_WORDS];

    /* Constant after realize. What became of it. */
    X86Topology topology;
    bool is_bsp; /* the first vCPU starts, others wait for INIT */
    bool model_is_host;
    bool realized;
    uint32_t features[FEATURE_WORDS];
    uint32_t filtered_features[FEATURE_WORDS]; /* asked for, not to be had */
    uint64_t xsave_mask;                       /* what XCR0 may have; 0: none */
    uint32_t level, xlevel;
    char vendor_id[12]; /* no NUL at its end */
    char model_id_text[49];

    /* Only while the section `cpu` is saved or loaded. */
    struct X86CpuStream *stream;
};

DECLARE_INSTANCE_CHECKER(X86CPU, X86_CPU, TYPE_X86_CPU)

/* apic_id before realize: by topology and index. */
#define X86_APIC_ID_BY_INDEX UINT32_MAX

/* Before realize; without it each vCPU is a package of its own. */
void x86_cpu_set_topology(X86CPU *cpu, const X86Topology *topology);
/* The APIC id that a vCPU gets by its index. */
uint32_t x86_apic_id_of(const X86Topology *topology, unsigned cpu_index);

/* To what Intel SDM vol. 3, table 10-1 says of a power-up; mp_state as well. */
void x86_cpu_reset_state(X86CPU *cpu);

void x86_cpu_register_types(void);

#endif /* TARGET_I386_X86_CPU_H */
