/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of migration/transport.h: addresses, and bytes from a source's channel
 * to a destination's over every kind, with the ways in which each can fail.
 */
#include "qemu/osdep.h"

#include <sys/socket.h>

#include "io/channel-socket.h"
#include "qapi/qapi-types-migration.h"
#include "qemu/fd-store.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "system/ram-block.h"

#include "transport-internal.h"
#include "transport.h"

static MigrationAddress *parse(const char *uri)
{
    return migration_uri_parse(uri, &error_abort);
}

static void assert_parse_fails(const char *uri, const char *words)
{
    g_autoptr(Error) err = NULL;

    g_assert_null(migration_uri_parse(uri, &err));
    g_assert_nonnull(err);
    if (!strstr(error_get_pretty(err), words)) {
        g_error("%s: '%s' is not in '%s'", uri, words, error_get_pretty(err));
    }
}

/*
 * Addresses.
 */

static void test_uri_round_trip(void)
{
    static const char *const uris[] = {
        "tcp:127.0.0.1:4444",
        "tcp:[::1]:0",
        "tcp:0:4444",
        "unix:/run/x y",
        "fd:7",
        "fd:name",
        "file:/tmp/a,b",
        "file:/tmp/a,offset=4096",
        "file:relative",
        "file:/dev/fdset/3",
    };

    for (size_t i = 0; i < ARRAY_SIZE(uris); i++) {
        g_autoptr(MigrationAddress) addr = parse(uris[i]);
        g_autofree char *uri = migration_address_uri(addr);

        g_assert_cmpstr(uri, ==, uris[i]);
    }
}

