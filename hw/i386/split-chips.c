/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PICs and I/O APIC beside local APICs in the kernel: see split-chips.h. */
#include "qemu/osdep.h"

#include <glib-unix.h>

#include "hw/i386/split-chips.h"
#include "hw/intc/i8259.h"
#include "hw/intc/ioapic.h"
#include "qemu/error.h"
#include "system/board-chips.h"
#include "system/runstate.h"

QEMU_BUILD_BUG_ON(BOARD_CHIPS_LINES != IOAPIC_PINS);

#define NR_PIC_LINES 16
#define TIMER_PIN    2u

/* What a guest sets of an entry. */
#define ENTRY_SET (~(IOAPIC_STATUS | IOAPIC_REMOTE_IRR))

/* A line's eventfds; -1: none. */
typedef struct LineFds {
    int fd, ended_fd;
    guint tag;
} LineFds;

/* Of the machine: one per process. BQL. */
static struct {
    I8259State *pic;
    IoapicState *ioapic;
    LineFds fds[BOARD_CHIPS_LINES];
    struct { /* as the pin was set up at the last pulse that went there */
        bool known;
        uint64_t entry;
    } sent[BOARD_CHIPS_LINES];
    bool complained; /* and it has not worked since */
} sc;

static bool has_pic(int gsi)
{
    return gsi < NR_PIC_LINES && gsi != I8259_CASCADE;
}

static unsigned pin_of(int gsi)
{
    return gsi == 0 ? TIMER_PIN : (unsigned)gsi;
}

/* ---- lines ---- */

static void set_line(int gsi, int level)
{
    if (has_pic(gsi)) {
        i8259_set_line(sc.pic, gsi, level);
    }
    if (gsi != I8259_CASCADE) {
        ioapic_set_line(sc.ioapic, pin_of(gsi), level);
    }
}

/* The PIC had one waiting, or takes none; and the I/O APIC took none. */
static AccelPulse by_pic_alone(const Pic *before, uint8_t bit)
{
    if (before->imr & bit) {
        return before->irr & bit ? ACCEL_PULSE_MASKED : ACCEL_PULSE_TAKEN;
    }
    return before->irr & bit ? ACCEL_PULSE_WAITS : ACCEL_PULSE_TAKEN;
}

static AccelPulse pulse(int gsi)
{
    unsigned pin = pin_of(gsi);
    int took = ioapic_set_line(sc.ioapic, pin, true);

    ioapic_set_line(sc.ioapic, pin, false);
    if (took) { /* or could not, and is tried again */
        sc.sent[gsi].known = true;
        sc.sent[gsi].entry = sc.ioapic->entry[pin] & ENTRY_SET;
    }
    if (has_pic(gsi)) {
        Pic before = sc.pic->pic[gsi / 8];

        i8259_set_line(sc.pic, gsi, true);
        i8259_set_line(sc.pic, gsi, false);
        if (!took) {
            return by_pic_alone(&before, 1u << gsi % 8);
        }
    }
    return took ? ACCEL_PULSE_SENT : ACCEL_PULSE_TAKEN;
}

static bool pulse_may_be_lost(int gsi)
{
    return sc.sent[gsi].known &&
           (sc.ioapic->entry[pin_of(gsi)] & ENTRY_SET) != sc.sent[gsi].entry;
}

/* ---- eventfds ---- */

static gboolean fd_is_signalled(gint fd, GIOCondition cond, gpointer opaque)
{
    int gsi = GPOINTER_TO_INT(opaque);
    uint64_t n;

    if (read(fd, &n, sizeof(n)) == sizeof(n)) {
        set_line(gsi, 1);
        if (sc.fds[gsi].ended_fd < 0) {
            set_line(gsi, 0);
        }
    }
    return G_SOURCE_CONTINUE;
}

static bool irqfd_add(int gsi, int fd, int resample_fd, Error **errp)
{
    LineFds *f = &sc.fds[gsi];

    if (f->fd >= 0) {
        error_setg(errp, "line %d is raised by an eventfd already", gsi);
        return false;
    }
    f->fd = fd;
    f->ended_fd = resample_fd;
    f->tag = g_unix_fd_add(fd, G_IO_IN, fd_is_signalled, GINT_TO_POINTER(gsi));
    ioapic_watch(sc.ioapic, pin_of(gsi), resample_fd >= 0);
    return true;
}

