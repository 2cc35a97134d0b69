/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process: signals, -pidfile, -daemonize, parents, several monitors. */
#include "qemu/osdep.h"

#include <signal.h>

#include "libqtest.h"

static void check_signal(const char *args, int sig)
{
    QTestState *s = qtest_start(args);
    g_autofree char *err = NULL;
    json_object *ev;

    qtest_signal(s, sig);
    ev = qtest_event(s, "SHUTDOWN");
    g_assert_cmpstr(json_path_str(ev, "data.reason"), ==, "host-signal");
    json_object_put(ev);
    g_assert_cmpint(qtest_wait_exit(s), ==, 0);
    err = qtest_stderr(s);
    g_assert_nonnull(strstr(err, "terminating on signal"));
    qtest_free(s);
}

static void test_signals(void)
{
    check_signal("-M none", SIGTERM);
    check_signal("-M none", SIGINT);
    check_signal("-M none", SIGHUP);
    check_signal("-M none -S -no-shutdown", SIGTERM);
    check_signal("-M none -incoming defer", SIGTERM);
}

/* As the very first thing, before anyone talked to it. */
static void test_signal_at_once(void)
{
    for (int i = 0; i < 10; i++) {
        QTestState *s = qtest_start_flags("-M none -accel qtest", QTEST_NO_QMP);
        int status;

        g_usleep(i * 3000);
        qtest_signal(s, SIGTERM);
        status = qtest_wait_exit(s);
        /* Before the handler is there the signal itself ends it. */
        g_assert_true(status == 0 || status == 128 + SIGTERM);
        qtest_free(s);
    }
}

/* While start-up waits for a client there is no main loop to ask. */
static void test_signal_while_waiting(void)
{
    QTestState *s;
    g_autofree char *pid = g_strdup_printf("%s/qtest-wait-%d", g_get_tmp_dir(),
                                           getpid());
    g_autofree char *sock = g_strconcat(pid, ".sock", NULL);
    g_autofree char *args = g_strdup_printf(
        "-M none -accel qtest -display none -pidfile %s "
        "-qmp unix:%s,server=on,wait=on",
        pid, sock);

    s = qtest_start_flags(args, QTEST_NO_QMP);
    for (int ms = 0; !g_file_test(sock, G_FILE_TEST_EXISTS); ms += 5) {
        g_assert_cmpint(ms, <, 10000);
        g_usleep(5000);
    }
    g_usleep(20000);
    qtest_signal(s, SIGTERM);
    g_assert_cmpint(qtest_wait_exit(s), ==, 128 + SIGTERM);
    g_assert_false(g_file_test(pid, G_FILE_TEST_EXISTS));
    qtest_free(s);
    unlink(sock);
}

static void test_pidfile(void)
{
    g_autofree char *path = g_strdup_printf("%s/qtest-pid-%d", g_get_tmp_dir(),
                                            getpid());
    g_autofree char *args = g_strdup_printf("-M none -pidfile %s", path);
    g_autofree char *again = g_strdup_printf("-M none -accel qtest -pidfile %s",
                                             path);
    QTestState *s = qtest_start(args);
    g_autofree char *text = NULL, *err = NULL;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpint(atoi(text), ==, qtest_pid(s));
    g_assert_cmpint(text[strlen(text) - 1], ==, '\n');

    /* While it lives, no other may have it. */
    g_assert_cmpint(qtest_run(again, NULL, &err), ==, 1);
    g_assert_nonnull(strstr(err, path));
    g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));

    qtest_quit(s);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
}

/* As libvirt asks a binary what it can do. */
static void test_daemonize(void)
{
    g_autofree char *dir = g_dir_make_tmp("qtest-daemon-XXXXXX", NULL);
    g_autofree char *pidfile = g_build_filename(dir, "pid", NULL);
    g_autofree char *sock = g_build_filename(dir, "mon", NULL);
    g_autofree char *args = g_strdup_printf(
        "-S -no-user-config -nodefaults -nographic "
        "-machine none,accel=kvm:tcg:qtest "
        "-qmp unix:%s,server=on,wait=off -pidfile %s -daemonize",
        sock, pidfile);
    g_autofree char *text = NULL;
    QTestState *s;

    /* The parent returns when the socket listens and the file is written. */
    g_assert_cmpint(qtest_run(args, NULL, NULL), ==, 0);
    g_assert_true(g_file_test(sock, G_FILE_TEST_EXISTS));
    g_assert_true(g_file_get_contents(pidfile, &text, NULL, NULL));
    g_assert_cmpint(kill(atoi(text), 0), ==, 0);

    s = qtest_connect_qmp(sock);
    qtest_assert_status(s, "prelaunch");
    json_object_put(qtest_qmp_ok(s, "{'execute':'quit'}"));
    qtest_free(s);
    for (int ms = 0; g_file_test(pidfile, G_FILE_TEST_EXISTS); ms += 5) {
        g_assert_cmpint(ms, <, 10000);
        g_usleep(5000);
    }
    g_assert_cmpint(rmdir(dir), ==, 0);
}

