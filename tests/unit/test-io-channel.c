/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of include/io/channel.h and the kinds that are not sockets: wake-up,
 * short reads and writes, ends, children, fifos.
 */
#include "qemu/osdep.h"

#include <signal.h>
#include <sys/wait.h>

#include "io/channel-buffer.h"
#include "io/channel-command.h"
#include "io/channel-fault.h"
#include "io/channel-file.h"
#include "qemu/fd-store.h"
#include "qemu/thread.h"

static char *tmp_dir(void)
{
    return g_dir_make_tmp("io-channel-XXXXXX", NULL);
}

static unsigned open_fds(void)
{
    GDir *d = g_dir_open("/proc/self/fd", 0, NULL);
    unsigned n = 0;

    while (g_dir_read_name(d)) {
        n++;
    }
    g_dir_close(d);
    return n;
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

static void waker_start(Waker *w, QIOChannel *ioc, QIOChannelShutdown how)
{
    w->ioc = ioc;
    w->how = how;
    qemu_thread_create(&w->thread, "waker", waker_thread, w,
                       QEMU_THREAD_JOINABLE, &error_abort);
}

/* A read that would wait for ever fails, and so does the next. */
static void check_read_woken(QIOChannel *ioc)
{
    g_autoptr(Error) err = NULL, err2 = NULL;
    char buf[8];
    Waker w;

    waker_start(&w, ioc, QIO_CHANNEL_SHUTDOWN_READ);
    g_assert_cmpint(qio_channel_read(ioc, buf, sizeof(buf), &err), ==, -1);
    g_assert_nonnull(strstr(error_get_pretty(err), "was shut down"));
    qemu_thread_join(&w.thread);
    g_assert_cmpint(qio_channel_read(ioc, buf, sizeof(buf), &err2), ==, -1);
    g_assert_nonnull(err2);
}

static void check_write_woken(QIOChannel *ioc)
{
    g_autofree char *big = g_malloc0(1 << 20);
    g_autoptr(Error) err = NULL;
    Waker w;

    waker_start(&w, ioc, QIO_CHANNEL_SHUTDOWN_BOTH);
    g_assert_false(qio_channel_write_all(ioc, big, 1 << 20, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "was shut down"));
    qemu_thread_join(&w.thread);
}

static void test_wake_pipe(void)
{
    QIOChannel *rd, *wr;
    int fds[2];

    g_assert_cmpint(pipe(fds), ==, 0);
    rd = QIO_CHANNEL(qio_channel_file_new_fd(fds[0]));
    wr = QIO_CHANNEL(qio_channel_file_new_fd(fds[1]));
    g_assert_false(qio_channel_has_feature(rd, QIO_CHANNEL_FEATURE_SEEKABLE));
    g_assert_false(qio_channel_has_feature(rd, QIO_CHANNEL_FEATURE_DUPLEX));
    check_read_woken(rd);
    check_write_woken(wr);
    qio_channel_unref(rd);
    qio_channel_unref(wr);
}

static void test_wake_fifo(void)
{
    g_autofree char *dir = tmp_dir(), *path = g_build_filename(dir, "f", NULL);
    g_autoptr(Error) err = NULL;
    QIOChannel *rd, *wr;
    int os_errno = 0;
    char buf[4];

    g_assert_cmpint(mkfifo(path, 0600), ==, 0);
    g_assert_null(
        qio_channel_file_new_path(path, O_WRONLY, 0, &os_errno, &err));
    g_assert_cmpint(os_errno, ==, ENXIO);
    rd = QIO_CHANNEL(
        qio_channel_file_new_path(path, O_RDONLY, 0, NULL, &error_abort));
    /* Without a writer it is not at its end. */
    qio_channel_set_blocking(rd, false, &error_abort);
    g_assert_cmpint(qio_channel_read(rd, buf, 4, &error_abort), ==,
                    QIO_CHANNEL_ERR_BLOCK);
    qio_channel_set_blocking(rd, true, &error_abort);
    wr = QIO_CHANNEL(
        qio_channel_file_new_path(path, O_WRONLY, 0, NULL, &error_abort));
    g_assert_true(qio_channel_write_all(wr, "ab", 2, &error_abort));
    g_assert_true(qio_channel_read_all(rd, buf, 2, &error_abort));
    qio_channel_unref(wr);
    g_assert_cmpint(qio_channel_read(rd, buf, 4, &error_abort), ==, 0);
    qio_channel_unref(rd);

    rd = QIO_CHANNEL(
        qio_channel_file_new_path(path, O_RDONLY, 0, NULL, &error_abort));
    check_read_woken(rd);
    qio_channel_unref(rd);
    unlink(path);
    rmdir(dir);
}

/* One direction shut: the other still waits, and can still be woken. */
static void test_wake_one_direction(void)
{
    const char *const argv[] = { "/bin/sleep", "1000", NULL };
    QIOChannel *ioc = QIO_CHANNEL(
        qio_channel_command_new_spawn(argv, O_RDWR, &error_abort));

    check_read_woken(ioc);
    g_assert_true(qio_channel_write_all(ioc, "x", 1, &error_abort));
    check_write_woken(ioc);
    g_assert_false(qio_channel_close(ioc, NULL));
    qio_channel_unref(ioc);
}

/*
 * All or nothing.
 */

static void test_all_with_short_calls(void)
{
    QIOFaultPlan plan = QIO_FAULT_PLAN_NONE;
    QIOChannelBuffer *b = qio_channel_buffer_new(0);
    QIOChannel *fault;
    char in[10000], out[10000];
    struct iovec iov[4] = {
        { out, 1 }, { NULL, 0 }, { out + 1, 5000 }, { out + 5001, 4999 }
    };

    plan.rd.random_chunk = plan.wr.random_chunk = true;
    plan.rd.max_chunk = plan.wr.max_chunk = 700;
    plan.rd.block_every = plan.wr.block_every = 3;
    fault = qio_channel_fault_new(QIO_CHANNEL(b), &plan);
    qio_channel_set_blocking(fault, false, &error_abort);
    for (size_t i = 0; i < sizeof(in); i++) {
        in[i] = i * 31 / 7;
    }
    g_assert_true(qio_channel_write_all(fault, in, sizeof(in), &error_abort));
    g_assert_cmpmem(b->data, b->usage, in, sizeof(in));
    b->offset = 0;
    g_assert_true(qio_channel_readv_all(fault, iov, 4, &error_abort));
    g_assert_cmpmem(out, sizeof(out), in, sizeof(in));
    g_assert_cmpuint(qio_channel_fault_bytes_read(fault), ==, sizeof(in));
    g_assert_cmpuint(qio_channel_fault_bytes_written(fault), ==, sizeof(in));
    qio_channel_unref(fault);
    qio_channel_unref(QIO_CHANNEL(b));
}

static void test_all_at_the_end(void)
{
    QIOChannelBuffer *b = qio_channel_buffer_new_data("abc", 3);
    QIOChannel *ioc = QIO_CHANNEL(b);
    g_autoptr(Error) err = NULL, err2 = NULL;
    char buf[4];

    g_assert_cmpint(qio_channel_read_all_eof(ioc, buf, 4, &err), ==, -1);
    g_assert_cmpstr(error_get_pretty(err), ==,
                    "The channel 'buffer' ended after 3 of 4 bytes that were "
                    "expected");
    g_assert_cmpint(qio_channel_read_all_eof(ioc, buf, 4, &error_abort), ==, 0);
    g_assert_cmpint(qio_channel_read_all_eof(ioc, buf, 0, &error_abort), ==, 1);
    g_assert_false(qio_channel_read_all(ioc, buf, 4, &err2));
    g_assert_nonnull(err2);
    qio_channel_unref(ioc);
}

static void test_missing_hooks_are_errors(void)
{
    QIOChannel *null = qio_channel_null_new();
    g_autoptr(Error) err = NULL, err2 = NULL, err3 = NULL;
    struct iovec iov = { NULL, 0 };
    int fd = 0, *fds;
    size_t nfds;
    char buf[1];

    g_assert_cmpint(qio_channel_pread(null, buf, 1, 0, &err), ==, -1);
    g_assert_nonnull(err);
    g_assert_cmpint(qio_channel_writev_full(null, &iov, 1, &fd, 1, &err2), ==,
                    -1);
    g_assert_nonnull(err2);
    g_assert_cmpint(
        qio_channel_readv_full(null, &iov, 1, &fds, &nfds, 0, &err3), ==, -1);
    g_assert_nonnull(err3);
    g_assert_cmpint(qio_channel_read(null, buf, 1, &error_abort), ==, 0);
    g_assert_true(qio_channel_write_all(null, "x", 1, &error_abort));
    qio_channel_unref(null);
}

/*
 * Buffer.
 */

static void test_buffer(void)
{
    QIOChannelBuffer *b = qio_channel_buffer_new(0);
    QIOChannel *ioc = QIO_CHANNEL(b);
    g_autoptr(Error) err = NULL;
    char buf[8];

    b->limit = 6;
    g_assert_true(qio_channel_write_all(ioc, "abcd", 4, &error_abort));
    g_assert_false(qio_channel_write_all(ioc, "efg", 3, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "beyond its limit of 6"));
    g_assert_cmpuint(b->usage, ==, 4);
    g_assert_true(qio_channel_pwrite_all(ioc, "Z", 1, 5, &error_abort));
    g_assert_cmpmem(b->data, b->usage, "abcd\0Z", 6);
    g_assert_cmpint(qio_channel_io_seek(ioc, 1, SEEK_SET, &error_abort), ==, 1);
    g_assert_cmpint(qio_channel_io_seek(ioc, 7, SEEK_SET, NULL), ==, -1);
    g_assert_cmpint(qio_channel_read(ioc, buf, 8, &error_abort), ==, 5);
    g_assert_cmpmem(buf, 5, "bcd\0Z", 5);
    g_assert_cmpint(qio_channel_pread(ioc, buf, 8, 9, &error_abort), ==, 0);
    qio_channel_unref(ioc);
}

/*
 * File.
 */

static void test_file(void)
{
    g_autofree char *dir = tmp_dir(), *path = g_build_filename(dir, "f", NULL);
    g_autoptr(Error) err = NULL;
    QIOChannelFile *fioc;
    QIOChannel *ioc;
    int os_errno = 0;
    char buf[8];

    g_assert_null(
        qio_channel_file_new_path(path, O_RDONLY, 0, &os_errno, &err));
    g_assert_cmpint(os_errno, ==, ENOENT);
    g_assert_nonnull(strstr(error_get_pretty(err), path));
    fioc = qio_channel_file_new_path(path, O_RDWR | O_CREAT, 0600, NULL,
                                     &error_abort);
    ioc = QIO_CHANNEL(fioc);
    g_assert_true(qio_channel_has_feature(ioc, QIO_CHANNEL_FEATURE_SEEKABLE));
    g_assert_true(qio_channel_write_all(ioc, "0123456789", 10, &error_abort));
    g_assert_true(qio_channel_pwrite_all(ioc, "AB", 2, 2, &error_abort));
    g_assert_cmpint(qio_channel_io_seek(ioc, 0, SEEK_CUR, &error_abort), ==,
                    10);
    g_assert_true(qio_channel_pread_all(ioc, buf, 4, 1, &error_abort));
    g_assert_cmpmem(buf, 4, "1AB4", 4);
    g_assert_false(qio_channel_pread_all(ioc, buf, 4, 8, NULL));
    g_assert_true(qio_channel_file_truncate(fioc, 3, &error_abort));
    g_assert_cmpint(qio_channel_io_seek(ioc, 0, SEEK_END, &error_abort), ==, 3);
    g_assert_true(qio_channel_close(ioc, &error_abort));
    g_assert_true(qio_channel_close(ioc, &error_abort));
    qio_channel_unref(ioc);
    unlink(path);
    rmdir(dir);
}

static void test_file_restores_the_mode(void)
{
    int fds[2];
    QIOChannel *rd;
    int dup_fd;

    g_assert_cmpint(pipe(fds), ==, 0);
    dup_fd = dup(fds[0]);
    rd = QIO_CHANNEL(qio_channel_file_new_fd(fds[0]));
    g_assert_true(fcntl(dup_fd, F_GETFL) & O_NONBLOCK);
    qio_channel_unref(rd);
    g_assert_false(fcntl(dup_fd, F_GETFL) & O_NONBLOCK);
    close(dup_fd);
    close(fds[1]);
}

static void test_file_no_sigpipe(void)
{
    QIOChannel *wr;
    int fds[2];

    g_assert_cmpint(pipe(fds), ==, 0);
    wr = QIO_CHANNEL(qio_channel_file_new_fd(fds[1]));
    close(fds[0]);
    g_assert_cmpint(qio_channel_write(wr, "x", 1, NULL), ==, -1);
    qio_channel_unref(wr);
}

static void test_file_fdset(void)
{
    g_autofree char *dir = tmp_dir(), *path = g_build_filename(dir, "f", NULL);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    QIOChannel *ioc;

    g_assert_true(fdset_add_fd(fd, 3, NULL, NULL, &error_abort));
    ioc = QIO_CHANNEL(qio_channel_file_new_path("/dev/fdset/3", O_WRONLY, 0,
                                                NULL, &error_abort));
    g_assert_null(
        qio_channel_file_new_path("/dev/fdset/3", O_RDONLY, 0, NULL, NULL));
    g_assert_true(qio_channel_write_all(ioc, "x", 1, &error_abort));
    qio_channel_unref(ioc);
    g_assert_true(fdset_remove_fd(3, -1, &error_abort));
    unlink(path);
    rmdir(dir);
}

/*
 * Command.
 */

static void test_command_both_ways(void)
{
    const char *const argv[] = { "/bin/cat", NULL };
    QIOChannelCommand *cioc = qio_channel_command_new_spawn(argv, O_RDWR,
                                                            &error_abort);
    QIOChannel *ioc = QIO_CHANNEL(cioc);
    pid_t pid = qio_channel_command_get_pid(cioc);
    char buf[5];

    g_assert_true(qio_channel_has_feature(ioc, QIO_CHANNEL_FEATURE_DUPLEX));
    g_assert_true(qio_channel_write_all(ioc, "hello", 5, &error_abort));
    g_assert_true(qio_channel_read_all(ioc, buf, 5, &error_abort));
    g_assert_cmpmem(buf, 5, "hello", 5);
    g_assert_true(qio_channel_close(ioc, &error_abort));
    g_assert_cmpint(waitpid(pid, NULL, WNOHANG), ==, -1);
    qio_channel_unref(ioc);
}

static void test_command_writes_everything_before_close_returns(void)
{
    g_autofree char *dir = tmp_dir(), *path = g_build_filename(dir, "f", NULL);
    g_autofree char *cmd = g_strdup_printf("sleep 0.2; cat > %s", path);
    const char *const argv[] = { "/bin/sh", "-c", cmd, NULL };
    QIOChannel *ioc = QIO_CHANNEL(
        qio_channel_command_new_spawn(argv, O_WRONLY, &error_abort));
    g_autofree char *text = NULL;
    char buf[1];

    g_assert_true(qio_channel_write_all(ioc, "data", 4, &error_abort));
    g_assert_cmpint(qio_channel_read(ioc, buf, 1, NULL), ==, -1);
    g_assert_true(qio_channel_close(ioc, &error_abort));
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "data");
    qio_channel_unref(ioc);
    unlink(path);
    rmdir(dir);
}

