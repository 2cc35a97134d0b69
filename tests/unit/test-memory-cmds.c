/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of the commands that look at guest memory. The layouts are those of
 * QEMU 11.1 (recorded by hand), which scripts read.
 */
#include "qemu/osdep.h"

#include <glib/gstdio.h>
#include <json-c/json.h>

#include "qapi/qapi-commands-machine.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "system/memory.h"
#include "system/monitor-cmds.h"

typedef struct Sink {
    Monitor mon;
    GString *text;
} Sink;

static void sink_puts(Monitor *mon, const char *text)
{
    g_string_append(container_of(mon, Sink, mon)->text, text);
}

static const MonitorOps sink_ops = { .puts = sink_puts };

/* What command @name prints; @json: its arguments. Caller frees. */
static char *run(const HMPCommand *table, const char *name, const char *json)
{
    Sink sink = { { &sink_ops }, g_string_new(NULL) };
    json_object *args = json_tokener_parse(json);

    while (!g_str_equal(table->name, name)) {
        table++;
    }
    table->cmd(&sink.mon, args);
    json_object_put(args);
    return g_string_free(sink.text, FALSE);
}

static void expect_xp(char format, int size, int count, uint64_t addr,
                      const char *want)
{
    g_autofree char *json = g_strdup_printf(
        "{\"format\":%d,\"size\":%d,\"count\":%d,\"addr\":%" PRIu64 "}", format,
        size, count, addr);
    g_autofree char *got = run(hmp_memory_commands, "xp", json);

    g_assert_cmpstr(got, ==, want);
}

static void test_xp(void)
{
    MemoryRegion ram;
    uint8_t *host;

    memory_region_init_ram(&ram, NULL, "ram", 64 * KiB, &error_abort);
    memory_region_add_subregion(get_system_memory(), 0, &ram);
    host = memory_region_get_ram_ptr(&ram);
    memcpy(host, "\x01\x02\x03\x04\xff\xfe\xfd\xfc", 8);
    memcpy(host + 8, "A'\\\n\r~\x7f\x00", 8);

    expect_xp('x', 4, 6, 0,
              "00000000: 0x04030201 0xfcfdfeff 0x0a5c2741 0x007f7e0d\n"
              "00000010: 0x00000000 0x00000000\n");
    expect_xp('x', 8, 1, 0, "00000000: 0xfcfdfeff04030201\n");
    expect_xp('x', 1, 9, 1,
              "00000001: 0x02 0x03 0x04 0xff 0xfe 0xfd 0xfc 0x41\n"
              "00000009: 0x27\n");
    expect_xp('d', 2, 4, 0, "00000000:   513  1027  -257  -771\n");
    expect_xp('u', 1, 2, 3, "00000003:   4 255\n");
    expect_xp('o', 8, 2, 16,
              "00000010: 0                     0 0                     0\n");
    expect_xp('c', 1, 8, 8,
              "00000008: 'A' '\\'' '\\\\' '\\n' '\\r' '~' '\\x7f' '\\x00'\n");
    expect_xp('x', 4, 2, 0x100000000, "100000000: Cannot access memory\n");
    expect_xp('i', 4, 1, 0,
              "Format 'i' is not available: there is no disassembler\n");

    memory_region_del_subregion(get_system_memory(), &ram);
    memory_region_destroy(&ram);
}

static void test_x_needs_cpu(void)
{
    g_autofree char *got = run(
        hmp_memory_commands, "x",
        "{\"format\":120,\"size\":4,\"count\":1,\"addr\":0}");

    g_assert_cmpstr(got, ==, "Can not dump without CPU\n");
}

