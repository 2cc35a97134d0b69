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
 * HMP commands (hmp-commands.c, hmp-args.c, hmp-complete.c).
 */

/* Execute @line; what it prints and what goes wrong goes to @mon. */
void hmp_execute(Monitor *mon, const char *line);
/* The command @name of @tables; NULL: none. */
const HMPCommand *hmp_find(const HMPCommand *const *tables, const char *name,
                           size_t len);
/* Tables below @c, or NULL. @room: for a sub_table's list. */
const HMPCommand *const *hmp_tables_below(const HMPCommand *c,
                                          const HMPCommand *room[2]);
bool hmp_is_help(const HMPCommand *c);
/* What could stand at the end of @line (hmp-complete.c), separated by blanks;
 * NULL: nothing. *@common: gets their longest common beginning. */
char *hmp_complete(const char *line, char **common);
/*
 * The type (see monitor-sink.h) of the argument that follows @words, 0: none.
 * @before: gets those of @words that are arguments and no options; *@flags:
 * letters of all options.
 */
char hmp_next_arg(const char *args_type, const char *const *words, unsigned n,
                  GPtrArray *before, char **flags);
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
