/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two PICs: what a guest sees of them, and what they ask of a vCPU. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "split-guest.h"
#include "system/board-chips.h"
#include "vmstate/savevm.h"
#include "x86-test.h"

#define EOI         0x20
#define ROTATE_EOI  0xa0
#define EOI_OF      0x60
#define ROTATE_OF   0xe0
#define PRIORITY    0xc0
#define AUTO_ROTATE 0x80
#define READ_IRR    0x0a
#define READ_ISR    0x0b
#define POLL        0x0c

static void line(int gsi, int level)
{
    board_chips_set_line(gsi, level);
}

static void edge(int gsi)
{
    line(gsi, 1);
    line(gsi, 0);
}

static void setup(uint8_t icw4)
{
    split_guest_fresh();
    outb(0x20, 0x11);
    outb(0x21, 0x20);
    outb(0x21, 0x04);
    outb(0x21, icw4);
    outb(0xa0, 0x11);
    outb(0xa1, 0x28);
    outb(0xa1, 0x02);
    outb(0xa1, icw4);
}

static uint8_t read_of(unsigned port, uint8_t what)
{
    outb(port, what);
    return inb(port);
}

/* The vCPU takes @vector. */
static void takes(uint8_t vector)
{
    g_assert_true(fake.extint);
    g_assert_cmphex(board_chips_acknowledge(), ==, vector);
}

/* ---- priorities ---- */

static void test_order(void)
{
    setup(1);
    edge(4);
    edge(1);
    g_assert_cmphex(read_of(0x20, READ_IRR), ==, 0x12);
    takes(0x21);
    g_assert_false(fake.extint); /* 4 comes after 1 */
    g_assert_cmphex(read_of(0x20, READ_ISR), ==, 0x02);
    edge(0);
    takes(0x20); /* comes first, nested */
    outb(0x20, EOI);
    g_assert_cmphex(read_of(0x20, READ_ISR), ==, 0x02);
    g_assert_false(fake.extint);
    outb(0x20, EOI);
    takes(0x24);
    outb(0x20, EOI_OF | 4);
    g_assert_cmphex(read_of(0x20, READ_ISR), ==, 0);
    g_assert_false(fake.extint);
}

static void test_cascade(void)
{
    setup(1);
    edge(10);
    edge(8);
    edge(3);
    takes(0x28); /* inputs of the second come as input 2 */
    g_assert_cmphex(read_of(0x20, READ_ISR), ==, 0x04);
    g_assert_cmphex(read_of(0xa0, READ_ISR), ==, 0x01);
    g_assert_false(fake.extint);
    outb(0xa0, EOI);
    outb(0x20, EOI);
    takes(0x2a);
    outb(0xa0, EOI);
    outb(0x20, EOI);
    takes(0x23);
    /* A line 2 that a device drives does not exist. */
    edge(2);
    outb(0x20, EOI);
    g_assert_false(fake.extint);
}

/* With ICW4's SFNM a higher one of the second gets through. */
static void test_fully_nested(void)
{
    for (unsigned nested = 0; nested < 2; nested++) {
        setup(nested ? 0x11 : 0x01);
        edge(10);
        takes(0x2a);
        edge(8);
        g_assert_cmpint(fake.extint, ==, nested);
    }
    takes(0x28);
    outb(0xa0, EOI);
    g_assert_cmphex(read_of(0xa0, READ_ISR), ==, 0x04);
}

static void test_rotation(void)
{
    setup(1);
    outb(0x20, PRIORITY | 3); /* 4 comes first, 3 last */
    edge(3);
    edge(0);
    edge(4);
    takes(0x24);
    outb(0x20, ROTATE_EOI); /* now 5 does, 4 last */
    edge(4);
    takes(0x20);
    outb(0x20, ROTATE_OF | 0); /* now 1, 0 last */
    edge(0);
    takes(0x23);
    outb(0x20, EOI);
    takes(0x24);
    outb(0x20, EOI);
    takes(0x20);
    outb(0x20, EOI);
    /* A specific end of what is not in service only rotates. */
    edge(6);
    takes(0x26);
    outb(0x20, ROTATE_OF | 5);
    g_assert_cmphex(read_of(0x20, READ_ISR), ==, 0x40);
    outb(0x20, 0x40); /* nothing */
    g_assert_cmphex(read_of(0x20, READ_ISR), ==, 0x40);
}

