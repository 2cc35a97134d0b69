/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: the file of -dtb, until it is in the guest's memory. */
#include "qemu/osdep.h"

#include "fuzz.h"
#include "hw/arm/virt.h"
#include "qemu/error.h"
#include "system/reset.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_machine_start("-M virt -accel qtest -m 16M -nodefaults -S");
    return 0;
}

static bool take(VirtMachineState *vms, Error **errp)
{
    vms->boot.kernel_cmdline = "console=ttyAMA0";
    return virt_fdt_read_users(vms, errp) &&
           arm_boot_place_images(&vms->boot, virt_fdt_room(vms), errp) &&
           virt_fdt_finish(vms, errp) &&
           arm_boot_add_dtb(&vms->boot, vms->fdt, vms->fdt_size, errp);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    VirtMachineState *vms = VIRT_MACHINE(current_machine());
    MachineState *ms = MACHINE(vms);
    g_autoptr(Error) err = NULL;
    bool ok;

    rom_clear();
    vms->boot.dtb_blob = NULL; /* was the loader's */
    g_clear_pointer(&vms->fdt, g_free);
    ms->dtb = (char *)fuzz_file(0, data, size);
    ok = take(vms, &err);
    ms->dtb = NULL;
    g_assert_true(ok == !err);
    if (ok) {
        qemu_system_reset(SHUTDOWN_CAUSE_NONE);
    }
    return 0;
}
