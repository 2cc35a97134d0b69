/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loader: images that are in guest memory when the machine starts, and again
 * after each reset.
 *
 * Blobs are collected while the board is built and written by a reset
 * handler. They must lie in RAM and not overlap. A VM that waits for an
 * incoming stream writes none: its RAM comes from the stream or is shared
 * with the running source.
 *
 * Files are not trusted: every number in a header is checked against the
 * file's length and the RAM that is there.
 *
 * Threads: main thread; the reset handler under the BQL.
 *
 * Used by: hw/ boards. Uses: memory.h, reset.h.
 */
#ifndef HW_LOADER_H
#define HW_LOADER_H

/* The RAM that images may go to: [base, base + size). */
typedef struct LoaderRam {
    hwaddr base;
    uint64_t size;
} LoaderRam;

/* Where an image went. */
typedef struct LoadedImage {
    hwaddr entry;
    hwaddr low, high; /* bytes [low, high) are the image's, zeros included */
} LoadedImage;

/**
 * rom_add_blob: have @len bytes at @addr after each reset
 *
 * @name: for messages: "kernel", a file name
 * @data: taken over (freed with g_free()), also on failure
 * @size: bytes that belong to it, at least @len; the rest is zeroed
 *
 * Fails if it does not fit in @ram or overlaps one added before.
 */
bool rom_add_blob(const char *name, void *data, uint64_t len, uint64_t size,
                  hwaddr addr, const LoaderRam *ram, Error **errp);

/*
 * Have resets write nothing while @spare: RAM is the guest's (it wakes from
 * sleep). By a reset handler that runs before the loader's, which is registered
 * with the first blob.
 */
void rom_spare_memory(bool spare);

/* Forget all blobs: for tests. */
void rom_clear(void);

/**
 * loader_read_file: the whole file, if it is not longer than @max_bytes
 *
 * Also reads pipes and other things without a length. Caller frees. NULL and
 * @errp on failure; an empty file is a failure.
 */
void *loader_read_file(const char *filename, uint64_t max_bytes, uint64_t *len,
                       Error **errp);

/* Does @data begin like an ELF file, whatever kind? */
bool loader_is_elf(const void *data, uint64_t len);

/**
 * load_elf64_le: add the segments of a 64-bit little-endian ELF file
 *
 * @machine: e_machine it must have
 *
 * Segments go to their physical addresses; an entry point given as a virtual
 * address is translated. @data is borrowed.
 */
bool load_elf64_le(const char *name, const void *data, uint64_t len,
                   unsigned machine, const LoaderRam *ram, LoadedImage *out,
                   Error **errp);

/* Uncompress gzip data of at most @max_bytes; NULL and @errp on failure. */
void *loader_gunzip(const void *data, uint64_t len, uint64_t max_bytes,
                    uint64_t *out_len, Error **errp);
bool loader_is_gzip(const void *data, uint64_t len);

#endif /* HW_LOADER_H */
