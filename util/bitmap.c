/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bitmaps: see include/qemu/bitmap.h for the contract. */
#include "qemu/osdep.h"

#include "qemu/bitmap.h"

/* The part of word @word that [start, start + nr) covers, nr > 0. */
static inline uint64_t range_mask(uint64_t word, uint64_t start, uint64_t nr)
{
    uint64_t last = start + nr - 1;
    unsigned lo = word == BIT_WORD(start) ? start % BITS_PER_WORD : 0;
    unsigned hi = word == BIT_WORD(last) ? last % BITS_PER_WORD : 63;

    return word_mask(lo, hi);
}

#define FOR_EACH_WORD(w, start, nr)                                          \
    for (uint64_t w = BIT_WORD(start), w##_end = BIT_WORD((start) + (nr)-1); \
         w <= w##_end; w++)

uint64_t *bitmap_new(uint64_t nbits)
{
    return g_new0(uint64_t, MAX(bits_to_words(nbits), 1));
}

void bitmap_set(uint64_t *map, uint64_t start, uint64_t nr)
{
    if (nr == 0) {
        return;
    }
    FOR_EACH_WORD(w, start, nr)
    {
        map[w] |= range_mask(w, start, nr);
    }
}

void bitmap_clear(uint64_t *map, uint64_t start, uint64_t nr)
{
    if (nr == 0) {
        return;
    }
    FOR_EACH_WORD(w, start, nr)
    {
        map[w] &= ~range_mask(w, start, nr);
    }
}

bool bitmap_test_and_set_atomic(uint64_t *map, uint64_t start, uint64_t nr)
{
    uint64_t gained = 0;

    if (nr == 0) {
        return false;
    }
    FOR_EACH_WORD(w, start, nr)
    {
        uint64_t mask = range_mask(w, start, nr);

        gained |= mask & ~atomic_fetch_or_explicit(bitmap_atomic_word(map, w),
                                                   mask, memory_order_acq_rel);
    }
    return gained;
}

void bitmap_set_atomic(uint64_t *map, uint64_t start, uint64_t nr)
{
    bitmap_test_and_set_atomic(map, start, nr);
}

bool bitmap_test_and_clear_atomic(uint64_t *map, uint64_t start, uint64_t nr)
{
    uint64_t lost = 0;

    if (nr == 0) {
        return false;
    }
    FOR_EACH_WORD(w, start, nr)
    {
        _Atomic uint64_t *word = bitmap_atomic_word(map, w);
        uint64_t mask = range_mask(w, start, nr);

        /* Most words are clean; do not take their cache lines. */
        if (atomic_load_explicit(word, memory_order_relaxed) & mask) {
            lost |= mask & atomic_fetch_and_explicit(word, ~mask,
                                                     memory_order_acq_rel);
        }
    }
    return lost;
}

void bitmap_clear_atomic(uint64_t *map, uint64_t start, uint64_t nr)
{
    bitmap_test_and_clear_atomic(map, start, nr);
}

/* First set bit of (map ^ flip) in [start, size). */
static uint64_t find_next(const uint64_t *map, uint64_t size, uint64_t start,
                          uint64_t flip)
{
    uint64_t mask = ~UINT64_C(0) << (start % BITS_PER_WORD);

    for (uint64_t w = BIT_WORD(start); w * BITS_PER_WORD < size; w++) {
        uint64_t bits = (map[w] ^ flip) & mask;

        if (bits) {
            return MIN(size, w * BITS_PER_WORD + __builtin_ctzll(bits));
        }
        mask = ~UINT64_C(0);
    }
    return size;
}

uint64_t find_next_bit(const uint64_t *map, uint64_t size, uint64_t start)
{
    return find_next(map, size, start, 0);
}

uint64_t find_next_zero_bit(const uint64_t *map, uint64_t size, uint64_t start)
{
    return find_next(map, size, start, ~UINT64_C(0));
}

uint64_t find_next_bit_atomic(const uint64_t *map, uint64_t size,
                              uint64_t start)
{
    uint64_t mask = ~UINT64_C(0) << (start % BITS_PER_WORD);

    for (uint64_t w = BIT_WORD(start); w * BITS_PER_WORD < size; w++) {
        uint64_t bits = mask & atomic_load_explicit(
                                   bitmap_atomic_word((uint64_t *)map, w),
                                   memory_order_acquire);

        if (bits) {
            return MIN(size, w * BITS_PER_WORD + __builtin_ctzll(bits));
        }
        mask = ~UINT64_C(0);
    }
    return size;
}

uint64_t find_last_bit(const uint64_t *map, uint64_t size)
{
    for (uint64_t w = bits_to_words(size); w-- > 0;) {
        uint64_t bits = map[w] & range_mask(w, 0, size);

        if (bits) {
            return w * BITS_PER_WORD + 63 - __builtin_clzll(bits);
        }
    }
    return size;
}

uint64_t bitmap_count_one_with_offset(const uint64_t *map, uint64_t start,
                                      uint64_t nr)
{
    uint64_t count = 0;

    if (nr == 0) {
        return 0;
    }
    FOR_EACH_WORD(w, start, nr)
    {
        count += __builtin_popcountll(map[w] & range_mask(w, start, nr));
    }
    return count;
}

uint64_t bitmap_count_one_atomic(const uint64_t *map, uint64_t start,
                                 uint64_t nr)
{
    uint64_t count = 0;

    if (nr == 0) {
        return 0;
    }
    FOR_EACH_WORD(w, start, nr)
    {
        uint64_t bits = atomic_load_explicit(
            bitmap_atomic_word((uint64_t *)map, w), memory_order_relaxed);

        count += __builtin_popcountll(bits & range_mask(w, start, nr));
    }
    return count;
}

void bitmap_copy(uint64_t *dest, const uint64_t *src, uint64_t nbits)
{
    memcpy(dest, src, bits_to_words(nbits) * sizeof(*dest));
}

void bitmap_zero(uint64_t *map, uint64_t nbits)
{
    memset(map, 0, bits_to_words(nbits) * sizeof(*map));
}

void bitmap_fill(uint64_t *map, uint64_t nbits)
{
    bitmap_set(map, 0, nbits);
}

void bitmap_to_le(uint64_t *dest, const uint64_t *src, uint64_t nbits)
{
    for (uint64_t w = 0; w < bits_to_words(nbits); w++) {
        dest[w] = GUINT64_TO_LE(src[w]);
    }
}

void bitmap_from_le(uint64_t *dest, const uint64_t *src, uint64_t nbits)
{
    bitmap_to_le(dest, src, nbits); /* its own inverse */
}
