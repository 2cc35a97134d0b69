/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Own files: what this VM lives on, and must not be written over.
 *
 * These are the files behind RAM blocks (of any kind: a memfd has a name in
 * /proc) and those that were registered, as the images of disks. A file is the
 * same by whatever name it was opened: device and inode are compared, of a
 * block device its number.
 *
 * Whoever opens a file for writing is told (include/qemu/write-guard.h), before
 * the first change, by an error that names the file and what it is.
 *
 * Threads: files are opened by any; the functions here are the main thread's.
 *
 * Used by: hw/block, ram-block.c, start-up. Uses: ram-block.h, write-guard.h.
 */
#ifndef SYSTEM_OWN_FILES_H
#define SYSTEM_OWN_FILES_H

#include "qemu/error.h"

/* From now on. To be called by whoever makes a RAM block with a file. */
void own_files_guard(void);

/* @fd is @what ("the image of drive 'd0'") as long as the process lives. */
void own_file_register(int fd, const char *what);

/*
 * The file @path, if there is one, will be @what: a command line says so, of
 * which other parts are carried out before. Counts until it really is.
 */
void own_file_expect(const char *path, const char *what);
void own_files_are_there(void);

/* Whether @fd, opened as @path, may become the VM's memory: not if the VM
 * itself writes to that file (a log, a chardev). False with @errp. */
bool own_file_adopt(int fd, const char *path, Error **errp);

#endif /* SYSTEM_OWN_FILES_H */
