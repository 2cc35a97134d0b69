/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of target/arm share.
 */
#ifndef TARGET_ARM_INTERNALS_H
#define TARGET_ARM_INTERNALS_H

#include "target/arm/cpu.h"
#include "target/arm/sysreg.h"

/* A register of a model that differs from Cortex-A57's. */
typedef struct ARMRegValue {
    uint16_t enc;
    uint64_t value;
} ARMRegValue;

/* The same for the AArch32 views that only the stream knows. */
typedef struct ARMViewValue {
    uint64_t index;
    uint64_t value;
} ARMViewValue;

typedef struct ARMCPUModel {
    const char *name;           /* as -cpu takes it */
    const char *dtb_compatible; /* of its node in the device tree */
    uint32_t fpsid;
    uint32_t ccsidr[3];        /* by CSSELR_EL1: L1 data, L1 instruction, L2 */
    const ARMRegValue *regs;   /* ends with enc 0 */
    const ARMViewValue *views; /* ends with index 0 */
} ARMCPUModel;

/* ---- sysregs.c, sysregs-*.c ---- */

/* All registers of Cortex-A57, in order of encoding. */
extern const ARMSysReg arm_sysregs_base[];
extern const size_t arm_sysregs_base_count;

/* Copy the base table into @cpu and put in the model's values. */
void arm_sysregs_init(ARMCPU *cpu);
void arm_sysregs_free(ARMCPU *cpu);
/* Storage to its reset values. */
void arm_sysregs_reset(ARMCPU *cpu);
ARMSysReg *arm_sysreg_find(const ARMCPU *cpu, uint16_t enc);

/* ---- cpregs.c: the list that travels in the section `cpu` ---- */

typedef struct ARMCPReg ARMCPReg;

void arm_cpregs_init(ARMCPU *cpu);
void arm_cpregs_free(ARMCPU *cpu);
void arm_cpregs_reset(ARMCPU *cpu);
/* Fill cpu->cpreg_indexes[] and _values[] from the state. */
void arm_cpregs_to_list(ARMCPU *cpu);
/* Put a received list into the state; false: not this CPU's. */
bool arm_cpregs_from_list(ARMCPU *cpu, Error **errp);

/* ---- host-regs.c: the same of a vCPU in the kernel ---- */

void arm_host_regs_free(ARMCPU *cpu);
void arm_host_regs_to_list(ARMCPU *cpu);
bool arm_host_regs_from_list(ARMCPU *cpu, Error **errp);

/* ---- gtimer.c: generic timers ---- */

void arm_gtimer_init(ARMCPU *cpu);
void arm_gtimer_free(ARMCPU *cpu);
/* Compute output and expiry anew from the registers. BQL. */
void arm_gtimer_update(ARMCPU *cpu, int timer);
uint64_t arm_gtimer_count(void);
extern const ARMSysReg arm_gtimer_sysregs[];
extern const size_t arm_gtimer_sysregs_count;

/* ---- vmstate.c ---- */

extern const VMStateDescription vmstate_arm_cpu;

#endif /* TARGET_ARM_INTERNALS_H */
