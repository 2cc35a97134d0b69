/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU throttle: keep chosen vCPUs out of guest code for a share of the time.
 *
 * Each vCPU has a share of its own for each user, in millionths of the time; the
 * larger one counts. A throttled vCPU runs for a slice, then sleeps on its own
 * thread in vcpu_thread_wait(), out of the guest, without the BQL:
 *
 *   throttle thread          the slice is over and the vCPU is in guest code:
 *                            sleep_due = true (release) ; kick
 *   vCPU, vcpu_thread_wait   sees sleep_due (acquire), sleeps ; then sets the
 *                            end of its next slice, sleep_due = false (release)
 *                            and wakes the throttle thread
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
/* How long one sleep is with such a share. */
int64_t cpu_throttle_sleep_ns(uint32_t share);
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

#endif /* SYSTEM_CPU_THROTTLE_H */
