/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Start-up: objects, character devices, monitors, serial lines.
 *
 * Early, so that clients find their sockets before anything slow begins: fd
 * sets, objects without memory, chardevs, monitors. Late, when all options
 * are known to be right: memory back ends, qtest, serial lines.
 */
#include "qemu/osdep.h"

#include "accel/qtest.h"
#include "chardev/char.h"
#include "cmdline.h"
#include "hw/boards.h"
#include "monitor/monitor.h"
#include "qapi/keyval.h"
#include "qemu/cutils.h"
#include "qemu/fd-store.h"
#include "qom/user-creatable.h"
#include "system/own-files.h"

static const char *option_of(BackendKind kind)
{
    static const char *const names[] = {
        [BACKEND_CHARDEV] = "-chardev",       [BACKEND_MON] = "-mon",
        [BACKEND_MONITOR] = "-monitor",       [BACKEND_QMP] = "-qmp",
        [BACKEND_QMP_PRETTY] = "-qmp-pretty", [BACKEND_SERIAL] = "-serial",
        [BACKEND_OBJECT] = "-object",         [BACKEND_ADD_FD] = "-add-fd",
        [BACKEND_DEVICE] = "-device",         [BACKEND_DRIVE] = "-drive",
    };

    return names[kind];
}

/* ---- fd sets ---- */

static bool get_int(json_object *v, const char *key, int64_t *out, Error **errp)
{
    json_object *m = json_object_object_get(v, key);

    if (!m || qemu_strtoi64(json_object_get_string(m), NULL, 10, out) < 0 ||
        *out < 0 || *out > INT_MAX) {
        error_setg(errp, "'%s' must be a number of 0 or more", key);
        return false;
    }
    return true;
}

static bool add_fd(const char *arg, Error **errp)
{
    g_autoptr(json_object) v = keyval_parse(arg, NULL, NULL, errp);
    json_object *opaque;
    int64_t fd, set;
    int flags;

    if (!v || !get_int(v, "fd", &fd, errp) || !get_int(v, "set", &set, errp)) {
        return false;
    }
    if (fd <= STDERR_FILENO) {
        error_setg(errp, "fd %" PRId64 " is a standard stream", fd);
        return false;
    }
    flags = fcntl(fd, F_GETFD);
    if (flags == -1 || (flags & FD_CLOEXEC)) {
        error_setg(errp, "fd %" PRId64 " is not valid", fd);
        return false;
    }
    opaque = json_object_object_get(v, "opaque");
    if (!qemu_set_cloexec(fd)) {
        error_setg_errno(errp, errno, "fd %" PRId64, fd);
        return false;
    }
    return fdset_add_fd(fd, set, opaque ? json_object_get_string(opaque) : NULL,
                        NULL, errp);
}

/* ---- objects ---- */

typedef enum ObjectPhase {
    OBJECT_EARLY,
    OBJECT_MONITOR, /* needs its chardev */
    OBJECT_LATE,    /* allocates guest memory */
} ObjectPhase;

static ObjectPhase phase_of(const char *type)
{
    if (strstart(type, "memory-backend", NULL)) {
        return OBJECT_LATE;
    }
    return strstart(type, "monitor-", NULL) ? OBJECT_MONITOR : OBJECT_EARLY;
}

/* Make it if it belongs into @phase; help is answered in the first phase. */
static bool add_object(const char *arg, ObjectPhase phase, Error **errp)
{
    g_autoptr(json_object) v = NULL;
    json_object *type;
    bool keyval = false, help = false;

    v = user_creatable_parse(arg, &keyval, &help, errp);
    if (help) {
        exit(0);
    }
    if (!v) {
        return false;
    }
    type = json_object_object_get(v, "qom-type");
    if (type && phase_of(json_object_get_string(type)) != phase) {
        return true;
    }
    return user_creatable_add(v, keyval, errp) != NULL;
}

/* ---- one entry ---- */

static bool make_chardev(const char *arg, Error **errp)
{
    Error *err = NULL;
    Chardev *chr = qemu_chr_new_from_opts(arg, &err);

    if (err) {
        error_propagate(errp, err);
        return false;
    }
    if (!chr) {
        exit(0); /* help */
    }
    return true;
}

static bool make_serial(const char *arg, unsigned index, Error **errp)
{
    g_autofree char *label = g_strdup_printf("serial%u", index);
    Error *err = NULL;
    Chardev *chr;

    if (index >= MAX_SERIAL_HDS) {
        error_setg(errp, "there are at most %d serial lines", MAX_SERIAL_HDS);
        return false;
    }
    chr = qemu_chr_new(label, arg, &err);
    if (err) {
        error_propagate(errp, err);
        return false;
    }
    serial_hd_set(index, chr);
    return true;
}

static bool make_monitor(const Backend *b, Error **errp)
{
    switch (b->kind) {
    case BACKEND_MON:
        return monitor_new_from_opts(b->arg, errp);
    case BACKEND_MONITOR:
        return monitor_new_from_spec(b->arg, false, false, errp);
    case BACKEND_QMP:
        return monitor_new_from_spec(b->arg, true, false, errp);
    case BACKEND_QMP_PRETTY:
        return monitor_new_from_spec(b->arg, true, true, errp);
    case BACKEND_OBJECT:
        return add_object(b->arg, OBJECT_MONITOR, errp);
    default:
        return true;
    }
}

