/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interval timer: counters, ports, and that each tick is handed over once,
 * however long the guest makes it wait. Time is stepped by the test, and the
 * interrupt controller is one that answers as the test says.
 */
#include "qemu/osdep.h"

#include <sys/eventfd.h>

#include "hw/timer/i8254.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/accel-irq.h"
#include "system/accel-ops.h"
#include "system/reset.h"
#include "system/runstate.h"
#include "vmstate/savevm.h"
#include "x86-test.h"

#define MS INT64_C(1000000)

/* The interrupt controller. */
static struct {
    AccelPulse answer;
    unsigned room; /* TAKEN only so often */
    unsigned taken, asked;
    bool other_pin;
    int ack_fd;
} ic;

static PitState *pit;

static AccelPulse pulse(int gsi)
{
    g_assert_cmpint(gsi, ==, 0);
    ic.asked++;
    if (ic.answer < ACCEL_PULSE_TAKEN || !ic.room) {
        return MIN(ic.answer, ACCEL_PULSE_WAITS);
    }
    ic.room--;
    ic.taken++;
    return ic.answer;
}

static bool may_be_lost(int gsi)
{
    return ic.other_pin;
}

static bool irqfd_add(int gsi, int fd, int resample_fd, Error **errp)
{
    g_assert_cmpint(gsi, ==, 0);
    g_assert_cmpint(fd, >=, 0);
    ic.ack_fd = resample_fd;
    return true;
}

/* ---- the guest ---- */

static void outb(unsigned port, uint8_t v)
{
    address_space_rw(&address_space_io, port, MEMTXATTRS_UNSPECIFIED, &v, 1,
                     true);
}

static uint8_t inb(unsigned port)
{
    uint8_t v = 0;

    address_space_rw(&address_space_io, port, MEMTXATTRS_UNSPECIFIED, &v, 1,
                     false);
    return v;
}

static unsigned in_word(unsigned port)
{
    unsigned low = inb(port);

    return low | inb(port) << 8;
}

static void set(unsigned i, unsigned mode, unsigned count)
{
    outb(0x43, i << 6 | 0x30 | mode << 1);
    outb(0x40 + i, count);
    outb(0x40 + i, count >> 8);
}

static void pass(int64_t ns)
{
    virtual_clock_warp(qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + ns);
}

static int64_t clocks(int64_t n)
{
    return (n * NANOSECONDS_PER_SECOND + PIT_HZ - 1) / PIT_HZ;
}

static void fresh(void)
{
    qemu_devices_reset();
    memset(&ic.answer, 0, offsetof(__typeof__(ic), ack_fd));
    ic.answer = ACCEL_PULSE_TAKEN;
    ic.room = 1000000;
}

/* ---- counters ---- */

static void test_counts(void)
{
    fresh();
    set(2, 0, 1000);
    pass(clocks(10));
    g_assert_cmpuint(in_word(0x42), ==, 990);
    g_assert_cmphex(inb(0x61) & 0x20, ==, 0);
    pass(clocks(990));
    g_assert_cmphex(inb(0x61) & 0x20, ==, 0x20);
    pass(clocks(3)); /* goes on below zero */
    g_assert_cmpuint(in_word(0x42), >=, 0xfff0);

    set(1, 2, 100);
    pass(clocks(250));
    g_assert_cmpuint(in_word(0x41), ==, 50);
    set(1, 3, 100); /* by two */
    pass(clocks(10));
    g_assert_cmpuint(in_word(0x41), ==, 80);
    pass(clocks(50));
    g_assert_cmpuint(in_word(0x41), ==, 80);

    /* One byte only; 0 is 65,536. */
    outb(0x43, 0x54);
    outb(0x41, 200);
    pass(clocks(1));
    g_assert_cmpuint(inb(0x41), ==, 199);
    set(1, 2, 0);
    pass(clocks(2));
    g_assert_cmpuint(in_word(0x41), ==, 65534);
}

static void test_latch(void)
{
    fresh();
    set(1, 2, 1000);
    pass(clocks(100));
    outb(0x43, 0x40); /* latch counter 1 */
    pass(clocks(100));
    g_assert_cmpuint(in_word(0x41), ==, 900);
    g_assert_cmpuint(in_word(0x41), ==, 800);
    /* Read back: counts and states of 0 and 1; states come first. */
    set(0, 3, 500);
    pass(clocks(10));
    outb(0x43, 0xc6);
    g_assert_cmphex(inb(0x40), ==, 0xb6);
    g_assert_cmphex(inb(0x41), ==, 0xb4);
    pass(clocks(5));
    g_assert_cmpuint(in_word(0x40), ==, 480);
    g_assert_cmpuint(in_word(0x41), ==, 790);
}