static void test_uri_file_offsets(void)
{
    static const struct {
        const char *uri;
        const char *path;
        uint64_t offset;
    } good[] = {
        { "file:x,offset=0x1000", "x", 0x1000 },
        { "file:x,offset=4k", "x", 4096 },
        { "file:x,offset=1M", "x", MiB },
        { "file:x,offset=0", "x", 0 },
        { "file:x,offset=1,offset=2", "x,offset=1", 2 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        g_autoptr(MigrationAddress) addr = parse(good[i].uri);

        g_assert_cmpstr(addr->u.file.filename, ==, good[i].path);
        g_assert_cmpuint(addr->u.file.offset, ==, good[i].offset);
    }
    assert_parse_fails("file:x,offset=", "'' is no offset");
    assert_parse_fails("file:x,offset=0x20M", "'0x20M' is no offset");
    assert_parse_fails("file:x,offset=-1", "no offset");
    assert_parse_fails("file:x,offset=16E", "no offset");
    assert_parse_fails("file:", "no path");
    assert_parse_fails("file:,offset=4", "no path");
}

static void test_uri_failures(void)
{
    assert_parse_fails("foo:bar", "unknown migration protocol: foo:bar");
    assert_parse_fails("", "unknown migration protocol: ");
    assert_parse_fails("tcp:127.0.0.1", "expected HOST:PORT");
    assert_parse_fails("unix:", "no path");
    assert_parse_fails("exec:", "no command");
    assert_parse_fails("fd:", "no name");
}

static void test_channels(void)
{
    MigrationAddress *addr = parse("exec:cat");
    MigrationChannel channel = { MIGRATION_CHANNEL_TYPE_MAIN, addr };
    MigrationChannelList one = { NULL, &channel }, two = { &one, &channel };
    g_autoptr(MigrationAddress) got = NULL;
    g_autofree char *uri = NULL;
    Error *err = NULL;

    got = migration_channels_parse(NULL, true, &one, &error_abort);
    uri = migration_address_uri(got);
    g_assert_cmpstr(uri, ==, "exec:/bin/sh -c cat");
    g_assert_null(migration_channels_parse("exec:cat", true, &one, &err));
    error_free_or_abort(&err);
    g_assert_null(migration_channels_parse("exec:cat", true, NULL, &err));
    error_free_or_abort(&err);
    g_assert_null(migration_channels_parse(NULL, false, NULL, &err));
    error_free_or_abort(&err);
    g_assert_null(migration_channels_parse(NULL, true, NULL, &err));
    error_free_or_abort(&err);
    g_assert_null(migration_channels_parse(NULL, true, &two, &err));
    error_free_or_abort(&err);
    qapi_free_MigrationAddress(addr);
}

/*
 * Both ends.
 */

typedef struct End {
    QIOChannel *ioc;
    Error *err;
    unsigned calls;
} End;

static void connected(QIOChannel *ioc, Error *err, void *opaque)
{
    End *end = opaque;

    g_assert_true(!ioc != !err);
    end->ioc = ioc;
    end->err = err;
    end->calls++;
}

static void incoming(QIOChannel *ioc, void *opaque)
{
    End *end = opaque;

    end->ioc = ioc;
    end->calls++;
}

static void TSA_REQUIRES(bql) wait_for(const End *end)
{
    while (!end->calls) {
        main_loop_iterate(true);
    }
}

static void end_clear(End *end)
{
    qio_channel_unref(end->ioc);
    error_free(end->err);
    *end = (End){ 0 };
}

static MigrationListener *listen_on(const char *uri, End *dst)
{
    g_autoptr(MigrationAddress) addr = parse(uri);
    MigrationListener *l = migration_transport_listen(addr, 1, incoming, dst,
                                                      &error_abort);

    g_assert_nonnull(l);
    g_assert_cmpuint(dst->calls, ==, 0);
    return l;
}

static MigrationConnect *connect_to(const char *uri, End *src)
{
    g_autoptr(MigrationAddress) addr = parse(uri);
    MigrationConnect *c = migration_transport_connect(addr, connected, src,
                                                      &error_abort);

    g_assert_nonnull(c);
    g_assert_cmpuint(src->calls, ==, 0);
    return c;
}

static void TSA_REQUIRES(bql)
    assert_connect_fails_at_once(const char *uri, const char *words)
{
    g_autoptr(MigrationAddress) addr = parse(uri);
    g_autoptr(Error) err = NULL;
    End src = { 0 };

    g_assert_null(migration_transport_connect(addr, connected, &src, &err));
    g_assert_nonnull(err);
    if (!strstr(error_get_pretty(err), words)) {
        g_error("%s: '%s' is not in '%s'", uri, words, error_get_pretty(err));
    }
    main_loop_iterate(false);
    g_assert_cmpuint(src.calls, ==, 0);
}

static void assert_listen_fails(const char *uri, const char *words)
{
    g_autoptr(MigrationAddress) addr = parse(uri);
    g_autoptr(Error) err = NULL;
    End dst = { 0 };

    g_assert_null(migration_transport_listen(addr, 1, incoming, &dst, &err));
    g_assert_nonnull(err);
    if (!strstr(error_get_pretty(err), words)) {
        g_error("%s: '%s' is not in '%s'", uri, words, error_get_pretty(err));
    }
}

/* What @src writes, @dst reads, and nothing else. Closes both. */
static void check_bytes(End *src, End *dst)
{
    char buf[6];

    g_assert_true(qio_channel_write_all(src->ioc, "stream", 6, &error_abort));
    g_assert_true(qio_channel_close(src->ioc, &error_abort));
    g_assert_true(qio_channel_read_all(dst->ioc, buf, 6, &error_abort));
    g_assert_cmpmem(buf, 6, "stream", 6);
    g_assert_cmpint(qio_channel_read(dst->ioc, buf, 1, &error_abort), ==, 0);
    end_clear(src);
    end_clear(dst);
}

static char *temp_path(char **dir, const char *name)
{
    *dir = g_dir_make_tmp("transport-XXXXXX", NULL);
    return g_build_filename(*dir, name, NULL);
}

static void remove_temp(const char *dir, const char *path)
{
    unlink(path);
    g_assert_cmpint(rmdir(dir), ==, 0);
}

static void TSA_REQUIRES(bql) test_tcp(void)
{
    End src = { 0 }, dst = { 0 };
    MigrationListener *l = listen_on("tcp:127.0.0.1:0", &dst);
    g_autoptr(SocketAddressList) addrs = migration_listener_addresses(l);
    g_autofree char *uri = socket_uri(addrs->value);

    g_assert_true(g_str_has_prefix(uri, "tcp:127.0.0.1:"));
    g_assert_false(g_str_has_suffix(uri, ":0"));
    connect_to(uri, &src);
    wait_for(&src);
    wait_for(&dst);
    g_assert_true(qio_channel_has_feature(src.ioc, QIO_CHANNEL_FEATURE_DUPLEX));
    g_assert_true(src.ioc->blocking && dst.ioc->blocking);
    migration_listener_free(l);
    check_bytes(&src, &dst);

    /* Nobody there any more: the callback says so, not the call. */
    connect_to(uri, &src);
    wait_for(&src);
    g_assert_nonnull(strstr(error_get_pretty(src.err), "Connection refused"));
    end_clear(&src);
}

static void TSA_REQUIRES(bql) test_unix(void)
{
    g_autofree char *dir = NULL, *path = temp_path(&dir, "s");
    g_autofree char *uri = g_strdup_printf("unix:%s", path);
    End src = { 0 }, dst = { 0 };
    MigrationListener *l = listen_on(uri, &dst);

    connect_to(uri, &src);
    wait_for(&dst);
    wait_for(&src);
    migration_listener_free(l);
    check_bytes(&src, &dst);
    connect_to(uri, &src);
    wait_for(&src);
    g_assert_nonnull(strstr(error_get_pretty(src.err), path));
    end_clear(&src);
    assert_listen_fails("unix:/nonexistent/x",
                        "Failed to bind socket to /nonexistent/x: No such "
                        "file or directory");
    remove_temp(dir, path);
}

static void TSA_REQUIRES(bql) test_exec(void)
{
    g_autofree char *dir = NULL, *path = temp_path(&dir, "out");
    g_autofree char *to = g_strdup_printf("exec:sleep 0.1; cat > %s", path);
    g_autofree char *from = g_strdup_printf("exec:sleep 0.1; cat %s", path);
    End src = { 0 }, dst = { 0 };
    MigrationListener *l;

    connect_to(to, &src);
    wait_for(&src);
    g_assert_true(qio_channel_write_all(src.ioc, "stream", 6, &error_abort));
    g_assert_true(qio_channel_close(src.ioc, &error_abort));
    end_clear(&src);
    l = listen_on(from, &dst);
    g_assert_null(migration_listener_addresses(l));
    main_loop_iterate(false);
    g_assert_cmpuint(dst.calls, ==, 0); /* no bytes yet */
    wait_for(&dst);
    migration_listener_free(l);
    {
        char buf[6];

        g_assert_true(qio_channel_read_all(dst.ioc, buf, 6, &error_abort));
        g_assert_cmpmem(buf, 6, "stream", 6);
    }
    end_clear(&dst);
    remove_temp(dir, path);
}

static void TSA_REQUIRES(bql) test_exec_ends_without_a_byte(void)
{
    End dst = { 0 };
    MigrationListener *l = listen_on("exec:exit 3", &dst);
    char buf[1];

    wait_for(&dst);
    g_assert_cmpint(qio_channel_read(dst.ioc, buf, 1, &error_abort), ==, 0);
    migration_listener_free(l);
    end_clear(&dst);
}

static void TSA_REQUIRES(bql) test_fd(void)
{
    End src = { 0 }, dst = { 0 };
    MigrationListener *l;
    int fds[2];

    g_assert_cmpint(pipe2(fds, O_CLOEXEC), ==, 0);
    g_assert_true(fd_store_put("to", fds[1], &error_abort));
    {
        g_autofree char *uri = g_strdup_printf("fd:%d", fds[0]);

        l = listen_on(uri, &dst);
    }
    connect_to("fd:to", &src);
    wait_for(&src);
    main_loop_iterate(false);
    g_assert_cmpuint(dst.calls, ==, 0);
    g_assert_true(qio_channel_write_all(src.ioc, "x", 1, &error_abort));
    wait_for(&dst);
    {
        char buf[1];

        g_assert_true(qio_channel_read_all(dst.ioc, buf, 1, &error_abort));
    }
    check_bytes(&src, &dst);
    migration_listener_free(l);

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), ==,
                    0);
    g_assert_true(fd_store_put("s", fds[1], &error_abort));
    g_assert_true(fd_store_put("d", fds[0], &error_abort));
    l = listen_on("fd:d", &dst);
    connect_to("fd:s", &src);
    wait_for(&src);
    g_assert_true(qio_channel_has_feature(src.ioc, QIO_CHANNEL_FEATURE_DUPLEX));
    g_assert_true(qio_channel_write_all(src.ioc, "", 1, &error_abort));
    wait_for(&dst);
    migration_listener_free(l);
    end_clear(&src);
    end_clear(&dst);
}

