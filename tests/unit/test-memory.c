/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of include/system/memory.h, one per promise. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "system/memory.h"

#define PAGE DIRTY_PAGE_SIZE

/* --- flat views ---------------------------------------------------------------- */

static uint64_t nop_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0;
}

static void nop_write(void *opaque, hwaddr addr, uint64_t data, unsigned size)
{
}

static const MemoryRegionOps nop_ops = {
    .read = nop_read,
    .write = nop_write,
};

/*
 * The definition of visibility for one address: among enabled siblings by
 * priority (later first among equals), children before the region's own.
 */
static MemoryRegion *resolve(MemoryRegion *mr, hwaddr addr, hwaddr *offset,
                             bool *readonly)
{
    if (!mr->enabled || addr < mr->addr || addr - mr->addr >= mr->size) {
        return NULL;
    }
    addr -= mr->addr;
    *readonly |= mr->readonly;
    if (mr->alias) {
        return resolve(mr->alias, addr + mr->alias_offset + mr->alias->addr,
                       offset, readonly);
    }
    for (guint i = 0; i < mr->subregions->len; i++) {
        bool ro = *readonly;
        MemoryRegion *hit = resolve(mr->subregions->pdata[i], addr, offset,
                                    &ro);

        if (hit) {
            *readonly = ro;
            return hit;
        }
    }
    *offset = addr;
    return mr->terminates ? mr : NULL;
}

static void check_view(AddressSpace *as, MemoryRegion *root, hwaddr limit)
{
    FlatView *view = address_space_get_flatview(as);

    for (hwaddr a = 0; a < limit; a += 64) {
        hwaddr offset = 0;
        bool readonly = false;
        MemoryRegion *want = resolve(root, a, &offset, &readonly);
        MemoryTranslation t;
        bool got = flatview_translate(view, a, &t);

        g_assert_true(got == (want != NULL));
        if (got) {
            g_assert_true(t.mr == want);
            g_assert_cmpuint(t.mr_offset, ==, offset);
            g_assert_true(t.readonly == readonly);
            g_assert_true(t.first <= a && a <= t.last);
        }
    }
    flatview_unref(view);
}

/* Random trees with overlaps, containers, aliases, holes, and changes. */
static void test_view_against_oracle(void)
{
    enum {
        N = 12,
        LIMIT = 64 * 64
    };
    static MemoryRegion mr[N];

    for (int round = 0; round < 60; round++) {
        AddressSpace as;

        memory_region_init(&mr[0], NULL, "root", UINT64_MAX);
        address_space_init(&as, &mr[0], "test");
        memory_region_transaction_begin();
        for (int i = 1; i < N; i++) {
            uint64_t size = g_test_rand_int_range(1, 30) * 64;
            int parent = g_test_rand_int_range(0, i);

            switch (i > 1 ? g_test_rand_int_range(0, 4) : 0) {
            case 0:
                memory_region_init_container(&mr[i], NULL, "box", size);
                break;
            case 1:
                memory_region_init_alias(
                    &mr[i], NULL, "alias", &mr[g_test_rand_int_range(1, i)],
                    g_test_rand_int_range(0, 10) * 64, size);
                break;
            default:
                memory_region_init_io(&mr[i], NULL, &nop_ops, NULL, "io", size);
            }
            while (mr[parent].alias) {
                parent--;
            }
            /* An alias must not come to lie inside of its own target. */
            if (mr[i].alias) {
                parent = 0;
            }
            memory_region_add_subregion_overlap(
                &mr[parent], g_test_rand_int_range(0, 40) * 64, &mr[i],
                g_test_rand_int_range(-2, 3));
        }
        memory_region_transaction_commit();
        check_view(&as, &mr[0], LIMIT);
        for (int k = 0; k < 6; k++) {
            int i = g_test_rand_int_range(1, N);

            memory_region_set_enabled(&mr[i], k & 1);
            memory_region_set_readonly(&mr[g_test_rand_int_range(1, N)], k & 2);
            memory_region_set_address(&mr[i],
                                      g_test_rand_int_range(0, 40) * 64);
            check_view(&as, &mr[0], LIMIT);
        }
        for (int i = N - 1; i > 0; i--) {
            memory_region_del_subregion(mr[i].container, &mr[i]);
        }
        check_view(&as, &mr[0], LIMIT);
        address_space_destroy(&as);
        for (int i = 0; i < N; i++) {
            memory_region_destroy(&mr[i]);
        }
    }
}

