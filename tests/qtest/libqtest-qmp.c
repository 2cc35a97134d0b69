/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libqtest: QMP, one JSON value a line, and events kept until asked for. */
#include "qemu/osdep.h"

#include "libqtest-int.h"

static json_object *parse(QTestState *s, const char *line)
{
    json_object *v = json_tokener_parse(line);

    if (!v) {
        qtest_die(s, "not JSON: %s", line);
    }
    return v;
}

static bool is_event(json_object *v)
{
    return json_object_object_get_ex(v, "event", NULL);
}

/* The next value of any kind; NULL: hung up, or nothing in @ms. */
static json_object *next_value(QTestState *s, int ms, bool *timed_out)
{
    g_autofree char *line = qtest_get_line(s, s->qmp_fd, s->qmp_in, ms,
                                           timed_out);

    return line ? parse(s, line) : NULL;
}

json_object *qtest_qmp_receive(QTestState *s)
{
    for (;;) {
        json_object *v = next_value(s, QTEST_TIMEOUT_MS, NULL);

        if (!v || !is_event(v)) {
            return v;
        }
        g_queue_push_tail(&s->events, v);
    }
}

void qtest_qmp_send_raw(QTestState *s, const char *bytes, size_t len)
{
    qtest_put(s, s->qmp_fd, bytes, len, NULL, 0);
}

/* A real QMP client sends ", a test's source is easier to read with '. */
static json_object *exchange(QTestState *s, const int *fds, size_t nfds,
                             const char *fmt, va_list ap)
{
    GString *text = g_string_new(NULL);
    json_object *answer;

    g_string_vprintf(text, fmt, ap);
    g_strdelimit(text->str, "'", '"');
    g_string_append_c(text, '\n');
    qtest_put(s, s->qmp_fd, text->str, text->len, fds, nfds);
    answer = qtest_qmp_receive(s);
    if (!answer) {
        qtest_die(s, "hung up after: %s", text->str);
    }
    g_string_free(text, TRUE);
    return answer;
}

json_object *qtest_qmp(QTestState *s, const char *fmt, ...)
{
    json_object *answer;
    va_list ap;

    va_start(ap, fmt);
    answer = exchange(s, NULL, 0, fmt, ap);
    va_end(ap);
    return answer;
}

json_object *qtest_qmp_fds(QTestState *s, const int *fds, size_t nfds,
                           const char *fmt, ...)
{
    json_object *answer;
    va_list ap;

    va_start(ap, fmt);
    answer = exchange(s, fds, nfds, fmt, ap);
    va_end(ap);
    return answer;
}

json_object *qtest_qmp_ok(QTestState *s, const char *fmt, ...)
{
    json_object *answer, *ret;
    va_list ap;

    va_start(ap, fmt);
    answer = exchange(s, NULL, 0, fmt, ap);
    va_end(ap);
    if (!json_object_object_get_ex(answer, "return", &ret)) {
        qtest_die(s, "%s: %s", fmt, json_object_to_json_string(answer));
    }
    json_object_get(ret);
    json_object_put(answer);
    return ret;
}

char *qtest_qmp_fail(QTestState *s, const char *fmt, ...)
{
    json_object *answer;
    char *desc;
    va_list ap;

    va_start(ap, fmt);
    answer = exchange(s, NULL, 0, fmt, ap);
    va_end(ap);
    if (!json_path(answer, "error")) {
        qtest_die(s, "%s: an error was expected: %s", fmt,
                  json_object_to_json_string(answer));
    }
    desc = g_strdup(json_path_str(answer, "error.desc"));
    json_object_put(answer);
    return desc;
}

char *qtest_hmp(QTestState *s, const char *fmt, ...)
{
    json_object *cmd = json_object_new_object();
    json_object *args = json_object_new_object();
    json_object *answer;
    g_autofree char *line = NULL;
    g_autofree char *text = NULL;
    char *out;
    va_list ap;

    va_start(ap, fmt);
    line = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    json_object_object_add(args, "command-line", json_object_new_string(line));
    json_object_object_add(cmd, "execute",
                           json_object_new_string("human-monitor-command"));
    json_object_object_add(cmd, "arguments", args);
    text = g_strdup_printf("%s\n", json_object_to_json_string(cmd));
    json_object_put(cmd);
    qtest_qmp_send_raw(s, text, strlen(text));
    answer = qtest_qmp_receive(s);
    if (!answer || !json_path(answer, "return")) {
        qtest_die(s, "%s: %s", line, json_object_to_json_string(answer));
    }
    out = g_strdup(json_path_str(answer, "return"));
    json_object_put(answer);
    return out;
}

