/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of the tracker that asks the host (system/dirty-pagemap*.c), with
 * threads and system calls as writers: no guest. What every tracker must do
 * is in test-tracker-oracle.c.
 */
#include "qemu/osdep.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "dirty-pagemap-host.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "system/dirty-memory.h"
#include "system/dirty-pagemap.h"
#include "system/memory.h"

#define PAGE    DIRTY_PAGE_SIZE
#define PAGES   UINT64_C(40000) /* more than the tracker merges at a time */
#define CLIENT  DIRTY_MEMORY_MIGRATION
#define TRACKER (&dirty_tracker_pagemap)

typedef struct Mem {
    RAMBlock *rb;
    uint8_t *host;
    uint64_t *bmap;
} Mem;

static void watch(Mem *m, RAMBlock *rb)
{
    m->rb = rb;
    m->host = qemu_ram_get_host_addr(rb);
    m->bmap = bitmap_new(qemu_ram_get_max_length(rb) / PAGE);
    g_assert_true(dirty_tracker_select(TRACKER, &error_abort));
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
}

static void unwatch(Mem *m)
{
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    qemu_ram_free(m->rb);
    g_free(m->bmap);
}

static uint64_t take(Mem *m)
{
    memory_global_dirty_log_sync(false);
    return ram_block_collect_dirty(m->rb, 0, qemu_ram_get_max_length(m->rb),
                                   CLIENT, m->bmap);
}

static void clean(Mem *m, uint64_t first, uint64_t n)
{
    ram_block_clean(m->rb, first * PAGE, n * PAGE);
}

static void put(Mem *m, uint64_t page, uint64_t val)
{
    /* Unmarked, as no device may: only the tracker can see it. */
    __atomic_store_n((uint64_t *)(m->host + page * PAGE), val,
                     __ATOMIC_RELAXED);
}

static uint64_t calls(void)
{
    DirtyPagemapStats s;

    dirty_pagemap_get_stats(&s);
    return s.calls;
}

/* More scattered pages than a call can tell, over several windows. */
static void test_scattered(void)
{
    uint64_t n = 0, before;
    Mem m;

    watch(&m, qemu_ram_alloc(PAGES * PAGE, 0, NULL, &error_abort));
    g_assert_cmpuint(take(&m), ==, 0);
    for (uint64_t i = 0; i < PAGES; i += 7) {
        put(&m, i, 1);
        n++;
    }
    before = calls();
    g_assert_cmpuint(take(&m), ==, n);
    g_assert_cmpuint(calls() - before, >=, n / 1024);
    g_assert_cmpuint(calls() - before, <=, n / 1024 + 2);
    for (uint64_t i = 0; i < PAGES; i++) {
        g_assert_cmpint(test_bit(i, m.bmap), ==, i % 7 == 0);
    }
    bitmap_zero(m.bmap, PAGES);

    /* Not cleaned: written again, and not told of again. */
    put(&m, 0, 2);
    g_assert_cmpuint(take(&m), ==, 0);
    clean(&m, 0, PAGES);
    put(&m, 7, 2);
    put(&m, PAGES - 1, 2);
    g_assert_cmpuint(take(&m), ==, 2);
    unwatch(&m);
}

/* Where nothing was collected, a clean does not go to the kernel. */
static void test_no_call(void)
{
    uint64_t before;
    Mem m;

    watch(&m, qemu_ram_alloc(PAGES * PAGE, 0, NULL, &error_abort));
    before = calls();
    clean(&m, 0, PAGES);
    g_assert_cmpuint(calls(), ==, before);
    put(&m, 100, 1);
    put(&m, 35000, 1);
    take(&m);
    before = calls();
    clean(&m, 200, 30000);
    g_assert_cmpuint(calls(), ==, before);
    clean(&m, 0, PAGES);
    g_assert_cmpuint(calls() - before, ==, 2); /* one per window */
    unwatch(&m);
}

