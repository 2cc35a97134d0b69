/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of include/vmstate/qemu-file.h. */
#include "qemu/osdep.h"

#include "io/channel-buffer.h"
#include "io/channel-command.h"
#include "io/channel-fault.h"
#include "io/channel-file.h"
#include "qemu/thread.h"
#include "vmstate/qemu-file.h"

#define PAGE 4096

static QEMUFile *input_of(const void *data, size_t len)
{
    QIOChannelBuffer *b = qio_channel_buffer_new_data(data, len);
    QEMUFile *f = qemu_file_new_input(QIO_CHANNEL(b));

    qio_channel_unref(QIO_CHANNEL(b));
    return f;
}

/* The same bytes in pieces of 1..@chunk, by chance. */
static QEMUFile *slow_input_of(const void *data, size_t len, size_t chunk)
{
    QIOFaultPlan plan = QIO_FAULT_PLAN_NONE;
    QIOChannelBuffer *b = qio_channel_buffer_new_data(data, len);
    QIOChannel *fault;
    QEMUFile *f;

    plan.rd.max_chunk = chunk;
    plan.rd.random_chunk = true;
    plan.seed = g_test_rand_int();
    fault = qio_channel_fault_new(QIO_CHANNEL(b), &plan);
    f = qemu_file_new_input(fault);
    qio_channel_unref(fault);
    qio_channel_unref(QIO_CHANNEL(b));
    return f;
}

static uint8_t *pattern(size_t len)
{
    uint8_t *p = g_malloc(len);

    for (size_t i = 0; i < len; i++) {
        p[i] = (i * 7 + (i >> 8) * 13 + (i >> 16)) & 0xff;
    }
    return p;
}

static void test_integers(void)
{
    static const uint8_t want[] = { 0xfe, 0x12, 0x34, 0x81, 0x82, 0x83, 0x84,
                                    1,    2,    3,    4,    5,    6,    7,
                                    8,    3,    'a',  'b',  'c',  0 };
    QIOChannelBuffer *b = qio_channel_buffer_new(0);
    QEMUFile *f = qemu_file_new_output(QIO_CHANNEL(b));
    char str[256];

    qemu_put_sbyte(f, -2);
    qemu_put_be16(f, 0x1234);
    qemu_put_be32(f, 0x81828384);
    qemu_put_be64(f, 0x0102030405060708);
    qemu_put_counted_string(f, "abc");
    qemu_put_counted_string(f, "");
    g_assert_cmpuint(b->usage, ==, 0);
    g_assert_cmpuint(qemu_file_pending(f), ==, sizeof(want));
    g_assert_cmpuint(qemu_file_position(f), ==, sizeof(want));
    g_assert_true(qemu_fclose(f, &error_abort));
    g_assert_cmpmem(b->data, b->usage, want, sizeof(want));

    b->offset = 0;
    f = qemu_file_new_input(QIO_CHANNEL(b));
    g_assert_cmpint(qemu_get_sbyte(f), ==, -2);
    g_assert_cmphex(qemu_get_be16(f), ==, 0x1234);
    g_assert_cmphex(qemu_get_be32(f), ==, 0x81828384);
    g_assert_cmphex(qemu_get_be64(f), ==, 0x0102030405060708);
    g_assert_true(qemu_get_counted_string(f, str));
    g_assert_cmpstr(str, ==, "abc");
    g_assert_true(qemu_get_counted_string(f, str));
    g_assert_cmpstr(str, ==, "");
    g_assert_cmpuint(qemu_file_position(f), ==, sizeof(want));
    g_assert_true(qemu_file_at_end(f));
    g_assert_true(qemu_file_check(f, &error_abort));
    g_assert_true(qemu_fclose(f, &error_abort));
    qio_channel_unref(QIO_CHANNEL(b));
}

static void test_end_is_an_error_with_its_offset(void)
{
    QEMUFile *f = input_of("abcde", 5);
    g_autoptr(Error) err = NULL, err2 = NULL;

    qemu_file_skip(f, 3);
    g_assert_cmphex(qemu_get_be32(f), ==, 0);
    g_assert_cmpint(qemu_file_get_error_obj(f, &err), ==, -EIO);
    g_assert_cmpstr(error_get_pretty(err), ==,
                    "The migration stream ended at offset 5, where 2 more "
                    "bytes were expected");
    g_assert_cmpint(qemu_get_byte(f), ==, 0);
    g_assert_cmpint(qemu_peek_byte(f, 0), ==, -1);
    g_assert_false(qemu_file_at_end(f));
    qemu_file_set_error(f, -EPERM);
    g_assert_cmpint(qemu_file_get_error(f), ==, -EIO);
    g_assert_false(qemu_fclose(f, &err2));
    g_assert_cmpstr(error_get_pretty(err2), ==, error_get_pretty(err));
}

