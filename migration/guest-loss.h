/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the guest loses to the tracking of its writes while it is migrated.
 *
 * A write to a page that is not known to be dirty faults, and so does one to a
 * page that was taken from a ring meanwhile. How many such faults there were is
 * counted, and what one costs is known (dirty-tracker.h): in parts of the time
 * that the vCPUs' threads ran, that is the share of its computation that the
 * guest loses. Waiting for room in a ring counts, too.
 *
 * Threads: the migration thread. Used by: thread.c.
 * Uses: ram/, the trackers' counters, vCPU threads' time.
 */
#ifndef MIGRATION_GUEST_LOSS_H
#define MIGRATION_GUEST_LOSS_H

#include "ram/ram.h"

typedef struct GuestLoss {
    double share; /* in the last round that told: 0 to 1; 0: not known */

    /* At the end of that round. */
    int64_t ran_ns;
    uint64_t pages, entries, wait_ns;
} GuestLoss;

/* What is lost of @ran_ns + @wait_ns by @faults that cost @fault_ns each. */
double guest_loss_share(uint64_t faults, double fault_ns, uint64_t wait_ns,
                        int64_t ran_ns);

void guest_loss_begin(GuestLoss *loss, const RamSave *rs);
/* A sync was made. Too short a time is put together with the next. */
void guest_loss_round(GuestLoss *loss, const RamSave *rs);

#endif /* MIGRATION_GUEST_LOSS_H */
