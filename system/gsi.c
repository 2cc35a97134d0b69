/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupt inputs by number: see include/system/gsi.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/accel.h"
#include "system/accel-ops.h"
#include "system/board-chips.h"
#include "system/gsi.h"

bool accel_has_gsi(void)
{
    return board_chips_present() || (accel_ops() && accel_ops()->set_gsi);
}

void accel_set_gsi(int gsi, int level)
{
    assert(bql_locked());
    if (board_chips_present()) {
        board_chips_set_line(gsi, level);
    } else if (accel_has_gsi()) {
        accel_ops()->set_gsi(gsi, level);
    }
}

bool accel_create_gicv3(hwaddr dist, hwaddr redist, unsigned num_spis,
                        Error **errp)
{
    assert(bql_locked());
    if (!accel_ops() || !accel_ops()->create_gicv3) {
        error_setg(errp, "accelerator '%s' has no GICv3 as it is set up",
                   current_accel_name());
        return false;
    }
    return accel_ops()->create_gicv3(dist, redist, num_spis, errp);
}
