/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GICv2: the answers of a real one to the same accesses, what each CPU is
 * told, saved state.
 */
#include "qemu/osdep.h"

#include "arm-test.h"
#include "hw-test.h"
#include "hw/intc/arm_gic.h"
#include "qemu/error.h"
#include "system/cpus.h"

#define NUM_SPIS 256

typedef struct Gic {
    DeviceState *dev;
    GICState *s;
    MemoryRegion *dist, *cpu;
    int irq[GIC_NCPU], fiq[GIC_NCPU];
} Gic;

static void note_irq(void *opaque, int n, int level)
{
    ((int *)opaque)[n] = level;
}

static Gic *gic_new(unsigned num_cpu)
{
    Gic *g = g_new0(Gic, 1);

    g->dev = qdev_new(TYPE_ARM_GIC, &error_abort);
    g->s = ARM_GIC(g->dev);
    g->s->num_irq = NUM_SPIS + GIC_INTERNAL;
    g->s->num_cpu = num_cpu;
    g_assert_true(qdev_realize(g->dev, &error_abort));
    for (unsigned i = 0; i < num_cpu; i++) {
        sysbus_connect_irq(SYS_BUS_DEVICE(g->dev), i,
                           qemu_allocate_irq(note_irq, g->irq, i));
        sysbus_connect_irq(SYS_BUS_DEVICE(g->dev), num_cpu + i,
                           qemu_allocate_irq(note_irq, g->fiq, i));
    }
    g->dist = sysbus_mmio_get_region(SYS_BUS_DEVICE(g->dev), 0);
    g->cpu = sysbus_mmio_get_region(SYS_BUS_DEVICE(g->dev), 1);
    return g;
}

static void gic_free(Gic *g)
{
    qdev_unrealize(g->dev);
    g_free(g);
}

/* Register at the address that the machine has it. */
static MemoryRegion *window(Gic *g, uint64_t addr, hwaddr *offset)
{
    *offset = addr & 0xffff;
    return addr < 0x08010000 ? g->dist : g->cpu;
}

static void replay(gconstpointer opaque)
{
    const char *file = opaque;
    Gic *g = gic_new(strstr(file, "smp1") ? 1 : 4);
    g_auto(GStrv) lines = arm_test_data_lines(file);

    for (unsigned i = 0; lines[i]; i++) {
        g_auto(GStrv) w = g_strsplit(lines[i], " ", -1);
        unsigned size = lines[i][1] == '1' ? 1 : 4;
        uint64_t addr = g_ascii_strtoull(w[1], NULL, 16);
        uint64_t val = g_ascii_strtoull(w[2], NULL, 16), got;
        hwaddr offset;
        MemoryRegion *mr = window(g, addr, &offset);

        switch (*lines[i]) {
        case 'w':
            mmio_write(mr, offset, val, size);
            break;
        case 'r':
            got = mmio_read(mr, offset, size);
            if (got != val) {
                g_error("%s, access %u: read of 0x%" PRIx64 " gave 0x%" PRIx64
                        ", the real one says 0x%" PRIx64,
                        file, i, addr, got, val);
            }
            break;
        case 'i':
            qemu_set_irq(
                qdev_get_gpio_in(g->dev, g_ascii_strtoull(w[1], NULL, 10)),
                val);
            break;
        default:
            g_assert_not_reached();
        }
    }
    gic_free(g);
}

static void wr(MemoryRegion *mr, hwaddr reg, uint32_t val)
{
    mmio_write(mr, reg, val, 4);
}

/* All CPUs listen, @irq is enabled for CPUs in @targets. */
static void enable_spi(Gic *g, unsigned irq, uint8_t targets)
{
    wr(g->dist, 0, 1);
    for (unsigned i = 0; i < g->s->num_cpu; i++) {
        g->s->cpu_ctlr[i] = 1;
        g->s->priority_mask[i] = 0xff;
    }
    wr(g->dist, 0x100 + irq / 32 * 4, 1u << (irq % 32));
    mmio_write(g->dist, 0x800 + irq, targets, 1);
}

static void test_spi_reaches_its_targets(void)
{
    Gic *g = gic_new(4);

    enable_spi(g, 33, 0x0a);
    qemu_set_irq(qdev_get_gpio_in(g->dev, 1), 1);
    g_assert_cmpint(g->irq[0], ==, 0);
    g_assert_cmpint(g->irq[1], ==, 1);
    g_assert_cmpint(g->irq[2], ==, 0);
    g_assert_cmpint(g->irq[3], ==, 1);
    qemu_set_irq(qdev_get_gpio_in(g->dev, 1), 0);
    g_assert_cmpint(g->irq[1], ==, 0);
    g_assert_cmpint(g->irq[3], ==, 0);
    gic_free(g);
}

