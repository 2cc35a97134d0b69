/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Benchmark of the sweep: ratios within one run, since times differ by host.
 *
 * A block bitmap (atomic) of a guest of 64 GiB is moved into a send set
 * (plain), as each sync of a migration does; sources from clean to all dirty,
 * bit phases equal and not. Beside it: memcpy() of the same bitmap, which a
 * sweep of a clean one should not exceed, the scalar twin, and a loop with one
 * atomic operation per page, which is what not having a sweep costs. Best of
 * several runs each. Output: one line per case.
 */
#include "qemu/osdep.h"

#include "qemu/sweep.h"

#define PAGES (UINT64_C(64) << (30 - 12))
#define WORDS (PAGES / 64)
#define RUNS  7

static double now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

typedef struct Case {
    const char *name;
    unsigned one_in; /* pages dirty at random; 0: none, 1: all */
} Case;

static const Case cases[] = {
    { "clean", 0 }, { "1/10000", 10000 }, { "1/1000", 1000 }, { "1/100", 100 },
    { "1/20", 20 }, { "1/2", 2 },         { "all", 1 },
};

static void fill(uint64_t *map, unsigned one_in, unsigned phase)
{
    memset(map, 0, (WORDS + 1) * 8);
    if (one_in == 1) {
        bitmap_set(map, phase, PAGES);
    } else if (one_in > 1) {
        GRand *rand = g_rand_new_with_seed(42);

        for (uint64_t i = 0; i < PAGES / one_in; i++) {
            set_bit(phase + g_rand_int(rand) % PAGES, map);
        }
        g_rand_free(rand);
    }
}

/* What the sweep replaces: a look and an exchange per page. */
static uint64_t page_by_page(uint64_t *dest, uint64_t dest_first, uint64_t *src,
                             uint64_t src_first, uint64_t nbits, unsigned flags,
                             uint64_t *moved)
{
    uint64_t nr_new = 0;

    for (uint64_t i = 0; i < nbits; i++) {
        if (test_and_clear_bit_atomic(src_first + i, src) &&
            !test_and_set_bit(dest_first + i, dest)) {
            nr_new++;
        }
    }
    return nr_new;
}

typedef uint64_t SweepFunc(uint64_t *, uint64_t, uint64_t *, uint64_t, uint64_t,
                           unsigned, uint64_t *);

static double best_us(SweepFunc *func, uint64_t *dest, uint64_t *src,
                      const uint64_t *pristine, unsigned phase, int runs)
{
    double best = 1e18;

    for (int i = 0; i < runs; i++) {
        double begin, us;

        memcpy(src, pristine, (WORDS + 1) * 8);
        memset(dest, 0, (WORDS + 1) * 8);
        begin = now_us();
        func(dest, 0, src, phase, PAGES, SWEEP_SRC_ATOMIC, NULL);
        us = now_us() - begin;
        best = MIN(best, us);
    }
    return best;
}

static double memcpy_us(uint64_t *dest, const uint64_t *src)
{
    double best = 1e18;

    for (int i = 0; i < RUNS; i++) {
        double begin = now_us(), us;

        memcpy(dest, src, WORDS * 8);
        us = now_us() - begin;
        best = MIN(best, us);
    }
    return best;
}

int main(void)
{
    uint64_t *src = bitmap_new(PAGES + 64), *dest = bitmap_new(PAGES + 64);
    uint64_t *pristine = bitmap_new(PAGES + 64);
    double copy;

    memset(pristine, 1, (WORDS + 1) * 8);
    copy = memcpy_us(dest, pristine);
    printf("# bitmap of %" PRIu64 " pages (64 GiB); variant %s\n", PAGES,
           bitmap_sweep_variant());
    printf("# memcpy of it: %.0f us\n", copy);
    printf("%-8s %5s %10s %9s %9s %9s %9s\n", "dirty", "phase", "sweep us",
           "/memcpy", "scalar us", "pages us", "speed-up");
    for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
        for (unsigned phase = 0; phase <= 37; phase += 37) {
            double sweep, scalar, pages;

            fill(pristine, cases[c].one_in, phase);
            sweep = best_us(bitmap_sweep, dest, src, pristine, phase, RUNS);
            scalar = best_us(bitmap_sweep_scalar, dest, src, pristine, phase,
                             RUNS);
            pages = best_us(page_by_page, dest, src, pristine, phase, 1);
            printf("%-8s %5u %10.0f %9.2f %9.0f %9.0f %9.0f\n", cases[c].name,
                   phase, sweep, sweep / copy, scalar, pages, pages / sweep);
        }
    }
    g_free(src);
    g_free(dest);
    g_free(pristine);
    return 0;
}
