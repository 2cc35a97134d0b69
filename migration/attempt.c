/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Switchover attempt: see attempt.h for the contract. */
#include "qemu/osdep.h"

#include "attempt.h"

#define NS_PER_S 1e9

bool attempt_may_come(const AttemptRecord *record, int64_t now_ns)
{
    unsigned doublings = MIN(record->count, ATTEMPT_SPACING_MOST + 1) - 1;

    return !record->count ||
           (now_ns - record->end_ns) / (ATTEMPT_SPACING << doublings) >=
               record->cost_ns;
}

bool attempt_is_worth_it(const DowntimeInputs *in, int64_t limit_ns,
                         bool stalled)
{
    DowntimeInputs hoped = *in;

    if (in->avail_switchover || (!stalled && downtime_round_helps(in))) {
        return false;
    }
    /* max-bandwidth does not hold while the guest stands still. */
    hoped.pause_bandwidth = in->bandwidth_bytes * ATTEMPT_HOPE;
    return downtime_allows(&hoped, limit_ns);
}

unsigned attempt_mark(AttemptWatch *w, uint64_t left_bytes)
{
    unsigned mark = w->marks++ % ATTEMPT_MARKS;

    assert(left_bytes <= w->owed_bytes);
    w->sent_bytes = w->owed_bytes - left_bytes;
    w->at_mark[mark] = w->sent_bytes;
    return mark;
}

void attempt_heard(AttemptWatch *w, unsigned mark)
{
    unsigned awaited = MIN(w->marks - w->heard, ATTEMPT_MARKS);
    unsigned oldest = w->marks - awaited;
    unsigned ahead = (mark - oldest) % ATTEMPT_MARKS;

    if (mark >= ATTEMPT_MARKS || ahead >= awaited) {
        return;
    }
    w->heard = oldest + ahead + 1;
    w->loaded_bytes = w->at_mark[mark];
}

/*
 * Time in which loaded_bytes were loaded. The time since the last answer counts
 * as if nothing were loaded in it: with an answer for each piece it is short,
 * and if it is not, that is the news.
 */
static int64_t loading_ns(const AttemptWatch *w, int64_t now_ns)
{
    return MAX(now_ns - w->send_ns - w->rtt_ns, 1);
}

/* How long @bytes take, at the speed seen so far; INT64_MAX: for ever. */
static int64_t ns_for(const AttemptWatch *w, uint64_t bytes, int64_t now_ns)
{
    double ns;

    if (bytes == 0) {
        return 0;
    }
    if (w->loaded_bytes == 0) {
        return INT64_MAX;
    }
    ns = (double)bytes / (double)w->loaded_bytes *
         (double)loading_ns(w, now_ns);
    return ns >= (double)(INT64_MAX / 2) ? INT64_MAX : (int64_t)ns;
}

int64_t attempt_in_flight_ns(const AttemptWatch *w, int64_t now_ns)
{
    return ns_for(w, w->sent_bytes - w->loaded_bytes, now_ns);
}

bool attempt_is_lost(const AttemptWatch *w, int64_t now_ns)
{
    int64_t elapsed_ns = now_ns - w->begin_ns;
    int64_t limit_ns = w->limit_ns, more_ns;

    if (elapsed_ns < limit_ns / ATTEMPT_JUDGE_FROM + w->rtt_ns) {
        return false;
    }
    more_ns = ns_for(w, w->owed_bytes - w->loaded_bytes, now_ns);
    if (more_ns <= elapsed_ns) {
        return false; /* to begin anew would cost more */
    }
    if (elapsed_ns > limit_ns / ATTEMPT_STRICT_TO) {
        limit_ns += limit_ns / 2;
    }
    return more_ns > limit_ns - elapsed_ns - w->rest_ns;
}

uint64_t attempt_speed(const AttemptWatch *w, int64_t now_ns)
{
    uint64_t bytes = w->loaded_bytes;
    double speed;

    if (!bytes && w->marks) {
        bytes = w->at_mark[0]; /* that is not there yet */
    }
    speed = (double)bytes * NS_PER_S / (double)loading_ns(w, now_ns);
    return (uint64_t)CLAMP(speed, 1, (double)(INT64_MAX / 2));
}
