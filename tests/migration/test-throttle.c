/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guests that write too fast: who is made to sleep for it, by how much, and
 * what ends that. vCPU 0 writes, vCPU 1 only computes (it goes on reading).
 * By counts of sleeps and attributed pages, never by time.
 */
#include "qemu/osdep.h"

#include "guest-check.h"
#include "guest-fixture.h"

/* One vCPU that writes, and one that is told not to (only_cpu_0_writes()). */
#define WRITER_AND_READER                                               \
    .guest = "workload", .guest_args = "ws=32 cpus=2", .guest_cpus = 2, \
    .ram_mib = 64, .own_only = true, .prepare = only_cpu_0_writes
#define ONE_WRITER \
    .guest = "workload", .guest_args = "ws=16", .ram_mib = 64, .own_only = true

static const char *const caps_converge[] = { "auto-converge", "return-path",
                                             NULL };

/* The workload takes parameters from the test while it runs (ctl.h). */
static void only_cpu_0_writes(MigrationPair *p)
{
    volatile struct ctl_page *c = (struct ctl_page *)(p->src_ram + CTL_OFFSET +
                                                      CTL_PAGE_SIZE);
    uint64_t writes;

    c->write_pct = 0;
    c->seq++;
    do {
        writes = c->writes;
        g_usleep(20000);
    } while (c->writes != writes);
}

static json_object *vcpu(json_object *info, unsigned i)
{
    g_autofree char *path = g_strdup_printf("details.throttle.vcpus.%u", i);
    json_object *v = json_path(info, path);

    g_assert_nonnull(v);
    g_assert_cmpint(json_path_int(v, "id"), ==, i);
    return v;
}

/*
 * However slowly the guest runs (sanitizers, a busy host), it must not be done
 * before it was looked at: from the second pass on, what is left takes minutes.
 * Checks come within rounds, so there is no need for another one.
 */
static void hold_back(MigrationPair *p)
{
    migration_wait_pass(p->src, 2);
    migration_set_params(p->src, "'max-bandwidth':300000");
}

/* Poll until vCPU 0 has slept at least @sleeps times. */
static json_object *wait_for_sleeps(MigrationPair *p, int64_t sleeps)
{
    hold_back(p);
    for (;;) {
        json_object *r = migration_query(p->src);

        g_assert_true(g_str_equal(json_path_str(r, "status"), "setup") ||
                      g_str_equal(json_path_str(r, "status"), "active"));
        if (json_path(r, "details.throttle") &&
            json_path_int(vcpu(r, 0), "sleeps") >= sleeps) {
            return r;
        }
        json_object_put(r);
        g_usleep(5000);
    }
}

static void check_who_sleeps(json_object *info)
{
    g_assert_cmpint(json_path_int(vcpu(info, 0), "sleeps"), >, 0);
    g_assert_cmpint(json_path_int(vcpu(info, 0), "slept"), >, 0);
    g_assert_cmpint(json_path_int(vcpu(info, 1), "sleeps"), ==, 0);
    g_assert_cmpint(json_path_int(vcpu(info, 1), "slept"), ==, 0);
    /* The reason: it is the writer by far. */
    g_assert_cmpint(json_path_int(vcpu(info, 0), "written"), >,
                    50 * json_path_int(vcpu(info, 1), "written"));
}

static int64_t all_sleeps(QTestState *s)
{
    g_autoptr(json_object)
        r = qtest_qmp_ok(s, "{'execute':'query-dirty-tracking'}");

    g_assert_cmpfloat(json_object_get_double(json_path(r, "vcpus.0.asleep")),
                      ==, 0);
    return json_path_int(r, "vcpus.0.sleeps");
}

/*
 * The guest goes round its loop on that side, and makes a good many more steps
 * than fit between two sleeps, without one.
 */
static void assert_no_more_sleeps(MigrationPair *p, bool dst)
{
    QTestState *s = dst ? p->dst : p->src;
    const volatile struct ctl_page *c = workload_ctl(
        dst ? p->dst_ram : p->src_ram, 0);
    int64_t sleeps = all_sleeps(s);

    g_assert_true(dst ? sleeps == 0 : sleeps > 0);
    for (unsigned i = 0; i < 20; i++) {
        uint64_t ops = c->ops;

        while (c->ops < ops + 1000) {
            g_usleep(1000);
        }
        g_usleep(20000);
    }
    g_assert_cmpint(all_sleeps(s), ==, sleeps);
}

