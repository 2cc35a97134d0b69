/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PL011: registers, FIFO, interrupts, back end, saved state.
 */
#include "qemu/osdep.h"

#include "arm-test.h"
#include "hw-test.h"
#include "hw/char/pl011.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"

#define DR    0x00
#define RSR   0x04
#define FR    0x18
#define LCR_H 0x2c
#define CR    0x30
#define IMSC  0x38
#define RIS   0x3c
#define MIS   0x40
#define ICR   0x44

typedef struct Fixture {
    PL011State *s;
    MemoryRegion *mr;
    Chardev *chr;
    int level[PL011_NUM_IRQS];
} Fixture;

static void note_level(void *opaque, int n, int level)
{
    ((Fixture *)opaque)->level[n] = level;
}

static void setup(Fixture *f, gconstpointer data)
{
    static int serial;
    g_autofree char *label = g_strdup_printf("ring%d", serial++);
    DeviceState *dev;

    memset(f, 0, sizeof(*f));
    f->chr = qemu_chr_new(label, data ? data : "null", &error_abort);
    dev = qdev_new(TYPE_PL011, &error_abort);
    f->s = PL011(dev);
    f->mr = sysbus_mmio_get_region(SYS_BUS_DEVICE(dev), 0);
    for (int i = 0; i < PL011_NUM_IRQS; i++) {
        sysbus_connect_irq(SYS_BUS_DEVICE(dev), i,
                           qemu_allocate_irq(note_level, f, i));
    }
    g_assert_true(
        object_property_set_str(OBJECT(dev), "chardev", label, &error_abort));
    g_assert_true(qdev_realize(dev, &error_abort));
}

static void teardown(Fixture *f, gconstpointer data)
{
    qdev_unrealize(DEVICE(f->s));
}

static uint32_t rd(Fixture *f, hwaddr reg)
{
    return mmio_read(f->mr, reg, 4);
}

static void wr(Fixture *f, hwaddr reg, uint32_t val)
{
    mmio_write(f->mr, reg, val, 4);
}

/* What the back end would deliver, as long as the device wants it. */
static int feed(Fixture *f, const char *text)
{
    int n = 0;

    while (text[n] && f->s->chr.can_read(f->s->chr.opaque) > 0) {
        f->s->chr.read(f->s->chr.opaque, (const uint8_t *)text + n, 1);
        n++;
    }
    return n;
}

static void test_reset(Fixture *f, gconstpointer data)
{
    static const uint8_t id[8] = { 0x11, 0x10, 0x14, 0x00,
                                   0x0d, 0xf0, 0x05, 0xb1 };

    g_assert_cmphex(rd(f, FR), ==, 0x90);
    g_assert_cmphex(rd(f, CR), ==, 0x300);
    g_assert_cmphex(rd(f, 0x34), ==, 0x12);
    g_assert_cmphex(rd(f, RIS), ==, 0);
    for (int i = 0; i < 8; i++) {
        g_assert_cmphex(rd(f, 0xfe0 + 4 * i), ==, id[i]);
    }
}

/* A guest that never enables it and never looks at the flags. */
static void test_transmit(Fixture *f, gconstpointer data)
{
    g_autofree char *path = g_strdup((const char *)data + strlen("file:"));
    g_autofree char *text = NULL;

    mmio_write(f->mr, DR, 'A', 1);
    mmio_write(f->mr, DR, 'B', 4);
    mmio_write(f->mr, DR, 'C', 2);
    wr(f, CR, 0);
    mmio_write(f->mr, DR, 'D', 1);
    g_assert_cmphex(rd(f, FR) & 0xa8, ==, 0x80); /* empty, not busy */
    g_assert_cmphex(rd(f, RIS), ==, 0x20);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_cmpstr(text, ==, "ABCD");
    unlink(path);
}

static void test_receive_fifo(Fixture *f, gconstpointer data)
{
    const char *text = "0123456789abcdefXYZ";

    g_assert_cmpint(feed(f, text), ==, 1); /* FIFO off: one */
    g_assert_cmphex(rd(f, FR), ==, 0xc0);
    g_assert_cmphex(rd(f, DR), ==, '0');
    g_assert_cmphex(rd(f, FR), ==, 0x90);

    wr(f, LCR_H, 0x70);
    g_assert_cmpint(feed(f, text), ==, 16);
    g_assert_cmphex(rd(f, FR), ==, 0xc0);
    g_assert_cmphex(rd(f, DR), ==, '0');
    g_assert_cmphex(rd(f, FR), ==, 0x80);
    g_assert_cmpint(feed(f, text + 16), ==, 1); /* wraps around */
    for (int i = 1; i < 17; i++) {
        g_assert_cmphex(rd(f, DR), ==, text[i]);
    }
    g_assert_cmphex(rd(f, FR), ==, 0x90);
}

static void test_fifo_switch_empties(Fixture *f, gconstpointer data)
{
    wr(f, LCR_H, 0x10);
    feed(f, "abc");
    wr(f, LCR_H, 0);
    g_assert_cmphex(rd(f, FR), ==, 0x90);
}

