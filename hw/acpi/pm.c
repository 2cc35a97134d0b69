/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ACPI power management and APM control: see pm.h. */
#include "qemu/osdep.h"

#include "hw/acpi/pm.h"
#include "qapi/qapi-events-run-state.h"
#include "qemu/error.h"
#include "qemu/log.h"
#include "system/runstate.h"
#include "trace-hw.h"
#include "vmstate/vmstate.h"

enum {
    /* PM1 status and enable (ACPI 4.8.4.1). */
    PM1_TMR = 1 << 0,
    PM1_GBL = 1 << 5,
    PM1_PWRBTN = 1 << 8,
    PM1_RTC = 1 << 10,
    PM1_WAK = 1 << 15, /* status only */
    PM1_EVENTS = PM1_TMR | PM1_GBL | PM1_PWRBTN | PM1_RTC,

    /* PM1 control (ACPI 4.8.4.2). */
    CNT_SCI_EN = 1 << 0,
    CNT_SLP_EN = 1 << 13,
    CNT_KEPT = 0xffff & ~CNT_SLP_EN,

    SLP_TYP_S5 = 0,
    SLP_TYP_S3 = 1,
    SLP_TYP_S4 = 2,
};

#define PM_TIMER_HZ 3579545
#define NS_PER_S    INT64_C(1000000000)
#define TMR_HALF    (INT64_C(1) << 23) /* bit 23 changes: the event */

/* ---- timer and SCI ---- */

static int64_t tmr_now(void)
{
    return (int64_t)((__int128)qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) *
                     PM_TIMER_HZ / NS_PER_S);
}

/* As far away as there is, if a stream says so: not in the past. */
static int64_t tmr_to_ns(int64_t ticks)
{
    return (int64_t)MIN((__int128)ticks * NS_PER_S / PM_TIMER_HZ + 1,
                        (__int128)INT64_MAX);
}

/* Note an overflow that has come since the last look. */
static uint16_t pm1_status(AcpiPmState *s)
{
    int64_t now = tmr_now();

    if (now >= s->tmr_overflow_time) {
        s->pm1_sts |= PM1_TMR;
    }
    return s->pm1_sts;
}

static void update_sci(AcpiPmState *s)
{
    uint16_t sts = pm1_status(s);
    bool level = (s->pm1_cnt & CNT_SCI_EN) && (sts & s->pm1_en & PM1_EVENTS);

    qemu_set_irq(s->sci, level);
    if ((s->pm1_en & PM1_TMR) && !(sts & PM1_TMR)) {
        timer_mod_ns(s->tmr_timer, tmr_to_ns(s->tmr_overflow_time));
    } else {
        timer_del(s->tmr_timer);
    }
}

static void tmr_expired(void *opaque)
{
    update_sci(opaque);
    if (runstate_check(RUN_STATE_SUSPENDED)) {
        qemu_system_wakeup_request(WAKEUP_REASON_PMTIMER, NULL);
    }
}

/* ---- PM1 ---- */

static void go_to_sleep(AcpiPmState *s, unsigned type)
{
    trace_acpi_sleep(type);
    if (type == SLP_TYP_S5) {
        qemu_system_shutdown_request(SHUTDOWN_CAUSE_GUEST_SHUTDOWN);
    } else if (type == SLP_TYP_S3 && !s->disable_s3) {
        qemu_system_suspend_request();
    } else if (type == SLP_TYP_S4 && !s->disable_s4) {
        qapi_event_send_suspend_disk();
        qemu_system_shutdown_request(SHUTDOWN_CAUSE_GUEST_SHUTDOWN);
    } else {
        qemu_log_mask(LOG_GUEST_ERROR, "pm1: SLP_TYP %u is no sleep here\n",
                      type);
    }
}

static void write_cnt(AcpiPmState *s, uint16_t val)
{
    s->pm1_cnt = val & CNT_KEPT;
    update_sci(s);
    if (val & CNT_SLP_EN) {
        go_to_sleep(s, (val >> 10) & 7);
    }
}

