/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of include/system/ram-holes.h: for each kind of memory, which pages
 * may hold data. A page that holds some must be told, always; that one which
 * does not is not told is what the exact comparisons below are about.
 */
#include "qemu/osdep.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include "dirty-pagemap-host.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "ram-block-internal.h"
#include "system/dirty-memory.h"
#include "system/ram-holes.h"

#define PAGE  DIRTY_PAGE_SIZE
#define PAGES UINT64_C(2048)
#define HUGE  (2 * MiB)

#ifndef MFD_HUGETLB
#define MFD_HUGETLB 0x0004U
#endif
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

typedef struct Mem {
    RAMBlock *rb;
    uint8_t *host;
    uint64_t data[PAGES / 64]; /* what was told */
} Mem;

static void mem_init(Mem *m, RAMBlock *rb)
{
    g_assert_nonnull(rb);
    m->rb = rb;
    m->host = qemu_ram_get_host_addr(rb);
}

static void anon(Mem *m, bool huge)
{
    mem_init(m, qemu_ram_alloc(PAGES * PAGE, 0, NULL, &error_abort));
    madvise(m->host, PAGES * PAGE, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

static int new_memfd(unsigned flags)
{
    int fd = memfd_create("test", MFD_CLOEXEC | flags);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(ftruncate(fd, PAGES * PAGE), ==, 0);
    return fd;
}

/* A file of ext4 or the like, whose name is gone. */
static int new_file(void)
{
    g_autofree char *path = NULL;
    int fd = g_file_open_tmp("holes-XXXXXX", &path, NULL);

    g_assert_cmpint(fd, >=, 0);
    g_unlink(path);
    g_assert_cmpint(ftruncate(fd, PAGES * PAGE), ==, 0);
    return fd;
}

static void over_fd(Mem *m, int fd, bool shared)
{
    mem_init(m, qemu_ram_alloc_from_fd(PAGES * PAGE, shared ? RAM_SHARED : 0,
                                       fd, 0, NULL, &error_abort));
}

static void write_fd(int fd, uint64_t page, uint64_t n)
{
    for (; n; n--, page++) {
        g_assert_cmpint(pwrite(fd, "x", 1, page * PAGE), ==, 1);
    }
}

static void note(void *opaque, ram_addr_t start, ram_addr_t length)
{
    Mem *m = opaque;

    g_assert_true(QEMU_IS_ALIGNED(start | length, PAGE) && length);
    g_assert_cmpuint(start + length, <=, PAGES * PAGE);
    bitmap_set(m->data, start / PAGE, length / PAGE);
}

static void ask(Mem *m)
{
    memset(m->data, 0, sizeof(m->data));
    ram_block_foreach_data(m->rb, 0, PAGES * PAGE, note, m);
}

/* @pages: numbers, ended by -1. */
static void expect(Mem *m, const int *pages)
{
    uint64_t n = 0;

    ask(m);
    for (; pages[n] >= 0; n++) {
        if (!test_bit(pages[n], m->data)) {
            g_error("page %d holds data, and is told to be a hole", pages[n]);
        }
    }
    if (bitmap_count_one(m->data, PAGES) != n) {
        for (uint64_t i = 0; i < PAGES; i++) {
            if (test_bit(i, m->data)) {
                g_test_message("data: page %" PRIu64, i);
            }
        }
        g_error("%" PRIu64 " pages are told to hold data, not %" PRIu64,
                bitmap_count_one(m->data, PAGES), n);
    }
}
#define EXPECT(m, ...) expect(m, (const int[]){ __VA_ARGS__, -1 })
#define EXPECT_NONE(m) expect(m, (const int[]){ -1 })

static bool all_data(Mem *m)
{
    ask(m);
    return bitmap_full(m->data, PAGES);
}

static void put(Mem *m, uint64_t page, uint8_t v)
{
    *(volatile uint8_t *)(m->host + page * PAGE + 5) = v;
}

static uint8_t get(Mem *m, uint64_t page)
{
    return *(volatile uint8_t *)(m->host + page * PAGE + 5);
}

static bool has_swap(void)
{
    struct sysinfo si;

    g_assert_cmpint(sysinfo(&si), ==, 0);
    return si.totalswap;
}

/* ------------------------------------------------------ each kind */

static void test_anon(void)
{
    Mem m;

    anon(&m, false);
    EXPECT_NONE(&m);
    put(&m, 5, 1);
    put(&m, 6, 0); /* a page with zeros: not asked, what is in it */
    g_assert_cmpuint(get(&m, 9), ==, 0); /* the kernel's page of zeros */
    put(&m, PAGES - 1, 1);
    EXPECT(&m, 5, 6, PAGES - 1);
    /* Parts of it, not aligned to anything. */
    memset(m.data, 0, sizeof(m.data));
    ram_block_foreach_data(m.rb, 3 * PAGE, 3 * PAGE, note, &m);
    g_assert_cmpuint(bitmap_count_one(m.data, PAGES), ==, 1);
    g_assert_true(test_bit(5, m.data));
    ram_block_foreach_data(m.rb, 5 * PAGE, 0, note, NULL);
    qemu_ram_free(m.rb);
}

/* More runs than one call can tell. */
static void test_anon_scattered(void)
{
    Mem m;

    anon(&m, false);
    for (uint64_t i = 0; i < PAGES; i += 2) {
        put(&m, i, 1);
    }
    ask(&m);
    for (uint64_t i = 0; i < PAGES; i++) {
        g_assert_cmpint(test_bit(i, m.data), ==, i % 2 == 0);
    }
    qemu_ram_free(m.rb);
}

static void test_thp(void)
{
    Mem m;

    anon(&m, true);
    put(&m, 700, 1);
    ask(&m);
    g_assert_true(test_bit(700, m.data));
    /* At most the huge page that it is in. */
    g_assert_cmpuint(find_next_bit(m.data, PAGES, 0), >=, 512);
    g_assert_cmpuint(find_next_bit(m.data, PAGES, 1024), ==, PAGES);
    /* Reading makes a huge page of zeros at most. */
    g_assert_cmpuint(get(&m, 1600), ==, 0);
    ask(&m);
    g_assert_cmpuint(find_next_bit(m.data, PAGES, 1024), ==, PAGES);
    qemu_ram_free(m.rb);
}

static uint64_t resident_pages(Mem *m)
{
    g_autofree unsigned char *vec = g_malloc(PAGES);
    uint64_t n = 0;

    g_assert_cmpint(mincore(m->host, PAGES * PAGE, vec), ==, 0);
    for (uint64_t i = 0; i < PAGES; i++) {
        n += vec[i] & 1;
    }
    return n;
}

static void check_shared(int fd, bool reading_allocates)
{
    Mem m;

    over_fd(&m, fd, true);
    EXPECT_NONE(&m);
    g_assert_cmpuint(resident_pages(&m), ==, 0); /* asking did nothing */
    put(&m, 3, 1);
    write_fd(fd, 11, 1); /* nothing of it in our page tables */
    EXPECT(&m, 3, 11);
    g_assert_cmpuint(get(&m, 20), ==, 0);
    if (reading_allocates) {
        EXPECT(&m, 3, 11, 20);
    } else {
        EXPECT(&m, 3, 11);
    }
    /* Not in the page tables any more, but in the file. */
    g_assert_cmpint(madvise(m.host, PAGES * PAGE, MADV_DONTNEED), ==, 0);
    ask(&m);
    g_assert_true(test_bit(3, m.data) && test_bit(11, m.data));
    g_assert_true(ram_block_discard_range(m.rb, 3 * PAGE, PAGE, &error_abort));
    ask(&m);
    g_assert_true(!test_bit(3, m.data) && test_bit(11, m.data));
    /* Cut short: there is nothing to be said about it. */
    g_assert_cmpint(ftruncate(fd, PAGES * PAGE / 2), ==, 0);
    g_assert_true(all_data(&m));
    qemu_ram_free(m.rb);
}

static void test_memfd(void)
{
    check_shared(new_memfd(0), true);
}

static void test_file(void)
{
    int fd = new_file();

    if (!ram_fd_tells_holes(fd)) {
        close(fd);
        g_test_skip("the directory for temporary files is on a file system "
                    "that is not asked for holes");
        return;
    }
    check_shared(fd, false);
}

/* At an offset in its file. */
static void test_file_offset(void)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    Mem m;

    g_assert_cmpint(ftruncate(fd, (PAGES + 10) * PAGE), ==, 0);
    write_fd(fd, 0, 3);
    write_fd(fd, 7, 1);
    write_fd(fd, 9, 2);
    mem_init(&m, qemu_ram_alloc_from_fd(PAGES * PAGE, RAM_SHARED, fd, 8 * PAGE,
                                        NULL, &error_abort));
    EXPECT(&m, 1, 2);
    qemu_ram_free(m.rb);
}

static void check_private(int fd, int also)
{
    Mem m;

    write_fd(fd, 2, 2);
    over_fd(&m, fd, false);
    EXPECT(&m, 2, 3);
    put(&m, 5, 1);                       /* copied, a hole in the file */
    put(&m, 3, 0);                       /* copied, data in the file */
    g_assert_cmpuint(get(&m, 8), ==, 0); /* the file's: a hole */
    if (also >= 0) {
        EXPECT(&m, 2, 3, 5, also);
    } else {
        EXPECT(&m, 2, 3, 5);
    }
    qemu_ram_free(m.rb);
}

static void test_private_file(void)
{
    int fd = new_file();

    if (!ram_fd_tells_holes(fd)) {
        close(fd);
        g_test_skip("the directory for temporary files is on a file system "
                    "that is not asked for holes");
        return;
    }
    check_private(fd, -1);
}

static void test_private_memfd(void)
{
    check_private(new_memfd(0), 8); /* to read it allocates it in the file */
}

static void test_prealloc(void)
{
    Mem m;
    void *mem;

    anon(&m, false);
    g_assert_true(ram_block_populate(m.rb, 1, &error_abort));
    g_assert_true(all_data(&m));
    qemu_ram_free(m.rb);

    mem = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mem_init(&m,
             qemu_ram_alloc_from_ptr(PAGES * PAGE, mem, NULL, &error_abort));
    g_assert_true(all_data(&m)); /* who knows what it is */
    qemu_ram_free(m.rb);
    munmap(mem, PAGES * PAGE);
}

static void test_locked(void)
{
    Mem m;

    anon(&m, false);
    put(&m, 5, 1);
    /* By their numbers: sanitizers make functions of it that do nothing. */
    if (syscall(SYS_mlock2, m.host, PAGES * PAGE, MLOCK_ONFAULT) < 0) {
        g_test_skip("no right to lock memory");
    } else {
        put(&m, 6, 1);
        EXPECT(&m, 5, 6);
        g_assert_cmpint(syscall(SYS_mlock, m.host, PAGES * PAGE), ==, 0);
        g_assert_true(all_data(&m));
        syscall(SYS_munlock, m.host, PAGES * PAGE);
    }
    qemu_ram_free(m.rb);
}

/* Others' file systems, and what is no file. */
static void test_not_asked(void)
{
    int fds[2], fd;

    g_assert_cmpint(pipe(fds), ==, 0);
    fd = open("/proc/version", O_RDONLY);
    g_assert_false(ram_fd_tells_holes(-1));
    g_assert_false(ram_fd_tells_holes(fds[0]));
    g_assert_false(ram_fd_tells_holes(fd));
    close(fd);
    close(fds[0]);
    close(fds[1]);
    fd = new_memfd(0);
    g_assert_true(ram_fd_tells_holes(fd));
    close(fd);
}

/* ------------------------------------------------------ huge pages */

#define NR_HUGE "/proc/sys/vm/nr_hugepages"

static int64_t read_number(const char *path)
{
    g_autofree char *text = NULL;

    return g_file_get_contents(path, &text, NULL, NULL)
               ? g_ascii_strtoll(text, NULL, 10)
               : -1;
}

static void write_number(const char *path, int64_t n)
{
    g_autofree char *text = g_strdup_printf("%" PRId64, n);
    int fd = open(path, O_WRONLY);

    if (fd >= 0) {
        (void)!write(fd, text, strlen(text));
        close(fd);
    }
}

static void expect_huge(Mem *m, const bool *huge)
{
    ask(m);
    for (uint64_t i = 0; i < PAGES; i++) {
        g_assert_cmpint(test_bit(i, m->data), ==, huge[i / 512]);
    }
}

static void check_huge(bool shared)
{
    int fd = new_memfd(MFD_HUGETLB);
    Mem m;

    over_fd(&m, fd, shared);
    g_assert_cmpuint(qemu_ram_pagesize(m.rb), ==, HUGE);
    expect_huge(&m, (bool[]){ false, false, false, false });
    put(&m, 600, 1);
    expect_huge(&m, (bool[]){ false, true, false, false });
    /* A part of a page. */
    memset(m.data, 0, sizeof(m.data));
    ram_block_foreach_data(m.rb, 510 * PAGE, 4 * PAGE, note, &m);
    g_assert_false(test_bit(510, m.data));
    g_assert_true(test_bit(513, m.data));
    qemu_ram_free(m.rb);

    /* What another process put into the file, our page tables don't know. */
    fd = new_memfd(MFD_HUGETLB);
    uint8_t *other = mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                          HUGE);
    g_assert_true(other != MAP_FAILED);
    other[7] = 1;
    over_fd(&m, fd, shared);
    g_assert_true(all_data(&m));
    put(&m, 0, 1);
    g_assert_true(all_data(&m));
    qemu_ram_free(m.rb);
    munmap(other, HUGE);
}

