/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers of a vCPU in the kernel: see include/target/arm/host-regs.h. */
#include "qemu/osdep.h"

#include "cpregs.h"
#include "internals.h"
#include "qemu/error.h"
#include "target/arm/host-regs.h"

bool arm_cpu_set_host_regs(ARMCPU *cpu, const uint64_t *indexes, size_t n,
                           Error **errp)
{
    if (n > ARM_CPREG_LIST_MAX) {
        error_setg(errp,
                   "the kernel has %zu system registers, at most %d are "
                   "expected",
                   n, ARM_CPREG_LIST_MAX);
        return false;
    }
    for (size_t i = 1; i < n; i++) {
        assert(indexes[i - 1] < indexes[i]);
    }
    arm_host_regs_free(cpu);
    cpu->host_indexes = g_memdup2(indexes, n * sizeof(*indexes));
    cpu->host_values = g_new0(uint64_t, n);
    cpu->host_regs_count = n;
    return true;
}

uint64_t *arm_cpu_host_values(ARMCPU *cpu)
{
    return cpu->host_values;
}

void arm_cpu_host_regs_to_env(ARMCPU *cpu)
{
    for (size_t i = 0; i < cpu->host_regs_count; i++) {
        uint64_t index = cpu->host_indexes[i];
        const ARMSysReg *r = NULL;

        if ((index & ~UINT64_C(0xffff)) == CPREG_A64) {
            r = arm_sysreg_find(cpu, index & 0xffff);
        }
        if (r && r->offset && !(r->flags & ARM_SR_CONST)) {
            *(uint64_t *)((char *)&cpu->env + r->offset) = cpu->host_values[i];
        }
    }
}

void arm_host_regs_free(ARMCPU *cpu)
{
    g_clear_pointer(&cpu->host_indexes, g_free);
    g_clear_pointer(&cpu->host_values, g_free);
    cpu->host_regs_count = 0;
}

/* ---- the list in a stream ---- */

void arm_host_regs_to_list(ARMCPU *cpu)
{
    cpu->cpreg_vmstate_array_len = cpu->host_regs_count;
    for (size_t i = 0; i < cpu->host_regs_count; i++) {
        cpu->cpreg_vmstate_indexes[i] = cpu->host_indexes[i];
        cpu->cpreg_vmstate_values[i] = cpu->host_values[i];
    }
}

bool arm_host_regs_from_list(ARMCPU *cpu, Error **errp)
{
    size_t n = cpu->cpreg_vmstate_array_len;

    for (size_t i = 0; i < MAX(n, cpu->host_regs_count); i++) {
        uint64_t theirs = i < n ? cpu->cpreg_vmstate_indexes[i] : UINT64_MAX;
        uint64_t ours = i < cpu->host_regs_count ? cpu->host_indexes[i]
                                                 : UINT64_MAX;

        if (theirs != ours) {
            error_setg(errp,
                       "system register 0x%" PRIx64 " is %s (entry %zu of the "
                       "list)",
                       MIN(theirs, ours),
                       theirs < ours ? "in the stream but this host's kernel "
                                       "has it not"
                                     : "missing from the stream",
                       i);
            return false;
        }
    }
    memcpy(cpu->host_values, cpu->cpreg_vmstate_values, n * sizeof(uint64_t));
    arm_cpu_host_regs_to_env(cpu);
    return true;
}
