/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A PC that runs, under KVM: boot sectors of a few instructions which reset,
 * switch off and end the machine, take interrupts; and ELF64 guests. Skipped,
 * with the reason, where there is no KVM.
 */
#include "qemu/osdep.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "libqtest.h"

static char *dir;

static const char *why_not(void)
{
    if (access("/dev/kvm", F_OK) != 0) {
        return "there is no /dev/kvm";
    }
    if (access("/dev/kvm", R_OK | W_OK) != 0) {
        return "no permission for /dev/kvm";
    }
    return qtest_has_accel("kvm") ? NULL : "the binary has no accelerator kvm";
}

static bool skip(void)
{
    const char *why = why_not();

    if (why) {
        g_test_skip(why);
    }
    return why != NULL;
}

/* A disk that begins with @code, entered at 0000:7c00. */
static char *make_disk(const uint8_t *code, size_t len)
{
    uint8_t sector[512] = { 0 };
    char *path = g_build_filename(dir, "disk", NULL);

    g_assert_cmpuint(len, <=, 510);
    memcpy(sector, code, len);
    sector[510] = 0x55;
    sector[511] = 0xaa;
    g_assert_true(
        g_file_set_contents(path, (char *)sector, sizeof(sector), NULL));
    return path;
}

static QTestState *boot(const uint8_t *code, size_t len, const char *more)
{
    g_autofree char *disk = make_disk(code, len);
    QTestState *s = qtest_startf("-accel kvm -M q35 -m 4M -S -drive "
                                 "file=%s,format=raw %s",
                                 disk, more);

    return s;
}

/* Events before the greeting would be lost: it starts only now. */
static void go(QTestState *s)
{
    json_object_put(qtest_qmp_ok(s, "{'execute':'cont'}"));
}

static void expect_cause(QTestState *s, const char *event, const char *reason)
{
    json_object *ev = qtest_event(s, event);

    g_assert_cmpstr(json_path_str(ev, "data.reason"), ==, reason);
    json_object_put(ev);
}

static void expect_exit(QTestState *s, int status)
{
    g_assert_cmpint(qtest_wait_exit(s), ==, status);
    qtest_free(s);
}

/* Resets itself by port 0x92; the second time, RAM tells, it ends. */
static const uint8_t reset_code[] = {
    0x81, 0x3e, 0x00, 0x50, 0x34, 0x12, /* cmpw $0x1234, 0x5000 */
    0x74, 0x0d,                         /* je 1f */
    0xc7, 0x06, 0x00, 0x50, 0x34, 0x12, /* movw $0x1234, 0x5000 */
    0xb0, 0x01, 0xe6, 0x92,             /* outb $1, $0x92 */
    0xf4, 0xeb, 0xfd,                   /* 0: hlt; jmp 0b */
    0xba, 0x01, 0x05,                   /* 1: movw $0x501, %dx */
    0xb0, 0x07, 0xee,                   /* outb $7, %dx */
    0xf4, 0xeb, 0xfd,                   /* 0: hlt; jmp 0b */
};

static void test_reset_and_exit(void)
{
    QTestState *s;

    if (skip()) {
        return;
    }
    s = boot(reset_code, sizeof(reset_code), "-device isa-debug-exit");
    go(s);
    expect_cause(s, "RESET", "guest-reset");
    expect_cause(s, "SHUTDOWN", "guest-shutdown");
    expect_exit(s, 15);
}

static void test_no_reboot(void)
{
    QTestState *s;

    if (skip()) {
        return;
    }
    s = boot(reset_code, sizeof(reset_code), "-no-reboot");
    go(s);
    expect_cause(s, "SHUTDOWN", "guest-reset");
    expect_exit(s, 0);
}

static void test_power_off(void)
{
    static const uint8_t code[] = {
        0xba, 0x04, 0x06, /* movw $0x604, %dx */
        0xb8, 0x00, 0x20, /* movw $0x2000, %ax */
        0xef,             /* outw %ax, %dx */
        0xf4, 0xeb, 0xfd, /* 0: hlt; jmp 0b */
    };
    QTestState *s;

    if (skip()) {
        return;
    }
    s = boot(code, sizeof(code), "");
    go(s);
    expect_cause(s, "SHUTDOWN", "guest-shutdown");
    expect_exit(s, 0);
    /* Not shut down, it runs no further behind that write. */
    s = boot(code, sizeof(code), "-no-shutdown");
    go(s);
    qtest_wait_status(s, "shutdown");
    qtest_quit(s);
}

