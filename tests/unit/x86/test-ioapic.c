/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The I/O APIC: its registers, and what it sends to local APICs. */
#include "qemu/osdep.h"

#include <sys/eventfd.h>

#include "hw/intc/ioapic.h"
#include "qemu/error.h"
#include "qemu/timer.h"
#include "split-guest.h"
#include "system/accel-irq.h"
#include "system/board-chips.h"
#include "system/runstate.h"
#include "vmstate/savevm.h"
#include "x86-test.h"

#define LEVEL  0x8000u
#define MASKED 0x10000u
#define REMOTE 0x4000u
#define LOW    0x2000u
#define MS     INT64_C(1000000)

static void line(int gsi, int level)
{
    board_chips_set_line(gsi, level);
}

static void edge(int gsi)
{
    line(gsi, 1);
    line(gsi, 0);
}

static void entry(unsigned pin, uint32_t low)
{
    io_write(0x10 + 2 * pin, low);
}

static uint32_t entry_of(unsigned pin)
{
    return io_read(0x10 + 2 * pin);
}

static void pass(int64_t ns)
{
    virtual_clock_warp(qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns);
}

/* ---- registers ---- */

static void test_registers(void)
{
    split_guest_fresh();
    g_assert_cmphex(io_read(1), ==, 0x00170011);
    g_assert_cmphex(io_read(0), ==, 0);
    io_write(0, UINT32_MAX);
    g_assert_cmphex(io_read(0), ==, 0x0f000000);
    g_assert_cmphex(io_read(2), ==, 0x0f000000);
    io_write(1, 0);
    io_write(2, 0);
    g_assert_cmphex(io_read(1), ==, 0x00170011);
    g_assert_cmphex(io_read(2), ==, 0x0f000000);
    for (unsigned pin = 0; pin < 24; pin++) {
        g_assert_cmphex(entry_of(pin), ==, MASKED);
        io_write(0x11 + 2 * pin, UINT32_MAX);
        entry(pin, UINT32_MAX);
        /* Not what only it sets, nor what is reserved. */
        g_assert_cmphex(entry_of(pin), ==, 0x1afff);
        g_assert_cmphex(io_read(0x11 + 2 * pin), ==, 0xff000000);
    }
}

static void test_no_such_register(void)
{
    static const unsigned none[] = { 3, 0xf, 0x40, 0x41, 0x80, 0xff };

    split_guest_fresh();
    for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
        io_write(none[i], 0x30);
        g_assert_cmphex(io_read(none[i]), ==, UINT32_MAX);
    }
    for (unsigned pin = 0; pin < 24; pin++) {
        g_assert_cmphex(entry_of(pin), ==, MASKED);
    }
}

/* ---- messages ---- */

static void test_edges(void)
{
    split_guest_fresh();
    edge(4);
    g_assert_cmpuint(fake.messages, ==, 0);
    io_write(0x19, 0x03000000);
    entry(4, 0x934);                        /* lowest priority, logical */
    g_assert_cmpuint(fake.messages, ==, 0); /* masked, it was lost */
    line(4, 1);
    g_assert_cmpuint(fake.messages, ==, 1);
    g_assert_cmphex(fake.address, ==, 0xfee03004);
    g_assert_cmphex(fake.data, ==, 0x4134);
    line(4, 1);
    line(4, 0);
    g_assert_cmpuint(fake.messages, ==, 1);
    edge(4);
    g_assert_cmpuint(fake.messages, ==, 2);
    g_assert_cmphex(entry_of(4), ==, 0x934);
    board_chips_eoi(0x34);
    g_assert_cmpuint(fake.messages, ==, 2);
    /* Line 0 is pin 2, and there is no line 2. */
    entry(2, 0x40);
    edge(2);
    g_assert_cmpuint(fake.messages, ==, 2);
    edge(0);
    g_assert_cmpuint(fake.messages, ==, 3);
    g_assert_cmphex(fake.data, ==, 0x4040);
}

