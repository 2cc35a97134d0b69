/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Disk images (-drive), and the disk on them (ide-hd).
 *
 * The honest least: a raw file of which the board reads the first sector, to
 * boot it. The guest has no disk controller, so nothing is ever written, and
 * nothing of a disk is in a migration stream: the target is given the same
 * file, or none.
 *
 * Threads: main thread.
 *
 * Used by: hw/i386, system/cmdline. Uses: qdev.h.
 */
#ifndef HW_BLOCK_DRIVE_H
#define HW_BLOCK_DRIVE_H

#include "hw/qdev.h"

#define TYPE_IDE_HD "ide-hd"
#define SECTOR_SIZE 512

typedef struct DriveInfo {
    char *id;      /* NULL: none was given */
    char *file;    /* opened once, so that a wrong name is an early error */
    bool on_board; /* if=ide (the default): the machine makes its disk */
    bool in_use;
} DriveInfo;

/* One -drive: keyval of file, format, if, id, media, readonly, index. */
bool drive_add(json_object *props, Error **errp);
DriveInfo *drive_find(const char *id); /* NULL: none */

/*
 * The disks of if=ide, in the order given. Without @has_ide there may be none,
 * and no drive at all may be left over.
 */
bool drives_make_disks(bool has_ide, Error **errp);

/* The first sector of the first disk. False: there is no disk. */
bool disk_present(void);
/* Read it anew; fails, naming the file, if it cannot be read or is no more. */
bool disk_read_boot_sector(uint8_t sector[SECTOR_SIZE], Error **errp);
/* The first disk's file, for messages; NULL: none. */
const char *disk_file(void);

void ide_hd_register_types(void);

#endif /* HW_BLOCK_DRIVE_H */
