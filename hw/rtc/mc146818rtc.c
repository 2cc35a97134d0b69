/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MC146818 real-time clock: see mc146818rtc.h. */
#include "qemu/osdep.h"

#include "hw/rtc/mc146818rtc.h"
#include "qemu/error.h"
#include "rtc-internal.h"
#include "system/runstate.h"
#include "trace-hw.h"
#include "vmstate/vmstate.h"

/* Bytes of the CMOS memory. */
enum {
    RTC_SECONDS,
    RTC_SECONDS_ALARM,
    RTC_MINUTES,
    RTC_MINUTES_ALARM,
    RTC_HOURS,
    RTC_HOURS_ALARM,
    RTC_DAY_OF_WEEK,
    RTC_DAY_OF_MONTH,
    RTC_MONTH,
    RTC_YEAR,
    RTC_REG_A,
    RTC_REG_B,
    RTC_REG_C,
    RTC_REG_D,
    RTC_CENTURY = 0x32,
};

enum {
    REG_A_UIP = 0x80,
    REG_A_DIVIDER = 0x70,
    REG_A_DIVIDER_RESET = 0x60, /* 110 and 111 */
    REG_A_32KHZ = 0x20,
    REG_A_RATE = 0x0f,

    REG_B_SET = 0x80,
    REG_B_PIE = 0x40,
    REG_B_AIE = 0x20,
    REG_B_UIE = 0x10,
    REG_B_SQWE = 0x08,
    REG_B_BINARY = 0x04,
    REG_B_24H = 0x02,

    REG_C_IRQF = 0x80,
    REG_C_PF = 0x40,
    REG_C_AF = 0x20,
    REG_C_UF = 0x10,
    REG_C_SOURCES = 0x70,

    REG_D_VALID = 0x80,

    HOURS_PM = 0x80,
    ALARM_ANY = 0xc0, /* these bits: matches any value */
};

#define NS_PER_S        INT64_C(1000000000)
#define UIP_BEFORE_NS   INT64_C(244000) /* of an update */
#define FIRST_UPDATE_NS (NS_PER_S / 2)  /* after the divider runs again */
#define CRYSTAL_HZ      32768
#define S_PER_DAY       86400
/* Registers can show dates that ns in 64 bits cannot: the nearest is taken. */
#define MAX_TIME_S   INT64_C(8000000000) /* 1716 to 2223, to be set */
#define MAX_GUEST_NS (INT64_C(9000000000) * NS_PER_S) /* some years later */

/* ---- numbers in the registers ---- */

static uint8_t to_reg(const MC146818RtcState *s, unsigned v)
{
    return s->cmos_data[RTC_REG_B] & REG_B_BINARY ? v : (v / 10) << 4 | v % 10;
}

static unsigned from_reg(const MC146818RtcState *s, uint8_t v)
{
    return s->cmos_data[RTC_REG_B] & REG_B_BINARY ? v
                                                  : (v >> 4) * 10 + (v & 15);
}

static uint8_t hours_to_reg(const MC146818RtcState *s, unsigned hour)
{
    unsigned h12 = hour % 12 ? hour % 12 : 12;

    if (s->cmos_data[RTC_REG_B] & REG_B_24H) {
        return to_reg(s, hour);
    }
    return to_reg(s, h12) | (hour >= 12 ? HOURS_PM : 0);
}

static unsigned hours_from_reg(const MC146818RtcState *s, uint8_t v)
{
    if (s->cmos_data[RTC_REG_B] & REG_B_24H) {
        return from_reg(s, v);
    }
    return from_reg(s, v & ~HOURS_PM) % 12 + (v & HOURS_PM ? 12 : 0);
}

/* ---- time ---- */

static bool rtc_running(const MC146818RtcState *s)
{
    return !(s->cmos_data[RTC_REG_B] & REG_B_SET) &&
           (s->cmos_data[RTC_REG_A] & REG_A_DIVIDER_RESET) !=
               REG_A_DIVIDER_RESET;
}