/* Written before a clean and not collected: the clean tells of it. */
static void test_found_by_clean(void)
{
    DirtyPagemapStats a, b;
    Mem m;

    watch(&m, qemu_ram_alloc(PAGES * PAGE, 0, NULL, &error_abort));
    put(&m, 10, 1);
    put(&m, 20, 1);
    g_assert_cmpuint(take(&m), ==, 2);
    put(&m, 15, 1);
    put(&m, 21, 1); /* not between the two */
    dirty_pagemap_get_stats(&a);
    clean(&m, 0, 64);
    dirty_pagemap_get_stats(&b);
    g_assert_cmpuint(b.late - a.late, ==, 1);
    g_assert_true(ram_block_get_dirty(m.rb, 15 * PAGE, PAGE, CLIENT));
    g_assert_false(ram_block_get_dirty(m.rb, 21 * PAGE, PAGE, CLIENT));
    put(&m, 15, 2); /* it was protected */
    g_assert_cmpuint(take(&m), ==, 2);
    unwatch(&m);
}

/* read() into guest memory: by the kernel, and without a mark. */
static void test_kernel_writes(void)
{
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    Mem m;

    watch(&m, qemu_ram_alloc(PAGES * PAGE, 0, NULL, &error_abort));
    g_assert_cmpint(read(fd, m.host + 5 * PAGE + 100, 3 * PAGE), ==, 3 * PAGE);
    close(fd);
    g_assert_cmpuint(take(&m), ==, 4);
    unwatch(&m);
}

/* A scan that fails half-way may have protected anything. */
static void test_scan_fails(void)
{
    Mem m;

    watch(&m, qemu_ram_alloc(PAGES * PAGE, 0, NULL, &error_abort));
    put(&m, 3, 1);
    pagemap_host_test_errno = ENOMEM;
    memory_global_dirty_log_sync(false);
    pagemap_host_test_errno = 0;
    g_assert_cmpuint(
        ram_block_collect_dirty(m.rb, 0, PAGES * PAGE, CLIENT, m.bmap), ==,
        PAGES);
    bitmap_zero(m.bmap, PAGES);

    g_assert_cmpuint(take(&m), ==, 1);
    put(&m, 9, 1);
    take(&m);
    put(&m, 5, 1);
    pagemap_host_test_errno = ENOMEM;
    clean(&m, 0, PAGES);
    pagemap_host_test_errno = 0;
    /* All from the first to the last that were to be cleaned. */
    g_assert_cmpuint(ram_block_count_dirty(m.rb, 0, PAGES * PAGE, CLIENT), ==,
                     7);
    g_assert_true(ram_block_all_dirty(m.rb, 3 * PAGE, 7 * PAGE, CLIENT));
    unwatch(&m);
}

/* ---- which memory ---- */

static RAMBlock *memfd_block(void)
{
    RAMBlock *rb = qemu_ram_alloc(64 * PAGE, RAM_SHARED, NULL, &error_abort);

    g_assert_false(qemu_ram_has_other_writers(rb));
    return rb;
}

static void test_own_memfd(void)
{
    Mem m;

    watch(&m, memfd_block());
    put(&m, 1, 1);
    put(&m, 63, 1);
    g_assert_cmpuint(take(&m), ==, 2);
    clean(&m, 0, 64);
    put(&m, 63, 2);
    /* Dropped from the page table, and with it what we know? */
    madvise(m.host, 64 * PAGE, MADV_DONTNEED);
    g_assert_cmpuint(*(uint64_t *)(m.host + 63 * PAGE), ==, 2);
    bitmap_zero(m.bmap, 64);
    take(&m);
    g_assert_true(test_bit(63, m.bmap));
    unwatch(&m);
}

static void assert_refused(const char *words)
{
    Error *err = NULL;

    g_assert_false(TRACKER->probe(&err));
    g_test_message("%s", error_get_pretty(err));
    g_assert_nonnull(strstr(error_get_pretty(err), words));
    error_free(err);
}

