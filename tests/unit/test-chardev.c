/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of character devices, one per promise of include/chardev/char.h.
 * The test is the other end, too: it turns the main loop while it waits.
 */
#include "qemu/osdep.h"

#include <glib/gstdio.h>
#include <netinet/in.h>
#include <pty.h>
#include <sys/resource.h>
#include <termios.h>

#include "chardev/char.h"
#include "qapi/qapi-commands-char.h"
#include "qemu/error.h"
#include "qemu/thread.h"
#include "qmp-client.h"

static char *tmpdir;
static unsigned nr_devices;

/* This thread, so far. */
static long times_slept(void)
{
    struct rusage r;

    getrusage(RUSAGE_THREAD, &r);
    return r.ru_nvcsw;
}

/*
 * A front end that remembers what happened
 */

typedef struct User {
    CharFrontend fe;
    GString *in;
    GString *events; /* a letter each */
    int may_read;
    int fd; /* last one that came */
} User;

static int user_can_read(void *opaque)
{
    return ((User *)opaque)->may_read;
}

static void user_read(void *opaque, const uint8_t *buf, int size)
{
    User *u = opaque;
    int fd = qemu_chr_fe_get_msgfd(&u->fe);

    g_assert_cmpint(size, <=, u->may_read);
    g_string_append_len(u->in, (const char *)buf, size);
    if (fd >= 0) {
        u->fd = fd;
    }
}

static void user_event(void *opaque, QEMUChrEvent event)
{
    static const char letters[] = "BOIXCE";

    g_string_append_c(((User *)opaque)->events, letters[event]);
}

static User *user_new(Chardev *chr)
{
    User *u = g_new0(User, 1);

    u->in = g_string_new(NULL);
    u->events = g_string_new(NULL);
    u->may_read = 4096;
    u->fd = -1;
    g_assert_true(qemu_chr_fe_init(&u->fe, chr, &error_abort));
    qemu_chr_fe_set_handlers(&u->fe, user_can_read, user_read, user_event, u,
                             NULL);
    return u;
}

static void user_free(User *u, bool del)
{
    qemu_chr_fe_deinit(&u->fe, del);
    g_string_free(u->in, TRUE);
    g_string_free(u->events, TRUE);
    g_free(u);
}

typedef struct Want {
    GString *have;
    const char *text;
} Want;

static bool want_met(void *opaque)
{
    Want *w = opaque;

    return g_str_equal(w->have->str, w->text);
}

static void expect(GString *have, const char *text)
{
    Want w = { have, text };

    if (!turn_until(want_met, &w)) {
        g_error("got '%s', want '%s'", have->str, text);
    }
    g_string_truncate(have, 0);
}

static char *new_label(void)
{
    return g_strdup_printf("chr%u", nr_devices++);
}

static Chardev *chr_from(const char *fmt, const char *arg)
{
    g_autofree char *label = new_label();
    g_autofree char *spec = g_strdup_printf(fmt, arg);

    return qemu_chr_new(label, spec, &error_abort);
}

static void fe_puts(User *u, const char *text)
{
    qemu_chr_fe_write_all(&u->fe, (const uint8_t *)text, strlen(text));
}

/*
 * Specs
 */

static void test_specs_refused(void)
{
    static const char *const bad[] = {
        "vc",
        "vc:80x24",
        "telnet::1234,server",
        "nonsense",
        "",
        "tcp:host",
        "tcp:h:1,bogus=1",
        "unix:",
        "unix:/tmp/x,server=maybe",
        "chardev:nobody",
        "file:/nowhere/at/all",
        "stdio:x",
        "unix:/nowhere/at/all",
    };

    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        Error *err = NULL;

        if (qemu_chr_new("bad", bad[i], &err)) {
            g_error("'%s' was taken", bad[i]);
        }
        error_free_or_abort(&err);
        g_assert_null(qemu_chr_find("bad"));
    }
    {
        Error *err = NULL;

        g_assert_null(qemu_chr_new("none", "none", &err));
        g_assert_null(err);
    }
}

