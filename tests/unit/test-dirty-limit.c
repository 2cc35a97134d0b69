/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of the control law of include/system/dirty-limit.h. */
#include "qemu/osdep.h"

#include "system/cpu-throttle.h"
#include "system/dirty-limit.h"

#define PCT CPU_THROTTLE_PCT

static void test_within(void)
{
    g_assert_cmpuint(dirty_limit_share(0, 50, 100), ==, 0);
    g_assert_cmpuint(dirty_limit_share(0, 100, 100), ==, 0);
    g_assert_cmpuint(dirty_limit_share(0, 0, 1), ==, 0);
}

/* Twice too much: half of the time. From there, what fits stays. */
static void test_at_once(void)
{
    g_assert_cmpuint(dirty_limit_share(0, 200, 100), ==, 50 * PCT);
    g_assert_cmpuint(dirty_limit_share(50 * PCT, 100, 100), ==, 50 * PCT);
    g_assert_cmpuint(dirty_limit_share(50 * PCT, 200, 100), ==, 75 * PCT);
}

static void test_less_by_and_by(void)
{
    uint32_t share = 80 * PCT;

    /* It stopped writing: half of the way each time, down to nothing. */
    share = dirty_limit_share(share, 0, 10);
    g_assert_cmpuint(share, ==, 40 * PCT);
    for (unsigned i = 0; i < 32 && share; i++) {
        g_assert_cmpuint(dirty_limit_share(share, 0, 10), <, share);
        share = dirty_limit_share(share, 0, 10);
    }
    g_assert_cmpuint(share, ==, 0);
}

static void test_most(void)
{
    g_assert_cmpuint(dirty_limit_share(0, 1e9, 1), ==, CPU_THROTTLE_MAX);
    g_assert_cmpuint(dirty_limit_share(CPU_THROTTLE_MAX, 1e9, 1), ==,
                     CPU_THROTTLE_MAX);
}

/* Whatever it would write: the law settles where it writes its limit. */
static void test_settles(void)
{
    for (unsigned round = 0; round < 500; round++) {
        double demand = g_test_rand_double_range(1, 900);
        double limit = g_test_rand_double_range(1, 900), rate = 0;
        uint32_t share = 0;

        for (unsigned i = 0; i < 40; i++) {
            rate = demand * (CPU_THROTTLE_ONE - share) / CPU_THROTTLE_ONE;
            share = dirty_limit_share(share, rate, limit);
        }
        g_assert_cmpfloat_with_epsilon(rate, MIN(demand, limit), 0.01);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dirty-limit/within", test_within);
    g_test_add_func("/dirty-limit/at-once", test_at_once);
    g_test_add_func("/dirty-limit/less-by-and-by", test_less_by_and_by);
    g_test_add_func("/dirty-limit/most", test_most);
    g_test_add_func("/dirty-limit/settles", test_settles);
    return g_test_run();
}
