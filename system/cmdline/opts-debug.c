/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options for debugging and information: -d, -D, -trace, -msg, -version … */
#include "qemu/osdep.h"

#include "cmdline.h"
#include "config-host.h"
#include "qapi/keyval.h"
#include "qemu/cutils.h"
#include "qemu/log.h"
#include "qemu/trace.h"

static bool parse_log_items(Options *o, const char *arg, Error **errp)
{
    char *all;

    if (g_str_equal(arg, "help") || g_str_equal(arg, "?")) {
        char *usage = qemu_log_usage();

        fputs(usage, stdout);
        g_free(usage);
        exit(0);
    }
    all = o->log_items ? g_strconcat(o->log_items, ",", arg, NULL)
                       : g_strdup(arg);
    g_free(o->log_items);
    o->log_items = all;
    return true;
}

static bool parse_log_file(Options *o, const char *arg, Error **errp)
{
    g_free(o->log_file);
    o->log_file = g_strdup(arg);
    return true;
}

static bool parse_log_ranges(Options *o, const char *arg, Error **errp)
{
    g_free(o->log_ranges);
    o->log_ranges = g_strdup(arg);
    return true;
}

static bool parse_trace(Options *o, const char *arg, Error **errp)
{
    json_object *v = NULL;

    if (g_str_equal(arg, "help") || g_str_equal(arg, "?")) {
        const TraceEvent *ev;

        for (ev = trace_event_first(); ev; ev = trace_event_next(ev)) {
            puts(ev->name);
        }
        exit(0);
    }
    if (!options_merge(&v, arg, "enable", "trace options: enable, events, file",
                       errp)) {
        json_object_put(v);
        return false;
    }
    g_ptr_array_add(o->traces, v);
    json_object_object_foreach(v, key, value)
    {
        if (!g_str_equal(key, "enable") && !g_str_equal(key, "events") &&
            !g_str_equal(key, "file")) {
            error_setg(errp, "'%s=%s' is not supported", key,
                       json_object_get_string(value));
            return false;
        }
    }
    return true;
}

static bool parse_msg(Options *o, const char *arg, Error **errp)
{
    g_autoptr(json_object) v = NULL;
    bool on;

    if (!options_merge(&v, arg, NULL, "msg options: timestamp, guest-name",
                       errp)) {
        return false;
    }
    json_object_object_foreach(v, key, value)
    {
        if (!g_str_equal(key, "timestamp") && !g_str_equal(key, "guest-name")) {
            error_setg(errp, "'%s=%s' is not supported", key,
                       json_object_get_string(value));
            return false;
        }
        if (!qemu_parse_bool(key, json_object_get_string(value), &on, errp)) {
            return false;
        }
        if (g_str_equal(key, "timestamp")) {
            error_set_timestamps(on);
        } else {
            o->msg_guest_name = on;
        }
    }
    return true;
}

static bool parse_version(Options *o, const char *arg, Error **errp)
{
    printf("QEMU emulator version " PROJECT_VERSION " (" PROJECT_NAME
           ")\n" PROJECT_NAME " answers to QEMU's interfaces; "
           "it shares no code with QEMU.\n");
    exit(0);
}

static bool parse_help(Options *o, const char *arg, Error **errp)
{
    options_print_help();
    exit(0);
}

const CmdOption opts_debug[] = {
    { "d", "ITEM[,...]", "write these to the log ('help' lists them)",
      parse_log_items },
    { "D", "FILE", "the log's file (default: stderr); %d: the process id",
      parse_log_file },
    { "dfilter", "RANGE[,...]",
      "guest addresses that in_asm, op, exec and cpu of -d are about: "
      "START..END, START+LENGTH or START-LENGTH",
      parse_log_ranges },
    { "trace", "[[enable=]PATTERN][,events=FILE][,file=FILE]",
      "switch trace points on", parse_trace, true },
    { "msg", "[timestamp=on|off][,guest-name=on|off]",
      "what messages on stderr begin with", parse_msg, true },
    { "version", NULL, "show the version", parse_version },
    { "help", NULL, "show this", parse_help },
    { "h", NULL, "show this", parse_help },
    { NULL },
};
