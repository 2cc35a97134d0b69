/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qtest protocol server.
 *
 * Lines of words, ended by \n, one answer line for each; numbers are decimal
 * or 0x hexadecimal. Addresses are guest physical, or I/O ports.
 *
 *   request                          answer
 *   endianness                       OK little
 *   readb|readw|readl|readq ADDR     OK 0x%016x
 *   writeb|writew|writel|writeq ADDR VALUE   OK
 *   inb|inw|inl PORT                 OK 0x%04x
 *   outb|outw|outl PORT VALUE        OK
 *   read ADDR SIZE                   OK 0x, two hex digits a byte
 *   write ADDR SIZE 0xHEX            OK (bytes that HEX lacks are zero)
 *   b64read ADDR SIZE                OK BASE64
 *   b64write ADDR SIZE BASE64        OK
 *   memset ADDR SIZE VALUE           OK
 *   clock_step [NS]                  OK TIME (without NS: to the next timer)
 *   clock_set NS                     OK TIME
 *   irq_intercept_in|_out PATH [NAME]        OK; from then on, unasked:
 *                                    IRQ raise N | IRQ lower N
 *   set_irq_in PATH NAME N LEVEL     OK (NAME: unnamed-gpio-in: none)
 *
 * Anything else: FAIL and why.
 */
#include "qemu/osdep.h"

#include "accel/qtest.h"
#include "chardev/char.h"
#include "qemu/cutils.h"
#include "qemu/error.h"
#include "qemu/fd-store.h"
#include "qemu/timer.h"
#include "system/memory.h"

/* More at once is not sensible and would be ours to allocate. */
#define MAX_TRANSFER_BYTES (UINT64_C(256) << 20)
#define MAX_LINE_BYTES     (4 * MAX_TRANSFER_BYTES)
#define MAX_IRQS           2048

/* One server per process. */
static struct {
    CharFrontend fe;
    bool there;
    FILE *log; /* NULL: none */
    int64_t start_ns;
    GString *in; /* a line that is not complete */
    const QTestIrqOps *irq_ops;
    bool irq_level[MAX_IRQS];
} qtest;

typedef void QTestHandler(char **words, unsigned n);

typedef struct QTestCommand {
    const char *name;
    unsigned min_words, max_words; /* the command itself not counted */
    QTestHandler *handler;
} QTestCommand;

bool qtest_driver(void)
{
    return qtest.there;
}

/* ---- out ---- */

static void log_line(char kind, const char *text, size_t len)
{
    int64_t t_us;

    if (!qtest.log) {
        return;
    }
    t_us = (get_clock() - qtest.start_ns) / SCALE_US;
    fprintf(qtest.log, "[%c +%" PRId64 ".%06" PRId64 "] %.*s\n", kind,
            t_us / 1000000, t_us % 1000000, (int)MIN(len, 4096), text);
    fflush(qtest.log);
}

static void send_line(GString *line)
{
    log_line('S', line->str, line->len);
    g_string_append_c(line, '\n');
    qemu_chr_fe_write_all(&qtest.fe, (const uint8_t *)line->str, line->len);
}

static void G_GNUC_PRINTF(1, 2) reply(const char *fmt, ...)
{
    g_autoptr(GString) line = g_string_new(NULL);
    va_list ap;

    va_start(ap, fmt);
    g_string_append_vprintf(line, fmt, ap);
    va_end(ap);
    send_line(line);
}

static bool number(const char *word, uint64_t *v)
{
    if (qemu_strtou64(word, NULL, 0, v) == 0) {
        return true;
    }
    reply("FAIL '%s' is not a number", word);
    return false;
}

static bool transfer_size(const char *word, uint64_t *size)
{
    if (!number(word, size)) {
        return false;
    }
    if (*size == 0 || *size > MAX_TRANSFER_BYTES) {
        reply("FAIL size %s is not between 1 and %" PRIu64, word,
              MAX_TRANSFER_BYTES);
        return false;
    }
    return true;
}