static int64_t clock_now(const MC146818RtcState *s)
{
    return qemu_clock_get_ns(s->clock);
}

/* The same before it is known to be a date that the clock can show. */
static __int128 guest_ns_unchecked(const MC146818RtcState *s, int64_t clock_ns)
{
    return (__int128)(int64_t)s->base_rtc * NS_PER_S + clock_ns -
           (int64_t)s->last_update + s->offset;
}

/* ns since 1970 that the guest's clock shows at @clock_ns. */
static int64_t guest_ns(const MC146818RtcState *s, int64_t clock_ns)
{
    __int128 ns = guest_ns_unchecked(s, clock_ns);

    return (int64_t)CLAMP(ns, -MAX_GUEST_NS, MAX_GUEST_NS);
}

static void regs_from_time(MC146818RtcState *s, time_t t)
{
    uint8_t *r = s->cmos_data;
    struct tm tm;
    int year;

    gmtime_r(&t, &tm);
    year = tm.tm_year + 1900 - s->base_year;
    r[RTC_SECONDS] = to_reg(s, tm.tm_sec);
    r[RTC_MINUTES] = to_reg(s, tm.tm_min);
    r[RTC_HOURS] = hours_to_reg(s, tm.tm_hour);
    r[RTC_DAY_OF_WEEK] = to_reg(s, tm.tm_wday + 1);
    r[RTC_DAY_OF_MONTH] = to_reg(s, tm.tm_mday);
    r[RTC_MONTH] = to_reg(s, tm.tm_mon + 1);
    r[RTC_YEAR] = to_reg(s, year % 100);
    r[RTC_CENTURY] = to_reg(s, year / 100 % 100);
}

static int64_t time_from_regs(const MC146818RtcState *s)
{
    const uint8_t *r = s->cmos_data;
    struct tm tm = {
        .tm_sec = from_reg(s, r[RTC_SECONDS]),
        .tm_min = from_reg(s, r[RTC_MINUTES]),
        .tm_hour = hours_from_reg(s, r[RTC_HOURS]),
        .tm_mday = from_reg(s, r[RTC_DAY_OF_MONTH]),
        .tm_mon = (int)from_reg(s, r[RTC_MONTH]) - 1,
        .tm_year = from_reg(s, r[RTC_YEAR]) + s->base_year +
                   from_reg(s, r[RTC_CENTURY]) * 100 - 1900,
    };

    return CLAMP(timegm(&tm), -MAX_TIME_S, MAX_TIME_S);
}

/* Bring the registers up to date, if the clock runs. */
static void update_regs(MC146818RtcState *s)
{
    if (rtc_running(s)) {
        regs_from_time(s, guest_ns(s, clock_now(s)) / NS_PER_S);
    }
}

/* From now on the clock shows the registers and @offset_ns. */
static void set_time(MC146818RtcState *s, int64_t offset_ns)
{
    s->base_rtc = time_from_regs(s);
    s->last_update = clock_now(s);
    s->offset = offset_ns;
}

static bool in_update(const MC146818RtcState *s)
{
    return rtc_running(s) &&
           guest_ns(s, clock_now(s)) % NS_PER_S >= NS_PER_S - UIP_BEFORE_NS;
}

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

/* What no clock shows is not looked for: there are many seconds in a day. */
static bool alarm_possible(uint8_t reg, unsigned want, unsigned limit)
{
    return (reg & ALARM_ANY) == ALARM_ANY || want < limit;
}

static bool alarm_matches(uint8_t reg, unsigned want, unsigned have)
{
    return (reg & ALARM_ANY) == ALARM_ANY || want == have;
}

