/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs: the base type of every virtual CPU, the list of them, and how to
 * interrupt, stop and resume them.
 *
 * A vCPU is made by object_new(type), properties, cpu_realize(); from then on
 * it has one thread, created by the accelerator and waiting until the VM
 * starts. A vCPU thread runs guest code without the BQL. It leaves the guest
 * soon after a kick; between two runs it sits in vcpu_thread_wait()
 * (accel-ops.h), where it sleeps, runs queued work, or stands stopped.
 *
 *   stopper, BQL held:  cpu->stop = true; kick all; wait until all ->stopped
 *   vCPU, in wait:      sees stop, sets stopped, signals the stopper
 * So stopping N vCPUs costs the slowest one's way out, not the sum.
 *
 * Threads: the list is guarded by the BQL for changes; vCPUs are never freed
 * while the process lives, so CPU_FOREACH may be used by any thread.
 *
 * Used by: accel/, target/, hw/, migration/, monitors. Uses: qom.
 */
#ifndef SYSTEM_CPUS_H
#define SYSTEM_CPUS_H

#include "qemu/thread.h"
#include "qom/object.h"

#define TYPE_CPU "cpu"

/*
 * Bits of interrupt_request. HARD, HALT, RESET and the target's own bits
 * travel in the section `cpu_common`, so their values are QEMU's.
 */
#define CPU_INTERRUPT_HARD      0x0002u
#define CPU_INTERRUPT_EXITTB    0x0004u
#define CPU_INTERRUPT_TGT_EXT_0 0x0008u
#define CPU_INTERRUPT_TGT_EXT_1 0x0010u
#define CPU_INTERRUPT_HALT      0x0020u
#define CPU_INTERRUPT_TGT_EXT_2 0x0040u
#define CPU_INTERRUPT_DEBUG     0x0080u
#define CPU_INTERRUPT_TGT_INT_0 0x0100u
#define CPU_INTERRUPT_TGT_EXT_3 0x0200u
#define CPU_INTERRUPT_RESET     0x0400u
#define CPU_INTERRUPT_TGT_INT_1 0x0800u
#define CPU_INTERRUPT_TGT_EXT_4 0x1000u
#define CPU_INTERRUPT_TGT_INT_2 0x2000u

typedef struct CPUClass {
    ObjectClass parent_class;

    /* Target's part of cpu_realize(), before the thread exists. Required. */
    bool (*realize)(CPUState *cpu, Error **errp);
    /* To the architectural reset state. Required. */
    void (*reset)(CPUState *cpu);
    /*
     * Is there a reason to leave a halt (interrupt pending, whether masked
     * or not is the target's matter)? Any thread. Required.
     */
    bool (*has_work)(CPUState *cpu);
    /* Next instruction. Required. */
    void (*set_pc)(CPUState *cpu, vaddr pc);
    vaddr (*get_pc)(CPUState *cpu);
    /* Registers as text, for `info registers` and -d cpu. Required. */
    void (*dump_state)(CPUState *cpu, GString *out);
    /*
     * Guest virtual to physical, without side effects; false: not mapped.
     * Optional: without it addresses are physical.
     */
    bool (*translate_debug)(CPUState *cpu, vaddr addr, hwaddr *phys);
    /* The target's `cpu` section; NULL: none. */
    const VMStateDescription *vmsd;
    /* Model name as -cpu takes it ("cortex-a57"); NULL for abstract types. */
    const char *model;
} CPUClass;

typedef struct QemuWorkItem QemuWorkItem;

/* Who may want a vCPU to sleep: cpu-throttle.h. */
typedef enum CpuThrottleUser {
    CPU_THROTTLE_CONVERGE, /* a migration that does not get to its end */
    CPU_THROTTLE_LIMIT,    /* a limit of its dirty rate */
    CPU_THROTTLE_USERS
} CpuThrottleUser;

typedef struct CpuThrottle {
    /* Atomic. */
    _Atomic uint32_t share[CPU_THROTTLE_USERS]; /* millionths of the time */
    _Atomic bool sleep_due;                     /* set by the throttle thread */
    _Atomic int64_t slice_end_ns;               /* set by the vCPU thread */
    /* Atomic, counted by the vCPU thread. */
    _Atomic uint64_t sleeps, cut_short, slept_ns;
    /* vCPU thread. */
    int64_t sleep_begin_ns, sleep_end_ns; /* 0: not sleeping */
    int64_t run_begin_ns; /* of its CPU's time; 0: not throttled then */
    int64_t ran_ns;       /* in guest code since the last sleep */
    int64_t debt_ns;      /* to be slept; below 0: slept too long */
} CpuThrottle;

/* What the reaper found in a vCPU's dirty rings. */
typedef struct CpuRingStats {
    bool has_ring;      /* or had one */
    uint64_t harvested; /* entries */
    uint64_t soft_full_exits, hard_full_exits;
} CpuRingStats;

struct CPUState {
    Object parent_obj;

    /* Constant after cpu_realize(). */
    int cpu_index;
    int thread_id; /* the kernel's, set by the thread itself */
    QemuThread *thread;
    AddressSpace *as; /* what its physical addresses mean; main memory */
    void *env;        /* the target's register state */
    void *accel_data; /* the accelerator's, set in create_vcpu_thread */
    /* The migration's and the dirty core's places for per-vCPU data. */
    void *dirty_data;

