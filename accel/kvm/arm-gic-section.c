/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Section `arm_gicv3`, version 1: the fields of the GICv3 in user space, so
 * that a stream does not say who emulates it (docs/devel/migration-stream.rst).
 * Bitmaps go by interrupt number; what does not exist in a GIC with one
 * security state is 0.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "vmstate/savevm.h"

#include "arm-gic-internal.h"

static bool sre_needed(void *opaque)
{
    return ((KvmGicCpu *)opaque)->icc_sre_el1 != 7;
}

static const VMStateDescription vmstate_cpu_sre = {
    .name = "arm_gicv3_cpu/sre_el1",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = sre_needed,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT64(icc_sre_el1, KvmGicCpu),
            VMSTATE_END_OF_LIST(),
        },
};

static bool cpu_pre_load(void *opaque, Error **errp)
{
    KvmGicCpu *c = opaque;

    c->icc_sre_el1 = 7;
    return true;
}

static bool cpu_post_load(void *opaque, int version_id, Error **errp)
{
    KvmGicCpu *c = opaque;

    if (c->gicr_ctlr & GICR_CTLR_LPIS) {
        error_setg(errp,
                   "gicr_ctlr is 0x%" PRIx32 ": the guest uses LPIs, which "
                   "are not there",
                   c->gicr_ctlr);
        return false;
    }
    return true;
}

static const VMStateDescription vmstate_cpu = {
    .name = "arm_gicv3_cpu",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_load = cpu_pre_load,
    .post_load = cpu_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(level, KvmGicCpu),
            VMSTATE_UINT32(gicr_ctlr, KvmGicCpu),
            VMSTATE_UINT32_ARRAY(gicr_statusr, KvmGicCpu, 2),
            VMSTATE_UINT32(gicr_waker, KvmGicCpu),
            VMSTATE_UINT64(gicr_propbaser, KvmGicCpu),
            VMSTATE_UINT64(gicr_pendbaser, KvmGicCpu),
            VMSTATE_UINT32(gicr_igroupr0, KvmGicCpu),
            VMSTATE_UINT32(gicr_ienabler0, KvmGicCpu),
            VMSTATE_UINT32(gicr_ipendr0, KvmGicCpu),
            VMSTATE_UINT32(gicr_iactiver0, KvmGicCpu),
            VMSTATE_UINT32(edge_trigger, KvmGicCpu),
            VMSTATE_UINT32(gicr_igrpmodr0, KvmGicCpu),
            VMSTATE_UINT32(gicr_nsacr, KvmGicCpu),
            VMSTATE_UINT8_ARRAY(gicr_ipriorityr, KvmGicCpu, PRIVATE),
            VMSTATE_UINT64_ARRAY(icc_ctlr_el1, KvmGicCpu, 2),
            VMSTATE_UINT64(icc_pmr_el1, KvmGicCpu),
            VMSTATE_UINT64_ARRAY(icc_bpr, KvmGicCpu, NUM_GROUPS),
            VMSTATE_UINT64_2DARRAY(icc_apr, KvmGicCpu, NUM_GROUPS, 4),
            VMSTATE_UINT64_ARRAY(icc_igrpen, KvmGicCpu, NUM_GROUPS),
            VMSTATE_UINT64(icc_ctlr_el3, KvmGicCpu),
            VMSTATE_END_OF_LIST(),
        },
    .subsections = (const VMStateDescription *const[]){ &vmstate_cpu_sre,
                                                        NULL },
};

static bool always_needed(void *opaque)
{
    return true;
}

static const VMStateDescription vmstate_no_shift_bug = {
    .name = "arm_gicv3/gicd_no_migration_shift_bug",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = always_needed,
    .fields =
        (const VMStateField[]){
            VMSTATE_BOOL(no_shift_bug, KvmGicState),
            VMSTATE_END_OF_LIST(),
        },
};

static bool gic_pre_save(void *opaque, Error **errp)
{
    return !kvm_vm() || kvm_arm_gic_get(kvm_vm(), opaque, errp);
}

static bool gic_pre_load(void *opaque, Error **errp)
{
    KvmGicState *s = opaque;

    s->no_shift_bug = false;
    return true;
}

static bool gic_post_load(void *opaque, int version_id, Error **errp)
{
    KvmGicState *s = opaque;

    if (!s->no_shift_bug) {
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
    return !kvm_vm() || kvm_arm_gic_put(kvm_vm(), s, errp);
}

const VMStateDescription vmstate_kvm_arm_gicv3 = {
    .name = "arm_gicv3",
    .version_id = 1,
    .minimum_version_id = 1,
    .priority = MIG_PRI_GICV3,
    .pre_save = gic_pre_save,
    .pre_load = gic_pre_load,
    .post_load = gic_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(gicd_ctlr, KvmGicState),
            VMSTATE_UINT32_ARRAY(gicd_statusr, KvmGicState, 2),
            VMSTATE_UINT32_ARRAY(group, KvmGicState, WORDS),
            VMSTATE_UINT32_ARRAY(grpmod, KvmGicState, WORDS),
            VMSTATE_UINT32_ARRAY(enabled, KvmGicState, WORDS),
            VMSTATE_UINT32_ARRAY(pending, KvmGicState, WORDS),
            VMSTATE_UINT32_ARRAY(active, KvmGicState, WORDS),
            VMSTATE_UINT32_ARRAY(level, KvmGicState, WORDS),
            VMSTATE_UINT32_ARRAY(edge_trigger, KvmGicState, WORDS),
            VMSTATE_UINT8_ARRAY(gicd_ipriority, KvmGicState, MAX_IRQ),
            VMSTATE_UINT64_ARRAY(gicd_irouter, KvmGicState, MAX_IRQ),
            VMSTATE_UINT32_ARRAY(gicd_nsacr, KvmGicState,
                                 DIV_ROUND_UP(MAX_IRQ, 16)),
            VMSTATE_STRUCT_VARRAY_POINTER_UINT32(
                cpu, KvmGicState, num_cpu, MAX_CPUS, 0, vmstate_cpu, KvmGicCpu),
            VMSTATE_END_OF_LIST(),
        },
    .subsections =
        (const VMStateDescription *const[]){
            &vmstate_no_shift_bug,
            NULL,
        },
};
