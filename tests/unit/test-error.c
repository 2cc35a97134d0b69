/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of include/qemu/error.h, one per promise. */
#include "qemu/osdep.h"

#include "qemu/error.h"

static bool fails(Error **errp)
{
    error_setg(errp, "value %d is out of range", 7);
    return false;
}

static bool fails_with_context(Error **errp)
{
    ERRP_GUARD();
    if (!fails(errp)) {
        error_prepend(errp, "device '%s': ", "d0");
        error_append_hint(errp, "Try 1 to 6.\n");
        return false;
    }
    return true;
}

static void test_set_and_prepend(void)
{
    Error *err = NULL;

    g_assert_false(fails_with_context(&err));
    g_assert_cmpstr(error_get_pretty(err), ==,
                    "device 'd0': value 7 is out of range");
    g_assert_cmpstr(error_get_hint(err), ==, "Try 1 to 6.\n");
    g_assert_cmpint(error_get_class(err), ==, ERROR_CLASS_GENERIC_ERROR);
    error_free(err);
}

static void test_null_is_ignored(void)
{
    g_assert_false(fails(NULL));
    g_assert_false(fails_with_context(NULL));
}

static void test_errno_text(void)
{
    g_autoptr(Error) err = NULL;

    errno = EBUSY;
    error_setg_errno(&err, ENOENT, "open");
    g_assert_cmpint(errno, ==, EBUSY);
    g_assert_cmpstr(error_get_pretty(err), ==,
                    "open: No such file or directory");
}

static void test_first_error_wins(void)
{
    g_autoptr(Error) first = NULL;
    Error *second = NULL;

    error_setg(&first, "first");
    error_setg(&second, "second");
    error_propagate(&first, second);
    g_assert_cmpstr(error_get_pretty(first), ==, "first");
}

static void test_class(void)
{
    g_autoptr(Error) err = NULL;

    error_set(&err, ERROR_CLASS_COMMAND_NOT_FOUND, "no");
    g_assert_cmpstr(error_class_str(error_get_class(err)), ==,
                    "CommandNotFound");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/error/set-and-prepend", test_set_and_prepend);
    g_test_add_func("/error/null-is-ignored", test_null_is_ignored);
    g_test_add_func("/error/errno-text", test_errno_text);
    g_test_add_func("/error/first-wins", test_first_error_wins);
    g_test_add_func("/error/class", test_class);
    return g_test_run();
}
