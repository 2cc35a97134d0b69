/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Zero page check: the vector code against its scalar twin. */
#include "qemu/osdep.h"

#include "../../migration/ram/zero-page.h"

#define PAGE 4096

static void test_every_byte_counts(void)
{
    static const size_t lengths[] = { 256, 1024, 4096 };
    static uint8_t page[PAGE] QEMU_ALIGNED(PAGE);

    for (size_t l = 0; l < ARRAY_SIZE(lengths); l++) {
        g_assert_true(ram_page_is_zero(page, lengths[l]));
        g_assert_true(ram_page_is_zero_scalar(page, lengths[l]));
        for (size_t i = 0; i < PAGE; i++) {
            page[i] = 1u << (i % 8);
            g_assert_cmpint(ram_page_is_zero(page, lengths[l]), ==,
                            i >= lengths[l]);
            g_assert_cmpint(ram_page_is_zero_scalar(page, lengths[l]), ==,
                            i >= lengths[l]);
            page[i] = 0;
        }
    }
}

static void test_scalar_any_length(void)
{
    uint8_t buf[40] = { 0 };

    for (size_t len = 1; len < sizeof(buf) - 3; len++) {
        buf[len + 3] = 1;
        g_assert_true(ram_page_is_zero_scalar(buf + 3, len));
        g_assert_false(ram_page_is_zero_scalar(buf + 3, len + 1));
        buf[len + 3] = 0;
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/zero-page/every-byte-counts", test_every_byte_counts);
    g_test_add_func("/zero-page/scalar-any-length", test_scalar_any_length);
    return g_test_run();
}
