/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel VMs with the real x86 side of accel/kvm, and memory laid out so that
 * 64-bit code runs at CPL 3.
 *
 * Guest physical memory, identity mapped for users up to 1 GiB:
 *
 *   0x1000 GDT   0x2000 TSS, every port allowed   0x5000… page tables
 *   REGS_CODE    the program   REGS_DATA…  its tables
 */
#ifndef TESTS_UNIT_X86_KVM_REGS_H
#define TESTS_UNIT_X86_KVM_REGS_H

#include "x86-test.h"
#include "x86-kvm.h"

#define REGS_CODE UINT64_C(0x10000)
#define REGS_DATA UINT64_C(0x100000)
#define REGS_PORT 0xf4 /* where the program stops */

/* Why these tests cannot run here; NULL: they can. Opens /dev/kvm. */
const char *regs_unusable(void);
/* Main memory, once. */
void regs_init(void);

/* A VM on the memory of the process, with one vCPU for a new CPU of @option. */
typedef struct RegsVm {
    KvmVm *vm;
    X86CPU *cpu;
    KvmVcpu *v;
} RegsVm;
RegsVm regs_vm_new(const char *option);
void regs_vm_free(RegsVm *r);

/* Have it start at @rip at CPL 3; all else as after a reset. In env only. */
void regs_start(CPUX86State *env, uint64_t rip);
/* Whole state to the kernel, and from there. */
void regs_put(RegsVm *r);
void regs_get(RegsVm *r);
/* Run until the program stores to REGS_PORT. */
void regs_run(RegsVm *r);

#endif /* TESTS_UNIT_X86_KVM_REGS_H */
