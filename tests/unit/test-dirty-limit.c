/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of the control law of include/system/dirty-limit.h. */
#include "qemu/osdep.h"

#include <math.h>

#include "system/cpu-throttle.h"
#include "system/dirty-limit.h"

#define PCT      CPU_THROTTLE_PCT
#define PERIOD_S 1.0

/* The first step, of a second. */
static uint32_t first(uint32_t share, double mib, double limit)
{
    DirtyLimitLook last = { 0 };

    double awake = (double)(CPU_THROTTLE_ONE - share) / CPU_THROTTLE_ONE;

    return dirty_limit_step(&last, share, mib, awake * PERIOD_S, PERIOD_S,
                            limit);
}

static void test_within(void)
{
    g_assert_cmpuint(first(0, 50, 100), ==, 0);
    g_assert_cmpuint(first(0, 100, 100), ==, 0);
    g_assert_cmpuint(first(0, 0, 1), ==, 0);
}

/* Twice too much: half of the time. From there, what fits stays. */
static void test_at_once(void)
{
    g_assert_cmpuint(first(0, 200, 100), ==, 50 * PCT);
    g_assert_cmpuint(first(50 * PCT, 100, 100), ==, 50 * PCT);
    g_assert_cmpuint(first(50 * PCT, 200, 100), ==, 75 * PCT);
    /* Half of what it may is half of the way, if that was enough to tell. */
    g_assert_cmpuint(first(90 * PCT, 50, 100), ==, 80 * PCT);
}

static void test_less_by_and_by(void)
{
    DirtyLimitLook last = { 0 };
    uint32_t share = 80 * PCT;

    /* It stopped writing: half of the way each time, down to nothing. */
    share = dirty_limit_step(&last, share, 0, 0.2, PERIOD_S, 10);
    g_assert_cmpuint(share, ==, 40 * PCT);
    for (unsigned i = 0; i < 32 && share; i++) {
        uint32_t next = dirty_limit_step(&last, share, 0, 0.2, PERIOD_S, 10);

        g_assert_cmpuint(next, <, share);
        share = next;
    }
    g_assert_cmpuint(share, ==, 0);
}

static void test_most(void)
{
    g_assert_cmpuint(first(0, 1e9, 1), ==, CPU_THROTTLE_MAX);
    g_assert_cmpuint(first(CPU_THROTTLE_MAX, 1e9, 1), ==, CPU_THROTTLE_MAX);
}

/* ---- a vCPU that writes at random over its set ---- */

typedef struct Writer {
    double set_mib;
    double demand; /* MiB per second, if each write were to another page */
    double noise;  /* of what is counted */
    double stolen; /* part of the time that the host gives to others */
    DirtyLimitLook last;
    uint32_t share;
} Writer;

static double finds(const Writer *w, double awake, double seconds)
{
    return w->set_mib * -expm1(-w->demand * awake * seconds / w->set_mib);
}

/* One period. Returns what was written in it, in limits. */
static double step(Writer *w, double limit, double seconds)
{
    double awake = (1 - w->stolen) * (CPU_THROTTLE_ONE - w->share) /
                   CPU_THROTTLE_ONE;
    double mib = finds(w, awake, seconds);

    mib *= 1 + (w->noise ? g_test_rand_double_range(-w->noise, w->noise) : 0);
    w->share = dirty_limit_step(&w->last, w->share, mib, awake * seconds,
                                seconds, limit);
    return mib / seconds / limit;
}

/*
 * Steps until it stays within a fifth of its limit, which is a part of what is
 * found without one. The first look is at a quarter of a period, as in fact.
 */
