/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between arm-gic.c (the kernel's registers) and arm-gic-section.c. */
#ifndef ACCEL_KVM_ARM_GIC_INTERNAL_H
#define ACCEL_KVM_ARM_GIC_INTERNAL_H

#include "arm-kvm.h"

enum {
    MAX_IRQ = 1020,
    MAX_CPUS = 512,
    WORDS = 32,
    PRIVATE = 32,
    G0 = 0,
    G1NS = 2,
    NUM_GROUPS = 3,
};

#define GICD_CTLR_DS   (1u << 6)
#define GICR_CTLR_LPIS 1u

typedef struct KvmGicCpu {
    uint64_t affinity; /* MPIDR's, as the kernel wants it in attributes */
    uint32_t level, gicr_ctlr, gicr_statusr[2], gicr_waker;
    uint64_t gicr_propbaser, gicr_pendbaser;
    uint32_t gicr_igroupr0, gicr_ienabler0, gicr_ipendr0, gicr_iactiver0;
    uint32_t edge_trigger, gicr_igrpmodr0, gicr_nsacr;
    uint8_t gicr_ipriorityr[PRIVATE];
    uint64_t icc_sre_el1, icc_ctlr_el1[2], icc_pmr_el1, icc_bpr[NUM_GROUPS];
    uint64_t icc_apr[NUM_GROUPS][4], icc_igrpen[NUM_GROUPS], icc_ctlr_el3;
} KvmGicCpu;

struct KvmGicState {
    uint32_t num_cpu;
    uint32_t gicd_ctlr, gicd_statusr[2];
    uint32_t group[WORDS], grpmod[WORDS], enabled[WORDS], pending[WORDS];
    uint32_t active[WORDS], level[WORDS], edge_trigger[WORDS];
    uint8_t gicd_ipriority[MAX_IRQ];
    uint64_t gicd_irouter[MAX_IRQ];
    uint32_t gicd_nsacr[DIV_ROUND_UP(MAX_IRQ, 16)];
    bool no_shift_bug;
    KvmGicCpu *cpu;
};

#endif /* ACCEL_KVM_ARM_GIC_INTERNAL_H */
