/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The GICv3 in the kernel: Documentation/virt/kvm/devices/arm-vgic-v3.rst;
 * registers by ARM IHI 0069, chapter 12.
 * Its section: arm-gic-section.c.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "system/reset.h"
#include "target/arm/sysreg.h"
#include "vmstate/savevm.h"

#include "arm-gic-internal.h"

/* Offsets in the distributor. */
enum {
    GICD_CTLR = 0x0,
    GICD_STATUSR = 0x10,
    GICD_IGROUPR = 0x80,
    GICD_ISENABLER = 0x100,
    GICD_ICENABLER = 0x180,
    GICD_ISPENDR = 0x200,
    GICD_ICPENDR = 0x280,
    GICD_ISACTIVER = 0x300,
    GICD_ICACTIVER = 0x380,
    GICD_IPRIORITYR = 0x400,
    GICD_ICFGR = 0xc00,
    GICD_IROUTER = 0x6000,
};

/* In a redistributor; the second frame has the private interrupts. */
enum {
    GICR_CTLR = 0x0,
    GICR_STATUSR = 0x10,
    GICR_WAKER = 0x14,
    GICR_PROPBASER = 0x70,
    GICR_PENDBASER = 0x78,
    GICR_SGI = 0x10000,
};

KvmGicState *kvm_arm_gic_state_new(unsigned num_cpu)
{
    KvmGicState *s = g_new0(KvmGicState, 1);

    assert(num_cpu <= MAX_CPUS);
    s->num_cpu = num_cpu;
    s->cpu = g_new0(KvmGicCpu, num_cpu);
    s->gicd_ctlr = GICD_CTLR_DS;
    s->no_shift_bug = true;
    for (unsigned i = 0; i < num_cpu; i++) {
        s->cpu[i].icc_sre_el1 = 7;
    }
    return s;
}

void kvm_arm_gic_state_free(KvmGicState *s)
{
    g_free(s->cpu);
    g_free(s);
}

void kvm_arm_gic_test_change(KvmGicState *s)
{
    s->gicd_ctlr |= 2; /* group 1 is on */
    s->group[1] = 0xffffffff;
    s->enabled[1] = 0x00ff00ff;
    s->pending[1] = 0x00000003;
    s->active[2] = 0x00000100;
    s->edge_trigger[1] = 0xf0f0f0f0;
    s->gicd_ipriority[40] = 0xa0;
    s->gicd_irouter[50] = 0;
    s->cpu[0].gicr_ienabler0 = 0x08000000;
    s->cpu[0].gicr_igroupr0 = 0xffffffff;
    s->cpu[0].gicr_ipriorityr[27] = 0x50;
    s->cpu[0].icc_pmr_el1 = 0xf0;
    s->cpu[0].icc_igrpen[G1NS] = 1;
    s->cpu[0].icc_bpr[G1NS] = 4;
}

/* ---- one value ---- */

typedef struct Access {
    int fd;
    bool write;
    Error **errp;
} Access;

/* Reads or writes; @value has the group's size. */
static bool access_attr(const Access *a, uint32_t group, uint64_t attr,
                        void *value)
{
    struct kvm_device_attr da = { .group = group,
                                  .attr = attr,
                                  .addr = (uintptr_t)value };
    int ret = kvm_fd_ioctl(
        a->fd, a->write ? KVM_SET_DEVICE_ATTR : KVM_GET_DEVICE_ATTR, &da);

    if (ret < 0) {
        error_setg_errno(a->errp, -ret,
                         "cannot %s GICv3 register %" PRIu32 "/0x%" PRIx64,
                         a->write ? "set" : "get", group, attr);
    }
    return ret >= 0;
}

static bool dist(const Access *a, uint32_t offset, uint32_t *v)
{
    return access_attr(a, KVM_DEV_ARM_VGIC_GRP_DIST_REGS, offset, v);
}

static bool redist(const Access *a, const KvmGicCpu *c, uint32_t offset,
                   uint32_t *v)
{
    return access_attr(a, KVM_DEV_ARM_VGIC_GRP_REDIST_REGS,
                       c->affinity | offset, v);
}

static bool icc(const Access *a, const KvmGicCpu *c, unsigned crn, unsigned crm,
                unsigned op2, uint64_t *v)
{
    return access_attr(a, KVM_DEV_ARM_VGIC_GRP_CPU_SYSREGS,
                       c->affinity | ARM_SYSREG_ENC(3, 0, crn, crm, op2), v);
}

