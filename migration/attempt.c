/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Switchover attempt: see attempt.h for the contract. */
#include "qemu/osdep.h"

#include "attempt.h"

#define NS_PER_S 1e9

bool attempt_may_come(const AttemptRecord *record, int64_t now_ns)
{
    unsigned doublings;

    if (!record->count) {
        return true;
    }
    doublings = MIN(record->count - 1, ATTEMPT_SPACING_MOST);
    return (now_ns - record->end_ns) / (ATTEMPT_SPACING << doublings) >=
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

void attempt_heard(AttemptWatch *w, unsigned mark, int64_t now_ns)
{
    unsigned awaited = MIN(w->marks - w->heard, ATTEMPT_MARKS);
    unsigned oldest = w->marks - awaited;
    unsigned ahead = (mark - oldest) % ATTEMPT_MARKS;

    if (mark >= ATTEMPT_MARKS || ahead >= awaited) {
        return;
    }
    if (!w->heard) {
        w->first_bytes = w->at_mark[mark];
        w->first_ns = now_ns;
    }
    w->heard = oldest + ahead + 1;
    w->loaded_bytes = w->at_mark[mark];
    w->loaded_ns = now_ns;
}

/*
 * Bytes that were loaded, and the time that took. From the first answer to the
 * last, for the first pieces are small and say little; that the target is
 * silent since then counts if it is so for longer than it was heard.
 */
static double loaded(const AttemptWatch *w, int64_t now_ns, uint64_t *bytes)
{
    int64_t heard_ns = w->loaded_ns - w->first_ns;
    int64_t silent_ns = now_ns - w->loaded_ns;

    if (w->loaded_bytes == w->first_bytes || heard_ns <= 0) {
        *bytes = w->loaded_bytes;
        return (double)MAX(now_ns - w->send_ns - w->rtt_ns, 1);
    }
    *bytes = w->loaded_bytes - w->first_bytes;
    return (double)(silent_ns > heard_ns ? heard_ns + silent_ns : heard_ns);
}

/* How long @bytes take, at the speed seen so far; INT64_MAX: for ever. */
static int64_t ns_for(const AttemptWatch *w, uint64_t bytes, int64_t now_ns)
{
    uint64_t done;
    double took = loaded(w, now_ns, &done), ns;

    if (bytes == 0) {
        return 0;
    }
    if (done == 0) {
        return INT64_MAX;
    }
    ns = (double)bytes / (double)done * took;
    return ns >= (double)(INT64_MAX / 2) ? INT64_MAX : (int64_t)ns;
}

int64_t attempt_in_flight_ns(const AttemptWatch *w, int64_t now_ns)
{
    return ns_for(w, w->sent_bytes - w->loaded_bytes, now_ns);
}

/* What a forecast may be, @elapsed_ns after the beginning. */
static int64_t bearable_ns(int64_t elapsed_ns, int64_t limit_ns)
{
    if (elapsed_ns < limit_ns / 8) {
        return limit_ns * 2;
    }
    if (elapsed_ns < limit_ns / 4) {
        return limit_ns + limit_ns / 4;
    }
    return elapsed_ns < limit_ns / 2 ? limit_ns : limit_ns + limit_ns / 2;
}

bool attempt_is_lost(const AttemptWatch *w, int64_t now_ns)
{
    int64_t elapsed_ns = now_ns - w->begin_ns;
    int64_t told_ns = elapsed_ns - w->rtt_ns, more_ns;

    if (told_ns < w->limit_ns / ATTEMPT_JUDGE_FROM) {
        return false;
    }
    more_ns = ns_for(w, w->owed_bytes - w->loaded_bytes, now_ns);
    if (more_ns <= elapsed_ns) {
        return false; /* to begin anew would cost more */
    }
    return more_ns >
           bearable_ns(told_ns, w->limit_ns) - elapsed_ns - w->rest_ns;
}

uint64_t attempt_speed(const AttemptWatch *w, int64_t now_ns)
{
    uint64_t bytes;
    double took = loaded(w, now_ns, &bytes);

    if (!bytes && w->marks) {
        bytes = w->at_mark[0]; /* that is not there yet */
    }
    return (uint64_t)CLAMP((double)bytes * NS_PER_S / took, 1,
                           (double)(INT64_MAX / 2));
}
