/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RAM block: a piece of guest memory with one host mapping and one identity.
 *
 * A block has a name on the wire (idstr), a length in use and a maximum one,
 * a place in the RAM address space (ram_addr_t; aligned to 64 host pages, so
 * that no two blocks share a bitmap word), and a bitmap per dirty client
 * (dirty-memory.h). Where it appears in guest physical memory is the matter
 * of memory.h.
 *
 * Lifetime: blocks are counted. The region that made a block holds one
 * reference, each flat view that shows it and each snapshot another. A block
 * leaves the list when its region is destroyed; the memory goes with the last
 * reference.
 *
 * Threads: the list has its own lock (qemu_ram_list_lock()), which nests
 * inside the BQL and must not be held while waiting for a peer or for a vCPU.
 * What is constant after creation (host address, offset, maximum length, page
 * size, flags, descriptor) may be read by whoever holds a reference. The
 * length in use and the name change under the BQL and the list lock.
 *
 * Used by: memory.h, dirty-memory.h, migration, accelerators. Uses: util.
 */
#ifndef SYSTEM_RAM_BLOCK_H
#define SYSTEM_RAM_BLOCK_H

#include <sys/uio.h>

#include "qemu/thread.h"

/* Called for one page of @rb: number @page, of DIRTY_PAGE_SIZE each. */
typedef void DirtyPageFunc(RAMBlock *rb, uint64_t page, void *opaque);

/* How a block is made; QEMU's names. */
enum {
    RAM_SHARED = 1 << 0,      /* MAP_SHARED: others see the writes */
    RAM_NORESERVE = 1 << 1,   /* do not reserve swap or huge pages ahead */
    RAM_RESIZEABLE = 1 << 2,  /* used length may change up to the maximum */
    RAM_READONLY = 1 << 3,    /* mapped read-only in this process too */
    RAM_READONLY_FD = 1 << 4, /* the file is opened read-only */
    RAM_PREALLOC = 1 << 5,    /* the caller owns the memory (…_from_ptr) */
    RAM_PMEM = 1 << 6,        /* recorded; not supported by the backends yet */
};

/**
 * qemu_ram_alloc: new anonymous block
 *
 * @size: bytes, rounded up to whole host pages; 0 is an error
 * @ram_flags: RAM_SHARED (then backed by a memfd), RAM_NORESERVE
 * @mr: the region it belongs to, or NULL (tests)
 *
 * Reads as zero; not populated. BQL. Returns a block holding one reference for
 * the caller, NULL with @errp set on failure.
 */
RAMBlock *qemu_ram_alloc(ram_addr_t size, uint32_t ram_flags, MemoryRegion *mr,
                         Error **errp);
/* Over memory of the caller's, which must outlive the block. */
RAMBlock *qemu_ram_alloc_from_ptr(ram_addr_t size, void *host, MemoryRegion *mr,
                                  Error **errp);
/* @used bytes of @max now; qemu_ram_resize() may change it. */
RAMBlock *qemu_ram_alloc_resizeable(ram_addr_t used, ram_addr_t max,
                                    MemoryRegion *mr, Error **errp);
/**
 * qemu_ram_alloc_from_fd: map @fd from @fd_offset
 *
 * @fd: owned by the block on success, by the caller on failure. Unless the
 *      file has a name, nobody else has it or a mapping of it
 *
 * The page size is the file system's (huge pages on hugetlbfs); size and
 * offset must be whole pages of it. A file shorter than offset + size is
 * an error unless it is empty, in which case it is grown.
 */
RAMBlock *qemu_ram_alloc_from_fd(ram_addr_t size, uint32_t ram_flags, int fd,
                                 uint64_t fd_offset, MemoryRegion *mr,
                                 Error **errp);
/*
 * @path: a file (made if absent), or a directory (an unlinked file in it).
 * @align: of the mapping, a power of two; 0: what suits the page size.
 */
RAMBlock *qemu_ram_alloc_from_file(ram_addr_t size, uint64_t align,
                                   uint32_t ram_flags, const char *path,
                                   uint64_t fd_offset, MemoryRegion *mr,
                                   Error **errp);
/* For tests of bit phases: the next block begins at least at @offset, exactly
 * there and not aligned to 64 pages. */
void qemu_ram_set_next_offset_for_test(ram_addr_t offset);

