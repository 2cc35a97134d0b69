/* SPDX-License-Identifier: GPL-2.0-or-later */
/* 16550A UART: see serial.h. */
#include "qemu/osdep.h"

#include "hw/char/serial.h"
#include "qemu/error.h"
#include "serial-internal.h"
#include "trace-hw.h"

static bool fifo_enabled(const SerialState *s)
{
    return s->fcr & FCR_ENABLE;
}

static unsigned trigger_level(const SerialState *s)
{
    static const uint8_t level[] = { 1, 4, 8, 14 };

    return fifo_enabled(s) ? level[s->fcr >> 6] : 1;
}

void serial_update_irq(SerialState *s)
{
    uint8_t id = IIR_NO_INT;

    if ((s->ier & IER_RLSI) && (s->lsr & LSR_ERRORS)) {
        id = IIR_RLSI;
    } else if ((s->ier & IER_RDI) && (s->lsr & LSR_DR) &&
               (!fifo_enabled(s) || s->recv_fifo.num >= trigger_level(s))) {
        id = IIR_RDI;
    } else if ((s->ier & IER_RDI) && s->timeout_ipending) {
        id = IIR_TIMEOUT;
    } else if ((s->ier & IER_THRI) && s->thr_ipending) {
        id = IIR_THRI;
    } else if ((s->ier & IER_MSI) && (s->msr & MSR_DELTA)) {
        id = IIR_MSI;
    }
    s->iir = id | (fifo_enabled(s) ? IIR_FIFO : 0);
    qemu_set_irq(s->irq, id != IIR_NO_INT);
}

/* ---- receiver ---- */

static void put_fifo(SerialState *s, uint8_t ch)
{
    SerialFifo *f = &s->recv_fifo;

    if (f->num == UART_FIFO_LENGTH) {
        s->lsr |= LSR_OE;
        return;
    }
    f->data[(f->head + f->num++) % UART_FIFO_LENGTH] = ch;
    s->timeout_ipending = 1;
}

static void put_rx(SerialState *s, uint8_t ch)
{
    if (fifo_enabled(s)) {
        put_fifo(s, ch);
    } else {
        if (s->lsr & LSR_DR) {
            s->lsr |= LSR_OE;
        }
        s->rbr = ch;
    }
    s->lsr |= LSR_DR;
    serial_update_irq(s);
}

static void empty_rx(SerialState *s)
{
    s->recv_fifo.head = 0;
    s->recv_fifo.num = 0;
    s->timeout_ipending = 0;
    s->lsr &= ~(LSR_DR | LSR_BI);
}

static uint8_t take_rx(SerialState *s)
{
    uint8_t ch = s->rbr;

    if (fifo_enabled(s)) {
        ch = 0;
        if (s->recv_fifo.num) {
            ch = s->recv_fifo.data[s->recv_fifo.head];
            s->recv_fifo.head = (s->recv_fifo.head + 1) % UART_FIFO_LENGTH;
            s->recv_fifo.num--;
        }
        if (!s->recv_fifo.num) {
            empty_rx(s);
        }
    } else {
        s->lsr &= ~(LSR_DR | LSR_BI);
    }
    serial_update_irq(s);
    if (!(s->mcr & MCR_LOOP)) {
        qemu_chr_fe_accept_input(&s->chr);
    }
    return ch;
}

/* ---- registers ---- */

static void transmit(SerialState *s, uint8_t ch)
{
    s->thr_ipending = 1; /* sent already */
    if (s->mcr & MCR_LOOP) {
        put_rx(s, ch);
    } else {
        qemu_chr_fe_write_all(&s->chr, &ch, 1);
    }
    serial_update_irq(s);
}

/* The modem inputs: in loopback the outputs, else a peer that is ready. */
static void update_modem_inputs(SerialState *s)
{
    uint8_t old = s->msr, now = MSR_READY, delta;

    if (s->mcr & MCR_LOOP) {
        now = (s->mcr & MCR_RTS ? MSR_CTS : 0) |
              (s->mcr & MCR_DTR ? MSR_DSR : 0) |
              (s->mcr & MCR_OUT1 ? MSR_RI : 0) |
              (s->mcr & MCR_OUT2 ? MSR_DCD : 0);
    }
    /* Ring tells its end only. */
    delta = ((old ^ now) & (MSR_CTS | MSR_DSR | MSR_DCD)) >> 4;
    delta |= (old & ~now & MSR_RI) ? MSR_TERI : 0;
    s->msr = now | (old & MSR_DELTA) | delta;
}

