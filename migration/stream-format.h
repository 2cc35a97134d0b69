/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration stream: the elements of the main channel and of the return path.
 *
 * All integers are big-endian. str8 = u8 length, that many bytes, no NUL.
 *
 * Main channel
 *
 *   u32 0x5145564d ("QEVM"), u32 3
 *   0x07 CONFIGURATION   u32 n, n bytes machine name, then subsections
 *   0x08 COMMAND         u16 command, u16 length, that many bytes
 *   0x01 START           u32 section id, str8 name, u32 instance, u32 version,
 *                        payload, footer
 *   0x02 PART            u32 section id, payload, footer
 *   0x03 END             u32 section id, payload, footer
 *   0x04 FULL            as START
 *   0x05 SUBSECTION      str8 name, u32 version, fields (in a payload only)
 *   0x00 EOF
 *   0x06 VMDESC          u32 length, JSON text without a NUL; after EOF
 *   footer: 0x7e, u32 section id, which must be the one just ended
 *
 *   source                                          destination
 *   ------                                          -----------
 *   header, CONFIGURATION
 *   OPEN_RETURN_PATH, PING 1      (return-path)     PONG 1
 *   PING hello                    (own-kind.h)      PONG answer
 *   START ram: list of blocks
 *   PART ram ...                                    pages into memory
 *   SWITCHOVER_START
 *   END ram: the last pages
 *   FULL ...: devices
 *   EOF, VMDESC                                     starts, SHUT 0
 *
 * Sections carry no length: who reads must know every size. So the reader
 * checks the footer after each and gives up at the first doubt.
 *
 * CONFIGURATION's subsections, each 0x05, str8 name, u32 version 1:
 *   configuration/target-page-bits  u32, if larger than the target's minimum
 *   configuration/capabilities      u32 n, n * str8: those of the capabilities
 *                                   that both sides must agree on which are on
 *   configuration/uuid              16 bytes, with validate-uuid and -uuid
 * The reader compares the name, takes an absent target-page-bits as the
 * minimum, wants the same capabilities, and refuses what it does not know.
 *
 * Return path: u16 type, u16 length, that many bytes
 *
 *   1 SHUT  u32: 0 = all loaded well, else it failed
 *   2 PONG  u32: the value of the PING
 *
 * Used by: savevm.c, loadvm.c, return-path.c. Uses: nothing.
 */
#ifndef MIGRATION_STREAM_FORMAT_H
#define MIGRATION_STREAM_FORMAT_H

#define QEMU_VM_FILE_MAGIC   0x5145564du
#define QEMU_VM_FILE_VERSION 3u

enum QemuVmSection {
    QEMU_VM_EOF = 0x00,
    QEMU_VM_SECTION_START = 0x01,
    QEMU_VM_SECTION_PART = 0x02,
    QEMU_VM_SECTION_END = 0x03,
    QEMU_VM_SECTION_FULL = 0x04,
    QEMU_VM_SUBSECTION = 0x05,
    QEMU_VM_VMDESCRIPTION = 0x06,
    QEMU_VM_CONFIGURATION = 0x07,
    QEMU_VM_COMMAND = 0x08,
    QEMU_VM_SECTION_FOOTER = 0x7e,
};

enum MigCommand {
    MIG_CMD_INVALID = 0,
    MIG_CMD_OPEN_RETURN_PATH = 1,
    MIG_CMD_PING = 2,
    MIG_CMD_POSTCOPY_ADVISE = 3,
    MIG_CMD_POSTCOPY_LISTEN = 4,
    MIG_CMD_POSTCOPY_RUN = 5,
    MIG_CMD_POSTCOPY_RAM_DISCARD = 6,
    MIG_CMD_PACKAGED = 7,
    MIG_CMD_ENABLE_COLO = 8,
    MIG_CMD_POSTCOPY_RESUME = 9,
    MIG_CMD_RECV_BITMAP = 10,
    MIG_CMD_SWITCHOVER_START = 11,
};

enum MigRpMessage {
    MIG_RP_MSG_SHUT = 1,
    MIG_RP_MSG_PONG = 2,
    MIG_RP_MSG_REQ_PAGES_ID = 3,
    MIG_RP_MSG_REQ_PAGES = 4,
    MIG_RP_MSG_RECV_BITMAP = 5,
    MIG_RP_MSG_RESUME_ACK = 6,
    MIG_RP_MSG_SWITCHOVER_ACK = 7,
};

/* Bounds on what a stream may claim. */
enum {
    CONFIG_NAME_MAX_BYTES = 255,
    CONFIG_CAPS_MAX = 64,
    VMDESC_MAX_BYTES = 64 * 1024 * 1024,
};

#endif /* MIGRATION_STREAM_FORMAT_H */
