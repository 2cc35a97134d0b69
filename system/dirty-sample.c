/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dirty sample: see dirty-sample.h for the contract. */
#include "qemu/osdep.h"

#include <sys/mman.h>

#include "dirty-sample.h"
#include "qemu/tsan.h"
#include "ram-block-internal.h"

#define GIB (UINT64_C(1) << 30)

typedef struct SampledPage {
    uint64_t offset; /* in its block */
    uint64_t sum;
} SampledPage;

typedef struct SampledBlock {
    RAMBlock *rb; /* referenced */
    uint64_t used_bytes;
    uint64_t nr_pages;
    SampledPage *pages;
} SampledBlock;

struct DirtySample {
    unsigned nr_blocks;
    SampledBlock *blocks;
};

/*
 * Each word changes the sum in a way that depends on all before it, so no two
 * contents that differ in one word have the same.
 */
static TSAN_UNCHECKED uint64_t checksum(const void *page)
{
    const uint64_t *word = page;
    uint64_t sum = 0;

    for (size_t i = 0; i < DIRTY_PAGE_SIZE / sizeof(*word); i++) {
        sum = (sum ^ word[i]) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return sum;
}

/* May the page hold anything? Reading a hole of a memfd would fill it. */
static bool is_populated(const RAMBlock *rb, uint64_t offset)
{
    unsigned char there = 1;

    if (rb->fd >= 0 && !(rb->flags & RAM_SHARED)) {
        return true; /* not mapped yet, it still shows the file */
    }
    return mincore(rb->host + offset, DIRTY_PAGE_SIZE, &there) < 0 ||
           (there & 1);
}

static uint64_t sum_of(const RAMBlock *rb, uint64_t offset)
{
    static const uint64_t zeros[DIRTY_PAGE_SIZE / sizeof(uint64_t)];

    return checksum(is_populated(rb, offset) ? (void *)(rb->host + offset)
                                             : zeros);
}

static void sample_block(SampledBlock *b, uint64_t pages_per_gib, GRand *rand)
{
    uint64_t in_block = b->used_bytes >> DIRTY_PAGE_BITS;

    b->nr_pages = (uint64_t)((double)pages_per_gib * (double)b->used_bytes /
                             (double)GIB);
    b->nr_pages = MIN(MAX(b->nr_pages, 1), in_block);
    b->pages = g_new(SampledPage, b->nr_pages);
    for (uint64_t i = 0; i < b->nr_pages; i++) {
        uint64_t page = (uint64_t)(g_rand_double(rand) * (double)in_block);

        b->pages[i].offset = MIN(page, in_block - 1) << DIRTY_PAGE_BITS;
        b->pages[i].sum = sum_of(b->rb, b->pages[i].offset);
    }
}

DirtySample *dirty_sample_take(uint64_t pages_per_gib)
{
    g_autoptr(GPtrArray) blocks = qemu_ram_blocks_snapshot();
    DirtySample *sample = g_new0(DirtySample, 1);
    GRand *rand = g_rand_new();

    sample->blocks = g_new0(SampledBlock, blocks->len);
    for (guint i = 0; i < blocks->len; i++) {
        RAMBlock *rb = blocks->pdata[i];
        SampledBlock *b = &sample->blocks[sample->nr_blocks];

        b->used_bytes = qemu_ram_get_used_length(rb);
        /* The guest cannot write to it, or there is nothing. */
        if (qemu_ram_is_readonly(rb) || b->used_bytes < DIRTY_PAGE_SIZE) {
            continue;
        }
        qemu_ram_ref(rb);
        b->rb = rb;
        sample_block(b, pages_per_gib, rand);
        sample->nr_blocks++;
    }
    g_rand_free(rand);
    return sample;
}

uint64_t dirty_sample_pages(const DirtySample *sample)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < sample->nr_blocks; i++) {
        n += sample->blocks[i].nr_pages;
    }
    return n;
}

/* Number of @b's sampled pages that are different now. */
static uint64_t compare_block(const SampledBlock *b)
{
    uint64_t used = qemu_ram_get_used_length(b->rb), n = 0;

    for (uint64_t i = 0; i < b->nr_pages; i++) {
        const SampledPage *p = &b->pages[i];

        n += p->offset + DIRTY_PAGE_SIZE <= used &&
             sum_of(b->rb, p->offset) != p->sum;
    }
    return n;
}

uint64_t dirty_sample_compare(const DirtySample *sample, uint64_t *pages)
{
    uint64_t all = 0;
    double bytes = 0;

    for (unsigned i = 0; i < sample->nr_blocks; i++) {
        const SampledBlock *b = &sample->blocks[i];
        uint64_t n = compare_block(b);

        all += n;
        bytes += (double)b->used_bytes * (double)n / (double)b->nr_pages;
    }
    if (pages) {
        *pages = all;
    }
    return (uint64_t)bytes;
}

void dirty_sample_free(DirtySample *sample)
{
    for (unsigned i = 0; i < sample->nr_blocks; i++) {
        qemu_ram_unref(sample->blocks[i].rb);
        g_free(sample->blocks[i].pages);
    }
    g_free(sample->blocks);
    g_free(sample);
}
