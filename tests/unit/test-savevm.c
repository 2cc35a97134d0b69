/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of include/vmstate/savevm.h (order, ids, payloads) and of the
 * descriptions (VMDESC) that saving makes: byte for byte what QEMU wrote for
 * tables of the same shape.
 */
#include "qemu/osdep.h"

#include "io/channel-buffer.h"
#include "qemu/timer.h"
#include "vmstate/savevm.h"

#include "vmdesc-samples.h"

static bool yes(void *opaque)
{
    return true;
}

static bool never(void *opaque, int version_id)
{
    return false;
}

/* The description of the one section that is registered now. */
static char *describe(size_t *payload)
{
    QIOChannel *null = qio_channel_null_new();
    QEMUFile *f = qemu_file_new_output(null);
    g_autoptr(JSONWriter) w = json_writer_new();
    char *text;

    g_assert_true(savevm_save_full(f, savevm_first(), w, &error_abort));
    *payload = qemu_file_position(f);
    text = g_strdup(json_writer_get(w, NULL));
    qemu_fclose(f, NULL);
    qio_channel_unref(null);
    return text;
}

static void check_description(const char *prefix,
                              const VMStateDescription *vmsd, void *opaque,
                              size_t payload, const char *sample)
{
    g_autofree char *text = NULL;
    size_t size;

    vmstate_register(prefix, VMSTATE_INSTANCE_ID_ANY, vmsd, opaque,
                     &error_abort);
    text = describe(&size);
    g_assert_cmpstr(text, ==, sample);
    g_assert_cmpuint(size, ==, payload);
    vmstate_unregister(vmsd, opaque);
    g_assert_null(savevm_first());
}

/*
 * Descriptions.
 */

typedef struct ClockState {
    int64_t cpu_ticks_offset, cpu_clock_offset;
    QEMUTimer *timer;
} ClockState;

