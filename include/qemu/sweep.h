/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sweep: move the set bits of a range of one bitmap into a range of
 * another whose bit phase may differ, and say exactly how many were new.
 *
 * This is the one way in which dirty logs of different layers speak to each
 * other: kernel slot bitmap -> block bitmap, vhost log -> block bitmap, block
 * bitmap -> the migration's send set.
 *
 * Promises
 *   - Bits outside the two ranges are neither read into the result nor
 *     changed, in head and tail words too.
 *   - A source word that is zero in the range is not written (its cache line
 *     stays shared with the writers) but for one in the cache line of another
 *     that is taken; nor are words of a plain destination that gain nothing,
 *     but for those within 64 bytes of one that does.
 *   - With an atomic source a bit set by another thread meanwhile is either
 *     moved by this sweep or left for the next one: never lost, never moved
 *     twice. The take is an acquire and pairs with the release of
 *     bitmap_set_atomic(): what its setter stored before is visible after.
 *   - The counts are exact: bits that this sweep turned from 0 to 1 in the
 *     destination. With an atomic destination a bit that two threads set at
 *     the same time is counted by exactly one of them.
 *
 * Used by: dirty memory, trackers, vhost logs. Uses: bitmap.h.
 */
#ifndef QEMU_SWEEP_H
#define QEMU_SWEEP_H

#include "qemu/bitmap.h"

enum {
    /* Others may set bits in the source meanwhile. */
    SWEEP_SRC_ATOMIC = 1 << 0,
    /* Leave the source as it is: copy instead of move. */
    SWEEP_SRC_KEEP = 1 << 1,
    /* Others may set or take bits in the destination meanwhile. */
    SWEEP_DEST_ATOMIC = 1 << 2,
};

/**
 * bitmap_sweep: move set bits of @src[src_first, +nbits) to @dest[dest_first..]
 *
 * @dest: ORed into; NULL: the bits are only cleared and counted
 * @flags: SWEEP_*; a bitmap without its ATOMIC flag belongs to the caller
 * @moved: if not NULL, receives the number of set bits found in the source,
 *         new in the destination or not
 *
 * @dest and @src must not overlap. Any thread.
 * Returns the number of bits newly set in @dest (all found, if @dest is NULL).
 */
uint64_t bitmap_sweep(uint64_t *dest, uint64_t dest_first, uint64_t *src,
                      uint64_t src_first, uint64_t nbits, unsigned flags,
                      uint64_t *moved);

typedef uint64_t SweepFunc(uint64_t *dest, uint64_t dest_first, uint64_t *src,
                           uint64_t src_first, uint64_t nbits, unsigned flags,
                           uint64_t *moved);

/*
 * The same by plain C without vector instructions: the twin that the tests
 * hold the others to, and what runs where there are none.
 */
SweepFunc bitmap_sweep_scalar;

typedef struct SweepVariant {
    const char *name; /* "avx512", "avx2", "scalar" */
    SweepFunc *func;
} SweepVariant;

/* Those that this host can run, the best first; *@nr of them. */
const SweepVariant *bitmap_sweep_variants(size_t *nr);
/* The name of what bitmap_sweep() uses on this host. */
const char *bitmap_sweep_variant(void);

#endif /* QEMU_SWEEP_H */
