/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration of a guest whose writes are found by dirty rings: nothing is lost,
 * and what query-dirty-tracking says of it adds up.
 */
#include "qemu/osdep.h"

#include "framework.h"

static const char *const caps_return_path[] = { "return-path", NULL };

static json_object *query(MigrationPair *p)
{
    return qtest_qmp_ok(p->src, "{'execute':'query-dirty-tracking'}");
}

/* While it runs: the migration is the user, each vCPU has a ring. */
static void look_then_let_go(MigrationPair *p)
{
    g_autoptr(json_object) r = NULL;

    migration_wait_pass(p->src, 3);
    r = query(p);
    g_assert_cmpstr(json_path_str(r, "engine"), ==, "ring");
    g_assert_cmpstr(json_path_str(r, "users.0"), ==, "migration");
    g_assert_cmpint(json_path_int(r, "rings.rings"), ==, 2);
    g_assert_cmpint(json_path_int(r, "vcpus.0.ring-entries"), >, 0);
    g_assert_cmpint(json_path_int(r, "vcpus.1.ring-entries"), >, 0);
    /* vCPUs are asked first, and rings are reaped meanwhile. */
    g_assert_cmpint(json_path_int(r, "vcpus.0.ring-entries") +
                        json_path_int(r, "vcpus.1.ring-entries"),
                    <=, json_path_int(r, "rings.entries"));
    migration_set_params(p->src, "'max-bandwidth':0,'downtime-limit':30000");
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

/* 4,096 pages written in random order: rings of 256 are full all the time. */
static void were_full(MigrationPair *p)
{
    g_autoptr(json_object) r = query(p);

    check_sums(p, r);
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
    g_autoptr(json_object) r = query(p);

    check_sums(p, r);
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
    .guest = "workload",
    .guest_args = "ws=16 cpus=2 bytes=64",
    .guest_cpus = 2,
    .ram_mib = 64,
    .caps = caps_return_path,
    .params = "'max-bandwidth':50000000,'downtime-limit':0",
    .during = look_then_let_go,
    .after = were_full,
    .own_only = true,
};

static const MigrationTest large_rings = {
    .name = "/migration/rings/as-large-as-the-set",
    .accel = "tcg,dirty-tracking=ring,dirty-ring-size=8192",
    .guest = "workload",
    .guest_args = "ws=16 cpus=2 bytes=64",
    .guest_cpus = 2,
    .ram_mib = 64,
    .caps = caps_return_path,
    .params = "'max-bandwidth':50000000,'downtime-limit':0",
    .during = look_then_let_go,
    .after = were_never_full,
    .own_only = true,
};

/* Rings for this migration only: the machine was started with a bitmap. */
static const MigrationTest by_parameter = {
    .name = "/migration/rings/by-parameter",
    .guest = "workload",
    .guest_args = "ws=16 cpus=2 bytes=64",
    .guest_cpus = 2,
    .ram_mib = 64,
    .caps = caps_return_path,
    .params = "'max-bandwidth':50000000,'downtime-limit':0,"
              "'dirty-tracking':'ring'",
    .during = look_then_let_go,
    .after = were_never_full,
    .own_only = true,
};

static void add(void)
{
    migration_test_add(&small_rings);
    migration_test_add(&large_rings);
    migration_test_add(&by_parameter);
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add);
}