static void test_speaker(void)
{
    fresh();
    g_assert_cmphex(inb(0x61) & 0x03, ==, 0);
    set(2, 3, 1000);
    pass(clocks(100));
    outb(0x61, 3); /* its gate rises: it begins anew */
    pass(clocks(1));
    g_assert_cmphex(inb(0x61) & 0x23, ==, 0x23);
    pass(clocks(500));
    g_assert_cmphex(inb(0x61) & 0x23, ==, 0x03);
    g_assert_cmpuint(ic.asked, ==, 0);
}

static void load_bytes(const GByteArray *b)
{
    const VMStateDescription *vmsd = savevm_find("i8254", 0)->vmsd;
    size_t taken;

    g_assert_true(
        x86_test_load(vmsd, pit, b->data, b->len, &taken, &error_abort));
    g_assert_cmpuint(taken, ==, b->len);
}

static GByteArray *save_bytes(void)
{
    return x86_test_save(savevm_find("i8254", 0)->vmsd, pit);
}

/* ---- ticks ---- */

static void test_periodic(void)
{
    fresh();
    set(0, 2, 1193);
    for (int64_t n = 1; n <= 2000; n++) {
        int64_t at = clocks(1193 * n) - 1 -
                     (qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) -
                      pit->channel[0].load_time_ns);

        pass(at);
        g_assert_cmpuint(ic.taken, ==, n - 1);
        pass(1);
        g_assert_cmpuint(ic.taken, ==, n);
    }
    /* A mode that is set, and no count yet: none comes. */
    outb(0x43, 0x34);
    pass(100 * MS);
    g_assert_cmpuint(ic.taken, ==, 2000);
    /* As often as it is allowed to. */
    set(0, 2, 1);
    pass(clocks(239 * 10));
    g_assert_cmpuint(ic.taken, ==, 2010);
    g_assert_cmpuint(ic.asked, ==, 2010);
}

static void test_once(void)
{
    fresh();
    pass(1000 * MS);
    g_assert_cmpuint(ic.asked, ==, 0); /* not before it is set */
    for (unsigned mode = 0; mode <= 5; mode++) {
        if (mode == 2 || mode == 3) {
            continue;
        }
        fresh();
        set(0, mode, 11932);
        pass(clocks(11932) - 1);
        g_assert_cmpuint(ic.taken, ==, 0);
        pass(1);
        g_assert_cmpuint(ic.taken, ==, 1);
        pass(1000 * MS);
        g_assert_cmpuint(ic.taken, ==, 1);
    }
}

static void acknowledge(unsigned room)
{
    uint64_t one = 1;

    ic.room = room;
    g_assert_cmpint(write(ic.ack_fd, &one, sizeof(one)), ==, sizeof(one));
    while (g_main_context_iteration(NULL, FALSE)) {
    }
}

/* The guest is late: all come, as soon as it takes them, and not one more. */
static void test_owed(void)
{
    fresh();
    set(0, 2, 1193);
    ic.room = 2;
    pass(clocks(1193 * 10));
    g_assert_cmpuint(ic.taken, ==, 2);
    acknowledge(1);
    g_assert_cmpuint(ic.taken, ==, 3);
    acknowledge(3);
    g_assert_cmpuint(ic.taken, ==, 6);
    /* Nobody tells: looked at again after a while. */
    ic.room = 100;
    pass(clocks(1193 * 2));
    g_assert_cmpuint(ic.taken, ==, 12);
    acknowledge(100);
    g_assert_cmpuint(ic.taken, ==, 12);
    pass(clocks(1193 * 5));
    g_assert_cmpuint(ic.taken, ==, 17);
    g_assert_cmpuint(pit->ack_tag, ==, 0);
}

/* The VM stands: nothing reaches a controller whose state is saved. */
static void test_stands(void)
{
    fresh();
    set(0, 2, 1193);
    ic.room = 0;
    pass(clocks(1193 * 4));
    g_assert_cmpuint(ic.taken, ==, 0);
    runstate_set(RUN_STATE_PAUSED);
    acknowledge(100);
    g_assert_cmpuint(ic.taken, ==, 0);
    runstate_set(RUN_STATE_RUNNING);
    pass(clocks(1193 * 2));
    g_assert_cmpuint(ic.taken, ==, 6);
}

