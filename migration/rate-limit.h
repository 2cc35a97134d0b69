/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rate limit: how many bytes may leave now, and how long to wait if none.
 *
 * An account that time fills and sending empties. It may be overdrawn by one
 * page (a page is never cut), and never holds more than RATE_LIMIT_BURST_NS
 * worth of the rate, so that a quiet spell buys no burst. Once it is empty
 * sending pauses until RATE_LIMIT_QUANTUM_NS worth has come in: a few pieces
 * per pause, not a pause per page. A changed rate
 * applies from the moment it is set: a debt made at the old rate is paid off
 * at the new one, and a sender that sleeps is woken to count anew.
 *
 * Threads: set_rate from any thread; all else from the sending thread only.
 *
 * Used by: the migration thread. Uses: util (clock handed in by the caller).
 */
#ifndef MIGRATION_RATE_LIMIT_H
#define MIGRATION_RATE_LIMIT_H

#define RATE_LIMIT_BURST_NS   INT64_C(20000000)
#define RATE_LIMIT_QUANTUM_NS INT64_C(4000000)
/* A wait is never told longer than this: a cancel need not be a wake-up. */
#define RATE_LIMIT_MAX_WAIT_NS INT64_C(100000000)

typedef struct RateLimit {
    /* Atomic: bytes per second; 0 = no limit. */
    _Atomic uint64_t rate_bytes;

    /* Sending thread only. */
    double credit_bytes; /* negative: overdrawn */
    int64_t last_ns;     /* when credit_bytes was true */
} RateLimit;

void rate_limit_init(RateLimit *rl, uint64_t rate_bytes, int64_t now_ns);
/* Forget what is owed, or was saved up. */
void rate_limit_forgive(RateLimit *rl, int64_t now_ns);
void rate_limit_set_rate(RateLimit *rl, uint64_t rate_bytes);
uint64_t rate_limit_get_rate(RateLimit *rl);

/* Note that @bytes left; without a limit nobody owes for them. */
void rate_limit_spend(RateLimit *rl, uint64_t bytes);

/* Whether the account still holds something by the last count; cheap. */
static inline bool rate_limit_has_credit(RateLimit *rl)
{
    return rl->credit_bytes > 0 ||
           atomic_load_explicit(&rl->rate_bytes, memory_order_relaxed) == 0;
}

/**
 * rate_limit_wait_ns: count anew at @now_ns
 *
 * Returns 0 if something may be sent now, else nanoseconds to wait before
 * asking again (at most RATE_LIMIT_MAX_WAIT_NS).
 */
int64_t rate_limit_wait_ns(RateLimit *rl, int64_t now_ns);

#endif /* MIGRATION_RATE_LIMIT_H */
