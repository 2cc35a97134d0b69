/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration that goes wrong, on machines without a guest: cancels, peers that
 * stand still, end or refuse, and what a user may not do.
 */
#include "qemu/osdep.h"

#include <signal.h>

#include "framework.h"

static const char *const caps_return_path[] = { "events", "return-path", NULL };

#define UUID_A "-uuid 11111111-2222-3333-4444-555555555555"

static void check_threads_left(QTestState *s, const char *when)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task", (int)qtest_pid(s));
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *comm = g_build_filename(path, name, "comm", NULL);
        g_autofree char *text = NULL;

        if (g_file_get_contents(comm, &text, NULL, NULL) &&
            g_str_has_prefix(text, "mig/src/return")) {
            g_error("thread %s is left %s", g_strchomp(text), when);
        }
    }
}

static void cancel_and_again(MigrationPair *p)
{
    migration_wait(p->src, "active");
    g_usleep(50000);
    g_autoptr(json_object)
        G_GNUC_UNUSED c = qtest_qmp_ok(p->src, "{'execute':'migrate_cancel'}");
    migration_wait(p->src, "cancelled");
    check_threads_left(p->src, "after the cancel");
    qtest_assert_status(p->src, "running");
    /* Cancelling what is over changes nothing. */
    g_autoptr(json_object) G_GNUC_UNUSED again = qtest_qmp_ok(
        p->src, "{'execute':'migrate_cancel'}");
    g_assert_cmpstr(migration_status(p->src), ==, "cancelled");

    g_assert_cmpint(qtest_wait_exit(p->dst), ==, 1);
    qtest_free(p->dst);
    p->dst = NULL;
    migration_new_target(p);
    migration_target_listen(p);
    migration_set_cap(p->src, "return-path", false);
    migration_set_params(p->src, "'max-bandwidth':0");
    migration_go(p);
}

static const MigrationTest cancel_test = {
    .name = "/migration/failures/cancel-and-again",
    .caps = caps_return_path,
    .params = "'max-bandwidth':1000000",
    .during = cancel_and_again,
};

/*
 * The main loop never waits for a peer: while the other process is stopped,
 * each side's monitor answers, and the source can be told to give up.
 */
static void assert_answers(QTestState *s)
{
    for (int i = 0; i < 50; i++) {
        G_GNUC_UNUSED g_autoptr(json_object) r = migration_query(s);
    }
}

static void hold_target_still(MigrationPair *p)
{
    migration_wait(p->src, "active");
    qtest_signal(p->dst, SIGSTOP);
    g_usleep(100000);
    assert_answers(p->src);
    g_assert_cmpstr(migration_status(p->src), ==, "active");
    g_autoptr(json_object)
        G_GNUC_UNUSED r = qtest_qmp_ok(p->src, "{'execute':'migrate_cancel'}");
    migration_wait(p->src, "cancelled");
    qtest_assert_status(p->src, "running");
    qtest_signal(p->dst, SIGCONT);
}

static const MigrationTest still_target_test = {
    .name = "/migration/failures/target-stands-still-source-answers",
    .params = "'max-bandwidth':0",
    .ram_mib = 128,
    .during = hold_target_still,
    .end = MIGRATION_TARGET_FAILS,
};

static void hold_source_still(MigrationPair *p)
{
    migration_wait(p->src, "active");
    qtest_signal(p->src, SIGSTOP);
    assert_answers(p->dst);
    g_assert_cmpstr(migration_status(p->dst), ==, "active");
    qtest_assert_status(p->dst, "inmigrate");
    qtest_signal(p->src, SIGCONT);
    migration_set_params(p->src, "'max-bandwidth':0");
}

static const MigrationTest still_source_test = {
    .name = "/migration/failures/source-stands-still-target-answers",
    .params = "'max-bandwidth':1000000",
    .during = hold_source_still,
};

/* Ending a process in the middle is clean on both sides, and waits for nothing:
 * else the target would have got all. */
static void quit_source(MigrationPair *p)
{
    migration_wait(p->src, "active");
    qtest_quit(p->src);
    g_assert_cmpint(qtest_wait_exit(p->dst), ==, 1);
    migration_start_source(p); /* for the framework to end */
}

