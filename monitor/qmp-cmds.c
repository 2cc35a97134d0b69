/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QMP commands about QMP itself, and about descriptors that came over it. */
#include "qemu/osdep.h"

#include "config-host.h"
#include "monitor-int.h"
#include "qapi/json.h"
#include "qapi/qapi-commands-control.h"
#include "qapi/qapi-commands-introspect.h"
#include "qapi/qapi-commands-misc.h"
#include "qapi/qmp-command.h"
#include "qemu/fd-store.h"
#include "system/cpus.h"

/* The version of QEMU whose interfaces these are: clients decide by it. */
#define INTERFACE_MAJOR 11
#define INTERFACE_MINOR 1
#define INTERFACE_MICRO 3

VersionInfo *qmp_query_version(Error **errp)
{
    VersionInfo *info = g_new0(VersionInfo, 1);

    info->qemu = g_new0(VersionTriple, 1);
    info->qemu->major = INTERFACE_MAJOR;
    info->qemu->minor = INTERFACE_MINOR;
    info->qemu->micro = INTERFACE_MICRO;
    info->package = g_strdup(PROJECT_NAME "-" PROJECT_VERSION);
    return info;
}

void qmp_qmp_capabilities(bool has_enable, QMPCapabilityList *enable,
                          Error **errp)
{
    bool oob = false;

    for (; has_enable && enable; enable = enable->next) {
        oob |= enable->value == QMP_CAPABILITY_OOB;
    }
    monitor_qmp_negotiate(monitor_cur(), oob, errp);
}

CommandInfoList *qmp_query_commands(Error **errp)
{
    CommandInfoList *list = NULL, **tail = &list;

    for (const QmpCommand *c = qmp_commands; c->name; c++) {
        CommandInfo *info = g_new0(CommandInfo, 1);

        info->name = g_strdup(c->name);
        QAPI_LIST_APPEND(tail, info);
    }
    return list;
}

/* Written by hand: the answer exists as text already. */
bool qmp_query_qmp_schema(json_object *args, json_object **ret, Error **errp)
{
    if (args && json_object_object_length(args)) {
        error_setg(errp, "Command 'query-qmp-schema' takes no arguments");
        return false;
    }
    *ret = qobject_from_json(qmp_schema_json, errp);
    return *ret;
}

char *qmp_human_monitor_command(const char *command_line, bool has_cpu_index,
                                int64_t cpu_index, Error **errp)
{
    if (has_cpu_index && !qemu_get_cpu(cpu_index)) {
        error_setg(errp, "Parameter 'cpu-index' expects a CPU number");
        return NULL;
    }
    return monitor_hmp_command(command_line, has_cpu_index ? cpu_index : 0);
}

void qmp_getfd(const char *fdname, Error **errp)
{
    int fd = monitor_take_command_fd(errp);

    if (fd >= 0) {
        fd_store_put(fdname, fd, errp);
    }
}

void qmp_closefd(const char *fdname, Error **errp)
{
    fd_store_close(fdname, errp);
}

AddfdInfo *qmp_add_fd(bool has_fdset_id, int64_t fdset_id, const char *opaque,
                      Error **errp)
{
    int fd = monitor_take_command_fd(errp);
    int64_t id = has_fdset_id ? fdset_id : -1;
    AddfdInfo *info;

    if (fd < 0) {
        return NULL;
    }
    if (has_fdset_id && id < 0) {
        id = INT64_MIN; /* -1 would mean any */
    }
    if (!fdset_add_fd(fd, id, opaque, &id, errp)) {
        return NULL;
    }
    info = g_new0(AddfdInfo, 1);
    info->fdset_id = id;
    info->fd = fd;
    return info;
}

void qmp_remove_fd(int64_t fdset_id, bool has_fd, int64_t fd, Error **errp)
{
    if (has_fd && (fd < 0 || fd > INT_MAX)) {
        error_setg(errp, "Parameter 'fd' expects a file descriptor's number");
        return;
    }
    fdset_remove_fd(fdset_id, has_fd ? fd : -1, errp);
}

typedef struct FdsetCollector {
    FdsetInfoList *list;
    FdsetInfoList **tail;
    FdsetInfo *last;
    FdsetFdInfoList **last_tail;
} FdsetCollector;

static void collect_fd(void *opaque, int64_t id, int fd, const char *words)
{
    FdsetCollector *c = opaque;
    FdsetFdInfo *info;

    if (!c->last || c->last->fdset_id != id) {
        c->last = g_new0(FdsetInfo, 1);
        c->last->fdset_id = id;
        c->last_tail = &c->last->fds;
        QAPI_LIST_APPEND(c->tail, c->last);
    }
    if (fd >= 0) {
        info = g_new0(FdsetFdInfo, 1);
        info->fd = fd;
        info->opaque = g_strdup(words);
        QAPI_LIST_APPEND(c->last_tail, info);
    }
}

FdsetInfoList *qmp_query_fdsets(Error **errp)
{
    FdsetCollector c = { 0 };

    c.tail = &c.list;
    fdset_foreach(collect_fd, &c);
    return c.list;
}

static void hmp_info_version(Monitor *mon, json_object *args)
{
    monitor_printf(mon, "%d.%d.%d (%s-%s)\n", INTERFACE_MAJOR, INTERFACE_MINOR,
                   INTERFACE_MICRO, PROJECT_NAME, PROJECT_VERSION);
}

const HMPCommand hmp_monitor_info_commands[] = {
    {
        .name = "version",
        .help = "show the version",
        .cmd = hmp_info_version,
    },
    { .name = NULL },
};
