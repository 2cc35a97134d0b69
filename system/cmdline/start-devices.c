/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Start-up: -drive and -device, and what they lead to: the machine's end. */
#include "qemu/osdep.h"

#include "cmdline.h"
#include "hw/block/drive.h"
#include "hw/boards.h"
#include "hw/device-add.h"
#include "qapi/keyval.h"

static bool add_drive(const char *arg, Error **errp)
{
    g_autoptr(json_object) v = keyval_parse(arg, NULL, NULL, errp);

    return v && drive_add(v, errp);
}

static bool add_device(const char *arg, Error **errp)
{
    bool json = *arg == '{';
    g_autoptr(json_object) v = json ? qobject_from_json(arg, errp)
                                    : keyval_parse(arg, "driver", NULL, errp);

    if (v && !json_object_is_type(v, json_type_object)) {
        error_setg(errp, "expected a JSON object");
        return false;
    }
    return v && device_add(v, !json, errp);
}

static bool for_kind(const Options *o, BackendKind kind, const char *option,
                     bool (*add)(const char *arg, Error **errp), Error **errp)
{
    ERRP_GUARD();

    for (guint i = 0; i < o->backends->len; i++) {
        const Backend *b = o->backends->pdata[i];

        if (b->kind == kind && !add(b->arg, errp)) {
            error_prepend(errp, "%s %s: ", option, b->arg);
            return false;
        }
    }
    return true;
}

bool start_drives(const Options *o, Error **errp)
{
    return for_kind(o, BACKEND_DRIVE, "-drive", add_drive, errp);
}

bool start_devices(const Options *o, Error **errp)
{
    MachineState *ms = current_machine();
    MachineClass *mc = MACHINE_GET_CLASS(ms);

    return for_kind(o, BACKEND_DEVICE, "-device", add_device, errp) &&
           drives_make_disks(mc->has_ide, errp) &&
           (!mc->devices_done || mc->devices_done(ms, errp));
}

/* -device help and -device TYPE,help: no machine is needed. */
void start_devices_help(const Options *o)
{
    for (guint i = 0; i < o->backends->len; i++) {
        const Backend *b = o->backends->pdata[i];
        g_autoptr(json_object) v = NULL;
        json_object *driver;
        Error *err = NULL;
        bool help = false;

        if (b->kind != BACKEND_DEVICE || *b->arg == '{') {
            continue;
        }
        v = keyval_parse(b->arg, "driver", &help, NULL);
        if (!v || !help) {
            continue;
        }
        driver = json_object_object_get(v, "driver");
        if (!driver) {
            g_autofree char *types = device_list_types();

            fputs(types, stdout);
        } else if (!device_print_properties(json_object_get_string(driver),
                                            &err)) {
            error_reportf_err(err, "-device %s: ", b->arg);
            exit(1);
        }
        exit(0);
    }
}
