/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between serial.c (the device) and serial-vmstate.c (what is saved of it).
 */
#ifndef HW_CHAR_SERIAL_INTERNAL_H
#define HW_CHAR_SERIAL_INTERNAL_H

#include "hw/char/serial.h"

enum {
    LCR_DLAB = 0x80,
    LCR_BREAK = 0x40,

    IER_RDI = 0x01,  /* received data */
    IER_THRI = 0x02, /* transmitter empty */
    IER_RLSI = 0x04, /* line status */
    IER_MSI = 0x08,  /* modem status */

    IIR_NO_INT = 0x01,
    IIR_ID = 0x0f,
    IIR_MSI = 0x00,
    IIR_THRI = 0x02,
    IIR_RDI = 0x04,
    IIR_RLSI = 0x06,
    IIR_TIMEOUT = 0x0c,
    IIR_FIFO = 0xc0,

    FCR_ENABLE = 0x01,
    FCR_CLEAR_RX = 0x02,
    FCR_CLEAR_TX = 0x04,
    FCR_KEPT = 0xc9,

    MCR_DTR = 0x01,
    MCR_RTS = 0x02,
    MCR_OUT1 = 0x04,
    MCR_OUT2 = 0x08,
    MCR_LOOP = 0x10,
    MCR_MASK = 0x1f,

    LSR_DR = 0x01,
    LSR_OE = 0x02,
    LSR_BI = 0x10,
    LSR_ERRORS = 0x1e,
    LSR_THRE = 0x20,
    LSR_TEMT = 0x40,

    MSR_DELTA = 0x0f,
    MSR_TERI = 0x04,
    MSR_CTS = 0x10,
    MSR_DSR = 0x20,
    MSR_RI = 0x40,
    MSR_DCD = 0x80,
    /* A peer that is always ready. */
    MSR_READY = MSR_DCD | MSR_DSR | MSR_CTS,

    RESET_DIVIDER = 12, /* 9600 baud */
};

/* The highest pending interrupt into IIR, and the line. */
void serial_update_irq(SerialState *s);

extern const VMStateDescription vmstate_isa_serial;

#endif /* HW_CHAR_SERIAL_INTERNAL_H */
