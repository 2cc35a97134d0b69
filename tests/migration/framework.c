/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Migration test framework: see framework.h. */
#include "qemu/osdep.h"

#include <glib/gstdio.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "framework.h"
#include "guest-machine.h"

#define WAIT_S 120
#define MIB    (UINT64_C(1) << 20)

/* The binaries of the two sides; read once from the environment. */
static const char *side_binary[2];

static const char *binary(bool target)
{
    static const char *const names[2] = { "QTEST_QEMU_BINARY_SRC",
                                          "QTEST_QEMU_BINARY_DST" };

    if (!side_binary[target]) {
        const char *own = g_getenv(names[target]);

        side_binary[target] = g_strdup(own ? own : qtest_binary());
    }
    return side_binary[target];
}

bool migration_binary_is_own(bool target)
{
    return !g_getenv(target ? "QTEST_QEMU_BINARY_DST"
                            : "QTEST_QEMU_BINARY_SRC") ||
           g_getenv("MIGRATION_TEST_ALL_OWN");
}

bool migration_guests_work(void)
{
    return !guest_machine_why_not();
}

/* ---------------------------------------------------------- one pair */

/* @path NULL: a place for copies. */
static uint8_t *map_ram(const char *path, size_t bytes)
{
    int fd = path ? g_open(path, O_RDWR | O_CREAT, 0600) : -1;
    void *ram;

    g_assert_true(!path || (fd >= 0 && ftruncate(fd, bytes) == 0));
    ram = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
               path ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
    g_assert_true(ram != MAP_FAILED);
    if (path) {
        close(fd);
    }
    return ram;
}

static char *ram_path(MigrationPair *p, bool target)
{
    return g_strdup_printf(
        "%s/%s.ram", p->dir,
        (target != p->swapped) && !p->test->same_ram ? "dst" : "src");
}

MigrationPair *migration_pair_new(const MigrationTest *test)
{
    MigrationPair *p = g_new0(MigrationPair, 1);
    unsigned mib = test->ram_mib ? test->ram_mib : test->guest ? 160 : 16;
    g_autofree char *src = NULL, *dst = NULL;
    g_autoptr(GError) err = NULL;

    p->test = test;
    if (test->folder) {
        p->dir = g_mkdtemp(g_build_filename(test->folder, "mig-XXXXXX", NULL));
        g_assert_nonnull(p->dir);
    } else {
        p->dir = g_dir_make_tmp("mig-XXXXXX", &err);
        g_assert_no_error(err);
    }
    p->ram_bytes = mib * MIB;
    if (!test->ram_backend) {
        src = ram_path(p, false);
        dst = ram_path(p, true);
    }
    p->src_ram = map_ram(src, p->ram_bytes);
    p->dst_ram = test->same_ram ? p->src_ram : map_ram(dst, p->ram_bytes);
    return p;
}

static void remove_dir(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *file = g_build_filename(path, name, NULL);

        g_unlink(file);
    }
    g_rmdir(path);
}

void migration_pair_free(MigrationPair *p)
{
    g_assert_null(p->src);
    g_assert_null(p->dst);
    munmap(p->src_ram, p->ram_bytes);
    if (!p->test->same_ram) {
        munmap(p->dst_ram, p->ram_bytes);
    }
    fault_proxy_free(p->link);
    remove_dir(p->dir);
    g_free(p->dir);
    g_free(p->uri);
    g_free(p->want);
    g_free(p);
}

/* ----------------------------------------- memory that is another's own */

/* Where a process has the block of so many bytes. */
static uint64_t address_of_ram(QTestState *s, size_t bytes)
{
    g_autofree char *text = qtest_hmp(s, "info ramblock");
    g_autofree char *size = g_strdup_printf(" 0x%016zx 0x%016zx ", bytes,
                                            bytes);
    const char *at = strstr(text, size);

    if (!at) {
        g_error("no block of %zu bytes: %s", bytes, text);
    }
    return g_ascii_strtoull(at + strlen(size), NULL, 16);
}

/* That side's RAM, the first @bytes of it as they are now. */
static const uint8_t *look(MigrationPair *p, bool target, size_t bytes)
{
    uint8_t *ram = target ? p->dst_ram : p->src_ram;
    QTestState *s = target ? p->dst : p->src;
    size_t done = 0;

    if (p->test->ram_backend) {
        uint64_t base = address_of_ram(s, p->ram_bytes);

        while (done < bytes) {
            struct iovec from = { (void *)(uintptr_t)(base + done),
                                  bytes - done };
            struct iovec to = { ram + done, bytes - done };
            ssize_t n = process_vm_readv(qtest_pid(s), &to, 1, &from, 1, 0);

            g_assert_cmpint(n, >, 0);
            done += n;
        }
    }
    return ram;
}

