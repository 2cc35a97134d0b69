/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration of machines without a guest: transports, capabilities, reports.
 * The memory is a pattern of ours.
 */
#include "qemu/osdep.h"

#include <glib/gstdio.h>
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
    G_GNUC_UNUSED g_autoptr(json_object) r1 = qtest_qmp_fds(
        p->src, &fds[0], 1, "{'execute':'getfd','arguments':{'fdname':'out'}}");
    G_GNUC_UNUSED g_autoptr(json_object) r2 = qtest_qmp_fds(
        p->dst, &fds[1], 1, "{'execute':'getfd','arguments':{'fdname':'in'}}");
    close(fds[0]);
    close(fds[1]);
    migration_target_listen(p);
    migration_go(p);
    migration_wait_arrival(p);
    migration_pair_quit(p);
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
    G_GNUC_UNUSED g_autoptr(json_object) r1 = qtest_qmp_ok(
        p->dst, "{'execute':'migrate-incoming','arguments':{'channels':%s}}",
        main_channel);
    G_GNUC_UNUSED g_autoptr(json_object) r2 = qtest_qmp_ok(
        p->src, "{'execute':'migrate','arguments':{'channels':%s}}",
        main_channel);
    migration_wait_arrival(p);
    migration_pair_quit(p);
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
    G_GNUC_UNUSED g_autoptr(json_object) stop = qtest_event(p->src, "STOP");
    G_GNUC_UNUSED g_autoptr(json_object) resume = qtest_event(p->dst, "RESUME");
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
    G_GNUC_UNUSED g_autofree char *wrong = qtest_qmp_fail(
        p->src, "{'execute':'migrate-continue','arguments':"
                "{'state':'device'}}");
    g_autoptr(json_object) G_GNUC_UNUSED r = qtest_qmp_ok(
        p->src, "{'execute':'migrate-continue','arguments':"
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
        G_GNUC_UNUSED r = qtest_qmp_ok(p->src, "{'execute':'migrate_cancel'}");
    migration_wait(p->src, "cancelled");
    expect_events(p->src, src);
    G_GNUC_UNUSED g_autoptr(json_object) resume = qtest_event(p->src, "RESUME");
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

/* Bytes a second, over half a second. */
static int64_t sent_per_s(QTestState *s)
{
    gint64 begin_us = g_get_monotonic_time(); /* never later than what counts */
    int64_t before = transferred(s), sent;

    g_usleep(500000);
    sent = transferred(s) - before;
    return sent * 1000000 / (g_get_monotonic_time() - begin_us);
}

/* Milliseconds that the source has spent waiting for the limit. */
static int64_t waited_ms(QTestState *src)
{
    g_autoptr(json_object) r = qtest_qmp_ok(src, "{'execute':'query-migrate'}");

    return json_path_int(r, "details.idle-time");
}

/*
 * 2 MB/s: never faster, and it is the limit that is waited for. Then no limit:
 * it acts at once, so what is left, five seconds' worth, goes without a wait.
 */
static void measure_bandwidth(MigrationPair *p)
{
    int64_t before_ms;

    migration_wait(p->src, "active");
    g_usleep(100000);
    before_ms = waited_ms(p->src);
    g_assert_cmpint(sent_per_s(p->src), <, 2500000);
    g_assert_cmpint(waited_ms(p->src), >, before_ms);

    migration_set_params(p->src, "'max-bandwidth':0");
    before_ms = waited_ms(p->src);
    migration_wait(p->src, "completed");
    /* The wait that the change ended. */
    g_assert_cmpint(waited_ms(p->src) - before_ms, <, 1000);
}

static const MigrationTest bandwidth_test = {
    .name = "/migration/none/bandwidth-limit-honoured-and-changed-at-once",
    .own_only = true, /* QEMU sends in slices of 100 ms */
    .params = "'max-bandwidth':2000000",
    .ram_mib = 32,
    .during = measure_bandwidth,
};

static void add_tests(void)
{
    static const MigrationTest *const tests[] = {
        &unix_test,
        &tcp_test,
        &tcp6_test,
        &at_start_test,
        &at_start_tcp_test,
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
    };

    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        migration_test_add(tests[i]);
    }
    g_test_add_func("/migration/none/fd", test_fd);
    g_test_add_func("/migration/none/channels", test_channels);
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add_tests);
}
