/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PL011: see pl011.h. Section numbers are those of DDI 0183G.
 */
#include "qemu/osdep.h"

#include "hw/char/pl011.h"
#include "qemu/error.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "trace-hw.h"
#include "vmstate/vmstate.h"

/* Register offsets (3.2). */
enum {
    UARTDR = 0x000,
    UARTRSR = 0x004, /* write: UARTECR */
    UARTFR = 0x018,
    UARTILPR = 0x020,
    UARTIBRD = 0x024,
    UARTFBRD = 0x028,
    UARTLCR_H = 0x02c,
    UARTCR = 0x030,
    UARTIFLS = 0x034,
    UARTIMSC = 0x038,
    UARTRIS = 0x03c,
    UARTMIS = 0x040,
    UARTICR = 0x044,
    UARTDMACR = 0x048,
    UARTPERIPHID0 = 0xfe0,
    PL011_MMIO_SIZE = 0x1000,
};

/* UARTFR (3.3.3). */
enum {
    FR_CTS = 1 << 0,
    FR_DSR = 1 << 1,
    FR_DCD = 1 << 2,
    FR_RXFE = 1 << 4,
    FR_TXFF = 1 << 5,
    FR_RXFF = 1 << 6,
    FR_TXFE = 1 << 7,
    FR_RI = 1 << 8,
};

/* Interrupts, in UARTIMSC, UARTRIS, UARTMIS and UARTICR (3.3.10). */
enum {
    INT_RI = 1 << 0,
    INT_CTS = 1 << 1,
    INT_DCD = 1 << 2,
    INT_DSR = 1 << 3,
    INT_RX = 1 << 4,
    INT_TX = 1 << 5,
    INT_RT = 1 << 6,
    INT_FE = 1 << 7,
    INT_PE = 1 << 8,
    INT_BE = 1 << 9,
    INT_OE = 1 << 10,
    INT_MS = INT_RI | INT_CTS | INT_DCD | INT_DSR,
    INT_E = INT_FE | INT_PE | INT_BE | INT_OE,
    INT_ALL = 0x7ff,
};

/* Error bits beside a received character (3.3.1); shifted down in UARTRSR. */
#define DR_BE     (1 << 10)
#define DR_OE     (1 << 11)
#define RSR_SHIFT 8
#define RSR_OE    (1 << 3)

#define LCR_BRK (1 << 0)
#define LCR_FEN (1 << 4)

#define CR_UARTEN (1 << 0)
#define CR_LBE    (1 << 7)
#define CR_TXE    (1 << 8)
#define CR_RXE    (1 << 9)
#define CR_DTR    (1 << 10)
#define CR_RTS    (1 << 11)
#define CR_OUT1   (1 << 12)
#define CR_OUT2   (1 << 13)
#define CR_MASK   0xff87

#define IBRD_MASK  0xffff
#define FBRD_MASK  0x3f
#define IFLS_RESET 0x12
#define CR_RESET   (CR_TXE | CR_RXE)

static const uint8_t pl011_id[8] = { 0x11, 0x10, 0x14, 0x00,
                                     0x0d, 0xf0, 0x05, 0xb1 };

/* What each output reports. */
static const uint32_t irq_sources[PL011_NUM_IRQS] = {
    INT_ALL, INT_RX, INT_TX, INT_RT, INT_MS, INT_E,
};

static void pl011_update(PL011State *s)
{
    uint32_t active = s->int_level & s->int_enabled;

    for (int i = 0; i < PL011_NUM_IRQS; i++) {
        qemu_set_irq(s->irq[i], (active & irq_sources[i]) != 0);
    }
}

static bool loopback(const PL011State *s)
{
    return s->cr & CR_LBE;
}

static int fifo_depth(const PL011State *s)
{
    return s->lcr & LCR_FEN ? PL011_FIFO_DEPTH : 1;
}

static void empty_rx_fifo(PL011State *s)
{
    s->read_pos = 0;
    s->read_count = 0;
    s->flags = (s->flags & ~(uint32_t)FR_RXFF) | FR_RXFE;
}

