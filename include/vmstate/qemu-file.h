/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMUFile: the migration stream, one direction of it, over a channel.
 *
 * Big-endian integers, buffered. An output file gathers small pieces in its
 * buffer and pages by reference, and writes both with one writev; an input
 * file reads ahead, and fills large requests straight into their destination.
 *
 * Errors stick. The first one is kept, in words and as -errno; after it every
 * put does nothing and every get returns zeros. So a caller may read or write
 * a whole group of fields and look once, with qemu_file_check(), provided it
 * does not act on a value (allocate, index, loop) before it looked. An end of
 * the stream where bytes were asked for is an error too: its words say at
 * which offset.
 *
 * Threads: a file belongs to one thread at a time, except the functions marked
 * "any thread". Two files on one channel, one each way, may have two threads.
 *
 * Used by: migration/, device tables through vmstate. Uses: io, util.
 */
#ifndef VMSTATE_QEMU_FILE_H
#define VMSTATE_QEMU_FILE_H

#include "io/channel.h"

/* What an input file can hold at once: the limit of peek and in_place. */
#define QEMU_FILE_BUFFER_BYTES (256 * 1024)

/* Takes a reference to @ioc, which must be blocking. */
QEMUFile *qemu_file_new_input(QIOChannel *ioc);
QEMUFile *qemu_file_new_output(QIOChannel *ioc);

/**
 * qemu_file_get_return_path: a file for the other direction of @f's channel
 *
 * Returns NULL if the channel carries bytes one way only (file:, a one-way
 * pipe).
 */
QEMUFile *qemu_file_get_return_path(QEMUFile *f);
bool qemu_file_is_writable(QEMUFile *f);
QIOChannel *qemu_file_get_ioc(QEMUFile *f); /* no new reference */

/**
 * qemu_fclose: flush (output without error), drop the channel, free
 *
 * The channel is closed when its last user lets go of it, not here. @f NULL:
 * nothing. Returns false with an Error if @f had or got an error.
 */
bool qemu_fclose(QEMUFile *f, Error **errp);

/* --- errors (any thread) --- */

/* 0, or -errno of the first error. */
int qemu_file_get_error(QEMUFile *f);
/* The same, and a copy of its words in @errp. */
int qemu_file_get_error_obj(QEMUFile *f, Error **errp);
/* True if there was no error; else false with a copy of it. */
bool qemu_file_check(QEMUFile *f, Error **errp);
/* Takes @err (may be NULL: strerror(-ret)). Dropped if not the first. */
void qemu_file_set_error_obj(QEMUFile *f, int ret, Error *err);
void qemu_file_set_error(QEMUFile *f, int ret);

/**
 * qemu_file_shutdown: fail the file and wake its thread, both directions
 *
 * Any thread, more than once. The file's error becomes -ECANCELED if it had
 * none. A return-path file on the same channel wakes too.
 */
void qemu_file_shutdown(QEMUFile *f);

/* --- positions (any thread) --- */

/*
 * Input: bytes taken by the reader; output: bytes put, whether already handed
 * to the channel or not. An offset in the stream, for messages and limits.
 */
uint64_t qemu_file_position(QEMUFile *f);
/* Output: the same number: what this file has cost of a bandwidth budget. */
uint64_t qemu_file_transferred(QEMUFile *f);

/* --- output --- */

void qemu_put_byte(QEMUFile *f, int v);
void qemu_put_be16(QEMUFile *f, unsigned v);
void qemu_put_be32(QEMUFile *f, uint32_t v);
void qemu_put_be64(QEMUFile *f, uint64_t v);
#define qemu_put_sbyte(f, v) qemu_put_byte(f, (uint8_t)(v))
#define qemu_put_sbe16(f, v) qemu_put_be16(f, (uint16_t)(v))
#define qemu_put_sbe32(f, v) qemu_put_be32(f, (uint32_t)(v))
#define qemu_put_sbe64(f, v) qemu_put_be64(f, (uint64_t)(v))
void qemu_put_buffer(QEMUFile *f, const void *buf, size_t size);

/**
 * qemu_put_buffer_async: put @size bytes by reference
 *
 * @buf must stay mapped until the next qemu_fflush(); it is read some time
 * before that returns. So of a guest page that is written meanwhile, the older
 * or the newer bytes go out, which is right as long as it was cleaned before
 * (then it is dirty again).
 */
