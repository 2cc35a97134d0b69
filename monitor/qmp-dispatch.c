/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QMP dispatch: see qmp-dispatch.h. */
#include "qemu/osdep.h"

#include "qmp-dispatch.h"

/* What a well-formed request says. All borrowed from it. */
typedef struct QmpRequest {
    const char *name;
    json_object *args; /* may be NULL */
    bool oob;
} QmpRequest;

static void copy_id(json_object *reply, json_object *request)
{
    json_object *id;

    if (request && json_object_is_type(request, json_type_object) &&
        json_object_object_get_ex(request, "id", &id)) {
        json_object_object_add(reply, "id", json_object_get(id));
    }
}

json_object *qmp_error_reply(Error *err, json_object *request)
{
    json_object *reply = json_object_new_object();
    json_object *error = json_object_new_object();

    json_object_object_add(
        error, "class",
        json_object_new_string(error_class_str(error_get_class(err))));
    json_object_object_add(error, "desc",
                           json_object_new_string(error_get_pretty(err)));
    json_object_object_add(reply, "error", error);
    copy_id(reply, request);
    error_free(err);
    return reply;
}

static const char *member_string(json_object *request, const char *key)
{
    json_object *v;

    if (request && json_object_is_type(request, json_type_object) &&
        json_object_object_get_ex(request, key, &v) &&
        json_object_is_type(v, json_type_string)) {
        return json_object_get_string(v);
    }
    return NULL;
}

bool qmp_is_oob(json_object *request)
{
    return member_string(request, "exec-oob") != NULL &&
           !json_object_object_get_ex(request, "execute", NULL);
}

const char *qmp_command_name(json_object *request)
{
    const char *name = member_string(request, "execute");

    return name ? name : member_string(request, "exec-oob");
}

static bool check_member(const char *key, json_object *value, QmpRequest *q,
                         Error **errp)
{
    bool oob = g_str_equal(key, "exec-oob");

    if (oob || g_str_equal(key, "execute")) {
        if (!json_object_is_type(value, json_type_string)) {
            error_setg(errp, "QMP input member '%s' must be a string", key);
            return false;
        }
        if (q->name) {
            error_setg(errp, "QMP input has both 'execute' and 'exec-oob'");
            return false;
        }
        q->name = json_object_get_string(value);
        q->oob = oob;
    } else if (g_str_equal(key, "arguments")) {
        if (!json_object_is_type(value, json_type_object)) {
            error_setg(errp, "QMP input member 'arguments' must be an object");
            return false;
        }
        q->args = value;
    } else if (!g_str_equal(key, "id")) {
        error_setg(errp, "QMP input member '%s' is unexpected", key);
        return false;
    }
    return true;
}

static bool parse_request(json_object *request, QmpRequest *q, Error **errp)
{
    *q = (QmpRequest){ 0 };
    if (!request || !json_object_is_type(request, json_type_object)) {
        error_setg(errp, "QMP input must be a JSON object");
        return false;
    }
    json_object_object_foreach(request, key, value)
    {
        if (!check_member(key, value, q, errp)) {
            return false;
        }
    }
    if (!q->name) {
        error_setg(errp, "QMP input lacks member 'execute'");
        return false;
    }
    return true;
}

static const QmpCommand *find_allowed(const QmpRequest *q, bool negotiated,
                                      bool oob_enabled, Error **errp)
{
    bool negotiates = g_str_equal(q->name, "qmp_capabilities");
    const QmpCommand *cmd;

    if (negotiates && negotiated) {
        error_set(errp, ERROR_CLASS_COMMAND_NOT_FOUND,
                  "Capabilities have been negotiated already");
        return NULL;
    }
    if (!negotiates && !negotiated) {
        error_set(errp, ERROR_CLASS_COMMAND_NOT_FOUND,
                  "Capabilities must be negotiated first, by "
                  "'qmp_capabilities'");
        return NULL;
    }
    if (q->oob && !oob_enabled) {
        error_setg(errp, "QMP input member 'exec-oob' is unexpected: "
                         "capability 'oob' is not enabled");
        return NULL;
    }
    cmd = qmp_command_find(q->name);
    if (!cmd) {
        error_set(errp, ERROR_CLASS_COMMAND_NOT_FOUND,
                  "There is no command '%s'", q->name);
        return NULL;
    }
    if (q->oob && !(cmd->flags & QCO_ALLOW_OOB)) {
        error_setg(errp, "Command '%s' cannot be executed out of band",
                   q->name);
        return NULL;
    }
    return cmd;
}

json_object *qmp_dispatch(json_object *request, bool negotiated,
                          bool oob_enabled)
{
    const QmpCommand *cmd;
    json_object *reply, *ret = NULL;
    QmpRequest q;
    Error *err = NULL;

    if (!parse_request(request, &q, &err)) {
        return qmp_error_reply(err, request);
    }
    cmd = find_allowed(&q, negotiated, oob_enabled, &err);
    if (!cmd || !cmd->marshal(q.args, &ret, &err)) {
        return qmp_error_reply(err, request);
    }
    reply = json_object_new_object();
    json_object_object_add(reply, "return",
                           ret ? ret : json_object_new_object());
    copy_id(reply, request);
    return reply;
}
