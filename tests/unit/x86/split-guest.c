/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See split-guest.h. */
#include "qemu/osdep.h"

#include "hw/i386/split-chips.h"
#include "hw/intc/i8259.h"
#include "hw/intc/ioapic.h"
#include "qemu/error.h"
#include "split-guest.h"
#include "system/accel-ops.h"
#include "system/board-chips.h"
#include "system/memory.h"
#include "system/reset.h"
#include "system/runstate.h"
#include "x86-test.h"

FakeAccel fake;

static void set_extint(bool level)
{
    fake.extint = level;
}

static int deliver(uint64_t address, uint32_t data)
{
    fake.messages++;
    fake.address = address;
    fake.data = data;
    return fake.answer;
}

static bool set_pin(unsigned pin, bool wanted, uint64_t address, uint32_t data,
                    Error **errp)
{
    fake.told++;
    if (fake.refuse_pins) {
        error_setg(errp, "the test refuses");
        return false;
    }
    fake.pin[pin] = wanted;
    fake.pin_data[pin] = data;
    return true;
}

void split_guest_init(void)
{
    static const AccelChipOps chips = { .set_extint = set_extint,
                                        .deliver = deliver,
                                        .set_pin = set_pin };
    static AccelOps ops = { .chips = &chips };
    qemu_irq none[ISA_NUM_IRQS] = { NULL };

    x86_test_init();
    accel_ops_set(&ops);
    qdev_register_types();
    isa_register_types();
    i8259_register_types();
    ioapic_register_types();
    isa_bus_init(none);
    g_assert_true(split_chips_create(object_get_root(), &error_abort));
    runstate_set(RUN_STATE_RUNNING);
    split_guest_fresh();
}

void split_guest_fresh(void)
{
    fake.refuse_pins = false;
    for (int gsi = 0; gsi < BOARD_CHIPS_LINES; gsi++) {
        board_chips_set_line(gsi, 0);
    }
    qemu_devices_reset();
    memset(&fake, 0, sizeof(fake));
    fake.answer = 1;
    vm_state_notify(true, RUN_STATE_RUNNING);
}

void outb(unsigned port, uint8_t v)
{
    address_space_rw(&address_space_io, port, MEMTXATTRS_UNSPECIFIED, &v, 1,
                     true);
}

uint8_t inb(unsigned port)
{
    uint8_t v = 0;

    address_space_rw(&address_space_io, port, MEMTXATTRS_UNSPECIFIED, &v, 1,
                     false);
    return v;
}

static void io_access(hwaddr offset, uint32_t *v, bool is_write)
{
    address_space_rw(&address_space_memory, IOAPIC_BASE + offset,
                     MEMTXATTRS_UNSPECIFIED, v, 4, is_write);
}

void io_write(unsigned reg, uint32_t v)
{
    uint32_t index = reg;

    io_access(0, &index, true);
    io_access(0x10, &v, true);
}

uint32_t io_read(unsigned reg)
{
    uint32_t index = reg, v = 0;

    io_access(0, &index, true);
    io_access(0x10, &v, false);
    return v;
}
