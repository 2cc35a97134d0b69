/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GICv3 distributor: registers (IHI 0069H, 12.9).
 *
 * Registers of SGIs and PPIs (INTID below 32) are the redistributors'; here
 * they read as zero. GICD_IPRIORITYR takes bytes; everything else words, and
 * GICD_IROUTER doublewords or their halves.
 */
#include "qemu/osdep.h"

#include "gicv3-internal.h"
#include "qemu/log.h"

enum {
    GICD_CTLR = 0x0000,
    GICD_TYPER = 0x0004,
    GICD_IIDR = 0x0008,
    GICD_IGROUPR = 0x0080,
    GICD_ISENABLER = 0x0100,
    GICD_ICENABLER = 0x0180,
    GICD_ISPENDR = 0x0200,
    GICD_ICPENDR = 0x0280,
    GICD_ISACTIVER = 0x0300,
    GICD_ICACTIVER = 0x0380,
    GICD_IPRIORITYR = 0x0400,
    GICD_IPRIORITYR_END = 0x0800,
    GICD_ICFGR = 0x0c00,
    GICD_ICFGR_END = 0x0d00,
    GICD_IROUTER = 0x6000,
    GICD_IROUTER_END = 0x7fe0,
    GICD_IDREGS = 0xffd0,
    GICD_PIDR0 = 0x92,
};

/*
 * GICD_TYPER: ITLinesNumber 4:0, IDbits 23:19 (16 less 1), A3V 24, No1N 25.
 * LPIS (17) is clear: there is nothing that could send one.
 */
static uint32_t read_typer(const GICv3State *s)
{
    return (s->num_irq / 32 - 1) | (15u << 19) | (1u << 24) | (1u << 25);
}

static uint32_t read_word_of_bits(const GICv3State *s, hwaddr reg, unsigned w)
{
    switch (reg) {
    case GICD_IGROUPR:
        return s->group[w];
    case GICD_ISENABLER:
    case GICD_ICENABLER:
        return s->enabled[w];
    case GICD_ISPENDR:
    case GICD_ICPENDR:
        return s->pending[w] | (~s->edge_trigger[w] & s->level[w]);
    default:
        return s->active[w];
    }
}

static void write_word_of_bits(GICv3State *s, hwaddr reg, unsigned w,
                               uint32_t val)
{
    switch (reg) {
    case GICD_IGROUPR:
        s->group[w] = val;
        break;
    case GICD_ISENABLER:
        s->enabled[w] |= val;
        break;
    case GICD_ICENABLER:
        s->enabled[w] &= ~val;
        break;
    case GICD_ISPENDR:
        s->pending[w] |= val;
        break;
    case GICD_ICPENDR:
        s->pending[w] &= ~val;
        break;
    case GICD_ISACTIVER:
        s->active[w] |= val;
        break;
    case GICD_ICACTIVER:
        s->active[w] &= ~val;
        break;
    }
}

/* Two bits per interrupt, of which the upper one says edge. */
static uint32_t read_icfgr(const GICv3State *s, unsigned first)
{
    uint32_t val = 0;

    for (unsigned i = 0; i < 16; i++) {
        val |= (uint32_t)gicv3_bit(s->edge_trigger, first + i) << (2 * i + 1);
    }
    return val;
}

static void write_icfgr(GICv3State *s, unsigned first, uint32_t val)
{
    for (unsigned i = 0; i < 16; i++) {
        gicv3_set_bit(s->edge_trigger, first + i, val & (2u << (2 * i)));
    }
}

static bool is_spi(const GICv3State *s, unsigned irq)
{
    return irq >= GICV3_INTERNAL && irq < s->num_irq;
}

/* ---- by size ---- */

