/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU throttle: keep chosen vCPUs out of guest code for a share of the time.
 *
 * Each vCPU has a share of its own for each user, in millionths of the time; the
 * larger one counts. A share of 20 % means that of the time that it executes or
 * sleeps, it sleeps 20 %: what the host gives to others, halts and stops are no
 * part of it. A throttled vCPU runs for a slice, then sleeps on its own thread
 * in vcpu_thread_wait(), out of the guest, without the BQL:
 *
 *   throttle thread          the slice is over and the vCPU is in guest code:
 *                            sleep_due = true (release) ; kick
 *   vCPU, vcpu_thread_wait   sees sleep_due (acquire), sleeps ; then sets the
 *                            end of its next slice, sleep_due = false (release)
 *                            and wakes the throttle thread
 *
 * How long depends on how long it really executed (cpu_throttle_owe()); what was
 * slept too long or too short is made up for. To the guest one sleep is like a
 * pause, so slices are as short as a bound of the sleeps needs, which a
 * migration derives from its downtime limit. A slice that took more than twice
 * as long as planned, because the host is busy, is still slept for at once, but
 * never for more than CPU_THROTTLE_LONGEST_NS.
 *
 * A sleep ends early when the vCPU is to stop or to end, when its share becomes
 * 0, and is interrupted for queued work. So neither a pause of the VM nor the
 * end of throttling waits for a sleeper.
 *
 * Halted vCPUs are not throttled: they write nothing.
 *
 * Threads: any, without waiting, unless a function says otherwise; the BQL is
 * not taken by the throttle thread.
 *
 * Used by: migration (auto-converge), dirty-limit.h, cpus.c. Uses: cpus.h.
 */
#ifndef SYSTEM_CPU_THROTTLE_H
#define SYSTEM_CPU_THROTTLE_H

#include "system/cpus.h"

/* Shares are in millionths. */
#define CPU_THROTTLE_ONE UINT32_C(1000000)
/* Some guest code is always executed. */
#define CPU_THROTTLE_MAX UINT32_C(999000)
/* 1 % */
#define CPU_THROTTLE_PCT (CPU_THROTTLE_ONE / 100)

/*
 * From here to cpu_throttle_end() shares of @user are in force. Starts the
 * throttle thread for the first user. A user that has begun already is a bug
 * (asserts).
 */
void cpu_throttle_begin(CpuThrottleUser user);
/*
 * All shares of @user are 0, sleeps that have no other reason end now. Waits
 * for the throttle thread if it was the last user. Does nothing if @user has
 * not begun.
 */
void cpu_throttle_end(CpuThrottleUser user);
bool cpu_throttle_is_on(CpuThrottleUser user);

/*
 * cpu_throttle_set: the share of the time that @cpu is to sleep for @user
 *
 * More than CPU_THROTTLE_MAX is CPU_THROTTLE_MAX. Ignored if @user has not
 * begun, or has ended: so a late setter undoes no end.
 */
void cpu_throttle_set(CpuThrottleUser user, CPUState *cpu, uint32_t share);
/* How long one sleep is with such a share, as a rule. */
int64_t cpu_throttle_sleep_ns(uint32_t share);

/*
 * The bound of one sleep, if nobody asks for a tighter one; whatever is asked
 * for, no sleep is longer. Shares over 99 % may need sleeps of this length: a
 * slice is not planned shorter than CPU_THROTTLE_SLICE_MIN_NS.
 */
#define CPU_THROTTLE_LONGEST_NS   INT64_C(50000000)
#define CPU_THROTTLE_SLICE_MIN_NS INT64_C(50000)
void cpu_throttle_bound_sleep(int64_t longest_ns);
/* A fraction of @limit_ms, 5 ms at least, CPU_THROTTLE_LONGEST_NS at most. */
int64_t cpu_throttle_bound_for_limit(uint64_t limit_ms);
/* The bound in force for such a share. */
int64_t cpu_throttle_longest_ns(uint32_t share);

/*
 * The arithmetic of one vCPU; no state but @debt_ns, which is what it still has
 * to sleep.
 *
 * cpu_throttle_owe: it executed for @ran_ns. Returns how long it is to sleep
 * now; 0 if that is not worth it.
 * cpu_throttle_paid: it slept for @slept_ns.
 * cpu_throttle_slice_ns: how long it is to run now, before the next sleep.
 */
int64_t cpu_throttle_owe(int64_t *debt_ns, uint32_t share, int64_t ran_ns);
void cpu_throttle_paid(int64_t *debt_ns, int64_t slept_ns);
int64_t cpu_throttle_slice_ns(int64_t debt_ns, uint32_t share);
/* What @cpu sleeps: the largest share of any user. */
uint32_t cpu_throttle_get(const CPUState *cpu);

/* Cumulative since the process started; by the vCPU. */
typedef struct CpuThrottleStats {
    uint64_t sleeps;
    uint64_t cut_short; /* of these: ended because throttling did */
    uint64_t slept_ns;
} CpuThrottleStats;
CpuThrottleStats cpu_throttle_stats(const CPUState *cpu);

/**
 * cpu_throttle_divide: who shall sleep how much
 *
 * @demand: what each of @n vCPUs would write if it were not throttled
 * @share: by how much the sum is to be reduced
 * @out: receives each one's share
 *
 * In proportion to the demand, so that the sum of demand * (1 - out) becomes
 * (1 - share) times the sum of the demand, as far as nobody sleeps more than
 * CPU_THROTTLE_MAX. A vCPU whose demand is small beside the largest one's
 * (below 1 / CPU_THROTTLE_SMALL) computes rather than writes, and is left
 * alone. All 0: the same share for everyone.
 */
#define CPU_THROTTLE_SMALL 50
void cpu_throttle_divide(const double *demand, unsigned n, uint32_t share,
                         uint32_t *out);

/*
 * For vcpu_thread_wait(): if @cpu is due to sleep, sleep (or a part of it) and
 * return true; look around, then, and ask again. vCPU thread, BQL, given up
 * meanwhile.
 */
bool cpu_throttle_sleep(CPUState *cpu);

/* By vcpu_run_begin() and vcpu_run_end(): count the time in guest code. */
void cpu_throttle_run_begin(CPUState *cpu);
void cpu_throttle_run_end(CPUState *cpu);

/*
 * For tests: called by the vCPU's thread before each sleep, with its length and
 * what was executed for it. NULL: none. While no vCPU is throttled.
 */
typedef void CpuThrottleHook(CPUState *cpu, int64_t ran_ns, int64_t sleep_ns);
void cpu_throttle_set_hook(CpuThrottleHook *hook);

#endif /* SYSTEM_CPU_THROTTLE_H */
