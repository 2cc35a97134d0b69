/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AccelOps: how the system drives the accelerator's vCPU threads, and what
 * such a thread calls in return.
 *
 * A vCPU thread looks like this:
 *
 *     static void *xx_vcpu_thread(void *opaque)
 *     {
 *         CPUState *cpu = opaque;
 *         vcpu_thread_begin(cpu);              takes the BQL
 *         while (vcpu_thread_wait(cpu)) {      sleeps, stops, runs work
 *             bql_unlock();
 *             vcpu_run_begin(cpu);
 *             ... guest code until cpu->exit_request, a halt, ...
 *             vcpu_run_end(cpu);
 *             bql_lock();
 *         }
 *         vcpu_thread_end(cpu);                gives the BQL up
 *         return NULL;
 *     }
 *
 * vcpu_thread_wait() clears exit_request before it looks at what may have
 * been asked, so a request that comes later is seen in the guest loop:
 *   asker:  state (stop, work, interrupt) ; exit_request = true (release)
 *   vCPU:   exit_request = false ; full fence ; reads state
 *
 * Used by: accel/. Uses: cpus.h.
 */
#ifndef SYSTEM_ACCEL_OPS_H
#define SYSTEM_ACCEL_OPS_H

#include "system/cpu-throttle.h"
#include "system/cpus.h"

typedef struct AccelOps {
    /*
     * Start @cpu's thread (qemu_thread_create into *cpu->thread, name
     * vcpu_thread_name()). Required. BQL.
     */
    bool (*create_vcpu_thread)(CPUState *cpu, Error **errp);
    /*
     * Get @cpu out of the guest; exit_request is set already. Optional: an
     * engine that polls exit_request needs none. Any thread.
     */
    void (*kick_vcpu_thread)(CPUState *cpu);
    /* Optional: bits were set in interrupt_request. Any thread. */
    void (*handle_interrupt)(CPUState *cpu, uint32_t mask);
    /* Optional: with it, a halted vCPU still has the engine's attention. */
    bool (*cpu_thread_is_idle)(CPUState *cpu);
    /* Optional, all four: an engine whose state is not in CPUState. */
    void (*synchronize_state)(CPUState *cpu);
    void (*synchronize_post_reset)(CPUState *cpu);
    bool (*synchronize_post_init)(CPUState *cpu, Error **errp);
    void (*synchronize_pre_loadvm)(CPUState *cpu);
    /* Optional: input @gsi of its interrupt controllers. BQL. See gsi.h. */
    void (*set_gsi)(int gsi, int level);
    /* Optional, of ARM hosts: see accel_create_gicv3() in gsi.h. */
    bool (*create_gicv3)(hwaddr dist, hwaddr redist, unsigned num_spis,
                         Error **errp);
    /* Optional: messages, eventfds, doorbells (accel-irq.h). */
    const struct AccelIrqOps *irq;
    /* Optional: for a board that has PICs and I/O APIC (board-chips.h). */
    const struct AccelChipOps *chips;
} AccelOps;

/* The chosen accelerator's; set once by accel_init_machine(). */
const AccelOps *accel_ops(void);
void accel_ops_set(const AccelOps *ops);

/* "CPU 0/TCG": caller frees. */
char *vcpu_thread_name(CPUState *cpu, const char *accel);

/* See the picture above. */
void vcpu_thread_begin(CPUState *cpu);
bool vcpu_thread_wait(CPUState *cpu);
void vcpu_thread_end(CPUState *cpu);

/* Around guest code: what another thread sees as cpu->running. */
static inline void vcpu_run_begin(CPUState *cpu)
{
    cpu_throttle_run_begin(cpu);
    atomic_store_explicit(&cpu->running, true, memory_order_seq_cst);
}
static inline void vcpu_run_end(CPUState *cpu)
{
    cpu_throttle_run_end(cpu);
    /* Release: what the guest stored is seen by who sees !running. */
    atomic_store_explicit(&cpu->running, false, memory_order_release);
}
static inline bool vcpu_must_exit(CPUState *cpu)
{
    return atomic_load_explicit(&cpu->exit_request, memory_order_relaxed);
}

#endif /* SYSTEM_ACCEL_OPS_H */
