/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages on their way from the stream's buffer into memory.
 *
 * Pages that follow one another are gathered and copied in together
 * (ram_block_copy_in_pieces()). To make new memory costs more than to read the
 * stream, so where there is a second processor, a thread of its own does that
 * (mig/dst/ram) while the next ones are read into another buffer; in the order
 * in which they came.
 *
 *   incoming thread: ram_pages_before_read() -> read -> ram_pages_take() ...
 *                    ram_pages_settle() -> whatever looks at memory
 *
 * Threads: all functions, the incoming thread, or whoever cleans up after it.
 * Used by: ram-load.c. Uses: qemu-file.h, ram-block.h.
 */
#ifndef MIGRATION_RAM_LOAD_PAGES_H
#define MIGRATION_RAM_LOAD_PAGES_H

#include "system/ram-block.h"
#include "vmstate/qemu-file.h"

void ram_pages_begin(void);
/* Ends the thread; pages that are not in memory yet are dropped. */
void ram_pages_end(void);

/*
 * The next @size bytes of @f are the content of @rb at @offset; at most what a
 * page has. When it fails, @errp says why these or earlier pages can't come.
 */
bool ram_pages_take(QEMUFile *f, RAMBlock *rb, ram_addr_t offset, size_t size,
                    Error **errp);
/*
 * @size bytes are going to be read from @f by others: what was taken stays
 * valid, even if @f has to read from its channel for that.
 */
bool ram_pages_before_read(QEMUFile *f, size_t size, Error **errp);
/* All pages that were taken are in memory. */
bool ram_pages_settle(Error **errp);

/* For tests and traces: batches written by the thread, and by the caller. */
void ram_pages_counts(uint64_t *by_thread, uint64_t *by_caller);

#endif /* MIGRATION_RAM_LOAD_PAGES_H */
