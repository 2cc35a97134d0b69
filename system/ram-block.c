/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RAM blocks and their list: see include/system/ram-block.h. */
#include "qemu/osdep.h"

#include <sched.h>
#include <sys/mman.h>

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/memory.h"
#include "system/own-files.h"

#include "ram-block-internal.h"

/* For the list's lock, in a signal handler. */
#define TRIES_IN_SIGNAL 1000

/* The process has one RAM address space. */
static struct {
    QemuMutex lock;
    /* Guarded by lock. */
    RAMBlock *first;
    uint64_t created;
    ram_addr_t test_offset; /* 0: none */
    /* Guarded by the BQL. */
    bool dump_default;
    /* Atomic. */
    _Atomic unsigned version;
} ram_list = { .lock = { PTHREAD_MUTEX_INITIALIZER } };

/* The list's public face has no lock type to name: unchecked. */
void TSA_NO_CHECK qemu_ram_list_lock(void)
{
    qemu_mutex_lock(&ram_list.lock);
}

void TSA_NO_CHECK qemu_ram_list_unlock(void)
{
    qemu_mutex_unlock(&ram_list.lock);
}

RAMBlock *TSA_NO_CHECK qemu_ram_list_next_locked(RAMBlock *rb)
{
    return rb ? rb->next : ram_list.first;
}

unsigned qemu_ram_list_version(void)
{
    return atomic_load_explicit(&ram_list.version, memory_order_acquire);
}

/* --- making and freeing -------------------------------------------------- */

static const char *block_label(MemoryRegion *mr)
{
    return mr && mr->name ? mr->name : "(unnamed)";
}

/*
 * The lowest aligned gap of @length bytes. The list is short and not sorted
 * by offset; so try 0 and the end of each block.
 */
static ram_addr_t find_offset_locked(ram_addr_t length)
{
    ram_addr_t best = RAM_ADDR_INVALID;
    RAMBlock *end_of = NULL;

    do {
        ram_addr_t start = 0;
        bool fits = true;
        RAMBlock *rb;

        if (end_of) {
            start = ROUND_UP(end_of->offset + end_of->max_length,
                             RAM_OFFSET_ALIGN);
        }
        RAMBLOCK_FOREACH (rb) {
            /* Keep whole words apart: compare with rounded neighbours. */
            ram_addr_t lo = ROUND_DOWN(rb->offset, RAM_OFFSET_ALIGN);
            ram_addr_t hi = ROUND_UP(rb->offset + rb->max_length,
                                     RAM_OFFSET_ALIGN);

            if (start < hi && lo < start + length) {
                fits = false;
                break;
            }
        }
        if (fits) {
            best = MIN(best, start);
        }
        end_of = qemu_ram_list_next_locked(end_of);
    } while (end_of);

    assert(best != RAM_ADDR_INVALID);
    return best;
}

static void list_insert_locked(RAMBlock *rb)
{
    RAMBlock **link = &ram_list.first;

    while (*link && (*link)->max_length >= rb->max_length) {
        link = &(*link)->next;
    }
    rb->next = *link;
    *link = rb;
    atomic_fetch_add_explicit(&ram_list.version, 1, memory_order_release);
}

/* With the flags of ram-block.h, in this file: @fd came by a name. */
#define FOREIGN_FD (UINT32_C(1) << 31)