/* ---- memory and ports ---- */

static unsigned size_of_letter(char c)
{
    return c == 'b' ? 1 : c == 'w' ? 2 : c == 'l' ? 4 : 8;
}

static char last_letter(const char *s)
{
    return s[strlen(s) - 1];
}

static void do_write_value(char **w, unsigned n)
{
    uint64_t addr, value;

    if (number(w[1], &addr) && number(w[2], &value)) {
        value = GUINT64_TO_LE(value);
        address_space_write(&address_space_memory, addr, MEMTXATTRS_UNSPECIFIED,
                            &value, size_of_letter(last_letter(w[0])));
        reply("OK");
    }
}

static void do_read_value(char **w, unsigned n)
{
    uint64_t addr, value = 0;

    if (number(w[1], &addr)) {
        address_space_read(&address_space_memory, addr, MEMTXATTRS_UNSPECIFIED,
                           &value, size_of_letter(last_letter(w[0])));
        reply("OK 0x%016" PRIx64, GUINT64_FROM_LE(value));
    }
}

static void do_out(char **w, unsigned n)
{
    uint64_t addr, value;

    if (number(w[1], &addr) && number(w[2], &value)) {
        value = GUINT64_TO_LE(value);
        address_space_write(&address_space_io, addr & 0xffff,
                            MEMTXATTRS_UNSPECIFIED, &value,
                            size_of_letter(last_letter(w[0])));
        reply("OK");
    }
}

static void do_in(char **w, unsigned n)
{
    uint64_t addr, value = 0;

    if (number(w[1], &addr)) {
        address_space_read(&address_space_io, addr & 0xffff,
                           MEMTXATTRS_UNSPECIFIED, &value,
                           size_of_letter(last_letter(w[0])));
        reply("OK 0x%04" PRIx64, GUINT64_FROM_LE(value));
    }
}

static void do_read(char **w, unsigned n)
{
    static const char hex[] = "0123456789abcdef";
    g_autofree uint8_t *data = NULL;
    g_autoptr(GString) line = NULL;
    uint64_t addr, size;

    if (!number(w[1], &addr) || !transfer_size(w[2], &size)) {
        return;
    }
    data = g_malloc0(size);
    address_space_read(&address_space_memory, addr, MEMTXATTRS_UNSPECIFIED,
                       data, size);
    line = g_string_sized_new(2 * size + 8);
    g_string_append(line, "OK 0x");
    for (uint64_t i = 0; i < size; i++) {
        g_string_append_c(line, hex[data[i] >> 4]);
        g_string_append_c(line, hex[data[i] & 15]);
    }
    send_line(line);
}

static void do_write(char **w, unsigned n)
{
    g_autofree uint8_t *data = NULL;
    uint64_t addr, size;
    const char *hex;

    if (!number(w[1], &addr) || !transfer_size(w[2], &size)) {
        return;
    }
    if (!strstart(w[3], "0x", &hex)) {
        reply("FAIL data must begin with 0x");
        return;
    }
    data = g_malloc0(size);
    for (uint64_t i = 0; i < size && hex[2 * i]; i++) {
        int hi = g_ascii_xdigit_value(hex[2 * i]);
        int lo = g_ascii_xdigit_value(hex[2 * i + 1]);

        if (hi < 0 || lo < 0) {
            reply("FAIL data is not hexadecimal at byte %" PRIu64, i);
            return;
        }
        data[i] = hi * 16 + lo;
    }
    address_space_write(&address_space_memory, addr, MEMTXATTRS_UNSPECIFIED,
                        data, size);
    reply("OK");
}

static void do_b64read(char **w, unsigned n)
{
    g_autofree uint8_t *data = NULL;
    g_autofree char *text = NULL;
    g_autoptr(GString) line = NULL;
    uint64_t addr, size;

    if (!number(w[1], &addr) || !transfer_size(w[2], &size)) {
        return;
    }
    data = g_malloc0(size);
    address_space_read(&address_space_memory, addr, MEMTXATTRS_UNSPECIFIED,
                       data, size);
    text = g_base64_encode(data, size);
    line = g_string_new("OK ");
    g_string_append(line, text);
    send_line(line);
}

