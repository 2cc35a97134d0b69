/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupt controllers of PCs: see i8259.h. */
#include "qemu/osdep.h"

#include "hw/intc/i8259.h"
#include "qemu/error.h"
#include "qemu/log.h"
#include "trace-hw.h"
#include "vmstate/savevm.h"

#define NO_INPUT -1
#define SPURIOUS 7u

/* Of ICW1, ICW4 and the OCWs. */
enum {
    ICW1_IC4 = 0x01,
    ICW1_SINGLE = 0x02,
    ICW1 = 0x10,
    ICW4_AUTO_EOI = 0x02,
    ICW4_NESTED = 0x10,
    OCW3 = 0x08,
    OCW3_ISR = 0x01,
    OCW3_READ = 0x02,
    OCW3_POLL = 0x04,
    OCW3_SPECIAL_MASK = 0x20,
    OCW3_SET_MASK = 0x40,
};

/* Bits 7 to 5 of OCW2. */
enum {
    OCW2_AUTO_ROTATE_OFF,
    OCW2_EOI,
    OCW2_NOP,
    OCW2_EOI_OF,
    OCW2_AUTO_ROTATE_ON,
    OCW2_ROTATE_EOI,
    OCW2_PRIORITY,
    OCW2_ROTATE_EOI_OF,
};

/* ---- who comes first ---- */

/* How far from the top the first of @bits is; 8: none is set. */
static unsigned first_of(const Pic *p, uint8_t bits)
{
    unsigned n = 0;

    while (n < 8 && !(bits & 1u << ((n + p->priority_add) & 7))) {
        n++;
    }
    return n;
}

static bool is_first(const I8259State *s, const Pic *p)
{
    return p == &s->pic[0];
}

/* The input that is to be served, or NO_INPUT. */
static int request_of(const I8259State *s, const Pic *p)
{
    unsigned asks = first_of(p, p->irr & ~p->imr), served;
    uint8_t in_service = p->isr;

    if (p->special_mask) {
        in_service &= ~p->imr;
    }
    if (p->special_fully_nested_mode && is_first(s, p)) {
        in_service &= ~(1u << I8259_CASCADE);
    }
    served = first_of(p, in_service);
    return asks < served ? (int)((asks + p->priority_add) & 7) : NO_INPUT;
}

/* After any change. */
static void update(I8259State *s)
{
    bool out;

    if (request_of(s, &s->pic[1]) != NO_INPUT) {
        s->pic[0].irr |= 1u << I8259_CASCADE;
    } else {
        s->pic[0].irr &= ~(1u << I8259_CASCADE);
    }
    out = request_of(s, &s->pic[0]) != NO_INPUT;
    if (out != s->out) {
        s->out = out;
        trace_pic_output(out);
        if (s->output) {
            s->output(s->opaque, out);
        }
    }
}

void i8259_set_line(I8259State *s, unsigned input, bool level)
{
    Pic *p = &s->pic[input / 8];
    uint8_t bit = 1u << input % 8;

    if (input == I8259_CASCADE) {
        return; /* the second one is there */
    }
    if (level && ((p->elcr & bit) || !(p->last_irr & bit))) {
        p->irr |= bit;
    } else if (!level && (p->elcr & bit)) {
        p->irr &= ~bit;
    }
    p->last_irr = level ? p->last_irr | bit : p->last_irr & ~bit;
    update(s);
}

/* ---- acknowledge and end ---- */

static void ended(I8259State *s, const Pic *p, unsigned n)
{
    if (s->ended && !(is_first(s, p) && n == I8259_CASCADE)) {
        s->ended(s->opaque, is_first(s, p) ? n : n + 8);
    }
}

/* A cycle of INTA, or a poll. */
static void take(I8259State *s, Pic *p, unsigned n)
{
    uint8_t bit = 1u << n;

    if (!(p->elcr & bit)) {
        p->irr &= ~bit;
    }
    if (!p->auto_eoi) {
        p->isr |= bit;
        return;
    }
    if (p->rotate_on_auto_eoi) {
        p->priority_add = (n + 1) & 7;
    }
    ended(s, p, n);
}

uint8_t i8259_acknowledge(I8259State *s)
{
    Pic *p = &s->pic[0];
    int n = request_of(s, p);

    if (n == I8259_CASCADE) {
        take(s, p, n);
        p = &s->pic[1];
        n = request_of(s, p);
    }
    if (n != NO_INPUT) {
        take(s, p, n);
    }
    update(s);
    trace_pic_acknowledge(n, p->irq_base);
    return p->irq_base + (n == NO_INPUT ? SPURIOUS : (unsigned)n);
}

