/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of ram_block_copy_in_pieces(), one per promise. */
#include "qemu/osdep.h"

#include <glib/gstdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/tsan.h"
#include "qemu/units.h"
#include "system/dirty-memory.h"
#include "system/ram-block.h"

#define PAGE       DIRTY_PAGE_SIZE
#define MAX_PIECES 64

/* Of sanitizers' own memory, too. */
#if defined(QEMU_TSAN) || defined(__SANITIZE_ADDRESS__)
#define MAX_FAULTS(pages) ((pages) / 2)
#else
#define MAX_FAULTS(pages) ((pages) / 8)
#endif

static void expect_error(Error **err, const char *part)
{
    g_assert_nonnull(*err);
    if (!strstr(error_get_pretty(*err), part)) {
        g_error("'%s' does not say '%s'", error_get_pretty(*err), part);
    }
    error_free_or_abort(err);
}

/* @n pieces of @size bytes, with a gap between them, as headers are. */
static unsigned cut(struct iovec *iov, uint8_t *buf, unsigned n, size_t size)
{
    for (unsigned i = 0; i < n; i++) {
        uint8_t *p = buf + i * (size + 8);

        iov[i] = (struct iovec){ p, size };
        for (size_t j = 0; j < size; j++) {
            p[j] = g_test_rand_int();
        }
    }
    return n;
}

static void check_content(const uint8_t *host, const struct iovec *iov,
                          unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        g_assert_cmpmem(host, iov[i].iov_len, iov[i].iov_base, iov[i].iov_len);
        host += iov[i].iov_len;
    }
}

static long faults(void)
{
    struct rusage usage;

    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
}

static RAMBlock *memfd_block(uint64_t size, uint32_t flags, uint64_t offset,
                             int *fd)
{
    *fd = memfd_create("copy-in", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    g_assert_cmpint(ftruncate(*fd, offset + size), ==, 0);
    return qemu_ram_alloc_from_fd(size, flags, *fd, offset, NULL, &error_abort);
}

/* All sizes of pieces and numbers of them, at any place; nothing beside. */
static void test_content(void)
{
    g_autofree uint8_t *buf = g_malloc(MAX_PIECES * (PAGE + 8));
    g_autofree uint8_t *want = g_malloc0(MAX_PIECES * 2 * PAGE);
    struct iovec iov[MAX_PIECES];
    int fd;
    RAMBlock *blocks[] = {
        memfd_block(MAX_PIECES * 2 * PAGE, RAM_SHARED, 0, &fd),
        memfd_block(MAX_PIECES * 2 * PAGE, RAM_SHARED, 3 * PAGE, &fd),
        memfd_block(MAX_PIECES * 2 * PAGE, 0, 3 * PAGE, &fd),
        qemu_ram_alloc(MAX_PIECES * 2 * PAGE, 0, NULL, &error_abort),
    };

    for (int round = 0; round < 100; round++) {
        size_t size = 1024u << g_test_rand_int_range(0, 3), at = 0;
        unsigned n = cut(iov, buf, g_test_rand_int_range(1, MAX_PIECES + 1),
                         size);
        size_t offset = g_test_rand_int_range(0, MAX_PIECES) * size;

        for (unsigned i = 0; i < n; i++, at += size) {
            memcpy(want + offset + at, iov[i].iov_base, size);
        }
        for (size_t b = 0; b < ARRAY_SIZE(blocks); b++) {
            g_assert_true(ram_block_copy_in_pieces(blocks[b], offset, iov, n,
                                                   &error_abort));
            g_assert_cmpmem(qemu_ram_get_host_addr(blocks[b]),
                            MAX_PIECES * 2 * PAGE, want, MAX_PIECES * 2 * PAGE);
        }
    }
    for (size_t b = 0; b < ARRAY_SIZE(blocks); b++) {
        qemu_ram_free(blocks[b]);
    }
}

/* Fresh memory of a shared file: no fault for each page, then or later. */
static void test_few_faults(void)
{
    const uint64_t pages = 4096;
    g_autofree uint8_t *buf = g_malloc(MAX_PIECES * (PAGE + 8));
    struct iovec iov[MAX_PIECES];
    int fd;
    RAMBlock *rb = memfd_block(pages * PAGE, RAM_SHARED, 0, &fd);
    volatile uint8_t *host = qemu_ram_get_host_addr(rb);
    unsigned n = cut(iov, buf, MAX_PIECES, PAGE);
    long before = faults();

    for (uint64_t p = 0; p < pages; p += n) {
        g_assert_true(
            ram_block_copy_in_pieces(rb, p * PAGE, iov, n, &error_abort));
    }
    g_test_message("%ld faults while %" PRIu64 " pages came", faults() - before,
                   pages);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    g_test_skip("the sanitizer has faults of its own");
    qemu_ram_free(rb);
    return;
#endif
    g_assert_cmpint(faults() - before, <=, MAX_FAULTS(pages));
    before = faults();
    for (uint64_t p = 0; p < pages; p++) {
        host[p * PAGE] = 1;
    }
    g_test_message("%ld faults when they were written to", faults() - before);
    g_assert_cmpint(faults() - before, <=, MAX_FAULTS(pages));
    qemu_ram_free(rb);
}

/* What lies in the file below private memory stays. */
static void test_private_file_untouched(void)
{
    g_autofree uint8_t *buf = g_malloc(MAX_PIECES * (PAGE + 8));
    uint8_t page[PAGE];
    struct iovec iov[MAX_PIECES];
    int fd;
    RAMBlock *rb = memfd_block(MAX_PIECES * PAGE, 0, 0, &fd);
    unsigned n = cut(iov, buf, MAX_PIECES, PAGE);

    g_assert_true(ram_block_copy_in_pieces(rb, 0, iov, n, &error_abort));
    check_content(qemu_ram_get_host_addr(rb), iov, n);
    for (unsigned i = 0; i < n; i++) {
        g_assert_cmpint(pread(fd, page, PAGE, i * PAGE), ==, PAGE);
        for (unsigned j = 0; j < PAGE; j++) {
            g_assert_cmphex(page[j], ==, 0);
        }
    }
    qemu_ram_free(rb);
}

/* A file that takes no writes any more, though its mapping takes stores. */
static void test_sealed(void)
{
    g_autofree uint8_t *buf = g_malloc(MAX_PIECES * (PAGE + 8));
    struct iovec iov[MAX_PIECES];
    int fd;
    RAMBlock *rb = memfd_block(MAX_PIECES * PAGE, RAM_SHARED, 0, &fd);
    unsigned n = cut(iov, buf, MAX_PIECES, PAGE);

    if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) < 0) {
        g_test_skip("no such seal here");
    } else {
        g_assert_cmpint(pwrite(fd, buf, 1, 0), ==, -1);
        g_assert_true(ram_block_copy_in_pieces(rb, 0, iov, n, &error_abort));
        check_content(qemu_ram_get_host_addr(rb), iov, n);
    }
    qemu_ram_free(rb);
}

