/* SPDX-License-Identifier: GPL-2.0-or-later */
/* I/O APIC: see ioapic.h. */
#include "qemu/osdep.h"

#include "hw/intc/ioapic.h"
#include "qemu/log.h"
#include "trace-hw.h"
#include "vmstate/vmstate.h"

#define VERSION        0x11
#define RETRY_NS       INT64_C(1000000)
#define MESSAGE_BASE   UINT64_C(0xfee00000)
#define MESSAGE_ASSERT (1u << 14)
#define MIN_VECTOR     16 /* what is below a local APIC refuses */

/* What of an entry a guest sets; the low half's. */
#define ENTRY_LOW  UINT64_C(0x1afff)
#define ENTRY_HIGH UINT64_C(0xff00000000000000)

/* Offsets, and what IOREGSEL can be. */
enum {
    IOREGSEL = 0x00,
    IOWIN = 0x10,
    REG_ID = 0,
    REG_VERSION = 1,
    REG_ARBITRATION = 2,
    REG_ENTRIES = 0x10,
};

/* ---- messages ---- */

/* Logical or physical destination; vector, delivery mode, trigger. */
static uint64_t message_address(uint64_t entry)
{
    return MESSAGE_BASE | entry >> 56 << 12 | (entry >> 11 & 1) << 2;
}

static uint32_t message_data(uint64_t entry)
{
    return (entry & 0x7ff) | MESSAGE_ASSERT | (entry & IOAPIC_LEVEL);
}

static void try_later(IoapicState *s)
{
    timer_mod_ns(s->retry, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + RETRY_NS);
}

/*
 * The route that makes a local APIC tell of the end need not be the message:
 * it is told of level-triggered ones only, so all are here.
 */
static void tell_end(IoapicState *s, unsigned pin)
{
    uint64_t entry = s->entry[pin], address = message_address(entry);
    uint32_t data = message_data(entry) | IOAPIC_LEVEL;
    bool wanted = ((entry & IOAPIC_LEVEL) || (s->watched & 1u << pin)) &&
                  (entry & IOAPIC_VECTOR) >= MIN_VECTOR;
    __typeof__(s->told[pin]) *told = &s->told[pin];

    if (wanted == told->wanted &&
        (!wanted || (address == told->address && data == told->data))) {
        return;
    }
    if (!s->hooks->tell_end(s->opaque, pin, wanted, address, data)) {
        try_later(s);
        return;
    }
    told->wanted = wanted;
    told->address = address;
    told->data = data;
}

/* Send what is due. How many took it, or -errno: then it stays due. */
static int service(IoapicState *s, unsigned pin)
{
    uint64_t entry = s->entry[pin];
    uint32_t bit = 1u << pin;
    bool level = entry & IOAPIC_LEVEL;
    int n;

    if (!(s->irr & bit) || s->held ||
        (level && (entry & (IOAPIC_MASKED | IOAPIC_REMOTE_IRR)))) {
        return 0;
    }
    if (entry & IOAPIC_MASKED) { /* an edge */
        s->irr &= ~bit;
        return 0;
    }
    n = s->hooks->deliver(s->opaque, message_address(entry),
                          message_data(entry));
    trace_ioapic_message(pin, entry, n);
    if (n < 0) {
        try_later(s);
        return n;
    }
    if (!level) {
        s->irr &= ~bit;
    } else if (n) {
        s->entry[pin] |= IOAPIC_REMOTE_IRR;
    }
    return n;
}

static void service_all(void *opaque)
{
    for (unsigned pin = 0; pin < IOAPIC_PINS; pin++) {
        tell_end(opaque, pin);
        service(opaque, pin);
    }
}

int ioapic_set_line(IoapicState *s, unsigned pin, bool level)
{
    uint32_t bit = 1u << pin;
    bool rises = level && !(s->lines & bit);

    s->lines = level ? s->lines | bit : s->lines & ~bit;
    if (s->entry[pin] & IOAPIC_LEVEL) {
        s->irr = level ? s->irr | bit : s->irr & ~bit;
    } else if (rises) {
        s->irr |= bit;
    } else {
        return 0;
    }
    return service(s, pin);
}

void ioapic_eoi(IoapicState *s, uint8_t vector)
{
    for (unsigned pin = 0; pin < IOAPIC_PINS; pin++) {
        if ((s->entry[pin] & IOAPIC_VECTOR) != vector ||
            (s->entry[pin] & (IOAPIC_LEVEL | IOAPIC_REMOTE_IRR)) ==
                IOAPIC_LEVEL) {
            continue;
        }
        s->entry[pin] &= ~IOAPIC_REMOTE_IRR;
        s->hooks->ended(s->opaque, pin);
        service(s, pin);
    }
}

void ioapic_hold(IoapicState *s, bool hold)
{
    s->held = hold;
    if (!hold) {
        service_all(s);
    }
}

void ioapic_watch(IoapicState *s, unsigned pin, bool watch)
{
    s->watched = watch ? s->watched | 1u << pin : s->watched & ~(1u << pin);
    tell_end(s, pin);
}

/* ---- registers ---- */

static uint32_t read_register(const IoapicState *s)
{
    unsigned pin = (s->ioregsel - REG_ENTRIES) / 2u;

    switch (s->ioregsel) {
    case REG_ID:
    case REG_ARBITRATION:
        return (uint32_t)s->id << 24;
    case REG_VERSION:
        return VERSION | (IOAPIC_PINS - 1) << 16;
    default:
        if (s->ioregsel < REG_ENTRIES || pin >= IOAPIC_PINS) {
            return UINT32_MAX;
        }
        return s->ioregsel & 1 ? s->entry[pin] >> 32 : s->entry[pin];
    }
}

