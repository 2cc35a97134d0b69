/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Monitor inside: what the files of this directory share.
 */
#ifndef MONITOR_MONITOR_INT_H
#define MONITOR_MONITOR_INT_H

#include <json-c/json.h>

#include "chardev/char.h"
#include "monitor/monitor.h"
#include "qemu/error.h"
#include "qemu/monitor-sink.h"
#include "qemu/thread.h"

/*
 * The thread in which QMP is read (monitor-thread.c). Made on first use.
 */
GMainContext *monitor_thread_context(void);
/* Run @fn(@opaque) there and wait. Main thread. */
void monitor_thread_run(void (*fn)(void *opaque), void *opaque);
void monitor_thread_stop(void);

/* Append @text with LF as CR LF: a terminal at the other end is likely raw. */
void monitor_append_crlf(GString *out, const char *text);

/* @v as a line of QMP, ended by LF (qmp-json.c). The caller frees. */
GString *qmp_json_line(json_object *v, bool pretty);

/* The two kinds (qmp.c, hmp.c), for monitor.c. */
void monitor_qmp_delete(Monitor *mon);
void monitor_hmp_delete(Monitor *mon);
bool monitor_is_qmp(const Monitor *mon);
bool monitor_qmp_is_executing(const Monitor *mon);
bool monitor_hmp_is_suspended(const Monitor *mon);
int monitor_hmp_take_fd(Monitor *mon); /* -1: none */

/*
 * HMP commands (hmp-commands.c, hmp-args.c).
 */

/* Execute @line; what it prints and what goes wrong goes to @mon. */
void hmp_execute(Monitor *mon, const char *line);
/* Commands that could stand at the end of @line, separated by blanks; NULL:
 * none. *@common: gets their longest common beginning. */
char *hmp_complete(const char *line, char **common);
/* Arguments @text by @args_type; see monitor-sink.h. */
json_object *hmp_parse_args(const char *args_type, const char *text,
                            Error **errp);
/* A word or string at *@p: "" escapes. NULL at the end or on error. */
char *hmp_next_word(const char **p, Error **errp);

extern const HMPCommand hmp_monitor_commands[];
extern const HMPCommand hmp_monitor_info_commands[];

/*
 * Descriptors of the command being executed (qmp.c), for getfd and add-fd.
 */
int monitor_take_command_fd(Error **errp);

/* qmp_capabilities of the session of @mon. */
bool monitor_qmp_negotiate(Monitor *mon, bool oob, Error **errp);

#endif /* MONITOR_MONITOR_INT_H */
