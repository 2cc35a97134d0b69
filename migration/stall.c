/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding out that a migration is stalled: see stall.h. */
#include "qemu/osdep.h"

#include "stall.h"

/* Less of what was sent than one in so many made it smaller: no progress. */
#define PROGRESS_SHARE 20
#define PAGE_BYTES     4096

void stall_reset(MigrationStall *st)
{
    st->sample_ns = st->cost_ns = st->window_begin_ns = 0;
    st->has_before = false;
    atomic_store(&st->since_ns, 0);
    atomic_store(&st->needed_ns, 0);
    atomic_store(&st->lowest_bytes, 0);
    atomic_store(&st->stalls, 0);
}

bool stall_sample_is_due(const MigrationStall *st, int64_t now_ns)
{
    return now_ns - st->sample_ns >=
           MAX(STALL_SAMPLE_NS, st->cost_ns * STALL_SAMPLE_PER_COST);
}

static void begin_window(MigrationStall *st, int64_t now_ns, uint64_t remaining,
                         uint64_t sent)
{
    st->window_begin_ns = now_ns;
    st->window_sent = sent;
    st->low = remaining;
}

/* Returns whether there was progress from the window before to this one. */
static bool has_shrunk(const MigrationStall *st, uint64_t sent)
{
    uint64_t want = MAX((sent - st->window_sent) / PROGRESS_SHARE, 1);

    return !st->has_before || st->low + want <= st->before;
}

bool stall_sample(MigrationStall *st, int64_t now_ns, uint64_t remaining,
                  uint64_t sent)
{
    bool is_new = false;

    st->sample_ns = now_ns;
    if (!st->window_begin_ns) {
        begin_window(st, now_ns, remaining, sent);
        return false;
    }
    st->low = MIN(st->low, remaining);
    if (now_ns - st->window_begin_ns < STALL_WINDOW_NS) {
        return false;
    }
    if (has_shrunk(st, sent)) {
        atomic_store(&st->since_ns, 0);
    } else if (!stall_since_ns(st)) {
        atomic_store(&st->since_ns, st->window_begin_ns);
        atomic_fetch_add(&st->stalls, 1);
        is_new = true;
    }
    st->before = st->low;
    st->has_before = true;
    atomic_store(&st->lowest_bytes, st->low * PAGE_BYTES);
    begin_window(st, now_ns, remaining, sent);
    return is_new;
}
