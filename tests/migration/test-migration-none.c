/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration of machines without a guest: transports, capabilities, reports,
 * and what happens when it goes wrong. The memory is a pattern of ours.
 */
#include "qemu/osdep.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <sys/socket.h>

#include "framework.h"

static const char *const caps_return_path[] = { "events", "return-path", NULL };
static const char *const caps_events[] = { "events", NULL };
static const char *const caps_pause[] = { "events", "pause-before-switchover",
                                          NULL };
static const char *const caps_shared[] = { "x-ignore-shared", NULL };
static const char *const caps_uuid[] = { "validate-uuid", NULL };

/* ------------------------------------------------------- transports */

static const MigrationTest unix_test = {
    .name = "/migration/none/unix",
};

static const MigrationTest tcp_test = {
    .name = "/migration/none/tcp-port-0",
    .listen = "tcp:127.0.0.1:0",
};

static const MigrationTest at_start_test = {
    .name = "/migration/none/incoming-unix-from-the-command-line",
    .listen_at_start = true,
};

static const MigrationTest at_start_tcp_test = {
    .name = "/migration/none/incoming-tcp-from-the-command-line",
    .listen = "tcp:127.0.0.1:0",
    .listen_at_start = true,
    .caps = caps_return_path,
};

static const MigrationTest tcp6_test = {
    .name = "/migration/none/tcp-ipv6",
    .listen = "tcp:[::1]:0",
};

static const MigrationTest exec_test = {
    .name = "/migration/none/exec",
    .listen = "exec:cat %s/fifo-file",
    .connect = "exec:cat > %s/fifo-file",
    .target_later = true,
};

static const MigrationTest file_test = {
    .name = "/migration/none/file",
    .listen = "file:%s/stream",
    .target_later = true,
};

/* The bytes before the offset are not ours. */
static void make_file(MigrationPair *p)
{
    g_autofree char *path = g_build_filename(p->dir, "stream", NULL);
    char head[4096];

    memset(head, 'x', sizeof(head));
    g_assert_true(g_file_set_contents(path, head, sizeof(head), NULL));
}

static void check_file_head(MigrationPair *p)
{
    g_autofree char *path = g_build_filename(p->dir, "stream", NULL);
    g_autofree char *text = NULL;
    gsize len;

    g_assert_true(g_file_get_contents(path, &text, &len, NULL));
    g_assert_cmpuint(len, >, 4096 + 100000);
    for (int i = 0; i < 4096; i++) {
        g_assert_cmpint(text[i], ==, 'x');
    }
    g_assert_cmpmem(text + 4096, 4, "QEVM", 4);
}

static const MigrationTest file_offset_test = {
    .name = "/migration/none/file-offset",
    .listen = "file:%s/stream,offset=4096",
    .target_later = true,
    .prepare = make_file,
    .after = check_file_head,
};

/* A pair of connected sockets, one end given to each side. */
static void test_fd(void)
{
    static const MigrationTest fd_test = {
        .name = "/migration/none/fd",
        .listen = "fd:in",
        .connect = "fd:out",
        .caps = caps_return_path,
    };
    MigrationPair *p = migration_pair_new(&fd_test);
    int fds[2];

    migration_start_target(p);
    migration_start_source(p);
    migration_set_cap(p->src, "return-path", true);
    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
    g_autoptr(json_object) r1 = qtest_qmp_fds(
        p->src, &fds[0], 1, "{'execute':'getfd','arguments':{'fdname':'out'}}");
    g_autoptr(json_object) r2 = qtest_qmp_fds(
        p->dst, &fds[1], 1, "{'execute':'getfd','arguments':{'fdname':'in'}}");
    close(fds[0]);
    close(fds[1]);
    migration_target_listen(p);
    migration_go(p);
    migration_wait(p->src, "completed");
    migration_wait(p->dst, "completed");
    migration_check_memory(p);
    qtest_quit(p->src);
    qtest_quit(p->dst);
    p->src = p->dst = NULL;
    migration_pair_free(p);
}

