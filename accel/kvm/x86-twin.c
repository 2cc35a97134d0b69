/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of an x86 VM and its vCPUs, as the kernel has it, from one kernel VM to
 * another over the same memory: see kvm-arch.h.
 *
 * Order
 *
 *   save   per vCPU what is about to happen first: reading the MP state and
 *          the events makes the kernel act on INIT, SIPI and NMI that have come
 *   load   system registers, XCR0, vectors, general registers; TSC before what
 *          is compared with it; MSRs; local APIC, and after it the deadline,
 *          which is ignored unless its timer is in that mode; MP state, debug
 *          registers, events. Then PICs and I/O APIC (what is requested there
 *          must find the local APICs as they were), at last the clock, for
 *          which all TSCs must be in place
 *
 * Time goes on
 *
 *   TSC        by its offset, exactly, where the kernel lets us; else it stands
 *              still for as long as this takes
 *   kvmclock   with the host's time of the reading: the kernel adds what has
 *              passed since
 *   APIC timer the count is what was left when it was read. What passed since
 *              is subtracted; a tick that was due meanwhile is requested, and
 *              the period keeps its phase. A timer that fires while its vCPU
 *              is out is a mark in the kernel until the next entry, which no
 *              request shows: so the entry is made, without running anything,
 *              and again if the timer fired between that and the reading
 *   PIT        is none of the kernel's
 *
 * MSRs: all the kernel lists, MTRRs and machine check banks, but only those that
 * differ from what the new vCPU has.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/timer.h"

#include "kvm-arch.h"
#include "kvm-caps.h"
#include "x86-kvm.h"
#include "x86-twin.h"

#define MAX_MSRS       1024
#define MAX_MCE_BANKS  32u
#define MSR_TSC        0x10u
#define MSR_MCG_CAP    0x179u
#define MSR_MTRR_TYPE  0x2ffu
#define MSR_DEADLINE   0x6e0u
#define MSR_WALL_CLOCK 0x4b564d00u

typedef struct Msrs {
    struct kvm_msrs head;
    struct kvm_msr_entry e[MAX_MSRS];
} Msrs;

typedef struct VcpuState {
    KvmVcpu *from, *to;
    Msrs *first; /* of the new vCPU, before anything was loaded */
    Msrs *msrs;  /* of the old one */
    size_t xsave_bytes;
    uint8_t *xsave;
    struct kvm_mp_state mp;
    struct kvm_lapic_state lapic;
    int64_t lapic_ns; /* when that was read */
    struct kvm_vcpu_events events;
    struct kvm_regs regs;
    struct kvm_sregs sregs;
    struct kvm_sregs2 sregs2;
    struct kvm_xcrs xcrs;
    struct kvm_debugregs debug;
    uint64_t tsc_offset;
} VcpuState;

struct KvmArchMove {
    KvmVm *from, *to;
    bool has_sregs2, has_tsc_offset, loading;
    unsigned flushes;
    struct kvm_irqchip chips[3];
    struct kvm_clock_data clock;
    guint nr_vcpus;
    VcpuState *vcpus;
};

unsigned kvm_arch_move_flushes(const KvmArchMove *m)
{
    return m->flushes;
}

static bool vm_call(KvmVm *vm, unsigned long req, void *arg, const char *what,
                    Error **errp)
{
    int ret = kvm_vm_ioctl(vm, req, arg);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot move %s", what);
    }
    return ret >= 0;
}

static bool vcpu_call(KvmVcpu *v, unsigned long req, void *arg,
                      const char *what, Error **errp)
{
    int ret = kvm_vcpu_ioctl(v, req, arg);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot move %s of vCPU %lu", what, v->id);
    }
    return ret >= 0;
}

/* ---- MSRs ---- */

static void add_msr(Msrs *m, uint32_t index)
{
    if (m->head.nmsrs < MAX_MSRS) {
        m->e[m->head.nmsrs++].index = index;
    }
}

