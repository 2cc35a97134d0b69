/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ARMCPU: the QOM object of an ARM vCPU, for who builds a machine of them.
 *
 * Types "cortex-a53-arm-cpu", "cortex-a57-arm-cpu", "cortex-a72-arm-cpu" and
 * "max-arm-cpu", on ARM hosts also "host-arm-cpu" (for KVM), below the abstract "arm-cpu".
 *
 * Used by: hw/arm, hw/intc. Uses: cpu.h, cpus.h, qom.
 */
#ifndef TARGET_ARM_ARM_CPU_H
#define TARGET_ARM_ARM_CPU_H

#include "system/cpus.h"
#include "target/arm/cpu.h"

#define TYPE_ARM_CPU         "arm-cpu"
#define ARM_CPU_TYPE_SUFFIX  "-" TYPE_ARM_CPU
#define ARM_CPU_TYPE_NAME(m) m ARM_CPU_TYPE_SUFFIX

/* Room for the list of any model; the stream may not hold more. */
#define ARM_CPREG_LIST_MAX 512

struct ARMCPUModel;
struct ARMCPReg;

struct ARMCPU {
    CPUState parent_obj;

    CPUARMState env; /* see its own rules */

    /* Constant after realize. */
    const struct ARMCPUModel *model;
    ARMSysReg *sysregs; /* by rising encoding */
    size_t sysregs_count;
    struct ARMCPReg *cpregs; /* by rising index, cpregs_count of them */
    size_t cpregs_count;
    /* Instead of cpregs, of a vCPU in the kernel: see host-regs.h. */
    uint64_t *host_indexes; /* NULL: not such a one */
    uint64_t *host_values;  /* as env */
    size_t host_regs_count;
    uint64_t mp_affinity;  /* MPIDR_EL1's affinity bits */
    uint32_t core_count;   /* in L2CTLR_EL1 */
    uint64_t reset_cbar;   /* CBAR_EL1: where the interrupt controller is */
    uint32_t psci_conduit; /* PSCI_CONDUIT_*, property psci-conduit */
    bool has_gicv3;        /* its CPU interface's registers are there */

    /*
     * The timers' outputs: called under the BQL with the new level whenever
     * it may have changed. Set before realize; NULL: not connected.
     */
    void (*gt_output)(void *opaque, int timer, int level);
    void *gt_output_opaque;

    bool wfxt_timer_travels; /* has its subsection in the stream */

    /* An ARMPSCIState: written under the BQL, read by any thread. */
    _Atomic uint32_t power_state;

    /* Guarded by the BQL. */
    struct {
        uint64_t entry, context_id;
    } power_on; /* what CPU_ON asked for, while PSCI_ON_PENDING */
    QEMUTimer *gt_timer[NUM_GTIMERS];
    QEMUTimer *wfxt_timer; /* never armed; has a place in the stream */

    /* Only while the section `cpu` is saved or loaded. */
    int32_t cpreg_vmstate_array_len;
    uint64_t cpreg_vmstate_indexes[ARM_CPREG_LIST_MAX];
    uint64_t cpreg_vmstate_values[ARM_CPREG_LIST_MAX];
};

DECLARE_INSTANCE_CHECKER(ARMCPU, ARM_CPU, TYPE_ARM_CPU)

/* mp_affinity before realize: by the vCPU's index. */
#define ARM_AFFINITY_BY_INDEX UINT64_MAX

static inline ARMPSCIState arm_cpu_power_state(ARMCPU *cpu)
{
    return atomic_load_explicit(&cpu->power_state, memory_order_relaxed);
}

static inline void arm_cpu_set_power_state(ARMCPU *cpu, ARMPSCIState state)
{
    atomic_store_explicit(&cpu->power_state, state, memory_order_relaxed);
}

/*
 * Finish a CPU_ON that is pending, if one is; BQL. By the vCPU's own thread,
 * or by anyone while the VM is stopped.
 */
void arm_cpu_finish_power_on(ARMCPU *cpu);

/*
 * The interrupt inputs: @irq ARM_CPU_IRQ or ARM_CPU_FIQ. BQL. @opaque: the
 * ARMCPU (has the shape of a qemu_irq_handler).
 */
void arm_cpu_set_irq(void *opaque, int irq, int level);

/* "arm,cortex-a57": what its node in a device tree is compatible with. */
const char *arm_cpu_dtb_compatible(const ARMCPU *cpu);

/* Type for `-cpu NAME`, NULL if there is no such model. */
const char *arm_cpu_type_from_model(const char *model);
/* For `-cpu help`, NULL-terminated. */
extern const char *const arm_cpu_model_names[];

void arm_cpu_register_types(void);

#endif /* TARGET_ARM_ARM_CPU_H */