/* The last byte of 2^64, and neighbours that merge. */
static void test_view_edges(void)
{
    MemoryRegion ram, low, high;
    FlatView *view;
    MemoryTranslation t;

    memory_region_init_ram(&ram, NULL, "edge", 16 * PAGE, &error_abort);
    memory_region_init_alias(&low, NULL, "low", &ram, 0, 8 * PAGE);
    memory_region_init_alias(&high, NULL, "high", &ram, 8 * PAGE, 8 * PAGE);
    memory_region_add_subregion(get_system_memory(), -16 * PAGE, &low);
    memory_region_add_subregion(get_system_memory(), -8 * PAGE, &high);

    view = address_space_get_flatview(&address_space_memory);
    g_assert_true(flatview_translate(view, UINT64_MAX, &t));
    g_assert_cmphex(t.first, ==, -16 * PAGE);
    g_assert_cmphex(t.last, ==, UINT64_MAX);
    g_assert_cmpuint(t.block_offset, ==, 16 * PAGE - 1);
    g_assert_true((uint8_t *)t.host ==
                  (uint8_t *)memory_region_get_ram_ptr(&ram) + 16 * PAGE - 1);
    g_assert_false(flatview_translate(view, -16 * PAGE - 1, &t));
    flatview_unref(view);

    memory_region_del_subregion(get_system_memory(), &low);
    memory_region_del_subregion(get_system_memory(), &high);
    memory_region_destroy(&low);
    memory_region_destroy(&high);
    memory_region_destroy(&ram);
}

/* Who holds a view may use its memory though the region is gone. */
static void test_view_keeps_memory(void)
{
    MemoryRegion ram;
    FlatView *view;
    MemoryTranslation t;
    unsigned generation;

    memory_region_init_ram(&ram, NULL, "gone", PAGE, &error_abort);
    memory_region_add_subregion(get_system_memory(), 0, &ram);
    view = address_space_get_flatview(&address_space_memory);
    generation = address_space_generation(&address_space_memory);
    memory_region_del_subregion(get_system_memory(), &ram);
    memory_region_destroy(&ram);

    g_assert_cmpuint(address_space_generation(&address_space_memory), !=,
                     generation);
    g_assert_true(flatview_translate(view, 8, &t));
    memset(t.host, 0x5a, 8); /* ASAN or SIGSEGV if it were freed */
    ram_block_set_dirty(t.block, t.block_offset, 8, DIRTY_CLIENTS_ALL);
    flatview_unref(view);
    view = address_space_get_flatview(&address_space_memory);
    g_assert_false(flatview_translate(view, 8, &t));
    flatview_unref(view);
}

/* --- access ------------------------------------------------------------------ */

typedef struct Dev {
    uint8_t regs[64];
    GString *log;
    MemTxResult fail;
    bool locked;
} Dev;

static MemTxResult dev_read(void *opaque, hwaddr addr, uint64_t *data,
                            unsigned size, MemTxAttrs attrs)
{
    Dev *d = opaque;

    g_string_append_printf(d->log, "r%u@%x ", size, (int)addr);
    d->locked = bql_locked();
    *data = 0;
    memcpy(data, d->regs + addr, MIN(size, 64 - addr));
    return d->fail;
}

static MemTxResult dev_write(void *opaque, hwaddr addr, uint64_t data,
                             unsigned size, MemTxAttrs attrs)
{
    Dev *d = opaque;

    g_string_append_printf(d->log, "w%u@%x=%" PRIx64 " ", size, (int)addr,
                           data);
    d->locked = bql_locked();
    memcpy(d->regs + addr, &data, MIN(size, 64 - addr));
    return d->fail;
}

