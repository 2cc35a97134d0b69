/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GICv3: the device, its inputs, and which interrupt each CPU sees next.
 */
#include "qemu/osdep.h"

#include "gicv3-internal.h"
#include "qemu/error.h"
#include "trace-hw.h"

#define GICD_SIZE 0x10000

uint32_t gicv3_id(hwaddr offset, uint8_t pidr0)
{
    /* GICv3 of an ARM design: PIDR4, 5-7, PIDR0-3, CIDR0-3. */
    static const uint8_t ids[12] = {
        0x44, 0x00, 0x00, 0x00, 0x00, 0xb4, 0x3b, 0x00, 0x0d, 0xf0, 0x05, 0xb1,
    };
    unsigned i = (offset - 0xffd0) / 4;

    return i == 4 ? pidr0 : ids[i];
}

/* ---- which interrupt comes next ---- */

int gicv3_irq_group(const GICv3CPUState *cs, unsigned irq)
{
    bool bit = irq < GICV3_INTERNAL ? (cs->gicr_igroupr0 >> irq) & 1
                                    : gicv3_bit(cs->gic->group, irq);

    return bit ? GICV3_G1NS : GICV3_G0;
}

/* Of a word of group bits, those whose group the distributor forwards. */
static uint32_t forwarded(const GICv3State *s, uint32_t group)
{
    return (s->gicd_ctlr & GICD_CTLR_EN_GRP0 ? ~group : 0) |
           (s->gicd_ctlr & GICD_CTLR_EN_GRP1 ? group : 0);
}

static void consider(GICv3CPUState *cs, unsigned irq, unsigned prio)
{
    if (prio < cs->hppi_prio) {
        cs->hppi = irq;
        cs->hppi_prio = prio;
    }
}

static void find_private(GICv3CPUState *cs)
{
    uint32_t bits = (cs->gicr_ipendr0 | (~cs->edge_trigger & cs->level)) &
                    cs->gicr_ienabler0 & ~cs->gicr_iactiver0 &
                    forwarded(cs->gic, cs->gicr_igroupr0);

    for (; bits; bits &= bits - 1) {
        unsigned irq = __builtin_ctz(bits);

        consider(cs, irq, cs->gicr_ipriorityr[irq]);
    }
}

static void find_shared(GICv3CPUState *cs)
{
    const GICv3State *s = cs->gic;

    for (unsigned w = 1; w < s->num_irq / 32; w++) {
        uint32_t bits = (s->pending[w] | (~s->edge_trigger[w] & s->level[w])) &
                        s->enabled[w] & ~s->active[w] &
                        forwarded(s, s->group[w]);

        for (; bits; bits &= bits - 1) {
            unsigned irq = w * 32 + __builtin_ctz(bits);

            if ((s->gicd_irouter[irq] & IROUTER_AFFINITY) ==
                cs->cpu->mp_affinity) {
                consider(cs, irq, s->gicd_ipriority[irq]);
            }
        }
    }
}

void gicv3_update_cpu(GICv3CPUState *cs)
{
    bool irq = false, fiq = false;

    cs->hppi = INTID_SPURIOUS;
    cs->hppi_prio = GICV3_IDLE_PRIORITY;
    find_private(cs);
    find_shared(cs);
    if (gicv3_hppi_can_preempt(cs)) {
        fiq = gicv3_irq_group(cs, cs->hppi) == GICV3_G0;
        irq = !fiq;
    }
    if (cs->irq_out != irq || cs->fiq_out != fiq) {
        trace_gic_output(CPU(cs->cpu)->cpu_index, cs->hppi, irq, fiq);
    }
    if (cs->irq_out != irq) {
        cs->irq_out = irq;
        qemu_set_irq(cs->parent_irq, irq);
    }
    if (cs->fiq_out != fiq) {
        cs->fiq_out = fiq;
        qemu_set_irq(cs->parent_fiq, fiq);
    }
}

void gicv3_update(GICv3State *s)
{
    for (unsigned i = 0; i < s->num_cpu; i++) {
        gicv3_update_cpu(&s->cpu[i]);
    }
}

/* ---- inputs ---- */

static void set_private(GICv3CPUState *cs, unsigned irq, bool level)
{
    uint32_t bit = 1u << irq;

    if (!!(cs->level & bit) == level) {
        return;
    }
    cs->level ^= bit;
    if (level && (cs->edge_trigger & bit)) {
        cs->gicr_ipendr0 |= bit;
    }
    gicv3_update_cpu(cs);
}

static void gicv3_set_irq(void *opaque, int n, int level)
{
    GICv3State *s = opaque;
    unsigned num_spis = s->num_irq - GICV3_INTERNAL;
    unsigned irq = n + GICV3_INTERNAL;

    if ((unsigned)n >= num_spis) {
        n -= num_spis;
        set_private(&s->cpu[n / GICV3_INTERNAL], n % GICV3_INTERNAL, level);
        return;
    }
    if (gicv3_bit(s->level, irq) == !!level) {
        return;
    }
    gicv3_set_bit(s->level, irq, level);
    if (level && gicv3_bit(s->edge_trigger, irq)) {
        gicv3_set_bit(s->pending, irq, true);
    }
    gicv3_update(s);
}

/* ---- reset ---- */