static void test_interrupts(Fixture *f, gconstpointer data)
{
    wr(f, LCR_H, 0x10);
    feed(f, "ab");
    g_assert_cmphex(rd(f, RIS), ==, 0x10);
    g_assert_cmphex(rd(f, MIS), ==, 0);
    g_assert_cmpint(f->level[0], ==, 0);
    wr(f, IMSC, 0x10);
    g_assert_cmpint(f->level[0], ==, 1);
    g_assert_cmpint(f->level[1], ==, 1); /* receive's own output */
    g_assert_cmpint(f->level[2], ==, 0);
    g_assert_cmphex(rd(f, MIS), ==, 0x10);
    rd(f, DR);
    g_assert_cmpint(f->level[0], ==, 1); /* one is left */
    rd(f, DR);
    g_assert_cmpint(f->level[0], ==, 0);

    wr(f, IMSC, 0x20);
    wr(f, DR, 'x');
    g_assert_cmpint(f->level[0], ==, 1);
    g_assert_cmpint(f->level[2], ==, 1);
    wr(f, ICR, 0x20);
    g_assert_cmpint(f->level[0], ==, 0);
}

static void test_break(Fixture *f, gconstpointer data)
{
    f->s->chr.event(f->s->chr.opaque, CHR_EVENT_BREAK);
    g_assert_cmphex(rd(f, DR), ==, 0x400);
    g_assert_cmphex(rd(f, RSR), ==, 0x4);
    wr(f, RSR, 0);
    g_assert_cmphex(rd(f, RSR), ==, 0);
}

static void test_loopback(Fixture *f, gconstpointer data)
{
    wr(f, CR, 0x0381); /* LBE */
    g_assert_cmpint(feed(f, "z"), ==, 0);
    wr(f, DR, 'q');
    g_assert_cmphex(rd(f, DR), ==, 'q');
    wr(f, CR, 0x0b81); /* RTS: seen on CTS */
    g_assert_cmphex(rd(f, FR) & 1, ==, 1);
    g_assert_cmphex(rd(f, RIS) & 2, ==, 2);
    wr(f, DR, '1');
    wr(f, DR, '2'); /* overrun: FIFO off */
    g_assert_cmphex(rd(f, RSR), ==, 8);
    g_assert_cmphex(rd(f, RIS) & 0x400, ==, 0x400);
}

static const VMStateDescription *vmsd_of(Fixture *f)
{
    return DEVICE_GET_CLASS(f->s)->vmsd;
}

static void test_vmstate(Fixture *f, gconstpointer data)
{
    g_autoptr(GBytes) real = arm_test_data("pl011.bin");
    g_autoptr(GByteArray) bytes = arm_test_save(vmsd_of(f), f->s);

    /* After reset it is what the real one sends. */
    g_assert_cmpmem(bytes->data, bytes->len, g_bytes_get_data(real, NULL),
                    g_bytes_get_size(real));
    arm_test_round_trip(vmsd_of(f), f->s, 2, "pl011.bin");
}

static void test_vmstate_hostile(Fixture *f, gconstpointer data)
{
    enum {
        OFF_LCR = 8,
        OFF_POS = 112,
        OFF_COUNT = 116
    };
    static const struct {
        int offset;
        uint8_t val[4];
        const char *words;
    } bad[] = {
        { OFF_POS, { 0xff, 0xff, 0xff, 0xff }, "read_pos is -1" },
        { OFF_POS, { 0, 0, 0, 16 }, "read_pos is 16" },
        { OFF_COUNT, { 0xff, 0, 0, 0 }, "read_count" },
        { OFF_COUNT, { 0, 0, 0, 2 }, "read_count is 2, expected 0 to 1" },
    };
    g_autoptr(GByteArray) good = arm_test_save(vmsd_of(f), f->s);

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        g_autofree uint8_t *d = g_memdup2(good->data, good->len);

        memcpy(d + bad[i].offset, bad[i].val, 4);
        arm_test_load_fails(vmsd_of(f), f->s, 2, d, good->len, bad[i].words);
    }
    good->data[OFF_LCR + 3] = 0x10; /* FIFO on: 16 are fine */
    good->data[OFF_COUNT + 3] = 16;
    good->data[OFF_POS + 3] = 15;
    g_assert_true(arm_test_load(vmsd_of(f), f->s, 2, good->data, good->len,
                                NULL, &error_abort));
    for (int i = 0; i < 20; i++) {
        rd(f, DR);
    }
    g_assert_cmpint(f->s->read_count, ==, 0);
}

int main(int argc, char **argv)
{
    g_autofree char *file = g_strdup_printf("file:%s/pl011-%d", g_get_tmp_dir(),
                                            getpid());

    g_test_init(&argc, &argv, NULL);
    hw_test_init();
#define ADD(path, fn, data) \
    g_test_add("/pl011/" path, Fixture, data, setup, fn, teardown)
    ADD("reset", test_reset, NULL);
    ADD("transmit-without-setup", test_transmit, file);
    ADD("receive-fifo", test_receive_fifo, NULL);
    ADD("fifo-switch-empties", test_fifo_switch_empties, NULL);
    ADD("interrupts", test_interrupts, NULL);
    ADD("break", test_break, NULL);
    ADD("loopback", test_loopback, NULL);
    ADD("vmstate", test_vmstate, NULL);
    ADD("vmstate-hostile", test_vmstate_hostile, NULL);
    return g_test_run();
}