/* Take the block off the list and drop the caller's reference. BQL. */
void qemu_ram_free(RAMBlock *rb);

RAMBlock *qemu_ram_ref(RAMBlock *rb); /* any thread; returns @rb */
void qemu_ram_unref(RAMBlock *rb);    /* any thread */

/* The name on the wire. Names are unique; a second use is an error. BQL. */
bool qemu_ram_set_idstr(RAMBlock *rb, const char *name, Error **errp);
void qemu_ram_unset_idstr(RAMBlock *rb);
/* Whether the block goes into a migration stream (set by the region). */
void qemu_ram_set_migratable(RAMBlock *rb, bool migratable);

const char *qemu_ram_get_idstr(const RAMBlock *rb); /* "" if none */
bool qemu_ram_is_migratable(const RAMBlock *rb);
void *qemu_ram_get_host_addr(const RAMBlock *rb);
ram_addr_t qemu_ram_get_offset(const RAMBlock *rb);
ram_addr_t qemu_ram_get_used_length(const RAMBlock *rb);
ram_addr_t qemu_ram_get_max_length(const RAMBlock *rb);
size_t qemu_ram_pagesize(const RAMBlock *rb); /* host page or huge page size */
uint32_t qemu_ram_get_flags(const RAMBlock *rb);
bool qemu_ram_is_shared(const RAMBlock *rb);
bool qemu_ram_is_noreserve(const RAMBlock *rb);
bool qemu_ram_is_readonly(const RAMBlock *rb);
int qemu_ram_get_fd(const RAMBlock *rb); /* -1: none; stays the block's */
/* Whether other processes may write to it by a mapping of their own. */
bool qemu_ram_has_other_writers(const RAMBlock *rb);
uint64_t qemu_ram_get_fd_offset(const RAMBlock *rb);
MemoryRegion *qemu_ram_get_mr(const RAMBlock *rb); /* NULL in tests */
/* Where the region is mapped (its address in its container), for
 * x-ignore-shared's stream; 0 if nowhere. BQL. */
hwaddr qemu_ram_get_guest_addr(const RAMBlock *rb);
/* Whether the host may merge its pages (default: yes). Recorded only; who
 * advises the host asks. BQL. */
void qemu_ram_set_mergeable(RAMBlock *rb, bool mergeable);
bool qemu_ram_is_mergeable(const RAMBlock *rb);
/*
 * Whether it is part of core dumps of this process: no, unless the default of
 * blocks to come was changed. Memory of a caller's (_from_ptr) is left as it
 * is until one says so. BQL.
 */
void qemu_ram_set_dumpable(RAMBlock *rb, bool dumpable);
bool qemu_ram_is_dumpable(const RAMBlock *rb);
void qemu_ram_set_dump_default(bool dumpable);
bool qemu_ram_dump_default(void);
/* Whether memory was populated at start (prealloc=on): holes mean nothing. */
bool qemu_ram_is_populated_at_start(const RAMBlock *rb);

/**
 * qemu_ram_set_fixed_hook: have someone forbid changes of the list of blocks
 *
 * While @fixed says true, creating and resizing a block are errors, and who
 * would remove one asks qemu_ram_is_fixed() first: a migration sends the
 * blocks that were there when it began. Called once, before there are threads;
 * @fixed under the BQL.
 */
void qemu_ram_set_fixed_hook(bool (*fixed)(void));
bool qemu_ram_is_fixed(void);

/**
 * qemu_ram_resize: change the length in use of a RAM_RESIZEABLE block
 *
 * The part that goes away reads as zero when it comes back. An error while
 * qemu_ram_is_fixed(). BQL.
 */
bool qemu_ram_resize(RAMBlock *rb, ram_addr_t new_size, Error **errp);

/**
 * ram_block_populate: have every page of the block allocated now
 *
 * @max_threads: how many threads may share the work; 0 and 1: this one
 *
 * Memory that the host cannot give (full tmpfs, no huge pages) is an error
 * that names the block.
 */
bool ram_block_populate(RAMBlock *rb, unsigned max_threads, Error **errp);

/**
 * ram_block_discard_range: give the memory of a range back to the host
 *
 * Reads as zero afterwards (from the file, for a private file mapping, is an
 * error instead). Marks the range dirty for migration. Whole pages of the
 * block. Any thread with a reference.
 */
bool ram_block_discard_range(RAMBlock *rb, ram_addr_t start, size_t length,
                             Error **errp);