/* A mask: those of the last second wait. */
static void test_masked(void)
{
    fresh();
    set(0, 2, 1193);
    ic.answer = ACCEL_PULSE_MASKED;
    pass(clocks(1193 * 100));
    ic.answer = ACCEL_PULSE_TAKEN;
    pass(clocks(1193 * 2));
    g_assert_cmpuint(ic.taken, ==, 102);
    ic.answer = ACCEL_PULSE_MASKED;
    pass(3600 * NANOSECONDS_PER_SECOND);
    ic.answer = ACCEL_PULSE_TAKEN;
    pass(clocks(1193 * 2));
    g_assert_cmpuint(ic.taken, >=, 102 + 999);
    g_assert_cmpuint(ic.taken, <=, 102 + 1004);
}

/* By the I/O APIC: one after the other, each when the last was acknowledged. */
static void test_in_flight(void)
{
    g_autoptr(GByteArray) b = NULL, none = NULL;

    fresh();
    none = save_bytes();
    ic.answer = ACCEL_PULSE_SENT;
    set(0, 2, 1193);
    pass(clocks(1193 * 5));
    g_assert_cmpuint(ic.taken, ==, 1);
    acknowledge(100);
    g_assert_cmpuint(ic.taken, ==, 2);
    /* It travels, with what is owed. */
    b = save_bytes();
    g_assert_cmpuint(b->len, >, none->len);
    qemu_devices_reset();
    load_bytes(b);
    pass(clocks(1193));
    g_assert_cmpuint(ic.taken, ==, 2);
    acknowledge(100);
    g_assert_cmpuint(ic.taken, ==, 3);
    /* Set up in another way, it may never be acknowledged. */
    ic.other_pin = true;
    pass(clocks(1193 * 2));
    g_assert_cmpuint(ic.taken, >=, 7);
    ic.other_pin = false;
    acknowledge(100);
    ic.taken = 0;
    /* Nor if nobody does for a long time. */
    pass(9 * NANOSECONDS_PER_SECOND);
    g_assert_cmpuint(ic.taken, <=, 1);
    pass(2 * NANOSECONDS_PER_SECOND);
    g_assert_cmpuint(ic.taken, >=, 1);
    g_assert_cmpuint(ic.taken, <=, 2);
}

/* ---- its section ---- */

/* With ticks owed, in the midst of a period: not one is lost, or comes twice. */
static void test_travels(void)
{
    unsigned due = 0;

    fresh();
    set(0, 2, 1193);
    for (unsigned i = 0; i < 1000; i++) {
        g_autoptr(GByteArray) b = NULL, again = NULL;

        ic.room = i % 5;
        pass(clocks(1193) + 7 * i);
        b = save_bytes();
        qemu_devices_reset();
        load_bytes(b);
        again = save_bytes();
        g_assert_cmpmem(b->data, b->len, again->data, again->len);
    }
    ic.room = 10000;
    pass(2 * MS);
    due = (qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) -
           pit->channel[0].load_time_ns) /
          (clocks(1193) - 0.5);
    g_assert_cmpuint(ic.taken, >=, due - 1);
    g_assert_cmpuint(ic.taken, <=, due + 1);
    g_assert_cmpint(pit->next_tick, ==, ic.taken + 1);
}

static void test_speaker_travels(void)
{
    g_autoptr(GByteArray) b = NULL, off = NULL;

    fresh();
    off = save_bytes();
    outb(0x61, 2);
    b = save_bytes();
    g_assert_cmpuint(b->len, >, off->len);
    qemu_devices_reset();
    load_bytes(b);
    g_assert_cmphex(inb(0x61) & 3, ==, 2);
    load_bytes(off);
    g_assert_cmphex(inb(0x61) & 3, ==, 0);
}

