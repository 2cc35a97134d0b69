/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QMP events: the way up for news, without knowing who listens.
 *
 * Whoever has news calls qmp_event_emit() (through the generated
 * qapi_event_send_*()); each monitor is a sink. Every sink sees the events in
 * the order in which they were emitted, whatever threads emitted them.
 *
 * Threads: all functions may be called from any thread, with or without the
 * big lock. A sink is called with the list's lock held: it must not block,
 * emit, or add or remove sinks.
 *
 * Used by: generated event code (qapi), monitor/. Uses: thread.h, json-c.
 */
#ifndef QEMU_QMP_EVENT_H
#define QEMU_QMP_EVENT_H

/*
 * @event: {"timestamp": {"seconds", "microseconds"}, "event", "data"?}; only
 *         valid during the call, not to be referenced (json-c's counts are
 *         not atomic) nor changed
 */
typedef void QmpEventFn(void *opaque, const char *name, json_object *event);
typedef struct QmpEventSink QmpEventSink;

/**
 * qmp_event_emit: tell all sinks
 *
 * @data: the event's arguments, ownership passes; NULL if it has none
 */
void qmp_event_emit(const char *name, json_object *data);

QmpEventSink *qmp_event_add_sink(QmpEventFn *fn, void *opaque);
/* After it returns, @sink's function neither runs nor will run. */
void qmp_event_remove_sink(QmpEventSink *sink);

#endif /* QEMU_QMP_EVENT_H */
