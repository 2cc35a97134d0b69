/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Switchover attempt: a pause of the guest that can still be called off.
 *
 * How fast the last pages go is not known before the guest stands still: while
 * it runs, max-bandwidth holds, and the guest's vCPUs take processors that the
 * sender and the target could use. So the pause begins with its pages, and
 * those are watched: after every piece the target is asked (PING) to say when
 * it has loaded it (PONG). If it shows that the limit will not be kept, the
 * guest goes on, and nothing is lost but that time and the bytes; what was
 * measured then is what the next switchover is reckoned with.
 *
 *   stop vCPUs, collect | piece PING piece PING ...      | devices, ... end
 *                       |          PONG  PONG            |
 *                       '-- too slow: clean, run again --'-- no way back
 *
 * A pause can therefore also be tried of which it is only hoped that it keeps
 * the limit, where more rounds would not help: the guest writes about as fast
 * as is sent, so the next round would owe as much. Where that hope is vain it
 * costs the guest little: attempts come ever less often.
 *
 * Here is the arithmetic; switchover-try.c sends and calls off.
 *
 * Threads: the migration thread. Used by: thread.c, switchover-try.c.
 * Uses: downtime.h.
 */
#ifndef MIGRATION_ATTEMPT_H
#define MIGRATION_ATTEMPT_H

#include "downtime.h"

/* The pause's speed is hoped to be this many times that of precopy. */
#define ATTEMPT_HOPE 8
/* An attempt that took t is followed by this many times t without one; twice as
 * many for each that was called off before it. */
#define ATTEMPT_SPACING      20
#define ATTEMPT_SPACING_MOST 8 /* doublings */
/*
 * When a pause is called off, in parts of the limit: nothing is judged before
 * 1/16 and a first answer's way there and back. A forecast may be twice the
 * limit until 1/8, and 5/4 of it until 1/4, for it gets better: caches and the
 * host's scheduler have to get used to it. After 1/2 it may be 3/2: too much is
 * spent by then.
 */
#define ATTEMPT_JUDGE_FROM 16

#define ATTEMPT_MARKS 256

/* What earlier attempts of this migration have shown; all 0 to begin with. */
typedef struct AttemptRecord {
    uint64_t speed;  /* bytes of guest memory a second; 0: not known */
    int64_t end_ns;  /* when the last one was called off */
    int64_t cost_ns; /* that it took */
    unsigned count;  /* called off so far */
} AttemptRecord;

/* Whether it is long enough ago that the last one was called off. */
bool attempt_may_come(const AttemptRecord *record, int64_t now_ns);

/**
 * attempt_is_worth_it: a switchover that does not keep the limit by what is
 * known: may it, by what is hoped?
 *
 * @in: as at the end of a round
 * @stalled: the migration does not get nearer to its end (stall.h)
 *
 * Never with avail-switchover-bandwidth: then the user has said what to expect.
 */
bool attempt_is_worth_it(const DowntimeInputs *in, int64_t limit_ns,
                         bool stalled);

/* One attempt. All times from one clock, nanoseconds. */
typedef struct AttemptWatch {
    /* Given when sending begins. */
    int64_t limit_ns, begin_ns; /* of the pause */
    int64_t rest_ns;            /* what comes after the pages */
    int64_t rtt_ns;             /* there and back, with nothing to load */
    int64_t send_ns;            /* now */
    uint64_t owed_bytes;        /* guest memory at full page size */

    /* 0 then. */
    uint64_t sent_bytes;   /* of it, handed to the channel */
    uint64_t loaded_bytes; /* of it, by what the target said */
    int64_t loaded_ns;     /* when it was heard to say so */
    uint64_t first_bytes;  /* by its first answer, */
    int64_t first_ns;      /* and when that was heard */
    unsigned marks, heard; /* put, and answered */
    uint64_t at_mark[ATTEMPT_MARKS];
} AttemptWatch;

/* Note that all but @left_bytes was sent. Returns the number of the mark, 0 to
 * ATTEMPT_MARKS - 1, to put behind it. */
unsigned attempt_mark(AttemptWatch *w, uint64_t left_bytes);

/* Note that mark number @mark was answered; marks before it are as well. One
 * that is not awaited is none of ours. */
void attempt_heard(AttemptWatch *w, unsigned mark, int64_t now_ns);

/* How long what was sent and not yet loaded will take, by what is known. */
int64_t attempt_in_flight_ns(const AttemptWatch *w, int64_t now_ns);

/* Whether the pause is better called off. */
bool attempt_is_lost(const AttemptWatch *w, int64_t now_ns);

/* Bytes a second at which the target loaded, at most if it has not answered
 * yet; never 0. */
uint64_t attempt_speed(const AttemptWatch *w, int64_t now_ns);

#endif /* MIGRATION_ATTEMPT_H */
