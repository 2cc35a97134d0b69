/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ticks that a guest has seen: see guest-ticks.h. */
#include "qemu/osdep.h"

#include <math.h>

#include "guest-ticks.h"

#define PIT_HZ 1193182

static int64_t clock_ns(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* kvmclock goes with the one, the VMM's time with the other. */
static int64_t apart_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC) - clock_ns(CLOCK_MONOTONIC_RAW);
}

static double hz_of(const volatile struct clock_page *c)
{
    return c->tick_kind == TICK_PIT || c->tick_kind == TICK_IOAPIC
               ? (double)PIT_HZ / (double)(PIT_HZ / c->tick_hz)
               : (double)c->tick_hz;
}

TickCount ticks_begin(const uint8_t *ram, double allowed)
{
    return (
        TickCount){ .ram = ram, .allowed = allowed, .apart_ns = apart_ns() };
}

/* Below 0: more than are due. Whole readings only. */
static double missing(const volatile struct clock_page *c)
{
    uint64_t loop, ns, ticks;

    do {
        loop = c->end;
        __sync_synchronize(); /* the thread sanitizer has no fences */
        ns = c->now_kvm_ns - c->first_kvm_ns;
        ticks = c->now_ticks - c->first_ticks;
        __sync_synchronize(); /* the thread sanitizer has no fences */
    } while (loop != c->begin || loop != c->end);
    return (double)ns * 1e-9 * hz_of(c) - (double)ticks;
}

void ticks_assert_all(const TickCount *t)
{
    const volatile struct clock_page *c = clocks_page(t->ram, 0);
    gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
    double slack = t->allowed +
                   (double)ABS(apart_ns() - t->apart_ns) * 1e-9 * hz_of(c);
    double least = INFINITY, now;

    do {
        now = missing(c);
        if (now < -1 - slack) {
            g_error("%.2f ticks too many", -now);
        }
        least = MIN(least, now);
        if (g_get_monotonic_time() > end) {
            g_error("%.2f ticks of %" PRIu64 " are lost, %.2f is what clocks "
                    "cannot tell",
                    least, c->now_ticks, slack);
        }
        g_usleep(100);
    } while (now >= 1 + slack);
    g_test_message("%" PRIu64 " ticks, %.2f under way, to within %.2f",
                   c->now_ticks, now, slack);
}

void ticks_wait(const uint8_t *ram, unsigned cpu, uint64_t more)
{
    const volatile struct clock_page *c = clocks_page(ram, cpu);
    gint64 end = g_get_monotonic_time() + 30 * G_USEC_PER_SEC;
    uint64_t before = c->ticks;

    while (c->ticks < before + more) {
        if (g_get_monotonic_time() > end) {
            g_error("vCPU %u does not tick any more: %" PRIu64, cpu, c->ticks);
        }
        g_usleep(1000);
    }
}