/* The same said by parts instead of by a URI. */
static void test_channels(void)
{
    static const MigrationTest channels_test = {
        .name = "/migration/none/channels",
    };
    static const char channels[] =
        "[{'channel-type':'main','addr':{'transport':'socket','type':'unix',"
        "'path':'%s/mig.sock'}}]";
    MigrationPair *p = migration_pair_new(&channels_test);
    g_autofree char *main_channel = g_strdup_printf(channels, p->dir);
    g_autofree char *both = NULL;

    migration_start_target(p);
    migration_start_source(p);
    both = qtest_qmp_fail(p->dst,
                          "{'execute':'migrate-incoming','arguments':"
                          "{'uri':'unix:/x','channels':%s}}",
                          main_channel);
    g_autoptr(json_object) r1 = qtest_qmp_ok(
        p->dst, "{'execute':'migrate-incoming','arguments':{'channels':%s}}",
        main_channel);
    g_autoptr(json_object) r2 = qtest_qmp_ok(
        p->src, "{'execute':'migrate','arguments':{'channels':%s}}",
        main_channel);
    migration_wait(p->src, "completed");
    migration_wait(p->dst, "completed");
    migration_check_memory(p);
    qtest_quit(p->src);
    qtest_quit(p->dst);
    p->src = p->dst = NULL;
    migration_pair_free(p);
}

/* ----------------------------------------- capabilities and reports */

static void expect_events(QTestState *s, const char *const *statuses)
{
    for (; *statuses; statuses++) {
        g_autoptr(json_object) e = qtest_event(s, "MIGRATION");

        g_assert_cmpstr(json_path_str(e, "data.status"), ==, *statuses);
    }
}

static void check_events(MigrationPair *p)
{
    static const char *const src[] = { "setup", "active", "device", "completed",
                                       NULL };
    static const char *const dst[] = { "setup", "active", "completed", NULL };

    expect_events(p->src, src);
    expect_events(p->dst, dst);
    g_autoptr(json_object) stop = qtest_event(p->src, "STOP");
    g_autoptr(json_object) resume = qtest_event(p->dst, "RESUME");
    qtest_assert_status(p->src, "postmigrate");
    qtest_assert_status(p->dst, "running");
}

static const MigrationTest return_path_test = {
    .name = "/migration/none/return-path-and-events",
    .caps = caps_return_path,
    .after = check_events,
};

static const MigrationTest events_test = {
    .name = "/migration/none/events-without-return-path",
    .caps = caps_events,
    .after = check_events,
};

/* Source and target say the same after the end as at the end, and more. */
static void check_reports(MigrationPair *p)
{
    g_autoptr(json_object) src = migration_query(p->src);
    g_autoptr(json_object) dst = migration_query(p->dst);
    g_autofree char *hmp = qtest_hmp(p->src, "info migrate");
    json_object *rounds = json_path(src, "details.recent-rounds");
    const char *parts[] = { "stop",  "save",    "collect",
                            "pages", "devices", "wait" };
    int64_t sum = 0;

    g_assert_cmpint(json_path_int(src, "ram.remaining"), ==, 0);
    g_assert_cmpint(json_path_int(src, "ram.total"), ==, p->ram_bytes);
    g_assert_cmpint(json_path_int(src, "ram.normal-bytes"), ==,
                    json_path_int(src, "ram.normal") *
                        json_path_int(src, "ram.page-size"));
    g_assert_cmpint(json_path_int(src, "ram.transferred"), ==,
                    json_path_int(src, "ram.precopy-bytes") +
                        json_path_int(src, "ram.downtime-bytes"));
    g_assert_nonnull(json_path(src, "downtime"));
    g_assert_nonnull(json_path(src, "total-time"));

    g_assert_true(json_path_bool(src, "details.own-kind"));
    g_assert_cmpint(json_path_int(src, "details.rounds"), >=, 2);
    g_assert_cmpuint(json_object_array_length(rounds), ==,
                     json_path_int(src, "details.rounds"));
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        g_autofree char *path = g_strdup_printf("details.blackout.%s",
                                                parts[i]);

        g_assert_nonnull(json_path(src, path));
        sum += json_path_int(src, path);
    }
    g_assert_cmpint(json_path_int(src, "details.blackout.total") - sum, <, 500);
    g_assert_nonnull(json_path(src, "details.blackout.restore-devices"));
    g_assert_nonnull(json_path(src, "details.blackout.restore-start"));
    g_assert_cmpint(json_path_int(dst, "restore.normal"), ==,
                    json_path_int(src, "ram.normal"));
    g_assert_cmpint(json_path_int(dst, "restore.duplicate"), ==,
                    json_path_int(src, "ram.duplicate"));

    g_assert_true(g_str_has_prefix(hmp, "Status: \t\tcompleted\r\n") ||
                  g_str_has_prefix(hmp, "Status: \t\tcompleted\n"));
    g_assert_nonnull(strstr(hmp, "Time (ms): \t\ttotal="));
    g_assert_nonnull(strstr(hmp, "RAM info:"));
    g_assert_nonnull(strstr(hmp, "Blackout (ms):"));
}