/* Takes over the mapping, and @fd on success. */
static RAMBlock *block_new(const RAMMapping *map, ram_addr_t used,
                           ram_addr_t max, uint32_t ram_flags, int fd,
                           uint64_t fd_offset, MemoryRegion *mr, Error **errp)
{
    RAMBlock *rb = g_new0(RAMBlock, 1);
    struct stat st;
    uint64_t pages;

    rb->host = map->host;
    rb->map_base = map->base;
    rb->map_length = map->length;
    rb->page_size = map->page_size;
    rb->max_length = max;
    rb->flags = ram_flags & ~FOREIGN_FD;
    rb->fd_is_foreign = ram_flags & FOREIGN_FD;
    rb->fd = fd;
    rb->fd_offset = fd_offset;
    rb->fd_is_nameless = fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink == 0;
    rb->fd_tells_holes = ram_fd_tells_holes(fd);
    rb->mr = mr;
    if (rb->map_base) {
        qemu_ram_set_dumpable(rb, ram_list.dump_default);
    }
    atomic_init(&rb->used_length, used);
    atomic_init(&rb->refcount, 1);

    WITH_QEMU_LOCK_GUARD(&ram_list.lock)
    {
        if (ram_list.test_offset) {
            rb->offset = ram_list.test_offset;
            ram_list.test_offset = 0;
        } else {
            rb->offset = find_offset_locked(max);
        }
        rb->created = ram_list.created++;
        rb->dirty_phase = (rb->offset >> DIRTY_PAGE_BITS) % BITS_PER_WORD;
        pages = max >> DIRTY_PAGE_BITS;
        for (int i = 0; i < DIRTY_MEMORY_NUM; i++) {
            rb->dirty[i] = bitmap_new(rb->dirty_phase + pages);
            if (i != DIRTY_MEMORY_CODE) {
                rb->summary[i] = bitmap_new(
                    summary_bits(rb->dirty_phase + pages));
            }
        }
        bitmap_set(rb->dirty[DIRTY_MEMORY_VGA], rb->dirty_phase, pages);
        summary_mark(rb->summary[DIRTY_MEMORY_VGA], rb->dirty_phase, pages);
        bitmap_set(rb->dirty[DIRTY_MEMORY_CODE], rb->dirty_phase, pages);
        list_insert_locked(rb);
    }
    ram_sigbus_init();
    ram_holes_init();
    if (fd >= 0) {
        own_files_guard();
    }
    if (!dirty_log_block_added(rb, errp)) {
        rb->fd = -1; /* stays the caller's */
        qemu_ram_free(rb);
        return NULL;
    }
    return rb;
}

static RAMBlock *alloc_mapped(ram_addr_t used, ram_addr_t max, uint64_t align,
                              uint32_t ram_flags, int fd, uint64_t fd_offset,
                              MemoryRegion *mr, Error **errp)
{
    ERRP_GUARD();
    RAMMapping map;

    if (!ram_map(&map, max, align, ram_flags, fd, fd_offset, errp)) {
        error_prepend(errp, "RAM block '%s': ", block_label(mr));
        return NULL;
    }
    return block_new(&map, used, max, ram_flags, fd, fd_offset, mr, errp);
}

static bool (*fixed_hook)(void);

void qemu_ram_set_fixed_hook(bool (*fixed)(void))
{
    fixed_hook = fixed;
}

bool qemu_ram_is_fixed(void)
{
    return fixed_hook && fixed_hook();
}

static bool check_size(ram_addr_t *size, MemoryRegion *mr, Error **errp)
{
    if (qemu_ram_is_fixed()) {
        error_setg(errp,
                   "RAM block '%s' cannot be created while a migration is "
                   "under way",
                   block_label(mr));
        return false;
    }
    if (*size == 0 || *size > (UINT64_C(1) << 56)) {
        error_setg(errp, "RAM block '%s': impossible size of %" PRIu64 " bytes",
                   block_label(mr), *size);
        return false;
    }
    *size = ROUND_UP(*size, DIRTY_PAGE_SIZE);
    return true;
}

RAMBlock *qemu_ram_alloc(ram_addr_t size, uint32_t ram_flags, MemoryRegion *mr,
                         Error **errp)
{
    RAMBlock *rb;
    int fd = -1;

    assert(!(ram_flags & ~(RAM_SHARED | RAM_NORESERVE)));
    if (!check_size(&size, mr, errp)) {
        return NULL;
    }
    if (ram_flags & RAM_SHARED) {
        fd = ram_create_memfd(block_label(mr), size, false, 0, true, errp);
        if (fd < 0) {
            return NULL;
        }
    }
    rb = alloc_mapped(size, size, 0, ram_flags, fd, 0, mr, errp);
    if (!rb && fd >= 0) {
        close(fd);
    }
    return rb;
}

RAMBlock *qemu_ram_alloc_from_ptr(ram_addr_t size, void *host, MemoryRegion *mr,
                                  Error **errp)
{
    RAMMapping map = { .host = host, .page_size = getpagesize() };

    if (size % DIRTY_PAGE_SIZE) {
        error_setg(errp,
                   "RAM block '%s': memory of the caller's must be whole pages",
                   block_label(mr));
        return NULL;
    }
    if (!check_size(&size, mr, errp)) {
        return NULL;
    }
    return block_new(&map, size, size, RAM_PREALLOC, -1, 0, mr, errp);
}

