/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dirty-tracking, dirty-ring-size, query-dirty-tracking, info dirty_tracking. */
#include "qemu/osdep.h"

#include "libqtest.h"

typedef struct BadOption {
    const char *props;
    const char *words[3]; /* all must be in the message */
} BadOption;

static const BadOption bad_options[] = {
    { "dirty-tracking=bitmap,dirty-ring-size=4096",
      { "dirty-ring-size=4096", "dirty-tracking=bitmap", "contradicts" } },
    { "dirty-ring-size=256,dirty-tracking=dbm",
      { "dirty-ring-size=256", "dirty-tracking=dbm", "contradicts" } },
    { "dirty-tracking=ring,dirty-ring-size=0",
      { "dirty-ring-size=0", "contradicts", "256 to 65536" } },
    { "dirty-tracking=nosuch",
      { "nosuch", "auto, bitmap, ring, dbm, pagemap" } },
    { "dirty-ring-size=255", { "255", "power of two from 256 to 65536" } },
    { "dirty-ring-size=3000", { "3000", "power of two" } },
    { "dirty-ring-size=131072", { "131072", "65536" } },
    { "dirty-ring-size=4294971392", { "4294971392", "65536" } },
    { "dirty-ring-size=-1", { "dirty-ring-size" } },
};

static void test_bad_options(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(bad_options); i++) {
        const BadOption *b = &bad_options[i];
        g_autofree char *args = g_strdup_printf("-M virt -accel tcg,%s",
                                                b->props);
        g_autofree char *err = NULL;

        g_assert_cmpint(qtest_run(args, NULL, &err), ==, 1);
        for (unsigned k = 0; k < ARRAY_SIZE(b->words) && b->words[k]; k++) {
            if (!strstr(err, b->words[k])) {
                g_error("%s: '%s' lacks '%s'", b->props, err, b->words[k]);
            }
        }
    }
}

typedef struct GoodOption {
    const char *props;
    const char *mode, *engine;
    int entries;           /* 0: no rings are shown */
    bool ring_is_possible; /* at all */
} GoodOption;

static const GoodOption good_options[] = {
    { "", "auto", "bitmap", 0, true },
    { ",dirty-ring-size=0", "auto", "bitmap", 0, false },
    { ",dirty-ring-size=256", "ring", "ring", 256, true },
    { ",dirty-tracking=ring", "ring", "ring", 65536, true },
    { ",dirty-tracking=ring,dirty-ring-size=4096", "ring", "ring", 4096, true },
    { ",dirty-tracking=bitmap", "bitmap", "bitmap", 0, true },
    { ",dirty-tracking=dbm", "dbm", "dbm", 0, true },
    { ",dirty-tracking=auto,dirty-ring-size=512", "auto", "bitmap", 0, true },
};

static void test_good_options(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(good_options); i++) {
        const GoodOption *g = &good_options[i];
        QTestState *s = qtest_startf("-M virt -m 32 -smp 2 -S -accel tcg%s",
                                     g->props);
        json_object *r = qtest_qmp_ok(s, "{'execute':'query-dirty-tracking'}");

        g_assert_cmpstr(json_path_str(r, "accelerator"), ==, "tcg");
        g_assert_cmpstr(json_path_str(r, "mode"), ==, g->mode);
        g_assert_cmpstr(json_path_str(r, "engine"), ==, g->engine);
        g_assert_cmpstr(json_path_str(r, "engines.0.name"), ==, "bitmap");
        g_assert_true(json_path_bool(r, "engines.0.available"));
        g_assert_cmpstr(json_path_str(r, "engines.1.name"), ==, "ring");
        g_assert_cmpint(json_path_bool(r, "engines.1.available"), ==,
                        g->ring_is_possible);
        if (!g->ring_is_possible) {
            g_assert_nonnull(strstr(json_path_str(r, "engines.1.reason"),
                                    "dirty-ring-size"));
        }
        g_assert_cmpstr(json_path_str(r, "engines.2.name"), ==, "dbm");
        g_assert_true(json_path_bool(r, "engines.2.available"));
        g_assert_cmpint(!!json_path(r, "groups"), ==,
                        g_str_equal(g->engine, "dbm"));
        g_assert_null(json_path(r, "users.0"));
        g_assert_cmpint(json_path_int(r, "vcpus.1.cpu-index"), ==, 1);
        if (g->entries) {
            g_assert_cmpint(json_path_int(r, "rings.size"), ==, g->entries);
            g_assert_cmpint(json_path_int(r, "rings.rings"), ==, 0);
        } else {
            g_assert_null(json_path(r, "rings"));
        }
        json_object_put(r);
        qtest_quit(s);
    }
}

