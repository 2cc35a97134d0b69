/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An accelerator for tests of targets: its vCPUs have threads and execute
 * nothing.
 *
 * Used by: arm/arm-test.c, x86/x86-test.c. Uses: accel-ops.h.
 */
#ifndef TESTS_UNIT_IDLE_ACCEL_H
#define TESTS_UNIT_IDLE_ACCEL_H

/* Main loop, the type of CPUs, a clock that stands. Main thread, once. */
void idle_accel_init(void);

#endif /* TESTS_UNIT_IDLE_ACCEL_H */
