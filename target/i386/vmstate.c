/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The section `cpu`, version 12: QEMU 11.1.3's fields in its order.
 *
 *   u64[16]  registers, in the order of encodings   u64 eip, eflags
 *   u32      hflags (computed)
 *   u16      FCW, FSW, tags (1: in use), 0
 *   8 x { u64 significand, u16 sign and exponent }  ST(0)..ST(7)
 *   10 x { u32 selector, u64 base, u32 limit, u32 flags }  ES CS SS DS FS GS,
 *            LDT, TR, GDT, IDT
 *   u32 u64 u64  SYSENTER   u64[4] CR0 CR2 CR3 CR4   u64[8] DR
 *   i32      A20 mask       u32 MXCSR    16 x u64[2] XMM
 *   u64      EFER, STAR, LSTAR, CSTAR, FMASK, KernelGSbase
 *   u32 SMBASE  u64 PAT  u32 hflags2
 *   u64[3] u16[4] u32 u8  of nested guests: zero
 *   u64[11] u64 8 x u64[2]  MTRR
 *   i32 interrupt injected  u32 MP state  u64 TSC  i32 exception
 *   u8 soft, nmi_injected, nmi_pending, has_error_code  u32 SIPI vector
 *   u64[3] u64[40]  machine checks   u64 TSC_AUX
 *   u64 u64  kvmclock's registers  u64 XCR0, XSTATE_BV  16 x u64[2] YMM, high
 *
 * Subsections, each if it says something: QEMU's cpu/fpop_ip_dp (u16, u64,
 * u64), cpu/avx512 (u64[8] masks, 16 x u64[4], 16 x u64[8]), cpu/pkru (u32),
 * cpu/pdptrs (u64[4]), cpu/exception_info (u8 pending, injected, has_payload,
 * u64 payload), cpu/triple_fault (u8), cpu/tsc_khz; those of vmstate-msrs.c;
 * and ours: cpu/ferry-features, cpu/ferry-events (u32 error code, u8 interrupt
 * shadow, SMI pending, INIT latched, u64 CR8), cpu/ferry-wide (u64
 * SYSENTER_CS, SMBASE: what does not fit above).
 */
#include "qemu/osdep.h"

#include "internals.h"
#include "qemu/error.h"
#include "target/i386/xsave.h"

/* Bits of hflags and hflags2 that say what no register says. */
#define HF_INHIBIT_IRQ     (1u << 3)
#define HF_SMM             (1u << 19)
#define HF2_GIF            (1u << 0 | 1u << 8) /* also a nested guest's */
#define HF2_NMI            (1u << 2)           /* NMIs are masked */
#define HF2_SMM_INSIDE_NMI (1u << 4)

/* ---- hflags: what QEMU computes of the registers ---- */

static uint32_t compute_hflags(const CPUX86State *env)
{
    const SegmentCache *cs = &env->segs[R_CS], *ss = &env->segs[R_SS];
    uint64_t bases = env->segs[R_DS].base | env->segs[R_ES].base | ss->base;
    bool pe = env->cr[0] & CR0_PE_MASK, lma = env->efer & MSR_EFER_LMA;
    bool vm86 = env->eflags & VM_MASK;
    uint32_t f = x86_cpl(env);

    f |= env->interrupt_shadow ? HF_INHIBIT_IRQ : 0;
    f |= env->in_smm ? HF_SMM : 0;
    f |= pe ? 1u << 7 : 0;
    f |= (uint32_t)(env->cr[0] & (CR0_MP_MASK | CR0_EM_MASK | CR0_TS_MASK))
         << 8;
    f |= env->eflags & (TF_MASK | VM_MASK | IOPL_MASK);
    f |= lma ? 1u << 14 : 0;
    f |= env->efer & MSR_EFER_SVME ? 1u << 20 : 0;
    f |= env->cr[4] & CR4_OSFXSR_MASK ? 1u << 22 : 0;
    if (lma && (cs->flags & DESC_L_MASK)) {
        return f | 1u << 4 | 1u << 5 | 1u << 15;
    }
    f |= cs->flags & DESC_B_MASK ? 1u << 4 : 0;
    f |= ss->flags & DESC_B_MASK ? 1u << 5 : 0;
    if (!pe || vm86 || !(cs->flags & DESC_B_MASK) || bases) {
        f |= 1u << 6; /* segments have bases to add */
    }
    return f;
}

/* ---- save ---- */

