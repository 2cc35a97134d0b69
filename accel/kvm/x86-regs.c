/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers that instructions name: general, segment, control, debug, FPU and
 * vectors.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "target/i386/xsave.h"

#include "kvm-caps.h"
#include "x86-kvm.h"

/* ---- general ---- */

/* In the order of struct kvm_regs. */
static const uint8_t general[CPU_NB_REGS] = {
    R_EAX, R_EBX, R_ECX, R_EDX, R_ESI, R_EDI, R_ESP, R_EBP,
    R_R8,  R_R9,  R_R10, R_R11, R_R12, R_R13, R_R14, R_R15,
};

QEMU_BUILD_BUG_ON(offsetof(struct kvm_regs, rip) != CPU_NB_REGS * 8);

static bool get_general(KvmVcpu *v, Error **errp)
{
    CPUX86State *env = kvm_x86_env(v);
    struct kvm_regs regs;
    const __u64 *r = &regs.rax;

    if (!kvm_x86_get(v, KVM_GET_REGS, &regs, "registers", errp)) {
        return false;
    }
    for (int i = 0; i < CPU_NB_REGS; i++) {
        env->regs[general[i]] = r[i];
    }
    env->eip = regs.rip;
    env->eflags = regs.rflags;
    return true;
}

static bool put_general(KvmVcpu *v, Error **errp)
{
    const CPUX86State *env = kvm_x86_env(v);
    struct kvm_regs regs = { .rip = env->eip, .rflags = env->eflags };
    __u64 *r = &regs.rax;

    for (int i = 0; i < CPU_NB_REGS; i++) {
        r[i] = env->regs[general[i]];
    }
    return kvm_x86_set(v, KVM_SET_REGS, &regs, "registers", errp);
}

/* ---- segments and control ---- */

static void segment_to_env(SegmentCache *sc, const struct kvm_segment *s)
{
    sc->selector = s->selector;
    sc->base = s->base;
    sc->limit = s->limit;
    sc->flags = (uint32_t)s->type << DESC_TYPE_SHIFT |
                (s->present && !s->unusable ? DESC_P_MASK : 0) |
                (uint32_t)s->dpl << DESC_DPL_SHIFT | (s->db ? DESC_B_MASK : 0) |
                (s->s ? DESC_S_MASK : 0) | (s->l ? DESC_L_MASK : 0) |
                (s->g ? DESC_G_MASK : 0) | (s->avl ? DESC_AVL_MASK : 0);
}

static void segment_from_env(struct kvm_segment *s, const SegmentCache *sc)
{
    uint32_t flags = sc->flags;

    *s = (struct kvm_segment){
        .base = sc->base,
        .limit = sc->limit,
        .selector = sc->selector,
        .type = flags >> DESC_TYPE_SHIFT & 15,
        .present = (flags & DESC_P_MASK) != 0,
        .dpl = flags >> DESC_DPL_SHIFT & 3,
        .db = (flags & DESC_B_MASK) != 0,
        .s = (flags & DESC_S_MASK) != 0,
        .l = (flags & DESC_L_MASK) != 0,
        .g = (flags & DESC_G_MASK) != 0,
        .avl = (flags & DESC_AVL_MASK) != 0,
        .unusable = !(flags & DESC_P_MASK),
    };
}

/* As virtual-8086 mode has them, whatever is in the cache. */
static void segment_vm86(struct kvm_segment *s, const SegmentCache *sc)
{
    *s = (struct kvm_segment){
        .base = sc->base,
        .limit = sc->limit,
        .selector = sc->selector,
        .type = 3,
        .present = 1,
        .dpl = 3,
        .s = 1,
    };
}

/*
 * struct kvm_sregs and kvm_sregs2 begin alike; what follows apic_base differs.
 */
QEMU_BUILD_BUG_ON(offsetof(struct kvm_sregs, interrupt_bitmap) !=
                  offsetof(struct kvm_sregs2, flags));

static bool has_sregs2(KvmVcpu *v)
{
    return kvm_x86_vm(v->vm)->has_sregs2;
}

