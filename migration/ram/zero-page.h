/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zero page check: is every byte of a buffer zero?
 *
 * The vector code and the scalar twin give the same answer for every input;
 * a test holds them to each other. The buffer may change while it is looked
 * at (the guest runs): the answer is then right for some mixture of old and
 * new bytes, which is enough, since whoever changed it marked it dirty.
 *
 * Threads: pure function. Used by: ram-save.c. Uses: nothing.
 */
#ifndef MIGRATION_RAM_ZERO_PAGE_H
#define MIGRATION_RAM_ZERO_PAGE_H

/**
 * ram_page_is_zero: whether @len_bytes at @page are all zero
 *
 * @page: aligned to 64 bytes; @len_bytes: a multiple of 256, not 0
 */
bool ram_page_is_zero(const void *page, size_t len_bytes);

/* The scalar twin; same contract, any alignment and length. */
bool ram_page_is_zero_scalar(const void *page, size_t len_bytes);

#endif /* MIGRATION_RAM_ZERO_PAGE_H */
