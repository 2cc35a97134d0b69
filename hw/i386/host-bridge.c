/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PCI host bridge of a PC: see host-bridge.h. */
#include "qemu/osdep.h"

#include "hw/i386/host-bridge.h"
#include "qemu/error.h"
#include "system/runstate.h"
#include "trace-hw.h"
#include "vmstate/vmstate.h"

enum {
    PCI_VENDOR = 0x00,
    PCI_DEVICE = 0x02,
    PCI_CLASS = 0x0a,
    PCI_SUBSYSTEM_VENDOR = 0x2c,
    PCI_SUBSYSTEM = 0x2e,

    RESET_SYSTEM = 1 << 1,
    RESET_CPU = 1 << 2, /* do it */
    RESET_FULL = 1 << 3,

    PAM_BYTES = 7,
    PAM_READ = 1,
    PAM_RAM = 3,
};

#define VENDOR_INTEL      0x8086
#define VENDOR_REDHAT     0x1af4
#define SUBSYSTEM_QEMU    0x1100
#define CLASS_HOST_BRIDGE 0x0600
#define CONFIG_PORT       0xcf8
#define RESET_OFFSET      (RESET_PORT - CONFIG_PORT)
#define CONFIG_ENABLE     0x80000000u
#define CONFIG_ADDR_MASK  0x80fffffcu

/* ---- segments ---- */

typedef struct Segment {
    hwaddr base;
    uint64_t size;
    unsigned byte, shift; /* of its two bits among the PAM bytes */
} Segment;

/* The first byte holds the BIOS's 64 KiB, the others two times 16 KiB each. */
static Segment segment_of(unsigned i)
{
    if (i == PAM_SEGMENTS - 1) {
        return (Segment){ 0xf0000, 0x10000, 0, 4 };
    }
    return (Segment){ PAM_BASE + i * 0x4000, 0x4000, 1 + i / 2, i % 2 * 4 };
}

static void update_segments(HostBridge *hb)
{
    const uint8_t *pam = &hb->config[HOST_BRIDGE_GET_CLASS(hb)->pam_offset];

    memory_region_transaction_begin();
    for (unsigned i = 0; i < PAM_SEGMENTS; i++) {
        Segment seg = segment_of(i);
        unsigned mode = (pam[seg.byte] >> seg.shift) & 3;

        memory_region_set_enabled(&hb->segment[i].rom, mode == PAM_READ);
        memory_region_set_enabled(&hb->segment[i].hidden, !(mode & PAM_READ));
    }
    memory_region_transaction_commit();
}

/* Where there is neither RAM nor ROM: what an ISA bus gives. */
static uint64_t nothing_read(void *opaque, hwaddr addr, unsigned size)
{
    return UINT64_MAX;
}

static void nothing_write(void *opaque, hwaddr addr, uint64_t val,
                          unsigned size)
{
}

static const MemoryRegionOps nothing_ops = {
    .read = nothing_read,
    .write = nothing_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 1,
    .valid.max_access_size = 8,
    .valid.unaligned = true,
    .impl.min_access_size = 1,
    .impl.max_access_size = 8,
    .impl.unaligned = true,
};

static void init_hole(HostBridge *hb)
{
    Object *owner = OBJECT(hb);
    uint64_t size = ISA_HOLE_END - ISA_HOLE_BASE;

    memory_region_init_container(&hb->hole, owner, "isa-hole", size);
    memory_region_init_io(&hb->nothing, owner, &nothing_ops, hb, "isa-nothing",
                          size);
    memory_region_add_subregion_overlap(&hb->hole, 0, &hb->nothing, -1);
    if (hb->firmware) {
        /* Its end is seen below 1 MiB, 128 KiB of it at most. */
        uint64_t all = memory_region_size(hb->firmware);
        uint64_t seen = MIN(all, 0x20000);

        memory_region_init_alias(&hb->firmware_alias, owner, "isa-bios",
                                 hb->firmware, all - seen, seen);
        memory_region_add_subregion(&hb->hole, size - seen,
                                    &hb->firmware_alias);
    }
}

