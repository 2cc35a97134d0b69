/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration of x86-64 guests under KVM: what only such a machine has. Its
 * clocks go on and never step back, its timers tick on, a boot sector counts
 * on, a sleeping machine stays asleep.
 *
 * MIGRATION_TEST_ACCEL says by which kind of tracking (meson.build runs all).
 */
#include "qemu/osdep.h"

#include "framework.h"
#include "guest-check.h"
#include "guest-machine.h"
#include "guest-ticks.h"

#define ROUNDS 5

static const char *const caps_return_path[] = { "return-path", NULL };

static void qmp(QTestState *s, const char *command)
{
    G_GNUC_UNUSED g_autoptr(json_object)
        r = qtest_qmp_ok(s, "{'execute':'%s'}", command);
}

/* ------------------------------------------------------------- clocks */

/* Until each vCPU that ticks has ticked @more times more. */
static void wait_ticks(const uint8_t *ram, unsigned nr_cpus, uint64_t more)
{
    for (unsigned cpu = 0; cpu < nr_cpus; cpu++) {
        ticks_wait(ram, cpu, more);
    }
}

static void look_before(MigrationPair *p)
{
    wait_ticks(p->src_ram, p->test->guest_cpus, 50);
}

/* The target has been stopped by now. */
static void look_after(MigrationPair *p)
{
    qmp(p->dst, "cont");
    wait_ticks(p->dst_ram, p->test->guest_cpus, 50);
    qmp(p->dst, "stop");
    migration_check_guest(p, true);
}

static const MigrationTest periodic_test = {
    .name = "/migration/kvm/time/periodic-local-timers",
    .guest = "clocks",
    .guest_args = "cpus=2 tick=lapic hz=200",
    .guest_cpus = 2,
    .ram_mib = 64,
    .caps = caps_return_path,
    .prepare = look_before,
    .after = look_after,
};

/* Each interrupt arms the next: a lost one would have been the last. */
static const MigrationTest oneshot_test = {
    .name = "/migration/kvm/time/one-shot-local-timers",
    .guest = "clocks",
    .guest_args = "cpus=2 tick=oneshot hz=1000",
    .guest_cpus = 2,
    .ram_mib = 64,
    .caps = caps_return_path,
    .prepare = look_before,
    .after = look_after,
};

/*
 * A guest with a PIT goes back and forth. Between its clocks' last moment on one
 * side and the first on the other they are set to within what the host needs
 * from one call to the next: a part of a tick, each time.
 */
static const MigrationTest pit_tests[] = {
    {
        .name = "/migration/kvm/time/none-is-lost",
        .guest = "clocks",
        .guest_args = "tick=pit hz=100",
        .ram_mib = 64,
    },
    {
        .name = "/migration/kvm/time/none-is-lost-by-the-io-apic",
        .guest = "clocks",
        .guest_args = "tick=ioapic hz=100",
        .ram_mib = 64,
    },
};

static void move(MigrationPair *p)
{
    migration_new_target(p);
    migration_target_listen(p);
    migration_set_params(p->src, "'max-bandwidth':0,'downtime-limit':500");
    migration_go(p);
    migration_wait(p->src, "completed");
    migration_wait(p->dst, "completed");
    migration_turn_round(p);
}

static void test_ticks(gconstpointer test)
{
    MigrationPair *p;
    TickCount t;

    if (!migration_guests_work()) {
        g_test_skip(guest_machine_why_not());
        return;
    }
    p = migration_pair_new(test);
    migration_start_source(p);
    ticks_wait(p->src_ram, 0, 20);
    t = ticks_begin(p->src_ram, 0.2);
    for (unsigned i = 1; i <= ROUNDS; i++) {
        ticks_assert_all(&t);
        move(p);
        t.ram = p->src_ram;
        t.allowed += 0.1;
        ticks_wait(p->src_ram, 0, 20);
        ticks_assert_all(&t);
        qmp(p->src, "stop");
        migration_check_guest(p, false);
        qmp(p->src, "cont");
        t.allowed += 0.1;
    }
    qtest_quit(p->src);
    p->src = NULL;
    migration_pair_free(p);
}

