/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GICv3: the answers of a real one to the same accesses, the CPU interface,
 * SGIs, saved state.
 */
#include "qemu/osdep.h"

#include "arm-test.h"
#include "hw-test.h"
#include "hw/intc/arm_gicv3.h"
#include "qemu/error.h"
#include "target/arm/sysreg.h"

#define NUM_SPIS 256
#define DIST     UINT64_C(0x08000000)
#define REDIST   UINT64_C(0x080a0000)

typedef struct Gic {
    DeviceState *dev;
    GICv3State *s;
    MemoryRegion *dist, *redist;
    ARMCPU *cpus[GICV3_MAX_CPUS];
    int irq[GICV3_MAX_CPUS], fiq[GICV3_MAX_CPUS];
} Gic;

static unsigned next_affinity;

static void set_affinity(ARMCPU *cpu)
{
    cpu->mp_affinity = next_affinity;
}

static void note_level(void *opaque, int n, int level)
{
    ((int *)opaque)[n] = level;
}

static Gic *gic_new(unsigned num_cpu)
{
    Gic *g = g_new0(Gic, 1);

    g->dev = qdev_new(TYPE_ARM_GICV3, &error_abort);
    g->s = ARM_GICV3(g->dev);
    g->s->num_irq = NUM_SPIS + GICV3_INTERNAL;
    g->s->num_cpu = num_cpu;
    g->s->cpu = g_new0(GICv3CPUState, num_cpu);
    for (unsigned i = 0; i < num_cpu; i++) {
        next_affinity = i;
        g->cpus[i] = arm_test_cpu_new("cortex-a57", set_affinity);
        g->s->cpu[i].gic = g->s;
        g->s->cpu[i].cpu = g->cpus[i];
    }
    g_assert_true(qdev_realize(g->dev, &error_abort));
    for (unsigned i = 0; i < num_cpu; i++) {
        sysbus_connect_irq(SYS_BUS_DEVICE(g->dev), i,
                           qemu_allocate_irq(note_level, g->irq, i));
        sysbus_connect_irq(SYS_BUS_DEVICE(g->dev), num_cpu + i,
                           qemu_allocate_irq(note_level, g->fiq, i));
    }
    g->dist = sysbus_mmio_get_region(SYS_BUS_DEVICE(g->dev), 0);
    g->redist = sysbus_mmio_get_region(SYS_BUS_DEVICE(g->dev), 1);
    return g;
}

static void gic_free(Gic *g)
{
    qdev_unrealize(g->dev);
    g_free(g);
}

