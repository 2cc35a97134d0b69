/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the GICv3 share.
 */
#ifndef HW_INTC_GICV3_INTERNAL_H
#define HW_INTC_GICV3_INTERNAL_H

#include "hw/intc/arm_gicv3.h"
#include "target/arm/sysreg.h"

#define INTID_SPURIOUS      1023
#define GICV3_IDLE_PRIORITY 0xff

#define GICD_CTLR_EN_GRP0 (1u << 0)
#define GICD_CTLR_EN_GRP1 (1u << 1)
#define GICD_CTLR_ARE     (1u << 4)
#define GICD_CTLR_DS      (1u << 6)
#define GICD_CTLR_RESET   (GICD_CTLR_ARE | GICD_CTLR_DS)

/*
 * GICD_IROUTER: Aff3 39:32, Aff2 23:16, Aff1 15:8, Aff0 7:0. The rest, 1-of-N
 * (bit 31) included, is kept but means nothing.
 */
#define IROUTER_AFFINITY UINT64_C(0xff00ffffff)

#define GICR_CTLR_RESET   2u /* CES, as in the streams we share */
#define GICR_CTLR_LPIS    1u
#define GICR_WAKER_SLEEP  2u
#define GICR_WAKER_ASLEEP 4u

#define ICC_CTLR_CBPR    1u
#define ICC_CTLR_EOIMODE 2u
/* A3V; INTIDs of 24 bits; 5 bits of priority. */
#define ICC_CTLR_FIXED     0x8c00u
#define ICC_CTLR_EL3_RESET 0x28c00u
#define ICC_MIN_BPR        2u
#define ICC_MIN_BPR_NS     3u
#define ICC_PRIORITY_MASK  0xf8u

static inline bool gicv3_bit(const uint32_t *map, unsigned irq)
{
    return (map[irq / 32] >> (irq % 32)) & 1;
}

static inline void gicv3_set_bit(uint32_t *map, unsigned irq, bool val)
{
    if (val) {
        map[irq / 32] |= 1u << (irq % 32);
    } else {
        map[irq / 32] &= ~(1u << (irq % 32));
    }
}

/* GICV3_G0 or GICV3_G1NS, as seen by @cs. */
int gicv3_irq_group(const GICv3CPUState *cs, unsigned irq);

/* Find every CPU's most urgent interrupt and drive the outputs. */
void gicv3_update(GICv3State *s);
/* The same for one CPU, after a change that only it can see. */
void gicv3_update_cpu(GICv3CPUState *cs);

/* arm_gicv3_cpuif.c */
void gicv3_cpuif_init(GICv3CPUState *cs);
/* Would the CPU take hppi now? */
bool gicv3_hppi_can_preempt(const GICv3CPUState *cs);

extern const MemoryRegionOps gicv3_dist_ops;   /* arm_gicv3_dist.c */
extern const MemoryRegionOps gicv3_redist_ops; /* arm_gicv3_redist.c */
extern const VMStateDescription vmstate_gicv3; /* arm_gicv3_vmstate.c */

/* Identification registers, at 0xffd0 of each frame; @pidr0 tells which. */
uint32_t gicv3_id(hwaddr offset, uint8_t pidr0);

#endif /* HW_INTC_GICV3_INTERNAL_H */
