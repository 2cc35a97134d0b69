/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clocks and timers: see include/qemu/timer.h. */
#include "qemu/osdep.h"

#include "qemu/main-loop.h"
#include "qemu/timer.h"

typedef struct Shot {
    QEMUTimer *timer;
    char letter;
    int64_t seen_ns; /* the virtual clock when it fired */
    int64_t again_ns;
} Shot;

static GString *fired;

static void shot_fired(void *opaque)
{
    Shot *s = opaque;

    g_assert_true(bql_locked());
    g_string_append_c(fired, s->letter);
    s->seen_ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    if (s->again_ns) {
        timer_mod_ns(s->timer, s->seen_ns + s->again_ns);
    }
}

static Shot *shot_new(char letter, QEMUClockType type)
{
    Shot *s = g_new0(Shot, 1);

    s->letter = letter;
    s->timer = timer_new_ns(type, shot_fired, s);
    return s;
}

static void shot_free(Shot *s)
{
    timer_free(s->timer);
    g_free(s);
}

static void TSA_REQUIRES(bql) run_main_loop_for_ms(int ms)
{
    int64_t end_ns = get_clock() + ms * (int64_t)SCALE_MS;

    while (get_clock() < end_ns) {
        main_loop_iterate(false);
        g_usleep(200);
    }
}

static void TSA_REQUIRES(bql) test_realtime(void)
{
    Shot *a = shot_new('a', QEMU_CLOCK_REALTIME);
    Shot *b = shot_new('b', QEMU_CLOCK_REALTIME);
    int64_t now_ns = qemu_clock_get_ns(QEMU_CLOCK_REALTIME);

    g_assert_cmpuint(timer_expire_time_ns(a->timer), ==, UINT64_MAX);
    timer_mod_ns(a->timer, now_ns + 4 * SCALE_MS);
    timer_mod_ns(b->timer, now_ns + 2 * SCALE_MS);
    g_assert_true(timer_pending(a->timer));
    g_assert_cmpuint(timer_expire_time_ns(a->timer), ==, now_ns + 4 * SCALE_MS);
    while (timer_pending(a->timer)) {
        main_loop_iterate(true);
    }
    g_assert_cmpint(qemu_clock_get_ns(QEMU_CLOCK_REALTIME), >=,
                    now_ns + 4 * SCALE_MS);
    g_assert_cmpstr(fired->str, ==, "ba");
    shot_free(a);
    shot_free(b);
}

static void TSA_REQUIRES(bql) test_del(void)
{
    Shot *a = shot_new('a', QEMU_CLOCK_REALTIME);

    timer_mod_ns(a->timer, qemu_clock_get_ns(QEMU_CLOCK_REALTIME) + SCALE_MS);
    timer_del(a->timer);
    g_assert_false(timer_pending(a->timer));
    run_main_loop_for_ms(5);
    g_assert_cmpstr(fired->str, ==, "");
    shot_free(a);
}

static void test_anticipate(void)
{
    Shot *a = shot_new('a', QEMU_CLOCK_REALTIME);
    int64_t now_ns = get_clock();

    timer_mod_anticipate_ns(a->timer, now_ns + 3600 * NANOSECONDS_PER_SECOND);
    timer_mod_anticipate_ns(a->timer, now_ns + SCALE_MS);
    timer_mod_anticipate_ns(a->timer, now_ns + 60 * NANOSECONDS_PER_SECOND);
    g_assert_cmpuint(timer_expire_time_ns(a->timer), ==, now_ns + SCALE_MS);
    shot_free(a);
}

/* While the VM is stopped its clock stands still and its timers wait. */
static void TSA_REQUIRES(bql) test_virtual_stops(void)
{
    Shot *a = shot_new('a', QEMU_CLOCK_VIRTUAL);
    int64_t stopped_ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    CpuTimersState st;

    g_assert_false(cpu_ticks_enabled());
    timer_mod_ns(a->timer, stopped_ns + SCALE_MS);
    run_main_loop_for_ms(5);
    g_assert_cmpstr(fired->str, ==, "");
    g_assert_cmpint(qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL), ==, stopped_ns);

    cpu_enable_ticks();
    cpu_enable_ticks();
    while (timer_pending(a->timer)) {
        main_loop_iterate(true);
    }
    g_assert_cmpstr(fired->str, ==, "a");
    g_assert_cmpint(a->seen_ns, >=, stopped_ns + SCALE_MS);
    cpu_disable_ticks();

    /* What a stream carries, while stopped: the value itself. */
    st = cpu_timers_get_state();
    g_assert_cmpint(st.cpu_clock_offset, ==, cpu_get_clock());
    g_assert_cmpint(st.cpu_ticks_offset, ==, cpu_get_ticks());
    st.cpu_clock_offset += 77;
    cpu_timers_set_state(st);
    g_assert_cmpint(cpu_get_clock(), ==, st.cpu_clock_offset);
    shot_free(a);
}

/* From here on the virtual clock is stepped: this test comes last. */
static void TSA_REQUIRES(bql) test_manual(void)
{
    Shot *a = shot_new('a', QEMU_CLOCK_VIRTUAL);
    Shot *b = shot_new('b', QEMU_CLOCK_VIRTUAL);
    Shot *c = shot_new('c', QEMU_CLOCK_VIRTUAL);

    virtual_clock_set_manual();
    g_assert_cmpint(qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL), ==, 0);
    timer_mod_ns(a->timer, 100);
    a->again_ns = 100;
    timer_mod_ns(b->timer, 200);
    timer_mod_ns(c->timer, 300);
    g_assert_cmpint(qemu_clock_deadline_ns(QEMU_CLOCK_VIRTUAL), ==, 100);
    g_assert_cmpint(virtual_clock_warp(99), ==, 99);
    g_assert_cmpstr(fired->str, ==, "");
    /* At 200, b was set before a set itself again. */
    g_assert_cmpint(virtual_clock_warp(250), ==, 250);
    g_assert_cmpstr(fired->str, ==, "aba");
    g_assert_cmpint(a->seen_ns, ==, 200);
    g_assert_cmpint(b->seen_ns, ==, 200);
    g_assert_cmpint(virtual_clock_warp(100), ==, 250); /* never back */

    /* Overdue ones fire by themselves, but only in a running VM. */
    timer_del(a->timer);
    timer_del(c->timer);
    timer_mod_ns(b->timer, 10);
    run_main_loop_for_ms(3);
    g_assert_cmpstr(fired->str, ==, "aba");
    cpu_enable_ticks();
    run_main_loop_for_ms(3);
    g_assert_cmpstr(fired->str, ==, "abab");
    cpu_disable_ticks();
    shot_free(a);
    shot_free(b);
    shot_free(c);
}

static void fixture(gconstpointer test)
{
    fired = g_string_new(NULL);
    ((void (*)(void))test)();
    g_string_free(fired, TRUE);
}

int main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    timers_init();
    g_test_add_data_func("/timer/fires-in-order-and-not-early", test_realtime,
                         fixture);
    g_test_add_data_func("/timer/deleted-does-not-fire", test_del, fixture);
    g_test_add_data_func("/timer/anticipate-only-moves-forward",
                         test_anticipate, fixture);
    g_test_add_data_func("/timer/virtual/stands-still-while-stopped",
                         test_virtual_stops, fixture);
    g_test_add_data_func("/timer/virtual/stepped-by-hand", test_manual,
                         fixture);
    ret = g_test_run();
    bql_unlock();
    return ret;
}
