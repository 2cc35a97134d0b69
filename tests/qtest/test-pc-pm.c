/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Power management of a PC: sleep and waking, power off, resets, debug exit. */
#include "qemu/osdep.h"

#include "libqtest.h"

#define S_NS    INT64_C(1000000000)
#define PM1_STS 0x600
#define PM1_EN  0x602
#define PM1_CNT 0x604
#define PM_TMR  0x608
#define SCI     9
#define MARK    0x200000
#define S3      0x2401

static QTestState *start(const char *more)
{
    QTestState *s = qtest_startf("-M %s -m 4M", more);

    qtest_irq_intercept_in(s, "/machine/ioapic");
    return s;
}

static void ok(QTestState *s, const char *command)
{
    json_object_put(qtest_qmp_ok(s, "{'execute':'%s'}", command));
}

static void expect_event(QTestState *s, const char *name)
{
    json_object_put(qtest_event(s, name));
}

static void expect_cause(QTestState *s, const char *event, const char *reason)
{
    json_object *ev = qtest_event(s, event);

    g_assert_true(json_path_bool(ev, "data.guest"));
    g_assert_cmpstr(json_path_str(ev, "data.reason"), ==, reason);
    json_object_put(ev);
}

static void sleep_s3(QTestState *s)
{
    qtest_outb(s, 0xb2, 0xf1);
    qtest_outw(s, PM1_CNT, S3);
    expect_event(s, "SUSPEND");
    qtest_assert_status(s, "suspended");
}

static void test_sleep_and_wake(gconstpointer machine)
{
    QTestState *s = start(machine);
    json_object *ret;

    ret = qtest_qmp_ok(s, "{'execute':'query-current-machine'}");
    g_assert_true(json_path_bool(ret, "wakeup-suspend-support"));
    json_object_put(ret);
    g_free(qtest_qmp_fail(s, "{'execute':'system_wakeup'}"));

    qtest_writel(s, MARK, 0x12345678);
    qtest_outb(s, 0x3f8 + 7, 0x55);
    sleep_s3(s);
    ret = qtest_qmp_ok(s, "{'execute':'query-status'}");
    g_assert_false(json_path_bool(ret, "running"));
    json_object_put(ret);
    ok(s, "cont"); /* does not wake it */
    qtest_assert_status(s, "suspended");

    qtest_events_clear(s);
    ok(s, "system_wakeup");
    qtest_assert_status(s, "running");
    expect_event(s, "WAKEUP");
    g_assert_null(qtest_event_timeout(s, "RESET", 50));
    g_assert_cmphex(qtest_readl(s, MARK), ==, 0x12345678); /* RAM is kept */
    g_assert_cmphex(qtest_inb(s, 0x3f8 + 7), ==, 0);       /* devices reset */
    g_assert_cmphex(qtest_inw(s, PM1_STS) & 0x8100, ==, 0x8100);
    qtest_outw(s, PM1_STS, 0x8100);
    g_assert_cmphex(qtest_inw(s, PM1_STS) & 0x8100, ==, 0);
    qtest_quit(s);
}

/* Stopped while it sleeps, it sleeps on when started. */
static void test_stop_while_asleep(void)
{
    QTestState *s = start("q35");

    sleep_s3(s);
    ok(s, "stop");
    expect_event(s, "STOP");
    qtest_assert_status(s, "paused");
    g_free(qtest_qmp_fail(s, "{'execute':'system_wakeup'}"));
    qtest_events_clear(s);
    ok(s, "cont");
    expect_event(s, "RESUME");
    qtest_assert_status(s, "suspended");
    ok(s, "system_wakeup");
    expect_event(s, "WAKEUP");
    qtest_assert_status(s, "running");
    qtest_quit(s);
}

static void test_reset_while_asleep(void)
{
    QTestState *s = start("q35");

    sleep_s3(s);
    ok(s, "system_reset");
    expect_event(s, "RESET");
    qtest_wait_status(s, "prelaunch");
    ok(s, "cont");
    qtest_assert_status(s, "running");
    qtest_quit(s);
}

