/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time and alarm of the MC146818, and how its registers show them. */
#include "qemu/osdep.h"

#include "rtc-internal.h"

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

bool rtc_running(const MC146818RtcState *s)
{
    return !(s->cmos_data[RTC_REG_B] & REG_B_SET) &&
           (s->cmos_data[RTC_REG_A] & REG_A_DIVIDER_RESET) !=
               REG_A_DIVIDER_RESET;
}

int64_t rtc_clock_now(const MC146818RtcState *s)
{
    return qemu_clock_get_ns(s->clock);
}

__int128 rtc_guest_ns_unchecked(const MC146818RtcState *s, int64_t clock_ns)
{
    return (__int128)(int64_t)s->base_rtc * NS_PER_S + clock_ns -
           (int64_t)s->last_update + s->offset;
}

int64_t rtc_guest_ns(const MC146818RtcState *s, int64_t clock_ns)
{
    __int128 ns = rtc_guest_ns_unchecked(s, clock_ns);

    return (int64_t)CLAMP(ns, -MAX_GUEST_NS, MAX_GUEST_NS);
}

void rtc_regs_from_time(MC146818RtcState *s, time_t t)
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

int64_t rtc_time_from_regs(const MC146818RtcState *s)
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

void rtc_update_regs(MC146818RtcState *s)
{
    if (rtc_running(s)) {
        rtc_regs_from_time(s, rtc_guest_ns(s, rtc_clock_now(s)) / NS_PER_S);
    }
}

void rtc_set_time(MC146818RtcState *s, int64_t offset_ns)
{
    s->base_rtc = rtc_time_from_regs(s);
    s->last_update = rtc_clock_now(s);
    s->offset = offset_ns;
}

bool rtc_in_update(const MC146818RtcState *s)
{
    return rtc_running(s) && rtc_guest_ns(s, rtc_clock_now(s)) % NS_PER_S >=
                                 NS_PER_S - UIP_BEFORE_NS;
}

/* ---- alarm ---- */

/* What no clock shows is not looked for: there are many seconds in a day. */
static bool alarm_possible(uint8_t reg, unsigned want, unsigned limit)
{
    return (reg & ALARM_ANY) == ALARM_ANY || want < limit;
}

static bool alarm_matches(uint8_t reg, unsigned want, unsigned have)
{
    return (reg & ALARM_ANY) == ALARM_ANY || want == have;
}

time_t rtc_next_alarm(const MC146818RtcState *s, time_t t)
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
