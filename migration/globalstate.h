/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Global state: the run state the guest had before the migration stopped it,
 * as the section `globalstate` carries it to the target.
 *
 * Payload: u32 length of the name with its NUL, 32 bytes name, u8 1, u8 "was
 * suspended", 66 bytes unused.
 *
 * Threads: BQL. Used by: thread.c, incoming.c. Uses: vmstate, runstate.
 */
#ifndef MIGRATION_GLOBALSTATE_H
#define MIGRATION_GLOBALSTATE_H

#include "system/runstate.h"

void global_state_register(void);
/* Note @state as the one to send. */
void global_state_store(RunState state);
/* Forget what was received. */
void global_state_reset(void);
/* Whether a stream brought one, and which. */
bool global_state_received(RunState *state);

#endif /* MIGRATION_GLOBALSTATE_H */