/* What a guest tells about itself is in there. */
#define CONTROL_BYTES (17 * MIB)

/* ---------------------------------------------------------- starting */

static void add_args(GString *args, const char *more)
{
    if (more) {
        g_string_append_c(args, ' ');
        g_string_append(args, more);
    }
}

static char *format_uri(MigrationPair *p, const char *uri)
{
    char **parts = g_strsplit(uri, "%s", -1);
    char *text = g_strjoinv(p->dir, parts);

    g_strfreev(parts);
    return text;
}

static char *listen_uri(MigrationPair *p)
{
    return format_uri(p,
                      p->test->listen ? p->test->listen : "unix:%s/mig.sock");
}

static QTestState *start_side(MigrationPair *p, bool target)
{
    const MigrationTest *t = p->test;
    g_autoptr(GString) args = g_string_new(NULL);
    g_autofree char *ram = ram_path(p, target);
    QTestState *s;

    if (t->ram_backend) {
        g_string_append_printf(args, "-object %s,id=mem,size=%zu ",
                               t->ram_backend, p->ram_bytes);
    } else {
        g_string_append_printf(args,
                               "-object memory-backend-file,id=mem,size=%zu,"
                               "mem-path=%s,share=on ",
                               p->ram_bytes, ram);
    }
    if (t->guest) {
        guest_machine_args(args, p, target, migration_binary_is_own(target));
        g_string_append_printf(args, " -serial file:%s/%s.serial", p->dir,
                               target ? "dst" : "src");
    } else {
        g_string_append_printf(args,
                               "-M none,memory-backend=mem -m %" PRIu64 "M",
                               p->ram_bytes / MIB);
    }
    add_args(args, target ? t->dst_args : t->src_args);
    if (target && t->listen_at_start) {
        g_autofree char *uri = listen_uri(p);

        g_string_append_printf(args, " -incoming %s", uri);
    } else if (target) {
        add_args(args, "-incoming defer");
    }
    g_setenv("QTEST_QEMU_BINARY", binary(target), true);
    s = qtest_start_flags(args->str, t->guest ? QTEST_NO_QTEST : 0);
    g_setenv("QTEST_QEMU_BINARY", binary(false), true);
    return s;
}

/* A mix of what pages may be: data, zero, zero but for one byte. */
static void fill_pattern(uint8_t *ram, size_t bytes)
{
    uint64_t x = 88172645463325252ull;

    memset(ram, 0, bytes);
    for (size_t off = 0; off + 4096 <= bytes; off += 4096) {
        switch ((off / 4096) % 5) {
        case 0:
        case 1:
            for (size_t i = 0; i < 4096; i += 8) {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                memcpy(ram + off + i, &x, 8);
            }
            break;
        case 2:
            ram[off + (off / 4096 * 37) % 4096] = 1 + off / 4096 % 255;
            break;
        default:
            break;
        }
    }
}

void migration_wait_guest(MigrationPair *p)
{
    gint64 end = g_get_monotonic_time() + WAIT_S * G_USEC_PER_SEC;

    while (!guest_machine_works(p->test, look(p, false, CONTROL_BYTES))) {
        if (g_get_monotonic_time() > end) {
            g_autofree char *err = qtest_stderr(p->src);

            g_error("the guest does not begin to work\n%s", err);
        }
        g_usleep(2000);
    }
}

void migration_start_source(MigrationPair *p)
{
    if (!p->test->guest) {
        fill_pattern(p->src_ram, p->ram_bytes);
        g_free(p->want);
        p->want = g_memdup2(p->src_ram, p->ram_bytes);
    }
    p->src = start_side(p, false);
    if (p->test->guest) {
        migration_wait_guest(p);
    }
}

void migration_start_target(MigrationPair *p)
{
    if (!p->test->same_ram && !p->test->ram_backend) {
        memset(p->dst_ram, 0xff, p->ram_bytes);
    }
    p->dst = start_side(p, true);
}

void migration_wait_arrival(MigrationPair *p)
{
    migration_wait(p->src, "completed");
    migration_wait(p->dst, "completed");
    migration_check_memory(p);
}

void migration_pair_quit(MigrationPair *p)
{
    qtest_quit(p->src);
    qtest_quit(p->dst);
    p->src = p->dst = NULL;
    migration_pair_free(p);
}

void migration_new_target(MigrationPair *p)
{
    if (p->dst) {
        qtest_kill(p->dst);
    }
    migration_start_target(p);
}

void migration_turn_round(MigrationPair *p)
{
    uint8_t *ram = p->src_ram;

    qtest_quit(p->src);
    p->src = p->dst;
    p->dst = NULL;
    p->src_ram = p->dst_ram;
    p->dst_ram = ram;
    p->swapped = !p->swapped;
}

