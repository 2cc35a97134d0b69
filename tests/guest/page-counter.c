/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page counter: increments one byte in each page of a range, for ever.
 *
 * Command line: start=MiB (16, from the start of RAM), ws=MiB (100) length,
 * passes=N (64): a letter goes to the console every N passes.
 *
 * What must hold at any instant: pages from the range's start up to some
 * page hold v + 1 in their first byte, all after it v (modulo 256).
 */
#include "guest.h"

void guest_main(const char *cmdline)
{
    uint64_t start = ram_base + (param_u64(cmdline, "start", 16) << 20);
    uint64_t length = param_u64(cmdline, "ws", 100) << 20;
    uint64_t passes = param_u64(cmdline, "passes", 64);
    char letter = 'B';

    if (!passes) {
        passes = 1;
    }
    for (uint64_t a = start; a < start + length; a += PAGE_SIZE) {
        *(volatile uint8_t *)a = 0;
    }
    console_putc('A');

    for (;;) {
        for (uint64_t n = 0; n < passes; n++) {
            for (uint64_t a = start; a < start + length; a += PAGE_SIZE) {
                (*(volatile uint8_t *)a)++;
            }
        }
        console_putc(letter);
    }
}

void guest_main_secondary(uint64_t cpu)
{
    (void)cpu;
    cpu_stop();
}
