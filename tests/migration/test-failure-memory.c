/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Disks and memory that run out, "Memory and disks" of
 * docs/devel/failures.rst: all that a test makes lies in a file system whose
 * size it chooses. Needs root.
 */
#include "qemu/osdep.h"

#include <glib/gstdio.h>
#include <sys/mount.h>

#include "framework.h"
#include "guest-machine.h"

#define MIB (UINT64_C(1) << 20)

/* What an error has to say that is about memory. */
static void assert_names_block(const char *text)
{
    if (!strstr(text, "no memory for RAM block 'mem' at offset 0x")) {
        g_error("'%s' does not name the block", text);
    }
}

static char *folder; /* where it is mounted; NULL: it could not be */

static void set_size(unsigned mib)
{
    g_autofree char *options = g_strdup_printf("size=%uM", mib);

    g_assert_cmpint(mount("ferry-test", folder, "tmpfs", MS_REMOUNT, options),
                    ==, 0);
}

static void test_file_system_full(MigrationPair *p)
{
    g_autoptr(json_object) m = NULL, q = NULL;

    migration_set_cap(p->src, "return-path", false); /* a file has none */
    m = qtest_qmp_ok(p->src,
                     "{'execute':'migrate','arguments':{'uri':'file:%s/x'}}",
                     p->dir);
    migration_wait(p->src, "failed");
    q = migration_query(p->src);
    g_assert_nonnull(strstr(json_path_str(q, "error-desc"), "No space left"));
    qtest_assert_status(p->src, "running");
    migration_set_cap(p->src, "return-path", true);
}

/* Once more, where there is room. */
static void again(MigrationPair *p)
{
    set_size(512);
    if (p->dst) {
        qtest_free(p->dst);
    }
    memset(p->dst_ram, 0xff, p->ram_bytes);
    migration_start_target(p);
    migration_target_listen(p);
    migration_set_params(p->src, "'max-bandwidth':0");
    migration_go(p);
    migration_wait(p->src, "completed");
    migration_wait(p->dst, "completed");
    migration_check_memory(p);
}

static void test_target_full(MigrationPair *p)
{
    g_autofree char *said = NULL;
    g_autoptr(json_object) q = NULL;

    migration_target_listen(p);
    migration_go(p);
    g_assert_cmpint(qtest_wait_exit(p->dst), ==, 1);
    said = qtest_stderr(p->dst);
    assert_names_block(said);
    migration_wait(p->src, "failed");
    q = migration_query(p->src);
    g_assert_nonnull(
        strstr(json_path_str(q, "error-desc"), "could not load the guest"));
    qtest_assert_status(p->src, "running");
}

static void test_source_cut(MigrationPair *p)
{
    g_autofree char *path = g_strdup_printf("%s/src.ram", p->dir);
    g_autoptr(json_object) q = NULL;

    migration_set_params(p->src, "'max-bandwidth':4000000");
    migration_target_listen(p);
    migration_go(p);
    migration_wait(p->src, "active");
    g_assert_cmpint(truncate(path, 8 * MIB), ==, 0);
    migration_set_params(p->src, "'max-bandwidth':0");
    migration_wait(p->src, "failed");
    q = migration_query(p->src);
    assert_names_block(json_path_str(q, "error-desc"));
    qtest_assert_status(p->src, "running");
    g_assert_cmpint(qtest_wait_exit(p->dst), ==, 1);
    qtest_free(p->dst);
    p->dst = NULL;
}

typedef struct MemoryTest {
    const char *name;
    void (*run)(MigrationPair *p);
    bool target_at_once; /* ... and nothing is left for its memory */
    bool retry;
} MemoryTest;

static const MemoryTest tests[] = {
    { "file-system-full", test_file_system_full, .retry = true },
    { "target-full", test_target_full, .target_at_once = true, .retry = true },
    { "source-cut", test_source_cut, .target_at_once = true },
};

static bool skip(void)
{
    if (!folder) {
        g_test_skip("a file system of its own needs root");
    }
    return !folder;
}

static MigrationTest plain = {
    .name = "/migration/memory",
    .caps = (const char *const[]){ "return-path", NULL },
};

static void run(gconstpointer data)
{
    const MemoryTest *t = data;
    MigrationPair *p;

    if (skip()) {
        return;
    }
    set_size(512);
    p = migration_pair_new(&plain);
    migration_start_source(p);
    migration_set_cap(p->src, "return-path", true);
    if (t->target_at_once) {
        p->dst = qtest_startf("-object memory-backend-file,id=mem,size=%zu,"
                              "mem-path=%s/dst.ram,share=on "
                              "-M none,memory-backend=mem -m 16M "
                              "-incoming defer",
                              p->ram_bytes, p->dir);
    }
    /* The source's 16 MiB are there; not much more is. */
    if (t->run != test_source_cut) {
        set_size(20);
    }
    t->run(p);
    if (t->retry) {
        again(p);
        qtest_quit(p->dst);
        p->dst = NULL;
    }
    qtest_quit(p->src);
    p->src = NULL;
    migration_pair_free(p);
}

