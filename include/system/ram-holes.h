/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holes: pages of a RAM block that nothing was ever stored into, found by
 * asking the host instead of reading. To read them takes 10,000 times as long,
 * and allocates them.
 *
 *   memory                   a page may hold data if
 *   -----------------------  ------------------------------------------------
 *   private, no file         it is present or swapped out, and not the
 *                            kernel's page of zeros
 *   shared file or memfd     the file says so (SEEK_DATA); page tables do not
 *                            tell, another process may have filled it
 *   private mapping of file  it was copied (present and not the file's, or
 *                            swapped out), or the file has data there
 *   huge pages (hugetlb)     this process has it; the file has nothing besides
 *   memory of the caller's   always
 *
 * Whatever else can't be told is data: file systems whose SEEK_DATA is not
 * known to see what mappings store, a file that was cut short, a host without
 * /proc/self/pagemap, or a failing call. Write-protect markers of userfaultfd
 * look like pages swapped out; they are told apart on hosts without swap and
 * in huge pages.
 *
 * The answer is about the moment of asking. To be of use beside a running
 * guest the order must be: arm write tracking, clean the range, then ask. A
 * store before that is in the answer, one after it is found by the next sync.
 *
 * Used by: migration. Uses: RAM blocks.
 */
#ifndef SYSTEM_RAM_HOLES_H
#define SYSTEM_RAM_HOLES_H

#include "system/ram-block.h"

typedef void RAMDataFunc(void *opaque, ram_addr_t start, ram_addr_t length);

/**
 * ram_block_foreach_data: what of a range may hold something else than zeros
 *
 * @start, @length: whole host pages, inside the block's maximum length
 * @func: called with runs of whole host pages inside the range; in any order,
 *        and they may overlap
 *
 * Pages in no run read as zero. Any thread with a reference.
 */
void ram_block_foreach_data(RAMBlock *rb, ram_addr_t start, ram_addr_t length,
                            RAMDataFunc *func, void *opaque);

/* Test hook: as on a kernel before 6.7, without PAGEMAP_SCAN. */
extern bool ram_holes_test_no_scan;

#endif /* SYSTEM_RAM_HOLES_H */
