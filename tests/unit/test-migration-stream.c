/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration stream: what the source writes, the loader takes; what is cut or
 * bent, it refuses with an error that says where.
 */
#include "qemu/osdep.h"

#include "loadvm.h"
#include "options.h"
#include "ram/ram-format.h"
#include "ram/ram.h"
#include "savevm-stream.h"
#include "stream-format.h"
#include "io/channel-buffer.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qom/object.h"
#include "system/machine-info.h"
#include "system/ram-block.h"

#define PAGE   4096
#define PAGES  6
#define BLOCKS 2

typedef struct Device {
    uint32_t value;
} Device;

static const VMStateDescription vmstate_device = {
    .name = "test-device",
    .version_id = 3,
    .minimum_version_id = 3,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(value, Device),
            VMSTATE_END_OF_LIST(),
        },
};

static struct {
    RAMBlock *rb[BLOCKS];
    uint8_t *host[BLOCKS];
    Device device;
    RateLimit rate_limit;
    MigrationStats stats;
    _Atomic bool quit;
} t;

static void set_up(void)
{
    static const char *const names[BLOCKS] = { "ram", "rom" };
    SystemMachineInfo *machine = machine_info_for_update();

    machine->name = "none";
    machine->target_name = "test";
    machine->target_page_bits = machine->target_page_bits_min = 10;
    for (int i = 0; i < BLOCKS; i++) {
        t.rb[i] = qemu_ram_alloc(PAGES * PAGE, 0, NULL, &error_abort);
        qemu_ram_set_idstr(t.rb[i], names[i], &error_abort);
        qemu_ram_set_migratable(t.rb[i], true);
        t.host[i] = qemu_ram_get_host_addr(t.rb[i]);
    }
    migration_stats_init(&t.stats);
    register_savevm_live(RAM_SECTION_NAME, 0, RAM_SECTION_VERSION,
                         &ram_handlers, ram_save_state(), &error_abort);
    vmstate_register(NULL, 0, &vmstate_device, &t.device, &error_abort);
}

/* Page i of block b: zero if i is odd, but for one KiB in page 3. */
static void fill_source(void)
{
    for (int b = 0; b < BLOCKS; b++) {
        memset(t.host[b], 0, PAGES * PAGE);
        for (int i = 0; i < PAGES; i += 2) {
            memset(t.host[b] + i * PAGE, 0x10 + b * 16 + i, PAGE);
        }
        t.host[b][3 * PAGE + 2 * 1024 + 5] = 0x77;
    }
    t.device.value = 0x12345678;
}

/* A whole stream of what fill_source() made. */
static GByteArray *save(void)
{
    QIOChannelBuffer *buffer = qio_channel_buffer_new(0);
    QEMUFile *f = qemu_file_new_output(QIO_CHANNEL(buffer));
    g_autoptr(JSONWriter) vmdesc = stream_vmdesc_new();
    GByteArray *bytes = g_byte_array_new();

    fill_source();
    migration_stats_reset(&t.stats);
    rate_limit_init(&t.rate_limit, 0, get_clock());
    ram_save_configure(&(RamConfig){
        .target_page_bits = 10,
        .clear_bitmap_shift = 18,
        .detect_zero = migrate_detect_zero_pages_flag(),
        .rate_limit = &t.rate_limit,
        .stats = &t.stats,
        .quit = &t.quit,
    });
    stream_put_header(f);
    g_assert_true(stream_put_configuration(f, vmdesc, &error_abort));
    g_assert_true(stream_save_setup(f, &error_abort));
    g_assert_cmpint(stream_save_iterate(f, &error_abort), ==, 1);
    stream_put_command(f, MIG_CMD_SWITCHOVER_START, NULL, 0);
    ram_save_state()->guest_stopped = true;
    ram_sync(ram_save_state(), true);
    g_assert_true(stream_save_complete(f, &error_abort));
    g_assert_true(stream_save_devices(f, vmdesc, &error_abort));
    stream_put_eof(f);
    stream_put_vmdesc(f, vmdesc);
    stream_save_cleanup();
    g_assert_true(qemu_fflush(f, &error_abort));
    g_byte_array_append(bytes, buffer->data, buffer->usage);
    qemu_fclose(f, NULL);
    qio_channel_unref(QIO_CHANNEL(buffer));
    return bytes;
}

static bool load(const void *data, size_t len, Error **errp)
{
    QIOChannelBuffer *buffer = qio_channel_buffer_new_data(data, len);
    LoadVM lv = { .f = qemu_file_new_input(QIO_CHANNEL(buffer)) };
    bool ok;

    ram_load_configure(&(RamLoadConfig){ .target_page_bits = 10 });
    ok = loadvm_run(&lv, errp);
    qemu_fclose(lv.f, NULL);
    qio_channel_unref(QIO_CHANNEL(buffer));
    return ok;
}

static void spoil_target(void)
{
    for (int b = 0; b < BLOCKS; b++) {
        memset(t.host[b], 0xff, PAGES * PAGE);
    }
    t.device.value = 0;
}

