/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of include/system/ram-block.h, one per promise. */
#include "qemu/osdep.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "system/dirty-memory.h"
#include "system/ram-block.h"

#define PAGE DIRTY_PAGE_SIZE

static void expect_error(Error **err, const char *part)
{
    g_assert_nonnull(*err);
    if (!strstr(error_get_pretty(*err), part)) {
        g_error("'%s' does not say '%s'", error_get_pretty(*err), part);
    }
    error_free_or_abort(err);
}

static void test_list_order(void)
{
    RAMBlock *a = qemu_ram_alloc(2 * MiB, 0, NULL, &error_abort);
    RAMBlock *b = qemu_ram_alloc(4 * MiB, 0, NULL, &error_abort);
    RAMBlock *c = qemu_ram_alloc(2 * MiB, 0, NULL, &error_abort);
    unsigned version = qemu_ram_list_version();
    GPtrArray *blocks = qemu_ram_blocks_snapshot();
    ram_addr_t offset;

    g_assert_cmpuint(blocks->len, ==, 3);
    g_assert_true(blocks->pdata[0] == b);
    g_assert_true(blocks->pdata[1] == a);
    g_assert_true(blocks->pdata[2] == c);
    g_assert_cmpuint(qemu_ram_bytes_total(), ==, 8 * MiB);
    g_assert_true(qemu_get_ram_block(qemu_ram_get_offset(c) + 5) == c);
    g_assert_true(qemu_ram_block_from_host(
                      (uint8_t *)qemu_ram_get_host_addr(a) + 77, &offset) == a);
    g_assert_cmpuint(offset, ==, 77);
    qemu_ram_free(a);
    g_assert_cmpuint(qemu_ram_list_version(), !=, version);
    /* The snapshot keeps the memory. */
    memset(qemu_ram_get_host_addr(a), 1, 2 * MiB);
    g_assert_null(qemu_ram_block_from_host(
        (uint8_t *)qemu_ram_get_host_addr(a) + 77, &offset));
    g_ptr_array_unref(blocks);
    qemu_ram_free(b);
    qemu_ram_free(c);
}

/* Offsets: aligned to a bitmap word, never overlapping, gaps used again. */
static void test_offsets(void)
{
    RAMBlock *rb[20] = { NULL };

    for (int round = 0; round < 200; round++) {
        int i = g_test_rand_int_range(0, 20);

        if (rb[i]) {
            qemu_ram_free(rb[i]);
        }
        rb[i] = qemu_ram_alloc(g_test_rand_int_range(1, 200) * PAGE, 0, NULL,
                               &error_abort);
        g_assert_cmpuint(qemu_ram_get_offset(rb[i]) % (64 * PAGE), ==, 0);
        g_assert_cmpuint(qemu_ram_get_offset(rb[i]), <, 60 * 200 * PAGE);
        for (int j = 0; j < 20; j++) {
            ram_addr_t a, b;

            if (j == i || !rb[j]) {
                continue;
            }
            a = qemu_ram_get_offset(rb[i]);
            b = qemu_ram_get_offset(rb[j]);
            g_assert_true(a + qemu_ram_get_max_length(rb[i]) <= b ||
                          b + qemu_ram_get_max_length(rb[j]) <= a);
        }
    }
    for (int i = 0; i < 20; i++) {
        if (rb[i]) {
            qemu_ram_free(rb[i]);
        }
    }
}

static void test_names(void)
{
    RAMBlock *a = qemu_ram_alloc(PAGE, 0, NULL, &error_abort);
    RAMBlock *b = qemu_ram_alloc(PAGE, 0, NULL, &error_abort);
    g_autofree char *longest = g_strnfill(255, 'x');
    g_autofree char *too_long = g_strnfill(256, 'x');
    Error *err = NULL;

    g_assert_cmpstr(qemu_ram_get_idstr(a), ==, "");
    g_assert_true(qemu_ram_set_idstr(a, "pc.ram", &error_abort));
    g_assert_false(qemu_ram_set_idstr(b, "pc.ram", &err));
    expect_error(&err, "pc.ram");
    g_assert_false(qemu_ram_set_idstr(b, too_long, &err));
    expect_error(&err, "255");
    g_assert_false(qemu_ram_set_idstr(b, "", &err));
    expect_error(&err, "1 to 255");
    g_assert_true(qemu_ram_set_idstr(b, longest, &error_abort));
    g_assert_true(qemu_ram_block_by_name("pc.ram") == a);
    g_assert_true(qemu_ram_block_by_name(longest) == b);
    g_assert_null(qemu_ram_block_by_name("pc.rom"));
    qemu_ram_unset_idstr(a);
    g_assert_null(qemu_ram_block_by_name("pc.ram"));
    qemu_ram_free(a);
    qemu_ram_free(b);
}

