/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between i8254.c, i8254-section.c, and i8254-channel.c, which has a counter as
 * a function of time: pure functions of a channel and a time.
 *
 * Counting begins with the load, whatever the mode; a gate that rises begins
 * anew, one that is low stops nothing but modes 2 and 3's output.
 */
#ifndef HW_TIMER_I8254_INTERNAL_H
#define HW_TIMER_I8254_INTERNAL_H

#include "hw/timer/i8254.h"

/* Which byte of a counter is next; numbers of the stream. */
typedef enum PitAccess {
    PIT_LSB = 1,
    PIT_MSB = 2,
    PIT_WORD_LSB = 3,
    PIT_WORD_MSB = 4,
} PitAccess;

uint16_t pit_channel_count(const PitChannel *c, int64_t now_ns);
bool pit_channel_out(const PitChannel *c, int64_t now_ns);

bool pit_channel_is_periodic(const PitChannel *c);
/* Does it end by a rising output? False before a mode is set. */
bool pit_channel_ticks(const PitChannel *c);
/* When tick @n comes, from 1. */
int64_t pit_channel_tick_ns(const PitChannel *c, int64_t n);
/* The first tick at or after @ns; 0: there is none. */
int64_t pit_channel_tick_at(const PitChannel *c, int64_t ns);

/* Is it what a counter can be? */
bool pit_channel_valid(const PitChannel *c);

/* ---- i8254.c, for the section ---- */

/* Has the guest acknowledged one since the last look? */
bool i8254_look_for_acknowledge(PitState *s);
/* The main loop need not look for it. */
void i8254_stop_waiting(PitState *s);

/* ---- i8254-section.c ---- */
extern const VMStateDescription i8254_vmstate;

#endif /* HW_TIMER_I8254_INTERNAL_H */