static void end(I8259State *s, Pic *p, unsigned n)
{
    if (p->isr & 1u << n) {
        p->isr &= ~(1u << n);
        ended(s, p, n);
    }
}

/* The one that is served first; of those that are not masked, in SMM. */
static void end_first(I8259State *s, Pic *p, bool rotate)
{
    unsigned n = first_of(p, p->special_mask ? p->isr & ~p->imr : p->isr);

    if (n < 8) {
        n = (n + p->priority_add) & 7;
        if (rotate) {
            p->priority_add = (n + 1) & 7;
        }
        end(s, p, n);
    }
}

/* ---- what a guest writes ---- */

static void write_icw1(Pic *p, uint8_t val)
{
    if (val & ICW1_SINGLE) {
        qemu_log_mask(LOG_UNIMP, "i8259: single mode is not there\n");
    }
    p->irr &= p->elcr; /* edges are forgotten */
    p->imr = p->isr = 0;
    p->priority_add = 0;
    p->special_mask = p->read_reg_select = p->poll = 0;
    p->rotate_on_auto_eoi = 0;
    p->init4 = val & ICW1_IC4;
    if (!p->init4) {
        p->special_fully_nested_mode = p->auto_eoi = 0;
    }
    p->init_state = 1;
}

static void write_ocw2(I8259State *s, Pic *p, uint8_t val)
{
    unsigned n = val & 7;

    switch (val >> 5) {
    case OCW2_AUTO_ROTATE_OFF:
    case OCW2_AUTO_ROTATE_ON:
        p->rotate_on_auto_eoi = val >> 5 == OCW2_AUTO_ROTATE_ON;
        break;
    case OCW2_EOI:
    case OCW2_ROTATE_EOI:
        end_first(s, p, val >> 5 == OCW2_ROTATE_EOI);
        break;
    case OCW2_ROTATE_EOI_OF:
        p->priority_add = (n + 1) & 7;
        end(s, p, n);
        break;
    case OCW2_EOI_OF:
        end(s, p, n);
        break;
    case OCW2_PRIORITY:
        p->priority_add = (n + 1) & 7;
        break;
    default:
        break;
    }
}

static void write_ocw3(Pic *p, uint8_t val)
{
    if (val & OCW3_POLL) {
        p->poll = 1;
    }
    if (val & OCW3_READ) {
        p->read_reg_select = val & OCW3_ISR;
    }
    if (val & OCW3_SET_MASK) {
        p->special_mask = (val & OCW3_SPECIAL_MASK) != 0;
    }
}

static void write_data(Pic *p, uint8_t val)
{
    switch (p->init_state) {
    case 1:
        p->irq_base = val & 0xf8;
        p->init_state = 2;
        break;
    case 2: /* how they are wired: as on a PC */
        p->init_state = p->init4 ? 3 : 0;
        break;
    case 3:
        p->special_fully_nested_mode = (val & ICW4_NESTED) != 0;
        p->auto_eoi = (val & ICW4_AUTO_EOI) != 0;
        p->init_state = 0;
        break;
    default:
        p->imr = val;
        break;
    }
}

static void pic_write(I8259State *s, Pic *p, hwaddr addr, uint8_t val)
{
    trace_pic_write(p == &s->pic[1], addr, val);
    if (addr) {
        write_data(p, val);
    } else if (val & ICW1) {
        write_icw1(p, val);
    } else if (val & OCW3) {
        write_ocw3(p, val);
    } else {
        write_ocw2(s, p, val);
    }
    update(s);
}

/* ---- what it reads ---- */

/* As an INTA for this one alone; bit 7: something asked. */
static uint8_t poll(I8259State *s, Pic *p)
{
    int n = request_of(s, p);

    p->poll = 0;
    if (n == NO_INPUT) {
        return 0;
    }
    take(s, p, n);
    update(s);
    return 0x80 | n;
}

static uint8_t pic_read(I8259State *s, Pic *p, hwaddr addr)
{
    if (p->poll) {
        return poll(s, p);
    }
    if (addr) {
        return p->imr;
    }
    return p->read_reg_select ? p->isr : p->irr;
}

static void port_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    Pic *p = opaque;

    pic_write(p->chips, p, addr, val);
}

static uint64_t port_read(void *opaque, hwaddr addr, unsigned size)
{
    Pic *p = opaque;

    return pic_read(p->chips, p, addr);
}

