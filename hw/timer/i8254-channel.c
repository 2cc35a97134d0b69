/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A counter of the PIT as a function of time: see i8254-internal.h. */
#include "qemu/osdep.h"

#include "i8254-internal.h"

/* Ticks come no more often: a guest could occupy the main loop. */
#define MIN_PERIOD_CLOCKS 239 /* 200 us */

enum {
    MODE_COUNT, /* interrupt on terminal count */
    MODE_ONE_SHOT,
    MODE_RATE,
    MODE_SQUARE,
    MODE_STROBE,
    MODE_STROBE_BY_GATE,
};

/* 6 and 7 are 2 and 3. */
static unsigned mode_of(const PitChannel *c)
{
    return c->mode & 2 ? c->mode & 3 : c->mode & 7;
}

/* Clocks since it was loaded. */
static int64_t clocks_at(const PitChannel *c, int64_t now_ns)
{
    __int128 ns = (__int128)now_ns - c->load_time_ns;

    return ns < 0 ? 0 : (int64_t)(ns * PIT_HZ / NANOSECONDS_PER_SECOND);
}

uint16_t pit_channel_count(const PitChannel *c, int64_t now_ns)
{
    int64_t d = clocks_at(c, now_ns);

    switch (mode_of(c)) {
    case MODE_RATE:
        return c->count - d % c->count;
    case MODE_SQUARE: /* by two, twice */
        return (c->count - 2 * d % c->count) & ~1;
    default: /* goes on below 0 */
        return c->count - d;
    }
}

bool pit_channel_out(const PitChannel *c, int64_t now_ns)
{
    int64_t d = clocks_at(c, now_ns);

    switch (mode_of(c)) {
    case MODE_COUNT:
    case MODE_ONE_SHOT:
        return d >= c->count;
    case MODE_RATE: /* low for the last clock */
        return !c->gate || d % c->count != c->count - 1;
    case MODE_SQUARE:
        return !c->gate || d % c->count < (c->count + 1) / 2;
    default:
        return d != c->count;
    }
}

bool pit_channel_is_periodic(const PitChannel *c)
{
    return c->mode <= 7 && (c->mode & 2);
}

bool pit_channel_ticks(const PitChannel *c)
{
    return c->mode <= 7;
}

static int64_t period_clocks(const PitChannel *c)
{
    return MAX(c->count, MIN_PERIOD_CLOCKS);
}

int64_t pit_channel_tick_ns(const PitChannel *c, int64_t n)
{
    __int128 ns = (__int128)period_clocks(c) * n * NANOSECONDS_PER_SECOND;

    ns = (ns + PIT_HZ - 1) / PIT_HZ + c->load_time_ns;
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

int64_t pit_channel_tick_at(const PitChannel *c, int64_t ns)
{
    int64_t period = period_clocks(c), n;

    if (!pit_channel_ticks(c)) {
        return 0;
    }
    n = (clocks_at(c, ns) + period - 1) / period;
    n = MAX(n, 1);
    if (!pit_channel_is_periodic(c)) {
        return n > 1 ? 0 : 1;
    }
    return pit_channel_tick_ns(c, n) < ns ? n + 1 : n;
}

bool pit_channel_valid(const PitChannel *c)
{
    return c->count >= 1 && c->count <= 0x10000 &&
           (c->mode <= 7 || c->mode == PIT_MODE_UNSET) && c->rw_mode <= 3 &&
           c->read_state <= PIT_WORD_MSB && c->write_state <= PIT_WORD_MSB &&
           c->count_latched <= PIT_WORD_MSB;
}