static void write_sts(AcpiPmState *s, uint16_t val)
{
    uint16_t sts = pm1_status(s);

    if (sts & val & PM1_TMR) {
        s->tmr_overflow_time = (tmr_now() / TMR_HALF + 1) * TMR_HALF;
    }
    s->pm1_sts = sts & ~val;
    update_sci(s);
}

static void write_en(AcpiPmState *s, uint16_t val)
{
    s->pm1_en = val;
    qemu_system_wakeup_enable(WAKEUP_REASON_RTC, val & PM1_RTC);
    qemu_system_wakeup_enable(WAKEUP_REASON_PMTIMER, val & PM1_TMR);
    update_sci(s);
}

static uint64_t pm_read(void *opaque, hwaddr addr, unsigned size)
{
    AcpiPmState *s = opaque;

    switch (addr) {
    case 0:
        return pm1_status(s);
    case 2:
        return s->pm1_en;
    case 4:
        return s->pm1_cnt;
    case 8:
        return tmr_now() & 0xffff;
    case 10:
        return (tmr_now() >> 16) & 0xff;
    default:
        return 0;
    }
}

static void pm_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    AcpiPmState *s = opaque;

    trace_acpi_pm_write(addr, val);
    switch (addr) {
    case 0:
        write_sts(s, val);
        break;
    case 2:
        write_en(s, val);
        break;
    case 4:
        write_cnt(s, val);
        break;
    default: /* the timer is read only */
        break;
    }
}

/* The timer is read as one; the rest are 16-bit registers. */
static MemTxResult pm_read_any(void *opaque, hwaddr addr, uint64_t *data,
                               unsigned size, MemTxAttrs attrs)
{
    if (size == 4) {
        *data = addr == 8 ? tmr_now() & 0xffffff
                          : pm_read(opaque, addr, 2) |
                                pm_read(opaque, addr + 2, 2) << 16;
    } else {
        *data = pm_read(opaque, addr & ~UINT64_C(1), 2) >> (8 * (addr & 1));
    }
    return MEMTX_OK;
}

static MemTxResult pm_write_any(void *opaque, hwaddr addr, uint64_t data,
                                unsigned size, MemTxAttrs attrs)
{
    hwaddr reg = addr & ~UINT64_C(1);

    if (size == 4) {
        pm_write(opaque, addr, data & 0xffff, 2);
        pm_write(opaque, addr + 2, data >> 16, 2);
    } else if (size == 2) {
        pm_write(opaque, reg, data, 2);
    } else {
        /* Half a register: of the status (write 1 to clear) only that half. */
        unsigned shift = 8 * (addr & 1);
        uint16_t rest = reg == 0 ? 0 : pm_read(opaque, reg, 2);

        rest &= ~(0xff << shift);
        pm_write(opaque, reg, rest | (data & 0xff) << shift, 2);
    }
    return MEMTX_OK;
}

static const MemoryRegionOps pm_ops = {
    .read_with_attrs = pm_read_any,
    .write_with_attrs = pm_write_any,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 1,
    .valid.max_access_size = 4,
    .impl.min_access_size = 1,
    .impl.max_access_size = 4,
};

/* ---- GPE0: nothing raises an event; what is enabled is remembered ---- */

static uint64_t gpe_read(void *opaque, hwaddr addr, unsigned size)
{
    AcpiPmState *s = opaque;
    unsigned half = ACPI_PM_GET_CLASS(s)->gpe0_size / 2;

    return addr < half ? s->gpe_sts[addr] : s->gpe_en[addr - half];
}

static void gpe_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    AcpiPmState *s = opaque;
    unsigned half = ACPI_PM_GET_CLASS(s)->gpe0_size / 2;

    if (addr < half) {
        s->gpe_sts[addr] &= ~val;
    } else {
        s->gpe_en[addr - half] = val;
    }
}

static const MemoryRegionOps gpe_ops = {
    .read = gpe_read,
    .write = gpe_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .impl.min_access_size = 1,
    .impl.max_access_size = 1,
};

/* ---- APM ---- */

static uint64_t apm_read(void *opaque, hwaddr addr, unsigned size)
{
    AcpiPmState *s = opaque;

    return addr == 0 ? s->apmc : s->apms;
}

