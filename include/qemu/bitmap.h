/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bitmaps: arrays of 64-bit words, bit 0 of word 0 first.
 *
 * Functions without a suffix are for bitmaps that one thread owns (or that a
 * lock guards). Functions ending in _atomic may meet each other on the same
 * word from any thread: no bit is lost, each operation is one atomic step
 * per word, not over the whole range. A set is a release and a take is an
 * acquire, so what was stored before a bit was set is seen by who takes it.
 *
 * Ranges are [start, start + nr). An empty range does nothing. Bits past the
 * last one of a bitmap's last word are the owner's to keep zero.
 *
 * Used by: dirty memory, trackers, migration. Uses: nothing.
 */
#ifndef QEMU_BITMAP_H
#define QEMU_BITMAP_H

#define BITS_PER_WORD 64u
#define BIT_WORD(nr)  ((nr) / BITS_PER_WORD)
#define BIT_MASK(nr)  (UINT64_C(1) << ((nr) % BITS_PER_WORD))

static inline uint64_t bits_to_words(uint64_t nbits)
{
    return nbits / BITS_PER_WORD + (nbits % BITS_PER_WORD != 0);
}

/* Bits [@first, @last] of one word, both in 0..63. */
static inline uint64_t word_mask(unsigned first, unsigned last)
{
    return (~UINT64_C(0) << first) & (~UINT64_C(0) >> (63 - last));
}

/* The same memory as the _atomic functions see it. */
static inline _Atomic uint64_t *bitmap_atomic_word(uint64_t *map, uint64_t word)
{
    return (_Atomic uint64_t *)&map[word];
}

static inline bool test_bit(uint64_t nr, const uint64_t *map)
{
    return map[BIT_WORD(nr)] & BIT_MASK(nr);
}

static inline void set_bit(uint64_t nr, uint64_t *map)
{
    map[BIT_WORD(nr)] |= BIT_MASK(nr);
}

static inline void clear_bit(uint64_t nr, uint64_t *map)
{
    map[BIT_WORD(nr)] &= ~BIT_MASK(nr);
}

/* Both return what the bit was. */
static inline bool test_and_set_bit(uint64_t nr, uint64_t *map)
{
    bool old = test_bit(nr, map);

    set_bit(nr, map);
    return old;
}

static inline bool test_and_clear_bit(uint64_t nr, uint64_t *map)
{
    bool old = test_bit(nr, map);

    clear_bit(nr, map);
    return old;
}

static inline bool test_bit_atomic(uint64_t nr, const uint64_t *map)
{
    return atomic_load_explicit(
               bitmap_atomic_word((uint64_t *)map, BIT_WORD(nr)),
               memory_order_acquire) &
           BIT_MASK(nr);
}

static inline bool test_and_set_bit_atomic(uint64_t nr, uint64_t *map)
{
    return atomic_fetch_or_explicit(bitmap_atomic_word(map, BIT_WORD(nr)),
                                    BIT_MASK(nr), memory_order_acq_rel) &
           BIT_MASK(nr);
}

static inline bool test_and_clear_bit_atomic(uint64_t nr, uint64_t *map)
{
    return atomic_fetch_and_explicit(bitmap_atomic_word(map, BIT_WORD(nr)),
                                     ~BIT_MASK(nr), memory_order_acq_rel) &
           BIT_MASK(nr);
}

static inline void set_bit_atomic(uint64_t nr, uint64_t *map)
{
    test_and_set_bit_atomic(nr, map);
}

static inline void clear_bit_atomic(uint64_t nr, uint64_t *map)
{
    test_and_clear_bit_atomic(nr, map);
}

/* All bits zero. Free with g_free(). Aborts if memory runs out. */
uint64_t *bitmap_new(uint64_t nbits);

void bitmap_set(uint64_t *map, uint64_t start, uint64_t nr);
void bitmap_clear(uint64_t *map, uint64_t start, uint64_t nr);
void bitmap_set_atomic(uint64_t *map, uint64_t start, uint64_t nr);
void bitmap_clear_atomic(uint64_t *map, uint64_t start, uint64_t nr);

/* Like bitmap_set_atomic(); returns whether a bit of the range was clear. */
bool bitmap_test_and_set_atomic(uint64_t *map, uint64_t start, uint64_t nr);
/* Like bitmap_clear_atomic(); returns whether a bit of the range was set. */
bool bitmap_test_and_clear_atomic(uint64_t *map, uint64_t start, uint64_t nr);

/*
 * find_next_bit, find_next_zero_bit: first set (clear) bit in [start, size)
 *
 * Returns its number, or @size if there is none. The _atomic one may run
 * beside _atomic writers: it finds what was there when it read the word.
 */
uint64_t find_next_bit(const uint64_t *map, uint64_t size, uint64_t start);
uint64_t find_next_bit_atomic(const uint64_t *map, uint64_t size,
                              uint64_t start);
uint64_t find_next_zero_bit(const uint64_t *map, uint64_t size, uint64_t start);
/* Returns the number of the last set bit in [0, size), or @size if none. */
uint64_t find_last_bit(const uint64_t *map, uint64_t size);

/* Number of set bits in [start, start + nr). */
uint64_t bitmap_count_one_with_offset(const uint64_t *map, uint64_t start,
                                      uint64_t nr);
uint64_t bitmap_count_one_atomic(const uint64_t *map, uint64_t start,
                                 uint64_t nr);
static inline uint64_t bitmap_count_one(const uint64_t *map, uint64_t nbits)
{
    return bitmap_count_one_with_offset(map, 0, nbits);
}

static inline bool bitmap_empty(const uint64_t *map, uint64_t nbits)
{
    return find_next_bit(map, nbits, 0) == nbits;
}

static inline bool bitmap_full(const uint64_t *map, uint64_t nbits)
{
    return find_next_zero_bit(map, nbits, 0) == nbits;
}

/* Whole words: bits past @nbits in the last word are copied, zeroed, or set. */
void bitmap_copy(uint64_t *dest, const uint64_t *src, uint64_t nbits);
void bitmap_zero(uint64_t *map, uint64_t nbits);
void bitmap_fill(uint64_t *map, uint64_t nbits); /* keeps spare bits zero */

/* The stream's byte order: little-endian words, for bitmaps on the wire. */
void bitmap_to_le(uint64_t *dest, const uint64_t *src, uint64_t nbits);
void bitmap_from_le(uint64_t *dest, const uint64_t *src, uint64_t nbits);

#endif /* QEMU_BITMAP_H */
