/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 16550A UART: the section `serial`. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "serial-internal.h"
#include "vmstate/vmstate.h"

static bool serial_pre_save(void *opaque, Error **errp)
{
    SerialState *s = opaque;

    s->fcr_vmstate = s->fcr;
    return true;
}

static bool serial_pre_load(void *opaque, Error **errp)
{
    SerialState *s = opaque;

    /* Subsections that do not come stand for these. */
    s->thr_ipending = -1;
    s->timeout_ipending = 0;
    s->recv_fifo.head = s->recv_fifo.num = 0;
    s->fcr_vmstate = 0;
    return true;
}

static int thr_pending_by_iir(const SerialState *s)
{
    return (s->iir & IIR_ID) == IIR_THRI;
}

static bool serial_post_load(void *opaque, int version_id, Error **errp)
{
    SerialState *s = opaque;

    if (s->recv_fifo.num > UART_FIFO_LENGTH ||
        s->recv_fifo.head >= UART_FIFO_LENGTH) {
        error_setg(errp,
                   "recv_fifo has head %" PRIu32 " and num %" PRIu32
                   ", expected less than %d and at most %d",
                   s->recv_fifo.head, s->recv_fifo.num, UART_FIFO_LENGTH,
                   UART_FIFO_LENGTH);
        return false;
    }
    if (s->thr_ipending == -1) {
        s->thr_ipending = thr_pending_by_iir(s);
    }
    s->fcr = s->fcr_vmstate & FCR_KEPT;
    s->ier &= 0x0f;
    s->mcr &= MCR_MASK;
    s->lsr |= LSR_THRE | LSR_TEMT; /* nothing is ever left to be sent */
    serial_update_irq(s);
    return true;
}

static bool thr_ipending_needed(void *opaque)
{
    SerialState *s = opaque;

    return s->thr_ipending != thr_pending_by_iir(s);
}

static const VMStateDescription vmstate_serial_thr_ipending = {
    .name = "serial/thr_ipending",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = thr_ipending_needed,
    .fields =
        (const VMStateField[]){
            VMSTATE_INT32(thr_ipending, SerialState),
            VMSTATE_END_OF_LIST(),
        },
};

static bool recv_fifo_needed(void *opaque)
{
    SerialState *s = opaque;

    return s->recv_fifo.num > 0;
}

static const VMStateDescription vmstate_fifo8 = {
    .name = "Fifo8",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields =
        (const VMStateField[]){
            VMSTATE_BUFFER(data, SerialFifo),
            VMSTATE_UINT32(head, SerialFifo),
            VMSTATE_UINT32(num, SerialFifo),
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_serial_recv_fifo = {
    .name = "serial/recv_fifo",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = recv_fifo_needed,
    .fields =
        (const VMStateField[]){
            VMSTATE_STRUCT(recv_fifo, SerialState, 0, vmstate_fifo8,
                           SerialFifo),
            VMSTATE_END_OF_LIST(),
        },
};

static bool timeout_ipending_needed(void *opaque)
{
    SerialState *s = opaque;

    return s->timeout_ipending != 0;
}

static const VMStateDescription vmstate_serial_timeout_ipending = {
    .name = "serial/timeout_ipending",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = timeout_ipending_needed,
    .fields =
        (const VMStateField[]){
            VMSTATE_INT32(timeout_ipending, SerialState),
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_serial = {
    .name = "serial",
    .version_id = 3,
    .minimum_version_id = 2,
    .pre_save = serial_pre_save,
    .pre_load = serial_pre_load,
    .post_load = serial_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT16_V(divider, SerialState, 2),
            VMSTATE_UINT8(rbr, SerialState),
            VMSTATE_UINT8(ier, SerialState),
            VMSTATE_UINT8(iir, SerialState),
            VMSTATE_UINT8(lcr, SerialState),
            VMSTATE_UINT8(mcr, SerialState),
            VMSTATE_UINT8(lsr, SerialState),
            VMSTATE_UINT8(msr, SerialState),
            VMSTATE_UINT8(scr, SerialState),
            VMSTATE_UINT8_V(fcr_vmstate, SerialState, 3),
            VMSTATE_END_OF_LIST(),
        },
    .subsections =
        (const VMStateDescription *const[]){
            &vmstate_serial_thr_ipending,
            &vmstate_serial_recv_fifo,
            &vmstate_serial_timeout_ipending,
            NULL,
        },
};

const VMStateDescription vmstate_isa_serial = {
    .name = "serial",
    .version_id = 3,
    .minimum_version_id = 2,
    .fields =
        (const VMStateField[]){
            VMSTATE_STRUCT(state, ISASerialState, 0, vmstate_serial,
                           SerialState),
            VMSTATE_END_OF_LIST(),
        },
};
