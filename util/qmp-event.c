/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QMP events: see include/qemu/qmp-event.h. */
#include "qemu/osdep.h"

#include <json-c/json.h>

#include "qemu/qmp-event.h"
#include "qemu/thread.h"

struct QmpEventSink {
    QmpEventFn *fn;
    void *opaque;
};

/* One per process: events belong to the machine, of which there is one. */
static struct {
    QemuMutex lock;
    GSList *sinks; /* guarded by lock */
} events = { { PTHREAD_MUTEX_INITIALIZER }, NULL };

static json_object *event_new(const char *name, json_object *data)
{
    json_object *event = json_object_new_object();
    json_object *stamp = json_object_new_object();
    int64_t now_us = g_get_real_time();

    json_object_object_add(stamp, "seconds",
                           json_object_new_int64(now_us / G_USEC_PER_SEC));
    json_object_object_add(stamp, "microseconds",
                           json_object_new_int64(now_us % G_USEC_PER_SEC));
    json_object_object_add(event, "timestamp", stamp);
    json_object_object_add(event, "event", json_object_new_string(name));
    if (data) {
        json_object_object_add(event, "data", data);
    }
    return event;
}

void qmp_event_emit(const char *name, json_object *data)
{
    json_object *event;

    qemu_mutex_lock(&events.lock);
    event = event_new(name, data);
    for (GSList *it = events.sinks; it; it = it->next) {
        QmpEventSink *sink = it->data;

        sink->fn(sink->opaque, name, event);
    }
    json_object_put(event);
    qemu_mutex_unlock(&events.lock);
}

QmpEventSink *qmp_event_add_sink(QmpEventFn *fn, void *opaque)
{
    QmpEventSink *sink = g_new(QmpEventSink, 1);

    *sink = (QmpEventSink){ fn, opaque };
    qemu_mutex_lock(&events.lock);
    events.sinks = g_slist_append(events.sinks, sink);
    qemu_mutex_unlock(&events.lock);
    return sink;
}

void qmp_event_remove_sink(QmpEventSink *sink)
{
    qemu_mutex_lock(&events.lock);
    events.sinks = g_slist_remove(events.sinks, sink);
    qemu_mutex_unlock(&events.lock);
    g_free(sink);
}