static void test_names_are_checked(void)
{
    static const uint8_t zero[] = { 3, 'a', 0, 'b' };
    static const uint8_t control[] = { 3, 'a', 'b', 0x1b };
    static const uint8_t shorter[] = { 200, 'a', 'b' };
    g_autofree char *longname = g_strnfill(256, 'n');
    g_autoptr(Error) err = NULL;
    char str[256];
    QEMUFile *f = input_of(zero, sizeof(zero));
    QIOChannel *null = qio_channel_null_new();

    g_assert_false(qemu_get_counted_string(f, str));
    g_assert_cmpstr(str, ==, "");
    g_assert_false(qemu_file_check(f, &err));
    g_assert_cmpstr(error_get_pretty(err), ==,
                    "The name at offset 0 of the migration stream, 3 bytes, "
                    "contains 0x00, expected printable characters");
    qemu_fclose(f, NULL);
    f = input_of(control, sizeof(control));
    g_assert_false(qemu_get_counted_string(f, str));
    qemu_fclose(f, NULL);
    f = input_of(shorter, sizeof(shorter));
    g_assert_false(qemu_get_counted_string(f, str));
    g_assert_cmpstr(str, ==, "");
    qemu_fclose(f, NULL);
    f = qemu_file_new_output(null);
    qemu_put_counted_string(f, longname);
    g_assert_cmpint(qemu_file_get_error(f), ==, -EINVAL);
    qemu_fclose(f, NULL);
    qio_channel_unref(null);
}

/* Everything that reads, on a stream larger than the buffer, short reads. */
static void read_mixed(QEMUFile *f, const uint8_t *data, size_t len)
{
    g_autofree uint8_t *dst = g_malloc(len);
    GRand *rand = g_rand_new_with_seed(g_test_rand_int());
    size_t pos = 0;

    while (pos < len) {
        size_t n = g_rand_int_range(rand, 0, 20) == 0
                       ? g_rand_int_range(rand, 1, 400000)
                       : g_rand_int_range(rand, 1, 9000);
        const uint8_t *p;
        uint8_t *q = dst;

        n = MIN(n, len - pos);
        g_assert_cmpuint(qemu_file_position(f), ==, pos);
        switch (g_rand_int_range(rand, 0, 5)) {
        case 0:
            g_assert_cmpuint(qemu_get_buffer(f, dst, n), ==, n);
            g_assert_cmpmem(dst, n, data + pos, n);
            break;
        case 1:
            g_assert_cmpuint(qemu_get_buffer_in_place(f, &q, n), ==, n);
            g_assert_cmpmem(q, n, data + pos, n);
            break;
        case 2:
            qemu_file_skip(f, n);
            break;
        case 3:
            n = 1;
            g_assert_cmpint(qemu_get_byte(f), ==, data[pos]);
            break;
        default:
            n = MIN(n, (size_t)QEMU_FILE_BUFFER_BYTES);
            g_assert_cmpuint(qemu_peek_buffer(f, &p, n - n / 2, n / 2), ==,
                             n - n / 2);
            g_assert_cmpmem(p, n - n / 2, data + pos + n / 2, n - n / 2);
            n = 0;
        }
        pos += n;
    }
    g_assert_true(qemu_file_at_end(f));
    g_rand_free(rand);
}

static void test_mixed_reads(void)
{
    size_t len = 3 * QEMU_FILE_BUFFER_BYTES + 12345;
    g_autofree uint8_t *data = pattern(len);

    for (int i = 0; i < 4; i++) {
        QEMUFile *f = i & 1 ? slow_input_of(data, len, 5000)
                            : input_of(data, len);

        read_mixed(f, data, len);
        g_assert_true(qemu_fclose(f, &error_abort));
    }
}

static void test_peek_beyond_the_end(void)
{
    QEMUFile *f = slow_input_of("abc", 3, 1);
    const uint8_t *p;

    g_assert_cmpuint(qemu_peek_buffer(f, &p, 10, 1), ==, 2);
    g_assert_cmpmem(p, 2, "bc", 2);
    g_assert_cmpuint(qemu_peek_buffer(f, &p, 10, 3), ==, 0);
    g_assert_cmpuint(qemu_peek_buffer(f, &p, 10, 7), ==, 0);
    g_assert_cmpint(qemu_peek_byte(f, 2), ==, 'c');
    g_assert_cmpint(qemu_file_get_error(f), ==, 0);
    g_assert_cmpuint(qemu_file_position(f), ==, 0);
    qemu_fclose(f, NULL);
}

