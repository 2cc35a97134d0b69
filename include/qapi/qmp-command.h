/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QMP command table: the commands this binary has, by name.
 *
 * The table is generated from the schema and linked into a binary together
 * with the code that unpacks arguments (so libqapi itself needs no handler).
 * A command's handler, `qmp_NAME()`, lives with its subsystem.
 *
 * Used by: monitor/. Uses: util, json-c.
 */
#ifndef QAPI_QMP_COMMAND_H
#define QAPI_QMP_COMMAND_H

#include "qemu/error.h"

enum {
    /* May run out of band: in the monitor's thread, without the big lock,
     * which it must not take (the main loop may wait for that thread). */
    QCO_ALLOW_OOB = 1 << 0,
    QCO_ALLOW_PRECONFIG = 1 << 1, /* may run before machine creation */
};

typedef struct QmpCommand {
    const char *name;
    /*
     * @args: the "arguments" object, borrowed; NULL like {}
     * @ret: set on success; stays NULL for a command that returns nothing
     */
    bool (*marshal)(json_object *args, json_object **ret, Error **errp);
    unsigned flags;
} QmpCommand;

/* Ends with a NULL name. */
extern const QmpCommand qmp_commands[];

const QmpCommand *qmp_command_find(const char *name);

/* What query-qmp-schema returns, as JSON text (generated). */
extern const char qmp_schema_json[];

#endif /* QAPI_QMP_COMMAND_H */
