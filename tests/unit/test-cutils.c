/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers and text: see include/qemu/cutils.h. */
#include "qemu/osdep.h"

#include "qemu/cutils.h"
#include "qemu/error.h"
#include "qemu/units.h"

static void test_integers(void)
{
    const char *end;
    int64_t i;
    uint64_t u;
    int n;
    unsigned un;

    g_assert_cmpint(qemu_strtoi64("-12", NULL, 0, &i), ==, 0);
    g_assert_cmpint(i, ==, -12);
    g_assert_cmpint(qemu_strtoi64("0x10", NULL, 0, &i), ==, 0);
    g_assert_cmpint(i, ==, 16);
    g_assert_cmpint(qemu_strtoi64("12z", NULL, 0, &i), ==, -EINVAL);
    g_assert_cmpint(qemu_strtoi64("12z", &end, 0, &i), ==, 0);
    g_assert_cmpstr(end, ==, "z");
    g_assert_cmpint(qemu_strtoi64("", NULL, 0, &i), ==, -EINVAL);
    g_assert_cmpint(qemu_strtoi64(NULL, NULL, 0, &i), ==, -EINVAL);
    g_assert_cmpint(qemu_strtoi64("9223372036854775808", NULL, 0, &i), ==,
                    -ERANGE);
    g_assert_cmpint(i, ==, INT64_MAX);

    g_assert_cmpint(qemu_strtou64("18446744073709551615", NULL, 10, &u), ==, 0);
    g_assert_cmpuint(u, ==, UINT64_MAX);
    g_assert_cmpint(qemu_strtou64("18446744073709551616", NULL, 10, &u), ==,
                    -ERANGE);
    g_assert_cmpint(qemu_strtou64(" -1", NULL, 10, &u), ==, -EINVAL);

    g_assert_cmpint(qemu_strtoi("2147483648", NULL, 10, &n), ==, -ERANGE);
    g_assert_cmpint(n, ==, INT_MAX);
    g_assert_cmpint(qemu_strtoui("4294967296", NULL, 10, &un), ==, -ERANGE);
    g_assert_cmpuint(un, ==, UINT_MAX);

    g_assert_cmpint(parse_uint_full("12", 10, &u), ==, 0);
    g_assert_cmpint(parse_uint_full("+12", 10, &u), ==, -EINVAL);
    g_assert_cmpint(parse_uint_full(" 12", 10, &u), ==, -EINVAL);
    g_assert_cmpint(parse_uint_full("0x12", 10, &u), ==, -EINVAL);
    g_assert_cmpint(parse_uint_full("12 ", 10, &u), ==, -EINVAL);
}

typedef struct SizeCase {
    const char *text;
    int ret;
    uint64_t value;
} SizeCase;

static void test_sizes(void)
{
    static const SizeCase cases[] = {
        { "0", 0, 0 },
        { "150M", 0, 150 * MiB },
        { "1.5G", 0, 3 * GiB / 2 },
        { ".5k", 0, 512 },
        { "12345", 0, 12345 },
        { "7B", 0, 7 },
        { "0x1000", 0, 0x1000 },
        { "15E", 0, UINT64_C(15) << 60 },
        { "9007199254740993", 0, UINT64_C(9007199254740993) },
        { "16E", -ERANGE, UINT64_MAX },
        { "18446744073709551616", -ERANGE, UINT64_MAX },
        { "1.5", -EINVAL, 0 },
        { "-1", -EINVAL, 0 },
        { "", -EINVAL, 0 },
        { ".", -EINVAL, 0 },
        { "M", -EINVAL, 0 },
        { "1x", -EINVAL, 0 },
        { "0x10M", -EINVAL, 0 },
        { "1MM", -EINVAL, 0 },
    };
    const char *end;
    uint64_t v;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        g_test_message("'%s'", cases[i].text);
        v = 1;
        g_assert_cmpint(qemu_strtosz(cases[i].text, NULL, &v), ==,
                        cases[i].ret);
        g_assert_cmpuint(v, ==, cases[i].value);
    }
    g_assert_cmpint(qemu_strtosz_MiB("3", NULL, &v), ==, 0);
    g_assert_cmpuint(v, ==, 3 * MiB);
    g_assert_cmpint(qemu_strtosz_MiB("3G,x", &end, &v), ==, 0);
    g_assert_cmpuint(v, ==, 3 * GiB);
    g_assert_cmpstr(end, ==, ",x");
    g_assert_cmpint(qemu_strtosz_metric("3k", NULL, &v), ==, 0);
    g_assert_cmpuint(v, ==, 3000);
}

static void check_size_text(uint64_t bytes, const char *expected)
{
    g_autofree char *s = size_to_str(bytes);

    g_assert_cmpstr(s, ==, expected);
}

static void test_to_text(void)
{
    g_autofree char *f = freq_to_str(62500000);

    check_size_text(0, "0 B");
    check_size_text(1023, "0.999 KiB");
    check_size_text(999, "999 B");
    check_size_text(1024, "1 KiB");
    check_size_text(1536 * KiB, "1.5 MiB");
    check_size_text(UINT64_MAX, "16 EiB");
    g_assert_cmpstr(f, ==, "62.5 MHz");
}

static void test_bool(void)
{
    bool b = false;
    Error *err = NULL;

    g_assert_true(qemu_parse_bool("x", "on", &b, &error_abort));
    g_assert_true(b);
    g_assert_true(qemu_parse_bool("x", "false", &b, &error_abort));
    g_assert_false(b);
    b = true;
    g_assert_false(qemu_parse_bool("x", "maybe", &b, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "x=maybe"));
    g_assert_true(b);
    error_free(err);
}

static void test_strings(void)
{
    char buf[4];
    const char *rest = NULL;

    pstrcpy(buf, sizeof(buf), "abcdef");
    g_assert_cmpstr(buf, ==, "abc");
    pstrcpy(buf, sizeof(buf), "a");
    pstrcat(buf, sizeof(buf), "bcd");
    g_assert_cmpstr(buf, ==, "abc");
    g_assert_true(strstart("tcp:host", "tcp:", &rest));
    g_assert_cmpstr(rest, ==, "host");
    g_assert_false(strstart("tc", "tcp:", &rest));
    g_assert_cmpstr(rest, ==, "host");
}

static void test_uuid(void)
{
    const char *text = "00112233-4455-6677-8899-aabbccddeeff";
    uint8_t uuid[16] = { 0 };
    char out[UUID_STR_LEN];

    g_assert_true(qemu_uuid_is_null(uuid));
    g_assert_true(qemu_uuid_parse(text, uuid));
    for (int i = 0; i < 16; i++) {
        g_assert_cmphex(uuid[i], ==, i * 0x11);
    }
    qemu_uuid_unparse(uuid, out);
    g_assert_cmpstr(out, ==, text);
    g_assert_false(
        qemu_uuid_parse("00112233-4455-6677-8899-aabbccddeef", uuid));
    g_assert_false(
        qemu_uuid_parse("00112233x4455-6677-8899-aabbccddeeff", uuid));
    g_assert_false(
        qemu_uuid_parse("00112233-4455-6677-8899-aabbccddeefg", uuid));
    g_assert_false(
        qemu_uuid_parse("0011223-34455-6677-8899-aabbccddeeff", uuid));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cutils/integers", test_integers);
    g_test_add_func("/cutils/sizes", test_sizes);
    g_test_add_func("/cutils/to-text", test_to_text);
    g_test_add_func("/cutils/bool", test_bool);
    g_test_add_func("/cutils/strings", test_strings);
    g_test_add_func("/cutils/uuid", test_uuid);
    return g_test_run();
}
