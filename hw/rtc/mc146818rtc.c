/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MC146818 real-time clock: see mc146818rtc.h; its time: rtc-time.c. */
#include "qemu/osdep.h"

#include "hw/rtc/mc146818rtc.h"
#include "qemu/error.h"
#include "rtc-internal.h"
#include "system/runstate.h"
#include "trace-hw.h"
#include "vmstate/vmstate.h"

/* ---- interrupts ---- */

static void update_irq(MC146818RtcState *s)
{
    uint8_t pending = s->cmos_data[RTC_REG_B] & s->cmos_data[RTC_REG_C] &
                      REG_C_SOURCES;

    if (pending) {
        s->cmos_data[RTC_REG_C] |= REG_C_IRQF;
    } else {
        s->cmos_data[RTC_REG_C] &= ~REG_C_IRQF;
    }
    qemu_set_irq(s->irq, pending != 0);
}

/* The clock's value when the guest's time is @t. */
static int64_t clock_at(const MC146818RtcState *s, time_t t, int64_t now_ns)
{
    __int128 ns = (__int128)t * NS_PER_S + now_ns - rtc_guest_ns(s, now_ns);

    return (int64_t)CLAMP(ns, 0, INT64_MAX);
}

/*
 * Have the timer fire when something changes that the guest could see: the
 * next second, unless that was noted and not yet read, or the next alarm.
 */
static void arm_update_timer(MC146818RtcState *s)
{
    uint8_t c = s->cmos_data[RTC_REG_C];
    int64_t now_ns = rtc_clock_now(s);
    time_t t, alarm;

    if (!rtc_running(s)) {
        s->next_alarm_time = UINT64_MAX;
        timer_del(s->update_timer);
        return;
    }
    t = rtc_guest_ns(s, now_ns) / NS_PER_S;
    alarm = rtc_next_alarm(s, t);
    s->next_alarm_time = alarm ? (uint64_t)clock_at(s, alarm, now_ns)
                               : UINT64_MAX;
    if (!(c & REG_C_UF)) {
        timer_mod_ns(s->update_timer, clock_at(s, t + 1, now_ns));
    } else if (!(c & REG_C_AF) && alarm) {
        timer_mod_ns(s->update_timer, s->next_alarm_time);
    } else {
        timer_del(s->update_timer);
    }
}

static void rtc_update_timer(void *opaque)
{
    MC146818RtcState *s = opaque;
    int64_t now_ns = rtc_clock_now(s);
    bool alarm = (uint64_t)now_ns >= s->next_alarm_time;
    bool wake = alarm && (s->cmos_data[RTC_REG_B] & REG_B_AIE);

    if (!rtc_running(s)) {
        return;
    }
    trace_rtc_update(alarm);
    s->cmos_data[RTC_REG_C] |= REG_C_UF | (alarm ? REG_C_AF : 0);
    update_irq(s);
    arm_update_timer(s);
    if (wake && runstate_check(RUN_STATE_SUSPENDED)) {
        qemu_system_wakeup_request(WAKEUP_REASON_RTC, NULL);
    }
}

/* Crystal periods between two periodic interrupts; 0: there are none. */
static uint32_t periodic_ticks(const MC146818RtcState *s)
{
    unsigned rate = s->cmos_data[RTC_REG_A] & REG_A_RATE;

    if (!rate || (s->cmos_data[RTC_REG_A] & REG_A_DIVIDER) != REG_A_32KHZ ||
        !(s->cmos_data[RTC_REG_B] & (REG_B_PIE | REG_B_SQWE))) {
        return 0;
    }
    if (rate <= 2) {
        rate += 7; /* with this crystal the fastest two are these */
    }
    return 1u << (rate - 1);
}

static int64_t ticks_to_ns(int64_t ticks)
{
    return (int64_t)((__int128)ticks * NS_PER_S / CRYSTAL_HZ);
}

