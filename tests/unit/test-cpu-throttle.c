/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of include/system/cpu-throttle.h with an accelerator that only goes
 * round: who sleeps, how often, and what ends a sleep. By counts.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/accel-ops.h"
#include "system/cpu-throttle.h"
#include "system/runstate.h"

#define NR_CPUS   3
#define TYPE_FAKE "fake-cpu"
#define ALMOST    CPU_THROTTLE_MAX /* sleeps of a second */

typedef struct FakeCPU {
    CPUState parent_obj;
    _Atomic uint64_t rounds; /* times round its guest loop */
} FakeCPU;

static FakeCPU *fakes[NR_CPUS];

static bool fake_realize(CPUState *cpu, Error **errp)
{
    return true;
}

static void fake_reset(CPUState *cpu)
{
}

static bool fake_has_work(CPUState *cpu)
{
    return cpu_test_interrupt(cpu, CPU_INTERRUPT_HARD);
}

static void fake_dump(CPUState *cpu, GString *out)
{
}

static void fake_class_init(ObjectClass *oc, const void *data)
{
    CPUClass *cc = CPU_CLASS(oc);

    cc->realize = fake_realize;
    cc->reset = fake_reset;
    cc->has_work = fake_has_work;
    cc->dump_state = fake_dump;
}

static const TypeInfo fake_type = {
    .name = TYPE_FAKE,
    .parent = TYPE_CPU,
    .instance_size = sizeof(FakeCPU),
    .class_init = fake_class_init,
};

static void *TSA_NO_CHECK fake_thread(void *opaque)
{
    FakeCPU *f = opaque;
    CPUState *cpu = opaque;

    vcpu_thread_begin(cpu);
    while (vcpu_thread_wait(cpu)) {
        bql_unlock();
        vcpu_run_begin(cpu);
        while (!vcpu_must_exit(cpu)) {
            atomic_fetch_add(&f->rounds, 1);
            g_usleep(50);
        }
        vcpu_run_end(cpu);
        bql_lock();
    }
    vcpu_thread_end(cpu);
    return NULL;
}

static bool fake_create_thread(CPUState *cpu, Error **errp)
{
    g_autofree char *name = vcpu_thread_name(cpu, "FAKE");

    return qemu_thread_create(cpu->thread, name, fake_thread, cpu,
                              QEMU_THREAD_JOINABLE, errp);
}

static const AccelOps fake_ops = { .create_vcpu_thread = fake_create_thread };

static CPUState *cpu_of(int i)
{
    return CPU(fakes[i]);
}

static uint64_t sleeps(int i)
{
    return cpu_throttle_stats(cpu_of(i)).sleeps;
}

static uint64_t rounds(int i)
{
    return atomic_load(&fakes[i]->rounds);
}

/* Give up the BQL until the counter is @at_least. */
static void TSA_NO_CHECK wait_for(uint64_t (*counter)(int), int i,
                                  uint64_t at_least)
{
    bql_unlock();
    while (counter(i) < at_least) {
        g_usleep(100);
    }
    bql_lock();
}

/* vCPU @i is in a sleep that goes on for long. */
static void let_it_sleep(int i)
{
    cpu_throttle_begin(CPU_THROTTLE_CONVERGE);
    cpu_throttle_set(CPU_THROTTLE_CONVERGE, cpu_of(i), ALMOST);
    wait_for(sleeps, i, sleeps(i) + 1);
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
    cpu_throttle_set(CPU_THROTTLE_CONVERGE, cpu_of(1), 50 * CPU_THROTTLE_PCT);
    wait_for(sleeps, 1, before[1] + 5);
    g_assert_cmpuint(sleeps(0), ==, before[0]);
    g_assert_cmpuint(sleeps(2), ==, before[2]);
    g_assert_cmpuint(cpu_throttle_stats(cpu_of(1)).slept_ns, >=,
                     4 * 10 * SCALE_MS);
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    vm_stop(RUN_STATE_PAUSED);
}

