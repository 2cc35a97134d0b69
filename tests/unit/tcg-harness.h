/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The software engine without a machine: RAM, vCPUs, and code as words.
 *
 * Threads: guest_init() makes the calling thread the main one, with the BQL.
 */
#ifndef TESTS_UNIT_TCG_HARNESS_H
#define TESTS_UNIT_TCG_HARNESS_H

#include "qemu/main-loop.h"
#include "tcg-int.h"

#define GUEST_RAM_BASE  UINT64_C(0x40000000)
#define GUEST_RAM_BYTES (UINT64_C(64) << 20)
/* Exceptions go here; guest_init() fills it with WFI. */
#define GUEST_VECTORS UINT64_C(0x40100000)

/* Once per process. */
void guest_init(void) TSA_ACQUIRE(bql);
RAMBlock *guest_ram(void);
MemoryRegion *guest_ram_region(void);

typedef TcgVcpu GuestVcpu;
#define GUEST_MODEL "cortex-a57"

/* A vCPU of @model at its reset state, VBAR_EL1 set, misalignment allowed. */
TcgVcpu *guest_vcpu(const char *model);
/* Halted, after it ran. */
static inline bool guest_is_parked(GuestVcpu *v)
{
    return v->cs->halted;
}

/* As a device would. */
void guest_write(hwaddr addr, const void *buf, size_t len);
void guest_write64(hwaddr addr, uint64_t val);
uint64_t guest_read64(hwaddr addr);
/* @...: instruction words. */
#define GUEST_CODE(addr, ...)                     \
    do {                                          \
        const uint32_t code_[] = { __VA_ARGS__ }; \
        guest_write(addr, code_, sizeof(code_));  \
    } while (0)

/*
 * Run @v on the calling thread from @pc at EL1 with SP_EL0 until it takes an
 * exception (or executes WFI). Returns ESR_EL1, 0 after a WFI of its own.
 */
uint32_t guest_run(TcgVcpu *v, vaddr pc);

/* The same on a thread of its own; end it by WFI or guest_stop(). */
typedef struct GuestThread {
    TcgVcpu *v;
    QemuThread thread;
    _Atomic bool stop;
} GuestThread;
void guest_start(GuestThread *t, TcgVcpu *v, vaddr pc);
void guest_stop(GuestThread *t); /* kick it out and join */
void guest_join(GuestThread *t); /* wait for its own end */

/* Words of a few instructions. */
#define A64_WORD_NOP           0xd503201fu
#define A64_WORD_WFI           0xd503207fu
#define A64_WORD_BRK(n)        (0xd4200000u | (n) << 5)
#define A64_WORD_STR(t, n)     (0xf9000000u | (n) << 5 | (t))
#define A64_WORD_LDR(t, n)     (0xf9400000u | (n) << 5 | (t))
#define A64_WORD_B(words)      (0x14000000u | ((words)&0x3ffffff))
#define A64_WORD_MOVZ(d, i)    (0xd2800000u | (i) << 5 | (d))
#define A64_WORD_ADDI(d, n, i) (0x91000000u | (i) << 10 | (n) << 5 | (d))

#endif /* TESTS_UNIT_TCG_HARNESS_H */
