/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PL011: the UART of ARM machines (ARM PrimeCell UART, DDI 0183G).
 *
 * Window 0: registers, 4 KiB. Interrupt outputs: 0 combined (UARTINTR), 1
 * receive, 2 transmit, 3 receive timeout, 4 modem status, 5 error.
 * Property chardev: label of the back end.
 *
 * Characters are sent at once and never wait, whether or not the UART is
 * enabled: the transmit FIFO is always empty. There is no bit time either, so
 * what is received is reported with the first character, as if the receive
 * timeout had passed.
 *
 * Used by: hw/arm. Uses: sysbus.h, chardev.
 */
#ifndef HW_CHAR_PL011_H
#define HW_CHAR_PL011_H

#include "chardev/char.h"
#include "hw/sysbus.h"

#define TYPE_PL011       "pl011"
#define PL011_FIFO_DEPTH 16
#define PL011_NUM_IRQS   6

typedef struct PL011State {
    SysBusDevice parent_obj;

    /* Constant after realize. */
    MemoryRegion iomem;
    CharFrontend chr;
    qemu_irq irq[PL011_NUM_IRQS];

    /* Guarded by the BQL; saved. */
    uint32_t flags;                       /* UARTFR */
    uint32_t lcr;                         /* UARTLCR_H */
    uint32_t rsr;                         /* UARTRSR */
    uint32_t cr;                          /* UARTCR */
    uint32_t dmacr;                       /* UARTDMACR: kept, there is no DMA */
    uint32_t int_enabled;                 /* UARTIMSC */
    uint32_t int_level;                   /* UARTRIS */
    uint32_t read_fifo[PL011_FIFO_DEPTH]; /* character, error bits 11:8 */
    uint32_t ilpr, ibrd, fbrd, ifl;
    int32_t read_pos;     /* of the oldest character */
    int32_t read_count;   /* characters in the FIFO */
    int32_t read_trigger; /* characters that raise the receive interrupt */
    struct {
        uint64_t period; /* of UARTCLK; 0: not connected */
    } clk;
} PL011State;

DECLARE_INSTANCE_CHECKER(PL011State, PL011, TYPE_PL011)

/* Make one at @addr, interrupt to @irq, on @chr (may be NULL). */
DeviceState *pl011_create(hwaddr addr, qemu_irq irq, Chardev *chr,
                          Error **errp);

void pl011_register_types(void);

#endif /* HW_CHAR_PL011_H */