/* ---------------------------------------------------------- the guest */

typedef struct GuestKind {
    const char *name, *guest, *args;
    unsigned cpus;
    bool x86_only;
} GuestKind;

static const GuestKind guest_kinds[] = {
    { "guest", "page-counter", "ws=24", 1 },
    { "guest-of-two-vcpus", "workload", "ws=24 cpus=2 bytes=64 pat=random", 2 },
    { "guest-in-real-mode", "counter-sector", "ws=24", 1, .x86_only = true },
};

/* In a file system of @mib, without waiting until it works. */
static MigrationPair *start_guest(const GuestKind *kind, unsigned mib,
                                  MigrationTest *test)
{
    g_autoptr(GString) args = g_string_new(NULL);
    MigrationPair *p;

    *test = (MigrationTest){
        .name = "/migration/memory/guest",
        .guest = kind->guest,
        .guest_args = kind->args,
        .guest_cpus = kind->cpus,
        .ram_mib = 64,
        .folder = folder,
    };
    set_size(mib);
    p = migration_pair_new(test);
    g_string_printf(args,
                    "-object memory-backend-file,id=mem,size=%zu,"
                    "mem-path=%s/src.ram,share=on ",
                    p->ram_bytes, p->dir);
    guest_machine_args(args, p, false, true);
    p->src = qtest_start_flags(args->str, QTEST_NO_QTEST);
    return p;
}

static bool skip_guest(const GuestKind *kind)
{
    if (skip()) {
        return true;
    }
    if (!migration_guests_work()) {
        g_test_skip(guest_machine_why_not());
        return true;
    }
    if (kind->x86_only && !g_str_equal(qtest_arch(), "x86_64")) {
        g_test_skip("that guest is of x86_64");
        return true;
    }
    return false;
}

static void test_guest(gconstpointer data)
{
    g_autofree char *said = NULL, *no = NULL;
    const GuestKind *kind = data;
    MigrationTest test;
    MigrationPair *p;

    if (skip_guest(kind)) {
        return;
    }
    p = start_guest(kind, 12, &test);
    qtest_wait_status(p->src, "io-error");
    no = qtest_qmp_fail(p->src, "{'execute':'cont'}");
    assert_names_block(no);
    said = qtest_stderr(p->src);
    assert_names_block(said);
    qtest_assert_status(p->src, "io-error");

    set_size(512);
    G_GNUC_UNUSED g_autoptr(json_object)
        c = qtest_qmp_ok(p->src, "{'execute':'cont'}");
    qtest_assert_status(p->src, "running");
    migration_wait_guest(p); /* it stood while its vCPUs were starting */
    migration_assert_guest_runs(p, false);
    G_GNUC_UNUSED g_autoptr(json_object)
        s = qtest_qmp_ok(p->src, "{'execute':'stop'}");
    migration_check_guest(p, false);
    qtest_quit(p->src);
    p->src = NULL;
    migration_pair_free(p);
}

/* What was behind the end of the file is lost: the guest never goes on. */
static void test_guest_cut(void)
{
    g_autofree char *path = NULL, *no = NULL, *moved = NULL;
    MigrationTest test;
    MigrationPair *p;

    if (skip_guest(&guest_kinds[1])) {
        return;
    }
    p = start_guest(&guest_kinds[1], 512, &test);
    migration_assert_guest_runs(p, false);
    path = g_strdup_printf("%s/src.ram", p->dir);
    g_assert_cmpint(truncate(path, 20 * MIB), ==, 0);
    qtest_wait_status(p->src, "internal-error");
    no = qtest_qmp_fail(p->src, "{'execute':'cont'}");
    moved = qtest_qmp_fail(p->src, "{'execute':'migrate','arguments':"
                                   "{'uri':'unix:/nowhere'}}");
    g_assert_nonnull(strstr(moved, "RAM block 'mem' at offset 0x"));
    g_assert_nonnull(strstr(moved, "is lost"));
    qtest_quit(p->src);
    p->src = NULL;
    migration_pair_free(p);
}

static void add_tests(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strdup_printf("/migration/memory/%s",
                                                tests[i].name);

        g_test_add_data_func(path, &tests[i], run);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(guest_kinds); i++) {
        g_autofree char *path = g_strdup_printf("/migration/memory/%s",
                                                guest_kinds[i].name);

        g_test_add_data_func(path, &guest_kinds[i], test_guest);
    }
    g_test_add_func("/migration/memory/guest-cut", test_guest_cut);
}

static void make_folder(void)
{
    g_autofree char *path = g_strdup("/tmp/ferry-full-XXXXXX");

    if (geteuid() == 0 && g_mkdtemp(path) &&
        mount("ferry-test", path, "tmpfs", 0, "size=64M") == 0) {
        folder = g_steal_pointer(&path);
        plain.folder = folder;
    }
}

int main(int argc, char **argv)
{
    int result;

    make_folder();
    result = migration_test_main(argc, argv, add_tests);
    if (folder) {
        umount2(folder, MNT_DETACH);
        g_rmdir(folder);
    }
    return result;
}