static bool resident(RAMBlock *rb, uint64_t offset)
{
    unsigned char vec;

    g_assert_cmpint(
        mincore((uint8_t *)qemu_ram_get_host_addr(rb) + offset, 1, &vec), ==,
        0);
    return vec & 1;
}

static void test_anonymous(void)
{
    RAMBlock *rb = qemu_ram_alloc(3 * MiB + 1, 0, NULL, &error_abort);
    Error *err = NULL;

    g_assert_cmpuint(qemu_ram_get_used_length(rb), ==, 3 * MiB + PAGE);
    g_assert_cmpint(qemu_ram_get_fd(rb), ==, -1);
    g_assert_false(qemu_ram_is_shared(rb));
    g_assert_cmpuint((uintptr_t)qemu_ram_get_host_addr(rb) % (2 * MiB), ==, 0);
    g_assert_false(resident(rb, 2 * MiB)); /* not populated */
    g_assert_cmpuint(((uint8_t *)qemu_ram_get_host_addr(rb))[5], ==, 0);
    g_assert_true(ram_block_populate(rb, 3, &error_abort));
    g_assert_true(resident(rb, 3 * MiB));
    g_assert_true(qemu_ram_is_populated_at_start(rb));
    qemu_ram_free(rb);

    g_assert_null(qemu_ram_alloc(0, 0, NULL, &err));
    expect_error(&err, "impossible size");
    g_assert_null(qemu_ram_alloc(UINT64_C(1) << 50, 0, NULL, &err));
    expect_error(&err, "1125899906842624");
}

/* Another mapping of the descriptor sees the writes; discards give zeros. */
static void test_shared(void)
{
    RAMBlock *rb = qemu_ram_alloc(MiB, RAM_SHARED, NULL, &error_abort);
    uint8_t *host = qemu_ram_get_host_addr(rb);
    uint8_t *other = mmap(NULL, MiB, PROT_READ, MAP_SHARED, qemu_ram_get_fd(rb),
                          0);

    g_assert_true(other != MAP_FAILED);
    host[5 * PAGE] = 17;
    g_assert_cmpuint(other[5 * PAGE], ==, 17);
    ram_block_collect_dirty(rb, 0, MiB, DIRTY_MEMORY_MIGRATION, NULL);
    g_assert_true(
        ram_block_discard_range(rb, 4 * PAGE, 2 * PAGE, &error_abort));
    g_assert_cmpuint(other[5 * PAGE], ==, 0);
    g_assert_cmpuint(ram_block_count_dirty(rb, 0, MiB, DIRTY_MEMORY_MIGRATION),
                     ==, 2);
    munmap(other, MiB);
    qemu_ram_free(rb);
}

