/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * 16550A UART, as PCs have it: isa-serial (National Semiconductor PC16550D).
 *
 * Properties: index (0 to 3: ports and interrupt of COM1 to COM4), iobase,
 * irq, chardev.
 *
 * Characters are sent at once and never wait: the transmitter is always
 * empty. There is no bit time either, so what is received below the trigger
 * level is reported as if the receive timeout had passed. Interrupts do not
 * need OUT2.
 *
 * Used by: hw/i386. Uses: isa.h, chardev.
 */
#ifndef HW_CHAR_SERIAL_H
#define HW_CHAR_SERIAL_H

#include "chardev/char.h"
#include "hw/isa/isa.h"

#define TYPE_ISA_SERIAL  "isa-serial"
#define UART_FIFO_LENGTH 16

typedef struct SerialFifo {
    uint8_t data[UART_FIFO_LENGTH];
    uint32_t head, num; /* oldest one, how many */
} SerialFifo;

typedef struct SerialState {
    /* Constant after realize. */
    CharFrontend chr;
    qemu_irq irq;

    /* Guarded by the BQL; saved. */
    uint16_t divider;
    uint8_t rbr, ier, iir, lcr, mcr, lsr, msr, scr;
    uint8_t fcr, fcr_vmstate;
    int32_t thr_ipending;     /* "transmitter empty" is to be told */
    int32_t timeout_ipending; /* "characters wait in the FIFO" as well */
    SerialFifo recv_fifo;
} SerialState;

typedef struct ISASerialState {
    ISADevice parent_obj;

    MemoryRegion io;
    uint32_t index, iobase, isairq; /* properties; UINT32_MAX: by index */
    SerialState state;
} ISASerialState;

DECLARE_INSTANCE_CHECKER(ISASerialState, ISA_SERIAL, TYPE_ISA_SERIAL)

/* COM@index+1 on @chr (may be NULL). */
bool isa_serial_create(unsigned index, Chardev *chr, Error **errp);

void isa_serial_register_types(void);

#endif /* HW_CHAR_SERIAL_H */
