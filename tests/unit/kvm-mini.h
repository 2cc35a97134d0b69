/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * accel/kvm's core without a machine: a kernel VM, RAM, and vCPUs that run
 * 64-bit code at CPL 3, laid out by hand.
 *
 * It brings the core an architecture of its own (kvm_arch_*), which knows no
 * more than to make such a vCPU: a test links this or the real one.
 *
 * Guest physical memory, identity mapped up to 4 GiB, for users, writable,
 * accessed and dirty bits set already:
 *
 *   0x1000 GDT   0x2000 TSS, every port allowed   0x5000… page tables
 *   MINI_CODE    the programs below
 *   MINI_DATA…   the test's
 *
 * Used by: tests of accel/kvm.
 */
#ifndef TESTS_UNIT_KVM_MINI_H
#define TESTS_UNIT_KVM_MINI_H

#include "kvm-int.h"
#include "qemu/main-loop.h"
#include "system/memory.h"

#define MINI_CODE       UINT64_C(0x10000)
#define MINI_DATA       UINT64_C(0x100000)
#define MINI_PROGRAM(n) (MINI_CODE + (n)*UINT64_C(64)) /* where one begins */
/*
 * I/O level 3, beside the TSS's map of ports: hosts that run user code only
 * ignore the first, and some that emulate hardware ignore the second.
 */
#define MINI_RFLAGS 0x3002
#define MINI_PORT   0xf4 /* programs store al here when they are through */

/* Why these tests cannot run here; NULL: they can. Opens /dev/kvm. */
const char *mini_unusable(void);
/* Main loop, memory: once per process; the BQL is held afterwards. */
void mini_init(void) TSA_ACQUIRE(bql);

/* Map @size bytes of new RAM at @gpa. */
RAMBlock *mini_ram(MemoryRegion *mr, const char *name, hwaddr gpa,
                   uint64_t size);
/* GDT, TSS, page tables and programs into RAM at 0. */
void mini_load(void);

typedef enum MiniProgram {
    MINI_TOUCH, /* rdx times: a store to each page of [rdi, rdi + rsi) */
    MINI_SPIN,  /* rbx counts on, for ever */
    MINI_OUT,   /* rdx times: out to port cx; then through */
    MINI_STORE, /* rdx times: store edx at rdi, 4 bytes; then through */
    MINI_LOAD,  /* rax = 4 bytes at rdi; then through */
    MINI_COUNT, /* rdx times (0: for ever): add 1 to 8 bytes at rdi */
    MINI_ORDER, /* for ever: a store to each page of what the two words at rdi
                   say (address, bytes); through, until it runs again */
    MINI_HALT,  /* at CPL 0, for ever: add 1 to 8 bytes at rdi, HLT */
} MiniProgram;

/* Have @v start @program with these registers. Out of KVM_RUN. */
void mini_start(KvmVcpu *v, MiniProgram program, uint64_t rdi, uint64_t rsi,
                uint64_t rdx, uint64_t rcx);
struct kvm_regs mini_regs(KvmVcpu *v);
/*
 * Run @v until it is through: true; false: something else, which is in
 * v->run->exit_reason or *@ret. I/O on the way is handled by the core.
 */
bool mini_run(KvmVcpu *v, int *ret);

/* A CPU type whose vCPUs run by the real thread of the accelerator. */
#define TYPE_MINI_CPU "mini-cpu"
void mini_cpu_register_type(void);

/* Counters of what the core asked of the architecture. */
extern _Atomic unsigned mini_puts, mini_gets;
/* The next put fails with it; negative: all do. */
extern _Atomic int mini_put_error;
/* Programs that mini_cpu starts when the core puts registers; by cpu_index. */
typedef struct MiniStart {
    MiniProgram program;
    uint64_t rdi, rsi, rdx, rcx;
} MiniStart;
extern MiniStart mini_starts[64];

#endif /* TESTS_UNIT_KVM_MINI_H */
