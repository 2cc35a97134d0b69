/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Choice of a dirty tracker: see include/system/dirty-choice.h. */
#include "qemu/osdep.h"

#include <json-c/json.h>

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/accel.h"
#include "system/dirty-choice.h"
#include "system/dirty-memory.h"

/* One per process, like the accelerator. Guarded by the BQL. */
static struct {
    const char *accel;
    const DirtyTrackerOps *const *trackers; /* NULL: none */
    DirtyTrackingMode mode;
    uint32_t ring_entries;
} choice = {
    .ring_entries = DIRTY_RING_DEFAULT_ENTRIES,
};

uint32_t dirty_tracking_ring_entries(void)
{
    return choice.ring_entries;
}

void dirty_tracking_set_ring_entries(uint32_t entries)
{
    assert(!memory_global_dirty_log_users());
    choice.ring_entries = entries;
}

DirtyTrackingMode dirty_tracking_mode(void)
{
    return choice.mode;
}

/* ---- properties ---- */

json_object *dirty_tracking_get_mode(Object *obj, const Property *prop,
                                     Error **errp)
{
    const DirtyTrackingOptions *opts = &ACCEL(obj)->dirty_tracking;

    return json_object_new_string(DirtyTrackingMode_str(opts->mode));
}

bool dirty_tracking_set_mode(Object *obj, const Property *prop,
                             json_object *value, Error **errp)
{
    DirtyTrackingOptions *opts = &ACCEL(obj)->dirty_tracking;

    opts->has_mode = true;
    opts->mode = qapi_enum_parse(&DirtyTrackingMode_lookup,
                                 json_object_get_string(value), 0,
                                 &error_abort);
    return true;
}

json_object *dirty_tracking_get_ring_size(Object *obj, const Property *prop,
                                          Error **errp)
{
    return json_object_new_uint64(ACCEL(obj)->dirty_tracking.ring_entries);
}

bool dirty_tracking_set_ring_size(Object *obj, const Property *prop,
                                  json_object *value, Error **errp)
{
    DirtyTrackingOptions *opts = &ACCEL(obj)->dirty_tracking;
    uint64_t entries = json_object_get_uint64(value);

    if (!dirty_ring_check_entries(entries, errp)) {
        return false;
    }
    opts->has_ring_entries = true;
    opts->ring_entries = entries;
    return true;
}

/* ---- choosing ---- */

const DirtyTrackerOps *dirty_tracking_find(DirtyTrackingMode mode)
{
    for (unsigned i = 0; choice.trackers && choice.trackers[i]; i++) {
        if (g_str_equal(choice.trackers[i]->name,
                        DirtyTrackingMode_str(mode))) {
            return choice.trackers[i];
        }
    }
    return NULL;
}

/* "auto, bitmap, ring": what may be asked for. */
static char *names_of_trackers(void)
{
    GString *s = g_string_new("auto");

    for (unsigned i = 0; choice.trackers && choice.trackers[i]; i++) {
        g_string_append_printf(s, ", %s", choice.trackers[i]->name);
    }
    return g_string_free(s, FALSE);
}

static bool select_auto(Error **errp)
{
    const DirtyTrackerOps *const *ops = choice.trackers;

    if (!ops || !*ops) {
        /* Nothing executes, so there is nothing to miss. */
        return dirty_tracker_select(&dirty_tracker_null, errp);
    }
    if (dirty_log_all_users()) {
        return true;
    }
    while (ops[1] && !(*ops)->probe(NULL)) {
        ops++;
    }
    return dirty_tracker_change(*ops, errp);
}

static void error_set_unknown(DirtyTrackingMode mode, Error **errp)
{
    g_autofree char *names = names_of_trackers();

    error_setg(errp,
               "dirty-tracking '%s' is not possible with accelerator '%s'; it "
               "can be: %s",
               DirtyTrackingMode_str(mode),
               choice.accel ? choice.accel : "none", names);
}

/* One that was asked for by name. */
static bool select_named(DirtyTrackingMode mode, Error **errp)
{
    const DirtyTrackerOps *ops = dirty_tracking_find(mode);

    if (!ops) {
        error_set_unknown(mode, errp);
        return false;
    }
    return dirty_tracker_change(ops, errp);
}

bool dirty_tracking_is_possible(DirtyTrackingMode mode, Error **errp)
{
    ERRP_GUARD();
    const DirtyTrackerOps *ops = dirty_tracking_find(mode);

    if (mode == DIRTY_TRACKING_MODE_AUTO) {
        return true;
    }
    if (!ops) {
        error_set_unknown(mode, errp);
        return false;
    }
    if (!ops->probe(errp)) {
        error_prepend(errp, "dirty tracking '%s' is not possible: ", ops->name);
        return false;
    }
    return true;
}

