/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration of a guest that writes memory all the time: nothing may be lost,
 * whatever is done to the migration.
 */
#include "qemu/osdep.h"

#include "guest-fixture.h"
#include "guest-machine.h"

/*
 * Whether it converges is not left to the guest, nor to how much of the host
 * it gets: the second pass is forced.
 */
static void let_it_go_after_pass_2(MigrationPair *p)
{
    migration_wait_pass(p->src, 2);
    let_it_go(p);
}

static const MigrationTest counter_test = {
    .name = "/migration/guest/page-counter",
    .guest = "page-counter",
    .guest_args = "ws=32",
    .ram_mib = 64,
    .caps = caps_return_path,
    .params = "'max-bandwidth':0,'downtime-limit':500",
    .during = let_it_go_after_pass_2,
};

static const MigrationTest workload_test = {
    .name = "/migration/guest/workload-two-cpus-second-pass-forced",
    .guest = "workload",
    .guest_args = "ws=16 cpus=2 bytes=64 rate=20000",
    .guest_cpus = 2,
    .ram_mib = 64,
    .caps = caps_return_path,
    .params = "'max-bandwidth':30000000,'downtime-limit':0",
    .during = let_it_go_after_pass_2,
};

/* The benchmarks' "before" loses no write either. */
static void were_single_clears(MigrationPair *p)
{
    g_autoptr(json_object) r = migration_query(p->src);
    json_object *rounds = json_path(r, "details.recent-rounds");
    int64_t pages = 0, clears = 0;

    for (size_t i = 0; i < json_object_array_length(rounds); i++) {
        json_object *round = json_object_array_get_idx(rounds, i);

        pages += json_path_int(round, "sync.new-pages");
        clears += json_path_int(round, "sync.clears");
    }
    g_test_message("%" PRId64 " pages, %" PRId64 " clears", pages, clears);
    /* With the sweep there are a few: one for each block and round. */
    g_assert_cmpint(pages, >, 1000);
    g_assert_cmpint(clears, >, pages / 2);
}

static const MigrationTest by_page_test = {
    .name = "/migration/guest/sync-by-page",
    .guest = "workload",
    .guest_args = "ws=16 bytes=64 pat=random",
    .ram_mib = 64,
    .src_args = "-global migration.x-sync-by-page=on",
    .caps = caps_return_path,
    .params = "'max-bandwidth':30000000,'downtime-limit':0",
    .during = let_it_go_after_pass_2,
    .after = were_single_clears,
    .own_only = true,
};

static const MigrationTest tcp_test = {
    .name = "/migration/guest/workload-over-tcp",
    .listen = "tcp:127.0.0.1:0",
    .guest = "workload",
    .guest_args = "ws=16 bytes=4096",
    .ram_mib = 64,
    .params = "'max-bandwidth':30000000,'downtime-limit':0",
    .during = let_it_go_after_pass_2,
};

/* 3 MB/s and 1 ms: a guest that writes faster must not get through. */
static void must_not_converge(MigrationPair *p)
{
    gint64 end = g_get_monotonic_time() + 3 * G_USEC_PER_SEC;

    migration_wait(p->src, "active");
    while (g_get_monotonic_time() < end) {
        g_assert_cmpstr(migration_status(p->src), ==, "active");
        g_usleep(20000);
    }
    /* Raised limits act at once. */
    let_it_go(p);
}

/*
 * Not the page counter: each time that its bytes come round to zero, its pages
 * are zero pages, which travel for nothing.
 */
static const MigrationTest converge_test = {
    .name = "/migration/guest/does-not-converge-until-limits-are-raised",
    .guest = "workload",
    .guest_args = "ws=8",
    .ram_mib = 64,
    .params = "'max-bandwidth':3000000,'downtime-limit':1",
    .during = must_not_converge,
};

static void cancel_then_again(MigrationPair *p)
{
    migration_wait_pass(p->src, 2);
    g_autoptr(json_object)
        G_GNUC_UNUSED r = qtest_qmp_ok(p->src, "{'execute':'migrate_cancel'}");
    migration_wait(p->src, "cancelled");
    migration_assert_guest_runs(p, false);
    qtest_assert_status(p->src, "running");

    migration_new_target(p);
    migration_target_listen(p);
    let_it_go(p);
    migration_go(p);
}

static const MigrationTest cancel_test = {
    .name = "/migration/guest/cancelled-in-pass-2-then-again",
    .guest = "workload",
    .guest_args = "ws=16",
    .ram_mib = 64,
    .params = HELD_BACK,
    .during = cancel_then_again,
};

