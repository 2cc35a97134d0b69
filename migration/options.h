/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration options: capabilities, parameters and properties of this process.
 *
 * Capabilities are switches that hold for a whole migration and can be set
 * only while none is under way; parameters are numbers that can be set at any
 * time and act at once; properties (-global migration.NAME=VALUE) are set at
 * start. One table each (options.c); what is not in the schema does not exist.
 *
 * Threads: any may read; setting needs the BQL.
 *
 * Used by: migration/. Uses: qapi, qom.
 */
#ifndef MIGRATION_OPTIONS_H
#define MIGRATION_OPTIONS_H

#include "qapi/qapi-types-migration.h"

bool migration_cap(MigrationCapability cap);
/* One name for each that the code asks for. */
#define migrate_events()      migration_cap(MIGRATION_CAPABILITY_EVENTS)
#define migrate_return_path() migration_cap(MIGRATION_CAPABILITY_RETURN_PATH)
#define migrate_pause_before_switchover() \
    migration_cap(MIGRATION_CAPABILITY_PAUSE_BEFORE_SWITCHOVER)
#define migrate_validate_uuid() \
    migration_cap(MIGRATION_CAPABILITY_VALIDATE_UUID)
#define migrate_ignore_shared() \
    migration_cap(MIGRATION_CAPABILITY_X_IGNORE_SHARED)
#define migrate_auto_converge() \
    migration_cap(MIGRATION_CAPABILITY_AUTO_CONVERGE)
#define migrate_dirty_limit() migration_cap(MIGRATION_CAPABILITY_DIRTY_LIMIT)
#define migrate_omit_holes()  migration_cap(MIGRATION_CAPABILITY_X_OMIT_HOLES)

/* Whether both sides of a stream must agree on it (CONFIGURATION section). */
bool migration_cap_is_validated(MigrationCapability cap);

uint64_t migrate_max_bandwidth(void);              /* bytes/s, 0 = no limit */
uint64_t migrate_avail_switchover_bandwidth(void); /* bytes/s, 0 = unknown */
uint64_t migrate_downtime_limit_ms(void);
int64_t migrate_downtime_limit_ns(void); /* the same */
bool migrate_detect_zero_pages(void);
/* What the above returns, to be looked at page by page. */
_Atomic bool *migrate_detect_zero_pages_flag(void);

bool migrate_send_configuration(void);
bool migrate_send_section_footer(void);
bool migrate_send_switchover_start(void);
bool migrate_store_global_state(void);
unsigned migrate_clear_bitmap_shift(void);
/* False: nobody said how; as it is. BQL. */
bool migrate_dirty_tracking(DirtyTrackingMode *mode);
/* For tests: mode auto changes the dirty tracker after each round. */
bool migrate_change_tracking(void);
/* For benchmarks: a sync takes and cleans page by page. */
bool migrate_sync_by_page(void);

/* The QOM type "migration", whose properties are what -global can set. */
void migration_options_register_type(void);
/* Make the object of that type, and take what -global says. Once, BQL. */
bool migration_options_init(Error **errp);

/* "max-bandwidth: 134217728 bytes/second" ..., for HMP. */
void migration_parameters_print(GString *out);
/* HMP's migrate_set_parameter: with its units (bandwidths in MiB). */
bool migration_parameter_set_str(const char *name, const char *value,
                                 Error **errp);
/* @fn for the name of each parameter; or, with @name, for each word that its
 * value may be, if it is one of some words. */
void migration_parameter_foreach(const char *name,
                                 void (*fn)(const char *word, void *opaque),
                                 void *opaque);
bool migration_capability_set(MigrationCapability cap, bool on, Error **errp);

/* What migration.c has to say about changes. Both required; BQL. */
typedef struct MigrationOptionsHooks {
    bool (*may_set_capabilities)(Error **errp);
    void (*changed)(void); /* parameters were */
} MigrationOptionsHooks;
void migration_options_set_hooks(const MigrationOptionsHooks *hooks);

#endif /* MIGRATION_OPTIONS_H */