static void test_foreign_memory(void)
{
    g_autofree char *dir = g_dir_make_tmp("pagemap-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "mem", NULL);
    g_autofree char *proc = NULL;
    RAMBlock *rb;
    Error *err = NULL;
    int fd;

    rb = qemu_ram_alloc_from_file(64 * PAGE, 0, RAM_SHARED, path, 0, NULL,
                                  &error_abort);
    assert_refused("other processes may write");
    /* It comes later: then it does not come. */
    qemu_ram_free(rb);
    g_assert_true(dirty_tracker_select(TRACKER, &error_abort));
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    g_assert_null(qemu_ram_alloc_from_file(64 * PAGE, 0, RAM_SHARED, path, 0,
                                           NULL, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "other processes"));
    g_clear_pointer(&err, error_free);

    /* Private to us though it is a file; and in a directory, without a name. */
    rb = qemu_ram_alloc_from_file(64 * PAGE, 0, 0, path, 0, NULL, &error_abort);
    qemu_ram_free(rb);
    rb = qemu_ram_alloc_from_file(64 * PAGE, 0, RAM_SHARED, dir, 0, NULL,
                                  &error_abort);
    qemu_ram_free(rb);
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);

    /* A descriptor that somebody gave to us has no name either. */
    fd = memfd_create("given", MFD_CLOEXEC);
    proc = g_strdup_printf("/proc/self/fd/%d", fd);
    rb = qemu_ram_alloc_from_file(64 * PAGE, 0, RAM_SHARED, proc, 0, NULL,
                                  &error_abort);
    assert_refused("other processes may write");
    qemu_ram_free(rb);
    close(fd);
    unlink(path);
    rmdir(dir);
}

