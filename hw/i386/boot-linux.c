/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linux bzImages by the 64-bit boot protocol: see boot.h.
 *
 * Offsets in the file, and of the same fields in boot_params (Linux
 * Documentation/arch/x86/{boot,zero-page}.rst). The setup header goes from
 * 0x1f1 to 0x202 and as many bytes further as the byte at 0x201 says.
 */
#include "qemu/osdep.h"

#include "boot-internal.h"
#include "qemu/error.h"
#include "qemu/units.h"

enum {
    HDR_SETUP_SECTS = 0x1f1, /* u8; 0 means 4 */
    HDR_BOOT_FLAG = 0x1fe,   /* u16 0xaa55 */
    HDR_LENGTH = 0x201,      /* u8 */
    HDR_MAGIC = 0x202,       /* "HdrS" */
    HDR_VERSION = 0x206,     /* u16 */
    HDR_LOADER = 0x210,      /* u8 */
    HDR_LOADFLAGS = 0x211,   /* u8 */
    HDR_RAMDISK = 0x218,     /* u32 address, u32 size */
    HDR_CMDLINE = 0x228,     /* u32 */
    HDR_INITRD_MAX = 0x22c,  /* u32: highest address of its last byte */
    HDR_ALIGN = 0x230,       /* u32 */
    HDR_RELOCATABLE = 0x234, /* u8 */
    HDR_XLOADFLAGS = 0x236,  /* u16 */
    HDR_CMDLINE_MAX = 0x238, /* u32 */
    HDR_PREF_ADDR = 0x258,   /* u64 */
    HDR_INIT_SIZE = 0x260,   /* u32: memory it needs until it runs */
    HDR_END = 0x264,         /* what is needed of it */

    ZP_RSDP = 0x070,         /* u64 */
    ZP_E820_ENTRIES = 0x1e8, /* u8 */
    ZP_E820_TABLE = 0x2d0,   /* u64 address, u64 size, u32 type each */
    ZP_E820_SIZE = 20,
    ZP_SIZE = 4096,

    LOADED_HIGH = 1,
    XLF_KERNEL_64 = 1,
    LOADER_UNDEFINED = 0xff,
    ENTRY_64 = 0x200, /* behind the beginning of what is loaded */
    MIN_VERSION = 0x20c,
};

bool x86_boot_is_linux(const uint8_t *data, uint64_t len)
{
    return len >= HDR_END && get_le(data + HDR_BOOT_FLAG, 2) == 0xaa55 &&
           memcmp(data + HDR_MAGIC, "HdrS", 4) == 0;
}

static bool check_header(const char *name, const uint8_t *p, Error **errp)
{
    unsigned version = get_le(p + HDR_VERSION, 2);

    if (version < MIN_VERSION) {
        error_setg(errp,
                   "%s: boot protocol %u.%02u, at least 2.12 is needed (64-bit "
                   "entry)",
                   name, version >> 8, version & 0xff);
        return false;
    }
    if (!(p[HDR_LOADFLAGS] & LOADED_HIGH) ||
        !(get_le(p + HDR_XLOADFLAGS, 2) & XLF_KERNEL_64)) {
        error_setg(errp,
                   "%s has no 64-bit entry (loadflags 0x%02x, xloadflags "
                   "0x%04x)",
                   name, p[HDR_LOADFLAGS],
                   (unsigned)get_le(p + HDR_XLOADFLAGS, 2));
        return false;
    }
    return true;
}

/* Where it wants to be, or, if it can move, where it fits. */
static bool choose_address(const X86BootInfo *info, const uint8_t *p,
                           uint64_t size, hwaddr *addr, Error **errp)
{
    uint64_t align = MAX(get_le(p + HDR_ALIGN, 4), UINT64_C(4096));

    *addr = get_le(p + HDR_PREF_ADDR, 8);
    if (*addr >= 1 * MiB && *addr < info->below_4g &&
        size <= info->below_4g - *addr) {
        return true;
    }
    if (p[HDR_RELOCATABLE]) {
        *addr = DIV_ROUND_UP(1 * MiB, align) * align;
        if (*addr < info->below_4g && size <= info->below_4g - *addr) {
            return true;
        }
    }
    error_setg(errp,
               "%s needs 0x%" PRIx64 " bytes at 0x%" PRIx64
               ", there is RAM up to 0x%" PRIx64,
               info->kernel_filename, size, *addr, info->below_4g);
    return false;
}

static bool add_zero_page(const X86BootInfo *info, const uint8_t *p,
                          Error **errp)
{
    X86MemRange map[X86_MEM_RANGES_MAX];
    unsigned n = x86_boot_memory_map(info, map);
    uint64_t end = MIN(HDR_MAGIC + (uint64_t)p[HDR_LENGTH], UINT64_C(0x290));
    g_autofree uint8_t *zp = g_malloc0(ZP_SIZE);

    memcpy(zp + HDR_SETUP_SECTS, p + HDR_SETUP_SECTS, end - HDR_SETUP_SECTS);
    zp[HDR_LOADER] = LOADER_UNDEFINED;
    put_le(zp + HDR_CMDLINE, X86_BOOT_CMDLINE, 4);
    put_le(zp + HDR_RAMDISK, info->initrd_addr, 4);
    put_le(zp + HDR_RAMDISK + 4, info->initrd_size, 4);
    put_le(zp + ZP_RSDP, info->rsdp, 8);
    zp[ZP_E820_ENTRIES] = n;
    for (unsigned i = 0; i < n; i++) {
        uint8_t *e = zp + ZP_E820_TABLE + i * ZP_E820_SIZE;

        put_le(e, map[i].addr, 8);
        put_le(e + 8, map[i].size, 8);
        put_le(e + 16, map[i].type, 4);
    }
    return x86_boot_add_table(info, "boot_params", zp, ZP_SIZE, ZP_SIZE,
                              X86_BOOT_INFO, errp);
}

bool x86_boot_load_linux(X86BootInfo *info, const uint8_t *data, uint64_t len,
                         Error **errp)
{
    const char *name = info->kernel_filename;
    LoaderRam ram = x86_boot_low_ram(info);
    uint64_t setup = data[HDR_SETUP_SECTS] ? data[HDR_SETUP_SECTS] : 4;
    uint64_t size, initrd_max;
    hwaddr addr;

    if (!check_header(name, data, errp)) {
        return false;
    }
    setup = (setup + 1) * 512;
    if (setup + ENTRY_64 >= len) {
        error_setg(
            errp, "%s has 0x%" PRIx64 " bytes, its setup part alone 0x%" PRIx64,
            name, len, setup);
        return false;
    }
    len -= setup;
    size = MAX(len, get_le(data + HDR_INIT_SIZE, 4));
    initrd_max = get_le(data + HDR_INITRD_MAX, 4);
    if (!choose_address(info, data, size, &addr, errp)) {
        return false;
    }
    info->kind = X86_BOOT_LINUX;
    info->entry = addr + ENTRY_64;
    return rom_add_blob(name, g_memdup2(data + setup, len), len, len, addr,
                        &ram, errp) &&
           x86_boot_add_gdt(info, errp) &&
           x86_boot_add_page_tables(info, errp) &&
           x86_boot_add_cmdline(info, get_le(data + HDR_CMDLINE_MAX, 4),
                                errp) &&
           x86_boot_add_initrd(info, addr + size, initrd_max + 1, errp) &&
           add_zero_page(info, data, errp);
}
