/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace points of QMP commands: qmp_enter_NAME with the arguments, once they
 * are known to be right, and qmp_exit_NAME with what came of it: the value
 * returned and 1, or the error and 0.
 *
 * Threads: the command's own.
 *
 * Used by: generated code only. Uses: trace.h.
 */
#ifndef QAPI_COMMAND_TRACE_H
#define QAPI_COMMAND_TRACE_H

#include <json-c/json.h>

#include "qemu/error.h"
#include "qemu/trace.h"

void qmp_trace_enter_write(const TraceEvent *ev, json_object *args);
void qmp_trace_exit_write(const TraceEvent *ev, json_object *ret,
                          const Error *err);

/* @args: NULL is none. */
static inline void qmp_trace_enter(const TraceEvent *ev, json_object *args)
{
    if (unlikely(trace_event_enabled(ev))) {
        qmp_trace_enter_write(ev, args);
    }
}

/* @ret: NULL is nothing; @err: NULL is success. */
static inline void qmp_trace_exit(const TraceEvent *ev, json_object *ret,
                                  const Error *err)
{
    if (unlikely(trace_event_enabled(ev))) {
        qmp_trace_exit_write(ev, ret, err);
    }
}

#endif /* QAPI_COMMAND_TRACE_H */