static bool cpu_pre_save(void *opaque, Error **errp)
{
    X86CPU *cpu = opaque;
    CPUX86State *env = &cpu->env;
    X86CpuStream *s = &cpu->stream;

    s->hflags = compute_hflags(env);
    s->hflags2 = HF2_GIF | (env->nmi_masked ? HF2_NMI : 0) |
                 (env->smm_inside_nmi ? HF2_SMM_INSIDE_NMI : 0);
    s->fptag = 0;
    for (int i = 0; i < 8; i++) {
        s->fptag |= !env->fptags[i] << i;
    }
    s->fpregs_format = 0;
    s->sysenter_cs = env->sysenter_cs;
    s->smbase = env->smbase;
    s->pkru = env->pkru;
    return true;
}

/* ---- load ---- */

/* What subsections carry and this stream may leave out. */
static bool cpu_pre_load(void *opaque, Error **errp)
{
    X86CPU *cpu = opaque;
    CPUX86State *env = &cpu->env;

    x86_msr_subsections_default(env);
    env->fpop = 0;
    env->fpip = env->fpdp = 0;
    memset(env->opmask_regs, 0, sizeof(env->opmask_regs));
    memset(env->xmm_regs, 0, sizeof(env->xmm_regs));
    env->pkru = 0;
    env->pdptrs_valid = false;
    memset(env->pdptrs, 0, sizeof(env->pdptrs));
    env->exception_pending = env->exception_injected = 0;
    env->exception_has_payload = 0;
    env->exception_payload = 0;
    env->triple_fault_pending = 0;
    env->error_code = 0;
    env->interrupt_shadow = 0;
    env->smi_pending = env->smi_latched_init = 0;
    env->cr8 = 0;
    cpu->stream.has_exception_info = false;
    cpu->stream.has_wide = false;
    return true;
}

static bool check_range(const char *name, int64_t value, int64_t least,
                        int64_t most, Error **errp)
{
    if (value >= least && value <= most) {
        return true;
    }
    error_setg(errp, "%s is %" PRId64 ", expected %" PRId64 " to %" PRId64,
               name, value, least, most);
    return false;
}

static bool check_events(const CPUX86State *env, Error **errp)
{
    return check_range("mp_state", env->mp_state, 0, X86_MP_SIPI_RECEIVED,
                       errp) &&
           check_range("exception_nr", env->exception_nr, -1, 31, errp) &&
           check_range("interrupt_injected", env->interrupt_injected, -1, 255,
                       errp) &&
           check_range("sipi_vector", env->sipi_vector, 0, 255, errp) &&
           check_range("soft_interrupt", env->soft_interrupt, 0, 1, errp) &&
           check_range("nmi_injected", env->nmi_injected, 0, 1, errp) &&
           check_range("has_error_code", env->has_error_code, 0, 1, errp) &&
           check_range("number of machine check banks", env->mcg_cap & 0xff, 0,
                       MCE_BANKS_DEF, errp);
}

/* A component without its bit in @allowed: named. */
static bool check_components(const char *name, uint64_t value, uint64_t allowed,
                             Error **errp)
{
    for (unsigned i = 0; i < 64; i++) {
        if ((value & ~allowed) >> i & 1) {
            g_autofree char *c = x86_xsave_component_name(i);

            error_setg(errp,
                       "%s is 0x%" PRIx64
                       ", but this vCPU lacks XSAVE component %u (%s)",
                       name, value, i, c);
            return false;
        }
    }
    return true;
}

static bool check_vectors(const X86CPU *cpu, Error **errp)
{
    uint64_t allowed = cpu->xsave_mask | 3;

    if (cpu->stream.fpregs_format) {
        error_setg(errp, "format of FPU registers is %u, expected 0",
                   cpu->stream.fpregs_format);
        return false;
    }
    return check_components("xcr0", cpu->env.xcr0, allowed, errp) &&
           check_components("xstate_bv", cpu->env.xstate_bv,
                            x86_host() ? allowed : x86_xsave_known, errp);
}