static void write_mcr(SerialState *s, uint8_t val)
{
    bool was_loop = s->mcr & MCR_LOOP;

    s->mcr = val & MCR_MASK;
    update_modem_inputs(s);
    serial_update_irq(s);
    if (was_loop && !(s->mcr & MCR_LOOP)) {
        qemu_chr_fe_accept_input(&s->chr);
    }
}

static void write_ier(SerialState *s, uint8_t val)
{
    /* It is empty now, which whoever begins to listen is told. */
    if (val & ~s->ier & IER_THRI) {
        s->thr_ipending = 1;
    }
    s->ier = val & 0x0f;
    serial_update_irq(s);
}

static void write_fcr(SerialState *s, uint8_t val)
{
    if ((val ^ s->fcr) & FCR_ENABLE) {
        val |= FCR_CLEAR_RX | FCR_CLEAR_TX;
    }
    if (val & FCR_CLEAR_RX) {
        empty_rx(s);
    }
    if (val & FCR_CLEAR_TX) {
        s->thr_ipending = 1;
    }
    s->fcr = val & FCR_KEPT;
    if (!fifo_enabled(s)) {
        s->fcr = 0;
    }
    serial_update_irq(s);
    qemu_chr_fe_accept_input(&s->chr);
}

static void serial_write(void *opaque, hwaddr addr, uint64_t value,
                         unsigned size)
{
    SerialState *s = opaque;
    uint8_t val = value;

    trace_serial_write(addr, val);
    if ((s->lcr & LCR_DLAB) && addr < 2) {
        s->divider = addr ? (s->divider & 0xff) | val << 8
                          : (s->divider & 0xff00) | val;
        return;
    }
    switch (addr) {
    case 0:
        transmit(s, val);
        break;
    case 1:
        write_ier(s, val);
        break;
    case 2:
        write_fcr(s, val);
        break;
    case 3:
        s->lcr = val;
        break;
    case 4:
        write_mcr(s, val);
        break;
    case 7:
        s->scr = val;
        break;
    default: /* line and modem status are read only */
        break;
    }
}

static uint8_t read_iir(SerialState *s)
{
    uint8_t val = s->iir;

    if ((val & IIR_ID) == IIR_THRI) {
        s->thr_ipending = 0;
        serial_update_irq(s);
    }
    return val;
}

static uint8_t read_status(SerialState *s, uint8_t *reg, uint8_t cleared)
{
    uint8_t val = *reg;

    if (val & cleared) {
        *reg &= ~cleared;
        serial_update_irq(s);
    }
    return val;
}

static uint8_t read_register(SerialState *s, hwaddr addr)
{
    if ((s->lcr & LCR_DLAB) && addr < 2) {
        return addr ? s->divider >> 8 : s->divider & 0xff;
    }
    switch (addr) {
    case 0:
        return take_rx(s);
    case 1:
        return s->ier;
    case 2:
        return read_iir(s);
    case 3:
        return s->lcr;
    case 4:
        return s->mcr;
    case 5:
        return read_status(s, &s->lsr, LSR_ERRORS);
    case 6:
        return read_status(s, &s->msr, MSR_DELTA);
    default:
        return s->scr;
    }
}

static uint64_t serial_read(void *opaque, hwaddr addr, unsigned size)
{
    uint8_t val = read_register(opaque, addr);

    trace_serial_read(addr, val);
    return val;
}

static const MemoryRegionOps serial_ops = {
    .read = serial_read,
    .write = serial_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .impl.min_access_size = 1,
    .impl.max_access_size = 1,
};

/* ---- back end ---- */

/* In loopback the receive input is disconnected. */
static int serial_can_receive(void *opaque)
{
    SerialState *s = opaque;

    if (s->mcr & MCR_LOOP) {
        return 0;
    }
    return fifo_enabled(s) ? UART_FIFO_LENGTH - s->recv_fifo.num
                           : !(s->lsr & LSR_DR);
}

static void serial_receive(void *opaque, const uint8_t *buf, int size)
{
    for (int i = 0; i < size; i++) {
        put_rx(opaque, buf[i]);
    }
}

static void serial_event(void *opaque, QEMUChrEvent event)
{
    SerialState *s = opaque;

    if (event == CHR_EVENT_BREAK && !(s->mcr & MCR_LOOP)) {
        s->lsr |= LSR_BI;
        put_rx(s, 0);
    }
}

/* ---- the device ---- */

static void isa_serial_reset(DeviceState *dev)
{
    SerialState *s = &ISA_SERIAL(dev)->state;

    s->divider = RESET_DIVIDER;
    s->rbr = s->ier = s->lcr = s->scr = s->fcr = 0;
    s->mcr = MCR_OUT2;
    s->lsr = LSR_TEMT | LSR_THRE;
    s->msr = MSR_READY;
    s->thr_ipending = 0;
    empty_rx(s);
    serial_update_irq(s);
    qemu_chr_fe_accept_input(&s->chr);
}

