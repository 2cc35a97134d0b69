/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that make back ends: -chardev, -mon, -monitor, -qmp, -serial, … */
#include "qemu/osdep.h"

#include "cmdline.h"
#include "qapi/keyval.h"

static bool parse_chardev(Options *o, const char *arg, Error **errp)
{
    options_add_backend(o, BACKEND_CHARDEV, arg);
    return true;
}

static bool parse_mon(Options *o, const char *arg, Error **errp)
{
    options_add_backend(o, BACKEND_MON, arg);
    o->has_monitor = true;
    return true;
}

static bool parse_monitor(Options *o, const char *arg, Error **errp)
{
    options_add_backend(o, BACKEND_MONITOR, arg);
    o->has_monitor = true;
    return true;
}

static bool parse_qmp(Options *o, const char *arg, Error **errp)
{
    options_add_backend(o, BACKEND_QMP, arg);
    o->has_monitor = true;
    return true;
}

static bool parse_qmp_pretty(Options *o, const char *arg, Error **errp)
{
    options_add_backend(o, BACKEND_QMP_PRETTY, arg);
    o->has_monitor = true;
    return true;
}

static bool parse_serial(Options *o, const char *arg, Error **errp)
{
    options_add_backend(o, BACKEND_SERIAL, arg);
    o->has_serial = true;
    if (g_str_has_prefix(arg, "mon:")) {
        o->has_monitor = true;
    }
    return true;
}

static bool parse_qtest(Options *o, const char *arg, Error **errp)
{
    g_free(o->qtest);
    o->qtest = g_strdup(arg);
    return true;
}

static bool parse_qtest_log(Options *o, const char *arg, Error **errp)
{
    g_free(o->qtest_log);
    o->qtest_log = g_strdup(arg);
    return true;
}

static bool parse_add_fd(Options *o, const char *arg, Error **errp)
{
    options_add_backend(o, BACKEND_ADD_FD, arg);
    return true;
}

const CmdOption opts_backend[] = {
    { "chardev", "BACKEND,id=ID[,PROP=VALUE...]",
      "make a character device ('help' lists the kinds)", parse_chardev, true },
    { "mon", "[chardev=]ID[,mode=readline|control][,pretty=on|off]",
      "a monitor on a character device", parse_mon, true },
    { "monitor", "DEV", "human monitor on a character device of its own",
      parse_monitor, true },
    { "qmp", "DEV", "QMP on a character device of its own", parse_qmp, true },
    { "qmp-pretty", "DEV", "the same, indented", parse_qmp_pretty },
    { "serial", "DEV", "what the next serial port is connected to",
      parse_serial, true },
    { "qtest", "DEV", "server of the qtest protocol", parse_qtest, true },
    { "qtest-log", "FILE|none", "where qtest's log goes (default: stderr)",
      parse_qtest_log },
    { "add-fd", "fd=N,set=N[,opaque=TEXT]",
      "put an inherited file descriptor into a set (/dev/fdset/N)",
      parse_add_fd, true },
    { NULL },
};
