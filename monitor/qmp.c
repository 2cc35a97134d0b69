/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QMP monitor: sessions with programs.
 *
 *   client                 monitor thread                 main loop
 *     connect   ---------->  session + 1; greeting
 *     request   ---------->  parse; exec-oob: execute, reply
 *                            else: queue  ------------->  one at a time:
 *                                                         execute, reply
 *     (queue of 8 full: stop reading until there is room)
 *     0xff      ---------->  parser forgets what was broken
 *     end of sending ----->  "eof": hang up after the last reply
 *
 * A reply goes only to the session in which its request came.
 *
 * Each line is one JSON value ended by CR LF. A monitor on a mux has no
 * thread of its own: all of it lives in the main loop, without out-of-band.
 */
#include "qemu/osdep.h"

#include "monitor-int.h"
#include "qapi/json.h"
#include "qapi/qapi-commands-control.h"
#include "qemu/fd-store.h"
#include "qemu/main-loop.h"
#include "qemu/qmp-event.h"
#include "qmp-dispatch.h"
#include "trace-monitor.h"

#define QMP_MAX_REQUESTS     8
#define QMP_MAX_UNREAD_BYTES (1024 * 1024)
#define QMP_MAX_PENDING_FDS  256

typedef struct QmpRequestItem {
    uint64_t session;
    json_object *request; /* owned */
    Error *err;           /* owned; instead of a request */
    int fd;               /* owned; -1: none came with it */
} QmpRequestItem;

typedef struct QmpMonitor {
    Monitor common;

    /* Constant after monitor_new_qmp(). */
    CharFrontend fe;
    GMainContext *context; /* NULL: main loop */
    bool pretty;
    QmpEventSink *sink;

    /* Context's thread only. */
    JSONMessageParser *parser;
    GQueue pending_fds; /* of GINT_TO_POINTER(fd): came, not yet wanted */
    bool counted;       /* as a client of the fd sets */

    /* Main loop only. */
    bool executing; /* a command of its; it must not be deleted */

    QemuMutex lock;
    /* Guarded by lock. */
    uint64_t session; /* counts connections */
    bool connected;
    bool negotiated;
    bool oob_enabled;
    bool eof;
    bool output_full; /* waiting for the client to read */
    bool warned_drop;
    GQueue requests; /* of QmpRequestItem */
} QmpMonitor;

/* All QMP monitors, and whether the main loop has been told of work. */
static struct {
    QemuMutex lock;
    GList *monitors; /* guarded by lock; the next to be served first */
    bool scheduled;  /* guarded by lock */
} dispatcher = { { PTHREAD_MUTEX_INITIALIZER } };

/* What this thread executes now: getfd takes the descriptor from it. */
static __thread QmpRequestItem *this_thread_executes;

static void request_free(QmpRequestItem *item)
{
    if (item->fd >= 0) {
        close(item->fd);
    }
    json_object_put(item->request);
    error_free(item->err);
    g_free(item);
}

/*
 * Output
 */

static void qmp_drained(void *opaque);

/* Send @v to the client if @session still goes on. */
static void qmp_send_locked(QmpMonitor *mon, json_object *v, uint64_t session)
    TSA_REQUIRES(mon->lock)
{
    GString *json, *line;

    if (!mon->connected || session != mon->session) {
        return;
    }
    json = qmp_json_line(v, mon->pretty);
    trace_monitor_qmp_respond(mon, json->str);
    line = g_string_sized_new(json->len + 1);
    monitor_append_crlf(line, json->str);
    g_string_free(json, TRUE);
    qemu_chr_fe_write_all(&mon->fe, (uint8_t *)line->str, line->len);
    g_string_free(line, TRUE);
    if (!mon->output_full &&
        qemu_chr_fe_queued(&mon->fe) > QMP_MAX_UNREAD_BYTES) {
        mon->output_full = qemu_chr_fe_notify_drained(&mon->fe, qmp_drained,
                                                      mon);
    }
}

static void qmp_send(QmpMonitor *mon, json_object *v, uint64_t session)
{
    QEMU_LOCK_GUARD(&mon->lock);
    qmp_send_locked(mon, v, session);
}