static void expect_log(Dev *d, const char *want)
{
    g_assert_cmpstr(d->log->str, ==, want);
    g_string_truncate(d->log, 0);
}

static void test_dispatch_sizes(void)
{
    MemoryRegionOps ops = { .read_with_attrs = dev_read,
                            .write_with_attrs = dev_write,
                            .valid = { 1, 8 },
                            .impl = { 2, 4 } };
    Dev d = { .log = g_string_new(NULL) };
    MemTxAttrs attrs = MEMTXATTRS_UNSPECIFIED;
    MemoryRegion mr;
    uint64_t v;

    memory_region_init_io(&mr, NULL, &ops, &d, "dev", 64);
    for (int i = 0; i < 64; i++) {
        d.regs[i] = i;
    }
    g_assert_cmpuint(memory_region_dispatch_read(&mr, 8, &v, 8, attrs), ==, 0);
    g_assert_cmphex(v, ==, 0x0f0e0d0c0b0a0908);
    expect_log(&d, "r4@8 r4@c ");
    memory_region_dispatch_read(&mr, 5, &v, 1, attrs);
    g_assert_cmphex(v, ==, 5);
    expect_log(&d, "r2@5 ");
    memory_region_dispatch_write(&mr, 16, 0x1122334455667788, 8, attrs);
    expect_log(&d, "w4@10=55667788 w4@14=11223344 ");
    memory_region_dispatch_write(&mr, 16, 0x1ff, 1, attrs);
    expect_log(&d, "w2@10=ff ");

    /* Not aligned: not valid. */
    g_assert_cmpuint(memory_region_dispatch_read(&mr, 3, &v, 4, attrs), ==,
                     MEMTX_DECODE_ERROR);
    g_assert_cmphex(v, ==, 0);
    expect_log(&d, "");
    ops.valid.max_access_size = 4;
    g_assert_cmpuint(memory_region_dispatch_write(&mr, 0, 0, 8, attrs), ==,
                     MEMTX_DECODE_ERROR);
    expect_log(&d, "");

    ops.endianness = DEVICE_BIG_ENDIAN;
    ops.impl.max_access_size = 2;
    d.regs[0] = 1, d.regs[1] = 2, d.regs[2] = 3, d.regs[3] = 4;
    memory_region_dispatch_read(&mr, 0, &v, 4, attrs);
    /* The device says 0x0201, 0x0403 as numbers: as a big-endian 32-bit
     * register that is 0x02010403. */
    g_assert_cmphex(v, ==, 0x03040102);
    expect_log(&d, "r2@0 r2@2 ");
    memory_region_dispatch_write(&mr, 4, 0x03040102, 4, attrs);
    expect_log(&d, "w2@4=201 w2@6=403 ");

    d.fail = MEMTX_ERROR;
    g_assert_cmpuint(memory_region_dispatch_read(&mr, 0, &v, 2, attrs), ==,
                     MEMTX_ERROR);
    g_assert_cmphex(v, ==, 0);
    g_string_free(d.log, TRUE);
    memory_region_destroy(&mr);
}

static void *dispatch_from_thread(void *opaque)
{
    MemoryRegion *mr = opaque;
    uint64_t v;

    g_assert_false(bql_locked());
    memory_region_dispatch_read(mr, 0, &v, 4, MEMTXATTRS_UNSPECIFIED);
    g_assert_false(bql_locked());
    return NULL;
}

