/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory that was never populated: neither read nor allocated nor sent, on
 * every kind of memory, and the target's is the same afterwards, whatever lay
 * in it before. Asserted by counts, not by time.
 *
 * The memory is 64 MiB of a machine without a guest. The source writes some
 * pages, the target's are filled with 0xff where the source has data and where
 * it has none. With a peer (see framework.h) one of the sides is QEMU.
 */
#include "qemu/osdep.h"

#include <glib/gstdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "framework.h"

#define MIB         (UINT64_C(1) << 20)
#define BYTES       (64 * MIB)
#define PAGE        UINT64_C(4096)
#define PAGES       (BYTES / PAGE)
#define SHARED_FILE "memory-backend-file,share=on,mem-path=%s"
#define HUGE        (2 * MIB / PAGE)

/* What is written: pages, by tests that say nothing else. */
static const unsigned src_pages[] = { 3, 100, 101, 102, 5000, PAGES - 1 };
/* The target's leftovers: [first, first + n). */
static const struct {
    unsigned first, n;
} dst_runs[] = { { 2, 4 }, { 50, 40 }, { 9000, 1 } };

typedef struct HolesTest {
    const char *name;
    /* memory-backend-...; %s: a file of this side's own. */
    const char *src, *dst;
    bool no_way_back; /* so that zero records are sent */
    bool omit;        /* x-omit-holes: not even those */
    bool fresh;       /* nothing is left over in the target's */
    bool no_thp;
    bool base_file; /* the file has data before it is mapped */
    bool all_read;  /* populated: nothing can be left out */
    const char *accel;
} HolesTest;

typedef struct Sides {
    const HolesTest *test;
    char *dir;
    QTestState *src, *dst;
    uint64_t src_rss, dst_rss; /* before it began */
} Sides;

static char *ram_file(Sides *s, bool target)
{
    return g_strdup_printf("%s/%s.ram", s->dir, target ? "dst" : "src");
}

static QTestState *start(Sides *s, bool target, const char *size)
{
    static const char *const names[2] = { "QTEST_QEMU_BINARY_SRC",
                                          "QTEST_QEMU_BINARY_DST" };
    const HolesTest *t = s->test;
    const char *own = g_getenv("QTEST_QEMU_BINARY");
    g_autofree char *keep = g_strdup(own), *path = ram_file(s, target);
    g_autofree char *memory = NULL;
    char **parts = g_strsplit(target && t->dst ? t->dst : t->src, "%s", -1);
    QTestState *q;

    memory = g_strjoinv(path, parts);
    g_strfreev(parts);
    if (g_getenv(names[target])) {
        g_setenv("QTEST_QEMU_BINARY", g_getenv(names[target]), true);
    }
    q = qtest_startf("-M none,memory-backend=m -m %s "
                     "-object %s,id=m,size=%s %s%s%s",
                     size, memory, size, t->accel ? "-accel " : "",
                     t->accel ? t->accel : "",
                     target ? " -incoming defer" : "");
    g_setenv("QTEST_QEMU_BINARY", keep, true);
    migration_set_cap(q, "return-path", !t->no_way_back);
    /* A fresh target need not know. */
    if (t->omit && !(target && t->fresh)) {
        migration_set_cap(q, "x-omit-holes", true);
    }
    return q;
}

static uint64_t rss(QTestState *q)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0; /* their shadow memory grows with what is only looked at */
#endif
    g_autofree char *path = g_strdup_printf("/proc/%d/status", qtest_pid(q));
    g_autofree char *text = NULL;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return g_ascii_strtoull(strstr(text, "VmRSS:") + 6, NULL, 10) * 1024;
}

/* QEMU's machine without CPUs can't be written to by qtest: by its file then. */
static void put(Sides *s, bool target, uint64_t addr, uint8_t v, size_t n)
{
    if (migration_binary_is_own(target)) {
        qtest_memset(target ? s->dst : s->src, addr, v, n);
    } else {
        g_autofree char *path = ram_file(s, target);
        g_autofree uint8_t *bytes = g_malloc(n);
        int fd = g_open(path, O_RDWR, 0);

        memset(bytes, v, n);
        g_assert_cmpint(pwrite(fd, bytes, n, addr), ==, n);
        close(fd);
    }
}

