/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Human commands for the log and the trace points. */
#include "qemu/osdep.h"

#include <json-c/json.h>

#include "qemu/error.h"
#include "qemu/log.h"
#include "qemu/monitor-sink.h"
#include "qemu/trace.h"
#include "system/monitor-cmds.h"

static const char *arg_str(json_object *args, const char *name)
{
    json_object *v = json_object_object_get(args, name);

    return v ? json_object_get_string(v) : NULL;
}

static void hmp_log(Monitor *mon, json_object *args)
{
    const char *items = arg_str(args, "items");
    Error *err = NULL;
    uint32_t mask;

    if (g_str_equal(items, "help")) {
        g_autofree char *usage = qemu_log_usage();

        monitor_puts(mon, usage);
        return;
    }
    if (qemu_str_to_log_mask(items, &mask, &err)) {
        qemu_set_log(mask, &err);
    }
    hmp_handle_error(mon, err);
}

static void hmp_logfile(Monitor *mon, json_object *args)
{
    Error *err = NULL;

    qemu_set_log_filename(arg_str(args, "filename"), &err);
    hmp_handle_error(mon, err);
}

static void hmp_trace_event(Monitor *mon, json_object *args)
{
    const char *name = arg_str(args, "name");
    bool on = json_object_get_boolean(json_object_object_get(args, "option"));
    Error *err = NULL;

    if (!trace_enable_events(name, on)) {
        error_setg(&err, "There is no trace point '%s'", name);
    } else if (on) {
        qemu_set_log(atomic_load(&qemu_loglevel) | LOG_TRACE, &err);
    }
    hmp_handle_error(mon, err);
}

static void hmp_info_trace_events(Monitor *mon, json_object *args)
{
    const char *pattern = arg_str(args, "name");
    const TraceEvent *ev;

    for (ev = trace_event_first(); ev; ev = trace_event_next(ev)) {
        if (!pattern || g_pattern_match_simple(pattern, ev->name)) {
            monitor_printf(mon, "%s : state %d\n", ev->name,
                           trace_event_enabled(ev));
        }
    }
}

const HMPCommand hmp_log_commands[] = {
    { .name = "log",
      .args_type = "items:s",
      .params = "item1[,...]",
      .help = "log these items ('log help' lists them, 'log none' ends it)",
      .cmd = hmp_log },
    { .name = "logfile",
      .args_type = "filename:F",
      .params = "filename",
      .help = "write the log to another file",
      .cmd = hmp_logfile },
    { .name = "trace-event",
      .args_type = "name:s,option:b",
      .params = "name on|off",
      .help = "switch trace points (a name, or a pattern with * and ?)",
      .cmd = hmp_trace_event },
    { .name = NULL },
};

const HMPCommand hmp_log_info_commands[] = {
    { .name = "trace-events",
      .args_type = "name:s?",
      .params = "[name]",
      .help = "show trace points and whether they are on",
      .cmd = hmp_info_trace_events },
    { .name = NULL },
};
