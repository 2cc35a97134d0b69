/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Holes in RAM blocks: see include/system/ram-holes.h. */
#include "qemu/osdep.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/vfs.h>

#include "qemu/linux-compat.h"
#include "system/ram-holes.h"

#include "ram-block-internal.h"

/* Runs of pages that one call can tell. */
#define REGIONS 512
/* Pages whose entries are read, or that mincore() is asked about, at a time. */
#define PAGES_PER_CALL 4096u

/* Entries of /proc/self/pagemap. */
#define PM_PRESENT (UINT64_C(1) << 63)
#define PM_SWAPPED (UINT64_C(1) << 62)
#define PM_FILE    (UINT64_C(1) << 61)

bool ram_holes_test_no_scan;

typedef struct Ask {
    RAMBlock *rb;
    RAMDataFunc *func;
    void *opaque;
    /* By page tables. */
    int pagemap;
    unsigned not ; /* PAGE_IS_*: pages of this kind hold no data of their own */
    bool no_swap;  /* so what looks swapped out may be only a marker */
    uint64_t found_bytes; /* told so far */
} Ask;

static void tell(Ask *a, ram_addr_t start, ram_addr_t end)
{
    a->found_bytes += end - start;
    a->func(a->opaque, start, end - start);
}

/* ---- page tables ---- */

/* The descriptor shows the memory of who opened it: not that of a child. */
int ram_pagemap_fd(void)
{
    static struct {
        QemuMutex lock;
        int fd; /* guarded by lock */
        pid_t pid;
    } pagemap = { .lock = { PTHREAD_MUTEX_INITIALIZER }, .fd = -1 };

    QEMU_LOCK_GUARD(&pagemap.lock);
    if (pagemap.fd < 0 || pagemap.pid != getpid()) {
        if (pagemap.fd >= 0) {
            close(pagemap.fd);
        }
        pagemap.fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
        pagemap.pid = getpid();
    }
    return pagemap.fd;
}

void ram_holes_init(void)
{
    ram_pagemap_fd();
}

static bool host_has_swap(void)
{
    struct sysinfo si;

    return sysinfo(&si) < 0 || si.totalswap != 0;
}

/*
 * Pages that look swapped out, though nothing can be: markers, or pages that
 * the kernel is moving to another place just now, which mincore() knows apart.
 */
static void tell_resident(Ask *a, ram_addr_t start, ram_addr_t end)
{
    unsigned char vec[PAGES_PER_CALL];
    uint8_t *host = a->rb->host;
    ram_addr_t next;

    for (; start < end; start = next) {
        next = MIN(end, start + PAGES_PER_CALL * DIRTY_PAGE_SIZE);
        /* Swap might just have been switched on. */
        if (mincore(host + start, next - start, vec) < 0 ||
            (a->no_swap && host_has_swap())) {
            tell(a, start, end);
            return;
        }
        for (uint64_t i = 0, n = (next - start) >> DIRTY_PAGE_BITS; i < n;) {
            uint64_t first = i;

            while (i < n && (vec[i] & 1) == (vec[first] & 1)) {
                i++;
            }
            if (vec[first] & 1) {
                tell(a, start + (first << DIRTY_PAGE_BITS),
                     start + (i << DIRTY_PAGE_BITS));
            }
        }
    }
}

static int scan_once(const Ask *a, uint64_t start, uint64_t end,
                     struct page_region *regions)
{
    struct pm_scan_arg arg = {
        .size = sizeof(arg),
        .start = start,
        .end = end,
        .vec = (uintptr_t)regions,
        .vec_len = REGIONS,
        .category_inverted = a->not,
        .category_mask = a->not,
        .category_anyof_mask = PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
        .return_mask = PAGE_IS_SWAPPED,
    };

    return ioctl(a->pagemap, PAGEMAP_SCAN, &arg);
}

/* Linux 6.7. */
static bool ask_scan(Ask *a, ram_addr_t first, ram_addr_t last)
{
    bool markers = a->no_swap || a->rb->page_size > DIRTY_PAGE_SIZE;
    struct page_region regions[REGIONS];
    uint64_t base = (uintptr_t)a->rb->host;
    uint64_t start = base + first, end = base + last;
    int n = REGIONS;

    while (n == REGIONS && start < end) {
        n = scan_once(a, start, end, regions);
        if (n < 0) {
            return false;
        }
        for (int i = 0; i < n; i++) {
            ram_addr_t from = regions[i].start - base;
            ram_addr_t to = regions[i].end - base;

            if (regions[i].categories & PAGE_IS_SWAPPED && markers) {
                tell_resident(a, from, to);
            } else {
                tell(a, from, to);
            }
        }
        /*
         * Room left: it saw all. Else go on behind what it told of; its
         * walk_end may lie before that.
         */
        start = n ? regions[n - 1].end : end;
    }
    return true;
}

/* Whether an entry of /proc/self/pagemap is of a page with data of its own. */
static bool entry_is_data(const Ask *a, uint64_t entry)
{
    return entry & PM_SWAPPED ||
           (entry & PM_PRESENT && !(a->not &PAGE_IS_FILE && entry & PM_FILE));
}