static void test_file(void)
{
    g_autofree char *dir = g_dir_make_tmp("ram-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "mem", NULL);
    Error *err = NULL;
    RAMBlock *rb;
    GStatBuf st;

    rb = qemu_ram_alloc_from_file(MiB, 0, RAM_SHARED, path, PAGE, NULL,
                                  &error_abort);
    g_assert_cmpint(g_stat(path, &st), ==, 0);
    g_assert_cmpint(st.st_size, ==, MiB + PAGE);
    memset(qemu_ram_get_host_addr(rb), 0x42, PAGE);
    qemu_ram_free(rb);

    /* The content is still there; a private mapping does not change it. */
    rb = qemu_ram_alloc_from_file(MiB, 0, 0, path, PAGE, NULL, &error_abort);
    g_assert_cmpuint(((uint8_t *)qemu_ram_get_host_addr(rb))[9], ==, 0x42);
    ((uint8_t *)qemu_ram_get_host_addr(rb))[9] = 1;
    g_assert_false(ram_block_discard_range(rb, 0, PAGE, &err));
    expect_error(&err, "private");
    qemu_ram_free(rb);
    rb = qemu_ram_alloc_from_file(MiB, 0, RAM_READONLY | RAM_READONLY_FD, path,
                                  PAGE, NULL, &error_abort);
    g_assert_cmpuint(((uint8_t *)qemu_ram_get_host_addr(rb))[9], ==, 0x42);
    qemu_ram_free(rb);

    g_assert_null(
        qemu_ram_alloc_from_file(2 * MiB, 0, RAM_SHARED, path, 0, NULL, &err));
    expect_error(&err, "too short");
    g_assert_null(qemu_ram_alloc_from_file(MiB, 0, 0, path, 5, NULL, &err));
    expect_error(&err, "multiples of the page size");
    g_assert_null(
        qemu_ram_alloc_from_file(MiB, 0, 0, "/nonexistent/x", 0, NULL, &err));
    expect_error(&err, "/nonexistent/x");

    /* A directory: a nameless file, whose memory may be given back. */
    g_unlink(path);
    rb = qemu_ram_alloc_from_file(MiB, 0, 0, dir, 0, NULL, &error_abort);
    g_assert_true(ram_block_discard_range(rb, 0, PAGE, &error_abort));
    qemu_ram_free(rb);
    g_assert_cmpint(g_rmdir(dir), ==, 0);
}

/* A file that was cut: an error that names block and offset, not a death. */
static void test_sigbus_is_an_error(void)
{
    int fd = memfd_create("cut", MFD_CLOEXEC);
    uint8_t buf[64] = { 1 };
    Error *err = NULL;
    RAMBlock *rb;

    rb = qemu_ram_alloc_from_fd(16 * PAGE, RAM_SHARED, fd, 0, NULL,
                                &error_abort);
    qemu_ram_set_idstr(rb, "cut.ram", &error_abort);
    g_assert_true(ram_block_copy_in(rb, 9 * PAGE, buf, 64, &error_abort));
    g_assert_cmpint(ftruncate(fd, 8 * PAGE), ==, 0);
    for (int i = 0; i < 3; i++) {
        g_assert_false(ram_block_copy_in(rb, 9 * PAGE, buf, 64, &err));
        expect_error(&err, "'cut.ram' at offset 0x9000");
        g_assert_false(ram_block_fill(rb, 7 * PAGE, 0xff, 2 * PAGE, &err));
        expect_error(&err, "'cut.ram' at offset 0x8000");
    }
    g_assert_true(ram_block_copy_in(rb, 7 * PAGE, buf, 64, &error_abort));
    g_assert_false(ram_block_populate(rb, 1, &err));
    expect_error(&err, "cut.ram");
    g_assert_false(ram_block_copy_in(rb, 16 * PAGE - 1, buf, 2, &err));
    expect_error(&err, "outside");
    qemu_ram_free(rb);
}

/*
 * Outside of a guarded access: the access goes on with a page that stands in,
 * the VM's owner is told which block it was, and what was written goes to where
 * it belongs as soon as it can.
 */
static bool told, told_lost;

static void note_plug(bool lost)
{
    told = true;
    told_lost = lost;
}

/* 4 pages in a file system that holds @room of them. NULL: none could be made. */
static RAMBlock *block_in_small_fs(char **dir, unsigned room)
{
    g_autofree char *options = g_strdup_printf("size=%lu", room * PAGE);
    g_autofree char *path = NULL;

    *dir = g_dir_make_tmp("plug-XXXXXX", NULL);
    if (mount("ferry-test", *dir, "tmpfs", 0, options) < 0) {
        g_rmdir(*dir);
        return NULL;
    }
    path = g_build_filename(*dir, "ram", NULL);
    return qemu_ram_alloc_from_file(4 * PAGE, 0, RAM_SHARED, path, 0, NULL,
                                    &error_abort);
}

/* Named @name, of four pages of which two find room; NULL: the test is left. */
static RAMBlock *full_block_or_skip(const char *name, char **dir)
{
    RAMBlock *rb = block_in_small_fs(dir, 2);

    if (!rb) {
        g_test_skip("a small file system needs root");
        return NULL;
    }
    qemu_ram_set_idstr(rb, name, &error_abort);
    qemu_ram_set_plug_hook(note_plug);
    return rb;
}

static void test_stand_in(void)
{
    g_autofree char *dir = NULL;
    RAMBlock *rb = full_block_or_skip("full.ram", &dir);
    volatile uint8_t *host;
    Error *err = NULL;

    if (!rb) {
        return;
    }
    host = qemu_ram_get_host_addr(rb);
    for (int i = 0; i < 4; i++) {
        host[i * PAGE + 5] = 0x40 + i;
    }
    told = false;
    while (g_main_context_iteration(NULL, false)) {
    }
    g_assert_true(told);
    g_assert_false(told_lost);
    for (int i = 0; i < 4; i++) {
        g_assert_cmphex(host[i * PAGE + 5], ==, 0x40 + i);
        g_assert_cmphex(host[i * PAGE + 6], ==, 0);
    }
    g_assert_true(qemu_ram_check_intact(&error_abort));
    g_assert_false(qemu_ram_mend(&err));
    expect_error(&err, "'full.ram' at offset 0x30");
    g_assert_cmphex(host[3 * PAGE + 5], ==, 0x43);

    g_assert_cmpint(mount("ferry-test", dir, "tmpfs", MS_REMOUNT, "size=65536"),
                    ==, 0);
    g_assert_true(qemu_ram_mend(&error_abort));
    for (int i = 0; i < 4; i++) {
        uint8_t byte;

        g_assert_cmphex(host[i * PAGE + 5], ==, 0x40 + i);
        g_assert_cmpint(pread(qemu_ram_get_fd(rb), &byte, 1, i * PAGE + 5), ==,
                        1);
        g_assert_cmphex(byte, ==, 0x40 + i);
    }
    qemu_ram_set_plug_hook(NULL);
    qemu_ram_free(rb);
    g_assert_cmpint(umount2(dir, MNT_DETACH), ==, 0);
    g_rmdir(dir);
}

/* What stood behind the end of a file that was cut does not come back. */
static void test_lost(void)
{
    int fd = memfd_create("cut", MFD_CLOEXEC);
    RAMBlock *rb = qemu_ram_alloc_from_fd(16 * PAGE, RAM_SHARED, fd, 0, NULL,
                                          &error_abort);
    volatile uint8_t *host = qemu_ram_get_host_addr(rb);
    Error *err = NULL;

    qemu_ram_set_idstr(rb, "cut.ram", &error_abort);
    qemu_ram_set_plug_hook(note_plug);
    g_assert_cmpint(ftruncate(fd, 8 * PAGE), ==, 0);
    host[9 * PAGE] = 1;
    while (g_main_context_iteration(NULL, false)) {
    }
    g_assert_true(told_lost);
    g_assert_false(qemu_ram_check_intact(&err));
    expect_error(&err, "'cut.ram' at offset 0x9000");
    g_assert_false(qemu_ram_mend(&err));
    expect_error(&err, "is lost");
    qemu_ram_set_plug_hook(NULL);
    qemu_ram_free(rb);
    g_assert_true(qemu_ram_check_intact(&error_abort));
}

/* Where no page can stand in it is a death, but one that says of what. */
/* As the kernel says that memory is broken: to this thread, about @addr. */
static void raise_broken(void *addr)
{
    siginfo_t info = { .si_signo = SIGBUS, .si_code = BUS_MCEERR_AR };

    info.si_addr = addr;
    g_assert_cmpint(
        syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGBUS, &info), ==,
        0);
}

