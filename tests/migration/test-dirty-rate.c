/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast a guest writes, measured from outside: vCPU 0 writes, vCPU 1 only
 * computes (it never leaves its reading of pages).
 */
#include "qemu/osdep.h"

#include "framework.h"
#include "guest-check.h"
#include "guest-machine.h"

#define MIB_PAGES 256

static const MigrationTest one_writes = {
    .name = "/dirty-rate/guest",
    .guest = "workload",
    .guest_args = "ws=24 cpus=2 rate=4000",
    .guest_cpus = 2,
    .ram_mib = 64,
};

static const MigrationTest one_writes_rings = {
    .name = "/dirty-rate/guest-with-rings",
    .guest = "workload",
    .guest_args = "ws=24 cpus=2 rate=4000",
    .guest_cpus = 2,
    .ram_mib = 64,
    .accel = "tcg,dirty-ring-size=512",
};

/* The workload takes parameters from here on while it runs (ctl.h). */
static void set_write_share(MigrationPair *p, unsigned cpu, uint64_t pct)
{
    volatile struct ctl_page *c = (struct ctl_page *)(p->src_ram + CTL_OFFSET +
                                                      cpu * CTL_PAGE_SIZE);

    c->write_pct = pct;
    c->seq++;
}

static void set_rate(MigrationPair *p, unsigned cpu, uint64_t ops_s)
{
    volatile struct ctl_page *c = (struct ctl_page *)(p->src_ram + CTL_OFFSET +
                                                      cpu * CTL_PAGE_SIZE);

    c->rate = ops_s;
    c->seq++;
}

static MigrationPair *start(const MigrationTest *test)
{
    MigrationPair *p = migration_pair_new(test);

    migration_start_source(p);
    set_write_share(p, 1, 0);
    return p;
}

static void end(MigrationPair *p)
{
    qtest_quit(p->src);
    p->src = NULL;
    migration_pair_free(p);
}

static json_object *measured(MigrationPair *p)
{
    for (;;) {
        json_object *r = qtest_qmp_ok(
            p->src, "{'execute':'query-dirty-rate',"
                    "'arguments':{'calc-time-unit':'millisecond'}}");

        if (g_str_equal(json_path_str(r, "status"), "measured")) {
            return r;
        }
        g_assert_cmpstr(json_path_str(r, "status"), ==, "measuring");
        g_assert_null(json_path(r, "dirty-rate"));
        json_object_put(r);
        g_usleep(5000);
    }
}

static json_object *calc(MigrationPair *p, const char *args)
{
    G_GNUC_UNUSED g_autoptr(json_object) r = qtest_qmp_ok(
        p->src, "{'execute':'calc-dirty-rate','arguments':{%s}}", args);

    return measured(p);
}

static uint64_t writes(MigrationPair *p, unsigned cpu)
{
    return workload_ctl(p->src_ram, cpu)->writes;
}

/* All that was found is what vCPU 0 wrote, and vCPU 1 wrote nothing. */
static void test_by_bitmap(MigrationPair *p)
{
    uint64_t before, others;
    int64_t rate;

    /* vCPU 1 has seen that it shall not write. */
    do {
        others = writes(p, 1);
        g_usleep(20000);
    } while (writes(p, 1) != others);
    before = writes(p, 0);
    g_autoptr(json_object) r = calc(p, "'calc-time':1000,"
                                       "'calc-time-unit':'millisecond',"
                                       "'mode':'dirty-bitmap'");

    rate = json_path_int(r, "dirty-rate");
    g_assert_cmpstr(json_path_str(r, "mode"), ==, "dirty-bitmap");
    g_assert_cmpint(json_path_int(r, "calc-time"), ==, 1000);
    g_assert_cmpint(rate, >, 0);
    /* Not more pages than writes; a second is a second at least. The control
     * pages of both are written, too. */
    g_assert_cmpint(rate * MIB_PAGES, <=, writes(p, 0) - before + 2);
    g_assert_cmpint(json_path_int(r, "vcpu-dirty-rate.0.id"), ==, 0);
    /* Beside its own control page there is that of vCPU 1. */
    g_assert_cmpint(
        ABS(json_path_int(r, "vcpu-dirty-rate.0.dirty-rate") - rate), <=, 1);
    g_assert_cmpint(json_path_int(r, "vcpu-dirty-rate.1.id"), ==, 1);
    g_assert_cmpint(json_path_int(r, "vcpu-dirty-rate.1.dirty-rate"), ==, 0);
    g_assert_cmpuint(writes(p, 1), ==, others);
}

