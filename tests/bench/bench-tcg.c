/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Speed of the software engine: guest instructions per second of small loops,
 * and the price of a page's first write while tracked.
 *
 * Prints one line per loop. No verdict: numbers depend on the host.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/timer.h"
#include "system/dirty-tracker.h"
#include "../unit/tcg-harness.h"

#define CODE  (GUEST_RAM_BASE + 0x200000)
#define DATA  (GUEST_RAM_BASE + 0x300000)
#define PAGES 4096u

typedef struct Loop {
    const char *name;
    unsigned per_round; /* instructions */
    uint32_t words[12];
} Loop;

/* x0: rounds; x1: DATA; ends by BRK when x0 is 0. */
static const Loop loops[] = {
    { "countdown", 2, { 0xf1000400, 0x54ffffe1, A64_WORD_BRK(0) } },
    { "add-xor-shift",
      6,
      { 0x8b020042, 0xca020463, 0x8b030444, 0xca441042, 0xf1000400, 0x54ffff61,
        A64_WORD_BRK(0) } },
    /* ldr x2,[x1]; add x2,x2,#1; str x2,[x1]; subs; b.ne */
    { "load-add-store",
      5,
      { 0xf9400022, 0x91000442, 0xf9000022, 0xf1000400, 0x54ffff81,
        A64_WORD_BRK(0) } },
    /* strb w2,[x1],#1 ; and x1, x1, #~0x1000 ; subs; b.ne */
    { "byte-fill",
      4,
      { 0x38001422, 0x9273f821, 0xf1000400, 0x54ffffa1, A64_WORD_BRK(0) } },
    /* bl f; subs; b.ne; brk; f: ret */
    { "call-return",
      4,
      { 0x94000004, 0xf1000400, 0x54ffffc1, A64_WORD_BRK(0), 0xd65f03c0 } },
};

static double run(TcgVcpu *v, uint64_t rounds)
{
    int64_t start = get_clock();

    v->env->xregs[0] = rounds;
    v->env->xregs[1] = DATA;
    guest_run(v, CODE);
    return (get_clock() - start) / 1e9;
}

static void bench_loop(TcgVcpu *v, const Loop *l)
{
    uint64_t rounds = 20000000;
    double best = 0;
    unsigned i;

    guest_write(CODE, l->words, sizeof(l->words));
    run(v, 1000);
    for (i = 0; i < 3; i++) {
        best = MAX(best, rounds * l->per_round / run(v, rounds));
    }
    printf("%-16s %7.1f M instructions/s\n", l->name, best / 1e6);
}

static void bench_faults(TcgVcpu *v)
{
    /* 1: str x2,[x1] ; add x1, x1, #4096 ; subs x0, x0, #1 ; b.ne 1b */
    static const uint32_t words[] = { 0xf9000022, 0x91400421, 0xf1000400,
                                      0x54ffffa1, A64_WORD_BRK(0) };
    RAMBlock *rb = guest_ram();
    DirtyTrackerFirst first = DIRTY_TRACKER_FIRST_WRITTEN;
    double untracked, tracked, again;

    guest_write(CODE, words, sizeof(words));
    run(v, PAGES);
    untracked = run(v, PAGES);
    dirty_tracker_start(&rb, 1, &first, &error_abort);
    tracked = run(v, PAGES);
    again = run(v, PAGES);
    dirty_tracker_stop(&rb, 1);
    printf("%-16s %7.1f ns a page untracked, %.1f first write, %.1f then\n",
           "page-walk", untracked / PAGES * 1e9, tracked / PAGES * 1e9,
           again / PAGES * 1e9);
}

int main(int argc, char **argv)
{
    TcgVcpu *v;
    unsigned i;

    guest_init();
    v = guest_vcpu("cortex-a57");
    for (i = 0; i < ARRAY_SIZE(loops); i++) {
        bench_loop(v, &loops[i]);
    }
    bench_faults(v);
    bql_unlock();
    return 0;
}