static void test_round_trip(void)
{
    g_autoptr(GByteArray) bytes = save();
    uint8_t want[BLOCKS][PAGES * PAGE];

    for (int b = 0; b < BLOCKS; b++) {
        memcpy(want[b], t.host[b], sizeof(want[b]));
    }
    spoil_target();
    g_assert_true(load(bytes->data, bytes->len, &error_abort));
    for (int b = 0; b < BLOCKS; b++) {
        g_assert_cmpmem(t.host[b], sizeof(want[b]), want[b], sizeof(want[b]));
    }
    g_assert_cmphex(t.device.value, ==, 0x12345678);
    /* Three full pages and one KiB per block; the rest was zero. */
    g_assert_cmpuint(STAT_GET(&t.stats, normal_pages), ==, 2 * 13);
    g_assert_cmpuint(STAT_GET(&t.stats, zero_pages), ==, 2 * 11);
    g_assert_cmpuint(ram_save_owed_bytes(ram_save_state()), ==, 0);
}

static void test_cut_anywhere(void)
{
    g_autoptr(GByteArray) bytes = save();
    size_t eof = 0;

    /* The last footer is followed by EOF and the description. */
    for (size_t i = bytes->len - 6; i > 0; i--) {
        if (bytes->data[i] == '{' && !memcmp(bytes->data + i, "{\"conf", 6)) {
            eof = i - 6;
            break;
        }
    }
    g_assert_cmpuint(bytes->data[eof], ==, QEMU_VM_EOF);
    for (size_t len = 0; len <= eof; len += len < 200 ? 1 : 61) {
        g_autoptr(Error) err = NULL;

        g_assert_false(load(bytes->data, len, &err));
        g_assert_nonnull(strstr(error_get_pretty(err), "at byte "));
    }
    g_assert_true(load(bytes->data, eof + 1, &error_abort));
}

/* Change @len bytes where @what first stands, and see the words of the error.*/
static void bend(const void *what, size_t len, const void *instead,
                 const char *words)
{
    g_autoptr(GByteArray) bytes = save();
    g_autoptr(Error) err = NULL;
    uint8_t *at = memmem(bytes->data, bytes->len, what, len);

    g_assert_nonnull(at);
    memcpy(at, instead, len);
    g_assert_false(load(bytes->data, bytes->len, &err));
    if (!strstr(error_get_pretty(err), words)) {
        g_test_message("got: %s", error_get_pretty(err));
        g_test_fail();
    }
}

static void test_bent(void)
{
    bend("QEVM", 4, "XEVM", "not a migration stream");
    bend("QEVM\0\0\0\3", 8, "QEVM\0\0\0\4", "version 4, expected 3");
    bend("\0\0\0\4none", 8, "\0\0\0\4noon", "machine 'noon'");
    bend("\0\0\0\4none", 8, "\xff\0\0\4none", "configuration");
    bend("\3ram\0\0\0\0\0\0\0\4", 12, "\3ram\0\0\0\0\0\0\0\5",
         "at most 4 is known");
    bend("\3ram\0\0\0\0\0\0\0\4", 12, "\3ran\0\0\0\0\0\0\0\4",
         "no device here has this section");
    /* In the list of blocks: name, length. */
    bend("\3rom\0\0\0\0\0\0\x60\0", 12, "\3rox\0\0\0\0\0\0\x60\0",
         "no RAM block 'rox'");
    bend("\3rom\0\0\0\0\0\0\x60\0", 12, "\3rom\0\0\0\0\0\0\x50\0",
         "20480 bytes long at the source, and 24576 here");
    bend("\3rom\0\0\0\0\0\0\x60\0", 12, "\3rom\xff\0\0\0\0\0\x60\0",
         "more than the list");
    /* A page record: offset and flags. */
    bend("\0\0\0\0\0\0\x20\x28", 8, "\0\0\0\0\0\0\x60\x28",
         "page at 0x6000 of RAM block 'ram', which ends at 0x6000");
    bend("\0\0\0\0\0\0\x20\x28", 8, "\xff\xff\xff\xff\xff\xff\xfc\x28",
         "which ends at 0x6000");
    bend("\0\0\0\0\0\0\x20\x28", 8, "\0\0\0\0\0\0\x20\x29", "flags 0x29");
    bend("\0\0\0\0\0\0\x20\x28", 8, "\0\0\0\0\0\0\x20\x60", "xbzrle");
    bend("\0\0\0\0\0\0\0\x08\3ram", 12, "\0\0\0\0\0\0\0\x28\3ram",
         "there was none before");
    bend("\0\0\0\0\0\0\x10\x22\0", 9, "\0\0\0\0\0\0\x10\x22\1",
         "filled with 0x01");
    /* A command; a footer; a device's version. */
    bend("\x08\0\x0b\0\0", 5, "\x08\0\x0c\0\0", "no such command");
    bend("\x08\0\x0b\0\0", 5, "\x08\0\x02\0\3", "PING with 3 bytes");
    bend("\x08\0\x0b\0\0", 5, "\x08\0\x03\0\0", "does not have");
    bend("\x7e\0\0\0\1", 5, "\x7e\0\0\0\2", "footer");
    bend("\x0btest-device\0\0\0\0\0\0\0\3", 20,
         "\x0btest-device\0\0\0\0\0\0\0\4", "at most 3 is known");
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qom_register_types();
    migration_options_register_type();
    main_loop_init();
    g_assert_true(migration_options_init(&error_abort));
    set_up();
    g_test_add_func("/migration-stream/round-trip", test_round_trip);
    g_test_add_func("/migration-stream/cut-anywhere", test_cut_anywhere);
    g_test_add_func("/migration-stream/bent", test_bent);
    return g_test_run();
}
