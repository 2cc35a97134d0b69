/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GICv3 CPU interface: system registers (IHI 0069H, 12.2), acknowledge, end,
 * and software generated interrupts.
 *
 * 5 bits of priority, all of which can preempt. Priorities in service are bits
 * of ICC_AP0R0 (group 0) and ICC_AP1R0 (group 1); the running priority is the
 * lowest set in either.
 */
#include "qemu/osdep.h"

#include "gicv3-internal.h"
#include "trace-hw.h"

#define PRIORITY_SHIFT 3 /* bit n of an active priorities register: n << 3 */

static GICv3CPUState *cs_of(const ARMSysReg *r)
{
    return r->opaque;
}

/* ---- priorities ---- */

static bool common_bpr(const GICv3CPUState *cs)
{
    return cs->icc_ctlr_el1[1] & ICC_CTLR_CBPR;
}

/* The bits of a priority that count for preemption (4.8.2). */
static uint32_t group_priority_mask(const GICv3CPUState *cs, int group)
{
    unsigned bpr = cs->icc_bpr[GICV3_G0];

    if (group == GICV3_G1NS && !common_bpr(cs)) {
        bpr = cs->icc_bpr[GICV3_G1NS] - 1;
    }
    return ~0u << ((bpr & 7) + 1);
}

/* Priority in service; *group: whose it is. */
static unsigned running_priority(const GICv3CPUState *cs, int *group)
{
    uint32_t g0 = cs->icc_apr[GICV3_G0][0], g1 = cs->icc_apr[GICV3_G1NS][0];

    if (!(g0 | g1)) {
        return GICV3_IDLE_PRIORITY;
    }
    if (group) {
        /* The lowest bit of both; group 0 goes first where they are equal. */
        *group = g0 && (!g1 || __builtin_ctz(g0) <= __builtin_ctz(g1))
                     ? GICV3_G0
                     : GICV3_G1NS;
    }
    return __builtin_ctz(g0 | g1) << PRIORITY_SHIFT;
}

static bool no_enabled_hppi(const GICv3CPUState *cs)
{
    return cs->hppi_prio == GICV3_IDLE_PRIORITY ||
           !cs->icc_igrpen[gicv3_irq_group(cs, cs->hppi)];
}

bool gicv3_hppi_can_preempt(const GICv3CPUState *cs)
{
    unsigned running = running_priority(cs, NULL);
    uint32_t mask;

    if (no_enabled_hppi(cs) || cs->hppi_prio >= cs->icc_pmr_el1) {
        return false;
    }
    if (running == GICV3_IDLE_PRIORITY) {
        return true;
    }
    mask = group_priority_mask(cs, gicv3_irq_group(cs, cs->hppi));
    return (cs->hppi_prio & mask) < (running & mask);
}

/* ---- acknowledge, end, deactivate ---- */

/* What ICC_HPPIRn shows: the most urgent one if it is of this group. */
static unsigned hppir(const GICv3CPUState *cs, int group)
{
    return no_enabled_hppi(cs) || gicv3_irq_group(cs, cs->hppi) != group
               ? INTID_SPURIOUS
               : cs->hppi;
}

static void set_active(GICv3CPUState *cs, unsigned irq)
{
    if (irq < GICV3_INTERNAL) {
        cs->gicr_iactiver0 |= 1u << irq;
        cs->gicr_ipendr0 &= ~(1u << irq);
    } else {
        gicv3_set_bit(cs->gic->active, irq, true);
        gicv3_set_bit(cs->gic->pending, irq, false);
    }
}

static void deactivate(GICv3CPUState *cs, unsigned irq)
{
    if (irq < GICV3_INTERNAL) {
        cs->gicr_iactiver0 &= ~(1u << irq);
    } else {
        gicv3_set_bit(cs->gic->active, irq, false);
    }
}

static uint64_t acknowledge(GICv3CPUState *cs, int group)
{
    unsigned irq = hppir(cs, group), prio;

    if (irq == INTID_SPURIOUS || !gicv3_hppi_can_preempt(cs)) {
        return INTID_SPURIOUS;
    }
    prio = cs->hppi_prio & group_priority_mask(cs, group);
    cs->icc_apr[group][0] |= 1u << (prio >> PRIORITY_SHIFT);
    set_active(cs, irq);
    trace_gic_acknowledge_irq(CPU(cs->cpu)->cpu_index, irq);
    gicv3_update(cs->gic);
    return irq;
}