static void test_opts_refused(void)
{
    static const char *const bad[] = {
        "null",
        "socket,id=x",
        "socket,id=x,path=/tmp/a,host=b,port=1",
        "socket,id=x,host=localhost",
        "socket,id=x,path=/tmp/a,telnet=on",
        "socket,id=x,path=/tmp/a,tls-creds=t",
        "socket,id=x,path=/tmp/a,server=on,reconnect-ms=5",
        "socket,id=x,path=/tmp/a,wait=on",
        "null,id=x,path=/tmp/a",
        "file,id=x",
        "nonsense,id=x",
        "ringbuf,id=x,size=1000",
        "file,id=x,path",
        "file,id=x,path=/tmp/a,append=7",
    };

    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        Error *err = NULL;

        if (qemu_chr_new_from_opts(bad[i], &err)) {
            g_error("'%s' was taken", bad[i]);
        }
        error_free_or_abort(&err);
        g_assert_null(qemu_chr_find("x"));
    }
}

static void test_labels(void)
{
    Chardev *a = qemu_chr_new_from_opts("null,id=a", &error_abort);
    Error *err = NULL;
    User *u;
    CharFrontend second;

    g_assert_true(qemu_chr_find("a") == a);
    g_assert_true(qemu_chr_new("other", "chardev:a", &error_abort) == a);
    g_assert_null(qemu_chr_new_from_opts("null,id=a", &err));
    error_free_or_abort(&err);

    u = user_new(a);
    g_assert_false(qemu_chr_fe_init(&second, a, &err));
    error_free_or_abort(&err);
    qmp_chardev_remove("a", &err);
    error_free_or_abort(&err);
    user_free(u, false);
    qmp_chardev_remove("a", &error_abort);
    g_assert_null(qemu_chr_find("a"));
    qmp_chardev_remove("a", &err);
    error_free_or_abort(&err);
}

static void test_unconnected(void)
{
    CharFrontend fe = { 0 };

    g_assert_cmpint(qemu_chr_fe_write(&fe, (uint8_t *)"abc", 3), ==, 3);
    g_assert_cmpint(qemu_chr_fe_write_all(&fe, (uint8_t *)"abc", 3), ==, 3);
    g_assert_false(qemu_chr_fe_backend_connected(&fe));
    qemu_chr_fe_set_handlers(&fe, NULL, NULL, NULL, NULL, NULL);
    qemu_chr_fe_accept_input(&fe);
    qemu_chr_fe_deinit(&fe, true);
}

/*
 * Files
 */

static void assert_file(const char *path, const char *want)
{
    g_autofree char *have = NULL;

    g_assert_true(g_file_get_contents(path, &have, NULL, NULL));
    g_assert_cmpstr(have, ==, want);
}

static void test_file(void)
{
    g_autofree char *path = g_strdup_printf("%s/a,b", tmpdir);
    g_autofree char *log = g_strdup_printf("%s/log", tmpdir);
    g_autofree char *opts = NULL;
    User *u = user_new(chr_from("file:%s", path));

    assert_file(path, ""); /* exists at once */
    fe_puts(u, "one");
    assert_file(path, "one"); /* written at once */
    user_free(u, true);

    opts = g_strdup_printf("file,id=f,path=%s/a,,b,append=on,logfile=%s",
                           tmpdir, log);
    u = user_new(qemu_chr_new_from_opts(opts, &error_abort));
    fe_puts(u, "two");
    assert_file(path, "onetwo");
    assert_file(log, "two");
    user_free(u, true);

    u = user_new(chr_from("file:%s", path));
    assert_file(path, "");
    user_free(u, true);
    unlink(path);
    unlink(log);
}

static void test_pipe(void)
{
    g_autofree char *base = g_strdup_printf("%s/fifo", tmpdir);
    g_autofree char *in = g_strdup_printf("%s.in", base);
    g_autofree char *out = g_strdup_printf("%s.out", base);
    char buf[8] = "";
    int fd_in, fd_out;
    User *u;

    g_assert_cmpint(mkfifo(in, 0600), ==, 0);
    g_assert_cmpint(mkfifo(out, 0600), ==, 0);
    u = user_new(chr_from("pipe:%s", base));
    fd_in = open(in, O_WRONLY);
    fd_out = open(out, O_RDONLY);
    g_assert_cmpint(write(fd_in, "hi", 2), ==, 2);
    expect(u->in, "hi");
    fe_puts(u, "yo");
    g_assert_cmpint(read(fd_out, buf, sizeof(buf)), ==, 2);
    g_assert_cmpstr(buf, ==, "yo");
    close(fd_in);
    close(fd_out);
    user_free(u, true);
    unlink(in);
    unlink(out);
}

