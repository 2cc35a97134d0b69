/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration: moving the guest to another process. What start-up needs.
 *
 * All else is driven by the commands of qapi/migration.json and their human
 * forms in the tables below.
 *
 * Threads: main thread under the BQL.
 * Used by: system/main.c, system/cmdline/. Uses: monitor-sink.
 */
#ifndef MIGRATION_MIGRATION_H
#define MIGRATION_MIGRATION_H

#include "qemu/error.h"
#include "qemu/monitor-sink.h"

/* The QOM type "migration" (-global migration.NAME=VALUE). */
void migration_register_types(void);

/**
 * migration_init: make this process able to migrate
 *
 * Call after the machine and its devices were made (the run state's section
 * comes after theirs) and before migration_incoming_start() or any command.
 * Fails if -global names a property that does not exist.
 */
bool migration_init(Error **errp);

/**
 * migration_incoming_start: -incoming @uri
 *
 * @uri: where to wait for the source, or "defer": migrate-incoming will tell.
 *       The run state must be inmigrate.
 *
 * A failed migration ends the process with status 1.
 */
bool migration_incoming_start(const char *uri, Error **errp);

/* migrate, migrate_cancel, ...; info migrate, ... Ended by name NULL. */
extern const HMPCommand hmp_migration_commands[];
extern const HMPCommand hmp_migration_info_commands[];

#endif /* MIGRATION_MIGRATION_H */
