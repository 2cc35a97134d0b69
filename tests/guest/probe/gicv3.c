/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probe: uses a GICv3's CPU interface by chance and prints what it reads. The
 * same accesses on a real machine of the kind gave gicv3.txt. Needs two CPUs.
 *
 * Binary points below the least that 5 bits of priority allow are left out
 * (QEMU stores them, and 0 for group 1 ends it by an assertion).
 */
#include "probe.h"

#define GICD  0x08000000UL
#define GICR  0x080a0000UL
#define SGI   (GICR + 0x10000)
#define STEPS 3000

#define STR_(x) #x
#define STR(x)  STR_(x)
#define READ(name)                                                      \
    ({                                                                  \
        uint64_t v_;                                                    \
        __asm__ volatile("mrs %0, " STR(name) : "=r"(v_) : : "memory"); \
        v_;                                                             \
    })
#define WRITE(name, val)                          \
    __asm__ volatile("msr " STR(name) ", %0; isb" \
                     :                            \
                     : "r"((uint64_t)(val))       \
                     : "memory")

#define ICC_PMR     S3_0_C4_C6_0
#define ICC_IAR0    S3_0_C12_C8_0
#define ICC_EOIR0   S3_0_C12_C8_1
#define ICC_HPPIR0  S3_0_C12_C8_2
#define ICC_BPR0    S3_0_C12_C8_3
#define ICC_AP0R0   S3_0_C12_C8_4
#define ICC_AP1R0   S3_0_C12_C9_0
#define ICC_DIR     S3_0_C12_C11_1
#define ICC_RPR     S3_0_C12_C11_3
#define ICC_SGI1R   S3_0_C12_C11_5
#define ICC_ASGI1R  S3_0_C12_C11_6
#define ICC_SGI0R   S3_0_C12_C11_7
#define ICC_IAR1    S3_0_C12_C12_0
#define ICC_EOIR1   S3_0_C12_C12_1
#define ICC_HPPIR1  S3_0_C12_C12_2
#define ICC_BPR1    S3_0_C12_C12_3
#define ICC_CTLR    S3_0_C12_C12_4
#define ICC_IGRPEN0 S3_0_C12_C12_6
#define ICC_IGRPEN1 S3_0_C12_C12_7

static uint64_t seed = 1;

static uint32_t chance(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 33;
}

static void say(char what, uint64_t val)
{
    put_char(what);
    put_hex(val, 8);
    put_char('\n');
}

/* Interrupts taken and not ended: INTID << 1 | group. */
static struct {
    uint32_t what[64];
    int n;
} taken;

static void note_taken(uint64_t intid, int group)
{
    if (intid < 1020 && taken.n < 64) {
        taken.what[taken.n++] = intid << 1 | group;
    }
}

static void end_one(void)
{
    uint32_t what;

    if (!taken.n) {
        return;
    }
    what = taken.what[--taken.n];
    if (chance() % 10 == 0) {
        what ^= 1; /* by the wrong register */
    }
    if (what & 1) {
        WRITE(ICC_EOIR1, what >> 1);
    } else {
        WRITE(ICC_EOIR0, what >> 1);
    }
}

static void send_sgi(void)
{
    uint64_t val = (uint64_t)(chance() % 16) << 24 | chance() % 4;

    val |= chance() % 8 == 0 ? 1ull << 40 : 0;
    val |= chance() % 8 == 0 ? 1ull << 16 : 0;
    switch (chance() % 3) {
    case 0:
        WRITE(ICC_SGI1R, val);
        break;
    case 1:
        WRITE(ICC_ASGI1R, val);
        break;
    default:
        WRITE(ICC_SGI0R, val);
    }
}

static void start_afresh(void)
{
    WRITE(ICC_AP0R0, 0);
    WRITE(ICC_AP1R0, 0);
    taken.n = 0;
    for (int i = 1; i < 9; i++) {
        REG32(GICD + 0x380 + 4 * i) = ~0u;
    }
    REG32(SGI + 0x380) = ~0u;
}

static void change_something(void)
{
    switch (chance() % 8) {
    case 0:
        WRITE(ICC_PMR, chance() % 4 == 0 ? chance() : 0xff);
        say('p', READ(ICC_PMR));
        break;
    case 1:
        WRITE(ICC_BPR0, chance() % 6 + 2);
        say('0', READ(ICC_BPR0));
        break;
    case 2:
        WRITE(ICC_BPR1, chance() % 5 + 3);
        say('1', READ(ICC_BPR1));
        break;
    case 3:
        WRITE(ICC_CTLR, chance() % 3 == 0 ? chance() : 0);
        say('c', READ(ICC_CTLR));
        say('1', READ(ICC_BPR1));
        break;
    case 4:
        WRITE(ICC_IGRPEN0, chance() % 8 != 0);
        WRITE(ICC_IGRPEN1, chance() % 8 != 0);
        break;
    case 5:
        WRITE(ICC_DIR, chance() % 288);
        break;
    case 6:
        REG32(GICD) = chance() % 6 ? 3 : chance() & 3;
        break;
    default:
        if (chance() % 4 == 0) {
            start_afresh();
        }
    }
}

static void look_at_something(void)
{
    int i = chance() % 9;

    switch (chance() % 6) {
    case 0:
        say('r', READ(ICC_RPR));
        break;
    case 1:
        say('h', READ(ICC_HPPIR1));
        break;
    case 2:
        say('g', READ(ICC_HPPIR0));
        break;
    case 3:
        say('i', READ(isr_el1));
        break;
    case 4:
        say('x', READ(ICC_AP0R0));
        say('y', READ(ICC_AP1R0));
        break;
    default:
        say('d',
            REG32((i ? GICD + 4 * i : SGI) + (chance() & 1 ? 0x300 : 0x200)));
    }
}

static void step(void)
{
    uint32_t x = chance() % 100;
    uint64_t intid;

    if (x < 15) {
        intid = READ(ICC_IAR1);
        say('a', intid);
        note_taken(intid, 1);
    } else if (x < 28) {
        intid = READ(ICC_IAR0);
        say('b', intid);
        note_taken(intid, 0);
    } else if (x < 48) {
        end_one();
    } else if (x < 58) {
        REG32(GICD + 0x200 + 4 * (1 + chance() % 8)) = 1u << (chance() % 32);
    } else if (x < 61) {
        REG32(SGI + 0x200) = 1u << (chance() % 32);
    } else if (x < 63) {
        REG32(GICD + 0x280 + 4 * (1 + chance() % 8)) = chance() & chance();
    } else if (x < 66) {
        send_sgi();
    } else if (x < 80) {
        change_something();
    } else {
        look_at_something();
    }
}

void probe_main(void)
{
    REG32(GICD) = 3;
    REG32(GICR + 0x14) = 0;
    for (int i = 0; i < 72; i++) {
        REG32((i < 8 ? SGI : GICD) + 0x400 + 4 * i) = chance();
    }
    REG32(SGI + 0x80) = chance();
    REG32(SGI + 0x100) = ~0u;
    REG32(SGI + 0xc04) = chance();
    for (int i = 1; i < 9; i++) {
        REG32(GICD + 0x80 + 4 * i) = chance();
        REG32(GICD + 0x100 + 4 * i) = chance() | chance();
    }
    for (int i = 2; i < 18; i++) {
        REG32(GICD + 0xc00 + 4 * i) = chance();
    }
    WRITE(ICC_PMR, 0xff);
    WRITE(ICC_IGRPEN0, 1);
    WRITE(ICC_IGRPEN1, 1);
    for (int i = 0; i < STEPS; i++) {
        step();
    }
}
