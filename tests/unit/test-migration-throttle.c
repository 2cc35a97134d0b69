/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of migration/throttle.h: when, and by how much. */
#include "qemu/osdep.h"

#include "throttle.h"

static void test_excess(void)
{
    ThrottleSample s = { .sent = 1000, .round_owed = 10000 };

    g_assert_cmpfloat(throttle_excess(&s, 50), ==, 0);
    s.dirtied = 500;
    g_assert_cmpfloat(throttle_excess(&s, 50), ==, 1);
    g_assert_cmpfloat(throttle_excess(&s, 100), ==, 0.5);
    s.dirtied = 1500;
    g_assert_cmpfloat(throttle_excess(&s, 50), ==, 3);
    /* Nothing could be sent: too fast, if anything was written. */
    s.sent = 0;
    g_assert_cmpfloat(throttle_excess(&s, 50), >, 1000);
    s.dirtied = 0;
    g_assert_cmpfloat(throttle_excess(&s, 50), ==, 0);
}

/*
 * The same pages over and over: late in a long round nothing is newly dirty,
 * but all of them are there again.
 */
static void test_long_round(void)
{
    const ThrottleSample s = {
        .dirtied = 0,
        .sent = 1000,
        .round_dirtied = 9000,
        .round_owed = 10000,
    };

    g_assert_cmpfloat_with_epsilon(throttle_excess(&s, 50), 1.8, 1e-9);
}

static void test_steps(void)
{
    const ThrottleSteps steps = { .initial = 20, .increment = 10, .max = 99 };
    const unsigned want[] = { 20, 30, 40, 50, 60, 70, 80, 90, 99, 99 };
    unsigned pct = 0;

    for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
        pct = throttle_next_pct(pct, 2, &steps);
        g_assert_cmpuint(pct, ==, want[i]);
    }
}

static void test_max(void)
{
    ThrottleSteps steps = { .initial = 20, .increment = 50, .max = 60 };

    g_assert_cmpuint(throttle_next_pct(20, 2, &steps), ==, 60);
    g_assert_cmpuint(throttle_next_pct(60, 2, &steps), ==, 60);
    /* Lowered meanwhile: it does not go down. */
    steps.max = 30;
    g_assert_cmpuint(throttle_next_pct(60, 2, &steps), ==, 60);
}

/* Only by what is still too much, and never by more than the increment. */
static void test_tailslow(void)
{
    const ThrottleSteps steps = { 20, 10, 99, true };

    g_assert_cmpuint(throttle_next_pct(0, 1.1, &steps), ==, 20);
    g_assert_cmpuint(throttle_next_pct(20, 10, &steps), ==, 30);
    g_assert_cmpuint(throttle_next_pct(20, 1.25, &steps), ==, 30);
    /* Awake 20 %, 25 % too much: 16 % would do. */
    g_assert_cmpuint(throttle_next_pct(80, 1.25, &steps), ==, 84);
    g_assert_cmpuint(throttle_next_pct(90, 1.05, &steps), ==, 90);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/migration-throttle/excess", test_excess);
    g_test_add_func("/migration-throttle/long-round", test_long_round);
    g_test_add_func("/migration-throttle/steps", test_steps);
    g_test_add_func("/migration-throttle/max", test_max);
    g_test_add_func("/migration-throttle/tailslow", test_tailslow);
    return g_test_run();
}
