/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the GICv2 share.
 */
#ifndef HW_INTC_GIC_INTERNAL_H
#define HW_INTC_GIC_INTERNAL_H

#include "hw/intc/arm_gic.h"

#define GIC_ALL_CPUS      0xff
#define GIC_SPURIOUS      1023
#define GIC_SPURIOUS_GRP1 1022
#define GIC_IDLE_PRIORITY 0x100
#define GIC_MIN_ABPR      1

/* GICD_CTLR */
#define GICD_CTLR_EN_GRP0 1u
#define GICD_CTLR_EN_GRP1 2u
#define GICD_CTLR_MASK    3u

/* GICC_CTLR */
#define GICC_CTLR_EN_GRP0 (1u << 0)
#define GICC_CTLR_EN_GRP1 (1u << 1)
#define GICC_CTLR_ACK_CTL (1u << 2)
#define GICC_CTLR_FIQ_EN  (1u << 3)
#define GICC_CTLR_CBPR    (1u << 4)
#define GICC_CTLR_EOIMODE (1u << 9)
#define GICC_CTLR_MASK    0x61fu

/* The bits of @irq that belong to CPUs in @cpus: SPIs have all or none. */
static inline uint8_t gic_cpu_mask(unsigned irq, unsigned cpu)
{
    return irq < GIC_INTERNAL ? 1u << cpu : GIC_ALL_CPUS;
}

static inline uint8_t *gic_priority_ptr(GICState *s, unsigned irq, unsigned cpu)
{
    return irq < GIC_INTERNAL ? &s->priority1[irq][cpu]
                              : &s->priority2[irq - GIC_INTERNAL];
}

static inline bool gic_is_pending(const GICState *s, unsigned irq, uint8_t cm)
{
    const GICIRQState *st = &s->irq_state[irq];

    return (st->pending & cm) || (!st->edge_trigger && (st->level & cm));
}

static inline bool gic_in_group1(const GICState *s, unsigned irq, unsigned cpu)
{
    return s->irq_state[irq].group & gic_cpu_mask(irq, cpu);
}

/* Find every CPU's most urgent interrupt and drive the outputs. */
void gic_update(GICState *s);

extern const MemoryRegionOps gic_dist_ops; /* arm_gic_dist.c */
extern const MemoryRegionOps gic_cpu_ops;  /* arm_gic_cpu.c */
extern const VMStateDescription vmstate_gic;

/* The CPU that makes the access under way. */
unsigned gic_current_cpu(const GICState *s);

#endif /* HW_INTC_GIC_INTERNAL_H */