static void test_levels(void)
{
    split_guest_fresh();
    entry(9, LEVEL | LOW | 0x50); /* polarity is without effect */
    g_assert_true(fake.pin[9]);
    line(9, 1);
    g_assert_cmpuint(fake.messages, ==, 1);
    g_assert_cmphex(fake.data, ==, 0xc050);
    g_assert_cmphex(entry_of(9), ==, LEVEL | LOW | REMOTE | 0x50);
    line(9, 0);
    line(9, 1);
    g_assert_cmpuint(fake.messages, ==, 1); /* one is under way */
    board_chips_eoi(0x51);
    g_assert_cmpuint(fake.messages, ==, 1);
    board_chips_eoi(0x50);
    g_assert_cmpuint(fake.messages, ==, 2); /* high still */
    line(9, 0);
    board_chips_eoi(0x50);
    g_assert_cmpuint(fake.messages, ==, 2);
    g_assert_cmphex(entry_of(9), ==, LEVEL | LOW | 0x50);
    /* Behind a mask it waits, as long as it is high. */
    entry(9, LEVEL | MASKED | 0x50);
    line(9, 1);
    g_assert_cmpuint(fake.messages, ==, 2);
    entry(9, LEVEL | 0x50);
    g_assert_cmpuint(fake.messages, ==, 3);
    /* Masked while under way: its end is seen all the same. */
    entry(9, LEVEL | MASKED | 0x50);
    g_assert_true(fake.pin[9]);
    g_assert_cmphex(entry_of(9), ==, LEVEL | MASKED | REMOTE | 0x50);
    board_chips_eoi(0x50);
    g_assert_cmphex(entry_of(9), ==, LEVEL | MASKED | 0x50);
    g_assert_cmpuint(fake.messages, ==, 3);
    line(9, 0);
    entry(9, LEVEL | 0x50);
    g_assert_cmpuint(fake.messages, ==, 3);
}

/* An end is told to all pins of its vector. */
static void test_broadcast(void)
{
    split_guest_fresh();
    entry(16, LEVEL | 0x60);
    entry(17, LEVEL | 0x60);
    entry(18, 0x60);
    line(16, 1);
    line(17, 1);
    g_assert_cmpuint(fake.messages, ==, 2);
    line(17, 0);
    board_chips_eoi(0x60);
    g_assert_cmpuint(fake.messages, ==, 3);
    g_assert_cmphex(entry_of(16), ==, LEVEL | REMOTE | 0x60);
    g_assert_cmphex(entry_of(17), ==, LEVEL | 0x60);
}

/* What some guests do to get rid of one under way. */
static void test_trigger_changes(void)
{
    split_guest_fresh();
    entry(9, LEVEL | 0x50);
    line(9, 1);
    g_assert_cmphex(entry_of(9), ==, LEVEL | REMOTE | 0x50);
    entry(9, MASKED | 0x50);
    g_assert_cmphex(entry_of(9), ==, MASKED | 0x50);
    g_assert_false(fake.pin[9]);
    entry(9, LEVEL | MASKED | 0x50);
    g_assert_cmpuint(fake.messages, ==, 1);
    entry(9, LEVEL | 0x50);
    g_assert_cmpuint(fake.messages, ==, 2); /* the line is high */
}

/* No local APIC takes it: of a level it is tried whenever something changes. */
static void test_nobody(void)
{
    split_guest_fresh();
    fake.answer = 0;
    entry(4, 0x30);
    edge(4);
    fake.answer = 1;
    entry(4, 0x31);
    g_assert_cmpuint(fake.messages, ==, 1);
    fake.answer = 0;
    entry(9, LEVEL | 0x50);
    line(9, 1);
    g_assert_cmphex(entry_of(9), ==, LEVEL | 0x50);
    fake.answer = 1;
    entry(9, LEVEL | 0x50);
    g_assert_cmphex(entry_of(9), ==, LEVEL | REMOTE | 0x50);
}

/* ---- what fails, and what has to wait ---- */

static void test_failures(void)
{
    split_guest_fresh();
    fake.answer = -ENOMEM;
    entry(4, 0x30);
    entry(9, LEVEL | 0x50);
    edge(4);
    line(9, 1);
    g_assert_cmpuint(fake.messages, ==, 2);
    fake.answer = 1;
    pass(2 * MS);
    g_assert_cmpuint(fake.messages, ==, 4);
    g_assert_cmphex(entry_of(9), ==, LEVEL | REMOTE | 0x50);
    pass(2 * MS);
    g_assert_cmpuint(fake.messages, ==, 4);

    fake.refuse_pins = true;
    entry(10, LEVEL | 0x51);
    g_assert_false(fake.pin[10]);
    fake.refuse_pins = false;
    pass(2 * MS);
    g_assert_true(fake.pin[10]);
}

