/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Machine info: see include/system/machine-info.h. */
#include "qemu/osdep.h"

#include "system/machine-info.h"

/* One machine per process. */
static SystemMachineInfo info = { .name = "none" };

const SystemMachineInfo *machine_info(void)
{
    return &info;
}

SystemMachineInfo *machine_info_for_update(void)
{
    return &info;
}