static void end_of_interrupt(GICv3CPUState *cs, uint64_t val, int group)
{
    unsigned irq = val & 0xffffff;
    int running_group;

    if (irq >= cs->gic->num_irq ||
        running_priority(cs, &running_group) == GICV3_IDLE_PRIORITY ||
        running_group != group) {
        return; /* spurious, or not what is in service */
    }
    trace_gic_end(CPU(cs->cpu)->cpu_index, irq);
    cs->icc_apr[group][0] &= cs->icc_apr[group][0] - 1;
    if (!(cs->icc_ctlr_el1[1] & ICC_CTLR_EOIMODE)) {
        deactivate(cs, irq);
    }
    gicv3_update(cs->gic);
}

static uint64_t iar0_read(CPUARMState *env, const ARMSysReg *r)
{
    return acknowledge(cs_of(r), GICV3_G0);
}

static uint64_t iar1_read(CPUARMState *env, const ARMSysReg *r)
{
    return acknowledge(cs_of(r), GICV3_G1NS);
}

static void eoir0_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    end_of_interrupt(cs_of(r), val, GICV3_G0);
}

static void eoir1_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    end_of_interrupt(cs_of(r), val, GICV3_G1NS);
}

static uint64_t hppir0_read(CPUARMState *env, const ARMSysReg *r)
{
    return hppir(cs_of(r), GICV3_G0);
}

static uint64_t hppir1_read(CPUARMState *env, const ARMSysReg *r)
{
    return hppir(cs_of(r), GICV3_G1NS);
}

static void dir_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    GICv3CPUState *cs = cs_of(r);
    unsigned irq = val & 0xffffff;

    if (irq < cs->gic->num_irq && (cs->icc_ctlr_el1[1] & ICC_CTLR_EOIMODE)) {
        deactivate(cs, irq);
        gicv3_update(cs->gic);
    }
}

/* ---- software generated interrupts (12.2.19) ---- */

static void send_sgi(GICv3CPUState *from, uint64_t val, int group)
{
    GICv3State *s = from->gic;
    unsigned sgi = (val >> 24) & 15, range = (val >> 44) & 15;
    uint64_t cluster = (val >> 16 & 0xff) << 8 |  /* Aff1 */
                       (val >> 32 & 0xff) << 16 | /* Aff2 */
                       (val >> 48 & 0xff) << 32;  /* Aff3 */
    bool all_others = (val >> 40) & 1;

    for (unsigned i = 0; i < s->num_cpu; i++) {
        GICv3CPUState *cs = &s->cpu[i];
        uint64_t aff = cs->cpu->mp_affinity;
        unsigned aff0 = aff & 0xff;

        if (all_others
                ? cs == from
                : (aff & ~UINT64_C(0xff)) != cluster || aff0 >> 4 != range ||
                      !((val >> (aff0 & 15)) & 1)) {
            continue;
        }
        /* Only an SGI that is in the group asked for is generated. */
        if (gicv3_irq_group(cs, sgi) == group) {
            cs->gicr_ipendr0 |= 1u << sgi;
        }
    }
    gicv3_update(s);
}

static void sgi0r_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    send_sgi(cs_of(r), val, GICV3_G0);
}

static void sgi1r_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    send_sgi(cs_of(r), val, GICV3_G1NS);
}

/* The other security state's group 1, for which group 0 may stand in. */
static void asgi1r_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    send_sgi(cs_of(r), val, GICV3_G0);
}

/* ---- control ---- */

static uint64_t pmr_read(CPUARMState *env, const ARMSysReg *r)
{
    return cs_of(r)->icc_pmr_el1;
}

static void pmr_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    cs_of(r)->icc_pmr_el1 = val & ICC_PRIORITY_MASK;
    gicv3_update_cpu(cs_of(r));
}

static uint64_t rpr_read(CPUARMState *env, const ARMSysReg *r)
{
    return running_priority(cs_of(r), NULL);
}

static uint64_t ctlr_read(CPUARMState *env, const ARMSysReg *r)
{
    return cs_of(r)->icc_ctlr_el1[1];
}

static void ctlr_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    const uint64_t mask = ICC_CTLR_CBPR | ICC_CTLR_EOIMODE;
    uint64_t *ctlr = &cs_of(r)->icc_ctlr_el1[1];

    *ctlr = (*ctlr & ~mask) | (val & mask);
    gicv3_update_cpu(cs_of(r));
}

static uint64_t bpr0_read(CPUARMState *env, const ARMSysReg *r)
{
    return cs_of(r)->icc_bpr[GICV3_G0];
}

static void bpr0_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    cs_of(r)->icc_bpr[GICV3_G0] = MAX(val & 7, ICC_MIN_BPR);
    gicv3_update_cpu(cs_of(r));
}

/* With CBPR it shows group 0's, plus one, and cannot be written (12.2.6). */
static uint64_t bpr1_read(CPUARMState *env, const ARMSysReg *r)
{
    GICv3CPUState *cs = cs_of(r);

    return common_bpr(cs) ? MIN(cs->icc_bpr[GICV3_G0] + 1, 7)
                          : cs->icc_bpr[GICV3_G1NS];
}

