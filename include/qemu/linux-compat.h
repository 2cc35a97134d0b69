/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linux UAPI that is newer than the headers we may be built with.
 *
 * Numbers of the kernel's interface, each with the header and the release that
 * brought it. Defined only where the system's header has not got them: whether
 * the running kernel knows them is asked at run time, always.
 *
 * Used by: accel/kvm, system/dirty-pagemap. Uses: nothing.
 */
#ifndef QEMU_LINUX_COMPAT_H
#define QEMU_LINUX_COMPAT_H

#include <linux/fs.h>
#include <linux/ioctl.h>
#include <linux/kvm.h>
#include <linux/types.h>
#include <linux/userfaultfd.h>

/* ---- include/uapi/linux/kvm.h ---- */
#ifndef KVM_CAP_DIRTY_LOG_RING_ACQ_REL
#define KVM_CAP_DIRTY_LOG_RING_ACQ_REL 223 /* 6.1 */
#endif
#ifndef KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP
#define KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP 225 /* 6.2 */
#endif
/* <linux/kvm.h> says 0 where <asm/kvm.h> does not know it. */
#if defined(__aarch64__) && KVM_DIRTY_LOG_PAGE_OFFSET == 0
#undef KVM_DIRTY_LOG_PAGE_OFFSET
#define KVM_DIRTY_LOG_PAGE_OFFSET 64 /* 6.2 */
#endif
#ifndef KVM_CAP_ARM_EAGER_SPLIT_CHUNK_SIZE
#define KVM_CAP_ARM_EAGER_SPLIT_CHUNK_SIZE 228 /* 6.5 */
#endif
#ifndef KVM_CAP_USER_MEMORY2
#define KVM_CAP_USER_MEMORY2 231 /* 6.8 */
#endif
#ifndef KVM_CAP_PRE_FAULT_MEMORY
#define KVM_CAP_PRE_FAULT_MEMORY 236 /* 6.11 */
#endif
#ifndef KVM_EXIT_MEMORY_FAULT
#define KVM_EXIT_MEMORY_FAULT 39 /* 6.8 */
#endif

/* ---- include/uapi/linux/userfaultfd.h ---- */
#ifndef UFFD_FEATURE_POISON
#define UFFD_FEATURE_POISON (1 << 14) /* 6.6 */
#endif
#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED (1 << 13) /* 6.4 */
#endif
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15) /* 6.7 */
#endif

/* ---- include/uapi/linux/fs.h: PAGEMAP_SCAN, 6.7 ---- */
#ifndef PAGEMAP_SCAN
#define PAGE_IS_WPALLOWED (1 << 0)
#define PAGE_IS_WRITTEN   (1 << 1)
#define PAGE_IS_FILE      (1 << 2)
#define PAGE_IS_PRESENT   (1 << 3)
#define PAGE_IS_SWAPPED   (1 << 4)
#define PAGE_IS_PFNZERO   (1 << 5)
#define PAGE_IS_HUGE      (1 << 6)

struct page_region {
    __u64 start;
    __u64 end;
    __u64 categories;
};

#define PM_SCAN_WP_MATCHING   (1 << 0)
#define PM_SCAN_CHECK_WPASYNC (1 << 1)

struct pm_scan_arg {
    __u64 size;
    __u64 flags;
    __u64 start;
    __u64 end;
    __u64 walk_end;
    __u64 vec;
    __u64 vec_len;
    __u64 max_pages;
    __u64 category_inverted;
    __u64 category_mask;
    __u64 category_anyof_mask;
    __u64 return_mask;
};

#define PAGEMAP_SCAN _IOWR('f', 16, struct pm_scan_arg)
#endif

#endif /* QEMU_LINUX_COMPAT_H */