static void test_command_failures(void)
{
    const char *const none[] = { "/nonexistent/prog", NULL };
    const char *const fails[] = { "/bin/sh", "-c", "exit 3", NULL };
    const char *const hangs[] = { "/bin/sh", "-c", "exec sleep 1000", NULL };
    g_autoptr(Error) err = NULL, err2 = NULL, err3 = NULL;
    QIOChannelCommand *cioc;
    unsigned fds = open_fds();
    char buf[1];

    g_assert_null(qio_channel_command_new_spawn(none, O_RDWR, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "/nonexistent/prog"));
    cioc = qio_channel_command_new_spawn(fails, O_RDWR, &error_abort);
    g_assert_cmpint(qio_channel_read(QIO_CHANNEL(cioc), buf, 1, &error_abort),
                    ==, 0);
    g_assert_false(qio_channel_close(QIO_CHANNEL(cioc), &err2));
    g_assert_nonnull(strstr(error_get_pretty(err2), "exit code 3"));
    qio_channel_unref(QIO_CHANNEL(cioc));
    cioc = qio_channel_command_new_spawn(hangs, O_RDONLY, &error_abort);
    qio_channel_command_set_patience_ms(cioc, 10);
    g_assert_false(qio_channel_close(QIO_CHANNEL(cioc), &err3));
    g_assert_nonnull(strstr(error_get_pretty(err3), "signal"));
    qio_channel_unref(QIO_CHANNEL(cioc));
    g_assert_cmpuint(open_fds(), ==, fds);
}

