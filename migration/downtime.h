/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Downtime budget: would a switchover now keep the guest's pause in its limit?
 *
 * The pause is more than the remaining pages: vCPUs have to stop, device
 * state has to be saved, dirty memory to be collected once more, and the
 * destination has to load the state and start. All are counted. Parts that
 * have been seen in this migration (syncs) count as measured; parts that
 * have not happened yet count with what an earlier migration of this process
 * measured, or with careful first guesses; the destination's restore time
 * with what it told, if it is one of ours.
 *
 * Threads: the migration thread. Used by: thread.c, info.c. Uses: nothing.
 */
#ifndef MIGRATION_DOWNTIME_H
#define MIGRATION_DOWNTIME_H

typedef struct DowntimeInputs {
    uint64_t remaining_bytes;  /* dirty guest memory, at full page size */
    uint64_t bandwidth_bytes;  /* per second, measured; 0 = not known yet */
    uint64_t max_bandwidth;    /* the user's limit; 0 = none */
    uint64_t avail_switchover; /* the user's promise; 0 = none */
    uint64_t pause_bandwidth;  /* as seen in a pause (attempt.h); 0 = never */
    uint64_t device_bytes;     /* size of device state, as far as known */
    int64_t stop_ns;           /* stopping vCPUs and back ends */
    int64_t device_save_ns;    /* device state into the buffer */
    int64_t sync_ns;           /* the last dirty collect */
    int64_t restore_ns;        /* destination: load, start */
    uint64_t dirtied_bytes;    /* a second, in the last round; 0: not known */
    double held_up;            /* of its time, by tracking: 0 to 1 */
} DowntimeInputs;

/* First guesses, for parts never measured. */
#define DOWNTIME_GUESS_STOP_NS    INT64_C(300000)
#define DOWNTIME_GUESS_SAVE_NS    INT64_C(500000)
#define DOWNTIME_GUESS_RESTORE_NS INT64_C(1500000)

/**
 * downtime_bandwidth: bytes per second to reckon with for the switchover
 *
 * avail_switchover if the user set it; else what was seen in a pause; else the
 * estimate, but no more than max_bandwidth: a burst within a small limit says
 * little about the channel. Returns 0 if nothing is known.
 */
uint64_t downtime_bandwidth(const DowntimeInputs *in);

/* Everything but the pages, in nanoseconds. */
int64_t downtime_fixed_ns(const DowntimeInputs *in);

/* The whole predicted pause; INT64_MAX if the bandwidth is not known. */
int64_t downtime_predict_ns(const DowntimeInputs *in);

/**
 * downtime_allows: whether to switch over now
 *
 * True if the prediction keeps @limit_ns, or if no dirty page is left: then
 * nothing can get better by waiting.
 */
bool downtime_allows(const DowntimeInputs *in, int64_t limit_ns);

/**
 * downtime_page_budget: dirty guest memory that fits into @limit_ns, in bytes
 *
 * The sender looks for dirty pages anew once no more than this remain.
 */
uint64_t downtime_page_budget(const DowntimeInputs *in, int64_t limit_ns);

/*
 * Whether the guest is better off with another round than with its pause now.
 * Not if pages get dirty about as fast as they are sent: then as much would be
 * owed after it. Nor if the guest, held up by faults on pages that it writes,
 * loses more in that round than the pause gets shorter.
 */
bool downtime_round_helps(const DowntimeInputs *in);

/* Rounds in a row by which a switchover was put off; all 0 to begin with. */
typedef struct DowntimePolish {
    unsigned rounds;
    uint64_t owed_bytes; /* at the last of them */
} DowntimePolish;

/**
 * downtime_decide: at the end of a round: whether to switch over now
 *
 * What does not keep @limit_ns never does. What does is put off as long as a
 * further round makes the pause much shorter: at most DOWNTIME_POLISH_ROUNDS
 * times, while the pages owed shrink from round to round, while they, not the
 * fixed parts, are most of the pause, and while a round helps (above).
 *
 * @stalled: the migration does not get nearer to its end (stall.h). Then what
 * remains goes up and down, and a low point within the limit may be the only
 * one: it is taken at once.
 */
#define DOWNTIME_POLISH_ROUNDS 4
bool downtime_decide(DowntimePolish *polish, const DowntimeInputs *in,
                     int64_t limit_ns, bool stalled);

#endif /* MIGRATION_DOWNTIME_H */