/* Call @make for each entry; its error gets the option in front. */
static bool for_each(Options *o, bool (*make)(const Backend *b, Error **errp),
                     Error **errp)
{
    ERRP_GUARD();

    for (guint i = 0; i < o->backends->len; i++) {
        const Backend *b = o->backends->pdata[i];

        if (!make(b, errp)) {
            error_prepend(errp, "%s %s: ", option_of(b->kind), b->arg);
            return false;
        }
    }
    return true;
}

static bool make_fds_and_objects(const Backend *b, Error **errp)
{
    switch (b->kind) {
    case BACKEND_ADD_FD:
        return add_fd(b->arg, errp);
    case BACKEND_OBJECT:
        return add_object(b->arg, OBJECT_EARLY, errp);
    default:
        return true;
    }
}

static bool make_chardevs(const Backend *b, Error **errp)
{
    return b->kind != BACKEND_CHARDEV || make_chardev(b->arg, errp);
}

static bool make_late_objects(const Backend *b, Error **errp)
{
    return b->kind != BACKEND_OBJECT || add_object(b->arg, OBJECT_LATE, errp);
}

/* ---- what is there without being asked for ---- */

static bool add_defaults(Options *o, Error **errp)
{
    const MachineClass *mc = MACHINE_GET_CLASS(current_machine());
    bool serial = !o->has_serial && !o->no_defaults && !mc->no_serial;
    bool monitor = !o->has_monitor && !o->no_defaults;

    if (!o->nographic) {
        return true; /* there is no window to put them into */
    }
    if (o->daemonize && (serial || monitor)) {
        error_setg(errp, "-nographic cannot be used with -daemonize");
        return false;
    }
    if (serial) {
        options_add_backend(o, BACKEND_SERIAL, monitor ? "mon:stdio" : "stdio");
    } else if (monitor) {
        options_add_backend(o, BACKEND_MONITOR, "stdio");
    }
    return true;
}

/* -object help, -object TYPE,help, -chardev help: no machine is needed. */
void start_backends_help(const Options *o)
{
    for (guint i = 0; i < o->backends->len; i++) {
        const Backend *b = o->backends->pdata[i];
        bool keyval, help = false;

        if (!g_str_equal(b->arg, "help") && !g_str_equal(b->arg, "?") &&
            !g_str_has_suffix(b->arg, ",help")) {
            continue;
        }
        if (b->kind == BACKEND_OBJECT) {
            json_object_put(user_creatable_parse(b->arg, &keyval, &help, NULL));
        } else if (b->kind == BACKEND_CHARDEV) {
            help = !qemu_chr_new_from_opts(b->arg, NULL);
        }
        if (help) {
            exit(0);
        }
    }
}

static const char *member(json_object *v, const char *key)
{
    json_object *m = NULL;

    if (v && json_object_is_type(v, json_type_object)) {
        m = json_object_object_get(v, key);
    }
    return m && json_object_is_type(m, json_type_string)
               ? json_object_get_string(m)
               : NULL;
}

static void expect_memory(const char *arg)
{
    bool keyval, help = false;
    g_autoptr(json_object) v = user_creatable_parse(arg, &keyval, &help, NULL);
    const char *path = member(v, "mem-path"), *id = member(v, "id");

    if (path) {
        g_autofree char *what = g_strdup_printf("what backs the memory '%s'",
                                                id ? id : "");

        own_file_expect(path, what);
    }
}

static void expect_image(const char *arg, unsigned number)
{
    g_autoptr(json_object) v = keyval_parse(arg, NULL, NULL, NULL);
    const char *path = member(v, "file");

    if (path) {
        g_autofree char *what = g_strdup_printf("the image of drive %u ('%s')",
                                                number, path);

        own_file_expect(path, what);
    }
}

void start_expect_files(const Options *o)
{
    unsigned drives = 0;

    for (guint i = 0; i < o->backends->len; i++) {
        const Backend *b = o->backends->pdata[i];

        if (b->kind == BACKEND_OBJECT) {
            expect_memory(b->arg);
        } else if (b->kind == BACKEND_DRIVE) {
            expect_image(b->arg, drives++);
        }
    }
}

bool start_early_backends(Options *o, Error **errp)
{
    return add_defaults(o, errp) && for_each(o, make_fds_and_objects, errp) &&
           for_each(o, make_chardevs, errp) && for_each(o, make_monitor, errp);
}

bool start_late_backends(Options *o, Error **errp)
{
    ERRP_GUARD();
    unsigned serials = 0;

    if (!for_each(o, make_late_objects, errp)) {
        return false;
    }
    if (o->qtest && !qtest_server_init(o->qtest, o->qtest_log, errp)) {
        error_prepend(errp, "-qtest %s: ", o->qtest);
        return false;
    }
    for (guint i = 0; i < o->backends->len; i++) {
        const Backend *b = o->backends->pdata[i];

        if (b->kind == BACKEND_SERIAL &&
            !make_serial(b->arg, serials++, errp)) {
            error_prepend(errp, "-serial %s: ", b->arg);
            return false;
        }
    }
    return true;
}