/* Only what concerns the end is told, for each costs the kernel time. */
static void test_ends(void)
{
    unsigned told;

    split_guest_fresh();
    entry(4, 0x30);
    entry(4, 0x31);
    g_assert_cmpuint(fake.told, ==, 0);
    entry(9, LEVEL | MASKED | 0x50);
    told = fake.told;
    entry(9, LEVEL | 0x50);
    entry(9, LEVEL | MASKED | 0x50);
    g_assert_cmpuint(fake.told, ==, told);
    entry(9, LEVEL | MASKED | 0x52);
    g_assert_cmpuint(fake.told, ==, told + 1);
    g_assert_cmphex(fake.pin_data[9], ==, 0xc052);
    entry(9, LEVEL | MASKED | 0x0f); /* no vector */
    g_assert_false(fake.pin[9]);
}

/* Local APICs of a VM that stands may be loaded yet. */
static void test_stands(void)
{
    split_guest_fresh();
    entry(4, 0x30);
    entry(5, 0x31);
    entry(9, LEVEL | 0x50);
    vm_state_notify(false, RUN_STATE_PAUSED);
    edge(4);
    line(9, 1);
    edge(5);
    entry(5, MASKED | 0x31);
    g_assert_cmpuint(fake.messages, ==, 0);
    vm_state_notify(true, RUN_STATE_RUNNING);
    g_assert_cmpuint(fake.messages, ==, 2);
    vm_state_notify(false, RUN_STATE_PAUSED);
    vm_state_notify(true, RUN_STATE_RUNNING);
    g_assert_cmpuint(fake.messages, ==, 2);
}

/* ---- pulses and eventfds ---- */