static unsigned steps_to(double over, double part, double noise)
{
    Writer w = { .set_mib = 48, .demand = 48 * over, .noise = noise };
    double limit = finds(&w, 1, PERIOD_S) * part, awake;
    unsigned steps = 0;

    awake = -log1p(-limit / w.set_mib) * w.set_mib / w.demand;
    if (awake < 1 - (double)CPU_THROTTLE_MAX / CPU_THROTTLE_ONE) {
        return 0; /* not to be had */
    }
    step(&w, limit, PERIOD_S / 4);
    for (unsigned i = 1; i <= 40; i++) {
        double got = step(&w, limit, PERIOD_S);

        if (got < 0.8 || got > 1.2) {
            steps = i;
        }
    }
    g_test_message("set written %g times a second, limit 1/%g: %u steps", over,
                   1 / part, steps + 1);
    return steps + 1;
}

/* From a writer that never meets a page twice to one that does a hundred times. */
static const double overs[] = { 0.1, 1, 3, 10, 30, 100 };
static const double parts[] = { 1.0 / 2, 1.0 / 10, 1.0 / 50 };

static void test_two_steps(void)
{
    for (size_t o = 0; o < G_N_ELEMENTS(overs); o++) {
        for (size_t p = 0; p < G_N_ELEMENTS(parts); p++) {
            g_assert_cmpuint(steps_to(overs[o], parts[p], 0), <=, 2);
        }
    }
}

/* What is counted varies by two percent: two steps more, and it stays there. */
static void test_noise(void)
{
    for (size_t o = 0; o < G_N_ELEMENTS(overs); o++) {
        for (size_t p = 0; p < G_N_ELEMENTS(parts); p++) {
            for (unsigned i = 0; i < 50; i++) {
                g_assert_cmpuint(steps_to(overs[o], parts[p], 0.02), <=, 4);
            }
        }
    }
}

/* A limit that is raised or lowered, and a guest that changes. */
static void test_follows(void)
{
    Writer w = { .set_mib = 64, .demand = 320 };

    for (unsigned round = 0; round < 50; round++) {
        double limit = g_test_rand_double_range(2, 40), got = 0;

        w.demand = g_test_rand_double_range(80, 600);
        for (unsigned i = 0; i < 4; i++) {
            got = step(&w, limit, PERIOD_S);
        }
        g_assert_cmpfloat_with_epsilon(got, 1, 0.2);
    }
}

/* What others take on the host is no reason to let it write more after. */
static void test_busy_host(void)
{
    Writer w = { .set_mib = 256, .demand = 500 };

    for (unsigned i = 0; i < 5; i++) {
        step(&w, 20, PERIOD_S);
    }
    for (unsigned i = 0; i < 100; i++) {
        double got;

        w.stolen = i % 3 ? g_test_rand_double_range(0, 0.9) : 0;
        got = step(&w, 20, PERIOD_S);
        g_assert_cmpfloat(got, <, 1.2);
        g_assert_cmpfloat(got, >, 0.8 * (1 - w.stolen));
    }
}

/* Whatever it would write: the law settles where it writes its limit. */
static void test_settles(void)
{
    for (unsigned round = 0; round < 500; round++) {
        Writer w = { .set_mib = 1e6,
                     .demand = g_test_rand_double_range(1, 900) };
        double limit = g_test_rand_double_range(1, 900), got = 0;

        for (unsigned i = 0; i < 40; i++) {
            got = step(&w, limit, PERIOD_S);
        }
        g_assert_cmpfloat_with_epsilon(got * limit, MIN(w.demand, limit), 0.5);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dirty-limit/within", test_within);
    g_test_add_func("/dirty-limit/at-once", test_at_once);
    g_test_add_func("/dirty-limit/less-by-and-by", test_less_by_and_by);
    g_test_add_func("/dirty-limit/most", test_most);
    g_test_add_func("/dirty-limit/two-steps", test_two_steps);
    g_test_add_func("/dirty-limit/noise", test_noise);
    g_test_add_func("/dirty-limit/follows", test_follows);
    g_test_add_func("/dirty-limit/busy-host", test_busy_host);
    g_test_add_func("/dirty-limit/settles", test_settles);
    return g_test_run();
}