static void irqfd_remove(int gsi, int fd)
{
    LineFds *f = &sc.fds[gsi];

    if (f->fd == fd) {
        g_source_remove(f->tag);
        f->fd = f->ended_fd = -1;
        ioapic_watch(sc.ioapic, pin_of(gsi), false);
    }
}

/* An eventfd that raised the line lowers it, too, and its owner is told. */
static void line_ended(int gsi)
{
    const uint64_t one = 1;
    LineFds *f = &sc.fds[gsi];

    if (f->fd >= 0 && f->ended_fd >= 0) {
        set_line(gsi, 0);
        if (write(f->ended_fd, &one, sizeof(one)) < 0) {
            /* Full: it was told so often that once more is no news. */
        }
    }
}

/* ---- between the chips and the accelerator ---- */

static void pic_output(void *opaque, bool level)
{
    accel_chip_ops()->set_extint(level);
}

static void pic_ended(void *opaque, unsigned input)
{
    line_ended(input);
}

static int deliver(void *opaque, uint64_t address, uint32_t data)
{
    return accel_chip_ops()->deliver(address, data);
}

/* The I/O APIC tries again: said once. */
static bool tell_end(void *opaque, unsigned pin, bool wanted, uint64_t address,
                     uint32_t data)
{
    Error *err = NULL;
    bool ok = accel_chip_ops()->set_pin(pin, wanted, address, data, &err);

    if (!ok && !sc.complained) {
        error_reportf_err(err, "I/O APIC, pin %u: ", pin);
    } else {
        error_free(err);
    }
    sc.complained = !ok;
    return ok;
}

static void pin_ended(void *opaque, unsigned pin)
{
    line_ended(pin == TIMER_PIN ? 0 : pin);
}

static uint8_t acknowledge(void)
{
    return i8259_acknowledge(sc.pic);
}

static void eoi(uint8_t vector)
{
    ioapic_eoi(sc.ioapic, vector);
}

/* Local APICs can be sent to while the VM runs: else they may be loaded yet. */
static void state_changed(void *opaque, bool running, RunState state)
{
    ioapic_hold(sc.ioapic, !running);
}

/* ---- made ---- */

static const IoapicHooks ioapic_hooks = {
    .deliver = deliver,
    .tell_end = tell_end,
    .ended = pin_ended,
};

static const BoardChips board_chips = {
    .set_line = set_line,
    .pulse = pulse,
    .pulse_may_be_lost = pulse_may_be_lost,
    .irqfd_add = irqfd_add,
    .irqfd_remove = irqfd_remove,
    .acknowledge = acknowledge,
    .eoi = eoi,
};

static bool create_pic(Object *parent, Error **errp)
{
    DeviceState *dev = qdev_new(TYPE_I8259, errp);

    if (!dev) {
        return false;
    }
    sc.pic = I8259(dev);
    sc.pic->output = pic_output;
    sc.pic->ended = pic_ended;
    object_property_add_child(parent, "pic", OBJECT(dev));
    return qdev_realize_and_unref(dev, errp);
}

static bool create_ioapic(Object *parent, Error **errp)
{
    DeviceState *dev = qdev_new(TYPE_IOAPIC, errp);

    if (!dev) {
        return false;
    }
    sc.ioapic = IOAPIC(dev);
    sc.ioapic->hooks = &ioapic_hooks;
    sc.ioapic->held = !runstate_is_running();
    object_property_add_child(parent, "ioapic-chip", OBJECT(dev));
    if (!qdev_realize_and_unref(dev, errp)) {
        return false;
    }
    sysbus_mmio_map(SYS_BUS_DEVICE(dev), 0, IOAPIC_BASE);
    return true;
}

bool split_chips_create(Object *parent, Error **errp)
{
    for (int i = 0; i < BOARD_CHIPS_LINES; i++) {
        sc.fds[i] = (LineFds){ -1, -1, 0 };
    }
    if (!create_pic(parent, errp) || !create_ioapic(parent, errp)) {
        return false;
    }
    qemu_add_vm_change_state_handler(state_changed, NULL);
    board_chips_set(&board_chips);
    return true;
}