/*
 * Sockets
 */

static User *unix_server(char **path)
{
    g_autofree char *label = new_label();
    g_autofree char *spec = NULL;

    *path = g_strdup_printf("%s/%s", tmpdir, label);
    spec = g_strdup_printf("unix:%s,server=on,wait=off", *path);
    return user_new(qemu_chr_new(label, spec, &error_abort));
}

static void assert_filename(User *u, const char *fmt, const char *arg)
{
    g_autofree char *have = qemu_chr_filename(u->fe.chr);
    g_autofree char *want = g_strdup_printf(fmt, arg);

    g_assert_cmpstr(have, ==, want);
}

static void test_server(void)
{
    g_autofree char *path = NULL;
    User *u = unix_server(&path);
    Client *c, *d;

    g_assert_false(qemu_chr_fe_backend_open(&u->fe));
    g_assert_cmpint(qemu_chr_fe_write(&u->fe, (uint8_t *)"x", 1), ==, -1);
    assert_filename(u, "disconnected:unix:%s,server=on", path);

    c = client_connect(path);
    expect(u->events, "O");
    g_assert_true(qemu_chr_fe_backend_open(&u->fe));
    assert_filename(u, "unix:%s,server=on", path);
    client_puts(c, "hello");
    expect(u->in, "hello");
    fe_puts(u, "world\n");
    client_expect(c, "world\n");

    d = client_connect(path); /* the next one waits */
    client_puts(d, "second");
    turn_for_ms(10);
    g_assert_cmpstr(u->events->str, ==, "");
    client_close(c);
    expect(u->in, "second");
    expect(u->events, "CO");
    qemu_chr_fe_disconnect(&u->fe);
    expect(u->events, "C");
    g_assert_true(turn_until(client_at_eof, d));
    client_close(d);
    user_free(u, true);
    g_assert_cmpint(access(path, F_OK), ==, -1);
}

static void *connect_later(void *opaque)
{
    g_usleep(30000);
    bql_lock(); /* who waits for us must not hold it: the guest would wait */
    bql_unlock();
    return client_connect(opaque);
}

static void test_server_wait(void)
{
    g_autofree char *path = g_strdup_printf("%s/wait", tmpdir);
    g_autofree char *spec = NULL;
    g_autofree char *opts = NULL;
    QemuThread thread;
    Client *c;
    User *u;

    /* The listener must be there before the thread tries: a made one. */
    opts = g_strdup_printf("socket,id=w,path=%s,server,nowait", path);
    u = user_new(qemu_chr_new_from_opts(opts, &error_abort));
    qemu_thread_create(&thread, "client", connect_later, path,
                       QEMU_THREAD_JOINABLE, &error_abort);
    g_assert_true(qemu_chr_fe_wait_connected(&u->fe, &error_abort));
    c = qemu_thread_join(&thread);
    g_assert_cmpstr(u->events->str, ==, "O");
    client_close(c);
    user_free(u, true);

    /* And by wait=on: it returns when someone is there. */
    spec = g_strdup_printf("unix:%s,server=on", path);
    qemu_thread_create(&thread, "client", connect_later, path,
                       QEMU_THREAD_JOINABLE, &error_abort);
    u = user_new(qemu_chr_new("w", spec, &error_abort));
    c = qemu_thread_join(&thread);
    g_assert_true(qemu_chr_fe_backend_open(&u->fe));
    g_assert_cmpstr(u->events->str, ==, "O");
    client_close(c);
    user_free(u, true);
}

static void test_abstract(void)
{
    g_autofree char *name = g_strdup_printf("test-chardev-%d", getpid());
    g_autofree char *server = g_strdup_printf(
        "socket,id=as,path=%s,abstract=on,server=on,wait=off", name);
    g_autofree char *client = g_strdup_printf(
        "socket,id=ac,path=%s,abstract=on", name);
    User *u = user_new(qemu_chr_new_from_opts(server, &error_abort));
    User *v = user_new(qemu_chr_new_from_opts(client, &error_abort));

    assert_filename(u, "disconnected:unix:%s,abstract=on,server=on", name);
    fe_puts(v, "hidden");
    expect(u->in, "hidden");
    user_free(v, true);
    user_free(u, true);
}

