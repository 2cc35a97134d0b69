/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the tests of target/arm and of the ARM machine's devices: CPUs
 * whose threads run queued work and no guest code, states to and from bytes,
 * and the data files beside (captured from a real QEMU).
 */
#ifndef TESTS_UNIT_ARM_TEST_H
#define TESTS_UNIT_ARM_TEST_H

#include "target/arm/arm-cpu.h"
#include "vmstate/vmstate.h"

/* Main loop, types and an accelerator without an engine. Once, first. */
void arm_test_init(void);

/* A realized CPU; the BQL is held. */
ARMCPU *arm_test_cpu_new(const char *model, void (*setup)(ARMCPU *cpu));

/* Contents of a file in data/. */
GBytes *arm_test_data(const char *name);
/* Its lines that are not comments; g_strfreev() them. */
char **arm_test_data_lines(const char *name);

GByteArray *arm_test_save(const VMStateDescription *vmsd, void *opaque);
bool arm_test_load(const VMStateDescription *vmsd, void *opaque, int version,
                   const void *data, size_t len, size_t *taken, Error **errp);
/* It must fail, with @words in the message. */
void arm_test_load_fails(const VMStateDescription *vmsd, void *opaque,
                         int version, const void *data, size_t len,
                         const char *words);
/* Load @file of data/, save again: the same bytes. */
void arm_test_round_trip(const VMStateDescription *vmsd, void *opaque,
                         int version, const char *file);

#endif /* TESTS_UNIT_ARM_TEST_H */
