/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -run-with: another user, another root, the parent, the end of the memory. */
#include "qemu/osdep.h"

#include <glib/gstdio.h>
#include <signal.h>

#include "libqtest.h"

#define NOBODY 65534

/* The line of /proc/PID/status that begins with @key, without it. */
static char *status_line(pid_t pid, const char *key)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", pid);
    g_autofree char *text = NULL, *want = g_strdup_printf("\n%s:", key);
    char *at;

    if (!g_file_get_contents(path, &text, NULL, NULL)) {
        return NULL;
    }
    at = strstr(text, want);
    g_assert_nonnull(at);
    at += strlen(want);
    at[strcspn(at, "\n")] = 0;
    return g_strstrip(g_strdup(at));
}

static void assert_status(pid_t pid, const char *key, const char *want)
{
    g_autofree char *line = status_line(pid, key);

    g_assert_cmpstr(line, ==, want);
}

static bool is_root(void)
{
    if (geteuid() != 0) {
        g_test_skip("only root can change user and root");
        return false;
    }
    return true;
}

static void test_user(void)
{
    static const char *const uids = "65534\t65534\t65534\t65534";
    QTestState *s;
    G_GNUC_UNUSED g_autofree char *root = NULL;

    if (!is_root()) {
        return;
    }
    s = qtest_start("-M none -m 4M -run-with user=65534:65534");
    assert_status(qtest_pid(s), "Uid", uids);
    assert_status(qtest_pid(s), "Gid", uids);
    assert_status(qtest_pid(s), "Groups", "65534");
    assert_status(qtest_pid(s), "CapEff", "0000000000000000");
    assert_status(qtest_pid(s), "CapPrm", "0000000000000000");
    qtest_writel(s, 0x1000, 42);
    g_assert_cmpint(qtest_readl(s, 0x1000), ==, 42);
    qtest_quit(s);
}

/* A name brings its groups along, and is looked up in the old root. */
static void test_named_user(void)
{
    g_autofree char *dir = g_dir_make_tmp("qtest-root-XXXXXX", NULL);
    QTestState *s;

    if (!is_root()) {
        g_rmdir(dir);
        return;
    }
    s = qtest_startf("-M none -run-with user=root,chroot=%s", dir);
    assert_status(qtest_pid(s), "Uid", "0\t0\t0\t0");
    qtest_quit(s);
    g_assert_cmpint(g_rmdir(dir), ==, 0);
}

static void test_user_fails(void)
{
    G_GNUC_UNUSED g_autofree char *dir = NULL, *line = NULL, *err = NULL;
    char *argv[] = { (char *)"sh", (char *)"-c", NULL, NULL };
    int status;

    if (!is_root()) {
        return;
    }
    /* Who is not root any more cannot become another. */
    line = g_strdup_printf("setpriv --reuid 65534 --regid 65534 --clear-groups "
                           "%s -M none -accel qtest -display none "
                           "-run-with user=1:1",
                           qtest_binary());
    argv[2] = line;
    g_assert_true(g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH, NULL,
                               NULL, NULL, &err, &status, NULL));
    if (strstr(err, "setpriv")) {
        g_test_skip("no setpriv");
        return;
    }
    g_assert_cmpint(status, !=, 0);
    g_assert_nonnull(strstr(err, "user=1:1"));
    g_assert_nonnull(strstr(err, g_strerror(EPERM)));
}

/* Paths of the command line are of the old root, those of QMP of the new. */
static void test_chroot(void)
{
    g_autofree char *dir = g_dir_make_tmp("qtest-root-XXXXXX", NULL);
    g_autofree char *inside = g_build_filename(dir, "stream", NULL);
    g_autofree char *sock = g_strconcat(dir, ".sock", NULL);
    g_autofree char *pidfile = g_strconcat(dir, ".pid", NULL);
    g_autofree char *link = NULL, *root = NULL;
    QTestState *s;

    if (!is_root()) {
        g_rmdir(dir);
        return;
    }
    s = qtest_startf("-M none -m 1M -run-with chroot=%s -pidfile %s "
                     "-incoming unix:%s -sandbox on,elevateprivileges=deny",
                     dir, pidfile, sock);
    g_assert_true(g_file_test(sock, G_FILE_TEST_EXISTS));
    link = g_strdup_printf("/proc/%d/root", qtest_pid(s));
    root = g_file_read_link(link, NULL);
    g_assert_cmpstr(root, ==, dir);
    qtest_quit(s);
    /* The pid file lies in a directory that was opened before. */
    g_assert_false(g_file_test(pidfile, G_FILE_TEST_EXISTS));
    unlink(sock);

    s = qtest_startf("-M none -m 1M -run-with chroot=%s", dir);
    json_object_put(qtest_qmp_ok(s, "{'execute':'migrate','arguments':"
                                    "{'uri':'file:/stream'}}"));
    for (int ms = 0; !g_file_test(inside, G_FILE_TEST_EXISTS); ms += 5) {
        g_assert_cmpint(ms, <, 10000);
        g_usleep(5000);
    }
    qtest_quit(s);
    unlink(inside);
    g_assert_cmpint(g_rmdir(dir), ==, 0);
}