    /* Owned by the vCPU thread while running, by the BQL's holder else. */
    uint32_t halted; /* 1: in WFI/HLT, or powered off */
    int exception_index;

    /* Guarded by the BQL. */
    bool created;           /* its thread reached its loop */
    bool stop;              /* someone wants it stopped */
    bool stopped;           /* it is; set by its thread, cleared by resume */
    bool unplug;            /* its thread shall end */
    bool start_powered_off; /* waits for PSCI CPU_ON */
    bool env_stale; /* the accelerator could not read its state into env */

    /* What `cpu_common` carries; valid while it is saved or loaded. */
    uint32_t saved_interrupt_request;

    /* Atomic. */
    _Atomic uint32_t interrupt_request;
    _Atomic bool exit_request; /* leave the guest soon */
    _Atomic bool running;      /* between vcpu_run_begin() and _end() */

    /* Guarded by a lock of dirty-tracker.c: see dirty_tracker_written(). */
    uint64_t written_pages;
    /* Guarded by a lock of dirty-reaper.c: see dirty_reaper_vcpu_stats(). */
    CpuRingStats ring_stats;

    CpuThrottle throttle;

    /* Wakes the thread out of vcpu_thread_wait(). */
    QemuEvent wake;

    /* Guarded by work_lock. */
    QemuMutex work_lock;
    QemuWorkItem *work_first, *work_last;

    CPUState *_Atomic next; /* list, by rising cpu_index */
};

OBJECT_DECLARE_TYPE(CPUState, CPUClass, CPU)

extern __thread CPUState *current_cpu; /* NULL in threads that are no vCPU */

CPUState *first_cpu(void);
#define CPU_FOREACH(cpu) \
    for ((cpu) = first_cpu(); (cpu); (cpu) = cpu_list_next(cpu))
CPUState *cpu_list_next(CPUState *cpu);
CPUState *qemu_get_cpu(int index); /* NULL: none */
unsigned cpu_count(void);

/**
 * cpu_realize: give @cpu its index, its state and its thread
 *
 * The next free index. Calls the class's realize, registers the sections
 * `cpu_common` and `cpu`, and a reset handler, and starts the thread, which
 * stays stopped. BQL.
 */
bool cpu_realize(CPUState *cpu, Error **errp);
void cpu_reset(CPUState *cpu);
bool cpu_has_work(CPUState *cpu);

/* Any thread. */
void cpu_interrupt(CPUState *cpu, uint32_t mask);
void cpu_reset_interrupt(CPUState *cpu, uint32_t mask);
static inline bool cpu_test_interrupt(CPUState *cpu, uint32_t mask)
{
    /* Acquire: pairs with the release in cpu_interrupt(). */
    return atomic_load_explicit(&cpu->interrupt_request, memory_order_acquire) &
           mask;
}
/* Make @cpu leave the guest or its sleep and look around. Any thread. */
void qemu_cpu_kick(CPUState *cpu);
void cpu_exit(CPUState *cpu); /* set exit_request and kick */

/* ---- work on a vCPU's thread, with it out of the guest, under the BQL ---- */
typedef union run_on_cpu_data {
    int host_int;
    uint64_t host_ulong;
    void *host_ptr;
    vaddr target_ptr;
} run_on_cpu_data;
#define RUN_ON_CPU_HOST_PTR(p)   ((run_on_cpu_data){ .host_ptr = (p) })
#define RUN_ON_CPU_HOST_INT(i)   ((run_on_cpu_data){ .host_int = (i) })
#define RUN_ON_CPU_HOST_ULONG(i) ((run_on_cpu_data){ .host_ulong = (i) })
#define RUN_ON_CPU_NULL          RUN_ON_CPU_HOST_PTR(NULL)
typedef void (*run_on_cpu_func)(CPUState *cpu, run_on_cpu_data data);

/* Wait until it is done; the caller holds the BQL (given up meanwhile). */
void run_on_cpu(CPUState *cpu, run_on_cpu_func func, run_on_cpu_data data);
/* Any thread, does not wait. In order per vCPU. */
void async_run_on_cpu(CPUState *cpu, run_on_cpu_func func,
                      run_on_cpu_data data);

/* ---- all of them; BQL ---- */
void pause_all_vcpus(void);
void resume_all_vcpus(void);
void cpu_resume(CPUState *cpu);
bool all_vcpus_paused(void);
/* End all vCPU threads: at exit only. */
void cpus_shutdown(void);
/* Does this machine have vCPUs that may be in the guest right now? */
bool cpu_is_stopped(CPUState *cpu);

/* State between the accelerator (KVM keeps it) and CPUState->env. */
void cpu_synchronize_state(CPUState *cpu);
void cpu_synchronize_all_states(void);     /* before reading: save, dump */
void cpu_synchronize_all_post_reset(void); /* after reset wrote it */
/* After load wrote it. False: a vCPU could not go on from there. */
bool cpu_synchronize_all_post_init(Error **errp);
void cpu_synchronize_all_pre_loadvm(void);

void cpu_register_types(void);
/* Registers the section `timer`. Once, from main. */
void cpu_timers_register(void);

#endif /* SYSTEM_CPUS_H */
