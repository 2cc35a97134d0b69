/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of QMP monitors over real unix sockets, one per promise of
 * include/monitor/monitor.h and of the protocol.
 *
 * The test is both ends: it runs the main loop while it waits as a client.
 * Commands: the monitor's own, and a few of the test's:
 *   test-log WORD    appends WORD to a log
 *   test-big         returns 300,000 bytes
 *   test-oob WORD    the same as test-log; out of band allowed
 */
#include "qemu/osdep.h"

#include <glib/gstdio.h>

#include "chardev/char.h"
#include "monitor/monitor.h"
#include "qapi/qapi-commands-char.h"
#include "qapi/qapi-commands-control.h"
#include "qapi/qapi-commands-introspect.h"
#include "qapi/qapi-commands-misc.h"
#include "qapi/qmp-command.h"
#include "qemu/fd-store.h"
#include "qemu/qmp-event.h"
#include "qmp-client.h"

#define BIG_BYTES 300000

/* What the test's commands did; the lock is for out-of-band ones. */
static struct {
    QemuMutex lock;
    GString *log;
} seen = { { PTHREAD_MUTEX_INITIALIZER } };

static char *tmpdir;

static char *seen_take(void)
{
    char *log;

    QEMU_LOCK_GUARD(&seen.lock);
    log = g_strdup(seen.log->str);
    g_string_truncate(seen.log, 0);
    return log;
}

static bool test_log(json_object *args, json_object **ret, Error **errp)
{
    json_object *word;

    if (!args || !json_object_object_get_ex(args, "word", &word)) {
        error_setg(errp, "Parameter 'word' is missing");
        return false;
    }
    QEMU_LOCK_GUARD(&seen.lock);
    g_string_append_printf(seen.log, "%s%s%s ", json_object_get_string(word),
                           bql_locked() ? "" : "!", monitor_cur() ? "" : "?");
    return true;
}

static bool test_big(json_object *args, json_object **ret, Error **errp)
{
    g_autofree char *text = g_strnfill(BIG_BYTES, 'x');

    *ret = json_object_new_string(text);
    return true;
}

const QmpCommand qmp_commands[] = {
    { "add-fd", qmp_marshal_add_fd, 0 },
    { "chardev-add", qmp_marshal_chardev_add, 0 },
    { "chardev-remove", qmp_marshal_chardev_remove, 0 },
    { "closefd", qmp_marshal_closefd, 0 },
    { "getfd", qmp_marshal_getfd, 0 },
    { "human-monitor-command", qmp_marshal_human_monitor_command, 0 },
    { "qmp_capabilities", qmp_marshal_qmp_capabilities, 0 },
    { "query-chardev", qmp_marshal_query_chardev, 0 },
    { "query-commands", qmp_marshal_query_commands, 0 },
    { "query-fdsets", qmp_marshal_query_fdsets, 0 },
    { "query-qmp-schema", qmp_query_qmp_schema, 0 },
    { "query-version", qmp_marshal_query_version, 0 },
    { "remove-fd", qmp_marshal_remove_fd, 0 },
    { "ringbuf-read", qmp_marshal_ringbuf_read, 0 },
    { "ringbuf-write", qmp_marshal_ringbuf_write, 0 },
    { "test-big", test_big, 0 },
    { "test-log", test_log, 0 },
    { "test-oob", test_log, QCO_ALLOW_OOB },
    { NULL, NULL, 0 },
};

const QmpCommand *qmp_command_find(const char *name)
{
    for (const QmpCommand *c = qmp_commands; c->name; c++) {
        if (g_str_equal(c->name, name)) {
            return c;
        }
    }
    return NULL;
}

/*
 * Fixture: a server on a unix socket with a QMP monitor
 */

typedef struct Server {
    char *path;
    char *id;
    Monitor *mon;
} Server;

static unsigned nr_servers;

static Server *server_new(bool pretty)
{
    Server *s = g_new0(Server, 1);
    g_autofree char *opt = NULL;
    Chardev *chr;

    s->id = g_strdup_printf("c%u", nr_servers++);
    s->path = g_strdup_printf("%s/%s", tmpdir, s->id);
    opt = g_strdup_printf("socket,id=%s,path=%s,server=on,wait=off", s->id,
                          s->path);
    chr = qemu_chr_new_from_opts(opt, &error_abort);
    s->mon = monitor_new_qmp(chr, pretty, &error_abort);
    return s;
}

