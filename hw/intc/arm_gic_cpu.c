/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GICv2 CPU interface: registers (IHI 0048B, 4.4), acknowledge and end.
 *
 * Priorities in service are kept as bits of GICC_APRn (group 0) and
 * GICC_NSAPRn (group 1), one per level of preemption; the running priority is
 * the lowest bit set in either. A candidate's whole priority is compared with
 * it: the same as comparing group priorities unless GICC_BPR changes while an
 * interrupt is in service, and what QEMU does then. Without the Security Extensions all accesses
 * are as secure ones: group 1 is acknowledged by GICC_AIAR, or by GICC_IAR
 * with AckCtl.
 */
#include "qemu/osdep.h"

#include "gic-internal.h"
#include "qemu/log.h"
#include "trace-hw.h"

enum {
    GICC_CTLR = 0x00,
    GICC_PMR = 0x04,
    GICC_BPR = 0x08,
    GICC_IAR = 0x0c,
    GICC_EOIR = 0x10,
    GICC_RPR = 0x14,
    GICC_HPPIR = 0x18,
    GICC_ABPR = 0x1c,
    GICC_AIAR = 0x20,
    GICC_AEOIR = 0x24,
    GICC_AHPPIR = 0x28,
    GICC_APR = 0xd0,
    GICC_NSAPR = 0xe0,
    GICC_IIDR = 0xfc,
    GICC_DIR = 0x1000,
};

/* The bits of @prio that count for preemption (3.3.3). */
static unsigned group_priority(const GICState *s, unsigned cpu, bool group1,
                               unsigned prio)
{
    unsigned bpr = s->bpr[cpu];

    if (group1 && !(s->cpu_ctlr[cpu] & GICC_CTLR_CBPR)) {
        bpr = s->abpr[cpu] - 1;
    }
    return prio & (~0u << ((bpr & 7) + 1));
}

/* ---- which interrupt comes next ---- */

/*
 * What is pending is found without regard to which group is enabled, as long
 * as one is; only signalling it to the CPU asks for its own group.
 */
static bool is_candidate(const GICState *s, unsigned irq, unsigned cpu)
{
    uint8_t cm = gic_cpu_mask(irq, cpu);

    return (s->irq_state[irq].enabled & cm) && gic_is_pending(s, irq, cm) &&
           !(s->irq_state[irq].active & cm) &&
           (irq < GIC_INTERNAL || (s->irq_target[irq] & (1u << cpu)));
}

/* The most urgent one that GICC_PMR lets through. */
static unsigned best_pending(const GICState *s, unsigned cpu)
{
    unsigned best = GIC_SPURIOUS, best_prio = s->priority_mask[cpu];

    if (!(s->ctlr & GICD_CTLR_MASK) ||
        !(s->cpu_ctlr[cpu] & (GICC_CTLR_EN_GRP0 | GICC_CTLR_EN_GRP1))) {
        return GIC_SPURIOUS;
    }
    for (unsigned irq = 0; irq < s->num_irq; irq++) {
        unsigned prio = *gic_priority_ptr((GICState *)s, irq, cpu);

        if (prio < best_prio && is_candidate(s, irq, cpu)) {
            best = irq;
            best_prio = prio;
        }
    }
    return best;
}

static bool is_signalled(GICState *s, unsigned irq, unsigned cpu)
{
    uint32_t enable = gic_in_group1(s, irq, cpu) ? GICD_CTLR_EN_GRP1
                                                 : GICD_CTLR_EN_GRP0;

    return (s->ctlr & enable) && (s->cpu_ctlr[cpu] & enable) &&
           *gic_priority_ptr(s, irq, cpu) < s->running_priority[cpu];
}

static void update_cpu(GICState *s, unsigned cpu)
{
    unsigned best = best_pending(s, cpu);
    bool irq_level = false, fiq_level = false;

    s->current_pending[cpu] = best;
    if (best != GIC_SPURIOUS && is_signalled(s, best, cpu)) {
        fiq_level = !gic_in_group1(s, best, cpu) &&
                    (s->cpu_ctlr[cpu] & GICC_CTLR_FIQ_EN);
        irq_level = !fiq_level;
    }
    if (s->irq_out[cpu] != irq_level || s->fiq_out[cpu] != fiq_level) {
        trace_gic_output(cpu, best, irq_level, fiq_level);
    }
    if (s->irq_out[cpu] != irq_level) {
        s->irq_out[cpu] = irq_level;
        qemu_set_irq(s->parent_irq[cpu], irq_level);
    }
    if (s->fiq_out[cpu] != fiq_level) {
        s->fiq_out[cpu] = fiq_level;
        qemu_set_irq(s->parent_fiq[cpu], fiq_level);
    }
}

