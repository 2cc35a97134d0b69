/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GICv2 distributor: registers (IHI 0048B, 4.3).
 *
 * All are arrays over interrupts, of 1, 2 or 8 bits each, and are handled
 * byte by byte; a wider access is its bytes in order. GICD_CTLR, GICD_TYPER
 * and GICD_SGIR are words.
 */
#include "qemu/osdep.h"

#include "gic-internal.h"
#include "qemu/log.h"
#include "system/cpus.h"

enum {
    GICD_CTLR = 0x000,
    GICD_TYPER = 0x004,
    GICD_IIDR = 0x008,
    GICD_IGROUPR = 0x080,
    GICD_ISENABLER = 0x100,
    GICD_ICENABLER = 0x180,
    GICD_ISPENDR = 0x200,
    GICD_ICPENDR = 0x280,
    GICD_ISACTIVER = 0x300,
    GICD_ICACTIVER = 0x380,
    GICD_IPRIORITYR = 0x400,
    GICD_ITARGETSR = 0x800,
    GICD_ICFGR = 0xc00,
    GICD_NSACR = 0xe00,
    GICD_SGIR = 0xf00,
    GICD_CPENDSGIR = 0xf10,
    GICD_SPENDSGIR = 0xf20,
    GICD_PIDR = 0xfd0,
};

static const uint8_t gic_id[12] = {
    0x04, 0x00, 0x00, 0x00, 0x90, 0xb4, 0x2b, 0x00, 0x0d, 0xf0, 0x05, 0xb1,
};

unsigned gic_current_cpu(const GICState *s)
{
    unsigned cpu = current_cpu ? current_cpu->cpu_index : 0;

    return cpu < s->num_cpu ? cpu : 0;
}

/* ---- one bit per interrupt ---- */

static bool get_bit(const GICState *s, hwaddr reg, unsigned irq, uint8_t cm)
{
    const GICIRQState *st = &s->irq_state[irq];

    switch (reg) {
    case GICD_IGROUPR:
        return st->group & cm;
    case GICD_ISENABLER:
    case GICD_ICENABLER:
        return st->enabled & cm;
    case GICD_ISPENDR:
    case GICD_ICPENDR:
        return gic_is_pending(s, irq, cm);
    default:
        return st->active & cm;
    }
}

/* A 1 was written. SGIs cannot be disabled, nor made pending here (4.3.7). */
static void write_one(GICState *s, hwaddr reg, unsigned irq, uint8_t cm)
{
    GICIRQState *st = &s->irq_state[irq];
    bool is_sgi = irq < GIC_NR_SGIS;

    switch (reg) {
    case GICD_ISENABLER:
        st->enabled |= cm;
        break;
    case GICD_ICENABLER:
        if (!is_sgi) {
            st->enabled &= ~cm;
        }
        break;
    case GICD_ISPENDR:
        if (!is_sgi) {
            st->pending |= cm;
        }
        break;
    case GICD_ICPENDR:
        if (!is_sgi) {
            st->pending &= ~cm;
        }
        break;
    case GICD_ISACTIVER:
        st->active |= cm;
        break;
    case GICD_ICACTIVER:
        st->active &= ~cm;
        break;
    }
}

static uint8_t read_bits(const GICState *s, hwaddr reg, hwaddr offset,
                         unsigned cpu)
{
    unsigned first = (offset - reg) * 8;
    uint8_t val = 0;

    for (unsigned i = 0; i < 8 && first + i < s->num_irq; i++) {
        val |= get_bit(s, reg, first + i, gic_cpu_mask(first + i, cpu)) << i;
    }
    return val;
}

