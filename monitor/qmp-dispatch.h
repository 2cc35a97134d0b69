/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QMP dispatch: from a JSON value to a command and its reply.
 *
 *   request  {"execute": NAME | "exec-oob": NAME, "arguments"?: {...}, "id"?}
 *   reply    {"return": VALUE, "id"?}
 *          | {"error": {"class": CLASS, "desc": WORDS}, "id"?}
 *
 * Used by: qmp.c. Uses: qapi.
 */
#ifndef MONITOR_QMP_DISPATCH_H
#define MONITOR_QMP_DISPATCH_H

#include <json-c/json.h>

#include "qapi/qmp-command.h"

/* True if @request asks for execution out of band (it may be wrong else). */
bool qmp_is_oob(json_object *request);
/* The name in @request, or NULL. Borrowed. */
const char *qmp_command_name(json_object *request);

/**
 * qmp_dispatch: execute @request
 *
 * @negotiated: false: only qmp_capabilities may run; true: all others
 * @oob_enabled: the client has negotiated it
 *
 * Returns the reply; the caller's.
 */
json_object *qmp_dispatch(json_object *request, bool negotiated,
                          bool oob_enabled);
/* Frees @err. @request (for its id) may be NULL. */
json_object *qmp_error_reply(Error *err, json_object *request);

#endif /* MONITOR_QMP_DISPATCH_H */