static void migrate(QTestState *from, QTestState *to)
{
    g_autofree char *uri = g_strdup_printf("unix:%s/m", qtest_dir(from));

    json_object_put(qtest_qmp_ok(
        to, "{'execute':'migrate-incoming','arguments':{'uri':'%s'}}", uri));
    json_object_put(qtest_qmp_ok(
        from, "{'execute':'migrate','arguments':{'uri':'%s'}}", uri));
    qtest_wait_status(from, "postmigrate");
}

static void test_migrate_asleep(void)
{
    QTestState *s = start("q35");
    QTestState *to = start("q35 -incoming defer");

    qtest_writel(s, MARK, 0xfeedface);
    qtest_outw(s, PM1_EN, 0x0100);
    sleep_s3(s);
    migrate(s, to);
    expect_event(to, "RESUME");
    qtest_assert_status(to, "suspended");
    g_assert_cmphex(qtest_readl(to, MARK), ==, 0xfeedface);
    ok(to, "system_wakeup");
    expect_event(to, "WAKEUP");
    qtest_assert_status(to, "running");
    g_assert_cmphex(qtest_readl(to, MARK), ==, 0xfeedface);
    g_assert_cmphex(qtest_inw(to, PM1_STS) & 0x8100, ==, 0x8100);
    qtest_quit(to);
    /* And the source, started again, sleeps on as well. */
    ok(s, "cont");
    qtest_assert_status(s, "suspended");
    qtest_quit(s);
}

/* Paused while asleep: paused at the target, and asleep when started. */
static void test_migrate_stopped_asleep(void)
{
    QTestState *s = start("q35");
    QTestState *to = start("q35 -incoming defer");

    sleep_s3(s);
    ok(s, "stop");
    migrate(s, to);
    qtest_wait_status(to, "paused");
    ok(to, "cont");
    expect_event(to, "RESUME");
    qtest_assert_status(to, "suspended");
    qtest_quit(to);
    qtest_quit(s);
}

/* A target with -S is left stopped, and sleeps when it is started. */
static void test_migrate_asleep_to_stopped(void)
{
    QTestState *s = start("q35");
    QTestState *to = start("q35 -S -incoming defer");

    sleep_s3(s);
    migrate(s, to);
    qtest_wait_status(to, "paused");
    ok(to, "cont");
    qtest_assert_status(to, "suspended");
    qtest_quit(to);
    qtest_quit(s);
}

static void cmos_out(QTestState *s, uint8_t reg, uint8_t v)
{
    qtest_outb(s, 0x70, reg);
    qtest_outb(s, 0x71, v);
}

static void set_alarm(QTestState *s)
{
    cmos_out(s, 1, 0x05);
    cmos_out(s, 3, 0xff);
    cmos_out(s, 5, 0xff);
    cmos_out(s, 0x0b, 0x22);
}

static void test_wake_by_alarm(void)
{
    QTestState *s = start("q35 -rtc clock=vm,base=2024-01-01");

    set_alarm(s);
    sleep_s3(s); /* PM1 does not let it wake */
    qtest_clock_step(s, 120 * S_NS);
    qtest_assert_status(s, "suspended");
    ok(s, "system_wakeup");
    qtest_assert_status(s, "running");

    set_alarm(s);
    qtest_outw(s, PM1_EN, 0x0400);
    sleep_s3(s);
    qtest_clock_step(s, 4 * S_NS);
    qtest_assert_status(s, "suspended");
    qtest_clock_step(s, 1 * S_NS);
    qtest_assert_status(s, "running");
    g_assert_cmphex(qtest_inw(s, PM1_STS) & 0x8500, ==, 0x8400);
    qtest_quit(s);
}

static void test_wake_by_pm_timer(void)
{
    QTestState *s = start("q35");

    qtest_outw(s, PM1_EN, 0x0001);
    qtest_outw(s, PM1_STS, 0x0001);
    sleep_s3(s);
    qtest_clock_step(s, 2 * S_NS);
    qtest_assert_status(s, "suspended");
    qtest_clock_step(s, 1 * S_NS);
    qtest_assert_status(s, "running");
    g_assert_cmphex(qtest_inw(s, PM1_STS) & 0x8001, ==, 0x8001);
    qtest_quit(s);
}