static void TSA_REQUIRES(bql) test_fd_failures(void)
{
    g_autofree char *path = NULL;
    int file = g_file_open_tmp("transport-XXXXXX", &path, NULL), fds[2];
    g_autofree char *by_number = g_strdup_printf("fd:%d", file);

    assert_connect_fails_at_once("fd:999", "999");
    assert_connect_fails_at_once("fd:unheard-of", "unheard-of");
    assert_connect_fails_at_once(by_number, "use file:");
    assert_listen_fails(by_number, "use file:");
    g_assert_cmpint(fcntl(file, F_GETFD), >=, 0);
    g_assert_cmpint(pipe(fds), ==, 0);
    g_assert_true(fd_store_put("rd", fds[0], &error_abort));
    g_assert_true(fd_store_put("wr", fds[1], &error_abort));
    assert_connect_fails_at_once("fd:rd", "not open for writing");
    assert_listen_fails("fd:wr", "not open for reading");
    close(file);
    unlink(path);
}

static char *contents(const char *path, size_t *len)
{
    char *text;

    g_assert_true(g_file_get_contents(path, &text, len, NULL));
    return text;
}

static void TSA_REQUIRES(bql) test_file_offset(void)
{
    g_autofree char *dir = NULL, *path = temp_path(&dir, "f");
    g_autofree char *uri = g_strdup_printf("file:%s,offset=4", path);
    g_autofree char *beyond = g_strdup_printf("file:%s,offset=100", path);
    End src = { 0 }, dst = { 0 };
    g_autofree char *text = NULL;
    MigrationListener *l;
    size_t len;

    g_assert_true(g_file_set_contents(path, "head, old rest", -1, NULL));
    connect_to(uri, &src);
    wait_for(&src);
    g_assert_true(
        qio_channel_has_feature(src.ioc, QIO_CHANNEL_FEATURE_SEEKABLE));
    g_assert_true(qio_channel_write_all(src.ioc, "new", 3, &error_abort));
    end_clear(&src);
    text = contents(path, &len);
    g_assert_cmpmem(text, len, "headnew", 7);
    l = listen_on(uri, &dst);
    wait_for(&dst);
    migration_listener_free(l);
    {
        char buf[3];

        g_assert_true(qio_channel_read_all(dst.ioc, buf, 3, &error_abort));
        g_assert_cmpmem(buf, 3, "new", 3);
    }
    end_clear(&dst);
    assert_listen_fails(beyond, "has 7 bytes");
    assert_listen_fails("file:/nonexistent",
                        "Could not open '/nonexistent': No such file");
    assert_connect_fails_at_once("file:/nonexistent/x",
                                 "Could not create '/nonexistent/x': No such "
                                 "file or directory");
    remove_temp(dir, path);
}

