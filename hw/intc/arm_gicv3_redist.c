/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GICv3 redistributors: registers (IHI 0069H, 12.11). For each CPU a frame of
 * 64 KiB for itself (RD) and one for its SGIs and PPIs.
 */
#include "qemu/osdep.h"

#include "gicv3-internal.h"
#include "qemu/log.h"

enum {
    GICR_CTLR = 0x0000,
    GICR_IIDR = 0x0004,
    GICR_TYPER = 0x0008,
    GICR_WAKER = 0x0014,
    GICR_IDREGS = 0xffd0,
    GICR_PIDR0 = 0x93,
    /* The second frame. */
    GICR_SGI_OFFSET = 0x10000,
    GICR_IGROUPR0 = GICR_SGI_OFFSET + 0x0080,
    GICR_ISENABLER0 = GICR_SGI_OFFSET + 0x0100,
    GICR_ICENABLER0 = GICR_SGI_OFFSET + 0x0180,
    GICR_ISPENDR0 = GICR_SGI_OFFSET + 0x0200,
    GICR_ICPENDR0 = GICR_SGI_OFFSET + 0x0280,
    GICR_ISACTIVER0 = GICR_SGI_OFFSET + 0x0300,
    GICR_ICACTIVER0 = GICR_SGI_OFFSET + 0x0380,
    GICR_IPRIORITYR = GICR_SGI_OFFSET + 0x0400,
    GICR_IPRIORITYR_END = GICR_IPRIORITYR + GICV3_INTERNAL,
    GICR_ICFGR0 = GICR_SGI_OFFSET + 0x0c00,
    GICR_ICFGR1 = GICR_SGI_OFFSET + 0x0c04,
};

/*
 * GICR_TYPER: Last 4, processor number 23:8, affinity 63:32 (Aff3 at the
 * top). PLPIS (0) is clear: no LPIs.
 */
static uint64_t read_typer(const GICv3CPUState *cs)
{
    uint64_t number = cs - cs->gic->cpu;
    uint64_t aff = cs->cpu->mp_affinity;

    return (((aff >> 8) & 0xff000000) | (aff & 0xffffff)) << 32 |
           (1u << 24) /* as where LPIs are: tables shared by Aff3 */ |
           number << 8 | (number == cs->gic->num_cpu - 1) << 4;
}

/* Spread 16 bits over the odd bits of a word, and gather them. */
static uint32_t spread(uint32_t bits)
{
    uint32_t val = 0;

    for (unsigned i = 0; i < 16; i++) {
        val |= ((bits >> i) & 1) << (2 * i + 1);
    }
    return val;
}

static uint32_t gather(uint32_t val)
{
    uint32_t bits = 0;

    for (unsigned i = 0; i < 16; i++) {
        bits |= ((val >> (2 * i + 1)) & 1) << i;
    }
    return bits;
}

static uint32_t read32(const GICv3CPUState *cs, hwaddr offset)
{
    switch (offset) {
    case GICR_CTLR:
        return cs->gicr_ctlr;
    case GICR_IIDR:
        return 0x43b; /* ARM */
    case GICR_TYPER:
        return read_typer(cs);
    case GICR_TYPER + 4:
        return read_typer(cs) >> 32;
    case GICR_WAKER:
        return cs->gicr_waker;
    case GICR_IGROUPR0:
        return cs->gicr_igroupr0;
    case GICR_ISENABLER0:
    case GICR_ICENABLER0:
        return cs->gicr_ienabler0;
    case GICR_ISPENDR0:
    case GICR_ICPENDR0:
        return cs->gicr_ipendr0 | (~cs->edge_trigger & cs->level);
    case GICR_ISACTIVER0:
    case GICR_ICACTIVER0:
        return cs->gicr_iactiver0;
    case GICR_ICFGR0:
    case GICR_ICFGR1:
        return spread(cs->edge_trigger >> (offset == GICR_ICFGR1 ? 16 : 0));
    case GICR_IDREGS ... GICR_SGI_OFFSET - 1:
        return gicv3_id(offset, GICR_PIDR0);
    default:
        return 0;
    }
}

