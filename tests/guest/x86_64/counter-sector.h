/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page counter's boot sector, for whoever makes a disk of it: at byte
 * SECTOR_PARAMETERS stand SECTOR_MAGIC and then four 32-bit words, least byte
 * first: the range's first byte and its length in bytes, rounds over it
 * between two letters, and 1 to fall asleep after the first round.
 *
 * Used by: sector.S, tests/migration.
 */
#ifndef TESTS_GUEST_COUNTER_SECTOR_H
#define TESTS_GUEST_COUNTER_SECTOR_H

#define SECTOR_SIZE       512
#define SECTOR_PARAMETERS 0x1a0
#define SECTOR_MAGIC      "PGCOUNT1" /* 8 bytes */
#define SECTOR_ASLEEP     0x50454c53

#endif /* TESTS_GUEST_COUNTER_SECTOR_H */
