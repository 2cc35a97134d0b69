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

/* A word of features as it travels. */
typedef struct X86FeatureRecord {
    uint32_t function, index, reg, bits;
} X86FeatureRecord;

#define X86_FEATURE_RECORDS 64

/* What sections have and CPUX86State has not; while they are saved or loaded. */
typedef struct X86CpuStream {
    uint32_t hflags, hflags2;
    uint16_t fptag, fpregs_format;
    uint32_t sysenter_cs, smbase, pkru;
    bool has_exception_info, has_wide;
    uint32_t n_features;
    X86FeatureRecord features[X86_FEATURE_RECORDS];
    uint64_t xsave_mask;
    int64_t tsc_khz;
    struct {
        uint32_t apicbase;
        uint8_t id, arb_id, tpr, log_dest, dest_mode;
        uint32_t spurious_vec, isr[8], tmr[8], irr[8], lvt[6], esr, icr[2];
        uint32_t divide_conf, initial_count;
        int32_t count_shift;
        int64_t initial_count_load_time, next_time, timer_expiry;
        bool has_page;
        uint8_t page[APIC_PAGE_SIZE];
    } apic;
} X86CpuStream;

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

    X86CpuStream stream;
};

DECLARE_INSTANCE_CHECKER(X86CPU, X86_CPU, TYPE_X86_CPU)

/* apic_id before realize: by topology and index. */
#define X86_APIC_ID_BY_INDEX UINT32_MAX

/* Before realize; without it each vCPU is a package of its own. */
void x86_cpu_set_topology(X86CPU *cpu, const X86Topology *topology);
/* The APIC id that a vCPU gets by its index. */
uint32_t x86_apic_id_of(const X86Topology *topology, unsigned cpu_index);

/* No TSC is faster. */
#define X86_TSC_KHZ_MAX INT64_C(100000000)

/* Within 250 parts in a million: what guests correct by themselves. */
static inline bool x86_same_tsc_rate(int64_t a_khz, int64_t b_khz)
{
    return llabs(a_khz - b_khz) <= b_khz / 4000;
}

/* To what Intel SDM vol. 3, table 10-1 says of a power-up; mp_state as well. */
void x86_cpu_reset_state(X86CPU *cpu);

void x86_cpu_register_types(void);

#endif /* TARGET_I386_X86_CPU_H */
