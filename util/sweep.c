/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sweep: see include/qemu/sweep.h for the contract, sweep-internal.h for
 * how it works. This file: the scalar variant, and the choice.
 */
#include "qemu/osdep.h"

#include "qemu/tsan.h"
#include "sweep-internal.h"

/* First word in [w, end) that may be non-zero, or @end. */
static uint64_t scan(const uint64_t *words, uint64_t w, uint64_t end)
{
    while (w < end &&
           !atomic_load_explicit(bitmap_atomic_word((uint64_t *)words, w),
                                 memory_order_relaxed)) {
        w++;
    }
    return w;
}

static void middle(Sweep *s, uint64_t w, uint64_t end)
{
    while (w < end) {
        uint64_t bits = sweep_take(s, w, ~UINT64_C(0));

        if (bits == 0) {
            sweep_flush_carry(s, w);
            w = scan(s->src, w + 1, end);
        } else {
            sweep_move_word(s, w++, bits);
        }
    }
}

uint64_t bitmap_sweep_scalar(uint64_t *dest, uint64_t dest_first, uint64_t *src,
                             uint64_t src_first, uint64_t nbits, unsigned flags,
                             uint64_t *moved)
{
    return sweep_with(dest, dest_first, src, src_first, nbits, flags, moved,
                      middle);
}

const SweepVariant *bitmap_sweep_variants(size_t *nr)
{
    static const SweepVariant all[] = {
#ifdef SWEEP_HAVE_X86
        { "avx512", sweep_avx512 },
        { "avx2", sweep_avx2 },
#endif
        { "scalar", bitmap_sweep_scalar },
    };
    size_t skip = 0;

#ifdef SWEEP_HAVE_X86
    skip = sweep_host_has_avx512() ? 0 : sweep_host_has_avx2() ? 1 : 2;
#endif
    *nr = ARRAY_SIZE(all) - skip;
    return &all[skip];
}

static gpointer choose(gpointer unused)
{
    size_t nr;

    (void)unused;
    return (gpointer)bitmap_sweep_variants(&nr);
}

static const SweepVariant *best(void)
{
    static GOnce once = G_ONCE_INIT;

    return g_once(&once, choose, NULL);
}

uint64_t bitmap_sweep(uint64_t *dest, uint64_t dest_first, uint64_t *src,
                      uint64_t src_first, uint64_t nbits, unsigned flags,
                      uint64_t *moved)
{
    SweepFunc *func = best()->func;

#ifdef QEMU_TSAN
    /* The sanitizer sees no vector loads as atomic. */
    if (flags & (SWEEP_SRC_ATOMIC | SWEEP_DEST_ATOMIC)) {
        func = bitmap_sweep_scalar;
    }
#endif
    return func(dest, dest_first, src, src_first, nbits, flags, moved);
}

const char *bitmap_sweep_variant(void)
{
    return best()->name;
}
