/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupt inputs by number: see include/system/gsi.h. */
#include "qemu/osdep.h"

#include "qemu/main-loop.h"
#include "system/accel-ops.h"
#include "system/gsi.h"

bool accel_has_gsi(void)
{
    return accel_ops() && accel_ops()->set_gsi;
}

void accel_set_gsi(int gsi, int level)
{
    assert(bql_locked());
    if (accel_has_gsi()) {
        accel_ops()->set_gsi(gsi, level);
    }
}
