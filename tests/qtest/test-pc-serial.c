/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The 16550A of a PC: registers, FIFO, interrupts, loopback, migration. */
#include "qemu/osdep.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "libqtest.h"

#define COM1 0x3f8
#define IRQ4 4

enum {
    RBR,
    IER,
    IIR,
    LCR,
    MCR,
    LSR,
    MSR,
    SCR,
    FCR = 2
};

/* A machine whose serial line is a socket that we hold. */
typedef struct Line {
    QTestState *s;
    int fd;
} Line;

static int connect_to(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    g_strlcpy(a.sun_path, path, sizeof(a.sun_path));
    g_assert_cmpint(connect(fd, (struct sockaddr *)&a, sizeof(a)), ==, 0);
    return fd;
}

static Line start(const char *more)
{
    g_autofree char *dir = g_dir_make_tmp("pc-serial-XXXXXX", NULL);
    g_autofree char *path = g_strdup_printf("%s/s", dir);
    Line l = { qtest_startf(
        "-M q35 -m 4M -serial unix:%s,server=on,wait=off %s", path, more) };

    l.fd = connect_to(path);
    unlink(path);
    rmdir(dir);
    qtest_irq_intercept_in(l.s, "/machine/ioapic");
    return l;
}

static void end(Line *l)
{
    qtest_quit(l->s);
    close(l->fd);
}

static uint8_t in(Line *l, int reg)
{
    return qtest_inb(l->s, COM1 + reg);
}

static void out(Line *l, int reg, uint8_t v)
{
    qtest_outb(l->s, COM1 + reg, v);
}

static void expect_sent(Line *l, const char *text)
{
    char buf[64];
    size_t have = 0;

    while (have < strlen(text)) {
        ssize_t n = read(l->fd, buf + have, sizeof(buf) - 1 - have);

        g_assert_cmpint(n, >, 0);
        have += n;
    }
    buf[have] = 0;
    g_assert_cmpstr(buf, ==, text);
}

/* Type @text and wait until @lsr_bits are there. */
static void type(Line *l, const char *text, uint8_t lsr_bits)
{
    g_assert_cmpint(write(l->fd, text, strlen(text)), ==, strlen(text));
    for (int i = 0; i < 5000 && !(in(l, LSR) & lsr_bits); i++) {
        g_usleep(1000);
    }
}

static void test_registers(void)
{
    Line l = start("");

    g_assert_cmphex(in(&l, LSR), ==, 0x60);
    g_assert_cmphex(in(&l, MSR), ==, 0xb0);
    g_assert_cmphex(in(&l, IIR), ==, 0x01);
    g_assert_cmphex(in(&l, MCR), ==, 0x08);
    out(&l, SCR, 0x5a);
    g_assert_cmphex(in(&l, SCR), ==, 0x5a);
    out(&l, IER, 0xff);
    g_assert_cmphex(in(&l, IER), ==, 0x0f);
    out(&l, IER, 0);
    out(&l, LCR, 0x83); /* DLAB: the divider */
    g_assert_cmphex(in(&l, 0), ==, 12);
    out(&l, 0, 0x34);
    out(&l, 1, 0x12);
    g_assert_cmphex(in(&l, 0), ==, 0x34);
    g_assert_cmphex(in(&l, 1), ==, 0x12);
    out(&l, LCR, 0x03);
    g_assert_cmphex(in(&l, IER), ==, 0);
    /* 16 bits at once are two registers. */
    qtest_outw(l.s, COM1 + LCR, 0x0b1b);
    g_assert_cmphex(in(&l, LCR), ==, 0x1b);
    g_assert_cmphex(in(&l, MCR), ==, 0x0b);
    end(&l);
}

