/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Monitors: QMP for programs and HMP for people, each on a chardev.
 *
 * Start-up makes them from the command line by the functions below, or by
 * -object monitor-qmp / monitor-hmp. Commands come from the generated table
 * qmp_commands[] and from the tables added with hmp_add_commands().
 *
 *   QMP  reads and parses in a thread of its own, which also executes
 *        out-of-band commands; all others run in the main loop under the BQL,
 *        one at a time, in the order in which they came.
 *   HMP  lives in the main loop.
 *
 * Neither ever waits for a client: output is queued in the chardev. When a
 * QMP client leaves 1 MiB unread, its further commands wait and its further
 * events are dropped until it has read all.
 *
 * Threads: main thread under the BQL.
 *
 * Used by: system/main.c, system/cmdline/, system/types-*.c.
 * Uses:    chardev, qapi, qom, util.
 */
#ifndef MONITOR_MONITOR_H
#define MONITOR_MONITOR_H

/* Once, after main_loop_init() and before any chardev or monitor is made.
 * Adds the monitor's and the chardevs' own HMP commands. */
void monitor_init_globals(void);

/* User-creatable: properties "chardev" (an id, required), and for QMP
 * "pretty". */
#define TYPE_MONITOR_QMP "monitor-qmp"
#define TYPE_MONITOR_HMP "monitor-hmp"
void monitor_register_types(void);

/* -mon [chardev=]ID[,mode=readline|control][,pretty=on|off][,id=NAME] */
bool monitor_new_from_opts(const char *optarg, Error **errp);

/* -monitor SPEC, -qmp SPEC, -qmp-pretty SPEC: makes the chardev as well.
 * "none" makes nothing. */
bool monitor_new_from_spec(const char *spec, bool qmp, bool pretty,
                           Error **errp);

Monitor *monitor_new_qmp(Chardev *chr, bool pretty, Error **errp);
Monitor *monitor_new_hmp(Chardev *chr, Error **errp);
/* Not while a command of it is under way (monitor_suspend()). */
void monitor_delete(Monitor *mon);
bool monitor_can_be_deleted(const Monitor *mon);

/* Exit: say goodbye to all clients, stop the thread. Before
 * qemu_chr_cleanup_all(). */
void monitor_cleanup(void);

/* Execute one HMP line and return what it printed. The caller frees. */
char *monitor_hmp_command(const char *line, int cpu_index);

#endif /* MONITOR_MONITOR_H */
