/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Batches of the reaper: see dirty-batch.h. */
#include "qemu/osdep.h"

#include "dirty-batch.h"

static void batch_free(Batch *b)
{
    g_ptr_array_unref(b->rings);
    g_free(b->pages);
    g_free(b);
}

Batch *batch_get(Batches *bs, uint32_t cap)
{
    Batch *b = bs->spare;

    if (b) {
        bs->spare = b->next;
        if (b->cap == cap) {
            return b;
        }
        batch_free(b);
    }
    b = g_new0(Batch, 1);
    b->cap = cap;
    b->pages = g_new(DirtyPage, cap);
    b->rings = g_ptr_array_new();
    return b;
}

void batch_put(Batches *bs, Batch *b)
{
    b->next = bs->spare;
    bs->spare = b;
}

void batch_free_spare(Batches *bs)
{
    while (bs->spare) {
        Batch *b = bs->spare;

        bs->spare = b->next;
        batch_free(b);
    }
}

void batch_take_off(Batches *bs, Batch *b)
{
    b->number = ++bs->last_number;
    b->next = bs->in_flight;
    bs->in_flight = b;
}

void batch_land(Batches *bs, Batch *b)
{
    Batch **link = &bs->in_flight;

    while (*link != b) {
        link = &(*link)->next;
    }
    *link = b->next;
    g_ptr_array_set_size(b->rings, 0);
    b->nr = b->nr_unreset = 0;
    qemu_cond_broadcast(&bs->landed);
}

static bool has_pages_of(const Batch *b, const BatchRange *range)
{
    if (!range->rb) {
        return true;
    }
    for (uint32_t i = 0; i < b->nr; i++) {
        const DirtyPage *p = &b->pages[i];

        if (p->rb == range->rb && p->page >= range->first &&
            p->page < range->end) {
            return true;
        }
    }
    return false;
}

static bool is_awaited(const Batches *bs, const BatchRange *range,
                       uint64_t last_number)
{
    for (const Batch *b = bs->in_flight; b; b = b->next) {
        if (b->number <= last_number && has_pages_of(b, range)) {
            return true;
        }
    }
    return false;
}

void batch_wait(Batches *bs, QemuMutex *lock, const BatchRange *range)
{
    uint64_t last_number = bs->last_number;

    while (is_awaited(bs, range, last_number)) {
        qemu_cond_wait(&bs->landed, lock);
    }
}
