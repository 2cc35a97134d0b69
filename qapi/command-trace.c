/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trace points of QMP commands: see include/qapi/command-trace.h. */
#include "qemu/osdep.h"

#include "qapi/command-trace.h"

static const char *text_of(json_object *value)
{
    return value ? json_object_to_json_string_ext(
                       value,
                       JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
                 : "{}";
}

void qmp_trace_enter_write(const TraceEvent *ev, json_object *args)
{
    trace_write(ev, "%s", text_of(args));
}

void qmp_trace_exit_write(const TraceEvent *ev, json_object *ret,
                          const Error *err)
{
    trace_write(ev, "%s %d", err ? error_get_pretty(err) : text_of(ret), !err);
}
