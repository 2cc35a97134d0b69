/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clocks and timers: what time it is for the host and for the guest, and
 * functions to call when a clock reaches a value.
 *
 *   QEMU_CLOCK_REALTIME    monotonic host time; runs always
 *   QEMU_CLOCK_HOST        wall clock of the host; may jump
 *   QEMU_CLOCK_VIRTUAL     guest time: starts at 0, stands still while the VM
 *                          is stopped, and under qtest moves only when stepped
 *   QEMU_CLOCK_VIRTUAL_RT  guest time that runs by itself even under qtest
 *
 * A timer fires once, as soon as its clock is at or past its expiry, in the
 * main loop under the BQL, never early; timers of one clock fire in order of
 * expiry, equal ones in the order they were set. Its callback may set or free
 * it again. Timers of a guest clock that stands still wait.
 *
 * Threads: all functions may be called from any thread. After timer_del() or
 * timer_free() by a caller that holds the BQL the callback does not run any
 * more; without the BQL it may be running at that moment.
 *
 * Used by: all. Uses: main-loop.h, thread.h.
 */
#ifndef QEMU_TIMER_H
#define QEMU_TIMER_H

#include "qemu/units.h"

typedef enum QEMUClockType {
    QEMU_CLOCK_REALTIME,
    QEMU_CLOCK_VIRTUAL,
    QEMU_CLOCK_HOST,
    QEMU_CLOCK_VIRTUAL_RT,
    QEMU_CLOCK_MAX
} QEMUClockType;

int64_t qemu_clock_get_ns(QEMUClockType type);
int64_t qemu_clock_get_us(QEMUClockType type);
int64_t qemu_clock_get_ms(QEMUClockType type);

/* Monotonic host time in ns: for measuring. */
int64_t get_clock(void);

typedef void QEMUTimerCB(void *opaque);

/* The unit of @expire in timer_mod() is that of the constructor. */
QEMUTimer *timer_new_ns(QEMUClockType type, QEMUTimerCB *cb, void *opaque);
QEMUTimer *timer_new_us(QEMUClockType type, QEMUTimerCB *cb, void *opaque);
QEMUTimer *timer_new_ms(QEMUClockType type, QEMUTimerCB *cb, void *opaque);
void timer_free(QEMUTimer *ts); /* NULL is ignored; deletes it first */

/* Set the absolute time at which @ts fires; replaces an earlier setting. */
void timer_mod(QEMUTimer *ts, int64_t expire);
void timer_mod_ns(QEMUTimer *ts, int64_t expire_ns);
/* Only if that is earlier than what is set (or nothing is set). */
void timer_mod_anticipate_ns(QEMUTimer *ts, int64_t expire_ns);
void timer_del(QEMUTimer *ts);
bool timer_pending(const QEMUTimer *ts);
/* UINT64_MAX if not pending: as it travels in a migration stream. */
uint64_t timer_expire_time_ns(const QEMUTimer *ts);

/* ns from now to the first expiry of @type; -1: none, 0: overdue. */
int64_t qemu_clock_deadline_ns(QEMUClockType type);

/*
 * timers_init: attach the timers to the main loop. Main thread, once, after
 * main_loop_init(). Timers may be created and set before.
 */
void timers_init(void);

/* ------------------------------------------------------------------------
 * Guest time. Stopped at 0 until the VM is first started.
 */

/* Let guest time run / stand still (VM started / stopped). Idempotent. */
void cpu_enable_ticks(void);
void cpu_disable_ticks(void);
bool cpu_ticks_enabled(void);

/* The guest's cycle counter: host's, without the time the VM was stopped. */
int64_t cpu_get_ticks(void);
/* Guest time in ns, whether QEMU_CLOCK_VIRTUAL is stepped by hand or not. */
int64_t cpu_get_clock(void);

/*
 * What the `timer` section of a migration stream carries. While stopped
 * they are the values themselves; while running, their distance from the
 * host's counters.
 */
typedef struct CpuTimersState {
    int64_t cpu_ticks_offset;
    int64_t cpu_clock_offset;
} CpuTimersState;
CpuTimersState cpu_timers_get_state(void);
void cpu_timers_set_state(CpuTimersState state); /* VM must be stopped */

/*
 * Stepping by hand (qtest). From virtual_clock_set_manual() on,
 * QEMU_CLOCK_VIRTUAL is a number that starts at 0 and only
 * virtual_clock_warp() moves.
 */
void virtual_clock_set_manual(void);
bool virtual_clock_is_manual(void);
/*
 * Move the clock to @dest_ns (never backwards), firing every timer that
 * expires on the way with the clock standing at that timer's expiry.
 * Main thread, under the BQL. Returns the new time in ns.
 */
int64_t virtual_clock_warp(int64_t dest_ns);

#endif /* QEMU_TIMER_H */
