/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupt controllers of the board: see include/system/board-chips.h. */
#include "qemu/osdep.h"

#include "qemu/main-loop.h"
#include "system/accel-ops.h"
#include "system/board-chips.h"

/* BQL. */
static const BoardChips *board;

const AccelChipOps *accel_chip_ops(void)
{
    return accel_ops() ? accel_ops()->chips : NULL;
}

void board_chips_set(const BoardChips *chips)
{
    board = chips;
}

bool board_chips_present(void)
{
    return board != NULL;
}

void board_chips_set_line(int gsi, int level)
{
    assert(bql_locked());
    board->set_line(gsi, level);
}

AccelPulse board_chips_pulse(int gsi)
{
    assert(bql_locked());
    return board->pulse(gsi);
}

bool board_chips_pulse_may_be_lost(int gsi)
{
    assert(bql_locked());
    return board->pulse_may_be_lost(gsi);
}

bool board_chips_irqfd_add(int gsi, int fd, int resample_fd, Error **errp)
{
    assert(bql_locked());
    return board->irqfd_add(gsi, fd, resample_fd, errp);
}

void board_chips_irqfd_remove(int gsi, int fd)
{
    assert(bql_locked());
    board->irqfd_remove(gsi, fd);
}

uint8_t board_chips_acknowledge(void)
{
    assert(bql_locked());
    return board->acknowledge();
}

void board_chips_eoi(uint8_t vector)
{
    assert(bql_locked());
    board->eoi(vector);
}
