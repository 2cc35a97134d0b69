/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Images in RAM: ELF files, Linux Images, raw blobs, gzip; made-up headers;
 * what a reset brings back and what an incoming stream forbids.
 */
#include "qemu/osdep.h"

#include <gio/gio.h>

#include "arm-test.h"
#include "hw/arm/boot.h"
#include "hw/loader.h"
#include "qemu/error.h"
#include "qemu/units.h"
#include "system/memory.h"
#include "system/reset.h"
#include "system/runstate.h"

#define BASE UINT64_C(0x40000000)
#define SIZE (16 * MiB)

static const LoaderRam ram = { BASE, SIZE };

static void check_ram(hwaddr addr, const char *want)
{
    char got[64] = "";

    cpu_physical_memory_read(addr, got, strlen(want));
    g_assert_cmpmem(got, strlen(want), want, strlen(want));
}

/* @err: by address, since arguments are evaluated in any order. */
static void assert_error(bool ok, Error **err, const char *words)
{
    g_assert_false(ok);
    if (!strstr(error_get_pretty(*err), words)) {
        g_error("'%s' is not in '%s'", words, error_get_pretty(*err));
    }
    error_free(*err);
    *err = NULL;
}

/* ---- blobs ---- */

static void test_reset_brings_back(void)
{
    rom_clear();
    g_assert_true(rom_add_blob("a", g_strdup("hello"), 5, 16, BASE + 0x1000,
                               &ram, &error_abort));
    stb_phys(&address_space_memory, BASE + 0x100e, 7);
    qemu_devices_reset();
    check_ram(BASE + 0x1000, "hello");
    g_assert_cmpint(ldub_phys(&address_space_memory, BASE + 0x100e), ==, 0);
    cpu_physical_memory_write(BASE + 0x1000, "XXXXX", 5);
    qemu_devices_reset();
    check_ram(BASE + 0x1000, "hello");
}

static void test_incoming_is_spared(void)
{
    rom_clear();
    g_assert_true(
        rom_add_blob("a", g_strdup("hello"), 5, 5, BASE, &ram, &error_abort));
    cpu_physical_memory_write(BASE, "guest", 5);
    runstate_set(RUN_STATE_INMIGRATE);
    qemu_devices_reset();
    check_ram(BASE, "guest");
    runstate_set(RUN_STATE_PRELAUNCH);
    qemu_devices_reset();
    check_ram(BASE, "hello");
}

