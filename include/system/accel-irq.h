/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupts and doorbells that an accelerator takes over from devices.
 *
 * An accelerator with an interrupt controller of its own (KVM's irqchip) has
 * numbered lines (gsi.h). Beside setting their level, a device can send
 * messages (MSI), pulse a line and learn what became of that, or hand over an
 * eventfd that raises a line. Doorbells: a guest's store to an
 * address signals an eventfd, with no vCPU leaving for the VMM. Coalesced
 * stores: gathered by the accelerator and done later, in order, at the latest
 * before the next exit of a vCPU is acted upon.
 *
 * What an accelerator has not got is refused, never ignored: ask first, or
 * use the Error. What was registered survives a rebuild of the accelerator's
 * VM. Descriptors stay the caller's and must outlive their registration.
 *
 * Threads: BQL, but for accel_send_msi(): any thread.
 *
 * Used by: hw/. Uses: accel-ops.h.
 */
#ifndef SYSTEM_ACCEL_IRQ_H
#define SYSTEM_ACCEL_IRQ_H

/* What became of a line's pulse. */
typedef enum AccelPulse {
    ACCEL_PULSE_MASKED = -1, /* lost: one is behind a mask already */
    ACCEL_PULSE_WAITS = 0,   /* lost: one waits for a vCPU to take it */
    ACCEL_PULSE_TAKEN = 1,   /* a vCPU will get it, or a mask holds it back */
    ACCEL_PULSE_SENT = 2, /* a vCPU will get it, but another one before it has
                                been acknowledged would be lost unseen */
} AccelPulse;

typedef struct AccelDoorbell {
    bool pio; /* a port; else guest physical memory */
    hwaddr addr;
    unsigned size; /* 1, 2, 4, 8; 0: stores of any size */
    bool match;    /* only stores of @data */
    uint64_t data;
    int fd;
} AccelDoorbell;

/* AccelOps.irq; NULL there: none of this. Each hook is optional. */
typedef struct AccelIrqOps {
    bool (*send_msi)(uint64_t address, uint32_t data, Error **errp);
    /* A message as a line of its own: the new GSI, or -1. */
    int (*route_add)(uint64_t address, uint32_t data, Error **errp);
    bool (*route_update)(int gsi, uint64_t address, uint32_t data,
                         Error **errp);
    void (*route_remove)(int gsi);
    AccelPulse (*pulse_gsi)(int gsi);
    bool (*pulse_may_be_lost)(int gsi);
    bool (*irqfd_add)(int gsi, int fd, int resample_fd, Error **errp);
    void (*irqfd_remove)(int gsi, int fd);
    bool (*doorbell_add)(const AccelDoorbell *bell, Error **errp);
    void (*doorbell_remove)(const AccelDoorbell *bell);
    bool (*coalesce_add)(bool pio, hwaddr addr, uint64_t size, Error **errp);
    void (*coalesce_remove)(bool pio, hwaddr addr, uint64_t size);
    void (*coalesce_flush)(void);
} AccelIrqOps;

bool accel_send_msi(uint64_t address, uint32_t data, Error **errp);
int accel_route_add(uint64_t address, uint32_t data, Error **errp);
bool accel_route_update(int gsi, uint64_t address, uint32_t data, Error **errp);
void accel_route_remove(int gsi);

/* Raise line @gsi and lower it: an edge. Only if the accelerator has that. */
bool accel_has_pulse(void);
AccelPulse accel_pulse_gsi(int gsi);
/*
 * After one that was SENT: the guest has meanwhile set up the line in another
 * way. What it acknowledges of the old one may not be told.
 */
bool accel_pulse_may_be_lost(int gsi);

/*
 * A write to @fd raises @gsi. @resample_fd, or -1: the line is level-triggered,
 * and this is signalled when the guest has acknowledged it.
 */
bool accel_irqfd_add(int gsi, int fd, int resample_fd, Error **errp);
void accel_irqfd_remove(int gsi, int fd);

bool accel_doorbell_add(const AccelDoorbell *bell, Error **errp);
void accel_doorbell_remove(const AccelDoorbell *bell); /* the same values */

/* Stores to the range may be late. @flush: do now what was gathered. */
bool accel_coalesce_add(bool pio, hwaddr addr, uint64_t size, Error **errp);
void accel_coalesce_remove(bool pio, hwaddr addr, uint64_t size);
void accel_coalesce_flush(void);

#endif /* SYSTEM_ACCEL_IRQ_H */
