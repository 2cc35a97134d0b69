/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * i8259: the two interrupt controllers (PIC) of a PC, the second at input 2 of
 * the first. Intel's data sheet 231468.
 *
 * Ports 0x20, 0x21; 0xa0, 0xa1; 0x4d0, 0x4d1 (which inputs are level-triggered:
 * 3 to 7, 9 to 12, 14, 15).
 *
 * Edges are latched: a request stays if the line falls. What changes that is
 * the acknowledge, a poll, ICW1. Level inputs follow their line.
 * The second one's request is not latched: input 2 is what it asks for.
 *
 * Not there: 8080 mode, buffered mode, single mode, level by ICW1 (as on PCs:
 * ELCR says it).
 *
 * Sections `i8259`, version 1, instances 0 and 1: as accel/kvm/x86-sections.c
 * has them for the kernel's; a guest can go from the one to the other.
 *
 * Threads: under the BQL.
 *
 * Used by: hw/i386/split-chips.c. Uses: isa.h.
 */
#ifndef HW_INTC_I8259_H
#define HW_INTC_I8259_H

#include "hw/isa/isa.h"

#define TYPE_I8259    "isa-i8259"
#define I8259_INPUTS  16
#define I8259_CASCADE 2

typedef struct I8259State I8259State;

/* One of the two. All but the last two in the section, in its order. */
typedef struct Pic {
    uint8_t last_irr; /* levels of lines */
    uint8_t irr, imr, isr;
    uint8_t priority_add; /* the input that comes first */
    uint8_t irq_base;
    uint8_t read_reg_select; /* bool: ISR, not IRR */
    uint8_t poll, special_mask;
    uint8_t init_state; /* the ICW that comes next, less 1; 0: none */
    uint8_t auto_eoi, rotate_on_auto_eoi, special_fully_nested_mode;
    uint8_t init4; /* there will be an ICW4 */
    uint8_t single_mode;
    uint8_t elcr;
    uint8_t elcr_mask; /* constant, */
    I8259State *chips; /* and what it is one of */
} Pic;

struct I8259State {
    ISADevice parent_obj;

    MemoryRegion ports[2], elcr_ports;

    /* Constant after realize; each may be NULL. */
    void (*output)(void *opaque, bool level); /* when it changes */
    /* The interrupt of @input is at its end. */
    void (*ended)(void *opaque, unsigned input);
    void *opaque;

    /* Guarded by the BQL. */
    Pic pic[2]; /* saved */
    bool out;
};

DECLARE_INSTANCE_CHECKER(I8259State, I8259, TYPE_I8259)

void i8259_set_line(I8259State *s, unsigned input, bool level);
/* Two INTA cycles: the vector. 7 of one of both if nothing asks any more. */
uint8_t i8259_acknowledge(I8259State *s);

void i8259_register_types(void);

#endif /* HW_INTC_I8259_H */
