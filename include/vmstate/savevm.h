/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Section registry: everything of this VM that has a section in the stream.
 *
 * Two kinds of section. A device is a table (vmstate.h), saved whole once the
 * VM is stopped (FULL). A live handler (RAM) is a set of functions and sends
 * in pieces while the VM runs (START, PART..., END).
 *
 * Order: by falling priority, then as registered. Every registration takes
 * the next section id, also those that never appear in a stream. The pair of
 * idstr and instance id is unique.
 *
 * Threads: register and unregister in the main thread under the BQL, and not
 * while a migration is under way in either direction (device plug is refused
 * then); the migration thread walks the list without the BQL.
 *
 * Used by: hw/, target/, system/ (register), migration/ (walk).
 * Uses: vmstate.h.
 */
#ifndef VMSTATE_SAVEVM_H
#define VMSTATE_SAVEVM_H

#include "vmstate/vmstate.h"

#define VMSTATE_INSTANCE_ID_ANY (-1)

/*
 * A live handler. Hooks marked R are required for one that is live (has
 * save_live_iterate); others may be NULL. All run in the migration thread
 * (load_*: the incoming thread) without the BQL unless said otherwise. A false
 * return needs an Error.
 */
typedef struct SaveVMHandlers {
    /* Takes part in this migration at all? NULL = yes. */
    bool (*is_active)(void *opaque);
    /* Before START is written: allocate, start dirty logging. */
    bool (*save_prepare)(void *opaque, Error **errp);
    /* Payload of START. */
    bool (*save_setup)(QEMUFile *f, void *opaque, Error **errp); /* R */
    /*
     * Payload of one PART. Returns 1 when it has nothing more for now, 0 when
     * it stopped for the budget, -1 with an Error.
     */
    int (*save_live_iterate)(QEMUFile *f, void *opaque, Error **errp); /* R */
    /*
     * Bytes left: that must go before the switchover / may follow it. The
     * estimate is cheap; exact collects the dirty state of now.
     */
    void (*state_pending_estimate)(void *opaque, uint64_t *must_precopy,
                                   uint64_t *can_postcopy);
    bool (*state_pending_exact)(void *opaque, uint64_t *must_precopy,
                                uint64_t *can_postcopy, Error **errp);
    /* VM is stopped: payload of END. */
    bool (*save_live_complete_precopy)(QEMUFile *f, void *opaque,
                                       Error **errp); /* R */
    /* The end, good or bad, also if save_setup was never reached. BQL held. */
    void (*save_cleanup)(void *opaque);

    /* A non-live section without a table: payload of FULL, under the BQL. */
    bool (*save_state)(QEMUFile *f, void *opaque, Error **errp);

    bool (*load_setup)(QEMUFile *f, void *opaque, Error **errp);
    /* Payload of any of its sections: reads exactly that. */
    bool (*load_state)(QEMUFile *f, void *opaque, int version_id,
                       Error **errp); /* R */
    void (*load_cleanup)(void *opaque);
} SaveVMHandlers;

typedef struct SaveStateEntry {
    /* Constant after registration. */
    char *idstr; /* at most 255 bytes */
    uint32_t instance_id;
    int version_id;
    uint32_t section_id;
    MigrationPriority priority;
    const VMStateDescription *vmsd; /* NULL: ops */
    const SaveVMHandlers *ops;      /* NULL: vmsd */
    void *opaque;

    /* Owned by who loads; reset by savevm_load_reset(). */
    uint32_t load_section_id;
    int load_version_id;
    bool load_started; /* the two above are valid */
    bool load_seen;    /* it came, whether it has ended or not */

    /* Registry only. */
    struct SaveStateEntry *next;
} SaveStateEntry;

/**
 * vmstate_register: give @opaque a FULL section made from @vmsd
 *
 * @id_prefix: NULL, or a bus device's path: idstr is "PREFIX/VMSD"
 * @instance_id: or VMSTATE_INSTANCE_ID_ANY: one more than the largest in use
 *     for this idstr, 0 for the first
 *
 * Returns false with an Error if the pair is taken or the name too long.
 */
bool vmstate_register(const char *id_prefix, int64_t instance_id,
                      const VMStateDescription *vmsd, void *opaque,
                      Error **errp);
/* Removes what was registered with both; nothing if it was not. */
void vmstate_unregister(const VMStateDescription *vmsd, void *opaque);

bool register_savevm_live(const char *idstr, int64_t instance_id,
                          int version_id, const SaveVMHandlers *ops,
                          void *opaque, Error **errp);
void unregister_savevm(const char *idstr, void *opaque);

/* In the order of saving: for (se = savevm_first(); se; se = se->next) */
SaveStateEntry *savevm_first(void);
SaveStateEntry *savevm_find(const char *idstr, uint32_t instance_id);
/* By the id that the stream's START or FULL gave it (load_section_id). */
SaveStateEntry *savevm_find_loaded(uint32_t section_id);
void savevm_load_reset(void);

static inline bool savevm_is_live(const SaveStateEntry *se)
{
    return se->ops && se->ops->save_live_iterate;
}
/* A live handler that takes part, or a device whose section is needed. */
bool savevm_is_active(const SaveStateEntry *se);

/* The name of the first unmigratable device, or NULL. */
const char *savevm_unmigratable(void);

/**
 * savevm_save_full: write the payload of a FULL section
 *
 * @vmdesc: NULL, or inside the array "devices": gets one object
 *
 * Errors name the section and its instance.
 */
bool savevm_save_full(QEMUFile *f, SaveStateEntry *se, JSONWriter *vmdesc,
                      Error **errp);

/**
 * savevm_load_payload: read the payload of any section of @se
 *
 * @version_id: as in the header of START or FULL
 */
bool savevm_load_payload(QEMUFile *f, SaveStateEntry *se, int version_id,
                         Error **errp);

#endif /* VMSTATE_SAVEVM_H */
