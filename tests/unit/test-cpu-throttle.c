/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of include/system/cpu-throttle.h with an accelerator that only goes
 * round: who sleeps, how often, and what ends a sleep. By counts.
 */
#include "qemu/osdep.h"

#include "fake-cpu.h"
#include "qemu/timer.h"
#include "system/cpu-throttle.h"
#include "system/runstate.h"

#define NR_CPUS 3
#define ALMOST  CPU_THROTTLE_MAX
#define LONG_NS INT64_C(100000000000)

static uint64_t sleeps(int i)
{
    return cpu_throttle_stats(fake_cpu(i)).sleeps;
}

/*
 * vCPU @i is in a sleep that goes on for seconds: what it executed before is
 * slept a thousandfold.
 */
static void let_it_sleep(int i)
{
    atomic_store(&fake_cpus[i]->spins, true);
    cpu_throttle_bound_sleep(LONG_NS);
    cpu_throttle_begin(CPU_THROTTLE_CONVERGE);
    cpu_throttle_set(CPU_THROTTLE_CONVERGE, fake_cpu(i), ALMOST);
    fake_wait_for(sleeps, i, sleeps(i) + 1);
    atomic_store(&fake_cpus[i]->spins, false);
}

static void wake_it(void)
{
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    cpu_throttle_bound_sleep(CPU_THROTTLE_LONGEST_NS);
}

/* What the hook saw. */
static struct {
    _Atomic uint64_t n;
    _Atomic int64_t ran, most_ran, planned, longest;
} seen;

static uint64_t seen_sleeps(G_GNUC_UNUSED int i)
{
    return atomic_load(&seen.n);
}

static void note_sleep(CPUState *cpu, int64_t ran_ns, int64_t sleep_ns)
{
    g_assert_true(cpu == fake_cpu(1));
    g_assert_cmpint(sleep_ns, >, 0);
    atomic_fetch_add(&seen.ran, ran_ns);
    atomic_store(&seen.most_ran, MAX(atomic_load(&seen.most_ran), ran_ns));
    atomic_fetch_add(&seen.planned, sleep_ns);
    atomic_store(&seen.longest, MAX(atomic_load(&seen.longest), sleep_ns));
    atomic_fetch_add(&seen.n, 1);
}

/* ---- tests ---- */

static void test_only_who_shall(void)
{
    uint64_t before[NR_CPUS];

    vm_start();
    for (int i = 0; i < NR_CPUS; i++) {
        before[i] = sleeps(i);
    }
    cpu_throttle_begin(CPU_THROTTLE_CONVERGE);
    cpu_throttle_set(CPU_THROTTLE_CONVERGE, fake_cpu(1), 50 * CPU_THROTTLE_PCT);
    fake_wait_for(sleeps, 1, before[1] + 5);
    g_assert_cmpuint(sleeps(0), ==, before[0]);
    g_assert_cmpuint(sleeps(2), ==, before[2]);
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    vm_stop(RUN_STATE_PAUSED);
}

static void test_end_ends_sleeps(void)
{
    CpuThrottleStats before, after;

    vm_start();
    before = cpu_throttle_stats(fake_cpu(0));
    let_it_sleep(0);
    wake_it();
    g_assert_cmpuint(cpu_throttle_get(fake_cpu(0)), ==, 0);
    fake_wait_for(fake_rounds, 0, fake_rounds(0) + 10);
    after = cpu_throttle_stats(fake_cpu(0));
    g_assert_cmpuint(after.sleeps, ==, before.sleeps + 1);
    g_assert_cmpuint(after.cut_short, ==, before.cut_short + 1);
    vm_stop(RUN_STATE_PAUSED);
}

/* A stop does not wait for a sleeper, and is no end of its sleep. */
static void test_stop_does_not_wait(void)
{
    CpuThrottleStats before, after;

    vm_start();
    let_it_sleep(0);
    before = cpu_throttle_stats(fake_cpu(0));
    vm_stop(RUN_STATE_PAUSED);
    after = cpu_throttle_stats(fake_cpu(0));
    g_assert_cmpuint(after.sleeps, ==, before.sleeps);
    g_assert_true(atomic_load(&fake_cpu(0)->throttle.sleep_due));
    wake_it();
    vm_start();
    fake_wait_for(fake_rounds, 0, fake_rounds(0) + 1);
    vm_stop(RUN_STATE_PAUSED);
}

static void count_work(CPUState *cpu, run_on_cpu_data data)
{
    g_assert_false(atomic_load(&cpu->running));
    (*(int *)data.host_ptr)++;
}