void qtest_qmp_handshake(QTestState *s, bool oob)
{
    json_object *greeting = qtest_qmp_receive(s);
    json_object *ret;

    if (!greeting || !json_path(greeting, "QMP.version.qemu.major")) {
        qtest_die(s, "no QMP greeting: %s",
                  greeting ? json_object_to_json_string(greeting) : "hung up");
    }
    json_object_put(greeting);
    ret = qtest_qmp_ok(s, oob ? "{'execute':'qmp_capabilities',"
                                "'arguments':{'enable':['oob']}}"
                              : "{'execute':'qmp_capabilities'}");
    json_object_put(ret);
}

/* ---- events ---- */

static json_object *take_event(QTestState *s, const char *name)
{
    for (GList *l = s->events.head; l; l = l->next) {
        json_object *v = l->data;

        if (g_str_equal(json_path_str(v, "event"), name)) {
            g_queue_delete_link(&s->events, l);
            return v;
        }
    }
    return NULL;
}

json_object *qtest_event_timeout(QTestState *s, const char *name, int ms)
{
    gint64 end_us = g_get_monotonic_time() + ms * (gint64)1000;
    json_object *v;

    while (!(v = take_event(s, name))) {
        int left_ms = (end_us - g_get_monotonic_time()) / 1000;
        bool timed_out = false;

        v = next_value(s, MAX(left_ms, 0), &timed_out);
        if (!v) {
            return NULL;
        }
        if (!is_event(v)) {
            qtest_die(s, "an answer that nobody waits for: %s",
                      json_object_to_json_string(v));
        }
        g_queue_push_tail(&s->events, v);
    }
    return v;
}

json_object *qtest_event(QTestState *s, const char *name)
{
    json_object *v = qtest_event_timeout(s, name, QTEST_TIMEOUT_MS);

    if (!v) {
        qtest_die(s, "no event %s", name);
    }
    return v;
}

void qtest_events_clear(QTestState *s)
{
    json_object *v;

    while ((v = g_queue_pop_head(&s->events))) {
        json_object_put(v);
    }
}

static char *get_status(QTestState *s)
{
    json_object *ret = qtest_qmp_ok(s, "{'execute':'query-status'}");
    char *status = g_strdup(json_path_str(ret, "status"));

    json_object_put(ret);
    return status;
}

void qtest_assert_status(QTestState *s, const char *status)
{
    g_autofree char *is = get_status(s);

    if (!g_str_equal(is, status)) {
        qtest_die(s, "status is '%s', expected '%s'", is, status);
    }
}

void qtest_wait_status(QTestState *s, const char *status)
{
    for (int ms = 0; ms < 10000; ms += 2) {
        g_autofree char *is = get_status(s);

        if (g_str_equal(is, status)) {
            return;
        }
        g_usleep(2000);
    }
    qtest_assert_status(s, status);
}

/* ---- members ---- */

json_object *json_path(json_object *v, const char *path)
{
    g_auto(GStrv) parts = g_strsplit(path, ".", -1);

    for (char **p = parts; *p && v; p++) {
        if (json_object_is_type(v, json_type_array)) {
            v = json_object_array_get_idx(v, atoi(*p));
        } else if (!json_object_is_type(v, json_type_object) ||
                   !json_object_object_get_ex(v, *p, &v)) {
            return NULL;
        }
    }
    return v;
}

static json_object *must_have(json_object *v, const char *path)
{
    json_object *m = json_path(v, path);

    if (!m) {
        g_error("libqtest: no member '%s' in %s", path,
                json_object_to_json_string(v));
    }
    return m;
}

const char *json_path_str(json_object *v, const char *path)
{
    return json_object_get_string(must_have(v, path));
}

int64_t json_path_int(json_object *v, const char *path)
{
    return json_object_get_int64(must_have(v, path));
}

bool json_path_bool(json_object *v, const char *path)
{
    return json_object_get_boolean(must_have(v, path));
}