static const MigrationTest reports_test = {
    .name = "/migration/none/reports-stay-readable",
    .caps = caps_return_path,
    .own_only = true,
    .after = check_reports,
};

static void continue_it(MigrationPair *p)
{
    static const char *const src[] = { "setup", "active", "pre-switchover",
                                       NULL };

    migration_wait(p->src, "pre-switchover");
    expect_events(p->src, src);
    qtest_assert_status(p->src, "finish-migrate");
    g_autofree char *wrong = qtest_qmp_fail(
        p->src, "{'execute':'migrate-continue','arguments':"
                "{'state':'device'}}");
    g_autoptr(json_object)
        r = qtest_qmp_ok(p->src, "{'execute':'migrate-continue','arguments':"
                                 "{'state':'pre-switchover'}}");
}

static const MigrationTest pause_test = {
    .name = "/migration/none/pause-before-switchover",
    .caps = caps_pause,
    .during = continue_it,
};

static void cancel_paused(MigrationPair *p)
{
    static const char *const src[] = { "setup",          "active",
                                       "pre-switchover", "cancelling",
                                       "cancelled",      NULL };

    migration_wait(p->src, "pre-switchover");
    g_autoptr(json_object)
        r = qtest_qmp_ok(p->src, "{'execute':'migrate_cancel'}");
    migration_wait(p->src, "cancelled");
    expect_events(p->src, src);
    g_autoptr(json_object) resume = qtest_event(p->src, "RESUME");
    qtest_assert_status(p->src, "running");
}

static const MigrationTest cancel_paused_test = {
    .name = "/migration/none/cancel-in-pre-switchover-resumes-the-source",
    .caps = caps_pause,
    .during = cancel_paused,
    .end = MIGRATION_TARGET_FAILS,
};

static void forget_target(MigrationPair *p)
{
    /* What a source that ignores shared memory sends must not be pages. */
    g_autoptr(json_object) src = migration_query(p->src);

    g_assert_cmpint(json_path_int(src, "ram.normal"), ==, 0);
    g_assert_cmpint(json_path_int(src, "ram.duplicate"), ==, 0);
    g_assert_cmpint(json_path_int(src, "ram.transferred"), <, 10000);
}

static const MigrationTest ignore_shared_test = {
    .name = "/migration/none/ignore-shared-sends-no-pages",
    .caps = caps_shared,
    .same_ram = true,
    .after = forget_target,
};

#define UUID_A "-uuid 11111111-2222-3333-4444-555555555555"
#define UUID_B "-uuid 11111111-2222-3333-4444-666666666666"