static void test_ppi_is_private(void)
{
    Gic *g = gic_new(4);

    enable_spi(g, 33, 0);
    g->s->irq_state[27].enabled = 0xff;
    qemu_set_irq(qdev_get_gpio_in(g->dev, NUM_SPIS + 2 * 32 + 27), 1);
    g_assert_cmpint(g->irq[1], ==, 0);
    g_assert_cmpint(g->irq[2], ==, 1);
    gic_free(g);
}

static void test_sgi_to_others(void)
{
    Gic *g = gic_new(4);

    enable_spi(g, 33, 0);
    wr(g->dist, 0xf00, (1u << 24) | 5);
    g_assert_cmpint(g->irq[0], ==, 0);
    for (int i = 1; i < 4; i++) {
        g_assert_cmpint(g->irq[i], ==, 1);
        g_assert_cmphex(g->s->sgi_pending[5][i], ==, 1);
    }
    gic_free(g);
}

static void test_fiq(void)
{
    Gic *g = gic_new(1);

    enable_spi(g, 33, 1);
    wr(g->cpu, 0, 9); /* group 0 as FIQ */
    qemu_set_irq(qdev_get_gpio_in(g->dev, 1), 1);
    g_assert_cmpint(g->irq[0], ==, 0);
    g_assert_cmpint(g->fiq[0], ==, 1);
    gic_free(g);
}

static void test_vmstate(gconstpointer opaque)
{
    const char *file = opaque;
    Gic *g = gic_new(strstr(file, "smp2") ? 2 : 1);
    const VMStateDescription *vmsd = DEVICE_GET_CLASS(g->dev)->vmsd;
    g_autoptr(GBytes) real = arm_test_data(file);
    g_autoptr(GByteArray) bytes = arm_test_save(vmsd, g->s);

    g_assert_cmpmem(bytes->data, bytes->len, g_bytes_get_data(real, NULL),
                    g_bytes_get_size(real));
    arm_test_round_trip(vmsd, g->s, 12, file);
    gic_free(g);
}

static void test_vmstate_drives_outputs(void)
{
    Gic *a = gic_new(2), *b = gic_new(2);
    const VMStateDescription *vmsd = DEVICE_GET_CLASS(a->dev)->vmsd;
    g_autoptr(GByteArray) bytes = NULL;

    enable_spi(a, 40, 2);
    qemu_set_irq(qdev_get_gpio_in(a->dev, 8), 1);
    bytes = arm_test_save(vmsd, a->s);
    g_assert_true(arm_test_load(vmsd, b->s, 12, bytes->data, bytes->len, NULL,
                                &error_abort));
    g_assert_cmpint(b->irq[0], ==, 0);
    g_assert_cmpint(b->irq[1], ==, 1);
    gic_free(a);
    gic_free(b);
}

static void test_vmstate_hostile(void)
{
    enum {
        OFF_RUNNING = 9888 - 256 - 16 - 32,
        OFF_BPR = 9888 - 256 - 16
    };
    Gic *g = gic_new(1);
    const VMStateDescription *vmsd = DEVICE_GET_CLASS(g->dev)->vmsd;
    g_autoptr(GByteArray) d = arm_test_save(vmsd, g->s);

    d->data[OFF_BPR] = 8;
    arm_test_load_fails(vmsd, g->s, 12, d->data, d->len, "bpr[0] is 8");
    d->data[OFF_BPR] = 0;
    d->data[OFF_RUNNING] = 0x80;
    arm_test_load_fails(vmsd, g->s, 12, d->data, d->len, "running_priority");
    gic_free(g);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    hw_test_init();
    g_test_add_data_func("/gic/replay/smp1", "gic2-smp1.txt", replay);
    g_test_add_data_func("/gic/replay/smp4", "gic2-smp4.txt", replay);
    g_test_add_func("/gic/spi-reaches-its-targets",
                    test_spi_reaches_its_targets);
    g_test_add_func("/gic/ppi-is-private", test_ppi_is_private);
    g_test_add_func("/gic/sgi-to-others", test_sgi_to_others);
    g_test_add_func("/gic/fiq", test_fiq);
    g_test_add_data_func("/gic/vmstate/smp1", "arm_gic.bin", test_vmstate);
    g_test_add_data_func("/gic/vmstate/smp2", "arm_gic-smp2.bin", test_vmstate);
    g_test_add_func("/gic/vmstate/drives-outputs", test_vmstate_drives_outputs);
    g_test_add_func("/gic/vmstate/hostile", test_vmstate_hostile);
    return g_test_run();
}
