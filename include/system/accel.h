/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accelerators: what runs guest code. One is chosen at start and stays.
 *
 * Each is a QOM type "NAME-accel" with properties (-accel NAME,prop=val).
 * The candidates are tried in the order given; one that cannot be had is
 * reported and the next is tried.
 *
 * Used by: accel/ (to be one), system/main.c (to choose), monitors (names).
 * Uses: qom, accel-ops.h.
 */
#ifndef SYSTEM_ACCEL_H
#define SYSTEM_ACCEL_H

#include "qom/object.h"
#include "system/accel-ops.h"
#include "system/dirty-choice.h"

#define TYPE_ACCEL             "accel"
#define ACCEL_CLASS_SUFFIX     "-accel"
#define ACCEL_CLASS_NAME(name) name ACCEL_CLASS_SUFFIX

typedef struct AccelState {
    Object parent_obj;
    DirtyTrackingOptions dirty_tracking; /* constant once it is chosen */
} AccelState;

typedef struct AccelClass {
    ObjectClass parent_class;
    /* Constant, set by class_init. */
    const char *name; /* "tcg" as -accel and query-accelerators have it */
    const AccelOps *ops;
    /*
     * Get ready for @ms, before memory and vCPUs exist. Optional. False and
     * @errp: cannot be had here; the next candidate is tried.
     */
    bool (*init_machine)(AccelState *as, MachineState *ms, Error **errp);
    /* Ways to learn what the guest wrote, best first; NULL-terminated. */
    const DirtyTrackerOps *const *trackers;
} AccelClass;

OBJECT_DECLARE_TYPE(AccelState, AccelClass, ACCEL)

/* NULL: this binary has none of that name. */
AccelClass *accel_find(const char *name);
/* The chosen one; NULL before it is. */
AccelState *current_accel(void);
const char *current_accel_name(void); /* "tcg"; "none" before */

/**
 * accel_try: make an accelerator @name with @props and let it get ready
 *
 * @props: property name → value, may be NULL; not consumed
 *
 * On success it is current_accel(), its ops are accel_ops(), and the dirty
 * tracker is chosen.
 */
bool accel_try(const char *name, json_object *props, MachineState *ms,
               Error **errp);

void accel_register_types(void);

#endif /* SYSTEM_ACCEL_H */
