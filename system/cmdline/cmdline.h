/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command line: options as tables, and what they amount to.
 *
 * Parsing only collects: nothing is opened, allocated or printed (but by
 * -help, -version and the `help` argument of some options, which then exit).
 * Start-up (start.c) acts on the collected settings in its own order, so
 * that the order of options matters only among options of one kind.
 *
 * An option that this program does not know, or knows and cannot do, is an
 * error; the few that ask for nothing we have to do stand in opts-ignored.c,
 * each with its reason.
 *
 * Used by: system/main.c. Uses: qapi/keyval.h.
 */
#ifndef SYSTEM_CMDLINE_CMDLINE_H
#define SYSTEM_CMDLINE_CMDLINE_H

#include "qapi/json.h"
#include "qemu/error.h"
#include "system/sandbox.h"

/* What kind of thing an entry of Options.backends makes. */
typedef enum BackendKind {
    BACKEND_CHARDEV,
    BACKEND_MON,
    BACKEND_MONITOR, /* -monitor: HMP on a chardev of its own */
    BACKEND_QMP,
    BACKEND_QMP_PRETTY,
    BACKEND_SERIAL,
    BACKEND_OBJECT,
    BACKEND_ADD_FD,
    BACKEND_DEVICE,
    BACKEND_DRIVE,
} BackendKind;

typedef struct Backend {
    BackendKind kind;
    char *arg;
} Backend;

/* Whom and where to run as: -run-with user=, chroot=. */
typedef struct RunAs {
    char *user_text; /* as given; NULL: the user stays */
    uid_t uid;
    gid_t gid;
    gid_t *groups; /* supplementary ones */
    int nr_groups;
    char *root; /* NULL: the root directory stays */
} RunAs;

typedef struct Options {
    /* -machine, all of them merged, -kernel and kin included. */
    json_object *machine;
    GPtrArray *accels;        /* char *: arguments of -accel, in order */
    bool accels_from_machine; /* they are of -machine accel=A:B */
    char *cpu;
    json_object *smp;    /* keyval; NULL: not given */
    json_object *memory; /* keyval; NULL: not given */

    GPtrArray *backends; /* Backend *, in order */
    char *qtest, *qtest_log;

    GPtrArray *incoming; /* char *: arguments of -incoming, in order */
    bool stopped;        /* -S */
    char *name;
    char *process_name; /* of the main thread, as ps shows it */
    uint8_t uuid[16];
    bool uuid_set;

    bool no_defaults;
    bool nographic;
    bool has_serial;  /* some -serial was given, `none` included */
    bool has_monitor; /* some kind of monitor was given, `none` included */

    bool daemonize;
    char *pidfile;
    bool exit_with_parent, async_teardown;
    RunAs run_as;
    SandboxConfig sandbox;
    bool only_migratable;
    bool no_reboot, no_shutdown;

    bool msg_guest_name; /* -msg guest-name=on */
    char *log_items, *log_file, *log_ranges;
    GPtrArray *traces; /* json_object *, keyval of each -trace */
} Options;

typedef struct CmdOption {
    const char *name;   /* without the dash */
    const char *params; /* shown by -help; NULL: it takes no argument */
    const char *help;
    /* False and @errp: wrong argument. @arg is NULL without params. */
    bool (*parse)(Options *o, const char *arg, Error **errp);
    bool no_json; /* key=value text, and JSON is not another form of it */
} CmdOption;

/* An option that people look for, and why it is not there. */
typedef struct CmdRefusal {
    const char *name, *reason;
} CmdRefusal;
extern const CmdRefusal opts_refused[]; /* ends with a NULL name */

typedef struct CmdGroup {
    const char *title;
    const CmdOption *options; /* ends with a NULL name */
} CmdGroup;

extern const CmdOption opts_machine[], opts_device[], opts_backend[],
    opts_run[], opts_confine[], opts_debug[], opts_ignored[];
extern const CmdGroup option_groups[]; /* all of them; ends with NULL title */

/* The settings of @argv; NULL and @errp naming the option. */
Options *options_parse(int argc, char **argv, Error **errp);
void options_free(Options *o); /* NULL is ignored */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Options, options_free)

/* For parsers. */
bool options_merge(json_object **into, const char *arg, const char *implied_key,
                   const char *help_hint, Error **errp);
void options_set_machine(Options *o, const char *key, const char *value);
void options_add_backend(Options *o, BackendKind kind, const char *arg);
void options_print_help(void);

/* ---- acting on them: start-*.c; false and @errp: the process ends ---- */

bool start_log(const Options *o, Error **errp);

/* ---- start-confine.c: see there for the order ---- */
void run_as_free(RunAs *r); /* what it holds */
/* The user named by @text; false and @errp: there is none. */
bool run_as_set_user(RunAs *r, const char *text, Error **errp);
/* @parent: who started this process. May end it. */
bool start_parent_watch(const Options *o, pid_t parent, Error **errp);
/* Before anything of a guest's or a peer's is read. */
bool start_sandbox(const Options *o, Error **errp);
/* Before the guest runs: another root, another user, no way back. */
bool start_confined(const Options *o, pid_t parent, Error **errp);

/*
 * Fork; the parent waits for daemonize_finish() in the child and exits with
 * 0, or with 1 if the child dies before.
 */
bool daemonize_begin(Error **errp);
bool daemonize_finish(Error **errp);
bool pidfile_write(const char *path, Error **errp);
void pidfile_remove(void);

/* What -object and -drive will live on is not written to before it is there. */
void start_expect_files(const Options *o);
/* Handle `help` in -machine, -accel, -cpu: print and exit if asked for. */
bool start_help(const Options *o, Error **errp);
bool start_machine(Options *o, Error **errp); /* makes current_machine() */
bool start_accel(const Options *o, Error **errp);
bool start_cpu(const Options *o, Error **errp);
/* Answer `-object help` and `-chardev help`, and exit, if asked. */
void start_backends_help(const Options *o);
/* Chardevs, monitors and objects other than memory back ends. */
bool start_early_backends(Options *o, Error **errp);
/* Memory back ends, qtest, serial lines. */
bool start_late_backends(Options *o, Error **errp);
/* -drive: files are looked at. Before the board. */
bool start_drives(const Options *o, Error **errp);
/* -device, disks of the board, and the board's last steps. */
bool start_devices(const Options *o, Error **errp);
/* Answer `-device help`, and exit, if asked. */
void start_devices_help(const Options *o);
bool start_incoming(const Options *o, Error **errp);
/* Signals end the process at once until signals_started(), tidily after it. */
void start_signals(void);
void signals_started(void);
void start_qtest_irqs(void);

#endif /* SYSTEM_CMDLINE_CMDLINE_H */
