/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rate limit: see rate-limit.h for the contract. */
#include "qemu/osdep.h"

#include <math.h>

#include "rate-limit.h"

#define NS_PER_S 1000000000.0

void rate_limit_init(RateLimit *rl, uint64_t rate_bytes, int64_t now_ns)
{
    atomic_store_explicit(&rl->rate_bytes, rate_bytes, memory_order_relaxed);
    rate_limit_forgive(rl, now_ns);
}

void rate_limit_forgive(RateLimit *rl, int64_t now_ns)
{
    rl->credit_bytes = 0;
    rl->last_ns = now_ns;
}

void rate_limit_set_rate(RateLimit *rl, uint64_t rate_bytes)
{
    /* Relaxed: the number stands for itself, nothing is published with it. */
    atomic_store_explicit(&rl->rate_bytes, rate_bytes, memory_order_relaxed);
}

uint64_t rate_limit_get_rate(RateLimit *rl)
{
    return atomic_load_explicit(&rl->rate_bytes, memory_order_relaxed);
}

void rate_limit_spend(RateLimit *rl, uint64_t bytes)
{
    /* No limit, no debt: a limit that is set next would wait for it. */
    if (rate_limit_get_rate(rl) != 0) {
        rl->credit_bytes -= (double)bytes;
    }
}

int64_t rate_limit_wait_ns(RateLimit *rl, int64_t now_ns)
{
    double rate = rate_limit_get_rate(rl);
    double cap, quantum;

    if (rate == 0) {
        /* Once there is a limit, start from nothing, and without debts. */
        rl->credit_bytes = 0;
        rl->last_ns = now_ns;
        return 0;
    }

    /* Book what time has brought, at the rate that holds from now on. */
    rl->credit_bytes += rate * (double)(now_ns - rl->last_ns) / NS_PER_S;
    rl->last_ns = now_ns;

    cap = MAX(rate * RATE_LIMIT_BURST_NS / NS_PER_S, 1);
    rl->credit_bytes = MIN(rl->credit_bytes, cap);
    quantum = MAX(rate * RATE_LIMIT_QUANTUM_NS / NS_PER_S, 1);
    if (rl->credit_bytes < quantum) {
        double wait_ns = ceil((quantum - rl->credit_bytes) / rate * NS_PER_S);

        return (int64_t)CLAMP(wait_ns, 1, RATE_LIMIT_MAX_WAIT_NS);
    }
    return 0;
}