/* 64 bits as two registers. */
static bool redist64(const Access *a, const KvmGicCpu *c, uint32_t offset,
                     uint64_t *v)
{
    uint32_t lo = *v, hi = *v >> 32;

    if (!redist(a, c, offset, &lo) || !redist(a, c, offset + 4, &hi)) {
        return false;
    }
    *v = lo | (uint64_t)hi << 32;
    return true;
}

/* Set and clear registers: writing ones to either; reading the first. */
static bool dist_set_clear(const Access *a, uint32_t set, uint32_t clear,
                           unsigned word, uint32_t *v)
{
    uint32_t none = UINT32_MAX;

    return (!a->write || dist(a, clear + 4 * word, &none)) &&
           dist(a, set + 4 * word, v);
}

static bool redist_set_clear(const Access *a, const KvmGicCpu *c, uint32_t set,
                             uint32_t clear, uint32_t *v)
{
    uint32_t none = UINT32_MAX;

    return (!a->write || redist(a, c, GICR_SGI + clear, &none)) &&
           redist(a, c, GICR_SGI + set, v);
}

/* ICFGR: two bits an interrupt, the upper one says "edge". */
static uint32_t edge_to_config(uint32_t edge)
{
    uint32_t config = 0;

    for (int i = 0; i < 16; i++) {
        config |= (edge >> i & 1) << (2 * i + 1);
    }
    return config;
}

static uint32_t config_to_edge(uint32_t config)
{
    uint32_t edge = 0;

    for (int i = 0; i < 16; i++) {
        edge |= (config >> (2 * i + 1) & 1) << i;
    }
    return edge;
}

/* ---- the parts; each in both directions ---- */

static bool priorities(const Access *a, const KvmGicCpu *c, uint32_t offset,
                       uint8_t *prio, unsigned n)
{
    for (unsigned i = 0; i < n; i += 4) {
        uint32_t v;

        memcpy(&v, prio + i, 4);
        if (!(c ? redist(a, c, offset + i, &v) : dist(a, offset + i, &v))) {
            return false;
        }
        memcpy(prio + i, &v, 4);
    }
    return true;
}

static bool spi_word(const Access *a, KvmGicState *s, unsigned w)
{
    uint32_t config[2] = { edge_to_config(s->edge_trigger[w]),
                           edge_to_config(s->edge_trigger[w] >> 16) };

    if (!dist(a, GICD_IGROUPR + 4 * w, &s->group[w]) ||
        !dist(a, GICD_ICFGR + 8 * w, &config[0]) ||
        !dist(a, GICD_ICFGR + 8 * w + 4, &config[1]) ||
        !dist_set_clear(a, GICD_ISENABLER, GICD_ICENABLER, w, &s->enabled[w]) ||
        !dist_set_clear(a, GICD_ISPENDR, GICD_ICPENDR, w, &s->pending[w]) ||
        !dist_set_clear(a, GICD_ISACTIVER, GICD_ICACTIVER, w, &s->active[w])) {
        return false;
    }
    s->edge_trigger[w] = config_to_edge(config[0]) | config_to_edge(config[1])
                                                         << 16;
    return true;
}

static bool spis(const Access *a, KvmGicState *s, unsigned nr_irqs)
{
    for (unsigned w = 1; w < nr_irqs / 32; w++) {
        if (!spi_word(a, s, w)) {
            return false;
        }
    }
    for (unsigned i = PRIVATE; i < nr_irqs && i < MAX_IRQ; i++) {
        uint32_t lo = s->gicd_irouter[i], hi = s->gicd_irouter[i] >> 32;

        if (!dist(a, GICD_IROUTER + 8 * i, &lo) ||
            !dist(a, GICD_IROUTER + 8 * i + 4, &hi)) {
            return false;
        }
        s->gicd_irouter[i] = lo | (uint64_t)hi << 32;
    }
    return priorities(a, NULL, GICD_IPRIORITYR + PRIVATE,
                      s->gicd_ipriority + PRIVATE,
                      MIN(nr_irqs, (unsigned)MAX_IRQ) - PRIVATE);
}