static void test_hmp(void)
{
    static const char *const words[] = { "accelerator: tcg", "engine: ring",
                                         "bitmap: possible",
                                         "vCPU 0:", "0 of 256 entries" };
    QTestState *s = qtest_start("-M virt -m 32 -S "
                                "-accel tcg,dirty-ring-size=256");
    g_autofree char *text = qtest_hmp(s, "info dirty_tracking");

    for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
        if (!strstr(text, words[i])) {
            g_error("'%s' lacks '%s'", text, words[i]);
        }
    }
    qtest_quit(s);
}

static void test_hmp_groups(void)
{
    QTestState *s = qtest_start("-M virt -m 32 -S "
                                "-accel tcg,dirty-tracking=dbm");
    g_autofree char *text = qtest_hmp(s, "info dirty_tracking");

    g_assert_nonnull(strstr(text, "engine: dbm"));
    g_assert_nonnull(strstr(text, "groups of 64 pages: 0 armed now"));
    qtest_quit(s);
}

/* Nothing executes: nothing can be chosen, and the reason is given. */
static void test_qtest_accel(void)
{
    QTestState *s = qtest_start("-M none");
    json_object *r = qtest_qmp_ok(s, "{'execute':'query-dirty-tracking'}");

    g_assert_cmpstr(json_path_str(r, "accelerator"), ==, "qtest");
    g_assert_null(json_path(r, "engine"));
    g_assert_false(json_path_bool(r, "engines.0.available"));
    g_assert_nonnull(strstr(json_path_str(r, "engines.0.reason"), "qtest"));
    json_object_put(r);
    qtest_quit(s);
}

static void assert_words(const char *text, const char *words)
{
    if (!strstr(text, words)) {
        g_error("'%s' lacks '%s'", text, words);
    }
}

static void set_fails(QTestState *s, const char *mode, const char *words)
{
    g_autofree char *desc = qtest_qmp_fail(
        s,
        "{'execute':'migrate-set-parameters',"
        "'arguments':{'dirty-tracking':'%s'}}",
        mode);

    assert_words(desc, words);
}

static void set_works(QTestState *s, const char *mode)
{
    json_object *r;

    json_object_put(qtest_qmp_ok(s,
                                 "{'execute':'migrate-set-parameters',"
                                 "'arguments':{'dirty-tracking':'%s'}}",
                                 mode));
    r = qtest_qmp_ok(s, "{'execute':'query-migrate-parameters'}");
    g_assert_cmpstr(json_path_str(r, "dirty-tracking"), ==, mode);
    json_object_put(r);
}

static void assert_engine(QTestState *s, const char *engine, const char *user)
{
    json_object *r = qtest_qmp_ok(s, "{'execute':'query-dirty-tracking'}");

    g_assert_cmpstr(json_path_str(r, "engine"), ==, engine);
    if (user) {
        g_assert_cmpstr(json_path_str(r, "users.0"), ==, user);
    } else {
        g_assert_null(json_path(r, "users.0"));
    }
    json_object_put(r);
}

