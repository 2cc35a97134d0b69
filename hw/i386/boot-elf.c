/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF64 kernels: by the PVH entry, if they have one, else by their own; see
 * boot.h.
 *
 * The note: u32 name size 4, u32 description size, u32 type 18, "Xen\0", the
 * entry's physical address (4 or 8 bytes), each part padded to 4 bytes.
 *
 * hvm_start_info: u32 magic, u32 version 1, u32 flags, u32 number of modules,
 * u64 module list, u64 command line, u64 RSDP, u64 memory map, u32 its entries.
 * A module: u64 address, u64 size, u64 command line, u64 reserved. An entry of
 * the map: u64 address, u64 size, u32 type, u32 reserved.
 */
#include "qemu/osdep.h"

#include "boot-internal.h"
#include "qemu/error.h"

#define EM_X86_64  62
#define PHDR_SIZE  56
#define PT_NOTE    4
#define NOTE_ENTRY 18 /* XEN_ELFNOTE_PHYS32_ENTRY */

#define START_MAGIC   0x336ec578
#define START_SIZE    64
#define MODULE_SIZE   32
#define MAP_SIZE      24
#define INFO_SIZE     (START_SIZE + MODULE_SIZE + MAP_SIZE * X86_MEM_RANGES_MAX)
#define MODULE_OFFSET START_SIZE
#define MAP_OFFSET    (MODULE_OFFSET + MODULE_SIZE)

static uint64_t pad4(uint64_t n)
{
    return (n + 3) & ~UINT64_C(3);
}

/* Looks through @len bytes of notes. False: no such entry. */
static bool find_in_notes(const uint8_t *p, uint64_t len, uint64_t *entry)
{
    while (len >= 12) {
        uint64_t name = get_le(p, 4), desc = get_le(p + 4, 4);
        uint64_t all = 12 + pad4(name) + pad4(desc);

        if (all > len) {
            return false;
        }
        if (get_le(p + 8, 4) == NOTE_ENTRY && name == 4 &&
            memcmp(p + 12, "Xen", 4) == 0 && (desc == 4 || desc == 8)) {
            *entry = get_le(p + 16, desc);
            return true;
        }
        p += all;
        len -= all;
    }
    return false;
}

/* The file's headers were checked by load_elf64_le(). */
static bool find_pvh_entry(const uint8_t *p, uint64_t len, uint64_t *entry)
{
    const uint8_t *ph = p + get_le(p + 32, 8);
    unsigned n = get_le(p + 56, 2);

    for (; n > 0; n--, ph += PHDR_SIZE) {
        uint64_t offset = get_le(ph + 8, 8), size = get_le(ph + 32, 8);

        if (get_le(ph, 4) == PT_NOTE && offset <= len && size <= len - offset &&
            find_in_notes(p + offset, size, entry)) {
            return true;
        }
    }
    return false;
}

static bool add_start_info(const X86BootInfo *info, Error **errp)
{
    X86MemRange map[X86_MEM_RANGES_MAX];
    unsigned n = x86_boot_memory_map(info, map);
    uint8_t s[INFO_SIZE] = { 0 };

    put_le(s, START_MAGIC, 4);
    put_le(s + 4, 1, 4);
    if (info->initrd_size) {
        put_le(s + 12, 1, 4);
        put_le(s + 16, X86_BOOT_INFO + MODULE_OFFSET, 8);
        put_le(s + MODULE_OFFSET, info->initrd_addr, 8);
        put_le(s + MODULE_OFFSET + 8, info->initrd_size, 8);
    }
    put_le(s + 24, X86_BOOT_CMDLINE, 8);
    put_le(s + 32, info->rsdp, 8);
    put_le(s + 40, X86_BOOT_INFO + MAP_OFFSET, 8);
    put_le(s + 48, n, 4);
    for (unsigned i = 0; i < n; i++) {
        uint8_t *e = s + MAP_OFFSET + i * MAP_SIZE;

        put_le(e, map[i].addr, 8);
        put_le(e + 8, map[i].size, 8);
        put_le(e + 16, map[i].type, 4);
    }
    return x86_boot_add_table(info, "PVH start info", s, sizeof(s), sizeof(s),
                              X86_BOOT_INFO, errp);
}

static bool load_pvh(X86BootInfo *info, const LoadedImage *image,
                     uint64_t entry, Error **errp)
{
    if (entry < image->low || entry >= image->high) {
        error_setg(errp,
                   "%s: PVH entry point 0x%" PRIx64 " is not loaded (0x%" PRIx64
                   " to 0x%" PRIx64 " are)",
                   info->kernel_filename, entry, image->low, image->high - 1);
        return false;
    }
    info->kind = X86_BOOT_PVH;
    info->entry = entry;
    return x86_boot_add_gdt(info, errp) &&
           x86_boot_add_cmdline(info, X86_BOOT_CMDLINE_MAX, errp) &&
           x86_boot_add_initrd(info, image->high, UINT64_MAX, errp) &&
           add_start_info(info, errp);
}

bool x86_boot_load_elf(X86BootInfo *info, const uint8_t *data, uint64_t len,
                       Error **errp)
{
    LoaderRam ram = x86_boot_low_ram(info);
    LoadedImage image;
    uint64_t entry;

    if (!load_elf64_le(info->kernel_filename, data, len, EM_X86_64, &ram,
                       &image, errp)) {
        return false;
    }
    if (find_pvh_entry(data, len, &entry)) {
        return load_pvh(info, &image, entry, errp);
    }
    if (info->initrd_filename) {
        error_setg(errp,
                   "%s has no PVH entry point: there is no way to tell it "
                   "where the initrd is",
                   info->kernel_filename);
        return false;
    }
    info->kind = X86_BOOT_ELF64;
    info->entry = image.entry;
    return x86_boot_add_gdt(info, errp) &&
           x86_boot_add_page_tables(info, errp) &&
           x86_boot_add_cmdline(info, X86_BOOT_CMDLINE_MAX, errp);
}