static bool redistributor(const Access *a, KvmGicCpu *c)
{
    uint32_t config = edge_to_config(c->edge_trigger >> 16);

    if (!redist(a, c, GICR_CTLR, &c->gicr_ctlr) ||
        !redist(a, c, GICR_STATUSR, &c->gicr_statusr[1]) ||
        !redist(a, c, GICR_WAKER, &c->gicr_waker) ||
        !redist64(a, c, GICR_PROPBASER, &c->gicr_propbaser) ||
        !redist64(a, c, GICR_PENDBASER, &c->gicr_pendbaser) ||
        !redist(a, c, GICR_SGI + GICD_IGROUPR, &c->gicr_igroupr0) ||
        !redist(a, c, GICR_SGI + GICD_ICFGR + 4, &config) ||
        !redist_set_clear(a, c, GICD_ISENABLER, GICD_ICENABLER,
                          &c->gicr_ienabler0) ||
        !redist_set_clear(a, c, GICD_ISPENDR, GICD_ICPENDR, &c->gicr_ipendr0) ||
        !redist_set_clear(a, c, GICD_ISACTIVER, GICD_ICACTIVER,
                          &c->gicr_iactiver0)) {
        return false;
    }
    /* The 16 that software makes are always edges. */
    c->edge_trigger = config_to_edge(config) << 16 | 0xffff;
    return priorities(a, c, GICR_SGI + GICD_IPRIORITYR, c->gicr_ipriorityr,
                      PRIVATE);
}

/* As many registers of active priorities as there are bits of preemption. */
static unsigned nr_apr(const KvmGicCpu *c)
{
    unsigned prio_bits = (c->icc_ctlr_el1[1] >> 8 & 7) + 1;

    return prio_bits >= 7 ? 4 : prio_bits == 6 ? 2 : 1;
}

static bool cpu_interface(const Access *a, KvmGicCpu *c)
{
    if (!icc(a, c, 12, 12, 5, &c->icc_sre_el1) ||
        !icc(a, c, 12, 12, 4, &c->icc_ctlr_el1[1]) ||
        !icc(a, c, 12, 12, 6, &c->icc_igrpen[G0]) ||
        !icc(a, c, 12, 12, 7, &c->icc_igrpen[G1NS]) ||
        !icc(a, c, 4, 6, 0, &c->icc_pmr_el1) ||
        !icc(a, c, 12, 8, 3, &c->icc_bpr[G0]) ||
        !icc(a, c, 12, 12, 3, &c->icc_bpr[G1NS])) {
        return false;
    }
    for (unsigned i = 0; i < nr_apr(c); i++) {
        if (!icc(a, c, 12, 8, 4 + i, &c->icc_apr[G0][i]) ||
            !icc(a, c, 12, 9, i, &c->icc_apr[G1NS][i])) {
            return false;
        }
    }
    return true;
}

/* Lines of the devices: 32 interrupts from a number that 32 divides. */
static bool levels(const Access *a, const KvmGicCpu *c, unsigned first,
                   uint32_t *v)
{
    uint64_t attr = (uint64_t)VGIC_LEVEL_INFO_LINE_LEVEL
                        << KVM_DEV_ARM_VGIC_LINE_LEVEL_INFO_SHIFT |
                    first | (c ? c->affinity : 0);

    return access_attr(a, KVM_DEV_ARM_VGIC_GRP_LEVEL_INFO, attr, v);
}

/* MPIDR_EL1's affinity, packed as attributes have it. */
static bool read_affinity(KvmVm *vm, unsigned cpu, uint64_t *affinity,
                          Error **errp)
{
    uint64_t mpidr;

    if (!kvm_arm_get_reg(vm->vcpus->pdata[cpu], ARM64_SYS_REG(3, 0, 0, 0, 5),
                         &mpidr, errp)) {
        return false;
    }
    *affinity = ((mpidr >> 32 & 0xff) << 24 | (mpidr & 0xffffff)) << 32;
    return true;
}