/* An empty root has no /dev/null; -daemonize needs it nevertheless. */
static void test_daemonize(void)
{
    g_autofree char *dir = g_dir_make_tmp("qtest-root-XXXXXX", NULL);
    g_autofree char *sock = g_strconcat(dir, ".sock", NULL);
    g_autofree char *pidfile = g_strconcat(dir, ".pid", NULL);
    g_autofree char *args = g_strdup_printf(
        "-M none -accel qtest -display none -daemonize -pidfile %s "
        "-qmp unix:%s,server=on,wait=off -run-with chroot=%s",
        pidfile, sock, dir);
    QTestState *s;

    if (!is_root()) {
        g_rmdir(dir);
        return;
    }
    g_assert_cmpint(qtest_run(args, NULL, NULL), ==, 0);
    s = qtest_connect_qmp(sock);
    qtest_assert_status(s, "running");
    json_object_put(qtest_qmp_ok(s, "{'execute':'quit'}"));
    qtest_free(s);
    for (int ms = 0; g_file_test(pidfile, G_FILE_TEST_EXISTS); ms += 5) {
        g_assert_cmpint(ms, <, 10000);
        g_usleep(5000);
    }
    unlink(sock);
    g_assert_cmpint(g_rmdir(dir), ==, 0);
}

/* The kernel forgets whom to tell when the user changes. */
static void test_exit_with_parent(void)
{
    g_autofree char *dir = g_dir_make_tmp("qtest-parent-XXXXXX", NULL);
    g_autofree char *pidfile = g_build_filename(dir, "pid", NULL);
    g_autofree char *line = g_strdup_printf(
        "%s -M none -accel qtest -display none -pidfile %s "
        "-run-with exit-with-parent=on,user=65534:65534 & "
        "while ! grep -q '^Uid:.65534' /proc/$!/status; do sleep 0.02; done; "
        "sleep 0.2",
        qtest_binary(), pidfile);
    char *argv[] = { (char *)"sh", (char *)"-c", line, NULL };
    g_autofree char *text = NULL;
    int status;

    if (!is_root()) {
        g_rmdir(dir);
        return;
    }
    g_assert_true(g_spawn_sync(NULL, argv, NULL,
                               G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL,
                               NULL, NULL, NULL, NULL, &status, NULL));
    g_assert_cmpint(status, ==, 0);
    g_assert_true(g_file_get_contents(pidfile, &text, NULL, NULL));
    for (int ms = 0; kill(atoi(text), 0) == 0; ms += 5) {
        g_assert_cmpint(ms, <, 10000);
        g_usleep(5000);
    }
    unlink(pidfile); /* of root's: nobody may not remove it */
    g_assert_cmpint(g_rmdir(dir), ==, 0);
}

/* The one child of @pid, 0: none. */
static pid_t child_of(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", pid,
                                            pid);
    g_autofree char *text = NULL;

    return g_file_get_contents(path, &text, NULL, NULL) ? atoi(text) : 0;
}

static void wait_gone(pid_t pid)
{
    for (int ms = 0; kill(pid, 0) == 0; ms += 5) {
        g_assert_cmpint(ms, <, 10000);
        g_usleep(5000);
    }
}

/* The thread sanitizer takes it for a fork, and its own state is shared. */
static bool may_share_memory(void)
{
#ifdef QEMU_TSAN
    g_test_skip("not under the thread sanitizer");
    return false;
#else
    return true;
#endif
}

static void test_async_teardown(void)
{
    static const int ends[] = { 0, SIGTERM, SIGKILL };

    if (!may_share_memory()) {
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        QTestState *s = qtest_start("-M none -m 4M -sandbox on "
                                    "-run-with async-teardown=on");
        pid_t pid = child_of(qtest_pid(s));

        if (!pid) {
            g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children",
                                                    qtest_pid(s), qtest_pid(s));

            g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
            g_test_skip("the kernel does not list children");
            qtest_quit(s);
            return;
        }
        assert_status(pid, "Seccomp", "2");
        qtest_writel(s, 0x1000, 42);
        g_assert_cmpint(qtest_readl(s, 0x1000), ==, 42);
        if (ends[i] == 0) {
            qtest_quit(s);
        } else if (ends[i] == SIGKILL) {
            qtest_kill(s);
        } else {
            qtest_signal(s, SIGTERM);
            g_assert_cmpint(qtest_wait_exit(s), ==, 0);
            qtest_free(s);
        }
        wait_gone(pid);
    }
}

/* It has no more rights than the process whose memory it shares. */
static void test_async_teardown_user(void)
{
    QTestState *s;
    pid_t pid;

    if (!is_root() || !may_share_memory()) {
        return;
    }
    s = qtest_start("-M none -m 4M "
                    "-run-with async-teardown=on,user=65534:65534");
    pid = child_of(qtest_pid(s));
    if (pid) {
        assert_status(pid, "Uid", "65534\t65534\t65534\t65534");
        assert_status(pid, "CapEff", "0000000000000000");
    }
    qtest_quit(s);
    if (pid) {
        wait_gone(pid);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_set_leak_check(false);
    g_test_add_func("/confine/user", test_user);
    g_test_add_func("/confine/named-user", test_named_user);
    g_test_add_func("/confine/user-fails", test_user_fails);
    g_test_add_func("/confine/chroot", test_chroot);
    g_test_add_func("/confine/daemonize", test_daemonize);
    g_test_add_func("/confine/exit-with-parent", test_exit_with_parent);
    g_test_add_func("/confine/async-teardown", test_async_teardown);
    g_test_add_func("/confine/async-teardown-user", test_async_teardown_user);
    return g_test_run();
}
