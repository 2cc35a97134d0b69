/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Downtime budget: see downtime.h for the contract. */
#include "qemu/osdep.h"

#include "downtime.h"

#define NS_PER_S 1e9

/* A round is worth it if the pages owed shrink to this share at least. */
#define POLISH_MIN_SHRINK 0.7
/* A pause as short as this is not worth another round. */
#define POLISH_FLOOR_NS INT64_C(2000000)

/* Bytes a second while the guest runs. */
static uint64_t precopy_bandwidth(const DowntimeInputs *in)
{
    uint64_t bw = in->bandwidth_bytes;

    return in->max_bandwidth && bw > in->max_bandwidth ? in->max_bandwidth : bw;
}

uint64_t downtime_bandwidth(const DowntimeInputs *in)
{
    if (in->avail_switchover) {
        return in->avail_switchover;
    }
    return in->pause_bandwidth ? in->pause_bandwidth : precopy_bandwidth(in);
}

static int64_t transfer_ns(uint64_t bytes, uint64_t bandwidth)
{
    double ns;

    if (bytes == 0) {
        return 0;
    }
    if (bandwidth == 0) {
        return INT64_MAX;
    }
    ns = (double)bytes / (double)bandwidth * NS_PER_S;
    return ns >= (double)INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* Sum of two spans that stays at "for ever". */
static int64_t add_ns(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

int64_t downtime_fixed_ns(const DowntimeInputs *in)
{
    int64_t ns = in->stop_ns + in->device_save_ns + in->sync_ns +
                 in->restore_ns;
    uint64_t bw = downtime_bandwidth(in);

    /* An unknown bandwidth is reported by the pages, not by the devices. */
    return bw ? add_ns(ns, transfer_ns(in->device_bytes, bw)) : ns;
}

int64_t downtime_predict_ns(const DowntimeInputs *in)
{
    return add_ns(downtime_fixed_ns(in),
                  transfer_ns(in->remaining_bytes, downtime_bandwidth(in)));
}

bool downtime_allows(const DowntimeInputs *in, int64_t limit_ns)
{
    return in->remaining_bytes == 0 || downtime_predict_ns(in) <= limit_ns;
}

uint64_t downtime_page_budget(const DowntimeInputs *in, int64_t limit_ns)
{
    int64_t left_ns = limit_ns - downtime_fixed_ns(in);
    double bytes;

    if (left_ns <= 0) {
        return 0;
    }
    bytes = (double)downtime_bandwidth(in) * (double)left_ns / NS_PER_S;
    return bytes >= (double)UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

bool downtime_round_helps(const DowntimeInputs *in)
{
    double sent = (double)precopy_bandwidth(in);
    double dirtied = (double)in->dirtied_bytes;

    /* All in parts of the round: dirtied / sent is what will be owed again. */
    return dirtied <= sent * POLISH_MIN_SHRINK &&
           in->held_up * sent <= sent - dirtied;
}

/* Will what is owed shrink enough while it is sent? And did it? */
static bool shrinks(const DowntimePolish *polish, const DowntimeInputs *in)
{
    return downtime_round_helps(in) &&
           (!polish->rounds ||
            (double)in->remaining_bytes <=
                (double)polish->owed_bytes * POLISH_MIN_SHRINK);
}

/* The switchover is possible: would one more round make it much shorter? */
static bool put_off(DowntimePolish *polish, const DowntimeInputs *in)
{
    int64_t fixed_ns = downtime_fixed_ns(in);
    int64_t pages_ns = downtime_predict_ns(in) - fixed_ns;

    if (pages_ns <= MAX(fixed_ns, POLISH_FLOOR_NS) ||
        polish->rounds >= DOWNTIME_POLISH_ROUNDS || !shrinks(polish, in)) {
        return false;
    }
    polish->rounds++;
    polish->owed_bytes = in->remaining_bytes;
    return true;
}

bool downtime_decide(DowntimePolish *polish, const DowntimeInputs *in,
                     int64_t limit_ns, bool stalled)
{
    if (!downtime_allows(in, limit_ns)) {
        polish->rounds = 0;
        return false;
    }
    return stalled || !put_off(polish, in);
}