/* ------------------------------------------------------ shape of memory */

static void let_it_go_after_pass_2(MigrationPair *p)
{
    migration_wait_pass(p->src, 2);
    migration_set_params(p->src, "'max-bandwidth':0,'downtime-limit':30000");
}

/*
 * RAM that is cut in two at an odd page, so that slots have odd sizes and
 * begin in the middle of a word of the block's bitmap. The upper part is what
 * the guest writes; it is so many pages long.
 */
#define ODD_RAM_MIB 32
#define ODD_TEST(pages, set_mib)                                            \
    {                                                                       \
        .name = "/migration/kvm/slots-of-" #pages "-pages",                 \
        .guest = "workload",                                                \
        .guest_args = "map=5 cpus=2 bytes=64 start=4096 " set_mib,          \
        .guest_cpus = 2, .guest_low_kib = ODD_RAM_MIB * 1024 - 4 * (pages), \
        .ram_mib = ODD_RAM_MIB, .caps = caps_return_path,                   \
        .params = "'max-bandwidth':20000000,'downtime-limit':0",            \
        .during = let_it_go_after_pass_2,                                   \
    }

static const MigrationTest odd_tests[] = {
    ODD_TEST(1025, "ws=4"),
    ODD_TEST(1024, "ws=4"),
    ODD_TEST(2113, "ws=8"),
    ODD_TEST(4159, "ws=16"),
};

/* The same RAM in many slots of odd sizes; MIGRATION_TEST_ACCEL and more. */
static void test_small_slots(gconstpointer pages)
{
    const char *accel = g_getenv("MIGRATION_TEST_ACCEL");
    g_autofree char *with = g_strdup_printf(
        "%s,slot-size=%uK", accel ? accel : "kvm", 4 * GPOINTER_TO_UINT(pages));
    MigrationTest test = {
        .name = "/migration/kvm/many-slots",
        .guest = "workload",
        .guest_args = "ws=16 cpus=2 bytes=64",
        .guest_cpus = 2,
        .ram_mib = 64,
        .accel = with,
        .caps = caps_return_path,
        .params = "'max-bandwidth':20000000,'downtime-limit':0",
        .during = let_it_go_after_pass_2,
        .own_only = true,
    };

    migration_test_run(&test);
}

static void add_small_slots(void)
{
    static const unsigned pages[] = { 257, 319, 321, 1025 };

    for (size_t i = 0; i < G_N_ELEMENTS(pages); i++) {
        g_autofree char *name = g_strdup_printf(
            "/migration/kvm/many-slots-of-%u-pages", pages[i]);

        g_test_add_data_func(name, GUINT_TO_POINTER(pages[i]),
                             test_small_slots);
    }
}

/* Segments of the first MiB change all the time: RAM, read-only, nothing. */
static const MigrationTest remap_test = {
    .name = "/migration/kvm/mappings-that-change",
    .guest = "remap",
    .guest_args = "cpus=2",
    .guest_cpus = 2,
    .ram_mib = 32,
    .caps = caps_return_path,
    .params = "'max-bandwidth':20000000,'downtime-limit':0",
    .during = let_it_go_after_pass_2,
    .own_only = true, /* the real QEMU lets writes through to RAM */
};

/* -------------------------------------------------------- boot sector */

static const MigrationTest sector_test = {
    .name = "/migration/kvm/boot-sector-counts-on",
    .guest = "counter-sector",
    .guest_args = "ws=8",
    .ram_mib = 64,
    .params = "'max-bandwidth':20000000,'downtime-limit':0",
    .during = let_it_go_after_pass_2,
};