static void map_hole(HostBridge *hb)
{
    Object *owner = OBJECT(hb);
    MemoryRegion *memory = get_system_memory();

    memory_region_init_alias(&hb->vga, owner, "vga-hole", &hb->hole, 0,
                             PAM_BASE - ISA_HOLE_BASE);
    memory_region_add_subregion_overlap(memory, ISA_HOLE_BASE, &hb->vga, 1);
    for (unsigned i = 0; i < PAM_SEGMENTS; i++) {
        Segment seg = segment_of(i);
        MemoryRegion *rom = &hb->segment[i].rom;
        MemoryRegion *hidden = &hb->segment[i].hidden;

        memory_region_init_alias(rom, owner, "pam-rom", hb->ram, seg.base,
                                 seg.size);
        memory_region_set_readonly(rom, true);
        memory_region_init_alias(hidden, owner, "pam-isa", &hb->hole,
                                 seg.base - ISA_HOLE_BASE, seg.size);
        memory_region_set_enabled(rom, false);
        memory_region_set_enabled(hidden, false);
        memory_region_add_subregion_overlap(memory, seg.base, rom, 1);
        memory_region_add_subregion_overlap(memory, seg.base, hidden, 1);
    }
}

/* ---- configuration space ---- */

static bool our_device(const HostBridge *hb)
{
    /* Bus 0, device 0, function 0. */
    return (hb->config_addr & CONFIG_ENABLE) && !(hb->config_addr & 0x00ffff00);
}

static uint64_t config_addr_read(void *opaque, hwaddr addr, unsigned size)
{
    HostBridge *hb = opaque;

    if (size == 1 && addr == RESET_OFFSET) {
        return hb->rst_cnt;
    }
    return size == 4 ? hb->config_addr : UINT32_MAX;
}

static void config_addr_write(void *opaque, hwaddr addr, uint64_t val,
                              unsigned size)
{
    HostBridge *hb = opaque;

    if (size == 1 && addr == RESET_OFFSET) {
        if (val & RESET_CPU) {
            qemu_system_reset_request(SHUTDOWN_CAUSE_GUEST_RESET);
        }
        hb->rst_cnt = val & (RESET_SYSTEM | RESET_FULL);
    } else if (size == 4) {
        hb->config_addr = val & CONFIG_ADDR_MASK;
    }
}

static uint64_t config_data_read(void *opaque, hwaddr addr, unsigned size)
{
    HostBridge *hb = opaque;

    return our_device(hb) ? hb->config[(hb->config_addr & 0xfc) + addr]
                          : UINT8_MAX;
}

static void config_data_write(void *opaque, hwaddr addr, uint64_t val,
                              unsigned size)
{
    HostBridge *hb = opaque;
    unsigned pam = HOST_BRIDGE_GET_CLASS(hb)->pam_offset;
    unsigned reg = (hb->config_addr & 0xfc) + addr;

    if (our_device(hb) && reg >= pam && reg < pam + PAM_BYTES) {
        trace_pam_write(reg - pam, val);
        hb->config[reg] = val & (reg == pam ? 0x30 : 0x33);
        update_segments(hb);
    }
}

static const MemoryRegionOps config_addr_ops = {
    .read = config_addr_read,
    .write = config_addr_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 1,
    .valid.max_access_size = 4,
    .impl.min_access_size = 1,
    .impl.max_access_size = 4,
};

static const MemoryRegionOps config_data_ops = {
    .read = config_data_read,
    .write = config_data_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 1,
    .valid.max_access_size = 4,
    .impl.min_access_size = 1,
    .impl.max_access_size = 1,
};

static void put_le16(uint8_t *p, uint16_t v)
{
    p[0] = v;
    p[1] = v >> 8;
}

/* ---- saved state ---- */

static bool host_bridge_post_load(void *opaque, int version_id, Error **errp)
{
    update_segments(opaque);
    return true;
}

#define BRIDGE_FIELDS                        \
    VMSTATE_UINT32(config_addr, HostBridge), \
        VMSTATE_BUFFER(config, HostBridge),  \
        VMSTATE_UINT8(rst_cnt, HostBridge), VMSTATE_END_OF_LIST()