/* Pages of data that a file has before it is anybody's memory. */
static void make_base(Sides *s, bool target)
{
    g_autofree char *path = ram_file(s, target);
    int fd = g_open(path, O_RDWR | O_CREAT, 0600);
    char page[4096];

    memset(page, target ? 0xff : 0x5a, sizeof(page));
    g_assert_cmpint(ftruncate(fd, BYTES), ==, 0);
    for (unsigned i = 0; i < 10; i++) {
        unsigned at = (target ? 2100 : 2000) + i;

        g_assert_cmpint(pwrite(fd, page, PAGE, at * PAGE), ==, PAGE);
    }
    close(fd);
}

static void write_src(Sides *s)
{
    for (size_t i = 0; i < G_N_ELEMENTS(src_pages); i++) {
        put(s, false, src_pages[i] * PAGE + 17, i + 1, 100);
    }
}

static void write_dst(Sides *s)
{
    for (size_t i = 0; i < G_N_ELEMENTS(dst_runs); i++) {
        put(s, true, dst_runs[i].first * PAGE, 0xff, dst_runs[i].n * PAGE);
    }
}

static Sides *sides_new(const HolesTest *t)
{
    Sides *s = g_new0(Sides, 1);

    s->test = t;
    s->dir = g_dir_make_tmp("holes-XXXXXX", NULL);
    return s;
}

static void sides_free(Sides *s)
{
    g_autoptr(GDir) dir = g_dir_open(s->dir, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *file = g_build_filename(s->dir, name, NULL);

        g_unlink(file);
    }
    g_rmdir(s->dir);
    g_free(s->dir);
    g_free(s);
}

static void listen_there(Sides *s)
{
    G_GNUC_UNUSED g_autoptr(json_object) r = qtest_qmp_ok(
        s->dst,
        "{'execute':'migrate-incoming','arguments':{'uri':'unix:%s/sock'}}",
        s->dir);
}

static void go(Sides *s)
{
    G_GNUC_UNUSED g_autoptr(json_object) r = qtest_qmp_ok(
        s->src, "{'execute':'migrate','arguments':{'uri':'unix:%s/sock'}}",
        s->dir);
}

static void run(Sides *s)
{
    listen_there(s);
    s->src_rss = rss(s->src);
    s->dst_rss = rss(s->dst);
    go(s);
    migration_wait(s->src, "completed");
    migration_wait(s->dst, "completed");
}

static char *dump(Sides *s, QTestState *q, const char *name)
{
    char *path = g_strdup_printf("%s/%s", s->dir, name);
    G_GNUC_UNUSED g_autoptr(json_object) r = qtest_qmp_ok(
        q,
        "{'execute':'pmemsave','arguments':{'val':0,'size':%" PRIu64
        ",'filename':'%s'}}",
        BYTES, path);

    return path;
}

/* Byte for byte. It reads all of it: after everything that was counted. */
static void check_same(Sides *s)
{
    g_autofree char *a_path = dump(s, s->src, "a");
    g_autofree char *b_path = dump(s, s->dst, "b");
    g_autofree char *a = NULL, *b = NULL;
    gsize a_len, b_len;

    g_assert_true(g_file_get_contents(a_path, &a, &a_len, NULL));
    g_assert_true(g_file_get_contents(b_path, &b, &b_len, NULL));
    g_assert_cmpuint(a_len, ==, BYTES);
    g_assert_cmpuint(b_len, ==, BYTES);
    for (uint64_t i = 0; i < PAGES; i++) {
        if (memcmp(a + i * PAGE, b + i * PAGE, PAGE)) {
            g_error("page %" PRIu64 " differs: 0x%02x.. there, 0x%02x.. here",
                    i, (uint8_t)a[i * PAGE + 17], (uint8_t)b[i * PAGE + 17]);
        }
    }
    g_unlink(a_path);
    g_unlink(b_path);
}

