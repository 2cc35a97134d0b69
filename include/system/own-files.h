/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Own files: what this VM lives on, and must not be written over.
 *
 * These are the files behind RAM blocks (of any kind: a memfd has a name in
 * /proc) and those that were registered, as the images of disks. A file is the
 * same by whatever name it was opened: device and inode are compared, of a
 * block device its number.
 *
 * Threads: any may ask; registering is the main thread's.
 *
 * Used by: hw/block, migration, memory-cmds.c. Uses: ram-block.h.
 */
#ifndef SYSTEM_OWN_FILES_H
#define SYSTEM_OWN_FILES_H

#include "qemu/error.h"

/* @fd is @what ("the image of drive 'd0'") as long as the process lives. */
void own_file_register(int fd, const char *what);

/**
 * own_file_check: whether @fd may be written to as if it were new
 *
 * @name: how it was asked for, for the message
 *
 * To be asked before the first change, also before it is cut to length 0.
 * False with @errp naming both.
 */
bool own_file_check(int fd, const char *name, Error **errp);

#endif /* SYSTEM_OWN_FILES_H */
