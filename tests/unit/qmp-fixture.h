/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fixture of the tests of QMP: monitors on unix sockets, and the list of
 * commands of a binary: the monitor's own, and a few of the test's:
 *   test-log WORD    appends WORD to a log
 *   test-big         returns 300,000 bytes
 *   test-oob WORD    the same as test-log; out of band allowed
 *
 * Included once by each of test-qmp.c and test-monitor.c.
 */
#ifndef TESTS_UNIT_QMP_FIXTURE_H
#define TESTS_UNIT_QMP_FIXTURE_H

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
#include "qom/user-creatable.h"

#define BIG_BYTES 300000

/* What the test's commands did; the lock is for out-of-band ones. */
static struct {
    QemuMutex lock;
    GString *log;
} seen = { { PTHREAD_MUTEX_INITIALIZER } };

static char *tmpdir;

G_GNUC_UNUSED static char *seen_take(void)
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

G_GNUC_UNUSED static Server *server_new(bool pretty)
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

G_GNUC_UNUSED static void server_free(Server *s)
{
    monitor_delete(s->mon);
    qmp_chardev_remove(s->id, &error_abort);
    g_assert_cmpint(access(s->path, F_OK), ==, -1);
    g_free(s->path);
    g_free(s->id);
    g_free(s);
}

G_GNUC_UNUSED static Client *session(Server *s, bool oob)
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

G_GNUC_UNUSED static int count_fds(void)
{
    GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
    int n = 0;

    while (g_dir_read_name(dir)) {
        n++;
    }
    g_dir_close(dir);
    return n;
}

static inline int run_qmp_tests(void)
{
    int ret = g_test_run();

    monitor_cleanup();
    qemu_chr_cleanup_all();
    g_rmdir(tmpdir);
    g_free(tmpdir);
    g_string_free(seen.log, TRUE);
    return ret;
}

static inline void TSA_NO_CHECK init_qmp_tests(int *argc, char ***argv)
{
    g_test_init(argc, argv, NULL);
    main_loop_init();
    qom_register_types();
    monitor_register_types();
    monitor_init_globals();
    seen.log = g_string_new(NULL);
    tmpdir = g_dir_make_tmp("test-qmp-XXXXXX", NULL);
}

#endif /* TESTS_UNIT_QMP_FIXTURE_H */
