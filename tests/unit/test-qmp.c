/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of the QMP protocol over real unix sockets, one per promise of
 * include/monitor/monitor.h and of the protocol: form, errors, garbage,
 * order, out of band, slow readers, events. The test is both ends: it runs
 * the main loop while it waits as a client.
 */
#include "qemu/osdep.h"

#include "qmp-fixture.h"

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

/* Clients exist that look for these very bytes. */
static void test_bytes(void)
{
    static const struct {
        const char *id, *want;
    } cases[] = {
        { "[1, 2, []]", "[1, 2, []]" },
        { "{\"a\":1,\"b\":{}}", "{\"a\": 1, \"b\": {}}" },
        { "\"\\u00e4\\ud83d\\ude00\\n\\u007f/\"",
          "\"\\u00E4\\uD83D\\uDE00\\n\\u007F/\"" },
        { "0.1", "0.1" },
        { "-1e300", "-1e+300" },
        { "null", "null" },
        { "-9223372036854775808", "-9223372036854775808" },
    };
    Server *s = server_new(false);
    Client *c = session(s, false);

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        g_autofree char *ask = g_strdup_printf(
            "{\"execute\": \"query-fdsets\", \"id\": %s}\n", cases[i].id);
        g_autofree char *want = g_strdup_printf("{\"return\": [], \"id\": %s}",
                                                cases[i].want);
        g_autofree char *line = NULL;

        client_puts(c, ask);
        line = client_line(c);
        g_assert_cmpstr(line, ==, want);
    }
    client_close(c);
    server_free(s);
}

static void test_pretty(void)
{
    Server *s = server_new(true);
    Client *c = client_connect(s->path);

    client_expect(c, "{\r\n    \"QMP\": {\r\n        \"version\": {\r\n");
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

    for (int i = 0; i < N; i++) {
        client_puts(c, "{\"execute\": \"test-big\"}\n");
    }
    turn_for_ms(100);
    /* The main loop goes on, and other clients are served. */
    client_puts(d, "{\"execute\": \"query-version\"}\n");
    json_object_put(client_reply(d));
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

int main(int argc, char **argv)
{
    init_qmp_tests(&argc, &argv);
    g_test_add_func("/qmp/greeting", test_greeting);
    g_test_add_func("/qmp/negotiation", test_negotiation);
    g_test_add_func("/qmp/id", test_id);
    g_test_add_func("/qmp/wrong-requests", test_wrong_requests);
    g_test_add_func("/qmp/bytes", test_bytes);
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
    return run_qmp_tests();
}
