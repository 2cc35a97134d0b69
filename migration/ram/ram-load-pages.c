/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See ram-load-pages.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/thread.h"

#include "ram/ram-load-pages.h"

/* What is copied in at once, at most. */
#define RUN_PAGES 64
/* Pages that wait for the thread, those that are being gathered included. */
#define QUEUE_PAGES 512
/* Buffers beside that of the stream: all that can be waited for. */
#define SPARE_BUFFERS 4
/* Less is not worth waking a thread. */
#define HAND_OVER_BYTES (16 * 4096)
/*
 * When a buffer held less, the channel had no more for now. As long as there
 * is work for the thread, reading on at once would only be to sleep and wake
 * for each piece that the source puts in.
 */
#define EMPTIED_BYTES (QEMU_FILE_BUFFER_BYTES / 2)

/* The bytes of a page, still in a stream's buffer. */
typedef struct Page {
    RAMBlock *rb;
    ram_addr_t offset;
    struct iovec bytes;
} Page;

/* May be read into again when the pages before @until are in memory. */
typedef struct Spare {
    uint8_t *mem;
    uint64_t until;
} Spare;

/* Singleton, as the section that it belongs to. */
static struct {
    /* Who takes pages. They are numbered; queue[n % QUEUE_PAGES]. */
    uint64_t taken;         /* pages before this */
    uint64_t room;          /* the queue has place for those before this */
    uint64_t mapped;        /* those before this are in the page table */
    uint64_t handed;        /* those before this are not the taker's */
    size_t gathered_bytes;  /* from handed to taken */
    uint64_t current_until; /* as Spare, of the stream's own buffer */
    size_t current_bytes;   /* of pages in it */
    Spare spares[SPARE_BUFFERS];
    unsigned nr_spares;
    bool thread_exists, no_thread;
    QemuThread thread;
    uint64_t by_caller;

    /* Of a page that is ready and not done: the thread; else the taker. */
    Page queue[QUEUE_PAGES];

    QemuMutex lock;
    QemuCond more, fewer;
    /* Guarded by the lock. */
    uint64_t ready, done; /* pages before these are */
    uint64_t wanted;      /* the taker sleeps until so many are done */
    uint64_t by_thread;
    bool asleep; /* the thread */
    bool quit;
    Error *err; /* of the first that failed; no later one is written */
} pages;

static Page *page_of(uint64_t number)
{
    return &pages.queue[number % QUEUE_PAGES];
}

/*
 * How many pages follow one another from @from on, RUN_PAGES at most. @iov: gets
 * their bytes; @length: how many these are.
 */
static unsigned run_at(uint64_t from, uint64_t to, struct iovec *iov,
                       size_t *length)
{
    Page *first = page_of(from);
    unsigned n = 0;

    *length = 0;
    while (n < RUN_PAGES && from + n < to) {
        Page *p = page_of(from + n);

        if (p->rb != first->rb || p->offset != first->offset + *length) {
            break;
        }
        iov[n++] = p->bytes;
        *length += p->bytes.iov_len;
    }
    return n;
}

/* Copy in a run. Returns its number of pages. */
static unsigned write_run(uint64_t from, uint64_t to, Error **errp)
{
    struct iovec iov[RUN_PAGES];
    size_t length;
    unsigned n = run_at(from, to, iov, &length);
    Page *first = page_of(from);

    ram_block_copy_in_pieces(first->rb, first->offset, iov, n, errp);
    return n;
}

/* ---- the thread ---- */

static void *write_pages(void *opaque)
{
    qemu_mutex_lock(&pages.lock);
    while (!pages.quit) {
        uint64_t from = pages.done, to = pages.ready;
        Error *err = NULL;
        bool wake;

        if (from == to) {
            pages.asleep = true;
            qemu_cond_wait(&pages.more, &pages.lock);
            pages.asleep = false;
            continue;
        }
        if (pages.err) {
            from = to;
        } else {
            qemu_mutex_unlock(&pages.lock);
            from += write_run(from, to, &err);
            qemu_mutex_lock(&pages.lock);
            pages.err = err;
            pages.by_thread++;
        }
        pages.done = from;
        wake = pages.wanted && (pages.err || pages.done >= pages.wanted);
        if (wake) {
            pages.wanted = 0;
            /* Who wakes finds the lock free. */
            qemu_mutex_unlock(&pages.lock);
            qemu_cond_signal(&pages.fewer);
            qemu_mutex_lock(&pages.lock);
        }
    }
    qemu_mutex_unlock(&pages.lock);
    return NULL;
}

/* Whether there is a thread to hand something to. */
static bool have_thread(void)
{
    if (!pages.thread_exists && !pages.no_thread) {
        /* Without one it is done by who reads, only later. */
        pages.thread_exists = g_get_num_processors() > 1 &&
                              qemu_thread_create(&pages.thread, "mig/dst/ram",
                                                 write_pages, NULL,
                                                 QEMU_THREAD_JOINABLE, NULL);
        pages.no_thread = !pages.thread_exists;
    }
    return pages.thread_exists;
}

/* ---- who takes pages ---- */

static uint64_t pages_done(void)
{
    QEMU_LOCK_GUARD(&pages.lock);

    return pages.done;
}

/*
 * Beside the thread, whose time is what counts: all pages before @number, which
 * are in memory.
 */
static bool map_done(uint64_t number, Error **errp)
{
    struct iovec iov[RUN_PAGES];
    size_t length;

    while (pages.mapped < number) {
        Page *p = page_of(pages.mapped);

        pages.mapped += run_at(pages.mapped, number, iov, &length);
        if (!ram_block_map_in(p->rb, p->offset, length, errp)) {
            return false;
        }
    }
    return true;
}