/* A character with its error bits arrives; one too many marks the last. */
static void put_rx(PL011State *s, uint32_t value)
{
    int depth = fifo_depth(s);

    if (s->read_count >= depth) {
        trace_pl011_lost(value);
        s->rsr |= RSR_OE;
        s->int_level |= INT_OE;
        pl011_update(s);
        return;
    }
    s->read_fifo[(s->read_pos + s->read_count) & (depth - 1)] = value;
    s->read_count++;
    s->flags &= ~(uint32_t)FR_RXFE;
    if (s->read_count == depth) {
        s->flags |= FR_RXFF;
    }
    if (s->read_count >= s->read_trigger) {
        s->int_level |= INT_RX;
        pl011_update(s);
    }
}

static uint32_t take_rx(PL011State *s)
{
    uint32_t value = s->read_fifo[s->read_pos];

    s->flags &= ~(uint32_t)FR_RXFF;
    if (s->read_count > 0) {
        s->read_count--;
        s->read_pos = (s->read_pos + 1) & (fifo_depth(s) - 1);
    }
    if (s->read_count == 0) {
        s->flags |= FR_RXFE;
    }
    if (s->read_count < s->read_trigger) {
        s->int_level &= ~(uint32_t)INT_RX;
    }
    s->rsr = value >> RSR_SHIFT;
    pl011_update(s);
    qemu_chr_fe_accept_input(&s->chr);
    return value;
}

static void transmit(PL011State *s, uint32_t value)
{
    uint8_t ch = value;

    if (loopback(s)) {
        put_rx(s, ch);
    } else {
        qemu_chr_fe_write_all(&s->chr, &ch, 1);
    }
    s->int_level |= INT_TX;
    pl011_update(s);
}

/*
 * In loopback the modem outputs are seen on the inputs (3.3.8): RTS on CTS,
 * DTR on DSR, OUT1 on DCD, OUT2 on RI. A change raises its interrupt.
 */
static void loop_modem_lines(PL011State *s)
{
    static const struct {
        uint32_t cr, fr, irq;
    } lines[] = {
        { CR_RTS, FR_CTS, INT_CTS },
        { CR_DTR, FR_DSR, INT_DSR },
        { CR_OUT1, FR_DCD, INT_DCD },
        { CR_OUT2, FR_RI, INT_RI },
    };

    if (!loopback(s)) {
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        bool now = s->cr & lines[i].cr;

        if (now != !!(s->flags & lines[i].fr)) {
            s->flags ^= lines[i].fr;
            s->int_level |= lines[i].irq;
        }
    }
    pl011_update(s);
}

static uint64_t read_register(PL011State *s, hwaddr offset)
{
    if (offset >= UARTPERIPHID0 && offset < PL011_MMIO_SIZE) {
        return pl011_id[(offset - UARTPERIPHID0) >> 2];
    }
    switch (offset) {
    case UARTDR:
        return take_rx(s);
    case UARTRSR:
        return s->rsr;
    case UARTFR:
        return s->flags;
    case UARTILPR:
        return s->ilpr;
    case UARTIBRD:
        return s->ibrd;
    case UARTFBRD:
        return s->fbrd;
    case UARTLCR_H:
        return s->lcr;
    case UARTCR:
        return s->cr;
    case UARTIFLS:
        return s->ifl;
    case UARTIMSC:
        return s->int_enabled;
    case UARTRIS:
        return s->int_level;
    case UARTMIS:
        return s->int_level & s->int_enabled;
    case UARTDMACR:
        return s->dmacr;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "pl011: read of offset 0x%" PRIx64 "\n",
                      offset);
        return 0;
    }
}

static uint64_t pl011_read(void *opaque, hwaddr offset, unsigned size)
{
    uint64_t val = read_register(opaque, offset);

    trace_pl011_read(offset, val);
    return val;
}

static void write_lcr(PL011State *s, uint32_t value)
{
    if ((s->lcr ^ value) & LCR_FEN) {
        empty_rx_fifo(s); /* on or off, what is in it is lost */
    }
    if (((s->lcr ^ value) & LCR_BRK) && (value & LCR_BRK) && loopback(s)) {
        put_rx(s, DR_BE);
    }
    s->lcr = value & 0xff;
    s->read_trigger = 1; /* see pl011.h: as if the timeout had passed */
}

