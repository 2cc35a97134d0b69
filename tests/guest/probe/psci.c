/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probe: what PSCI answers. Output as in tests/unit/arm/data/psci.txt, where
 * the lines are explained. Needs two CPUs.
 */
#include "probe.h"

#define CPU_OFF      2
#define CPU_SUSPEND  1
#define SYSTEM_OFF   8
#define SYSTEM_RESET 9

static void say(char kind, uint64_t a, int digits, uint64_t b, int b_digits,
                uint64_t answer)
{
    put_char(kind);
    put_hex(a, digits);
    put_char(' ');
    if (b_digits) {
        put_hex(b, b_digits);
        put_char(' ');
    }
    put_hex(answer, 16);
    put_char('\n');
}

static void all_functions(uint32_t base)
{
    for (uint32_t i = 0; i < 0x20; i++) {
        if (i != CPU_OFF && i != SYSTEM_OFF && i != SYSTEM_RESET &&
            i != CPU_SUSPEND) {
            say('P', base + i, 8, 0, 0, hvc(base + i, 0, 0, 0));
        }
    }
}

void probe_main(void)
{
    static const uint32_t others[] = { 0x80000000, 0x80000001, 0x12345678, 0 };
    static const struct {
        uint64_t mpidr, level;
    } affinity[] = {
        { 0, 0 }, { 1, 0 },          { 5, 0 },           { 0, 1 },
        { 1, 1 }, { 0x80000000, 0 }, { 0x100000000, 0 }, { 1, 4 },
    };
    static const struct {
        uint64_t mpidr, entry;
    } on[] = {
        { 0, 0x40080000 }, { 5, 0x40080000 }, { 1, 0x40080001 },
        { 1, 0x40080002 }, { 1, 0x80000000 }, { 1, 0x40090000 },
        { 1, 0x40090000 },
    };

    all_functions(0x84000000);
    all_functions(0xc4000000);
    for (uint32_t f = 0x84000000; f < 0x84000020; f++) {
        say('F', f, 8, 0, 0, hvc(0x8400000a, f, 0, 0));
        say('F', f | 0x40000000, 8, 0, 0,
            hvc(0x8400000a, f | 0x40000000, 0, 0));
    }
    for (int i = 0; i < 4; i++) {
        say('X', others[i], 8, 0, 0, hvc(others[i], 0x80000000, 0, 0));
    }
    for (int i = 0; i < 8; i++) {
        say('A', affinity[i].mpidr, 10, affinity[i].level, 1,
            hvc(0xc4000004, affinity[i].mpidr, affinity[i].level, 0));
    }
    for (int i = 0; i < 7; i++) {
        uint64_t answer = hvc(0xc4000003, on[i].mpidr, on[i].entry, 0);

        say('O', on[i].mpidr, 10, on[i].entry, 8, answer);
        while (answer == 0 && hvc(0xc4000004, on[i].mpidr, 0, 0) == 2) {
            /* until it is no longer on its way */
        }
    }
}
