/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of a switchover share; its steps are told in switchover.c.
 *
 * Threads: the migration thread. Used by: switchover.c, switchover-try.c.
 */
#ifndef MIGRATION_SWITCHOVER_H
#define MIGRATION_SWITCHOVER_H

#include "source.h"

/*
 * switchover_try_pages: step 2, with the guest stopped since @begin_ns
 *
 * @t: for the next lap
 *
 * SWITCHOVER_DONE: all pages are sent, or there is next to nothing to send.
 * Takes the BQL to call off.
 */
SwitchoverResult switchover_try_pages(MigrationState *s, int64_t begin_ns,
                                      int64_t *t, Error **errp);

/* The guest as it was before it was stopped, or as the user wants it. BQL. */
void switchover_give_back(MigrationState *s);

/* Add the time since *@from_ns to a part of the blackout's record. */
void switchover_lap(MigrationState *s, int64_t *part, int64_t *from_ns);
void switchover_note_bytes(MigrationState *s, uint64_t *field, uint64_t bytes);

#endif /* MIGRATION_SWITCHOVER_H */