/* Any thread; the sinks' lock is held. */
static void qmp_event(void *opaque, const char *name, json_object *event)
{
    QmpMonitor *mon = opaque;

    QEMU_LOCK_GUARD(&mon->lock);
    if (!mon->negotiated) {
        return;
    }
    if (mon->output_full) {
        if (!mon->warned_drop) {
            mon->warned_drop = true;
            warn_report("a QMP client does not read: events are dropped");
        }
        return;
    }
    trace_monitor_protocol_event_emit(mon, name);
    qmp_send_locked(mon, event, mon->session);
}

/*
 * Dispatcher: main loop
 */

static void dispatcher_run(void *opaque);

static void dispatcher_schedule(void)
{
    QEMU_LOCK_GUARD(&dispatcher.lock);
    if (!dispatcher.scheduled) {
        dispatcher.scheduled = true;
        aio_bh_schedule_oneshot(dispatcher_run, NULL);
    }
}

static bool requests_full_locked(const QmpMonitor *mon)
{
    return mon->requests.length >= QMP_MAX_REQUESTS || mon->output_full;
}

/*
 * The oldest request of the monitor whose turn it is. Without a request but
 * with an owner: that one's client waits for the end. Neither: no work.
 */
static QmpRequestItem *dispatcher_pop(QmpMonitor **owner)
{
    QEMU_LOCK_GUARD(&dispatcher.lock);
    for (GList *it = dispatcher.monitors; it; it = it->next) {
        QmpMonitor *mon = it->data;
        QmpRequestItem *item;

        QEMU_LOCK_GUARD(&mon->lock);
        if (mon->output_full || (!mon->requests.length && !mon->eof)) {
            continue;
        }
        item = g_queue_pop_head(&mon->requests);
        if (!item) {
            mon->eof = false;
        }
        /* Served: behind all others now. */
        dispatcher.monitors = g_list_delete_link(dispatcher.monitors, it);
        dispatcher.monitors = g_list_append(dispatcher.monitors, mon);
        *owner = mon;
        return item;
    }
    dispatcher.scheduled = false;
    *owner = NULL;
    return NULL;
}

static const char *name_of(json_object *request)
{
    const char *name = qmp_command_name(request);

    return name ? name : "(no name)";
}

static void qmp_execute(QmpMonitor *mon, QmpRequestItem *item)
{
    json_object *reply;
    bool negotiated, oob_enabled;
    Monitor *old;

    if (item->err) {
        trace_handle_qmp_command(mon, "(no JSON)");
        reply = qmp_error_reply(g_steal_pointer(&item->err), NULL);
        qmp_send(mon, reply, item->session);
        json_object_put(reply);
        return;
    }
    WITH_QEMU_LOCK_GUARD(&mon->lock)
    {
        negotiated = mon->negotiated;
        oob_enabled = mon->oob_enabled;
    }
    trace_handle_qmp_command(mon, name_of(item->request));
    old = monitor_set_cur(&mon->common);
    this_thread_executes = item;
    reply = qmp_dispatch(item->request, negotiated, oob_enabled);
    this_thread_executes = NULL;
    monitor_set_cur(old);
    qmp_send(mon, reply, item->session);
    json_object_put(reply);
}

static void dispatcher_run(void *opaque)
{
    QmpMonitor *mon;
    QmpRequestItem *item = dispatcher_pop(&mon);

    if (!mon) {
        return;
    }
    if (item) {
        mon->executing = true;
        qmp_execute(mon, item);
        mon->executing = false;
        request_free(item);
        qemu_chr_fe_accept_input(&mon->fe); /* there is room again */
    } else {
        qemu_chr_fe_disconnect(&mon->fe);
    }
    /* Timers and other sources get their turn between two commands. */
    aio_bh_schedule_oneshot(dispatcher_run, NULL);
}

static void qmp_drained(void *opaque)
{
    QmpMonitor *mon = opaque;

    WITH_QEMU_LOCK_GUARD(&mon->lock)
    {
        mon->output_full = false;
        mon->warned_drop = false;
    }
    dispatcher_schedule();
    qemu_chr_fe_accept_input(&mon->fe);
}

/*
 * Input: context's thread
 */