RAMBlock *qemu_ram_alloc_resizeable(ram_addr_t used, ram_addr_t max,
                                    MemoryRegion *mr, Error **errp)
{
    if (!check_size(&used, mr, errp) || !check_size(&max, mr, errp)) {
        return NULL;
    }
    assert(used <= max);
    return alloc_mapped(used, max, 0, RAM_RESIZEABLE, -1, 0, mr, errp);
}

/* Have the file hold [offset, offset + size), growing it only from nothing. */
static bool check_file_size(int fd, uint64_t offset, uint64_t size,
                            uint32_t ram_flags, Error **errp)
{
    struct stat st;

    if (fstat(fd, &st) < 0) {
        error_setg_errno(errp, errno, "cannot stat memory file");
        return false;
    }
    if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size >= offset + size) {
        return true;
    }
    if (st.st_size != 0 || ram_flags & RAM_READONLY_FD) {
        error_setg(errp,
                   "memory file of 0x%" PRIx64
                   " bytes is too short for 0x%" PRIx64
                   " bytes at offset 0x%" PRIx64,
                   (uint64_t)st.st_size, size, offset);
        return false;
    }
    if (ftruncate(fd, offset + size) < 0) {
        error_setg_errno(errp, errno,
                         "cannot grow memory file to 0x%" PRIx64 " bytes",
                         offset + size);
        return false;
    }
    return true;
}

static RAMBlock *alloc_from_fd(ram_addr_t size, uint64_t align,
                               uint32_t ram_flags, int fd, uint64_t fd_offset,
                               MemoryRegion *mr, Error **errp)
{
    ERRP_GUARD();
    size_t page_size = ram_fd_page_size(fd);

    if (!check_size(&size, mr, errp)) {
        return NULL;
    }
    if (size % page_size || fd_offset % page_size) {
        error_setg(errp,
                   "RAM block '%s': size 0x%" PRIx64 " and offset 0x%" PRIx64
                   " must be multiples of the page size 0x%zx",
                   block_label(mr), size, fd_offset, page_size);
        return NULL;
    }
    if (!check_file_size(fd, fd_offset, size, ram_flags, errp)) {
        error_prepend(errp, "RAM block '%s': ", block_label(mr));
        return NULL;
    }
    return alloc_mapped(size, size, align, ram_flags, fd, fd_offset, mr, errp);
}

RAMBlock *qemu_ram_alloc_from_fd(ram_addr_t size, uint32_t ram_flags, int fd,
                                 uint64_t fd_offset, MemoryRegion *mr,
                                 Error **errp)
{
    return alloc_from_fd(size, 0, ram_flags, fd, fd_offset, mr, errp);
}

RAMBlock *qemu_ram_alloc_from_file(ram_addr_t size, uint64_t align,
                                   uint32_t ram_flags, const char *path,
                                   uint64_t fd_offset, MemoryRegion *mr,
                                   Error **errp)
{
    /* In a directory we make a file that only we have. */
    uint32_t foreign = g_file_test(path, G_FILE_TEST_IS_DIR) ? 0 : FOREIGN_FD;
    RAMBlock *rb;
    int fd = ram_open_file(path, ram_flags, errp);

    if (fd < 0) {
        return NULL;
    }
    rb = alloc_from_fd(size, align, ram_flags | foreign, fd, fd_offset, mr,
                       errp);
    if (!rb) {
        close(fd);
    }
    return rb;
}

void qemu_ram_set_next_offset_for_test(ram_addr_t offset)
{
    QEMU_LOCK_GUARD(&ram_list.lock);
    ram_list.test_offset = ROUND_DOWN(offset, DIRTY_PAGE_SIZE);
}

void qemu_ram_free(RAMBlock *rb)
{
    ram_plug_block_removed(rb);
    dirty_log_block_removed(rb);
    WITH_QEMU_LOCK_GUARD(&ram_list.lock)
    {
        RAMBlock **link = &ram_list.first;

        while (*link != rb) {
            link = &(*link)->next;
        }
        *link = rb->next;
        rb->next = NULL;
        rb->mr = NULL;
        atomic_fetch_add_explicit(&ram_list.version, 1, memory_order_release);
    }
    qemu_ram_unref(rb);
}