/* How often that was done so far; it counts first, then gives back. */
unsigned qemu_ram_discards(const RAMBlock *rb);

/* The client pointer of the migration (send set and so on). Migration's. */
void *qemu_ram_get_migration_state(const RAMBlock *rb);
void qemu_ram_set_migration_state(RAMBlock *rb, void *state);

/*
 * The list, in the order of the stream: by maximum length, longest first,
 * then by creation.
 */
void qemu_ram_list_lock(void);
void qemu_ram_list_unlock(void);
RAMBlock *qemu_ram_list_next_locked(RAMBlock *rb); /* NULL: the first */
#define RAMBLOCK_FOREACH(rb)                           \
    for ((rb) = qemu_ram_list_next_locked(NULL); (rb); \
         (rb) = qemu_ram_list_next_locked(rb))
unsigned qemu_ram_list_version(void); /* changes with each add or remove */

/* Takes the lock; stops at the first callback that returns non-zero and
 * returns that value, else 0. */
typedef int RAMBlockIterFunc(RAMBlock *rb, void *opaque);
int qemu_ram_foreach_block(RAMBlockIterFunc *func, void *opaque);

/* A ref'd snapshot of the list, to work on without the lock. */
GPtrArray *qemu_ram_blocks_snapshot(void); /* free by g_ptr_array_unref() */

/* These take the lock; the block is not ref'd: for who knows that it stays. */
RAMBlock *qemu_ram_block_by_name(const char *idstr);
/* The block that holds @addr of the RAM address space, NULL if none. */
RAMBlock *qemu_get_ram_block(ram_addr_t addr);
/* The block that holds host address @ptr and the offset in it, else NULL. */
RAMBlock *qemu_ram_block_from_host(const void *ptr, ram_addr_t *offset);

/* Sum of used lengths, bytes. */
uint64_t qemu_ram_bytes_total(void);

/**
 * ram_access_try: run @fn(@opaque) so that a SIGBUS in it is an error
 *
 * A store into a shared mapping fails by SIGBUS when the tmpfs or the pool of
 * huge pages is full, or the file was cut. @fn is left by a jump then: it must
 * hold no lock and own no memory across its accesses. Any thread; not nested.
 *
 * Returns true if @fn returned; else false and @errp names block and offset.
 */
bool ram_access_try(void (*fn)(void *opaque), void *opaque, Error **errp);
/* memcpy(host + offset, buf, length) and memset(…) in that way. No mark. */
bool ram_block_copy_in(RAMBlock *rb, ram_addr_t offset, const void *buf,
                       size_t length, Error **errp);
bool ram_block_fill(RAMBlock *rb, ram_addr_t offset, uint8_t byte,
                    size_t length, Error **errp);

/**
 * qemu_ram_touch: whether the host gives the page at @offset of @rb
 *
 * For who has an access that can be repeated. False: it does not, and that was
 * said: the VM stops as below, with no page that stands in; qemu_ram_mend()
 * tries again. Any thread with the BQL.
 */
bool qemu_ram_touch(RAMBlock *rb, ram_addr_t offset);

/**
 * ram_block_copy_in_pieces: ram_block_copy_in() of @n pieces, which are to be
 * one after another from @offset on
 *
 * Much at once comes into a shared file cheaper than page by page. At most
 * IOV_MAX pieces. When it fails, some of them may have been copied.
 */
bool ram_block_copy_in_pieces(RAMBlock *rb, ram_addr_t offset,
                              const struct iovec *iov, unsigned n,
                              Error **errp);

/**
 * qemu_ram_mend: put back pages that the host could not give
 *
 * An access that is not guarded as above, that of a vCPU say, does not end the
 * process either. A page of the process' own stands in, the access goes on,
 * and the main loop stops the VM with an error that names the block. This
 * function moves what was written there meanwhile to where it belongs.
 *
 * BQL, and no vCPU runs. False with an Error: there is still no memory, or
 * the content is lost, since the file became shorter or a page is broken.
 */
bool qemu_ram_mend(Error **errp);
/* False with an Error: the content of some page is lost. Any thread. */
bool qemu_ram_check_intact(Error **errp);
/* Who stops the VM then; @lost: for ever. Called with the BQL. */
void qemu_ram_set_plug_hook(void (*stop)(bool lost));

#endif /* SYSTEM_RAM_BLOCK_H */
