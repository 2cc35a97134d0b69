/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between boot.c (choice, registers), boot-elf.c, boot-linux.c and boot-mem.c.
 */
#ifndef HW_I386_BOOT_INTERNAL_H
#define HW_I386_BOOT_INTERNAL_H

#include "hw/i386/boot.h"

/* ---- boot-mem.c: what is common to all kinds ---- */

/* Types of e820 and of PVH's memory map alike. */
typedef enum X86MemType {
    X86_MEM_RAM = 1,
    X86_MEM_RESERVED = 2,
    X86_MEM_NVS = 4,
} X86MemType;

typedef struct X86MemRange {
    uint64_t addr, size;
    X86MemType type;
} X86MemRange;

#define X86_MEM_RANGES_MAX 8

/* Returns how many. */
unsigned x86_boot_memory_map(const X86BootInfo *info,
                             X86MemRange map[X86_MEM_RANGES_MAX]);
LoaderRam x86_boot_low_ram(const X86BootInfo *info);

/* Each adds a blob to the loader's. @data: copied; zeros follow up to @size. */
bool x86_boot_add_table(const X86BootInfo *info, const char *name,
                        const void *data, uint64_t len, uint64_t size,
                        hwaddr addr, Error **errp);
bool x86_boot_add_gdt(const X86BootInfo *info, Error **errp);
bool x86_boot_add_page_tables(const X86BootInfo *info, Error **errp);
/* @max: longest text the kernel takes. */
bool x86_boot_add_cmdline(const X86BootInfo *info, uint64_t max, Error **errp);
/*
 * As high as possible below @end and behind @kernel_end; sets initrd_addr and
 * initrd_size. Without -initrd there is nothing to do.
 */
bool x86_boot_add_initrd(X86BootInfo *info, hwaddr kernel_end, hwaddr end,
                         Error **errp);

/* Little-endian fields of a table being filled or read. */
static inline void put_le(uint8_t *p, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        p[i] = v >> (8 * i);
    }
}

static inline uint64_t get_le(const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++) {
        v |= (uint64_t)p[i] << (8 * i);
    }
    return v;
}

/* Selectors of the GDT. */
enum {
    X86_BOOT_CODE32 = 0x08,
    X86_BOOT_CODE64 = 0x10,
    X86_BOOT_DATA = 0x18,
    X86_BOOT_TSS = 0x20,
    X86_BOOT_GDT_SIZE = 0x30,
};

/* ---- kinds of kernels; @data is borrowed ---- */

bool x86_boot_is_linux(const uint8_t *data, uint64_t len);
bool x86_boot_load_linux(X86BootInfo *info, const uint8_t *data, uint64_t len,
                         Error **errp);
bool x86_boot_load_elf(X86BootInfo *info, const uint8_t *data, uint64_t len,
                       Error **errp);

/* ---- boot.c: reads -kernel, whatever kind it is ---- */

bool x86_boot_load_kernel(X86BootInfo *info, Error **errp);

/* ---- boot-regs.c: vCPU 0 after its reset ---- */

void x86_boot_set_registers(const X86BootInfo *info, X86CPU *cpu);

#endif /* HW_I386_BOOT_INTERNAL_H */