static void server_free(Server *s)
{
    monitor_delete(s->mon);
    qmp_chardev_remove(s->id, &error_abort);
    g_assert_cmpint(access(s->path, F_OK), ==, -1);
    g_free(s->path);
    g_free(s->id);
    g_free(s);
}

static Client *session(Server *s, bool oob)
{
    Client *c = client_connect(s->path);
    json_object *hello = client_json(c), *qmp;

    g_assert_true(json_object_object_get_ex(hello, "QMP", &qmp));
    json_object_put(hello);
    client_puts(c, oob ? "{'execute': 'qmp_capabilities',"
                         " 'arguments': {'enable': ['oob']}}\n"
                       : "{'execute': 'qmp_capabilities'}\n");
    assert_json(client_reply(c), "{\"return\": {}}");
    return c;
}

static int count_fds(void)
{
    GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
    int n = 0;

    while (g_dir_read_name(dir)) {
        n++;
    }
    g_dir_close(dir);
    return n;
}

/*
 * Greeting, negotiation, form
 */

static void test_greeting(void)
{
    Server *s = server_new(false);
    Client *c = client_connect(s->path);
    json_object *hello = client_json(c), *qmp, *caps, *version, *v;

    g_assert_true(json_object_object_get_ex(hello, "QMP", &qmp));
    g_assert_true(json_object_object_get_ex(qmp, "version", &version));
    g_assert_true(json_object_object_get_ex(version, "qemu", &v));
    assert_json(json_object_get(v),
                "{\"major\": 11, \"minor\": 1, \"micro\": 3}");
    g_assert_true(json_object_object_get_ex(qmp, "capabilities", &caps));
    assert_json(json_object_get(caps), "[\"oob\"]");
    json_object_put(hello);
    client_close(c);
    server_free(s);
}

static void test_negotiation(void)
{
    Server *s = server_new(false);
    Client *c = client_connect(s->path);

    json_object_put(client_json(c));
    client_puts(c, "{\"execute\": \"query-version\"}\n");
    g_free(assert_error(client_reply(c), "CommandNotFound"));
    client_puts(c, "{\"execute\": \"qmp_capabilities\", \"arguments\":"
                   " {\"enable\": [\"telepathy\"]}}\n");
    g_free(assert_error(client_reply(c), "GenericError"));
    client_puts(c, "{\"execute\": \"qmp_capabilities\"}\n");
    assert_json(client_reply(c), "{\"return\": {}}");
    client_puts(c, "{\"execute\": \"qmp_capabilities\"}\n");
    g_free(assert_error(client_reply(c), "CommandNotFound"));
    client_puts(c, "{\"execute\": \"no-such\"}\n");
    g_free(assert_error(client_reply(c), "CommandNotFound"));
    client_close(c);
    server_free(s);
}

static void test_id(void)
{
    static const char *const ids[] = { "1",
                                       "\"x\"",
                                       "null",
                                       "[1, {}]",
                                       "{\"a\": 2.5}",
                                       "true",
                                       "18446744073709551615" };
    Server *s = server_new(false);
    Client *c = session(s, false);

    for (unsigned i = 0; i < ARRAY_SIZE(ids); i++) {
        g_autofree char *ask = g_strdup_printf(
            "{\"execute\": \"test-log\", \"arguments\": {\"word\": \"w\"},"
            " \"id\": %s}\n",
            ids[i]);
        g_autofree char *want = g_strdup_printf("{\"return\": {}, \"id\": %s}",
                                                ids[i]);

        client_puts(c, ask);
        assert_json(client_reply(c), want);
    }
    /* On errors too, even if the request is wrong in other ways. */
    client_puts(c, "{\"execute\": 5, \"id\": 77}\n");
    {
        json_object *v = client_reply(c), *id;

        g_assert_true(json_object_object_get_ex(v, "id", &id));
        g_assert_cmpint(json_object_get_int(id), ==, 77);
        g_free(assert_error(v, "GenericError"));
    }
    g_free(seen_take());
    client_close(c);
    server_free(s);
}