/* The parameter takes effect when a migration begins, if nobody else is on. */
static void test_parameter(void)
{
    QTestState *s = qtest_start("-M virt -m 32 -S -accel tcg");
    g_autofree char *desc = NULL, *text = NULL, *shown = NULL, *before = NULL;

    before = qtest_hmp(s, "info migrate_parameters");
    g_assert_null(strstr(before, "dirty-tracking"));
    set_works(s, "ring");
    assert_engine(s, "bitmap", NULL);
    json_object_put(
        qtest_qmp_ok(s, "{'execute':'calc-dirty-rate',"
                        "'arguments':{'calc-time':60,'mode':'dirty-bitmap'}}"));
    assert_engine(s, "bitmap", "dirty-rate");
    desc = qtest_qmp_fail(
        s, "{'execute':'migrate','arguments':{'uri':'unix:/nonexistent'}}");
    assert_words(desc, "'bitmap' is in use (dirty-rate)");
    assert_engine(s, "bitmap", "dirty-rate");

    /* What is in use already is no change. */
    text = qtest_hmp(s, "migrate_set_parameter dirty-tracking bitmap");
    g_assert_cmpstr(text, ==, "");
    shown = qtest_hmp(s, "info migrate_parameters");
    assert_words(shown, "dirty-tracking: bitmap");
    /* (That nobody listens there is found out later.) */
    json_object_put(qtest_qmp_ok(
        s, "{'execute':'migrate','arguments':{'uri':'unix:/nonexistent'}}"));
    qtest_quit(s);
}

static void test_parameter_not_possible(void)
{
    QTestState *s = qtest_start("-M virt -m 32 -S "
                                "-accel tcg,dirty-ring-size=0");

    set_fails(s, "ring", "dirty-ring-size is 0");
    set_works(s, "bitmap");
    qtest_quit(s);
    s = qtest_start("-M none");
    set_fails(s, "bitmap", "accelerator 'qtest'");
    set_works(s, "auto");
    qtest_quit(s);
}

/* ---- KVM: skipped where it cannot be had ---- */

static bool skip_kvm(void)
{
    bool usable = access("/dev/kvm", R_OK | W_OK) == 0;

    if (!usable) {
        g_test_skip("/dev/kvm is not there, or not for us");
    }
    return !usable;
}

static const BadOption kvm_bad_options[] = {
    { "dirty-tracking=dbm", { "'dbm' is not possible", "does not offer" } },
    { "dirty-tracking=pagemap,dirty-ring-size=4096",
      { "dirty-ring-size=4096", "dirty-tracking=pagemap", "contradicts" } },
    { "dirty-ring-size=3000", { "3000", "power of two from 256 to 65536" } },
};

static void test_kvm_bad_options(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(kvm_bad_options) && !skip_kvm(); i++) {
        const BadOption *b = &kvm_bad_options[i];
        g_autofree char *args = g_strdup_printf("-M q35 -accel kvm,%s",
                                                b->props);
        g_autofree char *err = NULL;

        g_assert_cmpint(qtest_run(args, NULL, &err), ==, 1);
        for (unsigned k = 0; k < ARRAY_SIZE(b->words) && b->words[k]; k++) {
            assert_words(err, b->words[k]);
        }
    }
}

static const GoodOption kvm_good_options[] = {
    { "", "auto", "bitmap", 0, true },
    { ",dirty-tracking=bitmap", "bitmap", "bitmap", 0, true },
    { ",dirty-ring-size=256", "ring", "ring", 256, true },
    { ",dirty-tracking=ring", "ring", "ring", 65536, true },
    { ",dirty-tracking=pagemap", "pagemap", "pagemap", 0, true },
    { ",slot-size=1M", "auto", "bitmap", 0, true },
};

