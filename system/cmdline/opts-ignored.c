/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options that clients pass always and that ask for nothing we would have to
 * do. Each says why; docs/using.rst lists them.
 */
#include "qemu/osdep.h"

#include "cmdline.h"

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

const CmdOption opts_ignored[] = {
    { "L", "DIR", "where firmware is looked for: -bios names a file", ignore },
    { "no-user-config", NULL, "no configuration file is ever read", ignore },
    { "snapshot", NULL, "disks are never written", ignore },
    { "audio", "none", "no machine has sound", only_none },
    { "vga", "none", "no machine has a display", only_none },
    { "net", "none", "no machine has a network", only_none },
    { "nic", "none", "no machine has a network", only_none },
    { "parallel", "none", "no machine has a parallel port", only_none },
    { NULL },
};