static bool add_listed(Msrs *m, Error **errp)
{
    struct {
        struct kvm_msr_list head;
        uint32_t index[MAX_MSRS];
    } list = { .head.nmsrs = MAX_MSRS };
    int ret = kvm_dev_ioctl(KVM_GET_MSR_INDEX_LIST, &list);

    if (ret < 0) {
        error_setg_errno(errp, -ret,
                         "cannot learn which model specific "
                         "registers the kernel's KVM keeps");
        return false;
    }
    for (uint32_t i = 0; i < MIN(list.head.nmsrs, MAX_MSRS); i++) {
        add_msr(m, list.index[i]);
    }
    return true;
}

/* Of older kernels' lists they are no part. */
static void add_unlisted(Msrs *m, KvmVcpu *v)
{
    static const uint32_t fixed[] = { 0x250, 0x258, 0x259, 0x268, 0x269, 0x26a,
                                      0x26b, 0x26c, 0x26d, 0x26e, 0x26f };
    struct {
        struct kvm_msrs head;
        struct kvm_msr_entry e;
    } cap = { .head.nmsrs = 1, .e.index = MSR_MCG_CAP };
    unsigned banks = 0;

    add_msr(m, MSR_MTRR_TYPE);
    for (unsigned i = 0; i < ARRAY_SIZE(fixed); i++) {
        add_msr(m, fixed[i]);
    }
    for (unsigned i = 0; i < 16; i++) {
        add_msr(m, 0x200 + i);
    }
    if (kvm_vcpu_ioctl(v, KVM_GET_MSRS, &cap) == 1) {
        banks = MIN(cap.e.data & 0xff, MAX_MCE_BANKS);
    }
    for (unsigned i = 0; i < 4 * banks; i++) {
        add_msr(m, 0x400 + i);
    }
}

static void forget_msr(Msrs *m, uint32_t i)
{
    m->head.nmsrs--;
    memmove(&m->e[i], &m->e[i + 1], (m->head.nmsrs - i) * sizeof(m->e[0]));
}

static void sort_out(Msrs *m)
{
    /* Others' names of 0x4b564d00 and 0x4b564d01. */
    for (uint32_t i = 0; i < m->head.nmsrs;) {
        if (m->e[i].index == 0x11 || m->e[i].index == 0x12) {
            forget_msr(m, i);
        } else {
            i++;
        }
    }
}

/* All that can be read. Those that cannot are taken out of @m. */
static bool read_msrs(KvmVcpu *v, Msrs *m, bool strict, Error **errp)
{
    for (;;) {
        int ret = kvm_vcpu_ioctl(v, KVM_GET_MSRS, m);

        if (ret == (int)m->head.nmsrs) {
            return true;
        }
        if (ret < 0 || strict) {
            error_setg_errno(errp, ret < 0 ? -ret : EINVAL,
                             "cannot move model specific registers of vCPU %lu",
                             v->id);
            return false;
        }
        forget_msr(m, ret);
    }
}

static bool msr_is(KvmVcpu *v, const struct kvm_msr_entry *want)
{
    struct {
        struct kvm_msrs head;
        struct kvm_msr_entry e;
    } one = { .head.nmsrs = 1, .e.index = want->index };

    return kvm_vcpu_ioctl(v, KVM_GET_MSRS, &one) == 1 &&
           one.e.data == want->data;
}

static bool write_msrs(KvmVcpu *v, Msrs *m, Error **errp)
{
    while (m->head.nmsrs) {
        int ret = kvm_vcpu_ioctl(v, KVM_SET_MSRS, m);

        if (ret == (int)m->head.nmsrs) {
            return true;
        }
        if (ret < 0 || !msr_is(v, &m->e[ret])) {
            error_setg(errp,
                       "the kernel's KVM does not take register 0x%x of vCPU "
                       "%lu once more",
                       m->e[MAX(ret, 0)].index, v->id);
            return false;
        }
        m->head.nmsrs -= ret + 1;
        memmove(&m->e[0], &m->e[ret + 1], m->head.nmsrs * sizeof(m->e[0]));
    }
    return true;
}

