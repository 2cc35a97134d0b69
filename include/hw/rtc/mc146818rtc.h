/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MC146818: the real-time clock of PCs, with 128 bytes of CMOS memory.
 *
 * Ports 0x70 (index) and 0x71 (data), interrupt 8 (periodic, alarm, update).
 * Property base_year: that of year 0 in the registers; 0: two digits and the
 * century in byte 0x32.
 *
 * The time is that of a host clock (rtc_configure()) and a distance to it; no
 * tick is counted, so none is lost while the guest does not run. After a
 * migration it goes on from the source's time if the target's clock is behind.
 *
 * Used by: hw/i386, system/cmdline. Uses: isa.h, timer.h.
 */
#ifndef HW_RTC_MC146818RTC_H
#define HW_RTC_MC146818RTC_H

#include "hw/isa/isa.h"
#include "qemu/timer.h"

#define TYPE_MC146818_RTC "mc146818rtc"
#define RTC_ISA_IRQ       8

typedef struct MC146818RtcState {
    ISADevice parent_obj;

    /* Constant after realize. */
    MemoryRegion io;
    qemu_irq irq;
    int32_t base_year; /* property */
    QEMUClockType clock;

    /* Guarded by the BQL; saved. */
    uint8_t cmos_data[128];
    uint8_t cmos_index;
    uint32_t irq_coalesced, period; /* for the stream only */
    uint64_t base_rtc;              /* s since 1970 at last_update */
    uint64_t last_update;           /* ns of the clock */
    int64_t offset;                 /* ns to be added */
    QEMUTimer *periodic_timer, *update_timer;
    int64_t next_periodic_time;
    uint64_t next_alarm_time; /* ns of the clock */
} MC146818RtcState;

DECLARE_INSTANCE_CHECKER(MC146818RtcState, MC146818_RTC, TYPE_MC146818_RTC)

/* The one of a machine. */
MC146818RtcState *mc146818_rtc_create(Error **errp);
/* A byte of CMOS memory beyond the clock's registers. */
void mc146818rtc_set_cmos(MC146818RtcState *s, unsigned addr, uint8_t val);

/**
 * rtc_configure: -rtc
 *
 * @base: "utc", "localtime", or a date "2006-06-17[T16:01:21]"; NULL: utc
 * @clock: "host", "rt", or "vm"; NULL: host
 *
 * Before the machine is built.
 */
bool rtc_configure(const char *base, const char *clock, Error **errp);

void mc146818rtc_register_types(void);

#endif /* HW_RTC_MC146818RTC_H */
