/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between mc146818rtc.c and rtc-config.c.
 */
#ifndef HW_RTC_RTC_INTERNAL_H
#define HW_RTC_RTC_INTERNAL_H

QEMUClockType rtc_clock(void);
/* What the guest's clock shows now, at power-on; s since 1970. */
int64_t rtc_initial_time_s(void);

#endif /* HW_RTC_RTC_INTERNAL_H */
