/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Machine info: see include/system/machine-info.h. */
#include "qemu/osdep.h"

#include "system/machine-info.h"

/* One machine per process. */
static MachineInfo info = { .name = "none" };

const MachineInfo *machine_info(void)
{
    return &info;
}

MachineInfo *machine_info_for_update(void)
{
    return &info;
}