static void TSA_REQUIRES(bql) test_file_fdset(void)
{
    g_autofree char *dir = NULL, *path = temp_path(&dir, "f");
    g_autofree char *text = NULL;
    End src = { 0 };
    size_t len;
    int fd = open(path, O_CREAT | O_WRONLY, 0600);

    g_assert_cmpint(write(fd, "0123456789", 10), ==, 10);
    g_assert_true(fdset_add_fd(fd, 8, NULL, NULL, &error_abort));
    connect_to("file:/dev/fdset/8,offset=0x2", &src);
    wait_for(&src);
    g_assert_true(qio_channel_write_all(src.ioc, "ab", 2, &error_abort));
    end_clear(&src);
    text = contents(path, &len);
    g_assert_cmpmem(text, len, "01ab", 4);
    assert_listen_fails("file:/dev/fdset/8", "fdset");
    assert_connect_fails_at_once("file:/dev/fdset/9", "/dev/fdset/9");
    fdset_remove_fd(8, -1, &error_abort);
    remove_temp(dir, path);
}

static void TSA_REQUIRES(bql) test_file_fifo(void)
{
    g_autofree char *dir = NULL, *path = temp_path(&dir, "fifo");
    g_autofree char *uri = g_strdup_printf("file:%s", path);
    g_autofree char *with_offset = g_strdup_printf("file:%s,offset=1", path);
    End src = { 0 }, dst = { 0 };
    MigrationListener *l;

    g_assert_cmpint(mkfifo(path, 0600), ==, 0);
    connect_to(uri, &src);
    g_usleep(50 * 1000);
    main_loop_iterate(false);
    g_assert_cmpuint(src.calls, ==, 0); /* nobody reads yet */
    l = listen_on(uri, &dst);
    wait_for(&src);
    main_loop_iterate(false);
    g_assert_cmpuint(dst.calls, ==, 0); /* nothing written yet */
    g_assert_true(qio_channel_write_all(src.ioc, "x", 1, &error_abort));
    wait_for(&dst);
    {
        char buf[1];

        g_assert_true(qio_channel_read_all(dst.ioc, buf, 1, &error_abort));
    }
    check_bytes(&src, &dst);
    migration_listener_free(l);
    assert_listen_fails(with_offset, "has no positions");
    remove_temp(dir, path);
}