static bool isa_serial_realize(DeviceState *dev, Error **errp)
{
    static const uint16_t com_base[] = { 0x3f8, 0x2f8, 0x3e8, 0x2e8 };
    static const uint8_t com_irq[] = { 4, 3, 4, 3 };
    static uint32_t next_index;
    ISASerialState *isa = ISA_SERIAL(dev);
    SerialState *s = &isa->state;

    if (isa->index == UINT32_MAX) {
        isa->index = next_index;
    }
    if (isa->index >= ARRAY_SIZE(com_base)) {
        error_setg(errp, "index is %" PRIu32 ", expected 0 to %zu", isa->index,
                   ARRAY_SIZE(com_base) - 1);
        return false;
    }
    if (isa->iobase == UINT32_MAX) {
        isa->iobase = com_base[isa->index];
    }
    if (isa->isairq == UINT32_MAX) {
        isa->isairq = com_irq[isa->index];
    }
    if (!isa_connect_irq(ISA_DEVICE(dev), &s->irq, isa->isairq, errp) ||
        !isa_register_ioport(ISA_DEVICE(dev), &isa->io, isa->iobase, errp)) {
        return false;
    }
    next_index = isa->index + 1;
    qemu_chr_fe_set_handlers(&s->chr, serial_can_receive, serial_receive,
                             serial_event, s, NULL);
    return true;
}

static void isa_serial_unrealize(DeviceState *dev)
{
    isa_unregister_ioports(ISA_DEVICE(dev));
    qemu_chr_fe_deinit(&ISA_SERIAL(dev)->state.chr, false);
}

static void isa_serial_instance_init(Object *obj)
{
    ISASerialState *isa = ISA_SERIAL(obj);

    isa->index = isa->iobase = isa->isairq = UINT32_MAX;
    memory_region_init_io(&isa->io, obj, &serial_ops, &isa->state, "serial", 8);
}

static void isa_serial_instance_finalize(Object *obj)
{
    memory_region_destroy(&ISA_SERIAL(obj)->io);
}

static void isa_serial_class_init(ObjectClass *oc, const void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = isa_serial_realize;
    dc->unrealize = isa_serial_unrealize;
    dc->reset = isa_serial_reset;
    dc->vmsd = &vmstate_isa_serial;
    dc->desc = "16550A UART";
    dc->user_creatable = true;
}

static json_object *get_chardev(Object *obj, const Property *prop, Error **errp)
{
    Chardev *chr = ISA_SERIAL(obj)->state.chr.chr;

    return json_object_new_string(chr ? qemu_chr_label(chr) : "");
}

static bool set_chardev(Object *obj, const Property *prop, json_object *value,
                        Error **errp)
{
    const char *label = json_object_get_string(value);
    Chardev *chr = qemu_chr_find(label);

    if (!chr) {
        error_setg(errp, "there is no chardev '%s'", label);
        return false;
    }
    return qemu_chr_fe_init(&ISA_SERIAL(obj)->state.chr, chr, errp);
}

static const Property isa_serial_props[] = {
    DEFINE_PROP_UINT32("index", ISASerialState, index, UINT32_MAX),
    DEFINE_PROP_UINT32("iobase", ISASerialState, iobase, UINT32_MAX),
    DEFINE_PROP_UINT32("irq", ISASerialState, isairq, UINT32_MAX),
    DEFINE_PROP_FN("chardev", &qapi_str_type, get_chardev, set_chardev,
                   .type_name = "str", .help = "back end, by id"),
    DEFINE_PROP_END_OF_LIST(),
};

static const TypeInfo isa_serial_type = {
    .name = TYPE_ISA_SERIAL,
    .parent = TYPE_ISA_DEVICE,
    .instance_size = sizeof(ISASerialState),
    .instance_init = isa_serial_instance_init,
    .instance_finalize = isa_serial_instance_finalize,
    .class_init = isa_serial_class_init,
    .props = isa_serial_props,
};

void isa_serial_register_types(void)
{
    type_register_static(&isa_serial_type);
}

bool isa_serial_create(unsigned index, Chardev *chr, Error **errp)
{
    DeviceState *dev = qdev_new(TYPE_ISA_SERIAL, errp);

    if (!dev) {
        return false;
    }
    ISA_SERIAL(dev)->index = index;
    if (chr && !qemu_chr_fe_init(&ISA_SERIAL(dev)->state.chr, chr, errp)) {
        object_unref(OBJECT(dev));
        return false;
    }
    return qdev_realize_and_unref(dev, errp);
}
