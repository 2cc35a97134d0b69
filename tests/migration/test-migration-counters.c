/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What query-migrate tells of dirty tracking, where it is the bitmap, and
 * where there is nothing to track. Rings and groups: in their own tests.
 */
#include "qemu/osdep.h"

#include "framework.h"

static const char *const caps_return_path[] = { "return-path", NULL };

static int64_t pages(json_object *answer, const char *under)
{
    g_autofree char *first = g_strdup_printf("%svcpus.0.pages", under);
    g_autofree char *second = g_strdup_printf("%svcpus.1.pages", under);

    return json_path_int(answer, first) + json_path_int(answer, second);
}

static void look_then_let_go(MigrationPair *p)
{
    g_autoptr(json_object) before = NULL, after = NULL;

    migration_wait_pass(p->src, 3);
    before = migration_query(p->src);
    migration_wait_pass(p->src,
                        json_path_int(before, "ram.dirty-sync-count") + 2);
    after = migration_query(p->src);
    g_assert_cmpint(pages(after, "dirty-tracking."), >,
                    pages(before, "dirty-tracking."));
    migration_set_params(p->src, "'max-bandwidth':0,'downtime-limit':30000");
}

static void bitmap_counted(MigrationPair *p)
{
    g_autoptr(json_object) r = migration_query(p->src), again = NULL;
    g_autoptr(json_object) all = NULL;
    json_object *own = json_path(r, "dirty-tracking");
    g_autofree char *text = qtest_hmp(p->src, "info migrate");

    all = qtest_qmp_ok(p->src, "{'execute':'query-dirty-tracking'}");
    g_assert_cmpstr(json_path_str(own, "engine"), ==, "bitmap");
    g_assert_cmpint(pages(own, ""), >, 2 * 4096);
    g_assert_cmpint(pages(own, ""), ==, pages(all, ""));
    g_assert_null(json_path(own, "rings"));
    g_assert_null(json_path(own, "groups"));
    g_assert_null(json_path(own, "vcpus.0.ring-entries"));
    g_assert_nonnull(json_path(own, "cost"));
    g_assert_cmpint(json_path_int(own, "work.cleans"), >, 0);
    g_assert_cmpint(json_path_int(own, "work.cleans"), ==,
                    json_path_int(all, "work.cleans"));
    g_assert_nonnull(strstr(text, "Dirty tracking: \tbitmap, pages written: "
                                  "vcpu[0]="));
    g_assert_null(strstr(text, "  Rings:"));
    again = migration_query(p->src);
    g_assert_cmpstr(
        json_object_to_json_string(json_path(again, "dirty-tracking")), ==,
        json_object_to_json_string(own));
}

static void nothing_counted(MigrationPair *p)
{
    g_autoptr(json_object) r = migration_query(p->src);
    g_autofree char *text = qtest_hmp(p->src, "info migrate");

    g_assert_nonnull(json_path(r, "dirty-tracking"));
    g_assert_null(json_path(r, "dirty-tracking.engine"));
    g_assert_null(json_path(r, "dirty-tracking.vcpus.0.pages"));
    g_assert_null(strstr(text, "Dirty tracking"));
}

static const MigrationTest bitmap = {
    .name = "/migration/counters/bitmap",
    .accel = "tcg,dirty-tracking=bitmap",
    .guest = "workload",
    .guest_args = "ws=16 cpus=2 bytes=64",
    .guest_cpus = 2,
    .ram_mib = 64,
    .caps = caps_return_path,
    .params = "'max-bandwidth':50000000,'downtime-limit':0",
    .during = look_then_let_go,
    .after = bitmap_counted,
    .own_only = true,
};

static const MigrationTest nothing = {
    .name = "/migration/counters/no-engine",
    .caps = caps_return_path,
    .after = nothing_counted,
    .own_only = true,
};

static void add(void)
{
    migration_test_add(&bitmap);
    migration_test_add(&nothing);
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add);
}
