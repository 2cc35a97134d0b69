/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of migration/ram/ram-load-pages.h, one per promise. */
#include "qemu/osdep.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "io/channel-buffer.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "system/dirty-memory.h"
#include "system/ram-block.h"

#include "../../migration/ram/ram-load-pages.h"

#define PAGE DIRTY_PAGE_SIZE
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

/* A stream of @n records: the page's offset, and its content. */
static QEMUFile *stream(const uint64_t *offsets, unsigned n, uint8_t *model)
{
    QIOChannelBuffer *bioc = qio_channel_buffer_new(n * (PAGE + 8));
    QEMUFile *f = qemu_file_new_output(QIO_CHANNEL(bioc));

    for (unsigned i = 0; i < n; i++) {
        uint64_t words[PAGE / 8];

        for (unsigned w = 0; w < PAGE / 8; w++) {
            words[w] = (uint64_t)i << 32 | (uint32_t)g_test_rand_int();
        }
        qemu_put_be64(f, offsets[i]);
        qemu_put_buffer(f, (uint8_t *)words, PAGE);
        memcpy(model + offsets[i], words, PAGE);
    }
    qemu_fclose(f, &error_abort);
    qio_channel_io_seek(QIO_CHANNEL(bioc), 0, SEEK_SET, &error_abort);
    f = qemu_file_new_input(QIO_CHANNEL(bioc));
    qio_channel_unref(QIO_CHANNEL(bioc));
    return f;
}

static bool load(QEMUFile *f, RAMBlock *rb, unsigned n, Error **errp)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t offset;

        if (!ram_pages_before_read(f, 8, errp)) {
            return false;
        }
        offset = qemu_get_be64(f);
        if (!ram_pages_take(f, rb, offset, PAGE, errp)) {
            return false;
        }
    }
    return ram_pages_settle(errp);
}

static RAMBlock *shared_block(uint64_t pages, int *fd)
{
    *fd = memfd_create("pages", MFD_CLOEXEC);
    g_assert_cmpint(ftruncate(*fd, pages * PAGE), ==, 0);
    return qemu_ram_alloc_from_fd(pages * PAGE, RAM_SHARED, *fd, 0, NULL,
                                  &error_abort);
}

/* In order: thousands of pages by few batches, all but none by the thread. */
static void test_in_order(void)
{
    const unsigned n = 4096;
    g_autofree uint64_t *offsets = g_new(uint64_t, n);
    g_autofree uint8_t *model = g_malloc(n * PAGE);
    uint64_t thread_before, caller_before, by_thread, by_caller;
    int fd;
    RAMBlock *rb = shared_block(n, &fd);
    QEMUFile *f;

    for (unsigned i = 0; i < n; i++) {
        offsets[i] = i * PAGE;
    }
    f = stream(offsets, n, model);
    ram_pages_begin();
    ram_pages_counts(&thread_before, &caller_before);
    g_assert_true(load(f, rb, n, &error_abort));
    ram_pages_counts(&by_thread, &by_caller);
    by_thread -= thread_before;
    by_caller -= caller_before;
    ram_pages_end();
    g_assert_cmpmem(qemu_ram_get_host_addr(rb), n * PAGE, model, n * PAGE);
    g_test_message("%" PRIu64 " batches by the thread, %" PRIu64 " by the "
                   "reader",
                   by_thread, by_caller);
    /* 256 KiB of stream hold 63 pages at most, and end within one. */
    g_assert_cmpuint(by_thread + by_caller, <=, n / 62 + 2);
    if (g_get_num_processors() > 1) {
        g_assert_cmpuint(by_caller, <=, 1);
    }
    qemu_fclose(f, &error_abort);
    qemu_ram_free(rb);
}

/*
 * Runs of all lengths, and pages that come again while those before may be
 * under way: the last content counts.
 */
static void test_any_order(void)
{
    const unsigned n = 3000, pages = 200;
    g_autofree uint64_t *offsets = g_new(uint64_t, n);
    g_autofree uint8_t *model = g_malloc0(pages * PAGE);
    int fd;
    RAMBlock *blocks[] = { shared_block(pages, &fd),
                           qemu_ram_alloc(pages * PAGE, 0, NULL,
                                          &error_abort) };

    for (int round = 0; round < 12; round++) {
        RAMBlock *rb = blocks[round % 2];
        unsigned i = 0;
        QEMUFile *f;

        memcpy(model, qemu_ram_get_host_addr(rb), pages * PAGE);
        while (i < n) {
            unsigned first = g_test_rand_int_range(0, pages);
            unsigned run = g_test_rand_int_range(1, round < 6 ? 8 : 150);

            for (; run && i < n && first < pages; run--) {
                offsets[i++] = first++ * PAGE;
            }
        }
        f = stream(offsets, n, model);
        ram_pages_begin();
        g_assert_true(load(f, rb, n, &error_abort));
        ram_pages_end();
        g_assert_cmpmem(qemu_ram_get_host_addr(rb), pages * PAGE, model,
                        pages * PAGE);
        qemu_fclose(f, &error_abort);
    }
    for (int i = 0; i < 2; i++) {
        qemu_ram_free(blocks[i]);
    }
}

