/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration, target side: wait for a source, load what it sends, go on.
 *
 *   main thread, BQL                    incoming thread
 *   ----------------                    ---------------
 *   listen; state setup
 *   connection: state active       ->   header ... EOF (loadvm.c)
 *   (answers monitors and qtest)        BQL: run state, vm_start
 *                                       SHUT; state completed or failed
 *   exit with 1 if it failed        <-
 *
 * Threads: see the picture. Used by: migration.c, info.c.
 */
#ifndef MIGRATION_INCOMING_H
#define MIGRATION_INCOMING_H

#include "loadvm.h"
#include "qemu/thread.h"
#include "state.h"
#include "transport.h"

/* What restoring took; -1: not known (yet). */
typedef struct IncomingTimes {
    int64_t load_ns;    /* first byte to EOF */
    int64_t devices_ns; /* of it: device sections */
    int64_t start_ns;   /* EOF until the guest may run */
} IncomingTimes;

typedef struct MigrationIncomingState {
    MigrationStateVar state; /* any thread */

    /* Main thread, BQL. */
    bool deferred; /* migrate-incoming may be used */
    bool exit_on_error;
    MigrationListener *listener;
    SocketAddressList *addresses; /* what it is or was bound to */
    bool thread_exists;
    QemuThread thread;

    /* Guarded by lock. */
    QemuMutex lock;
    QIOChannel *ioc; /* to shut down; NULL: none */
    char *error_text;
    IncomingTimes times;

    /* Incoming thread. */
    LoadVM lv;
} MigrationIncomingState;

MigrationIncomingState *migration_incoming_get_current(void);

#endif /* MIGRATION_INCOMING_H */
