/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters of throttling: their ranges, defaults, and values in force.
 *
 * Threads: any may read; setting needs the BQL.
 *
 * Used by: options.c (all), migration/ (the values). Uses: qapi.
 */
#ifndef MIGRATION_OPTIONS_THROTTLE_H
#define MIGRATION_OPTIONS_THROTTLE_H

#include "qapi/qapi-types-migration.h"

typedef enum ThrottleOption {
    THROTTLE_OPTION_TRIGGER,   /* percent of what is sent */
    THROTTLE_OPTION_INITIAL,   /* percent */
    THROTTLE_OPTION_INCREMENT, /* percent */
    THROTTLE_OPTION_MAX,       /* percent */
    THROTTLE_OPTION_TAILSLOW,  /* bool */
    THROTTLE_OPTION_LIMIT,     /* MiB per second and vCPU */
    THROTTLE_OPTION_PERIOD,    /* ms between two looks at the limit */
    THROTTLE_OPTION__MAX
} ThrottleOption;

uint64_t migrate_throttle_option(ThrottleOption option);

/* Whether @p's values are in range. Changes nothing. */
bool throttle_options_check(const MigrationParameters *p, Error **errp);
/* Take over what @p has; it was checked. */
void throttle_options_set(const MigrationParameters *p);
/* Fill @p with the values in force. */
void throttle_options_get(MigrationParameters *p);
/* One value, by its name as a property (x-...) or parameter. */
bool throttle_option_check_value(const char *name, uint64_t value,
                                 Error **errp);
/* The values in force at start. */
void throttle_options_init(const uint64_t values[THROTTLE_OPTION__MAX]);

#endif /* MIGRATION_OPTIONS_THROTTLE_H */
