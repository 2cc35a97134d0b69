/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the guest `clocks` tells the host: one 4 KiB page for each vCPU, at
 * CLOCKS_OFFSET + 0x1000 * cpu in guest physical memory, all fields 64 bits.
 *
 * A clock that shows less than it did is counted as a step back, and the
 * largest step kept. `now_*` are readings of one moment, so that a host can
 * compare ticks with time after it has stopped the guest; they are whole if
 * `begin` == `end`.
 *
 * Read by: clocks.c, tests/migration.
 */
#ifndef TESTS_GUEST_CLOCKS_H
#define TESTS_GUEST_CLOCKS_H

#include <stdint.h>

#define CLOCKS_OFFSET 0x108000u
#define CLOCKS_MAGIC  0x534b434f4c43ull /* "CLOCKS" */

enum clocks_tick {
    TICK_NONE,
    TICK_PIT,     /* counter 0, IRQ 0 of the PIC, vCPU 0 only */
    TICK_IOAPIC,  /* the same counter, by pin 2 of the I/O APIC */
    TICK_LAPIC,   /* periodic timer of each local APIC */
    TICK_ONESHOT, /* the same timer, armed again by each interrupt: one that
                     is lost is the last */
};

struct clock_page {
    uint64_t magic; /* 00 CLOCKS_MAGIC once it runs */
    uint64_t loops; /* 08 */
    uint64_t tsc_hz;
    uint64_t tick_kind; /* 18 enum clocks_tick */
    uint64_t tick_hz;   /* asked for */
    /* Steps back: how many, and the largest. */
    uint64_t tsc_steps, tsc_largest;   /* 28 TSC of this vCPU, ticks */
    uint64_t kvm_steps, kvm_largest;   /* 38 kvmclock of this vCPU, ns */
    uint64_t all_steps, all_largest;   /* 48 TSC against that of all vCPUs */
    uint64_t rtc_steps, rtc_largest;   /* 58 RTC, seconds; vCPU 0 */
    uint64_t has_kvm_clock, rtc_reads; /* 68 */
    /* Readings. */
    uint64_t begin;                          /* 78 */
    uint64_t now_tsc, now_kvm_ns, now_ticks; /* 80 */
    uint64_t end;                            /* 98 */
    uint64_t first_tsc, first_kvm_ns;        /* a0 a moment after ticks began */
    uint64_t rtc_seconds;                    /* b0 of the day */
    /* Interrupts. */
    uint64_t ticks;            /* b8 */
    uint64_t others;           /* c0 interrupts not asked for */
    uint64_t last_tick_tsc;    /* c8 */
    uint64_t longest_tick_gap; /* d0 TSC ticks between two; a host may zero
                                       this and the next */
    uint64_t longest_loop_gap; /* d8 between two looks at the clocks */
    uint64_t pages_written;    /* e0 */
    uint64_t first_ticks;      /* e8 had come at first_tsc */
    uint64_t kvm_loose;        /* f0 looks at a kvmclock that does not say
                                       that it runs with the TSC: it may step */
    uint64_t pad[481];
};

_Static_assert(sizeof(struct clock_page) == 4096, "one page");

#endif /* TESTS_GUEST_CLOCKS_H */