static void replay(gconstpointer opaque)
{
    const char *file = opaque;
    Gic *g = gic_new(3);
    g_auto(GStrv) lines = arm_test_data_lines(file);

    for (unsigned i = 0; lines[i]; i++) {
        g_auto(GStrv) w = g_strsplit(lines[i], " ", -1);
        unsigned size = lines[i][1] - '0';
        uint64_t addr = g_ascii_strtoull(w[1], NULL, 16);
        uint64_t val = g_ascii_strtoull(w[2], NULL, 16), got;
        MemoryRegion *mr = addr < REDIST ? g->dist : g->redist;
        hwaddr offset = addr - (addr < REDIST ? DIST : REDIST);

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

/* ---- CPU interface ---- */

static const ARMSysReg *icc(Gic *g, unsigned cpu, unsigned crn, unsigned crm,
                            unsigned op2)
{
    const ARMSysReg *r = arm_sysreg_lookup(g->cpus[cpu], 3, 0, crn, crm, op2);

    g_assert_nonnull(r);
    return r;
}

static uint64_t rd(Gic *g, unsigned cpu, unsigned crm, unsigned op2)
{
    return arm_sysreg_read(&g->cpus[cpu]->env, icc(g, cpu, 12, crm, op2));
}

static void wr(Gic *g, unsigned cpu, unsigned crm, unsigned op2, uint64_t val)
{
    arm_sysreg_write(&g->cpus[cpu]->env, icc(g, cpu, 12, crm, op2), val);
}

static void set_pmr(Gic *g, unsigned cpu, uint64_t val)
{
    arm_sysreg_write(&g->cpus[cpu]->env, icc(g, cpu, 4, 6, 0), val);
}

#define IAR1(g)     rd(g, 0, 12, 0)
#define EOIR1(g, v) wr(g, 0, 12, 1, v)
#define HPPIR1(g)   rd(g, 0, 12, 2)
#define RPR(g)      rd(g, 0, 11, 3)
#define SGI1R(g, v) wr(g, 0, 11, 5, v)

/* All of group 1, everything listens. */
static Gic *ready_gic(unsigned num_cpu)
{
    Gic *g = gic_new(num_cpu);

    mmio_write(g->dist, 0, 2, 4);
    memset(g->s->group, 0xff, sizeof(g->s->group));
    memset(g->s->enabled, 0xff, sizeof(g->s->enabled));
    memset(g->s->gicd_ipriority, 0xa0, sizeof(g->s->gicd_ipriority));
    for (unsigned i = 0; i < num_cpu; i++) {
        GICv3CPUState *cs = &g->s->cpu[i];

        cs->gicr_igroupr0 = cs->gicr_ienabler0 = ~0u;
        memset(cs->gicr_ipriorityr, 0xa0, sizeof(cs->gicr_ipriorityr));
        set_pmr(g, i, 0xff);
        wr(g, i, 12, 7, 1);
    }
    return g;
}

static void spi(Gic *g, unsigned irq, int level)
{
    qemu_set_irq(qdev_get_gpio_in(g->dev, irq - GICV3_INTERNAL), level);
}

static void test_acknowledge_and_end(void)
{
    Gic *g = ready_gic(1);

    g_assert_cmpuint(IAR1(g), ==, 1023);
    spi(g, 40, 1);
    g_assert_cmpint(g->irq[0], ==, 1);
    g_assert_cmpuint(HPPIR1(g), ==, 40);
    g_assert_cmpuint(RPR(g), ==, 0xff);
    g_assert_cmpuint(IAR1(g), ==, 40);
    g_assert_cmpint(g->irq[0], ==, 0); /* active: not pending again */
    g_assert_cmpuint(RPR(g), ==, 0xa0);
    g_assert_cmpuint(IAR1(g), ==, 1023);
    EOIR1(g, 40);
    g_assert_cmpuint(RPR(g), ==, 0xff);
    g_assert_cmpint(g->irq[0], ==, 1); /* the level is still there */
    g_assert_cmpuint(IAR1(g), ==, 40);
    spi(g, 40, 0);
    EOIR1(g, 40);
    g_assert_cmpint(g->irq[0], ==, 0);
    gic_free(g);
}

static void test_preemption(void)
{
    Gic *g = ready_gic(1);

    mmio_write(g->dist, 0x400 + 41, 0x80, 1);
    mmio_write(g->dist, 0x400 + 42, 0x87, 1); /* same level as 41 */
    spi(g, 40, 1);
    g_assert_cmpuint(IAR1(g), ==, 40);
    spi(g, 41, 1);
    g_assert_cmpint(g->irq[0], ==, 1);
    g_assert_cmpuint(IAR1(g), ==, 41);
    spi(g, 42, 1);
    g_assert_cmpint(g->irq[0], ==, 0);
    g_assert_cmpuint(HPPIR1(g), ==, 42);
    g_assert_cmpuint(IAR1(g), ==, 1023);
    spi(g, 41, 0);
    EOIR1(g, 41);
    g_assert_cmpint(g->irq[0], ==, 1);
    g_assert_cmpuint(IAR1(g), ==, 42);
    gic_free(g);
}

static void test_priority_mask(void)
{
    Gic *g = ready_gic(1);

    spi(g, 40, 1);
    set_pmr(g, 0, 0xa0);
    g_assert_cmpint(g->irq[0], ==, 0);
    set_pmr(g, 0, 0xaf); /* low bits are not there: 0xa8 */
    g_assert_cmpint(g->irq[0], ==, 1);
    g_assert_cmpuint(arm_sysreg_read(&g->cpus[0]->env, icc(g, 0, 4, 6, 0)), ==,
                     0xa8);
    gic_free(g);
}

static void test_split_end(void)
{
    Gic *g = ready_gic(1);

    wr(g, 0, 12, 4, 2); /* EOImode */
    spi(g, 40, 1);
    g_assert_cmpuint(IAR1(g), ==, 40);
    EOIR1(g, 40);
    g_assert_cmpuint(RPR(g), ==, 0xff);
    g_assert_cmpint(g->irq[0], ==, 0); /* still active */
    wr(g, 0, 11, 1, 40);               /* ICC_DIR_EL1 */
    g_assert_cmpint(g->irq[0], ==, 1);
    gic_free(g);
}

static void test_group0_is_fiq(void)
{
    Gic *g = ready_gic(1);

    mmio_write(g->dist, 0, 3, 4);
    mmio_write(g->dist, 0x84, 0, 4); /* 32..63: group 0 */
    spi(g, 40, 1);
    g_assert_cmpint(g->fiq[0], ==, 0);
    wr(g, 0, 12, 6, 1); /* ICC_IGRPEN0_EL1 */
    g_assert_cmpint(g->fiq[0], ==, 1);
    g_assert_cmpint(g->irq[0], ==, 0);
    g_assert_cmpuint(IAR1(g), ==, 1023);
    g_assert_cmpuint(rd(g, 0, 8, 0), ==, 40);
    EOIR1(g, 40); /* not the group in service */
    g_assert_cmpuint(RPR(g), ==, 0xa0);
    wr(g, 0, 8, 1, 40);
    g_assert_cmpuint(RPR(g), ==, 0xff);
    gic_free(g);
}

static void test_routing(void)
{
    Gic *g = ready_gic(3);

    mmio_write(g->dist, 0x6000 + 8 * 40, 2, 8);
    spi(g, 40, 1);
    g_assert_cmpint(g->irq[0], ==, 0);
    g_assert_cmpint(g->irq[2], ==, 1);
    mmio_write(g->dist, 0x6000 + 8 * 40, 1, 8);
    g_assert_cmpint(g->irq[1], ==, 1);
    g_assert_cmpint(g->irq[2], ==, 0);
    mmio_write(g->dist, 0x6000 + 8 * 40, 0x77, 8); /* nobody */
    for (int i = 0; i < 3; i++) {
        g_assert_cmpint(g->irq[i], ==, 0);
    }
    qemu_set_irq(qdev_get_gpio_in(g->dev, NUM_SPIS + 32 + 27), 1);
    g_assert_cmpint(g->irq[0], ==, 0);
    g_assert_cmpint(g->irq[1], ==, 1);
    gic_free(g);
}

static void test_sgis(void)
{
    Gic *g = ready_gic(3);

    SGI1R(g, (5ull << 24) | 6); /* to 1 and 2 */
    g_assert_cmphex(g->s->cpu[0].gicr_ipendr0, ==, 0);
    g_assert_cmphex(g->s->cpu[1].gicr_ipendr0, ==, 1 << 5);
    g_assert_cmphex(g->s->cpu[2].gicr_ipendr0, ==, 1 << 5);
    g_assert_cmpuint(rd(g, 1, 12, 0), ==, 5);
    g_assert_cmphex(g->s->cpu[1].gicr_ipendr0, ==, 0);
    SGI1R(g, (1ull << 40) | (6ull << 24)); /* all others */
    g_assert_cmphex(g->s->cpu[0].gicr_ipendr0, ==, 0);
    g_assert_cmphex(g->s->cpu[1].gicr_ipendr0, ==, 1 << 6);
    SGI1R(g, (7ull << 24) | (1 << 16) | 1);    /* another cluster */
    SGI1R(g, (1ull << 44) | (7ull << 24) | 1); /* Aff0 16..31 */
    g_assert_cmphex(g->s->cpu[0].gicr_ipendr0, ==, 0);
    wr(g, 0, 11, 7, (7ull << 24) | 1); /* SGI0R: it is not in group 0 */
    g_assert_cmphex(g->s->cpu[0].gicr_ipendr0, ==, 0);
    gic_free(g);
}

/* ---- saved state ---- */

static void test_vmstate(gconstpointer opaque)
{
    const char *file = opaque;
    Gic *g = gic_new(strstr(file, "smp3") ? 3 : 1);
    const VMStateDescription *vmsd = DEVICE_GET_CLASS(g->dev)->vmsd;
    g_autoptr(GBytes) real = arm_test_data(file);
    g_autoptr(GByteArray) bytes = arm_test_save(vmsd, g->s);

    g_assert_cmpmem(bytes->data, bytes->len, g_bytes_get_data(real, NULL),
                    g_bytes_get_size(real));
    arm_test_round_trip(vmsd, g->s, 1, file);
    gic_free(g);
}

static void test_vmstate_mid_interrupt(void)
{
    Gic *a = ready_gic(2), *b = gic_new(2);
    const VMStateDescription *vmsd = DEVICE_GET_CLASS(a->dev)->vmsd;
    g_autoptr(GByteArray) bytes = NULL;

    spi(a, 40, 1);
    g_assert_cmpuint(IAR1(a), ==, 40);
    mmio_write(a->dist, 0x6000 + 8 * 50, 1, 8);
    spi(a, 50, 1);
    bytes = arm_test_save(vmsd, a->s);
    g_assert_true(arm_test_load(vmsd, b->s, 1, bytes->data, bytes->len, NULL,
                                &error_abort));
    g_assert_cmpint(b->irq[0], ==, 0);
    g_assert_cmpint(b->irq[1], ==, 1);
    g_assert_cmpuint(RPR(b), ==, 0xa0);
    EOIR1(b, 40);
    g_assert_cmpuint(IAR1(b), ==, 40);
    gic_free(a);
    gic_free(b);
}

static void test_vmstate_hostile(void)
{
    /* The CPU's part lies in front of the last subsection. */
    enum {
        LEN = 10695,
        OFF_SHIFT = LEN - 1,
        CPU = 10344,
        OFF_BPR = 120
    };
    static const struct {
        int offset;
        uint8_t val;
        const char *words;
    } bad[] = {
        { OFF_SHIFT, 0, "displaced" },
        { 3, 0x10, "two security states" },
        { CPU + 7, 1, "LPIs" },
        { CPU + OFF_BPR + 7, 8, "icc_bpr[0] is 8" },
        { CPU + OFF_BPR + 16, 0xff, "icc_bpr[2]" },
    };
    Gic *g = gic_new(1);
    const VMStateDescription *vmsd = DEVICE_GET_CLASS(g->dev)->vmsd;
    g_autoptr(GByteArray) good = arm_test_save(vmsd, g->s);

    g_assert_cmpuint(good->len, ==, LEN);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        g_autofree uint8_t *d = g_memdup2(good->data, good->len);

        d[bad[i].offset] = bad[i].val;
        arm_test_load_fails(vmsd, g->s, 1, d, good->len, bad[i].words);
    }
    gic_free(g);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    hw_test_init();
    g_test_add_data_func("/gicv3/replay", "gic3-smp3.txt", replay);
    g_test_add_func("/gicv3/acknowledge-and-end", test_acknowledge_and_end);
    g_test_add_func("/gicv3/preemption", test_preemption);
    g_test_add_func("/gicv3/priority-mask", test_priority_mask);
    g_test_add_func("/gicv3/split-end", test_split_end);
    g_test_add_func("/gicv3/group0-is-fiq", test_group0_is_fiq);
    g_test_add_func("/gicv3/routing", test_routing);
    g_test_add_func("/gicv3/sgis", test_sgis);
    g_test_add_data_func("/gicv3/vmstate/smp1", "arm_gicv3.bin", test_vmstate);
    g_test_add_data_func("/gicv3/vmstate/smp3", "arm_gicv3-smp3.bin",
                         test_vmstate);
    g_test_add_func("/gicv3/vmstate/mid-interrupt", test_vmstate_mid_interrupt);
    g_test_add_func("/gicv3/vmstate/hostile", test_vmstate_hostile);
    return g_test_run();
}
