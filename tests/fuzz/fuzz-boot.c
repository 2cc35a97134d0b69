/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: files of -kernel and -initrd, until they are in the guest's
 * memory. The first two bytes: bit 15, there is an initrd; the rest, how many
 * bytes it has, from the end.
 */
#include "qemu/osdep.h"

#include "fuzz.h"
#include "qemu/error.h"
#include "qemu/units.h"
#include "system/reset.h"

#define RAM_SIZE (4 * MiB)

#ifdef FUZZ_X86
#include "boot-internal.h"

#define MACHINE_ARGS "-M q35 -accel qtest -m 4M -nodefaults -S"

static void forget_images(void)
{
    rom_clear();
}

static bool load(const char *kernel, const char *initrd, Error **errp)
{
    X86BootInfo info = { .below_4g = RAM_SIZE,
                         .kernel_filename = kernel,
                         .initrd_filename = initrd,
                         .kernel_cmdline = "console=ttyS0" };

    if (!x86_boot_load_kernel(&info, errp)) {
        return false;
    }
    g_assert_cmpuint(info.entry, <, RAM_SIZE);
    g_assert_cmpuint(info.initrd_addr, <=, RAM_SIZE - info.initrd_size);
    x86_boot_set_registers(&info, X86_CPU(first_cpu()));
    return true;
}
#else
#include "hw/arm/boot.h"
#include "hw/arm/virt.h"

#define MACHINE_ARGS "-M virt -accel qtest -m 4M -nodefaults -S"

static void forget_images(void)
{
    rom_clear();
    VIRT_MACHINE(current_machine())->boot.dtb_blob = NULL; /* was among them */
}

static bool load(const char *kernel, const char *initrd, Error **errp)
{
    static const uint8_t fdt[64];
    ArmBootInfo info = { .ram = { VIRT_MEM_BASE, RAM_SIZE },
                         .kernel_filename = kernel,
                         .initrd_filename = initrd,
                         .kernel_cmdline = "console=ttyAMA0" };

    if (!arm_boot_place_images(&info, sizeof(fdt), errp)) {
        return false;
    }
    g_assert_cmpuint(info.entry - VIRT_MEM_BASE, <, RAM_SIZE);
    g_assert_cmpuint(info.initrd_start, <=, info.initrd_end);
    return arm_boot_add_dtb(&info, fdt, sizeof(fdt), errp);
}
#endif

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_machine_start(MACHINE_ARGS);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(Error) err = NULL;
    const char *kernel, *initrd = NULL;
    size_t len;
    bool ok;

    if (size < 2) {
        return 0;
    }
    len = (data[0] & 0x7f) << 8 | data[1];
    len = data[0] & 0x80 ? MIN(len, size - 2) : 0;
    kernel = fuzz_file(0, data + 2, size - 2 - len);
    if (data[0] & 0x80) {
        initrd = fuzz_file(1, data + size - len, len);
    }
    forget_images();
    ok = load(kernel, initrd, &err);
    g_assert_true(ok == !err);
    if (ok) {
        qemu_system_reset(SHUTDOWN_CAUSE_NONE);
    }
    return 0;
}