static void write32(GICv3CPUState *cs, hwaddr offset, uint32_t val)
{
    switch (offset) {
    case GICR_CTLR:
        break; /* nothing in it can be changed without LPIs */
    case GICR_WAKER:
        cs->gicr_waker = val & GICR_WAKER_SLEEP
                             ? GICR_WAKER_SLEEP | GICR_WAKER_ASLEEP
                             : 0;
        break;
    case GICR_IGROUPR0:
        cs->gicr_igroupr0 = val;
        break;
    case GICR_ISENABLER0:
        cs->gicr_ienabler0 |= val;
        break;
    case GICR_ICENABLER0:
        cs->gicr_ienabler0 &= ~val;
        break;
    case GICR_ISPENDR0:
        cs->gicr_ipendr0 |= val;
        break;
    case GICR_ICPENDR0:
        cs->gicr_ipendr0 &= ~val;
        break;
    case GICR_ISACTIVER0:
        cs->gicr_iactiver0 |= val;
        break;
    case GICR_ICACTIVER0:
        cs->gicr_iactiver0 &= ~val;
        break;
    case GICR_ICFGR1:
        cs->edge_trigger = (cs->edge_trigger & 0xffff) | gather(val) << 16;
        break;
    case GICR_ICFGR0:
        break; /* SGIs are edge triggered */
    default:
        qemu_log_mask(LOG_GUEST_ERROR,
                      "gicv3: write of redistributor offset 0x%" PRIx64 "\n",
                      offset);
    }
}

static GICv3CPUState *find_cpu(GICv3State *s, hwaddr *offset)
{
    GICv3CPUState *cs = &s->cpu[*offset / GICV3_REDIST_SIZE];

    *offset %= GICV3_REDIST_SIZE;
    return cs;
}

static bool in_priorities(hwaddr offset)
{
    return offset >= GICR_IPRIORITYR && offset < GICR_IPRIORITYR_END;
}

static uint64_t gicv3_redist_read(void *opaque, hwaddr offset, unsigned size)
{
    GICv3CPUState *cs = find_cpu(opaque, &offset);
    uint64_t val = 0;

    if (in_priorities(offset)) {
        memcpy(&val, &cs->gicr_ipriorityr[offset - GICR_IPRIORITYR], size);
        return GUINT64_FROM_LE(val);
    }
    if (size < 4) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "gicv3: read of %u bytes at redistributor offset "
                      "0x%" PRIx64 "\n",
                      size, offset);
        return 0;
    }
    val = read32(cs, offset);
    return size == 8 ? val | (uint64_t)read32(cs, offset + 4) << 32 : val;
}

static void gicv3_redist_write(void *opaque, hwaddr offset, uint64_t val,
                               unsigned size)
{
    GICv3CPUState *cs = find_cpu(opaque, &offset);

    if (in_priorities(offset)) {
        val = GUINT64_TO_LE(val);
        memcpy(&cs->gicr_ipriorityr[offset - GICR_IPRIORITYR], &val, size);
    } else if (size < 4) {
        qemu_log_mask(LOG_GUEST_ERROR,
                      "gicv3: write of %u bytes at redistributor offset "
                      "0x%" PRIx64 "\n",
                      size, offset);
    } else {
        write32(cs, offset, val);
        if (size == 8) {
            write32(cs, offset + 4, val >> 32);
        }
    }
    gicv3_update_cpu(cs);
}

const MemoryRegionOps gicv3_redist_ops = {
    .read = gicv3_redist_read,
    .write = gicv3_redist_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid.min_access_size = 1,
    .valid.max_access_size = 8,
    .impl.min_access_size = 1,
    .impl.max_access_size = 8,
};