RAMBlock *qemu_ram_ref(RAMBlock *rb)
{
    atomic_fetch_add_explicit(&rb->refcount, 1, memory_order_relaxed);
    return rb;
}

void qemu_ram_unref(RAMBlock *rb)
{
    /* acq_rel: the last one sees what all others did with the memory. */
    if (atomic_fetch_sub_explicit(&rb->refcount, 1, memory_order_acq_rel) !=
        1) {
        return;
    }
    if (rb->map_base) {
        ram_unmap(rb->map_base, rb->map_length);
    }
    if (rb->fd >= 0) {
        close(rb->fd);
    }
    for (int i = 0; i < DIRTY_MEMORY_NUM; i++) {
        g_free(rb->dirty[i]);
        g_free(rb->summary[i]);
    }
    g_free(rb);
}

/* --- names and facts ------------------------------------------------------ */

static RAMBlock *find_by_name_locked(const char *idstr)
{
    RAMBlock *rb;

    RAMBLOCK_FOREACH (rb) {
        if (rb->idstr[0] && strcmp(rb->idstr, idstr) == 0) {
            return rb;
        }
    }
    return NULL;
}

bool qemu_ram_set_idstr(RAMBlock *rb, const char *name, Error **errp)
{
    size_t length = strlen(name);
    RAMBlock *other;

    if (length == 0 || length >= sizeof(rb->idstr)) {
        error_setg(errp, "RAM block name '%s' must have 1 to %zu characters",
                   name, sizeof(rb->idstr) - 1);
        return false;
    }
    QEMU_LOCK_GUARD(&ram_list.lock);
    other = find_by_name_locked(name);
    if (other && other != rb) {
        error_setg(errp, "there is a RAM block '%s' already", name);
        return false;
    }
    memcpy(rb->idstr, name, length + 1);
    return true;
}

void qemu_ram_unset_idstr(RAMBlock *rb)
{
    QEMU_LOCK_GUARD(&ram_list.lock);
    rb->idstr[0] = '\0';
}

void qemu_ram_set_migratable(RAMBlock *rb, bool migratable)
{
    QEMU_LOCK_GUARD(&ram_list.lock);
    rb->migratable = migratable;
}

const char *qemu_ram_get_idstr(const RAMBlock *rb)
{
    return rb->idstr;
}

bool qemu_ram_is_migratable(const RAMBlock *rb)
{
    return rb->migratable;
}

void *qemu_ram_get_host_addr(const RAMBlock *rb)
{
    return rb->host;
}

ram_addr_t qemu_ram_get_offset(const RAMBlock *rb)
{
    return rb->offset;
}

ram_addr_t qemu_ram_get_used_length(const RAMBlock *rb)
{
    return atomic_load_explicit(&rb->used_length, memory_order_acquire);
}

ram_addr_t qemu_ram_get_max_length(const RAMBlock *rb)
{
    return rb->max_length;
}

size_t qemu_ram_pagesize(const RAMBlock *rb)
{
    return rb->page_size;
}

uint32_t qemu_ram_get_flags(const RAMBlock *rb)
{
    return rb->flags;
}

bool qemu_ram_is_shared(const RAMBlock *rb)
{
    return rb->flags & RAM_SHARED;
}

bool qemu_ram_is_noreserve(const RAMBlock *rb)
{
    return rb->flags & RAM_NORESERVE;
}

bool qemu_ram_is_readonly(const RAMBlock *rb)
{
    return rb->flags & RAM_READONLY;
}

bool qemu_ram_has_other_writers(const RAMBlock *rb)
{
    return (rb->flags & RAM_SHARED) &&
           (!rb->fd_is_nameless || rb->fd_is_foreign);
}

int qemu_ram_get_fd(const RAMBlock *rb)
{
    return rb->fd;
}

uint64_t qemu_ram_get_fd_offset(const RAMBlock *rb)
{
    return rb->fd_offset;
}

MemoryRegion *qemu_ram_get_mr(const RAMBlock *rb)
{
    return rb->mr;
}

hwaddr qemu_ram_get_guest_addr(const RAMBlock *rb)
{
    return rb->mr ? rb->mr->addr : 0;
}