/* As it is built: 100 MiB from 16 MiB on. */
static const MigrationTest plain_sector_test = {
    .name = "/migration/kvm/boot-sector-as-it-is",
    .guest = "counter-sector",
    .caps = caps_return_path,
    .params = "'max-bandwidth':100000000,'downtime-limit':0",
    .during = let_it_go_after_pass_2,
};

/*
 * A kernel that interprets real mode writes to full rings, and these are soon
 * full: then the migration goes on with the bitmap. Elsewhere they will do.
 */
static void look_at_engine(MigrationPair *p)
{
    g_autofree char *said = qtest_stderr(p->src);
    bool overrun = strstr(said, "was full, so that writes") != NULL;
    g_autoptr(json_object)
        r = qtest_qmp_ok(p->src, "{'execute':'query-dirty-tracking'}");

    g_test_message("the ring was %swritten to when full",
                   overrun ? "" : "not ");
    g_assert_cmpstr(json_path_str(r, "engine"), ==,
                    overrun ? "bitmap" : "ring");
    g_assert_cmpstr(json_path_str(r, "mode"), ==, overrun ? "bitmap" : "ring");
}

static const MigrationTest small_ring_test = {
    .name = "/migration/kvm/boot-sector-and-a-small-ring",
    .guest = "counter-sector",
    .guest_args = "ws=8",
    .ram_mib = 64,
    .accel = "kvm,dirty-ring-size=256",
    .caps = caps_return_path,
    .params = "'max-bandwidth':20000000,'downtime-limit':0",
    .during = let_it_go_after_pass_2,
    .after = look_at_engine,
};

/* The same without a return path, and with more to write than is sent. */
static const MigrationTest plain_small_ring_test = {
    .name = "/migration/kvm/boot-sector-and-a-small-ring-one-way",
    .guest = "counter-sector",
    .accel = "kvm,dirty-ring-size=256",
    .params = "'max-bandwidth':100000000,'downtime-limit':0",
    .during = let_it_go_after_pass_2,
    .after = look_at_engine,
};

static void wait_asleep(MigrationPair *p)
{
    gint64 end = g_get_monotonic_time() + 100 * G_USEC_PER_SEC;

    for (;;) {
        g_autoptr(json_object)
            r = qtest_qmp_ok(p->src, "{'execute':'query-status'}");

        if (g_str_equal(json_path_str(r, "status"), "suspended")) {
            return;
        }
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(5000);
    }
}

static void wake_target(MigrationPair *p)
{
    migration_wait(p->src, "completed");
    migration_wait(p->dst, "completed");
    qtest_assert_status(p->dst, "suspended");
    migration_check_guest(p, true);
    qmp(p->dst, "system_wakeup");
    migration_assert_guest_runs(p, true);
    qtest_assert_status(p->dst, "running");
    qmp(p->dst, "stop");
    migration_check_guest(p, true);
}

static const MigrationTest asleep_test = {
    .name = "/migration/kvm/asleep-stays-asleep-until-woken",
    .guest = "counter-sector-suspend",
    .guest_args = "ws=8",
    .ram_mib = 64,
    .prepare = wait_asleep,
    .during = wake_target,
    .end = MIGRATION_LEFT_TO_HOOKS,
};

static void add_tests(void)
{
    const char *accel = g_getenv("MIGRATION_TEST_ACCEL");

    migration_test_add(&periodic_test);
    migration_test_add(&oneshot_test);
    for (size_t i = 0; i < G_N_ELEMENTS(pit_tests); i++) {
        g_test_add_data_func(pit_tests[i].name, &pit_tests[i], test_ticks);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(odd_tests); i++) {
        migration_test_add(&odd_tests[i]);
    }
    add_small_slots();
    migration_test_add(&remap_test);
    migration_test_add(&sector_test);
    migration_test_add(&plain_sector_test);
    if (strstr(accel ? accel : "", "ring")) {
        migration_test_add(&small_ring_test);
        migration_test_add(&plain_small_ring_test);
    }
    migration_test_add(&asleep_test);
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add_tests);
}