static void elcr_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    I8259State *s = opaque;
    Pic *p = &s->pic[addr];
    uint8_t changed;

    val &= p->elcr_mask;
    changed = val & ~p->elcr;
    p->elcr = val;
    p->irr = (p->irr & ~changed) | (p->last_irr & changed);
    update(s);
}

static uint64_t elcr_read(void *opaque, hwaddr addr, unsigned size)
{
    I8259State *s = opaque;

    return s->pic[addr].elcr;
}

#define BYTE_OPS(r, w)                                             \
    {                                                              \
        .read = r, .write = w, .endianness = DEVICE_LITTLE_ENDIAN, \
        .impl.min_access_size = 1, .impl.max_access_size = 1,      \
    }

static const MemoryRegionOps port_ops = BYTE_OPS(port_read, port_write);
static const MemoryRegionOps elcr_ops = BYTE_OPS(elcr_read, elcr_write);

/* ---- sections ---- */

/* The state as a whole follows each of its parts. */
static bool pic_post_load(void *opaque, int version_id, Error **errp)
{
    const Pic *p = opaque;

    if (p->single_mode) {
        error_setg(errp, "single_mode is %u, expected 0", p->single_mode);
        return false;
    }
    if (p->init_state > 3 || p->priority_add > 7) {
        error_setg(errp,
                   "init_state is %u and priority_add %u, expected 0 to 3 and "
                   "0 to 7",
                   p->init_state, p->priority_add);
        return false;
    }
    update(p->chips);
    return true;
}

static const VMStateDescription vmstate_pic = {
    .name = "i8259",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = pic_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT8(last_irr, Pic),
            VMSTATE_UINT8(irr, Pic),
            VMSTATE_UINT8(imr, Pic),
            VMSTATE_UINT8(isr, Pic),
            VMSTATE_UINT8(priority_add, Pic),
            VMSTATE_UINT8(irq_base, Pic),
            VMSTATE_UINT8(read_reg_select, Pic),
            VMSTATE_UINT8(poll, Pic),
            VMSTATE_UINT8(special_mask, Pic),
            VMSTATE_UINT8(init_state, Pic),
            VMSTATE_UINT8(auto_eoi, Pic),
            VMSTATE_UINT8(rotate_on_auto_eoi, Pic),
            VMSTATE_UINT8(special_fully_nested_mode, Pic),
            VMSTATE_UINT8(init4, Pic),
            VMSTATE_UINT8(single_mode, Pic),
            VMSTATE_UINT8(elcr, Pic),
            VMSTATE_END_OF_LIST(),
        },
};

/* ---- the device ---- */

static void pic_reset(DeviceState *dev)
{
    I8259State *s = I8259(dev);

    for (unsigned i = 0; i < 2; i++) {
        s->pic[i] = (Pic){ .elcr_mask = i == 0 ? 0xf8 : 0xde, .chips = s };
    }
    update(s);
}

static bool pic_realize(DeviceState *dev, Error **errp)
{
    I8259State *s = I8259(dev);

    pic_reset(dev);
    return isa_register_ioport(ISA_DEVICE(dev), &s->ports[0], 0x20, errp) &&
           isa_register_ioport(ISA_DEVICE(dev), &s->ports[1], 0xa0, errp) &&
           isa_register_ioport(ISA_DEVICE(dev), &s->elcr_ports, 0x4d0, errp) &&
           vmstate_register(NULL, 0, &vmstate_pic, &s->pic[0], errp) &&
           vmstate_register(NULL, 1, &vmstate_pic, &s->pic[1], errp);
}

static void pic_instance_init(Object *obj)
{
    I8259State *s = I8259(obj);

    for (unsigned i = 0; i < 2; i++) {
        memory_region_init_io(&s->ports[i], obj, &port_ops, &s->pic[i], "pic",
                              2);
    }
    memory_region_init_io(&s->elcr_ports, obj, &elcr_ops, s, "elcr", 2);
}

/* Its state is in two sections of one name, so dc->vmsd has none. */
static void pic_class_init(ObjectClass *oc, const void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = pic_realize;
    dc->reset = pic_reset;
    dc->desc = "two 8259A interrupt controllers";
}

static const TypeInfo pic_type = {
    .name = TYPE_I8259,
    .parent = TYPE_ISA_DEVICE,
    .instance_size = sizeof(I8259State),
    .instance_init = pic_instance_init,
    .class_init = pic_class_init,
};

void i8259_register_types(void)
{
    type_register_static(&pic_type);
}