/* A real QEMU's, just started: counter 0 in mode 3, from 65,536. */
static void test_real(void)
{
    g_autoptr(GBytes) data = x86_test_data("i8254-0.bin");
    const uint8_t *bytes = g_bytes_get_data(data, NULL);
    size_t taken, len = g_bytes_get_size(data);
    g_autoptr(GByteArray) again = NULL;

    fresh();
    g_assert_true(x86_test_load(savevm_find("i8254", 0)->vmsd, pit, bytes, len,
                                &taken, &error_abort));
    g_assert_cmpuint(taken, ==, len);
    again = save_bytes();
    g_assert_cmpuint(again->len, ==, len);
    g_assert_cmpmem(again->data, 28, bytes, 28); /* then: the next tick */
    g_assert_cmpint(pit->channel[0].mode, ==, 3);
    /* Its clock was an hour behind: not all that are owed come. */
    pass(1 * MS);
    g_assert_cmpuint(ic.taken, <=, 0x10001);
    ic.taken = 0;
    pass(INT64_C(1000) * MS);
    g_assert_cmpuint(ic.taken, >=, 18);
    g_assert_cmpuint(ic.taken, <=, 19);
}

static void test_hostile(void)
{
    static const struct {
        size_t offset;
        uint8_t value;
        const char *words;
    } changes[] = {
        { 4, 0xff, "channel 0: count -" },
        { 4 + 1, 2, "channel 0: count 131072" },
        { 4 + 13, 9, "mode 9" },
        { 36 + 12, 4, "channel 1" },
        { 68 + 12, 4, "channel 2" },
    };
    g_autoptr(GBytes) data = x86_test_data("i8254-0.bin");
    size_t len = g_bytes_get_size(data);

    fresh();
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        g_autofree uint8_t *b = g_memdup2(g_bytes_get_data(data, NULL), len);

        b[changes[i].offset] = changes[i].value;
        x86_test_load_fails(savevm_find("i8254", 0)->vmsd, pit, b, len,
                            changes[i].words);
    }
}

/* Any bytes: refused, or they behave, whatever the times are. */
static void test_any_bytes(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(20261130);
    unsigned loaded = 0;

    for (unsigned i = 0; i < 3000; i++) {
        g_autoptr(GByteArray) b = NULL;
        Error *err = NULL;

        fresh();
        set(0, i & 7, 1193);
        b = save_bytes();
        for (int k = g_rand_int_range(rand, 1, 12); k > 0; k--) {
            size_t at = k % 3 ? 20 + g_rand_int_range(rand, 0, 16)
                              : g_rand_int_range(rand, 0, b->len);

            b->data[at] = g_rand_int(rand);
        }
        if (!x86_test_load(savevm_find("i8254", 0)->vmsd, pit, b->data, b->len,
                           NULL, &err)) {
            error_free(err);
            continue;
        }
        loaded++;
        pass(3 * MS);
        inb(0x61);
        for (unsigned c = 0; c < 3; c++) {
            in_word(0x40 + c);
        }
        g_byte_array_unref(save_bytes());
    }
    g_test_message("%u of 3000 loaded", loaded);
    g_assert_cmpuint(loaded, >, 500);
}

static void make_pit(void)
{
    static AccelIrqOps irq = { .pulse_gsi = pulse,
                               .pulse_may_be_lost = may_be_lost,
                               .irqfd_add = irqfd_add };
    static AccelOps ops = { .irq = &irq };
    qemu_irq none[ISA_NUM_IRQS] = { NULL };

    accel_ops_set(&ops);
    qdev_register_types();
    isa_register_types();
    i8254_register_types();
    isa_bus_init(none);
    ic.ack_fd = -1;
    pit = i8254_create(&error_abort);
    g_assert_cmpint(ic.ack_fd, >=, 0);
    runstate_set(RUN_STATE_RUNNING);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    x86_test_init();
    make_pit();
    g_test_add_func("/i8254/counts", test_counts);
    g_test_add_func("/i8254/latch", test_latch);
    g_test_add_func("/i8254/speaker", test_speaker);
    g_test_add_func("/i8254/ticks/periodic", test_periodic);
    g_test_add_func("/i8254/ticks/once", test_once);
    g_test_add_func("/i8254/ticks/owed", test_owed);
    g_test_add_func("/i8254/ticks/vm-stands", test_stands);
    g_test_add_func("/i8254/ticks/masked", test_masked);
    g_test_add_func("/i8254/ticks/in-flight", test_in_flight);
    g_test_add_func("/i8254/section/travels", test_travels);
    g_test_add_func("/i8254/section/speaker", test_speaker_travels);
    g_test_add_func("/i8254/section/real", test_real);
    g_test_add_func("/i8254/section/hostile", test_hostile);
    g_test_add_func("/i8254/section/any-bytes", test_any_bytes);
    return g_test_run();
}
