/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RAM section, version 4: guest memory as it looks on the wire.
 *
 * All integers are big-endian. Every record begins with one u64: a value that
 * is a multiple of the target page size, OR-ed with flags in the bits below.
 *
 *   flag         value  what follows the u64
 *   -----------  -----  ---------------------------------------------------
 *   FULL         0x001  nothing; obsolete, refused
 *   ZERO         0x002  [block name] u8 fill, which must be 0
 *   MEM_SIZE     0x004  the block list; the value is the sum of its lengths
 *   PAGE         0x008  [block name] one target page of raw bytes
 *   EOS          0x010  nothing; ends the payload of this section
 *   CONTINUE     0x020  modifier of ZERO and PAGE: no block name, the page is
 *                       of the same block as the page record before it
 *   XBZRLE       0x040  [block name] u8 1, u16 length, data
 *   HOOK         0x080  RDMA only
 *   COMPRESS     0x100  removed from the protocol
 *   FLUSH        0x200  nothing; only with multifd
 *
 * block name: u8 length, then that many bytes, no NUL. With ZERO, PAGE and
 * XBZRLE the value is the page's offset inside its block, not an address of
 * the guest. CONTINUE reaches across section boundaries.
 *
 * Payload of the START section:
 *
 *   u64  total | MEM_SIZE
 *   then entries until their lengths add up to total:
 *     u8 n, n bytes   block name
 *     u64             used length in bytes
 *     u64             guest address      only with x-ignore-shared
 *   u64  EOS
 *
 * Payload of PART and END sections: any number of ZERO and PAGE records, in
 * any order, a page as often as need be; then EOS.
 *
 * Validity, checked by ram-load.c:
 *   - a block in the list must exist here with the same used length (a
 *     resizable one is resized up to its maximum); a block of ours that is
 *     not in the list is no error
 *   - a page's offset lies inside the block's used length
 *   - exactly one of ZERO, PAGE, EOS, MEM_SIZE per record; CONTINUE only with
 *     the first two, and only after a record that named a block
 *   - ZERO really clears: the page may hold older data
 *
 * The target page size is a matter of this format alone (1 KiB for the
 * aarch64 `none` machine, 4 KiB elsewhere); dirty tracking counts host pages.
 *
 * Used by: ram-save.c, ram-load.c and their tests. Uses: nothing.
 */
#ifndef MIGRATION_RAM_FORMAT_H
#define MIGRATION_RAM_FORMAT_H

#define RAM_SECTION_NAME    "ram"
#define RAM_SECTION_VERSION 4

enum RamRecordFlag {
    RAM_FLAG_FULL = 0x001,
    RAM_FLAG_ZERO = 0x002,
    RAM_FLAG_MEM_SIZE = 0x004,
    RAM_FLAG_PAGE = 0x008,
    RAM_FLAG_EOS = 0x010,
    RAM_FLAG_CONTINUE = 0x020,
    RAM_FLAG_XBZRLE = 0x040,
    RAM_FLAG_HOOK = 0x080,
    RAM_FLAG_COMPRESS = 0x100,
    RAM_FLAG_FLUSH = 0x200,
};

#define RAM_FLAG_ALL 0x3ffu

/* Size of a page record without the page: u64 head, [u8 + name]. */
static inline uint64_t ram_record_head_bytes(size_t name_len, bool cont)
{
    return 8 + (cont ? 0 : 1 + name_len);
}

#endif /* MIGRATION_RAM_FORMAT_H */