static void test_tcp(void)
{
    User *u = user_new(chr_from("tcp:127.0.0.1:%s,server=on,wait=off", "0"));
    g_autofree char *words = qemu_chr_filename(u->fe.chr);
    g_autofree char *spec = NULL;
    g_autofree char *both = NULL;
    const char *port = strrchr(words, ':') + 1;
    User *v;

    g_assert_true(g_str_has_prefix(words, "disconnected:tcp:127.0.0.1:"));
    g_assert_cmpint(atoi(port), >, 0);
    spec = g_strdup_printf("tcp:127.0.0.1:%d,nodelay=on", atoi(port));
    v = user_new(qemu_chr_new("client", spec, &error_abort));
    g_assert_cmpstr(v->events->str, ==, "O");
    fe_puts(v, "to server");
    expect(u->in, "to server");
    fe_puts(u, "to client");
    expect(v->in, "to client");
    both = qemu_chr_filename(u->fe.chr);
    g_assert_nonnull(strstr(both, ",server=on <-> 127.0.0.1:"));
    user_free(v, true);
    expect(u->events, "OC");
    user_free(u, true);
}

static void test_client_reconnects(void)
{
    g_autofree char *path = g_strdup_printf("%s/later", tmpdir);
    g_autofree char *opts = g_strdup_printf(
        "socket,id=r,path=%s,reconnect-ms=20", path);
    g_autofree char *spec = g_strdup_printf("unix:%s,server=on,wait=off", path);
    User *u = user_new(qemu_chr_new_from_opts(opts, &error_abort)), *v;

    turn_for_ms(50); /* nobody there yet */
    g_assert_cmpstr(u->events->str, ==, "");
    v = user_new(qemu_chr_new("v", spec, &error_abort));
    expect(u->events, "O");
    fe_puts(u, "back");
    expect(v->in, "back");
    user_free(v, true);
    expect(u->events, "C");
    v = user_new(qemu_chr_new("v", spec, &error_abort));
    expect(u->events, "O");
    user_free(u, true); /* and goes with everything it had under way */
    user_free(v, true);
    turn_for_ms(30);
}

/* A peer that does not read: the writer never waits, memory is bounded. */
static void test_slow_peer(void)
{
    g_autofree char *path = NULL;
    User *u = unix_server(&path);
    Client *c = client_connect(path);
    g_autofree uint8_t *chunk = g_malloc0(65536);
    size_t taken = 0, got = 0;
    long slept;
    bool dropped = false, eof;

    expect(u->events, "O");
    slept = times_slept();
    for (int i = 0; i < 100; i++) {
        if (qemu_chr_fe_write_all(&u->fe, chunk, 65536) == 65536) {
            g_assert_false(dropped); /* once full it stays full */
            taken += 65536;
        } else {
            dropped = true;
        }
    }
    g_assert_true(dropped);
    g_assert_cmpint(times_slept() - slept, <, 20); /* not for each */
    g_assert_cmpint(qemu_chr_fe_queued(&u->fe), <=, 1024 * 1024);
    g_assert_cmpint(qemu_chr_fe_write(&u->fe, chunk, 1), ==, 0);
    /* What was taken arrives. */
    while (got < taken) {
        turn_once();
        client_fill(c, &eof);
        got += c->in->len;
        g_string_truncate(c->in, 0);
        g_assert_false(eof);
    }
    client_close(c);
    user_free(u, true);
}

/* Threads that write at once: no line is torn. */
static void *write_lines(void *opaque)
{
    User *u = opaque;

    for (int i = 0; i < 2000; i++) {
        fe_puts(u, "abcdefghijklmnopqrstuvwxyz\n");
    }
    return NULL;
}

static void test_threads(void)
{
    g_autofree char *path = NULL;
    User *u = unix_server(&path);
    Client *c = client_connect(path);
    QemuThread threads[4];

    expect(u->events, "O");
    for (int i = 0; i < 4; i++) {
        qemu_thread_create(&threads[i], "writer", write_lines, u,
                           QEMU_THREAD_JOINABLE, &error_abort);
    }
    for (int i = 0; i < 8000; i++) {
        g_autofree char *line = client_line(c);

        g_assert_cmpstr(line, ==, "abcdefghijklmnopqrstuvwxyz");
    }
    for (int i = 0; i < 4; i++) {
        qemu_thread_join(&threads[i]);
    }
    client_close(c);
    user_free(u, true);
}

