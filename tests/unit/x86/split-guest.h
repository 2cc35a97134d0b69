/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A board's interrupt controllers as their tests see them: a guest that reaches
 * them by ports and memory, and an accelerator that says what they told it.
 *
 * Used by: test-i8259.c, test-ioapic.c. Uses: split-chips.h.
 */
#ifndef TESTS_UNIT_SPLIT_GUEST_H
#define TESTS_UNIT_SPLIT_GUEST_H

#include "qemu/osdep.h"

/* The accelerator. */
typedef struct FakeAccel {
    bool extint;
    int answer; /* to each message: how many took it, or -errno */
    unsigned messages;
    uint64_t address; /* of the last message */
    uint32_t data;
    bool pin[24]; /* the end of its messages is wanted */
    uint32_t pin_data[24];
    bool refuse_pins;
    unsigned told; /* of pins, how often */
} FakeAccel;

extern FakeAccel fake;

/* Chips as after a reset, and all of @fake; the VM runs. */
void split_guest_init(void); /* once */
void split_guest_fresh(void);

void outb(unsigned port, uint8_t v);
uint8_t inb(unsigned port);
/* The I/O APIC's register @reg. */
void io_write(unsigned reg, uint32_t v);
uint32_t io_read(unsigned reg);

#endif /* TESTS_UNIT_SPLIT_GUEST_H */