/* The next second after @t at which the alarm goes off; 0: never. */
static time_t next_alarm(const MC146818RtcState *s, time_t t)
{
    const uint8_t *r = s->cmos_data;
    unsigned hour = hours_from_reg(s, r[RTC_HOURS_ALARM]);
    unsigned min = from_reg(s, r[RTC_MINUTES_ALARM]);
    unsigned sec = from_reg(s, r[RTC_SECONDS_ALARM]);
    time_t end = t + S_PER_DAY;

    if (!alarm_possible(r[RTC_HOURS_ALARM], hour, 24) ||
        !alarm_possible(r[RTC_MINUTES_ALARM], min, 60) ||
        !alarm_possible(r[RTC_SECONDS_ALARM], sec, 60)) {
        return 0;
    }
    for (t++; t <= end;) {
        unsigned of_day = ((t % S_PER_DAY) + S_PER_DAY) % S_PER_DAY;

        if (!alarm_matches(r[RTC_HOURS_ALARM], hour, of_day / 3600)) {
            t += 3600 - of_day % 3600;
        } else if (!alarm_matches(r[RTC_MINUTES_ALARM], min,
                                  of_day / 60 % 60)) {
            t += 60 - of_day % 60;
        } else if (!alarm_matches(r[RTC_SECONDS_ALARM], sec, of_day % 60)) {
            t++;
        } else {
            return t;
        }
    }
    return 0;
}

/* The clock's value when the guest's time is @t. */
static int64_t clock_at(const MC146818RtcState *s, time_t t, int64_t now_ns)
{
    __int128 ns = (__int128)t * NS_PER_S + now_ns - guest_ns(s, now_ns);

    return (int64_t)CLAMP(ns, 0, INT64_MAX);
}

/*
 * Have the timer fire when something changes that the guest could see: the
 * next second, unless that was noted and not yet read, or the next alarm.
 */
static void arm_update_timer(MC146818RtcState *s)
{
    uint8_t c = s->cmos_data[RTC_REG_C];
    int64_t now_ns = clock_now(s);
    time_t t, alarm;

    if (!rtc_running(s)) {
        s->next_alarm_time = UINT64_MAX;
        timer_del(s->update_timer);
        return;
    }
    t = guest_ns(s, now_ns) / NS_PER_S;
    alarm = next_alarm(s, t);
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
    int64_t now_ns = clock_now(s);
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
    now = ns_to_ticks(clock_now(s));
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

    update_regs(s);
    s->cmos_data[RTC_REG_A] = val & ~REG_A_UIP;
    if (!was_running && rtc_running(s)) {
        set_time(s, was_reset ? NS_PER_S - FIRST_UPDATE_NS : 0);
    }
    arm_periodic_timer(s);
    arm_update_timer(s);
}

/* Register B: SET freezes the registers, and clearing it takes them over. */
static void write_reg_b(MC146818RtcState *s, uint8_t val)
{
    bool was_running = rtc_running(s);
    int64_t phase = s->offset;

    update_regs(s);
    if (was_running) {
        phase = guest_ns(s, clock_now(s)) % NS_PER_S;
    }
    if (val & REG_B_SET) {
        val &= ~REG_B_UIE;
    }
    s->cmos_data[RTC_REG_B] = val;
    if (was_running && !rtc_running(s)) {
        s->offset = phase; /* kept for when it runs again */
    } else if (!was_running && rtc_running(s)) {
        set_time(s, phase);
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
    phase = guest_ns(s, clock_now(s)) % NS_PER_S;
    update_regs(s);
    s->cmos_data[index] = val;
    set_time(s, phase);
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
        return s->cmos_data[RTC_REG_A] | (in_update(s) ? REG_A_UIP : 0);
    case RTC_REG_C:
        return read_reg_c(s);
    default:
        update_regs(s);
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
    update_regs(opaque); /* so that the target sees where we were */
    return true;
}

static bool check_date(const MC146818RtcState *s, Error **errp)
{
    __int128 ns = guest_ns_unchecked(s, clock_now(s));

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
    __int128 behind = (__int128)time_from_regs(s) * NS_PER_S -
                      guest_ns(s, clock_now(s));

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
        set_time(s, 0); /* that clock means nothing on another host */
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
    regs_from_time(s, rtc_initial_time_s());
    set_time(s, 0);
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
