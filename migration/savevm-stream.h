/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing the main channel: the elements of stream-format.h.
 *
 * Functions that only put bytes return nothing: errors stick to the file, and
 * who flushes looks.
 *
 * Threads: the migration thread, without the BQL, except where said.
 * Used by: thread.c. Uses: vmstate (file, registry).
 */
#ifndef MIGRATION_SAVEVM_STREAM_H
#define MIGRATION_SAVEVM_STREAM_H

#include "vmstate/savevm.h"

void stream_put_header(QEMUFile *f);
/* The description that goes to the end of the stream; grows on the way. */
JSONWriter *stream_vmdesc_new(void);
/* CONFIGURATION, and the head of the description. */
bool stream_put_configuration(QEMUFile *f, JSONWriter *vmdesc, Error **errp);
void stream_put_command(QEMUFile *f, unsigned command, const void *data,
                        uint16_t len);
void stream_put_ping(QEMUFile *f, uint32_t value);
void stream_put_eof(QEMUFile *f);

/* START of every live handler that takes part. */
bool stream_save_setup(QEMUFile *f, Error **errp);
/*
 * One PART of every live handler. Returns 1 if none has more for now, 0 if
 * one stopped for its budget, -1 on error.
 */
int stream_save_iterate(QEMUFile *f, Error **errp);
/* END of every live handler; the guest is stopped. */
bool stream_save_complete(QEMUFile *f, Error **errp);

/*
 * FULL of every device into @f, described in @vmdesc. BQL; so @f must be a
 * file in memory.
 */
bool stream_save_devices(QEMUFile *f, JSONWriter *vmdesc, Error **errp);
/* VMDESC: ends @vmdesc. */
void stream_put_vmdesc(QEMUFile *f, JSONWriter *vmdesc);

/* The end, good or bad. BQL. */
void stream_save_cleanup(void);

#endif /* MIGRATION_SAVEVM_STREAM_H */