/* A hang-up on its way does not stay in a context that is left. */
static void test_hang_up_moves(void)
{
    g_autofree char *path = NULL;
    User *u = unix_server(&path);
    Client *c = client_connect(path);
    GMainContext *other = g_main_context_new();

    expect(u->events, "O");
    qemu_chr_fe_set_handlers(&u->fe, user_can_read, user_read, user_event, u,
                             other);
    while (g_main_context_iteration(other, FALSE)) {
    }
    g_assert_cmpstr(u->events->str, ==, "O");
    qemu_chr_fe_disconnect(&u->fe);
    g_assert_true(g_main_context_pending(other));
    qemu_chr_fe_set_handlers(&u->fe, user_can_read, user_read, user_event, u,
                             NULL);
    g_assert_false(g_main_context_pending(other));
    expect(u->events, "OOC");
    g_assert_true(turn_until(client_at_eof, c));
    client_close(c);
    user_free(u, true);
    g_main_context_unref(other);
}

static void test_paused_input(void)
{
    g_autofree char *path = NULL;
    User *u = unix_server(&path);
    Client *c = client_connect(path);

    expect(u->events, "O");
    u->may_read = 0;
    client_puts(c, "abcdef");
    turn_for_ms(20);
    g_assert_cmpstr(u->in->str, ==, "");
    u->may_read = 2;
    qemu_chr_fe_accept_input(&u->fe);
    expect(u->in, "abcdef");

    /* While it cannot read, a peer that leaves is noticed. */
    u->may_read = 0;
    client_puts(c, "x");
    turn_for_ms(10);
    u->may_read = 1;
    qemu_chr_fe_accept_input(&u->fe);
    expect(u->in, "x");
    u->may_read = 0;
    qemu_chr_fe_accept_input(&u->fe);
    client_close(c);
    turn_for_ms(10);
    u->may_read = 10;
    qemu_chr_fe_accept_input(&u->fe);
    expect(u->events, "C");

    /* What it sent before it left is not lost. */
    u->may_read = 0;
    c = client_connect(path);
    expect(u->events, "O");
    client_puts(c, "last words");
    client_close(c);
    turn_for_ms(10);
    u->may_read = 100;
    qemu_chr_fe_accept_input(&u->fe);
    expect(u->in, "last words");
    expect(u->events, "C");
    user_free(u, true);
}