static bool choose(DirtyTrackingMode mode, bool keep, Error **errp)
{
    if (mode != DIRTY_TRACKING_MODE_AUTO) {
        if (!select_named(mode, errp)) {
            return false;
        }
    } else if (!keep && !select_auto(errp)) {
        return false;
    }
    choice.mode = mode;
    return true;
}

/* One of the accelerator's, which is possible as it is in use. */
static bool has_choice(void)
{
    const DirtyTrackerOps *const *ops = choice.trackers;

    while (ops && *ops && *ops != dirty_tracker_active()) {
        ops++;
    }
    return ops && *ops;
}

bool dirty_tracking_choose(DirtyTrackingMode mode, Error **errp)
{
    assert(bql_locked());
    return choose(mode, has_choice(), errp);
}

bool dirty_tracking_mend(unsigned users, Error **errp)
{
    const DirtyTrackerOps *ops = dirty_tracking_find(
        DIRTY_TRACKING_MODE_BITMAP);
    g_autoptr(Error) missed = NULL, err = NULL;

    assert(bql_locked());
    if (dirty_tracker_intact(&missed)) {
        return true;
    }
    if (!ops) {
        error_setg(&err, "accelerator '%s' does not have it", choice.accel);
    }
    if (!ops || !memory_global_dirty_log_switch(ops, users, &err)) {
        error_setg(errp, "%s (going on with 'bitmap' is not possible: %s)",
                   error_get_pretty(missed), error_get_pretty(err));
        return false;
    }
    warn_report("%s: dirty tracking goes on with '%s', and all pages count as "
                "written",
                error_get_pretty(missed), ops->name);
    if (choice.mode != DIRTY_TRACKING_MODE_AUTO) {
        choice.mode = DIRTY_TRACKING_MODE_BITMAP;
    }
    return true;
}

static char *reason_against(DirtyTrackingMode mode)
{
    const DirtyTrackerOps *ops = dirty_tracking_find(mode);
    g_autoptr(Error) err = NULL;

    if (!ops) {
        return g_strdup_printf(choice.trackers
                                   ? "accelerator '%s' does not have it"
                                   : "accelerator '%s' executes no guest code",
                               choice.accel ? choice.accel : "none");
    }
    return ops->probe(&err) ? NULL : g_strdup(error_get_pretty(err));
}

DirtyTrackingEngineList *dirty_tracking_engines(void)
{
    DirtyTrackingEngineList *list = NULL, **tail = &list;

    for (int i = 0; i < DIRTY_TRACKING_MODE__MAX; i++) {
        DirtyTrackingEngine *engine;

        if (i == DIRTY_TRACKING_MODE_AUTO) {
            continue;
        }
        engine = g_new0(DirtyTrackingEngine, 1);
        engine->name = i;
        engine->reason = reason_against(i);
        engine->available = !engine->reason;
        QAPI_LIST_APPEND(tail, engine);
    }
    return list;
}

/* The table of the header. */
static bool resolve(const DirtyTrackingOptions *opts, DirtyTrackingMode *mode,
                    Error **errp)
{
    bool size = opts->has_ring_entries && opts->ring_entries;

    *mode = opts->has_mode ? opts->mode
            : size         ? DIRTY_TRACKING_MODE_RING
                           : DIRTY_TRACKING_MODE_AUTO;
    if (opts->has_mode && opts->mode != DIRTY_TRACKING_MODE_AUTO &&
        opts->mode != DIRTY_TRACKING_MODE_RING && size) {
        error_setg(errp,
                   "dirty-ring-size=%" PRIu64 " contradicts "
                   "dirty-tracking=%s: use dirty-tracking=ring or =auto, "
                   "or dirty-ring-size=0",
                   opts->ring_entries, DirtyTrackingMode_str(opts->mode));
        return false;
    }
    if (*mode == DIRTY_TRACKING_MODE_RING && opts->has_ring_entries && !size) {
        error_setg(errp,
                   "dirty-ring-size=0 contradicts dirty-tracking=ring: use a "
                   "power of two from %u to %u, or dirty-tracking=bitmap or "
                   "=auto",
                   DIRTY_RING_MIN_ENTRIES, DIRTY_RING_MAX_ENTRIES);
        return false;
    }
    return true;
}

bool dirty_tracking_init(const char *accel,
                         const DirtyTrackerOps *const *trackers,
                         const DirtyTrackingOptions *opts, Error **errp)
{
    DirtyTrackingMode mode;

    choice.accel = accel;
    choice.trackers = trackers;
    if (!resolve(opts, &mode, errp)) {
        return false;
    }
    if (opts->has_ring_entries) {
        dirty_tracking_set_ring_entries(opts->ring_entries);
    }
    return choose(mode, false, errp);
}
