/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the probe guests: output, firmware calls, chance. */
#ifndef TESTS_GUEST_PROBE_H
#define TESTS_GUEST_PROBE_H

#include <stdint.h>

#define UART     0x09000000UL
#define REG32(a) (*(volatile uint32_t *)(a))

void probe_main(void);

extern volatile uint64_t last_esr; /* of the last exception but SVC */
uint64_t run_at_el1(uint64_t x0, void *code);
uint64_t run_at_el0(uint64_t x0, void *code);
extern char secondary_entry[];

static inline void put_char(char c)
{
    REG32(UART) = c;
}

static inline void put_hex(uint64_t v, int digits)
{
    while (digits--) {
        put_char("0123456789abcdef"[(v >> (4 * digits)) & 15]);
    }
}

static inline uint64_t hvc(uint64_t fn, uint64_t a, uint64_t b, uint64_t c)
{
    register uint64_t x0 __asm__("x0") = fn;
    register uint64_t x1 __asm__("x1") = a;
    register uint64_t x2 __asm__("x2") = b;
    register uint64_t x3 __asm__("x3") = c;

    __asm__ volatile("hvc #0"
                     : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)
                     :
                     : "memory");
    return x0;
}

#endif /* TESTS_GUEST_PROBE_H */