static uint64_t signals_of(int fd)
{
    uint64_t n = 0;

    return read(fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

static void test_pulses(void)
{
    split_guest_fresh();
    outb(0x21, 0xff);
    entry(2, 0x40);
    g_assert_cmpint(board_chips_pulse(0), ==, ACCEL_PULSE_SENT);
    g_assert_false(board_chips_pulse_may_be_lost(0));
    entry(2, 0x41);
    g_assert_true(board_chips_pulse_may_be_lost(0));
    entry(2, MASKED | 0x41);
    g_assert_cmpint(board_chips_pulse(0), ==, ACCEL_PULSE_MASKED);
    fake.answer = -ENOMEM;
    entry(2, 0x42);
    g_assert_cmpint(board_chips_pulse(0), ==, ACCEL_PULSE_SENT);
    g_assert_false(board_chips_pulse_may_be_lost(0));
    g_assert_cmpuint(fake.messages, ==, 2);
    fake.answer = 1;
    pass(2 * MS);
    g_assert_cmpuint(fake.messages, ==, 3);
}

/* The PIT is told of the end of an edge, be it by the PIC or the I/O APIC. */
static void test_eventfds(void)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    Error *err = NULL;

    split_guest_fresh();
    g_assert_true(accel_irqfd_add(0, fd, end, &error_abort));
    g_assert_false(accel_irqfd_add(0, fd, end, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "line 0"));
    error_free(err);
    entry(2, 0x40);
    g_assert_true(fake.pin[2]);
    g_assert_cmphex(fake.pin_data[2], ==, 0xc040);
    g_assert_cmpint(board_chips_pulse(0), ==, ACCEL_PULSE_SENT);
    g_assert_cmphex(fake.data, ==, 0x4040); /* an edge */
    g_assert_cmpuint(signals_of(end), ==, 0);
    board_chips_eoi(0x40);
    g_assert_cmpuint(signals_of(end), ==, 1);

    entry(2, MASKED | 0x40);
    outb(0x20, 0x11);
    outb(0x21, 0x20);
    outb(0x21, 0x04);
    outb(0x21, 0x01);
    g_assert_cmpint(board_chips_pulse(0), ==, ACCEL_PULSE_TAKEN);
    g_assert_cmphex(board_chips_acknowledge(), ==, 0x20);
    g_assert_cmpuint(signals_of(end), ==, 0);
    outb(0x20, 0x20);
    g_assert_cmpuint(signals_of(end), ==, 1);
    accel_irqfd_remove(0, fd);
    g_assert_false(fake.pin[2]);

    /* One that raises a level. */
    entry(16, LEVEL | 0x60);
    g_assert_true(accel_irqfd_add(16, fd, end, &error_abort));
    g_assert_cmpint(eventfd_write(fd, 1), ==, 0);
    while (!fake.messages || fake.data != 0xc060) {
        g_main_context_iteration(NULL, TRUE);
    }
    board_chips_eoi(0x60); /* it is low then */
    g_assert_cmpuint(signals_of(end), ==, 1);
    g_assert_cmphex(entry_of(16), ==, LEVEL | 0x60);
    accel_irqfd_remove(16, fd);
    close(fd);
    close(end);
}

/* ---- section ---- */

static const VMStateDescription *section(void)
{
    return savevm_find("ioapic", 0)->vmsd;
}

static void *chip(void)
{
    return savevm_find("ioapic", 0)->opaque;
}

static void test_travels(void)
{
    g_autoptr(GByteArray) b = NULL;

    split_guest_fresh();
    io_write(0, 0x05000000);
    io_write(0x23, 0x02000000);
    entry(9, LEVEL | 0x50);
    entry(4, 0x30);
    line(9, 1);
    vm_state_notify(false, RUN_STATE_PAUSED);
    edge(4);
    io_write(0x12, MASKED | 0x33); /* IOREGSEL stays there */
    b = x86_test_save(section(), chip());
    g_assert_cmpuint(b->len, ==, 1 + 1 + 8 + 4 + 24 * 8);
    split_guest_fresh();
    vm_state_notify(false, RUN_STATE_PAUSED);
    g_assert_true(
        x86_test_load(section(), chip(), b->data, b->len, NULL, &error_abort));
    g_assert_cmpuint(fake.messages, ==, 0);
    g_assert_true(fake.pin[9]);
    vm_state_notify(true, RUN_STATE_RUNNING);
    g_assert_cmpuint(fake.messages, ==,
                     1); /* the edge; the level is under way */
    g_assert_cmphex(fake.data, ==, 0x4030);
    g_assert_cmphex(entry_of(9), ==, LEVEL | REMOTE | 0x50);
    board_chips_eoi(0x50);
    g_assert_cmpuint(fake.messages, ==, 2);
    g_assert_cmphex(fake.address, ==, 0xfee02000);
    g_assert_cmphex(io_read(0), ==, 0x05000000);
}

/* Whatever a stream brings, the registers stay in their bounds. */
static void test_any_bytes(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);

    for (unsigned i = 0; i < 500; i++) {
        uint8_t b[1 + 1 + 8 + 4 + 24 * 8];

        split_guest_fresh();
        for (size_t k = 0; k < sizeof(b); k++) {
            b[k] = g_rand_int(rand);
        }
        g_assert_true(
            x86_test_load(section(), chip(), b, sizeof(b), NULL, &error_abort));
        for (unsigned pin = 0; pin < 24; pin++) {
            g_assert_cmphex(entry_of(pin) & (LEVEL | REMOTE), !=, REMOTE);
            edge(pin);
            entry(pin, g_rand_int(rand));
        }
        for (unsigned vector = 0; vector < 256; vector++) {
            board_chips_eoi(vector);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    split_guest_init();
    g_test_add_func("/ioapic/registers", test_registers);
    g_test_add_func("/ioapic/no-such-register", test_no_such_register);
    g_test_add_func("/ioapic/edges", test_edges);
    g_test_add_func("/ioapic/levels", test_levels);
    g_test_add_func("/ioapic/broadcast", test_broadcast);
    g_test_add_func("/ioapic/trigger-changes", test_trigger_changes);
    g_test_add_func("/ioapic/nobody", test_nobody);
    g_test_add_func("/ioapic/failures", test_failures);
    g_test_add_func("/ioapic/ends", test_ends);
    g_test_add_func("/ioapic/vm-stands", test_stands);
    g_test_add_func("/ioapic/pulses", test_pulses);
    g_test_add_func("/ioapic/eventfds", test_eventfds);
    g_test_add_func("/ioapic/section/travels", test_travels);
    g_test_add_func("/ioapic/section/any-bytes", test_any_bytes);
    return g_test_run();
}
