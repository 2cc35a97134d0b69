/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration of a guest whose writes are found by dirty rings: nothing is lost,
 * and what query-dirty-tracking says of it adds up.
 */
#include "qemu/osdep.h"

#include "guest-fixture.h"

/* While it runs: the migration is the user, each vCPU has a ring. */
static void look_then_let_go(MigrationPair *p)
{
    g_autoptr(json_object) r = tracking_in_pass_3(p, "ring");

    g_assert_cmpint(json_path_int(r, "rings.rings"), ==, 2);
    g_assert_cmpint(json_path_int(r, "vcpus.0.ring-entries"), >, 0);
    g_assert_cmpint(json_path_int(r, "vcpus.1.ring-entries"), >, 0);
    /* vCPUs are asked first, and rings are reaped meanwhile. */
    g_assert_cmpint(json_path_int(r, "vcpus.0.ring-entries") +
                        json_path_int(r, "vcpus.1.ring-entries"),
                    <=, json_path_int(r, "rings.entries"));
    let_it_go(p);
}

static void check_sums(MigrationPair *p, json_object *r)
{
    g_assert_null(json_path(r, "users.0"));
    g_assert_cmpint(json_path_int(r, "rings.rings"), ==, 0);
    g_assert_cmpint(json_path_int(r, "rings.unknown"), ==, 0);
    g_assert_cmpint(json_path_int(r, "rings.beyond"), ==, 0);
    g_assert_cmpint(json_path_int(r, "rings.big-lock"), ==, 0);
    /* Each page made dirty went through a ring. */
    g_assert_cmpint(json_path_int(r, "rings.entries"), ==,
                    json_path_int(r, "vcpus.0.pages") +
                        json_path_int(r, "vcpus.1.pages"));
    g_assert_cmpint(json_path_int(r, "rings.refaults"), <=,
                    json_path_int(r, "rings.entries"));
}

/* The migration was all that tracked: what it counted is all there is. */
static void check_query_migrate(MigrationPair *p, json_object *all)
{
    static const char *const same[] = {
        "rings.size",         "rings.entries",      "rings.refaults",
        "rings.batches",      "rings.reaps-full",   "rings.reaps-collect",
        "rings.reaps-period", "rings.reaps-drain",  "rings.reap-time",
        "rings.longest-reap", "rings.soft-full",    "rings.hard-full",
        "rings.full-time",    "rings.longest-wait", "rings.period",
        "vcpus.0.pages",      "vcpus.1.pages",      "vcpus.0.ring-entries",
        "vcpus.1.hard-full",
    };
    g_autoptr(json_object) r = migration_query(p->src);
    json_object *own = json_path(r, "dirty-tracking");

    g_assert_nonnull(own);
    for (unsigned i = 0; i < G_N_ELEMENTS(same); i++) {
        g_assert_cmpint(json_path_int(own, same[i]), ==,
                        json_path_int(all, same[i]));
    }
    g_assert_cmpstr(json_path_str(own, "engine"), ==, "ring");
    g_assert_cmpint(json_path_int(own, "rings.rings"), ==, 2);
    g_assert_nonnull(json_path(own, "cost"));
    g_assert_null(json_path(own, "groups"));
}

/* 4,096 pages written in random order: rings of 256 are full all the time. */
static void were_full(MigrationPair *p)
{
    g_autoptr(json_object) r = query_tracking(p);

    check_sums(p, r);
    check_query_migrate(p, r);
    g_assert_cmpint(json_path_int(r, "rings.soft-full"), >, 10);
    g_assert_cmpint(json_path_int(r, "rings.reaps-full"), >, 10);
    g_assert_cmpint(json_path_int(r, "rings.longest-wait"), >, 0);
    g_test_message("%" PRId64 " entries, %" PRId64 " of them again",
                   json_path_int(r, "rings.entries"),
                   json_path_int(r, "rings.refaults"));
}

/* The same set fits in a ring: only collects empty it. */
static void were_never_full(MigrationPair *p)
{
    g_autoptr(json_object) r = query_tracking(p), m = migration_query(p->src);

    check_sums(p, r);
    check_query_migrate(p, r);
    /*
     * One for each pass and one in the pause: looks whether it converges, every
     * few milliseconds, collect nothing.
     */
    g_assert_cmpint(json_path_int(r, "rings.reaps-collect"), <=,
                    json_path_int(m, "ram.dirty-sync-count") + 1);
    g_assert_cmpint(json_path_int(r, "rings.soft-full"), ==, 0);
    g_assert_cmpint(json_path_int(r, "rings.reaps-full"), ==, 0);
    g_assert_cmpint(json_path_int(r, "rings.reaps-collect"), >, 1);
    g_test_message("%" PRId64 " entries, %" PRId64 " of them again",
                   json_path_int(r, "rings.entries"),
                   json_path_int(r, "rings.refaults"));
}