static void test_blob_bounds(void)
{
    static const struct {
        hwaddr addr;
        uint64_t size;
        bool ok;
    } cases[] = {
        { BASE - 1, 2, false },        { BASE + SIZE - 2, 2, true },
        { BASE + SIZE - 1, 2, false }, { BASE, SIZE, true },
        { BASE, SIZE + 1, false },     { BASE + 8, UINT64_MAX - 4, false },
        { UINT64_MAX - 1, 2, false },  { 0, 2, false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        Error *err = NULL;
        bool ok;

        rom_clear();
        ok = rom_add_blob("x", g_strdup("ab"), 2, cases[i].size, cases[i].addr,
                          &ram, &err);
        g_assert_cmpint(ok, ==, cases[i].ok);
        error_free(err);
    }
}

static void test_blob_overlap(void)
{
    Error *err = NULL;

    rom_clear();
    g_assert_true(rom_add_blob("one", g_strdup("ab"), 2, 0x10, BASE + 0x10,
                               &ram, &error_abort));
    g_assert_true(
        rom_add_blob("two", g_strdup("ab"), 2, 0x10, BASE, &ram, &error_abort));
    assert_error(
        rom_add_blob("three", g_strdup("ab"), 2, 2, BASE + 0x1f, &ram, &err),
        &err, "three (0x2 bytes at 0x4000001f) overlaps one");
    rom_clear();
}

/* ---- ELF ---- */

typedef struct Phdr {
    uint32_t type;
    uint64_t offset, vaddr, paddr, filesz, memsz;
} Phdr;

#define ELF_SIZE 0x300

static void put(uint8_t *p, uint64_t v, int n)
{
    for (int i = 0; i < n; i++) {
        p[i] = v >> (8 * i);
    }
}

static uint8_t *make_elf(uint64_t entry, const Phdr *ph, int n)
{
    uint8_t *p = g_malloc0(ELF_SIZE);

    memcpy(p, "\177ELF\2\1\1", 7);
    put(p + 16, 2, 2);
    put(p + 18, 183, 2);
    put(p + 24, entry, 8);
    put(p + 32, 64, 8);
    put(p + 54, 56, 2);
    put(p + 56, n, 2);
    for (int i = 0; i < n; i++) {
        uint8_t *q = p + 64 + 56 * i;

        put(q, ph[i].type, 4);
        put(q + 8, ph[i].offset, 8);
        put(q + 16, ph[i].vaddr, 8);
        put(q + 24, ph[i].paddr, 8);
        put(q + 32, ph[i].filesz, 8);
        put(q + 40, ph[i].memsz, 8);
    }
    memcpy(p + 0x200, "text segment", 12);
    memcpy(p + 0x280, "data segment", 12);
    return p;
}

static const Phdr good[] = {
    { 1, 0x200, 0xffff800000080000, BASE + 0x80000, 12, 12 },
    { 6, 0, 0, 0, 0, 0 },
    { 1, 0x280, 0xffff800000090000, BASE + 0x90000, 12, 0x1000 },
};

static void test_elf(void)
{
    g_autofree uint8_t *p = make_elf(0xffff800000080004, good, 3);
    LoadedImage img;

    rom_clear();
    g_assert_true(
        load_elf64_le("k", p, ELF_SIZE, 183, &ram, &img, &error_abort));
    g_assert_cmphex(img.entry, ==, BASE + 0x80004);
    g_assert_cmphex(img.low, ==, BASE + 0x80000);
    g_assert_cmphex(img.high, ==, BASE + 0x91000);
    stb_phys(&address_space_memory, BASE + 0x90fff, 1);
    qemu_devices_reset();
    check_ram(BASE + 0x80000, "text segment");
    check_ram(BASE + 0x90000, "data segment");
    g_assert_cmpint(ldub_phys(&address_space_memory, BASE + 0x90fff), ==, 0);
    rom_clear();
}

static void test_elf_hostile(void)
{
    static const struct {
        int offset, len;
        uint64_t val;
        const char *words;
    } bad[] = {
        { 4, 1, 1, "ELF class 1" },
        { 5, 1, 2, "data 2" },
        { 16, 2, 1, "type 1 is not an executable" },
        { 18, 2, 62, "machine is 62, expected 183" },
        { 54, 2, 32, "have 32 bytes" },
        { 56, 2, 0xffff, "are not in the file" },
        { 56, 2, 0, "nothing to load" },
        { 32, 8, UINT64_MAX, "are not in the file" },
        { 32, 8, ELF_SIZE - 100, "are not in the file" },
        { 24, 8, 0x1234, "entry point 0x1234 is not loaded" },
        { 64 + 8, 8, UINT64_MAX - 4, "is not in the file" },
        { 64 + 8, 8, ELF_SIZE - 4, "is not in the file" },
        { 64 + 24, 8, 0x1000, "does not fit in RAM" },
        { 64 + 24, 8, UINT64_MAX - 4, "does not fit in RAM" },
        { 64 + 24, 8, BASE + 0x90fff, "overlaps" },
        { 64 + 32, 8, UINT64_MAX, "is not in the file" },
        { 64 + 32, 8, 13, "is not in the file" }, /* more than memsz */
        { 64 + 40, 8, UINT64_MAX, "does not fit in RAM" },
        { 64 + 40, 8, SIZE, "does not fit in RAM" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        g_autofree uint8_t *p = make_elf(0xffff800000080004, good, 3);
        LoadedImage img = { .entry = 77 };
        Error *err = NULL;

        rom_clear();
        put(p + bad[i].offset, bad[i].val, bad[i].len);
        assert_error(load_elf64_le("k", p, ELF_SIZE, 183, &ram, &img, &err),
                     &err, bad[i].words);
        g_assert_cmphex(img.entry, ==, 77);
    }
    rom_clear();
}

static void test_elf_cut_off(void)
{
    g_autofree uint8_t *p = make_elf(0xffff800000080004, good, 3);

    for (int len = 4; len < 0x28c; len += 7) {
        /* Exactly that long, so that a sanitizer sees a read beyond it. */
        g_autofree uint8_t *q = g_memdup2(p, len);
        LoadedImage img;
        Error *err = NULL;

        rom_clear();
        g_assert_false(load_elf64_le("k", q, len, 183, &ram, &img, &err));
        error_free(err);
    }
    rom_clear();
}

static void test_elf_many_segments(void)
{
    g_autofree uint8_t *p = g_malloc0(64 + 56 * 300);
    LoadedImage img;
    Error *err = NULL;

    memcpy(p, "\177ELF\2\1\1", 7);
    put(p + 16, 2, 2);
    put(p + 18, 183, 2);
    put(p + 32, 64, 8);
    put(p + 54, 56, 2);
    put(p + 56, 300, 2);
    assert_error(load_elf64_le("k", p, 64 + 56 * 300, 183, &ram, &img, &err),
                 &err, "300 ELF program headers");
}

/* ---- kernels of all kinds ---- */

static char *write_file(const void *data, size_t len)
{
    char *name = NULL;
    int fd = g_file_open_tmp("loader-XXXXXX", &name, NULL);

    g_assert_cmpint(write(fd, data, len), ==, len);
    close(fd);
    return name;
}

/* Place @kernel (and @initrd); *info gets the result. */
static bool place(ArmBootInfo *info, const void *kernel, size_t klen,
                  const void *initrd, size_t ilen, Error **errp)
{
    g_autofree char *kfile = write_file(kernel, klen);
    g_autofree char *ifile = initrd ? write_file(initrd, ilen) : NULL;
    bool ok;

    rom_clear();
    *info = (ArmBootInfo){
        .ram = ram,
        .kernel_filename = kfile,
        .initrd_filename = ifile,
        .kernel_cmdline = "",
    };
    ok = arm_boot_place_images(info, 0x4000, errp);
    unlink(kfile);
    if (ifile) {
        unlink(ifile);
    }
    return ok;
}

static void make_image(uint8_t *p, uint64_t text_offset, uint64_t size,
                       uint64_t flags)
{
    memset(p, 0, 64);
    memcpy(p, "code", 4);
    put(p + 8, text_offset, 8);
    put(p + 16, size, 8);
    put(p + 24, flags, 8);
    memcpy(p + 56, "ARM\x64", 4);
}

static void test_raw_blob(void)
{
    ArmBootInfo info;

    g_assert_true(place(&info, "raw code", 8, NULL, 0, &error_abort));
    g_assert_cmphex(info.entry, ==, BASE + 0x80000);
    g_assert_cmphex(info.dtb_addr, ==, BASE);
    qemu_devices_reset();
    check_ram(BASE + 0x80000, "raw code");
}

static void test_linux_image(void)
{
    static const struct {
        uint64_t text_offset, size, entry;
    } cases[] = {
        { 0x80000, 0x100000, BASE + 0x80000 },
        { 0, 0x100000, BASE + 0x200000 },
        { 0x1000, 0x100000, BASE + 0x201000 },
        { 0x100000, 0x100000, BASE + 0x100000 },
        { 0x5555, 0, BASE + 0x80000 }, /* old: the offset means nothing */
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        ArmBootInfo info;
        uint8_t p[64];

        make_image(p, cases[i].text_offset, cases[i].size, 0xa);
        g_assert_true(place(&info, p, 64, "initrd", 6, &error_abort));
        g_assert_cmphex(info.entry, ==, cases[i].entry);
        g_assert_cmphex(info.initrd_start, ==, BASE + SIZE / 2);
        g_assert_cmphex(info.initrd_end, ==, BASE + SIZE / 2 + 6);
        qemu_devices_reset();
        check_ram(info.entry, "code");
        check_ram(info.initrd_start, "initrd");
    }
}

/* The kernel's own size counts, not the file's: the initrd goes behind it. */
static void test_initrd_behind_big_kernel(void)
{
    ArmBootInfo info;
    uint8_t p[64];

    make_image(p, 0x80000, 12 * MiB + 1, 0);
    g_assert_true(place(&info, p, 64, "initrd", 6, &error_abort));
    g_assert_cmphex(info.initrd_start, ==, BASE + 12 * MiB + 0x81000);
}

static void test_image_hostile(void)
{
    static const struct {
        uint64_t text_offset, size, flags;
        const char *words;
    } bad[] = {
        { 0x80000, 17 * MiB, 0, "does not fit in RAM" },
        { 0x80000, UINT64_MAX, 0, "does not fit in RAM" },
        { UINT64_MAX - 8, 64, 0, "beyond RAM" },
        { SIZE, 64, 0, "does not fit in RAM" },
        { 0x80000, 64, 1, "big-endian" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        ArmBootInfo info;
        uint8_t p[64];
        Error *err = NULL;

        make_image(p, bad[i].text_offset, bad[i].size, bad[i].flags);
        assert_error(place(&info, p, 64, NULL, 0, &err), &err, bad[i].words);
    }
}

static void test_elf_kernel_moves_dtb(void)
{
    static const Phdr low[] = { { 1, 0x200, BASE, BASE, 12, 0x1000 } };
    g_autofree uint8_t *p = make_elf(BASE, low, 1);
    g_autofree uint8_t *q = make_elf(0xffff800000080004, good, 3);
    ArmBootInfo info;

    g_assert_true(place(&info, p, ELF_SIZE, NULL, 0, &error_abort));
    g_assert_cmphex(info.entry, ==, BASE);
    g_assert_cmphex(info.dtb_addr, ==, BASE + 2 * MiB);
    g_assert_true(place(&info, q, ELF_SIZE, NULL, 0, &error_abort));
    g_assert_cmphex(info.dtb_addr, ==, BASE);
}

static void *gzip(const void *data, size_t len, gsize *out_len)
{
    g_autoptr(GZlibCompressor)
        z = g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, 6);
    uint8_t *out = g_malloc(len + 100);
    gsize used;

    g_assert_cmpint(g_converter_convert(G_CONVERTER(z), data, len, out,
                                        len + 100, G_CONVERTER_INPUT_AT_END,
                                        &used, out_len, NULL),
                    ==, G_CONVERTER_FINISHED);
    return out;
}

static void test_gzip(void)
{
    uint8_t p[64];
    gsize len;
    g_autofree void *z = NULL;
    ArmBootInfo info;
    Error *err = NULL;

    make_image(p, 0x80000, 64, 0);
    z = gzip(p, 64, &len);
    g_assert_true(place(&info, z, len, NULL, 0, &error_abort));
    qemu_devices_reset();
    check_ram(BASE + 0x80000, "code");

    assert_error(place(&info, z, len - 12, NULL, 0, &err), &err, "gzip");
}

/* Little to read, much to unpack. */
static void test_gzip_bomb(void)
{
    g_autofree uint8_t *zeros = g_malloc0(64 * MiB);
    gsize len;
    g_autofree void *z = gzip(zeros, 64 * MiB, &len);
    ArmBootInfo info;
    Error *err = NULL;

    assert_error(place(&info, z, len, NULL, 0, &err), &err, "longer than");
}

static void test_other_files(void)
{
    ArmBootInfo info = { .ram = ram, .kernel_filename = "/nonexistent/k" };
    uint8_t zboot[64] = "MZ\0\0zimg", uboot[64] = "\x27\x05\x19\x56";
    g_autofree uint8_t *big = g_malloc0(SIZE + 1);
    Error *err = NULL;

    rom_clear();
    assert_error(arm_boot_place_images(&info, 0x4000, &err), &err,
                 "/nonexistent/k");
    assert_error(place(&info, zboot, 64, NULL, 0, &err), &err, "zboot");
    assert_error(place(&info, uboot, 64, NULL, 0, &err), &err, "U-Boot");
    assert_error(place(&info, "", 0, NULL, 0, &err), &err, "is empty");
    assert_error(place(&info, big, SIZE + 1, NULL, 0, &err), &err,
                 "is longer than");
    info = (ArmBootInfo){ .ram = ram, .initrd_filename = "x" };
    assert_error(arm_boot_place_images(&info, 0x4000, &err), &err,
                 "-initrd needs -kernel");
}

int main(int argc, char **argv)
{
    static MemoryRegion mr;

    g_test_init(&argc, &argv, NULL);
    arm_test_init();
    memory_region_init_ram(&mr, NULL, "ram", SIZE, &error_abort);
    memory_region_add_subregion(get_system_memory(), BASE, &mr);

    g_test_add_func("/loader/reset-brings-back", test_reset_brings_back);
    g_test_add_func("/loader/incoming-is-spared", test_incoming_is_spared);
    g_test_add_func("/loader/blob/bounds", test_blob_bounds);
    g_test_add_func("/loader/blob/overlap", test_blob_overlap);
    g_test_add_func("/loader/elf/good", test_elf);
    g_test_add_func("/loader/elf/hostile", test_elf_hostile);
    g_test_add_func("/loader/elf/cut-off", test_elf_cut_off);
    g_test_add_func("/loader/elf/many-segments", test_elf_many_segments);
    g_test_add_func("/boot/raw-blob", test_raw_blob);
    g_test_add_func("/boot/linux-image", test_linux_image);
    g_test_add_func("/boot/initrd-behind-big-kernel",
                    test_initrd_behind_big_kernel);
    g_test_add_func("/boot/image-hostile", test_image_hostile);
    g_test_add_func("/boot/elf-kernel-moves-dtb", test_elf_kernel_moves_dtb);
    g_test_add_func("/boot/gzip", test_gzip);
    g_test_add_func("/boot/gzip-bomb", test_gzip_bomb);
    g_test_add_func("/boot/other-files", test_other_files);
    return g_test_run();
}
