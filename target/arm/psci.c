/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PSCI: the firmware interface that switches vCPUs and the machine on and off.
 *
 * Arm DEN 0022 (Power State Coordination Interface), version 1.1 as reported.
 * Function in w0, arguments in x1..x3, result in x0. Calls in the 0x84000000
 * range take 32-bit arguments, those in 0xc4000000 64-bit ones.
 */
#include "qemu/osdep.h"

#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "system/cpus.h"
#include "system/runstate.h"
#include "target/arm/arm-cpu.h"
#include "trace-target-arm.h"

#define PSCI_FN_64BIT 0x40000000u

enum {
    PSCI_VERSION = 0x84000000,
    PSCI_CPU_SUSPEND = 0x84000001,
    PSCI_CPU_OFF = 0x84000002,
    PSCI_CPU_ON = 0x84000003,
    PSCI_AFFINITY_INFO = 0x84000004,
    PSCI_MIGRATE_INFO_TYPE = 0x84000006,
    PSCI_SYSTEM_OFF = 0x84000008,
    PSCI_SYSTEM_RESET = 0x84000009,
    PSCI_FEATURES = 0x8400000a,
};

enum {
    PSCI_SUCCESS = 0,
    PSCI_NOT_SUPPORTED = -1,
    PSCI_INVALID_PARAMETERS = -2,
    PSCI_ALREADY_ON = -4,
    PSCI_RET_ON_PENDING = -5,
};

#define PSCI_VERSION_1_1           0x10001
#define PSCI_NO_TRUSTED_OS_TO_MOVE 2
#define PSCI_POWER_STATE_RESERVED  0xfcfe0000u /* CPU_SUSPEND: must be zero */

static ARMCPU *find_cpu(uint64_t mpidr)
{
    CPUState *cs;

    CPU_FOREACH (cs) {
        if (ARM_CPU(cs)->mp_affinity == mpidr) {
            return ARM_CPU(cs);
        }
    }
    return NULL;
}

void arm_cpu_finish_power_on(ARMCPU *cpu)
{
    if (arm_cpu_power_state(cpu) != PSCI_ON_PENDING) {
        return; /* done already, or the machine was reset meanwhile */
    }
    trace_arm_powerctl_set_cpu_on(CPU(cpu)->cpu_index, cpu->power_on.entry);
    arm_cpu_reset_state(cpu);
    cpu->env.xregs[0] = cpu->power_on.context_id;
    cpu->env.pc = cpu->power_on.entry;
    CPU(cpu)->halted = 0;
    arm_cpu_set_power_state(cpu, PSCI_ON);
}

static void power_on_work(CPUState *cs, run_on_cpu_data data)
{
    arm_cpu_finish_power_on(ARM_CPU(cs));
}

static int psci_cpu_on(uint64_t mpidr, uint64_t entry, uint64_t context_id)
{
    ARMCPU *target = find_cpu(mpidr);

    if (!target || (entry & 3)) {
        return PSCI_INVALID_PARAMETERS;
    }
    switch (arm_cpu_power_state(target)) {
    case PSCI_ON:
        return PSCI_ALREADY_ON;
    case PSCI_ON_PENDING:
        return PSCI_RET_ON_PENDING;
    case PSCI_OFF:
        break;
    }
    arm_cpu_set_power_state(target, PSCI_ON_PENDING);
    target->power_on.entry = entry;
    target->power_on.context_id = context_id;
    async_run_on_cpu(CPU(target), power_on_work, RUN_ON_CPU_NULL);
    return PSCI_SUCCESS;
}

static int psci_affinity_info(uint64_t mpidr, uint64_t level)
{
    ARMCPU *target;

    if (level > 0) {
        return PSCI_ON; /* everything above a core is always powered */
    }
    target = find_cpu(mpidr);
    return target ? (int)arm_cpu_power_state(target) : PSCI_INVALID_PARAMETERS;
}

static int psci_features(uint32_t fn)
{
    switch (fn) {
    case PSCI_VERSION:
    case PSCI_CPU_OFF:
    case PSCI_MIGRATE_INFO_TYPE:
    case PSCI_SYSTEM_OFF:
    case PSCI_SYSTEM_RESET:
    case PSCI_FEATURES:
    case PSCI_CPU_SUSPEND:
    case PSCI_CPU_SUSPEND | PSCI_FN_64BIT:
    case PSCI_CPU_ON:
    case PSCI_CPU_ON | PSCI_FN_64BIT:
    case PSCI_AFFINITY_INFO:
    case PSCI_AFFINITY_INFO | PSCI_FN_64BIT:
        return PSCI_SUCCESS;
    default:
        return PSCI_NOT_SUPPORTED;
    }
}

/* Power the calling vCPU off; its thread sleeps until CPU_ON or a reset. */
static void power_off_self(ARMCPU *cpu)
{
    arm_cpu_set_power_state(cpu, PSCI_OFF);
    CPU(cpu)->halted = 1;
}

/* Standby only: like WFI. A request to power down is refused by its type. */
static int psci_cpu_suspend(ARMCPU *cpu, uint64_t power_state)
{
    if (power_state & PSCI_POWER_STATE_RESERVED) {
        return PSCI_INVALID_PARAMETERS;
    }
    CPU(cpu)->halted = !arm_cpu_has_work(CPU(cpu));
    return PSCI_SUCCESS;
}

bool arm_handle_psci_call(ARMCPU *cpu, int conduit)
{
    CPUARMState *env = &cpu->env;
    uint32_t fn = env->xregs[0];
    uint64_t arg[3];
    int64_t ret;

    if (cpu->psci_conduit != (uint32_t)conduit) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        arg[i] = fn & PSCI_FN_64BIT ? env->xregs[i + 1]
                                    : (uint32_t)env->xregs[i + 1];
    }

    trace_arm_psci_call(CPU(cpu)->cpu_index, fn, arg[0], arg[1], arg[2]);
    switch (fn) {
    case PSCI_VERSION:
        ret = PSCI_VERSION_1_1;
        break;
    case PSCI_MIGRATE_INFO_TYPE:
        ret = PSCI_NO_TRUSTED_OS_TO_MOVE;
        break;
    case PSCI_FEATURES:
        ret = psci_features(arg[0]);
        break;
    case PSCI_CPU_ON:
    case PSCI_CPU_ON | PSCI_FN_64BIT:
        ret = psci_cpu_on(arg[0], arg[1], arg[2]);
        break;
    case PSCI_AFFINITY_INFO:
    case PSCI_AFFINITY_INFO | PSCI_FN_64BIT:
        ret = psci_affinity_info(arg[0], arg[1]);
        break;
    case PSCI_CPU_SUSPEND:
    case PSCI_CPU_SUSPEND | PSCI_FN_64BIT:
        ret = psci_cpu_suspend(cpu, arg[0]);
        break;
    case PSCI_CPU_OFF:
        power_off_self(cpu);
        return true;
    case PSCI_SYSTEM_OFF:
        qemu_system_shutdown_request(SHUTDOWN_CAUSE_GUEST_SHUTDOWN);
        power_off_self(cpu); /* must not return to the caller */
        return true;
    case PSCI_SYSTEM_RESET:
        qemu_system_reset_request(SHUTDOWN_CAUSE_GUEST_RESET);
        power_off_self(cpu);
        return true;
    default:
        qemu_log_mask(LOG_UNIMP, "PSCI: unknown function 0x%" PRIx32 "\n", fn);
        ret = PSCI_NOT_SUPPORTED;
        break;
    }
    trace_arm_psci_return(CPU(cpu)->cpu_index, ret);
    env->xregs[0] = ret;
    return true;
}