static void test_wrong_requests(void)
{
    static const char *const wrong[] = {
        "[]\n",
        "\"execute\"\n",
        "17\n",
        "{}\n",
        "{\"execute\": 1}\n",
        "{\"arguments\": {}}\n",
        "{\"execute\": \"test-log\", \"arguments\": []}\n",
        "{\"execute\": \"test-log\", \"arguments\": null}\n",
        "{\"execute\": \"test-log\", \"extra\": 1}\n",
        "{\"execute\": \"test-log\"}\n",
        "{\"execute\": \"test-log\", \"exec-oob\": \"test-oob\"}\n",
        "{\"exec-oob\": \"test-oob\", \"arguments\": {\"word\": \"a\"}}\n",
        "{\"execute\": \"query-version\", \"arguments\": {\"x\": 1}}\n",
    };
    Server *s = server_new(false);
    Client *c = session(s, false);
    g_autofree char *log = NULL;

    for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++) {
        client_puts(c, wrong[i]);
        g_free(assert_error(client_reply(c), "GenericError"));
    }
    log = seen_take();
    g_assert_cmpstr(log, ==, "");
    client_close(c);
    server_free(s);
}

static void test_pretty(void)
{
    Server *s = server_new(true);
    Client *c = client_connect(s->path);

    client_expect(c, "{\r\n");
    client_close(c);
    server_free(s);
}

/*
 * Garbage
 */

/* After whatever error, the next request in a line of its own works. */
static void assert_alive(Client *c)
{
    json_object *v;

    client_puts(c, "\n{\"execute\": \"test-log\", \"arguments\":"
                   " {\"word\": \"alive\"}, \"id\": \"alive\"}\n");
    for (;;) {
        v = client_reply(c);
        if (json_object_object_get_ex(v, "return", NULL)) {
            break;
        }
        g_free(assert_error(v, "GenericError"));
    }
    assert_json(v, "{\"return\": {}, \"id\": \"alive\"}");
    g_free(seen_take());
}

static void test_garbage(void)
{
    static const char *const garbage[] = {
        "GET / HTTP/1.1\r\n\r\n",
        "{\"execute\": \"test-log\"]\n",
        "{\"execute\" \"test-log\"}\n",
        "}\n",
        "]]]]]\n",
        "{\"a\": \"\x01\"}\n",
        "{\"a\": \"\xc3\x28\"}\n",
        "{\"a\": 1e999999999999}}\n",
        "nul\n",
        "{\"a\": 01}\n",
    };
    Server *s = server_new(false);
    Client *c = session(s, false);

    for (unsigned i = 0; i < ARRAY_SIZE(garbage); i++) {
        client_puts(c, garbage[i]);
        assert_alive(c);
    }
    client_close(c);
    server_free(s);
}

/* 0xff ends whatever was open: how clients synchronise. */
static void test_resync(void)
{
    Server *s = server_new(false);
    Client *c = session(s, false);

    client_puts(c, "{\"execute\": \"query-version\", \"arguments\": {\"a\": [");
    client_puts(c, "\xff");
    assert_alive(c);
    client_puts(c, "{\"execute\": \"never ended\xff");
    assert_alive(c);
    client_close(c);
    server_free(s);
}

static void test_deep(void)
{
    g_autofree char *deep = g_strnfill(100000, '[');
    Server *s = server_new(false);
    Client *c = session(s, false);

    client_puts(c, deep);
    client_puts(c, "\xff");
    assert_alive(c);
    client_close(c);
    server_free(s);
}

static void test_huge_token(void)
{
    g_autofree char *chunk = g_strnfill(1024 * 1024, 'a');
    Server *s = server_new(false);
    Client *c = session(s, false);

    client_puts(c, "{\"execute\": \"");
    for (int i = 0; i < 70; i++) { /* above the limit of 64 MiB */
        client_puts(c, chunk);
    }
    client_puts(c, "\"}\xff");
    assert_alive(c);
    client_close(c);
    server_free(s);
}

static void test_byte_by_byte(void)
{
    const char *ask = "{\"execute\": \"test-log\", \"arguments\":"
                      " {\"word\": \"slow\"}}";
    Server *s = server_new(false);
    Client *c = session(s, false);
    g_autofree char *log = NULL;

    for (const char *p = ask; *p; p++) {
        client_write(c, p, 1);
        turn_for_ms(1);
    }
    assert_json(client_reply(c), "{\"return\": {}}");
    log = seen_take();
    g_assert_cmpstr(log, ==, "slow ");
    client_close(c);
    server_free(s);
}

