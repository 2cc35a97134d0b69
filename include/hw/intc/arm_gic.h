/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GICv2: interrupt controller for up to 8 CPUs (ARM IHI 0048B), without the
 * Security and Virtualization Extensions.
 *
 * Windows: 0 distributor (4 KiB), 1 CPU interface (8 KiB); what they show
 * depends on the CPU that looks (without one, e.g. from qtest: CPU 0).
 * Inputs, unnamed: SPIs, then for each CPU 32 of which 16..31 are its PPIs.
 * Outputs: IRQ of each CPU, then FIQ of each CPU.
 * Properties: num-irq (SPIs + 32), num-cpu.
 *
 * Used by: hw/arm. Uses: sysbus.h.
 */
#ifndef HW_INTC_ARM_GIC_H
#define HW_INTC_ARM_GIC_H

#include "hw/sysbus.h"

#define TYPE_ARM_GIC "arm_gic"

#define GIC_MAXIRQ   1020
#define GIC_NCPU     8
#define GIC_NR_SGIS  16
#define GIC_INTERNAL 32 /* SGIs and PPIs: each CPU has its own */
#define GIC_NR_APRS  4

/* enabled, pending, active, level, group: a bit per CPU; SPIs use all 8. */
typedef struct GICIRQState {
    uint8_t enabled, pending, active, level;
    bool model; /* always false: N-N; has a place in the stream */
    bool edge_trigger;
    uint8_t group;
} GICIRQState;

typedef struct GICState {
    SysBusDevice parent_obj;

    /* Constant after realize. */
    uint32_t num_irq, num_cpu;
    MemoryRegion iomem, cpuiomem;
    qemu_irq parent_irq[GIC_NCPU], parent_fiq[GIC_NCPU];

    /* Guarded by the BQL; saved. */
    uint32_t ctlr;               /* GICD_CTLR */
    uint32_t cpu_ctlr[GIC_NCPU]; /* GICC_CTLR */
    GICIRQState irq_state[GIC_MAXIRQ];
    uint8_t irq_target[GIC_MAXIRQ];
    uint8_t priority1[GIC_INTERNAL][GIC_NCPU];
    uint8_t priority2[GIC_MAXIRQ - GIC_INTERNAL];
    /* For each SGI and CPU: which CPUs have sent it. */
    uint8_t sgi_pending[GIC_NR_SGIS][GIC_NCPU];
    uint16_t priority_mask[GIC_NCPU];
    uint16_t running_priority[GIC_NCPU]; /* 0x100: none */
    uint16_t current_pending[GIC_NCPU];  /* 1023: none */
    uint8_t bpr[GIC_NCPU], abpr[GIC_NCPU];
    uint32_t apr[GIC_NR_APRS][GIC_NCPU];
    uint32_t nsapr[GIC_NR_APRS][GIC_NCPU]; /* group 1's */

    /* Guarded by the BQL: what the outputs are driven to; -1: not yet. */
    int irq_out[GIC_NCPU], fiq_out[GIC_NCPU];
} GICState;

DECLARE_INSTANCE_CHECKER(GICState, ARM_GIC, TYPE_ARM_GIC)

/* Make one with its windows in place. */
DeviceState *arm_gic_create(unsigned num_spis, unsigned num_cpu,
                            hwaddr dist_base, hwaddr cpu_base, Error **errp);

void arm_gic_register_types(void);

#endif /* HW_INTC_ARM_GIC_H */