static bool wants_fd(json_object *request)
{
    const char *name = qmp_command_name(request);

    return name && (g_str_equal(name, "getfd") || g_str_equal(name, "add-fd"));
}

static void qmp_message(void *opaque, json_object *v, Error *err)
{
    QmpMonitor *mon = opaque;
    QmpRequestItem *item = g_new(QmpRequestItem, 1);
    bool oob;

    *item = (QmpRequestItem){ .request = v, .err = err, .fd = -1 };
    if (wants_fd(v) && mon->pending_fds.length) {
        item->fd = GPOINTER_TO_INT(g_queue_pop_head(&mon->pending_fds));
    }
    WITH_QEMU_LOCK_GUARD(&mon->lock)
    {
        item->session = mon->session;
        oob = mon->oob_enabled && qmp_is_oob(v);
        if (!oob) {
            g_queue_push_tail(&mon->requests, item);
        }
    }
    if (oob) {
        trace_monitor_qmp_cmd_out_of_band(mon, name_of(item->request));
        qmp_execute(mon, item);
        request_free(item);
    } else {
        dispatcher_schedule();
    }
}

static int qmp_can_read(void *opaque)
{
    QmpMonitor *mon = opaque;

    QEMU_LOCK_GUARD(&mon->lock);
    return requests_full_locked(mon) ? 0 : INT_MAX;
}

static void take_fds(QmpMonitor *mon)
{
    int fd;
    bool first = true;

    while ((fd = qemu_chr_fe_get_msgfd(&mon->fe)) >= 0) {
        if (first) {
            /* Newer ones have come: nobody wanted the old ones. */
            while (mon->pending_fds.length) {
                close(GPOINTER_TO_INT(g_queue_pop_head(&mon->pending_fds)));
            }
            first = false;
        }
        g_queue_push_tail(&mon->pending_fds, GINT_TO_POINTER(fd));
    }
}

static void qmp_read(void *opaque, const uint8_t *buf, int size)
{
    QmpMonitor *mon = opaque;

    take_fds(mon);
    json_message_parser_feed(mon->parser, (const char *)buf, size);
}

static json_object *greeting_new(bool oob)
{
    json_object *hello = json_object_new_object();
    json_object *qmp = json_object_new_object();
    json_object *caps = json_object_new_array();
    VersionInfo *version = qmp_query_version(NULL);

    json_object_object_add(qmp, "version", qapi_VersionInfo_to_json(version));
    qapi_free_VersionInfo(version);
    if (oob) {
        json_object_array_add(caps, json_object_new_string("oob"));
    }
    json_object_object_add(qmp, "capabilities", caps);
    json_object_object_add(hello, "QMP", qmp);
    return hello;
}

static void qmp_session_begin(QmpMonitor *mon)
{
    json_object *hello = greeting_new(mon->context);

    json_message_parser_free(mon->parser);
    mon->parser = json_message_parser_new(qmp_message, mon);
    WITH_QEMU_LOCK_GUARD(&mon->lock)
    {
        mon->session++;
        mon->connected = true;
        mon->negotiated = mon->oob_enabled = mon->eof = false;
        mon->output_full = mon->warned_drop = false;
        qmp_send_locked(mon, hello, mon->session);
    }
    json_object_put(hello);
    if (!mon->counted) {
        mon->counted = true;
        fdset_client_arrived();
    }
}

static void qmp_session_end(QmpMonitor *mon)
{
    GQueue left = G_QUEUE_INIT;
    QmpRequestItem *item;

    WITH_QEMU_LOCK_GUARD(&mon->lock)
    {
        mon->connected = mon->negotiated = mon->oob_enabled = false;
        mon->output_full = false;
        mon->session++;
        left = mon->requests;
        g_queue_init(&mon->requests);
    }
    while ((item = g_queue_pop_head(&left))) {
        request_free(item);
    }
    while (mon->pending_fds.length) {
        close(GPOINTER_TO_INT(g_queue_pop_head(&mon->pending_fds)));
    }
    if (mon->counted) {
        mon->counted = false;
        fdset_client_left();
    }
}

