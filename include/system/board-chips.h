/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupt controllers of a PC that the board has, beside an accelerator that
 * has local APICs only (kernel-irqchip=split).
 *
 * The accelerator says what it can do for such a board by AccelOps.chips; the
 * board makes its PICs and I/O APIC and says so by board_chips_set(). From then
 * on the lines of gsi.h and accel-irq.h are the board's.
 *
 *   a line is raised    gsi.h, accel-irq.h → BoardChips.set_line, pulse
 *   by the I/O APIC     → AccelChipOps.deliver: a message to local APICs; its
 *                       end, if set_pin() asked for it: → BoardChips.eoi
 *   by the PICs         → AccelChipOps.set_extint; when the first vCPU can take
 *                       an interrupt: → BoardChips.acknowledge gives its vector
 *
 * Threads: BQL, all of it.
 *
 * Used by: hw/i386, accel/kvm, system/gsi.c, system/accel-irq.c. Uses:
 * accel-irq.h.
 */
#ifndef SYSTEM_BOARD_CHIPS_H
#define SYSTEM_BOARD_CHIPS_H

#include "system/accel-irq.h"

/* Lines that a board with such chips has, from 0. */
#define BOARD_CHIPS_LINES 24

/* AccelOps.chips; NULL there: the accelerator needs none, or knows none. */
typedef struct AccelChipOps {
    /* What PICs ask of the first vCPU: a level. */
    void (*set_extint)(bool level);
    /*
     * A message to local APICs: how many took it, 0 if none did (they are off,
     * or there is no such), or -errno.
     */
    int (*deliver)(uint64_t address, uint32_t data);
    /*
     * Have the end of interrupts that pin @pin sends as this message told by
     * BoardChips.eoi. @wanted false: no longer. False: it is as before, and
     * @errp says why.
     */
    bool (*set_pin)(unsigned pin, bool wanted, uint64_t address, uint32_t data,
                    Error **errp);
} AccelChipOps;

/* The chosen accelerator's; NULL: the board shall make no chips. */
const AccelChipOps *accel_chip_ops(void);

typedef struct BoardChips {
    void (*set_line)(int gsi, int level);
    /* As in accel-irq.h. */
    AccelPulse (*pulse)(int gsi);
    bool (*pulse_may_be_lost)(int gsi);
    bool (*irqfd_add)(int gsi, int fd, int resample_fd, Error **errp);
    void (*irqfd_remove)(int gsi, int fd);
    /* A vCPU takes what PICs ask for: the vector. */
    uint8_t (*acknowledge)(void);
    /* A vCPU's local APIC was told of the end of @vector. */
    void (*eoi)(uint8_t vector);
} BoardChips;

/* One board per process. @chips is constant; NULL: there are none any more. */
void board_chips_set(const BoardChips *chips);

/* Its hooks; but for the first only if there are such chips. */
bool board_chips_present(void);
void board_chips_set_line(int gsi, int level);
AccelPulse board_chips_pulse(int gsi);
bool board_chips_pulse_may_be_lost(int gsi);
bool board_chips_irqfd_add(int gsi, int fd, int resample_fd, Error **errp);
void board_chips_irqfd_remove(int gsi, int fd);
uint8_t board_chips_acknowledge(void);
void board_chips_eoi(uint8_t vector);

#endif /* SYSTEM_BOARD_CHIPS_H */
