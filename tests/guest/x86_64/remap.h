/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the guest `remap` tells the host: one page at REMAP_OFFSET in guest
 * physical memory, all fields 64 bits.
 *
 * It writes pages of REMAP_FIRST...REMAP_END; `count` has for each of them how
 * often, and word 0 of the page must hold the same. `current`: the page that
 * each vCPU is just writing, which may hold one more; 0: none.
 *
 * Read by: remap.c, tests/migration.
 */
#ifndef TESTS_GUEST_REMAP_H
#define TESTS_GUEST_REMAP_H

#include <stdint.h>

#define REMAP_OFFSET 0x108000u
#define REMAP_MAGIC  0x50414d4552ull /* "REMAP" */
#define REMAP_FIRST  0xc0000u
#define REMAP_END    0xe0000u
#define REMAP_PAGES  32

struct remap_page {
    uint64_t magic;      /* 00 REMAP_MAGIC once it runs */
    uint64_t loops;      /* 08 of vCPU 0 */
    uint64_t flips;      /* 10 changes of the map */
    uint64_t errors;     /* 18 pages that did not hold what they must */
    uint64_t dropped;    /* 20 writes that went nowhere, as they must */
    uint64_t neighbours; /* 28 writes of vCPU 1 */
    uint64_t current[2]; /* 30 */
    uint64_t count[REMAP_PAGES];
    uint64_t pad[472];
};

_Static_assert(sizeof(struct remap_page) == 4096, "one page");

#endif /* TESTS_GUEST_REMAP_H */
