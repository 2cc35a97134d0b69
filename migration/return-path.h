/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Return path: what the target says to the source (stream-format.h).
 *
 * Target: functions that send one message each.
 * Source: a thread that reads messages until SHUT, the end, or something it
 * does not know, which fails the migration.
 *
 * Used by: loadvm.c, incoming.c; thread.c. Uses: vmstate (QEMUFile).
 */
#ifndef MIGRATION_RETURN_PATH_H
#define MIGRATION_RETURN_PATH_H

#include "qemu/thread.h"
#include "stats.h"
#include "vmstate/qemu-file.h"

/* ---- target; the incoming thread ---- */
bool return_path_send_pong(QEMUFile *rp, uint32_t value, Error **errp);
/* @value: 0 = loaded well. */
bool return_path_send_shut(QEMUFile *rp, uint32_t value, Error **errp);

/* ---- source ---- */

typedef struct ReturnPath {
    /* Constant while the thread lives. */
    QEMUFile *f;
    MigrationStats *stats;
    void (*lost)(void *opaque); /* its thread: ended without a good SHUT */
    void *opaque;
    QemuThread thread;
    bool started; /* owned by who starts and joins */

    /* Set once the thread has ended: the rest is constant then. */
    QemuEvent ended;
    bool got_shut;
    uint32_t shut_value;
    Error *err; /* NULL if a SHUT came */

    /* Atomic. */
    _Atomic bool own_kind;
    _Atomic uint32_t expect_restore_us; /* as told; 0: not told */
    _Atomic bool notes_pages;           /* so pages may be left out */
    _Atomic uint32_t last_pong;
    QemuEvent pong; /* set with each PONG, and at the end */
} ReturnPath;

/* Takes over @f. */
bool return_path_start(ReturnPath *rp, QEMUFile *f, MigrationStats *stats,
                       void (*lost)(void *opaque), void *opaque, Error **errp);
/* Wait at most @ms for the thread to end; -1: for ever. True if it ended. */
bool return_path_wait(ReturnPath *rp, int ms);
/* Wait at most @ms for a PONG of @value. False if none came (yet). */
bool return_path_wait_pong(ReturnPath *rp, uint32_t value, int ms);
/* Wait at most @ms for a PONG other than @old. Returns the last; 0: none. */
uint32_t return_path_next_pong(ReturnPath *rp, uint32_t old, int ms);
/* Join and close; the channel must have been shut down or SHUT been received.
 * Does nothing if it was not started. Results stay readable. */
void return_path_stop(ReturnPath *rp);

#endif /* MIGRATION_RETURN_PATH_H */
