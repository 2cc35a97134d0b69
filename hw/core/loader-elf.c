/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loader: ELF files, 64-bit little-endian.
 *
 * Bytes used (System V ABI, "ELF-64 Object File Format"):
 *   header  0 magic, 4 class 2, 5 data 1, 16 u16 type, 18 u16 machine,
 *           24 u64 entry, 32 u64 program header offset, 54 u16 its entry size
 *           (56), 56 u16 number of them
 *   program header  0 u32 type (1 = load), 8 u64 file offset, 16 u64 virtual
 *           address, 24 u64 physical address, 32 u64 bytes in the file, 40 u64
 *           bytes in memory
 */
#include "qemu/osdep.h"

#include "hw/loader.h"
#include "qemu/error.h"

#define EHDR_SIZE 64
#define PHDR_SIZE 56
#define PT_LOAD   1
/* More than any kernel has; bounds the work for a made-up file. */
#define MAX_PHDRS 256
#define ET_EXEC   2
#define ET_DYN    3

static uint64_t get_le(const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++) {
        v |= (uint64_t)p[i] << (8 * i);
    }
    return v;
}

bool loader_is_elf(const void *data, uint64_t len)
{
    return len >= 4 && memcmp(data, "\177ELF", 4) == 0;
}

static bool check_header(const char *name, const uint8_t *p, uint64_t len,
                         unsigned machine, Error **errp)
{
    unsigned type;

    if (len < EHDR_SIZE) {
        error_setg(errp, "%s: ELF header is cut off", name);
        return false;
    }
    if (p[4] != 2 || p[5] != 1) {
        error_setg(errp,
                   "%s: ELF class %u, data %u: only 64-bit little-endian "
                   "files (2, 1) can be loaded",
                   name, p[4], p[5]);
        return false;
    }
    if (get_le(p + 18, 2) != machine) {
        error_setg(errp, "%s: ELF machine is %u, expected %u", name,
                   (unsigned)get_le(p + 18, 2), machine);
        return false;
    }
    type = get_le(p + 16, 2);
    if (type != ET_EXEC && type != ET_DYN) {
        error_setg(errp, "%s: ELF type %u is not an executable", name, type);
        return false;
    }
    if (get_le(p + 54, 2) != PHDR_SIZE) {
        error_setg(errp, "%s: ELF program headers have %u bytes, expected %u",
                   name, (unsigned)get_le(p + 54, 2), PHDR_SIZE);
        return false;
    }
    return true;
}

static bool load_segment(const char *name, const uint8_t *file, uint64_t len,
                         const uint8_t *ph, const LoaderRam *ram,
                         LoadedImage *out, Error **errp)
{
    uint64_t offset = get_le(ph + 8, 8), paddr = get_le(ph + 24, 8);
    uint64_t filesz = get_le(ph + 32, 8), memsz = get_le(ph + 40, 8);

    if (filesz > memsz || offset > len || filesz > len - offset) {
        error_setg(errp,
                   "%s: ELF segment of 0x%" PRIx64 " bytes at offset 0x%" PRIx64
                   " (0x%" PRIx64 " in memory) is not in the file",
                   name, filesz, offset, memsz);
        return false;
    }
    if (memsz == 0) {
        return true;
    }
    if (!rom_add_blob(name, g_memdup2(file + offset, filesz), filesz, memsz,
                      paddr, ram, errp)) {
        return false;
    }
    out->low = MIN(out->low, paddr);
    out->high = MAX(out->high, paddr + memsz);
    return true;
}

/* The entry point as a physical address. */
static hwaddr physical_entry(uint64_t entry, const uint8_t *ph, unsigned n)
{
    for (unsigned i = 0; i < n; i++, ph += PHDR_SIZE) {
        uint64_t vaddr = get_le(ph + 16, 8), memsz = get_le(ph + 40, 8);

        if (get_le(ph, 4) == PT_LOAD && entry >= vaddr &&
            entry - vaddr < memsz) {
            return entry - vaddr + get_le(ph + 24, 8);
        }
    }
    return entry;
}

bool load_elf64_le(const char *name, const void *data, uint64_t len,
                   unsigned machine, const LoaderRam *ram, LoadedImage *out,
                   Error **errp)
{
    const uint8_t *p = data;
    LoadedImage image = { .low = HWADDR_MAX };
    uint64_t phoff;
    unsigned phnum;

    if (!check_header(name, p, len, machine, errp)) {
        return false;
    }
    phoff = get_le(p + 32, 8);
    phnum = get_le(p + 56, 2);
    if (phoff > len || (uint64_t)phnum * PHDR_SIZE > len - phoff) {
        error_setg(errp,
                   "%s: %u ELF program headers at offset 0x%" PRIx64
                   " are not in the file",
                   name, phnum, phoff);
        return false;
    }
    if (phnum > MAX_PHDRS) {
        error_setg(errp, "%s: %u ELF program headers, expected at most %u",
                   name, phnum, MAX_PHDRS);
        return false;
    }
    for (unsigned i = 0; i < phnum; i++) {
        const uint8_t *ph = p + phoff + i * PHDR_SIZE;

        if (get_le(ph, 4) == PT_LOAD &&
            !load_segment(name, p, len, ph, ram, &image, errp)) {
            return false;
        }
    }
    if (image.high == 0) {
        error_setg(errp, "%s: ELF file has nothing to load", name);
        return false;
    }
    image.entry = physical_entry(get_le(p + 24, 8), p + phoff, phnum);
    if (image.entry < image.low || image.entry >= image.high) {
        error_setg(errp, "%s: ELF entry point 0x%" PRIx64 " is not loaded",
                   name, image.entry);
        return false;
    }
    *out = image;
    return true;
}
