/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration of guests whose writes the host's kernel tracks in the process's
 * own memory (dirty-tracking=pagemap): under KVM and under TCG, with memory
 * that is nobody else's. Every page is checked by what the guest says it wrote.
 */
#include "qemu/osdep.h"

#include "guest-fixture.h"
#include "guest-machine.h"

#define MOVES 4

static char *accel(void)
{
    return g_strdup_printf("%s,dirty-tracking=pagemap",
                           g_str_equal(qtest_arch(), "x86_64") ? "kvm" : "tcg");
}

static void three_passes(MigrationPair *p)
{
    json_object_put(tracking_in_pass_3(p, "pagemap"));
    let_it_go(p);
}

/* Why the host cannot; NULL: it can. */
static char *why_not(void)
{
    bool kvm = g_str_equal(qtest_arch(), "x86_64");
    g_autofree char *args = g_strdup_printf(
        "-M %s -S -accel %s", kvm ? "q35" : "virt", kvm ? "kvm" : "tcg");
    QTestState *s = qtest_start_flags(args, QTEST_NO_QTEST);
    g_autoptr(json_object)
        r = qtest_qmp_ok(s, "{'execute':'query-dirty-tracking'}");
    char *why = g_strdup("this program has no such tracker");

    for (int i = 0; i < 4; i++) {
        g_autofree char *name = g_strdup_printf("engines.%d.name", i);
        g_autofree char *reason = g_strdup_printf("engines.%d.reason", i);

        if (json_path(r, name) &&
            g_str_equal(json_path_str(r, name), "pagemap")) {
            g_free(why);
            why = json_path(r, reason) ? g_strdup(json_path_str(r, reason))
                                       : NULL;
        }
    }
    qtest_quit(s);
    return why;
}

static bool skip(void)
{
    static char *why;
    static bool asked;

    if (!migration_guests_work()) {
        g_test_skip(guest_machine_why_not());
        return true;
    }
    if (!asked) {
        why = why_not();
        asked = true;
    }
    if (why) {
        g_test_skip(why);
    }
    return why != NULL;
}

/* ---- one way ---- */

typedef struct Variant {
    const char *name, *backend, *guest, *args;
    unsigned cpus, ram_mib;
} Variant;

static const Variant variants[] = {
    { "anonymous", "memory-backend-ram", "workload", "ws=16 cpus=2 bytes=64", 2,
      64 },
    { "memfd", "memory-backend-memfd,share=on", "workload",
      "ws=16 cpus=2 bytes=64", 2, 64 },
    { "private-memfd", "memory-backend-memfd,share=off", "workload",
      "ws=16 cpus=2 bytes=64", 2, 64 },
    { "preallocated", "memory-backend-ram,prealloc=on", "workload",
      "ws=16 cpus=2 bytes=64", 2, 64 },
    { "page-counter", "memory-backend-ram", "page-counter", "ws=8", 1, 64 },
};

static void test_variant(gconstpointer data)
{
    const Variant *v = data;
    g_autofree char *with = accel();
    MigrationTest test = {
        .name = v->name,
        .ram_backend = v->backend,
        .guest = v->guest,
        .guest_args = v->args,
        .guest_cpus = v->cpus,
        .ram_mib = v->ram_mib,
        .accel = with,
        .caps = caps_return_path,
        .params = HELD_BACK,
        .during = three_passes,
        .own_only = true,
    };

    if (!skip()) {
        migration_test_run(&test);
    }
}

/* ---- there and back ---- */

static void move(MigrationPair *p)
{
    migration_new_target(p);
    migration_target_listen(p);
    migration_set_params(p->src, HELD_BACK);
    migration_go(p);
    three_passes(p);
    migration_wait(p->src, "completed");
    migration_wait(p->dst, "completed");
    migration_assert_guest_runs(p, true);
    json_object_put(qtest_qmp_ok(p->dst, "{'execute':'stop'}"));
    migration_check_guest(p, true);
    json_object_put(qtest_qmp_ok(p->dst, "{'execute':'cont'}"));
    migration_turn_round(p);
}

/* A target that has loaded its memory tracks it as well. */
static void test_there_and_back(void)
{
    g_autofree char *with = accel();
    MigrationTest test = {
        .name = "/migration/pagemap/there-and-back",
        .ram_backend = "memory-backend-ram",
        TWO_WRITERS,
        .accel = with,
    };
    MigrationPair *p;

    if (skip()) {
        return;
    }
    p = migration_pair_new(&test);
    migration_start_source(p);
    for (unsigned i = 0; i < MOVES; i++) {
        move(p);
    }
    qtest_quit(p->src);
    p->src = NULL;
    migration_pair_free(p);
}

/* ---- not with memory that others may write to ---- */

static void refused_and_runs_on(MigrationPair *p)
{
    g_autoptr(json_object) r = NULL;

    migration_wait(p->src, "failed");
    r = migration_query(p->src);
    g_assert_nonnull(
        strstr(json_path_str(r, "error-desc"), "other processes may write"));
    migration_assert_guest_runs(p, false);
    qtest_assert_status(p->src, "running");
    qtest_kill(p->dst);
    p->dst = NULL;
}

static void test_refused(void)
{
    g_autofree char *with = accel();
    MigrationTest test = {
        .name = "/migration/pagemap/refuses-a-shared-file",
        .accel = with,
        .guest = "workload",
        .guest_args = "ws=4",
        .ram_mib = 64,
        .during = refused_and_runs_on,
        .end = MIGRATION_LEFT_TO_HOOKS,
        .own_only = true,
    };

    if (!skip()) {
        migration_test_run(&test);
    }
}

static void add_tests(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(variants); i++) {
        g_autofree char *name = g_strdup_printf("/migration/pagemap/%s",
                                                variants[i].name);

        g_test_add_data_func(name, &variants[i], test_variant);
    }
    g_test_add_func("/migration/pagemap/there-and-back", test_there_and_back);
    g_test_add_func("/migration/pagemap/refuses-a-shared-file", test_refused);
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add_tests);
}
