/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options about how the process and the VM run: -S, -incoming, -name, … */
#include "qemu/osdep.h"

#include "cmdline.h"
#include "qapi/keyval.h"
#include "qemu/cutils.h"

static bool parse_stopped(Options *o, const char *arg, Error **errp)
{
    o->stopped = true;
    return true;
}

static bool parse_incoming(Options *o, const char *arg, Error **errp)
{
    g_ptr_array_add(o->incoming, g_strdup(arg));
    return true;
}

static bool parse_uuid(Options *o, const char *arg, Error **errp)
{
    if (!qemu_uuid_parse(arg, o->uuid)) {
        error_setg(errp, "failed to parse UUID string: wrong format");
        return false;
    }
    o->uuid_set = true;
    return true;
}

/* Each member of @v must be among @known (NULL-terminated). */
static bool check_keys(json_object *v, const char *const *known, Error **errp)
{
    json_object_object_foreach(v, key, value)
    {
        if (!g_strv_contains(known, key)) {
            error_setg(errp, "'%s=%s' is not supported", key,
                       json_object_get_string(value));
            return false;
        }
    }
    return true;
}

static bool get_bool(json_object *v, const char *key, bool *out, Error **errp)
{
    json_object *m = json_object_object_get(v, key);

    return !m || qemu_parse_bool(key, json_object_get_string(m), out, errp);
}

static bool parse_name(Options *o, const char *arg, Error **errp)
{
    static const char *const known[] = { "guest", "process", "debug-threads",
                                         NULL };
    g_autoptr(json_object) v = NULL;
    json_object *guest, *process;
    bool debug_threads; /* threads have names always */

    if (!options_merge(&v, arg, "guest",
                       "name options: guest, process, debug-threads", errp) ||
        !check_keys(v, known, errp) ||
        !get_bool(v, "debug-threads", &debug_threads, errp)) {
        return false;
    }
    guest = json_object_object_get(v, "guest");
    if (guest) {
        g_free(o->name);
        o->name = g_strdup(json_object_get_string(guest));
    }
    process = json_object_object_get(v, "process");
    if (process) {
        g_free(o->process_name);
        o->process_name = g_strdup(json_object_get_string(process));
    }
    return true;
}

static bool parse_nodefaults(Options *o, const char *arg, Error **errp)
{
    o->no_defaults = true;
    return true;
}

static bool parse_nographic(Options *o, const char *arg, Error **errp)
{
    o->nographic = true;
    options_set_machine(o, "graphics", "off");
    return true;
}

static bool parse_pidfile(Options *o, const char *arg, Error **errp)
{
    g_free(o->pidfile);
    o->pidfile = g_strdup(arg);
    return true;
}

static bool parse_daemonize(Options *o, const char *arg, Error **errp)
{
    o->daemonize = true;
    return true;
}

static bool parse_no_reboot(Options *o, const char *arg, Error **errp)
{
    o->no_reboot = true;
    return true;
}

static bool parse_no_shutdown(Options *o, const char *arg, Error **errp)
{
    o->no_shutdown = true;
    return true;
}

static bool parse_only_migratable(Options *o, const char *arg, Error **errp)
{
    o->only_migratable = true;
    return true;
}

const CmdOption opts_run[] = {
    { "S", NULL, "do not start the CPUs: `cont` does", parse_stopped },
    { "incoming", "URI|defer|CHANNEL",
      "wait for a migration: tcp:HOST:PORT, unix:PATH, exec:COMMAND, fd:N, "
      "file:PATH[,offset=N]; or for migrate-incoming",
      parse_incoming },
    { "uuid", "UUID", "identity of the machine", parse_uuid },
    { "name", "[guest=]NAME[,process=NAME][,debug-threads=on|off]",
      "name of the guest, and of the process", parse_name },
    { "nodefaults", NULL, "make no devices that were not asked for",
      parse_nodefaults },
    { "nographic", NULL,
      "serial port and monitor on this terminal (Ctrl-a h: help)",
      parse_nographic },
    { "pidfile", "FILE", "write the process id there", parse_pidfile },
    { "daemonize", NULL, "go into the background once all is set up",
      parse_daemonize },
    { "no-reboot", NULL, "end instead of resetting", parse_no_reboot },
    { "no-shutdown", NULL, "stop instead of ending when the guest shuts down",
      parse_no_shutdown },
    { "only-migratable", NULL, "refuse devices that cannot migrate",
      parse_only_migratable },
    { NULL },
};
