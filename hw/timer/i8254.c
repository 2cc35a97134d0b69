/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interval timer of PCs: see i8254.h; its section: i8254-section.c. */
#include "qemu/osdep.h"

#include <glib-unix.h>
#include <sys/eventfd.h>

#include "hw/timer/i8254.h"
#include "i8254-internal.h"
#include "qemu/error.h"
#include "qemu/log.h"
#include "system/accel-irq.h"
#include "system/runstate.h"
#include "trace-hw.h"

#define CONTROL_PORT 3

/* While one waits, and nobody tells when it was taken: look again. */
#define RETRY_NS INT64_C(1000000)
/* What is older is not wanted by a guest that masks the line. */
#define MASKED_NS NANOSECONDS_PER_SECOND

/* Nobody will acknowledge it any more. */
#define FLIGHT_NS (10 * NANOSECONDS_PER_SECOND)

/* Port 0x61. */
enum {
    SPEAKER_GATE = 0x01,
    SPEAKER_ON = 0x02,
    SPEAKER_WRITABLE = 0x03,
    SPEAKER_REFRESH = 0x10,
    SPEAKER_OUT = 0x20,
};

static int64_t clock_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

/* ---- ticks ---- */

static void deliver(PitState *s);

bool i8254_look_for_acknowledge(PitState *s)
{
    uint64_t n;

    if (s->ack_fd < 0 || read(s->ack_fd, &n, sizeof(n)) != sizeof(n)) {
        return false;
    }
    s->in_flight = false;
    return true;
}

