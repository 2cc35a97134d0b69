/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest machine: how a guest of tests/guest is run and looked at, for the
 * architecture of the binary under test.
 *
 * aarch64: machine virt, software engine. x86_64: machine q35, KVM; a binary
 * of another kind than ours gets a firmware that boots at once.
 * MIGRATION_TEST_ACCEL, if set, is what -accel says unless a test itself does.
 * MIGRATION_TEST_ACCEL_OTHER is what it says at the target, and at what was the
 * target when a guest goes back.
 *
 * Guests by name: "page-counter", "workload"; x86_64 only: "clocks",
 * "remap", and the boot sectors "counter-sector" and "counter-sector-suspend", on a disk.
 *
 * Used by: framework.c. Uses: libqtest, guest-check.
 */
#ifndef TESTS_MIGRATION_GUEST_MACHINE_H
#define TESTS_MIGRATION_GUEST_MACHINE_H

#include "framework.h"

/* NULL, or why no guest can run: a text for g_test_skip(). */
const char *guest_machine_why_not(void);
/* Where RAM begins, guest physical. */
uint64_t guest_machine_ram_base(void);
/* Arguments for @p's guest: machine, accelerator, image. @own: it is our
 * binary that gets them. */
void guest_machine_args(GString *args, const MigrationPair *p, bool target,
                        bool own);

/* Whether the guest in @ram has begun its work. */
bool guest_machine_works(const MigrationTest *t, const uint8_t *ram);
/* A number that grows as long as the guest runs. */
uint64_t guest_machine_progress(const MigrationTest *t, const uint8_t *ram);
/* Faults of the stopped guest in words; true: none. */
bool guest_machine_check(const MigrationPair *p, const uint8_t *ram,
                         GString *why);

#endif /* TESTS_MIGRATION_GUEST_MACHINE_H */
