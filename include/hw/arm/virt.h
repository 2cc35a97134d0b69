/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virt: the machine for AArch64 guests that know they are virtual.
 *
 * Addresses, interrupt numbers and the device tree's node names are those of
 * QEMU's machine of the same name; what is not there yet is missing from the
 * device tree.
 *
 *   0x08000000 64 KiB  interrupt controller, distributor (GICv2 and GICv3)
 *   0x08010000 64 KiB  GICv2 CPU interface
 *   0x080a0000 15 MiB  GICv3 redistributors, 128 KiB for each vCPU
 *   0x09000000  4 KiB  PL011, SPI 1
 *   0x40000000         RAM
 *
 * With -accel kvm the interrupt controller is the kernel's, a GICv3, CPUs are
 * `host`, and PSCI is answered by the kernel.
 *
 * Private interrupts: timer physical 14, virtual 11.
 *
 * Used by: system/types-aarch64.c, tests. Uses: boot.h, boards.h.
 */
#ifndef HW_ARM_VIRT_H
#define HW_ARM_VIRT_H

#include "hw/arm/boot.h"
#include "hw/boards.h"
#include "hw/qdev.h"

#define TYPE_VIRT_MACHINE MACHINE_TYPE_NAME("virt-11.1")

#define VIRT_GIC_DIST_BASE   UINT64_C(0x08000000)
#define VIRT_GIC_CPU_BASE    UINT64_C(0x08010000)
#define VIRT_GIC_REDIST_BASE UINT64_C(0x080a0000)
#define VIRT_GIC_REDIST_SIZE UINT64_C(0x00f60000)
#define VIRT_UART_BASE       UINT64_C(0x09000000)
#define VIRT_UART_SIZE       UINT64_C(0x00001000)
#define VIRT_MEM_BASE        UINT64_C(0x40000000)
#define VIRT_LOWMEM_END      UINT64_C(0x100000000) /* highmem=off ends here */

#define VIRT_UART_SPI         1
#define VIRT_NUM_SPIS         256
#define VIRT_PPI_TIMER_VIRT   11
#define VIRT_PPI_TIMER_PHYS   14
#define VIRT_PPI_TIMER_HYP    10
#define VIRT_PPI_TIMER_SECURE 13
#define VIRT_MAX_CPUS         8

typedef struct VirtMachineState {
    MachineState parent_obj;

    /* Properties; constant once the board is built. */
    int gic_version; /* 2 or 3; before: see virt.c */
    bool highmem;
    bool dtb_randomness;
    char *dt_compatible;

    /* Made by init. */
    ArmBootInfo boot;
    void *fdt;
    uint64_t fdt_size;
    DeviceState *gic; /* NULL: there is none */
    ARMCPU *cpus[VIRT_MAX_CPUS];
    uint32_t psci_conduit;
} VirtMachineState;

DECLARE_INSTANCE_CHECKER(VirtMachineState, VIRT_MACHINE, TYPE_VIRT_MACHINE)

/* Build vms->fdt from what the machine has. virt-fdt.c */
bool virt_fdt_build(VirtMachineState *vms, Error **errp);
/* Or read -dtb into it; sets psci_conduit to what it says. */
bool virt_fdt_read_users(VirtMachineState *vms, Error **errp);
/* Bytes that it will have, at most. */
uint64_t virt_fdt_room(const VirtMachineState *vms);
/* Add what is known only after the images have their places, and pack. */
bool virt_fdt_finish(VirtMachineState *vms, Error **errp);
/* Fill the random seeds anew. */
void virt_fdt_randomize(void *fdt);

void virt_machine_register_types(void);

#endif /* HW_ARM_VIRT_H */