/* Wait until all pages before @number are in memory, or one has failed. */
static bool wait_done(uint64_t number, Error **errp)
{
    uint64_t done;

    WITH_QEMU_LOCK_GUARD(&pages.lock)
    {
        while (pages.done < number && !pages.err) {
            pages.wanted = number;
            qemu_cond_wait(&pages.fewer, &pages.lock);
        }
        if (pages.err) {
            error_propagate(errp, error_copy(pages.err));
            return false;
        }
        done = pages.done;
    }
    return map_done(done, errp);
}

static bool write_gathered(Error **errp)
{
    ERRP_GUARD();

    while (pages.handed < pages.taken && !*errp) {
        pages.handed += write_run(pages.handed, pages.taken, errp);
        pages.by_caller++;
    }
    WITH_QEMU_LOCK_GUARD(&pages.lock)
    {
        pages.ready = pages.done = pages.handed;
    }
    return !*errp && map_done(pages.handed, errp);
}

static void give_to_thread(void)
{
    bool asleep;

    WITH_QEMU_LOCK_GUARD(&pages.lock)
    {
        pages.ready = pages.taken;
        asleep = pages.asleep;
    }
    if (asleep) {
        qemu_cond_signal(&pages.more);
    }
    pages.handed = pages.current_until = pages.taken;
}

/* What was gathered: into memory, or to the thread. */
static bool hand_over(Error **errp)
{
    size_t bytes = pages.gathered_bytes;
    bool idle;

    if (pages.handed == pages.taken) {
        return true;
    }
    pages.gathered_bytes = 0;
    pages.current_bytes += bytes;
    idle = pages_done() == pages.handed;
    if ((!idle || bytes >= HAND_OVER_BYTES) && have_thread()) {
        give_to_thread();
        return true;
    }
    assert(idle);
    return write_gathered(errp);
}

/*
 * Another buffer for @f, since what is in its own is still needed. @before: the
 * first page that is.
 */
static bool change_buffer(QEMUFile *f, uint64_t before, Error **errp)
{
    Spare *s = &pages.spares[0];

    if (pages.nr_spares < SPARE_BUFFERS) {
        s = &pages.spares[pages.nr_spares++];
        *s = (Spare){ g_malloc(QEMU_FILE_BUFFER_BYTES), 0 };
    }
    for (unsigned i = 0; i < pages.nr_spares; i++) {
        if (pages.spares[i].until < s->until) {
            s = &pages.spares[i];
        }
    }
    if (pages.current_bytes >= EMPTIED_BYTES) {
        before = 0;
    } /* else what came last is enough to keep the thread busy for a while */
    if (!wait_done(MAX(s->until, before), errp)) {
        return false;
    }
    s->mem = qemu_file_swap_buffer(f, s->mem);
    s->until = pages.current_until;
    pages.current_until = 0;
    return true;
}

bool ram_pages_before_read(QEMUFile *f, size_t size, Error **errp)
{
    uint64_t before = pages.handed;
    bool ok = true;

    if (likely(qemu_file_buffered(f) >= size)) {
        return true;
    }
    if (!hand_over(errp)) {
        return false;
    }
    if (pages.current_until > pages_done()) {
        ok = change_buffer(f, before, errp);
    }
    pages.current_bytes = 0;
    return ok;
}

/* In the queue. */
static bool make_room(Error **errp)
{
    pages.room += QUEUE_PAGES / 2;
    return hand_over(errp) && wait_done(pages.room - QUEUE_PAGES, errp);
}

bool ram_pages_take(QEMUFile *f, RAMBlock *rb, ram_addr_t offset, size_t size,
                    Error **errp)
{
    uint8_t bounce[1 << 12], *buf = bounce;

    assert(size <= sizeof(bounce));
    if (!ram_pages_before_read(f, size, errp)) {
        return false;
    }
    if (unlikely(pages.taken == pages.room) && !make_room(errp)) {
        return false;
    }
    qemu_get_buffer_in_place(f, &buf, size);
    if (!qemu_file_check(f, errp)) {
        return false;
    }
    assert(buf != bounce); /* the file's buffer is larger than a page */
    *page_of(pages.taken++) = (Page){ rb, offset, { buf, size } };
    pages.gathered_bytes += size;
    return true;
}

bool ram_pages_settle(Error **errp)
{
    return hand_over(errp) && wait_done(pages.handed, errp);
}

void ram_pages_begin(void)
{
    static bool once;

    if (!once) {
        qemu_mutex_init(&pages.lock);
        qemu_cond_init(&pages.more);
        qemu_cond_init(&pages.fewer);
        once = true;
    }
    pages.no_thread = false;
    pages.room = QUEUE_PAGES;
}

void ram_pages_end(void)
{
    if (pages.thread_exists) {
        WITH_QEMU_LOCK_GUARD(&pages.lock)
        {
            pages.quit = true;
            qemu_cond_signal(&pages.more);
        }
        qemu_thread_join(&pages.thread);
        pages.thread_exists = pages.quit = false;
    }
    for (unsigned i = 0; i < pages.nr_spares; i++) {
        g_free(pages.spares[i].mem);
    }
    pages.nr_spares = 0;
    pages.taken = pages.mapped = pages.handed = pages.current_until = 0;
    pages.gathered_bytes = pages.current_bytes = 0;
    pages.ready = pages.done = pages.wanted = 0;
    error_free(pages.err);
    pages.err = NULL;
}

void ram_pages_counts(uint64_t *by_thread, uint64_t *by_caller)
{
    QEMU_LOCK_GUARD(&pages.lock);

    *by_thread = pages.by_thread;
    *by_caller = pages.by_caller;
}