static uint32_t read32(const GICv3State *s, hwaddr offset)
{
    hwaddr reg = offset & ~(hwaddr)0x7f;
    unsigned w = (offset & 0x7f) / 4;

    switch (offset) {
    case GICD_CTLR:
        return s->gicd_ctlr;
    case GICD_TYPER:
        return read_typer(s);
    case GICD_IIDR:
        return 0x43b; /* ARM */
    case GICD_IGROUPR ... GICD_IPRIORITYR - 1:
        return is_spi(s, w * 32) ? read_word_of_bits(s, reg, w) : 0;
    case GICD_ICFGR ... GICD_ICFGR_END - 1:
        w = (offset - GICD_ICFGR) / 4;
        return is_spi(s, w * 16) ? read_icfgr(s, w * 16) : 0;
    case GICD_IROUTER ... GICD_IROUTER_END - 1:
        w = (offset - GICD_IROUTER) / 8;
        return is_spi(s, w) ? s->gicd_irouter[w] >> (8 * (offset & 4)) : 0;
    case GICD_IDREGS ... 0xffff:
        return gicv3_id(offset, GICD_PIDR0);
    default:
        return 0;
    }
}

static void write_irouter(GICv3State *s, hwaddr offset, uint32_t val)
{
    unsigned irq = (offset - GICD_IROUTER) / 8;
    uint64_t *r = &s->gicd_irouter[irq];

    if (!is_spi(s, irq)) {
        return;
    }
    if (offset & 4) {
        *r = (uint32_t)*r | (uint64_t)val << 32;
    } else {
        *r = (*r & ~UINT64_C(0xffffffff)) | val;
    }
}

static void write32(GICv3State *s, hwaddr offset, uint32_t val)
{
    hwaddr reg = offset & ~(hwaddr)0x7f;
    unsigned w = (offset & 0x7f) / 4;

    switch (offset) {
    case GICD_CTLR:
        s->gicd_ctlr = GICD_CTLR_RESET |
                       (val & (GICD_CTLR_EN_GRP0 | GICD_CTLR_EN_GRP1));
        break;
    case GICD_IGROUPR ... GICD_IPRIORITYR - 1:
        if (is_spi(s, w * 32)) {
            write_word_of_bits(s, reg, w, val);
        }
        break;
    case GICD_ICFGR ... GICD_ICFGR_END - 1:
        w = (offset - GICD_ICFGR) / 4;
        if (is_spi(s, w * 16)) {
            write_icfgr(s, w * 16, val);
        }
        break;
    case GICD_IROUTER ... GICD_IROUTER_END - 1:
        write_irouter(s, offset, val);
        break;
    default:
        qemu_log_mask(LOG_GUEST_ERROR,
                      "gicv3: write of distributor offset 0x%" PRIx64 "\n",
                      offset);
    }
}

static bool in_priorities(hwaddr offset)
{
    return offset >= GICD_IPRIORITYR && offset < GICD_IPRIORITYR_END;
}

static uint64_t gicv3_dist_read(void *opaque, hwaddr offset, unsigned size)
{
    GICv3State *s = opaque;
    uint64_t val = 0;

    if (in_priorities(offset)) {
        for (unsigned i = 0; i < size; i++) {
            unsigned irq = offset - GICD_IPRIORITYR + i;

            val |= is_spi(s, irq) ? (uint64_t)s->gicd_ipriority[irq] << (8 * i)
                                  : 0;
        }
        return val;
    }
    if (size < 4) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "gicv3: read of %u bytes at distributor offset "
                      "0x%" PRIx64 "\n",
                      size, offset);
        return 0;
    }
    val = read32(s, offset);
    return size == 8 ? val | (uint64_t)read32(s, offset + 4) << 32 : val;
}

static void gicv3_dist_write(void *opaque, hwaddr offset, uint64_t val,
                             unsigned size)
{
    GICv3State *s = opaque;

    if (in_priorities(offset)) {
        for (unsigned i = 0; i < size; i++) {
            unsigned irq = offset - GICD_IPRIORITYR + i;

            if (is_spi(s, irq)) {
                s->gicd_ipriority[irq] = val >> (8 * i);
            }
        }
    } else if (size < 4) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "gicv3: write of %u bytes at distributor offset "
                      "0x%" PRIx64 "\n",
                      size, offset);
    } else {
        write32(s, offset, val);
        if (size == 8) {
            write32(s, offset + 4, val >> 32);
        }
    }
    gicv3_update(s);
}

const MemoryRegionOps gicv3_dist_ops = {
    .read = gicv3_dist_read,
    .write = gicv3_dist_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 1,
    .valid.max_access_size = 8,
    .impl.min_access_size = 1,
    .impl.max_access_size = 8,
};