static void sregs_to_env(CPUX86State *env, const struct kvm_sregs2 *s)
{
    const struct kvm_segment *segs[CPU_NB_SEGS] = { &s->es, &s->cs, &s->ss,
                                                    &s->ds, &s->fs, &s->gs };

    for (int i = 0; i < CPU_NB_SEGS; i++) {
        segment_to_env(&env->segs[i], segs[i]);
    }
    segment_to_env(&env->tr, &s->tr);
    segment_to_env(&env->ldt, &s->ldt);
    env->gdt.base = s->gdt.base;
    env->gdt.limit = s->gdt.limit;
    env->idt.base = s->idt.base;
    env->idt.limit = s->idt.limit;
    env->cr[0] = s->cr0;
    env->cr[2] = s->cr2;
    env->cr[3] = s->cr3;
    env->cr[4] = s->cr4;
    env->cr8 = s->cr8;
    env->efer = s->efer;
    env->apicbase = s->apic_base;
}

static void sregs_from_env(struct kvm_sregs2 *s, const CPUX86State *env)
{
    struct kvm_segment *segs[CPU_NB_SEGS] = { &s->es, &s->cs, &s->ss,
                                              &s->ds, &s->fs, &s->gs };
    bool vm86 = (env->eflags & VM_MASK) && (env->cr[0] & CR0_PE_MASK);

    for (int i = 0; i < CPU_NB_SEGS; i++) {
        (vm86 ? segment_vm86 : segment_from_env)(segs[i], &env->segs[i]);
    }
    segment_from_env(&s->tr, &env->tr);
    segment_from_env(&s->ldt, &env->ldt);
    s->gdt.base = env->gdt.base;
    s->gdt.limit = env->gdt.limit;
    s->idt.base = env->idt.base;
    s->idt.limit = env->idt.limit;
    s->cr0 = env->cr[0];
    s->cr2 = env->cr[2];
    s->cr3 = env->cr[3];
    s->cr4 = env->cr[4];
    s->cr8 = env->cr8;
    s->efer = env->efer;
    s->apic_base = env->apicbase;
}

static bool read_sregs(KvmVcpu *v, struct kvm_sregs2 *s, Error **errp)
{
    struct kvm_sregs old;

    memset(s, 0, sizeof(*s));
    if (has_sregs2(v)) {
        return kvm_x86_get(v, KVM_GET_SREGS2, s, "system registers", errp);
    }
    if (!kvm_x86_get(v, KVM_GET_SREGS, &old, "system registers", errp)) {
        return false;
    }
    memcpy(s, &old, offsetof(struct kvm_sregs, interrupt_bitmap));
    return true;
}

static bool get_system(KvmVcpu *v, Error **errp)
{
    CPUX86State *env = kvm_x86_env(v);
    struct kvm_sregs2 s;

    if (!read_sregs(v, &s, errp)) {
        return false;
    }
    sregs_to_env(env, &s);
    env->pdptrs_valid = s.flags & KVM_SREGS2_FLAGS_PDPTRS_VALID;
    memcpy(env->pdptrs, s.pdptrs, sizeof(env->pdptrs));
    return true;
}

/*
 * Kernels whose KVM cannot run a mode may take the registers and drop paging
 * without a word; the guest would then end in a triple fault somewhere.
 */
static bool check_paging(KvmVcpu *v, Error **errp)
{
    const CPUX86State *env = kvm_x86_env(v);
    struct kvm_sregs2 s;

    if (!(env->cr[0] & CR0_PG_MASK) || (env->efer & MSR_EFER_LMA)) {
        return true;
    }
    if (!read_sregs(v, &s, errp)) {
        return false;
    }
    if (!(s.cr0 & CR0_PG_MASK)) {
        error_setg(errp,
                   "this host's KVM cannot run 32-bit code with paging: CR0 of "
                   "vCPU %lu was set to 0x%" PRIx64 " and is 0x%" PRIx64,
                   v->id, env->cr[0], (uint64_t)s.cr0);
        return false;
    }
    return true;
}

static bool write_sregs(KvmVcpu *v, struct kvm_sregs2 *s, Error **errp)
{
    struct kvm_sregs old = { 0 };

    if (has_sregs2(v)) {
        return kvm_x86_set(v, KVM_SET_SREGS2, s, "system registers", errp);
    }
    memcpy(&old, s, offsetof(struct kvm_sregs, interrupt_bitmap));
    return kvm_x86_set(v, KVM_SET_SREGS, &old, "system registers", errp);
}

