/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of include/io/channel-socket.h and net-listener.h: addresses,
 * connecting, waking, descriptors, listeners in the main loop.
 */
#include "qemu/osdep.h"

#include <netdb.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "io/net-listener.h"
#include "qapi/qapi-types-sockets.h"
#include "qemu/fd-store.h"
#include "qemu/main-loop.h"

static QIOChannelSocket *listen_on(const char *str)
{
    g_autoptr(SocketAddress) addr = socket_parse(str, &error_abort);
    QIOChannelSocket *sioc = qio_channel_socket_new();

    g_assert_true(qio_channel_socket_listen_sync(sioc, addr, 1, &error_abort));
    return sioc;
}

static QIOChannel *connect_to(QIOChannelSocket *listener)
{
    g_autoptr(SocketAddress)
        addr = qio_channel_socket_get_local_address(listener, &error_abort);
    QIOChannelSocket *sioc = qio_channel_socket_new();

    g_assert_true(qio_channel_socket_connect_sync(sioc, addr, &error_abort));
    return QIO_CHANNEL(sioc);
}

static void assert_parse_fails(const char *str, const char *words)
{
    g_autoptr(Error) err = NULL;

    g_assert_null(socket_parse(str, &err));
    g_assert_nonnull(err);
    if (!strstr(error_get_pretty(err), words)) {
        g_error("'%s' is not in '%s'", words, error_get_pretty(err));
    }
}

/*
 * Addresses.
 */

static void test_parse_round_trip(void)
{
    static const char *const texts[] = {
        "tcp:127.0.0.1:4444",   "tcp:[::1]:0",   "tcp::80",
        "tcp:host.example:ssh", "unix:/tmp/x,y", "fd:name",
    };

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        g_autoptr(SocketAddress) addr = socket_parse(texts[i], &error_abort);
        g_autofree char *uri = socket_uri(addr);

        g_assert_cmpstr(uri, ==, texts[i]);
    }
}

static void test_parse_options(void)
{
    g_autoptr(SocketAddress) addr = socket_parse(
        "tcp:localhost:1,to=20,ipv4,ipv6=off,keep-alive=on", &error_abort);

    g_assert_true(addr->u.inet.has_to);
    g_assert_cmpint(addr->u.inet.to, ==, 20);
    g_assert_true(addr->u.inet.ipv4);
    g_assert_true(addr->u.inet.has_ipv6);
    g_assert_false(addr->u.inet.ipv6);
    g_assert_true(addr->u.inet.keep_alive);
}

/*
 * Dead peers
 */

static int option_of(QIOChannelSocket *sioc, int level, int option)
{
    int fd = qio_channel_get_fd(QIO_CHANNEL(sioc), G_IO_IN), value = -1;
    socklen_t len = sizeof(value);

    g_assert_cmpint(getsockopt(fd, level, option, &value, &len), ==, 0);
    return value;
}

static void assert_dead_peer_options(QIOChannelSocket *sioc)
{
    g_assert_cmpint(option_of(sioc, SOL_SOCKET, SO_KEEPALIVE), ==, 1);
    g_assert_cmpint(option_of(sioc, IPPROTO_TCP, TCP_KEEPCNT), ==, 3);
    g_assert_cmpint(option_of(sioc, IPPROTO_TCP, TCP_KEEPIDLE), ==, 7);
    g_assert_cmpint(option_of(sioc, IPPROTO_TCP, TCP_KEEPINTVL), ==, 2);
    g_assert_cmpint(option_of(sioc, IPPROTO_TCP, TCP_USER_TIMEOUT), ==, 1234);
}

