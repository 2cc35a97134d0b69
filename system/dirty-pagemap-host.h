/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the host tells about writes to this process's memory: asynchronous
 * write protection (userfaultfd) and PAGEMAP_SCAN.
 *
 * A page is protected or written. A store to a protected page, by whatever
 * code in user space or in the kernel on its behalf, makes it written without
 * anybody being told; a scan finds it. A page that has nothing in it yet can
 * be protected, too: that takes its page table (2 MiB per GiB).
 *
 * Not seen: what comes in through another mapping of the same file, by write()
 * to that file, or by a device that was given the physical page before the
 * page was protected.
 *
 * Threads: any; the caller sees to it that a host is not closed under a scan.
 *
 * Used by: system/dirty-pagemap.c, tests. Uses: qemu/linux-compat.h.
 */
#ifndef SYSTEM_DIRTY_PAGEMAP_HOST_H
#define SYSTEM_DIRTY_PAGEMAP_HOST_H

typedef struct PagemapHost {
    int uffd, pagemap;
} PagemapHost;

/*
 * pagemap_host_probe: whether this kernel can, by trying it once
 *
 * @fault_ns: what a store to a protected page was measured to cost
 */
bool pagemap_host_probe(double *fault_ns, Error **errp);

bool pagemap_host_open(PagemapHost *h, Error **errp);
void pagemap_host_close(PagemapHost *h);

/* Protect all of [@addr, +@length): whole pages. On failure none is. */
bool pagemap_host_arm(PagemapHost *h, void *addr, uint64_t length,
                      Error **errp);
void pagemap_host_disarm(PagemapHost *h, void *addr, uint64_t length);

typedef void PagemapFoundFunc(void *opaque, uint64_t first_page,
                              uint64_t nr_pages);

/**
 * pagemap_host_scan: find the written pages of [@addr, +@length)
 *
 * @protect: protect what is found, each page in one step with finding it.
 *           When this returns, nobody stores through an old permission.
 * @found: called with pages counted from @addr, upwards; a page may come twice
 *         if it is written meanwhile
 *
 * Returns the number of calls into the kernel, 0 on failure: then any page of
 * the range may have been protected without being told of. Logged once.
 */
unsigned pagemap_host_scan(PagemapHost *h, void *addr, uint64_t length,
                           bool protect, PagemapFoundFunc *found, void *opaque);

/* Test hook: 0, or the errno that the next scans fail with, half-way. */
extern int pagemap_host_test_errno;

#endif /* SYSTEM_DIRTY_PAGEMAP_HOST_H */
