/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System registers that the host's kernel keeps for a vCPU (KVM).
 *
 * Such a vCPU has the registers of its host, not those of a model: the kernel
 * lists them, by the ids that the section `cpu` has. While the list is set it
 * takes the place of the model's there. A stream then fits if it has the same
 * registers; their values are for the kernel to judge.
 *
 * Registers for which CPUARMState has a place are copied there as well, so
 * that who looks at the state finds them; the list's value is the one that
 * counts.
 *
 * Threads: as CPUARMState.
 *
 * Used by: accel/kvm. Uses: arm-cpu.h.
 */
#ifndef TARGET_ARM_HOST_REGS_H
#define TARGET_ARM_HOST_REGS_H

#include "target/arm/arm-cpu.h"

/*
 * @cpu has the @n registers of @indexes, which are copied and rise; their
 * values are 0. At most ARM_CPREG_LIST_MAX, else false.
 */
bool arm_cpu_set_host_regs(ARMCPU *cpu, const uint64_t *indexes, size_t n,
                           Error **errp);
/* Values by place in that list; after a change of them: _to_env(). */
uint64_t *arm_cpu_host_values(ARMCPU *cpu);
void arm_cpu_host_regs_to_env(ARMCPU *cpu);

#endif /* TARGET_ARM_HOST_REGS_H */