static void apm_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    AcpiPmState *s = opaque;
    AcpiPmClass *pc = ACPI_PM_GET_CLASS(s);

    if (addr == 1) {
        s->apms = val;
        return;
    }
    s->apmc = val;
    if (s->apmc == pc->acpi_enable) {
        s->pm1_cnt |= CNT_SCI_EN;
    } else if (s->apmc == pc->acpi_disable) {
        s->pm1_cnt &= ~CNT_SCI_EN;
    }
    update_sci(s);
}

static const MemoryRegionOps apm_ops = {
    .read = apm_read,
    .write = apm_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .impl.min_access_size = 1,
    .impl.max_access_size = 1,
};

/* ---- what comes from outside ---- */

static void power_button(Notifier *n, void *data)
{
    AcpiPmState *s = container_of(n, AcpiPmState, powerdown);

    s->pm1_sts |= PM1_PWRBTN;
    update_sci(s);
}

/* After the reset: what the guest finds to have woken it. */
static void woken_up(Notifier *n, void *data)
{
    AcpiPmState *s = container_of(n, AcpiPmState, wakeup);

    switch (*(WakeupReason *)data) {
    case WAKEUP_REASON_RTC:
        s->pm1_sts |= PM1_WAK | PM1_RTC;
        break;
    case WAKEUP_REASON_PMTIMER:
        s->pm1_sts |= PM1_WAK | PM1_TMR;
        break;
    case WAKEUP_REASON_OTHER:
        s->pm1_sts |= PM1_WAK | PM1_PWRBTN;
        break;
    }
    update_sci(s);
}

/* ---- saved state ---- */

static bool acpi_pm_post_load(void *opaque, int version_id, Error **errp)
{
    AcpiPmState *s = opaque;

    write_en(s, s->pm1_en); /* wake-up reasons, timer and SCI follow from it */
    return true;
}

#define PM_FIELDS                                                              \
    VMSTATE_UINT16(pm1_sts, AcpiPmState), VMSTATE_UINT16(pm1_en, AcpiPmState), \
        VMSTATE_UINT16(pm1_cnt, AcpiPmState),                                  \
        VMSTATE_TIMER_PTR(tmr_timer, AcpiPmState),                             \
        VMSTATE_INT64(tmr_overflow_time, AcpiPmState),                         \
        VMSTATE_UINT8_ARRAY(gpe_sts, AcpiPmState, ACPI_GPE0_SIZE),             \
        VMSTATE_UINT8_ARRAY(gpe_en, AcpiPmState, ACPI_GPE0_SIZE),              \
        VMSTATE_UINT32(smi_en, AcpiPmState),                                   \
        VMSTATE_UINT32(smi_sts, AcpiPmState),                                  \
        VMSTATE_UINT8(apmc, AcpiPmState), VMSTATE_UINT8(apms, AcpiPmState),    \
        VMSTATE_END_OF_LIST()

static const VMStateDescription vmstate_ich9_pm = {
    .name = "ich9_pm",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = acpi_pm_post_load,
    .fields = (const VMStateField[]){ PM_FIELDS },
};

static const VMStateDescription vmstate_piix4_pm = {
    .name = "piix4_pm",
    .version_id = 3,
    .minimum_version_id = 3,
    .post_load = acpi_pm_post_load,
    .fields = (const VMStateField[]){ PM_FIELDS },
};

/* ---- the device ---- */

static void acpi_pm_reset(DeviceState *dev)
{
    AcpiPmState *s = ACPI_PM(dev);

    s->pm1_sts = 0;
    s->pm1_cnt = CNT_SCI_EN;
    s->tmr_overflow_time = (tmr_now() / TMR_HALF + 1) * TMR_HALF;
    memset(s->gpe_sts, 0, sizeof(s->gpe_sts));
    memset(s->gpe_en, 0, sizeof(s->gpe_en));
    s->smi_en = s->smi_sts = 0;
    s->apmc = s->apms = 0;
    write_en(s, 0);
}