/* Two ends over loopback; each with @options. */
static void tcp_pair(const char *options, QIOChannelSocket **a,
                     QIOChannelSocket **b)
{
    g_autofree char *any = g_strconcat("tcp:127.0.0.1:0", options, NULL);
    g_autoptr(SocketAddress) where = socket_parse(any, &error_abort);
    QIOChannelSocket *l = qio_channel_socket_new();
    g_autoptr(SocketAddress) to = NULL, bound = NULL;
    g_autofree char *uri = NULL, *full = NULL;

    qio_channel_socket_listen_sync(l, where, 1, &error_abort);
    qio_channel_set_blocking(QIO_CHANNEL(l), true, &error_abort);
    bound = qio_channel_socket_get_local_address(l, &error_abort);
    uri = socket_uri(bound);
    full = g_strconcat(uri, options, NULL);
    to = socket_parse(full, &error_abort);
    *a = qio_channel_socket_new();
    qio_channel_socket_connect_sync(*a, to, &error_abort);
    *b = qio_channel_socket_accept(l, &error_abort);
    qio_channel_unref(QIO_CHANNEL(l));
}

static void test_dead_peer_options(void)
{
    QIOChannelSocket *a, *b;

    tcp_pair(",keep-alive=on,keep-alive-count=3,keep-alive-idle=7,"
             "keep-alive-interval=2,user-timeout=1234",
             &a, &b);
    assert_dead_peer_options(a);
    assert_dead_peer_options(b);
    qio_channel_unref(QIO_CHANNEL(a));
    qio_channel_unref(QIO_CHANNEL(b));
}

/* Whoever asks is told the same: who writes, and who reads. */
static void test_peer_does_not_read(void)
{
    static const char junk[65536];
    QIOChannelSocket *a, *b;
    g_autoptr(Error) werr = NULL, rerr = NULL;
    char byte;

    tcp_pair(",user-timeout=300", &a, &b);
    while (qio_channel_write_all(QIO_CHANNEL(a), junk, sizeof(junk), &werr)) {
    }
    g_assert_nonnull(strstr(error_get_pretty(werr), "dead or does not read"));
    g_assert_cmpint(qio_channel_read(QIO_CHANNEL(a), &byte, 1, &rerr), ==, -1);
    g_assert_nonnull(strstr(error_get_pretty(rerr), "dead or does not read"));
    qio_channel_unref(QIO_CHANNEL(a));
    qio_channel_unref(QIO_CHANNEL(b));
}

/* In a network of its own, whose one interface goes down. */
static bool set_loopback(bool up)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;
    struct ifreq req = { .ifr_name = "lo",
                         .ifr_flags = (short)(up ? IFF_UP | IFF_RUNNING : 0) };

    rc = ioctl(fd, SIOCSIFFLAGS, &req);
    close(fd);
    return rc == 0;
}

static void test_peer_is_gone(void)
{
    QIOChannelSocket *a, *b;
    g_autoptr(Error) err = NULL;
    char byte;

    if (!g_test_subprocess()) {
        if (geteuid() != 0) {
            g_test_skip("a network name space of its own needs root");
            return;
        }
        g_test_trap_subprocess(NULL, 100 * G_USEC_PER_SEC,
                               G_TEST_SUBPROCESS_DEFAULT);
        g_test_trap_assert_passed();
        return;
    }
    if (unshare(CLONE_NEWNET) < 0 || !set_loopback(true)) {
        g_test_skip("there are no network name spaces");
        return;
    }
    tcp_pair(",keep-alive=on,keep-alive-count=2,keep-alive-idle=1,"
             "keep-alive-interval=1",
             &a, &b);
    g_assert_true(set_loopback(false));
    g_assert_cmpint(qio_channel_read(QIO_CHANNEL(a), &byte, 1, &err), ==, -1);
    g_assert_nonnull(strstr(error_get_pretty(err), "is dead"));
    qio_channel_unref(QIO_CHANNEL(a));
    qio_channel_unref(QIO_CHANNEL(b));
}

static void test_parse_failures(void)
{
    assert_parse_fails("tcp:", "expected HOST:PORT");
    assert_parse_fails("tcp:host", "expected HOST:PORT");
    assert_parse_fails("tcp:host:", "expected HOST:PORT");
    assert_parse_fails("tcp:::1:80", "expected HOST:PORT");
    assert_parse_fails("tcp:[::1:80", "expected HOST:PORT");
    assert_parse_fails("tcp:[::1]80", "expected HOST:PORT");
    assert_parse_fails("tcp:h:1,to=99999", "no port number");
    assert_parse_fails("tcp:h:1,bogus=1", "'bogus'");
    assert_parse_fails("tcp:h:1,user-timeout=5s", "no number");
    assert_parse_fails("tcp:h:1,keep-alive-idle=4294967296", "no number");
    assert_parse_fails("tcp:h:1,ipv4=maybe", "ipv4");
    assert_parse_fails("unix:", "no path");
    assert_parse_fails("fd:", "no name");
}