static const MigrationTest small_rings = {
    .name = "/migration/rings/of-256",
    .accel = "tcg,dirty-ring-size=256",
    TWO_WRITERS,
    .caps = caps_return_path,
    .params = HELD_BACK,
    .during = look_then_let_go,
    .after = were_full,
    .own_only = true,
};

static const MigrationTest large_rings = {
    .name = "/migration/rings/as-large-as-the-set",
    .accel = "tcg,dirty-tracking=ring,dirty-ring-size=8192",
    TWO_WRITERS,
    .caps = caps_return_path,
    .params = HELD_BACK,
    .during = look_then_let_go,
    .after = were_never_full,
    .own_only = true,
};

/* Rings for this migration only: the machine was started with a bitmap. */
static const MigrationTest by_parameter = {
    .name = "/migration/rings/by-parameter",
    TWO_WRITERS,
    .caps = caps_return_path,
    .params = HELD_BACK ",'dirty-tracking':'ring'",
    .during = look_then_let_go,
    .after = were_never_full,
    .own_only = true,
};

static int64_t entries(json_object *answer, const char *path)
{
    return json_path_int(answer, path);
}

static json_object *query_until(MigrationPair *p, const char *status)
{
    migration_wait(p->src, status);
    return migration_query(p->src);
}

/*
 * A first attempt, cancelled. What it counted stays, although the guest goes
 * on writing; the next one begins at nothing.
 */
static int64_t first_entries;

static void cancel_one(MigrationPair *p)
{
    g_autoptr(json_object) go = NULL, cancelled = NULL, again = NULL;
    g_autoptr(json_object) cancel = NULL;

    go = qtest_qmp_ok(p->src, "{'execute':'migrate','arguments':{"
                              "'uri':'exec:cat >/dev/null'}}");
    migration_wait_pass(p->src, 3);
    cancel = qtest_qmp_ok(p->src, "{'execute':'migrate_cancel'}");
    cancelled = query_until(p, "cancelled");
    first_entries = entries(cancelled, "dirty-tracking.rings.entries");
    g_assert_cmpint(first_entries, >, 0);
    g_assert_cmpint(
        first_entries, ==,
        entries(cancelled, "dirty-tracking.vcpus.0.ring-entries") +
            entries(cancelled, "dirty-tracking.vcpus.1.ring-entries"));
    migration_assert_guest_runs(p, false);
    again = migration_query(p->src);
    g_assert_cmpstr(json_object_to_json_string(again), ==,
                    json_object_to_json_string(cancelled));
}

static void only_the_second(MigrationPair *p)
{
    g_autoptr(json_object) own = migration_query(p->src),
                           all = query_tracking(p);
    g_autofree char *text = NULL;

    g_assert_cmpint(first_entries +
                        entries(own, "dirty-tracking.rings.entries"),
                    ==, entries(all, "rings.entries"));
    g_assert_cmpint(entries(own, "dirty-tracking.rings.entries"), ==,
                    entries(own, "dirty-tracking.vcpus.0.pages") +
                        entries(own, "dirty-tracking.vcpus.1.pages"));
    text = qtest_hmp(p->src, "info migrate");
    g_assert_nonnull(strstr(text, "Dirty tracking: \tring, pages written: "
                                  "vcpu[0]="));
    g_assert_nonnull(strstr(text, "  Rings: \t\t2 of 256, entries="));
    g_assert_null(strstr(text, "  Groups:"));
    g_assert_nonnull(strstr(text, "  Costs (ns): \t\t"));
}

static const MigrationTest counters = {
    .name = "/migration/rings/counters-of-one-migration",
    .accel = "tcg,dirty-ring-size=256",
    .guest = "workload",
    .guest_args = "ws=16 cpus=2 bytes=64",
    .guest_cpus = 2,
    .ram_mib = 64,
    .caps = caps_return_path,
    .params = "'max-bandwidth':50000000,'downtime-limit':0",
    .prepare = cancel_one,
    .during = look_then_let_go,
    .after = only_the_second,
    .own_only = true,
};

static void add(void)
{
    migration_test_add(&counters);
    migration_test_add(&small_rings);
    migration_test_add(&large_rings);
    migration_test_add(&by_parameter);
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add);
}