static bool cpu_post_load(void *opaque, int version_id, Error **errp)
{
    X86CPU *cpu = opaque;
    CPUX86State *env = &cpu->env;
    const X86CpuStream *s = &cpu->stream;

    if (!check_events(env, errp) || !check_vectors(cpu, errp)) {
        return false;
    }
    for (int i = 0; i < 8; i++) {
        env->fptags[i] = !(s->fptag >> i & 1);
    }
    if (!s->has_wide) {
        env->sysenter_cs = s->sysenter_cs;
        env->smbase = s->smbase;
    }
    if (!s->has_exception_info) {
        env->exception_injected = env->exception_nr >= 0;
    }
    if (!env->interrupt_shadow && (s->hflags & HF_INHIBIT_IRQ)) {
        env->interrupt_shadow = 1;
    }
    env->in_smm = (s->hflags & HF_SMM) != 0;
    env->nmi_masked = (s->hflags2 & HF2_NMI) != 0;
    env->smm_inside_nmi = (s->hflags2 & HF2_SMM_INSIDE_NMI) != 0;
    return true;
}

/* ---- fields ---- */

#define E_VALUE(n, f, type, inf)                                             \
    {                                                                        \
        .name = (n), .info = &(inf), .size = sizeof(type),                   \
        .flags = VMS_SINGLE, .offset = VMSTATE_OFFSET_VALUE(X86CPU, f, type) \
    }
#define E_ARRAY(n, f, type, count, inf)                                    \
    {                                                                      \
        .name = (n), .num = (count), .info = &(inf), .size = sizeof(type), \
        .flags = VMS_ARRAY,                                                \
        .offset = VMSTATE_OFFSET_ARRAY(X86CPU, f, type, count),            \
    }
#define E_U8(f)          E_VALUE(#f, f, uint8_t, vmstate_info_uint8)
#define E_U16(f)         E_VALUE(#f, f, uint16_t, vmstate_info_uint16)
#define E_U32(f)         E_VALUE(#f, f, uint32_t, vmstate_info_uint32)
#define E_I32(f)         E_VALUE(#f, f, int32_t, vmstate_info_int32)
#define E_U64(f)         E_VALUE(#f, f, uint64_t, vmstate_info_uint64)
#define E_U64S(f, count) E_ARRAY(#f, f, uint64_t, count, vmstate_info_uint64)
/* Zero here, ignored on load. */
#define E_ZERO(n, count)                                                   \
    {                                                                      \
        .name = (n), .size = (count), .info = &vmstate_info_unused_buffer, \
        .flags = VMS_BUFFER,                                               \
    }

static const VMStateDescription vmstate_segment = {
    .name = "segment",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(selector, SegmentCache),
            VMSTATE_UINT64(base, SegmentCache),
            VMSTATE_UINT32(limit, SegmentCache),
            VMSTATE_UINT32(flags, SegmentCache),
            VMSTATE_END_OF_LIST(),
        },
};
#define E_SEGMENT(f) VMSTATE_STRUCT(f, X86CPU, 0, vmstate_segment, SegmentCache)

static const VMStateDescription vmstate_fpreg = {
    .name = "fpreg",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT64(mant, X87Reg),
            VMSTATE_UINT16(exp, X87Reg),
            VMSTATE_END_OF_LIST(),
        },
};

/* A part of a vector register. */
#define VECTOR_PART(part, first, count)                           \
    static const VMStateDescription vmstate_##part = {            \
        .name = #part "_reg",                                     \
        .version_id = 1,                                          \
        .minimum_version_id = 1,                                  \
        .fields =                                                 \
            (const VMStateField[]){                               \
                VMSTATE_SUB_ARRAY(q, ZMMReg, first, count, 0,     \
                                  vmstate_info_uint64, uint64_t), \
                VMSTATE_END_OF_LIST(),                            \
            },                                                    \
    };

VECTOR_PART(xmm, 0, 2)
VECTOR_PART(ymmh, 2, 2)
VECTOR_PART(zmmh, 4, 4)
VECTOR_PART(hi16_zmm, 0, 8)

#define E_VECTORS(first, part)                                   \
    VMSTATE_STRUCT_SUB_ARRAY(env.xmm_regs, X86CPU, first, 16, 0, \
                             vmstate_##part, ZMMReg)

static const VMStateDescription vmstate_mtrr_var = {
    .name = "mtrr_var",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT64(base, MTRRVar),
            VMSTATE_UINT64(mask, MTRRVar),
            VMSTATE_END_OF_LIST(),
        },
};

/* ---- subsections ---- */

#define SUBSECTION(id, section, need, ...)           \
    static bool id##_needed(void *opaque)            \
    {                                                \
        const X86CPU *cpu = opaque;                  \
                                                     \
        return need;                                 \
    }                                                \
    static const VMStateDescription vmstate_##id = { \
        .name = section,                             \
        .version_id = 1,                             \
        .minimum_version_id = 1,                     \
        .needed = id##_needed,                       \
        .post_load = id##_post_load,                 \
        .fields =                                    \
            (const VMStateField[]){                  \
                __VA_ARGS__,                         \
                VMSTATE_END_OF_LIST(),               \
            },                                       \
    };