static int64_t ns_to_ticks(int64_t ns)
{
    return (int64_t)((__int128)ns * CRYSTAL_HZ / NS_PER_S);
}

/* The next multiple of the period; a change of rate keeps the phase. */
static void arm_periodic_timer(MC146818RtcState *s)
{
    int64_t now;

    s->period = periodic_ticks(s);
    if (!s->period) {
        timer_del(s->periodic_timer);
        return;
    }
    now = ns_to_ticks(rtc_clock_now(s));
    /* One further, so that rounding never fires it early. */
    s->next_periodic_time = ticks_to_ns((now / s->period + 1) * s->period) + 1;
    timer_mod_ns(s->periodic_timer, s->next_periodic_time);
}

static void rtc_periodic_timer(void *opaque)
{
    MC146818RtcState *s = opaque;

    s->cmos_data[RTC_REG_C] |= REG_C_PF;
    update_irq(s);
    arm_periodic_timer(s);
}

/* ---- registers ---- */

static void write_reg_a(MC146818RtcState *s, uint8_t val)
{
    bool was_running = rtc_running(s);
    bool was_reset = (s->cmos_data[RTC_REG_A] & REG_A_DIVIDER_RESET) ==
                     REG_A_DIVIDER_RESET;

    rtc_update_regs(s);
    s->cmos_data[RTC_REG_A] = val & ~REG_A_UIP;
    if (!was_running && rtc_running(s)) {
        rtc_set_time(s, was_reset ? NS_PER_S - FIRST_UPDATE_NS : 0);
    }
    arm_periodic_timer(s);
    arm_update_timer(s);
}

/* Register B: SET freezes the registers, and clearing it takes them over. */
static void write_reg_b(MC146818RtcState *s, uint8_t val)
{
    bool was_running = rtc_running(s);
    int64_t phase = s->offset;

    rtc_update_regs(s);
    if (was_running) {
        phase = rtc_guest_ns(s, rtc_clock_now(s)) % NS_PER_S;
    }
    if (val & REG_B_SET) {
        val &= ~REG_B_UIE;
    }
    s->cmos_data[RTC_REG_B] = val;
    if (was_running && !rtc_running(s)) {
        s->offset = phase; /* kept for when it runs again */
    } else if (!was_running && rtc_running(s)) {
        rtc_set_time(s, phase);
    }
    update_irq(s);
    arm_periodic_timer(s);
    arm_update_timer(s);
}

/* One of the clock's own registers: shows at once, if it runs. */
static void write_time(MC146818RtcState *s, unsigned index, uint8_t val)
{
    int64_t phase;

    if (!rtc_running(s)) {
        s->cmos_data[index] = val;
        return;
    }
    phase = rtc_guest_ns(s, rtc_clock_now(s)) % NS_PER_S;
    rtc_update_regs(s);
    s->cmos_data[index] = val;
    rtc_set_time(s, phase);
    arm_update_timer(s);
}

static void write_data(MC146818RtcState *s, uint8_t val)
{
    switch (s->cmos_index) {
    case RTC_SECONDS:
    case RTC_MINUTES:
    case RTC_HOURS:
    case RTC_DAY_OF_WEEK:
    case RTC_DAY_OF_MONTH:
    case RTC_MONTH:
    case RTC_YEAR:
    case RTC_CENTURY:
        write_time(s, s->cmos_index, val);
        break;
    case RTC_SECONDS_ALARM:
    case RTC_MINUTES_ALARM:
    case RTC_HOURS_ALARM:
        s->cmos_data[s->cmos_index] = val;
        arm_update_timer(s);
        break;
    case RTC_REG_A:
        write_reg_a(s, val);
        break;
    case RTC_REG_B:
        write_reg_b(s, val);
        break;
    case RTC_REG_C:
    case RTC_REG_D:
        break; /* read only */
    default:
        s->cmos_data[s->cmos_index] = val;
    }
}

