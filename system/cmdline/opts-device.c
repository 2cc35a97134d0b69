/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options about devices: -device, -drive, -hda, -bios, -boot, -rtc. */
#include "qemu/osdep.h"

#include "cmdline.h"
#include "qapi/keyval.h"
#include "qemu/cutils.h"
#include "target.h"

static bool parse_device(Options *o, const char *arg, Error **errp)
{
    options_add_backend(o, BACKEND_DEVICE, arg);
    return true;
}

static bool parse_drive(Options *o, const char *arg, Error **errp)
{
    options_add_backend(o, BACKEND_DRIVE, arg);
    return true;
}

static bool parse_hda(Options *o, const char *arg, Error **errp)
{
    g_auto(GStrv) parts = g_strsplit(arg, ",", -1);
    g_autofree char *escaped = g_strjoinv(",,", parts);
    g_autofree char *drive = g_strdup_printf("file=%s,index=0,if=ide", escaped);

    options_add_backend(o, BACKEND_DRIVE, drive);
    return true;
}

static bool parse_bios(Options *o, const char *arg, Error **errp)
{
    options_set_machine(o, "firmware", arg);
    return true;
}

/* There is one order, and nothing else is ever tried: what is so may be said. */
static bool parse_boot(Options *o, const char *arg, Error **errp)
{
    g_autoptr(json_object) v = NULL;

    if (!options_merge(&v, arg, "order", "boot options: order, strict, menu",
                       errp)) {
        return false;
    }
    json_object_object_foreach(v, key, value)
    {
        const char *text = json_object_get_string(value);
        bool on = false;

        if (g_str_equal(key, "order") && g_str_equal(text, "c")) {
            continue;
        }
        if (g_str_equal(key, "strict") || g_str_equal(key, "menu")) {
            if (!qemu_parse_bool(key, text, &on, errp)) {
                return false;
            }
            if (!on || g_str_equal(key, "strict")) {
                continue;
            }
        }
        error_setg(errp,
                   "'%s=%s' is not supported: -kernel is booted, or the first "
                   "disk (c)",
                   key, text);
        return false;
    }
    return true;
}

static bool parse_rtc(Options *o, const char *arg, Error **errp)
{
    g_autoptr(json_object) v = NULL;
    const char *base = NULL, *clock = NULL;

    if (!options_merge(&v, arg, NULL, "rtc options: base, clock, driftfix",
                       errp)) {
        return false;
    }
    json_object_object_foreach(v, key, value)
    {
        const char *text = json_object_get_string(value);

        if (g_str_equal(key, "base")) {
            base = text;
        } else if (g_str_equal(key, "clock")) {
            clock = text;
        } else if (!g_str_equal(key, "driftfix") ||
                   !g_str_equal(text, "none")) {
            error_setg(errp, "'%s=%s' is not supported", key, text);
            return false;
        }
    }
    if (!target_desc.configure_rtc) {
        error_setg(errp, "no machine has a real-time clock");
        return false;
    }
    return target_desc.configure_rtc(base, clock, errp);
}

const CmdOption opts_device[] = {
    { "device", "TYPE[,id=ID][,PROP=VALUE...]|JSON",
      "make a device ('help' lists the types, 'TYPE,help' its properties)",
      parse_device },
    { "drive",
      "file=FILE[,format=raw][,if=ide|none][,id=ID][,media=disk]"
      "[,readonly=on|off][,index=N]",
      "an image of a disk, of which the first sector is booted", parse_drive,
      true },
    { "hda", "FILE", "the same as -drive file=FILE,index=0", parse_hda },
    { "bios", "FILE", "firmware to run instead of booting by the machine",
      parse_bios },
    { "boot", "[order=c][,strict=on|off][,menu=off]",
      "what is booted: there is no other order than this", parse_boot, true },
    { "rtc", "[base=utc|localtime|DATE][,clock=host|rt|vm][,driftfix=none]",
      "what the real-time clock shows and which clock drives it", parse_rtc,
      true },
    { NULL },
};