/* --------------------------------------------------------- migrating */

void migration_set_cap(QTestState *s, const char *cap, bool on)
{
    G_GNUC_UNUSED g_autoptr(json_object) r = qtest_qmp_ok(
        s,
        "{'execute':'migrate-set-capabilities','arguments':{'capabilities':"
        "[{'capability':'%s','state':%s}]}}",
        cap, on ? "true" : "false");
}

void migration_set_params(QTestState *s, const char *fmt, ...)
{
    g_autofree char *params = NULL;
    va_list ap;

    va_start(ap, fmt);
    params = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    G_GNUC_UNUSED g_autoptr(json_object) r = qtest_qmp_ok(
        s, "{'execute':'migrate-set-parameters','arguments':{%s}}", params);
}

json_object *migration_query(QTestState *s)
{
    return qtest_qmp_ok(s, "{'execute':'query-migrate'}");
}

const char *migration_status(QTestState *s)
{
    static char status[32];
    g_autoptr(json_object) r = migration_query(s);
    json_object *v = json_path(r, "status");

    g_strlcpy(status, v ? json_object_get_string(v) : "", sizeof(status));
    return status;
}

static bool is_end(const char *status)
{
    return g_str_equal(status, "completed") || g_str_equal(status, "failed") ||
           g_str_equal(status, "cancelled");
}

void migration_wait(QTestState *s, const char *status)
{
    gint64 end = g_get_monotonic_time() + WAIT_S * G_USEC_PER_SEC;
    const char *now;

    while (!g_str_equal(now = migration_status(s), status)) {
        if (is_end(now) || g_get_monotonic_time() > end) {
            g_autoptr(json_object) r = migration_query(s);
            g_autofree char *err = qtest_stderr(s);

            g_error("waiting for status %s: %s\n%s", status,
                    json_object_to_json_string(r), err);
        }
        g_usleep(1000);
    }
}

void migration_wait_pass(QTestState *s, int64_t pass)
{
    gint64 end = g_get_monotonic_time() + WAIT_S * G_USEC_PER_SEC;

    for (;;) {
        g_autoptr(json_object) r = migration_query(s);

        if (json_path(r, "ram") &&
            json_path_int(r, "ram.dirty-sync-count") >= pass) {
            return;
        }
        if (is_end(json_path_str(r, "status")) ||
            g_get_monotonic_time() > end) {
            g_error("waiting for pass %" PRId64 ": %s", pass,
                    json_object_to_json_string(r));
        }
        g_usleep(1000);
    }
}

/* What the target says that it listens at, as a URI. */
static char *ask_target(MigrationPair *p)
{
    g_autoptr(json_object) r = migration_query(p->dst);
    const char *host = json_path_str(r, "socket-address.0.host");

    return g_strdup_printf(strchr(host, ':') ? "tcp:[%s]:%s" : "tcp:%s:%s",
                           host, json_path_str(r, "socket-address.0.port"));
}

void migration_target_listen(MigrationPair *p)
{
    const MigrationTest *t = p->test;
    g_autofree char *uri = listen_uri(p);

    if (!t->listen_at_start) {
        G_GNUC_UNUSED g_autoptr(json_object) r = qtest_qmp_ok(
            p->dst, "{'execute':'migrate-incoming','arguments':{'uri':'%s'}}",
            uri);
    }
    g_free(p->uri);
    if (t->connect) {
        p->uri = format_uri(p, t->connect);
    } else if (g_str_has_suffix(uri, ":0")) {
        p->uri = ask_target(p);
    } else {
        p->uri = g_steal_pointer(&uri);
    }
}

void migration_go(MigrationPair *p)
{
    g_autoptr(json_object) r = NULL;

    if (p->test->link_rate && !p->link) {
        p->link = fault_proxy_new(atoi(strrchr(p->uri, ':') + 1), false);
        fault_proxy_set_rate(p->link, p->test->link_rate);
        g_free(p->uri);
        p->uri = g_strdup_printf("tcp:127.0.0.1:%d", fault_proxy_port(p->link));
    }
    if (!p->uri) {
        p->uri = format_uri(p, p->test->connect ? p->test->connect
                                                : p->test->listen);
    }
    r = qtest_qmp_ok(p->src, "{'execute':'migrate','arguments':{'uri':'%s'}}",
                     p->uri);
}

static void set_caps(QTestState *s, const char *const *caps)
{
    for (; caps && *caps; caps++) {
        migration_set_cap(s, *caps, true);
    }
}

/* ---------------------------------------------------------- checking */

void migration_check_memory(MigrationPair *p)
{
    for (size_t off = 0; off < p->ram_bytes; off += 4096) {
        if (memcmp(p->dst_ram + off, p->want + off, 4096)) {
            g_error("%s: the page at 0x%zx differs after the migration",
                    p->test->name, off);
        }
    }
}