static const MigrationTest uuid_same_test = {
    .name = "/migration/none/validate-uuid-same",
    .caps = caps_uuid,
    .src_args = UUID_A,
    .dst_args = UUID_A,
};

static const MigrationTest uuid_unset_src_test = {
    .name = "/migration/none/validate-uuid-source-has-none",
    .caps = caps_uuid,
    .dst_args = UUID_A,
};

static const MigrationTest uuid_unset_dst_test = {
    .name = "/migration/none/validate-uuid-target-has-none",
    .caps = caps_uuid,
    .src_args = UUID_A,
};

static const MigrationTest uuid_differs_test = {
    .name = "/migration/none/validate-uuid-differs-fails",
    .caps = caps_uuid,
    .src_args = UUID_A,
    .dst_args = UUID_B,
    .end = MIGRATION_TARGET_FAILS,
};

static const MigrationTest no_zero_detection_test = {
    .name = "/migration/none/zero-page-detection-none",
    .params = "'zero-page-detection':'none'",
};

/* -------------------------------------------------- bandwidth limit */

static int64_t transferred(QTestState *s)
{
    g_autoptr(json_object) r = migration_query(s);

    return json_path_int(r, "ram.transferred");
}

/* 2 MB/s for half a second, then no limit: it acts at once. */
static void measure_bandwidth(MigrationPair *p)
{
    gint64 begin_us, took_us;
    int64_t before, sent;

    migration_wait(p->src, "active");
    g_usleep(100000);
    before = transferred(p->src);
    begin_us = g_get_monotonic_time();
    g_usleep(500000);
    sent = transferred(p->src) - before;
    took_us = g_get_monotonic_time() - begin_us;
    g_assert_cmpint(sent * 1000000 / took_us, <, 2200000);
    g_assert_cmpint(sent * 1000000 / took_us, >, 1500000);

    migration_set_params(p->src, "'max-bandwidth':0");
    begin_us = g_get_monotonic_time();
    migration_wait(p->src, "completed");
    took_us = g_get_monotonic_time() - begin_us;
    g_assert_cmpint(took_us, <, 1500000);
}

static const MigrationTest bandwidth_test = {
    .name = "/migration/none/bandwidth-limit-honoured-and-changed-at-once",
    .own_only = true, /* QEMU sends in slices of 100 ms */
    .params = "'max-bandwidth':2000000",
    .ram_mib = 32,
    .during = measure_bandwidth,
};

/* -------------------------------------------- cancel and again, errors */

static void check_threads_left(QTestState *s, const char *when)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task", (int)qtest_pid(s));
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *comm = g_build_filename(path, name, "comm", NULL);
        g_autofree char *text = NULL;

        if (g_file_get_contents(comm, &text, NULL, NULL) &&
            g_str_has_prefix(text, "mig/src/rp")) {
            g_error("thread %s is left %s", g_strchomp(text), when);
        }
    }
}

static void cancel_and_again(MigrationPair *p)
{
    migration_wait(p->src, "active");
    g_usleep(50000);
    g_autoptr(json_object)
        c = qtest_qmp_ok(p->src, "{'execute':'migrate_cancel'}");
    migration_wait(p->src, "cancelled");
    check_threads_left(p->src, "after the cancel");
    qtest_assert_status(p->src, "running");
    /* Cancelling what is over changes nothing. */
    g_autoptr(json_object)
        again = qtest_qmp_ok(p->src, "{'execute':'migrate_cancel'}");
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
    .name = "/migration/none/cancel-and-again",
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
    gint64 begin_us = g_get_monotonic_time();

    for (int i = 0; i < 50; i++) {
        g_autoptr(json_object) r = migration_query(s);
    }
    g_assert_cmpint(g_get_monotonic_time() - begin_us, <, 2000000);
}