static void test_hugetlb(void)
{
    int64_t before = read_number(NR_HUGE), after;

    write_number(NR_HUGE, MAX(before, 0) + 10);
    after = read_number(NR_HUGE);
    if (after < before + 10) {
        write_number(NR_HUGE, before);
        g_test_skip("no huge pages to be had (root may reserve some)");
        return;
    }
    /* Beside this process, so that they are given back in any case. */
    g_test_trap_subprocess("/ram-holes/hugetlb/subprocess", 0,
                           G_TEST_SUBPROCESS_DEFAULT);
    write_number(NR_HUGE, before);
    g_test_trap_assert_passed();
}

static void test_hugetlb_reserved(void)
{
    check_huge(true);
    check_huge(false);
}

/* ------------------------------------------------- swapped, markers */

static bool is_swapped(Mem *m, uint64_t page)
{
    int fd = open("/proc/self/pagemap", O_RDONLY);
    uint64_t entry = 0;

    g_assert_cmpint(
        pread(fd, &entry, 8, ((uintptr_t)m->host / PAGE + page) * 8), ==, 8);
    close(fd);
    return entry >> 62 & 1;
}

/* A swap file, if there may be one; else says why not. */
static char *swap_on(void)
{
    g_autofree char *path = NULL, *cmd = NULL, *out = NULL, *out_err = NULL;
    int fd = g_file_open_tmp("swap-XXXXXX", &path, NULL), status = -1;
    g_autofree char *zeros = g_malloc0(MiB);

    for (int i = 0; i < 32; i++) {
        g_assert_cmpint(write(fd, zeros, MiB), ==, MiB);
    }
    close(fd);
    cmd = g_strdup_printf("/sbin/mkswap %s", path);
    if (!g_spawn_command_line_sync(cmd, &out, &out_err, &status, NULL) ||
        status) {
        g_test_skip("no mkswap");
    } else if (swapon(path, 0) < 0) {
        g_autofree char *why = g_strdup_printf("no swap to be had: %s",
                                               g_strerror(errno));

        g_test_skip(why);
    } else {
        return g_steal_pointer(&path);
    }
    g_unlink(path);
    return NULL;
}