static uint8_t read_reg_c(MC146818RtcState *s)
{
    uint8_t val = s->cmos_data[RTC_REG_C];

    s->cmos_data[RTC_REG_C] = 0;
    qemu_set_irq(s->irq, 0);
    if (val & (REG_C_UF | REG_C_AF)) {
        arm_update_timer(s);
    }
    return val;
}

static uint8_t read_data(MC146818RtcState *s)
{
    switch (s->cmos_index) {
    case RTC_REG_A:
        return s->cmos_data[RTC_REG_A] | (rtc_in_update(s) ? REG_A_UIP : 0);
    case RTC_REG_C:
        return read_reg_c(s);
    default:
        rtc_update_regs(s);
        return s->cmos_data[s->cmos_index];
    }
}

static void rtc_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    MC146818RtcState *s = opaque;

    if (addr == 0) {
        s->cmos_index = val & 0x7f;
    } else {
        trace_rtc_write(s->cmos_index, val);
        write_data(s, val);
    }
}

static uint64_t rtc_read(void *opaque, hwaddr addr, unsigned size)
{
    MC146818RtcState *s = opaque;

    return addr == 0 ? 0xff : read_data(s);
}

static const MemoryRegionOps rtc_ops = {
    .read = rtc_read,
    .write = rtc_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .impl.min_access_size = 1,
    .impl.max_access_size = 1,
};

/* ---- saved state ---- */

static bool rtc_pre_save(void *opaque, Error **errp)
{
    rtc_update_regs(opaque); /* so that the target sees where we were */
    return true;
}

static bool check_date(const MC146818RtcState *s, Error **errp)
{
    __int128 ns = rtc_guest_ns_unchecked(s, rtc_clock_now(s));

    if (ns < -MAX_GUEST_NS || ns > MAX_GUEST_NS || s->offset > MAX_GUEST_NS ||
        s->offset < -MAX_GUEST_NS) {
        error_setg(errp,
                   "base_rtc %" PRId64 " s, last_update %" PRId64
                   " ns and offset %" PRId64 " ns make no date, expected one "
                   "within %" PRId64 " s of 1970",
                   (int64_t)s->base_rtc, (int64_t)s->last_update, s->offset,
                   MAX_GUEST_NS / NS_PER_S);
        return false;
    }
    return true;
}

/* This host's clock may be behind the source's: do not step back. */
static void catch_up(MC146818RtcState *s)
{
    __int128 behind = (__int128)rtc_time_from_regs(s) * NS_PER_S -
                      rtc_guest_ns(s, rtc_clock_now(s));

    if (behind > 0) {
        s->offset = (int64_t)MIN(s->offset + behind, (__int128)MAX_GUEST_NS);
    }
}

static bool rtc_post_load(void *opaque, int version_id, Error **errp)
{
    MC146818RtcState *s = opaque;

    if (s->cmos_index > 0x7f) {
        error_setg(errp, "cmos_index is %u, expected 0 to 127", s->cmos_index);
        return false;
    }
    if (rtc_running(s) && s->clock == QEMU_CLOCK_REALTIME) {
        rtc_set_time(s, 0); /* that clock means nothing on another host */
    } else if (rtc_running(s)) {
        if (!check_date(s, errp)) {
            return false;
        }
        catch_up(s);
    }
    update_irq(s);
    arm_periodic_timer(s);
    arm_update_timer(s);
    return true;
}

