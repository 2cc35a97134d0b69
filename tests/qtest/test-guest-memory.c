/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a guest's memory may get to: modes of files that hold it, core dumps,
 * and files that the VM lives on, which must not be written over.
 */
#include "qemu/osdep.h"

#include <glib/gstdio.h>
#include <sys/mman.h>

#include "libqtest.h"

#define KIB ((size_t)1024)
#define MIB (KIB * 1024)

/* ---- a folder of the test's ---- */

static char *dir;

static char *in_dir(const char *name)
{
    return g_build_filename(dir, name, NULL);
}

static void remove_dir(void)
{
    g_autoptr(GDir) d = g_dir_open(dir, 0, NULL);
    const char *name;

    while ((name = g_dir_read_name(d))) {
        g_autofree char *path = in_dir(name);

        g_unlink(path);
    }
    g_assert_cmpint(g_rmdir(dir), ==, 0);
    g_free(dir);
}

static void make_dir(void)
{
    dir = g_dir_make_tmp("guest-memory-XXXXXX", NULL);
    g_assert_nonnull(dir);
}

/* ---- modes ---- */

static void assert_private(const char *path)
{
    struct stat st;

    g_assert_cmpint(stat(path, &st), ==, 0);
    g_assert_cmpint(st.st_mode & 07777, ==, 0600);
}

static void wait_completed(QTestState *s)
{
    for (int ms = 0;; ms += 5) {
        json_object *r = qtest_qmp_ok(s, "{'execute':'query-migrate'}");
        bool done = json_path(r, "status") &&
                    g_str_equal(json_path_str(r, "status"), "completed");

        json_object_put(r);
        if (done) {
            return;
        }
        g_assert_cmpint(ms, <, 20000);
        g_usleep(5000);
    }
}

static void test_modes(void)
{
    mode_t had = umask(0); /* hides nothing */
    g_autofree char *ram = in_dir("ram"), *later = in_dir("later");
    g_autofree char *stream = in_dir("stream"), *saved = in_dir("saved");
    QTestState *s = qtest_startf(
        "-object memory-backend-file,id=mem,size=1M,mem-path=%s,share=on "
        "-M none,memory-backend=mem",
        ram);

    umask(had);
    assert_private(ram);
    json_object_put(qtest_qmp_ok(
        s,
        "{'execute':'object-add','arguments':{'qom-type':'memory-backend-file',"
        "'id':'later','size':65536,'mem-path':'%s','share':true}}",
        later));
    assert_private(later);
    json_object_put(
        qtest_qmp_ok(s,
                     "{'execute':'pmemsave','arguments':{'val':0,'size':4096,"
                     "'filename':'%s'}}",
                     saved));
    assert_private(saved);
    json_object_put(qtest_qmp_ok(
        s, "{'execute':'migrate','arguments':{'uri':'file:%s'}}", stream));
    wait_completed(s);
    assert_private(stream);
    qtest_quit(s);
}

/* ---- core dumps ---- */

typedef struct Mapping {
    size_t bytes;
    char name[256];
    bool dontdump;
} Mapping;

/* All mappings of the child, as /proc/PID/smaps has them. */
static GArray *mappings(QTestState *s)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/smaps", qtest_pid(s));
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    GArray *list = g_array_new(FALSE, TRUE, sizeof(Mapping));

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        unsigned long from, to;
        int at = 0;

        if (sscanf(*line, "%lx-%lx %*s %*x %*s %*u %n", &from, &to, &at) == 2 &&
            at > 0) {
            Mapping m = { .bytes = to - from };

            g_strlcpy(m.name, *line + at, sizeof(m.name));
            g_array_append_val(list, m);
        } else if (g_str_has_prefix(*line, "VmFlags:")) {
            g_array_index(list, Mapping, list->len - 1).dontdump =
                strstr(*line, " dd") != NULL;
        }
    }
    return list;
}

/* The kernel's own, [vvar] say. */
static bool is_special(const Mapping *m)
{
    return m->name[0] == '[' && !g_str_equal(m->name, "[heap]") &&
           !g_str_equal(m->name, "[stack]");
}

/* The memory of @bytes; a size that nothing else has. */
static bool is_left_out(QTestState *s, size_t bytes)
{
    g_autoptr(GArray) list = mappings(s);
    const Mapping *found = NULL;

    for (guint i = 0; i < list->len; i++) {
        const Mapping *m = &g_array_index(list, Mapping, i);

        if (m->bytes == bytes) {
            g_assert_null(found);
            found = m;
        }
    }
    g_assert_nonnull(found);
    return found->dontdump;
}

/* Bytes that a core dump would not have. */
static size_t left_out_bytes(QTestState *s)
{
    g_autoptr(GArray) list = mappings(s);
    size_t sum = 0;

    for (guint i = 0; i < list->len; i++) {
        const Mapping *m = &g_array_index(list, Mapping, i);

        if (m->dontdump && !is_special(m) && m->name[0] != '/') {
            sum += m->bytes;
        }
    }
    return sum;
}