void qemu_ram_set_mergeable(RAMBlock *rb, bool mergeable)
{
    rb->unmergeable = !mergeable;
}

bool qemu_ram_is_mergeable(const RAMBlock *rb)
{
    return !rb->unmergeable;
}

void qemu_ram_set_dump_default(bool dumpable)
{
    ram_list.dump_default = dumpable;
}

bool qemu_ram_dump_default(void)
{
    return ram_list.dump_default;
}

void ram_advise_dump(const RAMBlock *rb, void *addr, size_t length)
{
    madvise(addr, length, rb->undumpable ? MADV_DONTDUMP : MADV_DODUMP);
}

void qemu_ram_set_dumpable(RAMBlock *rb, bool dumpable)
{
    rb->undumpable = !dumpable;
    ram_advise_dump(rb, rb->host, rb->max_length);
}

bool qemu_ram_is_dumpable(const RAMBlock *rb)
{
    return !rb->undumpable;
}

bool qemu_ram_is_populated_at_start(const RAMBlock *rb)
{
    return atomic_load(&rb->populated_at_start);
}

void *qemu_ram_get_migration_state(const RAMBlock *rb)
{
    return atomic_load_explicit(&rb->migration_state, memory_order_acquire);
}

void qemu_ram_set_migration_state(RAMBlock *rb, void *state)
{
    atomic_store_explicit(&rb->migration_state, state, memory_order_release);
}

/* --- the list ------------------------------------------------------------- */

int qemu_ram_foreach_block(RAMBlockIterFunc *func, void *opaque)
{
    RAMBlock *rb;
    int ret = 0;

    QEMU_LOCK_GUARD(&ram_list.lock);
    RAMBLOCK_FOREACH (rb) {
        ret = func(rb, opaque);
        if (ret) {
            break;
        }
    }
    return ret;
}

GPtrArray *qemu_ram_blocks_snapshot(void)
{
    GPtrArray *blocks = g_ptr_array_new_with_free_func(
        (GDestroyNotify)qemu_ram_unref);
    RAMBlock *rb;

    QEMU_LOCK_GUARD(&ram_list.lock);
    RAMBLOCK_FOREACH (rb) {
        g_ptr_array_add(blocks, qemu_ram_ref(rb));
    }
    return blocks;
}

RAMBlock *qemu_ram_block_by_name(const char *idstr)
{
    QEMU_LOCK_GUARD(&ram_list.lock);
    return find_by_name_locked(idstr);
}

RAMBlock *qemu_get_ram_block(ram_addr_t addr)
{
    RAMBlock *rb;

    QEMU_LOCK_GUARD(&ram_list.lock);
    RAMBLOCK_FOREACH (rb) {
        if (addr >= rb->offset && addr - rb->offset < rb->max_length) {
            return rb;
        }
    }
    return NULL;
}

static RAMBlock *block_from_host_locked(const uint8_t *host, ram_addr_t *offset)
    TSA_REQUIRES(ram_list.lock)
{
    RAMBlock *rb;

    RAMBLOCK_FOREACH (rb) {
        if (host >= rb->host && (uint64_t)(host - rb->host) < rb->max_length) {
            *offset = host - rb->host;
            return rb;
        }
    }
    return NULL;
}

RAMBlock *qemu_ram_block_from_host(const void *ptr, ram_addr_t *offset)
{
    QEMU_LOCK_GUARD(&ram_list.lock);
    return block_from_host_locked(ptr, offset);
}

RAMBlock *ram_block_from_host_try(const void *ptr, ram_addr_t *offset)
{
    RAMBlock *rb;

    for (unsigned tries = 0; !qemu_mutex_trylock(&ram_list.lock); tries++) {
        if (tries == TRIES_IN_SIGNAL) {
            return NULL;
        }
        sched_yield();
    }
    rb = block_from_host_locked(ptr, offset);
    qemu_mutex_unlock(&ram_list.lock);
    return rb;
}

uint64_t qemu_ram_bytes_total(void)
{
    uint64_t total = 0;
    RAMBlock *rb;

    QEMU_LOCK_GUARD(&ram_list.lock);
    RAMBLOCK_FOREACH (rb) {
        total += qemu_ram_get_used_length(rb);
    }
    return total;
}