/* Records of a header and a page by reference, as RAM is sent. */
static void put_pages(QEMUFile *f, uint8_t *mem, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        qemu_put_be64(f, i);
        qemu_put_buffer_async(f, mem + i * PAGE, PAGE);
    }
}

static void check_pages(const uint8_t *stream, size_t len, const uint8_t *mem,
                        unsigned n)
{
    g_assert_cmpuint(len, ==, (size_t)n * (8 + PAGE));
    for (unsigned i = 0; i < n; i++) {
        const uint8_t *rec = stream + (size_t)i * (8 + PAGE);
        uint64_t be;

        memcpy(&be, rec, 8);
        g_assert_cmpuint(GUINT64_FROM_BE(be), ==, i);
        g_assert_cmpmem(rec + 8, PAGE, mem + i * PAGE, PAGE);
    }
}

static void test_pages_by_reference(void)
{
    unsigned n = 1000;
    g_autofree uint8_t *mem = pattern(n * PAGE);
    QIOFaultPlan plan = QIO_FAULT_PLAN_NONE;

    for (int faulty = 0; faulty < 2; faulty++) {
        QIOChannelBuffer *b = qio_channel_buffer_new(0);
        QIOChannel *fault;
        QEMUFile *f;

        plan.wr.random_chunk = faulty;
        plan.wr.max_chunk = faulty ? 100000 : 0;
        fault = qio_channel_fault_new(QIO_CHANNEL(b), &plan);
        f = qemu_file_new_output(fault);
        put_pages(f, mem, n);
        g_assert_cmpuint(qemu_file_transferred(f), ==, n * (PAGE + 8));
        g_assert_true(qemu_fflush(f, &error_abort));
        g_assert_cmpuint(qemu_file_pending(f), ==, 0);
        check_pages(b->data, b->usage, mem, n);
        qemu_fclose(f, NULL);
        qio_channel_unref(fault);
        qio_channel_unref(QIO_CHANNEL(b));
    }
}

static void test_references_are_read_at_the_flush(void)
{
    QIOChannelBuffer *b = qio_channel_buffer_new(0);
    QEMUFile *f = qemu_file_new_output(QIO_CHANNEL(b));
    uint8_t kept[4] = "abc", copied[4] = "xyz";

    qemu_put_buffer_async(f, kept, 3);
    qemu_put_buffer(f, copied, 3);
    memcpy(kept, "ABC", 3);
    memcpy(copied, "XYZ", 3);
    qemu_fflush(f, &error_abort);
    g_assert_cmpmem(b->data, b->usage, "ABCxyz", 6);
    qemu_fclose(f, NULL);
    qio_channel_unref(QIO_CHANNEL(b));
}

static void test_large_put_is_not_kept(void)
{
    size_t len = 2 * QEMU_FILE_BUFFER_BYTES + 3;
    g_autofree uint8_t *data = pattern(len), *copy = g_memdup2(data, len);
    QIOChannelBuffer *b = qio_channel_buffer_new(0);
    QEMUFile *f = qemu_file_new_output(QIO_CHANNEL(b));

    qemu_put_byte(f, 1);
    qemu_put_buffer(f, copy, len);
    memset(copy, 0, len);
    qemu_put_byte(f, 2);
    qemu_fflush(f, &error_abort);
    g_assert_cmpuint(b->usage, ==, len + 2);
    g_assert_cmpmem(b->data + 1, len, data, len);
    g_assert_cmpint(b->data[len + 1], ==, 2);
    qemu_fclose(f, NULL);
    qio_channel_unref(QIO_CHANNEL(b));
}

static void test_write_error_sticks(void)
{
    QIOFaultPlan plan = QIO_FAULT_PLAN_NONE;
    QIOChannelBuffer *b = qio_channel_buffer_new(0);
    QIOChannel *fault;
    g_autofree uint8_t *mem = pattern(100 * PAGE);
    g_autoptr(Error) err = NULL;
    QEMUFile *f;

    plan.wr.cut_at = 10000;
    fault = qio_channel_fault_new(QIO_CHANNEL(b), &plan);
    f = qemu_file_new_output(fault);
    put_pages(f, mem, 100);
    g_assert_false(qemu_fflush(f, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "cut at byte 10000"));
    g_assert_cmpuint(b->usage, ==, 10000);
    put_pages(f, mem, 100);
    g_assert_false(qemu_fflush(f, NULL));
    g_assert_cmpuint(b->usage, ==, 10000);
    g_assert_false(qemu_fclose(f, NULL));
    qio_channel_unref(fault);
    qio_channel_unref(QIO_CHANNEL(b));
}

