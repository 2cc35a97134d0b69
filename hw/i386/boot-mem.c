/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every kind of boot puts into RAM: see boot-internal.h. */
#include "qemu/osdep.h"

#include "boot-internal.h"
#include "qemu/error.h"
#include "qemu/units.h"

#define PAGE     UINT64_C(4096)
#define NUM_PDS  4 /* one GiB each */
#define PDE_SIZE (2 * MiB)
#define PTE_PRW  0x03 /* present, writable */
#define PDE_PSE  0x80

LoaderRam x86_boot_low_ram(const X86BootInfo *info)
{
    return (LoaderRam){ 0, info->below_4g };
}

unsigned x86_boot_memory_map(const X86BootInfo *info,
                             X86MemRange map[X86_MEM_RANGES_MAX])
{
    unsigned n = 0;

    map[n++] = (X86MemRange){ 0, X86_BOOT_USABLE, X86_MEM_RAM };
    map[n++] = (X86MemRange){ X86_BOOT_FACS, X86_BOOT_AREA_END - X86_BOOT_FACS,
                              X86_MEM_NVS };
    map[n++] = (X86MemRange){ X86_BOOT_ACPI, 1 * MiB - X86_BOOT_ACPI,
                              X86_MEM_RESERVED };
    map[n++] = (X86MemRange){ 1 * MiB, info->below_4g - 1 * MiB, X86_MEM_RAM };
    if (info->above_4g) {
        map[n++] = (X86MemRange){ 4 * GiB, info->above_4g, X86_MEM_RAM };
    }
    return n;
}

bool x86_boot_add_table(const X86BootInfo *info, const char *name,
                        const void *data, uint64_t len, uint64_t size,
                        hwaddr addr, Error **errp)
{
    LoaderRam ram = x86_boot_low_ram(info);

    return rom_add_blob(name, g_memdup2(data, len), len, size, addr, &ram,
                        errp);
}

bool x86_boot_add_gdt(const X86BootInfo *info, Error **errp)
{
    /* The TSS is the rest of the page: 64-bit, busy, limit 0x67. */
    static const uint64_t gdt[X86_BOOT_GDT_SIZE / 8] = {
        [X86_BOOT_CODE32 / 8] = UINT64_C(0x00cf9b000000ffff),
        [X86_BOOT_CODE64 / 8] = UINT64_C(0x00af9b000000ffff),
        [X86_BOOT_DATA / 8] = UINT64_C(0x00cf93000000ffff),
        [X86_BOOT_TSS / 8] = UINT64_C(0x00008b0001000067) |
                             (uint64_t)(X86_BOOT_GDT >> 16) << 32,
    };

    QEMU_BUILD_BUG_ON(X86_BOOT_GDT & 0xffff);
    return x86_boot_add_table(info, "boot GDT", gdt, sizeof(gdt), PAGE,
                              X86_BOOT_GDT, errp);
}

bool x86_boot_add_page_tables(const X86BootInfo *info, Error **errp)
{
    g_autofree uint64_t *t = g_new0(uint64_t, (2 + NUM_PDS) * 512);
    uint64_t pdpt = X86_BOOT_PML4 + PAGE, pd = pdpt + PAGE;

    t[0] = pdpt | PTE_PRW;
    for (unsigned i = 0; i < NUM_PDS; i++) {
        t[512 + i] = (pd + i * PAGE) | PTE_PRW;
    }
    for (unsigned i = 0; i < NUM_PDS * 512; i++) {
        t[1024 + i] = i * PDE_SIZE | PDE_PSE | PTE_PRW;
    }
    return x86_boot_add_table(info, "boot page tables", t, (2 + NUM_PDS) * PAGE,
                              (2 + NUM_PDS) * PAGE, X86_BOOT_PML4, errp);
}

bool x86_boot_add_cmdline(const X86BootInfo *info, uint64_t max, Error **errp)
{
    uint64_t len = strlen(info->kernel_cmdline);

    max = MIN(max, (uint64_t)X86_BOOT_CMDLINE_MAX);
    if (len > max) {
        error_setg(errp,
                   "-append has %" PRIu64 " characters, %s takes at most "
                   "%" PRIu64,
                   len, info->kernel_filename, max);
        return false;
    }
    return x86_boot_add_table(info, "command line", info->kernel_cmdline,
                              len + 1, len + 1, X86_BOOT_CMDLINE, errp);
}

bool x86_boot_add_initrd(X86BootInfo *info, hwaddr kernel_end, hwaddr end,
                         Error **errp)
{
    ERRP_GUARD();
    LoaderRam ram = x86_boot_low_ram(info);
    uint64_t len, addr;
    void *data;

    if (!info->initrd_filename) {
        return true;
    }
    data = loader_read_file(info->initrd_filename, info->below_4g, &len, errp);
    if (!data) {
        error_prepend(errp, "initrd: ");
        return false;
    }
    end = MIN(end, info->below_4g);
    addr = end > len ? (end - len) & ~(PAGE - 1) : 0;
    if (addr < MAX(kernel_end, 1 * MiB)) {
        error_setg(errp,
                   "initrd %s has 0x%" PRIx64
                   " bytes, which do not fit between the kernel's end, 0x"
                   "%" PRIx64 ", and 0x%" PRIx64,
                   info->initrd_filename, len, kernel_end, end);
        g_free(data);
        return false;
    }
    info->initrd_addr = addr;
    info->initrd_size = len;
    return rom_add_blob("initrd", data, len, len, addr, &ram, errp);
}