/*
 * Order, out of band, limits
 */

static void test_pipeline(void)
{
    enum {
        N = 300
    };
    Server *s = server_new(false);
    Client *c = session(s, false);
    GString *all = g_string_new(NULL), *want = g_string_new(NULL);
    g_autofree char *log = NULL;

    for (int i = 0; i < N; i++) {
        g_string_append_printf(all,
                               "{\"execute\": \"test-log\", \"id\": %d,"
                               " \"arguments\": {\"word\": \"%d\"}}",
                               i, i);
        g_string_append_printf(want, "%d ", i);
    }
    client_puts(c, all->str);
    for (int i = 0; i < N; i++) {
        g_autofree char *reply = g_strdup_printf("{\"return\": {}, \"id\": %d}",
                                                 i);

        assert_json(client_reply(c), reply);
    }
    log = seen_take();
    g_assert_cmpstr(log, ==, want->str);
    g_string_free(all, TRUE);
    g_string_free(want, TRUE);
    client_close(c);
    server_free(s);
}

/* Waits without turning the main loop: only the monitor's thread works. */
static char *line_without_main_loop(Client *c)
{
    struct pollfd p = { c->fd, POLLIN, 0 };
    char *lf, *line;
    bool eof;

    while (!(lf = memchr(c->in->str, '\n', c->in->len))) {
        g_assert_cmpint(poll(&p, 1, 10000), ==, 1);
        client_fill(c, &eof);
        g_assert_false(eof);
    }
    line = g_strndup(c->in->str, lf - c->in->str);
    g_string_erase(c->in, 0, lf - c->in->str + 1);
    return g_strchomp(line);
}

static void test_oob(void)
{
    Server *s = server_new(false);
    Client *c = session(s, true);
    g_autofree char *reply = NULL, *log = NULL;

    /* The main loop stands still from here on. */
    client_puts(c, "{\"execute\": \"test-log\", \"id\": 1,"
                   " \"arguments\": {\"word\": \"band\"}}"
                   "{\"exec-oob\": \"test-oob\", \"id\": 2,"
                   " \"arguments\": {\"word\": \"oob\"}}");
    reply = line_without_main_loop(c);
    assert_json(json_tokener_parse(reply), "{\"return\": {}, \"id\": 2}");
    assert_json(client_reply(c), "{\"return\": {}, \"id\": 1}");
    log = seen_take();
    g_assert_cmpstr(log, ==, "oob! band "); /* '!': without the big lock */

    client_puts(c, "{\"exec-oob\": \"test-log\"}\n");
    g_free(assert_error(client_reply(c), "GenericError"));
    client_puts(c, "{\"exec-oob\": \"no-such\"}\n");
    g_free(assert_error(client_reply(c), "CommandNotFound"));
    client_close(c);
    server_free(s);
}

/* With 8 requests waiting no more is read, so memory is bounded. */
static void test_queue_limit(void)
{
    Server *s = server_new(false);
    Client *c = session(s, true);
    GString *all = g_string_new(NULL);
    size_t sent = 0;
    int n = 0;

    /* Each larger than a read, so that the limit acts between reads. */
    for (int i = 0; i < 400; i++) {
        g_autofree char *pad = g_strnfill(5000, ' ');

        g_string_append_printf(all,
                               "%s{\"execute\": \"test-log\", \"arguments\":"
                               " {\"word\": \"q\"}}",
                               pad);
    }
    /* Main loop standing still: the socket must fill up. */
    for (int idle = 0; idle < 20 && sent < all->len;) {
        ssize_t r = send(c->fd, all->str + sent, all->len - sent,
                         MSG_DONTWAIT | MSG_NOSIGNAL);

        if (r > 0) {
            sent += r;
            idle = 0;
        } else {
            idle++;
            g_usleep(5000);
        }
    }
    g_assert_cmpint(sent, <, all->len);
    client_write(c, all->str + sent, all->len - sent);
    for (n = 0; n < 400; n++) {
        assert_json(client_reply(c), "{\"return\": {}}");
    }
    g_free(seen_take());
    g_string_free(all, TRUE);
    client_close(c);
    server_free(s);
}