static void test_positions_in_a_file(void)
{
    g_autofree char *path = NULL;
    int fd = g_file_open_tmp("qemu-file-XXXXXX", &path, NULL);
    QIOChannel *ioc = QIO_CHANNEL(qio_channel_file_new_fd(fd));
    QEMUFile *f = qemu_file_new_output(ioc);
    uint8_t buf[4];

    g_assert_null(qemu_file_get_return_path(f));
    qemu_put_be32(f, 1);
    g_assert_cmpint(qemu_get_offset(f, &error_abort), ==, 4);
    g_assert_true(qemu_put_buffer_at(f, "at64", 4, 64, &error_abort));
    g_assert_true(qemu_set_offset(f, 16, &error_abort));
    qemu_put_be32(f, 2);
    g_assert_true(qemu_fclose(f, &error_abort));

    g_assert_cmpint(qio_channel_io_seek(ioc, 0, SEEK_SET, &error_abort), ==, 0);
    f = qemu_file_new_input(ioc);
    g_assert_cmpuint(qemu_get_be32(f), ==, 1);
    g_assert_cmpint(qemu_get_offset(f, &error_abort), ==, 4);
    g_assert_true(qemu_get_buffer_at(f, buf, 4, 64, &error_abort));
    g_assert_cmpmem(buf, 4, "at64", 4);
    g_assert_true(qemu_set_offset(f, 16, &error_abort));
    g_assert_cmpuint(qemu_get_be32(f), ==, 2);
    g_assert_cmpuint(qemu_file_position(f), ==, 8);
    g_assert_false(qemu_get_buffer_at(f, buf, 4, 66, NULL));
    qemu_fclose(f, NULL);
    qio_channel_unref(ioc);
    unlink(path);
}

static void *shutdown_soon(void *opaque)
{
    g_usleep(20 * 1000);
    qemu_file_shutdown(opaque);
    return NULL;
}

static void test_shutdown_wakes_the_reader(void)
{
    const char *const argv[] = { "/bin/sleep", "1000", NULL };
    QIOChannelCommand *cmd = qio_channel_command_new_spawn(argv, O_RDWR,
                                                           &error_abort);
    QEMUFile *f = qemu_file_new_input(QIO_CHANNEL(cmd));
    QEMUFile *back = qemu_file_get_return_path(f);
    g_autofree uint8_t *mem = pattern(300 * PAGE);
    g_autoptr(Error) err = NULL;
    QemuThread thread;

    g_assert_nonnull(back);
    g_assert_true(qemu_file_is_writable(back));
    qemu_thread_create(&thread, "shutdown", shutdown_soon, f,
                       QEMU_THREAD_JOINABLE, &error_abort);
    g_assert_cmpuint(qemu_get_be64(f), ==, 0);
    g_assert_cmpint(qemu_file_get_error_obj(f, &err), ==, -ECANCELED);
    g_assert_cmpstr(error_get_pretty(err), ==,
                    "The migration stream was shut down");
    qemu_thread_join(&thread);
    /* The other direction cannot get stuck any more either. */
    qemu_put_buffer(back, mem, 300 * PAGE);
    g_assert_cmpint(qemu_file_get_error(back), ==, -EIO);
    qemu_fclose(back, NULL);
    qemu_fclose(f, NULL);
    qio_channel_close(QIO_CHANNEL(cmd), NULL);
    qio_channel_unref(QIO_CHANNEL(cmd));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/qemu-file/integers", test_integers);
    g_test_add_func("/qemu-file/end-is-an-error-with-its-offset",
                    test_end_is_an_error_with_its_offset);
    g_test_add_func("/qemu-file/names-are-checked", test_names_are_checked);
    g_test_add_func("/qemu-file/mixed-reads", test_mixed_reads);
    g_test_add_func("/qemu-file/peek-beyond-the-end", test_peek_beyond_the_end);
    g_test_add_func("/qemu-file/pages-by-reference", test_pages_by_reference);
    g_test_add_func("/qemu-file/references-are-read-at-the-flush",
                    test_references_are_read_at_the_flush);
    g_test_add_func("/qemu-file/large-put-is-not-kept",
                    test_large_put_is_not_kept);
    g_test_add_func("/qemu-file/write-error-sticks", test_write_error_sticks);
    g_test_add_func("/qemu-file/positions-in-a-file", test_positions_in_a_file);
    g_test_add_func("/qemu-file/shutdown-wakes-the-reader",
                    test_shutdown_wakes_the_reader);
    return g_test_run();
}