/* The guest has taken a tick, perhaps. Not while it stands: state is saved. */
static gboolean acknowledged(gint fd, GIOCondition cond, gpointer opaque)
{
    PitState *s = opaque;

    if (i8254_look_for_acknowledge(s) && runstate_is_running()) {
        deliver(s);
    }
    return s->ack_tag ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static void wait_for_guest(PitState *s, int64_t now_ns)
{
    trace_pit_wait(s->next_tick);
    if (s->ack_fd >= 0 && !s->ack_tag) {
        s->ack_tag = g_unix_fd_add(s->ack_fd, G_IO_IN, acknowledged, s);
    }
    timer_mod_ns(s->timer, now_ns + RETRY_NS);
}

void i8254_stop_waiting(PitState *s)
{
    if (s->ack_tag) {
        g_source_remove(s->ack_tag);
        s->ack_tag = 0;
    }
}

static bool is_in_flight(PitState *s, int64_t now_ns)
{
    i8254_look_for_acknowledge(s);
    if (s->in_flight && (now_ns - s->sent_ns > FLIGHT_NS ||
                         accel_pulse_may_be_lost(PIT_ISA_IRQ))) {
        s->in_flight = false;
    }
    return s->in_flight;
}

static AccelPulse raise_irq(PitState *s, int64_t now_ns)
{
    AccelPulse p;

    if (!accel_has_pulse()) {
        qemu_irq_pulse(s->irq);
        return ACCEL_PULSE_TAKEN;
    }
    if (is_in_flight(s, now_ns)) {
        return ACCEL_PULSE_WAITS;
    }
    p = accel_pulse_gsi(PIT_ISA_IRQ);
    if (p == ACCEL_PULSE_SENT) {
        s->in_flight = s->ack_fd >= 0; /* else nobody tells of its end */
        s->sent_ns = now_ns;
        return ACCEL_PULSE_TAKEN;
    }
    return p;
}

static void forget_old(PitState *s, int64_t now_ns)
{
    int64_t oldest = pit_channel_tick_at(&s->channel[0], now_ns - MASKED_NS);

    if (s->next_tick && oldest) {
        s->next_tick = MAX(s->next_tick, oldest);
    }
}

/* All that is due, as far as the interrupt controller takes it. */
static void deliver(PitState *s)
{
    const PitChannel *c = &s->channel[0];
    int64_t now_ns = clock_now();

    while (s->next_tick && pit_channel_tick_ns(c, s->next_tick) <= now_ns) {
        AccelPulse p = raise_irq(s, now_ns);

        if (p == ACCEL_PULSE_MASKED) {
            forget_old(s, now_ns);
        }
        if (p != ACCEL_PULSE_TAKEN) {
            wait_for_guest(s, now_ns);
            return;
        }
        s->next_tick = pit_channel_is_periodic(c) ? s->next_tick + 1 : 0;
    }
    i8254_stop_waiting(s);
    if (s->next_tick) {
        timer_mod_ns(s->timer, pit_channel_tick_ns(c, s->next_tick));
    } else {
        timer_del(s->timer);
    }
}

static void timer_fired(void *opaque)
{
    deliver(opaque);
}

/* ---- counters ---- */

static void restart(PitState *s, unsigned i)
{
    PitChannel *c = &s->channel[i];

    c->load_time_ns = clock_now();
    if (i == 0) {
        s->next_tick = pit_channel_ticks(c) && !s->irq_disabled;
        deliver(s);
    }
}

static void load(PitState *s, unsigned i, unsigned count)
{
    PitChannel *c = &s->channel[i];

    c->count = count ? (int32_t)count : 0x10000;
    trace_pit_load(i, c->mode, c->count);
    restart(s, i);
}

static void latch_count(PitChannel *c)
{
    if (!c->count_latched) {
        c->latched_count = pit_channel_count(c, clock_now());
        c->count_latched = c->rw_mode;
    }
}

static void latch_status(PitChannel *c)
{
    if (!c->status_latched) {
        c->status = pit_channel_out(c, clock_now()) << 7 | c->rw_mode << 4 |
                    (c->mode & 7) << 1 | c->bcd;
        c->status_latched = 1;
    }
}

/* Bits 5 and 4: what not to latch; 3 to 1: of which. */
static void read_back(PitState *s, uint8_t val)
{
    for (unsigned i = 0; i < ARRAY_SIZE(s->channel); i++) {
        if (!(val & 2u << i)) {
            continue;
        }
        if (!(val & 0x20)) {
            latch_count(&s->channel[i]);
        }
        if (!(val & 0x10)) {
            latch_status(&s->channel[i]);
        }
    }
}

static void write_control(PitState *s, uint8_t val)
{
    unsigned i = val >> 6, access = val >> 4 & 3;
    PitChannel *c;

    if (i == ARRAY_SIZE(s->channel)) {
        read_back(s, val);
        return;
    }
    c = &s->channel[i];
    if (!access) {
        latch_count(c);
        return;
    }
    if (val & 1) {
        qemu_log_mask(LOG_UNIMP,
                      "isa-pit: counter %u counts in binary, not in "
                      "BCD\n",
                      i);
    }
    c->rw_mode = c->read_state = c->write_state = access;
    c->mode = val >> 1 & 7;
    c->bcd = val & 1;
    if (i == 0) {
        s->next_tick = 0; /* until it is loaded */
        deliver(s);
    }
}

static void write_count(PitState *s, unsigned i, uint8_t val)
{
    PitChannel *c = &s->channel[i];

    switch (c->write_state) {
    case PIT_LSB:
        load(s, i, val);
        break;
    case PIT_MSB:
        load(s, i, (unsigned)val << 8);
        break;
    case PIT_WORD_LSB:
        c->write_latch = val;
        c->write_state = PIT_WORD_MSB;
        break;
    case PIT_WORD_MSB:
        c->write_state = PIT_WORD_LSB;
        load(s, i, c->write_latch | (unsigned)val << 8);
        break;
    default:
        break; /* no mode yet */
    }
}

static uint8_t read_latched(PitChannel *c)
{
    switch (c->count_latched) {
    case PIT_MSB:
    case PIT_WORD_MSB:
        c->count_latched = 0;
        return c->latched_count >> 8;
    case PIT_WORD_LSB:
        c->count_latched = PIT_MSB;
        return c->latched_count;
    default:
        c->count_latched = 0;
        return c->latched_count;
    }
}

static uint8_t read_count(PitChannel *c)
{
    uint16_t count;

    if (c->status_latched) {
        c->status_latched = 0;
        return c->status;
    }
    if (c->count_latched) {
        return read_latched(c);
    }
    count = pit_channel_count(c, clock_now());
    switch (c->read_state) {
    case PIT_MSB:
        return count >> 8;
    case PIT_WORD_LSB:
        c->read_state = PIT_WORD_MSB;
        return count;
    case PIT_WORD_MSB:
        c->read_state = PIT_WORD_LSB;
        return count >> 8;
    default:
        return count;
    }
}

/* ---- ports ---- */

static void pit_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    if (addr == CONTROL_PORT) {
        write_control(opaque, val);
    } else {
        write_count(opaque, addr, val);
    }
}

static uint64_t pit_read(void *opaque, hwaddr addr, unsigned size)
{
    PitState *s = opaque;

    return addr == CONTROL_PORT ? 0 : read_count(&s->channel[addr]);
}

