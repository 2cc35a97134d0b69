/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GICv3: saved state. Section `arm_gicv3` version 1; goes before most others.
 */
#include "qemu/osdep.h"

#include "gicv3-internal.h"
#include "qemu/error.h"
#include "vmstate/vmstate.h"

/* ---- one CPU ---- */

static bool sre_needed(void *opaque)
{
    GICv3CPUState *cs = opaque;

    return cs->icc_sre_el1 != 7; /* what the stream takes for granted */
}

static const VMStateDescription vmstate_gicv3_cpu_sre = {
    .name = "arm_gicv3_cpu/sre_el1",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = sre_needed,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT64(icc_sre_el1, GICv3CPUState),
            VMSTATE_END_OF_LIST(),
        },
};

static bool gicv3_cpu_pre_load(void *opaque, Error **errp)
{
    GICv3CPUState *cs = opaque;

    cs->icc_sre_el1 = 7;
    return true;
}

static bool gicv3_cpu_post_load(void *opaque, int version_id, Error **errp)
{
    GICv3CPUState *cs = opaque;
    static const uint64_t min_bpr[GICV3_NUM_GROUPS] = {
        [GICV3_G0] = ICC_MIN_BPR,
        [GICV3_G1] = ICC_MIN_BPR,
        [GICV3_G1NS] = ICC_MIN_BPR_NS,
    };

    if (cs->gicr_ctlr & GICR_CTLR_LPIS) {
        error_setg(errp,
                   "gicr_ctlr is 0x%" PRIx32 ": the guest uses LPIs, which "
                   "are not there",
                   cs->gicr_ctlr);
        return false;
    }
    for (int g = 0; g < GICV3_NUM_GROUPS; g++) {
        if (cs->icc_bpr[g] > 7) {
            error_setg(errp, "icc_bpr[%d] is %" PRIu64 ", expected at most 7",
                       g, cs->icc_bpr[g]);
            return false;
        }
        /* Other senders let a guest store less than there are bits for. */
        cs->icc_bpr[g] = MAX(cs->icc_bpr[g], min_bpr[g]);
    }
    return true;
}

static const VMStateDescription vmstate_gicv3_cpu = {
    .name = "arm_gicv3_cpu",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_load = gicv3_cpu_pre_load,
    .post_load = gicv3_cpu_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(level, GICv3CPUState),
            VMSTATE_UINT32(gicr_ctlr, GICv3CPUState),
            VMSTATE_UINT32_ARRAY(gicr_statusr, GICv3CPUState, 2),
            VMSTATE_UINT32(gicr_waker, GICv3CPUState),
            VMSTATE_UINT64(gicr_propbaser, GICv3CPUState),
            VMSTATE_UINT64(gicr_pendbaser, GICv3CPUState),
            VMSTATE_UINT32(gicr_igroupr0, GICv3CPUState),
            VMSTATE_UINT32(gicr_ienabler0, GICv3CPUState),
            VMSTATE_UINT32(gicr_ipendr0, GICv3CPUState),
            VMSTATE_UINT32(gicr_iactiver0, GICv3CPUState),
            VMSTATE_UINT32(edge_trigger, GICv3CPUState),
            VMSTATE_UINT32(gicr_igrpmodr0, GICv3CPUState),
            VMSTATE_UINT32(gicr_nsacr, GICv3CPUState),
            VMSTATE_UINT8_ARRAY(gicr_ipriorityr, GICv3CPUState, GICV3_INTERNAL),
            VMSTATE_UINT64_ARRAY(icc_ctlr_el1, GICv3CPUState, 2),
            VMSTATE_UINT64(icc_pmr_el1, GICv3CPUState),
            VMSTATE_UINT64_ARRAY(icc_bpr, GICv3CPUState, GICV3_NUM_GROUPS),
            VMSTATE_UINT64_2DARRAY(icc_apr, GICv3CPUState, GICV3_NUM_GROUPS, 4),
            VMSTATE_UINT64_ARRAY(icc_igrpen, GICv3CPUState, GICV3_NUM_GROUPS),
            VMSTATE_UINT64(icc_ctlr_el3, GICv3CPUState),
            VMSTATE_END_OF_LIST(),
        },
    .subsections =
        (const VMStateDescription *const[]){
            &vmstate_gicv3_cpu_sre,
            NULL,
        },
};

/* ---- the whole ---- */

static bool always_needed(void *opaque)
{
    return true;
}

static const VMStateDescription vmstate_gicv3_no_shift_bug = {
    .name = "arm_gicv3/gicd_no_migration_shift_bug",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = always_needed,
    .fields =
        (const VMStateField[]){
            VMSTATE_BOOL(gicd_no_migration_shift_bug, GICv3State),
            VMSTATE_END_OF_LIST(),
        },
};

static bool gicv3_pre_load(void *opaque, Error **errp)
{
    GICv3State *s = opaque;

    s->gicd_no_migration_shift_bug = false;
    return true;
}

static bool gicv3_post_load(void *opaque, int version_id, Error **errp)
{
    GICv3State *s = opaque;

    if (!s->gicd_no_migration_shift_bug) {
        error_setg(errp, "the bitmaps are displaced by 32 interrupts, as "
                         "senders of before 2018 have it");
        return false;
    }
    if (!(s->gicd_ctlr & GICD_CTLR_DS)) {
        error_setg(errp,
                   "gicd_ctlr is 0x%" PRIx32 ": two security states, expected "
                   "one (bit 6)",
                   s->gicd_ctlr);
        return false;
    }
    for (unsigned i = 0; i < s->num_cpu; i++) {
        s->cpu[i].irq_out = s->cpu[i].fiq_out = -1;
    }
    gicv3_update(s);
    return true;
}

const VMStateDescription vmstate_gicv3 = {
    .name = "arm_gicv3",
    .version_id = 1,
    .minimum_version_id = 1,
    .priority = MIG_PRI_GICV3,
    .pre_load = gicv3_pre_load,
    .post_load = gicv3_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(gicd_ctlr, GICv3State),
            VMSTATE_UINT32_ARRAY(gicd_statusr, GICv3State, 2),
            VMSTATE_UINT32_ARRAY(group, GICv3State, GICV3_WORDS),
            VMSTATE_UINT32_ARRAY(grpmod, GICv3State, GICV3_WORDS),
            VMSTATE_UINT32_ARRAY(enabled, GICv3State, GICV3_WORDS),
            VMSTATE_UINT32_ARRAY(pending, GICv3State, GICV3_WORDS),
            VMSTATE_UINT32_ARRAY(active, GICv3State, GICV3_WORDS),
            VMSTATE_UINT32_ARRAY(level, GICv3State, GICV3_WORDS),
            VMSTATE_UINT32_ARRAY(edge_trigger, GICv3State, GICV3_WORDS),
            VMSTATE_UINT8_ARRAY(gicd_ipriority, GICv3State, GICV3_MAXIRQ),
            VMSTATE_UINT64_ARRAY(gicd_irouter, GICv3State, GICV3_MAXIRQ),
            VMSTATE_UINT32_ARRAY(gicd_nsacr, GICv3State,
                                 DIV_ROUND_UP(GICV3_MAXIRQ, 16)),
            VMSTATE_STRUCT_VARRAY_POINTER_UINT32(
                cpu, GICv3State, num_cpu, GICV3_MAX_CPUS, 0, vmstate_gicv3_cpu,
                GICv3CPUState),
            VMSTATE_END_OF_LIST(),
        },
    .subsections =
        (const VMStateDescription *const[]){
            &vmstate_gicv3_no_shift_bug,
            NULL,
        },
};