/* Dropped without close: nobody waits, and no zombie stays. */
static void test_command_dropped(void)
{
    const char *const argv[] = { "/bin/sleep", "1000", NULL };
    QIOChannelCommand *cioc = qio_channel_command_new_spawn(argv, O_RDWR,
                                                            &error_abort);
    pid_t pid = qio_channel_command_get_pid(cioc);

    qio_channel_shutdown(QIO_CHANNEL(cioc), QIO_CHANNEL_SHUTDOWN_BOTH, NULL);
    qio_channel_unref(QIO_CHANNEL(cioc));
    for (int i = 0; i < 500 && kill(pid, 0) == 0; i++) {
        g_usleep(10 * 1000);
    }
    g_assert_cmpint(kill(pid, 0), ==, -1);
}

/* The child has our stderr, but no other descriptor and no blocked signal. */
static void test_command_inherits_nothing(void)
{
    const char *const argv[] = {
        "/bin/sh", "-c", "ls /proc/self/fd; grep SigBlk /proc/self/status", NULL
    };
    int extra = open("/dev/null", O_RDONLY); /* not close-on-exec */
    QIOChannel *ioc = QIO_CHANNEL(
        qio_channel_command_new_spawn(argv, O_RDONLY, &error_abort));
    GString *out = g_string_new(NULL);
    char buf[64];
    ssize_t n;

    while ((n = qio_channel_read(ioc, buf, sizeof(buf), &error_abort)) > 0) {
        g_string_append_len(out, buf, n);
    }
    g_assert_cmpstr(out->str, ==, "0\n1\n2\n3\nSigBlk:\t0000000000000000\n");
    g_assert_true(qio_channel_close(ioc, &error_abort));
    qio_channel_unref(ioc);
    g_string_free(out, true);
    close(extra);
}

