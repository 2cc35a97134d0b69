/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Monitor sink: where a human's command prints, and how commands are listed.
 *
 * Subsystems lie below the monitor; here is all they need to know of it: a
 * place to print to, a way to keep the prompt away while a command goes on in
 * the background, and the shape of a table of human commands (HMP). A
 * command's handler and its table live with their subsystem; the binary's
 * start-up adds the tables with hmp_add_commands().
 *
 * Threads: printing works from any thread. All else: main loop, under the BQL.
 *
 * Used by: every room with hmp_* handlers; monitor/ implements MonitorOps.
 * Uses:    json-c.
 */
#ifndef QEMU_MONITOR_SINK_H
#define QEMU_MONITOR_SINK_H

/* What a kind of monitor can do. puts is required; the others come in pair. */
typedef struct MonitorOps {
    void (*puts)(Monitor *mon, const char *text);
    bool (*suspend)(Monitor *mon);
    void (*resume)(Monitor *mon);
} MonitorOps;

/* First member of every kind of monitor. */
struct Monitor {
    const MonitorOps *ops; /* constant */
    int cpu_index;         /* CPU that commands look at; main loop */
};

/* @mon NULL: to stdout. */
void monitor_printf(Monitor *mon, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
void monitor_vprintf(Monitor *mon, const char *fmt, va_list ap)
    G_GNUC_PRINTF(2, 0);
void monitor_puts(Monitor *mon, const char *text);

/**
 * monitor_suspend: keep the prompt away and read no more commands
 *
 * For a handler that goes on after it returned. Returns true if the monitor
 * now waits for monitor_resume(): then the handler may return, may keep @mon
 * (it stays valid, even if its client hangs up) and monitor_printf() to it.
 * Returns false if this kind cannot wait (human-monitor-command): then finish
 * at once and do not keep @mon. Calls nest.
 */
bool monitor_suspend(Monitor *mon);

/* One per successful monitor_suspend(). Any thread. */
void monitor_resume(Monitor *mon);

/* The monitor whose command this thread is executing; NULL if none. */
Monitor *monitor_cur(void);
/* For monitor/: returns the previous one, to be set again afterwards. */
Monitor *monitor_set_cur(Monitor *mon);

/*
 * @args_type: comma-separated NAME:TYPE, in the order typed. TYPE:
 *   s  word, or "quoted string" with \n \r \\ \' \" escapes
 *   F  the same, a file name       B  the same, a block device
 *   S  the rest of the line        O  key=value list, as one string
 *   i  32-bit integer   l  64-bit integer   M  integer counted in MiB
 *   o  size with suffix; a bare number counts MiB
 *   T  time in seconds (number, optional ms/us/ns); passed as a double
 *   b  on|off
 *   -x an option -x (true if given); -xs an option -x with a string
 *   /  /fmt as of x and xp: members "count", "format" (a letter's code), "size"
 *   a trailing ? makes it optional. Integers may be expressions of numbers
 *   with + - * / % & | ^ ~ ( ) and unary minus.
 * Handlers get an object with a member per argument given; absent = not given.
 * Sizes and integers are json ints.
 */
typedef struct HMPCompletion {
    const char *word; /* typed so far */
    GPtrArray *names; /* char *, for monitor/: what was added */
} HMPCompletion;
/* @name could stand where the user is typing: ignored unless it begins with
 * what is typed already. One that ends with / , : or = may go on. */
void hmp_completion_add(HMPCompletion *c, const char *name);

typedef struct HMPCommand {
    const char *name; /* "quit|q": aliases separated by | */
    const char *args_type;
    const char *params; /* for help: "[-d] uri" */
    const char *help;
    void (*cmd)(Monitor *mon, json_object *args);
    const struct HMPCommand *sub_table; /* instead of cmd; e.g. of info */
    /*
     * What argument number @n could be, after @words, options left out.
     * Optional; types b and F and options need none.
     */
    void (*complete)(HMPCompletion *c, const char *const *words, unsigned n);
} HMPCommand;

/*
 * Add a table, ended by an entry with name NULL, to the commands / to what
 * follows "info". It must live for ever. A name listed twice: the first wins.
 */
void hmp_add_commands(const HMPCommand *table);
void hmp_add_info_commands(const HMPCommand *table);

/* For monitor/: all tables added, NULL-terminated, in order. */
const HMPCommand *const *hmp_command_tables(void);
const HMPCommand *const *hmp_info_command_tables(void);

/* Print @err with its hint, as "Error: words"; frees it. NULL does nothing.
 * Returns true if there was an error. */
bool hmp_handle_error(Monitor *mon, Error *err);

#endif /* QEMU_MONITOR_SINK_H */