static bool acpi_pm_realize(DeviceState *dev, Error **errp)
{
    AcpiPmState *s = ACPI_PM(dev);
    AcpiPmClass *pc = ACPI_PM_GET_CLASS(s);
    ISADevice *isa = ISA_DEVICE(dev);

    memory_region_init_io(&s->gpe_io, OBJECT(dev), &gpe_ops, s, "acpi-gpe0",
                          pc->gpe0_size);
    s->tmr_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, tmr_expired, s);
    if (!isa_connect_irq(isa, &s->sci, ACPI_SCI_IRQ, errp) ||
        !isa_register_ioport(isa, &s->pm_io, ACPI_PM_BASE, errp) ||
        !isa_register_ioport(isa, &s->gpe_io, pc->gpe0_base, errp) ||
        !isa_register_ioport(isa, &s->apm_io, 0xb2, errp)) {
        return false;
    }
    s->powerdown.notify = power_button;
    qemu_register_powerdown_notifier(&s->powerdown);
    s->wakeup.notify = woken_up;
    qemu_register_wakeup_notifier(&s->wakeup);
    if (!s->disable_s3) {
        qemu_register_wakeup_support();
    }
    return true;
}

static void acpi_pm_instance_init(Object *obj)
{
    AcpiPmState *s = ACPI_PM(obj);

    memory_region_init_io(&s->pm_io, obj, &pm_ops, s, "acpi-pm", 12);
    memory_region_init_io(&s->apm_io, obj, &apm_ops, s, "apm-io", 2);
}

static void acpi_pm_instance_finalize(Object *obj)
{
    timer_free(ACPI_PM(obj)->tmr_timer);
}

static void ich9_class_init(ObjectClass *oc, const void *data)
{
    AcpiPmClass *pc = ACPI_PM_CLASS(oc);
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = acpi_pm_realize;
    dc->reset = acpi_pm_reset;
    dc->vmsd = &vmstate_ich9_pm;
    dc->desc = "power management as of ICH9's LPC bridge";
    pc->gpe0_base = ACPI_PM_BASE + 0x20;
    pc->gpe0_size = 16;
    pc->acpi_enable = 2;
    pc->acpi_disable = 3;
}

static void piix4_class_init(ObjectClass *oc, const void *data)
{
    AcpiPmClass *pc = ACPI_PM_CLASS(oc);
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = acpi_pm_realize;
    dc->reset = acpi_pm_reset;
    dc->vmsd = &vmstate_piix4_pm;
    dc->desc = "power management as of PIIX4";
    pc->gpe0_base = 0xafe0;
    pc->gpe0_size = 4;
    pc->acpi_enable = 0xf1;
    pc->acpi_disable = 0xf0;
}

static const Property acpi_pm_props[] = {
    DEFINE_PROP_UINT8("disable_s3", AcpiPmState, disable_s3, 0),
    DEFINE_PROP_UINT8("disable_s4", AcpiPmState, disable_s4, 0),
    DEFINE_PROP_END_OF_LIST(),
};

static const TypeInfo acpi_pm_types[] = {
    {
        .name = TYPE_ACPI_PM,
        .parent = TYPE_ISA_DEVICE,
        .abstract = true,
        .instance_size = sizeof(AcpiPmState),
        .class_size = sizeof(AcpiPmClass),
        .instance_init = acpi_pm_instance_init,
        .instance_finalize = acpi_pm_instance_finalize,
        .props = acpi_pm_props,
    },
    {
        .name = TYPE_ICH9_LPC,
        .parent = TYPE_ACPI_PM,
        .class_init = ich9_class_init,
    },
    {
        .name = TYPE_PIIX4_PM,
        .parent = TYPE_ACPI_PM,
        .class_init = piix4_class_init,
    },
};

void acpi_pm_register_types(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(acpi_pm_types); i++) {
        type_register_static(&acpi_pm_types[i]);
    }
}

AcpiPmState *acpi_pm_create(const char *type, Error **errp)
{
    DeviceState *dev = qdev_new(type, errp);

    return dev && qdev_realize_and_unref(dev, errp) ? ACPI_PM(dev) : NULL;
}