static void do_b64write(char **w, unsigned n)
{
    g_autofree uint8_t *data = NULL;
    uint64_t addr, size;
    gsize len;

    if (!number(w[1], &addr) || !transfer_size(w[2], &size)) {
        return;
    }
    data = g_base64_decode(w[3], &len);
    if (len != size) {
        reply("FAIL %" G_GSIZE_FORMAT " bytes of data, %" PRIu64 " expected",
              len, size);
        return;
    }
    address_space_write(&address_space_memory, addr, MEMTXATTRS_UNSPECIFIED,
                        data, size);
    reply("OK");
}

static void do_memset(char **w, unsigned n)
{
    uint64_t addr, size, value;

    if (number(w[1], &addr) && number(w[2], &size) && number(w[3], &value)) {
        if (size) {
            address_space_set(&address_space_memory, addr, value, size,
                              MEMTXATTRS_UNSPECIFIED);
        }
        reply("OK");
    }
}

static void do_endianness(char **w, unsigned n)
{
    reply("OK little");
}

/* ---- time ---- */

static void warp(int64_t dest_ns)
{
    if (!virtual_clock_is_manual()) {
        reply("FAIL the clock can only be stepped with the qtest accelerator");
        return;
    }
    reply("OK %" PRId64, virtual_clock_warp(dest_ns));
}

static void do_clock_step(char **w, unsigned n)
{
    int64_t now_ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL), dest_ns;
    uint64_t step_ns;

    if (n == 1) {
        step_ns = MAX(qemu_clock_deadline_ns(QEMU_CLOCK_VIRTUAL), 0);
    } else if (!number(w[1], &step_ns)) {
        return;
    }
    if (__builtin_add_overflow(now_ns, step_ns, &dest_ns)) {
        reply("FAIL the clock does not go that far");
        return;
    }
    warp(dest_ns);
}

static void do_clock_set(char **w, unsigned n)
{
    uint64_t dest_ns;

    if (number(w[1], &dest_ns)) {
        warp(MIN(dest_ns, (uint64_t)INT64_MAX));
    }
}

/* ---- interrupt lines ---- */

void qtest_set_irq_ops(const QTestIrqOps *ops)
{
    qtest.irq_ops = ops;
}

void qtest_irq_seen(void *opaque, int n, int level)
{
    if (n < 0 || n >= MAX_IRQS || qtest.irq_level[n] == !!level) {
        return;
    }
    qtest.irq_level[n] = level;
    reply("IRQ %s %d", level ? "raise" : "lower", n);
}

static void do_irq_intercept(char **w, unsigned n)
{
    bool out = g_str_has_suffix(w[0], "_out");
    const char *name = n > 2 ? w[2] : NULL;

    if (!qtest.irq_ops || !qtest.irq_ops->intercept(w[1], name, out)) {
        reply("FAIL no such device or lines: '%s'", w[1]);
        return;
    }
    reply("OK");
}

static void do_set_irq_in(char **w, unsigned n)
{
    const char *name = g_str_equal(w[2], "unnamed-gpio-in") ? NULL : w[2];
    uint64_t num, level;

    if (!number(w[3], &num) || !number(w[4], &level)) {
        return;
    }
    if (num > INT_MAX || !qtest.irq_ops ||
        !qtest.irq_ops->set_in(w[1], name, num, level)) {
        reply("FAIL no such device or line: '%s' %s", w[1], w[3]);
        return;
    }
    reply("OK");
}

/* ---- in ---- */