/* Without any set-up, as a boot sector does. */
static void test_transmit(void)
{
    Line l = start("");

    for (const char *p = "Ferry"; *p; p++) {
        out(&l, RBR, *p);
    }
    expect_sent(&l, "Ferry");
    g_assert_false(qtest_get_irq(l.s, IRQ4));
    out(&l, IER, 0x02); /* transmitter empty: told at once */
    g_assert_true(qtest_get_irq(l.s, IRQ4));
    g_assert_cmphex(in(&l, IIR), ==, 0x02);
    g_assert_false(qtest_get_irq(l.s, IRQ4)); /* reading clears it */
    g_assert_cmphex(in(&l, IIR), ==, 0x01);
    out(&l, RBR, '!');
    g_assert_true(qtest_get_irq(l.s, IRQ4));
    expect_sent(&l, "!");
    end(&l);
}

static void test_receive(void)
{
    Line l = start("");

    out(&l, IER, 0x01);
    type(&l, "ab", 0x01);
    g_assert_true(qtest_get_irq(l.s, IRQ4));
    g_assert_cmphex(in(&l, IIR), ==, 0x04);
    g_assert_cmphex(in(&l, LSR), ==, 0x61);
    g_assert_cmpint(in(&l, RBR), ==, 'a'); /* the other waits outside */
    type(&l, "", 0x01);
    g_assert_cmpint(in(&l, RBR), ==, 'b');
    g_assert_cmphex(in(&l, LSR), ==, 0x60);
    g_assert_false(qtest_get_irq(l.s, IRQ4));
    end(&l);
}

static void test_fifo(void)
{
    Line l = start("");

    out(&l, FCR, 0x41); /* on, trigger at 4 */
    out(&l, IER, 0x01);
    type(&l, "123", 0x01);
    while (in(&l, LSR) & 1 && (in(&l, IIR) & 0x0f) != 0x0c) {
        g_usleep(1000);
    }
    g_assert_cmphex(in(&l, IIR), ==, 0xcc); /* below: the timeout */
    g_assert_true(qtest_get_irq(l.s, IRQ4));
    type(&l, "45", 0);
    for (int i = 0; i < 5000 && in(&l, IIR) != 0xc4; i++) {
        g_usleep(1000);
    }
    g_assert_cmphex(in(&l, IIR), ==, 0xc4); /* trigger reached */
    for (char c = '1'; c <= '5'; c++) {
        g_assert_cmpint(in(&l, RBR), ==, c);
    }
    g_assert_false(qtest_get_irq(l.s, IRQ4));
    g_assert_cmphex(in(&l, LSR), ==, 0x60);
    type(&l, "x", 0x01);
    out(&l, FCR, 0x43); /* cleared */
    g_assert_cmphex(in(&l, LSR), ==, 0x60);
    out(&l, FCR, 0);
    g_assert_cmphex(in(&l, IIR), ==, 0x01);
    end(&l);
}

static void test_loopback(void)
{
    Line l = start("");

    out(&l, FCR, 0x01);
    out(&l, MCR, 0x10 | 0x0a); /* RTS, OUT2 */
    g_assert_cmphex(in(&l, MSR) & 0xf0, ==, 0x90);
    out(&l, MCR, 0x10 | 0x05); /* DTR, OUT1 */
    g_assert_cmphex(in(&l, MSR), ==, 0x60 | 0x0b);
    g_assert_cmphex(in(&l, MSR), ==, 0x60); /* deltas are cleared */
    out(&l, IER, 0x08);
    out(&l, MCR, 0x10 | 0x01); /* ring ends */
    g_assert_true(qtest_get_irq(l.s, IRQ4));
    g_assert_cmphex(in(&l, IIR), ==, 0xc0);
    g_assert_cmphex(in(&l, MSR), ==, 0x24);
    g_assert_false(qtest_get_irq(l.s, IRQ4));
    for (int i = 0; i < 17; i++) {
        out(&l, RBR, 'a' + i);
    }
    g_assert_cmphex(in(&l, LSR), ==, 0x63); /* one too many: overrun */
    g_assert_cmphex(in(&l, LSR), ==, 0x61);
    for (int i = 0; i < 16; i++) {
        g_assert_cmpint(in(&l, RBR), ==, 'a' + i);
    }
    g_assert_cmphex(in(&l, LSR), ==, 0x60);
    end(&l);
}

