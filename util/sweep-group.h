/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The middle of a sweep by groups of 8 words (64 bytes). Included once for
 * each variant, which has defined
 *
 *   G(name)        a name of its own
 *   GROUP_TARGET   the attribute for its instructions
 *   G(Vec)         a group in registers, and G(load), G(store), G(zero)
 *   G(is_zero)     whether no bit is set
 *   G(pairs)       bit 2i: words 2i and 2i + 1 are not both zero
 *   G(or), G(and_not)
 *   G(shift)       its words shifted up by s bits, with what comes from the
 *                  group before
 *   G(count)       adds its set bits to 64-bit lanes; G(total): their sum
 *
 * An atomic word is taken, or put, together with its neighbour: 16 bytes are
 * what this architecture exchanges at once, which takes little longer than 8.
 * Of a pair that has a bit both words are written; they share a cache line.
 *
 * No branch depends on the bit phase, so equal and unequal ones take the same
 * time; which words of a group are dirty decides as little as can be.
 */

typedef struct G(Sums) {
    G(Vec) moved, gained;
} G(Sums);

/*
 * Take the group at @src, of which @v was seen. What was seen is what is taken
 * unless someone sets bits in between.
 */
static GROUP_TARGET SWEEP_INLINE void G(take_atomic)(uint64_t *src, G(Vec) * v)
{
    uint64_t bits[GROUP_WORDS] __attribute__((aligned(64)));
    unsigned pairs = G(pairs)(*v);
    bool as_seen = true;

    G(store)(bits, *v);
    for (; pairs; pairs &= pairs - 1) {
        unsigned i = __builtin_ctz(pairs);

        while (!pair_exchange(&src[i], &bits[i], 0, 0)) {
            as_seen = false;
        }
    }
    if (!as_seen) {
        *v = G(load)(bits);
    }
}

static GROUP_TARGET SWEEP_INLINE void G(put_atomic)(Sweep *s, uint64_t *dest,
                                                    const uint64_t *bits)
{
    bool pairs = QEMU_PTR_IS_ALIGNED(dest, 16);

    for (unsigned i = 0; i < GROUP_WORDS; i += 2) {
        uint64_t old[2];

        if (!(bits[i] | bits[i + 1])) {
            continue;
        }
        if (pairs) {
            old[0] = atomic_load_explicit(bitmap_atomic_word(dest, i),
                                          memory_order_relaxed);
            old[1] = atomic_load_explicit(bitmap_atomic_word(dest, i + 1),
                                          memory_order_relaxed);
            while (!pair_exchange(&dest[i], old, old[0] | bits[i],
                                  old[1] | bits[i + 1])) {
            }
            s->nr_new += __builtin_popcountll(bits[i] & ~old[0]) +
                         __builtin_popcountll(bits[i + 1] & ~old[1]);
        } else {
            sweep_put(s, &dest[i] - s->dest, bits[i]);
            sweep_put(s, &dest[i + 1] - s->dest, bits[i + 1]);
        }
    }
}

/* The group's bits, taken as the flags say; @v is what was seen. */
static GROUP_TARGET SWEEP_INLINE void G(take)(const Sweep *s, uint64_t w,
                                              G(Vec) * v)
{
    if (s->flags & SWEEP_SRC_KEEP) {
        /*
         * Pairs with the release of who set the bits: loads are in order
         * here, so it is only the compiler that has to be told.
         */
        atomic_signal_fence(memory_order_acquire);
    } else if (s->flags & SWEEP_SRC_ATOMIC) {
        G(take_atomic)(&s->src[w], v);
    } else {
        G(store)(&s->src[w], G(zero)());
    }
}

static GROUP_TARGET SWEEP_INLINE void G(put)(Sweep *s, uint64_t w, G(Vec) bits,
                                             G(Sums) * sums)
{
    uint64_t *dest = &s->dest[w + s->dest_word_delta];

    if (s->flags & SWEEP_DEST_ATOMIC) {
        uint64_t words[GROUP_WORDS] __attribute__((aligned(64)));

        G(store)(words, bits);
        G(put_atomic)(s, dest, words);
    } else {
        G(Vec) old = G(load)(dest), gained = G(and_not)(bits, old);

        if (!G(is_zero)(gained)) {
            G(store)(dest, G(or)(old, bits));
            G(count)(&sums->gained, gained);
        }
    }
}