static void test_address_failures(void)
{
    g_autofree char *longpath = g_strnfill(200, 'p');
    g_autofree char *unix_uri = g_strdup_printf("unix:%s", longpath);
    const char *const bad[][2] = {
        { "tcp:127.0.0.1:99999", "expected 0 to 65535" },
        { "tcp:127.0.0.1:12x", "no port number" },
        { "tcp:127.0.0.1:1,ipv4=off,ipv6=off", "neither" },
        { "tcp:127.0.0.1:1,keep-alive-count=3", "need keep-alive=on" },
        { "tcp:127.0.0.1:1,keep-alive,keep-alive-count=128", "1 to 127" },
        { "tcp:127.0.0.1:1,keep-alive,keep-alive-idle=0", "1 to 32767" },
        { "tcp:127.0.0.1:1,user-timeout=4294967295", "user-timeout" },
        { "tcp:127.0.0.1:nosuchservice", "Cannot resolve" },
        { unix_uri, "200 bytes" },
        { "fd:nosuchname", "nosuchname" },
        { "fd:9999", "9999" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        g_autoptr(SocketAddress) addr = socket_parse(bad[i][0], &error_abort);

        for (int listening = 0; listening < 2; listening++) {
            QIOChannelSocket *sioc = qio_channel_socket_new();
            g_autoptr(Error) err = NULL;

            if (listening) {
                g_assert_false(
                    qio_channel_socket_listen_sync(sioc, addr, 1, &err));
            } else {
                g_assert_false(
                    qio_channel_socket_connect_sync(sioc, addr, &err));
            }
            if (!strstr(error_get_pretty(err), bad[i][1])) {
                g_error("'%s': '%s'", bad[i][0], error_get_pretty(err));
            }
            qio_channel_unref(QIO_CHANNEL(sioc));
        }
    }
}

/*
 * Connections.
 */

static void check_traffic(const char *where, const char *expected_prefix)
{
    QIOChannelSocket *listener = listen_on(where);
    QIOChannel *a = connect_to(listener);
    QIOChannel *b = QIO_CHANNEL(
        qio_channel_socket_accept(listener, &error_abort));
    g_autoptr(SocketAddress) peer = qio_channel_socket_get_remote_address(
        QIO_CHANNEL_SOCKET(a), &error_abort);
    g_autofree char *uri = socket_uri(peer);
    char buf[5];
    struct iovec iov = { buf, 4 };

    g_assert_true(g_str_has_prefix(uri, expected_prefix));
    g_assert_false(g_str_has_suffix(uri, ":0"));
    g_assert_true(qio_channel_write_all(a, "ping", 4, &error_abort));
    g_assert_cmpint(qio_channel_readv_full(b, &iov, 1, NULL, NULL,
                                           QIO_CHANNEL_READ_FLAG_MSG_PEEK,
                                           &error_abort),
                    ==, 4);
    memset(buf, 0, sizeof(buf));
    g_assert_true(qio_channel_read_all(b, buf, 4, &error_abort));
    g_assert_cmpmem(buf, 4, "ping", 4);
    g_assert_true(qio_channel_write_all(b, "pong", 4, &error_abort));
    g_assert_true(qio_channel_read_all(a, buf, 4, &error_abort));
    g_assert_cmpmem(buf, 4, "pong", 4);
    qio_channel_unref(a);
    g_assert_cmpint(qio_channel_read(b, buf, 1, &error_abort), ==, 0);
    qio_channel_unref(b);
    qio_channel_unref(QIO_CHANNEL(listener));
}

/* A root without /etc/hosts does not know its own name. */
static bool localhost_resolves(void)
{
    struct addrinfo *ai = NULL;
    bool ok = getaddrinfo("localhost", NULL, NULL, &ai) == 0;

    if (ok) {
        freeaddrinfo(ai);
    }
    return ok;
}

static void test_traffic(void)
{
    check_traffic("tcp:127.0.0.1:0", "tcp:127.0.0.1:");
    if (localhost_resolves()) {
        check_traffic("tcp:localhost:0,ipv4", "tcp:127.0.0.1:");
    }
    if (g_file_test("/proc/sys/net/ipv6", G_FILE_TEST_IS_DIR)) {
        int fd = socket(AF_INET6, SOCK_STREAM, 0);

        if (fd >= 0) {
            close(fd);
            check_traffic("tcp:[::1]:0", "tcp:[::1]:");
        }
    }
}

static void test_unix_path_is_removed(void)
{
    g_autofree char *dir = g_dir_make_tmp("io-socket-XXXXXX", NULL);
    g_autofree char *uri = g_strdup_printf("unix:%s/s", dir);
    g_autofree char *path = g_build_filename(dir, "s", NULL);
    g_autoptr(SocketAddress) addr = socket_parse(uri, &error_abort);
    QIOChannelSocket *a, *b;

    check_traffic(uri, uri);
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    /* The second takes the path over; the first must not remove that. */
    a = listen_on(uri);
    b = listen_on(uri);
    qio_channel_unref(QIO_CHANNEL(a));
    g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));
    qio_channel_unref(QIO_CHANNEL(b));
    g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    /* What is no socket is nobody's to remove. */
    g_assert_true(g_file_set_contents(path, "x", 1, NULL));
    a = qio_channel_socket_new();
    g_assert_false(qio_channel_socket_listen_sync(a, addr, 1, NULL));
    qio_channel_unref(QIO_CHANNEL(a));
    g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));
    unlink(path);
    rmdir(dir);
}

