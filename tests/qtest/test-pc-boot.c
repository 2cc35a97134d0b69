/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a PC puts into memory and registers before its first instruction: boot
 * sectors, ELF64 files, bzImages, made up here; and what it refuses.
 */
#include "qemu/osdep.h"

#include "libqtest.h"
#include "qemu/units.h"

static char *dir;

static char *path_of(const char *name)
{
    return g_build_filename(dir, name, NULL);
}

static char *save(const char *name, const void *data, size_t len)
{
    char *path = path_of(name);

    g_assert_true(g_file_set_contents(path, data, len, NULL));
    return path;
}

static void put(uint8_t *p, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        p[i] = v >> (8 * i);
    }
}

static void expect_regs(QTestState *s, const char *const *texts)
{
    g_autofree char *regs = qtest_hmp(s, "info registers");

    for (; *texts; texts++) {
        if (!strstr(regs, *texts)) {
            g_test_message("no \"%s\" in\n%s", *texts, regs);
            g_test_fail();
        }
    }
}

static void reset(QTestState *s)
{
    json_object_put(qtest_qmp_ok(s, "{'execute':'system_reset'}"));
    json_object_put(qtest_event(s, "RESET"));
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

static void expect_bad_kernel(const void *data, size_t len, const char *more,
                              const char *text)
{
    g_autofree char *path = save("bad", data, len);
    g_autofree char *args = g_strdup_printf("-M q35 -m 32M -kernel %s %s", path,
                                            more);

    expect_refusal(args, text);
}

/* ---- disks ---- */

static char *make_disk(uint8_t mark)
{
    uint8_t disk[1024] = { 0xeb, 0xfe, mark };

    put(disk + 510, 0xaa55, 2);
    disk[512] = 0x99; /* of the second sector nothing is seen */
    return save("disk", disk, sizeof(disk));
}

static void expect_sector(QTestState *s, uint8_t mark)
{
    static const char *const regs[] = {
        "EIP=00007c00", "CS =0000 00000000 0000ffff",
        "EDX=00000080", "CR0=00000010",
        "EFL=00000002", NULL
    };

    g_assert_cmphex(qtest_readw(s, 0x7c00), ==, 0xfeeb);
    g_assert_cmphex(qtest_readb(s, 0x7c02), ==, mark);
    g_assert_cmphex(qtest_readw(s, 0x7dfe), ==, 0xaa55);
    g_assert_cmphex(qtest_readb(s, 0x7e00), ==, 0);
    expect_regs(s, regs);
}

static void test_sector(gconstpointer form)
{
    g_autofree char *disk = make_disk(1);
    g_autofree char *args = g_strdup_printf(form, disk);
    QTestState *s = qtest_start(args);

    expect_sector(s, 1);
    /* Read anew at each reset, waking included. */
    qtest_writel(s, 0x7c00, 0);
    g_free(make_disk(2));
    reset(s);
    expect_sector(s, 2);
    qtest_writel(s, 0x7c00, 0);
    qtest_outw(s, 0x604, 0x2401);
    json_object_put(qtest_event(s, "SUSPEND"));
    json_object_put(qtest_qmp_ok(s, "{'execute':'system_wakeup'}"));
    expect_sector(s, 2);
    qtest_quit(s);
}

static void test_sector_incoming(void)
{
    g_autofree char *disk = make_disk(3);
    QTestState *s = qtest_startf("-M q35 -m 4M -drive file=%s,format=raw "
                                 "-incoming defer",
                                 disk);

    g_assert_cmphex(qtest_readl(s, 0x7c00), ==, 0);
    g_assert_cmphex(qtest_readl(s, 0xe0000), ==, 0);
    qtest_quit(s);
}

static void test_bad_disks(void)
{
    g_autofree char *disk = make_disk(1);
    g_autofree char *args = g_strdup_printf("-M q35 -hda %s", disk);
    g_autofree char *twice = g_strdup_printf(
        "-M q35 -drive if=none,id=d,file=%s -device ide-hd,drive=d "
        "-device ide-hd,drive=d",
        disk);
    g_autofree char *wrong = g_strdup_printf(
        "-M q35 -drive if=none,id=d,file=%s -device "
        "ide-hd,drive=d,secs=1,cyls=0,heads=17",
        disk);
    g_autofree char *iface = g_strdup_printf("-M q35 -drive file=%s,if=virtio",
                                             disk);
    g_autofree char *format = g_strdup_printf(
        "-M q35 -drive file=%s,format=qcow2", disk);
    uint8_t bad[512] = { 0 };

    expect_refusal(twice, "drive 'd' is in use by another disk");
    expect_refusal(wrong, "cyls is 0, expected 1 to 65535");
    expect_refusal(iface, "if=virtio: there is no such controller");
    expect_refusal(format, "only raw images can be read");
    expect_refusal("-M q35 -device ide-hd", "'drive' is missing");
    expect_refusal("-M q35 -device ide-hd,drive=x", "there is no drive 'x'");
    expect_refusal("-M q35 -drive format=raw", "'file' is missing");
    expect_refusal("-M q35 -drive file=/nix/x", "/nix/x");
    expect_refusal("-M none -drive file=/dev/null", "has no disks");
    g_free(save("disk", bad, 512));
    expect_refusal(args, "ends with 0x0000, expected 0xaa55");
    g_free(save("disk", bad, 100));
    expect_refusal(args, "has 100 bytes, a boot sector has 512");
    memcpy(bad, "QFI\xfb", 4);
    g_free(save("disk", bad, 512));
    expect_refusal(args, "is a qcow2 image");
}

/* ---- ELF64 ---- */

enum {
    ELF_SIZE = 0x2000,
    CODE = 0x1000,
    NOTE = 0x800
};

/* One segment of 0x1000 bytes (0x3000 in memory) at 2 MiB; a PVH note. */
static void make_elf(uint8_t *e, bool pvh, uint64_t entry)
{
    uint8_t *ph = e + 64;

    memset(e, 0, ELF_SIZE);
    memcpy(e, "\177ELF\2\1\1", 7);
    put(e + 16, 2, 2);
    put(e + 18, 62, 2);
    put(e + 24, 0x200010, 8);
    put(e + 32, 64, 8);
    put(e + 54, 56, 2);
    put(e + 56, pvh ? 2 : 1, 2);
    put(ph, 1, 4);
    put(ph + 8, CODE, 8);
    put(ph + 16, 0x200000, 8);
    put(ph + 24, 0x200000, 8);
    put(ph + 32, 0x1000, 8);
    put(ph + 40, 0x3000, 8);
    put(ph + 56, 4, 4);
    put(ph + 56 + 8, NOTE, 8);
    put(ph + 56 + 32, 0x40, 8);
    /* Another note first. */
    put(e + NOTE, 5, 4);
    put(e + NOTE + 4, 3, 4);
    put(e + NOTE + 8, 18, 4);
    memcpy(e + NOTE + 12, "Xens", 5);
    put(e + NOTE + 24, 4, 4);
    put(e + NOTE + 28, 4, 4);
    put(e + NOTE + 32, 18, 4);
    memcpy(e + NOTE + 36, "Xen", 4);
    put(e + NOTE + 40, entry, 4);
    memcpy(e + CODE, "code", 4);
}

static void test_pvh(void)
{
    static const char *const regs[] = { "EIP=00200020",
                                        "EBX=00091000",
                                        "CR0=00000011",
                                        "CS =0008 00000000 ffffffff 00c09b00",
                                        "CR4=00000000",
                                        "TR =0020",
                                        NULL };
    uint8_t elf[ELF_SIZE], initrd[5000];
    g_autofree char *kernel = NULL, *rd = NULL;
    char text[16] = "";
    uint64_t mod, map;
    QTestState *s;

    make_elf(elf, true, 0x200020);
    kernel = save("pvh", elf, sizeof(elf));
    memset(initrd, 0xab, sizeof(initrd));
    rd = save("initrd", initrd, sizeof(initrd));
    s = qtest_startf("-M q35 -m 5G -kernel %s -initrd %s -append 'ws=8 x'",
                     kernel, rd);
    expect_regs(s, regs);
    g_assert_cmphex(qtest_readl(s, 0x200000), ==, 0x65646f63);
    g_assert_cmphex(qtest_readl(s, 0x91000), ==, 0x336ec578);
    g_assert_cmphex(qtest_readl(s, 0x91004), ==, 1);
    g_assert_cmphex(qtest_readl(s, 0x9100c), ==, 1);
    qtest_memread(s, qtest_readq(s, 0x91018), text, 7);
    g_assert_cmpstr(text, ==, "ws=8 x");
    g_assert_cmphex(qtest_readq(s, 0x91020), ==, 0xe0000);
    mod = qtest_readq(s, 0x91010);
    g_assert_cmphex(qtest_readq(s, mod), ==, 0x80000000 - 0x2000);
    g_assert_cmphex(qtest_readq(s, mod + 8), ==, sizeof(initrd));
    g_assert_cmphex(qtest_readb(s, 0x80000000 - 0x2000 + 4999), ==, 0xab);
    map = qtest_readq(s, 0x91028);
    g_assert_cmpint(qtest_readl(s, 0x91030), ==, 5);
    g_assert_cmphex(qtest_readq(s, map + 8), ==, 0x9f000);
    g_assert_cmphex(qtest_readq(s, map + 3 * 24), ==, 0x100000);
    g_assert_cmphex(qtest_readq(s, map + 3 * 24 + 8), ==, 0x7ff00000);
    g_assert_cmphex(qtest_readq(s, map + 4 * 24), ==, 4 * GiB);
    g_assert_cmphex(qtest_readq(s, map + 4 * 24 + 8), ==, 3 * GiB);
    g_assert_cmphex(qtest_readl(s, map + 4 * 24 + 16), ==, 1);

    /* A reset restores all of it, zeros behind the segment included. */
    qtest_writel(s, 0x200000, 0);
    qtest_writel(s, 0x202ffc, 1);
    qtest_writel(s, 0x91000, 0);
    reset(s);
    expect_regs(s, regs);
    g_assert_cmphex(qtest_readl(s, 0x200000), ==, 0x65646f63);
    g_assert_cmphex(qtest_readl(s, 0x202ffc), ==, 0);
    g_assert_cmphex(qtest_readl(s, 0x91000), ==, 0x336ec578);
    qtest_quit(s);
}

static void test_elf_entry(void)
{
    static const char *const regs[] = {
        "RIP=0000000000200010",
        "RDI=0000000000098000",
        "CS =0010 0000000000000000 ffffffff 00a09b00",
        "CR0=80010033",
        "CR3=0000000000092000",
        "CR4=00000020",
        "EFER=0000000000000500",
        NULL
    };
    uint8_t elf[ELF_SIZE];
    g_autofree char *kernel = NULL;
    uint64_t pdpt, pd;
    QTestState *s;

    make_elf(elf, false, 0);
    kernel = save("elf", elf, sizeof(elf));
    s = qtest_startf("-M pc -m 8M -kernel %s -append y", kernel);
    expect_regs(s, regs);
    g_assert_cmphex(qtest_readb(s, 0x98000), ==, 'y');
    pdpt = qtest_readq(s, 0x92000);
    g_assert_cmphex(pdpt, ==, 0x93003);
    pd = qtest_readq(s, 0x93018);
    g_assert_cmphex(pd, ==, 0x97003);
    g_assert_cmphex(qtest_readq(s, 0x97ff8), ==, 0xffe00083);
    qtest_quit(s);
    s = qtest_startf("-M pc -m 8M -kernel %s", kernel);
    expect_regs(s, (const char *const[]){ "RDI=0000000000000000", NULL });
    qtest_quit(s);
}

static void test_bad_order(void)
{
    expect_refusal("-M q35 -boot d", "'order=d' is not supported");
    expect_refusal("-M q35 -boot menu=on", "'menu=on' is not supported");
    expect_refusal("-M q35 -boot once=c", "'once=c' is not supported");
}

static void test_bad_elf(void)
{
    uint8_t elf[ELF_SIZE];
    g_autofree char *rd = save("initrd", "x", 1);
    g_autofree char *with_rd = g_strdup_printf("-initrd %s", rd);
    g_autofree char *huge = g_strnfill(30000, 'a');
    g_autofree char *append = g_strdup_printf("-append %s", huge);

    make_elf(elf, true, 0x203000);
    expect_bad_kernel(elf, ELF_SIZE, "",
                      "PVH entry point 0x203000 is not loaded");
    make_elf(elf, false, 0);
    expect_bad_kernel(elf, ELF_SIZE, with_rd, "has no PVH entry point");
    put(elf + 18, 183, 2);
    expect_bad_kernel(elf, ELF_SIZE, "", "ELF machine is 183, expected 62");
    make_elf(elf, true, 0x200000);
    put(elf + 64 + 24, 0x8e000, 8); /* into the board's own area */
    put(elf + 24, 0x8e010, 8);
    put(elf + 64 + 16, 0x8e000, 8);
    put(elf + NOTE + 40, 0x8e000, 4);
    expect_bad_kernel(elf, ELF_SIZE, "", "overlaps");
    make_elf(elf, true, 0x200000);
    put(elf + 64 + 24, 64 * MiB, 8);
    expect_bad_kernel(elf, ELF_SIZE, "", "does not fit in RAM");
    make_elf(elf, true, 0x200000);
    expect_bad_kernel(elf, ELF_SIZE, append, "-append has 30000 characters");
    expect_bad_kernel("plain text", 10, "",
                      "neither an ELF64 file nor a Linux bzImage");
    /* A note that is longer than its segment says is none. */
    make_elf(elf, true, 0x200000);
    put(elf + NOTE + 28, 0xfffffff0, 4);
    expect_bad_kernel(elf, ELF_SIZE, with_rd, "has no PVH entry point");
}

/* ---- bzImage ---- */

enum {
    BZ_SETUP = 2 * 512,
    BZ_SIZE = BZ_SETUP + 0x1000
};

static void make_bzimage(uint8_t *k)
{
    memset(k, 0, BZ_SIZE);
    k[0x1f1] = 1;
    put(k + 0x1fe, 0xaa55, 2);
    k[0x201] = 0x68; /* the header ends at 0x26a */
    memcpy(k + 0x202, "HdrS", 4);
    put(k + 0x206, 0x20f, 2);
    k[0x211] = 1;
    put(k + 0x22c, 0x7fffffff, 4);
    put(k + 0x230, 0x200000, 4);
    k[0x234] = 1;
    put(k + 0x236, 1, 2);
    put(k + 0x238, 20, 4);
    put(k + 0x258, 0x1000000, 8);
    put(k + 0x260, 0x800000, 4);
    memcpy(k + BZ_SETUP, "kern", 4);
}

static void test_bzimage(void)
{
    static const char *const regs[] = {
        "RIP=0000000001000200", "RSI=0000000000091000",
        "CS =0010 0000000000000000 ffffffff 00a09b00", "EFER=0000000000000500",
        NULL
    };
    uint8_t k[BZ_SIZE];
    g_autofree char *kernel = NULL, *rd = save("initrd", "init", 4);
    QTestState *s;

    make_bzimage(k);
    kernel = save("bz", k, sizeof(k));
    s = qtest_startf("-M q35 -m 64M -kernel %s -initrd %s -append quiet",
                     kernel, rd);
    expect_regs(s, regs);
    g_assert_cmphex(qtest_readl(s, 0x1000000), ==, 0x6e72656b);
    g_assert_cmphex(qtest_readl(s, 0x91202), ==, 0x53726448);
    g_assert_cmphex(qtest_readb(s, 0x91210), ==, 0xff);
    g_assert_cmphex(qtest_readl(s, 0x91228), ==, 0x98000);
    g_assert_cmphex(qtest_readl(s, 0x98000), ==, 0x65697571);
    g_assert_cmphex(qtest_readl(s, 0x91218), ==, 0x3fff000);
    g_assert_cmphex(qtest_readl(s, 0x9121c), ==, 4);
    g_assert_cmphex(qtest_readl(s, 0x3fff000), ==, 0x74696e69);
    g_assert_cmphex(qtest_readq(s, 0x91070), ==, 0xe0000);
    g_assert_cmphex(qtest_readb(s, 0x911e8), ==, 4);
    g_assert_cmphex(qtest_readq(s, 0x912d0 + 8), ==, 0x9f000);
    g_assert_cmphex(qtest_readq(s, 0x912d0 + 60), ==, 0x100000);
    g_assert_cmphex(qtest_readq(s, 0x912d0 + 68), ==, 63 * MiB);
    qtest_quit(s);

    /* Not enough RAM where it wants to be: it moves. */
    s = qtest_startf("-M q35 -m 16M -kernel %s", kernel);
    expect_regs(s, (const char *const[]){ "RIP=0000000000200200", NULL });
    g_assert_cmphex(qtest_readl(s, 0x200000), ==, 0x6e72656b);
    g_assert_cmphex(qtest_readl(s, 0x9121c), ==, 0);
    qtest_quit(s);
}

static void test_bad_bzimage(void)
{
    uint8_t k[BZ_SIZE];
    g_autofree char *big = g_malloc0(9 * MiB);
    g_autofree char *rd = save("initrd", big, 9 * MiB);
    g_autofree char *with_rd = g_strdup_printf("-initrd %s", rd);

    make_bzimage(k);
    put(k + 0x206, 0x20b, 2);
    expect_bad_kernel(k, BZ_SIZE, "", "boot protocol 2.11, at least 2.12");
    make_bzimage(k);
    put(k + 0x236, 0, 2);
    expect_bad_kernel(k, BZ_SIZE, "", "has no 64-bit entry");
    make_bzimage(k);
    k[0x1f1] = 100;
    expect_bad_kernel(k, BZ_SIZE, "", "its setup part alone 0xca00");
    make_bzimage(k);
    put(k + 0x260, 0x4000000, 4);
    expect_bad_kernel(k, BZ_SIZE, "", "needs 0x4000000 bytes at");
    make_bzimage(k);
    expect_bad_kernel(k, BZ_SIZE, "-append 123456789012345678901",
                      "-append has 21 characters");
    expect_bad_kernel(k, BZ_SIZE, with_rd,
                      "do not fit between the kernel's end, 0x1800000, and "
                      "0x2000000");
}

/* ---- ACPI and waking ---- */

static void expect_sum(QTestState *s, uint64_t addr, uint32_t len)
{
    g_autofree uint8_t *t = g_malloc(len);
    uint8_t sum = 0;

    qtest_memread(s, addr, t, len);
    for (uint32_t i = 0; i < len; i++) {
        sum += t[i];
    }
    g_assert_cmpint(sum, ==, 0);
}

static void expect_table(QTestState *s, uint64_t addr, const char *signature)
{
    char text[5] = "";

    qtest_memread(s, addr, text, 4);
    g_assert_cmpstr(text, ==, signature);
    expect_sum(s, addr, qtest_readl(s, addr + 4));
}

static void test_acpi(void)
{
    QTestState *s = qtest_start("-M q35 -m 4M -smp 3");
    uint64_t xsdt, fadt, madt;

    expect_sum(s, 0xe0000, 20);
    expect_sum(s, 0xe0000, 36);
    xsdt = qtest_readq(s, 0xe0018);
    expect_table(s, xsdt, "XSDT");
    fadt = qtest_readq(s, xsdt + 36);
    madt = qtest_readq(s, xsdt + 44);
    expect_table(s, fadt, "FACP");
    expect_table(s, madt, "APIC");
    expect_table(s, qtest_readl(s, fadt + 40), "DSDT");
    g_assert_cmphex(qtest_readl(s, qtest_readl(s, fadt + 36)), ==, 0x53434146);
    g_assert_cmphex(qtest_readl(s, fadt + 64), ==, 0x604);
    /* Three vCPUs, one I/O APIC behind them. */
    g_assert_cmphex(qtest_readl(s, madt + 44 + 2 * 8), ==, 0x02020800);
    g_assert_cmphex(qtest_readb(s, madt + 44 + 3 * 8), ==, 1);
    qtest_quit(s);

    s = qtest_start("-M q35,acpi=off -m 4M");
    g_assert_cmphex(qtest_readl(s, 0xe0000), ==, 0);
    qtest_quit(s);
}

/* A guest that left a waking vector goes on there, and RAM is as it left it. */
static void test_waking_vector(void)
{
    uint8_t elf[ELF_SIZE];
    g_autofree char *kernel = NULL;
    QTestState *s;

    make_elf(elf, true, 0x200020);
    kernel = save("pvh", elf, sizeof(elf));
    s = qtest_startf("-M q35 -m 8M -kernel %s", kernel);
    qtest_writel(s, 0x9f000 + 12, 0x9a123);
    qtest_writel(s, 0x200000, 0x11223344);
    qtest_outw(s, 0x604, 0x2401);
    json_object_put(qtest_event(s, "SUSPEND"));
    json_object_put(qtest_qmp_ok(s, "{'execute':'system_wakeup'}"));
    expect_regs(s, (const char *const[]){ "EIP=00000003",
                                          "CS =9a12 0009a120 0000ffff",
                                          "CR0=00000010", NULL });
    g_assert_cmphex(qtest_readl(s, 0x200000), ==, 0x11223344);
    g_assert_cmphex(qtest_readl(s, 0x9f00c), ==, 0x9a123);
    /* Any other reset loads all anew, the FACS included. */
    reset(s);
    g_assert_cmphex(qtest_readl(s, 0x200000), ==, 0x65646f63);
    g_assert_cmphex(qtest_readl(s, 0x9f00c), ==, 0);
    expect_regs(s, (const char *const[]){ "EIP=00200020", NULL });
    qtest_quit(s);
}

static void test_nothing(void)
{
    QTestState *s = qtest_start("-M q35 -m 4M -boot strict=on,menu=off "
                                "-boot c");

    expect_regs(s, (const char *const[]){ "HLT=1", NULL });
    qtest_quit(s);
}

int main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    dir = g_dir_make_tmp("pc-boot-XXXXXX", NULL);
    g_test_add_data_func("/pc-boot/sector/drive",
                         "-M q35 -m 4M -drive file=%s,format=raw", test_sector);
    g_test_add_data_func("/pc-boot/sector/ide-hd",
                         "-M pc-q35-11.1, -m 4M -drive "
                         "if=none,id=d0,file=%s,format=raw -device "
                         "ide-hd,drive=d0,secs=1,cyls=1,heads=1",
                         test_sector);
    g_test_add_data_func("/pc-boot/sector/hda", "-M pc -m 4M -hda %s",
                         test_sector);
    g_test_add_func("/pc-boot/sector/incoming", test_sector_incoming);
    g_test_add_func("/pc-boot/sector/bad", test_bad_disks);
    g_test_add_func("/pc-boot/elf/pvh", test_pvh);
    g_test_add_func("/pc-boot/elf/entry", test_elf_entry);
    g_test_add_func("/pc-boot/elf/bad", test_bad_elf);
    g_test_add_func("/pc-boot/bzimage/good", test_bzimage);
    g_test_add_func("/pc-boot/bzimage/bad", test_bad_bzimage);
    g_test_add_func("/pc-boot/acpi", test_acpi);
    g_test_add_func("/pc-boot/waking-vector", test_waking_vector);
    g_test_add_func("/pc-boot/nothing", test_nothing);
    g_test_add_func("/pc-boot/order", test_bad_order);
    ret = g_test_run();
    for (const char *const *p =
             (const char *const[]){ "bad", "disk", "pvh", "initrd", "elf", "bz",
                                    NULL };
         *p; p++) {
        g_autofree char *path = path_of(*p);

        unlink(path);
    }
    rmdir(dir);
    return ret;
}