/* What memory does not take is an error of who reads, at the latest at the end;
 * and nothing is left of it for the next one. */
static void test_error(void)
{
    const unsigned n = 1024;
    g_autofree uint64_t *offsets = g_new(uint64_t, n);
    g_autofree uint8_t *model = g_malloc(n * PAGE);
    Error *err = NULL;
    int fd;
    RAMBlock *rb = shared_block(n, &fd);
    QEMUFile *f;

    qemu_ram_set_idstr(rb, "cut.ram", &error_abort);
    for (unsigned i = 0; i < n; i++) {
        offsets[i] = i * PAGE;
    }
    for (int cut = 0; cut <= 1; cut++) {
        g_assert_cmpint(ftruncate(fd, (cut ? 100 : n) * PAGE), ==, 0);
        f = stream(offsets, n, model);
        ram_pages_begin();
        g_assert_true(load(f, rb, n, &err) == !cut);
        ram_pages_end();
        if (cut) {
            g_assert_nonnull(strstr(error_get_pretty(err), "'cut.ram'"));
            error_free_or_abort(&err);
        }
        qemu_fclose(f, &error_abort);
    }
    g_assert_cmpint(ftruncate(fd, n * PAGE), ==, 0);
    f = stream(offsets, n, model);
    ram_pages_begin();
    g_assert_true(load(f, rb, n, &error_abort));
    ram_pages_end();
    g_assert_cmpmem(qemu_ram_get_host_addr(rb), n * PAGE, model, n * PAGE);
    qemu_fclose(f, &error_abort);
    qemu_ram_free(rb);
}

/* A stream that ends in a page is an error of the stream. */
static void test_end_of_stream(void)
{
    const unsigned n = 100;
    uint64_t offsets[100];
    g_autofree uint8_t *model = g_malloc(n * PAGE);
    Error *err = NULL;
    int fd;
    RAMBlock *rb = shared_block(n, &fd);
    QEMUFile *f;

    for (unsigned i = 0; i < n; i++) {
        offsets[i] = i * PAGE;
    }
    f = stream(offsets, n, model);
    qemu_file_skip(f, PAGE / 2);
    ram_pages_begin();
    for (unsigned i = 0; i < n - 1; i++) {
        g_assert_true(ram_pages_take(f, rb, i * PAGE, PAGE, &error_abort));
    }
    /* Less than a page is left. */
    g_assert_false(ram_pages_take(f, rb, 99 * PAGE, PAGE, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "ended"));
    error_free_or_abort(&err);
    g_assert_cmpint(qemu_file_get_error(f), !=, 0);
    ram_pages_end();
    qemu_fclose(f, NULL);
    qemu_ram_free(rb);
}

/* ---- a thread that is held up, and a channel that gives pieces ---- */

#define GATED_PAGES 640

typedef struct Pieces {
    QIOChannel parent;
    const uint8_t *data;
    size_t size, at, piece;
    _Atomic unsigned reads;
} Pieces;

static ssize_t pieces_readv(QIOChannel *ioc, const struct iovec *iov,
                            size_t niov, int **fds, size_t *nfds, int flags,
                            Error **errp)
{
    Pieces *p = (Pieces *)ioc;
    size_t left = MIN(p->piece, p->size - p->at), sum = 0;

    for (size_t i = 0; i < niov && left; i++) {
        size_t n = MIN(iov[i].iov_len, left);

        memcpy(iov[i].iov_base, p->data + p->at, n);
        p->at += n;
        sum += n;
        left -= n;
    }
    p->reads++;
    return sum;
}

static void pieces_finalize(QIOChannel *ioc)
{
}

static const QIOChannelClass pieces_class = {
    .type_name = "pieces",
    .readv = pieces_readv,
    .finalize = pieces_finalize,
};

typedef struct Reader {
    QEMUFile *f;
    RAMBlock *rb;
} Reader;

static void *read_all(void *opaque)
{
    Reader *r = opaque;

    g_assert_true(load(r->f, r->rb, GATED_PAGES, &error_abort));
    return NULL;
}