static void test_by_ring(MigrationPair *p)
{
    static const char args[] = "'calc-time':1,'mode':'dirty-ring'";

    if (!p->test->accel) {
        g_autofree char *desc = qtest_qmp_fail(
            p->src, "{'execute':'calc-dirty-rate','arguments':{%s}}", args);

        g_assert_nonnull(strstr(desc, "'bitmap'"));
        return;
    }
    g_autoptr(json_object) r = calc(p, args);
    g_assert_cmpint(json_path_int(r, "dirty-rate"), >, 0);
    g_assert_cmpint(ABS(json_path_int(r, "vcpu-dirty-rate.0.dirty-rate") -
                        json_path_int(r, "dirty-rate")),
                    <=, 1);
    g_assert_cmpint(json_path_int(r, "vcpu-dirty-rate.1.dirty-rate"), ==, 0);
}

static void test_by_samples(MigrationPair *p)
{
    g_autoptr(json_object) r = calc(p, "'calc-time':1,'sample-pages':16384");

    g_assert_cmpstr(json_path_str(r, "mode"), ==, "page-sampling");
    g_assert_cmpint(json_path_int(r, "sample-pages"), ==, 16384);
    g_assert_cmpint(json_path_int(r, "dirty-rate"), >, 0);
    g_assert_null(json_path(r, "vcpu-dirty-rate"));
}

static void test_hmp(MigrationPair *p)
{
    g_autofree char *begun = qtest_hmp(p->src, "calc_dirty_rate -b 1");
    g_autofree char *text = NULL, *other = NULL;

    g_assert_cmpstr(begun, ==,
                    "Starting dirty rate measurement with period 1 seconds\r\n"
                    "[Please use 'info dirty_rate' to check results]\r\n");
    json_object_put(measured(p));
    text = qtest_hmp(p->src, "info dirty_rate");
    g_assert_true(g_regex_match_simple(
        "^Status: measured\r\nStart Time: \\d+ \\(ms\\)\r\n"
        "Period: 1 \\(sec\\)\r\nMode: dirty-bitmap\r\n"
        "Dirty rate: \\d+ \\(MB/s\\)\r\n"
        "vcpu\\[0\\], Dirty rate: \\d+ \\(MB/s\\)\r\n"
        "vcpu\\[1\\], Dirty rate: 0 \\(MB/s\\)\r\n$",
        text, 0, 0));
    other = qtest_hmp(p->src, "calc_dirty_rate 1 5");
    g_assert_nonnull(strstr(other, "16384"));
}

static void test_beside(MigrationPair *p)
{
    static const char *const modes[] = { "page-sampling", "dirty-bitmap" };

    for (unsigned i = 0; i < G_N_ELEMENTS(modes); i++) {
        G_GNUC_UNUSED g_autoptr(json_object) r = qtest_qmp_ok(
            p->src,
            "{'execute':'calc-dirty-rate','arguments':{'calc-time':%d,"
            "'calc-time-unit':'millisecond','mode':'%s'}}",
            i == 0 ? 100 : 60000, modes[i]);
        g_autofree char *again = qtest_qmp_fail(
            p->src, "{'execute':'calc-dirty-rate','arguments':"
                    "{'calc-time':1}}");

        g_assert_nonnull(strstr(again, "already"));
        if (i == 0) {
            json_object_put(measured(p));
        }
    }
    /* It ends with the process, which does not wait for the minute. */
}

/* ---- limits ---- */

static json_object *limits(MigrationPair *p)
{
    return qtest_qmp_ok(p->src, "{'execute':'query-vcpu-dirty-limit'}");
}

static void set_limit(MigrationPair *p, int cpu, int mib)
{
    json_object_put(
        qtest_qmp_ok(p->src,
                     "{'execute':'set-vcpu-dirty-limit','arguments':"
                     "{'cpu-index':%d,'dirty-rate':%d}}",
                     cpu, mib));
}