static const VMStateDescription vmstate_timer = {
    .name = "timer",
    .version_id = 2,
    .minimum_version_id = 1,
    .fields =
        (const VMStateField[]){
            VMSTATE_INT64(cpu_ticks_offset, ClockState),
            VMSTATE_UNUSED(8),
            VMSTATE_INT64_V(cpu_clock_offset, ClockState, 2),
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_gpio_key = {
    .name = "gpio-key",
    .version_id = 1,
    .fields =
        (const VMStateField[]){
            VMSTATE_TIMER_PTR(timer, ClockState),
            VMSTATE_END_OF_LIST(),
        },
};

static void no_cb(void *opaque)
{
}

typedef struct GlobalState {
    uint32_t size;
    uint8_t runstate[100];
    uint8_t has_vm_was_suspended, vm_was_suspended;
    uint8_t unused[66];
} GlobalState;

static const VMStateDescription vmstate_globalstate = {
    .name = "globalstate",
    .version_id = 1,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(size, GlobalState),
            VMSTATE_PARTIAL_BUFFER(runstate, GlobalState, 32),
            VMSTATE_UINT8(has_vm_was_suspended, GlobalState),
            VMSTATE_UINT8(vm_was_suspended, GlobalState),
            VMSTATE_BUFFER(unused, GlobalState),
            VMSTATE_END_OF_LIST(),
        },
};

static void test_describe_simple(void)
{
    GlobalState g = { 0 };
    ClockState s = { 1, 2, timer_new_ns(QEMU_CLOCK_VIRTUAL, no_cb, NULL) };

    check_description(NULL, &vmstate_timer, &s, 24, sample_timer);
    check_description(NULL, &vmstate_gpio_key, &s, 8, sample_gpio_key);
    check_description(NULL, &vmstate_globalstate, &g, 104, sample_globalstate);
    timer_free(s.timer);
}

typedef struct Clock {
    uint64_t period;
} Clock;

typedef struct Uart {
    uint32_t flags, lcr, rsr, cr, dmacr, int_enabled, int_level;
    uint32_t read_fifo[16];
    uint32_t ilpr, ibrd, fbrd, ifl;
    int32_t read_pos, read_count, read_trigger;
    Clock *clk;
} Uart;

static const VMStateDescription vmstate_clock = {
    .name = "clock",
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT64(period, Clock),
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_uart_clock = {
    .name = "pl011/clock",
    .version_id = 1,
    .needed = yes,
    .fields =
        (const VMStateField[]){
            VMSTATE_STRUCT_POINTER(clk, Uart, vmstate_clock, Clock),
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_uart = {
    .name = "pl011",
    .version_id = 2,
    .fields =
        (const VMStateField[]){
            VMSTATE_UNUSED(4),
            VMSTATE_UINT32(flags, Uart),
            VMSTATE_UINT32(lcr, Uart),
            VMSTATE_UINT32(rsr, Uart),
            VMSTATE_UINT32(cr, Uart),
            VMSTATE_UINT32(dmacr, Uart),
            VMSTATE_UINT32(int_enabled, Uart),
            VMSTATE_UINT32(int_level, Uart),
            VMSTATE_UINT32_ARRAY(read_fifo, Uart, 16),
            VMSTATE_UINT32(ilpr, Uart),
            VMSTATE_UINT32(ibrd, Uart),
            VMSTATE_UINT32(fbrd, Uart),
            VMSTATE_UINT32(ifl, Uart),
            VMSTATE_INT32(read_pos, Uart),
            VMSTATE_INT32(read_count, Uart),
            VMSTATE_INT32(read_trigger, Uart),
            VMSTATE_END_OF_LIST(),
        },
    .subsections = (const VMStateDescription *const[]){ &vmstate_uart_clock,
                                                        NULL },
};

static void test_describe_subsection(void)
{
    Clock clk = { 1 };
    Uart u = { .clk = &clk };

    check_description(NULL, &vmstate_uart, &u, 149, sample_pl011);
}

/* Two fields of one name, one of them absent; subsections of two versions. */
typedef struct Fw {
    uint16_t cur_entry, old_offset;
    uint32_t cur_offset;
    uint64_t dma_addr, table_mr_size, linker_mr_size, rsdp_mr_size;
} Fw;

static const VMStateDescription vmstate_fw_dma = {
    .name = "fw_cfg/dma",
    .needed = yes,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT64(dma_addr, Fw),
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_fw_acpi = {
    .name = "fw_cfg/acpi_mr",
    .version_id = 1,
    .needed = yes,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT64(table_mr_size, Fw),
            VMSTATE_UINT64(linker_mr_size, Fw),
            VMSTATE_UINT64(rsdp_mr_size, Fw),
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_fw = {
    .name = "fw_cfg",
    .version_id = 2,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT16(cur_entry, Fw),
            { .name = "cur_offset",
              .field_exists = never,
              .size = 2,
              .info = &vmstate_info_uint16,
              .flags = VMS_SINGLE,
              .offset = offsetof(Fw, old_offset) },
            VMSTATE_UINT32_V(cur_offset, Fw, 2),
            VMSTATE_END_OF_LIST(),
        },
    .subsections = (const VMStateDescription *const[]){ &vmstate_fw_dma,
                                                        &vmstate_fw_acpi,
                                                        NULL },
};

static void test_describe_same_names(void)
{
    Fw fw = { 0 };

    check_description(NULL, &vmstate_fw, &fw, 74, sample_fw_cfg);
}

typedef struct PciDev {
    int32_t version_id;
    uint8_t config[256], irq_state[16];
} PciDev;

typedef struct Root {
    PciDev parent_obj;
} Root;

/* As a device would: bytes by own functions. */
static bool bytes_get(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field, Error **errp)
{
    qemu_get_buffer(f, pv, size);
    return true;
}

static bool bytes_put(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field, Error **errp)
{
    qemu_put_buffer(f, pv, size);
    return true;
}

static const VMStateInfo info_config = { "pci config", bytes_get, bytes_put };
static const VMStateInfo info_irq = { "pci irq state", bytes_get, bytes_put };

static const VMStateDescription vmstate_pci = {
    .name = "PCIDevice",
    .version_id = 2,
    .fields =
        (const VMStateField[]){
            VMSTATE_INT32_POSITIVE_LE(version_id, PciDev),
            VMSTATE_BUFFER_UNSAFE_INFO(config, PciDev, 0, info_config, 256),
            { .name = "config",
              .field_exists = never,
              .size = 1,
              .info = &vmstate_info_uint8,
              .flags = VMS_SINGLE },
            VMSTATE_BUFFER_UNSAFE_INFO(irq_state, PciDev, 0, info_irq, 16),
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_root = {
    .name = "gpex_root",
    .version_id = 1,
    .fields =
        (const VMStateField[]){
            VMSTATE_STRUCT(parent_obj, Root, 0, vmstate_pci, PciDev),
            VMSTATE_END_OF_LIST(),
        },
};

typedef struct Bus {
    int32_t nirq;
    int32_t *irq_count;
} Bus;

static const VMStateDescription vmstate_bus = {
    .name = "PCIBUS",
    .version_id = 1,
    .fields =
        (const VMStateField[]){
            VMSTATE_INT32_EQUAL(nirq, Bus, NULL),
            VMSTATE_VARRAY_POINTER_INT32(irq_count, Bus, nirq, 8, 0,
                                         vmstate_info_int32, int32_t),
            VMSTATE_END_OF_LIST(),
        },
};

static void test_describe_prefix_struct_and_counted(void)
{
    int32_t counts[4] = { 0 };
    Bus bus = { 4, counts };
    Root root = { { 0 } };

    check_description("0000:00:00.0", &vmstate_root, &root, 276, sample_gpex);
    check_description(NULL, &vmstate_bus, &bus, 20, sample_pcibus);
}

typedef struct GicIrq {
    uint8_t enabled, pending, active, level, group;
    bool model, edge_trigger;
} GicIrq;

typedef struct Gic {
    uint32_t ctlr, cpu_ctlr[8];
    GicIrq irq_state[1020];
    uint8_t irq_target[1020], priority1[32][8], priority2[988];
    uint8_t sgi_pending[16][8];
    uint16_t priority_mask[8], running_priority[8], current_pending[8];
    uint8_t bpr[8], abpr[8];
    uint32_t apr[4][8], nsapr[4][8];
} Gic;

static const VMStateDescription vmstate_gic_irq = {
    .name = "arm_gic_irq_state",
    .version_id = 1,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT8(enabled, GicIrq),
            VMSTATE_UINT8(pending, GicIrq),
            VMSTATE_UINT8(active, GicIrq),
            VMSTATE_UINT8(level, GicIrq),
            VMSTATE_BOOL(model, GicIrq),
            VMSTATE_BOOL(edge_trigger, GicIrq),
            VMSTATE_UINT8(group, GicIrq),
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_gic = {
    .name = "arm_gic",
    .version_id = 12,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(ctlr, Gic),
            VMSTATE_UINT32_ARRAY(cpu_ctlr, Gic, 8),
            VMSTATE_STRUCT_ARRAY(irq_state, Gic, 1020, 1, vmstate_gic_irq,
                                 GicIrq),
            VMSTATE_UINT8_ARRAY(irq_target, Gic, 1020),
            VMSTATE_UINT8_2DARRAY(priority1, Gic, 32, 8),
            VMSTATE_UINT8_ARRAY(priority2, Gic, 988),
            VMSTATE_UINT8_2DARRAY(sgi_pending, Gic, 16, 8),
            VMSTATE_UINT16_ARRAY(priority_mask, Gic, 8),
            VMSTATE_UINT16_ARRAY(running_priority, Gic, 8),
            VMSTATE_UINT16_ARRAY(current_pending, Gic, 8),
            VMSTATE_UINT8_ARRAY(bpr, Gic, 8),
            VMSTATE_UINT8_ARRAY(abpr, Gic, 8),
            VMSTATE_UINT32_2DARRAY(apr, Gic, 4, 8),
            VMSTATE_UINT32_2DARRAY(nsapr, Gic, 4, 8),
            VMSTATE_END_OF_LIST(),
        },
};

static void test_describe_struct_array(void)
{
    g_autofree Gic *gic = g_new0(Gic, 1);

    check_description(NULL, &vmstate_gic, gic, 9888, sample_gic);
}

/* Elements with subsections are described one by one. */
typedef struct Unit {
    uint8_t a;
} Unit;

typedef struct Rack {
    uint32_t n;
    Unit *units;
} Rack;

static const VMStateDescription vmstate_unit_sub = {
    .name = "unit/s",
    .version_id = 1,
    .needed = yes,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT8(a, Unit),
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_unit = {
    .name = "unit",
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT8(a, Unit),
            VMSTATE_END_OF_LIST(),
        },
    .subsections = (const VMStateDescription *const[]){ &vmstate_unit_sub,
                                                        NULL },
};

static const VMStateDescription vmstate_rack = {
    .name = "rack",
    .fields =
        (const VMStateField[]){
            VMSTATE_STRUCT_VARRAY_POINTER_UINT32(units, Rack, n, 4, 0,
                                                 vmstate_unit, Unit),
            VMSTATE_END_OF_LIST(),
        },
};

#define UNIT_DESC(_index)                                                   \
    "{\"name\": \"units\", " _index "\"type\": \"struct\", \"struct\": "    \
    "{\"vmsd_name\": \"unit\", \"version\": 0, \"fields\": [{\"name\": "    \
    "\"a\", \"type\": \"uint8\", \"size\": 1}], \"subsections\": "          \
    "[{\"vmsd_name\": \"unit/s\", \"version\": 1, \"fields\": [{\"name\": " \
    "\"a\", \"type\": \"uint8\", \"size\": 1}]}]}, \"size\": 14}"

static void test_describe_elements_with_index(void)
{
    Unit units[2] = { { 1 }, { 2 } };
    Rack rack = { 2, units };

    check_description(NULL, &vmstate_rack, &rack, 28,
                      "{\"name\": \"rack\", \"instance_id\": 0, \"vmsd_name\": "
                      "\"rack\", \"version\": 0, \"fields\": [" UNIT_DESC(
                          "\"index\": 0, ") ", " UNIT_DESC("\"index\": "
                                                           "1, ") "]}");
    rack.n = 1;
    check_description(
        NULL, &vmstate_rack, &rack, 14,
        "{\"name\": \"rack\", \"instance_id\": 0, \"vmsd_name\": "
        "\"rack\", \"version\": 0, \"fields\": [" UNIT_DESC("") "]}");
    rack.n = 0;
    check_description(NULL, &vmstate_rack, &rack, 0,
                      "{\"name\": \"rack\", \"instance_id\": 0, \"vmsd_name\": "
                      "\"rack\", \"version\": 0, \"fields\": []}");
}

static bool slirp_save(QEMUFile *f, void *opaque, Error **errp)
{
    uint8_t zeros[131] = { 0 };

    qemu_put_buffer(f, zeros, sizeof(zeros));
    return true;
}

static bool slirp_load(QEMUFile *f, void *opaque, int version_id, Error **errp)
{
    qemu_file_skip(f, 131);
    return true;
}

static const SaveVMHandlers slirp_ops = { .save_state = slirp_save,
                                          .load_state = slirp_load };

static void test_describe_without_table(void)
{
    g_autofree char *text = NULL;
    size_t size;

    register_savevm_live("slirp", VMSTATE_INSTANCE_ID_ANY, 4, &slirp_ops, NULL,
                         &error_abort);
    text = describe(&size);
    g_assert_cmpstr(text, ==, sample_slirp);
    g_assert_cmpuint(size, ==, 131);
    unregister_savevm("slirp", NULL);
    g_assert_null(savevm_first());
}

static void test_json_escapes(void)
{
    g_autoptr(JSONWriter) w = json_writer_new();

    json_writer_start_object(w, NULL);
    json_writer_str(w, "a\"b", "\\\n\x01 \xc3\xa9 \xf0\x9f\x98\x80 \xff");
    json_writer_start_array(w, "l");
    json_writer_end_array(w);
    json_writer_bool(w, "t", true);
    json_writer_int64(w, "i", INT64_MIN);
    json_writer_end_object(w);
    g_assert_cmpstr(json_writer_get(w, NULL), ==,
                    "{\"a\\\"b\": \"\\\\\\u000A\\u0001 \\u00E9 \\uD83D\\uDE00 "
                    "\\uFFFD\", \"l\": [], \"t\": true, \"i\": "
                    "-9223372036854775808}");
}

/*
 * The registry.
 */

static char *order(void)
{
    GString *s = g_string_new(NULL);

    for (SaveStateEntry *se = savevm_first(); se; se = se->next) {
        g_string_append_printf(s, "%s#%u ", se->idstr, se->instance_id);
    }
    return g_string_free(s, false);
}

static bool live_save(QEMUFile *f, void *opaque, Error **errp)
{
    return true;
}

static int live_iterate(QEMUFile *f, void *opaque, Error **errp)
{
    return 1;
}

static const SaveVMHandlers live_ops = {
    .save_setup = live_save,
    .save_live_iterate = live_iterate,
    .save_live_complete_precopy = live_save,
    .load_state = slirp_load,
};

static void test_registry_order_and_ids(void)
{
    VMStateDescription plain = { .name = "plain" };
    VMStateDescription low = { .name = "low", .priority = MIG_PRI_LOW };
    VMStateDescription its = { .name = "its", .priority = MIG_PRI_GICV3_ITS };
    VMStateDescription gic = { .name = "gic", .priority = MIG_PRI_GICV3 };
    g_autofree char *got = NULL;
    uint32_t base;
    int a, b;

    vmstate_register(NULL, 0, &low, &a, &error_abort);
    base = savevm_first()->section_id;
    vmstate_register(NULL, VMSTATE_INSTANCE_ID_ANY, &plain, &a, &error_abort);
    register_savevm_live("ram", 0, 4, &live_ops, &a, &error_abort);
    vmstate_register(NULL, VMSTATE_INSTANCE_ID_ANY, &plain, &b, &error_abort);
    vmstate_register(NULL, VMSTATE_INSTANCE_ID_ANY, &its, &b, &error_abort);
    vmstate_register(NULL, VMSTATE_INSTANCE_ID_ANY, &gic, &b, &error_abort);
    got = order();
    g_assert_cmpstr(got, ==, "gic#0 its#0 plain#0 ram#0 plain#1 low#0 ");
    g_assert_cmpuint(savevm_find("ram", 0)->section_id, ==, base + 2);
    g_assert_cmpuint(savevm_find("gic", 0)->section_id, ==, base + 5);
    g_assert_true(savevm_is_live(savevm_find("ram", 0)));
    g_assert_false(savevm_is_live(savevm_find("gic", 0)));
    g_assert_null(savevm_find("gic", 1));

    /* A hole is not reused while a later one is in use; ids never are. */
    vmstate_unregister(&plain, &a);
    vmstate_register(NULL, VMSTATE_INSTANCE_ID_ANY, &plain, &a, &error_abort);
    g_assert_cmpuint(savevm_find("plain", 2)->section_id, ==, base + 6);

    vmstate_unregister(&plain, &a);
    vmstate_unregister(&plain, &b);
    vmstate_unregister(&low, &a);
    vmstate_unregister(&its, &b);
    vmstate_unregister(&gic, &b);
    unregister_savevm("ram", &a);
    g_assert_null(savevm_first());
}

static void test_registry_duplicates(void)
{
    VMStateDescription plain = { .name = "plain" };
    g_autofree char *longname = g_strnfill(300, 'x');
    g_autoptr(Error) err = NULL, err2 = NULL;
    int a;

    vmstate_register("bus", 7, &plain, &a, &error_abort);
    g_assert_false(vmstate_register("bus", 7, &plain, &a, &err));
    g_assert_cmpstr(error_get_pretty(err), ==,
                    "Section 'bus/plain' instance 7 is registered already");
    vmstate_register("bus", VMSTATE_INSTANCE_ID_ANY, &plain, &a, &error_abort);
    g_assert_nonnull(savevm_find("bus/plain", 8));
    g_assert_false(vmstate_register(longname, 0, &plain, &a, &err2));
    vmstate_unregister(&plain, &a);
    g_assert_null(savevm_first());
}

static void test_registry_unmigratable(void)
{
    VMStateDescription un = { .name = "un", .unmigratable = true };
    int a;

    g_assert_null(savevm_unmigratable());
    vmstate_register(NULL, 0, &un, &a, &error_abort);
    g_assert_cmpstr(savevm_unmigratable(), ==, "un");
    vmstate_unregister(&un, &a);
}

static void test_registry_load(void)
{
    ClockState s = { 0 };
    uint8_t bytes[24] = { 0 };
    SaveStateEntry *se;
    g_autoptr(Error) err = NULL, err2 = NULL;
    QIOChannelBuffer *b;
    QEMUFile *f;

    vmstate_register(NULL, 0, &vmstate_timer, &s, &error_abort);
    se = savevm_find("timer", 0);
    savevm_load_reset();
    g_assert_null(savevm_find_loaded(0));
    se->load_section_id = 99;
    se->load_started = true;
    g_assert_true(savevm_find_loaded(99) == se);
    g_assert_null(savevm_find_loaded(se->section_id));
    savevm_load_reset();
    g_assert_null(savevm_find_loaded(99));

    bytes[23] = 5;
    b = qio_channel_buffer_new_data(bytes, sizeof(bytes));
    f = qemu_file_new_input(QIO_CHANNEL(b));
    g_assert_true(savevm_load_payload(f, se, 2, &error_abort));
    g_assert_cmpint(s.cpu_clock_offset, ==, 5);
    g_assert_false(savevm_load_payload(f, se, 3, &err));
    g_assert_cmpstr(error_get_pretty(err), ==,
                    "Section 'timer' (instance 0): 'timer' has version 3, "
                    "newer than 2, the newest known here");
    g_assert_false(savevm_load_payload(f, se, 2, &err2));
    g_assert_cmpstr(error_get_pretty(err2), ==,
                    "Section 'timer' (instance 0): timer.cpu_ticks_offset at "
                    "offset 24 (0x18): The migration stream ended at offset "
                    "24, where 8 more bytes were expected");
    qemu_fclose(f, NULL);
    qio_channel_unref(QIO_CHANNEL(b));
    vmstate_unregister(&vmstate_timer, &s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/savevm/describe/simple", test_describe_simple);
    g_test_add_func("/savevm/describe/subsection", test_describe_subsection);
    g_test_add_func("/savevm/describe/same-names", test_describe_same_names);
    g_test_add_func("/savevm/describe/prefix-struct-and-counted",
                    test_describe_prefix_struct_and_counted);
    g_test_add_func("/savevm/describe/struct-array",
                    test_describe_struct_array);
    g_test_add_func("/savevm/describe/elements-with-index",
                    test_describe_elements_with_index);
    g_test_add_func("/savevm/describe/without-table",
                    test_describe_without_table);
    g_test_add_func("/savevm/json-escapes", test_json_escapes);
    g_test_add_func("/savevm/registry/order-and-ids",
                    test_registry_order_and_ids);
    g_test_add_func("/savevm/registry/duplicates", test_registry_duplicates);
    g_test_add_func("/savevm/registry/unmigratable",
                    test_registry_unmigratable);
    g_test_add_func("/savevm/registry/load", test_registry_load);
    return g_test_run();
}
