/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options about what the process may do: -sandbox, -run-with. */
#include "qemu/osdep.h"

#include "cmdline.h"
#include "qapi/keyval.h"
#include "qemu/cutils.h"

static const char *member(json_object *v, const char *key)
{
    json_object *m = json_object_object_get(v, key);

    return m ? json_object_get_string(m) : NULL;
}

/* Each member of @v must be among @known (NULL-terminated). */
static bool check_keys(json_object *v, const char *const *known, Error **errp)
{
    json_object_object_foreach(v, key, value)
    {
        if (!g_strv_contains(known, key)) {
            g_autofree char *list = g_strjoinv(", ", (char **)known);

            error_setg(errp, "Invalid parameter '%s' (there are: %s)", key,
                       list);
            return false;
        }
    }
    return true;
}

static bool get_bool(json_object *v, const char *key, bool *out, Error **errp)
{
    const char *text = member(v, key);

    return !text || qemu_parse_bool(key, text, out, errp);
}

/* ---- -sandbox ---- */

/* Which of @allow, "deny" and @third (may be NULL) @key is, into *@deny. */
static bool get_rule(json_object *v, const char *key, const char *third,
                     bool *deny, Error **errp)
{
    const char *text = member(v, key);

    if (!text) {
        return true;
    }
    *deny = !g_str_equal(text, "allow");
    if (*deny && !g_str_equal(text, "deny") &&
        (!third || !g_str_equal(text, third))) {
        error_setg(errp,
                   "invalid argument for %s: '%s' is neither allow nor "
                   "deny%s%s",
                   key, text, third ? " nor " : "", third ? third : "");
        return false;
    }
    return true;
}

static bool parse_sandbox(Options *o, const char *arg, Error **errp)
{
    static const char *const known[] = {
        "enable", "obsolete",        "elevateprivileges",
        "spawn",  "resourcecontrol", NULL
    };
    g_autoptr(json_object) v = NULL;
    SandboxConfig *s = &o->sandbox;
    bool deny_obsolete = !s->allow_obsolete;

    /*
     * `children` is `deny`: no process under a filter gains privileges by
     * execve, with or without it.
     */
    if (!options_merge(&v, arg, "enable",
                       "sandbox options: enable, obsolete, elevateprivileges, "
                       "spawn, resourcecontrol",
                       errp) ||
        !check_keys(v, known, errp) ||
        !get_bool(v, "enable", &s->enabled, errp) ||
        !get_rule(v, "obsolete", NULL, &deny_obsolete, errp) ||
        !get_rule(v, "elevateprivileges", "children", &s->deny_privileges,
                  errp) ||
        !get_rule(v, "spawn", NULL, &s->deny_spawn, errp) ||
        !get_rule(v, "resourcecontrol", NULL, &s->deny_resources, errp)) {
        return false;
    }
    s->allow_obsolete = !deny_obsolete;
    return true;
}

/* ---- -run-with ---- */

static bool parse_run_with(Options *o, const char *arg, Error **errp)
{
    static const char *const known[] = { "async-teardown", "chroot",
                                         "exit-with-parent", "user", NULL };
    g_autoptr(json_object) v = NULL;
    const char *root, *user;

    if (!options_merge(&v, arg, NULL,
                       "run-with options: async-teardown=on|off, chroot=DIR, "
                       "exit-with-parent=on|off, user=NAME|UID:GID",
                       errp) ||
        !check_keys(v, known, errp) ||
        !get_bool(v, "exit-with-parent", &o->exit_with_parent, errp) ||
        !get_bool(v, "async-teardown", &o->async_teardown, errp)) {
        return false;
    }
    root = member(v, "chroot");
    if (root) {
        g_free(o->run_as.root);
        o->run_as.root = g_strdup(root);
    }
    user = member(v, "user");
    return !user || run_as_set_user(&o->run_as, user, errp);
}

const CmdOption opts_confine[] = {
    { "sandbox",
      "on|off[,obsolete=allow|deny][,elevateprivileges=allow|deny|children]"
      "[,spawn=allow|deny][,resourcecontrol=allow|deny]",
      "a filter of system calls over the whole process", parse_sandbox },
    { "run-with",
      "[async-teardown=on|off][,chroot=DIR][,exit-with-parent=on|off]"
      "[,user=NAME|UID:GID]",
      "as whom and where to run, and how to end", parse_run_with },
    { NULL },
};