/* The first part comes before the local APIC; the second after it. */
static bool load_msrs(const KvmArchMove *m, VcpuState *s, bool after,
                      Error **errp)
{
    g_autofree Msrs *w = g_new0(Msrs, 1);

    for (uint32_t i = 0; i < s->msrs->head.nmsrs; i++) {
        const struct kvm_msr_entry *e = &s->msrs->e[i];
        bool late = e->index == MSR_DEADLINE || e->index == MSR_WALL_CLOCK;

        if (e->data != s->first->e[i].data && late == after &&
            !(e->index == MSR_TSC && m->has_tsc_offset)) {
            w->e[w->head.nmsrs++] = *e;
        }
    }
    return write_msrs(s->to, w, errp);
}

/* ---- TSC ---- */

static int tsc_offset_call(KvmVcpu *v, unsigned long req, uint64_t *offset)
{
    struct kvm_device_attr attr = {
        .group = KVM_VCPU_TSC_CTRL,
        .attr = KVM_VCPU_TSC_OFFSET,
        .addr = (uintptr_t)offset,
    };

    return kvm_vcpu_ioctl(v, req, &attr);
}

static bool move_tsc_offset(KvmVcpu *v, unsigned long req, uint64_t *offset,
                            Error **errp)
{
    int ret = tsc_offset_call(v, req, offset);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot move the TSC of vCPU %lu", v->id);
    }
    return ret >= 0;
}

/* ---- local APIC ---- */

static bool has_apic(const VcpuState *s)
{
    return s->from->vm->irqchip != KVM_IRQCHIP_OFF;
}

static bool is_started(const VcpuState *s)
{
    return s->mp.mp_state == KVM_MP_STATE_RUNNABLE ||
           s->mp.mp_state == KVM_MP_STATE_HALTED;
}

static bool read_apic(VcpuState *s, Error **errp)
{
    if (!vcpu_call(s->from, KVM_GET_LAPIC, &s->lapic, "the local APIC", errp)) {
        return false;
    }
    s->lapic_ns = get_clock();
    return true;
}

/* Times that are asked before it is as it is. */
#define FLUSHES_MAX 20
/* What clocks differ by. */
#define SLACK_NS 2000

static bool save_apic(KvmArchMove *m, VcpuState *s, Error **errp)
{
    if (!has_apic(s)) {
        return true;
    }
    if (!is_started(s)) {
        return read_apic(s, errp);
    }
    for (unsigned i = 0, over = 0; i < FLUSHES_MAX; i++) {
        int64_t begin_ns = get_clock();
        int ret = kvm_vcpu_run_nothing(s->from);

        if (ret < 0) {
            error_setg_errno(errp, -ret, "vCPU %lu does not stand still",
                             s->from->id);
            return false;
        }
        if (!read_apic(s, errp)) {
            return false;
        }
        over += kvm_x86_apic_is_over(&s->lapic);
        if (over != 1 && !kvm_x86_apic_fired_since(
                             &s->lapic, s->lapic_ns - begin_ns + SLACK_NS)) {
            return true;
        }
        m->flushes++; /* perhaps between the two */
    }
    return true; /* a period shorter than this: ticks are lost anyhow */
}

static bool load_apic(VcpuState *s, Error **errp)
{
    if (!has_apic(s)) {
        return true;
    }
    if (is_started(s)) {
        kvm_x86_apic_advance(&s->lapic, get_clock() - s->lapic_ns);
    }
    return vcpu_call(s->to, KVM_SET_LAPIC, &s->lapic, "the local APIC", errp);
}

/* ---- a vCPU ---- */

static bool prepare_vcpu(KvmArchMove *m, VcpuState *s, Error **errp)
{
    int bytes = kvm_vm_check_extension(m->to, KVM_CAP_XSAVE2);

    s->xsave_bytes = MAX(bytes, (int)sizeof(struct kvm_xsave));
    s->xsave = g_malloc0(s->xsave_bytes);
    s->first = g_new0(Msrs, 1);
    if (!add_listed(s->first, errp)) {
        return false;
    }
    add_unlisted(s->first, s->to);
    sort_out(s->first);
    if (!read_msrs(s->to, s->first, false, errp)) {
        return false;
    }
    s->msrs = g_memdup2(s->first, sizeof(*s->first));
    return true;
}

