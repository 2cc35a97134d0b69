/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PCI host bridge of a PC, as far as it decides what is seen below 1 MiB:
 * types "mch" (q35) and "i440FX" (pc).
 *
 * Configuration mechanism #1: ports 0xcf8 (address, as 32 bits) and 0xcfc (data);
 * there is no other device on the bus. Amid the address is the south bridge's
 * reset control register, 0xcf9: a byte, in which bit 2 resets the machine. What can be written is seven PAM bytes (at 0x90,
 * "mch", or 0x59, "i440FX"): two bits for each of 13 segments between 0xc0000
 * and 0xfffff, bit 0 reads from RAM, bit 1 writes to RAM.
 *
 *   3       RAM
 *   1       RAM that cannot be written
 *   0, 2    not RAM: the firmware's ROM at 0xe0000 and above, else nothing
 *
 * After a reset without firmware: 0xc0000 to 0xdffff RAM, above it RAM that
 * cannot be written, as a firmware would leave it. With firmware all zero.
 *
 * Used by: hw/i386. Uses: qdev.h, memory.h.
 */
#ifndef HW_I386_HOST_BRIDGE_H
#define HW_I386_HOST_BRIDGE_H

#include "hw/qdev.h"
#include "system/memory.h"

#define TYPE_HOST_BRIDGE "pc-host-bridge" /* abstract */
#define TYPE_MCH         "mch"
#define TYPE_I440FX      "i440FX"

#define RESET_PORT   0xcf9
#define PAM_SEGMENTS 13
#define PAM_BASE     UINT64_C(0xc0000)
#define ISA_HOLE_BASE \
    UINT64_C(0xa0000) /* video memory, of which there is none */
#define ISA_HOLE_END UINT64_C(0x100000)

typedef struct HostBridgeClass {
    DeviceClass parent_class;

    uint16_t device_id;
    uint8_t pam_offset;
} HostBridgeClass;

typedef struct HostBridge {
    DeviceState parent_obj;

    /* Given before realize. */
    MemoryRegion *ram;      /* address 0 and on */
    MemoryRegion *firmware; /* what the segments show that are not RAM; NULL */
    hwaddr firmware_base;   /* where in guest memory */

    /* Constant after realize. */
    MemoryRegion config_addr_io, config_data_io;
    MemoryRegion hole, nothing, firmware_alias, vga;
    struct {
        MemoryRegion rom, hidden; /* at most one is enabled */
    } segment[PAM_SEGMENTS];

    /* Guarded by the BQL; saved. */
    uint32_t config_addr;
    uint8_t config[256];
    uint8_t rst_cnt; /* reset control */
} HostBridge;

OBJECT_DECLARE_TYPE(HostBridge, HostBridgeClass, HOST_BRIDGE)

void host_bridge_register_types(void);

#endif /* HW_I386_HOST_BRIDGE_H */