/* Of the stream's pages: those of PAGE bytes. */
static uint64_t count(json_object *r, const char *path)
{
    return json_path_int(r, path) * json_path_int(r, "ram.page-size") / PAGE;
}

/* Pages of source memory that are populated at most. */
static uint64_t populated(const HolesTest *t)
{
    uint64_t n = G_N_ELEMENTS(src_pages) + (t->base_file ? 10 : 0);

    return t->all_read ? PAGES
           : t->no_thp ? n
                       : n * HUGE; /* the unit that the host may hand out */
}

static void check_src_counts(Sides *s)
{
    const HolesTest *t = s->test;
    g_autoptr(json_object) r = migration_query(s->src);
    uint64_t holes = count(r, "details.holes");
    uint64_t skipped = count(r, "details.skipped");
    uint64_t per_page = PAGE / json_path_int(r, "ram.page-size");
    uint64_t records = json_path_int(r, "ram.normal") +
                       json_path_int(r, "ram.duplicate");
    bool skips = (!t->no_way_back && migration_binary_is_own(true)) || t->omit;

    g_assert_cmpuint(holes, >=, PAGES - MIN(PAGES, populated(t)));
    g_assert_cmpuint(holes, <=, PAGES);
    if (t->all_read) {
        g_assert_cmpuint(holes, ==, 0);
    }
    g_assert_cmpuint(skipped, ==, skips ? holes : 0);
    /* Each page once: nobody writes meanwhile. */
    g_assert_cmpuint(records, ==, (PAGES - skipped) * per_page);
    g_assert_cmpint(json_path_int(r, "ram.normal"), ==,
                    G_N_ELEMENTS(src_pages) +
                        (t->base_file ? 10 * per_page : 0));
}

static void check_dst_counts(Sides *s)
{
    g_autoptr(json_object) r = migration_query(s->dst);
    uint64_t want = s->test->base_file ? 10 : 0;

    if ((s->test->no_way_back && !s->test->omit) || s->test->fresh ||
        s->test->all_read || !migration_binary_is_own(false)) {
        g_assert_cmpint(json_path_int(r, "restore.cleared"), ==, 0);
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(dst_runs); i++) {
        want += dst_runs[i].n;
    }
    /* One of them came; those beside it in a huge page as zero records. */
    if (s->test->no_thp) {
        g_assert_cmpint(json_path_int(r, "restore.cleared"), ==, want - 1);
    } else {
        g_assert_cmpint(json_path_int(r, "restore.cleared"), <=, want - 1);
    }
}

static void run_test(gconstpointer opaque)
{
    const HolesTest *t = opaque;
    Sides *s = sides_new(t);

    prctl(PR_SET_THP_DISABLE, t->no_thp, 0, 0, 0); /* children inherit it */
    if (t->base_file) {
        make_base(s, false);
        make_base(s, true);
    }
    s->dst = start(s, true, "64M");
    s->src = start(s, false, "64M");
    prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
    write_src(s);
    if (!t->fresh) {
        write_dst(s);
    }
    run(s);
    if (migration_binary_is_own(false)) {
        check_src_counts(s);
    }
    if (migration_binary_is_own(true)) {
        check_dst_counts(s);
    }
    if (migration_binary_is_own(false) && !t->all_read) {
        g_assert_cmpuint(rss(s->src), <, s->src_rss + 4 * MIB);
    }
    if (migration_binary_is_own(true) && !t->all_read) {
        /* Pages that came, in huge pages perhaps. */
        g_assert_cmpuint(rss(s->dst), <,
                         s->dst_rss + 4 * MIB + populated(t) * PAGE);
    }
    check_same(s);
    qtest_quit(s->src);
    qtest_quit(s->dst);
    sides_free(s);
}

