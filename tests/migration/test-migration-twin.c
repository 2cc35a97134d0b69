/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration of x86-64 guests under KVM that move to another kernel VM
 * meanwhile, because the tracker changes between rings and bitmap: after each
 * round another one. Pages are exact, timers tick on,
 * those that can be counted without losing one, clocks never step back.
 *
 * MIGRATION_TEST_TWINS: so many changes at least (make soak: 1,000).
 */
#include "qemu/osdep.h"

#include "guest-check.h"
#include "guest-fixture.h"
#include "guest-machine.h"
#include "guest-ticks.h"

#define TRACKING   "dirty-tracking=auto,dirty-ring-size=4096"
#define EACH_ROUND "-global migration.x-change-dirty-tracking=on"

static int64_t changes_wanted(void)
{
    const char *text = g_getenv("MIGRATION_TEST_TWINS");

    return text ? g_ascii_strtoll(text, NULL, 10) : 50;
}

static int64_t changes_now(MigrationPair *p)
{
    g_autoptr(json_object) r = query_tracking(p);

    if (json_path(r, "decision.refused")) {
        g_error("refused: %s", json_path_str(r, "decision.refused"));
    }
    return json_path(r, "decision.changes")
               ? json_path_int(r, "decision.changes")
               : 0;
}

static void wait_changes(MigrationPair *p, int64_t n)
{
    gint64 end = g_get_monotonic_time() + (60 + n) * G_USEC_PER_SEC;

    while (changes_now(p) < n) {
        if (g_get_monotonic_time() > end) {
            g_autoptr(json_object) m = migration_query(p->src);
            g_autoptr(json_object) t = query_tracking(p);

            g_error("%" PRId64 " changes of %" PRId64 ": %s\n%s",
                    changes_now(p), n, json_object_to_json_string(m),
                    json_object_to_json_string(t));
        }
        g_usleep(20000);
    }
}

/* ------------------------------------------------------------ pages */

#define TWO_RANDOM_WRITERS(more)                                               \
    .guest = "workload", .guest_args = "ws=4 cpus=2 bytes=64 pat=random" more, \
    .guest_cpus = 2, .ram_mib = 64, .src_args = EACH_ROUND,                    \
    .caps = caps_return_path, .own_only = true

static void change_then_let_go(MigrationPair *p)
{
    wait_changes(p, changes_wanted());
    let_it_go(p);
}

static const MigrationTest pages_test = {
    .name = "/migration/twin/pages",
    TWO_RANDOM_WRITERS(" fill=1"),
    .params = "'max-bandwidth':40000000,'downtime-limit':0",
    .during = change_then_let_go,
};

/* No more: nothing holds this one back, it may end by itself. */
static void change_a_little(MigrationPair *p)
{
    wait_changes(p, 3);
    let_it_go(p);
}

/* The first pass is over before it is known how the guest writes. */
static const MigrationTest fast_test = {
    .name = "/migration/twin/pages-fast",
    TWO_RANDOM_WRITERS(""),
    .params = "'max-bandwidth':0,'downtime-limit':0",
    .during = change_a_little,
};

/* ------------------------------------------------------------ clocks */

static void wait_ticks(MigrationPair *p, uint64_t more)
{
    for (unsigned cpu = 0; cpu < MAX(p->test->guest_cpus, 1); cpu++) {
        ticks_wait(p->src_ram, cpu, more);
    }
}

static void tick_then_let_go(MigrationPair *p)
{
    wait_ticks(p, 20);
    wait_changes(p, changes_wanted());
    wait_ticks(p, 50);
    let_it_go(p);
}

/* Not one tick is lost, nor one too many. */
static void count_then_let_go(MigrationPair *p)
{
    TickCount t;
    int64_t n = 0;

    wait_ticks(p, 20);
    t = ticks_begin(p->src_ram, 0.2);
    ticks_assert_all(&t);
    while (n < changes_wanted()) {
        n = MIN(n + 10, changes_wanted());
        wait_changes(p, n);
        ticks_assert_all(&t);
    }
    let_it_go(p);
}

#define CLOCKS_TEST(name_, args, cpus, hook)                           \
    {                                                                  \
        .name = "/migration/twin/" name_, .guest = "clocks",           \
        .guest_args = args " ws=4", .guest_cpus = cpus, .ram_mib = 64, \
        .src_args = EACH_ROUND, .caps = caps_return_path,              \
        .params = "'max-bandwidth':40000000,'downtime-limit':0",       \
        .during = hook, .own_only = true,                              \
    }

static const MigrationTest clocks_tests[] = {
    CLOCKS_TEST("periodic-local-timers", "cpus=2 tick=lapic hz=1000", 2,
                tick_then_let_go),
    /* Each interrupt arms the next: one that is lost was the last. */
    CLOCKS_TEST("one-shot-local-timers", "cpus=2 tick=oneshot hz=1000", 2,
                tick_then_let_go),
    CLOCKS_TEST("pit-1000-hz", "tick=pit hz=1000", 1, count_then_let_go),
    CLOCKS_TEST("pit-by-io-apic", "tick=ioapic hz=1000", 1, count_then_let_go),
    CLOCKS_TEST("pit-100-hz", "tick=pit hz=100", 1, count_then_let_go),
};

static void add_tests(void)
{
    migration_test_add(&pages_test);
    migration_test_add(&fast_test);
    for (size_t i = 0; i < G_N_ELEMENTS(clocks_tests); i++) {
        migration_test_add(&clocks_tests[i]);
    }
}

/* The rest of what -accel says; MIGRATION_TEST_ACCEL goes before it. */
static void choose_tracking(void)
{
    const char *given = g_getenv("MIGRATION_TEST_ACCEL");
    g_autofree char *accel = g_strdup_printf("%s," TRACKING,
                                             given ? given : "kvm");

    g_setenv("MIGRATION_TEST_ACCEL", accel, true);
}

int main(int argc, char **argv)
{
    choose_tracking();
    return migration_test_main(argc, argv, add_tests);
}
