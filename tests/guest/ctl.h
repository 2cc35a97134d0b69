/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control pages: what the workload guest tells the host, and is told.
 *
 * One 4 KiB page for each vCPU, at CTL_BASE + 0x1000 * cpu in guest physical
 * memory; all fields are 64 bits in the guest's byte order.
 *
 * What a host can check of a stopped or migrated guest:
 *   - every page of a vCPU's working set holds in word 0 how often it was
 *     written (n), in word 1 the value n ^ ~address, and in the words after
 *     them, up to `bytes`, n again. The page that is just being written
 *     (`current`) may be between two values; any other that is, is torn.
 *   - the sum of all n of a working set is `writes` (or one more, when the
 *     page was written and the counter not yet). Less: a write was lost.
 *   - `errors` counts the pages that the guest itself found torn.
 *
 * Read by: the guests here, tests/migration, tests/bench/lab.py.
 */
#ifndef TESTS_GUEST_CTL_H
#define TESTS_GUEST_CTL_H

#include <stdint.h>

#define CTL_OFFSET    0x100000u /* from the start of RAM */
#define CTL_PAGE_SIZE 0x1000u
#define CTL_MAGIC     0x4c544354534547ull /* "GESTCTL" */
#define CTL_MAX_CPUS  8

enum ctl_state {
    CTL_NOT_STARTED,
    CTL_FILLING,
    CTL_RUNNING
};
enum ctl_pattern {
    CTL_SEQUENTIAL,
    CTL_RANDOM,
    CTL_SPARSE
};

struct ctl_page {
    /* Written by the guest. */
    uint64_t magic;   /* 00 CTL_MAGIC once the parameters are in force */
    uint64_t ops;     /* 08 operations done: reads and writes of a page */
    uint64_t writes;  /* 10 those of them that wrote */
    uint64_t ticks;   /* 18 guest clock at the last burst */
    uint64_t state;   /* 20 enum ctl_state */
    uint64_t errors;  /* 28 torn pages found by the guest */
    uint64_t max_gap; /* 30 longest time between two bursts, ticks */
    uint64_t current; /* 38 address of the page being written, 0: none */
    /* Written by the guest from its command line; a host may change those
     * from `rate` on and then add one to `seq`. */
    uint64_t ticks_hz;  /* 40 of the guest's clock */
    uint64_t base;      /* 48 first byte of this vCPU's working set */
    uint64_t pages;     /* 50 4 KiB pages in it */
    uint64_t bytes;     /* 58 written at each write: 16...4096 */
    uint64_t rate;      /* 60 operations a second, 0: flat out */
    uint64_t pattern;   /* 68 enum ctl_pattern */
    uint64_t stride;    /* 70 sparse: every stride-th page */
    uint64_t write_pct; /* 78 share of operations that write, 0...100 */
    uint64_t seq;       /* 80 */
    uint64_t passes;    /* 88 rounds over the set (sequential, sparse) */
    uint64_t pad[494];
};

_Static_assert(sizeof(struct ctl_page) == CTL_PAGE_SIZE, "one page");

#endif /* TESTS_GUEST_CTL_H */