static bool save_vcpu(KvmArchMove *m, VcpuState *s, Error **errp)
{
    KvmVcpu *v = s->from;
    unsigned long xsave = s->xsave_bytes > sizeof(struct kvm_xsave)
                              ? KVM_GET_XSAVE2
                              : KVM_GET_XSAVE;

    return vcpu_call(v, KVM_GET_MP_STATE, &s->mp, "the MP state", errp) &&
           save_apic(m, s, errp) &&
           vcpu_call(v, KVM_GET_MP_STATE, &s->mp, "the MP state", errp) &&
           vcpu_call(v, KVM_GET_VCPU_EVENTS, &s->events, "events", errp) &&
           vcpu_call(v, KVM_GET_REGS, &s->regs, "registers", errp) &&
           (m->has_sregs2 ? vcpu_call(v, KVM_GET_SREGS2, &s->sregs2,
                                      "system registers", errp)
                          : vcpu_call(v, KVM_GET_SREGS, &s->sregs,
                                      "system registers", errp)) &&
           vcpu_call(v, xsave, s->xsave, "FPU and vectors", errp) &&
           vcpu_call(v, KVM_GET_XCRS, &s->xcrs, "XCR0", errp) &&
           vcpu_call(v, KVM_GET_DEBUGREGS, &s->debug, "debug registers",
                     errp) &&
           read_msrs(v, s->msrs, true, errp) &&
           (!m->has_tsc_offset ||
            move_tsc_offset(v, KVM_GET_DEVICE_ATTR, &s->tsc_offset, errp));
}

/* What can be set is what can be read, with the marks that it is meant. */
static void mark_events(struct kvm_vcpu_events *e)
{
    e->flags |= KVM_VCPUEVENT_VALID_NMI_PENDING |
                KVM_VCPUEVENT_VALID_SIPI_VECTOR | KVM_VCPUEVENT_VALID_SHADOW;
}

static bool load_vcpu(KvmArchMove *m, VcpuState *s, Error **errp)
{
    KvmVcpu *v = s->to;

    mark_events(&s->events);
    return (m->has_sregs2 ? vcpu_call(v, KVM_SET_SREGS2, &s->sregs2,
                                      "system registers", errp)
                          : vcpu_call(v, KVM_SET_SREGS, &s->sregs,
                                      "system registers", errp)) &&
           vcpu_call(v, KVM_SET_XCRS, &s->xcrs, "XCR0", errp) &&
           vcpu_call(v, KVM_SET_XSAVE, s->xsave, "FPU and vectors", errp) &&
           vcpu_call(v, KVM_SET_REGS, &s->regs, "registers", errp) &&
           (!m->has_tsc_offset ||
            move_tsc_offset(v, KVM_SET_DEVICE_ATTR, &s->tsc_offset, errp)) &&
           load_msrs(m, s, false, errp) && load_apic(s, errp) &&
           vcpu_call(v, KVM_SET_MP_STATE, &s->mp, "the MP state", errp) &&
           vcpu_call(v, KVM_SET_DEBUGREGS, &s->debug, "debug registers",
                     errp) &&
           vcpu_call(v, KVM_SET_VCPU_EVENTS, &s->events, "events", errp) &&
           load_msrs(m, s, true, errp);
}

/* ---- the VM ---- */

static const char *const chip_names[3] = { "the first PIC", "the second PIC",
                                           "the I/O APIC" };

static bool has_irqchip(const KvmArchMove *m)
{
    return m->from->irqchip == KVM_IRQCHIP_ON;
}

static bool save_chips(KvmArchMove *m, Error **errp)
{
    for (unsigned i = 0; i < ARRAY_SIZE(m->chips); i++) {
        m->chips[i].chip_id = i;
        if (!vm_call(m->from, KVM_GET_IRQCHIP, &m->chips[i], chip_names[i],
                     errp)) {
            return false;
        }
    }
    return true;
}

