/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BQL channel: a channel that never waits for its peer under the big lock.
 *
 * Device sections are loaded under the BQL and straight from the channel,
 * whose next byte may be late. This channel stands before the real one and
 * gives the BQL up for the time of each read. Between two reads of one
 * section others may thus hold the lock, as they may between two sections:
 * the guest stands still and no device comes or goes meanwhile.
 *
 * Used by: incoming.c. Uses: io, main-loop.
 */
#ifndef MIGRATION_BQL_CHANNEL_H
#define MIGRATION_BQL_CHANNEL_H

#include "io/channel.h"

/* Takes a reference to @below. */
QIOChannel *bql_channel_new(QIOChannel *below);

#endif /* MIGRATION_BQL_CHANNEL_H */
