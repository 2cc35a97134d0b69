/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The real-time clock of a PC, on guest time that the test steps. */
#include "qemu/osdep.h"

#include "libqtest.h"

#define S_NS  INT64_C(1000000000)
#define MS_NS INT64_C(1000000)
#define IRQ8  8

static QTestState *start(const char *base)
{
    QTestState *s = qtest_startf("-M q35 -m 4M -rtc clock=vm,base=%s", base);

    qtest_irq_intercept_in(s, "/machine/ioapic");
    return s;
}

static uint8_t in(QTestState *s, uint8_t reg)
{
    qtest_outb(s, 0x70, reg);
    return qtest_inb(s, 0x71);
}

static void out(QTestState *s, uint8_t reg, uint8_t v)
{
    qtest_outb(s, 0x70, reg);
    qtest_outb(s, 0x71, v);
}

/* YYMMDD HHMMSS as the registers show it, BCD read as decimal digits. */
static void expect_time(QTestState *s, uint32_t date, uint32_t time)
{
    g_assert_cmphex(in(s, 9) << 16 | in(s, 8) << 8 | in(s, 7), ==, date);
    g_assert_cmphex(in(s, 4) << 16 | in(s, 2) << 8 | in(s, 0), ==, time);
}

static void test_time(void)
{
    QTestState *s = start("2024-02-28T23:59:58");

    expect_time(s, 0x240228, 0x235958);
    g_assert_cmphex(in(s, 0x32), ==, 0x20); /* century */
    g_assert_cmphex(in(s, 6), ==, 4);       /* Wednesday */
    g_assert_cmphex(in(s, 0x0d), ==, 0x80);
    g_assert_cmphex(qtest_inb(s, 0x70), ==, 0xff);
    qtest_clock_step(s, 1 * S_NS);
    expect_time(s, 0x240228, 0x235959);
    qtest_clock_step(s, 1 * S_NS);
    expect_time(s, 0x240229, 0x000000); /* a leap year */
    qtest_clock_step(s, 86400 * S_NS);
    expect_time(s, 0x240301, 0x000000);
    qtest_quit(s);
}

static void test_formats(void)
{
    QTestState *s = start("1999-12-31T15:45:30");

    expect_time(s, 0x991231, 0x154530);
    g_assert_cmphex(in(s, 0x32), ==, 0x19);
    out(s, 0x0b, 0x06); /* binary */
    g_assert_cmpint(in(s, 9), ==, 99);
    g_assert_cmpint(in(s, 4), ==, 15);
    g_assert_cmpint(in(s, 2), ==, 45);
    out(s, 0x0b, 0x04); /* 12 hours */
    g_assert_cmphex(in(s, 4), ==, 0x80 | 3);
    qtest_clock_step(s, INT64_C(9) * 3600 * S_NS);
    g_assert_cmphex(in(s, 4), ==, 12); /* midnight */
    g_assert_cmpint(in(s, 9), ==, 0);
    g_assert_cmpint(in(s, 0x32), ==, 20);
    qtest_quit(s);
}

static void test_set(void)
{
    QTestState *s = start("2024-01-01");

    out(s, 0x0b, 0x82); /* SET: frozen */
    out(s, 0, 0x50);
    out(s, 2, 0x59);
    out(s, 4, 0x12);
    qtest_clock_step(s, 30 * S_NS);
    expect_time(s, 0x240101, 0x125950);
    out(s, 0x0b, 0x02);
    qtest_clock_step(s, 10 * S_NS);
    expect_time(s, 0x240101, 0x130000);
    out(s, 7, 0x15); /* and without SET */
    expect_time(s, 0x240115, 0x130000);
    /* The divider in reset: half a second to the first update. */
    out(s, 0x0a, 0x76);
    qtest_clock_step(s, 5 * S_NS);
    out(s, 0x0a, 0x26);
    qtest_clock_step(s, 499 * MS_NS);
    expect_time(s, 0x240115, 0x130000);
    qtest_clock_step(s, 2 * MS_NS);
    expect_time(s, 0x240115, 0x130001);
    qtest_quit(s);
}

