/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run state by QMP and HMP: transitions, events, what the VM says of itself. */
#include "qemu/osdep.h"

#include <sys/socket.h>

#include "libqtest.h"

static void ok(QTestState *s, const char *command)
{
    json_object_put(qtest_qmp_ok(s, "{'execute':'%s'}", command));
}

static void expect_event(QTestState *s, const char *name)
{
    json_object_put(qtest_event(s, name));
}

static void test_stop_cont(void)
{
    QTestState *s = qtest_start("-M none");
    json_object *ret;

    qtest_assert_status(s, "running");
    ret = qtest_qmp_ok(s, "{'execute':'query-status'}");
    g_assert_true(json_path_bool(ret, "running"));
    json_object_put(ret);
    qtest_events_clear(s);

    ok(s, "stop");
    expect_event(s, "STOP");
    qtest_assert_status(s, "paused");
    ok(s, "stop"); /* nothing changes, nothing is told */
    g_assert_null(qtest_event_timeout(s, "STOP", 50));

    ok(s, "cont");
    expect_event(s, "RESUME");
    qtest_assert_status(s, "running");
    qtest_quit(s);
}

static void test_prelaunch(void)
{
    QTestState *s = qtest_start("-M none -S");
    g_autofree char *text = NULL;

    qtest_assert_status(s, "prelaunch");
    text = qtest_hmp(s, "info status");
    g_assert_cmpstr(text, ==, "VM status: paused (prelaunch)\r\n");
    ok(s, "cont");
    qtest_assert_status(s, "running");
    qtest_quit(s);
}

static void test_reset(void)
{
    QTestState *s = qtest_start("-M none");
    json_object *ev;

    ok(s, "system_reset");
    ev = qtest_event(s, "RESET");
    g_assert_false(json_path_bool(ev, "data.guest"));
    g_assert_cmpstr(json_path_str(ev, "data.reason"), ==,
                    "host-qmp-system-reset");
    json_object_put(ev);
    qtest_assert_status(s, "running");

    ok(s, "stop");
    ok(s, "system_reset");
    expect_event(s, "RESET");
    qtest_wait_status(s, "prelaunch");
    qtest_quit(s);
}

static void test_no_reboot(void)
{
    QTestState *s = qtest_start("-M none -no-reboot");
    json_object *ev;

    ok(s, "system_reset");
    ev = qtest_event(s, "SHUTDOWN");
    g_assert_cmpstr(json_path_str(ev, "data.reason"), ==,
                    "host-qmp-system-reset");
    json_object_put(ev);
    g_assert_cmpint(qtest_wait_exit(s), ==, 0);
    qtest_free(s);
}

static void test_powerdown(void)
{
    QTestState *s = qtest_start("-M none");

    ok(s, "system_powerdown");
    expect_event(s, "POWERDOWN");
    qtest_assert_status(s, "running");
    qtest_quit(s);
}

static void test_quit(void)
{
    QTestState *s = qtest_start("-M none -no-shutdown");
    json_object *ev;

    /* -no-shutdown is about the guest's wish, not about `quit`. */
    ok(s, "quit");
    ev = qtest_event(s, "SHUTDOWN");
    g_assert_false(json_path_bool(ev, "data.guest"));
    g_assert_cmpstr(json_path_str(ev, "data.reason"), ==, "host-qmp-quit");
    json_object_put(ev);
    g_assert_cmpint(qtest_wait_exit(s), ==, 0);
    qtest_free(s);
}

static void test_incoming(void)
{
    QTestState *s = qtest_start("-M none -incoming defer");

    qtest_assert_status(s, "inmigrate");
    ok(s, "cont"); /* only remembered */
    qtest_assert_status(s, "inmigrate");
    ok(s, "stop");
    qtest_assert_status(s, "inmigrate");
    qtest_quit(s);
}