/* No more requests will come; those that came are answered first. */
static void qmp_session_eof(QmpMonitor *mon)
{
    json_message_parser_flush(mon->parser);
    WITH_QEMU_LOCK_GUARD(&mon->lock)
    {
        mon->eof = true;
    }
    dispatcher_schedule();
}

static void qmp_chr_event(void *opaque, QEMUChrEvent event)
{
    QmpMonitor *mon = opaque;

    switch (event) {
    case CHR_EVENT_OPENED:
        trace_monitor_qmp_session(mon, "begins");
        qmp_session_begin(mon);
        break;
    case CHR_EVENT_CLOSED:
        trace_monitor_qmp_session(mon, "ends");
        qmp_session_end(mon);
        break;
    case CHR_EVENT_EOF:
        trace_monitor_qmp_session(mon, "has sent its last");
        qmp_session_eof(mon);
        break;
    default:
        break;
    }
}

/*
 * For the handlers
 */

bool monitor_qmp_negotiate(Monitor *m, bool oob, Error **errp)
{
    QmpMonitor *mon = container_of(m, QmpMonitor, common);

    if (oob && !mon->context) {
        error_setg(errp, "Capability 'oob' is not available here");
        return false;
    }
    QEMU_LOCK_GUARD(&mon->lock);
    mon->negotiated = true;
    mon->oob_enabled = oob;
    return true;
}

int monitor_take_command_fd(Error **errp)
{
    int fd = -1;

    if (this_thread_executes) {
        fd = this_thread_executes->fd;
        this_thread_executes->fd = -1;
    }
    if (fd < 0) {
        error_setg(errp, "No file descriptor supplied via SCM_RIGHTS");
    }
    return fd;
}

/*
 * Life
 */

/* People's words (error messages of a command) do not belong into QMP. */
static void qmp_puts(Monitor *mon, const char *text)
{
    fputs(text, stderr);
}

static const MonitorOps qmp_ops = {
    .puts = qmp_puts,
};

bool monitor_is_qmp(const Monitor *mon)
{
    return mon->ops == &qmp_ops;
}

bool monitor_qmp_is_executing(const Monitor *m)
{
    return container_of(m, QmpMonitor, common)->executing;
}

Monitor *monitor_new_qmp(Chardev *chr, bool pretty, Error **errp)
{
    QmpMonitor *mon = g_new0(QmpMonitor, 1);

    mon->common.ops = &qmp_ops;
    mon->pretty = pretty;
    if (!qemu_chr_fe_init(&mon->fe, chr, errp)) {
        g_free(mon);
        return NULL;
    }
    qemu_mutex_init(&mon->lock);
    g_queue_init(&mon->requests);
    g_queue_init(&mon->pending_fds);
    mon->context = qemu_chr_has_mux(chr) ? NULL : monitor_thread_context();
    WITH_QEMU_LOCK_GUARD(&dispatcher.lock)
    {
        dispatcher.monitors = g_list_append(dispatcher.monitors, mon);
    }
    qemu_chr_fe_set_dialogue(&mon->fe);
    qemu_chr_fe_set_echo(&mon->fe, true);
    qemu_chr_fe_set_handlers(&mon->fe, qmp_can_read, qmp_read, qmp_chr_event,
                             mon, mon->context);
    mon->sink = qmp_event_add_sink(qmp_event, mon);
    return &mon->common;
}

static void qmp_detach(void *opaque)
{
    QmpMonitor *mon = opaque;

    qemu_chr_fe_set_handlers(&mon->fe, NULL, NULL, NULL, NULL, NULL);
    qmp_session_end(mon);
}

void monitor_qmp_delete(Monitor *m)
{
    QmpMonitor *mon = container_of(m, QmpMonitor, common);

    assert(!mon->executing);
    qmp_event_remove_sink(mon->sink);
    WITH_QEMU_LOCK_GUARD(&dispatcher.lock)
    {
        dispatcher.monitors = g_list_remove(dispatcher.monitors, mon);
    }
    if (mon->context) {
        monitor_thread_run(qmp_detach, mon);
    } else {
        qmp_detach(mon);
    }
    qemu_chr_fe_deinit(&mon->fe, false);
    json_message_parser_free(mon->parser);
    qemu_mutex_destroy(&mon->lock);
    g_free(mon);
}