/*
 * Fault.
 */

static void test_fault_positions(void)
{
    QIOFaultPlan plan;
    QIOChannelBuffer *b = qio_channel_buffer_new_data("0123456789", 10);
    g_autoptr(Error) err = NULL, err2 = NULL;
    QIOChannel *ioc;
    char buf[10];

    g_assert_true(
        qio_fault_plan_parse("rd.cut=7,rd.chunk=4", &plan, &error_abort));
    ioc = qio_channel_fault_new(QIO_CHANNEL(b), &plan);
    g_assert_cmpint(qio_channel_read(ioc, buf, 10, &error_abort), ==, 4);
    g_assert_cmpint(qio_channel_read(ioc, buf, 10, &error_abort), ==, 3);
    g_assert_cmpint(qio_channel_read(ioc, buf, 10, &error_abort), ==, 0);
    qio_channel_unref(ioc);

    g_assert_true(
        qio_fault_plan_parse("rd.error=1,wr.cut=0", &plan, &error_abort));
    ioc = qio_channel_fault_new(QIO_CHANNEL(b), &plan);
    g_assert_cmpint(qio_channel_read(ioc, buf, 10, &error_abort), ==, 1);
    g_assert_cmpint(qio_channel_read(ioc, buf, 10, &err), ==, -1);
    g_assert_nonnull(strstr(error_get_pretty(err), "failure at byte 1"));
    g_assert_cmpint(qio_channel_write(ioc, "x", 1, &err2), ==, -1);
    g_assert_nonnull(strstr(error_get_pretty(err2), "cut at byte 0"));
    qio_channel_unref(ioc);

    g_assert_true(qio_fault_plan_parse("rd.stall=0,rd.delay=100,seed=4", &plan,
                                       &error_abort));
    ioc = qio_channel_fault_new(QIO_CHANNEL(b), &plan);
    check_read_woken(ioc);
    qio_channel_unref(ioc);
    qio_channel_unref(QIO_CHANNEL(b));

    g_assert_false(qio_fault_plan_parse("rd.cut=x", &plan, NULL));
    g_assert_false(qio_fault_plan_parse("rd.foo=1", &plan, NULL));
    g_assert_false(qio_fault_plan_parse("rd.cut", &plan, NULL));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/io-channel/wake/pipe", test_wake_pipe);
    g_test_add_func("/io-channel/wake/fifo", test_wake_fifo);
    g_test_add_func("/io-channel/wake/one-direction", test_wake_one_direction);
    g_test_add_func("/io-channel/all/with-short-calls",
                    test_all_with_short_calls);
    g_test_add_func("/io-channel/all/at-the-end", test_all_at_the_end);
    g_test_add_func("/io-channel/missing-hooks-are-errors",
                    test_missing_hooks_are_errors);
    g_test_add_func("/io-channel/buffer", test_buffer);
    g_test_add_func("/io-channel/file/read-write-seek", test_file);
    g_test_add_func("/io-channel/file/restores-the-mode",
                    test_file_restores_the_mode);
    g_test_add_func("/io-channel/file/no-sigpipe", test_file_no_sigpipe);
    g_test_add_func("/io-channel/file/fdset", test_file_fdset);
    g_test_add_func("/io-channel/command/both-ways", test_command_both_ways);
    g_test_add_func("/io-channel/command/writes-everything",
                    test_command_writes_everything_before_close_returns);
    g_test_add_func("/io-channel/command/failures", test_command_failures);
    g_test_add_func("/io-channel/command/dropped", test_command_dropped);
    g_test_add_func("/io-channel/command/inherits-nothing",
                    test_command_inherits_nothing);
    g_test_add_func("/io-channel/fault/positions", test_fault_positions);
    return g_test_run();
}
