/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zero page check: is every byte of a buffer zero?
 *
 * The vector code and the scalar twin give the same answer for every input;
 * a test holds them to each other. The buffer may change while it is looked
 * at (the guest runs): the answer is then right for some mixture of old and
 * new bytes, which is enough, since whoever changed it marked it dirty.
 *
 * Threads: any. Used by: ram-save.c, ram-load.c. Uses: system.
 */
#ifndef MIGRATION_RAM_ZERO_PAGE_H
#define MIGRATION_RAM_ZERO_PAGE_H

#include "system/ram-block.h"

/**
 * ram_page_is_zero: whether @len_bytes at @page are all zero
 *
 * @page: aligned to 64 bytes; @len_bytes: a multiple of 256, not 0
 */
bool ram_page_is_zero(const void *page, size_t len_bytes);

/**
 * ram_block_page_is_zero: the same for a page of a block
 *
 * The host may have no such page (file system full, file cut): then an error
 * that names block and offset, and -1. Else 1 or 0.
 */
int ram_block_page_is_zero(RAMBlock *rb, ram_addr_t offset, size_t len_bytes,
                           Error **errp);

/* The scalar twin; same contract, any alignment and length. */
bool ram_page_is_zero_scalar(const void *page, size_t len_bytes);

#endif /* MIGRATION_RAM_ZERO_PAGE_H */
