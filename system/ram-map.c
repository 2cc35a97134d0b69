/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Host mappings of RAM blocks: anonymous memory, files, memfds, huge pages.
 *
 * A block is mapped into a reservation that is one alignment larger and ends
 * in an inaccessible page, so that the start suits huge pages and an overrun
 * faults instead of reaching a neighbour:
 *
 *     base |.. pad ..|======= block =======|guard|.. rest ..| base + length
 */
#include "qemu/osdep.h"

#include <sys/mman.h>
#include <sys/vfs.h>

#include "qemu/error.h"
#include "qemu/units.h"
#include "system/own-files.h"

#include "ram-block-internal.h"

#define HUGETLBFS_MAGIC_NUMBER 0x958458f6
#define ALIGN_LARGE            (2 * (size_t)MiB) /* transparent huge page */

#ifndef MFD_HUGETLB
#define MFD_HUGETLB 0x0004U
#endif
#ifndef MFD_HUGE_SHIFT
#define MFD_HUGE_SHIFT 26
#endif

size_t ram_fd_page_size(int fd)
{
    struct statfs fs;

    if (fd >= 0 && fstatfs(fd, &fs) == 0 &&
        (uint64_t)fs.f_type == HUGETLBFS_MAGIC_NUMBER) {
        return fs.f_bsize;
    }
    return (size_t)getpagesize();
}

bool ram_map(RAMMapping *map, uint64_t size, uint64_t min_align,
             uint32_t ram_flags, int fd, uint64_t fd_offset, Error **errp)
{
    size_t page = (size_t)getpagesize();
    size_t fd_page = ram_fd_page_size(fd);
    size_t align = MAX(fd_page, size >= ALIGN_LARGE ? ALIGN_LARGE : page);
    size_t length;
    int prot = PROT_READ | (ram_flags & RAM_READONLY ? 0 : PROT_WRITE);
    int flags = MAP_FIXED | (ram_flags & RAM_SHARED ? MAP_SHARED : MAP_PRIVATE);
    uint8_t *base, *host;

    align = MAX(align, min_align);
    length = size + align + page;
    base = mmap(NULL, length, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        error_setg_errno(errp, errno,
                         "no address space for %" PRIu64 " bytes of memory",
                         size);
        return false;
    }
    if (fd < 0) {
        flags |= MAP_ANONYMOUS;
    }
    if (ram_flags & RAM_NORESERVE) {
        flags |= MAP_NORESERVE;
    }
    host = (uint8_t *)QEMU_ALIGN_UP((uintptr_t)base, align);
    if (mmap(host, size, prot, flags, fd, fd < 0 ? 0 : fd_offset) ==
        MAP_FAILED) {
        error_setg_errno(errp, errno, "cannot map %" PRIu64 " bytes of memory",
                         size);
        munmap(base, length);
        return false;
    }

    /* A child (exec: channel) must not make us copy each page we write. */
    madvise(host, size, MADV_DONTFORK);
    if (fd < 0 && size >= ALIGN_LARGE) {
        madvise(host, size, MADV_HUGEPAGE); /* advice: may be refused */
    }
    *map = (RAMMapping){ host, base, length, fd_page };
    return true;
}

void ram_unmap(void *base, size_t length)
{
    munmap(base, length);
}

int ram_create_memfd(const char *name, uint64_t size, bool hugetlb,
                     uint64_t hugetlb_size, bool seal, Error **errp)
{
    unsigned flags = MFD_CLOEXEC | (seal ? MFD_ALLOW_SEALING : 0);
    int fd;

    if (hugetlb) {
        flags |= MFD_HUGETLB;
        if (hugetlb_size) {
            flags |= (unsigned)__builtin_ctzll(hugetlb_size) << MFD_HUGE_SHIFT;
        }
    }
    fd = memfd_create(name, flags);
    if (fd < 0) {
        error_setg_errno(errp, errno, "cannot create memfd '%s'", name);
        return -1;
    }
    if (ftruncate(fd, size) < 0) {
        error_setg_errno(errp, errno,
                         "cannot make memfd '%s' %" PRIu64 " bytes long", name,
                         size);
        close(fd);
        return -1;
    }
    if (seal &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0) {
        error_setg_errno(errp, errno, "cannot seal memfd '%s'", name);
        close(fd);
        return -1;
    }
    return fd;
}

int ram_open_file(const char *path, uint32_t ram_flags, Error **errp)
{
    bool readonly = ram_flags & RAM_READONLY_FD;
    int mode = (readonly ? O_RDONLY : O_RDWR) | O_CLOEXEC;
    struct stat st;
    int fd;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        g_autofree char *name = g_build_filename(path, "guest-ram.XXXXXX",
                                                 NULL);

        if (readonly) {
            error_setg(errp, "'%s' is a directory: nothing to read there",
                       path);
            return -1;
        }
        fd = g_mkstemp_full(name, O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0) {
            error_setg_errno(errp, errno, "cannot create a file in '%s'", path);
            return -1;
        }
        unlink(name);
        return fd;
    }
    fd = open(path, mode | (readonly ? 0 : O_CREAT), 0600);
    if (fd < 0) {
        error_setg_errno(errp, errno, "cannot open memory file '%s'", path);
    } else if (!own_file_adopt(fd, path, errp)) {
        close(fd);
        return -1;
    }
    return fd;
}
