/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration with dirty-tracking=auto: what it says of its decision, and that
 * nothing is lost when the tracker changes under a running guest.
 */
#include "qemu/osdep.h"

#include "guest-fixture.h"

static void let_go(MigrationPair *p)
{
    let_it_go(p);
}

static void wait_then_let_go(MigrationPair *p)
{
    migration_wait_pass(p->src, 8);
    let_go(p);
}

static int64_t prediction(json_object *r, const char *engine, const char *what)
{
    for (unsigned i = 0;; i++) {
        g_autofree char *name = g_strdup_printf(
            "decision.predictions.%u.engine", i);
        g_autofree char *value = g_strdup_printf("decision.predictions.%u.%s",
                                                 i, what);

        g_assert_nonnull(json_path(r, name));
        if (g_str_equal(json_path_str(r, name), engine)) {
            return json_path_int(r, value);
        }
    }
}

/* After each round another one: in turn they find all there is to find. */
static void were_changed(MigrationPair *p)
{
    g_autoptr(json_object) r = query_tracking(p);

    g_assert_cmpint(json_path_int(r, "decision.changes"), >=, 6);
    g_assert_null(json_path(r, "decision.refused"));
    g_assert_null(json_path(r, "users.0"));
}

/* The guest writes 2,048 pages, each by one of two vCPUs, round and round. */
static void look_then_let_go(MigrationPair *p)
{
    g_autoptr(json_object) r = NULL;
    g_autofree char *text = NULL;
    int64_t set;

    /* A slow guest is decided about later: there must be something to see. */
    for (unsigned pass = 4; !json_path(r, "decision.inputs.working-set");
         pass++) {
        json_object_put(r);
        migration_wait_pass(p->src, pass);
        r = query_tracking(p);
    }
    text = qtest_hmp(p->src, "info dirty_tracking");
    set = json_path_int(r, "decision.inputs.working-set");
    g_test_message("%s", text);
    g_assert_cmpstr(json_path_str(r, "mode"), ==, "auto");
    g_assert_cmpint(json_path_int(r, "decision.decisions"), >=, 1);
    g_assert_cmpint(json_path_int(r, "decision.inputs.vcpus"), ==, 2);
    g_assert_cmpint(json_path_int(r, "decision.inputs.writers"), ==, 2);
    g_assert_cmpint(set, >=, 1500);
    g_assert_cmpint(set, <=, 3000);
    g_assert_cmpint(json_path_int(r, "decision.inputs.bandwidth"), >, 0);
    /* Rings of 256 do not hold that; a fault each time, and many exits. */
    g_assert_cmpint(prediction(r, "ring", "ring-exits"), >, 0);
    g_assert_cmpint(prediction(r, "ring", "faults"), >,
                    prediction(r, "bitmap", "faults"));
    g_assert_cmpint(prediction(r, "dbm", "words"), <,
                    prediction(r, "bitmap", "words"));
    g_assert_cmpstr(json_path_str(r, "engine"), !=, "ring");
    g_assert_nonnull(strstr(text, "auto: "));
    g_assert_nonnull(strstr(text, "working set"));
    let_go(p);
}

/* Afterwards it is there still, and query-migrate says the same. */
static void decided(MigrationPair *p)
{
    g_autoptr(json_object) r = query_tracking(p), m = migration_query(p->src);

    g_assert_cmpstr(json_path_str(m, "details.dirty-tracking.choice"), ==,
                    json_path_str(r, "decision.choice"));
    g_assert_cmpint(json_path_int(m, "details.dirty-tracking.decisions"), ==,
                    json_path_int(r, "decision.decisions"));
}

/* Links so slow that the first pass takes a good part of a second: it is in it
 * that the guest is looked at. */
static const MigrationTest decides = {
    .name = "/migration/auto/decides-and-says-why",
    .accel = "tcg,dirty-tracking=auto,dirty-ring-size=256",
    .guest = "workload",
    .guest_args = "ws=8 cpus=2 bytes=64 fill=1 pat=random",
    .guest_cpus = 2,
    .ram_mib = 64,
    .caps = caps_return_path,
    .params = "'max-bandwidth':30000000,'downtime-limit':0",
    .during = look_then_let_go,
    .after = decided,
    .own_only = true,
};

static const MigrationTest changes = {
    .name = "/migration/auto/changes-each-round",
    .accel = "tcg,dirty-ring-size=512,dirty-tracking=auto",
    .guest = "workload",
    .guest_args = "ws=4 cpus=2 bytes=64 fill=1 pat=random",
    .guest_cpus = 2,
    .ram_mib = 64,
    .src_args = "-global migration.x-change-dirty-tracking=on",
    .caps = caps_return_path,
    .params = "'max-bandwidth':20000000,'downtime-limit':0",
    .during = wait_then_let_go,
    .after = were_changed,
    .own_only = true,
};