static const MigrationTest quit_source_test = {
    .name = "/migration/failures/quit-of-the-source-in-the-middle",
    .params = "'max-bandwidth':1000000",
    .during = quit_source,
    .end = MIGRATION_TARGET_FAILS,
};

static void term_target(MigrationPair *p)
{
    migration_wait(p->src, "active");
    qtest_signal(p->dst, SIGTERM);
    g_assert_cmpint(qtest_wait_exit(p->dst), ==, 0);
    qtest_free(p->dst);
    p->dst = NULL;
    migration_wait(p->src, "failed");
    qtest_assert_status(p->src, "running");
}

static const MigrationTest term_target_test = {
    .name = "/migration/failures/sigterm-of-the-target-in-the-middle",
    .params = "'max-bandwidth':1000000",
    .own_only = true, /* QEMU's target ends only when the stream does */
    .during = term_target,
    .end = MIGRATION_LEFT_TO_HOOKS,
};

/* The reason is that the target is gone, not what that led to here. */
static void lose_target(MigrationPair *p)
{
    g_autoptr(json_object) q = NULL;

    migration_wait(p->src, "active");
    qtest_kill(p->dst);
    p->dst = NULL;
    migration_wait(p->src, "failed");
    q = migration_query(p->src);
    g_assert_nonnull(strstr(json_path_str(q, "error-desc"), "target was lost"));
    qtest_assert_status(p->src, "running");
}

static const MigrationTest lose_target_test = {
    .name = "/migration/failures/a-lost-target-is-the-reason",
    .caps = caps_return_path,
    .params = "'max-bandwidth':1000000",
    .own_only = true,
    .during = lose_target,
    .end = MIGRATION_LEFT_TO_HOOKS,
};

/* What may not be done while it runs; and two at once. */
static void try_things(MigrationPair *p)
{
    g_autofree char *twice = NULL, *caps = NULL, *range = NULL;

    migration_wait(p->src, "active");
    twice = qtest_qmp_fail(
        p->src, "{'execute':'migrate','arguments':{'uri':'unix:/x'}}");
    caps = qtest_qmp_fail(
        p->src, "{'execute':'migrate-set-capabilities','arguments':"
                "{'capabilities':[{'capability':'events','state':true}]}}");
    range = qtest_qmp_fail(p->src,
                           "{'execute':'migrate-set-parameters','arguments':"
                           "{'downtime-limit':2000001}}");
    migration_set_params(p->src, "'max-bandwidth':0");
}

static void try_again_after_the_end(MigrationPair *p)
{
    g_autofree char *err = NULL;

    /* The guest is at the target: not to be sent once more ... */
    for (int i = 0; i < 2; i++) {
        g_free(err);
        err = qtest_qmp_fail(
            p->src, "{'execute':'migrate','arguments':{'uri':'unix:/x'}}");
    }
    /* ... but a user may know better. */
    G_GNUC_UNUSED g_autoptr(json_object)
        r = qtest_qmp_ok(p->src, "{'execute':'cont'}");
    qtest_assert_status(p->src, "running");
}

/* The blocks sent are those that were there when it began. */
static void change_blocks(MigrationPair *p)
{
    static const char create[] =
        "{'execute':'object-add','arguments':"
        "{'qom-type':'memory-backend-ram','id':'more','size':1048576}}";
    static const char delete[] =
        "{'execute':'object-del','arguments':{'id':'spare'}}";
    g_autofree char *no_more = NULL, *no_less = NULL;

    migration_wait(p->src, "active");
    no_more = qtest_qmp_fail(p->src, create);
    g_assert_nonnull(strstr(no_more, "while a migration is under way"));
    no_less = qtest_qmp_fail(p->src, delete);
    g_autoptr(json_object) G_GNUC_UNUSED cancel = qtest_qmp_ok(
        p->src, "{'execute':'migrate_cancel'}");
    migration_wait(p->src, "cancelled");
    G_GNUC_UNUSED g_autoptr(json_object) made = qtest_qmp_ok(p->src, create);
    G_GNUC_UNUSED g_autoptr(json_object) gone = qtest_qmp_ok(p->src, delete);
    qtest_kill(p->dst);
    p->dst = NULL;
}