static void test_refused(void)
{
    QIOChannelSocket *listener = listen_on("tcp:127.0.0.1:0");
    g_autoptr(SocketAddress)
        addr = qio_channel_socket_get_local_address(listener, &error_abort);
    g_autoptr(SocketAddress)
        gone = socket_parse("unix:/nonexistent/socket", &error_abort);
    QIOChannelSocket *sioc = qio_channel_socket_new();
    g_autoptr(Error) err = NULL, err2 = NULL, err3 = NULL;
    QIOChannelSocket *second = qio_channel_socket_new();

    g_assert_false(qio_channel_socket_listen_sync(second, addr, 1, &err3));
    g_assert_nonnull(strstr(error_get_pretty(err3), "Failed to listen on"));
    qio_channel_unref(QIO_CHANNEL(second));
    qio_channel_unref(QIO_CHANNEL(listener));
    g_assert_false(qio_channel_socket_connect_sync(sioc, addr, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "Connection refused"));
    g_assert_false(qio_channel_socket_connect_sync(sioc, gone, &err2));
    g_assert_cmpstr(error_get_pretty(err2), ==,
                    "Failed to connect to '/nonexistent/socket': No such file "
                    "or directory");
    qio_channel_unref(QIO_CHANNEL(sioc));
}

static void test_listen_range(void)
{
    QIOChannelSocket *first = listen_on("tcp:127.0.0.1:0");
    g_autoptr(SocketAddress)
        addr = qio_channel_socket_get_local_address(first, &error_abort);
    QIOChannelSocket *second = qio_channel_socket_new();
    uint64_t port = strtoul(addr->u.inet.port, NULL, 10);

    addr->u.inet.has_to = true;
    addr->u.inet.to = MIN(port + 20, 65535);
    g_assert_true(
        qio_channel_socket_listen_sync(second, addr, 1, &error_abort));
    qio_channel_unref(QIO_CHANNEL(first));
    qio_channel_unref(QIO_CHANNEL(second));
    addr->u.inet.to = port - 1;
    second = qio_channel_socket_new();
    g_assert_false(qio_channel_socket_listen_sync(second, addr, 1, NULL));
    qio_channel_unref(QIO_CHANNEL(second));
}

