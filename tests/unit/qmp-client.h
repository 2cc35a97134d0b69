/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small client of unix sockets for tests that run the main loop themselves:
 * while it waits for a line, the main loop turns.
 *
 * Used by: test-qmp.c, test-chardev.c. Uses: main-loop.h.
 */
#ifndef TESTS_UNIT_QMP_CLIENT_H
#define TESTS_UNIT_QMP_CLIENT_H

#include <json-c/json.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "qemu/main-loop.h"

#define CLIENT_TIMEOUT_US (100 * G_USEC_PER_SEC)

/* The test's thread is the main one and holds the BQL from main() on. */
static inline void TSA_NO_CHECK turn_once(void)
{
    main_loop_iterate(false);
}

typedef struct Client {
    int fd;
    GString *in;
} Client;

static inline Client *client_connect(const char *path)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    Client *c = g_new0(Client, 1);

    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    c->in = g_string_new(NULL);
    g_strlcpy(un.sun_path, path, sizeof(un.sun_path));
    g_assert_cmpint(connect(c->fd, (struct sockaddr *)&un, sizeof(un)), ==, 0);
    return c;
}

static inline void client_close(Client *c)
{
    close(c->fd);
    g_string_free(c->in, TRUE);
    g_free(c);
}

/* Turn the main loop until @fn(@opaque); false: it took too long. */
static inline bool turn_until(bool (*fn)(void *opaque), void *opaque)
{
    int64_t end = g_get_monotonic_time() + CLIENT_TIMEOUT_US;

    while (!fn(opaque)) {
        if (g_get_monotonic_time() > end) {
            return false;
        }
        turn_once();
        g_usleep(200);
    }
    return true;
}

static inline void turn_for_ms(int ms)
{
    int64_t end = g_get_monotonic_time() + ms * 1000;

    while (g_get_monotonic_time() < end) {
        turn_once();
        g_usleep(200);
    }
}

static inline void client_write(Client *c, const char *data, size_t len)
{
    while (len) {
        ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n > 0) {
            data += n;
            len -= n;
        } else {
            g_assert_true(n < 0 && errno == EAGAIN);
            turn_once();
            g_usleep(200);
        }
    }
}

static inline void client_puts(Client *c, const char *text)
{
    client_write(c, text, strlen(text));
}

static inline void client_puts_fds(Client *c, const char *text, const int *fds,
                                   int nr_fds)
{
    struct iovec iov = { (void *)text, strlen(text) };
    union {
        char buf[CMSG_SPACE(16 * sizeof(int))];
        struct cmsghdr align;
    } control = { { 0 } };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
    struct cmsghdr *cmsg;

    g_assert_cmpint(nr_fds, <=, 16);
    msg.msg_control = control.buf;
    msg.msg_controllen = CMSG_SPACE(nr_fds * sizeof(int));
    cmsg = CMSG_FIRSTHDR(&msg);
    cmsg->cmsg_level = SOL_SOCKET;
    cmsg->cmsg_type = SCM_RIGHTS;
    cmsg->cmsg_len = CMSG_LEN(nr_fds * sizeof(int));
    memcpy(CMSG_DATA(cmsg), fds, nr_fds * sizeof(int));
    g_assert_cmpint(sendmsg(c->fd, &msg, 0), ==, (ssize_t)iov.iov_len);
}

/* True when more has arrived; *@eof: nothing will. */
static inline bool client_fill(Client *c, bool *eof)
{
    char buf[65536];
    ssize_t n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT);

    *eof = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
    if (n > 0) {
        g_string_append_len(c->in, buf, n);
    }
    return n > 0;
}

/* The next line without its end; NULL: end of the stream. */
static inline char *client_line(Client *c)
{
    int64_t end = g_get_monotonic_time() + CLIENT_TIMEOUT_US;
    bool eof = false;

    for (;;) {
        char *lf = memchr(c->in->str, '\n', c->in->len);

        if (lf) {
            char *line = g_strndup(c->in->str, lf - c->in->str);

            g_string_erase(c->in, 0, lf - c->in->str + 1);
            g_strchomp(line);
            return line;
        }
        if (eof) {
            return NULL;
        }
        if (g_get_monotonic_time() > end) {
            g_error("no line came; so far: '%.300s'", c->in->str);
        }
        turn_once();
        if (!client_fill(c, &eof)) {
            g_usleep(200);
        }
    }
}

/* Wait until @text has come; drops everything up to its end. */
static inline void client_expect(Client *c, const char *text)
{
    int64_t end = g_get_monotonic_time() + CLIENT_TIMEOUT_US;
    bool eof = false;

    for (;;) {
        char *at = memmem(c->in->str, c->in->len, text, strlen(text));

        if (at) {
            g_string_erase(c->in, 0, at - c->in->str + strlen(text));
            return;
        }
        if (eof || g_get_monotonic_time() > end) {
            g_error("'%s' did not come; got: '%.300s'", text, c->in->str);
        }
        turn_once();
        if (!client_fill(c, &eof)) {
            g_usleep(200);
        }
    }
}

static inline bool client_at_eof(void *opaque)
{
    Client *c = opaque;
    bool eof;

    client_fill(c, &eof);
    return eof;
}

/* The next JSON value; the caller puts it. */
static inline json_object *client_json(Client *c)
{
    g_autofree char *line = client_line(c);
    json_object *v;

    g_assert_nonnull(line);
    v = json_tokener_parse(line);
    if (!v) {
        g_error("no JSON: '%s'", line);
    }
    return v;
}

/* The next value that is no event. */
static inline json_object *client_reply(Client *c)
{
    json_object *v = client_json(c);

    while (json_object_object_get_ex(v, "event", NULL)) {
        json_object_put(v);
        v = client_json(c);
    }
    return v;
}

/* Compare @v with JSON text (keys in any order); puts @v. */
static inline void assert_json(json_object *v, const char *text)
{
    json_object *want = json_tokener_parse(text);

    g_assert_nonnull(want);
    if (!json_object_equal(v, want)) {
        g_error("got %s, want %s", json_object_to_json_string(v), text);
    }
    json_object_put(want);
    json_object_put(v);
}

/* @v is an error reply of that class; puts @v. Returns desc, the caller's. */
static inline char *assert_error(json_object *v, const char *class)
{
    json_object *err, *c, *desc;
    char *ret;

    if (!json_object_object_get_ex(v, "error", &err)) {
        g_error("no error: %s", json_object_to_json_string(v));
    }
    g_assert_true(json_object_object_get_ex(err, "class", &c));
    g_assert_true(json_object_object_get_ex(err, "desc", &desc));
    g_assert_cmpstr(json_object_get_string(c), ==, class);
    ret = g_strdup(json_object_get_string(desc));
    json_object_put(v);
    return ret;
}

#endif /* TESTS_UNIT_QMP_CLIENT_H */