static void test_slow_reader(void)
{
    enum {
        N = 64
    };
    Server *s = server_new(false), *other = server_new(false);
    Client *c = session(s, false), *d = session(other, false);
    int64_t before;

    for (int i = 0; i < N; i++) {
        client_puts(c, "{\"execute\": \"test-big\"}\n");
    }
    turn_for_ms(100);
    /* The main loop goes on, and other clients are served. */
    before = g_get_monotonic_time();
    client_puts(d, "{\"execute\": \"query-version\"}\n");
    json_object_put(client_reply(d));
    g_assert_cmpint(g_get_monotonic_time() - before, <, G_USEC_PER_SEC);
    /* Nothing is lost for who reads late. */
    for (int i = 0; i < N; i++) {
        json_object *v = client_reply(c), *ret;

        g_assert_true(json_object_object_get_ex(v, "return", &ret));
        g_assert_cmpint(json_object_get_string_len(ret), ==, BIG_BYTES);
        json_object_put(v);
    }
    client_close(c);
    client_close(d);
    server_free(s);
    server_free(other);
}

/*
 * Events
 */

static void test_events(void)
{
    Server *s = server_new(false);
    Client *deaf = client_connect(s->path), *c;
    json_object *v, *data = json_object_new_object(), *x;

    /* None before negotiation. */
    json_object_put(client_json(deaf));
    qmp_event_emit("STOP", NULL);
    client_puts(deaf, "{\"execute\": \"qmp_capabilities\"}\n");
    assert_json(client_json(deaf), "{\"return\": {}}");
    client_close(deaf);

    c = session(s, false);
    json_object_object_add(data, "status", json_object_new_string("setup"));
    qmp_event_emit("MIGRATION", data);
    qmp_event_emit("STOP", NULL);
    v = client_json(c);
    g_assert_true(json_object_object_get_ex(v, "event", &x));
    g_assert_cmpstr(json_object_get_string(x), ==, "MIGRATION");
    g_assert_true(json_object_object_get_ex(v, "data", &x));
    assert_json(json_object_get(x), "{\"status\": \"setup\"}");
    g_assert_true(json_object_object_get_ex(v, "timestamp", &x));
    g_assert_true(json_object_object_get_ex(x, "seconds", NULL));
    g_assert_true(json_object_object_get_ex(x, "microseconds", NULL));
    json_object_put(v);
    v = client_json(c);
    g_assert_false(json_object_object_get_ex(v, "data", NULL));
    json_object_put(v);
    client_close(c);
    server_free(s);
}

/* Who does not read loses events, not the VM its memory. */
static void test_events_dropped(void)
{
    enum {
        N = 40000
    };
    Server *s = server_new(false);
    Client *c = session(s, false);
    int got = 0;
    json_object *v;

    for (int i = 0; i < N; i++) {
        json_object *data = json_object_new_object();

        json_object_object_add(data, "n", json_object_new_int(i));
        qmp_event_emit("MIGRATION_PASS", data);
    }
    client_puts(c, "{\"execute\": \"query-version\"}\n");
    for (;;) {
        v = client_json(c);
        if (json_object_object_get_ex(v, "return", NULL)) {
            break;
        }
        got++;
        json_object_put(v);
    }
    json_object_put(v);
    g_assert_cmpint(got, >, 1000);
    g_assert_cmpint(got, <, N);
    client_close(c);
    server_free(s);
}

/*
 * Descriptors
 */

static int pipe_write_end(int *read_end)
{
    int fds[2];

    g_assert_cmpint(pipe2(fds, O_CLOEXEC), ==, 0);
    *read_end = fds[0];
    return fds[1];
}

