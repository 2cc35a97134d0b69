/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The virt machine under a guest program: PL011 at 0x09000000 (data register
 * only), generic timer, PSCI by HVC, bootargs from the flattened device tree
 * (Devicetree Specification v0.4, chapter 5).
 */
#include "../guest.h"

#define UART_DR (*(volatile uint32_t *)0x09000000ul)

#define FDT_MAGIC      0xd00dfeedu
#define FDT_BEGIN_NODE 1u
#define FDT_END_NODE   2u
#define FDT_PROP       3u
#define FDT_NOP        4u

/* Arm DEN0022 (PSCI), function identifiers. */
#define PSCI_CPU_OFF   0x84000002ul
#define PSCI_CPU_ON_64 0xc4000003ul

const uint64_t ram_base = 0x40000000ull;
static char cmdline[1024];

void arch_main(uint64_t dtb);
extern char secondary_start[];

void console_putc(char c)
{
    UART_DR = (uint8_t)c;
}

uint64_t clock_ticks(void)
{
    uint64_t v;

    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(v)::"memory");
    return v;
}

uint64_t clock_hz(void)
{
    uint64_t v;

    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(v));
    return v;
}

void cpu_relax(void)
{
    __asm__ volatile("yield" ::: "memory");
}

static uint64_t psci(uint64_t function, uint64_t a, uint64_t b, uint64_t c)
{
    register uint64_t x0 __asm__("x0") = function;
    register uint64_t x1 __asm__("x1") = a;
    register uint64_t x2 __asm__("x2") = b;
    register uint64_t x3 __asm__("x3") = c;

    __asm__ volatile("hvc #0"
                     : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)::"x4", "x5", "x6",
                       "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
                       "x15", "x16", "x17", "memory");
    return x0;
}

int cpu_start(uint64_t cpu)
{
    return (int)psci(PSCI_CPU_ON_64, cpu, (uint64_t)secondary_start, cpu);
}

void cpu_stop(void)
{
    psci(PSCI_CPU_OFF, 0, 0, 0);
    for (;;) {
        __asm__ volatile("wfi");
    }
}

static uint32_t be32(const volatile uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

static int equal(const volatile uint8_t *a, const char *b)
{
    while (*b && (char)*a == *b) {
        a++;
        b++;
    }
    return !*a && !*b;
}

/* The first property "bootargs": only /chosen has one. */
static void find_bootargs(const volatile uint8_t *fdt)
{
    const volatile uint8_t *p, *strings;

    if (be32(fdt) != FDT_MAGIC) {
        return;
    }
    p = fdt + be32(fdt + 8);
    strings = fdt + be32(fdt + 12);
    for (;;) {
        uint32_t token = be32(p);

        p += 4;
        if (token == FDT_BEGIN_NODE) {
            while (*p) {
                p++;
            }
            p = (const volatile uint8_t *)(((uint64_t)p + 4) & ~3ull);
        } else if (token == FDT_PROP) {
            uint32_t len = be32(p), name = be32(p + 4);

            p += 8;
            if (equal(strings + name, "bootargs")) {
                uint32_t i;

                for (i = 0; i < len && i < sizeof(cmdline) - 1; i++) {
                    cmdline[i] = (char)p[i];
                }
                cmdline[i] = 0;
                return;
            }
            p += (len + 3) & ~3u;
        } else if (token != FDT_END_NODE && token != FDT_NOP) {
            return;
        }
    }
}

void arch_main(uint64_t dtb)
{
    find_bootargs((const volatile uint8_t *)dtb);
    guest_main(cmdline);
}
