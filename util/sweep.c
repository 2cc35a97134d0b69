/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sweep: see include/qemu/sweep.h for the contract.
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
 * before the destination's first one is never touched.
 *
 * Vector code pays where time goes in practice: over words that are zero. The
 * taking itself cannot be a vector operation, since each word is an atomic
 * exchange.
 */
#include "qemu/osdep.h"

#include "qemu/sweep.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define HAVE_AVX2_VARIANT 1
#endif

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* First word in [w, end) that may be non-zero, or @end. */
typedef uint64_t ScanFunc(const uint64_t *words, uint64_t w, uint64_t end);

static uint64_t scan_scalar(const uint64_t *words, uint64_t w, uint64_t end)
{
    while (w < end &&
           !atomic_load_explicit(bitmap_atomic_word((uint64_t *)words, w),
                                 memory_order_relaxed)) {
        w++;
    }
    return w;
}

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

/* Take the bits of @mask from source word @w. */
static ALWAYS_INLINE uint64_t take(const Sweep *s, uint64_t w, uint64_t mask)
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

static ALWAYS_INLINE void put(Sweep *s, uint64_t dest_word, uint64_t bits)
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

static ALWAYS_INLINE void move_word(Sweep *s, uint64_t w, uint64_t bits)
{
    s->nr_moved += __builtin_popcountll(bits);
    put(s, w + s->dest_word_delta, bits << s->shift | s->carry);
    s->carry = s->shift ? bits >> (64 - s->shift) : 0;
}

static ALWAYS_INLINE void flush_carry(Sweep *s, uint64_t w)
{
    put(s, w + s->dest_word_delta, s->carry);
    s->carry = 0;
}

static ALWAYS_INLINE uint64_t sweep(uint64_t *dest, uint64_t dest_first,
                                    uint64_t *src, uint64_t src_first,
                                    uint64_t nbits, unsigned flags,
                                    uint64_t *moved, ScanFunc *scan)
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
        goto out;
    }
    if (w == tail) {
        move_word(&s, w, take(&s, w, word_mask(head_bit, tail_bit)));
        flush_carry(&s, w + 1);
        goto out;
    }

    move_word(&s, w, take(&s, w, word_mask(head_bit, 63)));
    for (w++; w < tail; w++) {
        uint64_t bits = take(&s, w, ~UINT64_C(0));

        if (bits == 0) {
            flush_carry(&s, w);
            /* The loop's w++ steps on the word found. */
            w = scan(src, w + 1, tail) - 1;
            continue;
        }
        move_word(&s, w, bits);
    }
    move_word(&s, tail, take(&s, tail, word_mask(0, tail_bit)));
    flush_carry(&s, tail + 1);

out:
    if (moved) {
        *moved = s.nr_moved;
    }
    return dest ? s.nr_new : s.nr_moved;
}

uint64_t bitmap_sweep_scalar(uint64_t *dest, uint64_t dest_first, uint64_t *src,
                             uint64_t src_first, uint64_t nbits, unsigned flags,
                             uint64_t *moved)
{
    return sweep(dest, dest_first, src, src_first, nbits, flags, moved,
                 scan_scalar);
}

#ifdef HAVE_AVX2_VARIANT
/* Bit i: word i of @v is not zero. */
__attribute__((target("avx2"))) static ALWAYS_INLINE unsigned nonzero_words(
    __m256i v)
{
    __m256i zero = _mm256_cmpeq_epi64(v, _mm256_setzero_si256());

    return 15 ^ _mm256_movemask_pd(_mm256_castsi256_pd(zero));
}

/*
 * Not seen by the thread sanitizer: these loads may race with setters, and
 * may: they only decide where to look. A set bit that they miss was set
 * too late for this sweep; what they find is taken atomically.
 */
__attribute__((target("avx2"), no_sanitize("thread"), noinline)) static uint64_t
scan_avx2(const uint64_t *words, uint64_t w, uint64_t end)
{
    for (; w + 16 <= end; w += 16) {
        const __m256i *v = (const __m256i *)&words[w];
        __m256i a = _mm256_loadu_si256(v), b = _mm256_loadu_si256(v + 1);
        __m256i c = _mm256_loadu_si256(v + 2), d = _mm256_loadu_si256(v + 3);
        __m256i any = _mm256_or_si256(_mm256_or_si256(a, b),
                                      _mm256_or_si256(c, d));

        if (!_mm256_testz_si256(any, any)) {
            return w + __builtin_ctz(nonzero_words(a) | nonzero_words(b) << 4 |
                                     nonzero_words(c) << 8 |
                                     nonzero_words(d) << 12);
        }
    }
    while (w < end && !((const volatile uint64_t *)words)[w]) {
        w++;
    }
    return w;
}

__attribute__((target("avx2,popcnt"))) static uint64_t sweep_avx2(
    uint64_t *dest, uint64_t dest_first, uint64_t *src, uint64_t src_first,
    uint64_t nbits, unsigned flags, uint64_t *moved)
{
    return sweep(dest, dest_first, src, src_first, nbits, flags, moved,
                 scan_avx2);
}

static bool have_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}
#endif

uint64_t bitmap_sweep(uint64_t *dest, uint64_t dest_first, uint64_t *src,
                      uint64_t src_first, uint64_t nbits, unsigned flags,
                      uint64_t *moved)
{
#ifdef HAVE_AVX2_VARIANT
    if (have_avx2()) {
        return sweep_avx2(dest, dest_first, src, src_first, nbits, flags,
                          moved);
    }
#endif
    return bitmap_sweep_scalar(dest, dest_first, src, src_first, nbits, flags,
                               moved);
}

const char *bitmap_sweep_variant(void)
{
#ifdef HAVE_AVX2_VARIANT
    if (have_avx2()) {
        return "avx2";
    }
#endif
    return "scalar";
}