/* Work is done in a sleep, which goes on after it. */
static void test_work_in_a_sleep(void)
{
    CpuThrottleStats before, after;
    uint64_t round;
    int n = 0;

    vm_start();
    let_it_sleep(0);
    before = cpu_throttle_stats(fake_cpu(0));
    round = fake_rounds(0);
    for (int i = 0; i < 10; i++) {
        run_on_cpu(fake_cpu(0), count_work, RUN_ON_CPU_HOST_PTR(&n));
    }
    after = cpu_throttle_stats(fake_cpu(0));
    g_assert_cmpint(n, ==, 10);
    g_assert_cmpuint(fake_rounds(0), ==, round);
    g_assert_cmpuint(after.sleeps, ==, before.sleeps);
    wake_it();
    vm_stop(RUN_STATE_PAUSED);
}

/*
 * Throttled by so much, and with such a bound: no sleep is longer, unless the
 * host was late; and for all that was executed as much was slept as the share
 * says, or is still owed.
 */
static void bounded(int64_t bound_ns, uint32_t share, uint64_t nr_sleeps)
{
    int64_t slept_ns = (int64_t)cpu_throttle_stats(fake_cpu(1)).slept_ns;
    int64_t owed, debt;

    memset(&seen, 0, sizeof(seen));
    cpu_throttle_set_hook(note_sleep);
    cpu_throttle_bound_sleep(bound_ns);
    atomic_store(&fake_cpus[1]->spins, true);
    vm_start();
    cpu_throttle_begin(CPU_THROTTLE_CONVERGE);
    cpu_throttle_set(CPU_THROTTLE_CONVERGE, fake_cpu(1), share);
    fake_wait_for(seen_sleeps, 1, nr_sleeps);
    vm_stop(RUN_STATE_PAUSED);
    debt = MAX(fake_cpu(1)->throttle.debt_ns, 0);
    wake_it();
    cpu_throttle_set_hook(NULL);
    atomic_store(&fake_cpus[1]->spins, false);

    slept_ns = (int64_t)cpu_throttle_stats(fake_cpu(1)).slept_ns - slept_ns;
    owed = (int64_t)((double)seen.ran * share / (CPU_THROTTLE_ONE - share));
    g_test_message("share %u: longest %" PRId64 " us, ran %" PRId64
                   " us, slept %" PRId64 " us, owed %" PRId64 " us",
                   share, seen.longest / 1000, seen.ran / 1000, slept_ns / 1000,
                   owed / 1000);
    g_assert_cmpint(seen.longest, <=, CPU_THROTTLE_LONGEST_NS);
    /* Of one second, the most that is owed. */
    if ((double)seen.most_ran * share / (CPU_THROTTLE_ONE - share) >
        200 * SCALE_MS) {
        g_test_message("the host let it run for %" PRId64 " us at once: what "
                       "is owed for that is forgotten in part",
                       seen.most_ran / 1000);
        return;
    }
    g_assert_cmpint(slept_ns + debt, >=, owed - CPU_THROTTLE_LONGEST_NS);
}

static void test_bounded_sleeps(void)
{
    bounded(CPU_THROTTLE_LONGEST_NS, 20 * CPU_THROTTLE_PCT, 10);
    bounded(20 * SCALE_MS, 90 * CPU_THROTTLE_PCT, 10);
    bounded(5 * SCALE_MS, 99 * CPU_THROTTLE_PCT, 40);
}

/* Whoever asks: what one sleep may be. */
static void test_bounds(void)
{
    static const struct {
        uint64_t limit_ms;
        int64_t bound_ms;
    } t[] = {
        { 0, 5 },    { 1, 5 },    { 20, 5 },   { 40, 10 },
        { 100, 25 }, { 200, 50 }, { 300, 50 }, { UINT64_MAX, 50 },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(t); i++) {
        int64_t bound = cpu_throttle_bound_for_limit(t[i].limit_ms);

        g_assert_cmpint(bound, ==, t[i].bound_ms * SCALE_MS);
        cpu_throttle_bound_sleep(bound);
        for (uint32_t pct = 1; pct <= 99; pct++) {
            g_assert_cmpint(cpu_throttle_longest_ns(pct * CPU_THROTTLE_PCT), ==,
                            bound);
            g_assert_cmpint(cpu_throttle_sleep_ns(pct * CPU_THROTTLE_PCT), <=,
                            bound);
        }
        g_assert_cmpint(cpu_throttle_longest_ns(CPU_THROTTLE_MAX), <=,
                        CPU_THROTTLE_LONGEST_NS);
    }
    cpu_throttle_bound_sleep(CPU_THROTTLE_LONGEST_NS);
}