static void test_no_sigpipe(void)
{
    QIOChannelSocket *a, *b;

    g_assert_true(qio_channel_socket_new_pair(&a, &b, &error_abort));
    qio_channel_unref(QIO_CHANNEL(b));
    g_assert_cmpint(qio_channel_write(QIO_CHANNEL(a), "x", 1, NULL), ==, -1);
    qio_channel_unref(QIO_CHANNEL(a));
}

/*
 * Waking.
 */

typedef struct Waker {
    QIOChannel *ioc;
    QIOChannelShutdown how;
    QemuThread thread;
} Waker;

static void *waker_thread(void *opaque)
{
    Waker *w = opaque;

    g_usleep(30 * 1000);
    qio_channel_shutdown(w->ioc, w->how, NULL);
    return NULL;
}

static void waker_start(Waker *w, void *ioc, QIOChannelShutdown how)
{
    w->ioc = QIO_CHANNEL(ioc);
    w->how = how;
    qemu_thread_create(&w->thread, "waker", waker_thread, w,
                       QEMU_THREAD_JOINABLE, &error_abort);
}

static void assert_shut(Error **err)
{
    g_assert_nonnull(*err);
    g_assert_nonnull(strstr(error_get_pretty(*err), "was shut down"));
    error_free(*err);
    *err = NULL;
}

static void test_wake_read_and_write(void)
{
    g_autofree char *big = g_malloc0(8 << 20);
    QIOChannelSocket *a, *b;
    Error *err = NULL;
    char buf[1];
    Waker w;

    g_assert_true(qio_channel_socket_new_pair(&a, &b, &error_abort));
    waker_start(&w, a, QIO_CHANNEL_SHUTDOWN_READ);
    g_assert_cmpint(qio_channel_read(QIO_CHANNEL(a), buf, 1, &err), ==, -1);
    assert_shut(&err);
    qemu_thread_join(&w.thread);
    waker_start(&w, a, QIO_CHANNEL_SHUTDOWN_WRITE);
    g_assert_false(qio_channel_write_all(QIO_CHANNEL(a), big, 8 << 20, &err));
    assert_shut(&err);
    qemu_thread_join(&w.thread);
    qio_channel_unref(QIO_CHANNEL(a));
    qio_channel_unref(QIO_CHANNEL(b));
}

static void test_wake_accept(void)
{
    QIOChannelSocket *listener = listen_on("tcp:127.0.0.1:0");
    Error *err = NULL;
    Waker w;

    waker_start(&w, listener, QIO_CHANNEL_SHUTDOWN_BOTH);
    g_assert_null(qio_channel_socket_accept(listener, &err));
    assert_shut(&err);
    qemu_thread_join(&w.thread);
    qio_channel_unref(QIO_CHANNEL(listener));
}

/* A listener that accepts nobody, its backlog full: connect has to wait. */
static void check_wake_connect(const char *where, unsigned fill)
{
    QIOChannelSocket *listener = listen_on(where);
    g_autoptr(SocketAddress)
        addr = qio_channel_socket_get_local_address(listener, &error_abort);
    g_autoptr(GPtrArray) waiting = g_ptr_array_new_with_free_func(
        (GDestroyNotify)qio_channel_unref);
    Error *err = NULL;
    bool woken = false;

    for (unsigned i = 0; i < fill && !woken; i++) {
        QIOChannelSocket *sioc = qio_channel_socket_new();
        Waker w;

        waker_start(&w, sioc, QIO_CHANNEL_SHUTDOWN_BOTH);
        woken = !qio_channel_socket_connect_sync(sioc, addr, &err);
        qemu_thread_join(&w.thread);
        g_ptr_array_add(waiting, sioc);
    }
    g_assert_true(woken);
    assert_shut(&err);
    qio_channel_unref(QIO_CHANNEL(listener));
}

static void test_wake_connect(void)
{
    g_autofree char *dir = g_dir_make_tmp("io-socket-XXXXXX", NULL);
    g_autofree char *uri = g_strdup_printf("unix:%s/s", dir);

    check_wake_connect("tcp:127.0.0.1:0", 8);
    check_wake_connect(uri, 8);
    rmdir(dir);
}

