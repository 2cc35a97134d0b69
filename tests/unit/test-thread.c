/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of include/qemu/thread.h and main-loop.h, one per promise. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"

static void *take_bql(void *opaque)
{
    uint64_t before = bql_acquisitions_of_this_thread();

    bql_lock();
    g_assert_true(bql_locked());
    *(int *)opaque += 1;
    bql_unlock();
    g_assert_cmpuint(bql_acquisitions_of_this_thread() - before, ==, 1);
    main_loop_quit();
    return NULL;
}

static void TSA_REQUIRES(bql) test_poll_gives_up_bql(void)
{
    QemuThread thread;
    int n = 0;

    g_assert_true(bql_locked());
    qemu_thread_create(&thread, "taker", take_bql, &n, QEMU_THREAD_JOINABLE,
                       &error_abort);
    main_loop_run();
    g_assert_true(bql_locked());
    qemu_thread_join(&thread);
    g_assert_cmpint(n, ==, 1);
}

static void append_a(void *opaque)
{
    g_string_append_c(opaque, 'a');
}

static void append_b(void *opaque)
{
    g_assert_true(bql_locked());
    g_string_append_c(opaque, 'b');
    main_loop_quit();
}

static void TSA_REQUIRES(bql) test_bottom_halves_in_order(void)
{
    GString *s = g_string_new(NULL);

    aio_bh_schedule_oneshot(append_a, s);
    aio_bh_schedule_oneshot(append_a, s);
    aio_bh_schedule_oneshot(append_b, s);
    main_loop_run();
    g_assert_cmpstr(s->str, ==, "aab");
    g_string_free(s, TRUE);
}

static void test_timeouts(void)
{
    QemuSemaphore sem;
    QemuEvent ev;

    qemu_sem_init(&sem, 1);
    g_assert_true(qemu_sem_timedwait(&sem, 0));
    g_assert_false(qemu_sem_timedwait(&sem, 1));
    qemu_sem_destroy(&sem);

    qemu_event_init(&ev, false);
    g_assert_false(qemu_event_timedwait(&ev, 1));
    qemu_event_set(&ev);
    g_assert_true(qemu_event_timedwait(&ev, 0));
    qemu_event_destroy(&ev);
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    g_test_add_func("/bql/poll-gives-it-up", test_poll_gives_up_bql);
    g_test_add_func("/bh/in-order", test_bottom_halves_in_order);
    g_test_add_func("/thread/timeouts", test_timeouts);
    return g_test_run();
}
