/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Summary of a bitmap: a bit per 64 of its words, so that finding what is set
 * costs what is set and not what there is. A dirty bitmap of 12 TiB of guest
 * memory has 50 million words, and its summary 12,288.
 *
 *   marker   set bits of the bitmap ; if the summary's bit is clear: set it
 *   taker    clear the summary's bit ; look at the bitmap's words
 *
 * A bit of the summary that is clear means that its words are zero, or that
 * someone is about to set it; one that is set means nothing. Sequentially
 * consistent on both sides: a marker that finds the summary's bit set did so
 * before the taker cleared it, and then the taker sees the marker's bit. Who
 * finds a bit of the bitmap set by another, and relies on its being found,
 * marks the summary too. A taker of a part of a unit leaves the summary as it
 * is, for the rest is another's.
 *
 * Used by: dirty memory, trackers. Uses: bitmap.h.
 */
#ifndef QEMU_BITMAP_SUMMARY_H
#define QEMU_BITMAP_SUMMARY_H

#include "qemu/bitmap.h"

#define SUMMARY_UNIT_BITS (64 * BITS_PER_WORD) /* of the bitmap, per bit */

static inline uint64_t summary_bits(uint64_t bitmap_bits)
{
    return bitmap_bits / SUMMARY_UNIT_BITS + 1;
}

/* Bits [@first, @first + @nr) of the bitmap may have been set; @nr > 0. */
static inline void summary_mark(uint64_t *summary, uint64_t first, uint64_t nr)
{
    uint64_t unit = first / SUMMARY_UNIT_BITS;
    uint64_t last = (first + nr - 1) / SUMMARY_UNIT_BITS;

    for (; unit <= last; unit++) {
        _Atomic uint64_t *word = bitmap_atomic_word(summary, BIT_WORD(unit));

        if (!(atomic_load(word) & BIT_MASK(unit))) {
            atomic_fetch_or(word, BIT_MASK(unit));
        }
    }
}

/* Bits [@bit, @end) of the bitmap are to be looked at. */
typedef void SummaryFunc(void *opaque, uint64_t bit, uint64_t end);

/**
 * summary_walk: call @func for what may be set in bits [@bit, @end)
 *
 * Takes the summary's bits of whole units, and calls @func for each run of
 * those that were set, and for a part of a unit at either end. Any thread;
 * ranges that share no bit at the same time.
 *
 * Returns the number of the summary's words that were looked at.
 */
uint64_t summary_walk(uint64_t *summary, uint64_t bit, uint64_t end,
                      SummaryFunc *func, void *opaque);

#endif /* QEMU_BITMAP_SUMMARY_H */