static const QTestCommand commands[] = {
    { "b64read", 2, 2, do_b64read },
    { "b64write", 3, 3, do_b64write },
    { "clock_set", 1, 1, do_clock_set },
    { "clock_step", 0, 1, do_clock_step },
    { "endianness", 0, 0, do_endianness },
    { "inb", 1, 1, do_in },
    { "inl", 1, 1, do_in },
    { "inw", 1, 1, do_in },
    { "irq_intercept_in", 1, 2, do_irq_intercept },
    { "irq_intercept_out", 1, 2, do_irq_intercept },
    { "memset", 3, 3, do_memset },
    { "outb", 2, 2, do_out },
    { "outl", 2, 2, do_out },
    { "outw", 2, 2, do_out },
    { "read", 2, 2, do_read },
    { "readb", 1, 1, do_read_value },
    { "readl", 1, 1, do_read_value },
    { "readq", 1, 1, do_read_value },
    { "readw", 1, 1, do_read_value },
    { "set_irq_in", 4, 4, do_set_irq_in },
    { "write", 3, 3, do_write },
    { "writeb", 2, 2, do_write_value },
    { "writel", 2, 2, do_write_value },
    { "writeq", 2, 2, do_write_value },
    { "writew", 2, 2, do_write_value },
};

static void run_line(char *line)
{
    g_auto(GStrv) words = NULL;
    unsigned n;

    log_line('R', line, strlen(line));
    g_strchomp(line);
    words = g_strsplit(line, " ", -1);
    n = g_strv_length(words);
    if (n == 0 || !*words[0]) {
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        const QTestCommand *c = &commands[i];

        if (!g_str_equal(c->name, words[0])) {
            continue;
        }
        if (n - 1 < c->min_words || n - 1 > c->max_words) {
            reply("FAIL '%s' takes %u to %u words, got %u", c->name,
                  c->min_words, c->max_words, n - 1);
            return;
        }
        c->handler(words, n);
        return;
    }
    reply("FAIL Unknown command '%s'", words[0]);
}

static int qtest_can_read(void *opaque)
{
    return 65536;
}

static void qtest_read(void *opaque, const uint8_t *buf, int size)
{
    const char *p = (const char *)buf, *end = p + size, *nl;

    while ((nl = memchr(p, '\n', end - p))) {
        g_string_append_len(qtest.in, p, nl - p);
        p = nl + 1;
        run_line(qtest.in->str);
        g_string_truncate(qtest.in, 0);
    }
    if (qtest.in->len + (end - p) > MAX_LINE_BYTES) {
        g_string_truncate(qtest.in, 0);
        reply("FAIL line too long");
        return;
    }
    g_string_append_len(qtest.in, p, end - p);
}

static void qtest_event(void *opaque, QEMUChrEvent event)
{
    if (event == CHR_EVENT_OPENED) {
        memset(qtest.irq_level, 0, sizeof(qtest.irq_level));
        g_string_truncate(qtest.in, 0);
        qtest.start_ns = get_clock();
        log_line('I', "OPENED", 6);
    } else if (event == CHR_EVENT_CLOSED) {
        log_line('I', "CLOSED", 6);
    }
}

static bool open_log(const char *log, Error **errp)
{
    ERRP_GUARD();

    if (!log) {
        qtest.log = stderr;
    } else if (!g_str_equal(log, "none")) {
        int fd = qemu_create(log, O_WRONLY | O_TRUNC, 0666, errp);

        qtest.log = fd >= 0 ? fdopen(fd, "w") : NULL;
        if (!qtest.log) {
            error_prepend(errp, "-qtest-log: ");
            return false;
        }
    }
    return true;
}

bool qtest_server_init(const char *chrdev, const char *log, Error **errp)
{
    Chardev *chr;

    if (!open_log(log, errp)) {
        return false;
    }
    chr = qemu_chr_new("qtest", chrdev, errp);
    if (!chr) {
        return false;
    }
    qtest.in = g_string_new(NULL);
    qtest.start_ns = get_clock();
    if (!qemu_chr_fe_init(&qtest.fe, chr, errp)) {
        return false;
    }
    qtest.there = true;
    qemu_chr_fe_set_handlers(&qtest.fe, qtest_can_read, qtest_read, qtest_event,
                             NULL, NULL);
    return true;
}
