/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages that the host could not give: see qemu_ram_mend() in ram-block.h.
 *
 * 1  SIGBUS in an access that is not guarded, by a vCPU say: the handler maps
 *    an anonymous page there, notes it in a table and wakes the main loop. The
 *    access is repeated and goes on. Of a hole the content is right: zero.
 * 2  The main loop stops the VM, says which block it was, and marks the page
 *    dirty in every bitmap.
 * 3  `cont` puts the page of the file back and copies the content; if there is
 *    still no memory for it, the stand-in returns and `cont` fails.
 *
 * Where the file ends before the page, or the host's memory there is broken,
 * what was there is lost: the VM can never go on, nor migrate.
 *
 * Who can repeat the access (KVM) needs no page that stands in: it is noted by
 * qemu_ram_touch(), and `cont` looks whether it is to be had.
 */
#include "qemu/osdep.h"

#include <glib-unix.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "qemu/error.h"
#include "qemu/tsan.h"

#include "ram-block-internal.h"

#define MAX_PLUGS 1024

typedef struct RamPlug {
    RAMBlock *rb;
    ram_addr_t offset;
    _Atomic bool ready; /* written last by the handler; read by the main loop */
    /* Before `ready`. */
    bool bare;   /* no page stands in */
    bool broken; /* the host's memory */
    /* BQL. */
    bool lost, told;
} RamPlug;

/* Singleton: a signal handler has no other way to find it. */
static struct {
    RamPlug list[MAX_PLUGS];
    _Atomic unsigned n;
    int wake; /* eventfd; constant after ram_plug_init() */
    void (*stop)(bool lost);
} plugs = { .wake = -1 };

/* ------------------------------------------------- in the signal handler */