static void TSA_REQUIRES(bql) test_file_backing_memory_is_refused(void)
{
    g_autofree char *path = NULL;
    int fd = g_file_open_tmp("transport-XXXXXX", &path, NULL);
    g_autofree char *uri = g_strdup_printf("file:%s", path);
    RAMBlock *rb;
    struct stat st;

    g_assert_cmpint(ftruncate(fd, 64 * KiB), ==, 0);
    rb = qemu_ram_alloc_from_fd(64 * KiB, RAM_SHARED, fd, 0, NULL,
                                &error_abort);
    assert_connect_fails_at_once(uri, "what backs memory of this VM");
    g_assert_cmpint(stat(path, &st), ==, 0);
    g_assert_cmpint(st.st_size, ==, 64 * KiB); /* not cut off either */
    qemu_ram_free(rb);
    unlink(path);
}

/*
 * Who can read along.
 */

static void test_leaves_host(void)
{
    static const struct {
        const char *uri;
        bool leaves;
    } cases[] = {
        { "tcp:127.0.0.1:1", false },
        { "tcp:127.9.9.9:1", false },
        { "tcp:[::1]:1", false },
        { "tcp:[::ffff:127.0.0.1]:1", false },
        { "unix:/tmp/x", false },
        { "fd:7", false }, /* asked of the connection itself */
        { "tcp:0.0.0.0:1", true },
        { "tcp:[::]:1", true },
        { "tcp:192.0.2.1:1", true },
        { "tcp:[::ffff:192.0.2.1]:1", true },
        { "tcp:[fe80::1]:1", true },
        { "tcp:somewhere:1", true },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        g_autoptr(MigrationAddress) addr = parse(cases[i].uri);

        if (transport_leaves_host(&addr->u.socket) != cases[i].leaves) {
            g_error("%s", cases[i].uri);
        }
    }
}