static void bpr1_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    if (!common_bpr(cs_of(r))) {
        cs_of(r)->icc_bpr[GICV3_G1NS] = MAX(val & 7, ICC_MIN_BPR_NS);
        gicv3_update_cpu(cs_of(r));
    }
}

/* op2 tells the group of the two pairs below: even group 0, odd group 1. */
static int group_by_crm(const ARMSysReg *r)
{
    return ((r->enc >> 3) & 15) == 8 ? GICV3_G0 : GICV3_G1NS;
}

static uint64_t apr_read(CPUARMState *env, const ARMSysReg *r)
{
    return cs_of(r)->icc_apr[group_by_crm(r)][0];
}

static void apr_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    cs_of(r)->icc_apr[group_by_crm(r)][0] = (uint32_t)val;
    gicv3_update_cpu(cs_of(r));
}

static int group_by_op2(const ARMSysReg *r)
{
    return r->enc & 1 ? GICV3_G1NS : GICV3_G0;
}

static uint64_t igrpen_read(CPUARMState *env, const ARMSysReg *r)
{
    return cs_of(r)->icc_igrpen[group_by_op2(r)];
}

static void igrpen_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    cs_of(r)->icc_igrpen[group_by_op2(r)] = val & 1;
    gicv3_update_cpu(cs_of(r));
}

/* ---- the table ---- */

#define ICC(n, crn, crm, op2, acc, ...)                                      \
    {                                                                        \
        .name = "ICC_" n "_EL1", .enc = ARM_SYSREG_ENC(3, 0, crn, crm, op2), \
        .access = (acc), .flags = ARM_SR_IO | ARM_SR_ENDS_BLOCK,             \
        ##__VA_ARGS__,                                                       \
    }

static const ARMSysReg icc_regs[] = {
    ICC("PMR", 4, 6, 0, ARM_SR_RW, .readfn = pmr_read, .writefn = pmr_write),
    ICC("IAR0", 12, 8, 0, ARM_SR_RO, .readfn = iar0_read),
    ICC("EOIR0", 12, 8, 1, ARM_SR_WO, .writefn = eoir0_write),
    ICC("HPPIR0", 12, 8, 2, ARM_SR_RO, .readfn = hppir0_read),
    ICC("BPR0", 12, 8, 3, ARM_SR_RW, .readfn = bpr0_read,
        .writefn = bpr0_write),
    ICC("AP0R0", 12, 8, 4, ARM_SR_RW, .readfn = apr_read, .writefn = apr_write),
    ICC("AP1R0", 12, 9, 0, ARM_SR_RW, .readfn = apr_read, .writefn = apr_write),
    ICC("DIR", 12, 11, 1, ARM_SR_WO, .writefn = dir_write),
    ICC("RPR", 12, 11, 3, ARM_SR_RO, .readfn = rpr_read),
    ICC("SGI1R", 12, 11, 5, ARM_SR_WO, .writefn = sgi1r_write),
    ICC("ASGI1R", 12, 11, 6, ARM_SR_WO, .writefn = asgi1r_write),
    ICC("SGI0R", 12, 11, 7, ARM_SR_WO, .writefn = sgi0r_write),
    ICC("IAR1", 12, 12, 0, ARM_SR_RO, .readfn = iar1_read),
    ICC("EOIR1", 12, 12, 1, ARM_SR_WO, .writefn = eoir1_write),
    ICC("HPPIR1", 12, 12, 2, ARM_SR_RO, .readfn = hppir1_read),
    ICC("BPR1", 12, 12, 3, ARM_SR_RW, .readfn = bpr1_read,
        .writefn = bpr1_write),
    ICC("CTLR", 12, 12, 4, ARM_SR_RW, .readfn = ctlr_read,
        .writefn = ctlr_write),
    /* System register interface only: SRE, DFB and DIB are all ones. */
    { .name = "ICC_SRE_EL1",
      .enc = ARM_SYSREG_ENC(3, 0, 12, 12, 5),
      .access = ARM_SR_RW,
      .flags = ARM_SR_CONST,
      .resetvalue = 7 },
    ICC("IGRPEN0", 12, 12, 6, ARM_SR_RW, .readfn = igrpen_read,
        .writefn = igrpen_write),
    ICC("IGRPEN1", 12, 12, 7, ARM_SR_RW, .readfn = igrpen_read,
        .writefn = igrpen_write),
};

void gicv3_cpuif_init(GICv3CPUState *cs)
{
    arm_cpu_add_sysregs(cs->cpu, icc_regs, ARRAY_SIZE(icc_regs), cs);
    cs->cpu->has_gicv3 = true;
}