void gic_update(GICState *s)
{
    for (unsigned cpu = 0; cpu < s->num_cpu; cpu++) {
        update_cpu(s, cpu);
    }
}

/* ---- priorities in service ---- */

static void push_priority(GICState *s, unsigned cpu, unsigned irq)
{
    bool group1 = gic_in_group1(s, irq, cpu);
    unsigned prio = group_priority(s, cpu, group1,
                                   *gic_priority_ptr(s, irq, cpu));
    unsigned level = prio >> 1;
    uint32_t(*apr)[GIC_NCPU] = group1 ? s->nsapr : s->apr;

    apr[level / 32][cpu] |= 1u << (level % 32);
    s->running_priority[cpu] = prio;
}

static unsigned lowest_in_service(const GICState *s, unsigned cpu)
{
    for (unsigned i = 0; i < GIC_NR_APRS; i++) {
        uint32_t bits = s->apr[i][cpu] | s->nsapr[i][cpu];

        if (bits) {
            return (i * 32 + __builtin_ctz(bits)) << 1;
        }
    }
    return GIC_IDLE_PRIORITY;
}

/* End the most urgent one of the group. */
static void drop_priority(GICState *s, unsigned cpu, bool group1)
{
    uint32_t(*apr)[GIC_NCPU] = group1 ? s->nsapr : s->apr;

    for (unsigned i = 0; i < GIC_NR_APRS; i++) {
        if (apr[i][cpu]) {
            apr[i][cpu] &= apr[i][cpu] - 1;
            break;
        }
    }
    s->running_priority[cpu] = lowest_in_service(s, cpu);
}

/* ---- acknowledge and end ---- */

/*
 * What GICC_HPPIR (@alias false) and GICC_AHPPIR show: for a group 1
 * interrupt the former only with AckCtl, for group 0 the latter never.
 */
static unsigned highest_pending(const GICState *s, unsigned cpu, bool alias)
{
    unsigned irq = s->current_pending[cpu];

    if (irq == GIC_SPURIOUS) {
        return GIC_SPURIOUS;
    }
    if (gic_in_group1(s, irq, cpu)) {
        return alias || (s->cpu_ctlr[cpu] & GICC_CTLR_ACK_CTL)
                   ? irq
                   : GIC_SPURIOUS_GRP1;
    }
    return alias ? GIC_SPURIOUS : irq;
}

/* Take one sender's SGI away; returns the sender. */
static unsigned take_sgi(GICState *s, unsigned sgi, unsigned cpu)
{
    uint8_t *sources = &s->sgi_pending[sgi][cpu];
    unsigned source = *sources ? __builtin_ctz(*sources) : 0;

    *sources &= ~(1u << source);
    if (!*sources) {
        s->irq_state[sgi].pending &= ~(1u << cpu);
    }
    return source;
}

static uint32_t acknowledge(GICState *s, unsigned cpu, bool alias)
{
    unsigned irq = highest_pending(s, cpu, alias);
    uint32_t result = irq;

    if (irq >= GIC_MAXIRQ) {
        return irq;
    }
    if (*gic_priority_ptr(s, irq, cpu) >= s->running_priority[cpu]) {
        return GIC_SPURIOUS;
    }
    if (irq < GIC_NR_SGIS) {
        result |= take_sgi(s, irq, cpu) << 10;
    } else {
        s->irq_state[irq].pending &= ~gic_cpu_mask(irq, cpu);
    }
    s->irq_state[irq].active |= gic_cpu_mask(irq, cpu);
    push_priority(s, cpu, irq);
    trace_gic_acknowledge_irq(cpu, irq);
    gic_update(s);
    return result;
}

static void deactivate(GICState *s, unsigned cpu, unsigned irq)
{
    s->irq_state[irq].active &= ~gic_cpu_mask(irq, cpu);
}