static void test_getfd(void)
{
    Server *s = server_new(false);
    Client *c = session(s, false);
    int r, w = pipe_write_end(&r), fd;
    char byte = 0;
    g_autofree char *desc = NULL;

    client_puts_fds(c,
                    "{\"execute\": \"getfd\", \"arguments\":"
                    " {\"fdname\": \"mig\"}}\n",
                    &w, 1);
    assert_json(client_reply(c), "{\"return\": {}}");
    close(w);
    fd = fd_store_take("mig", &error_abort);
    g_assert_cmpint(write(fd, "z", 1), ==, 1);
    g_assert_cmpint(read(r, &byte, 1), ==, 1);
    g_assert_cmpint(byte, ==, 'z');
    close(fd);
    close(r);

    client_puts(c, "{\"execute\": \"closefd\", \"arguments\":"
                   " {\"fdname\": \"mig\"}}\n");
    desc = assert_error(client_reply(c), "GenericError");
    g_assert_cmpstr(desc, ==, "File descriptor named 'mig' not found");
    client_puts(c, "{\"execute\": \"getfd\", \"arguments\":"
                   " {\"fdname\": \"mig\"}}\n");
    g_free(assert_error(client_reply(c), "GenericError"));
    client_close(c);
    server_free(s);
}

/* Requests sent at once: each gets the descriptor that came with it. */
static void test_getfd_pipelined(void)
{
    Server *s = server_new(false);
    Client *c = session(s, false);
    int r1, r2, w1 = pipe_write_end(&r1), w2 = pipe_write_end(&r2), fd;
    char byte;

    client_puts(c, "{\"execute\": \"query-version\"}");
    client_puts_fds(c,
                    "{\"execute\": \"getfd\", \"arguments\":"
                    " {\"fdname\": \"a\"}}",
                    &w1, 1);
    client_puts_fds(c,
                    "{\"execute\": \"getfd\", \"arguments\":"
                    " {\"fdname\": \"b\"}}",
                    &w2, 1);
    close(w1);
    close(w2);
    json_object_put(client_reply(c));
    assert_json(client_reply(c), "{\"return\": {}}");
    assert_json(client_reply(c), "{\"return\": {}}");
    fd = fd_store_take("b", &error_abort);
    g_assert_cmpint(write(fd, "b", 1), ==, 1);
    g_assert_cmpint(read(r2, &byte, 1), ==, 1);
    close(fd);
    g_assert_true(fd_store_close("a", &error_abort));
    g_assert_cmpint(read(r1, &byte, 1), ==, 0); /* nobody holds w1 any more */
    close(r1);
    close(r2);
    client_close(c);
    server_free(s);
}

/* A descriptor that no command wants does not stay open for ever. */
static void test_fd_unwanted(void)
{
    Server *s = server_new(false);
    Client *c = session(s, false);
    int r, w = pipe_write_end(&r);
    struct pollfd p;
    char byte;

    client_puts_fds(c, "{\"execute\": \"query-version\"}\n", &w, 1);
    close(w);
    json_object_put(client_reply(c));
    client_close(c);
    turn_for_ms(20);
    p = (struct pollfd){ r, POLLIN, 0 };
    g_assert_cmpint(poll(&p, 1, 5000), ==, 1);
    g_assert_cmpint(read(r, &byte, 1), ==, 0);
    close(r);
    server_free(s);
}

static void test_fdsets(void)
{
    Server *s = server_new(false);
    Client *c = session(s, false);
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC), dup;
    json_object *v, *ret, *id;
    g_autofree char *path = NULL;

    client_puts_fds(c,
                    "{\"execute\": \"add-fd\", \"arguments\":"
                    " {\"fdset-id\": 7, \"opaque\": \"words\"}}\n",
                    &fd, 1);
    v = client_reply(c);
    g_assert_true(json_object_object_get_ex(v, "return", &ret));
    g_assert_true(json_object_object_get_ex(ret, "fdset-id", &id));
    g_assert_cmpint(json_object_get_int(id), ==, 7);
    json_object_put(v);
    close(fd);

    client_puts(c, "{\"execute\": \"query-fdsets\"}\n");
    v = client_reply(c);
    g_assert_nonnull(strstr(json_object_to_json_string(v), "words"));
    json_object_put(v);

    dup = qemu_open("/dev/fdset/7", O_RDWR, &error_abort);
    client_puts(c, "{\"execute\": \"remove-fd\", \"arguments\":"
                   " {\"fdset-id\": 7}}\n");
    assert_json(client_reply(c), "{\"return\": {}}");
    qemu_close(dup);
    client_puts(c, "{\"execute\": \"query-fdsets\"}\n");
    assert_json(client_reply(c), "{\"return\": []}");
    client_puts(c, "{\"execute\": \"add-fd\", \"arguments\":"
                   " {\"fdset-id\": -1}}\n");
    g_free(assert_error(client_reply(c), "GenericError"));
    client_close(c);
    server_free(s);
}

