/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accelerators: see include/system/accel.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "system/accel.h"

static AccelState *the_accel; /* one per process, chosen at start */

AccelClass *accel_find(const char *name)
{
    g_autofree char *type = g_strconcat(name, ACCEL_CLASS_SUFFIX, NULL);
    ObjectClass *oc = object_class_by_name(type);

    if (!oc || !object_class_dynamic_cast(oc, TYPE_ACCEL) ||
        object_class_is_abstract(oc)) {
        return NULL;
    }
    return ACCEL_CLASS(oc);
}

AccelState *current_accel(void)
{
    return the_accel;
}

const char *current_accel_name(void)
{
    return the_accel ? ACCEL_GET_CLASS(the_accel)->name : "none";
}

static void error_set_unknown(const char *name, Error **errp)
{
#if defined(__x86_64__)
    const char *host = "x86_64";
#elif defined(__aarch64__)
    const char *host = "aarch64";
#else
    const char *host = "no";
#endif

    if (g_str_equal(name, "kvm")) {
        error_setg(errp, "kvm runs %s guests on this host", host);
    } else {
        error_setg(errp, "invalid accelerator %s%s", name,
                   g_str_equal(name, "tcg")
                       ? " (this binary has no software engine)"
                       : "");
    }
}

bool accel_try(const char *name, json_object *props, MachineState *ms,
               Error **errp)
{
    AccelClass *ac = accel_find(name);
    g_autoptr(Object) obj = NULL;

    if (!ac) {
        error_set_unknown(name, errp);
        return false;
    }
    obj = object_new(object_class_get_name(OBJECT_CLASS(ac)));
    if (!object_apply_globals(obj, errp) ||
        (props && !object_set_properties(obj, props, true, errp))) {
        return false;
    }
    if (ac->init_machine && !ac->init_machine(ACCEL(obj), ms, errp)) {
        return false;
    }
    if (!dirty_tracking_init(ac->name, ac->trackers,
                             &ACCEL(obj)->dirty_tracking, errp)) {
        return false;
    }
    the_accel = ACCEL(object_ref(obj));
    object_freeze(obj);
    accel_ops_set(ac->ops);
    return true;
}

static const TypeInfo accel_type_info = {
    .name = TYPE_ACCEL,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(AccelState),
    .class_size = sizeof(AccelClass),
    .abstract = true,
};

void accel_register_types(void)
{
    type_register_static(&accel_type_info);
}
