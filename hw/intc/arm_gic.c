/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GICv2: the device, its inputs and its saved state; see arm_gic.h.
 */
#include "qemu/osdep.h"

#include "gic-internal.h"
#include "qemu/error.h"
#include "vmstate/vmstate.h"

#define GIC_DIST_SIZE 0x1000
#define GIC_CPU_SIZE  0x2000

/* Input @n changed: an SPI, or behind them a CPU's private interrupt. */
static void gic_set_irq(void *opaque, int n, int level)
{
    GICState *s = opaque;
    unsigned num_spis = s->num_irq - GIC_INTERNAL;
    unsigned irq;
    uint8_t cm;
    GICIRQState *st;

    if ((unsigned)n < num_spis) {
        irq = n + GIC_INTERNAL;
        cm = GIC_ALL_CPUS;
    } else {
        irq = (n - num_spis) % GIC_INTERNAL;
        cm = 1u << ((n - num_spis) / GIC_INTERNAL);
    }
    st = &s->irq_state[irq];
    if (!!(st->level & cm) == !!level) {
        return;
    }
    if (level) {
        st->level |= cm;
        if (st->edge_trigger) {
            st->pending |= cm;
        }
    } else {
        st->level &= ~cm;
    }
    gic_update(s);
}

static void gic_reset(DeviceState *dev)
{
    GICState *s = ARM_GIC(dev);

    s->ctlr = 0;
    memset(s->cpu_ctlr, 0, sizeof(s->cpu_ctlr));
    memset(s->irq_state, 0, sizeof(s->irq_state));
    memset(s->irq_target, 0, sizeof(s->irq_target));
    memset(s->priority1, 0, sizeof(s->priority1));
    memset(s->priority2, 0, sizeof(s->priority2));
    memset(s->sgi_pending, 0, sizeof(s->sgi_pending));
    memset(s->priority_mask, 0, sizeof(s->priority_mask));
    memset(s->running_priority, 0, sizeof(s->running_priority));
    memset(s->current_pending, 0, sizeof(s->current_pending));
    memset(s->bpr, 0, sizeof(s->bpr));
    memset(s->abpr, 0, sizeof(s->abpr));
    memset(s->apr, 0, sizeof(s->apr));
    memset(s->nsapr, 0, sizeof(s->nsapr));

    for (unsigned cpu = 0; cpu < s->num_cpu; cpu++) {
        s->running_priority[cpu] = GIC_IDLE_PRIORITY;
        s->current_pending[cpu] = GIC_SPURIOUS;
        s->abpr[cpu] = GIC_MIN_ABPR;
        s->irq_out[cpu] = s->fiq_out[cpu] = -1;
    }
    for (unsigned i = 0; i < GIC_NR_SGIS; i++) {
        s->irq_state[i].enabled = GIC_ALL_CPUS;
        s->irq_state[i].edge_trigger = true;
    }
    if (s->num_cpu == 1) {
        memset(s->irq_target, 1, sizeof(s->irq_target));
    }
    gic_update(s);
}

/* ---- saved state ---- */

static bool gic_post_load(void *opaque, int version_id, Error **errp)
{
    GICState *s = opaque;

    for (unsigned cpu = 0; cpu < s->num_cpu; cpu++) {
        if (s->running_priority[cpu] > GIC_IDLE_PRIORITY) {
            error_setg(errp,
                       "running_priority[%u] is 0x%x, expected at most 0x%x",
                       cpu, s->running_priority[cpu], GIC_IDLE_PRIORITY);
            return false;
        }
        if (s->bpr[cpu] > 7 || s->abpr[cpu] > 7) {
            error_setg(errp, "bpr[%u] is %u, abpr %u, expected at most 7", cpu,
                       s->bpr[cpu], s->abpr[cpu]);
            return false;
        }
        s->abpr[cpu] = MAX(s->abpr[cpu], GIC_MIN_ABPR);
        s->irq_out[cpu] = s->fiq_out[cpu] = -1;
    }
    gic_update(s);
    return true;
}

static const VMStateDescription vmstate_gic_irq_state = {
    .name = "arm_gic_irq_state",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT8(enabled, GICIRQState),
            VMSTATE_UINT8(pending, GICIRQState),
            VMSTATE_UINT8(active, GICIRQState),
            VMSTATE_UINT8(level, GICIRQState),
            VMSTATE_BOOL(model, GICIRQState),
            VMSTATE_BOOL(edge_trigger, GICIRQState),
            VMSTATE_UINT8(group, GICIRQState),
            VMSTATE_END_OF_LIST(),
        },
};

