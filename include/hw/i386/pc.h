/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PC: the machines pc-q35-11.1 (q35) and pc-i440fx-11.1 (pc) in their least
 * honest-to-QEMU form: its memory map, its legacy devices and power
 * management, no PCI devices but the host bridge.
 *
 *   0           RAM, up to the hole (q35: 0x80000000 if RAM has 0xb0000000
 *               bytes or more, else 0xb0000000; pc: 0xc0000000 and 0xe0000000)
 *   0xa0000     nothing: 128 KiB, video memory of which there is none
 *   0xc0000     256 KiB by the host bridge: host-bridge.h
 *   0xfec00000  I/O APIC, 0xfee00000 local APICs: the accelerator's, the
 *               first with kernel-irqchip=split ours: split-chips.h
 *   4 GiB less the firmware's size: firmware, if any (-bios)
 *   4 GiB       the rest of RAM
 *
 * Ports: 0x70 RTC, 0x92, 0xb2 APM, 0x3f8 and kin serial, 0x600 ACPI, 0xcf8 and
 * 0xcfc host bridge, 0xcf9 reset. PIT: i8254.h. PICs: as the I/O APIC.
 *
 * Used by: system/types-x86_64.c, tests. Uses: boot.h, boards.h, devices.
 */
#ifndef HW_I386_PC_H
#define HW_I386_PC_H

#include "hw/acpi/pm.h"
#include "hw/boards.h"
#include "hw/i386/boot.h"
#include "hw/i386/host-bridge.h"
#include "hw/rtc/mc146818rtc.h"
#include "target/i386/x86-cpu.h"

#define TYPE_PC_MACHINE     MACHINE_TYPE_NAME("generic-pc") /* abstract */
#define TYPE_PC_Q35_MACHINE MACHINE_TYPE_NAME("pc-q35-11.1")
#define TYPE_PC_PC_MACHINE  MACHINE_TYPE_NAME("pc-i440fx-11.1")
#define PC_MAX_CPUS         240 /* APIC ids below 255 */
#define PC_ABOVE_4G         (UINT64_C(1) << 32)

typedef struct PCMachineClass {
    MachineClass parent_class;

    const char *bridge_type, *pm_type;
    /* RAM below 4 GiB: @low_if_more if there is as much as @low_if_less. */
    uint64_t low_if_less, low_if_more;
} PCMachineClass;

typedef struct PCMachineState {
    MachineState parent_obj;

    /* Properties; constant once the board is built. */
    char *firmware;            /* -bios; NULL: the board boots by itself */
    uint64_t max_ram_below_4g; /* 0: the machine's own */
    OnOffAuto acpi;

    /* Made by init. */
    uint64_t below_4g, above_4g; /* bytes of RAM */
    MemoryRegion ram_below_4g, ram_above_4g, bios;
    DeviceState *gsi;
    HostBridge *bridge;
    AcpiPmState *pm;
    MC146818RtcState *rtc;
    X86BootInfo boot;
} PCMachineState;

OBJECT_DECLARE_TYPE(PCMachineState, PCMachineClass, PC_MACHINE)

void pc_machine_register_types(void);

#endif /* HW_I386_PC_H */