static const VMStateDescription vmstate_mch = {
    .name = "mch",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = host_bridge_post_load,
    .fields = (const VMStateField[]){ BRIDGE_FIELDS },
};

static const VMStateDescription vmstate_i440fx = {
    .name = "I440FX",
    .version_id = 3,
    .minimum_version_id = 3,
    .post_load = host_bridge_post_load,
    .fields = (const VMStateField[]){ BRIDGE_FIELDS },
};

/* ---- the device ---- */

static void host_bridge_reset(DeviceState *dev)
{
    HostBridge *hb = HOST_BRIDGE(dev);
    HostBridgeClass *hc = HOST_BRIDGE_GET_CLASS(hb);
    uint8_t *pam = &hb->config[hc->pam_offset];

    hb->config_addr = 0;
    hb->rst_cnt = 0;
    memset(hb->config, 0, sizeof(hb->config));
    put_le16(&hb->config[PCI_VENDOR], VENDOR_INTEL);
    put_le16(&hb->config[PCI_DEVICE], hc->device_id);
    put_le16(&hb->config[PCI_CLASS], CLASS_HOST_BRIDGE);
    put_le16(&hb->config[PCI_SUBSYSTEM_VENDOR], VENDOR_REDHAT);
    put_le16(&hb->config[PCI_SUBSYSTEM], SUBSYSTEM_QEMU);
    if (!hb->firmware) {
        pam[0] = PAM_READ << 4;
        memset(pam + 1, PAM_RAM << 4 | PAM_RAM, 4);
        memset(pam + 5, PAM_READ << 4 | PAM_READ, 2);
    }
    update_segments(hb);
}

static bool host_bridge_realize(DeviceState *dev, Error **errp)
{
    HostBridge *hb = HOST_BRIDGE(dev);
    MemoryRegion *io = get_system_io();

    memory_region_init_io(&hb->config_addr_io, OBJECT(dev), &config_addr_ops,
                          hb, "pci-conf-idx", 4);
    memory_region_init_io(&hb->config_data_io, OBJECT(dev), &config_data_ops,
                          hb, "pci-conf-data", 4);
    memory_region_add_subregion(io, CONFIG_PORT, &hb->config_addr_io);
    memory_region_add_subregion(io, 0xcfc, &hb->config_data_io);
    memory_region_transaction_begin();
    init_hole(hb);
    map_hole(hb);
    memory_region_transaction_commit();
    return true;
}

static void bridge_class_init(ObjectClass *oc, const void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = host_bridge_realize;
    dc->reset = host_bridge_reset;
}

static void mch_class_init(ObjectClass *oc, const void *data)
{
    HostBridgeClass *hc = HOST_BRIDGE_CLASS(oc);

    DEVICE_CLASS(oc)->vmsd = &vmstate_mch;
    DEVICE_CLASS(oc)->desc = "host bridge of q35: memory below 1 MiB";
    hc->device_id = 0x29c0;
    hc->pam_offset = 0x90;
}

static void i440fx_class_init(ObjectClass *oc, const void *data)
{
    HostBridgeClass *hc = HOST_BRIDGE_CLASS(oc);

    DEVICE_CLASS(oc)->vmsd = &vmstate_i440fx;
    DEVICE_CLASS(oc)->desc = "host bridge of pc: memory below 1 MiB";
    hc->device_id = 0x1237;
    hc->pam_offset = 0x59;
}

static const TypeInfo bridge_types[] = {
    {
        .name = TYPE_HOST_BRIDGE,
        .parent = TYPE_DEVICE,
        .abstract = true,
        .instance_size = sizeof(HostBridge),
        .class_size = sizeof(HostBridgeClass),
        .class_init = bridge_class_init,
    },
    {
        .name = TYPE_MCH,
        .parent = TYPE_HOST_BRIDGE,
        .class_init = mch_class_init,
    },
    {
        .name = TYPE_I440FX,
        .parent = TYPE_HOST_BRIDGE,
        .class_init = i440fx_class_init,
    },
};

void host_bridge_register_types(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(bridge_types); i++) {
        type_register_static(&bridge_types[i]);
    }
}