static void test_end_ends_sleeps(void)
{
    CpuThrottleStats before, after;

    vm_start();
    before = cpu_throttle_stats(cpu_of(0));
    let_it_sleep(0);
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    g_assert_cmpuint(cpu_throttle_get(cpu_of(0)), ==, 0);
    wait_for(rounds, 0, rounds(0) + 10);
    after = cpu_throttle_stats(cpu_of(0));
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
    before = cpu_throttle_stats(cpu_of(0));
    vm_stop(RUN_STATE_PAUSED);
    after = cpu_throttle_stats(cpu_of(0));
    g_assert_cmpuint(after.sleeps, ==, before.sleeps);
    g_assert_true(atomic_load(&cpu_of(0)->throttle.sleep_due));
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    vm_start();
    wait_for(rounds, 0, rounds(0) + 1);
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
    before = cpu_throttle_stats(cpu_of(0));
    round = rounds(0);
    for (int i = 0; i < 10; i++) {
        run_on_cpu(cpu_of(0), count_work, RUN_ON_CPU_HOST_PTR(&n));
    }
    after = cpu_throttle_stats(cpu_of(0));
    g_assert_cmpint(n, ==, 10);
    g_assert_cmpuint(rounds(0), ==, round);
    g_assert_cmpuint(after.sleeps, ==, before.sleeps);
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    vm_stop(RUN_STATE_PAUSED);
}

/* Who comes too late to throttle does not. */
static void test_set_after_end(void)
{
    cpu_throttle_begin(CPU_THROTTLE_CONVERGE);
    g_assert_true(cpu_throttle_is_on(CPU_THROTTLE_CONVERGE));
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    cpu_throttle_set(CPU_THROTTLE_CONVERGE, cpu_of(0), ALMOST);
    g_assert_cmpuint(cpu_throttle_get(cpu_of(0)), ==, 0);
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    g_assert_false(cpu_throttle_is_on(CPU_THROTTLE_CONVERGE));
}

/* The larger share counts, and stays when the other user ends. */
static void test_two_users(void)
{
    cpu_throttle_begin(CPU_THROTTLE_CONVERGE);
    cpu_throttle_begin(CPU_THROTTLE_LIMIT);
    cpu_throttle_set(CPU_THROTTLE_CONVERGE, cpu_of(0), 500000);
    cpu_throttle_set(CPU_THROTTLE_LIMIT, cpu_of(0), 300000);
    g_assert_cmpuint(cpu_throttle_get(cpu_of(0)), ==, 500000);
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    g_assert_cmpuint(cpu_throttle_get(cpu_of(0)), ==, 300000);
    cpu_throttle_set(CPU_THROTTLE_LIMIT, cpu_of(0), CPU_THROTTLE_ONE);
    g_assert_cmpuint(cpu_throttle_get(cpu_of(0)), ==, CPU_THROTTLE_MAX);
    cpu_throttle_end(CPU_THROTTLE_LIMIT);
    g_assert_cmpuint(cpu_throttle_get(cpu_of(0)), ==, 0);
}

static void halt(CPUState *cpu, run_on_cpu_data data)
{
    cpu->halted = 1;
}

/* A vCPU that is halted while another's sleeps are counted has none. */
static void test_halted_is_left_alone(void)
{
    uint64_t before;

    vm_start();
    run_on_cpu(cpu_of(2), halt, RUN_ON_CPU_NULL);
    before = sleeps(2);
    cpu_throttle_begin(CPU_THROTTLE_CONVERGE);
    for (int i = 0; i < NR_CPUS; i++) {
        cpu_throttle_set(CPU_THROTTLE_CONVERGE, cpu_of(i),
                         20 * CPU_THROTTLE_PCT);
    }
    wait_for(sleeps, 0, sleeps(0) + 5);
    g_assert_cmpuint(sleeps(2), ==, before);
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    vm_stop(RUN_STATE_PAUSED);
    cpu_of(2)->halted = 0;
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

int TSA_NO_CHECK main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    qom_register_types();
    cpu_register_types();
    type_register_static(&fake_type);
    main_loop_init();
    timers_init();
    runstate_init();
    accel_ops_set(&fake_ops);
    for (int i = 0; i < NR_CPUS; i++) {
        fakes[i] = (FakeCPU *)object_new(TYPE_FAKE);
        g_assert_true(cpu_realize(CPU(fakes[i]), &error_abort));
    }

    g_test_add_func("/cpu-throttle/only-who-shall", test_only_who_shall);
    g_test_add_func("/cpu-throttle/end-ends-sleeps", test_end_ends_sleeps);
    g_test_add_func("/cpu-throttle/stop-does-not-wait",
                    test_stop_does_not_wait);
    g_test_add_func("/cpu-throttle/work-in-a-sleep", test_work_in_a_sleep);
    g_test_add_func("/cpu-throttle/set-after-end", test_set_after_end);
    g_test_add_func("/cpu-throttle/two-users", test_two_users);
    g_test_add_func("/cpu-throttle/halted-is-left-alone",
                    test_halted_is_left_alone);
    g_test_add_func("/cpu-throttle/divide", test_divide);
    g_test_add_func("/cpu-throttle/divide-random", test_divide_random);
    ret = g_test_run();
    cpus_shutdown();
    bql_unlock();
    return ret;
}