#define ODD_KIB 38448 /* 37.5 MiB and two pages */

static const struct {
    const char *args;
    bool left_out;
} dump_cases[] = {
    { "-M none -m 38448K", true },
    { "-M none,dump-guest-core=off -m 38448K", true },
    { "-M none,dump-guest-core=on -m 38448K", false },
    { "-object memory-backend-ram,id=m,size=38448K -M none,memory-backend=m",
      true },
    { "-object memory-backend-ram,id=m,size=38448K,dump=on "
      "-M none,memory-backend=m",
      false },
    { "-object memory-backend-ram,id=m,size=38448K "
      "-M none,memory-backend=m,dump-guest-core=on",
      false },
    { "-object memory-backend-ram,id=m,size=38448K,dump=off "
      "-M none,memory-backend=m,dump-guest-core=on",
      true },
    { "-object memory-backend-memfd,id=m,size=38448K -M none,memory-backend=m",
      true },
    { "-object memory-backend-memfd,id=m,size=38448K,dump=on "
      "-M none,memory-backend=m,dump-guest-core=off",
      false },
    { "-object memory-backend-file,id=m,size=38448K,mem-path=/tmp,share=off "
      "-M none,memory-backend=m",
      true },
};

static void test_core_dumps(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(dump_cases); i++) {
        QTestState *s = qtest_start(dump_cases[i].args);

        g_test_message("%s", dump_cases[i].args);
        g_assert_cmpint(is_left_out(s, ODD_KIB * KIB), ==,
                        dump_cases[i].left_out);
        qtest_quit(s);
    }
}

static void test_core_dumps_later(void)
{
    QTestState *s = qtest_start("-M none -m 1M"), *t;

    json_object_put(
        qtest_qmp_ok(s, "{'execute':'object-add','arguments':{'qom-type':"
                        "'memory-backend-ram','id':'later','size':39370752}}"));
    g_assert_true(is_left_out(s, ODD_KIB * KIB));
    json_object_put(
        qtest_qmp_ok(s, "{'execute':'object-del','arguments':{'id':'later'}}"));
    json_object_put(qtest_qmp_ok(
        s, "{'execute':'object-add','arguments':{'qom-type':"
           "'memory-backend-ram','id':'later','size':39370752,'dump':true}}"));
    g_assert_false(is_left_out(s, ODD_KIB * KIB));
    qtest_quit(s);

    /* The default holds for what comes later, too. */
    t = qtest_start("-M none,dump-guest-core=on -m 1M");
    json_object_put(
        qtest_qmp_ok(t, "{'execute':'object-add','arguments':{'qom-type':"
                        "'memory-backend-ram','id':'later','size':39370752}}"));
    g_assert_false(is_left_out(t, ODD_KIB * KIB));
    qtest_quit(t);
}

/* RAM and nothing else: who looks at a dump needs the rest, bitmaps too. */
static void test_core_dumps_rest(void)
{
    QTestState *none = qtest_start("-M none,dump-guest-core=on -m 1G");
    QTestState *all = qtest_start("-M none -m 1G");

    g_assert_cmpuint(left_out_bytes(all) - left_out_bytes(none), ==,
                     1024 * MIB);
    qtest_quit(none);
    qtest_quit(all);
}

/* ---- files that the VM lives on ---- */

#define RAM_BYTES (64 * KIB)

/* A file of RAM_BYTES with something in it; returns its path. */
static char *make_ram_file(const char *name, char **content)
{
    char *path = in_dir(name);

    *content = g_malloc(RAM_BYTES);
    for (size_t i = 0; i < RAM_BYTES; i++) {
        (*content)[i] = 1 + i % 251;
    }
    memcpy(*content + 510, "\x55\xaa", 2); /* as a disk it can be booted */
    g_assert_true(g_file_set_contents(path, *content, RAM_BYTES, NULL));
    return path;
}

static void assert_content(const char *path, const char *content)
{
    g_autofree char *now = NULL;
    gsize len;

    g_assert_true(g_file_get_contents(path, &now, &len, NULL));
    g_assert_cmpmem(now, len, content, RAM_BYTES);
}

/* `migrate` to @path is refused; both names are in the error. */
static void assert_refused(QTestState *s, const char *path, const char *what)
{
    static const char *const offsets[] = { "", ",offset=4096",
                                           ",offset=0x100000" };

    for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
        g_autofree char *err = qtest_qmp_fail(
            s, "{'execute':'migrate','arguments':{'uri':'file:%s%s'}}", path,
            offsets[i]);

        g_test_message("%s", err);
        g_assert_nonnull(strstr(err, path));
        g_assert_nonnull(strstr(err, what));
    }
    qtest_assert_status(s, "running");
}

