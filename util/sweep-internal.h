/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sweep, inside: its steps by words, which all variants share, and the
 * frame around them. See include/qemu/sweep.h for the contract.
 *
 * How the phases are merged: bit b of the source goes to bit b + d of the
 * destination, d = dest_first - src_first. With d = 64 * dw + s, 0 <= s < 64,
 * source word w supplies the upper 64 - s bits of destination word w + dw and
 * the lower s bits of the next one. So the loop carries s bits from word to
 * word and touches each destination word once:
 *
 *     source        |....... w-1 .......|........ w ........|
 *                            \ carry \   \    v    \
 *     destination       |... w-1+dw ...|.... w+dw ....|
 *
 * The head's and the tail's source words are taken under a mask. In the head
 * word the bits that would land before dest_first are masked off, so the word
 * before the destination's first one is never touched. Words between them are
 * a variant's: one by one, or in groups.
 *
 * Used by: util/sweep*.c only.
 */
#ifndef UTIL_SWEEP_INTERNAL_H
#define UTIL_SWEEP_INTERNAL_H

#include "qemu/sweep.h"

#define SWEEP_INLINE inline __attribute__((always_inline))

typedef struct Sweep {
    /* Constant during the sweep. */
    uint64_t *dest; /* NULL: count only */
    uint64_t *src;
    int64_t dest_word_delta;
    unsigned shift;
    unsigned flags;

    uint64_t carry; /* for destination word (next source word) + delta */
    uint64_t nr_new;
    uint64_t nr_moved;
} Sweep;

/* Move words [@w, @end), all whole; what they carry is left in @s. */
typedef void SweepMiddle(Sweep *s, uint64_t w, uint64_t end);

/* Take the bits of @mask from source word @w. */
static SWEEP_INLINE uint64_t sweep_take(const Sweep *s, uint64_t w,
                                        uint64_t mask)
{
    _Atomic uint64_t *word = bitmap_atomic_word(s->src, w);
    uint64_t bits;

    if (s->flags & SWEEP_SRC_KEEP) {
        /* Pairs with the release of who set the bits. */
        return mask & atomic_load_explicit(word, memory_order_acquire);
    }
    bits = mask & atomic_load_explicit(word, memory_order_relaxed);
    if (bits == 0) {
        return 0;
    }
    if (!(s->flags & SWEEP_SRC_ATOMIC)) {
        s->src[w] &= ~mask;
        return bits;
    }
    /* Pairs with the release of who set the bits. */
    if (mask == ~UINT64_C(0)) {
        return atomic_exchange_explicit(word, 0, memory_order_acq_rel);
    }
    return mask & atomic_fetch_and_explicit(word, ~mask, memory_order_acq_rel);
}

static SWEEP_INLINE void sweep_put(Sweep *s, uint64_t dest_word, uint64_t bits)
{
    uint64_t gained;

    if (!s->dest || bits == 0) {
        return;
    }
    if (s->flags & SWEEP_DEST_ATOMIC) {
        /*
         * Not "skip if set already": the bit may just be taken by someone who
         * then reads the page, and our bit stands for a later store.
         */
        gained = bits & ~atomic_fetch_or_explicit(
                            bitmap_atomic_word(s->dest, dest_word), bits,
                            memory_order_acq_rel);
    } else {
        gained = bits & ~s->dest[dest_word];
        if (gained) {
            s->dest[dest_word] |= gained;
        }
    }
    s->nr_new += __builtin_popcountll(gained);
}

static SWEEP_INLINE void sweep_move_word(Sweep *s, uint64_t w, uint64_t bits)
{
    s->nr_moved += __builtin_popcountll(bits);
    sweep_put(s, w + s->dest_word_delta, bits << s->shift | s->carry);
    s->carry = s->shift ? bits >> (64 - s->shift) : 0;
}

static SWEEP_INLINE void sweep_flush_carry(Sweep *s, uint64_t w)
{
    sweep_put(s, w + s->dest_word_delta, s->carry);
    s->carry = 0;
}

/* Word by word; also what a variant does with less than a group. */
static SWEEP_INLINE void sweep_words(Sweep *s, uint64_t w, uint64_t end)
{
    for (; w < end; w++) {
        sweep_move_word(s, w, sweep_take(s, w, ~UINT64_C(0)));
    }
}

static SWEEP_INLINE uint64_t sweep_with(uint64_t *dest, uint64_t dest_first,
                                        uint64_t *src, uint64_t src_first,
                                        uint64_t nbits, unsigned flags,
                                        uint64_t *moved, SweepMiddle *middle)
{
    int64_t delta = (int64_t)(dest_first - src_first);
    uint64_t src_last = src_first + nbits - 1;
    uint64_t w = BIT_WORD(src_first), tail = BIT_WORD(src_last);
    unsigned head_bit = src_first % BITS_PER_WORD;
    unsigned tail_bit = src_last % BITS_PER_WORD;
    Sweep s = {
        .dest = dest,
        .src = src,
        .dest_word_delta = delta >> 6, /* rounds towards minus infinity */
        .shift = delta & 63,
        .flags = flags,
    };

    if (nbits == 0) {
        /* nothing */
    } else if (w == tail) {
        sweep_move_word(&s, w,
                        sweep_take(&s, w, word_mask(head_bit, tail_bit)));
        sweep_flush_carry(&s, w + 1);
    } else {
        sweep_move_word(&s, w, sweep_take(&s, w, word_mask(head_bit, 63)));
        middle(&s, w + 1, tail);
        sweep_move_word(&s, tail, sweep_take(&s, tail, word_mask(0, tail_bit)));
        sweep_flush_carry(&s, tail + 1);
    }
    if (moved) {
        *moved = s.nr_moved;
    }
    return dest ? s.nr_new : s.nr_moved;
}

#if defined(__x86_64__)
#define SWEEP_HAVE_X86 1
SweepFunc sweep_avx2, sweep_avx512;
bool sweep_host_has_avx2(void);
bool sweep_host_has_avx512(void);
#endif

#endif /* UTIL_SWEEP_INTERNAL_H */