/*
 * Coming and going
 */

static void test_reconnect(void)
{
    Server *s = server_new(false);
    int before = 0;

    for (int i = 0; i < 30; i++) {
        Client *c = session(s, i & 1);

        if (i % 3 == 0) { /* leave with answers unread, requests half sent */
            client_puts(c, "{\"execute\": \"test-big\"}{\"execute\": ");
        }
        client_close(c);
        turn_for_ms(2);
        if (i == 5) {
            before = count_fds();
        }
    }
    turn_for_ms(20);
    g_assert_cmpint(count_fds(), <=, before);
    server_free(s);
}

/* A client that ends its sending half still gets all its answers. */
static void test_half_closed(void)
{
    Server *s = server_new(false);
    Client *c = session(s, false);

    for (int i = 0; i < 20; i++) {
        client_puts(c, "{\"execute\": \"test-big\"}");
    }
    g_assert_cmpint(shutdown(c->fd, SHUT_WR), ==, 0);
    for (int i = 0; i < 20; i++) {
        json_object *v = client_reply(c);

        g_assert_true(json_object_object_get_ex(v, "return", NULL));
        json_object_put(v);
    }
    g_assert_null(client_line(c)); /* and then the end */
    client_close(c);
    c = session(s, false); /* and the next one can come */
    client_close(c);
    server_free(s);
}

/* A request of a client that left is answered to nobody. */
static void test_no_answer_to_next_client(void)
{
    Server *s = server_new(false);
    Client *c = session(s, false);

    client_puts(c, "{\"execute\": \"test-log\", \"id\": \"old\","
                   " \"arguments\": {\"word\": \"x\"}}");
    g_usleep(20000); /* it is queued; the main loop stands still */
    client_close(c);
    c = session(s, false);
    client_puts(c, "{\"execute\": \"query-fdsets\", \"id\": \"new\"}\n");
    assert_json(client_reply(c), "{\"return\": [], \"id\": \"new\"}");
    g_free(seen_take());
    client_close(c);
    server_free(s);
}

static void test_many_monitors(void)
{
    enum {
        N = 24
    };
    Server *s[N];
    Client *c[N];

    for (int i = 0; i < N; i++) {
        s[i] = server_new(false);
        c[i] = session(s[i], i & 1);
    }
    qmp_event_emit("RESUME", NULL);
    for (int i = 0; i < N; i++) {
        client_puts(c[i], "{\"execute\": \"query-commands\"}\n");
    }
    for (int i = 0; i < N; i++) {
        json_object *v = client_json(c[i]);

        g_assert_true(json_object_object_get_ex(v, "event", NULL));
        json_object_put(v);
        v = client_json(c[i]);
        g_assert_true(json_object_object_get_ex(v, "return", NULL));
        json_object_put(v);
        client_close(c[i]);
    }
    for (int i = 0; i < N; i++) {
        server_free(s[i]);
    }
}

static void test_human_monitor_command(void)
{
    Server *s = server_new(false);
    Client *c = session(s, false);
    json_object *v, *ret;

    client_puts(c, "{\"execute\": \"human-monitor-command\", \"arguments\":"
                   " {\"command-line\": \"info version\"}}\n");
    v = client_reply(c);
    g_assert_true(json_object_object_get_ex(v, "return", &ret));
    g_assert_true(g_str_has_prefix(json_object_get_string(ret), "11.1.3"));
    json_object_put(v);
    client_puts(c, "{\"execute\": \"human-monitor-command\", \"arguments\":"
                   " {\"command-line\": \"frobnicate\"}}\n");
    assert_json(client_reply(c),
                "{\"return\": \"unknown command: 'frobnicate'\\r\\n\"}");
    client_puts(c, "{\"execute\": \"human-monitor-command\", \"arguments\":"
                   " {\"command-line\": \"help\", \"cpu-index\": 99}}\n");
    g_free(assert_error(client_reply(c), "GenericError"));
    client_close(c);
    server_free(s);
}

