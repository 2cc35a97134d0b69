/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest that writes its memory faster than it can be sent: its migration ends
 * by a pause that is tried, if the last pages go faster than the others; and if
 * they do not, the pause is called off, and no write is lost by that.
 */
#include "qemu/osdep.h"

#include "guest-fixture.h"

/* 16 MiB at 10 MB/s would be a pause of 1.7 s. */
static void ended_in_time(MigrationPair *p)
{
    g_autoptr(json_object) r = migration_query(p->src);

    g_assert_cmpint(json_path_int(r, "ram.downtime-bytes"), >, 4 << 20);
    g_test_message("%" PRId64 " rounds, %" PRId64 " pauses called off, at last "
                   "%" PRId64 " ms",
                   json_path_int(r, "details.rounds"),
                   json_path_int(r, "details.called-off"),
                   json_path_int(r, "downtime"));
}

static const MigrationTest tried = {
    .name = "/migration/attempt/tried",
    TWO_WRITERS,
    .caps = caps_return_path,
    .params = "'max-bandwidth':10000000,'downtime-limit':1000",
    .after = ended_in_time,
    .own_only = true,
};

static int64_t called_off(MigrationPair *p)
{
    g_autoptr(json_object) r = migration_query(p->src);

    return json_path(r, "details") ? json_path_int(r, "details.called-off") : 0;
}

/* 16 MiB at 20 MB/s are 0.8 s; at eight times that, which is hoped, 0.1 s. */
static void is_called_off(MigrationPair *p)
{
    while (!called_off(p)) {
        if (g_str_equal(migration_status(p->src), "completed")) {
            g_autoptr(json_object) r = migration_query(p->src);

            g_error("it completed: %s", json_object_to_json_string(r));
        }
        g_usleep(5000);
    }
    g_assert_cmpstr(migration_status(p->src), ==, "active");
    migration_assert_guest_runs(p, false);
    fault_proxy_set_rate(p->link, 0);
    let_it_go(p);
}

static void says_so(MigrationPair *p)
{
    g_autoptr(json_object) r = migration_query(p->src);
    g_autofree char *text = qtest_hmp(p->src, "info migrate");

    g_assert_cmpint(json_path_int(r, "details.called-off"), >=, 1);
    g_assert_cmpint(json_path_int(r, "details.called-off-time"), >, 0);
    g_assert_nonnull(strstr(text, "Pauses called off: \t"));
}

#define TOO_SLOW                                                     \
    TWO_WRITERS, .listen = "tcp:127.0.0.1:0", .link_rate = 20000000, \
                 .caps = caps_return_path, .during = is_called_off,  \
                 .after = says_so, .own_only = true
#define TOO_SLOW_PARAMS "'max-bandwidth':10000000,'downtime-limit':250"

static const MigrationTest too_slow = {
    .name = "/migration/attempt/called-off",
    TOO_SLOW,
    .params = TOO_SLOW_PARAMS,
};

/* What was sent in the pause is cleaned in another way. */
static const MigrationTest too_slow_ring = {
    .name = "/migration/attempt/called-off-ring",
    TOO_SLOW,
    .params = TOO_SLOW_PARAMS ",'dirty-tracking':'ring'",
};
static const MigrationTest too_slow_dbm = {
    .name = "/migration/attempt/called-off-dbm",
    TOO_SLOW,
    .params = TOO_SLOW_PARAMS ",'dirty-tracking':'dbm'",
};

static void add(void)
{
    migration_test_add(&tried);
    migration_test_add(&too_slow);
    if (g_str_equal(qtest_arch(), "aarch64")) {
        migration_test_add(&too_slow_ring);
        migration_test_add(&too_slow_dbm);
    }
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add);
}