static bool all(KvmVm *vm, KvmGicState *s, bool write, Error **errp)
{
    const KvmArmVm *x = kvm_arm_vm(vm);
    Access a = { .fd = x->gic_fd, .write = write, .errp = errp };

    assert(s->num_cpu <= vm->vcpus->len);
    /* Written: the distributor's switches first, they say how all else is. */
    if (!dist(&a, GICD_CTLR, &s->gicd_ctlr) ||
        !dist(&a, GICD_STATUSR, &s->gicd_statusr[1])) {
        return false;
    }
    for (unsigned i = 0; i < s->num_cpu; i++) {
        if (!read_affinity(vm, i, &s->cpu[i].affinity, errp) ||
            !redistributor(&a, &s->cpu[i]) ||
            !levels(&a, &s->cpu[i], 0, &s->cpu[i].level)) {
            return false;
        }
    }
    if (!spis(&a, s, x->nr_irqs)) {
        return false;
    }
    for (unsigned w = 1; w < x->nr_irqs / 32; w++) {
        if (!levels(&a, &s->cpu[0], 32 * w, &s->level[w])) {
            return false;
        }
    }
    for (unsigned i = 0; i < s->num_cpu; i++) {
        if (!cpu_interface(&a, &s->cpu[i])) {
            return false;
        }
    }
    return true;
}

bool kvm_arm_gic_get(KvmVm *vm, KvmGicState *s, Error **errp)
{
    return all(vm, s, false, errp);
}

bool kvm_arm_gic_put(KvmVm *vm, const KvmGicState *s, Error **errp)
{
    KvmGicState *copy = kvm_arm_gic_state_new(s->num_cpu);
    KvmGicCpu *cpus = copy->cpu;
    bool ok;

    *copy = *s;
    copy->cpu = cpus;
    memcpy(cpus, s->cpu, s->num_cpu * sizeof(*cpus));
    ok = all(vm, copy, true, errp);
    kvm_arm_gic_state_free(copy);
    return ok;
}

/* ---- made ---- */

static bool set_attr(int fd, uint32_t group, uint64_t attr, void *value,
                     const char *what, Error **errp)
{
    struct kvm_device_attr da = { .group = group,
                                  .attr = attr,
                                  .addr = (uintptr_t)value };
    int ret = kvm_fd_ioctl(fd, KVM_SET_DEVICE_ATTR, &da);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot give the kernel's GICv3 %s", what);
    }
    return ret >= 0;
}

/* As the kernel made it: what did not change is what it takes. */
static void gic_reset(void *opaque)
{
    Error *err = NULL;

    if (!kvm_arm_gic_put(kvm_vm(), opaque, &err)) {
        error_report_err(err);
    }
}

/* Of the machine: its state after a reset, its section. */
static bool register_gic(KvmVm *vm, Error **errp)
{
    KvmGicState *first = kvm_arm_gic_state_new(vm->vcpus->len);

    if (!kvm_arm_gic_get(vm, first, errp)) {
        kvm_arm_gic_state_free(first);
        return false;
    }
    qemu_register_reset(gic_reset, first);
    return vmstate_register(NULL, 0, &vmstate_kvm_arm_gicv3,
                            kvm_arm_gic_state_new(vm->vcpus->len), errp);
}

bool kvm_arm_gic_realize(KvmVm *vm, hwaddr dist_base, hwaddr redist_base,
                         unsigned nr_irqs, Error **errp)
{
    KvmArmVm *x = kvm_arm_vm(vm);
    /* Count of redistributors, address, index of the region. */
    uint64_t region = (uint64_t)vm->vcpus->len << 52 | redist_base;
    uint32_t n = nr_irqs;

    if (nr_irqs < 64 || nr_irqs > 1024 || nr_irqs % 32) {
        error_setg(errp,
                   "a GICv3 with %u interrupts: expected a multiple of "
                   "32 from 64 to 1024",
                   nr_irqs);
        return false;
    }
    if (!set_attr(x->gic_fd, KVM_DEV_ARM_VGIC_GRP_NR_IRQS, 0, &n,
                  "its number of interrupts", errp) ||
        !set_attr(x->gic_fd, KVM_DEV_ARM_VGIC_GRP_ADDR,
                  KVM_VGIC_V3_ADDR_TYPE_DIST, &dist_base,
                  "the address of its distributor", errp) ||
        !set_attr(x->gic_fd, KVM_DEV_ARM_VGIC_GRP_ADDR,
                  KVM_VGIC_V3_ADDR_TYPE_REDIST_REGION, &region,
                  "the address of its redistributors", errp) ||
        !set_attr(x->gic_fd, KVM_DEV_ARM_VGIC_GRP_CTRL,
                  KVM_DEV_ARM_VGIC_CTRL_INIT, NULL, "the sign to begin",
                  errp)) {
        return false;
    }
    x->nr_irqs = nr_irqs;
    return vm != kvm_vm() || register_gic(vm, errp);
}