static void hold_target_still(MigrationPair *p)
{
    migration_wait(p->src, "active");
    qtest_signal(p->dst, SIGSTOP);
    g_usleep(100000);
    assert_answers(p->src);
    g_assert_cmpstr(migration_status(p->src), ==, "active");
    g_autoptr(json_object)
        r = qtest_qmp_ok(p->src, "{'execute':'migrate_cancel'}");
    migration_wait(p->src, "cancelled");
    qtest_assert_status(p->src, "running");
    qtest_signal(p->dst, SIGCONT);
}

static const MigrationTest still_target_test = {
    .name = "/migration/none/target-stands-still-source-answers",
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
    .name = "/migration/none/source-stands-still-target-answers",
    .params = "'max-bandwidth':1000000",
    .during = hold_source_still,
};

/* Ending a process in the middle is quick and clean on both sides. */
static void quit_source(MigrationPair *p)
{
    gint64 begin_us = g_get_monotonic_time();

    migration_wait(p->src, "active");
    qtest_quit(p->src);
    g_assert_cmpint(g_get_monotonic_time() - begin_us, <, 3000000);
    g_assert_cmpint(qtest_wait_exit(p->dst), ==, 1);
    migration_start_source(p); /* for the framework to end */
}

static const MigrationTest quit_source_test = {
    .name = "/migration/none/quit-of-the-source-in-the-middle",
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
    .name = "/migration/none/sigterm-of-the-target-in-the-middle",
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
    .name = "/migration/none/a-lost-target-is-the-reason",
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
    g_autoptr(json_object) r = qtest_qmp_ok(p->src, "{'execute':'cont'}");
    qtest_assert_status(p->src, "running");
}

static const MigrationTest rules_test = {
    .name = "/migration/none/what-is-refused",
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
        g_autoptr(json_object) r = qtest_qmp(
            s, "{'execute':'migrate','arguments':{'uri':'%s'}}", later[i]);
        g_autoptr(json_object) q = NULL;

        migration_wait(s, "failed");
        q = migration_query(s);
        g_assert_nonnull(json_path_str(q, "error-desc"));
        qtest_assert_status(s, "running");
    }
    g_autofree char *neither = qtest_qmp_fail(s, "{'execute':'migrate'}");
    qtest_quit(s);
}

/* A target that stays after a failure, and says why. */
static void test_exit_on_error_off(void)
{
    QTestState *s = qtest_start("-M none -m 16M -incoming defer");
    g_autofree char *path = g_build_filename(qtest_dir(s), "junk", NULL);
    g_autofree char *again = NULL;

    g_assert_true(g_file_set_contents(path, "QEVMjunk", 8, NULL));
    g_autoptr(json_object) r = qtest_qmp_ok(
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
    .name = "/migration/none/target-refuses-source-runs-on",
    .caps = caps_return_path,
    .src_args = UUID_A " -global migration.x-ignore-shared=on",
    .during = source_runs_on,
    .end = MIGRATION_TARGET_FAILS,
};

static void add_tests(void)
{
    static const MigrationTest *const tests[] = {
        &unix_test,
        &tcp_test,
        &tcp6_test,
        &exec_test,
        &file_test,
        &file_offset_test,
        &return_path_test,
        &events_test,
        &reports_test,
        &pause_test,
        &cancel_paused_test,
        &ignore_shared_test,
        &uuid_same_test,
        &uuid_unset_src_test,
        &uuid_unset_dst_test,
        &uuid_differs_test,
        &no_zero_detection_test,
        &bandwidth_test,
        &cancel_test,
        &rules_test,
        &target_refuses_test,
        &still_target_test,
        &still_source_test,
        &at_start_test,
        &at_start_tcp_test,
        &quit_source_test,
        &term_target_test,
        &lose_target_test,
    };

    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        migration_test_add(tests[i]);
    }
    g_test_add_func("/migration/none/fd", test_fd);
    g_test_add_func("/migration/none/channels", test_channels);
    g_test_add_func("/migration/none/no-channel", test_no_channel);
    g_test_add_func("/migration/none/exit-on-error-off",
                    test_exit_on_error_off);
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add_tests);
}
