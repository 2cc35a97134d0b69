/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory maps of the PCs: holes, what the host bridge flips, firmware. */
#include "qemu/osdep.h"

#include "libqtest.h"
#include "qemu/units.h"

/* Every expected line must be in `info mtree -f`. */
static void expect_map(const char *args, const char *const *lines)
{
    QTestState *s = qtest_start(args);
    g_autofree char *map = qtest_hmp(s, "info mtree -f");

    for (; *lines; lines++) {
        if (!strstr(map, *lines)) {
            g_test_message("%s: no \"%s\" in\n%s", args, *lines, map);
            g_test_fail();
        }
    }
    qtest_quit(s);
}

static void test_maps(void)
{
    static const char *const small[] = {
        "0000000000000000-000000000009ffff (prio 0, ram): pc.ram",
        "00000000000a0000-00000000000bffff (prio -1, i/o): isa-nothing",
        "00000000000c0000-00000000000dffff (prio 0, ram): pc.ram @0",
        "00000000000e0000-00000000000fffff (prio 0, rom): pc.ram @0",
        "0000000000100000-00000000001fffff (prio 0, ram): pc.ram @0",
        NULL,
    };
    static const char *const below[] = {
        "0000000000100000-00000000afffefff (prio 0, ram): pc.ram", NULL
    };
    static const char *const above[] = {
        "0000000000100000-000000007fffffff (prio 0, ram): pc.ram",
        "0000000100000000-000000012fffffff (prio 0, ram): pc.ram "
        "@0000000080000000",
        NULL,
    };
    static const char *const pc_above[] = {
        "0000000000100000-00000000bfffffff (prio 0, ram): pc.ram",
        "0000000100000000-000000011fffffff (prio 0, ram): pc.ram "
        "@00000000c0000000",
        NULL,
    };
    static const char *const split[] = {
        "0000000000100000-0000000000400fff (prio 0, ram): m",
        "0000000100000000-00000001003fefff (prio 0, ram): m @0000000000401000",
        NULL,
    };

    expect_map("-M q35 -m 2M", small);
    expect_map("-M pc -m 2M", small);
    expect_map("-M q35 -m 2949116K", below + 1); /* starts at all */
    expect_map(
        "-M q35,memory-backend=m -object "
        "memory-backend-ram,id=m,size=2883580K",
        (const char *const[]){
            "0000000000100000-00000000afffefff (prio 0, ram): m", NULL });
    expect_map("-M q35 -m 2816M", above);
    expect_map("-M pc -m 3584M", pc_above);
    /* Misaligned, as memory slots may be. */
    expect_map("-M q35,max-ram-below-4g=4100K,memory-backend=m -object "
               "memory-backend-ram,id=m,size=8M",
               split);
}

/* Options merge, and an empty one is none. */
static void test_empty_options(void)
{
    QTestState *s = qtest_start("-machine pc-q35-11.1, -machine "
                                "memory-backend=m, -object "
                                "memory-backend-ram,id=m,size=150M,share=off");
    json_object *ret = qtest_qmp_ok(s,
                                    "{'execute':'query-memory-size-summary'}");

    g_assert_cmpint(json_path_int(ret, "base-memory"), ==, 150 * MiB);
    json_object_put(ret);
    qtest_quit(s);
}

/* ---- host bridge ---- */

static void pci_select(QTestState *s, unsigned reg)
{
    qtest_outl(s, 0xcf8, 0x80000000 | (reg & ~3u));
}

static void pam_write(QTestState *s, unsigned reg, uint8_t v)
{
    pci_select(s, reg);
    qtest_outb(s, 0xcfc + (reg & 3), v);
    g_assert_cmphex(qtest_inb(s, 0xcfc + (reg & 3)), ==, v);
}

static void test_config_space(gconstpointer data)
{
    bool q35 = g_str_equal(data, "q35");
    QTestState *s = qtest_startf("-M %s -m 4M", (const char *)data);

    pci_select(s, 0);
    g_assert_cmphex(qtest_inl(s, 0xcf8), ==, 0x80000000);
    g_assert_cmphex(qtest_inl(s, 0xcfc), ==, q35 ? 0x29c08086 : 0x12378086);
    g_assert_cmphex(qtest_inw(s, 0xcfe), ==, q35 ? 0x29c0 : 0x1237);
    qtest_outl(s, 0xcfc, 0); /* cannot be written */
    g_assert_cmphex(qtest_inw(s, 0xcfc), ==, 0x8086);
    pci_select(s, 8);
    g_assert_cmphex(qtest_inw(s, 0xcfe), ==, 0x0600);
    qtest_outl(s, 0xcf8, 0x80000800); /* no other device */
    g_assert_cmphex(qtest_inl(s, 0xcfc), ==, 0xffffffff);
    qtest_outl(s, 0xcf8, 0x80010000);
    g_assert_cmphex(qtest_inl(s, 0xcfc), ==, 0xffffffff);
    qtest_outl(s, 0xcf8, 0);
    g_assert_cmphex(qtest_inl(s, 0xcfc), ==, 0xffffffff);
    qtest_outb(s, 0xcf8, 0x80); /* only as a whole */
    g_assert_cmphex(qtest_inl(s, 0xcf8), ==, 0);
    qtest_quit(s);
}

