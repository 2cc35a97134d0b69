/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libqtest: the child process, and bytes to and from it. */
#include "qemu/osdep.h"

#include <glib/gstdio.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "libqtest-int.h"

/* As set by scripts/run-tests. */
#define SANITIZER_STATUS 86

const char *qtest_binary(void)
{
    const char *path = g_getenv("QTEST_QEMU_BINARY");

    if (!path) {
        g_error("QTEST_QEMU_BINARY is not set");
    }
    return path;
}

const char *qtest_arch(void)
{
    const char *dash = strrchr(qtest_binary(), '-');

    g_assert_nonnull(dash);
    return dash + 1;
}

void qtest_set_leak_check(bool on)
{
    static char *had;
    static bool known;
    g_autofree char *options = NULL;

    if (!known) {
        had = g_strdup(g_getenv("ASAN_OPTIONS"));
        known = true;
    }
    options = g_strdup_printf("%s%s", had ? had : "",
                              on ? "" : ":detect_leaks=0");
    g_setenv("ASAN_OPTIONS", options, true);
}

bool qtest_has_accel(const char *name)
{
    g_autofree char *out = NULL;
    g_auto(GStrv) lines = NULL;

    g_assert_cmpint(qtest_run("-accel help", &out, NULL), ==, 0);
    lines = g_strsplit(out, "\n", -1);
    return g_strv_contains((const char *const *)lines, name);
}

static char *read_file(QTestState *s, const char *name)
{
    g_autofree char *path = NULL;
    char *text;

    if (!s->dir) {
        return g_strdup("");
    }
    path = g_build_filename(s->dir, name, NULL);
    if (!g_file_get_contents(path, &text, NULL, NULL)) {
        return g_strdup("");
    }
    return text;
}

char *qtest_stderr(QTestState *s)
{
    return read_file(s, "stderr");
}

char *qtest_stdout(QTestState *s)
{
    return read_file(s, "stdout");
}

const char *qtest_dir(QTestState *s)
{
    return s->dir;
}

pid_t qtest_pid(QTestState *s)
{
    return s->pid;
}

void qtest_die(QTestState *s, const char *fmt, ...)
{
    g_autofree char *words = NULL, *err = NULL;
    va_list ap;

    va_start(ap, fmt);
    words = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    err = qtest_stderr(s);
    if (s->pid > 0) {
        kill(s->pid, SIGKILL);
        waitpid(s->pid, NULL, 0);
    }
    g_error("libqtest: %s\nstderr of the binary:\n%s", words, err);
}

/* ---- bytes ---- */

bool qtest_poll(int fd, int ms)
{
    struct pollfd pfd = { .fd = fd, .events = POLLIN };
    int n;

    do {
        n = poll(&pfd, 1, ms);
    } while (n < 0 && errno == EINTR);
    return n > 0;
}

static char *take_line(GString *in)
{
    char *nl = memchr(in->str, '\n', in->len);
    char *line;

    if (!nl) {
        return NULL;
    }
    line = g_strndup(in->str, nl - in->str);
    g_string_erase(in, 0, nl + 1 - in->str);
    return line;
}

char *qtest_get_line(QTestState *s, int fd, GString *in, int ms,
                     bool *timed_out)
{
    gint64 end_us = g_get_monotonic_time() + ms * (gint64)1000;
    char buf[65536];
    char *line;
    ssize_t n;

    while (!(line = take_line(in))) {
        int left_ms = (end_us - g_get_monotonic_time() + 999) / 1000;

        if (!qtest_poll(fd, MAX(left_ms, 0))) {
            if (timed_out) {
                *timed_out = true;
                return NULL;
            }
            qtest_die(s, "no answer in %d ms", ms);
        }
        n = read(fd, buf, sizeof(buf));
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return NULL;
        }
        g_string_append_len(in, buf, MAX(n, 0));
    }
    return line;
}

void qtest_put(QTestState *s, int fd, const char *bytes, size_t len,
               const int *fds, size_t nfds)
{
    char control[CMSG_SPACE(16 * sizeof(int))] = { 0 };
    struct iovec iov;
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    ssize_t n;

    g_assert_cmpint(nfds, <=, 16);
    while (len) {
        iov = (struct iovec){ (void *)bytes, len };
        if (nfds) {
            struct cmsghdr *c = (struct cmsghdr *)control;

            msg.msg_control = control;
            msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
            c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
        }
        n = sendmsg(fd, &msg, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            qtest_die(s, "could not send: %s", strerror(errno));
        }
        bytes += n;
        len -= n;
        nfds = 0;
        msg.msg_control = NULL;
        msg.msg_controllen = 0;
    }
}