/*
 * Cancelling.
 */

static void TSA_REQUIRES(bql) test_cancel(void)
{
    g_autofree char *dir = NULL, *path = temp_path(&dir, "x");
    g_autofree char *file = g_strdup_printf("file:%s", path);
    g_autofree char *fifo = g_strdup_printf("file:%s.fifo", path);
    const char *const uris[] = { file, fifo, "tcp:127.0.0.1:1", "exec:cat" };

    g_assert_cmpint(mkfifo(fifo + strlen("file:"), 0600), ==, 0);
    for (size_t i = 0; i < ARRAY_SIZE(uris); i++) {
        End src = { 0 };
        MigrationConnect *c = connect_to(uris[i], &src);

        migration_connect_cancel(c);
        for (int ms = 0; ms < 60; ms++) {
            main_loop_iterate(false);
            g_usleep(1000);
        }
        g_assert_cmpuint(src.calls, ==, 0);
    }
    unlink(fifo + strlen("file:"));
    remove_temp(dir, path);
}

static void free_at_once(QIOChannel *ioc, void *opaque)
{
    MigrationListener **l = opaque;

    qio_channel_unref(ioc);
    g_clear_pointer(l, migration_listener_free);
}

static void TSA_REQUIRES(bql) test_listener_freed_at_any_time(void)
{
    const char *const uris[] = { "tcp:127.0.0.1:0", "exec:exit 0",
                                 "file:/dev/null", "exec:sleep 0.01" };

    for (size_t i = 0; i < ARRAY_SIZE(uris); i++) {
        g_autoptr(MigrationAddress) addr = parse(uris[i]);
        End dst = { 0 };
        MigrationListener *l = listen_on(uris[i], &dst);

        migration_listener_free(l);
        for (int ms = 0; ms < 30; ms++) {
            main_loop_iterate(false);
            g_usleep(1000);
        }
        g_assert_cmpuint(dst.calls, ==, 0);
        if (i == 0) {
            continue;
        }
        l = migration_transport_listen(addr, 1, free_at_once, &l, &error_abort);
        while (l) {
            main_loop_iterate(true);
        }
    }
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    g_test_add_func("/transport/uri/round-trip", test_uri_round_trip);
    g_test_add_func("/transport/uri/file-offsets", test_uri_file_offsets);
    g_test_add_func("/transport/uri/failures", test_uri_failures);
    g_test_add_func("/transport/channels", test_channels);
    g_test_add_func("/transport/tcp", test_tcp);
    g_test_add_func("/transport/unix", test_unix);
    g_test_add_func("/transport/exec/both-ends", test_exec);
    g_test_add_func("/transport/exec/ends-without-a-byte",
                    test_exec_ends_without_a_byte);
    g_test_add_func("/transport/fd/both-ends", test_fd);
    g_test_add_func("/transport/fd/failures", test_fd_failures);
    g_test_add_func("/transport/file/offset", test_file_offset);
    g_test_add_func("/transport/file/fdset", test_file_fdset);
    g_test_add_func("/transport/file/fifo", test_file_fifo);
    g_test_add_func("/transport/file/backing-memory-is-refused",
                    test_file_backing_memory_is_refused);
    g_test_add_func("/transport/leaves-host", test_leaves_host);
    g_test_add_func("/transport/cancel", test_cancel);
    g_test_add_func("/transport/listener-freed-at-any-time",
                    test_listener_freed_at_any_time);
    return g_test_run();
}