static void test_disabled_s3(void)
{
    QTestState *s = start("q35 -global ICH9-LPC.disable_s3=1");
    g_autofree char *words = NULL;

    qtest_outw(s, PM1_CNT, S3);
    g_assert_null(qtest_event_timeout(s, "SUSPEND", 50));
    qtest_assert_status(s, "running");
    words = qtest_qmp_fail(s, "{'execute':'system_wakeup'}");
    g_assert_cmpstr(words, ==,
                    "wake-up from suspend is not supported by this guest");
    qtest_quit(s);
}

static void test_power_off(void)
{
    QTestState *s = start("q35");

    qtest_outw(s, PM1_CNT, 0x2001);
    expect_cause(s, "SHUTDOWN", "guest-shutdown");
    g_assert_cmpint(qtest_wait_exit(s), ==, 0);
    qtest_free(s);

    s = start("pc");
    qtest_outw(s, PM1_CNT, 0x2801); /* S4 */
    expect_event(s, "SUSPEND_DISK");
    expect_cause(s, "SHUTDOWN", "guest-shutdown");
    g_assert_cmpint(qtest_wait_exit(s), ==, 0);
    qtest_free(s);
}

static void test_power_button(void)
{
    QTestState *s = start("q35");

    qtest_outw(s, PM1_EN, 0x0100);
    g_assert_false(qtest_get_irq(s, SCI));
    ok(s, "system_powerdown");
    expect_event(s, "POWERDOWN");
    g_assert_cmphex(qtest_inw(s, PM1_STS) & 0x0100, ==, 0x0100);
    g_assert_true(qtest_get_irq(s, SCI));
    qtest_outw(s, PM1_STS, 0x0100);
    g_assert_false(qtest_get_irq(s, SCI));
    g_assert_cmphex(qtest_inw(s, PM1_STS) & 0x0100, ==, 0);
    qtest_quit(s);
}

static void test_pm_timer(void)
{
    QTestState *s = start("q35");
    uint32_t t0 = qtest_inl(s, PM_TMR);

    qtest_clock_step(s, S_NS);
    g_assert_cmpint(qtest_inl(s, PM_TMR) - t0, ==, 3579545);
    qtest_clock_step(s, 10 * S_NS);
    g_assert_cmphex(qtest_inl(s, PM_TMR), <=, 0xffffff);
    /* Bit 23 changes: the status, and with it enabled the SCI. */
    g_assert_cmphex(qtest_inw(s, PM1_STS) & 1, ==, 1);
    qtest_outw(s, PM1_STS, 1);
    g_assert_cmphex(qtest_inw(s, PM1_STS) & 1, ==, 0);
    qtest_outw(s, PM1_EN, 1);
    g_assert_false(qtest_get_irq(s, SCI));
    qtest_clock_step(s, INT64_C(2400000000));
    g_assert_true(qtest_get_irq(s, SCI));
    qtest_outw(s, PM1_EN, 0);
    g_assert_false(qtest_get_irq(s, SCI));
    qtest_quit(s);
}

