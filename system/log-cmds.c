/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands for the log and the trace points. */
#include "qemu/osdep.h"

#include <json-c/json.h>

#include "qapi/qapi-commands-trace.h"
#include "qemu/error.h"
#include "qemu/log.h"
#include "qemu/monitor-sink.h"
#include "qemu/trace.h"
#include "system/cpus.h"
#include "system/monitor-cmds.h"

static const char *arg_str(json_object *args, const char *name)
{
    json_object *v = json_object_object_get(args, name);

    return v ? json_object_get_string(v) : NULL;
}

static TraceEventInfo *trace_event_info(const TraceEvent *ev)
{
    TraceEventInfo *info = g_new0(TraceEventInfo, 1);

    info->name = g_strdup(ev->name);
    info->state = trace_event_enabled(ev) ? TRACE_EVENT_STATE_ENABLED
                                          : TRACE_EVENT_STATE_DISABLED;
    return info;
}

TraceEventInfoList *qmp_trace_event_get_state(const char *name, Error **errp)
{
    TraceEventInfoList *list = NULL, **tail = &list;
    const TraceEvent *ev;

    for (ev = trace_event_first(); ev; ev = trace_event_next(ev)) {
        if (g_pattern_match_simple(name, ev->name)) {
            TraceEventInfo *info = trace_event_info(ev);

            QAPI_LIST_APPEND(tail, info);
        }
    }
    if (!list && !strpbrk(name, "*?")) {
        error_setg(errp, "There is no trace point '%s'", name);
    }
    return list;
}

/* No point is ever left out, so that there is none to ignore. */
void qmp_trace_event_set_state(const char *name, bool enable,
                               bool has_ignore_unavailable,
                               bool ignore_unavailable, Error **errp)
{
    trace_set_state(name, enable, errp);
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
    if (qemu_str_to_log_mask(items, &mask, &err) && qemu_set_log(mask, &err)) {
        CPUState *cpu;

        CPU_FOREACH (cpu) {
            qemu_cpu_kick(cpu); /* what it executes may be logged from now on */
        }
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

    trace_set_state(name, on, &err);
    hmp_handle_error(mon, err);
}

static void hmp_info_trace_events(Monitor *mon, json_object *args)
{
    const char *name = arg_str(args, "name");
    g_autoptr(TraceEventInfoList) list = NULL;
    Error *err = NULL;

    list = qmp_trace_event_get_state(name ? name : "*", &err);
    for (TraceEventInfoList *l = list; l; l = l->next) {
        monitor_printf(mon, "%s : state %d\n", l->value->name,
                       l->value->state == TRACE_EVENT_STATE_ENABLED);
    }
    hmp_handle_error(mon, err);
}

/* Items are a list: the part behind the last comma is what is typed. */
static void complete_items(HMPCompletion *c, const char *const *words,
                           unsigned n)
{
    const char *word = c->word, *comma = strrchr(word, ',');
    g_autofree char *head = comma ? g_strndup(word, comma + 1 - word)
                                  : g_strdup("");

    for (const QEMULogItem *i = qemu_log_items; i->mask; i++) {
        g_autofree char *text = g_strconcat(head, i->name, NULL);

        hmp_completion_add(c, text);
    }
    if (g_str_has_prefix(word + strlen(head), "trace:")) {
        const TraceEvent *ev;

        for (ev = trace_event_first(); ev; ev = trace_event_next(ev)) {
            g_autofree char *text = g_strconcat(head, "trace:", ev->name, NULL);

            hmp_completion_add(c, text);
        }
    }
    hmp_completion_add(c, "all");
    hmp_completion_add(c, "help");
    hmp_completion_add(c, "none");
}

static void complete_points(HMPCompletion *c, const char *const *words,
                            unsigned n)
{
    const TraceEvent *ev;

    for (ev = trace_event_first(); ev; ev = trace_event_next(ev)) {
        hmp_completion_add(c, ev->name);
    }
}

const HMPCommand hmp_log_commands[] = {
    { .name = "log",
      .args_type = "items:s",
      .params = "item1[,...]",
      .help = "log these items ('log help' lists them, 'log none' ends it)",
      .cmd = hmp_log,
      .complete = complete_items },
    { .name = "logfile",
      .args_type = "filename:F",
      .params = "filename",
      .help = "write the log to another file",
      .cmd = hmp_logfile },
    { .name = "trace-event",
      .args_type = "name:s,option:b",
      .params = "name on|off",
      .help = "let trace points write (a name, or a pattern with * and ?)",
      .cmd = hmp_trace_event,
      .complete = complete_points },
    { .name = NULL },
};

const HMPCommand hmp_log_info_commands[] = {
    { .name = "trace-events",
      .args_type = "name:s?",
      .params = "[name]",
      .help = "show trace points and whether they are on",
      .cmd = hmp_info_trace_events,
      .complete = complete_points },
    { .name = NULL },
};