void migration_check_guest(MigrationPair *p, bool dst)
{
    g_autoptr(GString) why = g_string_new(NULL);
    bool ok;

    ok = guest_machine_check(p, look(p, dst, p->ram_bytes), why);
    if (!ok) {
        g_error("%s: %s", p->test->name, why->str);
    }
}

void migration_assert_guest_runs(MigrationPair *p, bool dst)
{
    const uint8_t *ram = look(p, dst, CONTROL_BYTES);
    uint64_t before = guest_machine_progress(p->test, ram);
    gint64 end = g_get_monotonic_time() + WAIT_S * G_USEC_PER_SEC;

    while (g_get_monotonic_time() < end) {
        ram = look(p, dst, CONTROL_BYTES);
        if (guest_machine_progress(p->test, ram) != before) {
            return;
        }
        g_usleep(500);
    }
    g_error("%s: the guest does not run on the %s", p->test->name,
            dst ? "target" : "source");
}

static void check_success(MigrationPair *p)
{
    if (!p->test->guest) {
        migration_check_memory(p);
        return;
    }
    migration_assert_guest_runs(p, true);
    {
        G_GNUC_UNUSED g_autoptr(json_object)
            r = qtest_qmp_ok(p->dst, "{'execute':'stop'}");
    }
    migration_check_guest(p, true);
}

/* ------------------------------------------------------------- a run */

static void prepare(MigrationPair *p)
{
    const MigrationTest *t = p->test;

    set_caps(p->src, t->caps);
    if (p->dst) {
        set_caps(p->dst, t->caps);
    }
    if (t->params) {
        migration_set_params(p->src, "%s", t->params);
    }
    if (t->prepare) {
        t->prepare(p);
    }
}

static void end_well(MigrationPair *p)
{
    if (p->test->target_later) {
        migration_wait(p->src, "completed");
        migration_start_target(p);
        set_caps(p->dst, p->test->caps);
        migration_target_listen(p);
    }
    migration_wait(p->src, "completed");
    migration_wait(p->dst, "completed");
    check_success(p);
}

void migration_test_run(const MigrationTest *t)
{
    MigrationPair *p;

    if (t->own_only &&
        (!migration_binary_is_own(false) || !migration_binary_is_own(true))) {
        g_test_skip("this test is about what only our binaries have");
        return;
    }
    if (t->guest && !migration_guests_work()) {
        g_test_skip(guest_machine_why_not());
        return;
    }
    p = migration_pair_new(t);
    if (!t->target_later) {
        migration_start_target(p);
    }
    migration_start_source(p);
    prepare(p);
    if (!t->target_later) {
        migration_target_listen(p);
    }
    migration_go(p);
    if (t->during) {
        t->during(p);
    }
    if (t->end == MIGRATION_SUCCEEDS) {
        end_well(p);
    } else if (t->end == MIGRATION_TARGET_FAILS) {
        g_assert_cmpint(qtest_wait_exit(p->dst), ==, 1);
    }
    if (t->after) {
        t->after(p);
    }
    if (p->dst) {
        if (t->end == MIGRATION_TARGET_FAILS) {
            qtest_free(p->dst);
        } else {
            qtest_quit(p->dst);
        }
        p->dst = NULL;
    }
    qtest_quit(p->src);
    p->src = NULL;
    migration_pair_free(p);
}

static void run(gconstpointer test)
{
    migration_test_run(test);
}

void migration_test_add(const MigrationTest *test)
{
    g_test_add_data_func(test->name, test, run);
}

/*
 * MIGRATION_TEST_PEER_SIDE=SRC|DST: that side is the QEMU which the user's
 * PEER_QEMU_<ARCH> names. False: there is none, and TAP was told so.
 */
static bool take_peer(void)
{
    const char *side = g_getenv("MIGRATION_TEST_PEER_SIDE");
    g_autofree char *upper = NULL, *peer = NULL, *variable = NULL;

    if (!side) {
        return true;
    }
    upper = g_ascii_strup(qtest_arch(), -1);
    peer = g_strdup_printf("PEER_QEMU_%s", upper);
    if (!g_getenv(peer)) {
        printf("1..0 # SKIP needs the real QEMU: %s must name it\n", peer);
        return false;
    }
    variable = g_strdup_printf("QTEST_QEMU_BINARY_%s", side);
    g_setenv(variable, g_getenv(peer), true);
    return true;
}

int migration_test_main(int argc, char **argv, void (*add)(void))
{
    g_test_init(&argc, &argv, NULL);
    if (!take_peer()) {
        return 0;
    }
    add();
    return g_test_run();
}