/* The target dies in the middle: the source runs on, and can go elsewhere. */
static void kill_target(MigrationPair *p)
{
    migration_wait_pass(p->src, 2);
    qtest_kill(p->dst);
    p->dst = NULL;
    migration_wait(p->src, "failed");
    migration_assert_guest_runs(p, false);
    qtest_assert_status(p->src, "running");

    migration_new_target(p);
    migration_target_listen(p);
    let_it_go(p);
    migration_go(p);
}

static const MigrationTest kill_test = {
    .name = "/migration/guest/target-killed-then-again",
    .guest = "workload",
    .guest_args = "ws=16",
    .ram_mib = 64,
    .caps = caps_return_path,
    .params = HELD_BACK,
    .during = kill_target,
};

/* A paused guest goes over paused. */
static void pause_it(MigrationPair *p)
{
    G_GNUC_UNUSED g_autoptr(json_object)
        r = qtest_qmp_ok(p->src, "{'execute':'stop'}");
}

static void target_is_paused(MigrationPair *p)
{
    migration_wait(p->src, "completed");
    migration_wait(p->dst, "completed");
    qtest_assert_status(p->dst, "paused");
    migration_check_guest(p, true);
    G_GNUC_UNUSED g_autoptr(json_object)
        r = qtest_qmp_ok(p->dst, "{'execute':'cont'}");
    migration_assert_guest_runs(p, true);
}

static const MigrationTest paused_test = {
    .name = "/migration/guest/paused-stays-paused",
    .guest = "workload",
    .guest_args = "ws=16",
    .ram_mib = 64,
    .prepare = pause_it,
    .during = target_is_paused,
    .end = MIGRATION_LEFT_TO_HOOKS,
};

/* Shared memory stays where it is: only the rest moves. */
static const char *const caps_shared[] = { "return-path", "x-ignore-shared",
                                           NULL };

static const MigrationTest shared_test = {
    .name = "/migration/guest/ignore-shared-same-memory",
    .guest = "workload",
    .guest_args = "ws=16 cpus=2",
    .guest_cpus = 2,
    .ram_mib = 64,
    .caps = caps_shared,
    .same_ram = true,
    .during = let_it_go,
};

/* Stopped for the switchover, then not moved after all. */
static const char *const caps_pause[] = { "pause-before-switchover", NULL };

static void cancel_stopped(MigrationPair *p)
{
    migration_wait(p->src, "pre-switchover");
    qtest_assert_status(p->src, "finish-migrate");
    migration_check_guest(p, false);
    g_autoptr(json_object)
        G_GNUC_UNUSED r = qtest_qmp_ok(p->src, "{'execute':'migrate_cancel'}");
    migration_wait(p->src, "cancelled");
    migration_assert_guest_runs(p, false);

    migration_set_cap(p->src, "pause-before-switchover", false);
    migration_new_target(p);
    migration_target_listen(p);
    migration_go(p);
}

static const MigrationTest pause_test = {
    .name = "/migration/guest/cancelled-in-pre-switchover-then-again",
    .guest = "workload",
    .guest_args = "ws=16",
    .ram_mib = 64,
    .caps = caps_pause,
    .params = "'max-bandwidth':0,'downtime-limit':5000",
    .during = cancel_stopped,
};

/* The machine with the other interrupt controller, and more CPUs. */
static const MigrationTest gicv3_test = {
    .name = "/migration/guest/gicv3-four-cpus",
    .src_args = "-M gic-version=3",
    .dst_args = "-M gic-version=3",
    .guest = "workload",
    .guest_args = "ws=16 cpus=4 rate=40000",
    .guest_cpus = 4,
    .ram_mib = 64,
    .caps = caps_return_path,
    .during = let_it_go_after_pass_2,
};

/*
 * Many in a row: the target becomes the next source. Over unix and tcp in
 * turns; a third of them are cancelled at some moment first. Nothing may be
 * lost, and nothing of the process (fds, threads) may pile up.
 */
static unsigned count_dir(pid_t pid, const char *what)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/%s", (int)pid, what);
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    unsigned n = 0;

    while (dir && g_dir_read_name(dir)) {
        n++;
    }
    return n;
}

static void assert_falls_to(QTestState *s, const char *what, unsigned most)
{
    gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;

    while (count_dir(qtest_pid(s), what) > most &&
           g_get_monotonic_time() < end) {
        g_usleep(1000);
    }
    g_assert_cmpuint(count_dir(qtest_pid(s), what), <=, most);
}

static unsigned loop_count(void)
{
    const char *n = g_getenv("MIGRATION_TEST_LOOPS");
    const char *soak = g_getenv("MIGRATION_TEST_SOAK");

    if (soak) {
        return g_getenv("FERRY_SOAK") ? atoi(soak) : 0;
    }
    return n ? atoi(n) : 50;
}