static void test_schema(void)
{
    Server *s = server_new(false);
    Client *c = session(s, false);
    json_object *v, *ret;

    client_puts(c, "{\"execute\": \"query-qmp-schema\"}\n");
    v = client_reply(c);
    g_assert_true(json_object_object_get_ex(v, "return", &ret));
    g_assert_cmpint(json_object_array_length(ret), >, 10);
    json_object_put(v);
    client_close(c);
    server_free(s);
}

static void test_chardev_commands(void)
{
    Server *s = server_new(false);
    Client *c = session(s, false);

    client_puts(c, "{\"execute\": \"chardev-add\", \"arguments\": {\"id\":"
                   " \"r\", \"backend\": {\"type\": \"ringbuf\", \"data\":"
                   " {\"size\": 8}}}}\n");
    assert_json(client_reply(c), "{\"return\": {}}");
    client_puts(c, "{\"execute\": \"ringbuf-write\", \"arguments\":"
                   " {\"device\": \"r\", \"data\": \"0123456789\"}}\n");
    assert_json(client_reply(c), "{\"return\": {}}");
    client_puts(c, "{\"execute\": \"ringbuf-read\", \"arguments\":"
                   " {\"device\": \"r\", \"size\": 100}}\n");
    assert_json(client_reply(c), "{\"return\": \"23456789\"}");
    client_puts(c, "{\"execute\": \"chardev-add\", \"arguments\": {\"id\":"
                   " \"r\", \"backend\": {\"type\": \"null\", \"data\":"
                   " {}}}}\n");
    g_free(assert_error(client_reply(c), "GenericError"));
    client_puts(c, "{\"execute\": \"chardev-remove\", \"arguments\":"
                   " {\"id\": \"r\"}}\n");
    assert_json(client_reply(c), "{\"return\": {}}");
    {
        g_autofree char *ask = g_strdup_printf(
            "{\"execute\": \"chardev-remove\", \"arguments\":"
            " {\"id\": \"%s\"}}\n",
            s->id);

        client_puts(c, ask); /* its own: busy */
        g_free(assert_error(client_reply(c), "GenericError"));
    }
    client_close(c);
    server_free(s);
}

int main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    monitor_init_globals();
    seen.log = g_string_new(NULL);
    tmpdir = g_dir_make_tmp("test-qmp-XXXXXX", NULL);
    g_test_add_func("/qmp/greeting", test_greeting);
    g_test_add_func("/qmp/negotiation", test_negotiation);
    g_test_add_func("/qmp/id", test_id);
    g_test_add_func("/qmp/wrong-requests", test_wrong_requests);
    g_test_add_func("/qmp/pretty", test_pretty);
    g_test_add_func("/qmp/garbage/recovers", test_garbage);
    g_test_add_func("/qmp/garbage/resync", test_resync);
    g_test_add_func("/qmp/garbage/deep", test_deep);
    g_test_add_func("/qmp/garbage/huge-token", test_huge_token);
    g_test_add_func("/qmp/byte-by-byte", test_byte_by_byte);
    g_test_add_func("/qmp/pipeline", test_pipeline);
    g_test_add_func("/qmp/oob", test_oob);
    g_test_add_func("/qmp/queue-limit", test_queue_limit);
    g_test_add_func("/qmp/slow-reader", test_slow_reader);
    g_test_add_func("/qmp/events", test_events);
    g_test_add_func("/qmp/events-dropped", test_events_dropped);
    g_test_add_func("/qmp/fd/getfd", test_getfd);
    g_test_add_func("/qmp/fd/pipelined", test_getfd_pipelined);
    g_test_add_func("/qmp/fd/unwanted", test_fd_unwanted);
    g_test_add_func("/qmp/fd/sets", test_fdsets);
    g_test_add_func("/qmp/reconnect", test_reconnect);
    g_test_add_func("/qmp/half-closed", test_half_closed);
    g_test_add_func("/qmp/no-answer-to-next", test_no_answer_to_next_client);
    g_test_add_func("/qmp/many-monitors", test_many_monitors);
    g_test_add_func("/qmp/human-monitor-command", test_human_monitor_command);
    g_test_add_func("/qmp/schema", test_schema);
    g_test_add_func("/qmp/chardev-commands", test_chardev_commands);
    ret = g_test_run();
    monitor_cleanup();
    qemu_chr_cleanup_all();
    g_rmdir(tmpdir);
    g_free(tmpdir);
    g_string_free(seen.log, TRUE);
    return ret;
}
