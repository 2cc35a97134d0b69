/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Boot of an ARM machine: see boot.h.
 *
 * Linux Image header (Linux Documentation/arch/arm64/booting.rst), little-
 * endian: 8 u64 text offset, 16 u64 image size with its zeros, 24 u64 flags
 * (bit 0: big-endian kernel), 56 "ARM\x64". Image size 0: an old kernel, whose
 * text offset is 0x80000.
 */
#include "qemu/osdep.h"

#include "hw/arm/boot.h"
#include "qemu/error.h"
#include "qemu/units.h"
#include "system/reset.h"

#define EM_AARCH64        183
#define RAW_OFFSET        UINT64_C(0x80000)
#define IMAGE_HEADER_SIZE 64
#define IMAGE_ALIGN       (2 * MiB)
#define INITRD_MAX_OFFSET (128 * MiB)
#define PAGE              UINT64_C(4096)

static uint64_t get_le64(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return GUINT64_FROM_LE(v);
}

static bool is_linux_image(const uint8_t *p, uint64_t len)
{
    return len >= IMAGE_HEADER_SIZE && memcmp(p + 56, "ARM\x64", 4) == 0;
}

/* Formats that need an unpacker or another loader than ours. */
static bool check_unsupported(const char *name, const uint8_t *p, uint64_t len,
                              Error **errp)
{
    const char *what = NULL;

    if (len >= 8 && memcmp(p, "MZ", 2) == 0 && memcmp(p + 4, "zimg", 4) == 0) {
        what = "a compressed EFI image (zboot): unpack it to an Image";
    } else if (len >= 64 && memcmp(p, "\x27\x05\x19\x56", 4) == 0) {
        what = "a U-Boot image: use the Image inside";
    } else if (is_linux_image(p, len) && (get_le64(p + 24) & 1)) {
        what = "a big-endian kernel";
    }
    if (what) {
        error_setg(errp, "%s is %s", name, what);
        return false;
    }
    return true;
}

/* A Linux Image or a raw blob: takes @data over. */
static bool load_flat(const ArmBootInfo *info, const char *name, uint8_t *data,
                      uint64_t len, LoadedImage *out, Error **errp)
{
    uint64_t offset = RAW_OFFSET, size = len;

    if (is_linux_image(data, len) && get_le64(data + 16) != 0) {
        offset = get_le64(data + 8);
        size = MAX(len, get_le64(data + 16));
        /* Leave the beginning of RAM to the device tree. */
        if (offset < RAW_OFFSET) {
            offset += IMAGE_ALIGN;
        }
    }
    if (offset > info->ram.size) {
        error_setg(errp, "%s: text offset 0x%" PRIx64 " is beyond RAM", name,
                   offset);
        g_free(data);
        return false;
    }
    out->entry = out->low = info->ram.base + offset;
    out->high = out->low + size;
    return rom_add_blob(name, data, len, size, out->low, &info->ram, errp);
}

static bool load_kernel(const ArmBootInfo *info, LoadedImage *out, Error **errp)
{
    ERRP_GUARD();
    const char *name = info->kernel_filename;
    g_autofree uint8_t *data = NULL;
    uint64_t len;

    data = loader_read_file(name, info->ram.size, &len, errp);
    if (!data) {
        error_prepend(errp, "kernel: ");
        return false;
    }
    if (loader_is_gzip(data, len)) {
        uint64_t packed_len = len;
        g_autofree uint8_t *packed = g_steal_pointer(&data);

        data = loader_gunzip(packed, packed_len, info->ram.size, &len, errp);
        if (!data) {
            error_prepend(errp, "kernel %s: ", name);
            return false;
        }
    }
    if (!check_unsupported(name, data, len, errp)) {
        return false;
    }
    if (loader_is_elf(data, len)) {
        return load_elf64_le(name, data, len, EM_AARCH64, &info->ram, out,
                             errp);
    }
    return load_flat(info, name, g_steal_pointer(&data), len, out, errp);
}

/* Half-way up RAM, at most 128 MiB, but behind the kernel. */
static bool load_initrd(ArmBootInfo *info, hwaddr kernel_end, Error **errp)
{
    ERRP_GUARD();
    uint64_t offset = MIN(info->ram.size / 2, (uint64_t)INITRD_MAX_OFFSET);
    uint64_t len;
    void *data;

    data = loader_read_file(info->initrd_filename, info->ram.size, &len, errp);
    if (!data) {
        error_prepend(errp, "initrd: ");
        return false;
    }
    info->initrd_start = ROUND_UP(MAX(info->ram.base + offset, kernel_end),
                                  PAGE);
    info->initrd_end = info->initrd_start + len;
    return rom_add_blob("initrd", data, len, len, info->initrd_start,
                        &info->ram, errp);
}

bool arm_boot_place_images(ArmBootInfo *info, uint64_t dtb_size, Error **errp)
{
    LoadedImage kernel = { 0 };

    info->entry = 0;
    info->dtb_addr = info->ram.base;
    info->initrd_start = info->initrd_end = 0;
    if (!info->kernel_filename) {
        if (info->initrd_filename) {
            error_setg(errp, "-initrd needs -kernel");
            return false;
        }
        return true;
    }
    if (!load_kernel(info, &kernel, errp)) {
        return false;
    }
    info->entry = kernel.entry;
    if (info->initrd_filename && !load_initrd(info, kernel.high, errp)) {
        return false;
    }
    if (kernel.low < info->ram.base + dtb_size) {
        info->dtb_addr = ROUND_UP(MAX(kernel.high, info->initrd_end),
                                  IMAGE_ALIGN);
    }
    return true;
}

bool arm_boot_add_dtb(ArmBootInfo *info, const void *fdt, uint64_t size,
                      Error **errp)
{
    void *blob = g_memdup2(fdt, size);

    if (!rom_add_blob("device tree", blob, size, size, info->dtb_addr,
                      &info->ram, errp)) {
        return false;
    }
    info->dtb_blob = blob;
    return true;
}

typedef struct BootCPU {
    ArmBootInfo *info;
    ARMCPU *cpu;
} BootCPU;

static void boot_cpu_reset(void *opaque)
{
    BootCPU *b = opaque;

    if (b->info->kernel_filename) {
        b->cpu->env.pc = b->info->entry;
        b->cpu->env.xregs[0] = b->info->dtb_addr;
    }
}

void arm_boot_set_cpu(ArmBootInfo *info, ARMCPU *cpu)
{
    BootCPU *b = g_new(BootCPU, 1); /* lives as long as the machine */

    b->info = info;
    b->cpu = cpu;
    /* After the CPU's own handler, which realize registered. */
    qemu_register_reset(boot_cpu_reset, b);
}
