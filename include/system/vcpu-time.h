/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processor time of vCPU threads.
 *
 * Threads: any, without locks. Used by: migration. Uses: the list of CPUs.
 */
#ifndef SYSTEM_VCPU_TIME_H
#define SYSTEM_VCPU_TIME_H

/*
 * Nanoseconds for which the vCPUs' threads have run since they began, in sum:
 * guest code, and what the host does for it on these threads.
 */
int64_t vcpus_ran_ns(void);

#endif /* SYSTEM_VCPU_TIME_H */
