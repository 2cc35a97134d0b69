/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The qtest protocol: its table stands in accel/qtest/qtest-server.c. */
#include "qemu/osdep.h"

#include "libqtest.h"

static void check_line(QTestState *s, const char *line, const char *expected)
{
    g_autofree char *answer = qtest_line(s, "%s", line);

    g_assert_cmpstr(answer, ==, expected);
}

static void check_fails(QTestState *s, const char *line)
{
    g_autofree char *answer = qtest_line(s, "%s", line);

    g_test_message("%s -> %s", line, answer);
    g_assert_true(g_str_has_prefix(answer, "FAIL"));
}

static void test_values(void)
{
    QTestState *s = qtest_start("-M none -m 16M");

    check_line(s, "endianness", "OK little");
    check_line(s, "readb 0x1000", "OK 0x0000000000000000");
    check_line(s, "writeq 0x1000 0x1122334455667788", "OK");
    check_line(s, "readb 0x1000", "OK 0x0000000000000088");
    check_line(s, "readw 0x1001", "OK 0x0000000000006677");
    check_line(s, "readl 4100", "OK 0x0000000011223344");
    check_line(s, "readq 0x1000", "OK 0x1122334455667788");
    check_line(s, "writeb 0x1000 1", "OK");
    check_line(s, "writew 0x1001 0x0302", "OK");
    check_line(s, "writel 0x1004 0xffffffff", "OK");
    check_line(s, "readq 0x1000", "OK 0xffffffff55030201");
    qtest_quit(s);
}

static void test_blocks(void)
{
    QTestState *s = qtest_start("-M none -m 16M");
    uint8_t out[3000], in[3000];

    for (size_t i = 0; i < sizeof(out); i++) {
        out[i] = i * 7;
    }
    qtest_memwrite(s, 0xf00, out, sizeof(out));
    qtest_memread(s, 0xf00, in, sizeof(in));
    g_assert_cmpmem(in, sizeof(in), out, sizeof(out));
    check_line(s, "read 0xf00 4", "OK 0x00070e15");
    check_line(s, "write 0x0 4 0xAbcd", "OK");
    check_line(s, "read 0x0 4", "OK 0xabcd0000");
    check_line(s, "memset 0x2000 0x1000 0x5a", "OK");
    check_line(s, "read 0x2ffe 4", "OK 0x5a5a0000");
    check_line(s, "b64write 0x100 3 AQID", "OK");
    check_line(s, "b64read 0x100 3", "OK AQID");
    qtest_quit(s);
}

static void test_errors(void)
{
    QTestState *s = qtest_start("-M none -m 16M");

    check_fails(s, "nonsense");
    check_fails(s, "readb");
    check_fails(s, "readb 0x10 1");
    check_fails(s, "readb zero");
    check_fails(s, "read 0 0");
    check_fails(s, "read 0 0xffffffffffff");
    check_fails(s, "write 0 4 1234");
    check_fails(s, "write 0 4 0x12zz");
    check_fails(s, "b64write 0 3 AQ==");
    check_fails(s, "set_irq_in /machine/nothing unnamed-gpio-in 0 1");
    check_fails(s, "irq_intercept_in /machine");
    /* Reads of nothing are zeros, not errors. */
    check_line(s, "readl 0xff00000000", "OK 0x0000000000000000");
    qtest_quit(s);
}

static void test_clock(void)
{
    QTestState *s = qtest_start("-M none");

    g_assert_cmpint(qtest_clock_step(s, 1000), ==, 1000);
    g_assert_cmpint(qtest_clock_step(s, 500), ==, 1500);
    check_line(s, "clock_set 4000", "OK 4000");
    check_line(s, "clock_set 100", "OK 4000");
    check_fails(s, "clock_step 0x7fffffffffffffff");
    qtest_quit(s);
}

/* Memory is there for the test while the VM is stopped and before it runs. */
static void test_while_stopped(void)
{
    QTestState *s = qtest_start("-M none -m 1M -S");

    qtest_writel(s, 0x40, 0xcafe);
    g_assert_cmphex(qtest_readl(s, 0x40), ==, 0xcafe);
    json_object_put(qtest_qmp_ok(s, "{'execute':'cont'}"));
    g_assert_cmphex(qtest_readl(s, 0x40), ==, 0xcafe);
    json_object_put(qtest_qmp_ok(s, "{'execute':'stop'}"));
    qtest_writel(s, 0x40, 0xf00d);
    g_assert_cmphex(qtest_readl(s, 0x40), ==, 0xf00d);
    qtest_quit(s);
}

/* How often the main thread of @pid has slept. */
static uint64_t times_slept(pid_t pid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/status", (int)pid);
    g_autofree char *text = NULL;
    const char *at;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    at = strstr(text, "\nvoluntary_ctxt_switches:");
    g_assert_nonnull(at);
    return g_ascii_strtoull(strchr(at, ':') + 1, NULL, 10);
}

/* A client makes tens of thousands of small reads in a row: the answer to each
 * comes at once, with one wait for the next. */
static void test_round_trip(void)
{
    QTestState *s = qtest_start("-M none -m 1M");
    uint64_t before = times_slept(qtest_pid(s));
    const unsigned n = 2000;

    for (unsigned i = 0; i < n; i++) {
        qtest_readb(s, i);
    }
    g_assert_cmpuint(times_slept(qtest_pid(s)) - before, <, 2 * n);
    qtest_quit(s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/qtest/values", test_values);
    g_test_add_func("/qtest/blocks", test_blocks);
    g_test_add_func("/qtest/errors", test_errors);
    g_test_add_func("/qtest/clock", test_clock);
    g_test_add_func("/qtest/while-stopped", test_while_stopped);
    g_test_add_func("/qtest/round-trip", test_round_trip);
    return g_test_run();
}