static const HolesTest tests[] = {
    { .name = "/migration/holes/anonymous",
      .src = "memory-backend-ram",
      .no_thp = true },
    { .name = "/migration/holes/anonymous-huge", .src = "memory-backend-ram" },
    { .name = "/migration/holes/anonymous-zero-records",
      .src = "memory-backend-ram",
      .no_thp = true,
      .no_way_back = true },
    { .name = "/migration/holes/memfd",
      .src = "memory-backend-memfd",
      .no_thp = true },
    { .name = "/migration/holes/memfd-zero-records",
      .src = "memory-backend-memfd",
      .no_thp = true,
      .no_way_back = true },
    { .name = "/migration/holes/shared-file",
      .src = SHARED_FILE,
      .base_file = true,
      .no_thp = true },
    { .name = "/migration/holes/private-file",
      .src = "memory-backend-file,share=off,mem-path=%s",
      .base_file = true,
      .no_thp = true },
    { .name = "/migration/holes/private-file-zero-records",
      .src = "memory-backend-file,share=off,mem-path=%s",
      .base_file = true,
      .no_thp = true,
      .no_way_back = true },
    { .name = "/migration/holes/memfd-to-anonymous",
      .src = "memory-backend-memfd",
      .dst = "memory-backend-ram",
      .no_thp = true },
    { .name = "/migration/holes/omitted-anonymous",
      .src = "memory-backend-ram",
      .no_thp = true,
      .no_way_back = true,
      .omit = true },
    { .name = "/migration/holes/omitted-memfd-fresh",
      .src = "memory-backend-memfd",
      .no_thp = true,
      .no_way_back = true,
      .omit = true,
      .fresh = true },
    { .name = "/migration/holes/omitted-private-file",
      .src = "memory-backend-file,share=off,mem-path=%s",
      .base_file = true,
      .no_thp = true,
      .no_way_back = true,
      .omit = true },
    { .name = "/migration/holes/omitted-with-a-way-back",
      .src = "memory-backend-memfd",
      .no_thp = true,
      .omit = true },
    { .name = "/migration/holes/omitted-populated",
      .src = "memory-backend-ram,prealloc=on",
      .no_thp = true,
      .all_read = true,
      .no_way_back = true,
      .omit = true },
    { .name = "/migration/holes/populated",
      .src = "memory-backend-ram,prealloc=on",
      .no_thp = true,
      .all_read = true },
    { .name = "/migration/holes/populated-target",
      .src = "memory-backend-ram",
      .dst = "memory-backend-ram,prealloc=on",
      .no_thp = true },
};

/* ------------------------------------------------------ huge pages */

#define NR_HUGE "/proc/sys/vm/nr_hugepages"

static const HolesTest hugetlb_test = {
    .name = "/migration/holes/hugetlb",
    .src = "memory-backend-memfd,hugetlb=on,hugetlbsize=2M",
};

static int64_t nr_huge(int64_t set)
{
    g_autofree char *text = g_strdup_printf("%" PRId64, set);
    g_autofree char *now = NULL;
    int fd = set < 0 ? -1 : g_open(NR_HUGE, O_WRONLY, 0);

    if (fd >= 0) {
        (void)!write(fd, text, strlen(text));
        close(fd);
    }
    g_file_get_contents(NR_HUGE, &now, NULL, NULL);
    return now ? g_ascii_strtoll(now, NULL, 10) : 0;
}

static void run_hugetlb_reserved(void)
{
    run_test(&hugetlb_test);
}

/* Reserved here and given back whatever happens in the test itself. */
static void run_hugetlb(void)
{
    int64_t before = nr_huge(-1);

    if (nr_huge(before + 80) < before + 80) {
        nr_huge(before);
        g_test_skip("no huge pages to be had (root may reserve some)");
        return;
    }
    g_test_trap_subprocess("/migration/holes/hugetlb/subprocess", 0,
                           G_TEST_SUBPROCESS_DEFAULT);
    nr_huge(before);
    g_test_trap_assert_passed();
}

/* --------------------------------------------------------- very large */