static void end_of_interrupt(GICState *s, unsigned cpu, uint32_t val,
                             bool alias)
{
    unsigned irq = val & 0x3ff;
    bool group1;

    if (irq >= s->num_irq) {
        return; /* spurious: nothing was acknowledged */
    }
    group1 = gic_in_group1(s, irq, cpu);
    if (alias && !group1) {
        return; /* GICC_AEOIR is for group 1 (4.4.12) */
    }
    trace_gic_end(cpu, irq);
    drop_priority(s, cpu, group1);
    if (!(s->cpu_ctlr[cpu] & GICC_CTLR_EOIMODE)) {
        deactivate(s, cpu, irq);
    }
    gic_update(s);
}

/* ---- registers ---- */

static uint64_t gic_cpu_read(void *opaque, hwaddr offset, unsigned size)
{
    GICState *s = opaque;
    unsigned cpu = gic_current_cpu(s);

    switch (offset) {
    case GICC_CTLR:
        return s->cpu_ctlr[cpu];
    case GICC_PMR:
        return s->priority_mask[cpu];
    case GICC_BPR:
        return s->bpr[cpu];
    case GICC_IAR:
        return acknowledge(s, cpu, false);
    case GICC_AIAR:
        return acknowledge(s, cpu, true);
    case GICC_RPR:
        return MIN(s->running_priority[cpu], 0xff);
    case GICC_HPPIR:
        return highest_pending(s, cpu, false);
    case GICC_AHPPIR:
        return highest_pending(s, cpu, true);
    case GICC_ABPR:
        return s->abpr[cpu];
    case GICC_APR:
    case GICC_APR + 4:
    case GICC_APR + 8:
    case GICC_APR + 12:
        return s->apr[(offset - GICC_APR) / 4][cpu];
    case GICC_NSAPR:
    case GICC_NSAPR + 4:
    case GICC_NSAPR + 8:
    case GICC_NSAPR + 12:
        return s->nsapr[(offset - GICC_NSAPR) / 4][cpu];
    case GICC_IIDR:
        return 0x0002043b; /* GICv2, ARM */
    default:
        qemu_log_mask(LOG_GUEST_ERROR,
                      "gic: read of CPU interface offset 0x%" PRIx64 "\n",
                      offset);
        return 0;
    }
}

static void write_apr(GICState *s, uint32_t (*apr)[GIC_NCPU], unsigned i,
                      unsigned cpu, uint32_t val)
{
    apr[i][cpu] = val;
    s->running_priority[cpu] = lowest_in_service(s, cpu);
}

static void gic_cpu_write(void *opaque, hwaddr offset, uint64_t val,
                          unsigned size)
{
    GICState *s = opaque;
    unsigned cpu = gic_current_cpu(s);

    switch (offset) {
    case GICC_CTLR:
        s->cpu_ctlr[cpu] = val & GICC_CTLR_MASK;
        break;
    case GICC_PMR:
        s->priority_mask[cpu] = val & 0xff;
        break;
    case GICC_BPR:
        s->bpr[cpu] = val & 7;
        break;
    case GICC_ABPR:
        s->abpr[cpu] = MAX(val & 7, GIC_MIN_ABPR);
        break;
    case GICC_EOIR:
        end_of_interrupt(s, cpu, val, false);
        return;
    case GICC_AEOIR:
        end_of_interrupt(s, cpu, val, true);
        return;
    case GICC_APR:
    case GICC_APR + 4:
    case GICC_APR + 8:
    case GICC_APR + 12:
        write_apr(s, s->apr, (offset - GICC_APR) / 4, cpu, val);
        break;
    case GICC_NSAPR:
    case GICC_NSAPR + 4:
    case GICC_NSAPR + 8:
    case GICC_NSAPR + 12:
        write_apr(s, s->nsapr, (offset - GICC_NSAPR) / 4, cpu, val);
        break;
    case GICC_DIR:
        if ((val & 0x3ff) < s->num_irq) {
            deactivate(s, cpu, val & 0x3ff);
        }
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR,
                      "gic: write of CPU interface offset 0x%" PRIx64 "\n",
                      offset);
        return;
    }
    gic_update(s);
}

const MemoryRegionOps gic_cpu_ops = {
    .read = gic_cpu_read,
    .write = gic_cpu_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};
