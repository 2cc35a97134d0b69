/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Throttling for a migration (capabilities auto-converge, dirty-limit): if the guest writes
 * so fast that the rounds would not end, its writers are made to sleep.
 *
 * Checks come at a period of their own, from the end of the first pass on, and
 * within rounds: a round that takes minutes is not waited for. A check looks at
 * two things, each in host pages:
 *
 *   window   newly dirtied since the last check, against what was sent
 *   round    dirtied since the round began, against what it began with: a
 *            guest that goes over the same pages again dirties no new ones
 *            late in a long round, but the next round has them all
 *
 * "Newly dirtied" leaves out pages that are still to be sent anyway. If either
 * is more than throttle-trigger-threshold percent, two checks in a row, the
 * percentage goes up: to cpu-throttle-initial, then by cpu-throttle-increment.
 * It never goes down before the end.
 *
 * The percentage is by how much the writes of all vCPUs together are to be
 * reduced. Who sleeps for it is decided from what each wrote since the last
 * check (cpu_throttle_divide()), at each check anew; where the tracker cannot
 * tell, all sleep the same share.
 *
 * With the capability dirty-limit the same finding makes each vCPU obey the
 * parameter vcpu-dirty-limit instead (dirty-limit.h), until the end.
 *
 * Threads: the migration thread, without the BQL, unless a function says
 * otherwise.
 *
 * Used by: thread.c, migration.c, info.c. Uses: cpu-throttle.h, ram/.
 */
#ifndef MIGRATION_THROTTLE_H
#define MIGRATION_THROTTLE_H

#include "qemu/thread.h"

typedef struct MigrationState MigrationState;

/* What one check goes by; pages of the host. */
typedef struct ThrottleSample {
    uint64_t dirtied, sent; /* in the window */
    uint64_t round_dirtied; /* since the round began */
    uint64_t round_owed;    /* when it began */
} ThrottleSample;

/**
 * throttle_excess: how far the guest is above what the trigger allows
 *
 * @trigger_pct: throttle-trigger-threshold
 *
 * Returns: written / allowed, by window or by round, whichever is worse. More
 * than 1 is too fast.
 */
double throttle_excess(const ThrottleSample *sample, unsigned trigger_pct);

/* The next percentage, after @now_pct (0: none yet) proved to be too little. */
typedef struct ThrottleSteps {
    unsigned initial, increment, max;
    bool tailslow;
} ThrottleSteps;
unsigned throttle_next_pct(unsigned now_pct, double excess,
                           const ThrottleSteps *steps);

/* One vCPU, as reported. */
typedef struct ThrottledVcpu {
    int cpu_index;
    uint32_t share;         /* that it sleeps now; millionths */
    uint64_t sleeps;        /* in this migration */
    int64_t slept_ns;       /* likewise */
    uint64_t written_pages; /* likewise; as attributed */
} ThrottledVcpu;

typedef struct MigrationThrottle {
    /* Atomic. */
    _Atomic unsigned pct;    /* 0: not throttling */
    _Atomic bool limiting;   /* dirty-limit is in force */
    _Atomic uint64_t checks; /* since the migration began */

    /* Guarded by lock. */
    QemuMutex lock;
    GArray *report; /* ThrottledVcpu; NULL: nothing to tell */

    /* Migration thread. */
    bool on, has_base, attributes;
    bool by_limit; /* capability dirty-limit, else auto-converge */
    unsigned high; /* checks in a row that found too much */
    int64_t last_check_ns, check_cost_ns;
    uint64_t base_dirtied, base_sent;
    uint64_t limit_mib, period_ms; /* in force, with dirty-limit */
    unsigned nr_vcpus;
    struct ThrottleVcpu *vcpus;
} MigrationThrottle;

void migration_throttle_init(MigrationThrottle *t); /* once */

/* A new migration: nothing to report. BQL, no migration thread. */
void migration_throttle_reset(MigrationThrottle *t);
/* A migration begins its rounds. */
void migration_throttle_begin(MigrationState *s);
/* Look, if it is time to. Between two parts of a round, as often as you like. */
void migration_throttle_check(MigrationState *s, bool first_pass_done);
/* It has ended, however. */
void migration_throttle_end(MigrationState *s);
/* The same at once, from another thread: a cancel. BQL. */
void migration_throttle_stop(MigrationState *s);

#endif /* MIGRATION_THROTTLE_H */