/* Until vCPU 0 was seen to write between @least and @most MiB per second. */
static void wait_for_rate(MigrationPair *p, int64_t least, int64_t most)
{
    for (;;) {
        g_autoptr(json_object) r = limits(p);
        int64_t rate = json_path_int(r, "0.current-rate");

        if (rate >= least && rate <= most) {
            return;
        }
        g_usleep(20000);
    }
}

/* Writing as fast as it can, vCPU 0 is brought down; vCPU 1 is let be. */
static void test_limit(MigrationPair *p)
{
    g_autofree char *text = NULL;

    set_rate(p, 0, 0);
    set_limit(p, 0, 5);
    set_limit(p, 1, 5);
    /* It could do more than four times as much, in the first look, too. */
    wait_for_rate(p, 1, 7);
    g_autoptr(json_object) r = limits(p);
    g_assert_cmpint(json_path_int(r, "0.cpu-index"), ==, 0);
    g_assert_cmpint(json_path_int(r, "0.limit-rate"), ==, 5);
    g_assert_cmpint(json_path_int(r, "1.current-rate"), ==, 0);
    text = qtest_hmp(p->src, "info vcpu_dirty_limit");
    g_assert_true(g_str_has_prefix(text, "vcpu[0], limit rate 5 (MB/s), "
                                         "current rate "));
}

static void test_cancel_limit(MigrationPair *p)
{
    g_autofree char *text = NULL, *none = NULL, *cancelled = NULL;

    json_object_put(qtest_qmp_ok(p->src, "{'execute':'cancel-vcpu-dirty-limit',"
                                         "'arguments':{'cpu-index':1}}"));
    g_autoptr(json_object) one = limits(p);
    g_assert_cmpuint(json_object_array_length(one), ==, 1);
    g_assert_cmpint(json_path_int(one, "0.cpu-index"), ==, 0);

    /* A higher limit is used. */
    set_limit(p, 0, 1000);
    wait_for_rate(p, 9, INT64_MAX);
    cancelled = qtest_hmp(p->src, "cancel_vcpu_dirty_limit");
    g_assert_true(g_str_has_prefix(cancelled, "[Please use 'info vcpu_dirty"));
    g_autoptr(json_object) empty = limits(p);
    g_assert_cmpuint(json_object_array_length(empty), ==, 0);
    text = qtest_hmp(p->src, "info vcpu_dirty_limit");
    g_assert_cmpstr(text, ==, "Dirty page limit not enabled!\r\n");

    none = qtest_qmp_fail(p->src, "{'execute':'set-vcpu-dirty-limit',"
                                  "'arguments':{'cpu-index':2,"
                                  "'dirty-rate':5}}");
    g_assert_nonnull(strstr(none, "no vCPU 2"));
    /* 0 is no limit; and one is in force until the process ends. */
    set_limit(p, 0, 0);
    set_limit(p, 0, 1);
}

static void test_limit_needs_a_tracker(void)
{
    QTestState *s = qtest_start("-M none");
    g_autofree char *desc = qtest_qmp_fail(
        s, "{'execute':'set-vcpu-dirty-limit','arguments':{'dirty-rate':5}}");

    g_assert_nonnull(strstr(desc, "which vCPU writes"));
    qtest_quit(s);
}

static void run_guest(const MigrationTest *test)
{
    MigrationPair *p;

    if (!migration_guests_work()) {
        g_test_skip(guest_machine_why_not());
        return;
    }
    p = start(test);
    g_autoptr(json_object)
        r = qtest_qmp_ok(p->src, "{'execute':'query-dirty-rate'}");
    g_assert_cmpstr(json_path_str(r, "status"), ==, "unstarted");
    test_by_bitmap(p);
    test_by_ring(p);
    test_by_samples(p);
    test_hmp(p);
    test_beside(p);
    test_limit(p);
    test_cancel_limit(p);
    end(p);
}

static void test_guest(void)
{
    run_guest(&one_writes);
}

static void test_guest_with_rings(void)
{
    run_guest(&one_writes_rings);
}

static void add_tests(void)
{
    g_test_add_func("/dirty-rate/limit-needs-a-tracker",
                    test_limit_needs_a_tracker);
    g_test_add_func("/dirty-rate/guest", test_guest);
    g_test_add_func("/dirty-rate/guest-with-rings", test_guest_with_rings);
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add_tests);
}
