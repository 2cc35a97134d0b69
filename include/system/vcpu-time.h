/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processor time of vCPU threads.
 *
 * Threads: any, without locks, while vCPUs' threads do not end. Used by:
 * migration, dirty limits. Uses: the list of CPUs.
 */
#ifndef SYSTEM_VCPU_TIME_H
#define SYSTEM_VCPU_TIME_H

#include "system/cpus.h"

/*
 * Nanoseconds for which @cpu's thread has run since it began: guest code, and
 * what the host does for it on this thread. 0: there is none.
 */
int64_t vcpu_ran_ns(CPUState *cpu);
/* The same of all vCPUs, in sum. */
int64_t vcpus_ran_ns(void);

#endif /* SYSTEM_VCPU_TIME_H */