/*
 * The arithmetic with slices and sleeps that last longer than planned: what
 * follows a slice of up to twice its length is within the bound, and in the sum
 * it is the share to a thousandth.
 */
static void exact(uint32_t share, int64_t bound_ns, int64_t late_ns)
{
    int64_t debt = 0, ran = 0, slept = 0, longest;
    unsigned nr_in_time = 0;
    double got;

    cpu_throttle_bound_sleep(bound_ns);
    longest = cpu_throttle_longest_ns(share);
    for (int i = 0; i < 20000; i++) {
        int64_t slice = cpu_throttle_slice_ns(debt, share), sleep;
        int64_t late = g_test_rand_int_range(0, (int)late_ns);
        bool in_time = debt <= 0 && late <= cpu_throttle_slice_ns(0, share) &&
                       2 * cpu_throttle_sleep_ns(share) <= longest;

        g_assert_cmpint(slice, <=, 10 * SCALE_MS);
        slice += late;
        ran += slice;
        sleep = cpu_throttle_owe(&debt, share, slice);
        g_assert_cmpint(sleep, <=, CPU_THROTTLE_LONGEST_NS);
        if (in_time) {
            g_assert_cmpint(sleep, <=, longest);
            nr_in_time++;
        }
        if (sleep) {
            sleep += g_test_rand_int_range(0, (int)late_ns);
            slept += sleep;
            cpu_throttle_paid(&debt, sleep);
        }
    }
    g_assert_true(nr_in_time > 0 || late_ns < 150000);
    got = (double)slept / (double)(slept + ran);
    g_assert_cmpfloat_with_epsilon(got, (double)share / CPU_THROTTLE_ONE,
                                   0.001);
    cpu_throttle_bound_sleep(CPU_THROTTLE_LONGEST_NS);
}

static void test_exact(void)
{
    static const int64_t bounds_ms[] = { 5, 10, 25, 50 };

    for (size_t b = 0; b < G_N_ELEMENTS(bounds_ms); b++) {
        for (uint32_t pct = 5; pct <= 95; pct += 5) {
            exact(pct * CPU_THROTTLE_PCT, bounds_ms[b] * SCALE_MS, 150000);
        }
        exact(99 * CPU_THROTTLE_PCT, bounds_ms[b] * SCALE_MS, 50000);
    }
    /* One very late end of a slice is slept for, in many sleeps. */
    {
        int64_t debt = 0;
        unsigned n = 0;

        g_assert_cmpint(cpu_throttle_owe(&debt, 500000, 500 * SCALE_MS), ==,
                        50 * SCALE_MS);
        for (; debt > 0; n++) {
            g_assert_cmpint(cpu_throttle_slice_ns(debt, 500000), ==,
                            debt >= 10 * SCALE_MS ? 0 : 10 * SCALE_MS - debt);
            cpu_throttle_paid(&debt, cpu_throttle_owe(&debt, 500000, 0));
        }
        g_assert_cmpuint(n, ==, 10);
    }
}

/* Who comes too late to throttle does not. */
static void test_set_after_end(void)
{
    cpu_throttle_begin(CPU_THROTTLE_CONVERGE);
    g_assert_true(cpu_throttle_is_on(CPU_THROTTLE_CONVERGE));
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    cpu_throttle_set(CPU_THROTTLE_CONVERGE, fake_cpu(0), ALMOST);
    g_assert_cmpuint(cpu_throttle_get(fake_cpu(0)), ==, 0);
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    g_assert_false(cpu_throttle_is_on(CPU_THROTTLE_CONVERGE));
}

/* The larger share counts, and stays when the other user ends. */
static void test_two_users(void)
{
    cpu_throttle_begin(CPU_THROTTLE_CONVERGE);
    cpu_throttle_begin(CPU_THROTTLE_LIMIT);
    cpu_throttle_set(CPU_THROTTLE_CONVERGE, fake_cpu(0), 500000);
    cpu_throttle_set(CPU_THROTTLE_LIMIT, fake_cpu(0), 300000);
    g_assert_cmpuint(cpu_throttle_get(fake_cpu(0)), ==, 500000);
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    g_assert_cmpuint(cpu_throttle_get(fake_cpu(0)), ==, 300000);
    cpu_throttle_set(CPU_THROTTLE_LIMIT, fake_cpu(0), CPU_THROTTLE_ONE);
    g_assert_cmpuint(cpu_throttle_get(fake_cpu(0)), ==, CPU_THROTTLE_MAX);
    cpu_throttle_end(CPU_THROTTLE_LIMIT);
    g_assert_cmpuint(cpu_throttle_get(fake_cpu(0)), ==, 0);
}