static const MigrationTest blocks_test = {
    .name = "/migration/failures/blocks-stay-while-it-runs",
    .src_args = "-object memory-backend-ram,id=spare,size=1M",
    .params = "'max-bandwidth':100000",
    .own_only = true,
    .during = change_blocks,
    .end = MIGRATION_LEFT_TO_HOOKS,
};

static const MigrationTest rules_test = {
    .name = "/migration/failures/what-is-refused",
    .params = "'max-bandwidth':1000000",
    .during = try_things,
    .after = try_again_after_the_end,
};

/* A channel that cannot be had. */
static void test_no_channel(void)
{
    QTestState *s = qtest_start("-M none -m 16M");
    static const char *const at_once[] = {
        "foo:bar",
        "file:/nonexistent/x",
        "file:/tmp/x,offset=zz",
    };
    /* At once or later, as the transport finds out. */
    static const char *const later[] = {
        "unix:/nonexistent/x",
        "tcp:127.0.0.1:1",
        "fd:none",
    };

    for (size_t i = 0; i < G_N_ELEMENTS(at_once); i++) {
        g_autofree char *err = qtest_qmp_fail(
            s, "{'execute':'migrate','arguments':{'uri':'%s'}}", at_once[i]);

        g_assert_cmpuint(strlen(err), >, 5);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(later); i++) {
        G_GNUC_UNUSED g_autoptr(json_object) r = qtest_qmp(
            s, "{'execute':'migrate','arguments':{'uri':'%s'}}", later[i]);
        g_autoptr(json_object) q = NULL;

        migration_wait(s, "failed");
        q = migration_query(s);
        g_assert_nonnull(json_path_str(q, "error-desc"));
        qtest_assert_status(s, "running");
    }
    G_GNUC_UNUSED g_autofree char *neither = qtest_qmp_fail(
        s, "{'execute':'migrate'}");
    qtest_quit(s);
}

/* A target that stays after a failure, and says why. */
static void test_exit_on_error_off(void)
{
    QTestState *s = qtest_start("-M none -m 16M -incoming defer");
    g_autofree char *path = g_build_filename(qtest_dir(s), "junk", NULL);
    g_autofree char *again = NULL;

    g_assert_true(g_file_set_contents(path, "QEVMjunk", 8, NULL));
    G_GNUC_UNUSED g_autoptr(json_object) r = qtest_qmp_ok(
        s,
        "{'execute':'migrate-incoming','arguments':{'uri':'file:%s',"
        "'exit-on-error':false}}",
        path);
    migration_wait(s, "failed");
    g_autoptr(json_object) q = migration_query(s);
    g_assert_nonnull(json_path_str(q, "error-desc"));
    qtest_assert_status(s, "inmigrate");
    again = qtest_qmp_fail(
        s, "{'execute':'migrate-incoming','arguments':{'uri':'file:%s'}}",
        path);
    qtest_quit(s);
}

/* Source and target differ: the source runs on if it is told. */
static void source_runs_on(MigrationPair *p)
{
    qtest_wait_exit(p->dst);
    migration_wait(p->src, "failed");
    g_autoptr(json_object) q = migration_query(p->src);
    g_assert_nonnull(json_path_str(q, "error-desc"));
    qtest_assert_status(p->src, "running");
}

static const MigrationTest target_refuses_test = {
    .name = "/migration/failures/target-refuses-source-runs-on",
    .caps = caps_return_path,
    .src_args = UUID_A " -global migration.x-ignore-shared=on",
    .during = source_runs_on,
    .end = MIGRATION_TARGET_FAILS,
};

static void add_tests(void)
{
    static const MigrationTest *const tests[] = {
        &cancel_test,         &rules_test,        &blocks_test,
        &target_refuses_test, &still_target_test, &still_source_test,
        &quit_source_test,    &term_target_test,  &lose_target_test,
    };

    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        migration_test_add(tests[i]);
    }
    g_test_add_func("/migration/failures/no-channel", test_no_channel);
    g_test_add_func("/migration/failures/exit-on-error-off",
                    test_exit_on_error_off);
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add_tests);
}