static void check_swapped(Mem *m)
{
    bool swapped = false;

    put(m, 5, 1);
    put(m, 6, 2);
    for (int i = 0; i < 50 && !swapped; i++) {
        madvise(m->host, 8 * PAGE, MADV_PAGEOUT);
        g_usleep(1000);
        swapped = m->rb->fd >= 0 || is_swapped(m, 5) || is_swapped(m, 6);
    }
    if (!swapped) {
        g_test_message("the kernel did not swap");
    }
    EXPECT(m, 5, 6);
    ram_holes_test_no_scan = true;
    EXPECT(m, 5, 6);
    ram_holes_test_no_scan = false;
    g_assert_cmpuint(get(m, 5), ==, 1);
    g_assert_cmpuint(get(m, 6), ==, 2);
    qemu_ram_free(m->rb);
}

static void test_swapped(void)
{
    g_autofree char *path = swap_on();

    if (path) {
        g_test_trap_subprocess("/ram-holes/swapped-out/subprocess", 0,
                               G_TEST_SUBPROCESS_DEFAULT);
        swapoff(path);
        g_unlink(path);
        g_test_trap_assert_passed();
    }
}

static void test_swapped_with_swap(void)
{
    Mem m;

    anon(&m, false);
    check_swapped(&m);
    over_fd(&m, new_memfd(0), true);
    check_swapped(&m);
    over_fd(&m, new_memfd(0), false);
    check_swapped(&m);
}

