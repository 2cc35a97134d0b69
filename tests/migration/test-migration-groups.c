/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration of a running guest with the DBM tracker: groups are armed while
 * it runs, most pages are made dirty without a fault, and what was collected
 * is exactly what was written.
 */
#include "qemu/osdep.h"

#include "guest-fixture.h"

static void look_then_let_go(MigrationPair *p)
{
    g_autoptr(json_object) r = tracking_in_pass_3(p, "dbm");

    g_assert_cmpint(json_path_int(r, "groups.armed-now"), >, 0);
    let_it_go(p);
}

/*
 * The migration was all that tracked, so what it counted is all there is; but
 * the groups that are armed are those before the end.
 */
static void check_query_migrate(MigrationPair *p, json_object *all)
{
    static const char *const same[] = {
        "groups.faults",          "groups.hardware-updates",
        "groups.armed",           "groups.entries-scanned",
        "groups.groups-scanned",  "groups.summary-words",
        "groups.pages-collected", "groups.pages-cleaned",
        "vcpus.0.pages",          "vcpus.1.pages",
    };
    g_autoptr(json_object) r = migration_query(p->src);
    json_object *own = json_path(r, "dirty-tracking");
    g_autofree char *text = qtest_hmp(p->src, "info migrate");

    g_assert_cmpstr(json_path_str(own, "engine"), ==, "dbm");
    for (unsigned i = 0; i < G_N_ELEMENTS(same); i++) {
        g_assert_cmpint(json_path_int(own, same[i]), ==,
                        json_path_int(all, same[i]));
    }
    g_assert_cmpint(json_path_int(own, "groups.armed-now"), >, 0);
    g_assert_null(json_path(own, "rings"));
    g_assert_nonnull(strstr(text, "Dirty tracking: \tdbm, pages written: "
                                  "vcpu[0]="));
    g_assert_nonnull(strstr(text, "  Groups: \t\t"));
}

static void check_counts(MigrationPair *p)
{
    g_autoptr(json_object) r = query_tracking(p);
    int64_t faults = json_path_int(r, "groups.faults");
    int64_t updates = json_path_int(r, "groups.hardware-updates");

    g_assert_null(json_path(r, "users.0"));
    g_assert_cmpint(json_path_int(r, "groups.armed-now"), ==, 0);
    /* Moved, not copied: each page that a vCPU made dirty came once. */
    g_assert_cmpint(json_path_int(r, "groups.pages-collected"), ==,
                    json_path_int(r, "vcpus.0.pages") +
                        json_path_int(r, "vcpus.1.pages"));
    check_query_migrate(p, r);
    /* The guest writes 4,096 pages in random order, over and over. */
    g_assert_cmpint(updates, >, 10 * faults);
    g_test_message("%" PRId64 " faults, %" PRId64 " pages without, %" PRId64
                   " entries read",
                   faults, updates, json_path_int(r, "groups.entries-scanned"));
}

static const MigrationTest by_option = {
    .name = "/migration/groups/by-option",
    .accel = "tcg,dirty-tracking=dbm",
    TWO_WRITERS,
    .caps = caps_return_path,
    .params = HELD_BACK,
    .during = look_then_let_go,
    .after = check_counts,
    .own_only = true,
};

/* For this migration only: the machine was started with a bitmap. */
static const MigrationTest by_parameter = {
    .name = "/migration/groups/by-parameter",
    TWO_WRITERS,
    .caps = caps_return_path,
    .params = HELD_BACK ",'dirty-tracking':'dbm'",
    .during = look_then_let_go,
    .own_only = true,
};

static void add(void)
{
    migration_test_add(&by_option);
    migration_test_add(&by_parameter);
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add);
}