static bool load_chips(KvmArchMove *m, Error **errp)
{
    for (unsigned i = 0; i < ARRAY_SIZE(m->chips); i++) {
        if (!vm_call(m->to, KVM_SET_IRQCHIP, &m->chips[i], chip_names[i],
                     errp)) {
            return false;
        }
    }
    return true;
}

static bool load_clock(KvmArchMove *m, Error **errp)
{
    struct kvm_clock_data c = {
        .clock = m->clock.clock,
        .flags = m->clock.flags & KVM_CLOCK_REALTIME,
        .realtime = m->clock.realtime,
    };

    return vm_call(m->to, KVM_SET_CLOCK, &c, "the guest's clock", errp);
}

/* ---- all ---- */

/*
 * The state of a guest's own guests would stay behind, but there are none: svm
 * and vmx are never offered (target/i386/feature-words.c), and without them
 * the kernel lets no guest set EFER.SVME or CR4.VMXE.
 */
bool kvm_arch_can_move(KvmVm *vm, Error **errp)
{
    return true;
}

KvmArchMove *kvm_arch_move_prepare(KvmVm *from, KvmVm *to, Error **errp)
{
    KvmArchMove *m = g_new0(KvmArchMove, 1);
    uint64_t offset;

    m->from = from;
    m->to = to;
    m->has_sregs2 = kvm_vm_check_extension(to, KVM_CAP_SREGS2) > 0;
    m->nr_vcpus = from->vcpus->len;
    m->vcpus = g_new0(VcpuState, m->nr_vcpus);
    for (guint i = 0; i < m->nr_vcpus; i++) {
        VcpuState *s = &m->vcpus[i];

        s->from = from->vcpus->pdata[i];
        s->to = to->vcpus->pdata[i];
        if (!prepare_vcpu(m, s, errp)) {
            kvm_arch_move_free(m);
            return NULL;
        }
        m->has_tsc_offset = tsc_offset_call(s->to, KVM_GET_DEVICE_ATTR,
                                            &offset) >= 0;
    }
    return m;
}

bool kvm_arch_move_save(KvmArchMove *m, Error **errp)
{
    /* The end of one can be the begin of another, for any vCPU. */
    if (!kvm_x86_flush_eois(m->from, errp)) {
        return false;
    }
    for (guint i = 0; i < m->nr_vcpus; i++) {
        if (!save_vcpu(m, &m->vcpus[i], errp)) {
            return false;
        }
    }
    return (!has_irqchip(m) || save_chips(m, errp)) &&
           vm_call(m->from, KVM_GET_CLOCK, &m->clock, "the guest's clock",
                   errp);
}

bool kvm_arch_move_load(KvmArchMove *m, Error **errp)
{
    m->loading = true;
    for (guint i = 0; i < m->nr_vcpus; i++) {
        if (!load_vcpu(m, &m->vcpus[i], errp)) {
            return false;
        }
    }
    return (!has_irqchip(m) || load_chips(m, errp)) && load_clock(m, errp);
}

/* Registers that name a place in memory where the kernel writes. */
static bool names_memory(uint32_t index)
{
    return index >= MSR_WALL_CLOCK && index <= MSR_WALL_CLOCK + 4;
}

void kvm_arch_move_undo(KvmArchMove *m, void (*mark)(KvmVm *vm, hwaddr addr))
{
    if (!m->loading) {
        return;
    }
    for (guint i = 0; i < m->nr_vcpus; i++) {
        const Msrs *msrs = m->vcpus[i].msrs;

        for (uint32_t k = 0; k < msrs->head.nmsrs; k++) {
            if (names_memory(msrs->e[k].index) && msrs->e[k].data) {
                mark(m->from, msrs->e[k].data & ~UINT64_C(63));
            }
        }
    }
}

void kvm_arch_move_free(KvmArchMove *m)
{
    for (guint i = 0; i < m->nr_vcpus; i++) {
        g_free(m->vcpus[i].first);
        g_free(m->vcpus[i].msrs);
        g_free(m->vcpus[i].xsave);
    }
    g_free(m->vcpus);
    g_free(m);
}
