/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts the ticks of the guest `clocks` against the time that its kvmclock
 * tells. A tick that is late comes, one that is lost never does: so none is lost
 * if at any moment, however long that takes on a busy host, none is missing.
 *
 * Used by: tests/migration. Uses: guest-check.h.
 */
#ifndef TESTS_MIGRATION_GUEST_TICKS_H
#define TESTS_MIGRATION_GUEST_TICKS_H

#include "guest-check.h"

typedef struct TickCount {
    const uint8_t *ram; /* may change: where the guest is now */
    double allowed;     /* ticks: what clocks cannot tell */
    int64_t apart_ns;   /* of the host's two clocks, at the begin */
} TickCount;

/*
 * @allowed: what may be missing or too much, in ticks, beside the one that is
 * under way and what the host's clock was corrected by since this.
 */
TickCount ticks_begin(const uint8_t *ram, double allowed);

/* As many as are due have come; waits for those that are late. */
void ticks_assert_all(const TickCount *t);

/* Until vCPU 0 has ticked @more times more. */
void ticks_wait(const uint8_t *ram, unsigned cpu, uint64_t more);

#endif /* TESTS_MIGRATION_GUEST_TICKS_H */