static void check_markers(Mem *m, PagemapHost *h, const int *pages)
{
    bool swap = has_swap();

    put(m, 5, 1);
    g_assert_true(pagemap_host_arm(h, m->host, PAGES * PAGE, &error_abort));
    put(m, 6, 1);
    ask(m);
    swap |= has_swap();
    g_assert_true(test_bit(5, m->data) && test_bit(6, m->data));
    if (!swap || m->rb->page_size > PAGE) {
        expect(m, pages);
    }
    pagemap_host_disarm(h, m->host, PAGES * PAGE);
    qemu_ram_free(m->rb);
}

/* Write tracking by the host's kernel marks pages that are not there. */
static void test_markers(void)
{
    PagemapHost h;
    double fault_ns;
    Error *err = NULL;
    Mem m;

    if (!pagemap_host_probe(&fault_ns, &err)) {
        g_test_skip(error_get_pretty(err));
        error_free(err);
        return;
    }
    g_assert_true(pagemap_host_open(&h, &error_abort));
    anon(&m, false);
    check_markers(&m, &h, (const int[]){ 5, 6, -1 });
    over_fd(&m, new_memfd(0), true);
    check_markers(&m, &h, (const int[]){ 5, 6, -1 });
    over_fd(&m, new_memfd(0), false);
    check_markers(&m, &h, (const int[]){ 5, 6, -1 });
    pagemap_host_close(&h);
}

