/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Choice of a dirty tracker: what the user asked for, what the accelerator
 * has, and what became of it.
 *
 * An accelerator lists its trackers (AccelClass.trackers, best first) and has
 * the properties of DEFINE_DIRTY_TRACKING_PROPS. When it is ready, before the
 * first vCPU, the choice is made:
 *
 *   dirty-tracking   dirty-ring-size   choice
 *   absent           absent or 0       auto
 *   absent           N                 ring, of N entries
 *   auto             any               auto; rings have N entries, or none if 0
 *   another          absent or 0       that
 *   ring             absent            ring, of DIRTY_RING_DEFAULT_ENTRIES
 *   ring             N                 ring, of N entries
 *   another          N                 an error: they contradict each other
 *   ring             0                 likewise
 *
 * auto begins with the first tracker that is possible; a migration may then
 * change it (dirty-auto.h), and the next one goes on with that. Whoever chooses
 * auto later goes on with what there is. The choice can change while nobody
 * tracks, also under a running guest.
 *
 * Used by: accelerators, migration. Uses: dirty-tracker.h, dirty-ring.h.
 */
#ifndef SYSTEM_DIRTY_CHOICE_H
#define SYSTEM_DIRTY_CHOICE_H

#include "qapi/qapi-types-dirty-tracking.h"
#include "qom/object.h"
#include "system/dirty-ring.h"
#include "system/dirty-tracker.h"

/* As large as possible: a larger ring costs the guest fewer faults. */
#define DIRTY_RING_DEFAULT_ENTRIES DIRTY_RING_MAX_ENTRIES

/* As the user gave them; part of AccelState. */
typedef struct DirtyTrackingOptions {
    bool has_mode, has_ring_entries;
    DirtyTrackingMode mode;
    uint64_t ring_entries;
} DirtyTrackingOptions;

/* Two entries of an accelerator's property table. */
json_object *dirty_tracking_get_mode(Object *obj, const Property *prop,
                                     Error **errp);
bool dirty_tracking_set_mode(Object *obj, const Property *prop,
                             json_object *value, Error **errp);
json_object *dirty_tracking_get_ring_size(Object *obj, const Property *prop,
                                          Error **errp);
bool dirty_tracking_set_ring_size(Object *obj, const Property *prop,
                                  json_object *value, Error **errp);
#define DEFINE_DIRTY_TRACKING_PROPS()                                       \
    DEFINE_PROP_FN("dirty-tracking", &qapi_DirtyTrackingMode_type,          \
                   dirty_tracking_get_mode, dirty_tracking_set_mode,        \
                   .help = "how to find out which pages the guest writes"), \
        DEFINE_PROP_FN(                                                     \
            "dirty-ring-size", &qapi_uint64_type,                           \
            dirty_tracking_get_ring_size, dirty_tracking_set_ring_size,     \
            .help = "entries of each vCPU's ring of written pages; "        \
                    "0: no rings")

/**
 * dirty_tracking_init: choose for an accelerator that is about to be used
 *
 * @accel: its name, kept
 * @trackers: best first, NULL-terminated; NULL: it executes nothing
 *
 * BQL, main thread.
 */
bool dirty_tracking_init(const char *accel,
                         const DirtyTrackerOps *const *trackers,
                         const DirtyTrackingOptions *opts, Error **errp);

/**
 * dirty_tracking_mend: if the tracker in use has missed writes, go on with
 * another
 *
 * With `bitmap`, which becomes the choice unless that is auto. As all pages
 * count as written once more, nothing is lost. Does nothing if none was missed.
 * Fails with the reason where it can't be done, as while others than @users
 * track. BQL, given up meanwhile; not in a vCPU's thread.
 */
bool dirty_tracking_mend(unsigned users, Error **errp);

/**
 * dirty_tracking_choose: change the choice
 *
 * Fails, naming the users, while somebody tracks; fails with the reason if
 * @mode is not possible, and the choice is as before. BQL.
 */
bool dirty_tracking_choose(DirtyTrackingMode mode, Error **errp);
/* Whether @mode could be chosen if nobody tracked; else why not. BQL. */
bool dirty_tracking_is_possible(DirtyTrackingMode mode, Error **errp);
/* What was asked for last. BQL. */
DirtyTrackingMode dirty_tracking_mode(void);

/* The accelerator's tracker of that name; NULL: it has none. Any thread. */
const DirtyTrackerOps *dirty_tracking_find(DirtyTrackingMode mode);

/* Every engine, and why it can't be had if so. BQL. Caller frees. */
DirtyTrackingEngineList *dirty_tracking_engines(void);

/*
 * Entries of rings, from the next start of tracking on; 0: none. Checked by
 * who sets it. BQL, while nobody tracks.
 */
uint32_t dirty_tracking_ring_entries(void);
void dirty_tracking_set_ring_entries(uint32_t entries);

#endif /* SYSTEM_DIRTY_CHOICE_H */