static void pl011_write(void *opaque, hwaddr offset, uint64_t value,
                        unsigned size)
{
    PL011State *s = opaque;

    trace_pl011_write(offset, value);
    switch (offset) {
    case UARTDR:
        transmit(s, value);
        break;
    case UARTRSR:
        s->rsr = 0;
        break;
    case UARTFR:
        break; /* read only */
    case UARTILPR:
        s->ilpr = value & 0xff;
        break;
    case UARTIBRD:
        s->ibrd = value & IBRD_MASK;
        break;
    case UARTFBRD:
        s->fbrd = value & FBRD_MASK;
        break;
    case UARTLCR_H:
        write_lcr(s, value);
        break;
    case UARTCR:
        s->cr = value & CR_MASK;
        loop_modem_lines(s);
        break;
    case UARTIFLS:
        s->ifl = value & 0x3f;
        s->read_trigger = 1;
        break;
    case UARTIMSC:
        s->int_enabled = value & INT_ALL;
        pl011_update(s);
        break;
    case UARTICR:
        s->int_level &= ~(uint32_t)value;
        pl011_update(s);
        break;
    case UARTDMACR:
        s->dmacr = value & 7;
        if (value & 3) {
            qemu_log_mask(LOG_UNIMP, "pl011: DMA\n");
        }
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "pl011: write of offset 0x%" PRIx64 "\n",
                      offset);
    }
}

static const MemoryRegionOps pl011_ops = {
    .read = pl011_read,
    .write = pl011_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .impl.min_access_size = 4,
    .impl.max_access_size = 4,
};

/* ---- back end ---- */

/* In loopback the receive input is disconnected (3.3.8): nothing is taken. */
static int pl011_can_receive(void *opaque)
{
    PL011State *s = opaque;

    return loopback(s) ? 0 : MAX(fifo_depth(s) - s->read_count, 0);
}

static void pl011_receive(void *opaque, const uint8_t *buf, int size)
{
    PL011State *s = opaque;

    for (int i = 0; i < size; i++) {
        put_rx(s, buf[i]);
    }
}

static void pl011_event(void *opaque, QEMUChrEvent event)
{
    PL011State *s = opaque;

    if (event == CHR_EVENT_BREAK && !loopback(s)) {
        put_rx(s, DR_BE);
    }
}

/* ---- saved state ---- */

static bool pl011_post_load(void *opaque, int version_id, Error **errp)
{
    PL011State *s = opaque;

    if (s->read_pos < 0 || s->read_pos >= PL011_FIFO_DEPTH) {
        error_setg(errp, "read_pos is %" PRId32 ", expected 0 to %d",
                   s->read_pos, PL011_FIFO_DEPTH - 1);
        return false;
    }
    if (s->read_count < 0 || s->read_count > fifo_depth(s)) {
        error_setg(errp, "read_count is %" PRId32 ", expected 0 to %d",
                   s->read_count, fifo_depth(s));
        return false;
    }
    if (fifo_depth(s) == 1 && s->read_pos > 0) {
        /* Older senders leave the one character anywhere. */
        s->read_fifo[0] = s->read_fifo[s->read_pos];
        s->read_pos = 0;
    }
    s->read_trigger = 1;
    s->ibrd &= IBRD_MASK;
    s->fbrd &= FBRD_MASK;
    return true;
}

static const VMStateDescription vmstate_pl011_clk = {
    .name = "clock",
    .version_id = 0,
    .minimum_version_id = 0,
    .fields =
        (const VMStateField[]){
            {
                .name = "period",
                .info = &vmstate_info_uint64,
                .size = sizeof(uint64_t),
                .flags = VMS_SINGLE,
            },
            VMSTATE_END_OF_LIST(),
        },
};

static bool clock_needed(void *opaque)
{
    return true;
}