static void test_update_interrupt(void)
{
    QTestState *s = start("2024-01-01");

    in(s, 0x0c);
    out(s, 0x0b, 0x12);
    g_assert_false(qtest_get_irq(s, IRQ8));
    qtest_clock_step(s, S_NS / 2);
    g_assert_false(qtest_get_irq(s, IRQ8));
    qtest_clock_step(s, S_NS / 2);
    g_assert_true(qtest_get_irq(s, IRQ8));
    g_assert_cmphex(in(s, 0x0c), ==, 0x90);
    g_assert_false(qtest_get_irq(s, IRQ8));
    g_assert_cmphex(in(s, 0x0c), ==, 0);
    qtest_clock_step(s, S_NS);
    g_assert_true(qtest_get_irq(s, IRQ8));
    /* Update in progress: the last 244 us of a second. */
    qtest_clock_step(s, S_NS - 245000);
    g_assert_cmphex(in(s, 0x0a), ==, 0x26);
    qtest_clock_step(s, 2000);
    g_assert_cmphex(in(s, 0x0a), ==, 0xa6);
    qtest_clock_step(s, 250000);
    g_assert_cmphex(in(s, 0x0a), ==, 0x26);
    qtest_quit(s);
}

static void test_alarm(void)
{
    QTestState *s = start("2024-01-01T10:00:00");

    out(s, 1, 0x30);
    out(s, 3, 0x01);
    out(s, 5, 0x10);
    in(s, 0x0c);
    out(s, 0x0b, 0x22);
    qtest_clock_step(s, 89 * S_NS);
    g_assert_false(qtest_get_irq(s, IRQ8));
    qtest_clock_step(s, 1 * S_NS);
    g_assert_true(qtest_get_irq(s, IRQ8));
    g_assert_cmphex(in(s, 0x0c), ==, 0xb0);
    /* Any hour, any minute. */
    out(s, 3, 0xff);
    out(s, 5, 0xc0);
    qtest_clock_step(s, 59 * S_NS);
    g_assert_false(qtest_get_irq(s, IRQ8));
    qtest_clock_step(s, 1 * S_NS);
    g_assert_true(qtest_get_irq(s, IRQ8));
    in(s, 0x0c);
    /* No such time. */
    out(s, 1, 0x61);
    qtest_clock_step(s, 7200 * S_NS);
    g_assert_false(qtest_get_irq(s, IRQ8));
    qtest_quit(s);
}

static int64_t us_of_writes(QTestState *s, uint8_t alarm_s)
{
    int64_t begin_us = g_get_monotonic_time();

    for (unsigned i = 0; i < 300; i++) {
        out(s, 1, alarm_s);
    }
    return g_get_monotonic_time() - begin_us;
}

/* The guest cannot keep us looking for a second that never comes. */
static void test_no_such_alarm(void)
{
    QTestState *s = start("2024-01-01");
    int64_t possible_us, impossible_us;
    unsigned tries = 0;

    out(s, 3, 0xff);
    out(s, 5, 0xc0);
    do {
        possible_us = us_of_writes(s, 0x30);
        impossible_us = us_of_writes(s, 0x61);
        g_test_message("%" PRId64 " and %" PRId64 " us", possible_us,
                       impossible_us);
        g_assert_cmpuint(++tries, <, 10);
    } while (impossible_us > 3 * possible_us);
    qtest_quit(s);
}

static void test_periodic(void)
{
    QTestState *s = start("2024-01-01");
    int got = 0;

    out(s, 0x0a, 0x26); /* 1024 Hz */
    out(s, 0x0b, 0x42);
    for (int i = 0; i < 2048; i++) {
        qtest_clock_step(s, S_NS / 1024);
        got += (in(s, 0x0c) & 0x40) != 0;
    }
    g_assert_cmpint(got, >=, 2046);
    out(s, 0x0a, 0x2f); /* 2 Hz */
    in(s, 0x0c);
    qtest_clock_step(s, S_NS / 2 + 1000);
    g_assert_cmphex(in(s, 0x0c) & 0xc0, ==, 0xc0);
    out(s, 0x0b, 0x02);
    qtest_clock_step(s, 2 * S_NS);
    g_assert_cmphex(in(s, 0x0c) & 0x40, ==, 0);
    g_assert_false(qtest_get_irq(s, IRQ8));
    qtest_quit(s);
}

