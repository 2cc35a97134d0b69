/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options that clients pass always and that ask for nothing we would have to
 * do. Each says why; docs/using.rst lists them.
 */
#include "qemu/osdep.h"

#include "cmdline.h"
#include "qapi/keyval.h"

static bool ignore(Options *o, const char *arg, Error **errp)
{
    return true;
}

static bool only_none(Options *o, const char *arg, Error **errp)
{
    if (!g_str_equal(arg, "none")) {
        error_setg(errp, "there is no such device; only 'none' is supported");
        return false;
    }
    return true;
}

/*
 * "none[,id=ID]" or {"@key": "none"}: key=value text with @key implied, or
 * JSON.
 */
static bool only_none_of(const char *arg, const char *key, const char *what,
                         Error **errp)
{
    g_autoptr(json_object) v = *arg == '{' ? qobject_from_json(arg, errp)
                                           : keyval_parse(arg, key, NULL, errp);

    if (!v) {
        return false;
    }
    json_object_object_foreach(v, name, value)
    {
        const char *text = json_object_get_string(value);

        if (!g_str_equal(name, "id") &&
            !(g_str_equal(name, key) && text && g_str_equal(text, "none"))) {
            error_setg(errp, "%s; only 'none' is supported", what);
            return false;
        }
    }
    return true;
}

static bool parse_display(Options *o, const char *arg, Error **errp)
{
    return only_none_of(arg, "type", "there are no displays", errp);
}

static bool parse_audiodev(Options *o, const char *arg, Error **errp)
{
    return only_none_of(arg, "driver", "no machine has sound", errp);
}

const CmdOption opts_ignored[] = {
    { "L", "DIR", "where firmware is looked for: -bios names a file", ignore },
    { "no-user-config", NULL, "no configuration file is ever read", ignore },
    { "snapshot", NULL, "disks are never written", ignore },
    { "display", "none|JSON", "no machine has a display", parse_display },
    { "audiodev", "none,id=ID|JSON", "no machine has sound", parse_audiodev },
    { "audio", "none", "no machine has sound", only_none },
    { "vga", "none", "no machine has a display", only_none },
    { "net", "none", "no machine has a network", only_none },
    { "nic", "none", "no machine has a network", only_none },
    { "parallel", "none", "no machine has a parallel port", only_none },
    { NULL },
};