/* ---- sockets ---- */

static void fill_address(struct sockaddr_un *sun, const char *path)
{
    *sun = (struct sockaddr_un){ .sun_family = AF_UNIX };
    g_assert_cmpint(strlen(path), <, sizeof(sun->sun_path));
    g_strlcpy(sun->sun_path, path, sizeof(sun->sun_path));
}

static int listen_at(const char *dir, const char *name)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    struct sockaddr_un sun;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    fill_address(&sun, path);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), ==, 0);
    g_assert_cmpint(listen(fd, 1), ==, 0);
    return fd;
}

/* Wait for the child to connect; it may die instead. */
static int accept_child(QTestState *s, int listen_fd, const char *what)
{
    gint64 end_us = g_get_monotonic_time() + QTEST_TIMEOUT_MS * (gint64)1000;
    int fd;

    while (!qtest_poll(listen_fd, 20)) {
        if (qtest_has_exited(s)) {
            qtest_die(s, "the binary ended (status %d) before it connected",
                      s->status);
        }
        if (g_get_monotonic_time() > end_us) {
            qtest_die(s, "the binary did not connect for %s", what);
        }
    }
    fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
    g_assert_cmpint(fd, >=, 0);
    close(listen_fd);
    return fd;
}

/* ---- the child ---- */

static QTestState *state_new(void)
{
    QTestState *s = g_new0(QTestState, 1);

    s->qmp_fd = s->qtest_fd = -1;
    s->qmp_in = g_string_new(NULL);
    s->qtest_in = g_string_new(NULL);
    g_queue_init(&s->events);
    return s;
}

static void in_child(gpointer opaque)
{
    /* A test that crashes takes its children along. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static int open_output(const char *dir, const char *name)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    int fd = g_open(path, O_CREAT | O_WRONLY | O_TRUNC | O_APPEND, 0600);

    g_assert_cmpint(fd, >=, 0);
    return fd;
}

static void spawn(QTestState *s, char **argv)
{
    g_autoptr(GError) err = NULL;
    int out = open_output(s->dir, "stdout");
    int errfd = open_output(s->dir, "stderr");
    int in = g_open("/dev/null", O_RDONLY);

    if (!g_spawn_async_with_fds(
            NULL, argv, NULL,
            G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_LEAVE_DESCRIPTORS_OPEN,
            in_child, NULL, &s->pid, in, out, errfd, &err)) {
        g_error("libqtest: %s", err->message);
    }
    close(in);
    close(out);
    close(errfd);
}

static QTestState *start_argv(const char *args)
{
    QTestState *s = state_new();
    g_autoptr(GError) err = NULL;
    g_autofree char *line = g_strdup_printf("%s %s", qtest_binary(), args);
    g_auto(GStrv) argv = NULL;

    s->dir = g_dir_make_tmp("qtest-XXXXXX", NULL);
    g_assert_nonnull(s->dir);
    if (!g_shell_parse_argv(line, NULL, &argv, &err)) {
        g_error("libqtest: %s: %s", line, err->message);
    }
    g_test_message("%s", line);
    spawn(s, argv);
    return s;
}

QTestState *qtest_start_flags(const char *args, unsigned flags)
{
    QTestState *s = state_new();
    GString *line = g_string_new(NULL);
    g_autoptr(GError) err = NULL;
    g_auto(GStrv) argv = NULL;
    int qmp_listen = -1, qtest_listen = -1;

    if (flags & QTEST_NO_QMP) {
        g_string_free(line, TRUE);
        qtest_free(s);
        return start_argv(args);
    }
    s->dir = g_dir_make_tmp("qtest-XXXXXX", NULL);
    g_assert_nonnull(s->dir);
    qmp_listen = listen_at(s->dir, "qmp");
    g_string_append_printf(line,
                           "%s -display none -nodefaults "
                           "-chardev socket,path=%s/qmp,id=libqtest-qmp "
                           "-mon chardev=libqtest-qmp,mode=control ",
                           qtest_binary(), s->dir);
    if (!(flags & QTEST_NO_QTEST)) {
        qtest_listen = listen_at(s->dir, "qtest");
        g_string_append_printf(line, "-qtest unix:%s/qtest -qtest-log none %s ",
                               s->dir,
                               strstr(args, "-accel") ? "" : "-accel qtest");
    }
    g_string_append(line, args);
    if (!g_shell_parse_argv(line->str, NULL, &argv, &err)) {
        g_error("libqtest: %s: %s", line->str, err->message);
    }
    g_test_message("%s", line->str);
    g_string_free(line, TRUE);
    spawn(s, argv);
    s->qmp_fd = accept_child(s, qmp_listen, "QMP");
    if (qtest_listen >= 0) {
        s->qtest_fd = accept_child(s, qtest_listen, "qtest");
    }
    if (!(flags & QTEST_NO_HANDSHAKE)) {
        qtest_qmp_handshake(s, flags & QTEST_OOB);
    }
    return s;
}

QTestState *qtest_start(const char *args)
{
    return qtest_start_flags(args, 0);
}

QTestState *qtest_startf(const char *fmt, ...)
{
    g_autofree char *args = NULL;
    va_list ap;

    va_start(ap, fmt);
    args = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    return qtest_start(args);
}

QTestState *qtest_connect_qmp(const char *path)
{
    QTestState *s = state_new();
    struct sockaddr_un sun;
    int tries = 200;

    fill_address(&sun, path);
    s->qmp_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    while (connect(s->qmp_fd, (struct sockaddr *)&sun, sizeof(sun)) < 0) {
        if (--tries == 0) {
            g_error("libqtest: %s: %s", path, strerror(errno));
        }
        g_usleep(20000);
    }
    qtest_qmp_handshake(s, false);
    return s;
}

static int decode_status(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/*
 * No sanitizer may have found anything, whatever the test thinks of how the
 * binary ended. Under scripts/run-tests they end it with a status of its own,
 * and write elsewhere.
 */
static void check_sanitizers(QTestState *s)
{
    static const char *const words[] = { "Sanitizer: ", "runtime error: " };
    g_autofree char *err = qtest_stderr(s);

    if (s->status == SANITIZER_STATUS) {
        qtest_die(s, "a sanitizer ended the binary");
    }
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        if (strstr(err, words[i])) {
            qtest_die(s, "a sanitizer found something");
        }
    }
}

