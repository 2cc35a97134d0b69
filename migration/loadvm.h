/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading the main channel: the elements of stream-format.h, up to EOF.
 *
 * The stream is hostile: what is not expected is refused, and the error names
 * the section, the offset in the stream, the value and what was expected.
 * RAM is loaded without the BQL; each device section under it, though never
 * while waiting for bytes (see bql-channel.h). The guest stands still.
 *
 * Threads: the incoming thread. Used by: incoming.c. Uses: vmstate.
 */
#ifndef MIGRATION_LOADVM_H
#define MIGRATION_LOADVM_H

#include "vmstate/savevm.h"

typedef struct LoadVM {
    QEMUFile *f;        /* main channel */
    QEMUFile *rp;       /* return path; NULL until the source opens it */
    bool own_kind;      /* the source said the hello */
    bool times_asked;   /* ... and wants to know restore times */
    bool notes_pages;   /* ... and leaves out pages that are zero */
    int64_t expect_ns;  /* what to tell it to expect */
    int64_t devices_ns; /* spent on device sections */
    uint64_t device_bytes;
    unsigned live_open; /* live sections begun and not ended */
    const char *after;  /* idstr of the section that ended last, or NULL */
    bool pong_failed;
} LoadVM;

/* Header to EOF. On success everything is loaded and checked. */
bool loadvm_run(LoadVM *lv, Error **errp);
/* What may follow EOF. Says a warning if it is not the description. */
void loadvm_skip_vmdesc(LoadVM *lv);

#endif /* MIGRATION_LOADVM_H */