/* One plan: the same guest, over unix and tcp in turns. */
#define LOOP_TESTS(...)                              \
    {                                                \
        { __VA_ARGS__ },                             \
        {                                            \
            __VA_ARGS__, .listen = "tcp:127.0.0.1:0" \
        }                                            \
    }

static const MigrationTest counter_loop[2] =
    LOOP_TESTS(.name = "/migration/guest/loop", .guest = "page-counter",
               .guest_args = "ws=8", .ram_mib = 32);

static const MigrationTest workload_loop[2] =
    LOOP_TESTS(.name = "/migration/guest/loop-workload", .guest = "workload",
               .guest_args = "ws=12 cpus=3 bytes=256", .guest_cpus = 3,
               .ram_mib = 32);

/* Returns whether it was completed before the cancel came. */
static bool cancel_somewhere(MigrationPair *p)
{
    unsigned fds = count_dir(qtest_pid(p->src), "fd");
    unsigned threads = count_dir(qtest_pid(p->src), "task");
    const char *status;

    migration_go(p);
    g_usleep(g_test_rand_int_range(0, 60000));
    g_autoptr(json_object)
        G_GNUC_UNUSED r = qtest_qmp_ok(p->src, "{'execute':'migrate_cancel'}");
    while (!g_str_equal(status = migration_status(p->src), "cancelled") &&
           !g_str_equal(status, "completed")) {
        g_usleep(500);
    }
    if (g_str_equal(status, "completed")) {
        return true; /* the target has it */
    }
    migration_assert_guest_runs(p, false);
    /* A connection that came too late is dropped by its own thread. */
    for (int ms = 0; ms < 2000 && count_dir(qtest_pid(p->src), "fd") > fds;
         ms++) {
        g_usleep(1000);
    }
    /* The thread of an attempt that was given up lets go of its socket soon. */
    assert_falls_to(p->src, "fd", fds);
    /* The migration thread that has ended may still wait to be joined. */
    assert_falls_to(p->src, "task", threads + 1);
    migration_new_target(p);
    migration_target_listen(p);
    return false;
}

static void run_loop(const MigrationTest *tests, unsigned n)
{
    unsigned cancelled = 0;
    MigrationPair *p;

    if (!migration_guests_work()) {
        g_test_skip(guest_machine_why_not());
        return;
    }
    if (n == 0) {
        g_test_skip("for `make soak`");
        return;
    }
    p = migration_pair_new(&tests[0]);
    migration_start_source(p);
    for (unsigned i = 0; i < n; i++) {
        bool done = false;

        p->test = &tests[i % 2];
        migration_set_params(p->src,
                             "'max-bandwidth':300000000,'downtime-limit':200");
        migration_set_cap(p->src, "return-path", i % 4 < 2);
        migration_new_target(p);
        migration_target_listen(p);
        if (i % 3 == 2) {
            done = cancel_somewhere(p);
            cancelled += !done;
        }
        if (!done) {
            migration_set_params(p->src, "'max-bandwidth':0,"
                                         "'downtime-limit':5000");
            migration_go(p);
            migration_wait(p->src, "completed");
        }
        migration_wait(p->dst, "completed");
        migration_assert_guest_runs(p, true);
        g_autoptr(json_object)
            G_GNUC_UNUSED stop = qtest_qmp_ok(p->dst, "{'execute':'stop'}");
        migration_check_guest(p, true);
        g_autoptr(json_object)
            G_GNUC_UNUSED cont = qtest_qmp_ok(p->dst, "{'execute':'cont'}");

        migration_turn_round(p);
    }
    g_test_message("%u migrations, %u of them cancelled first", n, cancelled);
    qtest_quit(p->src);
    p->src = NULL;
    migration_pair_free(p);
}

static void test_loop(void)
{
    run_loop(counter_loop, loop_count());
}

static void test_loop_workload(void)
{
    run_loop(workload_loop, loop_count() / 5);
}

static void add_tests(void)
{
    static const MigrationTest *const tests[] = {
        &counter_test, &workload_test, &tcp_test,    &converge_test,
        &cancel_test,  &kill_test,     &paused_test, &shared_test,
        &pause_test,   &by_page_test,
    };

    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        migration_test_add(tests[i]);
    }
    if (g_str_equal(qtest_arch(), "aarch64")) {
        migration_test_add(&gicv3_test);
    }
    g_test_add_func("/migration/guest/loop", test_loop);
    g_test_add_func("/migration/guest/loop-workload", test_loop_workload);
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add_tests);
}