/*
 * Sets up the PICs and the UART, sends '>', and from then on sends for each
 * character that interrupt 4 brings the next one.
 */
static const uint8_t echo_code[] = {
    0xfa,                               /* cli */
    0x31, 0xc0, 0x8e, 0xd8,             /* xorw %ax, %ax; movw %ax, %ds */
    0xc7, 0x06, 0x30, 0x00, 0x30, 0x7c, /* movw $handler, 4 * 0x0c */
    0xa3, 0x32, 0x00,                   /* movw %ax, 4 * 0x0c + 2 */
    0xb0, 0x11, 0xe6, 0x20,             /* outb $0x11, $0x20 */
    0xb0, 0x08, 0xe6, 0x21,             /* outb $0x08, $0x21 */
    0xb0, 0x04, 0xe6, 0x21,             /* outb $0x04, $0x21 */
    0xb0, 0x01, 0xe6, 0x21,             /* outb $0x01, $0x21 */
    0xb0, 0xef, 0xe6, 0x21,             /* outb $0xef, $0x21 */
    0xba, 0xf9, 0x03,                   /* movw $0x3f9, %dx */
    0xb0, 0x01, 0xee,                   /* outb $1, %dx */
    0x4a,                               /* decw %dx */
    0xb0, 0x3e, 0xee,                   /* outb $'>', %dx */
    0xfb, 0xf4, 0xeb, 0xfc,             /* 0: sti; hlt; jmp 0b */
    0xec, 0xfe, 0xc0, 0xee,             /* handler: inb; incb %al; outb */
    0xb0, 0x20, 0xe6, 0x20,             /* outb $0x20, $0x20 */
    0xcf,                               /* iret */
};

