/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migrations of processes that are confined as far as can be: all threads of
 * both sides under -sandbox, as another user. Nothing that a migration does,
 * by any transport or tracker, is denied; commands are refused in words.
 */
#include "qemu/osdep.h"

#include <netdb.h>

#include <glib/gstdio.h>
#include <signal.h>
#include <sys/socket.h>

#include "guest-fixture.h"

#define SANDBOX                                         \
    "-sandbox on,obsolete=deny,elevateprivileges=deny," \
    "spawn=deny,resourcecontrol=deny"

/* The member @key of /proc/PID/task/TID/status, as a number. */
static long status_number(const char *path, const char *key)
{
    g_autofree char *text = NULL, *line = g_strdup_printf("\n%s:", key);
    const char *at;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    at = strstr(text, line);
    g_assert_nonnull(at);
    return strtol(at + strlen(line), NULL, 10);
}

/* Each thread there is; one may end meanwhile. */
static void assert_confined(QTestState *s)
{
    g_autofree char *tasks = g_strdup_printf("/proc/%d/task", qtest_pid(s));
    g_autoptr(GDir) dir = g_dir_open(tasks, 0, NULL);
    unsigned threads = 0;
    const char *tid;

    while ((tid = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(tasks, tid, "status", NULL);

        if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
            continue;
        }
        g_assert_cmpint(status_number(path, "Seccomp"), ==, 2);
        g_assert_cmpint(status_number(path, "NoNewPrivs"), ==, 1);
        threads++;
    }
    g_assert_cmpuint(threads, >, 0);
}

static void both_confined(MigrationPair *p)
{
    assert_confined(p->src);
    assert_confined(p->dst);
}

/* The threads of a migration, too. */
static void confined_meanwhile(MigrationPair *p)
{
    migration_wait_pass(p->src, 2);
    both_confined(p);
    let_it_go(p);
}

#define CONFINED .src_args = SANDBOX, .dst_args = SANDBOX, .own_only = true

static const MigrationTest unix_test = {
    .name = "/migration/confined/none/unix",
    .caps = caps_return_path,
    .after = both_confined,
    CONFINED,
};

static const MigrationTest tcp_test = {
    .name = "/migration/confined/none/tcp",
    .listen = "tcp:127.0.0.1:0",
    .listen_at_start = true,
    .after = both_confined,
    CONFINED,
};

/* A system without /etc/hosts does not even know itself by name. */
static bool has_name(const char *name)
{
    struct addrinfo *ai = NULL;

    if (getaddrinfo(name, NULL, NULL, &ai)) {
        return false;
    }
    freeaddrinfo(ai);
    return true;
}

static const MigrationTest tcp6_name_test = {
    .name = "/migration/confined/none/tcp-by-name",
    .listen = "tcp:localhost:0",
    .caps = caps_return_path,
    CONFINED,
};

static const MigrationTest file_test = {
    .name = "/migration/confined/none/file",
    .listen = "file:%s/stream",
    .target_later = true,
    CONFINED,
};

/* Without spawn=deny a command is a way like others. */
static const MigrationTest exec_test = {
    .name = "/migration/confined/none/exec-where-it-is-allowed",
    .listen = "exec:cat %s/stream",
    .connect = "exec:cat > %s/stream",
    .target_later = true,
    .src_args = "-sandbox on,elevateprivileges=deny,resourcecontrol=deny",
    .dst_args = "-sandbox on,elevateprivileges=children",
    .own_only = true,
};

static void send_fd(QTestState *s, const char *name, int fd)
{
    G_GNUC_UNUSED g_autoptr(json_object) r = qtest_qmp_fds(
        s, &fd, 1, "{'execute':'getfd','arguments':{'fdname':'%s'}}", name);

    close(fd);
}

static void hand_fds(MigrationPair *p)
{
    int fds[2];

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
    send_fd(p->src, "out", fds[0]);
    send_fd(p->dst, "in", fds[1]);
}

static const MigrationTest fd_test = {
    .name = "/migration/confined/none/fd",
    .listen = "fd:in",
    .connect = "fd:out",
    .caps = caps_return_path,
    .prepare = hand_fds,
    CONFINED,
};

/* ------------------------------------------------------------- guests */

#define GUEST                                                          \
    TWO_WRITERS, .caps = caps_return_path, .params = HELD_BACK,        \
                 .during = confined_meanwhile, .after = both_confined, \
                 CONFINED

static const MigrationTest tcg_tests[] = {
    { .name = "/migration/confined/tcg/bitmap",
      .accel = "tcg,dirty-tracking=bitmap",
      GUEST },
    { .name = "/migration/confined/tcg/ring",
      .accel = "tcg,dirty-ring-size=256",
      GUEST },
    { .name = "/migration/confined/tcg/groups",
      .accel = "tcg,dirty-tracking=dbm",
      GUEST },
    { .name = "/migration/confined/tcg/auto",
      .accel = "tcg,dirty-tracking=auto",
      GUEST },
};

