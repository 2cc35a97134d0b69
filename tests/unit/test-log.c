/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Log and trace points: see include/qemu/log.h and trace.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/log.h"
#include "trace-test.h"

static char *log_path;

static void begin(uint32_t mask)
{
    g_autofree char *dir = g_dir_make_tmp("test-log-XXXXXX", NULL);

    log_path = g_build_filename(dir, "log", NULL);
    g_assert_true(qemu_set_log_filename_flags(log_path, mask, &error_abort));
}

static void end(const char *expected)
{
    g_autofree char *text = NULL;
    g_autofree char *dir = g_path_get_dirname(log_path);

    trace_enable_events("*", false);
    qemu_set_log(0, &error_abort);
    if (expected) {
        g_assert_true(g_file_get_contents(log_path, &text, NULL, NULL));
        g_assert_cmpstr(text, ==, expected);
    }
    unlink(log_path);
    rmdir(dir);
    g_clear_pointer(&log_path, g_free);
    qemu_set_log_filename(NULL, &error_abort);
}

static void test_mask(void)
{
    begin(LOG_UNIMP);
    qemu_log_mask(LOG_UNIMP, "yes %d\n", 1);
    qemu_log_mask(LOG_GUEST_ERROR, "no\n");
    qemu_log("any\n");
    end("yes 1\nany\n");
}

static void test_off(void)
{
    begin(0);
    qemu_log("nobody listens\n");
    g_assert_null(qemu_log_lock());
    end("");
}

static void test_reopen_appends(void)
{
    begin(LOG_INT);
    qemu_log("one\n");
    qemu_set_log(0, &error_abort);
    qemu_set_log(LOG_INT, &error_abort);
    qemu_log("two\n");
    end("one\ntwo\n");
}

static void test_parse(void)
{
    uint32_t mask = 7;
    Error *err = NULL;

    g_assert_true(qemu_str_to_log_mask("unimp,guest_errors", &mask, NULL));
    g_assert_cmphex(mask, ==, LOG_UNIMP | LOG_GUEST_ERROR);
    g_assert_true(qemu_str_to_log_mask("none", &mask, NULL));
    g_assert_cmphex(mask, ==, 0);
    mask = 7;
    g_assert_false(qemu_str_to_log_mask("unimp,nonsense", &mask, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "nonsense"));
    g_assert_cmphex(mask, ==, 7);
    error_free(err);
}

static void test_filename(void)
{
    Error *err = NULL;

    g_assert_false(qemu_set_log_filename_flags("/tmp/x%s", LOG_INT, &err));
    error_free_or_abort(&err);
    g_assert_false(
        qemu_set_log_filename_flags("/nonexistent/x", LOG_INT, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "/nonexistent/x"));
    error_free_or_abort(&err);
    /* Also while nothing is on. */
    g_assert_false(qemu_set_log_filename_flags("/nonexistent/x", 0, &err));
    error_free(err);
    qemu_set_log_filename_flags(NULL, 0, &error_abort);
}

/* A name that cannot be opened leaves the log where it was. */
static void test_filename_kept(void)
{
    Error *err = NULL;

    begin(LOG_INT);
    g_assert_false(qemu_set_log_filename("/nonexistent/x", &err));
    error_free_or_abort(&err);
    qemu_log_mask(LOG_INT, "still here\n");
    end("still here\n");
}

static void test_trace_write(void)
{
    begin(LOG_TRACE);
    trace_test_hello(1, 2); /* off: silent */
    g_assert_true(trace_enable("test_hello", &error_abort));
    trace_test_hello(-3, 0x10);
    trace_test_nothing();
    end("test_hello a=-3 b=0x10.\n");
}

static void test_trace_patterns(void)
{
    const TraceEvent *ev;
    unsigned n = 0;

    for (ev = trace_event_first(); ev; ev = trace_event_next(ev)) {
        g_assert_true(g_str_has_prefix(ev->name, "test_"));
        n++;
    }
    g_assert_cmpuint(n, ==, 3);
    g_assert_null(trace_event_find("test_"));

    begin(LOG_TRACE);
    g_assert_true(trace_enable("test_*,-test_other", &error_abort));
    g_assert_true(trace_test_nothing_enabled());
    g_assert_false(trace_test_other_enabled());
    trace_test_nothing();
    trace_test_other("x");
    end("test_nothing passed\n");
}

/* What monitors do: all that match or none, and the log is opened. */
static void test_trace_set_state(void)
{
    Error *err = NULL;

    begin(0);
    g_assert_false(trace_set_state("test_nonsense", true, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "test_nonsense"));
    error_free(err);
    g_assert_true(trace_set_state("nonsense*", true, &error_abort));
    g_assert_false(trace_test_nothing_enabled());
    g_assert_true(trace_set_state("test_n?thing", true, &error_abort));
    trace_test_nothing();
    trace_test_other("off");
    g_assert_true(trace_set_state("*", false, &error_abort));
    trace_test_nothing();
    end("test_nothing passed\n");
}

static void test_trace_file(void)
{
    g_autofree char *list = NULL;
    Error *err = NULL;

    begin(0);
    list = g_strconcat(log_path, ".events", NULL);
    g_assert_true(
        g_file_set_contents(list, "# comment\n\n test_other \n", -1, NULL));
    g_assert_true(trace_enable_file(list, &error_abort));
    trace_test_other("from file");
    unlink(list);
    g_assert_false(trace_enable_file(list, &err));
    error_free_or_abort(&err);
    end("test_other s=from file\n");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/log/writes-what-is-on", test_mask);
    g_test_add_func("/log/off-opens-no-file", test_off);
    g_test_add_func("/log/switched-on-again-appends", test_reopen_appends);
    g_test_add_func("/log/item-names", test_parse);
    g_test_add_func("/log/bad-file-name", test_filename);
    g_test_add_func("/log/file-kept", test_filename_kept);
    g_test_add_func("/trace/writes-name-and-arguments", test_trace_write);
    g_test_add_func("/trace/patterns", test_trace_patterns);
    g_test_add_func("/trace/set-state", test_trace_set_state);
    g_test_add_func("/trace/file-of-patterns", test_trace_file);
    return g_test_run();
}
