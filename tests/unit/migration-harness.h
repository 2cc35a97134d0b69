/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process with a little memory and no machine, of which migrations are begun
 * from within, and whose transport is this: a connect hands out the channel
 * that the test wants.
 *
 * Threads: the test's main thread, with the BQL, unless said.
 */
#ifndef TESTS_UNIT_MIGRATION_HARNESS_H
#define TESTS_UNIT_MIGRATION_HARNESS_H

#include "io/channel.h"
#include "qapi/qapi-types-migration.h"
#include "transport.h"

#define RAM_BYTES (4 * 1024 * 1024)

/* What the next connect does. */
extern struct FakeTransport {
    QIOChannel *channel; /* what it hands out; NULL: an error */
    bool never;          /* ... or nothing, for ever */
    MigrationConnect *pending;
} fake;

/* The memory: one block, "ram". */
extern struct HarnessRam {
    RAMBlock *rb;
    uint8_t *host;
} t;

void set_up(void); /* once; the guest, which has no vCPUs, runs */

void go(void); /* migrate */
MigrationStatus status_now(void);
/* Turn the main loop until the migration is in @want, or has ended. */
MigrationStatus run_until(MigrationStatus want);
MigrationStatus run_to_end(void);
/* After a migration that completed: as if the user wanted it back. */
void revive(void);

void guest_writes_all(void); /* any thread */
void set_return_path(bool on);
/* @promised: bytes a second in the pause; 0: to be found out */
void set_limits(uint64_t bandwidth, uint64_t promised, uint64_t downtime_ms);

/* ---- the other end of a socket; its thread ---- */
/* One message of the return path. */
void target_says(int fd, uint16_t type, uint32_t value);

#endif /* TESTS_UNIT_MIGRATION_HARNESS_H */