static void test_own_ram(void)
{
    G_GNUC_UNUSED g_autofree char *content = NULL, *err = NULL, *fdset = NULL;
    g_autofree char *ram = make_ram_file("own", &content);
    g_autofree char *sym = in_dir("sym"), *hard = in_dir("hard");
    g_autofree char *twisted = g_strdup_printf("%s/./own", dir);
    g_autofree char *other = in_dir("other");
    QTestState *s;
    json_object *r;
    int fd;

    g_assert_cmpint(symlink(ram, sym), ==, 0);
    g_assert_cmpint(link(ram, hard), ==, 0);
    s = qtest_startf("-object memory-backend-file,id=mem,size=64K,mem-path=%s,"
                     "share=on -M none,memory-backend=mem",
                     ram);
    assert_refused(s, ram, "'mem'");
    assert_refused(s, sym, "'mem'");
    assert_refused(s, hard, "'mem'");
    assert_refused(s, twisted, "'mem'");

    fd = open(hard, O_WRONLY);
    r = qtest_qmp_fds(s, &fd, 1,
                      "{'execute':'add-fd','arguments':{'fdset-id':3}}");
    close(fd);
    json_object_put(r);
    assert_refused(s, "/dev/fdset/3", "'mem'");

    /* A dump would empty it first. */
    err = qtest_qmp_fail(s,
                         "{'execute':'pmemsave','arguments':{'val':0,"
                         "'size':4096,'filename':'%s'}}",
                         sym);
    g_assert_nonnull(strstr(err, "'mem'"));
    assert_content(ram, content);

    /* Any other is all right, and the guest has lost nothing. */
    json_object_put(qtest_qmp_ok(
        s, "{'execute':'migrate','arguments':{'uri':'file:%s'}}", other));
    wait_completed(s);
    assert_content(ram, content);
    qtest_quit(s);
    unlink(sym);
    unlink(hard);
}

/* A back end that no machine uses is the user's data all the same. */
static void test_own_spare(void)
{
    g_autofree char *content = NULL;
    g_autofree char *ram = make_ram_file("spare", &content);
    QTestState *s = qtest_startf(
        "-object memory-backend-file,id=spare,size=64K,mem-path=%s,share=off "
        "-M none -m 1M",
        ram);

    assert_refused(s, ram, "backs the memory 'spare'");
    assert_content(ram, content);
    qtest_quit(s);
}

/* A memfd has no name but that in /proc. */
static void test_own_memfd(void)
{
    QTestState *s = qtest_start(
        "-object memory-backend-memfd,id=anon,size=64K,seal=off "
        "-M none,memory-backend=anon");
    g_autofree char *fds = g_strdup_printf("/proc/%d/fd", qtest_pid(s));
    g_autoptr(GDir) d = g_dir_open(fds, 0, NULL);
    unsigned found = 0;
    const char *n;

    qtest_memset(s, 0, 0x5a, RAM_BYTES);
    while ((n = g_dir_read_name(d))) {
        g_autofree char *path = g_build_filename(fds, n, NULL);
        g_autofree char *to = g_file_read_link(path, NULL);

        if (to && g_str_has_prefix(to, "/memfd:anon")) {
            assert_refused(s, path, "'anon'");
            found++;
        }
    }
    g_assert_cmpuint(found, ==, 1);
    for (size_t at = 0; at < RAM_BYTES; at += 4 * KIB) {
        g_assert_cmpint(qtest_readb(s, at), ==, 0x5a);
    }
    qtest_quit(s);
}

static void test_own_drive(void)
{
    g_autofree char *content = NULL;
    g_autofree char *image = make_ram_file("image", &content);
    g_autofree char *hard = in_dir("image-hard");
    QTestState *s;

    if (!g_str_equal(qtest_arch(), "x86_64")) {
        g_test_skip("no machine with disks");
        return;
    }
    g_assert_cmpint(link(image, hard), ==, 0);
    s = qtest_startf("-M q35 -m 16M -drive file=%s,format=raw", image);
    assert_refused(s, image, "drive 0");
    assert_refused(s, hard, image);
    assert_content(image, content);
    qtest_quit(s);
    unlink(hard);
}

int main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/guest-memory/modes-of-files", test_modes);
    g_test_add_func("/guest-memory/core-dumps", test_core_dumps);
    g_test_add_func("/guest-memory/core-dumps-later", test_core_dumps_later);
    g_test_add_func("/guest-memory/core-dumps-rest", test_core_dumps_rest);
    g_test_add_func("/guest-memory/own-ram", test_own_ram);
    g_test_add_func("/guest-memory/own-spare-ram", test_own_spare);
    g_test_add_func("/guest-memory/own-memfd", test_own_memfd);
    g_test_add_func("/guest-memory/own-drive", test_own_drive);
    make_dir();
    ret = g_test_run();
    remove_dir();
    return ret;
}