static void test_auto_eoi(void)
{
    setup(3);
    edge(1);
    edge(5);
    takes(0x21);
    g_assert_cmphex(read_of(0x20, READ_ISR), ==, 0);
    takes(0x25); /* at once */
    outb(0x20, AUTO_ROTATE);
    edge(1);
    takes(0x21); /* 2 comes first now */
    edge(1);
    edge(5);
    takes(0x25);
    outb(0x20, 0); /* no more rotation: 6 stays first */
    takes(0x21);
    edge(1);
    edge(7);
    takes(0x27);
    takes(0x21);
    /* Of the second one, two waiting. */
    edge(9);
    edge(12);
    takes(0x29);
    takes(0x2c);
    g_assert_false(fake.extint);
}

/* ---- masks ---- */

static void test_masks(void)
{
    setup(1);
    outb(0x21, 0x02);
    g_assert_cmphex(inb(0x21), ==, 0x02);
    edge(1);
    g_assert_false(fake.extint);
    g_assert_cmphex(read_of(0x20, READ_IRR), ==, 0x02); /* it stays */
    outb(0x21, 0);
    takes(0x21);
    /* Special mask mode: one in service that is masked holds back none. */
    edge(3);
    g_assert_false(fake.extint);
    outb(0x21, 0x02);
    g_assert_false(fake.extint);
    outb(0x20, 0x68);
    takes(0x23);
    outb(0x20, EOI); /* ends 3, not the masked 1 */
    g_assert_cmphex(read_of(0x20, READ_ISR), ==, 0x02);
    outb(0x20, EOI);
    g_assert_cmphex(read_of(0x20, READ_ISR), ==, 0x02);
    outb(0x20, EOI_OF | 1);
    g_assert_cmphex(read_of(0x20, READ_ISR), ==, 0);
    outb(0x20, 0x48); /* and off */
    outb(0x21, 0);
    edge(1);
    takes(0x21);
    edge(3);
    outb(0x21, 0x02);
    g_assert_false(fake.extint);
}

/* It was asked, and then nothing asks any more: input 7, not in service. */
static void test_spurious(void)
{
    setup(1);
    edge(3);
    g_assert_true(fake.extint);
    outb(0x21, 0xff);
    g_assert_false(fake.extint);
    g_assert_cmphex(board_chips_acknowledge(), ==, 0x27);
    g_assert_cmphex(read_of(0x20, READ_ISR), ==, 0);
    outb(0x21, 0);
    takes(0x23);
}

static void test_poll(void)
{
    setup(1);
    outb(0x20, POLL);
    g_assert_cmphex(inb(0x20), ==, 0);
    edge(5);
    outb(0x20, POLL);
    g_assert_cmphex(inb(0x20), ==, 0x85); /* as an acknowledge */
    g_assert_false(fake.extint);
    g_assert_cmphex(read_of(0x20, READ_ISR), ==, 0x20);
    outb(0x20, EOI);
    edge(9);
    outb(0xa0, POLL);
    g_assert_cmphex(inb(0xa1), ==, 0x81); /* the next read of either port */
    g_assert_cmphex(inb(0xa1), ==, 0);
    g_assert_false(fake.extint);
    outb(0xa0, EOI);
    edge(9);
    outb(0x20, POLL);
    g_assert_cmphex(inb(0x20), ==, 0x82);
}

/* ---- edges and levels ---- */

static void test_levels(void)
{
    setup(1);
    outb(0x4d0, 0xff);
    outb(0x4d1, 0xff);
    g_assert_cmphex(inb(0x4d0), ==, 0xf8); /* some are edges always */
    g_assert_cmphex(inb(0x4d1), ==, 0xde);
    line(5, 1);
    takes(0x25);
    outb(0x20, EOI);
    takes(0x25); /* it is high still */
    line(5, 0);
    outb(0x20, EOI);
    g_assert_false(fake.extint);
    line(11, 1);
    g_assert_true(fake.extint);
    line(11, 0);
    g_assert_false(fake.extint);
    /* An edge that is high asks once. */
    line(1, 1);
    takes(0x21);
    outb(0x20, EOI);
    g_assert_false(fake.extint);
    line(1, 1);
    g_assert_false(fake.extint);
    line(1, 0);
    line(1, 1);
    takes(0x21);
    outb(0x20, EOI);
    /* One that is made level-triggered while it is high. */
    outb(0x4d0, 0);
    line(6, 1);
    takes(0x26);
    outb(0x20, EOI);
    g_assert_false(fake.extint);
    outb(0x4d0, 0x40);
    takes(0x26);
}

