/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CONFIGURATION section: what both sides must have in common.
 *
 * Written as a vmstate table, with subsections for what is not the default
 * (bytes: stream-format.h).
 *
 * Threads: the migration / incoming thread. Used by: savevm-stream.c,
 * loadvm.c. Uses: vmstate, system (machine-info).
 */
#ifndef MIGRATION_CONFIG_H
#define MIGRATION_CONFIG_H

#include "vmstate/vmstate.h"

/* Payload after the byte 0x07; @vmdesc: inside an object. */
bool migration_config_save(QEMUFile *f, JSONWriter *vmdesc, Error **errp);
/* Payload after the byte 0x07; fails if it does not fit this machine. */
bool migration_config_load(QEMUFile *f, Error **errp);

#endif /* MIGRATION_CONFIG_H */
