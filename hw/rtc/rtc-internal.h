/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between mc146818rtc.c, rtc-time.c and rtc-config.c.
 */
#ifndef HW_RTC_RTC_INTERNAL_H
#define HW_RTC_RTC_INTERNAL_H

#include "hw/rtc/mc146818rtc.h"

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

/* ---- rtc-time.c ---- */

/* Does the guest let it run? */
bool rtc_running(const MC146818RtcState *s);
int64_t rtc_clock_now(const MC146818RtcState *s);
/* ns since 1970 that the guest's clock shows at @clock_ns. */
int64_t rtc_guest_ns(const MC146818RtcState *s, int64_t clock_ns);
/* The same before it is known to be a date that the clock can show. */
__int128 rtc_guest_ns_unchecked(const MC146818RtcState *s, int64_t clock_ns);
void rtc_regs_from_time(MC146818RtcState *s, time_t t);
int64_t rtc_time_from_regs(const MC146818RtcState *s);
/* Bring the registers up to date, if the clock runs. */
void rtc_update_regs(MC146818RtcState *s);
/* From now on the clock shows the registers and @offset_ns. */
void rtc_set_time(MC146818RtcState *s, int64_t offset_ns);
bool rtc_in_update(const MC146818RtcState *s);
/* The next second after @t at which the alarm goes off; 0: never. */
time_t rtc_next_alarm(const MC146818RtcState *s, time_t t);

/* ---- rtc-config.c ---- */

QEMUClockType rtc_clock(void);
/* What the guest's clock shows now, at power-on; s since 1970. */
int64_t rtc_initial_time_s(void);

#endif /* HW_RTC_RTC_INTERNAL_H */
