/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ioapic: the I/O APIC of a PC, 24 pins. Intel's data sheet 290566 (82093AA).
 *
 * At 0xfec00000: IOREGSEL at 0, IOWIN at 0x10. Its version is 0x11, which has no
 * EOI register. An index that is no register reads as ones.
 *
 * A pin sends a message to local APICs:
 *
 *   edge    when its line rises, if it is not masked; behind a mask it is lost
 *   level   when its line is high and it has no message under way (remote IRR);
 *           the end of one comes by ioapic_eoi(), for all pins of that vector.
 *           An entry that is made edge-triggered has none under way
 *
 * Nothing is sent while it is held (ioapic_hold(): the VM stands, so the local
 * APICs may be about to be loaded); it is made up for afterwards.
 * What could not be sent is tried again after a millisecond.
 *
 * Lines say that an interrupt is asserted: an entry's polarity is kept, and is
 * without effect. Delivery mode ExtINT is not there (nor is it in the kernel's):
 * PICs ask the first vCPU by its LINT0.
 *
 * Section `ioapic`, version 3, as accel/kvm/x86-sections.c has it for the
 * kernel's; a guest can go from the one to the other.
 *
 * Threads: under the BQL.
 *
 * Used by: hw/i386/split-chips.c. Uses: sysbus.h, timer.h.
 */
#ifndef HW_INTC_IOAPIC_H
#define HW_INTC_IOAPIC_H

#include "hw/sysbus.h"
#include "qemu/timer.h"

#define TYPE_IOAPIC   "ioapic"
#define IOAPIC_PINS   24
#define IOAPIC_BASE   0xfec00000
#define IOAPIC_WINDOW 0x1000

/* Of an entry. */
#define IOAPIC_VECTOR     UINT64_C(0xff)
#define IOAPIC_STATUS     (UINT64_C(1) << 12)
#define IOAPIC_POLARITY   (UINT64_C(1) << 13)
#define IOAPIC_REMOTE_IRR (UINT64_C(1) << 14)
#define IOAPIC_LEVEL      (UINT64_C(1) << 15)
#define IOAPIC_MASKED     (UINT64_C(1) << 16)

typedef struct IoapicHooks {
    /* How many local APICs took it, or -errno. */
    int (*deliver)(void *opaque, uint64_t address, uint32_t data);
    /*
     * Have the end of @pin's messages told, or (@wanted false) no longer. False:
     * it is as before, try again later.
     */
    bool (*tell_end)(void *opaque, unsigned pin, bool wanted, uint64_t address,
                     uint32_t data);
    /* A message of @pin's is at its end. */
    void (*ended)(void *opaque, unsigned pin);
} IoapicHooks;

typedef struct IoapicState {
    SysBusDevice parent_obj;

    /* Constant after realize. */
    MemoryRegion mmio;
    const IoapicHooks *hooks;
    void *opaque;
    QEMUTimer *retry;

    /* Guarded by the BQL; saved. */
    uint8_t id, ioregsel;
    /* Level: the line is high; edge: a message that is still to be sent. */
    uint32_t irr;
    uint64_t entry[IOAPIC_PINS];

    /* BQL. */
    uint32_t lines;   /* levels */
    uint32_t watched; /* pins whose end is wanted even if edge-triggered */
    bool held;
    struct { /* as hooks->tell_end was told */
        bool wanted;
        uint64_t address;
        uint32_t data;
    } told[IOAPIC_PINS];
} IoapicState;

DECLARE_INSTANCE_CHECKER(IoapicState, IOAPIC, TYPE_IOAPIC)

/* How many local APICs took the message that this made, or -errno. */
int ioapic_set_line(IoapicState *s, unsigned pin, bool level);
/* A local APIC was told of the end of @vector. */
void ioapic_eoi(IoapicState *s, uint8_t vector);
/* Messages wait; no longer. */
void ioapic_hold(IoapicState *s, bool hold);
/* From now on the end of @pin's messages is wanted in any case. */
void ioapic_watch(IoapicState *s, unsigned pin, bool watch);

void ioapic_register_types(void);

#endif /* HW_INTC_IOAPIC_H */