static void expect_segment(QTestState *s, uint64_t addr, unsigned mode,
                           uint8_t in_ram)
{
    uint8_t fresh = in_ram + 1;

    switch (mode) {
    case 3:
        g_assert_cmphex(qtest_readb(s, addr), ==, in_ram);
        qtest_writeb(s, addr, fresh);
        g_assert_cmphex(qtest_readb(s, addr), ==, fresh);
        qtest_writeb(s, addr, in_ram);
        break;
    case 1:
        g_assert_cmphex(qtest_readb(s, addr), ==, in_ram);
        qtest_writeb(s, addr, fresh);
        g_assert_cmphex(qtest_readb(s, addr), ==, in_ram);
        break;
    default:
        g_assert_cmphex(qtest_readb(s, addr), ==, 0xff);
        qtest_writeb(s, addr, fresh);
        g_assert_cmphex(qtest_readl(s, addr), ==, 0xffffffff);
        break;
    }
}

static void test_segments(gconstpointer data)
{
    QTestState *s = qtest_startf("-M %s,acpi=off -m 4M", (const char *)data);
    unsigned pam = g_str_equal(data, "q35") ? 0x90 : 0x59;

    /* The byte at the end of each segment is its number. */
    for (unsigned i = 0; i < 13; i++) {
        unsigned reg = pam + (i == 12 ? 0 : 1 + i / 2);

        pam_write(s, reg, i == 12 ? 0x30 : 0x33);
        qtest_writeb(s, i == 12 ? 0xfffff : 0xc3fff + i * 0x4000, i * 2);
    }
    for (unsigned i = 0; i < 13; i++) {
        unsigned reg = pam + (i == 12 ? 0 : 1 + i / 2);
        unsigned shift = i == 12 || i % 2 ? 4 : 0;
        uint64_t last = i == 12 ? 0xfffff : 0xc3fff + i * 0x4000;

        for (unsigned n = 0; n < 5; n++) {
            static const uint8_t modes[] = { 3, 1, 0, 2, 3 };
            unsigned mode = modes[n];
            uint8_t others = i == 12 ? 0 : 0x33 & ~(3 << shift);

            pam_write(s, reg, others | mode << shift);
            expect_segment(s, last & ~3, mode, 0);
            /* The neighbours are as before. */
            g_assert_cmphex(qtest_readb(s, last + 1), ==, 0);
            if (mode & 1) {
                g_assert_cmphex(qtest_readb(s, last), ==, i * 2);
            }
        }
    }
    g_assert_cmphex(qtest_readb(s, 0xa0000), ==, 0xff);
    qtest_quit(s);
}

static void test_reset_and_migration(void)
{
    QTestState *s = qtest_start("-M q35 -m 4M");
    QTestState *to = qtest_start("-M q35 -m 4M -incoming defer");
    g_autofree char *uri = g_strdup_printf("unix:%s/m", qtest_dir(s));

    pam_write(s, 0x91, 0x33);
    qtest_writeb(s, 0xc0000, 0x11);
    pam_write(s, 0x91, 0x10); /* 0xc0000 hidden, 0xc4000 read only */
    json_object_put(qtest_qmp_ok(
        to, "{'execute':'migrate-incoming','arguments':{'uri':'%s'}}", uri));
    json_object_put(
        qtest_qmp_ok(s, "{'execute':'migrate','arguments':{'uri':'%s'}}", uri));
    json_object_put(qtest_event(to, "RESUME"));
    g_assert_cmphex(qtest_readb(to, 0xc0000), ==, 0xff);
    qtest_writeb(to, 0xc4000, 0x22);
    g_assert_cmphex(qtest_readb(to, 0xc4000), ==, 0);
    json_object_put(qtest_qmp_ok(to, "{'execute':'system_reset'}"));
    json_object_put(qtest_event(to, "RESET"));
    g_assert_cmphex(qtest_readb(to, 0xc0000), ==, 0x11);
    qtest_writeb(to, 0xf0000, 0x33); /* what firmware protects */
    g_assert_cmphex(qtest_readb(to, 0xf0000), ==, 0);
    qtest_quit(to);
    qtest_quit(s);
}

/* ---- firmware ---- */

static char *make_firmware(const char *dir, size_t size)
{
    char *path = g_build_filename(dir, "firmware", NULL);
    g_autofree char *data = g_malloc0(size);

    data[0] = 'F';
    data[size - 1] = 'L';
    if (size > 0x20000) {
        data[size - 0x20000] = 'M';
    }
    g_assert_true(g_file_set_contents(path, data, size, NULL));
    return path;
}

