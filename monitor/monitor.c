/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Monitors: making, listing, deleting. See monitor/monitor.h. */
#include "qemu/osdep.h"

#include "monitor-int.h"
#include "qapi/keyval.h"
#include "qemu/cutils.h"
#include "qom/user-creatable.h"
#include "system/runstate.h"

/* One list per process, for the exit. Main thread. */
static struct {
    GList *all;     /* of Monitor, oldest first */
    unsigned count; /* of -monitor, -qmp: numbers their chardevs */
} monitors;

void monitor_append_crlf(GString *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n') {
            g_string_append_c(out, '\r');
        }
        g_string_append_c(out, *text);
    }
}

static Monitor *list_add(Monitor *mon)
{
    if (mon) {
        monitors.all = g_list_append(monitors.all, mon);
    }
    return mon;
}

static Monitor *monitor_new(Chardev *chr, bool qmp, bool pretty, Error **errp)
{
    return list_add(qmp ? monitor_new_qmp(chr, pretty, errp)
                        : monitor_new_hmp(chr, errp));
}

bool monitor_can_be_deleted(const Monitor *mon)
{
    return monitor_is_qmp(mon) ? !monitor_qmp_is_executing(mon)
                               : !monitor_hmp_is_suspended(mon);
}

void monitor_delete(Monitor *mon)
{
    monitors.all = g_list_remove(monitors.all, mon);
    if (monitor_is_qmp(mon)) {
        monitor_qmp_delete(mon);
    } else {
        monitor_hmp_delete(mon);
    }
}

void monitor_cleanup(void)
{
    while (monitors.all) {
        monitor_delete(monitors.all->data);
    }
    monitor_thread_stop();
}

/*
 * Command line
 */

/* Takes @key out of @dict as a string; NULL: not there. */
static char *take_string(json_object *dict, const char *key)
{
    json_object *v;
    char *s = NULL;

    if (json_object_object_get_ex(dict, key, &v) &&
        json_object_is_type(v, json_type_string)) {
        s = g_strdup(json_object_get_string(v));
        json_object_object_del(dict, key);
    }
    return s;
}

typedef struct MonOptions {
    char *id;
    char *chardev;
    bool qmp;
    bool pretty;
} MonOptions;

