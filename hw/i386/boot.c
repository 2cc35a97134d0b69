/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boot of a PC without firmware: what is booted, and each reset; see boot.h. */
#include "qemu/osdep.h"

#include "boot-internal.h"
#include "hw/block/drive.h"
#include "qemu/error.h"
#include "qemu/units.h"
#include "system/accel.h"
#include "system/machine-info.h"
#include "system/memory.h"
#include "system/reset.h"
#include "trace-hw.h"

#define FACS_WAKING_VECTOR 12 /* offset in the FACS */
#define SIGNATURE_OFFSET   510
#define SIGNATURE          0xaa55

/* ---- what is booted ---- */

bool x86_boot_load_kernel(X86BootInfo *info, Error **errp)
{
    ERRP_GUARD();
    const char *name = info->kernel_filename;
    g_autofree uint8_t *data = NULL;
    uint64_t len;

    data = loader_read_file(name, info->below_4g, &len, errp);
    if (!data) {
        error_prepend(errp, "kernel: ");
        return false;
    }
    if (loader_is_gzip(data, len)) {
        uint64_t packed_len = len;
        g_autofree uint8_t *packed = g_steal_pointer(&data);

        data = loader_gunzip(packed, packed_len, info->below_4g, &len, errp);
        if (!data) {
            error_prepend(errp, "kernel %s: ", name);
            return false;
        }
    }
    if (loader_is_elf(data, len)) {
        return x86_boot_load_elf(info, data, len, errp);
    }
    if (x86_boot_is_linux(data, len)) {
        return x86_boot_load_linux(info, data, len, errp);
    }
    error_setg(errp, "kernel %s is neither an ELF64 file nor a Linux bzImage",
               name);
    return false;
}

static bool check_boot_sector(Error **errp)
{
    uint8_t sector[SECTOR_SIZE];
    unsigned found;

    if (!disk_read_boot_sector(sector, errp)) {
        return false;
    }
    found = get_le(sector + SIGNATURE_OFFSET, 2);
    if (found != SIGNATURE) {
        error_setg(errp,
                   "disk %s cannot be booted: its first sector ends with "
                   "0x%04x, expected 0x%04x",
                   disk_file(), found, SIGNATURE);
        return false;
    }
    return true;
}

/* ---- each reset ---- */

/* The first handler: it looks before the others write. */
static void reset_begins(void *opaque)
{
    X86BootInfo *info = opaque;

    info->waking_vector = 0;
    if (qemu_reset_is_wakeup() && info->rsdp) {
        info->waking_vector = ldl_le_phys(&address_space_memory,
                                          X86_BOOT_FACS + FACS_WAKING_VECTOR);
        if (info->waking_vector >= 1 * MiB) {
            warn_report("the guest's waking vector 0x%" PRIx32
                        " is not below 1 MiB",
                        info->waking_vector);
            info->waking_vector = 0;
        }
    }
    rom_spare_memory(info->waking_vector != 0);
    trace_pc_boot(info->kind, info->waking_vector);
}

static void load_boot_sector(void)
{
    uint8_t sector[SECTOR_SIZE];
    Error *err = NULL;

    if (qemu_reset_must_spare_ram()) {
        return;
    }
    if (!disk_read_boot_sector(sector, &err)) {
        /* The guest finds what was read last. */
        warn_report_err(err);
        return;
    }
    address_space_write_rom(&address_space_memory, X86_BOOT_SECTOR,
                            MEMTXATTRS_UNSPECIFIED, sector, SECTOR_SIZE);
}

/* The last handler: behind the vCPU's own. */
static void reset_ends(void *opaque)
{
    X86BootInfo *info = opaque;

    if (info->kind == X86_BOOT_DISK && !info->waking_vector) {
        load_boot_sector();
    }
    x86_boot_set_registers(info, X86_CPU(first_cpu()));
}

void x86_boot_prepare(X86BootInfo *info)
{
    qemu_register_reset(reset_begins, info);
}

bool x86_boot_setup(X86BootInfo *info, Error **errp)
{
    info->kind = X86_BOOT_NOTHING;
    if (info->firmware) {
        info->kind = X86_BOOT_FIRMWARE;
    } else if (info->kernel_filename) {
        if (!x86_boot_load_kernel(info, errp)) {
            return false;
        }
    } else if (disk_present()) {
        if (!check_boot_sector(errp)) {
            return false;
        }
        info->kind = X86_BOOT_DISK;
    } else if (!machine_info()->incoming &&
               !g_str_equal(current_accel_name(), "qtest")) {
        warn_report("there is neither -kernel nor a disk: nothing will run");
    }
    qemu_register_reset(reset_ends, info);
    return true;
}
