/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Start-up: -incoming. One URI or `defer`, or channels, each a JSON object or
 * key=value text: "main,addr.transport=socket,addr.type=unix,addr.path=F".
 */
#include "qemu/osdep.h"

#include "cmdline.h"
#include "migration/migration.h"
#include "qapi/keyval.h"
#include "qapi/qapi-commands-migration.h"
#include "qemu/cutils.h"

/* A URI has no comma in front of its first colon; a channel has one. */
static bool is_uri(const char *arg)
{
    size_t word = strcspn(arg, ":,=");

    return *arg != '{' && (arg[word] == ':' || g_str_equal(arg, "defer"));
}

static MigrationChannel *parse_channel(const char *arg, Error **errp)
{
    g_autoptr(json_object) v = NULL;

    if (*arg == '{') {
        v = qobject_from_json(arg, errp);
        return v ? qapi_MigrationChannel_from_json(v, NULL, errp) : NULL;
    }
    v = keyval_parse(arg, "channel-type", NULL, errp);
    return v ? qapi_MigrationChannel_from_keyval(v, NULL, errp) : NULL;
}

bool start_incoming(const Options *o, Error **errp)
{
    ERRP_GUARD();
    g_autoptr(MigrationChannelList) channels = NULL;
    MigrationChannelList **tail = &channels;
    const char *uri = NULL, *arg = NULL;

    for (guint i = 0; i < o->incoming->len; i++) {
        MigrationChannel *channel;

        arg = o->incoming->pdata[i];
        if (is_uri(arg)) {
            uri = arg; /* of several the last, as with other options */
            continue;
        }
        channel = parse_channel(arg, errp);
        if (!channel) {
            error_prepend(errp, "-incoming %s: ", arg);
            return false;
        }
        QAPI_LIST_APPEND(tail, channel);
    }
    if (!arg) {
        return true;
    }
    if (uri && channels) {
        error_setg(errp, "-incoming: a URI and channels exclude each other");
        return false;
    }
    if (!migration_incoming_start(uri ? uri : "defer", errp)) {
        error_prepend(errp, "-incoming %s: ", uri);
        return false;
    }
    if (channels) {
        qmp_migrate_incoming(NULL, true, channels, true, true, errp);
        if (*errp) {
            error_prepend(errp, "-incoming %s: ", arg);
            return false;
        }
    }
    return true;
}