/*
 * After a migration that ended well: the source's vCPUs are let go, and the
 * guest, which was throttled to its last moment, never was on the target. It
 * was stopped there to be compared.
 */
static void full_rate_on_target(MigrationPair *p)
{
    g_assert_cmpint(all_sleeps(p->src), >, 0);
    g_assert_cmpint(all_sleeps(p->dst), ==, 0);
    json_object_put(qtest_qmp_ok(p->dst, "{'execute':'cont'}"));
    assert_no_more_sleeps(p, true);
}

/* ---- auto-converge ---- */

/* 2 MB/s would take for ever; so the percentage rises until it does not. */
static void throttled_until_it_fits(MigrationPair *p)
{
    g_autoptr(json_object) r = wait_for_sleeps(p, 20);
    int64_t pct = json_path_int(r, "cpu-throttle-percentage");
    g_autofree char *text = qtest_hmp(p->src, "info migrate -a");

    /* 20, 30, 40, ... */
    g_assert_cmpint(pct, >=, 20);
    g_assert_cmpint(pct % 10 == 0 || pct == 99, ==, true);
    g_assert_cmpint(json_path_int(r, "details.throttle.checks"), >=, 2);
    check_who_sleeps(r);
    g_assert_nonnull(strstr(text, "\r\nCPU Throttle (%): "));
    let_it_go(p);
}

static void check_result(MigrationPair *p)
{
    g_autoptr(json_object) r = migration_query(p->src);

    g_assert_null(json_path(r, "cpu-throttle-percentage"));
    g_assert_cmpint(json_path_int(r, "details.throttle.percentage"), >=, 20);
    check_who_sleeps(r);
    full_rate_on_target(p);
}

static const MigrationTest converge_test = {
    .name = "/throttle/auto-converge/only-the-writer-sleeps",
    WRITER_AND_READER,
    .caps = caps_converge,
    .params = "'max-bandwidth':20000000,'downtime-limit':0",
    .during = throttled_until_it_fits,
    .after = check_result,
};

/*
 * Rounds that take minutes: the checks do not wait for their end. The second
 * round is the last that begins.
 */
static void raised_within_one_round(MigrationPair *p)
{
    int64_t round;

    hold_back(p);
    g_autoptr(json_object) before = migration_query(p->src);
    round = json_path_int(before, "ram.dirty-sync-count");
    for (;;) {
        g_autoptr(json_object) r = migration_query(p->src);

        g_assert_cmpint(json_path_int(r, "ram.dirty-sync-count"), ==, round);
        if (json_path(r, "cpu-throttle-percentage") &&
            json_path_int(r, "cpu-throttle-percentage") >= 50) {
            break;
        }
        g_usleep(5000);
    }
    let_it_go(p);
}

static const MigrationTest within_round_test = {
    .name = "/throttle/auto-converge/raised-within-one-round",
    ONE_WRITER,
    .caps = caps_converge,
    .params = HELD_BACK,
    .during = raised_within_one_round,
};

/* Both can be set; what was not asked for is not done. */
static void check_steps(MigrationPair *p)
{
    g_autoptr(json_object) r = wait_for_sleeps(p, 10);
    int64_t pct = json_path_int(r, "cpu-throttle-percentage");

    g_assert_true(pct == 5 || pct == 8 || pct == 9);
    let_it_go(p);
}

static const MigrationTest steps_test = {
    .name = "/throttle/auto-converge/initial-increment-max",
    ONE_WRITER,
    .caps = caps_converge,
    .params = "'max-bandwidth':10000000,'downtime-limit':0,"
              "'cpu-throttle-initial':5,'cpu-throttle-increment':3,"
              "'max-cpu-throttle':9",
    .during = check_steps,
};

/*
 * A guest that writes less than is sent is let alone. It writes all of its set
 * in the first pass, so that the second takes seconds, and little from then on.
 */
static void never_throttled(MigrationPair *p)
{
    volatile struct ctl_page *c = (struct ctl_page *)(p->src_ram + CTL_OFFSET);
    int64_t checks = 0;

    migration_wait_pass(p->src, 2);
    c->rate = 20;
    c->seq++;
    while (checks < 3) {
        g_autoptr(json_object) r = migration_query(p->src);

        if (json_path(r, "details.throttle")) {
            checks = json_path_int(r, "details.throttle.checks");
            g_assert_null(json_path(r, "cpu-throttle-percentage"));
            g_assert_cmpint(json_path_int(r, "details.throttle.percentage"), ==,
                            0);
            g_assert_cmpint(json_path_int(vcpu(r, 0), "sleeps"), ==, 0);
        }
        if (g_str_equal(json_path_str(r, "status"), "completed")) {
            g_assert_cmpint(checks, >, 0);
            return;
        }
        g_usleep(5000);
    }
    let_it_go(p);
}