static bool put_system(KvmVcpu *v, Error **errp)
{
    ERRP_GUARD();
    const CPUX86State *env = kvm_x86_env(v);
    struct kvm_sregs2 s = { 0 };

    sregs_from_env(&s, env);
    if (has_sregs2(v) && env->pdptrs_valid) {
        s.flags = KVM_SREGS2_FLAGS_PDPTRS_VALID;
        memcpy(s.pdptrs, env->pdptrs, sizeof(s.pdptrs));
    }
    if (!write_sregs(v, &s, errp)) {
        /* The kernel does not say which it does not like. */
        error_prepend(errp,
                      "CR0 0x%" PRIx64 ", CR3 0x%" PRIx64 ", CR4 0x%" PRIx64
                      ", EFER 0x%" PRIx64 ", APIC base 0x%" PRIx64 ": ",
                      (uint64_t)s.cr0, (uint64_t)s.cr3, (uint64_t)s.cr4,
                      (uint64_t)s.efer, (uint64_t)s.apic_base);
        return false;
    }
    return check_paging(v, errp);
}

/* ---- FPU and vectors ---- */

static bool get_vectors(KvmVcpu *v, Error **errp)
{
    KvmX86Vcpu *x = kvm_x86_vcpu(v);
    CPUX86State *env = kvm_x86_env(v);
    unsigned long req = x->xsave_bytes > sizeof(struct kvm_xsave)
                            ? KVM_GET_XSAVE2
                            : KVM_GET_XSAVE;
    struct kvm_xcrs xcrs = { 0 };

    if (!kvm_x86_get(v, req, x->xsave, "FPU and vector registers", errp) ||
        !kvm_x86_get(v, KVM_GET_XCRS, &xcrs, "XCR0", errp)) {
        return false;
    }
    x86_xsave_to_env(env, x->xsave, x->xsave_bytes, &x86_host()->cpuid);
    for (uint32_t i = 0; i < MIN(xcrs.nr_xcrs, KVM_MAX_XCRS); i++) {
        if (xcrs.xcrs[i].xcr == 0) {
            env->xcr0 = xcrs.xcrs[i].value;
        }
    }
    return true;
}

static bool put_vectors(KvmVcpu *v, Error **errp)
{
    KvmX86Vcpu *x = kvm_x86_vcpu(v);
    ERRP_GUARD();
    const CPUX86State *env = kvm_x86_env(v);
    struct kvm_xcrs xcrs = { .nr_xcrs = 1, .xcrs[0].value = env->xcr0 };

    x86_xsave_to_area(env, x->xsave, x->xsave_bytes, &x86_host()->cpuid);
    if (!kvm_x86_set(v, KVM_SET_XCRS, &xcrs, "XCR0", errp) ||
        !kvm_x86_set(v, KVM_SET_XSAVE, x->xsave, "FPU and vector registers",
                     errp)) {
        error_prepend(errp, "XCR0 0x%" PRIx64 ", MXCSR 0x%" PRIx32 ": ",
                      env->xcr0, env->mxcsr);
        return false;
    }
    return true;
}

/* ---- debug ---- */

static bool get_debug(KvmVcpu *v, Error **errp)
{
    CPUX86State *env = kvm_x86_env(v);
    struct kvm_debugregs d;

    if (!kvm_x86_get(v, KVM_GET_DEBUGREGS, &d, "debug registers", errp)) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        env->dr[i] = d.db[i];
    }
    env->dr[4] = env->dr[6] = d.dr6;
    env->dr[5] = env->dr[7] = d.dr7;
    return true;
}

static bool put_debug(KvmVcpu *v, Error **errp)
{
    ERRP_GUARD();
    const CPUX86State *env = kvm_x86_env(v);
    struct kvm_debugregs d = { .dr6 = env->dr[6], .dr7 = env->dr[7] };

    for (int i = 0; i < 4; i++) {
        d.db[i] = env->dr[i];
    }
    if (!kvm_x86_set(v, KVM_SET_DEBUGREGS, &d, "debug registers", errp)) {
        error_prepend(errp, "DR6 0x%" PRIx64 ", DR7 0x%" PRIx64 ": ",
                      (uint64_t)d.dr6, (uint64_t)d.dr7);
        return false;
    }
    return true;
}

/* ---- all ---- */

bool kvm_x86_get_core(KvmVcpu *v, Error **errp)
{
    return get_general(v, errp) && get_system(v, errp) &&
           get_vectors(v, errp) && get_debug(v, errp);
}

bool kvm_x86_put_core(KvmVcpu *v, Error **errp)
{
    return put_system(v, errp) && put_vectors(v, errp) &&
           put_general(v, errp) && put_debug(v, errp);
}