static void check_large(const char *size, uint64_t bytes)
{
    static const HolesTest memfd = {
        .src = "memory-backend-memfd,reserve=off"
    };
    /* A bit per page; the source has three of them. */
    uint64_t bitmap = bytes / PAGE / 8;
    Sides *s = sides_new(&memfd);
    g_autoptr(json_object) src = NULL, dst = NULL;

    s->dst = start(s, true, size);
    s->src = start(s, false, size);
    run(s);
    src = migration_query(s->src);
    dst = migration_query(s->dst);
    /* Not one page was read, and none was sent. */
    g_assert_cmpint(json_path_int(src, "ram.normal"), ==, 0);
    g_assert_cmpint(json_path_int(src, "ram.duplicate"), ==, 0);
    g_assert_cmpuint(count(src, "details.skipped"), ==, bytes / PAGE);
    g_assert_cmpint(json_path_int(src, "ram.transferred"), <, 100000);
    g_assert_cmpint(json_path_int(dst, "restore.cleared"), ==, 0);
    g_assert_cmpuint(rss(s->src), <, s->src_rss + 3 * bitmap + 16 * MIB);
    g_assert_cmpuint(rss(s->dst), <, s->dst_rss + bitmap + 16 * MIB);
    qtest_quit(s->src);
    qtest_quit(s->dst);
    sides_free(s);
}

static void test_64g(void)
{
    check_large("64G", UINT64_C(64) << 30);
}

static void test_1t(void)
{
    check_large("1T", UINT64_C(1) << 40);
}

/* ------------------------------------------- a second attempt, a file */

/*
 * The first is cancelled among its pages. What it has sent, and what has
 * changed since, must not matter to the second.
 */
static void test_retry(void)
{
    static const HolesTest memfd = { .src = "memory-backend-memfd",
                                     .no_thp = true };
    Sides *s = sides_new(&memfd);
    g_autoptr(json_object) cancel = NULL;

    s->dst = start(s, true, "64M");
    s->src = start(s, false, "64M");
    write_src(s);
    for (unsigned i = 0; i < 2000; i++) {
        qtest_memset(s->src, (6000 + i) * PAGE, 7, 8);
    }
    write_dst(s);
    migration_set_params(s->src, "'max-bandwidth':1000000");
    listen_there(s);
    go(s);
    migration_wait(s->src, "active");
    g_usleep(200000);
    cancel = qtest_qmp_ok(s->src, "{'execute':'migrate_cancel'}");
    migration_wait(s->src, "cancelled");
    qtest_kill(s->dst);

    for (unsigned i = 0; i < 2000; i += 3) {
        qtest_memset(s->src, (6000 + i) * PAGE, 0, 8);
    }
    qtest_memset(s->src, 12000 * PAGE, 9, 8);
    migration_set_params(s->src, "'max-bandwidth':0");
    s->dst = start(s, true, "64M");
    write_dst(s);
    qtest_memset(s->dst, 6000 * PAGE, 0xff, 2000 * PAGE);
    run(s);
    check_same(s);
    qtest_quit(s->src);
    qtest_quit(s->dst);
    sides_free(s);
}

static void migrate_file(QTestState *q, const char *command, const char *uri)
{
    G_GNUC_UNUSED g_autoptr(json_object) r = qtest_qmp_ok(
        q, "{'execute':'%s','arguments':{'uri':'%s'}}", command, uri);

    migration_wait(q, "completed");
}

/* A file has no way back: each hole is a zero record, and is not read. */
static void test_file(void)
{
    static const HolesTest memfd = { .src = "memory-backend-memfd",
                                     .no_thp = true,
                                     .no_way_back = true };
    Sides *s = sides_new(&memfd);
    g_autofree char *uri = g_strdup_printf("file:%s/stream", s->dir);
    g_autoptr(json_object) out = NULL, in = NULL;

    s->dst = start(s, true, "64M");
    s->src = start(s, false, "64M");
    write_src(s);
    write_dst(s);
    s->src_rss = rss(s->src);
    out = qtest_qmp_ok(s->src, "{'execute':'migrate','arguments':{'uri':'%s'}}",
                       uri);
    migration_wait(s->src, "completed");
    check_src_counts(s);
    g_assert_cmpuint(rss(s->src), <, s->src_rss + 4 * MIB);
    s->dst_rss = rss(s->dst);
    in = qtest_qmp_ok(
        s->dst, "{'execute':'migrate-incoming','arguments':{'uri':'%s'}}", uri);
    migration_wait(s->dst, "completed");
    g_assert_cmpuint(rss(s->dst), <, s->dst_rss + 4 * MIB);
    check_same(s);
    qtest_quit(s->src);
    qtest_quit(s->dst);
    sides_free(s);
}

