/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages, eventfds and doorbells of the accelerator: see include/system/accel-irq.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/accel.h"
#include "system/accel-irq.h"
#include "system/board-chips.h"

static const AccelIrqOps no_irq_ops;

static const AccelIrqOps *irq_ops(void)
{
    const AccelOps *ops = accel_ops();

    return ops && ops->irq ? ops->irq : &no_irq_ops;
}

/* Sets @errp and returns false: the accelerator has no @what. */
static bool refuse(const char *what, Error **errp)
{
    error_setg(errp, "accelerator '%s' has no %s", current_accel_name(), what);
    return false;
}

bool accel_send_msi(uint64_t address, uint32_t data, Error **errp)
{
    return irq_ops()->send_msi ? irq_ops()->send_msi(address, data, errp)
                               : refuse("message-signalled interrupts", errp);
}

int accel_route_add(uint64_t address, uint32_t data, Error **errp)
{
    if (!irq_ops()->route_add) {
        refuse("message-signalled interrupts", errp);
        return -1;
    }
    return irq_ops()->route_add(address, data, errp);
}

bool accel_route_update(int gsi, uint64_t address, uint32_t data, Error **errp)
{
    return irq_ops()->route_update(gsi, address, data, errp);
}

void accel_route_remove(int gsi)
{
    irq_ops()->route_remove(gsi);
}

bool accel_has_pulse(void)
{
    return board_chips_present() || irq_ops()->pulse_gsi;
}

AccelPulse accel_pulse_gsi(int gsi)
{
    assert(bql_locked());
    return board_chips_present() ? board_chips_pulse(gsi)
                                 : irq_ops()->pulse_gsi(gsi);
}

bool accel_pulse_may_be_lost(int gsi)
{
    assert(bql_locked());
    return board_chips_present() ? board_chips_pulse_may_be_lost(gsi)
                                 : irq_ops()->pulse_may_be_lost(gsi);
}

/* A line of the board's chips, not a message. */
static bool is_board_line(int gsi)
{
    return board_chips_present() && gsi < BOARD_CHIPS_LINES;
}

bool accel_irqfd_add(int gsi, int fd, int resample_fd, Error **errp)
{
    if (is_board_line(gsi)) {
        return board_chips_irqfd_add(gsi, fd, resample_fd, errp);
    }
    return irq_ops()->irqfd_add
               ? irq_ops()->irqfd_add(gsi, fd, resample_fd, errp)
               : refuse("interrupts by eventfd", errp);
}

void accel_irqfd_remove(int gsi, int fd)
{
    if (is_board_line(gsi)) {
        board_chips_irqfd_remove(gsi, fd);
    } else {
        irq_ops()->irqfd_remove(gsi, fd);
    }
}

bool accel_doorbell_add(const AccelDoorbell *bell, Error **errp)
{
    return irq_ops()->doorbell_add ? irq_ops()->doorbell_add(bell, errp)
                                   : refuse("doorbells", errp);
}

void accel_doorbell_remove(const AccelDoorbell *bell)
{
    irq_ops()->doorbell_remove(bell);
}

bool accel_coalesce_add(bool pio, hwaddr addr, uint64_t size, Error **errp)
{
    return irq_ops()->coalesce_add
               ? irq_ops()->coalesce_add(pio, addr, size, errp)
               : refuse("coalesced stores", errp);
}

void accel_coalesce_remove(bool pio, hwaddr addr, uint64_t size)
{
    irq_ops()->coalesce_remove(pio, addr, size);
}

void accel_coalesce_flush(void)
{
    if (irq_ops()->coalesce_flush) {
        irq_ops()->coalesce_flush();
    }
}