static void speaker_write(void *opaque, hwaddr addr, uint64_t val,
                          unsigned size)
{
    PitState *s = opaque;
    PitChannel *c = &s->channel[2];
    bool rises = (val & SPEAKER_GATE) && !c->gate;

    s->speaker_on = val & SPEAKER_ON;
    c->gate = val & SPEAKER_GATE;
    if (rises && c->mode != 0 && c->mode != 4) {
        restart(s, 2);
    }
}

static uint64_t speaker_read(void *opaque, hwaddr addr, unsigned size)
{
    const PitState *s = opaque;
    const PitChannel *c = &s->channel[2];
    int64_t now_ns = clock_now();

    return (c->gate ? SPEAKER_GATE : 0) | (s->speaker_on ? SPEAKER_ON : 0) |
           (now_ns >> 14 & 1 ? SPEAKER_REFRESH : 0) | /* each 15 us or so */
           (pit_channel_out(c, now_ns) ? SPEAKER_OUT : 0);
}

static const MemoryRegionOps pit_ops = {
    .read = pit_read,
    .write = pit_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .impl.min_access_size = 1,
    .impl.max_access_size = 1,
};

static const MemoryRegionOps speaker_ops = {
    .read = speaker_read,
    .write = speaker_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .impl.min_access_size = 1,
    .impl.max_access_size = 1,
};

/* ---- the device ---- */

static void pit_reset(DeviceState *dev)
{
    PitState *s = I8254(dev);

    memset(s->channel, 0, sizeof(s->channel));
    for (unsigned i = 0; i < ARRAY_SIZE(s->channel); i++) {
        PitChannel *c = &s->channel[i];

        c->count = 0x10000;
        c->mode = PIT_MODE_UNSET;
        c->gate = i != 2;
        c->load_time_ns = clock_now();
        c->next_ns = -1;
    }
    s->irq_disabled = 0;
    s->speaker_on = false;
    s->in_flight = false;
    s->next_tick = 0;
    deliver(s);
}

/* Without, it asks every now and then: ticks are late, not lost. */
static void watch_acknowledges(PitState *s)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    Error *err = NULL;

    /* A line is told of an acknowledge only if an eventfd can raise it, too. */
    s->line_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->ack_fd = fd;
    if (fd >= 0 && s->line_fd >= 0 &&
        accel_irqfd_add(PIT_ISA_IRQ, s->line_fd, fd, &err)) {
        return;
    }
    error_free(err);
    close(s->line_fd);
    close(fd);
    s->line_fd = s->ack_fd = -1;
}

static bool pit_realize(DeviceState *dev, Error **errp)
{
    PitState *s = I8254(dev);

    s->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, timer_fired, s);
    if (!isa_connect_irq(ISA_DEVICE(dev), &s->irq, PIT_ISA_IRQ, errp) ||
        !isa_register_ioport(ISA_DEVICE(dev), &s->ports, 0x40, errp) ||
        !isa_register_ioport(ISA_DEVICE(dev), &s->speaker_port, 0x61, errp)) {
        return false;
    }
    if (accel_has_pulse()) {
        watch_acknowledges(s);
    }
    return true;
}

static void pit_instance_init(Object *obj)
{
    PitState *s = I8254(obj);

    s->line_fd = s->ack_fd = -1;
    memory_region_init_io(&s->ports, obj, &pit_ops, s, "pit", 4);
    memory_region_init_io(&s->speaker_port, obj, &speaker_ops, s, "speaker", 1);
}

static void pit_instance_finalize(Object *obj)
{
    PitState *s = I8254(obj);

    i8254_stop_waiting(s);
    timer_free(s->timer);
    if (s->ack_fd >= 0) {
        accel_irqfd_remove(PIT_ISA_IRQ, s->line_fd);
        close(s->line_fd);
        close(s->ack_fd);
    }
}

static void pit_class_init(ObjectClass *oc, const void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = pit_realize;
    dc->reset = pit_reset;
    dc->vmsd = &i8254_vmstate;
    dc->desc = "8254 interval timer";
}

static const TypeInfo pit_type = {
    .name = TYPE_I8254,
    .parent = TYPE_ISA_DEVICE,
    .instance_size = sizeof(PitState),
    .instance_init = pit_instance_init,
    .instance_finalize = pit_instance_finalize,
    .class_init = pit_class_init,
};

void i8254_register_types(void)
{
    type_register_static(&pit_type);
}

PitState *i8254_create(Error **errp)
{
    DeviceState *dev = qdev_new(TYPE_I8254, errp);

    return dev && qdev_realize_and_unref(dev, errp) ? I8254(dev) : NULL;
}