static void test_daemonize_fails(void)
{
    g_autofree char *err = NULL, *err2 = NULL;

    /* What goes wrong in the child is the parent's status. */
    g_assert_cmpint(
        qtest_run("-M none -accel qtest -daemonize -serial nosuch", NULL, &err),
        ==, 1);
    g_assert_nonnull(strstr(err, "-serial nosuch"));
    g_assert_cmpint(
        qtest_run("-M none -accel qtest -daemonize -nographic", NULL, &err2),
        ==, 1);
    g_assert_nonnull(strstr(err2, "-nographic"));
}

/* A process in the background has no terminal to talk to. */
static void test_daemonize_stdio(void)
{
    static const char *const users[] = {
        "-serial stdio",
        "-monitor stdio",
        "-chardev stdio,id=c0",
        "-qmp stdio",
    };

    for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
        g_autofree char *err = NULL;
        g_autofree char *args = g_strdup_printf(
            "-M none -accel qtest -daemonize %s", users[i]);

        g_assert_cmpint(qtest_run(args, NULL, &err), ==, 1);
        g_assert_nonnull(strstr(err, users[i]));
        g_assert_nonnull(strstr(err, "cannot use stdio with -daemonize"));
    }
}

static void test_exit_with_parent(void)
{
    g_autofree char *dir = g_dir_make_tmp("qtest-parent-XXXXXX", NULL);
    g_autofree char *sock = g_build_filename(dir, "mon", NULL);
    g_autofree char *pidfile = g_build_filename(dir, "pid", NULL);
    g_autofree char *line = g_strdup_printf(
        "%s -M none -accel qtest -display none -run-with exit-with-parent=on "
        "-qmp unix:%s,server=on,wait=off -pidfile %s & "
        "while ! [ -s %s ]; do sleep 0.02; done; sleep 0.1",
        qtest_binary(), sock, pidfile, pidfile);
    char *argv[] = { (char *)"sh", (char *)"-c", line, NULL };
    int status;

    g_assert_true(g_spawn_sync(NULL, argv, NULL,
                               G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL,
                               NULL, NULL, NULL, NULL, &status, NULL));
    g_assert_cmpint(status, ==, 0);
    /* The shell has gone; so goes its child, tidily. */
    for (int ms = 0; g_file_test(pidfile, G_FILE_TEST_EXISTS); ms += 5) {
        g_assert_cmpint(ms, <, 10000);
        g_usleep(5000);
    }
    g_assert_cmpint(rmdir(dir), ==, 0);
}

static void test_nographic(void)
{
    /* stdin is /dev/null: the human monitor sees its end; -S keeps it up. */
    QTestState *s = qtest_start("-M none -monitor stdio");
    g_autofree char *out = NULL;

    qtest_assert_status(s, "running");
    out = qtest_stdout(s);
    g_assert_nonnull(strstr(out, "11.1.3 monitor"));
    qtest_quit(s);
}

/* An fd set from the command line, seen by QMP. */
static void test_add_fd(void)
{
    g_autofree char *args = NULL;
    int fd = open("/dev/null", O_RDWR); /* inherited: no close-on-exec */
    QTestState *s;
    json_object *ret;

    args = g_strdup_printf("-M none -add-fd fd=%d,set=7,opaque=nil", fd);
    s = qtest_start(args);
    close(fd);
    ret = qtest_qmp_ok(s, "{'execute':'query-fdsets'}");
    g_assert_cmpint(json_path_int(ret, "0.fdset-id"), ==, 7);
    g_assert_cmpstr(json_path_str(ret, "0.fds.0.opaque"), ==, "nil");
    json_object_put(ret);
    qtest_quit(s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/process/signals", test_signals);
    g_test_add_func("/process/signal-at-once", test_signal_at_once);
    g_test_add_func("/process/signal-while-waiting", test_signal_while_waiting);
    g_test_add_func("/process/pidfile", test_pidfile);
    g_test_add_func("/process/daemonize", test_daemonize);
    g_test_add_func("/process/daemonize-fails", test_daemonize_fails);
    g_test_add_func("/process/daemonize-stdio", test_daemonize_stdio);
    g_test_add_func("/process/exit-with-parent", test_exit_with_parent);
    g_test_add_func("/process/monitor-on-stdio", test_nographic);
    g_test_add_func("/process/add-fd", test_add_fd);
    return g_test_run();
}