/* Kernels that only have /proc/self/pagemap to read. */
static void test_entries(void)
{
    Mem m;

    ram_holes_test_no_scan = true;
    anon(&m, false);
    put(&m, 5, 1);
    g_assert_cmpuint(get(&m, 9), ==, 0); /* there it can't be told apart */
    put(&m, PAGES - 1, 1);
    EXPECT(&m, 5, 9, PAGES - 1);
    qemu_ram_free(m.rb);
    check_private(new_memfd(0), 8);
    ram_holes_test_no_scan = false;
}

/* ---------------------------------------------------------- oracle */

/* Whatever is done to memory: what holds something is told. */
static void test_oracle(void)
{
    for (int kind = 0; kind < 6; kind++) {
        int fd = kind == 3 || kind == 4 ? new_file()
                 : kind > 1             ? new_memfd(0)
                                        : -1;
        bool shared = kind == 2 || kind == 3;
        Mem m;

        if (kind < 2) {
            anon(&m, kind);
        } else {
            write_fd(fd, 100, 30);
            over_fd(&m, fd, shared);
        }
        for (int round = 0; round < 60; round++) {
            for (int i = 0; i < 10; i++) {
                uint64_t page = g_test_rand_int_range(0, PAGES);
                uint64_t n = UINT64_C(1) << g_test_rand_int_range(0, 8);
                int what = g_test_rand_int_range(0, 8);

                n = MIN(PAGES - page, n);
                if (what < 4) {
                    put(&m, page, what);
                } else if (what == 4) {
                    get(&m, page);
                } else if (what == 5 && fd >= 0) {
                    write_fd(fd, page, 1);
                } else if (what == 6) {
                    ram_block_discard_range(m.rb, page * PAGE, n * PAGE,
                                            &error_abort);
                } else {
                    madvise(m.host + page * PAGE, n * PAGE,
                            shared ? MADV_DONTNEED : MADV_PAGEOUT);
                }
            }
            ram_holes_test_no_scan = round % 3 == 2;
            ask(&m);
            for (uint64_t i = 0; i < PAGES; i++) {
                /* Reading what is told to be a hole must not change much. */
                if (!test_bit(i, m.data) && (round % 10 == 9 || i % 64 == 0)) {
                    g_assert_true(m.host[i * PAGE] == 0 &&
                                  m.host[i * PAGE + 5] == 0 &&
                                  memcmp(m.host + i * PAGE,
                                         m.host + i * PAGE + 1, PAGE - 1) == 0);
                }
            }
        }
        ram_holes_test_no_scan = false;
        qemu_ram_free(m.rb);
    }
}

