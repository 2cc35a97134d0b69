/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tests of migrations of running guests have in common.
 *
 * Used by: tests/migration. Uses: framework.h.
 */
#ifndef TESTS_MIGRATION_GUEST_FIXTURE_H
#define TESTS_MIGRATION_GUEST_FIXTURE_H

#include "framework.h"

extern const char *const caps_return_path[];

/* Two vCPUs that write 4,096 pages in random order, over and over. */
#define TWO_WRITERS                                             \
    .guest = "workload", .guest_args = "ws=16 cpus=2 bytes=64", \
    .guest_cpus = 2, .ram_mib = 64

/* So that it does not end before let_it_go(). */
#define HELD_BACK "'max-bandwidth':50000000,'downtime-limit':0"

/* Nothing is in the way of its end any more. */
void let_it_go(MigrationPair *p);

/* query-dirty-tracking of the source. */
json_object *query_tracking(MigrationPair *p);

/* After three passes: it is @engine, and for the migration. */
json_object *tracking_in_pass_3(MigrationPair *p, const char *engine);

#endif /* TESTS_MIGRATION_GUEST_FIXTURE_H */
