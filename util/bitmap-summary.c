/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See include/qemu/bitmap-summary.h. */
#include "qemu/osdep.h"

#include "qemu/bitmap-summary.h"

/* Take what units [@first, @end) have of word @w. */
static uint64_t take_word(uint64_t *summary, uint64_t w, uint64_t first,
                          uint64_t end)
{
    _Atomic uint64_t *word = bitmap_atomic_word(summary, w);
    uint64_t lo = MAX(first, w * 64), hi = MIN(end - 1, w * 64 + 63);
    uint64_t mask = word_mask(lo % 64, hi % 64);

    return atomic_load(word) & mask ? atomic_fetch_and(word, ~mask) & mask : 0;
}

/* The runs of @bits, units from @base on. */
static void call_runs(uint64_t base, uint64_t bits, SummaryFunc *func,
                      void *opaque)
{
    while (bits) {
        unsigned from = __builtin_ctzll(bits);
        uint64_t rest = ~(bits >> from);
        unsigned n = rest ? __builtin_ctzll(rest) : 64;

        func(opaque, (base + from) * SUMMARY_UNIT_BITS,
             (base + from + n) * SUMMARY_UNIT_BITS);
        bits = from + n < 64 ? bits & (UINT64_MAX << (from + n)) : 0;
    }
}

uint64_t summary_walk(uint64_t *summary, uint64_t bit, uint64_t end,
                      SummaryFunc *func, void *opaque)
{
    uint64_t first = DIV_ROUND_UP(bit, SUMMARY_UNIT_BITS);
    uint64_t last = end / SUMMARY_UNIT_BITS, words = 0;

    if (first >= last) {
        if (bit < end) {
            func(opaque, bit, end);
        }
        return 0;
    }
    if (bit < first * SUMMARY_UNIT_BITS) {
        func(opaque, bit, first * SUMMARY_UNIT_BITS);
    }
    for (uint64_t w = first / 64; w * 64 < last; w++, words++) {
        call_runs(w * 64, take_word(summary, w, first, last), func, opaque);
    }
    if (last * SUMMARY_UNIT_BITS < end) {
        func(opaque, last * SUMMARY_UNIT_BITS, end);
    }
    return words;
}