/* A register over the middle of another one does not cut its accesses. */
static void test_register_in_register(void)
{
    MemoryRegionOps ops = { .read_with_attrs = dev_read,
                            .write_with_attrs = dev_write };
    Dev outer = { .log = g_string_new(NULL) };
    Dev inner = { .log = g_string_new(NULL) };
    MemoryRegion outer_mr, inner_mr, *sys = get_system_memory();
    AddressSpace *as = &address_space_memory;
    MemTxAttrs attrs = MEMTXATTRS_UNSPECIFIED;
    uint8_t buf[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

    memory_region_init_io(&outer_mr, NULL, &ops, &outer, "outer", 4);
    memory_region_init_io(&inner_mr, NULL, &ops, &inner, "inner", 1);
    memory_region_add_subregion_overlap(sys, 0xcf8, &outer_mr, -1);
    memory_region_add_subregion(sys, 0xcf9, &inner_mr);

    g_assert_cmpuint(address_space_write(as, 0xcf8, attrs, buf, 4), ==, 0);
    expect_log(&outer, "w4@0=4030201 ");
    expect_log(&inner, "");
    g_assert_cmpuint(address_space_read(as, 0xcf8, attrs, buf + 4, 4), ==, 0);
    expect_log(&outer, "r4@0 ");
    g_assert_cmpint(memcmp(buf, buf + 4, 4), ==, 0);
    g_assert_cmpuint(address_space_write(as, 0xcf9, attrs, buf, 1), ==, 0);
    expect_log(&outer, "");
    expect_log(&inner, "w1@0=1 ");
    g_assert_cmpuint(address_space_write(as, 0xcf8, attrs, buf, 2), ==, 0);
    expect_log(&outer, "w2@0=201 ");
    expect_log(&inner, "");
    /* Never beyond its own region. */
    g_assert_cmpuint(address_space_write(as, 0xcf8, attrs, buf, 8), ==,
                     MEMTX_DECODE_ERROR);
    expect_log(&outer, "w4@0=4030201 ");

    memory_region_del_subregion(sys, &outer_mr);
    memory_region_del_subregion(sys, &inner_mr);
    memory_region_destroy(&outer_mr);
    memory_region_destroy(&inner_mr);
    g_string_free(outer.log, TRUE);
    g_string_free(inner.log, TRUE);
}

static void TSA_NO_CHECK test_dispatch_takes_bql(void)
{
    MemoryRegionOps ops = { .read_with_attrs = dev_read,
                            .write_with_attrs = dev_write };
    Dev d = { .log = g_string_new(NULL) };
    MemoryRegion mr;
    QemuThread thread;

    memory_region_init_io(&mr, NULL, &ops, &d, "dev", 64);
    bql_unlock();
    qemu_thread_create(&thread, "vcpu", dispatch_from_thread, &mr,
                       QEMU_THREAD_JOINABLE, &error_abort);
    qemu_thread_join(&thread);
    g_assert_true(d.locked);
    bql_lock();

    memory_region_clear_global_locking(&mr);
    bql_unlock();
    qemu_thread_create(&thread, "vcpu", dispatch_from_thread, &mr,
                       QEMU_THREAD_JOINABLE, &error_abort);
    qemu_thread_join(&thread);
    g_assert_false(d.locked);
    bql_lock();
    g_string_free(d.log, TRUE);
    memory_region_destroy(&mr);
}

/* RAM, a hole, a device, ROM in one range. */
static void test_rw_mixture(void)
{
    MemoryRegionOps ops = { .read_with_attrs = dev_read,
                            .write_with_attrs = dev_write };
    MemTxAttrs attrs = MEMTXATTRS_UNSPECIFIED;
    Dev d = { .log = g_string_new(NULL) };
    MemoryRegion ram, dev, rom, *sys = get_system_memory();
    uint8_t buf[3 * PAGE], *host, *rom_host;
    AddressSpace *as = &address_space_memory;

    memory_region_init_ram(&ram, NULL, "ram", PAGE, &error_abort);
    memory_region_init_io(&dev, NULL, &ops, &d, "dev", 16);
    memory_region_init_rom(&rom, NULL, "rom", PAGE, &error_abort);
    memory_region_add_subregion(sys, 0x10000, &ram);
    memory_region_add_subregion(sys, 0x11100, &dev);
    memory_region_add_subregion(sys, 0x12000, &rom);
    host = memory_region_get_ram_ptr(&ram);
    rom_host = memory_region_get_ram_ptr(&rom);
    ram_block_collect_dirty(ram.ram_block, 0, PAGE, DIRTY_MEMORY_MIGRATION,
                            NULL);

    memset(buf, 0x77, sizeof(buf));
    g_assert_cmpuint(
        address_space_write(as, 0x10010, attrs, buf, 2 * PAGE + 0x10), ==,
        MEMTX_DECODE_ERROR);
    expect_log(&d, "w4@0=77777777 w4@4=77777777 w4@8=77777777 w4@c=77777777 ");
    g_assert_cmpuint(host[0x0f], ==, 0);
    g_assert_cmpuint(host[0x10], ==, 0x77);
    g_assert_cmpuint(host[PAGE - 1], ==, 0x77);
    g_assert_cmpuint(rom_host[0], ==, 0); /* ROM does not take it */
    g_assert_true(
        ram_block_get_dirty(ram.ram_block, 0, PAGE, DIRTY_MEMORY_MIGRATION));
    g_assert_false(
        ram_block_get_dirty(rom.ram_block, 0, PAGE, DIRTY_MEMORY_MIGRATION));

    g_assert_cmpuint(address_space_write_rom(as, 0x12000, attrs, buf, 8), ==,
                     MEMTX_OK);
    g_assert_cmpuint(rom_host[7], ==, 0x77);
    g_assert_true(
        ram_block_get_dirty(rom.ram_block, 0, PAGE, DIRTY_MEMORY_MIGRATION));

    memset(buf, 0xee, sizeof(buf));
    g_assert_cmpuint(address_space_read(as, 0x10ff0, attrs, buf, 0x1020), ==,
                     MEMTX_DECODE_ERROR);
    g_assert_cmpuint(buf[0], ==, 0x77);
    g_assert_cmpuint(buf[0x10], ==, 0);      /* the hole reads as zero */
    g_assert_cmpuint(buf[0x110], ==, 0x77);  /* the device */
    g_assert_cmpuint(buf[0x1010], ==, 0x77); /* ROM */
    g_string_truncate(d.log, 0);

    /* Odd pieces at a device: the largest that is aligned. */
    address_space_read(as, 0x11101, attrs, buf, 8);
    expect_log(&d, "r1@1 r2@2 r4@4 r1@8 ");
    g_assert_false(address_space_read_ram(as, 0x11100, buf, 4));
    g_assert_true(address_space_read_ram(as, 0x10ffc, buf, 4));
    expect_log(&d, "");

    stq_le_phys(as, 0x10000, 0x0102030405060708);
    g_assert_cmpuint(host[0], ==, 8);
    g_assert_cmphex(ldq_le_phys(as, 0x10000), ==, 0x0102030405060708);
    g_assert_cmphex(ldl_le_phys(as, 0x10004), ==, 0x01020304);
    g_assert_cmphex(lduw_le_phys(as, 0x10001), ==, 0x0607);
    g_assert_cmphex(ldub_phys(as, 0x10007), ==, 1);
    stw_le_phys(as, 0x10002, 0xabcd);
    stb_phys(as, 0x10000, 0xff);
    stl_le_phys(as, 0x10004, 0xdeadbeef);
    g_assert_cmphex(ldq_le_phys(as, 0x10000), ==, 0xdeadbeefabcd07ff);
    g_assert_cmpuint(address_space_set(as, 0x10000, 0x11, PAGE, attrs), ==, 0);
    g_assert_cmphex(host[PAGE - 1], ==, 0x11);

    memory_region_del_subregion(sys, &ram);
    memory_region_del_subregion(sys, &dev);
    memory_region_del_subregion(sys, &rom);
    memory_region_destroy(&ram);
    memory_region_destroy(&dev);
    memory_region_destroy(&rom);
    g_string_free(d.log, TRUE);
}

/* Flash: reads are RAM's, writes the device's; then both the device's. */
static void test_rom_device(void)
{
    MemoryRegionOps ops = { .read_with_attrs = dev_read,
                            .write_with_attrs = dev_write };
    Dev d = { .log = g_string_new(NULL), .regs = { 9 } };
    MemoryRegion flash;
    AddressSpace *as = &address_space_memory;
    uint8_t *host;

    memory_region_init_rom_device(&flash, NULL, &ops, &d, "flash", PAGE,
                                  &error_abort);
    memory_region_add_subregion(get_system_memory(), 0, &flash);
    host = qemu_ram_get_host_addr(flash.ram_block);
    host[0] = 3;
    g_assert_cmpuint(ldub_phys(as, 0), ==, 3);
    stb_phys(as, 0, 5);
    expect_log(&d, "w1@0=5 ");
    g_assert_cmpuint(ldub_phys(as, 0), ==, 3);
    memory_region_rom_device_set_romd(&flash, false);
    g_assert_cmpuint(ldub_phys(as, 0), ==, 5);
    expect_log(&d, "r1@0 ");
    memory_region_del_subregion(get_system_memory(), &flash);
    memory_region_destroy(&flash);
    g_string_free(d.log, TRUE);
}

/* --- listeners ----------------------------------------------------------------- */

typedef struct Recorder {
    MemoryListener listener;
    GString *log;
    const char *name;
} Recorder;

static void record(MemoryListener *l, const char *what,
                   MemoryRegionSection *section)
{
    Recorder *r = container_of(l, Recorder, listener);

    g_string_append_printf(r->log, "%s%s", r->name, what);
    if (section) {
        g_string_append_printf(
            r->log, "%s@%" PRIx64 "+%" PRIx64, section->mr->name,
            section->offset_within_address_space, (uint64_t)section->size);
    }
    g_string_append_c(r->log, ' ');
}

static void record_begin(MemoryListener *l)
{
    record(l, "(", NULL);
}

static void record_commit(MemoryListener *l)
{
    record(l, ")", NULL);
}

static void record_add(MemoryListener *l, MemoryRegionSection *section)
{
    record(l, "+", section);
}

static void record_del(MemoryListener *l, MemoryRegionSection *section)
{
    record(l, "-", section);
}

static void record_log_start(MemoryListener *l, MemoryRegionSection *section,
                             int old_mask, int new_mask)
{
    record(l, old_mask == 0 && new_mask == 1 ? "L" : "?", section);
}

static void record_log_stop(MemoryListener *l, MemoryRegionSection *section,
                            int old_mask, int new_mask)
{
    record(l, old_mask == 1 && new_mask == 0 ? "l" : "?", section);
}

static const MemoryListener recording = {
    .begin = record_begin,
    .commit = record_commit,
    .region_add = record_add,
    .region_del = record_del,
    .log_start = record_log_start,
    .log_stop = record_log_stop,
};

static void expect(GString *log, const char *want)
{
    g_assert_cmpstr(log->str, ==, want);
    g_string_truncate(log, 0);
}

static void test_listeners_hear_differences(void)
{
    GString *log = g_string_new(NULL);
    Recorder a = { recording, log, "a" }, b = { recording, log, "b" };
    MemoryRegion *sys = get_system_memory(), ram, dev;

    a.listener.priority = 1;
    b.listener.priority = 5;
    memory_region_init_ram(&ram, NULL, "m", 4 * PAGE, &error_abort);
    memory_region_init_io(&dev, NULL, &nop_ops, NULL, "d", PAGE);

    memory_listener_register(&b.listener, &address_space_memory);
    expect(log, "b( b) ");
    memory_region_add_subregion(sys, 0x1000, &ram);
    expect(log, "b( b+m@1000+4000 b) ");
    memory_listener_register(&a.listener, &address_space_memory);
    expect(log, "a( a+m@1000+4000 a) ");

    /* A device in the middle splits the RAM; descending, then ascending. */
    memory_region_add_subregion_overlap(sys, 0x2000, &dev, 1);
    expect(log, "a( b( b-m@1000+4000 a-m@1000+4000 "
                "a+m@1000+1000 b+m@1000+1000 a+d@2000+1000 b+d@2000+1000 "
                "a+m@3000+2000 b+m@3000+2000 a) b) ");

    /* Nothing visible changes: begin and commit alone. */
    memory_region_transaction_begin();
    memory_region_set_enabled(&dev, false);
    memory_region_set_enabled(&dev, true);
    expect(log, "");
    memory_region_transaction_commit();
    expect(log, "a( b( a) b) ");

    memory_region_set_log(&ram, true, DIRTY_MEMORY_VGA);
    expect(log, "a( b( aLm@1000+1000 bLm@1000+1000 aLm@3000+2000 "
                "bLm@3000+2000 a) b) ");
    memory_region_set_log(&ram, false, DIRTY_MEMORY_VGA);
    expect(log, "a( b( blm@1000+1000 alm@1000+1000 blm@3000+2000 "
                "alm@3000+2000 a) b) ");

    memory_listener_unregister(&b.listener);
    expect(log, "b( b-m@1000+1000 b-d@2000+1000 b-m@3000+2000 b) ");
    memory_region_del_subregion(sys, &ram);
    expect(log, "a( a-m@1000+1000 a-m@3000+2000 a) ");
    memory_region_del_subregion(sys, &dev);
    memory_listener_unregister(&a.listener);
    memory_region_destroy(&ram);
    memory_region_destroy(&dev);
    g_string_free(log, TRUE);
}

static void test_region_find(void)
{
    MemoryRegion *sys = get_system_memory(), ram;
    MemoryRegionSection s;

    memory_region_init_ram(&ram, NULL, "m", 4 * PAGE, &error_abort);
    memory_region_add_subregion(sys, 0x8000, &ram);
    s = memory_region_find(sys, 0x7000, 0x2000);
    g_assert_true(s.mr == &ram);
    g_assert_cmphex(s.offset_within_address_space, ==, 0x8000);
    g_assert_cmphex((uint64_t)s.size, ==, 0x1000);
    s = memory_region_find(sys, 0x9800, 0x800);
    g_assert_cmphex(s.offset_within_region, ==, 0x1800);
    g_assert_cmphex((uint64_t)s.size, ==, 0x800);
    g_assert_null(memory_region_find(sys, 0xc000, 0x1000).mr);
    memory_region_del_subregion(sys, &ram);
    memory_region_destroy(&ram);
}

/* Accessors in other threads while the topology changes under them. */
typedef struct Toucher {
    _Atomic bool stop;
    QemuThread thread;
} Toucher;

static void *touch(void *opaque)
{
    Toucher *t = opaque;

    while (!atomic_load(&t->stop)) {
        stq_le_phys(&address_space_memory, 0x3000, 1);
        ldq_le_phys(&address_space_memory, 0x1000);
        memory_global_dirty_log_sync(false);
    }
    return NULL;
}

static void test_change_under_access(void)
{
    Toucher t = { .stop = false };
    MemoryRegion *sys = get_system_memory(), ram;

    qemu_thread_create(&t.thread, "toucher", touch, &t, QEMU_THREAD_JOINABLE,
                       &error_abort);
    for (int i = 0; i < 300; i++) {
        memory_region_init_ram(&ram, NULL, "r", 4 * PAGE, &error_abort);
        memory_region_add_subregion(sys, 0x1000 + i % 3 * PAGE, &ram);
        memory_region_del_subregion(sys, &ram);
        memory_region_destroy(&ram);
    }
    atomic_store(&t.stop, true);
    qemu_thread_join(&t.thread);
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    get_system_memory();
    g_test_add_func("/view/against-oracle", test_view_against_oracle);
    g_test_add_func("/view/edges", test_view_edges);
    g_test_add_func("/view/keeps-memory", test_view_keeps_memory);
    g_test_add_func("/dispatch/sizes", test_dispatch_sizes);
    g_test_add_func("/dispatch/register-in-register",
                    test_register_in_register);
    g_test_add_func("/dispatch/takes-bql", test_dispatch_takes_bql);
    g_test_add_func("/access/mixture", test_rw_mixture);
    g_test_add_func("/access/rom-device", test_rom_device);
    g_test_add_func("/listener/hear-differences",
                    test_listeners_hear_differences);
    g_test_add_func("/listener/region-find", test_region_find);
    g_test_add_func("/race/change-under-access", test_change_under_access);
    return g_test_run();
}