static void test_reset(void)
{
    Line l = start("");

    out(&l, FCR, 0x01);
    out(&l, IER, 0x02);
    out(&l, SCR, 1);
    g_assert_true(qtest_get_irq(l.s, IRQ4));
    json_object_put(qtest_qmp_ok(l.s, "{'execute':'system_reset'}"));
    json_object_put(qtest_event(l.s, "RESET"));
    g_assert_cmphex(in(&l, IER), ==, 0);
    g_assert_cmphex(in(&l, IIR), ==, 0x01);
    g_assert_cmphex(in(&l, SCR), ==, 0);
    g_assert_false(qtest_get_irq(l.s, IRQ4));
    end(&l);
}

/* All that is in it, characters received included, is at the target. */
static void test_migration(void)
{
    Line l = start("");
    QTestState *to = qtest_start("-M q35 -m 4M -serial null -incoming defer");
    g_autofree char *uri = g_strdup_printf("unix:%s/m", qtest_dir(l.s));

    out(&l, FCR, 0x81); /* trigger at 8 */
    out(&l, IER, 0x03);
    out(&l, SCR, 0x77);
    out(&l, RBR, 'Z'); /* "transmitter empty" pending behind the timeout */
    type(&l, "qwe", 0x01);
    while ((in(&l, IIR) & 0x0f) != 0x0c) {
        g_usleep(1000);
    }
    g_usleep(20000); /* the other two */
    qtest_irq_intercept_in(to, "/machine/ioapic");
    json_object_put(qtest_qmp_ok(
        to, "{'execute':'migrate-incoming','arguments':{'uri':'%s'}}", uri));
    json_object_put(qtest_qmp_ok(
        l.s, "{'execute':'migrate','arguments':{'uri':'%s'}}", uri));
    json_object_put(qtest_event(to, "RESUME"));
    g_assert_true(qtest_get_irq(to, IRQ4) || qtest_inb(to, COM1 + LSR));
    g_assert_true(qtest_get_irq(to, IRQ4));
    g_assert_cmphex(qtest_inb(to, COM1 + SCR), ==, 0x77);
    g_assert_cmphex(qtest_inb(to, COM1 + IIR), ==, 0xcc);
    g_assert_cmpint(qtest_inb(to, COM1), ==, 'q');
    g_assert_cmpint(qtest_inb(to, COM1), ==, 'w');
    g_assert_cmpint(qtest_inb(to, COM1), ==, 'e');
    g_assert_cmphex(qtest_inb(to, COM1 + IIR), ==, 0xc2);
    g_assert_cmphex(qtest_inb(to, COM1 + IIR), ==, 0xc1);
    qtest_quit(to);
    end(&l);
}

static void test_several(void)
{
    QTestState *s = qtest_start("-M q35 -m 4M -serial null -serial null "
                                "-device isa-serial,index=2");

    g_assert_cmphex(qtest_inb(s, 0x2f8 + LSR), ==, 0x60);
    g_assert_cmphex(qtest_inb(s, 0x3e8 + LSR), ==, 0x60);
    qtest_irq_intercept_in(s, "/machine/ioapic");
    qtest_outb(s, 0x2f8 + IER, 0x02);
    g_assert_true(qtest_get_irq(s, 3));
    /* COM1 and COM3 share a line: low when neither drives it. */
    qtest_outb(s, 0x3f8 + IER, 0x02);
    qtest_outb(s, 0x3e8 + IER, 0x02);
    qtest_inb(s, 0x3f8 + IIR);
    g_assert_true(qtest_get_irq(s, 4));
    qtest_inb(s, 0x3e8 + IIR);
    g_assert_false(qtest_get_irq(s, 4));
    qtest_quit(s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pc-serial/registers", test_registers);
    g_test_add_func("/pc-serial/transmit", test_transmit);
    g_test_add_func("/pc-serial/receive", test_receive);
    g_test_add_func("/pc-serial/fifo", test_fifo);
    g_test_add_func("/pc-serial/loopback", test_loopback);
    g_test_add_func("/pc-serial/reset", test_reset);
    g_test_add_func("/pc-serial/migration", test_migration);
    g_test_add_func("/pc-serial/several", test_several);
    return g_test_run();
}