static void test_firmware(void)
{
    g_autofree char *dir = g_dir_make_tmp("pc-memory-XXXXXX", NULL);
    g_autofree char *path = make_firmware(dir, 256 * KiB);
    g_autofree char *regs = NULL;
    QTestState *s = qtest_startf("-M q35 -m 4M -bios %s", path);

    g_assert_cmphex(qtest_readb(s, 0xfffc0000), ==, 'F');
    g_assert_cmphex(qtest_readb(s, 0xffffffff), ==, 'L');
    qtest_writeb(s, 0xffffffff, 0);
    g_assert_cmphex(qtest_readb(s, 0xffffffff), ==, 'L');
    g_assert_cmphex(qtest_readb(s, 0xe0000), ==, 'M');
    g_assert_cmphex(qtest_readb(s, 0xfffff), ==, 'L');
    regs = qtest_hmp(s, "info registers");
    g_assert_nonnull(strstr(regs, "EIP=0000fff0"));
    g_assert_nonnull(strstr(regs, "CS =f000 ffff0000"));
    /* As firmware does: RAM behind it, filled, and protected. */
    pam_write(s, 0x90, 0x30);
    g_assert_cmphex(qtest_readb(s, 0xfffff), ==, 0);
    qtest_writeb(s, 0xfffff, 'r');
    pam_write(s, 0x90, 0x10);
    qtest_writeb(s, 0xfffff, 'x');
    g_assert_cmphex(qtest_readb(s, 0xfffff), ==, 'r');
    json_object_put(qtest_qmp_ok(s, "{'execute':'system_reset'}"));
    json_object_put(qtest_event(s, "RESET"));
    g_assert_cmphex(qtest_readb(s, 0xfffff), ==, 'L');
    qtest_quit(s);
    unlink(path);
    rmdir(dir);
}

static void expect_refusal(const char *args, const char *text)
{
    g_autofree char *all = g_strdup_printf("-accel qtest %s", args);
    g_autofree char *err = NULL;

    g_assert_cmpint(qtest_run(all, NULL, &err), ==, 1);
    if (!strstr(err, text)) {
        g_test_message("%s: no \"%s\" in: %s", args, text, err);
        g_test_fail();
    }
}

static void test_refusals(void)
{
    g_autofree char *dir = g_dir_make_tmp("pc-memory-XXXXXX", NULL);
    g_autofree char *path = make_firmware(dir, 65535);
    g_autofree char *args = g_strdup_printf("-M q35 -bios %s", path);

    expect_refusal(args, "65535 bytes, expected a multiple of 65536");
    unlink(path);
    expect_refusal(args, "could not open");
    rmdir(dir);
    expect_refusal("-M q35 -m 1M", "1024 KiB, this machine needs 2048");
    expect_refusal("-M q35 -bios /dev/zero -kernel x",
                   "-bios and -kernel exclude each other");
    expect_refusal("-M q35,max-ram-below-4g=1M", "at least 2 MiB");
    expect_refusal("-M q35,max-ram-below-4g=2049K", "multiple of 4 KiB");
    expect_refusal("-M q35,smm=on", "there is no system management mode");
    expect_refusal("-M q35 -smp 241", "240");
    expect_refusal("-M q35 -smp 234,sockets=13,cores=9,threads=2", "APIC id");
    expect_refusal("-M pc -device virtio-net-pci",
                   "there is no device 'virtio-net-pci'; there are: ide-hd, "
                   "isa-debug-exit, isa-serial");
    expect_refusal("-M pc -device isa-serial,iobase=0x3fc,irq=5",
                   "ports 0x3fc to 0x403 are taken by isa-serial");
    expect_refusal("-M pc -device isa-serial,index=4", "expected 0 to 3");
    expect_refusal("-M pc -device isa-serial,index=1,irq=16",
                   "interrupt 16 is beyond the last one");
    expect_refusal("-M pc -device isa-debug-exit,iobase=0xffff",
                   "beyond the last one, 0xffff");
    expect_refusal("-M pc -device isa-debug-exit,iosize=9", "expected 1 to 8");
    expect_refusal("-M none -device isa-debug-exit", "has no ISA bus");
    expect_refusal("-M q35 -device isa-serial,chardev=nix", "no chardev 'nix'");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pc-memory/maps", test_maps);
    g_test_add_func("/pc-memory/empty-options", test_empty_options);
    g_test_add_data_func("/pc-memory/config-space/q35", "q35",
                         test_config_space);
    g_test_add_data_func("/pc-memory/config-space/pc", "pc", test_config_space);
    g_test_add_data_func("/pc-memory/segments/q35", "q35", test_segments);
    g_test_add_data_func("/pc-memory/segments/pc", "pc", test_segments);
    g_test_add_func("/pc-memory/reset-and-migration", test_reset_and_migration);
    g_test_add_func("/pc-memory/firmware", test_firmware);
    g_test_add_func("/pc-memory/refusals", test_refusals);
    return g_test_run();
}
