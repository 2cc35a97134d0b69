/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Write tracking of this process's memory: see dirty-pagemap-host.h. */
#include "qemu/osdep.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "qemu/error.h"
#include "qemu/linux-compat.h"
#include "qemu/timer.h"
#include "system/dirty-memory.h"

#include "dirty-pagemap-host.h"
#include "ram-block-internal.h"

#define FEATURES                                                    \
    (UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_UNPOPULATED | \
     UFFD_FEATURE_WP_HUGETLBFS_SHMEM | UFFD_FEATURE_WP_ASYNC)

/* Runs of pages that one call can tell; scattered pages are one each. */
#define REGIONS 1024

int pagemap_host_test_errno;

/* ---- the two descriptors ---- */

static int open_uffd(Error **errp)
{
    struct uffdio_api api = { .api = UFFD_API, .features = FEATURES };
    int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 && errno == EPERM) {
        /*
         * Enough: the kernel lifts an asynchronous protection itself, also
         * from a store on its own behalf.
         */
        fd = syscall(SYS_userfaultfd,
                     O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    }
    if (fd < 0) {
        error_setg_errno(errp, errno, "userfaultfd");
        return -1;
    }
    if (ioctl(fd, UFFDIO_API, &api) < 0) {
        error_setg(errp, "the kernel has no asynchronous write protection "
                         "(userfaultfd's WP_ASYNC, Linux 6.7)");
        close(fd);
        return -1;
    }
    return fd;
}

bool pagemap_host_open(PagemapHost *h, Error **errp)
{
    h->uffd = open_uffd(errp);
    if (h->uffd < 0) {
        return false;
    }
    /* Of the start: in another root, as another user, it cannot be opened. */
    h->pagemap = fcntl(ram_pagemap_fd(), F_DUPFD_CLOEXEC, 0);
    if (h->pagemap < 0) {
        error_setg_errno(errp, errno, "cannot open /proc/self/pagemap");
        close(h->uffd);
        return false;
    }
    return true;
}

void pagemap_host_close(PagemapHost *h)
{
    close(h->pagemap);
    close(h->uffd);
}

/* ---- protecting ---- */

void pagemap_host_disarm(PagemapHost *h, void *addr, uint64_t length)
{
    struct uffdio_range range = { (uintptr_t)addr, length };

    if (ioctl(h->uffd, UFFDIO_UNREGISTER, &range) < 0) {
        warn_report("cannot end the write protection of memory: %s",
                    g_strerror(errno));
    }
}

bool pagemap_host_arm(PagemapHost *h, void *addr, uint64_t length, Error **errp)
{
    struct uffdio_register reg = {
        .range = { (uintptr_t)addr, length },
        .mode = UFFDIO_REGISTER_MODE_WP,
    };
    struct uffdio_writeprotect wp = {
        .range = { (uintptr_t)addr, length },
        .mode = UFFDIO_WRITEPROTECT_MODE_WP,
    };
    int ret;

    if (ioctl(h->uffd, UFFDIO_REGISTER, &reg) < 0) {
        error_setg_errno(errp, errno,
                         "memory cannot be watched by userfaultfd%s",
                         errno == EBUSY ? " (it is already)" : "");
        return false;
    }
    do {
        ret = ioctl(h->uffd, UFFDIO_WRITEPROTECT, &wp);
    } while (ret < 0 && errno == EAGAIN); /* mappings were changing */
    if (ret < 0) {
        error_setg_errno(errp, errno, "cannot write-protect memory");
        pagemap_host_disarm(h, addr, length);
        return false;
    }
    return true;
}

/* ---- scanning ---- */

static int scan_once(PagemapHost *h, uint64_t start, uint64_t end, bool protect,
                     struct page_region *regions)
{
    struct pm_scan_arg arg = {
        .size = sizeof(arg),
        .flags = PM_SCAN_CHECK_WPASYNC | (protect ? PM_SCAN_WP_MATCHING : 0),
        .start = start,
        .end = end,
        .vec = (uintptr_t)regions,
        .vec_len = REGIONS,
        .category_mask = PAGE_IS_WRITTEN,
        .return_mask = PAGE_IS_WRITTEN,
    };
    int n = ioctl(h->pagemap, PAGEMAP_SCAN, &arg);

    if (n >= 0 && unlikely(pagemap_host_test_errno)) {
        errno = pagemap_host_test_errno;
        return -1;
    }
    return n;
}