static void test_queries(void)
{
    QTestState *s = qtest_start("-M none -m 24M -name guest=vega "
                                "-uuid 00112233-4455-6677-8899-aabbccddeeff");
    json_object *ret;

    ret = qtest_qmp_ok(s, "{'execute':'query-name'}");
    g_assert_cmpstr(json_path_str(ret, "name"), ==, "vega");
    json_object_put(ret);
    ret = qtest_qmp_ok(s, "{'execute':'query-uuid'}");
    g_assert_cmpstr(json_path_str(ret, "UUID"), ==,
                    "00112233-4455-6677-8899-aabbccddeeff");
    json_object_put(ret);
    ret = qtest_qmp_ok(s, "{'execute':'query-memory-size-summary'}");
    g_assert_cmpint(json_path_int(ret, "base-memory"), ==, 24 << 20);
    json_object_put(ret);
    ret = qtest_qmp_ok(s, "{'execute':'query-target'}");
    g_assert_cmpstr(json_path_str(ret, "arch"), ==, qtest_arch());
    json_object_put(ret);
    ret = qtest_qmp_ok(s, "{'execute':'query-accelerators'}");
    g_assert_cmpstr(json_path_str(ret, "enabled"), ==, "qtest");
    json_object_put(ret);
    ret = qtest_qmp_ok(s, "{'execute':'query-kvm'}");
    g_assert_false(json_path_bool(ret, "enabled"));
    json_object_put(ret);
    ret = qtest_qmp_ok(s, "{'execute':'query-cpus-fast'}");
    g_assert_cmpint(json_object_array_length(ret), ==, 0);
    json_object_put(ret);
    qtest_quit(s);
}

static void test_machines(void)
{
    QTestState *s = qtest_start("-M none");
    json_object *ret = qtest_qmp_ok(s, "{'execute':'query-machines'}");
    bool none = false;

    for (size_t i = 0; i < json_object_array_length(ret); i++) {
        json_object *m = json_object_array_get_idx(ret, i);

        none |= g_str_equal(json_path_str(m, "name"), "none");
        g_assert_cmpint(json_path_int(m, "cpu-max"), >=, 1);
    }
    g_assert_true(none);
    json_object_put(ret);
    qtest_quit(s);
}

/* A vCPU that never executes stops and resumes like any other. */
static void test_one_cpu(void)
{
    QTestState *s;
    json_object *ret;
    g_autofree char *text = NULL;

    if (!g_str_equal(qtest_arch(), "aarch64")) {
        g_test_skip("this binary has no CPU model");
        return;
    }
    s = qtest_start("-M none -cpu cortex-a57");
    ret = qtest_qmp_ok(s, "{'execute':'query-cpus-fast'}");
    g_assert_cmpint(json_object_array_length(ret), ==, 1);
    g_assert_cmpint(json_path_int(ret, "0.cpu-index"), ==, 0);
    g_assert_cmpint(json_path_int(ret, "0.thread-id"), >, 0);
    g_assert_cmpstr(json_path_str(ret, "0.target"), ==, "aarch64");
    g_assert_cmpstr(json_path_str(ret, "0.qom-path"), ==,
                    "/machine/unattached/device[0]");
    json_object_put(ret);
    for (int i = 0; i < 50; i++) {
        ok(s, "stop");
        ok(s, "cont");
    }
    ok(s, "system_reset");
    expect_event(s, "RESET");
    text = qtest_hmp(s, "info cpus");
    g_assert_nonnull(strstr(text, "* CPU #0: thread_id="));
    qtest_quit(s);
}

static void check_hmp(QTestState *s, const char *line, const char *expected)
{
    g_autofree char *text = qtest_hmp(s, "%s", line);

    g_assert_cmpstr(text, ==, expected);
}

/* Only where guest and host are of one architecture. */
static bool has_kvm(QTestState *s)
{
    json_object *ret = qtest_qmp_ok(s, "{'execute':'query-kvm'}");
    bool present = json_path_bool(ret, "present");

    json_object_put(ret);
    return present;
}