static const VMStateDescription vmstate_pl011_clock = {
    .name = "pl011/clock",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = clock_needed,
    .fields =
        (const VMStateField[]){
            {
                .name = "clk",
                .vmsd = &vmstate_pl011_clk,
                .size = sizeof(uint64_t),
                .flags = VMS_STRUCT,
                .offset = offsetof(PL011State, clk),
            },
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_pl011 = {
    .name = "pl011",
    .version_id = 2,
    .minimum_version_id = 2,
    .post_load = pl011_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UNUSED(4),
            VMSTATE_UINT32(flags, PL011State),
            VMSTATE_UINT32(lcr, PL011State),
            VMSTATE_UINT32(rsr, PL011State),
            VMSTATE_UINT32(cr, PL011State),
            VMSTATE_UINT32(dmacr, PL011State),
            VMSTATE_UINT32(int_enabled, PL011State),
            VMSTATE_UINT32(int_level, PL011State),
            VMSTATE_UINT32_ARRAY(read_fifo, PL011State, PL011_FIFO_DEPTH),
            VMSTATE_UINT32(ilpr, PL011State),
            VMSTATE_UINT32(ibrd, PL011State),
            VMSTATE_UINT32(fbrd, PL011State),
            VMSTATE_UINT32(ifl, PL011State),
            VMSTATE_INT32(read_pos, PL011State),
            VMSTATE_INT32(read_count, PL011State),
            VMSTATE_INT32(read_trigger, PL011State),
            VMSTATE_END_OF_LIST(),
        },
    .subsections =
        (const VMStateDescription *const[]){
            &vmstate_pl011_clock,
            NULL,
        },
};

/* ---- the device ---- */

static void pl011_reset(DeviceState *dev)
{
    PL011State *s = PL011(dev);

    s->lcr = 0;
    s->rsr = 0;
    s->cr = CR_RESET;
    s->dmacr = 0;
    s->int_enabled = 0;
    s->int_level = 0;
    memset(s->read_fifo, 0, sizeof(s->read_fifo));
    s->ilpr = 0;
    s->ibrd = 0;
    s->fbrd = 0;
    s->ifl = IFLS_RESET;
    s->read_trigger = 1;
    s->flags = FR_TXFE;
    empty_rx_fifo(s);
    pl011_update(s);
    qemu_chr_fe_accept_input(&s->chr);
}

static bool pl011_realize(DeviceState *dev, Error **errp)
{
    PL011State *s = PL011(dev);

    qemu_chr_fe_set_handlers(&s->chr, pl011_can_receive, pl011_receive,
                             pl011_event, s, NULL);
    return true;
}

static void pl011_unrealize(DeviceState *dev)
{
    qemu_chr_fe_deinit(&PL011(dev)->chr, false);
}

static void pl011_instance_init(Object *obj)
{
    PL011State *s = PL011(obj);
    SysBusDevice *sbd = SYS_BUS_DEVICE(obj);

    memory_region_init_io(&s->iomem, obj, &pl011_ops, s, "pl011",
                          PL011_MMIO_SIZE);
    sysbus_init_mmio(sbd, &s->iomem);
    for (int i = 0; i < PL011_NUM_IRQS; i++) {
        sysbus_init_irq(sbd, &s->irq[i]);
    }
}

static void pl011_class_init(ObjectClass *oc, const void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = pl011_realize;
    dc->unrealize = pl011_unrealize;
    dc->reset = pl011_reset;
    dc->vmsd = &vmstate_pl011;
    dc->desc = "ARM PrimeCell UART";
}

static json_object *get_chardev(Object *obj, const Property *prop, Error **errp)
{
    PL011State *s = PL011(obj);

    return json_object_new_string(s->chr.chr ? qemu_chr_label(s->chr.chr) : "");
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
    return qemu_chr_fe_init(&PL011(obj)->chr, chr, errp);
}

static const Property pl011_props[] = {
    DEFINE_PROP_FN("chardev", &qapi_str_type, get_chardev, set_chardev,
                   .type_name = "str", .help = "back end, by id"),
    DEFINE_PROP_END_OF_LIST(),
};

static const TypeInfo pl011_type = {
    .name = TYPE_PL011,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(PL011State),
    .instance_init = pl011_instance_init,
    .class_init = pl011_class_init,
    .props = pl011_props,
};

void pl011_register_types(void)
{
    type_register_static(&pl011_type);
}

DeviceState *pl011_create(hwaddr addr, qemu_irq irq, Chardev *chr, Error **errp)
{
    DeviceState *dev = qdev_new(TYPE_PL011, errp);

    if (!dev) {
        return NULL;
    }
    if (chr && !qemu_chr_fe_init(&PL011(dev)->chr, chr, errp)) {
        object_unref(OBJECT(dev));
        return NULL;
    }
    sysbus_connect_irq(SYS_BUS_DEVICE(dev), 0, irq);
    if (!qdev_realize_and_unref(dev, errp)) {
        return NULL;
    }
    sysbus_mmio_map(SYS_BUS_DEVICE(dev), 0, addr);
    return dev;
}