unsigned pagemap_host_scan(PagemapHost *h, void *addr, uint64_t length,
                           bool protect, PagemapFoundFunc *found, void *opaque)
{
    static _Atomic bool told;
    struct page_region regions[REGIONS];
    uint64_t base = (uintptr_t)addr, start = base, end = base + length;
    unsigned calls = 0;
    int n;

    do {
        n = scan_once(h, start, end, protect, regions);
        if (n < 0) {
            if (!atomic_exchange(&told, true)) {
                warn_report("PAGEMAP_SCAN: %s; all pages count as written",
                            g_strerror(errno));
            }
            return 0;
        }
        calls++;
        for (int i = 0; i < n; i++) {
            found(opaque, (regions[i].start - base) >> DIRTY_PAGE_BITS,
                  (regions[i].end - regions[i].start) >> DIRTY_PAGE_BITS);
        }
        /*
         * Room left: it saw all. Else go on behind what it told of; its
         * walk_end may lie before that (after it emptied a buffer of its own).
         */
        if (n == REGIONS) {
            start = regions[n - 1].end;
        }
    } while (n == REGIONS && start < end);
    return calls;
}

/* ---- can it? ---- */

#define TRIAL_PAGES 64
#define TRIAL_BYTES (TRIAL_PAGES * DIRTY_PAGE_SIZE)

static void count_found(void *opaque, uint64_t first, uint64_t nr)
{
    uint64_t *pages = opaque;

    for (uint64_t i = 0; i < nr; i++) {
        *pages |= UINT64_C(1) << (first + i);
    }
}

/* Bit i: page i is written. */
static uint64_t scan_trial(PagemapHost *h, void *mem, bool protect)
{
    uint64_t pages = 0;

    pagemap_host_scan(h, mem, TRIAL_BYTES, protect, count_found, &pages);
    return pages;
}

static int compare_ns(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* A store to each page; the median, for some are interrupted. */
static double time_stores(volatile uint8_t *mem)
{
    int64_t ns[TRIAL_PAGES];

    for (unsigned i = 0; i < TRIAL_PAGES; i++) {
        int64_t begin_ns = get_clock();

        mem[i * DIRTY_PAGE_SIZE] = 4;
        ns[i] = get_clock() - begin_ns;
    }
    qsort(ns, TRIAL_PAGES, sizeof(ns[0]), compare_ns);
    return (double)ns[TRIAL_PAGES / 2];
}

static bool trial(PagemapHost *h, volatile uint8_t *mem, double *fault_ns)
{
    uint64_t start = (uintptr_t)mem;
    struct page_region regions[REGIONS];

    mem[5 * DIRTY_PAGE_SIZE] = 1; /* one with, one without content */
    if (!pagemap_host_arm(h, (void *)mem, TRIAL_BYTES, NULL) ||
        scan_once(h, start, start + TRIAL_BYTES, false, regions) != 0) {
        return false;
    }
    if (mem[7 * DIRTY_PAGE_SIZE] || scan_trial(h, (void *)mem, false)) {
        return false;
    }
    mem[5 * DIRTY_PAGE_SIZE] = 2;
    mem[9 * DIRTY_PAGE_SIZE] = 2;
    if (scan_trial(h, (void *)mem, true) != (1 << 5 | 1 << 9)) {
        return false;
    }
    for (unsigned i = 0; i < TRIAL_PAGES; i++) {
        mem[i * DIRTY_PAGE_SIZE] = 3;
    }
    if (scan_trial(h, (void *)mem, true) != UINT64_MAX) {
        return false;
    }
    /* Now they are all there: nothing but the protection to be paid for. */
    *fault_ns = time_stores(mem);
    return scan_trial(h, (void *)mem, false) == UINT64_MAX;
}

bool pagemap_host_probe(double *fault_ns, Error **errp)
{
    PagemapHost h;
    void *mem;
    bool ok;

    if (!pagemap_host_open(&h, errp)) {
        return false;
    }
    mem = mmap(NULL, TRIAL_BYTES, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ok = mem != MAP_FAILED && trial(&h, mem, fault_ns);
    if (mem != MAP_FAILED) {
        munmap(mem, TRIAL_BYTES);
    }
    pagemap_host_close(&h);
    if (!ok) {
        error_setg(errp, "the kernel does not tell which pages were written "
                         "(PAGEMAP_SCAN, Linux 6.7)");
    }
    return ok;
}