static void test_shut_before_connect(void)
{
    QIOChannelSocket *listener = listen_on("tcp:127.0.0.1:0");
    g_autoptr(SocketAddress)
        addr = qio_channel_socket_get_local_address(listener, &error_abort);
    QIOChannelSocket *sioc = qio_channel_socket_new();
    char buf[1];

    qio_channel_shutdown(QIO_CHANNEL(sioc), QIO_CHANNEL_SHUTDOWN_BOTH, NULL);
    if (qio_channel_socket_connect_sync(sioc, addr, NULL)) {
        g_assert_cmpint(qio_channel_read(QIO_CHANNEL(sioc), buf, 1, NULL), ==,
                        -1);
    }
    qio_channel_unref(QIO_CHANNEL(sioc));
    qio_channel_unref(QIO_CHANNEL(listener));
}

/*
 * Descriptors.
 */

static void test_fds_pass(void)
{
    QIOChannelSocket *a, *b;
    int pipe_fds[2], *fds = NULL, send[2];
    char buf[2];
    struct iovec iov = { buf, 1 };
    struct iovec out = { (char *)"x", 1 };
    size_t nfds = 99;

    g_assert_cmpint(pipe(pipe_fds), ==, 0);
    g_assert_true(qio_channel_socket_new_pair(&a, &b, &error_abort));
    send[0] = send[1] = pipe_fds[1];
    g_assert_true(qio_channel_writev_full_all(QIO_CHANNEL(a), &out, 1, send, 2,
                                              &error_abort));
    g_assert_cmpint(qio_channel_readv_full(QIO_CHANNEL(b), &iov, 1, &fds, &nfds,
                                           0, &error_abort),
                    ==, 1);
    g_assert_cmpuint(nfds, ==, 2);
    g_assert_true(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
    g_assert_cmpint(write(fds[0], "y", 1), ==, 1);
    g_assert_cmpint(read(pipe_fds[0], buf, 1), ==, 1);
    close(fds[0]);
    close(fds[1]);
    g_free(fds);

    /* Not asked for: closed by the kernel, the pipe then ends with ours. */
    g_assert_true(qio_channel_writev_full_all(QIO_CHANNEL(a), &out, 1, send, 1,
                                              &error_abort));
    g_assert_cmpint(qio_channel_read(QIO_CHANNEL(b), buf, 1, &error_abort), ==,
                    1);
    close(pipe_fds[1]);
    g_assert_cmpint(read(pipe_fds[0], buf, 1), ==, 0);
    close(pipe_fds[0]);

    g_assert_true(qio_channel_write_all(QIO_CHANNEL(a), "z", 1, &error_abort));
    g_assert_cmpint(qio_channel_readv_full(QIO_CHANNEL(b), &iov, 1, &fds, &nfds,
                                           0, &error_abort),
                    ==, 1);
    g_assert_cmpuint(nfds, ==, 0);
    g_assert_null(fds);
    qio_channel_unref(QIO_CHANNEL(a));
    qio_channel_unref(QIO_CHANNEL(b));
}

static void test_fd_address(void)
{
    g_autoptr(SocketAddress) addr = socket_parse("fd:mig", &error_abort);
    QIOChannelSocket *sioc = qio_channel_socket_new();
    g_autoptr(Error) err = NULL;
    int fds[2];

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
    g_assert_true(fd_store_put("mig", fds[0], &error_abort));
    g_assert_true(qio_channel_socket_connect_sync(sioc, addr, &error_abort));
    g_assert_true(
        qio_channel_write_all(QIO_CHANNEL(sioc), "x", 1, &error_abort));
    qio_channel_unref(QIO_CHANNEL(sioc));
    close(fds[1]);
    g_assert_null(qio_channel_socket_new_fd(STDIN_FILENO, &err));
    g_assert_cmpstr(error_get_pretty(err), ==,
                    "File descriptor 0 is no stream socket");
}

/*
 * Listener.
 */

typedef struct Seen {
    unsigned clients;
    bool free_it;
    QIONetListener *listener;
} Seen;

static void client_arrived(QIONetListener *l, QIOChannelSocket *sioc,
                           void *opaque)
{
    Seen *seen = opaque;

    g_assert_true(l == seen->listener);
    g_assert_true(qio_channel_write_all(QIO_CHANNEL(sioc), "hi", 2, NULL));
    seen->clients++;
    if (seen->free_it) {
        qio_net_listener_free(l);
    }
}

static void TSA_REQUIRES(bql) test_listener(void)
{
    QIONetListener *l = qio_net_listener_new();
    g_autoptr(SocketAddress) where = socket_parse(
        localhost_resolves() ? "tcp:localhost:0" : "tcp:127.0.0.1:0",
        &error_abort);
    g_autoptr(SocketAddressList) addrs = NULL;
    Seen seen = { .listener = l };
    unsigned clients = 0;
    char buf[2];

    g_assert_true(qio_net_listener_open_sync(l, where, 5, &error_abort));
    addrs = qio_net_listener_get_addresses(l, &error_abort);
    g_assert_nonnull(addrs);
    for (SocketAddressList *it = addrs; it; it = it->next) {
        QIOChannelSocket *sioc = qio_channel_socket_new();

        g_assert_cmpstr(it->value->u.inet.port, !=, "0");
        g_assert_cmpstr(it->value->u.inet.port, ==, addrs->value->u.inet.port);
        g_assert_true(
            qio_channel_socket_connect_sync(sioc, it->value, &error_abort));
        clients++;
        /* Waits in the kernel until somebody wants it. */
        if (clients == 1) {
            g_assert_false(main_loop_iterate(false));
            qio_net_listener_set_client_func(l, client_arrived, &seen);
        }
        while (seen.clients < clients) {
            main_loop_iterate(true);
        }
        g_assert_true(
            qio_channel_read_all(QIO_CHANNEL(sioc), buf, 2, &error_abort));
        qio_channel_unref(QIO_CHANNEL(sioc));
    }
    g_assert_true(qio_net_listener_is_connected(l));
    qio_net_listener_disconnect(l);
    g_assert_false(qio_net_listener_is_connected(l));
    g_assert_null(qio_net_listener_get_addresses(l, &error_abort));

    /* Opened again; freed by the client function itself. */
    qapi_free_SocketAddressList(addrs);
    g_assert_true(qio_net_listener_open_sync(l, where, 5, &error_abort));
    addrs = qio_net_listener_get_addresses(l, &error_abort);
    seen.free_it = true;
    {
        QIOChannelSocket *sioc = qio_channel_socket_new();

        g_assert_true(
            qio_channel_socket_connect_sync(sioc, addrs->value, &error_abort));
        while (seen.clients == clients) {
            main_loop_iterate(true);
        }
        qio_channel_unref(QIO_CHANNEL(sioc));
    }
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    g_test_add_func("/io-socket/parse/round-trip", test_parse_round_trip);
    g_test_add_func("/io-socket/parse/options", test_parse_options);
    g_test_add_func("/io-socket/dead-peer/options", test_dead_peer_options);
    g_test_add_func("/io-socket/dead-peer/does-not-read",
                    test_peer_does_not_read);
    g_test_add_func("/io-socket/dead-peer/is-gone", test_peer_is_gone);
    g_test_add_func("/io-socket/parse/failures", test_parse_failures);
    g_test_add_func("/io-socket/address-failures", test_address_failures);
    g_test_add_func("/io-socket/traffic", test_traffic);
    g_test_add_func("/io-socket/unix-path-is-removed",
                    test_unix_path_is_removed);
    g_test_add_func("/io-socket/refused", test_refused);
    g_test_add_func("/io-socket/listen-range", test_listen_range);
    g_test_add_func("/io-socket/no-sigpipe", test_no_sigpipe);
    g_test_add_func("/io-socket/wake/read-and-write", test_wake_read_and_write);
    g_test_add_func("/io-socket/wake/accept", test_wake_accept);
    g_test_add_func("/io-socket/wake/connect", test_wake_connect);
    g_test_add_func("/io-socket/wake/shut-before-connect",
                    test_shut_before_connect);
    g_test_add_func("/io-socket/fds/pass", test_fds_pass);
    g_test_add_func("/io-socket/fds/address", test_fd_address);
    g_test_add_func("/io-socket/listener", test_listener);
    return g_test_run();
}