/*
 * A file without records for what was never there: as large as what was, loaded
 * into whatever lay there before, by a target that knows; and by one that does
 * not but is fresh.
 */
static void test_omitted_file(void)
{
    static const HolesTest dirty = { .src = "memory-backend-memfd",
                                     .no_thp = true,
                                     .no_way_back = true,
                                     .omit = true };
    static const HolesTest fresh = { .src = "memory-backend-memfd",
                                     .no_thp = true,
                                     .no_way_back = true,
                                     .omit = true,
                                     .fresh = true };
    Sides *s = sides_new(&dirty);
    g_autofree char *uri = g_strdup_printf("file:%s/stream", s->dir);
    struct stat st;

    s->src = start(s, false, "64M");
    write_src(s);
    /* Gone again: it must be zero at the target, too. */
    qtest_memset(s->src, 7000 * PAGE, 7, PAGE);
    qtest_memset(s->src, 7000 * PAGE, 0, PAGE);
    migrate_file(s->src, "migrate", uri);
    g_assert_cmpint(stat(uri + strlen("file:"), &st), ==, 0);
    g_assert_cmpint(st.st_size, <,
                    (G_N_ELEMENTS(src_pages) + 2) * PAGE + 65536);

    for (int i = 0; i < 2; i++) {
        s->test = i ? &fresh : &dirty;
        s->dst = start(s, true, "64M");
        if (!i) {
            write_dst(s);
        }
        s->dst_rss = rss(s->dst);
        migrate_file(s->dst, "migrate-incoming", uri);
        g_assert_cmpuint(rss(s->dst), <, s->dst_rss + 4 * MIB);
        check_dst_counts(s);
        check_same(s);
        qtest_quit(s->dst);
    }
    qtest_quit(s->src);
    sides_free(s);
}

static void add_tests(void)
{
    static HolesTest pagemap = { .name = "/migration/holes/pagemap-tracker",
                                 .src = "memory-backend-ram",
                                 .accel = "tcg,dirty-tracking=pagemap",
                                 .no_thp = true };
    static HolesTest own_copies[G_N_ELEMENTS(tests)];
    bool own = migration_binary_is_own(false) && migration_binary_is_own(true);

    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        HolesTest *t = &own_copies[i];

        *t = tests[i];
        /* QEMU's target has to be fresh, and its source sends all. */
        if (t->omit && !own && !(migration_binary_is_own(false) && t->fresh)) {
            continue;
        }
        t->dst = migration_binary_is_own(true) ? t->dst ? t->dst : t->src
                                               : SHARED_FILE;
        t->src = migration_binary_is_own(false) ? t->src : SHARED_FILE;
        g_test_add_data_func(t->name, t, run_test);
    }
    if (!own) {
        return;
    }
    if (qtest_has_accel("tcg")) {
        g_test_add_data_func(pagemap.name, &pagemap, run_test);
    }
    g_test_add_func("/migration/holes/hugetlb", run_hugetlb);
    g_test_add_func("/migration/holes/hugetlb/subprocess",
                    run_hugetlb_reserved);
    g_test_add_func("/migration/holes/64G", test_64g);
    g_test_add_func("/migration/holes/1T", test_1t);
    g_test_add_func("/migration/holes/second-attempt", test_retry);
    g_test_add_func("/migration/holes/file", test_file);
    g_test_add_func("/migration/holes/omitted-file", test_omitted_file);
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add_tests);
}