/* Whoever writes to the first page of @rb waits. -1: not to be had here. */
static int shut_gate(RAMBlock *rb)
{
    struct uffdio_api api = { .api = UFFD_API };
    struct uffdio_register reg = {
        .range = { (uintptr_t)qemu_ram_get_host_addr(rb), PAGE },
        .mode = UFFDIO_REGISTER_MODE_MISSING,
    };
    int fd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

    if (fd >= 0 && (ioctl(fd, UFFDIO_API, &api) < 0 ||
                    ioctl(fd, UFFDIO_REGISTER, &reg) < 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void open_gate(int fd, RAMBlock *rb)
{
    struct uffdio_zeropage zero = {
        .range = { (uintptr_t)qemu_ram_get_host_addr(rb), PAGE },
    };

    g_assert_cmpint(ioctl(fd, UFFDIO_ZEROPAGE, &zero), ==, 0);
    close(fd);
}

/* How often is read until memory has taken something? */
static void test_reads(size_t piece, unsigned expected)
{
    g_autofree uint8_t *data = g_malloc(GATED_PAGES * (PAGE + 8));
    Pieces p = { .data = data, .size = GATED_PAGES * (PAGE + 8) };
    RAMBlock *rb = qemu_ram_alloc(GATED_PAGES * PAGE, 0, NULL, &error_abort);
    int gate = g_get_num_processors() > 1 ? shut_gate(rb) : -1;
    Reader r = { .rb = rb };
    QemuThread thread;

    if (gate < 0) {
        g_test_skip("no second processor, or no userfaultfd for us");
        qemu_ram_free(rb);
        return;
    }
    for (uint64_t i = 0; i < GATED_PAGES; i++) {
        uint64_t head = GUINT64_TO_BE(i * PAGE);

        memcpy(data + i * (PAGE + 8), &head, 8);
        memset(data + i * (PAGE + 8) + 8, 1 + i % 255, PAGE);
    }
    p.piece = piece;
    qio_channel_init(&p.parent, &pieces_class, false);
    r.f = qemu_file_new_input(&p.parent);
    ram_pages_begin();
    qemu_thread_create(&thread, "reader", read_all, &r, QEMU_THREAD_JOINABLE,
                       &error_abort);
    while (p.reads < expected) {
        g_usleep(100);
    }
    g_usleep(10000); /* for one who would read more */
    g_assert_cmpuint(p.reads, ==, expected);
    open_gate(gate, rb);
    qemu_thread_join(&thread);
    ram_pages_end();
    for (uint64_t i = 0; i < GATED_PAGES; i++) {
        const uint8_t *page = (uint8_t *)qemu_ram_get_host_addr(rb) + i * PAGE;

        g_assert_cmpuint(page[0], ==, 1 + i % 255);
        g_assert_cmpint(memcmp(page, page + 1, PAGE - 1), ==, 0);
    }
    qemu_fclose(r.f, &error_abort);
    qemu_ram_free(rb);
}

/* A channel that gives 20 pages at a time is read as long as there are buffers
 * for what memory has not taken yet, and no longer. */
static void test_small_pieces(void)
{
    test_reads(20 * (PAGE + 8), 5);
}

/* So is one that has more than a buffer holds. */
static void test_large_pieces(void)
{
    test_reads(QEMU_FILE_BUFFER_BYTES, 5);
}

/* Pages as small as they may be: more of them than can wait. */
static void test_small_pages(void)
{
    const unsigned n = 8192, size = 1024;
    g_autofree uint8_t *data = g_malloc(n * size);
    QIOChannelBuffer *bioc = qio_channel_buffer_new(n * (size + 8));
    QEMUFile *f = qemu_file_new_output(QIO_CHANNEL(bioc));
    RAMBlock *rb = qemu_ram_alloc(n * size, 0, NULL, &error_abort);

    for (unsigned i = 0; i < n; i++) {
        memset(data + i * size, g_test_rand_int_range(1, 256), size);
        qemu_put_be64(f, i * size);
        qemu_put_buffer(f, data + i * size, size);
    }
    qemu_fclose(f, &error_abort);
    qio_channel_io_seek(QIO_CHANNEL(bioc), 0, SEEK_SET, &error_abort);
    f = qemu_file_new_input(QIO_CHANNEL(bioc));
    qio_channel_unref(QIO_CHANNEL(bioc));
    ram_pages_begin();
    for (unsigned i = 0; i < n; i++) {
        g_assert_true(ram_pages_before_read(f, 8, &error_abort));
        g_assert_cmpuint(qemu_get_be64(f), ==, i * size);
        g_assert_true(ram_pages_take(f, rb, i * size, size, &error_abort));
    }
    g_assert_true(ram_pages_settle(&error_abort));
    ram_pages_end();
    g_assert_cmpmem(qemu_ram_get_host_addr(rb), n * size, data, n * size);
    qemu_fclose(f, &error_abort);
    qemu_ram_free(rb);
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    g_test_add_func("/ram-pages/in-order", test_in_order);
    g_test_add_func("/ram-pages/any-order", test_any_order);
    g_test_add_func("/ram-pages/error", test_error);
    g_test_add_func("/ram-pages/end-of-stream", test_end_of_stream);
    g_test_add_func("/ram-pages/small-pieces", test_small_pieces);
    g_test_add_func("/ram-pages/large-pieces", test_large_pieces);
    g_test_add_func("/ram-pages/small-pages", test_small_pages);
    return g_test_run();
}