/* Somebody else tracks, too: no change, and the reason is told. */
static void measure_rate(MigrationPair *p)
{
    json_object_put(qtest_qmp_ok(p->src,
                                 "{'execute':'calc-dirty-rate','arguments':"
                                 "{'calc-time':60,'mode':'dirty-bitmap'}}"));
}

static void was_refused(MigrationPair *p)
{
    g_autoptr(json_object) r = query_tracking(p);

    g_assert_cmpstr(json_path_str(r, "engine"), ==, "bitmap");
    g_assert_cmpint(json_path_int(r, "decision.changes"), ==, 0);
    g_assert_nonnull(
        strstr(json_path_str(r, "decision.refused"), "dirty-rate"));
}

static const MigrationTest refused = {
    .name = "/migration/auto/not-while-others-track",
    .guest = "workload",
    .guest_args = "ws=4 bytes=64 fill=1",
    .ram_mib = 64,
    .src_args = "-global migration.x-change-dirty-tracking=on",
    .caps = caps_return_path,
    .params = "'max-bandwidth':20000000,'downtime-limit':0",
    .prepare = measure_rate,
    .during = wait_then_let_go,
    .after = was_refused,
    .own_only = true,
};

/* A fixed choice is left alone. */
static void was_fixed(MigrationPair *p)
{
    g_autoptr(json_object) r = query_tracking(p), m = migration_query(p->src);

    g_assert_cmpstr(json_path_str(r, "engine"), ==, "dbm");
    g_assert_null(json_path(r, "decision"));
    g_assert_null(json_path(m, "details.dirty-tracking"));
}

static const MigrationTest fixed = {
    .name = "/migration/auto/fixed-is-fixed",
    .accel = "tcg,dirty-tracking=dbm",
    .guest = "workload",
    .guest_args = "ws=4 bytes=64 fill=1",
    .ram_mib = 64,
    .src_args = "-global migration.x-change-dirty-tracking=on",
    .caps = caps_return_path,
    .params = "'max-bandwidth':20000000,'downtime-limit':0",
    .during = wait_then_let_go,
    .after = was_fixed,
    .own_only = true,
};

/* The only change, and what it was for. */
static void assert_change(MigrationPair *p, const char *from, const char *to)
{
    g_autoptr(json_object) r = query_tracking(p);
    g_autofree char *text = qtest_hmp(p->src, "info dirty_tracking");
    g_autofree char *words = g_strdup_printf("%s to %s, for ", from, to);

    g_test_message("%s", text);
    g_assert_cmpstr(json_path_str(r, "engine"), ==, to);
    g_assert_cmpint(json_path_int(r, "decision.changes"), ==, 1);
    g_assert_cmpstr(json_path_str(r, "decision.history.0.from"), ==, from);
    g_assert_cmpstr(json_path_str(r, "decision.history.0.to"), ==, to);
    g_assert_cmpint(json_path_int(r, "decision.history.0.go"), <,
                    json_path_int(r, "decision.history.0.stay"));
    g_assert_nonnull(strstr(text, words));
}

/*
 * It was started with rings, of 256 entries, and told auto later: that goes on
 * with what there is, and the guest fills them all the time.
 */
static void left_rings(MigrationPair *p)
{
    g_autoptr(json_object) r = query_tracking(p);

    g_assert_cmpstr(json_path_str(r, "engine"), !=, "ring");
    assert_change(p, "ring", json_path_str(r, "engine"));
}

static const MigrationTest leaves_rings = {
    .name = "/migration/auto/leaves-small-rings",
    .accel = "tcg,dirty-ring-size=256",
    .guest = "workload",
    .guest_args = "ws=8 bytes=64 fill=1 pat=random",
    .ram_mib = 64,
    .caps = caps_return_path,
    .params = "'max-bandwidth':30000000,'downtime-limit':0,"
              "'dirty-tracking':'auto'",
    .during = wait_then_let_go,
    .after = left_rings,
    .own_only = true,
};

/* A fault is dear here, and the guest writes groups of pages as a whole. */
static void went_to_groups(MigrationPair *p)
{
    assert_change(p, "bitmap", "dbm");
}

static const MigrationTest dear_faults = {
    .name = "/migration/auto/groups-where-faults-are-dear",
    .accel = "tcg,x-dirty-fault-ns=20000",
    .guest = "workload",
    .guest_args = "ws=8 bytes=64 fill=1 pat=sequential",
    .ram_mib = 64,
    .caps = caps_return_path,
    .params = "'max-bandwidth':30000000,'downtime-limit':0",
    .during = wait_then_let_go,
    .after = went_to_groups,
    .own_only = true,
};

static void add(void)
{
    if (migration_guests_work()) {
        migration_test_add(&decides);
        migration_test_add(&changes);
        migration_test_add(&refused);
        migration_test_add(&fixed);
        migration_test_add(&leaves_rings);
        migration_test_add(&dear_faults);
    }
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add);
}