/* Hooks of those that have nothing to check. */
#define fpop_ip_dp_post_load   NULL
#define avx512_post_load       NULL
#define triple_fault_post_load NULL

SUBSECTION(fpop_ip_dp, "cpu/fpop_ip_dp",
           cpu->env.fpop || cpu->env.fpip || cpu->env.fpdp, E_U16(env.fpop),
           E_U64(env.fpip), E_U64(env.fpdp))

static bool any_avx512(const CPUX86State *env)
{
    uint64_t any = 0;

    for (int i = 0; i < 8; i++) {
        any |= env->opmask_regs[i];
    }
    for (int i = 0; i < 32; i++) {
        for (int k = i < 16 ? 4 : 0; k < 8; k++) {
            any |= env->xmm_regs[i].q[k];
        }
    }
    return any != 0;
}
SUBSECTION(avx512, "cpu/avx512", any_avx512(&cpu->env),
           E_U64S(env.opmask_regs, 8), E_VECTORS(0, zmmh),
           E_VECTORS(16, hi16_zmm))

static bool pkru_post_load(void *opaque, int version_id, Error **errp)
{
    X86CPU *cpu = opaque;

    cpu->env.pkru = cpu->stream.pkru;
    return true;
}
SUBSECTION(pkru, "cpu/pkru", cpu->env.pkru != 0, E_U32(stream.pkru))

static bool pdptrs_post_load(void *opaque, int version_id, Error **errp)
{
    X86CPU *cpu = opaque;

    cpu->env.pdptrs_valid = true;
    return true;
}
SUBSECTION(pdptrs, "cpu/pdptrs", cpu->env.pdptrs_valid, E_U64S(env.pdptrs, 4))

static bool exception_info_post_load(void *opaque, int version_id, Error **errp)
{
    X86CPU *cpu = opaque;
    const CPUX86State *env = &cpu->env;

    cpu->stream.has_exception_info = true;
    return check_range("exception_pending", env->exception_pending, 0, 1,
                       errp) &&
           check_range("exception_injected", env->exception_injected, 0, 1,
                       errp) &&
           check_range("exception_has_payload", env->exception_has_payload, 0,
                       1, errp);
}
SUBSECTION(exception_info, "cpu/exception_info",
           cpu->env.exception_nr >= 0 || cpu->env.exception_has_payload ||
               cpu->env.exception_payload,
           E_U8(env.exception_pending), E_U8(env.exception_injected),
           E_U8(env.exception_has_payload), E_U64(env.exception_payload))

SUBSECTION(triple_fault, "cpu/triple_fault", cpu->env.triple_fault_pending,
           E_U8(env.triple_fault_pending))

static bool events_post_load(void *opaque, int version_id, Error **errp)
{
    const X86CPU *cpu = opaque;
    const CPUX86State *env = &cpu->env;

    return check_range("interrupt_shadow", env->interrupt_shadow, 0, 3, errp) &&
           check_range("smi_pending", env->smi_pending, 0, 1, errp) &&
           check_range("smi_latched_init", env->smi_latched_init, 0, 1, errp) &&
           check_range("cr8", MIN(env->cr8, 16), 0, 15, errp);
}
SUBSECTION(events, "cpu/ferry-events",
           cpu->env.error_code || cpu->env.interrupt_shadow ||
               cpu->env.smi_pending || cpu->env.smi_latched_init ||
               cpu->env.cr8,
           E_U32(env.error_code), E_U8(env.interrupt_shadow),
           E_U8(env.smi_pending), E_U8(env.smi_latched_init), E_U64(env.cr8))

static bool wide_post_load(void *opaque, int version_id, Error **errp)
{
    X86CPU *cpu = opaque;

    cpu->stream.has_wide = true;
    return true;
}
SUBSECTION(wide, "cpu/ferry-wide",
           (cpu->env.sysenter_cs | cpu->env.smbase) >> 32,
           E_U64(env.sysenter_cs), E_U64(env.smbase))

/* ---- cpu ---- */