/* A reset stops interrupts, not the clock; CMOS memory stays. */
static void test_reset(void)
{
    QTestState *s = start("2024-01-01T01:02:03");

    out(s, 0x0b, 0x72);
    out(s, 0x7f, 0xa5);
    qtest_clock_step(s, 2 * S_NS);
    g_assert_true(qtest_get_irq(s, IRQ8));
    json_object_put(qtest_qmp_ok(s, "{'execute':'system_reset'}"));
    json_object_put(qtest_event(s, "RESET"));
    g_assert_cmphex(in(s, 0x0b), ==, 0x02);
    g_assert_false(qtest_get_irq(s, IRQ8));
    expect_time(s, 0x240101, 0x010205);
    g_assert_cmphex(in(s, 0x7f), ==, 0xa5);
    qtest_quit(s);
}

static void test_cmos(void)
{
    QTestState *s = qtest_start("-M q35 -m 5G -smp 3");

    g_assert_cmphex(in(s, 0x16) << 8 | in(s, 0x15), ==, 640);
    g_assert_cmphex(in(s, 0x31) << 8 | in(s, 0x30), ==, 0xffff);
    g_assert_cmphex(in(s, 0x35) << 8 | in(s, 0x34), ==,
                    (0x80000000u - (16 << 20)) >> 16);
    g_assert_cmphex(in(s, 0x5d) << 16 | in(s, 0x5c) << 8 | in(s, 0x5b), ==,
                    (INT64_C(3) << 30) >> 16);
    g_assert_cmphex(in(s, 0x5f), ==, 2);
    qtest_quit(s);
}

/* The target's clock is behind: the guest's does not go back. */
static void test_migration(void)
{
    QTestState *s = start("2030-06-01T08:00:00");
    QTestState *to = qtest_start("-M q35 -m 4M -rtc clock=vm,base=2001-01-01 "
                                 "-incoming defer");
    g_autofree char *uri = g_strdup_printf("unix:%s/m", qtest_dir(s));

    out(s, 0x0b, 0x12);
    qtest_clock_step(s, 100 * S_NS);
    json_object_put(qtest_qmp_ok(
        to, "{'execute':'migrate-incoming','arguments':{'uri':'%s'}}", uri));
    json_object_put(
        qtest_qmp_ok(s, "{'execute':'migrate','arguments':{'uri':'%s'}}", uri));
    json_object_put(qtest_event(to, "RESUME"));
    expect_time(to, 0x300601, 0x080140);
    g_assert_cmphex(in(to, 0x0c), ==, 0x90);
    qtest_clock_step(to, S_NS);
    g_assert_cmphex(in(to, 0x0c), ==, 0x90);
    expect_time(to, 0x300601, 0x080141);
    qtest_quit(to);
    qtest_quit(s);
}

static void test_wrong_options(void)
{
    static const struct {
        const char *arg, *text;
    } wrong[] = {
        { "base=yesterday", "expected utc, localtime, or a date" },
        { "base=2024-01-01T1", "expected utc, localtime, or a date" },
        { "clock=sun", "expected host, rt, or vm" },
        { "driftfix=slew", "'driftfix=slew' is not supported" },
        { "tz=5", "'tz=5' is not supported" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autofree char *args = g_strdup_printf("-M q35 -accel qtest -rtc %s",
                                                wrong[i].arg);
        g_autofree char *err = NULL;

        g_assert_cmpint(qtest_run(args, NULL, &err), ==, 1);
        g_assert_nonnull(strstr(err, wrong[i].text));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pc-rtc/time", test_time);
    g_test_add_func("/pc-rtc/formats", test_formats);
    g_test_add_func("/pc-rtc/set", test_set);
    g_test_add_func("/pc-rtc/update-interrupt", test_update_interrupt);
    g_test_add_func("/pc-rtc/alarm", test_alarm);
    g_test_add_func("/pc-rtc/no-such-alarm", test_no_such_alarm);
    g_test_add_func("/pc-rtc/periodic", test_periodic);
    g_test_add_func("/pc-rtc/reset", test_reset);
    g_test_add_func("/pc-rtc/cmos", test_cmos);
    g_test_add_func("/pc-rtc/migration", test_migration);
    g_test_add_func("/pc-rtc/wrong-options", test_wrong_options);
    return g_test_run();
}