void qemu_put_buffer_async(QEMUFile *f, const void *buf, size_t size);

/* One length byte, then @str (at most 255 bytes, else the file fails). */
void qemu_put_counted_string(QEMUFile *f, const char *str);

/* Write out all. Returns false with an Error if the file has failed. */
bool qemu_fflush(QEMUFile *f, Error **errp);

/* Bytes put and not yet written. */
size_t qemu_file_pending(QEMUFile *f);

/* Put bytes at a place of a SEEKABLE channel, past the buffer. */
bool qemu_put_buffer_at(QEMUFile *f, const void *buf, size_t size, off_t pos,
                        Error **errp);
/* Flush, then go on at @pos of a SEEKABLE channel (input: drop the buffer). */
bool qemu_set_offset(QEMUFile *f, off_t pos, Error **errp);
/* Where in the file the next byte comes from or goes to; -1 with an Error. */
off_t qemu_get_offset(QEMUFile *f, Error **errp);

/* --- input --- */

int qemu_get_byte(QEMUFile *f); /* 0..255 */
unsigned qemu_get_be16(QEMUFile *f);
uint32_t qemu_get_be32(QEMUFile *f);
uint64_t qemu_get_be64(QEMUFile *f);
#define qemu_get_sbyte(f) ((int8_t)qemu_get_byte(f))
#define qemu_get_sbe16(f) ((int16_t)qemu_get_be16(f))
#define qemu_get_sbe32(f) ((int32_t)qemu_get_be32(f))
#define qemu_get_sbe64(f) ((int64_t)qemu_get_be64(f))

/**
 * qemu_get_buffer: read exactly @size bytes
 *
 * Large requests go from the channel to @buf without a copy. Returns @size, or
 * fewer if the file failed (what is behind them in @buf is undefined).
 */
size_t qemu_get_buffer(QEMUFile *f, void *buf, size_t size);
/* At a position of a SEEKABLE channel, past the buffer and the position. */
bool qemu_get_buffer_at(QEMUFile *f, void *buf, size_t size, off_t pos,
                        Error **errp);

/**
 * qemu_get_buffer_in_place: the next @size bytes, without a copy if possible
 *
 * @buf: in: memory for @size bytes; out: where the bytes are, either there or
 *     in the file's own buffer, valid until the next call on @f
 *
 * Returns as qemu_get_buffer().
 */
size_t qemu_get_buffer_in_place(QEMUFile *f, uint8_t **buf, size_t size);

/*
 * Bytes that can be had without reading from the channel. While it is only
 * they that are asked for, what qemu_get_buffer_in_place() gave stays valid.
 */
size_t qemu_file_buffered(const QEMUFile *f);
/*
 * Read into @mem from now on, QEMU_FILE_BUFFER_BYTES by g_malloc(), which is
 * the file's then. Returns the buffer so far, the caller's, in which all that
 * qemu_get_buffer_in_place() gave stays valid.
 */
uint8_t *qemu_file_swap_buffer(QEMUFile *f, uint8_t *mem);

/**
 * qemu_peek_buffer: look at @size bytes that begin @offset bytes ahead
 *
 * @offset + @size <= QEMU_FILE_BUFFER_BYTES. Waits for them. Returns how many
 * are there: fewer only if the stream ends before (that alone is not an error
 * of the file) or the file failed.
 */
size_t qemu_peek_buffer(QEMUFile *f, const uint8_t **buf, size_t size,
                        size_t offset);
int qemu_peek_byte(QEMUFile *f, size_t offset); /* -1: none there */
/* Take @size bytes without looking; any length. */
void qemu_file_skip(QEMUFile *f, uint64_t size);
/* True if the stream ends here, cleanly. Waits for a byte to tell. */
bool qemu_file_at_end(QEMUFile *f);

/**
 * qemu_get_counted_string: read one length byte and that many bytes
 *
 * @buf: gets a NUL-terminated string; "" on failure
 *
 * Returns false if the file failed or the string contains something that is
 * not printable ASCII (then @f gets that as its error).
 */
bool qemu_get_counted_string(QEMUFile *f, char buf[256]);

static inline void qemu_file_cleanup(QEMUFile *f)
{
    qemu_fclose(f, NULL);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(QEMUFile, qemu_file_cleanup)

#endif /* VMSTATE_QEMU_FILE_H */
