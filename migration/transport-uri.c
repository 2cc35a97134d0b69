/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transport addresses: from a URI or a command's arguments. See transport.h.
 */
#include "qemu/osdep.h"

#include "io/channel-socket.h"
#include "qapi/qapi-types-migration.h"
#include "qemu/cutils.h"

#include "transport.h"

#define OFFSET_OPTION ",offset="

/* The last ",offset=" begins the option: a path may contain commas. */
static bool parse_file(FileMigrationArgs *file, const char *str, Error **errp)
{
    const char *opt = g_strrstr(str, OFFSET_OPTION);
    size_t path_len = opt ? (size_t)(opt - str) : strlen(str);

    if (opt) {
        const char *value = opt + strlen(OFFSET_OPTION);

        if (qemu_strtosz(value, NULL, &file->offset) ||
            file->offset > INT64_MAX) {
            error_setg(errp,
                       "file: '%s' is no offset: expected a number of bytes, "
                       "for example 0x1000 or 4k",
                       value);
            return false;
        }
    }
    if (!path_len) {
        error_setg(errp, "file: there is no path");
        return false;
    }
    file->filename = g_strndup(str, path_len);
    return true;
}

static bool parse_exec(MigrationExecCommand *exec, const char *cmd,
                       Error **errp)
{
    strList **tail = &exec->args;

    if (!*cmd) {
        error_setg(errp, "exec: there is no command");
        return false;
    }
    QAPI_LIST_APPEND(tail, g_strdup("/bin/sh"));
    QAPI_LIST_APPEND(tail, g_strdup("-c"));
    QAPI_LIST_APPEND(tail, g_strdup(cmd));
    return true;
}

static bool parse_socket(SocketAddress *to, const char *uri, Error **errp)
{
    SocketAddress *addr = socket_parse(uri, errp);

    if (!addr) {
        return false;
    }
    *to = *addr; /* with all it points to */
    g_free(addr);
    return true;
}

MigrationAddress *migration_uri_parse(const char *uri, Error **errp)
{
    g_autoptr(MigrationAddress) addr = g_new0(MigrationAddress, 1);
    const char *rest;
    bool ok;

    if (strstart(uri, "exec:", &rest)) {
        addr->transport = MIGRATION_ADDRESS_TYPE_EXEC;
        ok = parse_exec(&addr->u.exec, rest, errp);
    } else if (strstart(uri, "file:", &rest)) {
        addr->transport = MIGRATION_ADDRESS_TYPE_FILE;
        ok = parse_file(&addr->u.file, rest, errp);
    } else if (strstart(uri, "tcp:", NULL) || strstart(uri, "unix:", NULL) ||
               strstart(uri, "fd:", NULL)) {
        addr->transport = MIGRATION_ADDRESS_TYPE_SOCKET;
        ok = parse_socket(&addr->u.socket, uri, errp);
    } else {
        error_setg(errp, "unknown migration protocol: %s", uri);
        ok = false;
    }
    return ok ? g_steal_pointer(&addr) : NULL;
}

char *migration_address_uri(const MigrationAddress *addr)
{
    GString *s;

    switch (addr->transport) {
    case MIGRATION_ADDRESS_TYPE_SOCKET:
        return socket_uri(&addr->u.socket);
    case MIGRATION_ADDRESS_TYPE_EXEC:
        s = g_string_new("exec:");
        for (const strList *it = addr->u.exec.args; it; it = it->next) {
            g_string_append_printf(s, "%s%s", it->value, it->next ? " " : "");
        }
        return g_string_free(s, false);
    case MIGRATION_ADDRESS_TYPE_FILE:
        return addr->u.file.offset
                   ? g_strdup_printf("file:%s" OFFSET_OPTION "%" PRIu64,
                                     addr->u.file.filename, addr->u.file.offset)
                   : g_strdup_printf("file:%s", addr->u.file.filename);
    default:
        g_assert_not_reached();
    }
}

MigrationAddress *migration_channels_parse(const char *uri, bool has_channels,
                                           const MigrationChannelList *channels,
                                           Error **errp)
{
    if (uri && has_channels) {
        error_setg(errp, "'uri' and 'channels' exclude each other");
        return NULL;
    }
    if (uri) {
        return migration_uri_parse(uri, errp);
    }
    if (!has_channels) {
        error_setg(errp, "One of 'uri' and 'channels' is needed");
        return NULL;
    }
    if (!channels || channels->next) {
        error_setg(errp, "Exactly one channel of type 'main' is needed");
        return NULL;
    }
    return qapi_MigrationAddress_clone(channels->value->addr);
}