static void reset_cpu(GICv3CPUState *cs)
{
    cs->level = 0;
    cs->gicr_ctlr = GICR_CTLR_RESET;
    memset(cs->gicr_statusr, 0, sizeof(cs->gicr_statusr));
    cs->gicr_waker = GICR_WAKER_SLEEP | GICR_WAKER_ASLEEP;
    cs->gicr_propbaser = cs->gicr_pendbaser = 0;
    cs->gicr_igroupr0 = cs->gicr_ienabler0 = 0;
    cs->gicr_ipendr0 = cs->gicr_iactiver0 = 0;
    cs->edge_trigger = 0xffff; /* SGIs */
    cs->gicr_igrpmodr0 = cs->gicr_nsacr = 0;
    memset(cs->gicr_ipriorityr, 0, sizeof(cs->gicr_ipriorityr));

    cs->icc_sre_el1 = 0;
    cs->icc_ctlr_el1[0] = cs->icc_ctlr_el1[1] = ICC_CTLR_FIXED;
    cs->icc_pmr_el1 = 0;
    cs->icc_bpr[GICV3_G0] = cs->icc_bpr[GICV3_G1] = ICC_MIN_BPR;
    cs->icc_bpr[GICV3_G1NS] = ICC_MIN_BPR_NS;
    memset(cs->icc_apr, 0, sizeof(cs->icc_apr));
    memset(cs->icc_igrpen, 0, sizeof(cs->icc_igrpen));
    cs->icc_ctlr_el3 = ICC_CTLR_EL3_RESET;
    cs->irq_out = cs->fiq_out = -1;
}

static void gicv3_reset(DeviceState *dev)
{
    GICv3State *s = ARM_GICV3(dev);

    s->gicd_ctlr = GICD_CTLR_RESET;
    memset(s->gicd_statusr, 0, sizeof(s->gicd_statusr));
    memset(s->group, 0, sizeof(s->group));
    memset(s->grpmod, 0, sizeof(s->grpmod));
    memset(s->enabled, 0, sizeof(s->enabled));
    memset(s->pending, 0, sizeof(s->pending));
    memset(s->active, 0, sizeof(s->active));
    memset(s->level, 0, sizeof(s->level));
    memset(s->edge_trigger, 0, sizeof(s->edge_trigger));
    memset(s->gicd_ipriority, 0, sizeof(s->gicd_ipriority));
    memset(s->gicd_irouter, 0, sizeof(s->gicd_irouter));
    memset(s->gicd_nsacr, 0, sizeof(s->gicd_nsacr));
    s->gicd_no_migration_shift_bug = true;
    for (unsigned i = 0; i < s->num_cpu; i++) {
        reset_cpu(&s->cpu[i]);
    }
    gicv3_update(s);
}

/* ---- the device ---- */

static bool gicv3_realize(DeviceState *dev, Error **errp)
{
    GICv3State *s = ARM_GICV3(dev);
    SysBusDevice *sbd = SYS_BUS_DEVICE(dev);

    if (s->num_irq < 64 || s->num_irq > GICV3_MAXIRQ || s->num_irq % 32) {
        error_setg(errp,
                   "num-irq is %u, expected a multiple of 32 from 64 to %d",
                   s->num_irq, GICV3_MAXIRQ);
        return false;
    }
    qdev_init_gpio_in(dev, gicv3_set_irq,
                      s->num_irq - GICV3_INTERNAL +
                          s->num_cpu * GICV3_INTERNAL);
    for (unsigned i = 0; i < s->num_cpu; i++) {
        sysbus_init_irq(sbd, &s->cpu[i].parent_irq);
    }
    for (unsigned i = 0; i < s->num_cpu; i++) {
        sysbus_init_irq(sbd, &s->cpu[i].parent_fiq);
    }
    memory_region_init_io(&s->iomem_dist, OBJECT(s), &gicv3_dist_ops, s,
                          "gicv3_dist", GICD_SIZE);
    memory_region_init_io(&s->iomem_redist, OBJECT(s), &gicv3_redist_ops, s,
                          "gicv3_redist",
                          (uint64_t)s->num_cpu * GICV3_REDIST_SIZE);
    sysbus_init_mmio(sbd, &s->iomem_dist);
    sysbus_init_mmio(sbd, &s->iomem_redist);
    for (unsigned i = 0; i < s->num_cpu; i++) {
        gicv3_cpuif_init(&s->cpu[i]);
    }
    return true;
}

static void gicv3_instance_finalize(Object *obj)
{
    g_free(ARM_GICV3(obj)->cpu);
}

static void gicv3_class_init(ObjectClass *oc, const void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = gicv3_realize;
    dc->reset = gicv3_reset;
    dc->vmsd = &vmstate_gicv3;
    dc->desc = "ARM Generic Interrupt Controller, version 3";
}

static const TypeInfo gicv3_type = {
    .name = TYPE_ARM_GICV3,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(GICv3State),
    .instance_finalize = gicv3_instance_finalize,
    .class_init = gicv3_class_init,
};

void arm_gicv3_register_types(void)
{
    type_register_static(&gicv3_type);
}

DeviceState *arm_gicv3_create(unsigned num_spis, ARMCPU **cpus,
                              unsigned num_cpu, hwaddr dist_base,
                              hwaddr redist_base, Error **errp)
{
    DeviceState *dev = qdev_new(TYPE_ARM_GICV3, errp);
    GICv3State *s;

    if (!dev) {
        return NULL;
    }
    assert(num_cpu >= 1 && num_cpu <= GICV3_MAX_CPUS);
    s = ARM_GICV3(dev);
    s->num_irq = num_spis + GICV3_INTERNAL;
    s->num_cpu = num_cpu;
    s->cpu = g_new0(GICv3CPUState, num_cpu);
    for (unsigned i = 0; i < num_cpu; i++) {
        s->cpu[i].gic = s;
        s->cpu[i].cpu = cpus[i];
    }
    if (!qdev_realize_and_unref(dev, errp)) {
        return NULL;
    }
    sysbus_mmio_map(SYS_BUS_DEVICE(dev), 0, dist_base);
    sysbus_mmio_map(SYS_BUS_DEVICE(dev), 1, redist_base);
    return dev;
}