/* A terabyte is asked about as quickly as a page. */
static void test_large(void)
{
    const uint64_t size = UINT64_C(1) << 40;
    int fd = memfd_create("test", MFD_CLOEXEC);
    Mem m = { 0 };

    g_assert_cmpint(ftruncate(fd, size), ==, 0);
    m.rb = qemu_ram_alloc_from_fd(size, RAM_SHARED | RAM_NORESERVE, fd, 0, NULL,
                                  &error_abort);
    m.host = qemu_ram_get_host_addr(m.rb);
    ram_block_foreach_data(m.rb, 0, size, note, &m);
    g_assert_true(bitmap_empty(m.data, PAGES));
    put(&m, 77, 1);
    ram_block_foreach_data(m.rb, 0, size, note, &m);
    g_assert_cmpuint(bitmap_count_one(m.data, PAGES), ==, 1);
    g_assert_true(test_bit(77, m.data));
    qemu_ram_free(m.rb);
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    bql_lock();
    g_test_add_func("/ram-holes/anonymous", test_anon);
    g_test_add_func("/ram-holes/anonymous-scattered", test_anon_scattered);
    g_test_add_func("/ram-holes/anonymous-huge", test_thp);
    g_test_add_func("/ram-holes/memfd", test_memfd);
    g_test_add_func("/ram-holes/shared-file", test_file);
    g_test_add_func("/ram-holes/file-offset", test_file_offset);
    g_test_add_func("/ram-holes/private-file", test_private_file);
    g_test_add_func("/ram-holes/private-memfd", test_private_memfd);
    g_test_add_func("/ram-holes/populated", test_prealloc);
    g_test_add_func("/ram-holes/locked", test_locked);
    g_test_add_func("/ram-holes/not-asked", test_not_asked);
    g_test_add_func("/ram-holes/hugetlb", test_hugetlb);
    g_test_add_func("/ram-holes/hugetlb/subprocess", test_hugetlb_reserved);
    g_test_add_func("/ram-holes/swapped-out", test_swapped);
    g_test_add_func("/ram-holes/swapped-out/subprocess",
                    test_swapped_with_swap);
    g_test_add_func("/ram-holes/write-protect-markers", test_markers);
    g_test_add_func("/ram-holes/older-kernels", test_entries);
    g_test_add_func("/ram-holes/oracle", test_oracle);
    g_test_add_func("/ram-holes/a-terabyte", test_large);
    return g_test_run();
}