static void test_fds(void)
{
    g_autofree char *path = NULL;
    User *u = unix_server(&path);
    Client *c = client_connect(path);
    int pipefd[2];
    char byte;
    struct cmsghdr *cmsg;
    union {
        char buf[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec iov = { &byte, 1 };
    struct msghdr msg = { .msg_iov = &iov,
                          .msg_iovlen = 1,
                          .msg_control = control.buf,
                          .msg_controllen = sizeof(control.buf) };

    g_assert_cmpint(pipe(pipefd), ==, 0);
    expect(u->events, "O");
    client_puts_fds(c, "take", &pipefd[1], 1);
    expect(u->in, "take");
    g_assert_cmpint(u->fd, >=, 0);
    g_assert_true(fcntl(u->fd, F_GETFD) & FD_CLOEXEC);
    g_assert_cmpint(write(u->fd, "p", 1), ==, 1);
    g_assert_cmpint(read(pipefd[0], &byte, 1), ==, 1);
    close(u->fd);

    g_assert_true(qemu_chr_fe_set_msgfds(&u->fe, pipefd, 1, &error_abort));
    fe_puts(u, "g");
    g_assert_cmpint(recvmsg(c->fd, &msg, 0), ==, 1);
    cmsg = CMSG_FIRSTHDR(&msg);
    g_assert_nonnull(cmsg);
    g_assert_cmpint(cmsg->cmsg_type, ==, SCM_RIGHTS);
    memcpy(&u->fd, CMSG_DATA(cmsg), sizeof(int));
    g_assert_cmpint(write(pipefd[1], "q", 1), ==, 1);
    g_assert_cmpint(read(u->fd, &byte, 1), ==, 1);
    close(u->fd);
    close(pipefd[0]);
    close(pipefd[1]);
    client_close(c);
    user_free(u, true);
}

/*
 * Terminals
 */

static void test_pty(void)
{
    g_autofree char *link = g_strdup_printf("%s/tty", tmpdir);
    User *u = user_new(chr_from("pty:%s", link));
    g_autofree char *name = qemu_chr_filename(u->fe.chr);
    char buf[16] = "";
    int fd;

    g_assert_true(g_str_has_prefix(name, "pty:/dev/"));
    fe_puts(u, "nobody listens"); /* must not come later */
    fd = open(link, O_RDWR | O_NOCTTY);
    g_assert_cmpint(fd, >=, 0);
    expect(u->events, "O");
    g_assert_cmpint(write(fd, "\rkeys\x03", 6), ==, 6);
    expect(u->in, "\rkeys\x03");
    fe_puts(u, "out\n");
    g_assert_cmpint(read(fd, buf, sizeof(buf)), ==, 4);
    g_assert_cmpstr(buf, ==, "out\n");
    close(fd);
    expect(u->events, "C");
    fd = open(link, O_RDWR | O_NOCTTY);
    expect(u->events, "O");
    close(fd);
    user_free(u, true);
    g_assert_cmpint(access(link, F_OK), ==, -1);
}

static void test_stdio(void)
{
    int master, slave, saved_in = dup(0), saved_out = dup(1);
    struct termios before, during, after;
    char buf[16] = "";
    Error *err = NULL;
    User *u;

    g_assert_cmpint(openpty(&master, &slave, NULL, NULL, NULL), ==, 0);
    fflush(stdout);
    dup2(slave, 0);
    dup2(slave, 1);
    tcgetattr(slave, &before);
    u = user_new(qemu_chr_new("stdio", "stdio", &error_abort));
    tcgetattr(slave, &during);
    g_assert_null(qemu_chr_new("stdio2", "stdio", &err));
    error_free_or_abort(&err);

    g_assert_cmpint(write(master, "k\r", 2), ==, 2);
    expect(u->in, "k\r");
    fe_puts(u, "out");
    g_assert_cmpint(read(master, buf, sizeof(buf)), ==, 3);
    /* Others that share the terminal still have it in blocking mode. */
    g_assert_false(fcntl(slave, F_GETFL) & O_NONBLOCK);
    user_free(u, true);
    tcgetattr(slave, &after);

    dup2(saved_in, 0);
    dup2(saved_out, 1);
    close(saved_in);
    close(saved_out);
    close(master);
    close(slave);
    g_assert_false(during.c_lflag & (ICANON | ECHO));
    g_assert_true(during.c_lflag & ISIG);
    g_assert_cmpint(after.c_lflag, ==, before.c_lflag);
    g_assert_cmpint(after.c_iflag, ==, before.c_iflag);
    g_assert_cmpstr(buf, ==, "out");
}

/* With standard input closed output goes on. */
static void test_stdio_eof(void)
{
    int saved_in = dup(0), null = open("/dev/null", O_RDONLY), ends[2];
    int saved_out = dup(1);
    char buf[16] = "";
    User *u;

    g_assert_cmpint(pipe(ends), ==, 0);
    fflush(stdout);
    dup2(null, 0);
    dup2(ends[1], 1);
    u = user_new(qemu_chr_new("stdio", "stdio", &error_abort));
    expect(u->events, "OC");
    turn_for_ms(10);
    fe_puts(u, "still");
    user_free(u, true);
    dup2(saved_in, 0);
    dup2(saved_out, 1);
    g_assert_cmpint(read(ends[0], buf, sizeof(buf)), ==, 5);
    close(ends[0]);
    close(ends[1]);
    close(null);
    close(saved_in);
    close(saved_out);
}

/*
 * Mux
 */

static int mux_quits;

static void quit_hook(void)
{
    mux_quits++;
}

static bool no_monitor(Chardev *mux, Error **errp)
{
    error_setg(errp, "no monitor in this test");
    return false;
}

static const ChardevMuxHooks hooks = { no_monitor, quit_hook };

static void test_mux(void)
{
    g_autofree char *path = g_strdup_printf("%s/mux", tmpdir);
    g_autofree char *opts = g_strdup_printf(
        "socket,id=m,path=%s,server=on,wait=off,mux=on", path);
    Chardev *m = qemu_chr_new_from_opts(opts, &error_abort);
    User *a = user_new(m), *b = user_new(m);
    Client *c;

    qemu_chr_set_mux_hooks(&hooks);
    g_assert_true(qemu_chr_has_mux(m));
    c = client_connect(path);
    expect(a->events, "IXO");
    expect(b->events, "IO");
    client_puts(c, "to b");
    expect(b->in, "to b");
    fe_puts(a, "from a");
    client_expect(c, "from a");
    fe_puts(b, "from b");
    client_expect(c, "from b");
    client_puts(c, "\x01"
                   "cto a");
    expect(a->in, "to a");
    expect(b->events, "X");
    expect(a->events, "I");
    client_puts(c, "\x01\x01");
    expect(a->in, "\x01");
    client_puts(c, "\x01h");
    client_expect(c, "C-a x");
    client_puts(c, "\x01"
                   "b");
    expect(a->events, "B");

    /* Typed ahead while it cannot read; the escape works all the same. */
    a->may_read = 0;
    client_puts(c, "ahead\x01"
                   "c!");
    expect(b->in, "!");
    g_assert_cmpstr(a->in->str, ==, "");
    a->may_read = 3;
    qemu_chr_fe_accept_input(&a->fe);
    expect(a->in, "ahead");

    client_puts(c, "\x01x");
    client_expect(c, "Terminated");
    g_assert_cmpint(mux_quits, ==, 1);
    user_free(b, false);
    client_puts(c, "last");
    expect(a->in, "last");
    client_close(c);
    user_free(a, true);
    g_assert_null(qemu_chr_find("m"));
    g_assert_null(qemu_chr_find("m-base"));
}

static void test_ringbuf(void)
{
    Chardev *chr = qemu_chr_new_from_opts("ringbuf,id=rb,size=16",
                                          &error_abort);
    User *u = user_new(chr);
    g_autofree char *a = NULL, *b = NULL, *c = NULL;

    fe_puts(u, "0123456789abcdefXYZ");
    a = qmp_ringbuf_read("rb", 6, false, 0, &error_abort);
    g_assert_cmpstr(a, ==, "345678");
    b = qmp_ringbuf_read("rb", 100, true, DATA_FORMAT_BASE64, &error_abort);
    g_assert_cmpstr(b, ==, "OWFiY2RlZlhZWg==");
    c = qmp_ringbuf_read("rb", 100, false, 0, &error_abort);
    g_assert_cmpstr(c, ==, "");
    user_free(u, true);
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    tmpdir = g_dir_make_tmp("test-chardev-XXXXXX", NULL);
    g_test_add_func("/chardev/specs-refused", test_specs_refused);
    g_test_add_func("/chardev/opts-refused", test_opts_refused);
    g_test_add_func("/chardev/labels", test_labels);
    g_test_add_func("/chardev/unconnected", test_unconnected);
    g_test_add_func("/chardev/file", test_file);
    g_test_add_func("/chardev/pipe", test_pipe);
    g_test_add_func("/chardev/socket/server", test_server);
    g_test_add_func("/chardev/socket/wait", test_server_wait);
    g_test_add_func("/chardev/socket/abstract", test_abstract);
    g_test_add_func("/chardev/socket/tcp", test_tcp);
    g_test_add_func("/chardev/socket/reconnect", test_client_reconnects);
    g_test_add_func("/chardev/socket/slow-peer", test_slow_peer);
    g_test_add_func("/chardev/socket/threads", test_threads);
    g_test_add_func("/chardev/socket/hang-up-moves", test_hang_up_moves);
    g_test_add_func("/chardev/socket/paused-input", test_paused_input);
    g_test_add_func("/chardev/socket/fds", test_fds);
    g_test_add_func("/chardev/pty", test_pty);
    g_test_add_func("/chardev/stdio/terminal", test_stdio);
    g_test_add_func("/chardev/stdio/eof", test_stdio_eof);
    g_test_add_func("/chardev/mux", test_mux);
    g_test_add_func("/chardev/ringbuf", test_ringbuf);
    ret = g_test_run();
    qemu_chr_cleanup_all();
    g_rmdir(tmpdir);
    g_free(tmpdir);
    return ret;
}