static void write_bits(GICState *s, hwaddr reg, hwaddr offset, unsigned cpu,
                       uint8_t val)
{
    unsigned first = (offset - reg) * 8;

    for (unsigned i = 0; i < 8 && first + i < s->num_irq; i++) {
        unsigned irq = first + i;
        uint8_t cm = gic_cpu_mask(irq, cpu);

        if (reg == GICD_IGROUPR) {
            GICIRQState *st = &s->irq_state[irq];

            st->group = val & (1u << i) ? st->group | cm : st->group & ~cm;
        } else if (val & (1u << i)) {
            write_one(s, reg, irq, cm);
        }
    }
}

/* ---- one byte per interrupt ---- */

static uint8_t read_target(const GICState *s, unsigned irq, unsigned cpu)
{
    if (s->num_cpu == 1) {
        return 0; /* RAZ/WI in a uniprocessor (4.3.12) */
    }
    return irq < GIC_INTERNAL ? 1u << cpu : s->irq_target[irq];
}

static void write_target(GICState *s, unsigned irq, uint8_t val)
{
    if (s->num_cpu > 1 && irq >= GIC_INTERNAL) {
        s->irq_target[irq] = val & ((1u << s->num_cpu) - 1);
    }
}

/* ---- two bits per interrupt: bit 1 is edge; SGIs always are ---- */

static uint8_t read_config(const GICState *s, unsigned first)
{
    uint8_t val = 0;

    for (unsigned i = 0; i < 4 && first + i < s->num_irq; i++) {
        val |= s->irq_state[first + i].edge_trigger ? 2u << (2 * i) : 0;
    }
    return val;
}

static void write_config(GICState *s, unsigned first, uint8_t val)
{
    for (unsigned i = 0; i < 4 && first + i < s->num_irq; i++) {
        if (first + i >= GIC_NR_SGIS) {
            s->irq_state[first + i].edge_trigger = val & (2u << (2 * i));
        }
    }
}

/* ---- SGIs ---- */

static void send_sgi(GICState *s, unsigned sgi, unsigned source, uint8_t to)
{
    for (unsigned cpu = 0; cpu < s->num_cpu; cpu++) {
        if (to & (1u << cpu)) {
            s->sgi_pending[sgi][cpu] |= 1u << source;
            s->irq_state[sgi].pending |= 1u << cpu;
        }
    }
}

/* GICD_SGIR (4.3.15): target list filter 25:24, list 23:16, SGI 3:0. */
static void write_sgir(GICState *s, unsigned cpu, uint32_t val)
{
    static const char *const filter = "list, others, self, reserved";
    uint8_t to;

    switch ((val >> 24) & 3) {
    case 0:
        to = val >> 16;
        break;
    case 1:
        to = ~(1u << cpu);
        break;
    case 2:
        to = 1u << cpu;
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR, "gic: GICD_SGIR filter 3 (%s)\n",
                      filter);
        return;
    }
    send_sgi(s, val & 15, cpu, to);
}

/* GICD_SPENDSGIR, GICD_CPENDSGIR: one byte per SGI, a bit per source. */
static void write_pend_sgi(GICState *s, unsigned sgi, unsigned cpu, uint8_t val,
                           bool set)
{
    uint8_t *sources = &s->sgi_pending[sgi][cpu];

    *sources = set ? *sources | val : *sources & ~val;
    if (*sources) {
        s->irq_state[sgi].pending |= 1u << cpu;
    } else {
        s->irq_state[sgi].pending &= ~(1u << cpu);
    }
}

/* ---- dispatch ---- */

/* Which array @offset lies in; *unit: interrupts per byte, or 0. */
static hwaddr find_array(hwaddr offset)
{
    if (offset >= GICD_IGROUPR && offset < GICD_IPRIORITYR) {
        return offset & ~(hwaddr)0x7f;
    }
    if (offset >= GICD_IPRIORITYR && offset < GICD_ITARGETSR) {
        return GICD_IPRIORITYR;
    }
    if (offset >= GICD_ITARGETSR && offset < GICD_ICFGR) {
        return GICD_ITARGETSR;
    }
    if (offset >= GICD_ICFGR && offset < GICD_NSACR) {
        return GICD_ICFGR;
    }
    return offset & ~(hwaddr)0xf;
}