/* Nobody can write to it, so there is nothing to be armed. */
static void test_read_only_memory(void)
{
    g_autofree char *dir = g_dir_make_tmp("pagemap-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "rom", NULL);
    g_autofree char *text = g_strnfill(8192, 'x');
    RAMBlock *rb;

    g_assert_true(g_file_set_contents(path, text, 8192, NULL));
    rb = qemu_ram_alloc_from_file(2 * PAGE, 0, RAM_READONLY | RAM_READONLY_FD,
                                  path, 0, NULL, &error_abort);
    g_assert_true(dirty_tracker_select(TRACKER, &error_abort));
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    memory_global_dirty_log_sync(false);
    ram_block_clean(rb, 0, 2 * PAGE);
    g_assert_cmpuint(ram_block_count_dirty(rb, 0, 2 * PAGE, CLIENT), ==, 0);
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    qemu_ram_free(rb);
    unlink(path);
    rmdir(dir);
}

static void test_caller_memory(void)
{
    uint8_t *mem = mmap(NULL, 9 * PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    RAMBlock *rb = qemu_ram_alloc_from_ptr(4 * PAGE, mem + 16, NULL,
                                           &error_abort);
    Mem m;

    assert_refused("does not begin at a page");
    qemu_ram_free(rb);
    watch(&m,
          qemu_ram_alloc_from_ptr(4 * PAGE, mem + PAGE, NULL, &error_abort));
    put(&m, 3, 1);
    mem[0] = mem[5 * PAGE] = 1; /* neighbours */
    g_assert_cmpuint(take(&m), ==, 1);
    unwatch(&m);
    munmap(mem, 9 * PAGE);
}

/* A write to a huge page is one to all of its small pages. */
static void test_huge_pages(void)
{
    int fd = memfd_create("huge", MFD_CLOEXEC | MFD_HUGETLB);
    Error *err = NULL;
    RAMBlock *rb;
    Mem m;

    rb = fd < 0
             ? NULL
             : qemu_ram_alloc_from_fd(8 * MiB, RAM_SHARED, fd, 0, NULL, &err);
    if (!rb || !ram_block_populate(rb, 1, &err)) {
        g_test_skip("no huge pages are reserved here");
        error_free(err);
        return;
    }
    watch(&m, rb);
    put(&m, 512 + 3, 1);
    g_assert_cmpuint(take(&m), ==, 512);
    clean(&m, 512, 1);
    put(&m, 512 + 400, 1);
    g_assert_cmpuint(take(&m), ==, 0); /* still to be sent */
    bitmap_zero(m.bmap, 2048);
    clean(&m, 512, 512);
    put(&m, 512, 1);
    g_assert_cmpuint(take(&m), ==, 512);
    unwatch(&m);
}

/* ---- writers that nobody stops ---- */

typedef struct Writer {
    Mem *m;
    QemuThread thread;
    uint64_t first;
    _Atomic bool stop;
    uint64_t writes;
} Writer;

static void *writer_thread(void *opaque)
{
    Writer *w = opaque;
    uint64_t n = 0;

    while (!atomic_load_explicit(&w->stop, memory_order_relaxed)) {
        n++;
        put(w->m, w->first + n * 13 % 2000, n);
    }
    w->writes = n;
    return NULL;
}

static void *cleaner_thread(void *opaque)
{
    Writer *w = opaque;

    /* Another client's rounds, in ranges that are not words. */
    for (uint64_t i = 0; !atomic_load_explicit(&w->stop, memory_order_relaxed);
         i++) {
        ram_block_dirty_sync_range(w->m->rb, 0, PAGES * PAGE);
        ram_block_test_and_clear_dirty(w->m->rb, (i * 37 % 900) * PAGE,
                                       1033 * PAGE, DIRTY_MEMORY_RATE, NULL);
    }
    return NULL;
}

static void test_racing_writers(void)
{
    g_autofree uint64_t *copy = g_new0(uint64_t, PAGES);
    int64_t end = g_get_monotonic_time() + 300 * 1000;
    Writer w[3] = { { .first = 50 }, { .first = 1000 }, { .first = 0 } };
    unsigned rounds = 0;
    bool last;
    Mem m;

    watch(&m, qemu_ram_alloc(PAGES * PAGE, 0, NULL, &error_abort));
    for (unsigned i = 0; i < ARRAY_SIZE(w); i++) {
        w[i].m = &m;
        qemu_thread_create(&w[i].thread, "writer",
                           i == 2 ? cleaner_thread : writer_thread, &w[i],
                           QEMU_THREAD_JOINABLE, &error_abort);
    }
    do {
        last = g_get_monotonic_time() > end;
        for (unsigned i = 0; last && i < ARRAY_SIZE(w); i++) {
            atomic_store(&w[i].stop, true);
            qemu_thread_join(&w[i].thread);
        }
        take(&m);
        for (uint64_t p = 0; p < PAGES; p += 100) {
            clean(&m, p, 100);
            for (uint64_t i = p; i < p + 100; i++) {
                if (test_and_clear_bit(i, m.bmap)) {
                    copy[i] = __atomic_load_n((uint64_t *)(m.host + i * PAGE),
                                              __ATOMIC_RELAXED);
                }
            }
        }
        rounds++;
    } while (!last);
    g_test_message("%u rounds, %" PRIu64 " writes", rounds,
                   w[0].writes + w[1].writes);
    for (uint64_t i = 0; i < PAGES; i++) {
        g_assert_cmpuint(copy[i], ==, *(uint64_t *)(m.host + i * PAGE));
    }
    unwatch(&m);
}

static void test_cost(void)
{
    DirtyTrackerCost c = { 0 };

    TRACKER->cost(&c);
    g_test_message("collect %.0f ns/page, scan %.0f ns/GiB, clean %.0f + %.0f "
                   "ns, fault %.0f ns",
                   c.collect_ns_per_page, c.scan_ns_per_gib,
                   c.clean_ns_per_range, c.clean_ns_per_page,
                   c.fault_ns_per_page);
    g_assert_cmpfloat(c.fault_ns_per_page, >, 0);
    g_assert_cmpfloat(c.scan_ns_per_gib, >, 0);
}

static const struct {
    const char *name;
    void (*func)(void);
} tests[] = {
    { "scattered", test_scattered },
    { "no-call", test_no_call },
    { "found-by-clean", test_found_by_clean },
    { "kernel-writes", test_kernel_writes },
    { "scan-fails", test_scan_fails },
    { "own-memfd", test_own_memfd },
    { "foreign-memory", test_foreign_memory },
    { "read-only-memory", test_read_only_memory },
    { "caller-memory", test_caller_memory },
    { "huge-pages", test_huge_pages },
    { "racing-writers", test_racing_writers },
    { "cost", test_cost },
};

static void run(gconstpointer i)
{
    g_autoptr(Error) err = NULL;

    if (!TRACKER->probe(&err)) {
        g_test_skip(error_get_pretty(err));
        return;
    }
    tests[GPOINTER_TO_UINT(i)].func();
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    get_system_memory();
    for (unsigned i = 0; i < ARRAY_SIZE(tests); i++) {
        g_autofree char *path = g_strdup_printf("/dirty-pagemap/%s",
                                                tests[i].name);

        g_test_add_data_func(path, GUINT_TO_POINTER(i), run);
    }
    return g_test_run();
}
