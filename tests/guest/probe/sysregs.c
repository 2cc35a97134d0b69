/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probe: tries every encoding of MRS, MSR and SYS at EL1 and EL0. Output as in
 * tests/unit/arm/data/sysregs-cortex-a57.txt, where the columns are explained.
 */
#include "probe.h"

static uint32_t slot[16] __attribute__((aligned(64)));

static uint64_t run(uint32_t insn, uint64_t x0, int el)
{
    slot[0] = insn;
    slot[1] = 0xd65f03c0; /* ret */
    __asm__ volatile("dc cvau, %0; dsb ish; ic iallu; dsb ish; isb"
                     :
                     : "r"(slot)
                     : "memory");
    last_esr = 0;
    return el ? run_at_el1(x0, slot) : run_at_el0(x0, slot);
}

static char verdict(void)
{
    switch (last_esr >> 26) {
    case 0x00:
        return last_esr ? '-' : 'y';
    case 0x18:
        return 't';
    case 0x07:
        return 'f';
    default:
        return '?';
    }
}

static void try_sys(uint32_t enc, uint32_t insn)
{
    char el1, el0;

    run(insn, 0x41800000, 1);
    el1 = verdict();
    if (el1 == '-') {
        return;
    }
    run(insn, 0x41800000, 0);
    el0 = verdict();
    put_char('S');
    put_char(' ');
    put_hex(enc, 4);
    put_char(' ');
    put_char('-');
    put_char(el1);
    put_char('-');
    put_char(el0);
    put_char('\n');
}

static void try_register(uint32_t enc, uint32_t insn)
{
    uint32_t read = insn | (1 << 21);
    uint64_t val = run(read, 0, 1);
    char r1 = verdict(), w1, r0, w0;

    if (r1 != 'y') {
        val = 0;
    }
    run(insn, val, 1);
    w1 = verdict();
    if (r1 == '-' && w1 == '-') {
        return;
    }
    run(read, 0, 0);
    r0 = verdict();
    run(insn, val, 0);
    w0 = verdict();
    put_char('R');
    put_char(' ');
    put_hex(enc, 4);
    put_char(' ');
    put_char(r1);
    put_char(w1);
    put_char(r0);
    put_char(w0);
    put_char(' ');
    put_hex(val, 16);
    put_char('\n');
}

void probe_main(void)
{
    for (uint32_t enc = 1 << 14; enc < 1 << 16; enc++) {
        uint32_t insn = 0xd5000000 | (enc >> 14) << 19 | (enc & 0x3fff) << 5;

        if (enc >> 14 == 1) {
            try_sys(enc, insn);
        } else {
            try_register(enc, insn);
        }
    }
}