static void mon_options_clear(MonOptions *o)
{
    g_free(o->id);
    g_free(o->chardev);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(MonOptions, mon_options_clear)

static bool mon_options_from(MonOptions *o, json_object *dict, Error **errp)
{
    g_autofree char *mode = take_string(dict, "mode");
    g_autofree char *pretty = take_string(dict, "pretty");

    o->id = take_string(dict, "id");
    o->chardev = take_string(dict, "chardev");
    json_object_object_foreach(dict, key, value)
    {
        (void)value;
        error_setg(errp, "invalid parameter '%s'", key);
        return false;
    }
    if (!o->chardev) {
        error_setg(errp, "parameter 'chardev' is missing");
        return false;
    }
    if (mode && g_str_equal(mode, "control")) {
        o->qmp = true;
    } else if (mode && !g_str_equal(mode, "readline")) {
        error_setg(errp, "unknown monitor mode '%s'", mode);
        return false;
    }
    if (pretty && !qemu_parse_bool("pretty", pretty, &o->pretty, errp)) {
        return false;
    }
    if (o->pretty && !o->qmp) {
        error_setg(errp, "'pretty' goes with mode=control only");
        return false;
    }
    return true;
}

bool monitor_new_from_opts(const char *optarg, Error **errp)
{
    g_auto(MonOptions) o = { 0 };
    json_object *dict = keyval_parse(optarg, "chardev", NULL, errp);
    Chardev *chr;
    bool ok;

    if (!dict) {
        return false;
    }
    ok = mon_options_from(&o, dict, errp);
    json_object_put(dict);
    if (!ok) {
        return false;
    }
    chr = qemu_chr_find(o.chardev);
    if (!chr) {
        error_setg(errp, "chardev \"%s\" not found", o.chardev);
        return false;
    }
    return monitor_new(chr, o.qmp, o.pretty, errp);
}

bool monitor_new_from_spec(const char *spec, bool qmp, bool pretty,
                           Error **errp)
{
    ERRP_GUARD();
    g_autofree char *label = g_strdup_printf("compat_monitor%u",
                                             monitors.count);
    const char *id;
    Chardev *chr;

    if (strstart(spec, "mon:", &id)) {
        spec = id; /* a monitor on a monitor's mux is just a monitor */
    }
    chr = qemu_chr_new(label, spec, errp);
    if (!chr) {
        return !*errp; /* "none" */
    }
    monitors.count++;
    return monitor_new(chr, qmp, pretty, errp);
}

/*
 * What a mux needs of us
 */

static bool mux_make_monitor(Chardev *mux, Error **errp)
{
    return monitor_new(mux, false, false, errp);
}

static void mux_quit(void)
{
    qemu_system_shutdown_request(SHUTDOWN_CAUSE_HOST_UI);
}

static const ChardevMuxHooks mux_hooks = {
    .make_monitor = mux_make_monitor,
    .quit = mux_quit,
};

void monitor_init_globals(void)
{
    qemu_chr_set_mux_hooks(&mux_hooks);
    hmp_add_commands(hmp_monitor_commands);
    hmp_add_commands(hmp_chardev_commands);
    hmp_add_info_commands(hmp_monitor_info_commands);
    hmp_add_info_commands(hmp_chardev_info_commands);
}

/*
 * Objects
 */

typedef struct MonitorObject {
    Object parent;
    char *chardev;
    bool pretty;
    Monitor *mon; /* NULL before complete */
} MonitorObject;

static bool monitor_object_complete(UserCreatable *uc, Error **errp)
{
    MonitorObject *m = (MonitorObject *)uc;
    bool qmp = object_dynamic_cast(OBJECT(uc), TYPE_MONITOR_QMP);
    Chardev *chr;

    if (!m->chardev) {
        error_setg(errp, "parameter 'chardev' is missing");
        return false;
    }
    chr = qemu_chr_find(m->chardev);
    if (!chr) {
        error_setg(errp, "chardev '%s' not found", m->chardev);
        return false;
    }
    m->mon = monitor_new(chr, qmp, m->pretty, errp);
    return m->mon;
}

/* At exit monitor_cleanup() may have deleted the monitor already. */
static bool monitor_object_is_live(const MonitorObject *m)
{
    return m->mon && g_list_find(monitors.all, m->mon);
}

static bool monitor_object_can_be_deleted(UserCreatable *uc)
{
    MonitorObject *m = (MonitorObject *)uc;

    return !monitor_object_is_live(m) || monitor_can_be_deleted(m->mon);
}

static void monitor_object_finalize(Object *obj)
{
    MonitorObject *m = (MonitorObject *)obj;

    if (monitor_object_is_live(m)) {
        monitor_delete(m->mon);
    }
}

static void monitor_object_class_init(ObjectClass *klass, const void *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(klass);

    ucc->complete = monitor_object_complete;
    ucc->can_be_deleted = monitor_object_can_be_deleted;
}

static const char *const monitor_interfaces[] = { TYPE_USER_CREATABLE, NULL };

static const Property monitor_qmp_props[] = {
    DEFINE_PROP_STRING("chardev", MonitorObject, chardev),
    DEFINE_PROP_BOOL("pretty", MonitorObject, pretty, false),
    DEFINE_PROP_END_OF_LIST(),
};

static const Property monitor_hmp_props[] = {
    DEFINE_PROP_STRING("chardev", MonitorObject, chardev),
    DEFINE_PROP_END_OF_LIST(),
};

static const TypeInfo monitor_types[] = {
    {
        .name = TYPE_MONITOR_QMP,
        .instance_size = sizeof(MonitorObject),
        .instance_finalize = monitor_object_finalize,
        .class_init = monitor_object_class_init,
        .props = monitor_qmp_props,
        .interfaces = monitor_interfaces,
    },
    {
        .name = TYPE_MONITOR_HMP,
        .instance_size = sizeof(MonitorObject),
        .instance_finalize = monitor_object_finalize,
        .class_init = monitor_object_class_init,
        .props = monitor_hmp_props,
        .interfaces = monitor_interfaces,
    },
};

void monitor_register_types(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(monitor_types); i++) {
        type_register_static(&monitor_types[i]);
    }
}