static const MigrationTest quiet_test = {
    .name = "/throttle/auto-converge/a-quiet-guest-never-sleeps",
    .guest = "workload",
    .guest_args = "ws=16 rate=20000",
    .ram_mib = 64,
    .caps = caps_converge,
    .params = "'max-bandwidth':5000000,'downtime-limit':0,"
              "'throttle-trigger-threshold':100",
    .own_only = true,
    .during = never_throttled,
};

/* ---- dirty-limit ---- */

static const char *const caps_limit[] = { "dirty-limit", "return-path", NULL };

static void limited(MigrationPair *p)
{
    g_autofree char *both = qtest_qmp_fail(
        p->src, "{'execute':'migrate-set-capabilities','arguments':"
                "{'capabilities':[{'capability':'auto-converge',"
                "'state':true}]}}");
    g_autoptr(json_object) r = wait_for_sleeps(p, 10);
    g_autofree char *text = qtest_hmp(p->src, "info migrate -a");
    g_autoptr(json_object)
        list = qtest_qmp_ok(p->src, "{'execute':'query-vcpu-dirty-limit'}");

    g_assert_nonnull(strstr(both, "under way"));
    g_assert_null(json_path(r, "cpu-throttle-percentage"));
    check_who_sleeps(r);
    g_assert_cmpint(json_path_int(r, "dirty-limit-throttle-time-per-round"), >,
                    0);
    g_assert_nonnull(strstr(text, "Dirty-limit Throttle (us): "));
    g_assert_cmpint(json_path_int(list, "0.limit-rate"), ==, 2);
    g_assert_cmpint(json_path_int(list, "1.limit-rate"), ==, 2);

    /* A parameter acts at once. */
    migration_set_params(p->src, "'vcpu-dirty-limit':3");
    for (;;) {
        g_autoptr(json_object)
            now = qtest_qmp_ok(p->src, "{'execute':'query-vcpu-dirty-limit'}");

        if (json_path_int(now, "0.limit-rate") == 3) {
            break;
        }
        g_usleep(5000);
    }
    let_it_go(p);
}

static void limit_has_ended(MigrationPair *p)
{
    g_autoptr(json_object)
        list = qtest_qmp_ok(p->src, "{'execute':'query-vcpu-dirty-limit'}");
    g_autoptr(json_object) r = migration_query(p->src);

    g_assert_cmpuint(json_object_array_length(list), ==, 0);
    g_assert_null(json_path(r, "dirty-limit-throttle-time-per-round"));
    check_who_sleeps(r);
    full_rate_on_target(p);
}

static const MigrationTest limit_test = {
    .name = "/throttle/dirty-limit/only-the-writer-sleeps",
    WRITER_AND_READER,
    .caps = caps_limit,
    .params = "'max-bandwidth':20000000,'downtime-limit':0,"
              "'vcpu-dirty-limit':2,'x-vcpu-dirty-limit-period':200",
    .during = limited,
    .after = limit_has_ended,
};

static void ring_full_time(MigrationPair *p)
{
    hold_back(p);
    for (;;) {
        g_autoptr(json_object) r = migration_query(p->src);

        if (json_path(r, "dirty-limit-ring-full-time")) {
            g_assert_cmpint(json_path_int(r, "dirty-limit-ring-full-time"), >,
                            0);
            break;
        }
        g_usleep(5000);
    }
    json_object_put(wait_for_sleeps(p, 3));
    json_object_put(qtest_qmp_ok(p->src, "{'execute':'migrate_cancel'}"));
    migration_wait(p->src, "cancelled");
    g_autoptr(json_object)
        list = qtest_qmp_ok(p->src, "{'execute':'query-vcpu-dirty-limit'}");
    g_assert_cmpuint(json_object_array_length(list), ==, 0);
    assert_no_more_sleeps(p, false);
    migration_new_target(p);
    migration_target_listen(p);
    let_it_go(p);
    migration_go(p);
}

