/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Boot of an ARM machine: kernel, initial RAM disk and device tree into RAM,
 * and the first vCPU's registers.
 *
 * Kernels: gzip of any of these; ELF64 (to its physical addresses); a Linux
 * Image (to RAM + its text offset); anything else is a raw blob (to RAM +
 * 0x80000). The device tree goes to the beginning of RAM, or, if the kernel
 * lies there, behind everything else. The vCPU starts at the entry point in
 * EL1 with the MMU off, x0 = the device tree's address, x1..x3 = 0. Without a
 * kernel it starts at address 0 with all registers zero.
 *
 * Used by: hw/arm machines. Uses: loader.h, libfdt.
 */
#ifndef HW_ARM_BOOT_H
#define HW_ARM_BOOT_H

#include "hw/boards.h"
#include "hw/loader.h"
#include "target/arm/arm-cpu.h"

typedef struct ArmBootInfo {
    /* Given by the machine. */
    LoaderRam ram;
    const char *kernel_filename, *initrd_filename; /* may be NULL */
    const char *kernel_cmdline;                    /* "" for none */

    /* Found by arm_boot_place_images(). */
    hwaddr entry;
    hwaddr dtb_addr;
    hwaddr initrd_start, initrd_end; /* equal: none */
    void *dtb_blob; /* the device tree that goes to RAM; the loader's */
} ArmBootInfo;

/**
 * arm_boot_place_images: read the kernel and the initrd, find places for all
 *
 * @dtb_size: room that the device tree needs
 */
bool arm_boot_place_images(ArmBootInfo *info, uint64_t dtb_size, Error **errp);

/* The finished tree, copied; to info->dtb_addr after each reset. */
bool arm_boot_add_dtb(ArmBootInfo *info, const void *fdt, uint64_t size,
                      Error **errp);

/* Have @cpu start as described above; @info must live on. After realize. */
void arm_boot_set_cpu(ArmBootInfo *info, ARMCPU *cpu);

#endif /* HW_ARM_BOOT_H */