static uint8_t read_byte(GICState *s, hwaddr offset, unsigned cpu)
{
    hwaddr reg = find_array(offset);
    unsigned n = offset - reg;

    switch (reg) {
    case GICD_IGROUPR:
    case GICD_ISENABLER:
    case GICD_ICENABLER:
    case GICD_ISPENDR:
    case GICD_ICPENDR:
    case GICD_ISACTIVER:
    case GICD_ICACTIVER:
        return read_bits(s, reg, offset, cpu);
    case GICD_IPRIORITYR:
        return n < s->num_irq ? *gic_priority_ptr(s, n, cpu) : 0;
    case GICD_ITARGETSR:
        return n < s->num_irq ? read_target(s, n, cpu) : 0;
    case GICD_ICFGR:
        return read_config(s, n * 4);
    case GICD_CPENDSGIR:
    case GICD_SPENDSGIR:
        return s->sgi_pending[n][cpu];
    case GICD_PIDR:
    case GICD_PIDR + 0x10:
    case GICD_PIDR + 0x20:
        return offset & 3 ? 0 : gic_id[(offset - GICD_PIDR) >> 2];
    default:
        return 0;
    }
}

static void write_byte(GICState *s, hwaddr offset, unsigned cpu, uint8_t val)
{
    hwaddr reg = find_array(offset);
    unsigned n = offset - reg;

    switch (reg) {
    case GICD_IGROUPR:
    case GICD_ISENABLER:
    case GICD_ICENABLER:
    case GICD_ISPENDR:
    case GICD_ICPENDR:
    case GICD_ISACTIVER:
    case GICD_ICACTIVER:
        write_bits(s, reg, offset, cpu, val);
        break;
    case GICD_IPRIORITYR:
        if (n < s->num_irq) {
            *gic_priority_ptr(s, n, cpu) = val;
        }
        break;
    case GICD_ITARGETSR:
        if (n < s->num_irq) {
            write_target(s, n, val);
        }
        break;
    case GICD_ICFGR:
        write_config(s, n * 4, val);
        break;
    case GICD_CPENDSGIR:
        write_pend_sgi(s, n, cpu, val, false);
        break;
    case GICD_SPENDSGIR:
        write_pend_sgi(s, n, cpu, val, true);
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR,
                      "gic: write of distributor offset 0x%" PRIx64 "\n",
                      offset);
    }
}

static uint64_t gic_dist_read(void *opaque, hwaddr offset, unsigned size)
{
    GICState *s = opaque;
    unsigned cpu = gic_current_cpu(s);
    uint64_t val = 0;

    if (offset < GICD_IGROUPR) {
        switch (offset) {
        case GICD_CTLR:
            return s->ctlr;
        case GICD_TYPER:
            return (s->num_irq / 32 - 1) | ((s->num_cpu - 1) << 5);
        case GICD_IIDR:
            return 0x43b; /* ARM */
        default:
            return 0;
        }
    }
    for (unsigned i = 0; i < size; i++) {
        val |= (uint64_t)read_byte(s, offset + i, cpu) << (8 * i);
    }
    return val;
}

static void gic_dist_write(void *opaque, hwaddr offset, uint64_t val,
                           unsigned size)
{
    GICState *s = opaque;
    unsigned cpu = gic_current_cpu(s);

    if (offset == GICD_CTLR) {
        s->ctlr = val & GICD_CTLR_MASK;
    } else if (offset == GICD_SGIR && size == 4) {
        write_sgir(s, cpu, val);
    } else if (offset >= GICD_IGROUPR) {
        for (unsigned i = 0; i < size; i++) {
            write_byte(s, offset + i, cpu, val >> (8 * i));
        }
    }
    gic_update(s);
}

const MemoryRegionOps gic_dist_ops = {
    .read = gic_dist_read,
    .write = gic_dist_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .impl.min_access_size = 1,
    .impl.max_access_size = 4,
};