/* Both that a kernel VM logs by, since the guest can move; and never dbm. */
static void test_kvm_good_options(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(kvm_good_options) && !skip_kvm(); i++) {
        const GoodOption *g = &kvm_good_options[i];
        QTestState *s = qtest_startf("-M q35 -m 32 -smp 2 -S -accel kvm%s",
                                     g->props);
        json_object *r = qtest_qmp_ok(s, "{'execute':'query-dirty-tracking'}");

        g_assert_cmpstr(json_path_str(r, "accelerator"), ==, "kvm");
        g_assert_cmpstr(json_path_str(r, "mode"), ==, g->mode);
        g_assert_cmpstr(json_path_str(r, "engine"), ==, g->engine);
        g_assert_true(json_path_bool(r, "engines.0.available"));
        g_assert_true(json_path_bool(r, "engines.1.available"));
        g_assert_cmpstr(json_path_str(r, "engines.2.name"), ==, "dbm");
        g_assert_false(json_path_bool(r, "engines.2.available"));
        assert_words(json_path_str(r, "engines.2.reason"), "capability");
        g_assert_cmpstr(json_path_str(r, "engines.3.name"), ==, "pagemap");
        if (g->entries) {
            g_assert_cmpint(json_path_int(r, "rings.size"), ==, g->entries);
        }
        json_object_put(r);
        qtest_quit(s);
    }
}

/* Whose pages are they? Without an answer there is no limit. */
static void test_kvm_limit(void)
{
    g_autofree char *desc = NULL;
    QTestState *s;

    if (skip_kvm()) {
        return;
    }
    s = qtest_start("-M q35 -m 32 -S -accel kvm,dirty-tracking=bitmap");
    desc = qtest_qmp_fail(s, "{'execute':'set-vcpu-dirty-limit',"
                             "'arguments':{'dirty-rate':10}}");
    assert_words(desc, "'bitmap' does not tell");
    qtest_quit(s);
    s = qtest_start("-M q35 -m 32 -S -accel kvm,dirty-ring-size=4096");
    json_object_put(qtest_qmp_ok(s, "{'execute':'set-vcpu-dirty-limit',"
                                    "'arguments':{'dirty-rate':10}}"));
    assert_engine(s, "ring", "dirty-limit");
    json_object_put(qtest_qmp_ok(s, "{'execute':'cancel-vcpu-dirty-limit'}"));
    assert_engine(s, "ring", NULL);
    qtest_quit(s);
}

/* Memory that others may write to: not by asking about this process. */
static void test_kvm_shared_file(void)
{
    g_autofree char *dir = g_dir_make_tmp("dirty-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "ram", NULL);
    json_object *r;
    QTestState *s;

    if (skip_kvm()) {
        rmdir(dir);
        return;
    }
    s = qtest_startf("-M q35,memory-backend=m -m 32 -S -accel kvm "
                     "-object memory-backend-file,id=m,size=32M,share=on,"
                     "mem-path=%s",
                     path);
    r = qtest_qmp_ok(s, "{'execute':'query-dirty-tracking'}");
    g_assert_false(json_path_bool(r, "engines.3.available"));
    json_object_put(r);
    set_fails(s, "pagemap", "");
    qtest_quit(s);
    unlink(path);
    rmdir(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dirty-tracking/qtest-accel", test_qtest_accel);
    if (qtest_has_accel("kvm")) {
        g_test_add_func("/dirty-tracking/kvm/bad", test_kvm_bad_options);
        g_test_add_func("/dirty-tracking/kvm/good", test_kvm_good_options);
        g_test_add_func("/dirty-tracking/kvm/limit", test_kvm_limit);
        g_test_add_func("/dirty-tracking/kvm/shared-file",
                        test_kvm_shared_file);
    }
    if (qtest_has_accel("tcg")) {
        g_test_add_func("/dirty-tracking/options/bad", test_bad_options);
        g_test_add_func("/dirty-tracking/options/good", test_good_options);
        g_test_add_func("/dirty-tracking/hmp", test_hmp);
        g_test_add_func("/dirty-tracking/hmp-groups", test_hmp_groups);
        g_test_add_func("/dirty-tracking/parameter", test_parameter);
        g_test_add_func("/dirty-tracking/parameter-not-possible",
                        test_parameter_not_possible);
    }
    return g_test_run();
}
