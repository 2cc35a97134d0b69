/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the tests of target/i386 and its registers in KVM: CPUs whose
 * threads run queued work and no guest code, states to and from bytes, and the
 * data files beside (captured from a real QEMU with -accel kvm -cpu max).
 */
#ifndef TESTS_UNIT_X86_TEST_H
#define TESTS_UNIT_X86_TEST_H

#include "target/i386/x86-cpu.h"
#include "vmstate/vmstate.h"

/* Main loop, types and an accelerator without an engine. Once, first. */
void x86_test_init(void);

/* "qemu64,+avx2": not realized. */
X86CPU *x86_test_cpu_make(const char *option);
/* And realized, by the next index; the BQL is held. */
X86CPU *x86_test_cpu_new(const char *option);

/* Of the folder beside this, or of the current one (tests/rig). */
GBytes *x86_test_data(const char *name);
/* False, and the test is skipped: they are in neither. */
bool x86_test_has_data(void);
GByteArray *x86_test_save(const VMStateDescription *vmsd, void *opaque);
bool x86_test_load(const VMStateDescription *vmsd, void *opaque,
                   const void *data, size_t len, size_t *taken, Error **errp);
/* It must fail, with @words in the message. */
void x86_test_load_fails(const VMStateDescription *vmsd, void *opaque,
                         const void *data, size_t len, const char *words);

/* Every register another value, none of which a stream refuses. */
void x86_test_fill(CPUX86State *env, uint64_t seed);
/* Names the first field of a section that differs. */
void x86_test_assert_same(const X86CPU *a, const X86CPU *b);

#endif /* TESTS_UNIT_X86_TEST_H */
