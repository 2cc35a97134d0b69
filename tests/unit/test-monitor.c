/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of monitors: descriptors that come with commands, clients that come
 * and go, how monitors are made, commands that look at them.
 */
#include "qemu/osdep.h"

#include "qmp-fixture.h"

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
    /* What was wrong, and where help is: the command's name alone. */
    client_puts(c, "{\"execute\": \"human-monitor-command\", \"arguments\":"
                   " {\"command-line\": \"info version  -x 1\"}}\n");
    assert_json(client_reply(c),
                "{\"return\": \"extraneous characters at the end of line\\r\\n"
                "Try \\\"help info version\\\" for more information\\r\\n\"}");
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

/* -object monitor-qmp,id=,chardev=,pretty= */
static void test_objects(void)
{
    g_autofree char *path = g_strdup_printf("%s/object", tmpdir);
    g_autofree char *opt = g_strdup_printf(
        "socket,id=oc,path=%s,server=on,wait=off", path);
    json_object *props = json_tokener_parse(
        "{\"qom-type\": \"monitor-qmp\", \"id\": \"om\","
        " \"chardev\": \"oc\", \"pretty\": true}");
    Error *err = NULL;
    Client *c;

    g_assert_null(user_creatable_add(props, false, &err)); /* no chardev */
    error_free_or_abort(&err);
    qemu_chr_new_from_opts(opt, &error_abort);
    g_assert_nonnull(user_creatable_add(props, false, &error_abort));
    c = client_connect(path);
    client_expect(c, "{\r\n");
    client_expect(c, "}\r\n");
    client_puts(c, "{'execute': 'qmp_capabilities'}");
    client_expect(c, "\"return\"");
    client_close(c);
    g_assert_true(user_creatable_del("om", &error_abort));
    qmp_chardev_remove("oc", &error_abort);
    json_object_put(props);

    props = json_tokener_parse("{\"qom-type\": \"monitor-hmp\", \"id\":"
                               " \"om\", \"chardev\": \"oc\"}");
    qemu_chr_new_from_opts(opt, &error_abort);
    g_assert_nonnull(user_creatable_add(props, false, &error_abort));
    c = client_connect(path);
    client_expect(c, "(qemu) ");
    client_close(c);
    g_assert_true(user_creatable_del("om", &error_abort));
    qmp_chardev_remove("oc", &error_abort);
    json_object_put(props);
}

/* -mon */
static void test_mon_option(void)
{
    static const char *const bad[] = { "",
                                       "nobody",
                                       "mode=control",
                                       "oc,mode=telepathy",
                                       "oc,colour=red",
                                       "oc,mode=readline,pretty=on",
                                       "oc,mode=control,pretty=maybe" };
    g_autofree char *path = g_strdup_printf("%s/mon", tmpdir);
    g_autofree char *opt = g_strdup_printf(
        "socket,id=oc,path=%s,server=on,wait=off", path);
    Error *err = NULL;
    Client *c;

    qemu_chr_new_from_opts(opt, &error_abort);
    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        if (monitor_new_from_opts(bad[i], &err)) {
            g_error("'%s' was taken", bad[i]);
        }
        error_free_or_abort(&err);
    }
    g_assert_true(
        monitor_new_from_opts("chardev=oc,mode=control", &error_abort));
    c = client_connect(path);
    json_object_put(client_json(c));
    client_close(c);
    g_assert_true(monitor_new_from_spec("none", true, false, &error_abort));
}

/* A listening socket made by who starts us, as libvirt does it. */
static void test_inherited_listener(void)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    g_autofree char *path = g_strdup_printf("%s/inherited", tmpdir);
    g_autofree char *opt = NULL;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    Monitor *mon;
    Client *c;

    g_strlcpy(un.sun_path, path, sizeof(un.sun_path));
    g_assert_cmpint(bind(fd, (struct sockaddr *)&un, sizeof(un)), ==, 0);
    g_assert_cmpint(listen(fd, 1), ==, 0);
    c = client_connect(path); /* before anyone accepts */
    opt = g_strdup_printf("socket,id=ih,fd=%d,server=on,wait=off", fd);
    mon = monitor_new_qmp(qemu_chr_new_from_opts(opt, &error_abort), false,
                          &error_abort);
    json_object_put(client_json(c));
    client_close(c);
    monitor_delete(mon);
    qmp_chardev_remove("ih", &error_abort);
    unlink(path);
}

/* echo COMMANDS | BINARY -qmp stdio: all are answered. */
static void test_stdio_pipe(void)
{
    int in[2], out[2], saved_in = dup(0), saved_out = dup(1);
    const char *ask = "{\"execute\": \"qmp_capabilities\"}"
                      "{\"execute\": \"test-log\", \"arguments\":"
                      " {\"word\": \"x\"}, \"id\": 5}\n";
    GString *got = g_string_new(NULL);
    int64_t end = g_get_monotonic_time() + CLIENT_TIMEOUT_US;
    Monitor *mon;

    g_assert_cmpint(pipe(in), ==, 0);
    g_assert_cmpint(pipe(out), ==, 0);
    g_assert_cmpint(write(in[1], ask, strlen(ask)), ==, (ssize_t)strlen(ask));
    close(in[1]);
    fflush(stdout);
    dup2(in[0], 0);
    dup2(out[1], 1);
    mon = monitor_new_qmp(qemu_chr_new("st", "stdio", &error_abort), false,
                          &error_abort);
    while (!strstr(got->str, "\"id\": 5") && g_get_monotonic_time() < end) {
        struct pollfd p = { out[0], POLLIN, 0 };
        char buf[4096];

        turn_once();
        if (poll(&p, 1, 1) == 1) {
            g_string_append_len(got, buf, read(out[0], buf, sizeof(buf)));
        }
    }
    monitor_delete(mon);
    qmp_chardev_remove("st", &error_abort);
    dup2(saved_in, 0);
    dup2(saved_out, 1);
    if (!strstr(got->str, "\"id\": 5")) {
        g_error("got: %s", got->str);
    }
    g_string_free(got, TRUE);
    g_free(seen_take());
    close(saved_in);
    close(saved_out);
    close(in[0]);
    close(out[0]);
    close(out[1]);
}

int main(int argc, char **argv)
{
    init_qmp_tests(&argc, &argv);
    g_test_add_func("/monitor/fd/getfd", test_getfd);
    g_test_add_func("/monitor/fd/pipelined", test_getfd_pipelined);
    g_test_add_func("/monitor/fd/unwanted", test_fd_unwanted);
    g_test_add_func("/monitor/fd/sets", test_fdsets);
    g_test_add_func("/monitor/reconnect", test_reconnect);
    g_test_add_func("/monitor/half-closed", test_half_closed);
    g_test_add_func("/monitor/no-answer-to-next",
                    test_no_answer_to_next_client);
    g_test_add_func("/monitor/many-monitors", test_many_monitors);
    g_test_add_func("/monitor/human-monitor-command",
                    test_human_monitor_command);
    g_test_add_func("/monitor/schema", test_schema);
    g_test_add_func("/monitor/chardev-commands", test_chardev_commands);
    g_test_add_func("/monitor/objects", test_objects);
    g_test_add_func("/monitor/mon-option", test_mon_option);
    g_test_add_func("/monitor/inherited-listener", test_inherited_listener);
    g_test_add_func("/monitor/stdio-pipe", test_stdio_pipe);
    return run_qmp_tests();
}