/* The first group in [@w, @end) that has a bit; less than a group is left else. */
static GROUP_TARGET SWEEP_INLINE uint64_t G(skip)(const uint64_t *src,
                                                  uint64_t w, uint64_t end)
{
    for (; w + 2 * GROUP_WORDS <= end; w += 2 * GROUP_WORDS) {
        if (!G(is_zero)(
                G(or)(G(load)(&src[w]), G(load)(&src[w + GROUP_WORDS])))) {
            return G(is_zero)(G(load)(&src[w])) ? w + GROUP_WORDS : w;
        }
    }
    return w + GROUP_WORDS <= end && G(is_zero)(G(load)(&src[w]))
               ? w + GROUP_WORDS
               : w;
}

/*
 * Not seen by the thread sanitizer (whose builds take the scalar variant if
 * anyone else is at the bitmaps): the loads may race with setters, and may.
 * They only decide where to look; what they find is taken atomically.
 */
static GROUP_TARGET SWEEP_INLINE void G(groups)(Sweep *sweep, uint64_t w,
                                                uint64_t end, unsigned flags)
{
    /* A copy that no store to a bitmap can be suspected to change. */
    Sweep copy = *sweep, *s = &copy;
    uint64_t words[GROUP_WORDS] = { 0 };
    G(Sums) sums = { G(zero)(), G(zero)() };
    G(Vec) last;

    for (; w < end && !QEMU_PTR_IS_ALIGNED(&s->src[w], 64); w++) {
        sweep_words(s, w, w + 1);
    }
    /* The carry as the word that it comes from. */
    words[GROUP_WORDS - 1] = s->shift ? s->carry << (64 - s->shift) : 0;
    last = G(load)(words);
    s->flags = flags;
    while (w + GROUP_WORDS <= end) {
        G(Vec) v = G(load)(&s->src[w]);

        if (G(is_zero)(v)) {
            G(store)(words, last);
            s->carry = s->shift ? words[GROUP_WORDS - 1] >> (64 - s->shift) : 0;
            sweep_flush_carry(s, w);
            last = G(zero)();
            w = G(skip)(s->src, w + GROUP_WORDS, end);
            continue;
        }
        G(take)(s, w, &v);
        G(count)(&sums.moved, v);
        if (s->dest) {
            G(put)(s, w, G(shift)(v, last, s->shift), &sums);
        }
        last = v;
        w += GROUP_WORDS;
    }
    G(store)(words, last);
    s->carry = s->shift ? words[GROUP_WORDS - 1] >> (64 - s->shift) : 0;
    s->nr_moved += G(total)(sums.moved);
    s->nr_new += G(total)(sums.gained);
    sweep_words(s, w, end);
    *sweep = copy;
}

/* What is most is done by loops of their own. */
static GROUP_TARGET __attribute__((noinline)) void G(middle)(Sweep *s,
                                                             uint64_t w,
                                                             uint64_t end)
{
    switch (s->flags) {
    case 0:
        G(groups)(s, w, end, 0);
        break;
    case SWEEP_SRC_KEEP:
        G(groups)(s, w, end, SWEEP_SRC_KEEP);
        break;
    case SWEEP_SRC_ATOMIC:
        G(groups)(s, w, end, SWEEP_SRC_ATOMIC);
        break;
    default:
        G(groups)(s, w, end, s->flags);
    }
}

GROUP_TARGET uint64_t G(sweep)(uint64_t *dest, uint64_t dest_first,
                               uint64_t *src, uint64_t src_first,
                               uint64_t nbits, unsigned flags, uint64_t *moved)
{
    return sweep_with(dest, dest_first, src, src_first, nbits, flags, moved,
                      G(middle));
}
