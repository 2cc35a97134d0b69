/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86-64 under a guest program: numbers shared by start.S and arch.c, and
 * what programs of this architecture only may use beside guest.h.
 */
#ifndef TESTS_GUEST_X86_H
#define TESTS_GUEST_X86_H

/* Selectors; see gdt in start.S. One TSS for each vCPU, 16 bytes each. */
#define SEL_CODE32 0x08
#define SEL_DATA   0x10
#define SEL_CODE64 0x18
#define SEL_UDATA  0x23
#define SEL_UCODE  0x2b
#define SEL_TSS    0x30

#define MAX_CPUS        8
#define USER_STACK      0x4000 /* bytes, of each vCPU */
#define KERNEL_STACK    0x1000
#define TRAMPOLINE      0x8000 /* a page below 1 MiB, for SIPI */
#define NR_VECTORS      49     /* exceptions, the PIC's 16, our timer */
#define VECTOR_PIC      0x20
#define VECTOR_TIMER    0x30
#define VECTOR_SPURIOUS 0xff

#ifndef __ASSEMBLER__
#include <stdint.h>

static inline void outb(uint16_t port, uint8_t v)
{
    __asm__ volatile("outb %0, %1" ::"a"(v), "Nd"(port));
}

static inline uint8_t inb(uint16_t port)
{
    uint8_t v;

    __asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
    return v;
}

static inline uint64_t rdtsc(void)
{
    uint32_t low, high;

    __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}

/* The local APIC's registers, the same address on every vCPU. */
#define LAPIC_EOI        0x0b0
#define LAPIC_SVR        0x0f0
#define LAPIC_ICR_LOW    0x300
#define LAPIC_ICR_HIGH   0x310
#define LAPIC_LVT_TIMER  0x320
#define LAPIC_LVT_LINT0  0x350
#define LAPIC_TIMER_INIT 0x380
#define LAPIC_TIMER_DIV  0x3e0

static inline volatile uint32_t *lapic(unsigned reg)
{
    return (volatile uint32_t *)(0xfee00000ul + reg);
}

/* What KVM keeps up to date for a guest that asked for its clock (Linux,
 * Documentation/virt/kvm/x86/msr.rst, MSR_KVM_SYSTEM_TIME_NEW). */
#define KVM_CLOCK_WITH_TSC 1 /* of flags; there PVCLOCK_TSC_STABLE_BIT */

struct kvm_clock {
    uint32_t version; /* odd: being changed */
    uint32_t pad;
    uint64_t tsc;  /* when it was... */
    uint64_t time; /* ...this many ns */
    uint32_t mul;
    int8_t shift;
    uint8_t flags;
    uint8_t pad2[2];
} __attribute__((aligned(32)));

/* ns at the count @tsc, by @c. */
static inline uint64_t kvm_clock_at(const volatile struct kvm_clock *c,
                                    uint64_t tsc)
{
    uint64_t delta = tsc - c->tsc;

    delta = c->shift >= 0 ? delta << c->shift : delta >> -c->shift;
    return c->time + (uint64_t)(((unsigned __int128)delta * c->mul) >> 32);
}

/*
 * A program may define these two.
 * arch_wants_irqs: run with interrupts let in, and with KVM's clock left on.
 * arch_interrupt: called at CPL 0, on the vCPU's kernel stack.
 */
extern const int arch_wants_irqs;
void arch_interrupt(unsigned vector);

/* The clock of @cpu; all zero: there is none. */
const volatile struct kvm_clock *arch_kvm_clock(uint64_t cpu);

#endif /* __ASSEMBLER__ */
#endif /* TESTS_GUEST_X86_H */