/* Of memory without a file, too: what was there is gone. */
static void test_broken_page(void)
{
    RAMBlock *rb = qemu_ram_alloc(4 * PAGE, 0, NULL, &error_abort);
    volatile uint8_t *host = qemu_ram_get_host_addr(rb);
    Error *err = NULL;

    qemu_ram_set_idstr(rb, "broken.ram", &error_abort);
    qemu_ram_set_plug_hook(note_plug);
    memset((void *)host, 0x55, 4 * PAGE);
    told = told_lost = false;
    raise_broken((void *)(host + 2 * PAGE + 7));
    while (g_main_context_iteration(NULL, false)) {
    }
    g_assert_true(told);
    g_assert_true(told_lost);
    g_assert_cmphex(host[2 * PAGE], ==, 0);
    g_assert_cmphex(host[3 * PAGE], ==, 0x55);
    g_assert_false(qemu_ram_check_intact(&err));
    expect_error(&err, "'broken.ram' at offset 0x2000 is lost");
    g_assert_false(qemu_ram_mend(&err));
    expect_error(&err, "is lost");
    qemu_ram_free(rb);
    g_assert_true(qemu_ram_check_intact(&error_abort));
}

/* Who can repeat an access has no page that stands in. */
static void test_touch(void)
{
    g_autofree char *dir = NULL;
    RAMBlock *rb = full_block_or_skip("touch.ram", &dir);
    volatile uint8_t *host;
    Error *err = NULL;

    if (!rb) {
        return;
    }
    host = qemu_ram_get_host_addr(rb);
    told = told_lost = false;
    host[0] = host[PAGE] = 1;
    g_assert_true(qemu_ram_touch(rb, 8));
    g_assert_false(told);
    for (int i = 0; i < 3; i++) {
        told = false;
        g_assert_false(qemu_ram_touch(rb, 3 * PAGE + 9));
        g_assert_true(told);
        g_assert_false(told_lost);
    }
    g_assert_false(qemu_ram_mend(&err));
    expect_error(&err, "'touch.ram' at offset 0x30");
    g_assert_cmpint(mount("ferry-test", dir, "tmpfs", MS_REMOUNT, "size=65536"),
                    ==, 0);
    g_assert_true(qemu_ram_mend(&error_abort));
    host[3 * PAGE] = 7;
    g_assert_true(qemu_ram_touch(rb, 3 * PAGE));
    qemu_ram_free(rb);
    umount2(dir, MNT_DETACH);
    g_rmdir(dir);
}