/* The line's level counts for an entry that is level-triggered now. */
static void changed_trigger(IoapicState *s, unsigned pin)
{
    uint32_t bit = 1u << pin;

    if (s->entry[pin] & IOAPIC_LEVEL) {
        s->irr = (s->irr & ~bit) | (s->lines & bit);
    } else {
        s->irr &= ~bit;
        s->entry[pin] &= ~IOAPIC_REMOTE_IRR;
    }
}

static void write_entry(IoapicState *s, unsigned pin, bool high, uint32_t val)
{
    uint64_t old = s->entry[pin];

    if (high) {
        s->entry[pin] = (old & UINT32_MAX) | ((uint64_t)val << 32 & ENTRY_HIGH);
    } else {
        s->entry[pin] = (old & ~ENTRY_LOW) | (val & ENTRY_LOW);
    }
    if ((s->entry[pin] ^ old) & IOAPIC_LEVEL) {
        changed_trigger(s, pin);
    }
    tell_end(s, pin);
    service(s, pin);
}

static void write_register(IoapicState *s, uint32_t val)
{
    unsigned pin = (s->ioregsel - REG_ENTRIES) / 2u;

    if (s->ioregsel == REG_ID) {
        s->id = val >> 24 & 0xf;
    } else if (s->ioregsel >= REG_ENTRIES && pin < IOAPIC_PINS) {
        write_entry(s, pin, s->ioregsel & 1, val);
    } else {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "ioapic: register 0x%x cannot be written\n", s->ioregsel);
    }
}

static void ioapic_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    IoapicState *s = opaque;

    trace_ioapic_write(addr, s->ioregsel, val);
    if (addr == IOREGSEL) {
        s->ioregsel = val;
    } else if (addr == IOWIN) {
        write_register(s, val);
    }
}

static uint64_t ioapic_read(void *opaque, hwaddr addr, unsigned size)
{
    const IoapicState *s = opaque;

    return addr == IOREGSEL ? s->ioregsel
           : addr == IOWIN  ? read_register(s)
                            : 0;
}

static const MemoryRegionOps ioapic_ops = {
    .read = ioapic_read,
    .write = ioapic_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .impl.min_access_size = 1,
    .impl.max_access_size = 4,
};

/* ---- section ---- */

/*
 * Bits that the kernel keeps and a guest has set are without a meaning here. A
 * message that is due is sent when the VM runs, and so is what is behind a mask
 * or asserted: irr has it.
 */
static bool ioapic_post_load(void *opaque, int version_id, Error **errp)
{
    IoapicState *s = opaque;

    s->irr &= (1u << IOAPIC_PINS) - 1;
    for (unsigned pin = 0; pin < IOAPIC_PINS; pin++) {
        if (!(s->entry[pin] & IOAPIC_LEVEL)) {
            s->entry[pin] &= ~IOAPIC_REMOTE_IRR;
        }
        tell_end(s, pin);
    }
    service_all(s);
    return true;
}

static const VMStateDescription vmstate_ioapic = {
    .name = "ioapic",
    .version_id = 3,
    .minimum_version_id = 3,
    .post_load = ioapic_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT8(id, IoapicState),
            VMSTATE_UINT8(ioregsel, IoapicState),
            VMSTATE_UNUSED(8),
            VMSTATE_UINT32(irr, IoapicState),
            {
                .name = "ioredtbl",
                .num = IOAPIC_PINS,
                .info = &vmstate_info_uint64,
                .size = sizeof(uint64_t),
                .flags = VMS_ARRAY,
                .offset = offsetof(IoapicState, entry),
            },
            VMSTATE_END_OF_LIST(),
        },
};

/* ---- the device ---- */

static void ioapic_reset(DeviceState *dev)
{
    IoapicState *s = IOAPIC(dev);

    s->id = s->ioregsel = 0;
    s->irr = s->lines = 0;
    timer_del(s->retry);
    for (unsigned pin = 0; pin < IOAPIC_PINS; pin++) {
        s->entry[pin] = IOAPIC_MASKED;
        tell_end(s, pin);
    }
}

static bool ioapic_realize(DeviceState *dev, Error **errp)
{
    IoapicState *s = IOAPIC(dev);

    s->retry = timer_new_ns(QEMU_CLOCK_VIRTUAL, service_all, s);
    ioapic_reset(dev);
    return true;
}

static void ioapic_instance_init(Object *obj)
{
    IoapicState *s = IOAPIC(obj);

    memory_region_init_io(&s->mmio, obj, &ioapic_ops, s, "ioapic",
                          IOAPIC_WINDOW);
    sysbus_init_mmio(SYS_BUS_DEVICE(obj), &s->mmio);
}

static void ioapic_instance_finalize(Object *obj)
{
    timer_free(IOAPIC(obj)->retry);
}

static void ioapic_class_init(ObjectClass *oc, const void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = ioapic_realize;
    dc->reset = ioapic_reset;
    dc->vmsd = &vmstate_ioapic;
    dc->desc = "82093AA I/O APIC";
}

static const TypeInfo ioapic_type = {
    .name = TYPE_IOAPIC,
    .parent = TYPE_SYS_BUS_DEVICE,
    .instance_size = sizeof(IoapicState),
    .instance_init = ioapic_instance_init,
    .instance_finalize = ioapic_instance_finalize,
    .class_init = ioapic_class_init,
};

void ioapic_register_types(void)
{
    type_register_static(&ioapic_type);
}
