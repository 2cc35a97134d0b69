/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dirty-tracking=auto: which tracker will cost the least, and why.
 *
 * dirty_auto_decide() is a pure function: it counts, for each tracker it has a
 * model of, what the rest of a migration will make it do (faults, words
 * scanned, ranges cleaned, exits of vCPUs for full rings), and prices that by
 * what was measured. The rest of the migration is a row of rounds: what is
 * owed travels with the link's speed, what was written meanwhile is owed next.
 *
 * What a guest writes in a time is a curve: `limit` pages that are written at
 * random `rate` times a second: limit * (1 - e^(-rate * t / limit)). Two
 * counts determine it. Groups of 64 pages have a curve of their own: that is
 * sparse or dense; and so have the units of 4,096 by which bitmaps are read.
 *
 * It changes its mind only by a clear margin: what is saved must be more than
 * what the change costs, and more than a share of what is spent now.
 *
 * Threads: any; no state.
 *
 * The lower half of this file is the state of the one migration that there
 * can be. It looks at the guest without taking a page from anybody: a sync, as
 * the migration does it anyway, and a count of the bits that its next sync will
 * take, by their summary. Twice, in the first pass. If the tracker in use is one
 * of rings, and they fill, then at once: that is dear.
 *
 * Used by: migration, dirty-cmds.c, tests. Uses: dirty-tracker.h, dirty-log.
 */
#ifndef SYSTEM_DIRTY_AUTO_H
#define SYSTEM_DIRTY_AUTO_H

#include "qapi/qapi-types-dirty-tracking.h"
#include "system/dirty-tracker.h"

#define DIRTY_AUTO_GROUP_PAGES 64
#define DIRTY_AUTO_UNIT_PAGES  4096 /* of a bitmap's summary */

/* Trackers that there is a model of. */
typedef enum DirtyAutoEngine {
    DIRTY_AUTO_BITMAP,
    DIRTY_AUTO_RING,
    DIRTY_AUTO_DBM,
    DIRTY_AUTO_PAGEMAP,
    DIRTY_AUTO_NR
} DirtyAutoEngine;

const char *dirty_auto_engine_name(DirtyAutoEngine engine);
/* DIRTY_AUTO_NR: no model of it. */
DirtyAutoEngine dirty_auto_engine(const char *name);

typedef struct DirtyAutoCurve {
    double limit;      /* how many there are that are written at all */
    double rate_per_s; /* writes that may meet a new one, a second */
} DirtyAutoCurve;

/**
 * dirty_auto_fit: the curve through two counts
 *
 * @first, @second: found after @first_s and, later, after @second_s
 * @most: there are no more than that
 */
DirtyAutoCurve dirty_auto_fit(double first, double first_s, double second,
                              double second_s, double most);
/* How many are written in @s seconds. */
double dirty_auto_at(const DirtyAutoCurve *curve, double s);
/* The same working set, written as fast as @found in @s says. */
void dirty_auto_refit(DirtyAutoCurve *curve, double found, double s);

typedef struct DirtyAutoInputs {
    uint64_t ram_pages;
    uint64_t owed_pages;     /* to be sent before the next sync */
    uint64_t chunk_pages;    /* cleaned at a time */
    unsigned vcpus, writers; /* how many of them write; 0: all */
    DirtyAutoCurve pages, groups, units;
    uint64_t bandwidth; /* bytes a second that pages travel with; 0: unknown */
    uint32_t ring_entries;
    DirtyAutoEngine current; /* armed now */
    bool possible[DIRTY_AUTO_NR];
    /* Measured; a member of 0 is replaced by a guess. */
    DirtyTrackerCost cost[DIRTY_AUTO_NR];
    bool must_move[DIRTY_AUTO_NR]; /* the guest, for it: DirtyTrackerMove */
    DirtyTrackerMoveCost move[DIRTY_AUTO_NR];
    double ring_exit_ns;
} DirtyAutoInputs;

/* Until the migration ends; all but times are counts. */
typedef struct DirtyAutoPrediction {
    bool possible;
    double faults;         /* writes that find no permission */
    double updates;        /* pages made dirty without a fault */
    double scanned_gib;    /* looked at by collects */
    double more_words;     /* read because something is dirty there */
    double scanned_words;  /* in all, of bitmaps or page states */
    double collected;      /* pages or entries taken */
    double cleaned_ranges; /* or reaps, for rings: waiting for the vCPUs */
    double ring_exits;     /* of vCPUs, for a full ring */
    double guest_ns;       /* that vCPUs lose */
    double thread_ns;      /* that collects and cleans take */
} DirtyAutoPrediction;

typedef struct DirtyAutoDecision {
    DirtyAutoEngine choice;
    DirtyAutoEngine best; /* the cheapest, though it may not be worth while */
    double change_ns;     /* what a change costs */
    unsigned rounds;      /* that were looked ahead */
    DirtyAutoPrediction predicted[DIRTY_AUTO_NR];
} DirtyAutoDecision;

/* What a prediction comes to. */
double dirty_auto_cost_ns(const DirtyAutoPrediction *p);

/* Could anything be better than the tracker in use? Else no look is worth it. */
bool dirty_auto_has_choice(const DirtyAutoInputs *in);
/* At least one tracker must be possible, @in->current among them. */
void dirty_auto_decide(const DirtyAutoInputs *in, DirtyAutoDecision *out);

/* ---- while a migration goes on (dirty-auto-run.c) ---- */

/* What only the migration knows. */
typedef struct DirtyAutoLink {
    uint64_t owed_pages;
    uint64_t chunk_pages;
    uint64_t bandwidth; /* 0: not known yet */
} DirtyAutoLink;

/*
 * All by the migration's thread, without the BQL (they take it once, and to
 * change the tracker). Nothing happens unless the mode is auto.
 */
/* The first pass begins; @change_always: change after each round, for tests. */
void dirty_auto_begin(bool change_always);
/* Now and then in the first pass: cheap unless it is time to count. */
void dirty_auto_look(const DirtyAutoLink *link);
/* After each sync: what was written in @s seconds. */
void dirty_auto_round(uint64_t new_pages, double s, const DirtyAutoLink *link);
void dirty_auto_end(void);

/* What was decided in this or the last migration; NULL: nothing. Any thread. */
DirtyTrackingDecision *dirty_auto_query(void);

#endif /* SYSTEM_DIRTY_AUTO_H */