static uint8_t *map_stand_in(RAMBlock *rb, ram_addr_t offset)
{
    uint8_t *at = mmap(rb->host + offset, rb->page_size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

    if (at == MAP_FAILED) {
        return NULL;
    }
    ram_advise_dump(rb, at, rb->page_size);
    return at;
}

/* NULL: there are too many. */
static RamPlug *take_entry(void)
{
    unsigned i = atomic_load(&plugs.n);

    do {
        if (i >= MAX_PLUGS) {
            return NULL;
        }
    } while (!atomic_compare_exchange_weak(&plugs.n, &i, i + 1));
    return &plugs.list[i];
}

bool ram_plug(const void *addr, bool broken)
{
    const uint64_t one = 1;
    ram_addr_t offset;
    RAMBlock *rb = ram_block_from_host_try(addr, &offset);
    RamPlug *p;

    if (!rb || (rb->fd < 0 && !broken) || plugs.wake < 0) {
        return false;
    }
    p = take_entry();
    offset = QEMU_ALIGN_DOWN(offset, rb->page_size);
    if (!p || !map_stand_in(rb, offset)) {
        return false;
    }
    p->rb = rb;
    p->offset = offset;
    p->broken = broken;
    atomic_store(&p->ready, true); /* with tell_new() */
    return write(plugs.wake, &one, sizeof(one)) == sizeof(one);
}

bool ram_plug_any(void)
{
    return atomic_load(&plugs.n) != 0;
}

/* ------------------------------------------------------- with the BQL */

static bool file_ends_before(const RamPlug *p)
{
    struct stat st;

    return fstat(p->rb->fd, &st) < 0 ||
           (uint64_t)st.st_size <= p->rb->fd_offset + p->offset;
}

static void tell(RamPlug *p)
{
    p->told = true;
    p->lost = p->broken || file_ends_before(p);
    if (plugs.stop) {
        plugs.stop(p->lost);
    }
    if (!p->bare) {
        ram_block_set_dirty(p->rb, p->offset, p->rb->page_size,
                            DIRTY_CLIENTS_ALL);
    }
    error_report(p->broken ? "the host's memory for RAM block '%s' at offset "
                             "0x%" PRIx64 " is broken: what the guest had "
                             "there is lost, it cannot go on"
                 : p->lost
                     ? "the file of RAM block '%s' ends before offset "
                       "0x%" PRIx64 ": what the guest had there is lost, "
                       "it cannot go on"
                     : "the host has no memory for RAM block '%s' at "
                       "offset 0x%" PRIx64 " (file system or pool of huge "
                       "pages full): the guest is stopped, 'cont' lets it "
                       "run when there is some",
                 p->rb->idstr, p->offset);
}

static gboolean tell_new(gint fd, GIOCondition cond, gpointer opaque)
{
    uint64_t count;
    unsigned n;

    if (read(fd, &count, sizeof(count)) < 0) {
        return G_SOURCE_CONTINUE;
    }
    n = MIN(atomic_load(&plugs.n), MAX_PLUGS);
    for (unsigned i = 0; i < n; i++) {
        if (atomic_load(&plugs.list[i].ready) && !plugs.list[i].told) {
            tell(&plugs.list[i]);
        }
    }
    return G_SOURCE_CONTINUE;
}

/* The thread sanitizer's own would keep a lock of it when SIGBUS comes. */
static void TSAN_UNCHECKED touch_byte(void *opaque)
{
    __atomic_fetch_or((uint8_t *)opaque, 0, __ATOMIC_SEQ_CST);
}

static RamPlug *find_noted(const RAMBlock *rb, ram_addr_t offset)
{
    unsigned n = MIN(atomic_load(&plugs.n), MAX_PLUGS);

    for (unsigned i = 0; i < n; i++) {
        RamPlug *p = &plugs.list[i];

        if (atomic_load(&p->ready) && p->rb == rb && p->offset == offset) {
            return p;
        }
    }
    return NULL;
}

bool qemu_ram_touch(RAMBlock *rb, ram_addr_t offset)
{
    RamPlug *p;

    if (ram_access_try(touch_byte, rb->host + offset, NULL)) {
        return true;
    }
    offset = QEMU_ALIGN_DOWN(offset, rb->page_size);
    p = find_noted(rb, offset);
    if (!p) {
        p = take_entry();
        if (!p) {
            return true; /* it will be missing again */
        }
        p->rb = rb;
        p->offset = offset;
        p->bare = true;
        atomic_store(&p->ready, true);
    }
    tell(p);
    return false;
}

void ram_plug_init(void)
{
    plugs.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (plugs.wake >= 0) {
        g_unix_fd_add(plugs.wake, G_IO_IN, tell_new, NULL);
    }
}

void qemu_ram_set_plug_hook(void (*stop)(bool lost))
{
    plugs.stop = stop;
}

/* --------------------------------------------------------- mending */

typedef struct Content {
    uint8_t *to;
    const uint8_t *from;
    size_t bytes;
} Content;

static void copy_content(void *opaque)
{
    Content *c = opaque;

    memcpy(c->to, c->from, c->bytes);
}

static bool put_back(RamPlug *p, Error **errp)
{
    RAMBlock *rb = p->rb;
    uint8_t *at = rb->host + p->offset;
    g_autofree uint8_t *kept = p->bare ? NULL : g_memdup2(at, rb->page_size);
    Content c = { .to = at, .from = kept, .bytes = rb->page_size };
    int flags = MAP_FIXED | (rb->flags & RAM_SHARED ? MAP_SHARED : MAP_PRIVATE);

    if (p->bare) {
        return ram_access_try(touch_byte, at, errp);
    }
    if (rb->pagemap) {
        error_setg(errp,
                   "RAM block '%s' is tracked by 'pagemap'; stop that "
                   "first",
                   rb->idstr);
        return false;
    }
    if (mmap(at, rb->page_size, PROT_READ | PROT_WRITE, flags, rb->fd,
             rb->fd_offset + p->offset) == MAP_FAILED) {
        error_setg_errno(errp, errno, "cannot map RAM block '%s'", rb->idstr);
        return false;
    }
    madvise(at, rb->page_size, MADV_DONTFORK);
    ram_advise_dump(rb, at, rb->page_size);
    if (ram_access_try(copy_content, &c, errp)) {
        ram_block_set_dirty(rb, p->offset, rb->page_size, DIRTY_CLIENTS_ALL);
        return true;
    }
    /* It was an anonymous page before: there is memory for one. */
    if (map_stand_in(rb, p->offset)) {
        memcpy(at, kept, rb->page_size);
    }
    return false;
}

bool qemu_ram_check_intact(Error **errp)
{
    unsigned n = MIN(atomic_load(&plugs.n), MAX_PLUGS);

    for (unsigned i = 0; i < n; i++) {
        const RamPlug *p = &plugs.list[i];

        if (p->lost) {
            error_setg(errp,
                       "the content of RAM block '%s' at offset 0x%" PRIx64
                       " is lost",
                       p->rb->idstr, p->offset);
            return false;
        }
    }
    return true;
}

bool qemu_ram_mend(Error **errp)
{
    unsigned n = MIN(atomic_load(&plugs.n), MAX_PLUGS);

    if (!qemu_ram_check_intact(errp)) {
        return false;
    }
    while (n > 0) {
        RamPlug *p = &plugs.list[n - 1];

        /* Not ready: the handler could not map; the process is ending. */
        if (atomic_load(&p->ready) && !put_back(p, errp)) {
            return false;
        }
        *p = (RamPlug){ 0 };
        atomic_store(&plugs.n, --n);
    }
    return true;
}

void ram_plug_block_removed(const RAMBlock *rb)
{
    unsigned n = MIN(atomic_load(&plugs.n), MAX_PLUGS), left = 0;

    for (unsigned i = 0; i < n; i++) {
        if (plugs.list[i].rb != rb) {
            plugs.list[left++] = plugs.list[i];
        }
    }
    for (unsigned i = left; i < n; i++) {
        plugs.list[i] = (RamPlug){ 0 }; /* the handler fills what is empty */
    }
    atomic_store(&plugs.n, left);
}