static const MigrationTest kvm_tests[] = {
    { .name = "/migration/confined/kvm/bitmap",
      .accel = "kvm,dirty-tracking=bitmap",
      GUEST },
    { .name = "/migration/confined/kvm/ring",
      .accel = "kvm,dirty-ring-size=4096",
      GUEST },
    { .name = "/migration/confined/kvm/auto",
      .accel = "kvm,dirty-tracking=auto",
      GUEST },
};

/* ----------------------------------------------------------- refusals */

static const MigrationTest pair_kind = { .name = "/migration/confined" };

/* Refused before anything happens; the guest is still there to migrate. */
static void test_exec_refused(void)
{
    static const MigrationTest test = {
        .name = "/migration/confined/none/exec-is-refused",
        CONFINED,
    };
    MigrationPair *p = migration_pair_new(&test);
    g_autofree char *src = NULL, *dst = NULL;
    g_autofree char *made = g_build_filename(p->dir, "made", NULL);

    if (!migration_binary_is_own(false) || !migration_binary_is_own(true)) {
        g_test_skip("this test is about what only our binaries have");
        migration_pair_free(p);
        return;
    }
    migration_start_target(p);
    migration_start_source(p);
    src = qtest_qmp_fail(p->src,
                         "{'execute':'migrate','arguments':"
                         "{'uri':'exec:cat > %s'}}",
                         made);
    dst = qtest_qmp_fail(p->dst, "{'execute':'migrate-incoming','arguments':"
                                 "{'uri':'exec:true'}}");
    g_assert_nonnull(strstr(src, "spawn=deny"));
    g_assert_nonnull(strstr(dst, "spawn=deny"));
    g_assert_false(g_file_test(made, G_FILE_TEST_EXISTS));
    qtest_assert_status(p->src, "running");

    migration_target_listen(p);
    migration_go(p);
    migration_wait_arrival(p);
    migration_pair_quit(p);
}

/* --------------------------------------------------- as another user */

/* What pagemap needs was opened as root; RAM that is no file. */
static const char *const pagemap_machines[][2] = {
    { "aarch64", "-M virt -m 64M -accel tcg,dirty-tracking=pagemap" },
    { "x86_64", "-M q35 -m 64M -accel kvm,dirty-tracking=pagemap" },
};

static void migrate_to_file(QTestState *s, const char *path)
{
    G_GNUC_UNUSED g_autoptr(json_object)
        r = qtest_qmp_ok(s,
                         "{'execute':'migrate','arguments':"
                         "{'uri':'file:%s'}}",
                         path);

    migration_wait(s, "completed");
}

static void test_pagemap(void)
{
    MigrationPair *p = migration_pair_new(&pair_kind);
    g_autofree char *path = g_build_filename(p->dir, "stream", NULL);
    g_autoptr(json_object) r = NULL;
    const char *user = geteuid() == 0 ? "-run-with user=65534:65534" : "";
    const char *machine = NULL;
    QTestState *s;

    for (size_t i = 0; i < G_N_ELEMENTS(pagemap_machines); i++) {
        if (g_str_equal(pagemap_machines[i][0], qtest_arch())) {
            machine = pagemap_machines[i][1];
        }
    }
    if (!migration_guests_work() || !machine) {
        g_test_skip("no accelerator here");
        migration_pair_free(p);
        return;
    }
    g_assert_cmpint(chmod(p->dir, 0777), ==, 0);
    p->src = s = qtest_startf("%s %s %s -S", machine, SANDBOX, user);
    r = query_tracking(p);
    if (!g_str_equal(json_path_str(r, "engine"), "pagemap")) {
        g_test_skip("this kernel has no asynchronous write protection");
    } else {
        migrate_to_file(s, path);
        assert_confined(s);
    }
    qtest_quit(s);
    p->src = NULL;
    migration_pair_free(p);
}

static void add_tests(void)
{
    static const MigrationTest *const tests[] = { &unix_test,      &tcp_test,
                                                  &tcp6_name_test, &file_test,
                                                  &exec_test,      &fd_test };
    bool tcg = g_str_equal(qtest_arch(), "aarch64");

    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        if (tests[i] != &tcp6_name_test || has_name("localhost")) {
            migration_test_add(tests[i]);
        }
    }
    for (size_t i = 0; tcg && i < G_N_ELEMENTS(tcg_tests); i++) {
        migration_test_add(&tcg_tests[i]);
    }
    for (size_t i = 0; !tcg && i < G_N_ELEMENTS(kvm_tests); i++) {
        migration_test_add(&kvm_tests[i]);
    }
    g_test_add_func("/migration/confined/none/exec-is-refused",
                    test_exec_refused);
    g_test_add_func("/migration/confined/pagemap-as-another-user",
                    test_pagemap);
}

int main(int argc, char **argv)
{
    qtest_set_leak_check(false);
    return migration_test_main(argc, argv, add_tests);
}