/* Older kernels: an entry per page, and pages of zeros are not told. */
static bool ask_entries(Ask *a, ram_addr_t start, ram_addr_t end)
{
    uint64_t page = ((uintptr_t)a->rb->host + start) >> DIRTY_PAGE_BITS;
    uint64_t left = (end - start) >> DIRTY_PAGE_BITS, n;
    uint64_t entries[PAGES_PER_CALL];

    for (; left; left -= n, page += n, start += n << DIRTY_PAGE_BITS) {
        n = MIN(left, PAGES_PER_CALL);
        if (pread(a->pagemap, entries, n * 8, page * 8) != (ssize_t)(n * 8)) {
            return false;
        }
        for (uint64_t i = 0; i < n; i++) {
            uint64_t first = i;

            while (i < n && entry_is_data(a, entries[i])) {
                i++;
            }
            if (i > first) {
                tell(a, start + (first << DIRTY_PAGE_BITS),
                     start + (i << DIRTY_PAGE_BITS));
            }
        }
    }
    return true;
}

static bool ask_tables(Ask *a, unsigned not, ram_addr_t start, ram_addr_t end)
{
    a->not = not ;
    a->no_swap = !host_has_swap();
    a->pagemap = ram_pagemap_fd();
    if (a->pagemap < 0) {
        return false;
    }
    if (!ram_holes_test_no_scan && ask_scan(a, start, end)) {
        return true;
    }
    /* An entry of a huge page that is being moved reads as empty there. */
    return a->rb->page_size == DIRTY_PAGE_SIZE && ask_entries(a, start, end);
}

/* ---- files ---- */

/*
 * File systems whose SEEK_DATA sees what mappings have stored. Those that ask
 * a server (NFS, FUSE) may not know yet what lies in this host's cache.
 */
bool ram_fd_tells_holes(int fd)
{
    static const uint32_t types[] = {
        0x01021994, /* tmpfs, memfd */
        0xef53,     /* ext4 */
        0x58465342, /* XFS */
        0x9123683e, /* btrfs */
    };
    struct statfs fs;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        fstatfs(fd, &fs) < 0) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        if ((uint32_t)fs.f_type == types[i]) {
            return true;
        }
    }
    return false;
}

/* Behind its end there is nothing to be read, not even zeros. */
static bool file_is_whole(const Ask *a, struct stat *st, ram_addr_t end)
{
    return fstat(a->rb->fd, st) == 0 &&
           (uint64_t)st->st_size >= a->rb->fd_offset + end;
}

static bool ask_file(Ask *a, ram_addr_t start, ram_addr_t end)
{
    RAMBlock *rb = a->rb;
    off_t base = rb->fd_offset, at = base + start, last = base + end, hole;
    ram_addr_t from, to;
    struct stat st;

    if (!rb->fd_tells_holes || !file_is_whole(a, &st, end)) {
        return false;
    }
    while (at < last) {
        at = lseek(rb->fd, at, SEEK_DATA);
        if (at < 0) {
            return errno == ENXIO; /* none from there on */
        }
        if (at >= last) {
            break;
        }
        hole = lseek(rb->fd, at, SEEK_HOLE);
        if (hole < 0 || hole <= at) {
            return false;
        }
        from = at - base;
        to = hole - base;
        tell(a, ROUND_DOWN(from, DIRTY_PAGE_SIZE),
             MIN(ROUND_UP(to, DIRTY_PAGE_SIZE), end));
        at = hole;
    }
    return true;
}

/* ---- huge pages ---- */

static void tell_nothing(void *opaque, ram_addr_t start, ram_addr_t length)
{
}

/*
 * hugetlbfs has no SEEK_DATA, but counts what its files have. If that is what
 * this process has in its page tables, these tell all.
 */
static bool ask_huge(Ask *a, ram_addr_t start, ram_addr_t end)
{
    RAMBlock *rb = a->rb;
    Ask all = { .rb = rb, .func = tell_nothing };
    struct stat st, st2;

    if (!file_is_whole(a, &st, end)) {
        return false;
    }
    if (st.st_blocks == 0) {
        return rb->flags & RAM_SHARED || ask_tables(a, 0, start, end);
    }
    if (!(rb->flags & RAM_SHARED) || qemu_ram_has_other_writers(rb) ||
        !ask_tables(&all, 0, 0, rb->max_length) ||
        !file_is_whole(a, &st2, end) || st.st_blocks != st2.st_blocks ||
        all.found_bytes != (uint64_t)st.st_blocks * 512) {
        return false;
    }
    return ask_tables(a, 0, start, end);
}

/* ---- all kinds ---- */

static bool ask(Ask *a, ram_addr_t start, ram_addr_t end)
{
    RAMBlock *rb = a->rb;

    if (rb->flags & RAM_PREALLOC) {
        return false;
    }
    if (rb->page_size > DIRTY_PAGE_SIZE) {
        return ask_huge(a, start, end);
    }
    if (rb->fd < 0) {
        return ask_tables(a, PAGE_IS_PFNZERO, start, end);
    }
    if (rb->flags & RAM_SHARED) {
        return ask_file(a, start, end);
    }
    return rb->fd_tells_holes && ask_tables(a, PAGE_IS_FILE, start, end) &&
           ask_file(a, start, end);
}

void ram_block_foreach_data(RAMBlock *rb, ram_addr_t start, ram_addr_t length,
                            RAMDataFunc *func, void *opaque)
{
    Ask a = { .rb = rb, .func = func, .opaque = opaque };

    assert(QEMU_IS_ALIGNED(start | length, DIRTY_PAGE_SIZE));
    assert(start <= rb->max_length && length <= rb->max_length - start);
    if (length && !ask(&a, start, start + length)) {
        func(opaque, start, length);
    }
}