static void test_sigbus_names_address(void)
{
    int fd = memfd_create("cut", MFD_CLOEXEC);
    volatile uint8_t *page;

    if (!g_test_subprocess()) {
        g_test_trap_subprocess(NULL, 0, 0);
        g_test_trap_assert_failed();
        g_test_trap_assert_stderr("*SIGBUS: the host has no memory at address "
                                  "0x*");
        close(fd);
        return;
    }
    qemu_ram_free(qemu_ram_alloc(PAGE, 0, NULL, &error_abort));
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    *page = 1;
}

static bool blocks_are_fixed;

static bool are_fixed(void)
{
    return blocks_are_fixed;
}

static void test_fixed(void)
{
    RAMBlock *rb = qemu_ram_alloc_resizeable(4 * PAGE, 8 * PAGE, NULL,
                                             &error_abort);
    Error *err = NULL;

    qemu_ram_set_fixed_hook(are_fixed);
    blocks_are_fixed = true;
    g_assert_null(qemu_ram_alloc(PAGE, 0, NULL, &err));
    expect_error(&err, "cannot be created");
    g_assert_null(qemu_ram_alloc_resizeable(PAGE, PAGE, NULL, &err));
    expect_error(&err, "cannot be created");
    g_assert_false(qemu_ram_resize(rb, 6 * PAGE, &err));
    expect_error(&err, "cannot be resized");
    g_assert_true(qemu_ram_resize(rb, 4 * PAGE, &error_abort)); /* as it is */
    blocks_are_fixed = false;
    g_assert_true(qemu_ram_resize(rb, 6 * PAGE, &error_abort));
    qemu_ram_set_fixed_hook(NULL);
    qemu_ram_free(rb);
}

static void test_resize(void)
{
    RAMBlock *rb = qemu_ram_alloc_resizeable(4 * PAGE, 8 * PAGE, NULL,
                                             &error_abort);
    RAMBlock *fixed = qemu_ram_alloc(PAGE, 0, NULL, &error_abort);
    uint8_t *host = qemu_ram_get_host_addr(rb);
    Error *err = NULL;

    g_assert_cmpuint(qemu_ram_get_max_length(rb), ==, 8 * PAGE);
    g_assert_true(qemu_ram_resize(rb, 6 * PAGE, &error_abort));
    g_assert_cmpuint(
        ram_block_count_dirty(rb, 0, 8 * PAGE, DIRTY_MEMORY_MIGRATION), ==, 2);
    host[5 * PAGE] = 1;
    g_assert_true(qemu_ram_resize(rb, 5 * PAGE, &error_abort));
    g_assert_true(qemu_ram_resize(rb, 6 * PAGE, &error_abort));
    g_assert_cmpuint(host[5 * PAGE], ==, 0);
    g_assert_false(qemu_ram_resize(rb, 9 * PAGE, &err));
    expect_error(&err, "at most");
    g_assert_false(qemu_ram_resize(fixed, 2 * PAGE, &err));
    expect_error(&err, "0x1000");
    qemu_ram_free(rb);
    qemu_ram_free(fixed);
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    g_test_add_func("/list/order", test_list_order);
    g_test_add_func("/list/offsets", test_offsets);
    g_test_add_func("/list/names", test_names);
    g_test_add_func("/memory/anonymous", test_anonymous);
    g_test_add_func("/memory/shared", test_shared);
    g_test_add_func("/memory/file", test_file);
    g_test_add_func("/memory/sigbus-is-an-error", test_sigbus_is_an_error);
    g_test_add_func("/memory/broken-page", test_broken_page);
    g_test_add_func("/memory/touch", test_touch);
    g_test_add_func("/memory/sigbus-names-address", test_sigbus_names_address);
    g_test_add_func("/memory/stand-in", test_stand_in);
    g_test_add_func("/memory/stand-in-lost", test_lost);
    g_test_add_func("/memory/resize", test_resize);
    g_test_add_func("/list/fixed", test_fixed);
    return g_test_run();
}