static const VMStateField cpu_fields[] = {
    E_U64S(env.regs, CPU_NB_REGS),
    E_U64(env.eip),
    E_U64(env.eflags),
    E_VALUE("env.hflags", stream.hflags, uint32_t, vmstate_info_uint32),
    E_U16(env.fpuc),
    E_VALUE("env.fpus_vmstate", env.fpus, uint16_t, vmstate_info_uint16),
    E_VALUE("env.fptag_vmstate", stream.fptag, uint16_t, vmstate_info_uint16),
    E_VALUE("env.fpregs_format_vmstate", stream.fpregs_format, uint16_t,
            vmstate_info_uint16),
    VMSTATE_STRUCT_ARRAY(env.fpregs, X86CPU, 8, 0, vmstate_fpreg, X87Reg),
    VMSTATE_STRUCT_ARRAY(env.segs, X86CPU, CPU_NB_SEGS, 0, vmstate_segment,
                         SegmentCache),
    E_SEGMENT(env.ldt),
    E_SEGMENT(env.tr),
    E_SEGMENT(env.gdt),
    E_SEGMENT(env.idt),
    E_VALUE("env.sysenter_cs", stream.sysenter_cs, uint32_t,
            vmstate_info_uint32),
    E_U64(env.sysenter_esp),
    E_U64(env.sysenter_eip),
    E_U64(env.cr[0]),
    E_U64(env.cr[2]),
    E_U64(env.cr[3]),
    E_U64(env.cr[4]),
    E_U64S(env.dr, 8),
    E_I32(env.a20_mask),
    E_U32(env.mxcsr),
    E_VECTORS(0, xmm),
    E_U64(env.efer),
    E_U64(env.star),
    E_U64(env.lstar),
    E_U64(env.cstar),
    E_U64(env.fmask),
    E_U64(env.kernelgsbase),
    E_VALUE("env.smbase", stream.smbase, uint32_t, vmstate_info_uint32),
    E_U64(env.pat),
    E_VALUE("env.hflags2", stream.hflags2, uint32_t, vmstate_info_uint32),
    E_U64(env.vm_hsave),
    E_ZERO("env.vm_vmcb", 8),
    E_ZERO("env.tsc_offset", 8),
    E_ZERO("env.intercept", 8),
    E_ZERO("env.intercept_cr_read", 2),
    E_ZERO("env.intercept_cr_write", 2),
    E_ZERO("env.intercept_dr_read", 2),
    E_ZERO("env.intercept_dr_write", 2),
    E_ZERO("env.intercept_exceptions", 4),
    E_ZERO("env.v_tpr", 1),
    E_U64S(env.mtrr_fixed, MTRR_FIXED_COUNT),
    E_U64(env.mtrr_deftype),
    VMSTATE_STRUCT_ARRAY(env.mtrr_var, X86CPU, MSR_MTRRcap_VCNT, 0,
                         vmstate_mtrr_var, MTRRVar),
    E_I32(env.interrupt_injected),
    E_U32(env.mp_state),
    E_U64(env.tsc),
    E_I32(env.exception_nr),
    E_U8(env.soft_interrupt),
    E_U8(env.nmi_injected),
    E_U8(env.nmi_pending),
    E_U8(env.has_error_code),
    E_U32(env.sipi_vector),
    E_U64(env.mcg_cap),
    E_U64(env.mcg_status),
    E_U64(env.mcg_ctl),
    E_U64S(env.mce_banks, MCE_BANKS_DEF * 4),
    E_U64(env.tsc_aux),
    E_U64(env.system_time_msr),
    E_U64(env.wall_clock_msr),
    E_U64(env.xcr0),
    E_U64(env.xstate_bv),
    E_VECTORS(0, ymmh),
    VMSTATE_END_OF_LIST(),
};

#define MSR_REF(section, field, value) &vmstate_x86_##field,

const VMStateDescription vmstate_x86_cpu = {
    .name = "cpu",
    .version_id = 12,
    .minimum_version_id = 12,
    .pre_save = cpu_pre_save,
    .pre_load = cpu_pre_load,
    .post_load = cpu_post_load,
    .fields = cpu_fields,
    .subsections =
        (const VMStateDescription *const[]){
            &vmstate_x86_features,
            &vmstate_fpop_ip_dp,
            &vmstate_avx512,
            &vmstate_pkru,
            &vmstate_pdptrs,
            &vmstate_exception_info,
            &vmstate_triple_fault,
            &vmstate_x86_tsc_khz,
            &vmstate_events,
            &vmstate_wide,
            X86_MSR_SUBSECTIONS(MSR_REF) NULL,
        },
};
