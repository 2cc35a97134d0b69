/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupt controllers of the board: see include/system/board-chips.h. */
#include "qemu/osdep.h"

#include "qemu/main-loop.h"
#include "system/accel-ops.h"
#include "system/board-chips.h"

/* BQL. */
static struct {
    const BoardChips *ops;
    void *opaque;
} board;

const AccelChipOps *accel_chip_ops(void)
{
    return accel_ops() ? accel_ops()->chips : NULL;
}

void board_chips_set(const BoardChips *chips, void *opaque)
{
    board.ops = chips;
    board.opaque = opaque;
}

bool board_chips_present(void)
{
    return board.ops != NULL;
}

void board_chips_set_line(int gsi, int level)
{
    assert(bql_locked());
    board.ops->set_line(board.opaque, gsi, level);
}

AccelPulse board_chips_pulse(int gsi)
{
    assert(bql_locked());
    return board.ops->pulse(board.opaque, gsi);
}

bool board_chips_pulse_may_be_lost(int gsi)
{
    assert(bql_locked());
    return board.ops->pulse_may_be_lost(board.opaque, gsi);
}

bool board_chips_irqfd_add(int gsi, int fd, int resample_fd, Error **errp)
{
    assert(bql_locked());
    return board.ops->irqfd_add(board.opaque, gsi, fd, resample_fd, errp);
}

void board_chips_irqfd_remove(int gsi, int fd)
{
    assert(bql_locked());
    board.ops->irqfd_remove(board.opaque, gsi, fd);
}

uint8_t board_chips_acknowledge(void)
{
    assert(bql_locked());
    return board.ops->acknowledge(board.opaque);
}

void board_chips_eoi(uint8_t vector)
{
    assert(bql_locked());
    board.ops->eoi(board.opaque, vector);
}
