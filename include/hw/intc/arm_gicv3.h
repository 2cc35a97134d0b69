/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GICv3: interrupt controller for many CPUs (ARM IHI 0069), with one security
 * state (GICD_CTLR.DS = 1), affinity routing always on, no LPIs.
 *
 * Windows: 0 distributor (64 KiB), 1 redistributors (128 KiB for each CPU).
 * The CPU interfaces are system registers of the CPUs (ICC_*_EL1).
 * Inputs, unnamed: SPIs, then for each CPU 32 of which 16..31 are its PPIs.
 * Outputs: IRQ of each CPU, then FIQ of each CPU. Group 0 signals FIQ, group
 * 1 IRQ.
 *
 * Used by: hw/arm. Uses: sysbus.h, target/arm.
 */
#ifndef HW_INTC_ARM_GICV3_H
#define HW_INTC_ARM_GICV3_H

#include "hw/sysbus.h"
#include "target/arm/arm-cpu.h"

#define TYPE_ARM_GICV3 "arm-gicv3"

#define GICV3_MAXIRQ      1020
#define GICV3_WORDS       32 /* of bitmaps over all interrupts */
#define GICV3_MAX_CPUS    8
#define GICV3_INTERNAL    32
#define GICV3_REDIST_SIZE 0x20000

/* Groups, as indexes. Secure group 1 does not exist here. */
enum {
    GICV3_G0,
    GICV3_G1,
    GICV3_G1NS,
    GICV3_NUM_GROUPS
};

typedef struct GICv3State GICv3State;

typedef struct GICv3CPUState {
    /* Constant after realize. */
    GICv3State *gic;
    ARMCPU *cpu;
    qemu_irq parent_irq, parent_fiq;

    /* Redistributor. Guarded by the BQL; saved. */
    uint32_t level; /* of the PPIs' inputs */
    uint32_t gicr_ctlr;
    uint32_t gicr_statusr[2];
    uint32_t gicr_waker;
    uint64_t gicr_propbaser, gicr_pendbaser;
    uint32_t gicr_igroupr0, gicr_ienabler0, gicr_ipendr0, gicr_iactiver0;
    uint32_t edge_trigger;
    uint32_t gicr_igrpmodr0, gicr_nsacr;
    uint8_t gicr_ipriorityr[GICV3_INTERNAL];

    /* CPU interface. Guarded by the BQL; saved. */
    uint64_t icc_sre_el1;
    uint64_t icc_ctlr_el1[2]; /* secure, non-secure: ours is [1] */
    uint64_t icc_pmr_el1;
    uint64_t icc_bpr[GICV3_NUM_GROUPS];
    uint64_t icc_apr[GICV3_NUM_GROUPS][4]; /* only [][0] has bits */
    uint64_t icc_igrpen[GICV3_NUM_GROUPS];
    uint64_t icc_ctlr_el3;

    /* Guarded by the BQL: found by gicv3_update(). */
    unsigned hppi;      /* most urgent pending interrupt, 1023: none */
    unsigned hppi_prio; /* 0xff: none */
    int irq_out, fiq_out;
} GICv3CPUState;

struct GICv3State {
    SysBusDevice parent_obj;

    /* Constant after realize. */
    uint32_t num_irq, num_cpu;
    MemoryRegion iomem_dist, iomem_redist;
    GICv3CPUState *cpu; /* num_cpu */

    /* Guarded by the BQL; saved. Bitmaps and arrays go by INTID. */
    uint32_t gicd_ctlr;
    uint32_t gicd_statusr[2];
    uint32_t group[GICV3_WORDS], grpmod[GICV3_WORDS];
    uint32_t enabled[GICV3_WORDS], pending[GICV3_WORDS], active[GICV3_WORDS];
    uint32_t level[GICV3_WORDS], edge_trigger[GICV3_WORDS];
    uint8_t gicd_ipriority[GICV3_MAXIRQ];
    uint64_t gicd_irouter[GICV3_MAXIRQ];
    uint32_t gicd_nsacr[DIV_ROUND_UP(GICV3_MAXIRQ, 16)];
    bool gicd_no_migration_shift_bug; /* always true */
};

DECLARE_INSTANCE_CHECKER(GICv3State, ARM_GICV3, TYPE_ARM_GICV3)

/* Make one for @cpus[0..num_cpu) with its windows in place. */
DeviceState *arm_gicv3_create(unsigned num_spis, ARMCPU **cpus,
                              unsigned num_cpu, hwaddr dist_base,
                              hwaddr redist_base, Error **errp);

void arm_gicv3_register_types(void);

#endif /* HW_INTC_ARM_GICV3_H */
