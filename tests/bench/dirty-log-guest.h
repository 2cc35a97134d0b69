/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guests of dirty-log-perf.c, and the engines that each has: of the software
 * engine, or, with ORACLE_KVM, of KVM. Part of that file.
 *
 * A writer is given a list of addresses and stores a word to each.
 */
#ifdef ORACLE_KVM

#include "../unit/kvm-harness.h"
#include "kvm-trackers.h"

/* The harness maps the first 4 GiB. */
#define SLOT_BASE  (UINT64_C(2) << 30)
#define BENCH_NAME "dirty-log-perf-kvm"
#define CALLS_NAME "ioctls"

/* Each makes the kernel VM that it needs, over the same memory. */
static const Engine engines[] = {
    { "bitmap", &kvm_bitmap_tracker, 0 },
    { "bitmap, all at first", &kvm_bitmap_tracker, 0, true },
    { "ring-4096", &kvm_ring_tracker, 4096 },
    { "ring-65536", &kvm_ring_tracker, 65536 },
    { "pagemap", &dirty_tracker_pagemap, 0 },
};

/* rsi: list, rcx: length; r8, r9: the same for the loop. */
extern const uint8_t writer_code[], writer_code_end[];
asm(".pushsection .rodata\n"
    ".globl writer_code, writer_code_end\n"
    "writer_code:\n"
    "1:  movq (%rsi), %rdi\n"
    "    addq $8, %rsi\n"
    "    movq %rax, (%rdi)\n"
    "    decq %rcx\n"
    "    jnz 1b\n"
    "2:  outb %al, $0xf4\n"
    "    jmp 2b\n"
    ".balign 64\n"
    "1:  movq %r8, %rsi\n"
    "    movq %r9, %rcx\n"
    "2:  movq (%rsi), %rdi\n"
    "    addq $8, %rsi\n"
    "    movq %rax, (%rdi)\n"
    "    decq %rcx\n"
    "    jnz 2b\n"
    "    jmp 1b\n"
    "writer_code_end:\n"
    ".popsection\n");

static const char *writers_unusable(void)
{
    return mini_unusable();
}

static void writers_init(void)
{
    guest_init();
    guest_write(GUEST_CODE_BASE, writer_code, writer_code_end - writer_code);
}

static void engine_configure(const Engine *e)
{
    guest_use_vm(&(KvmVmConfig){
        .kind = e->ring_entries ? KVM_LOG_RING : KVM_LOG_BITMAP,
        .ring_entries = e->ring_entries,
        .irqchip = KVM_IRQCHIP_OFF,
    });
}

static void writer_start(GuestThread *t, GuestVcpu *v, uint64_t list,
                         uint64_t n, bool loop)
{
    v->regs = (struct kvm_regs){ .rsi = list, .rcx = n, .r8 = list, .r9 = n };
    guest_start(t, v, GUEST_CODE_BASE + (loop ? 64 : 0));
}

/* Only rings tell. */
static uint64_t writer_faults(GuestVcpu *v, const Engine *e)
{
    return e->ring_entries ? v->cs->ring_stats.harvested : 0;
}

static uint64_t calls_so_far(void)
{
    return kvm_call_count_all();
}

#else

#include "../unit/tcg-harness.h"

#define SLOT_BASE  (UINT64_C(4) << 30)
#define BENCH_NAME "dirty-log-perf"
#define CALLS_NAME "handshakes"

#define CODE      (GUEST_RAM_BASE + 0x200000)
#define CODE_LOOP (GUEST_RAM_BASE + 0x201000)

static const Engine engines[] = {
    { "bitmap", &tcg_bitmap_tracker, 0 },
    { "ring-4096", &tcg_ring_tracker, 4096 },
    { "ring-65536", &tcg_ring_tracker, 65536 },
    { "dbm", &tcg_dbm_tracker, 0 },
    { "pagemap", &dirty_tracker_pagemap, 0 },
};

static const char *writers_unusable(void)
{
    return NULL;
}

static void TSA_ACQUIRE(bql) writers_init(void)
{
    guest_init();
    /* 1: ldr x5, [x1], #8 ; str x4, [x5] ; subs x2, x2, #1 ; b.ne 1b ; wfi */
    GUEST_CODE(CODE, 0xf8408425, A64_WORD_STR(4, 5), 0xf1000442, 0x54ffffa1,
               A64_WORD_WFI);
    /* The same round and round: x6 is the list, x7 its length. */
    GUEST_CODE(CODE_LOOP, A64_WORD_ADDI(1, 6, 0), A64_WORD_ADDI(2, 7, 0),
               0xf8408425, A64_WORD_STR(4, 5), 0xf1000442, 0x54ffffa1,
               A64_WORD_B(-6));
}

static void engine_configure(const Engine *e)
{
}

static void writer_start(GuestThread *t, GuestVcpu *v, uint64_t list,
                         uint64_t n, bool loop)
{
    CPUARMState *env = v->env;

    env->xregs[1] = env->xregs[6] = list;
    env->xregs[2] = env->xregs[7] = n;
    guest_start(t, v, loop ? CODE_LOOP : CODE);
}

static uint64_t writer_faults(GuestVcpu *v, const Engine *e)
{
    return e->ops == &tcg_dbm_tracker ? atomic_load(&v->stats.dbm_faults)
                                      : atomic_load(&v->stats.dirty_faults);
}

static uint64_t calls_so_far(void)
{
    return tcg_handshakes();
}

#endif
