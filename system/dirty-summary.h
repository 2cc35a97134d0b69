/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Summary of a dirty bitmap: a bit per 64 of its words (16 MiB of guest
 * memory), so that taking costs what is dirty and not what the guest has: a
 * clean guest of 12 TiB is 12,288 words.
 *
 *   marker   set bits of the bitmap ; if the summary's bit is clear: set it
 *   taker    clear the summary's bit ; look at the bitmap's words
 *
 * A bit of the summary that is clear means that the words are zero, or that
 * someone is about to set it; one that is set means nothing. Sequentially
 * consistent on both sides: a marker that finds the summary's bit set did so
 * before the taker cleared it, and then the taker sees the marker's bit. A
 * taker of a part of a unit leaves the summary as it is.
 *
 * The client CODE has none: its bits are set and cleared by engines.
 *
 * Used by: system/dirty-memory.c, ram-block.c. Uses: bitmap.h.
 */
#ifndef SYSTEM_DIRTY_SUMMARY_H
#define SYSTEM_DIRTY_SUMMARY_H

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

/* Take what [@first, @last] has of word @w; units. */
static inline uint64_t summary_take(uint64_t *summary, uint64_t w,
                                    uint64_t first, uint64_t last)
{
    _Atomic uint64_t *word = bitmap_atomic_word(summary, w);
    uint64_t lo = MAX(first, w * 64), hi = MIN(last, w * 64 + 63);
    uint64_t mask = word_mask(lo % 64, hi % 64);

    return atomic_load(word) & mask ? atomic_fetch_and(word, ~mask) & mask : 0;
}

#endif /* SYSTEM_DIRTY_SUMMARY_H */