static void test_pmemsave(void)
{
    g_autofree char *dir = g_dir_make_tmp("memsave-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "out", NULL);
    g_autofree char *content = NULL;
    Error *err = NULL;
    MemoryRegion ram;
    gsize length;

    memory_region_init_ram(&ram, NULL, "ram", 200 * KiB, &error_abort);
    memory_region_add_subregion(get_system_memory(), 0x1000, &ram);
    memset(memory_region_get_ram_ptr(&ram), 0x5a, 200 * KiB);
    g_assert_true(g_file_set_contents(path, "old, longer", -1, NULL));
    qmp_pmemsave(0x1800, 3, path, &error_abort);
    g_assert_true(g_file_get_contents(path, &content, &length, NULL));
    g_assert_cmpuint(length, ==, 3);
    g_clear_pointer(&content, g_free);

    /* What is not there reads as zero. */
    qmp_pmemsave(0xf00, 190 * KiB, path, &error_abort);
    g_assert_true(g_file_get_contents(path, &content, &length, NULL));
    g_assert_cmpuint(length, ==, 190 * KiB);
    g_assert_cmpint(content[0xff], ==, 0);
    g_assert_cmpint(content[0x100], ==, 0x5a);
    g_assert_cmpint(content[length - 1], ==, 0x5a);

    qmp_pmemsave(0, 1, "/nonexistent/out", &err);
    error_free_or_abort(&err);
    qmp_memsave(0, 1, path, false, 0, &err); /* no such CPU */
    error_free_or_abort(&err);
    g_unlink(path);
    g_rmdir(dir);
    memory_region_del_subregion(get_system_memory(), &ram);
    memory_region_destroy(&ram);
}

static void test_mtree(void)
{
    MemoryRegion *sys = get_system_memory(), ram, low, off;
    g_autofree char *tree = NULL, *flat = NULL, *all = NULL, *blocks = NULL;

    memory_region_init_ram(&ram, NULL, "virt.ram", MiB, &error_abort);
    memory_region_init_alias(&low, NULL, "low", &ram, 0x1000, 0x2000);
    memory_region_init_container(&off, NULL, "off", 0x100);
    memory_region_add_subregion(sys, 0x40000000, &ram);
    memory_region_add_subregion_overlap(sys, 0, &low, -1);
    memory_region_set_enabled(&off, false);
    memory_region_add_subregion(sys, 0x8000, &off);

    tree = run(hmp_memory_info_commands, "mtree", "{}");
    g_assert_nonnull(strstr(
        tree,
        "address-space: memory\n"
        "  0000000000000000-ffffffffffffffff (prio 0, container): system\n"
        "    0000000000000000-0000000000001fff (prio -1, ram): alias low "
        "@virt.ram 0000000000001000-0000000000002fff\n"
        "    0000000040000000-00000000400fffff (prio 0, ram): virt.ram\n\n"));
    g_assert_nonnull(strstr(
        tree, "memory-region: virt.ram\n"
              "  0000000000000000-00000000000fffff (prio 0, ram): virt.ram\n"));
    all = run(hmp_memory_info_commands, "mtree", "{\"disabled\":true}");
    g_assert_nonnull(strstr(all, "    0000000000008000-00000000000080ff (prio "
                                 "0, container): off [disabled]\n"));
    flat = run(hmp_memory_info_commands, "mtree", "{\"flatview\":true}");
    g_assert_nonnull(strstr(
        flat,
        " AS \"memory\", root: system\n"
        " Root memory region: system\n"
        "  0000000000000000-0000000000001fff (prio 0, ram): virt.ram "
        "@0000000000001000\n"
        "  0000000040000000-00000000400fffff (prio 0, ram): virt.ram\n\n"));
    blocks = run(hmp_memory_info_commands, "ramblock", "{}");
    g_assert_nonnull(strstr(
        blocks,
        "              Block Name    PSize              Offset               "
        "Used              Total                HVA  RO\n"
        "                virt.ram    4 KiB  0x0000000000000000 "
        "0x0000000000100000 0x0000000000100000 0x0000"));

    memory_region_del_subregion(sys, &ram);
    memory_region_del_subregion(sys, &low);
    memory_region_del_subregion(sys, &off);
    memory_region_destroy(&low);
    memory_region_destroy(&off);
    memory_region_destroy(&ram);
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    get_system_memory();
    g_test_add_func("/memory-cmds/xp", test_xp);
    g_test_add_func("/memory-cmds/x-needs-cpu", test_x_needs_cpu);
    g_test_add_func("/memory-cmds/pmemsave", test_pmemsave);
    g_test_add_func("/memory-cmds/mtree", test_mtree);
    return g_test_run();
}