/* A file that was cut does not grow again: what was in it is lost. */
static void test_cut(void)
{
    g_autofree uint8_t *buf = g_malloc(MAX_PIECES * (PAGE + 8));
    struct iovec iov[MAX_PIECES];
    struct stat st;
    int fd;
    RAMBlock *rb = memfd_block(MAX_PIECES * PAGE, RAM_SHARED, 0, &fd);
    unsigned n = cut(iov, buf, MAX_PIECES, PAGE);
    Error *err = NULL;

    qemu_ram_set_idstr(rb, "cut.ram", &error_abort);
    g_assert_cmpint(ftruncate(fd, 20 * PAGE), ==, 0);
    g_assert_false(ram_block_copy_in_pieces(rb, 0, iov, n, &err));
    expect_error(&err, "'cut.ram' at offset 0x14000");
    g_assert_cmpint(fstat(fd, &st), ==, 0);
    g_assert_cmpint(st.st_size, ==, 20 * PAGE);
    qemu_ram_free(rb);
}

/* A full file system is named as a store names it. */
static void test_full(void)
{
    g_autofree uint8_t *buf = g_malloc(MAX_PIECES * (PAGE + 8));
    g_autofree char *dir = g_dir_make_tmp("copy-in-XXXXXX", NULL), *path = NULL;
    struct iovec iov[MAX_PIECES];
    unsigned n = cut(iov, buf, MAX_PIECES, PAGE);
    Error *err = NULL;
    RAMBlock *rb;

    if (mount("ferry-test", dir, "tmpfs", 0, "size=131072") < 0) {
        g_test_skip("a small file system needs root");
        g_rmdir(dir);
        return;
    }
    path = g_build_filename(dir, "ram", NULL);
    rb = qemu_ram_alloc_from_file(MAX_PIECES * PAGE, 0, RAM_SHARED, path, 0,
                                  NULL, &error_abort);
    qemu_ram_set_idstr(rb, "full.ram", &error_abort);
    g_assert_false(ram_block_copy_in_pieces(rb, 0, iov, n, &err));
    expect_error(&err, "no memory for RAM block 'full.ram'");
    qemu_ram_free(rb);
    g_assert_cmpint(umount2(dir, MNT_DETACH), ==, 0);
    g_rmdir(dir);
}

static void test_outside(void)
{
    uint8_t bytes[16] = { 0 };
    struct iovec iov[] = { { bytes, 8 }, { bytes, 8 } };
    RAMBlock *rb = qemu_ram_alloc(PAGE, 0, NULL, &error_abort);
    Error *err = NULL;

    g_assert_true(
        ram_block_copy_in_pieces(rb, PAGE - 16, iov, 2, &error_abort));
    g_assert_false(ram_block_copy_in_pieces(rb, PAGE - 15, iov, 2, &err));
    expect_error(&err, "outside of RAM block");
    qemu_ram_free(rb);
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    g_test_add_func("/copy-in/content", test_content);
    g_test_add_func("/copy-in/few-faults", test_few_faults);
    g_test_add_func("/copy-in/private-file-untouched",
                    test_private_file_untouched);
    g_test_add_func("/copy-in/sealed", test_sealed);
    g_test_add_func("/copy-in/cut", test_cut);
    g_test_add_func("/copy-in/full", test_full);
    g_test_add_func("/copy-in/outside", test_outside);
    return g_test_run();
}
