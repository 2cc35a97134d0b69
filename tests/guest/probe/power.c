/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probe: all CPUs are switched on, say so, and switch themselves off; then a
 * timer's interrupt ends a WFI; then the machine is reset, once. Needs eight
 * CPUs and a GICv2. What it prints between two resets:
 *   on 0000000, done 1111111, off 1111111, timer 1e
 */
#include "probe.h"

#define GICD        0x08000000UL
#define GICC        0x08010000UL
#define NUM_CPUS    8
#define TIMER_INTID 30

static volatile uint32_t ran[NUM_CPUS];
/* Outside of the image: a reset does not bring it back. */
#define boots REG32(0x43000000UL)

void secondary_main(uint64_t cpu);

void secondary_main(uint64_t cpu)
{
    ran[cpu] = 1;
    __asm__ volatile("dsb sy; sev");
    hvc(0x84000002, 0, 0, 0); /* CPU_OFF */
}

static void test_power(void)
{
    for (uint64_t i = 0; i < NUM_CPUS; i++) {
        ran[i] = 0;
    }
    for (uint64_t i = 1; i < NUM_CPUS; i++) {
        put_hex(hvc(0xc4000003, i, (uint64_t)secondary_entry, i), 1);
    }
    put_char(' ');
    for (int i = 1; i < NUM_CPUS; i++) {
        while (!ran[i]) {
            __asm__ volatile("wfe");
        }
        put_hex(ran[i], 1);
    }
    put_char(' ');
    for (uint64_t i = 1; i < NUM_CPUS; i++) {
        while (hvc(0xc4000004, i, 0, 0) != 1) {
            /* until it is off */
        }
        put_hex(1, 1);
    }
    put_char(' ');
}

/* The interrupt stays masked in PSTATE: WFI wakes all the same. */
static void test_timer(void)
{
    uint32_t intid;

    REG32(GICD) = 1;
    REG32(GICC) = 1;
    REG32(GICC + 4) = 0xff;
    REG32(GICD + 0x100) = 1u << TIMER_INTID;
    __asm__ volatile("msr cntp_tval_el0, %0; msr cntp_ctl_el0, %1; isb; wfi"
                     :
                     : "r"(625000UL), "r"(1UL)); /* 10 ms */
    intid = REG32(GICC + 0xc);
    put_hex(intid, 2);
    put_char('\n');
    __asm__ volatile("msr cntp_ctl_el0, %0; isb" : : "r"(0UL));
    REG32(GICC + 0x10) = intid;
}

void probe_main(void)
{
    test_power();
    test_timer();
    if (boots++ == 0) {
        hvc(0x84000009, 0, 0, 0); /* SYSTEM_RESET */
    }
}