static void test_init(void)
{
    setup(3);
    outb(0x21, 0xf0);
    edge(1);
    takes(0x21);
    outb(0x20, PRIORITY | 3);
    edge(5);
    outb(0x4d0, 0x80);
    line(7, 1);
    outb(0x20, 0x10); /* no ICW4: nothing of it stays */
    g_assert_cmphex(inb(0x21), ==, 0);
    g_assert_cmphex(inb(0x20), ==, 0x80); /* IRR; edges are forgotten */
    outb(0x21, 0x45);                     /* the low bits are the input's */
    outb(0x21, 0x04);
    outb(0x21, 0x01); /* a mask again, not ICW4 */
    g_assert_cmphex(inb(0x21), ==, 0x01);
    takes(0x47);
    g_assert_cmphex(read_of(0x20, READ_ISR), ==, 0x80); /* no AEOI */
}

/* ---- pulses, as the PIT sends them ---- */

static void test_pulses(void)
{
    setup(1);
    g_assert_cmpint(board_chips_pulse(0), ==, ACCEL_PULSE_TAKEN);
    g_assert_cmpint(board_chips_pulse(0), ==, ACCEL_PULSE_WAITS);
    takes(0x20);
    g_assert_cmpint(board_chips_pulse(0), ==, ACCEL_PULSE_TAKEN);
    outb(0x21, 1);
    g_assert_cmpint(board_chips_pulse(0), ==, ACCEL_PULSE_MASKED);
    outb(0x20, EOI);
    outb(0x21, 0);
    takes(0x20);
    outb(0x21, 1);
    g_assert_cmpint(board_chips_pulse(0), ==, ACCEL_PULSE_TAKEN);
    g_assert_cmpint(board_chips_pulse(0), ==, ACCEL_PULSE_MASKED);
}

/* ---- sections ---- */

static const VMStateDescription *section(unsigned i)
{
    return savevm_find("i8259", i)->vmsd;
}

static void *pic(unsigned i)
{
    return savevm_find("i8259", i)->opaque;
}

static GByteArray *save(unsigned i)
{
    return x86_test_save(section(i), pic(i));
}

static void load(unsigned i, const GByteArray *b)
{
    g_assert_true(
        x86_test_load(section(i), pic(i), b->data, b->len, NULL, &error_abort));
}

static void test_travels(void)
{
    g_autoptr(GByteArray) first = NULL, second = NULL;

    setup(1);
    outb(0x4d1, 0x08);
    edge(9);
    takes(0x29);
    edge(1);
    line(11, 1);
    outb(0x21, 0xf0);
    first = save(0);
    second = save(1);
    g_assert_cmpuint(first->len, ==, 16);
    split_guest_fresh();
    g_assert_false(fake.extint);
    load(1, second);
    load(0, first);
    takes(0x21);
    outb(0x20, EOI);
    g_assert_cmphex(read_of(0xa0, READ_ISR), ==, 0x02);
    outb(0xa0, EOI);
    outb(0x20, EOI);
    takes(0x2b);
    g_assert_cmphex(inb(0x21), ==, 0xf0);
}

static void test_hostile(void)
{
    static const struct {
        unsigned at;
        uint8_t val;
        const char *words;
    } cases[] = {
        { 4, 8, "priority_add 8" },
        { 9, 4, "init_state is 4" },
        { 14, 1, "single_mode is 1" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint8_t b[16] = { 0 };

        b[cases[i].at] = cases[i].val;
        for (unsigned k = 0; k < 2; k++) {
            x86_test_load_fails(section(k), pic(k), b, sizeof(b),
                                cases[i].words);
        }
        split_guest_fresh();
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    split_guest_init();
    g_test_add_func("/i8259/order", test_order);
    g_test_add_func("/i8259/cascade", test_cascade);
    g_test_add_func("/i8259/fully-nested", test_fully_nested);
    g_test_add_func("/i8259/rotation", test_rotation);
    g_test_add_func("/i8259/auto-eoi", test_auto_eoi);
    g_test_add_func("/i8259/masks", test_masks);
    g_test_add_func("/i8259/spurious", test_spurious);
    g_test_add_func("/i8259/poll", test_poll);
    g_test_add_func("/i8259/levels", test_levels);
    g_test_add_func("/i8259/init", test_init);
    g_test_add_func("/i8259/pulses", test_pulses);
    g_test_add_func("/i8259/section/travels", test_travels);
    g_test_add_func("/i8259/section/hostile", test_hostile);
    return g_test_run();
}
