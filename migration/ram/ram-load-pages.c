/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See ram-load-pages.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/thread.h"

#include "ram/ram-load-pages.h"

#define BATCH_PAGES 64
/* Batches that wait for the thread, the one that is being filled included. */
#define QUEUE_LENGTH 8
/* Buffers beside that of the stream: all that can be waited for. */
#define SPARE_BUFFERS 4
/* Smaller batches are not worth waking a thread. */
#define HAND_OVER_BYTES (16 * 4096)

/* Pages that follow one another, their bytes still in a stream's buffer. */
typedef struct Batch {
    RAMBlock *rb;
    ram_addr_t offset;
    size_t bytes;
    unsigned n;
    struct iovec iov[BATCH_PAGES];
} Batch;

/* May be read into again when batch number @until is in memory. */
typedef struct Spare {
    uint8_t *mem;
    uint64_t until;
} Spare;

/* Singleton, as the section that it belongs to. */
static struct {
    /* Who takes pages. Batches are numbered; queue[n % QUEUE_LENGTH]. */
    uint64_t filling;       /* the batch that is being gathered */
    uint64_t current_until; /* as Spare, of the stream's own buffer */
    Spare spares[SPARE_BUFFERS];
    unsigned nr_spares;
    bool thread_exists, no_thread;
    QemuThread thread;
    uint64_t by_caller;

    /* Of a batch that is ready and not done: the thread; else the taker. */
    Batch queue[QUEUE_LENGTH];

    QemuMutex lock;
    QemuCond changed;
    /* Guarded by the lock. */
    uint64_t ready, done; /* batches before these are */
    uint64_t by_thread;
    bool quit;
    Error *err; /* of the first that failed; no later one is written */
} pages;

static Batch *batch_of(uint64_t number)
{
    return &pages.queue[number % QUEUE_LENGTH];
}

static bool write_batch(Batch *b, Error **errp)
{
    return ram_block_copy_in_pieces(b->rb, b->offset, b->iov, b->n, errp);
}

/* ---- the thread ---- */

static void *write_batches(void *opaque)
{
    qemu_mutex_lock(&pages.lock);
    while (!pages.quit) {
        Error *err = NULL;

        if (pages.done == pages.ready) {
            qemu_cond_wait(&pages.changed, &pages.lock);
            continue;
        }
        if (!pages.err) {
            Batch *b = batch_of(pages.done);

            qemu_mutex_unlock(&pages.lock);
            write_batch(b, &err);
            qemu_mutex_lock(&pages.lock);
            pages.err = err;
            pages.by_thread++;
        }
        pages.done++;
        qemu_cond_broadcast(&pages.changed);
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
                                                 write_batches, NULL,
                                                 QEMU_THREAD_JOINABLE, NULL);
        pages.no_thread = !pages.thread_exists;
    }
    return pages.thread_exists;
}

/* ---- who takes pages ---- */

/* Wait until all batches before @number are in memory, or one has failed. */
static bool wait_done(uint64_t number, Error **errp)
{
    QEMU_LOCK_GUARD(&pages.lock);

    while (pages.done < number && !pages.err) {
        qemu_cond_wait(&pages.changed, &pages.lock);
    }
    if (pages.err) {
        error_propagate(errp, error_copy(pages.err));
        return false;
    }
    return true;
}

static bool none_under_way(void)
{
    QEMU_LOCK_GUARD(&pages.lock);

    return pages.done == pages.filling;
}

/* What is gathered is complete: into memory, or to the thread. */
static bool close_batch(Error **errp)
{
    Batch *b = batch_of(pages.filling);
    bool idle, ok = true;

    if (b->n == 0) {
        return true;
    }
    idle = none_under_way();
    if ((!idle || b->bytes >= HAND_OVER_BYTES) && have_thread()) {
        QEMU_LOCK_GUARD(&pages.lock);
        pages.ready++;
        qemu_cond_broadcast(&pages.changed);
        pages.current_until = pages.ready;
    } else {
        assert(idle);
        ok = write_batch(b, errp);
        pages.by_caller++;
        QEMU_LOCK_GUARD(&pages.lock);
        pages.ready++;
        pages.done++;
    }
    pages.filling++;
    /* Room for the next one. */
    ok = ok && (pages.filling < QUEUE_LENGTH ||
                wait_done(pages.filling - QUEUE_LENGTH + 1, errp));
    batch_of(pages.filling)->n = 0;
    return ok;
}

/* Another buffer for @f, since what is in its own is still needed. */
static bool change_buffer(QEMUFile *f, Error **errp)
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
    if (!wait_done(s->until, errp)) {
        return false;
    }
    s->mem = qemu_file_swap_buffer(f, s->mem);
    s->until = pages.current_until;
    pages.current_until = 0;
    return true;
}

bool ram_pages_before_read(QEMUFile *f, size_t size, Error **errp)
{
    bool busy;

    if (likely(qemu_file_buffered(f) >= size)) {
        return true;
    }
    if (!close_batch(errp)) {
        return false;
    }
    WITH_QEMU_LOCK_GUARD(&pages.lock)
    {
        busy = pages.current_until > pages.done;
    }
    return !busy || change_buffer(f, errp);
}

bool ram_pages_take(QEMUFile *f, RAMBlock *rb, ram_addr_t offset, size_t size,
                    Error **errp)
{
    Batch *b = batch_of(pages.filling);
    uint8_t bounce[1 << 12], *buf = bounce;

    assert(size <= sizeof(bounce));
    if ((b->n == BATCH_PAGES || b->rb != rb ||
         b->offset + b->bytes != offset) &&
        !close_batch(errp)) {
        return false;
    }
    if (!ram_pages_before_read(f, size, errp)) {
        return false;
    }
    qemu_get_buffer_in_place(f, &buf, size);
    if (!qemu_file_check(f, errp)) {
        return false;
    }
    assert(buf != bounce); /* the file's buffer is larger than a page */
    b = batch_of(pages.filling);
    if (b->n == 0) {
        b->rb = rb;
        b->offset = offset;
        b->bytes = 0;
    }
    b->iov[b->n++] = (struct iovec){ buf, size };
    b->bytes += size;
    return true;
}

bool ram_pages_settle(Error **errp)
{
    return close_batch(errp) && wait_done(pages.filling, errp);
}

void ram_pages_begin(void)
{
    static bool once;

    if (!once) {
        qemu_mutex_init(&pages.lock);
        qemu_cond_init(&pages.changed);
        once = true;
    }
    pages.no_thread = false;
}

void ram_pages_end(void)
{
    if (pages.thread_exists) {
        WITH_QEMU_LOCK_GUARD(&pages.lock)
        {
            pages.quit = true;
            qemu_cond_broadcast(&pages.changed);
        }
        qemu_thread_join(&pages.thread);
        pages.thread_exists = pages.quit = false;
    }
    for (unsigned i = 0; i < pages.nr_spares; i++) {
        g_free(pages.spares[i].mem);
    }
    pages.nr_spares = 0;
    pages.filling = pages.ready = pages.done = pages.current_until = 0;
    batch_of(0)->n = 0;
    error_free(pages.err);
    pages.err = NULL;
}

void ram_pages_counts(uint64_t *by_thread, uint64_t *by_caller)
{
    QEMU_LOCK_GUARD(&pages.lock);

    *by_thread = pages.by_thread;
    *by_caller = pages.by_caller;
}