bool qtest_has_exited(QTestState *s)
{
    int status;

    if (s->pid > 0 && waitpid(s->pid, &status, WNOHANG) == s->pid) {
        s->status = decode_status(status);
        s->pid = 0;
        check_sanitizers(s);
    }
    return s->pid == 0;
}

int qtest_wait_exit(QTestState *s)
{
    for (int ms = 0; !qtest_has_exited(s); ms += 5) {
        if (ms > QTEST_TIMEOUT_MS) {
            qtest_die(s, "it did not end");
        }
        g_usleep(5000);
    }
    return s->status;
}

void qtest_signal(QTestState *s, int sig)
{
    g_assert_cmpint(kill(s->pid, sig), ==, 0);
}

static void remove_dir(const char *dir)
{
    g_autoptr(GDir) d = g_dir_open(dir, 0, NULL);
    const char *name;

    while (d && (name = g_dir_read_name(d))) {
        g_autofree char *path = g_build_filename(dir, name, NULL);

        g_remove(path);
    }
    g_rmdir(dir);
}

void qtest_free(QTestState *s)
{
    g_assert_cmpint(s->pid, ==, 0);
    if (s->qmp_fd >= 0) {
        close(s->qmp_fd);
    }
    if (s->qtest_fd >= 0) {
        close(s->qtest_fd);
    }
    qtest_events_clear(s);
    g_string_free(s->qmp_in, TRUE);
    g_string_free(s->qtest_in, TRUE);
    if (s->dir) {
        remove_dir(s->dir);
        g_free(s->dir);
    }
    g_free(s);
}

void qtest_kill(QTestState *s)
{
    if (s->pid > 0) {
        kill(s->pid, SIGKILL);
        qtest_wait_exit(s);
    }
    qtest_free(s);
}

void qtest_quit(QTestState *s)
{
    static const char quit[] = "{\"execute\":\"quit\"}\n";

    if (s->dir && s->pid > 0) {
        qtest_put(s, s->qmp_fd, quit, strlen(quit), NULL, 0);
        if (qtest_wait_exit(s) != 0) {
            qtest_die(s, "it ended with status %d", s->status);
        }
    }
    qtest_free(s);
}

int qtest_run(const char *args, char **out, char **err)
{
    QTestState *s = start_argv(args);
    int status = qtest_wait_exit(s);

    if (out) {
        *out = qtest_stdout(s);
    }
    if (err) {
        *err = qtest_stderr(s);
    }
    qtest_free(s);
    return status;
}