static int connect_to(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    struct timeval limit = { .tv_sec = 20 };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    g_strlcpy(a.sun_path, path, sizeof(a.sun_path));
    g_assert_cmpint(connect(fd, (struct sockaddr *)&a, sizeof(a)), ==, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return fd;
}

static void expect_char(int fd, char want)
{
    char c = 0;

    g_assert_cmpint(read(fd, &c, 1), ==, 1);
    g_assert_cmpint(c, ==, want);
}

static void exchange(int fd, char from, char to)
{
    for (char c = from; c <= to; c++) {
        g_assert_cmpint(write(fd, &c, 1), ==, 1);
        expect_char(fd, c + 1);
    }
}

/* Interrupts reach it; and at the target of a migration as well. */
static void test_interrupts(void)
{
    g_autofree char *path = g_build_filename(dir, "serial", NULL);
    g_autofree char *path2 = g_build_filename(dir, "serial2", NULL);
    g_autofree char *uri = g_strdup_printf("unix:%s/m", dir);
    g_autofree char *opt = g_strdup_printf("-serial unix:%s,server=on,wait=off",
                                           path);
    QTestState *s, *to;
    int fd;

    if (skip()) {
        return;
    }
    s = boot(echo_code, sizeof(echo_code), opt);
    fd = connect_to(path);
    go(s);
    expect_char(fd, '>');
    exchange(fd, 'a', 'j');
    to = qtest_startf("-accel kvm -M q35 -m 4M -serial "
                      "unix:%s,server=on,wait=off -incoming %s",
                      path2, uri);
    json_object_put(
        qtest_qmp_ok(s, "{'execute':'migrate','arguments':{'uri':'%s'}}", uri));
    json_object_put(qtest_event(to, "RESUME"));
    close(fd);
    fd = connect_to(path2);
    exchange(fd, 'A', 'J');
    close(fd);
    qtest_quit(to);
    qtest_quit(s);
}

/* ---- ELF64 ---- */

static void wait_for_serial(const char *path, size_t more)
{
    g_autofree char *text = NULL;
    gsize have = 0, len = 0;

    g_assert_true(g_file_get_contents(path, &text, &have, NULL));
    for (int i = 0; i < 2000 && len < have + more; i++) {
        g_autofree char *now = NULL;

        g_usleep(10000);
        g_assert_true(g_file_get_contents(path, &now, &len, NULL));
    }
    g_assert_cmpuint(len, >=, have + more);
}

/* The page counter, with or without its PVH entry. */
static char *make_counter(bool pvh)
{
    static const uint8_t note[] = { 4,  0, 0, 0, 4,   0,   0,   0,
                                    18, 0, 0, 0, 'X', 'e', 'n', 0 };
    const char *from = g_getenv("QTEST_GUEST_PAGE_COUNTER");
    char *path = g_build_filename(dir, "kernel", NULL);
    g_autofree char *data = NULL;
    gsize len;
    char *at;

    g_assert_nonnull(from);
    g_assert_true(g_file_get_contents(from, &data, &len, NULL));
    at = memmem(data, len, note, sizeof(note));
    g_assert_nonnull(at);
    if (!pvh) {
        at[8] = 0;
    }
    g_assert_true(g_file_set_contents(path, data, len, NULL));
    return path;
}

static void test_elf(gconstpointer pvh)
{
    g_autofree char *serial = g_build_filename(dir, "out", NULL);
    g_autofree char *kernel = NULL;
    QTestState *s;

    if (skip()) {
        return;
    }
    kernel = make_counter(GPOINTER_TO_INT(pvh));
    s = qtest_startf("-accel kvm -M q35 -m 64M -serial file:%s -kernel %s "
                     "-append ws=8",
                     serial, kernel);
    wait_for_serial(serial, 5);
    json_object_put(qtest_qmp_ok(s, "{'execute':'system_reset'}"));
    json_object_put(qtest_event(s, "RESET"));
    wait_for_serial(serial, 5);
    qtest_quit(s);
}

/* What is seen below 1 MiB changes under a guest that runs. */
static void test_flips(void)
{
    g_autofree char *serial = g_build_filename(dir, "out", NULL);
    g_autofree char *kernel = NULL;
    QTestState *s;

    if (skip()) {
        return;
    }
    kernel = make_counter(true);
    s = qtest_startf("-accel kvm -M q35 -m 64M -serial file:%s -kernel %s "
                     "-append ws=8",
                     serial, kernel);
    wait_for_serial(serial, 1);
    qtest_outl(s, 0xcf8, 0x80000090);
    for (int i = 0; i < 50; i++) {
        static const uint8_t modes[] = { 0x33, 0x31, 0x13, 0x10, 0x00 };

        qtest_outb(s, 0xcfd, modes[i % 5]);
        qtest_writeb(s, 0xc0000, i);
        g_assert_cmphex(qtest_readb(s, 0xc0000), ==,
                        modes[i % 5] & 1 ? i / 5 * 5 + 2 * (i % 5 == 2) : 0xff);
    }
    wait_for_serial(serial, 2);
    qtest_quit(s);
}

int main(int argc, char **argv)
{
    static const char *const files[] = { "disk",   "serial", "serial2", "out",
                                         "kernel", "m",      NULL };
    int ret;

    g_test_init(&argc, &argv, NULL);
    dir = g_dir_make_tmp("pc-run-XXXXXX", NULL);
    g_test_add_func("/pc-run/reset-and-exit", test_reset_and_exit);
    g_test_add_func("/pc-run/no-reboot", test_no_reboot);
    g_test_add_func("/pc-run/power-off", test_power_off);
    g_test_add_func("/pc-run/interrupts", test_interrupts);
    if (g_getenv("QTEST_GUEST_PAGE_COUNTER")) {
        g_test_add_data_func("/pc-run/elf/pvh", GINT_TO_POINTER(1), test_elf);
        g_test_add_data_func("/pc-run/elf/entry", NULL, test_elf);
        g_test_add_func("/pc-run/flips", test_flips);
    }
    ret = g_test_run();
    for (const char *const *f = files; *f; f++) {
        g_autofree char *path = g_build_filename(dir, *f, NULL);

        unlink(path);
    }
    rmdir(dir);
    return ret;
}
