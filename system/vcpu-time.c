/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processor time of vCPU threads: see include/system/vcpu-time.h. */
#include "qemu/osdep.h"

#include <pthread.h>
#include <time.h>

#include "qemu/thread.h"
#include "system/vcpu-time.h"

#define NS_PER_S INT64_C(1000000000)

int64_t vcpu_ran_ns(CPUState *cpu)
{
    struct timespec ts;
    clockid_t clock;

    if (!cpu->thread || pthread_getcpuclockid(cpu->thread->thread, &clock) ||
        clock_gettime(clock, &ts)) {
        return 0;
    }
    return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int64_t vcpus_ran_ns(void)
{
    int64_t ns = 0;
    CPUState *cpu;

    CPU_FOREACH (cpu) {
        ns += vcpu_ran_ns(cpu);
    }
    return ns;
}