static const MigrationTest limit_rings_test = {
    .name = "/throttle/dirty-limit/rings-then-cancel",
    .guest = "workload",
    .guest_args = "ws=32",
    .accel = "tcg,dirty-ring-size=1024",
    .ram_mib = 64,
    .caps = caps_limit,
    .params = "'max-bandwidth':20000000,'downtime-limit':0,"
              "'vcpu-dirty-limit':2,'x-vcpu-dirty-limit-period':200",
    .own_only = true,
    .during = ring_full_time,
};

/* The same finding and the same writers, with rings. */
static const MigrationTest converge_rings_test = {
    .name = "/throttle/auto-converge/only-the-writer-sleeps-rings",
    WRITER_AND_READER,
    .accel = "tcg,dirty-ring-size=1024",
    .caps = caps_converge,
    .params = "'max-bandwidth':20000000,'downtime-limit':0",
    .during = throttled_until_it_fits,
    .after = check_result,
};

/* ---- stalls ---- */

static const char *const caps_events[] = { "events", "return-path", NULL };

/* Nothing helps this guest, and it is said: once, with what would help. */
static void told_that_it_stalls(MigrationPair *p)
{
    g_autoptr(json_object) ev = qtest_event(p->src, "MIGRATION_STALLED");
    g_autoptr(json_object) r = migration_query(p->src);
    g_autofree char *text = qtest_hmp(p->src, "info migrate");
    int64_t needed_us;

    g_assert_cmpint(json_path_int(ev, "data.remaining"), >, 4096);
    g_assert_cmpint(json_path_int(ev, "data.bandwidth"), >, 0);
    g_assert_cmpint(json_path_int(ev, "data.dirty-rate"), >, 0);
    needed_us = json_path_int(ev, "data.downtime");
    g_assert_cmpint(needed_us, >, 1000);
    g_assert_cmpint(json_path_int(r, "details.prediction.stall.count"), ==, 1);
    g_assert_cmpint(json_path_int(r, "details.prediction.stall.remaining"), >,
                    4096);
    g_assert_nonnull(strstr(text, "\r\nStalled: "));
    g_assert_null(qtest_event_timeout(p->src, "MIGRATION_STALLED", 3000));

    /* The limit that it said would do does (twice of it: times vary). */
    migration_set_params(p->src, "'downtime-limit':%" PRId64,
                         needed_us * 2 / 1000);
}

static const MigrationTest stall_test = {
    .name = "/throttle/stall/told-once-with-what-helps",
    .guest = "workload",
    .guest_args = "ws=4",
    .ram_mib = 64,
    .caps = caps_events,
    .params = "'max-bandwidth':20000000,'downtime-limit':0",
    .own_only = true,
    .during = told_that_it_stalls,
};

/* A slow migration of a quiet guest is none. */
static void not_told(MigrationPair *p)
{
    migration_wait_pass(p->src, 2);
    migration_wait(p->src, "completed");
    g_assert_null(qtest_event_timeout(p->src, "MIGRATION_STALLED", 10));
}

static const MigrationTest no_stall_test = {
    .name = "/throttle/stall/slow-is-no-stall",
    .guest = "workload",
    .guest_args = "ws=16 rate=100",
    .ram_mib = 64,
    .caps = caps_events,
    .params = "'max-bandwidth':2500000,'downtime-limit':100",
    .own_only = true,
    .during = not_told,
};

/* ---- what ends it ---- */

static void cancel(MigrationPair *p)
{
    json_object_put(wait_for_sleeps(p, 3));
    json_object_put(qtest_qmp_ok(p->src, "{'execute':'migrate_cancel'}"));
    migration_wait(p->src, "cancelled");
    assert_no_more_sleeps(p, false);

    /* And a new one begins with nothing. */
    migration_new_target(p);
    migration_target_listen(p);
    migration_set_cap(p->src, "auto-converge", false);
    let_it_go(p);
    migration_go(p);
    migration_wait(p->src, "completed");
    g_autoptr(json_object) r = migration_query(p->src);
    g_assert_null(json_path(r, "details.throttle"));
}

static const MigrationTest cancel_test = {
    .name = "/throttle/auto-converge/ends-with-cancel",
    ONE_WRITER,
    .caps = caps_converge,
    .params = "'max-bandwidth':10000000,'downtime-limit':0,"
              "'cpu-throttle-initial':99",
    .during = cancel,
};