static const VMStateDescription vmstate_rtc = {
    .name = "mc146818rtc",
    .version_id = 3,
    .minimum_version_id = 3,
    .pre_save = rtc_pre_save,
    .post_load = rtc_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_BUFFER(cmos_data, MC146818RtcState),
            VMSTATE_UINT8(cmos_index, MC146818RtcState),
            VMSTATE_UNUSED(7 * 4),
            VMSTATE_TIMER_PTR(periodic_timer, MC146818RtcState),
            VMSTATE_INT64(next_periodic_time, MC146818RtcState),
            VMSTATE_UNUSED(3 * 8),
            VMSTATE_UINT32(irq_coalesced, MC146818RtcState),
            VMSTATE_UINT32(period, MC146818RtcState),
            VMSTATE_UINT64(base_rtc, MC146818RtcState),
            VMSTATE_UINT64(last_update, MC146818RtcState),
            VMSTATE_INT64(offset, MC146818RtcState),
            VMSTATE_TIMER_PTR(update_timer, MC146818RtcState),
            VMSTATE_UINT64(next_alarm_time, MC146818RtcState),
            VMSTATE_END_OF_LIST(),
        },
};

/* ---- the device ---- */

/* The clock goes on; only its interrupts are off. */
static void rtc_reset(DeviceState *dev)
{
    MC146818RtcState *s = MC146818_RTC(dev);

    s->cmos_data[RTC_REG_B] &= ~(REG_B_PIE | REG_B_AIE | REG_B_UIE |
                                 REG_B_SQWE);
    s->cmos_data[RTC_REG_C] = 0;
    s->cmos_index = 0;
    update_irq(s);
    arm_periodic_timer(s);
    arm_update_timer(s);
}

static bool rtc_realize(DeviceState *dev, Error **errp)
{
    MC146818RtcState *s = MC146818_RTC(dev);

    s->cmos_data[RTC_REG_A] = REG_A_32KHZ | 6; /* 1024 Hz */
    s->cmos_data[RTC_REG_B] = REG_B_24H;
    s->cmos_data[RTC_REG_D] = REG_D_VALID;
    s->clock = rtc_clock();
    s->periodic_timer = timer_new_ns(s->clock, rtc_periodic_timer, s);
    s->update_timer = timer_new_ns(s->clock, rtc_update_timer, s);
    rtc_regs_from_time(s, rtc_initial_time_s());
    rtc_set_time(s, 0);
    return isa_connect_irq(ISA_DEVICE(dev), &s->irq, RTC_ISA_IRQ, errp) &&
           isa_register_ioport(ISA_DEVICE(dev), &s->io, 0x70, errp);
}

static void rtc_instance_init(Object *obj)
{
    MC146818RtcState *s = MC146818_RTC(obj);

    memory_region_init_io(&s->io, obj, &rtc_ops, s, "rtc", 2);
}

static void rtc_instance_finalize(Object *obj)
{
    MC146818RtcState *s = MC146818_RTC(obj);

    timer_free(s->periodic_timer);
    timer_free(s->update_timer);
}

static void rtc_class_init(ObjectClass *oc, const void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = rtc_realize;
    dc->reset = rtc_reset;
    dc->vmsd = &vmstate_rtc;
    dc->desc = "MC146818 real-time clock";
}

static const Property rtc_props[] = {
    DEFINE_PROP_INT32("base_year", MC146818RtcState, base_year, 0),
    DEFINE_PROP_END_OF_LIST(),
};

static const TypeInfo rtc_type = {
    .name = TYPE_MC146818_RTC,
    .parent = TYPE_ISA_DEVICE,
    .instance_size = sizeof(MC146818RtcState),
    .instance_init = rtc_instance_init,
    .instance_finalize = rtc_instance_finalize,
    .class_init = rtc_class_init,
    .props = rtc_props,
};

void mc146818rtc_register_types(void)
{
    type_register_static(&rtc_type);
}

MC146818RtcState *mc146818_rtc_create(Error **errp)
{
    DeviceState *dev = qdev_new(TYPE_MC146818_RTC, errp);

    return dev && qdev_realize_and_unref(dev, errp) ? MC146818_RTC(dev) : NULL;
}

void mc146818rtc_set_cmos(MC146818RtcState *s, unsigned addr, uint8_t val)
{
    assert(addr > RTC_REG_D && addr < sizeof(s->cmos_data) &&
           addr != RTC_CENTURY);
    s->cmos_data[addr] = val;
}