/* A vCPU that is halted while another's sleeps are counted has none. */
static void test_halted_is_left_alone(void)
{
    uint64_t before;

    vm_start();
    run_on_cpu(fake_cpu(2), fake_halt, RUN_ON_CPU_NULL);
    before = sleeps(2);
    cpu_throttle_begin(CPU_THROTTLE_CONVERGE);
    for (int i = 0; i < NR_CPUS; i++) {
        cpu_throttle_set(CPU_THROTTLE_CONVERGE, fake_cpu(i),
                         20 * CPU_THROTTLE_PCT);
    }
    fake_wait_for(sleeps, 0, sleeps(0) + 5);
    g_assert_cmpuint(sleeps(2), ==, before);
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    vm_stop(RUN_STATE_PAUSED);
    fake_cpu(2)->halted = 0;
}

/* ---- dividing ---- */

static double reduction(const double *demand, const uint32_t *out, unsigned n)
{
    double all = 0, left = 0;

    for (unsigned i = 0; i < n; i++) {
        all += demand[i];
        left += demand[i] * (1 - (double)out[i] / CPU_THROTTLE_ONE);
    }
    return 1 - left / all;
}

static void check_divide(const double *demand, unsigned n, unsigned pct,
                         const unsigned *want_pct)
{
    uint32_t out[8];

    cpu_throttle_divide(demand, n, pct * CPU_THROTTLE_PCT, out);
    for (unsigned i = 0; i < n; i++) {
        g_assert_cmpuint((out[i] + CPU_THROTTLE_PCT / 2) / CPU_THROTTLE_PCT, ==,
                         want_pct[i]);
    }
}

#define CHECK(pct, ...)                               \
    check_divide(demand, G_N_ELEMENTS(demand), (pct), \
                 (const unsigned[G_N_ELEMENTS(demand)]){ __VA_ARGS__ })

static void test_divide(void)
{
    {
        const double demand[] = { 500, 500 };
        CHECK(20, 20, 20);
        CHECK(99, 99, 99);
    }
    { /* one writes, one computes (and counts on in a page of its own) */
        const double demand[] = { 500, 0, 3 };
        CHECK(20, 20, 0, 0);
        CHECK(99, 99, 0, 0);
    }
    { /* in proportion: 3 : 1, and together a fifth less */
        const double demand[] = { 300, 100 };
        CHECK(20, 24, 8);
    }
    { /* who has the maximum leaves the rest to the others */
        const double demand[] = { 300, 100 };
        CHECK(90, 100, 60); /* 99.9 and 60.3 */
    }
    { /* nothing known: everyone the same */
        const double demand[] = { 0, 0, 0 };
        CHECK(30, 30, 30, 30);
    }
}

/* Whatever the demand: the sum is reduced as asked. */
static void test_divide_random(void)
{
    for (int round = 0; round < 2000; round++) {
        unsigned n = g_test_rand_int_range(1, 9);
        uint32_t share = g_test_rand_int_range(10000, 950000);
        double demand[8];
        uint32_t out[8];

        for (unsigned i = 0; i < n; i++) {
            demand[i] = g_test_rand_double_range(10, 400);
        }
        cpu_throttle_divide(demand, n, share, out);
        g_assert_cmpfloat(reduction(demand, out, n), >,
                          (double)share / CPU_THROTTLE_ONE - 0.0001);
        g_assert_cmpfloat(reduction(demand, out, n), <,
                          (double)share / CPU_THROTTLE_ONE + 0.0001);
    }
}

int main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    fake_cpus_init(NR_CPUS);

    g_test_add_func("/cpu-throttle/only-who-shall", test_only_who_shall);
    g_test_add_func("/cpu-throttle/end-ends-sleeps", test_end_ends_sleeps);
    g_test_add_func("/cpu-throttle/stop-does-not-wait",
                    test_stop_does_not_wait);
    g_test_add_func("/cpu-throttle/work-in-a-sleep", test_work_in_a_sleep);
    g_test_add_func("/cpu-throttle/bounded-sleeps", test_bounded_sleeps);
    g_test_add_func("/cpu-throttle/bounds", test_bounds);
    g_test_add_func("/cpu-throttle/exact", test_exact);
    g_test_add_func("/cpu-throttle/set-after-end", test_set_after_end);
    g_test_add_func("/cpu-throttle/two-users", test_two_users);
    g_test_add_func("/cpu-throttle/halted-is-left-alone",
                    test_halted_is_left_alone);
    g_test_add_func("/cpu-throttle/divide", test_divide);
    g_test_add_func("/cpu-throttle/divide-random", test_divide_random);
    ret = g_test_run();
    fake_cpus_exit();
    return ret;
}
