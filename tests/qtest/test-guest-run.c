/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest that really runs (the page counter, on `virt` under tcg), seen and
 * steered from outside: qtest beside a real accelerator, stop and cont, reset,
 * registers, a serial line in a file.
 */
#include "qemu/osdep.h"

#include "libqtest.h"

#define RAM_BASE  UINT64_C(0x40000000)
#define FIRST     (RAM_BASE + (16 << 20)) /* the counter's first page */
#define NR_PAGES  1024                    /* ws=4 */
#define PAGE_SIZE 4096

static QTestState *start_counter(const char *more)
{
    const char *kernel = g_getenv("QTEST_GUEST_PAGE_COUNTER");

    return qtest_startf("-M virt -accel tcg -cpu cortex-a57 -m 64M -kernel %s "
                        "-append 'ws=4 passes=4' %s",
                        kernel, more);
}

static bool can_run(void)
{
    if (g_getenv("QTEST_GUEST_PAGE_COUNTER")) {
        return true;
    }
    g_test_skip("there is no cross compiler to build the guest with");
    return false;
}

static uint8_t first_page(QTestState *s)
{
    return qtest_readb(s, FIRST);
}

/* Until the counter of the first page has moved. */
static void wait_for_writes(QTestState *s)
{
    uint8_t before = first_page(s);

    for (int ms = 0; first_page(s) == before; ms++) {
        g_assert_cmpint(ms, <, 10000);
        g_usleep(1000);
    }
}

/* The guest's promise: v + 1 up to some page, v behind it. */
static void check_pages(QTestState *s)
{
    uint8_t first = first_page(s), last = first;

    for (int i = 1; i < NR_PAGES; i++) {
        uint8_t v = qtest_readb(s, FIRST + (uint64_t)i * PAGE_SIZE);

        if (v != last) {
            g_assert_cmpint(last, ==, first);
            g_assert_cmpint((uint8_t)(v + 1), ==, first);
            last = v;
        }
    }
}

static void ok(QTestState *s, const char *command)
{
    json_object_put(qtest_qmp_ok(s, "{'execute':'%s'}", command));
}

static void test_stop_and_cont(void)
{
    QTestState *s;
    uint8_t v;

    if (!can_run()) {
        return;
    }
    s = start_counter("");
    wait_for_writes(s);
    for (int i = 0; i < 5; i++) {
        ok(s, "stop");
        v = first_page(s);
        check_pages(s);
        g_usleep(5000);
        g_assert_cmpint(first_page(s), ==, v);
        ok(s, "cont");
        wait_for_writes(s);
    }
    qtest_quit(s);
}

static void test_reset(void)
{
    QTestState *s;

    if (!can_run()) {
        return;
    }
    s = start_counter("");
    wait_for_writes(s);
    for (int i = 0; i < 3; i++) {
        ok(s, "system_reset");
        json_object_put(qtest_event(s, "RESET"));
        wait_for_writes(s);
    }
    ok(s, "stop");
    /* While stopped, a reset leaves a machine that has not begun yet. */
    ok(s, "system_reset");
    qtest_wait_status(s, "prelaunch");
    ok(s, "cont");
    wait_for_writes(s);
    qtest_quit(s);
}

static void test_not_started(void)
{
    QTestState *s;
    g_autofree char *regs = NULL;

    if (!can_run()) {
        return;
    }
    s = start_counter("-S");
    g_usleep(10000);
    g_assert_cmpint(first_page(s), ==, 0);
    /* The kernel is there, and the CPU stands at its first instruction. */
    g_assert_cmphex(qtest_readl(s, RAM_BASE + 0x80000), !=, 0);
    regs = qtest_hmp(s, "info registers");
    g_assert_nonnull(strstr(regs, "CPU#0"));
    g_assert_nonnull(strstr(regs, "PC=00000000400"));
    ok(s, "cont");
    wait_for_writes(s);
    qtest_quit(s);
}

static void test_serial_file(void)
{
    g_autofree char *path = g_strdup_printf("%s/qtest-serial-%d",
                                            g_get_tmp_dir(), getpid());
    g_autofree char *args = g_strdup_printf("-serial file:%s", path);
    g_autofree char *text = NULL;
    QTestState *s;

    if (!can_run()) {
        return;
    }
    s = start_counter(args);
    g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS)); /* by now */
    for (int ms = 0; !text || strlen(text) < 3; ms += 5) {
        g_assert_cmpint(ms, <, 20000);
        g_usleep(5000);
        g_clear_pointer(&text, g_free);
        g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    }
    g_assert_cmpint(text[0], ==, 'A');
    g_assert_cmpint(text[1], ==, 'B');
    qtest_quit(s);
    unlink(path);
}

static void test_registers_of_all(void)
{
    QTestState *s;
    g_autofree char *all = NULL, *bad = NULL, *one = NULL;

    if (!can_run()) {
        return;
    }
    s = start_counter("-smp 3");
    wait_for_writes(s); /* while it runs */
    all = qtest_hmp(s, "info registers -a");
    for (int i = 0; i < 3; i++) {
        g_autofree char *head = g_strdup_printf("CPU#%d", i);

        g_assert_nonnull(strstr(all, head));
    }
    bad = qtest_hmp(s, "cpu 3");
    g_assert_cmpstr(bad, ==, "invalid CPU index\r\n");
    one = qtest_hmp(s, "info registers");
    g_assert_null(strstr(one, "CPU#1"));
    wait_for_writes(s);
    qtest_quit(s);
}

/* The device tree as a file, by QMP and by -machine dumpdtb=. */
static void test_dumpdtb(void)
{
    QTestState *s = qtest_start("-M virt");
    g_autofree char *path = g_build_filename(qtest_dir(s), "a.dtb", NULL);
    g_autofree char *args = g_strdup_printf("-M virt,dumpdtb=%s", path);
    g_autofree char *by_qmp = NULL, *by_option = NULL;
    gsize qmp_len, option_len;

    json_object_put(qtest_qmp_ok(
        s, "{'execute':'dumpdtb','arguments':{'filename':'%s'}}", path));
    g_assert_true(g_file_get_contents(path, &by_qmp, &qmp_len, NULL));
    g_assert_cmpmem(by_qmp, 4, "\xd0\x0d\xfe\xed", 4);
    g_assert_cmpint(qtest_run(args, NULL, NULL), ==, 0);
    g_assert_true(g_file_get_contents(path, &by_option, &option_len, NULL));
    g_assert_cmpint(option_len, >=, 64);
    g_assert_cmpmem(by_option, 4, "\xd0\x0d\xfe\xed", 4);
    qtest_quit(s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/guest-run/stop-and-cont", test_stop_and_cont);
    g_test_add_func("/guest-run/reset", test_reset);
    g_test_add_func("/guest-run/not-started", test_not_started);
    g_test_add_func("/guest-run/serial-file", test_serial_file);
    g_test_add_func("/guest-run/registers", test_registers_of_all);
    g_test_add_func("/guest-run/dumpdtb", test_dumpdtb);
    return g_test_run();
}
