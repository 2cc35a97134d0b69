/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU models by name.
 */
#ifndef TARGET_ARM_MODELS_H
#define TARGET_ARM_MODELS_H

#include "internals.h"

const ARMCPUModel *arm_cpu_model_find(const char *name);
/* ARM_FEATURE_* bits, from the identification registers. */
uint64_t arm_cpu_model_features(const ARMCPU *cpu);

#endif /* TARGET_ARM_MODELS_H */
