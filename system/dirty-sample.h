/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dirty sample: checksums of randomly chosen pages of guest memory, to be
 * compared with what is there some time later.
 *
 * Only reads, and populates nothing: a page of memory that was never touched
 * counts as one of zeros, and is not looked into. (A page that was swapped out
 * is taken for one of those: written, if it is back later.) A page that was
 * written and then restored to what it was goes unnoticed.
 *
 * Threads: any, without the BQL; the guest may run.
 *
 * Used by: dirty-rate.c and its test. Uses: ram-block.h.
 */
#ifndef SYSTEM_DIRTY_SAMPLE_H
#define SYSTEM_DIRTY_SAMPLE_H

typedef struct DirtySample DirtySample;

/**
 * dirty_sample_take: choose pages and note what is in them
 *
 * @pages_per_gib: share of each block's pages to look at; at least one page
 * of each block
 */
DirtySample *dirty_sample_take(uint64_t pages_per_gib);

/* How many pages were chosen. */
uint64_t dirty_sample_pages(const DirtySample *sample);

/**
 * dirty_sample_compare: estimate the bytes of guest memory that are different
 *
 * @pages: receives how many of the sample's pages are; may be NULL
 */
uint64_t dirty_sample_compare(const DirtySample *sample, uint64_t *pages);

void dirty_sample_free(DirtySample *sample);

#endif /* SYSTEM_DIRTY_SAMPLE_H */