static void test_hmp(void)
{
    QTestState *s = qtest_start("-M none -name vega");

    check_hmp(s, "info status", "VM status: running\r\n");
    check_hmp(s, "stop", "");
    check_hmp(s, "info status", "VM status: paused\r\n");
    check_hmp(s, "c", "");
    check_hmp(s, "info name", "vega\r\n");
    check_hmp(s, "info uuid", "00000000-0000-0000-0000-000000000000\r\n");
    check_hmp(s, "info kvm",
              has_kvm(s) ? "kvm support: disabled\r\n"
                         : "kvm support: not compiled\r\n");
    check_hmp(s, "log none", "");
    check_hmp(s, "system_powerdown", "");
    expect_event(s, "POWERDOWN");
    check_hmp(s, "quit", "");
    g_assert_cmpint(qtest_wait_exit(s), ==, 0);
    qtest_free(s);
}

static void test_trace(void)
{
    QTestState *s = qtest_start("-M none");
    g_autofree char *path = g_build_filename(qtest_dir(s), "log", NULL);
    g_autofree char *line = g_strdup_printf("logfile %s", path);
    g_autofree char *log = NULL, *list = NULL, *bad = NULL;

    check_hmp(s, line, "");
    check_hmp(s, "trace-event runstate_* on", "");
    list = qtest_hmp(s, "info trace-events runstate_set");
    g_assert_cmpstr(list, ==, "runstate_set : state 1\r\n");
    ok(s, "stop");
    g_assert_true(g_file_get_contents(path, &log, NULL, NULL));
    g_assert_cmpstr(log, ==, "runstate_set running -> paused\n");
    bad = qtest_hmp(s, "trace-event no_such_thing on");
    g_assert_nonnull(strstr(bad, "no_such_thing"));
    qtest_quit(s);
}

/* Two monitors see the same events; each gets its own answers. */
static void test_two_monitors(void)
{
    g_autofree char *path = g_strdup_printf("%s/qtest-second-%d",
                                            g_get_tmp_dir(), getpid());
    g_autofree char *args = g_strdup_printf(
        "-M none -qmp unix:%s,server=on,wait=off", path);
    QTestState *s = qtest_start(args);
    QTestState *second = qtest_connect_qmp(path);
    json_object *ret;

    ok(s, "stop");
    expect_event(s, "STOP");
    expect_event(second, "STOP");
    ret = qtest_qmp(second, "{'execute':'query-status','id':[1,'x']}");
    g_assert_cmpstr(json_path_str(ret, "return.status"), ==, "paused");
    g_assert_cmpstr(json_path_str(ret, "id.1"), ==, "x");
    json_object_put(ret);
    ok(second, "cont");
    expect_event(s, "RESUME");
    qtest_free(second);
    qtest_assert_status(s, "running");

    /* The server takes the next client. */
    second = qtest_connect_qmp(path);
    qtest_assert_status(second, "running");
    qtest_free(second);
    qtest_quit(s);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/run-state/stop-and-cont", test_stop_cont);
    g_test_add_func("/run-state/prelaunch", test_prelaunch);
    g_test_add_func("/run-state/reset", test_reset);
    g_test_add_func("/run-state/no-reboot", test_no_reboot);
    g_test_add_func("/run-state/powerdown", test_powerdown);
    g_test_add_func("/run-state/quit", test_quit);
    g_test_add_func("/run-state/incoming", test_incoming);
    g_test_add_func("/run-state/queries", test_queries);
    g_test_add_func("/run-state/machines", test_machines);
    g_test_add_func("/run-state/one-cpu", test_one_cpu);
    g_test_add_func("/run-state/hmp", test_hmp);
    g_test_add_func("/run-state/trace", test_trace);
    g_test_add_func("/run-state/two-monitors", test_two_monitors);
    return g_test_run();
}
