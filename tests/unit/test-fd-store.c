/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of include/qemu/fd-store.h, one per promise. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/fd-store.h"

static int null_fd(int flags)
{
    int fd = open("/dev/null", flags | O_CLOEXEC);

    g_assert_cmpint(fd, >=, 0);
    return fd;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void test_named_taken_once(void)
{
    g_autoptr(Error) err = NULL;
    int fd = null_fd(O_RDONLY);

    g_assert_true(fd_store_put("mig", fd, &error_abort));
    g_assert_cmpint(fd_store_take("mig", &error_abort), ==, fd);
    g_assert_cmpint(fd_store_take("mig", NULL), ==, -1);
    g_assert_false(fd_store_close("mig", &err));
    g_assert_cmpstr(error_get_pretty(err), ==,
                    "File descriptor named 'mig' not found");
    close(fd);
}

static void test_named_replaced(void)
{
    int a = null_fd(O_RDONLY), b = null_fd(O_RDONLY);

    g_assert_true(fd_store_put("x", a, &error_abort));
    g_assert_true(fd_store_put("x", b, &error_abort));
    g_assert_false(is_open(a));
    g_assert_true(fd_store_close("x", &error_abort));
    g_assert_false(is_open(b));
}

static void test_named_digit_refused(void)
{
    Error *err = NULL;
    int fd = null_fd(O_RDONLY);

    g_assert_false(fd_store_put("7up", fd, &err));
    error_free_or_abort(&err);
    g_assert_false(is_open(fd));
}

static void test_param(void)
{
    g_autofree char *number = NULL;
    Error *err = NULL;
    int fd = null_fd(O_RDONLY);

    number = g_strdup_printf("%d", fd);
    g_assert_cmpint(fd_store_param(number, &error_abort), ==, fd);
    close(fd);
    g_assert_cmpint(fd_store_param(number, &err), ==, -1);
    error_free_or_abort(&err);
    g_assert_cmpint(fd_store_param("5x", &err), ==, -1);
    error_free_or_abort(&err);
}

static void count_fd(void *opaque, int64_t id, int fd, const char *words)
{
    int *n = opaque;

    g_assert_cmpint(id, ==, 0);
    *n += fd >= 0 ? 1 : 100;
}

static void test_set_by_access_mode(void)
{
    int64_t id = -7;
    int r = null_fd(O_RDONLY), w = null_fd(O_WRONLY), dup, n = 0;

    g_assert_true(fdset_add_fd(r, -1, "words", &id, &error_abort));
    g_assert_cmpint(id, ==, 0);
    g_assert_true(fdset_add_fd(w, 0, NULL, &id, &error_abort));

    dup = qemu_open("/dev/fdset/0", O_WRONLY, &error_abort);
    g_assert_cmpint(fcntl(dup, F_GETFL) & O_ACCMODE, ==, O_WRONLY);
    errno = 0;
    g_assert_cmpint(qemu_open("/dev/fdset/0", O_RDWR, NULL), ==, -1);
    g_assert_cmpint(errno, ==, EACCES);
    g_assert_cmpint(qemu_open("/dev/fdset/1", O_RDWR, NULL), ==, -1);
    g_assert_cmpint(errno, ==, ENOENT);
    g_assert_cmpint(qemu_open("/dev/fdset/0x", O_RDWR, NULL), ==, -1);
    g_assert_cmpint(errno, ==, EINVAL);

    fdset_foreach(count_fd, &n);
    g_assert_cmpint(n, ==, 2);
    g_assert_true(fdset_remove_fd(0, -1, &error_abort));
    g_assert_false(is_open(r));
    n = 0;
    fdset_foreach(count_fd, &n); /* kept by the duplicate */
    g_assert_cmpint(n, ==, 100);
    g_assert_cmpint(qemu_close(dup), ==, 0);
    n = 0;
    fdset_foreach(count_fd, &n);
    g_assert_cmpint(n, ==, 0);
    g_assert_false(fdset_remove_fd(0, -1, NULL));
}

static void test_set_last_client_leaves(void)
{
    int used = null_fd(O_RDONLY), idle = null_fd(O_RDONLY), dup;

    fdset_client_arrived();
    fdset_client_arrived();
    g_assert_true(fdset_add_fd(used, 3, NULL, NULL, &error_abort));
    g_assert_true(fdset_add_fd(idle, 4, NULL, NULL, &error_abort));
    dup = fdset_dup_fd(3, O_RDONLY, &error_abort);
    fdset_client_left();
    g_assert_true(is_open(idle));
    fdset_client_left();
    g_assert_false(is_open(idle));
    g_assert_true(is_open(used));
    qemu_close(dup);
    g_assert_true(fdset_remove_fd(3, used, &error_abort));
    g_assert_false(is_open(used));
}

static void test_set_wrong_fd(void)
{
    int fd = null_fd(O_RDONLY);
    Error *err = NULL;

    g_assert_true(fdset_add_fd(fd, 9, NULL, NULL, &error_abort));
    g_assert_false(fdset_remove_fd(9, fd + 1000, &err));
    error_free_or_abort(&err);
    g_assert_true(fdset_remove_fd(9, -1, &error_abort));
    g_assert_false(fdset_add_fd(null_fd(O_RDONLY), -5, NULL, NULL, &err));
    error_free_or_abort(&err);
}

static void test_open_plain(void)
{
    Error *err = NULL;
    int fd = qemu_open("/dev/null", O_RDWR, &error_abort);

    g_assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    qemu_close(fd);
    g_assert_cmpint(qemu_open("/nowhere/file", O_RDONLY, &err), ==, -1);
    g_assert_cmpint(errno, ==, ENOENT);
    g_assert_nonnull(strstr(error_get_pretty(err), "/nowhere/file"));
    error_free(err);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/fd-store/named/taken-once", test_named_taken_once);
    g_test_add_func("/fd-store/named/replaced", test_named_replaced);
    g_test_add_func("/fd-store/named/digit-refused", test_named_digit_refused);
    g_test_add_func("/fd-store/param", test_param);
    g_test_add_func("/fd-store/set/by-access-mode", test_set_by_access_mode);
    g_test_add_func("/fd-store/set/last-client", test_set_last_client_leaves);
    g_test_add_func("/fd-store/set/wrong-fd", test_set_wrong_fd);
    g_test_add_func("/fd-store/open/plain", test_open_plain);
    return g_test_run();
}
