/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Boot of a PC without firmware: images into RAM, and the first vCPU's
 * registers. After each reset, in this order of preference:
 *
 *   waking     a sleeping guest left an address in the FACS: real mode there,
 *              and nothing is loaded (ACPI 6.4, 5.2.10, 16.3.2)
 *   -kernel F  gzip of any of these;
 *              ELF64 with a PVH note: 32-bit, EBX = hvm_start_info (Xen,
 *              docs/misc/pvh.pandoc);
 *              any other ELF64: its entry point at CPL 0 in 64-bit mode, the
 *              first 4 GiB mapped to themselves, RDI = command line or 0;
 *              Linux bzImage: 64-bit boot protocol (Linux,
 *              Documentation/arch/x86/boot.rst), RSI = boot_params
 *   a disk     its first sector, read anew at each reset, to 0x7c00 and
 *              entered there in real mode, DL = 0x80
 *   nothing    the vCPU halts
 *
 * Interrupts are off in all cases, and no interrupt controller is set up.
 * With firmware (-bios) the board does nothing of this.
 *
 * Memory that this takes: 0x90000 to 0x9ffff (tables, command line, FACS), and
 * 0xe0000 to 0xfffff (ACPI tables); the guest is told.
 *
 * Used by: hw/i386 machines. Uses: loader.h, x86-cpu.h.
 */
#ifndef HW_I386_BOOT_H
#define HW_I386_BOOT_H

#include "hw/loader.h"
#include "target/i386/x86-cpu.h"

enum {
    X86_BOOT_AREA = 0x90000,
    X86_BOOT_GDT = 0x90000,     /* and a TSS behind it */
    X86_BOOT_INFO = 0x91000,    /* boot_params or hvm_start_info */
    X86_BOOT_PML4 = 0x92000,    /* PDPT, four page directories follow */
    X86_BOOT_CMDLINE = 0x98000, /* to X86_BOOT_USABLE */
    X86_BOOT_USABLE = 0x9f000,  /* RAM ends here, for the guest */
    X86_BOOT_FACS = 0x9f000,    /* written by the guest */
    X86_BOOT_AREA_END = 0xa0000,
    X86_BOOT_SECTOR = 0x7c00,
    X86_BOOT_ACPI = 0xe0000, /* tables; RSDP first, where guests look */
    X86_BOOT_CMDLINE_MAX = X86_BOOT_USABLE - X86_BOOT_CMDLINE - 1,
};

typedef enum X86BootKind {
    X86_BOOT_NOTHING,
    X86_BOOT_FIRMWARE,
    X86_BOOT_DISK,
    X86_BOOT_PVH,
    X86_BOOT_ELF64,
    X86_BOOT_LINUX,
} X86BootKind;

typedef struct X86BootInfo {
    /* Given by the machine. */
    uint64_t below_4g, above_4g;
    const char *kernel_filename, *initrd_filename; /* may be NULL */
    const char *kernel_cmdline;                    /* "" for none */
    bool firmware;
    hwaddr rsdp; /* 0: there are no ACPI tables */

    /* Found by x86_boot_setup(). */
    X86BootKind kind;
    hwaddr entry;
    hwaddr initrd_addr;
    uint64_t initrd_size; /* 0: none */

    /* Guarded by the BQL: of the reset going on. */
    uint32_t waking_vector; /* 0: none */
} X86BootInfo;

/* Before anything registers a reset handler. */
void x86_boot_prepare(X86BootInfo *info);
/* When all devices are there: choose, read and place; then vCPU 0's start. */
bool x86_boot_setup(X86BootInfo *info, Error **errp);

#endif /* HW_I386_BOOT_H */