/* Bytes and double words of the registers. */
static void test_access_sizes(void)
{
    QTestState *s = start("q35");

    qtest_outl(s, PM1_STS, 0x01210000);
    g_assert_cmphex(qtest_inw(s, PM1_EN), ==, 0x0121);
    g_assert_cmphex(qtest_inb(s, PM1_EN + 1), ==, 0x01);
    qtest_outb(s, PM1_EN, 0x20);
    g_assert_cmphex(qtest_inl(s, PM1_STS) >> 16, ==, 0x0120);
    ok(s, "system_powerdown");
    qtest_outb(s, PM1_STS, 0xff); /* not its half */
    g_assert_cmphex(qtest_inb(s, PM1_STS + 1), ==, 0x01);
    qtest_outb(s, PM1_STS + 1, 0x01);
    g_assert_cmphex(qtest_inb(s, PM1_STS + 1), ==, 0);
    g_assert_cmphex(qtest_inw(s, PM1_CNT), ==, 0x0001);
    qtest_outb(s, 0xb2, 3); /* ACPI off, by APM */
    g_assert_cmphex(qtest_inw(s, PM1_CNT), ==, 0);
    qtest_outb(s, 0xb2, 2);
    g_assert_cmphex(qtest_inw(s, PM1_CNT), ==, 1);
    qtest_outb(s, 0xb3, 0x42);
    g_assert_cmphex(qtest_inw(s, 0xb2), ==, 0x4202);
    qtest_outb(s, 0x628, 0x99); /* GPE0 enable */
    g_assert_cmphex(qtest_inb(s, 0x628), ==, 0x99);
    g_assert_cmphex(qtest_inb(s, 0x620), ==, 0);
    qtest_quit(s);
}

static void test_guest_resets(void)
{
    QTestState *s = start("q35");

    qtest_outb(s, 0x92, 0x02); /* A20 alone does nothing */
    g_assert_cmphex(qtest_inb(s, 0x92), ==, 0x02);
    g_assert_null(qtest_event_timeout(s, "RESET", 50));
    qtest_outb(s, 0x92, 0x03);
    expect_cause(s, "RESET", "guest-reset");
    g_assert_cmphex(qtest_inb(s, 0x92), ==, 0x02);

    qtest_outb(s, 0xcf9, 0x02); /* what kind, not yet when */
    g_assert_cmphex(qtest_inb(s, 0xcf9), ==, 0x02);
    g_assert_null(qtest_event_timeout(s, "RESET", 50));
    qtest_outb(s, 0xcf9, 0x06);
    expect_cause(s, "RESET", "guest-reset");
    g_assert_cmphex(qtest_inb(s, 0xcf9), ==, 0);
    qtest_assert_status(s, "running");
    qtest_quit(s);
}

static void test_debug_exit(void)
{
    QTestState *s = start("q35 -device isa-debug-exit,iobase=0xf4,iosize=4");

    g_assert_cmphex(qtest_inl(s, 0xf4), ==, 0);
    qtest_outl(s, 0xf4, 0x21);
    expect_cause(s, "SHUTDOWN", "guest-shutdown");
    g_assert_cmpint(qtest_wait_exit(s), ==, 0x43);
    qtest_free(s);

    s = start("pc -device isa-debug-exit");
    qtest_outb(s, 0x501, 0);
    g_assert_cmpint(qtest_wait_exit(s), ==, 1);
    qtest_free(s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/pc-pm/sleep-and-wake/q35", "q35",
                         test_sleep_and_wake);
    g_test_add_data_func("/pc-pm/sleep-and-wake/pc", "pc", test_sleep_and_wake);
    g_test_add_func("/pc-pm/stop-while-asleep", test_stop_while_asleep);
    g_test_add_func("/pc-pm/reset-while-asleep", test_reset_while_asleep);
    g_test_add_func("/pc-pm/migrate-asleep", test_migrate_asleep);
    g_test_add_func("/pc-pm/migrate-stopped-asleep",
                    test_migrate_stopped_asleep);
    g_test_add_func("/pc-pm/migrate-asleep-to-stopped",
                    test_migrate_asleep_to_stopped);
    g_test_add_func("/pc-pm/wake-by-alarm", test_wake_by_alarm);
    g_test_add_func("/pc-pm/wake-by-pm-timer", test_wake_by_pm_timer);
    g_test_add_func("/pc-pm/disabled-s3", test_disabled_s3);
    g_test_add_func("/pc-pm/power-off", test_power_off);
    g_test_add_func("/pc-pm/power-button", test_power_button);
    g_test_add_func("/pc-pm/pm-timer", test_pm_timer);
    g_test_add_func("/pc-pm/access-sizes", test_access_sizes);
    g_test_add_func("/pc-pm/guest-resets", test_guest_resets);
    g_test_add_func("/pc-pm/debug-exit", test_debug_exit);
    return g_test_run();
}