const VMStateDescription vmstate_gic = {
    .name = "arm_gic",
    .version_id = 12,
    .minimum_version_id = 12,
    .post_load = gic_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(ctlr, GICState),
            VMSTATE_UINT32_ARRAY(cpu_ctlr, GICState, GIC_NCPU),
            VMSTATE_STRUCT_ARRAY(irq_state, GICState, GIC_MAXIRQ, 1,
                                 vmstate_gic_irq_state, GICIRQState),
            VMSTATE_UINT8_ARRAY(irq_target, GICState, GIC_MAXIRQ),
            VMSTATE_UINT8_2DARRAY(priority1, GICState, GIC_INTERNAL, GIC_NCPU),
            VMSTATE_UINT8_ARRAY(priority2, GICState, GIC_MAXIRQ - GIC_INTERNAL),
            VMSTATE_UINT8_2DARRAY(sgi_pending, GICState, GIC_NR_SGIS, GIC_NCPU),
            VMSTATE_UINT16_ARRAY(priority_mask, GICState, GIC_NCPU),
            VMSTATE_UINT16_ARRAY(running_priority, GICState, GIC_NCPU),
            VMSTATE_UINT16_ARRAY(current_pending, GICState, GIC_NCPU),
            VMSTATE_UINT8_ARRAY(bpr, GICState, GIC_NCPU),
            VMSTATE_UINT8_ARRAY(abpr, GICState, GIC_NCPU),
            VMSTATE_UINT32_2DARRAY(apr, GICState, GIC_NR_APRS, GIC_NCPU),
            VMSTATE_UINT32_2DARRAY(nsapr, GICState, GIC_NR_APRS, GIC_NCPU),
            VMSTATE_END_OF_LIST(),
        },
};

/* ---- the device ---- */

static bool gic_realize(DeviceState *dev, Error **errp)
{
    GICState *s = ARM_GIC(dev);
    SysBusDevice *sbd = SYS_BUS_DEVICE(dev);

    if (s->num_cpu < 1 || s->num_cpu > GIC_NCPU) {
        error_setg(errp, "num-cpu is %u, a GICv2 serves 1 to %d CPUs",
                   s->num_cpu, GIC_NCPU);
        return false;
    }
    if (s->num_irq < 64 || s->num_irq > GIC_MAXIRQ || s->num_irq % 32) {
        error_setg(errp,
                   "num-irq is %u, expected a multiple of 32 from 64 to %d",
                   s->num_irq, GIC_MAXIRQ);
        return false;
    }
    qdev_init_gpio_in(dev, gic_set_irq,
                      s->num_irq - GIC_INTERNAL + s->num_cpu * GIC_INTERNAL);
    for (unsigned i = 0; i < s->num_cpu; i++) {
        sysbus_init_irq(sbd, &s->parent_irq[i]);
    }
    for (unsigned i = 0; i < s->num_cpu; i++) {
        sysbus_init_irq(sbd, &s->parent_fiq[i]);
    }
    memory_region_init_io(&s->iomem, OBJECT(s), &gic_dist_ops, s, "gic_dist",
                          GIC_DIST_SIZE);
    memory_region_init_io(&s->cpuiomem, OBJECT(s), &gic_cpu_ops, s, "gic_cpu",
                          GIC_CPU_SIZE);
    sysbus_init_mmio(sbd, &s->iomem);
    sysbus_init_mmio(sbd, &s->cpuiomem);
    return true;
}

static void gic_class_init(ObjectClass *oc, const void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = gic_realize;
    dc->reset = gic_reset;
    dc->vmsd = &vmstate_gic;
    dc->desc = "ARM Generic Interrupt Controller, version 2";
}

static const Property gic_props[] = {
    DEFINE_PROP_UINT32("num-cpu", GICState, num_cpu, 1),
    DEFINE_PROP_UINT32("num-irq", GICState, num_irq, 64),
    DEFINE_PROP_END_OF_LIST(),
};

static const TypeInfo gic_type = {
    .name = TYPE_ARM_GIC,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(GICState),
    .class_init = gic_class_init,
    .props = gic_props,
};

void arm_gic_register_types(void)
{
    type_register_static(&gic_type);
}

DeviceState *arm_gic_create(unsigned num_spis, unsigned num_cpu,
                            hwaddr dist_base, hwaddr cpu_base, Error **errp)
{
    DeviceState *dev = qdev_new(TYPE_ARM_GIC, errp);

    if (!dev) {
        return NULL;
    }
    ARM_GIC(dev)->num_irq = num_spis + GIC_INTERNAL;
    ARM_GIC(dev)->num_cpu = num_cpu;
    if (!qdev_realize_and_unref(dev, errp)) {
        return NULL;
    }
    sysbus_mmio_map(SYS_BUS_DEVICE(dev), 0, dist_base);
    sysbus_mmio_map(SYS_BUS_DEVICE(dev), 1, cpu_base);
    return dev;
}
