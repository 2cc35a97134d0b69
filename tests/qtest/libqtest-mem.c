/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libqtest: the qtest protocol (its table is in accel/qtest). */
#include "qemu/osdep.h"

#include "libqtest-int.h"

/* Lines that begin with IRQ come at any time; they only update what we know. */
static char *next_answer(QTestState *s)
{
    for (;;) {
        char *line = qtest_get_line(s, s->qtest_fd, s->qtest_in,
                                    QTEST_TIMEOUT_MS, NULL);
        char word[8];
        int n;

        if (!line) {
            qtest_die(s, "the qtest connection was closed");
        }
        if (sscanf(line, "IRQ %7s %d", word, &n) != 2) {
            return line;
        }
        if (n >= 0 && n < QTEST_MAX_IRQS) {
            s->irq[n] = g_str_equal(word, "raise");
        }
        g_free(line);
    }
}

static char *send_and_wait(QTestState *s, GString *line)
{
    g_string_append_c(line, '\n');
    qtest_put(s, s->qtest_fd, line->str, line->len, NULL, 0);
    g_string_free(line, TRUE);
    return next_answer(s);
}

char *qtest_line(QTestState *s, const char *fmt, ...)
{
    GString *line = g_string_new(NULL);
    va_list ap;

    va_start(ap, fmt);
    g_string_vprintf(line, fmt, ap);
    va_end(ap);
    return send_and_wait(s, line);
}

/* The rest of an answer that begins with OK. */
static char *must_be_ok(QTestState *s, char *answer)
{
    char *rest;

    if (!g_str_has_prefix(answer, "OK")) {
        qtest_die(s, "qtest answers: %s", answer);
    }
    rest = g_strdup(answer[2] == ' ' ? answer + 3 : answer + 2);
    g_free(answer);
    return rest;
}

static uint64_t read_value(QTestState *s, char size, uint64_t addr)
{
    g_autofree char *rest = must_be_ok(
        s, qtest_line(s, "read%c 0x%" PRIx64, size, addr));

    return g_ascii_strtoull(rest, NULL, 16);
}

static void write_value(QTestState *s, char size, uint64_t addr, uint64_t v)
{
    g_free(must_be_ok(
        s, qtest_line(s, "write%c 0x%" PRIx64 " 0x%" PRIx64, size, addr, v)));
}

uint8_t qtest_readb(QTestState *s, uint64_t addr)
{
    return read_value(s, 'b', addr);
}

uint16_t qtest_readw(QTestState *s, uint64_t addr)
{
    return read_value(s, 'w', addr);
}

uint32_t qtest_readl(QTestState *s, uint64_t addr)
{
    return read_value(s, 'l', addr);
}

uint64_t qtest_readq(QTestState *s, uint64_t addr)
{
    return read_value(s, 'q', addr);
}

void qtest_writeb(QTestState *s, uint64_t addr, uint8_t v)
{
    write_value(s, 'b', addr, v);
}

void qtest_writew(QTestState *s, uint64_t addr, uint16_t v)
{
    write_value(s, 'w', addr, v);
}

void qtest_writel(QTestState *s, uint64_t addr, uint32_t v)
{
    write_value(s, 'l', addr, v);
}

void qtest_writeq(QTestState *s, uint64_t addr, uint64_t v)
{
    write_value(s, 'q', addr, v);
}

static uint64_t in_value(QTestState *s, char size, uint16_t port)
{
    g_autofree char *rest = must_be_ok(s,
                                       qtest_line(s, "in%c 0x%x", size, port));

    return g_ascii_strtoull(rest, NULL, 16);
}

static void out_value(QTestState *s, char size, uint16_t port, uint32_t v)
{
    g_free(must_be_ok(s, qtest_line(s, "out%c 0x%x 0x%x", size, port, v)));
}

uint8_t qtest_inb(QTestState *s, uint16_t port)
{
    return in_value(s, 'b', port);
}

uint16_t qtest_inw(QTestState *s, uint16_t port)
{
    return in_value(s, 'w', port);
}

uint32_t qtest_inl(QTestState *s, uint16_t port)
{
    return in_value(s, 'l', port);
}

void qtest_outb(QTestState *s, uint16_t port, uint8_t v)
{
    out_value(s, 'b', port, v);
}

void qtest_outw(QTestState *s, uint16_t port, uint16_t v)
{
    out_value(s, 'w', port, v);
}

void qtest_outl(QTestState *s, uint16_t port, uint32_t v)
{
    out_value(s, 'l', port, v);
}

void qtest_memread(QTestState *s, uint64_t addr, void *buf, size_t size)
{
    g_autofree char *rest = NULL;
    uint8_t *p = buf;

    if (!size) {
        return;
    }
    rest = must_be_ok(s, qtest_line(s, "read 0x%" PRIx64 " 0x%zx", addr, size));
    if (strlen(rest) != 2 + 2 * size) {
        qtest_die(s, "read: %zu characters for %zu bytes", strlen(rest), size);
    }
    for (size_t i = 0; i < size; i++) {
        p[i] = g_ascii_xdigit_value(rest[2 + 2 * i]) * 16 +
               g_ascii_xdigit_value(rest[3 + 2 * i]);
    }
}

void qtest_memwrite(QTestState *s, uint64_t addr, const void *buf, size_t size)
{
    const uint8_t *p = buf;
    GString *line;

    if (!size) {
        return;
    }
    line = g_string_sized_new(2 * size + 64);
    g_string_printf(line, "write 0x%" PRIx64 " 0x%zx 0x", addr, size);
    for (size_t i = 0; i < size; i++) {
        g_string_append_c(line, "0123456789abcdef"[p[i] >> 4]);
        g_string_append_c(line, "0123456789abcdef"[p[i] & 15]);
    }
    g_free(must_be_ok(s, send_and_wait(s, line)));
}

void qtest_memset(QTestState *s, uint64_t addr, uint8_t v, size_t size)
{
    g_free(must_be_ok(
        s, qtest_line(s, "memset 0x%" PRIx64 " 0x%zx 0x%x", addr, size, v)));
}

static int64_t clock_answer(QTestState *s, char *answer)
{
    g_autofree char *rest = must_be_ok(s, answer);

    return g_ascii_strtoll(rest, NULL, 10);
}

int64_t qtest_clock_step(QTestState *s, int64_t ns)
{
    return clock_answer(s, qtest_line(s, "clock_step %" PRId64, ns));
}

int64_t qtest_clock_step_next(QTestState *s)
{
    return clock_answer(s, qtest_line(s, "clock_step"));
}

void qtest_irq_intercept_in(QTestState *s, const char *path)
{
    g_free(must_be_ok(s, qtest_line(s, "irq_intercept_in %s", path)));
}

void qtest_irq_intercept_out(QTestState *s, const char *path)
{
    g_free(must_be_ok(s, qtest_line(s, "irq_intercept_out %s", path)));
}

bool qtest_get_irq(QTestState *s, int n)
{
    /* An answer follows all that was told before it. */
    g_free(must_be_ok(s, qtest_line(s, "endianness")));
    return s->irq[n];
}

void qtest_set_irq_in(QTestState *s, const char *path, const char *name, int n,
                      int level)
{
    g_free(
        must_be_ok(s, qtest_line(s, "set_irq_in %s %s %d %d", path,
                                 name ? name : "unnamed-gpio-in", n, level)));
}
