/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs for tests, with an accelerator that executes nothing and counts how often
 * it went round.
 *
 * Threads: the test's main thread, with the BQL, unless said otherwise.
 *
 * Used by: test-cpus.c, test-cpu-throttle.c. Uses: cpus.h, accel-ops.h.
 */
#ifndef TESTS_UNIT_FAKE_CPU_H
#define TESTS_UNIT_FAKE_CPU_H

#include "qemu/main-loop.h"
#include "system/cpus.h"

#define FAKE_SLOW_EXIT_US 20000
#define FAKE_CPUS_MAX     4

typedef struct FakeCPU {
    CPUState parent_obj;
    _Atomic uint64_t rounds; /* times round its guest loop */
    _Atomic bool slow;       /* takes FAKE_SLOW_EXIT_US to leave the guest */
    _Atomic bool has_work;
    _Atomic bool spins; /* spends time of a CPU, rather than wait */
    unsigned resets;
} FakeCPU;

extern FakeCPU *fake_cpus[FAKE_CPUS_MAX];

/* Rooms, main loop and @n vCPUs. Takes the BQL, and keeps it. */
void fake_cpus_init(unsigned n);
/* The end of them, and of the BQL. */
void fake_cpus_exit(void);

static inline CPUState *fake_cpu(int i)
{
    return CPU(fake_cpus[i]);
}

/* Any thread. */
static inline uint64_t fake_rounds(int i)
{
    return atomic_load(&fake_cpus[i]->rounds);
}

/* Give up the BQL until the counter is @at_least. */
void fake_wait_for(uint64_t (*counter)(int), int i, uint64_t at_least);
/* Give up the BQL until vCPU @i has gone round again. */
void fake_wait_for_round(int i);
/* Work for run_on_cpu(): WFI. */
void fake_halt(CPUState *cpu, run_on_cpu_data data);

#endif /* TESTS_UNIT_FAKE_CPU_H */