static void fail(MigrationPair *p)
{
    int64_t sleeps;

    json_object_put(wait_for_sleeps(p, 3));
    qtest_kill(p->dst);
    p->dst = NULL;
    migration_wait(p->src, "failed");
    {
        g_autoptr(json_object) r = migration_query(p->src);

        sleeps = json_path_int(vcpu(r, 0), "sleeps");
        g_assert_cmpint(sleeps, >=, 3);
    }
    assert_no_more_sleeps(p, false);
    qtest_assert_status(p->src, "running");

    migration_new_target(p);
    migration_target_listen(p);
    let_it_go(p);
    migration_go(p);
}

static const MigrationTest fail_test = {
    .name = "/throttle/auto-converge/ends-with-failure",
    ONE_WRITER,
    .caps = caps_converge,
    .params = "'max-bandwidth':10000000,'downtime-limit':0,"
              "'cpu-throttle-initial':99",
    .during = fail,
};

/* ---- parameters ---- */

static void expect_fail(QTestState *s, const char *params, const char *words)
{
    g_autofree char *desc = qtest_qmp_fail(
        s, "{'execute':'migrate-set-parameters','arguments':{%s}}", params);

    if (!strstr(desc, words)) {
        g_error("'%s' does not say '%s'", desc, words);
    }
}

static void test_parameters(void)
{
    QTestState *s = qtest_start("-M none -global "
                                "migration.x-cpu-throttle-initial=25");
    g_autofree char *set = NULL, *text = NULL, *err = NULL, *both = NULL;

    g_assert_cmpint(
        qtest_run("-M none -global migration.max-cpu-throttle=19", NULL, &err),
        ==, 1);
    g_assert_nonnull(strstr(err, "(20), not 19"));
    g_assert_cmpint(qtest_run("-M none -global migration.x-dirty-limit=on "
                              "-global migration.x-auto-converge=on",
                              NULL, &both),
                    ==, 1);
    g_assert_nonnull(strstr(both, "only one of them"));
    expect_fail(s, "'cpu-throttle-initial':0", "between 1 and 99");
    expect_fail(s, "'cpu-throttle-initial':100", "between 1 and 99");
    expect_fail(s, "'cpu-throttle-increment':0", "between 1 and 99");
    expect_fail(s, "'throttle-trigger-threshold':0", "between 1 and 100");
    expect_fail(s, "'throttle-trigger-threshold':101", "between 1 and 100");
    expect_fail(s, "'max-cpu-throttle':24", "cpu-throttle-initial (25)");
    expect_fail(s, "'max-cpu-throttle':50,'cpu-throttle-initial':60", "(60)");
    expect_fail(s, "'vcpu-dirty-limit':0", "between 1 and");
    expect_fail(s, "'x-vcpu-dirty-limit-period':1001", "between 1 and 1000");
    set = qtest_hmp(s, "migrate_set_parameter cpu-throttle-tailslow on");
    g_assert_cmpstr(set, ==, "");
    migration_set_params(s, "'throttle-trigger-threshold':70,"
                            "'max-cpu-throttle':80,'vcpu-dirty-limit':5");
    text = qtest_hmp(s, "info migrate_parameters");
    g_assert_true(g_str_has_prefix(text, "throttle-trigger-threshold: 70\r\n"
                                         "cpu-throttle-initial: 25\r\n"
                                         "cpu-throttle-increment: 10\r\n"
                                         "cpu-throttle-tailslow: on\r\n"
                                         "max-cpu-throttle: 80\r\n"));
    g_assert_nonnull(strstr(text, "x-vcpu-dirty-limit-period: 1000 ms\r\n"
                                  "vcpu-dirty-limit: 5 MB/s\r\n"));
    g_autoptr(json_object)
        r = qtest_qmp_ok(s, "{'execute':'query-migrate-parameters'}");
    g_assert_true(json_path_bool(r, "cpu-throttle-tailslow"));
    g_assert_cmpint(json_path_int(r, "cpu-throttle-initial"), ==, 25);
    qtest_quit(s);
}

static void add_tests(void)
{
    static const MigrationTest *const tests[] = {
        &converge_test, &within_round_test, &steps_test,
        &quiet_test,    &cancel_test,       &fail_test,
        &limit_test,    &limit_rings_test,  &converge_rings_test,
        &stall_test,    &no_stall_test,
    };

    g_test_add_func("/throttle/parameters", test_parameters);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        migration_test_add(tests[i]);
    }
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add_tests);
}
