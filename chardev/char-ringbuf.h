/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ring buffer chardev: what ringbuf-read and ringbuf-write need.
 *
 * Used by: char-cmds.c. Uses: nothing.
 */
#ifndef CHARDEV_CHAR_RINGBUF_H
#define CHARDEV_CHAR_RINGBUF_H

#include "char-int.h"

bool chardev_is_ringbuf(const Chardev *chr);
uint64_t chardev_ringbuf_used(Chardev *chr); /* bytes not yet read */
/* Takes up to @len of the oldest bytes; returns how many. */
int chardev_ringbuf_read(Chardev *chr, uint8_t *buf, int len);
int chardev_ringbuf_write(Chardev *chr, const uint8_t *buf, int len);

#endif /* CHARDEV_CHAR_RINGBUF_H */
