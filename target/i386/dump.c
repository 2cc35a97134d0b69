/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers as text: `info registers`, -d cpu. */
#include "qemu/osdep.h"

#include "internals.h"

static const char *const seg_names[CPU_NB_SEGS] = {
    "ES", "CS", "SS", "DS", "FS", "GS",
};

/* Of system segments, by type: outside and inside long mode. */
static const char *const system_types[2][16] = {
    { "Reserved", "TSS16-avl", "LDT", "TSS16-busy", "CallGate16", "TaskGate",
      "IntGate16", "TrapGate16", "Reserved", "TSS32-avl", "Reserved",
      "TSS32-busy", "CallGate32", "Reserved", "IntGate32", "TrapGate32" },
    { "<hiword>", "Reserved", "LDT", "Reserved", "Reserved", "Reserved",
      "Reserved", "Reserved", "Reserved", "TSS64-avl", "Reserved", "TSS64-busy",
      "CallGate64", "Reserved", "IntGate64", "TrapGate64" },
};

static char flag(uint64_t bits, uint64_t mask, char c)
{
    return bits & mask ? c : '-';
}

static void dump_seg_type(const CPUX86State *env, uint32_t flags, GString *out)
{
    g_string_append_printf(out, " DPL=%u ", flags >> DESC_DPL_SHIFT & 3);
    if (!(flags & DESC_S_MASK)) {
        g_string_append(out, system_types[(env->efer & MSR_EFER_LMA) != 0]
                                         [flags >> DESC_TYPE_SHIFT & 15]);
    } else if (flags & DESC_CS_MASK) {
        const char *width = flags & DESC_L_MASK   ? "CS64"
                            : flags & DESC_B_MASK ? "CS32"
                                                  : "CS16";

        g_string_append_printf(
            out, "%s [%c%c%c]", width, flag(flags, DESC_C_MASK, 'C'),
            flag(flags, DESC_R_MASK, 'R'), flag(flags, DESC_A_MASK, 'A'));
    } else {
        bool wide = (flags & DESC_B_MASK) || (env->efer & MSR_EFER_LMA);

        g_string_append_printf(out, "%s [%c%c%c]", wide ? "DS  " : "DS16",
                               flag(flags, DESC_E_MASK, 'E'),
                               flag(flags, DESC_W_MASK, 'W'),
                               flag(flags, DESC_A_MASK, 'A'));
    }
}

static void dump_seg(const CPUX86State *env, const char *name,
                     const SegmentCache *sc, GString *out)
{
    bool long_mode = env->efer & MSR_EFER_LMA;

    g_string_append_printf(out, "%-3s=%04x %0*" PRIx64 " %08x %08x", name,
                           sc->selector, long_mode ? 16 : 8, sc->base,
                           sc->limit, sc->flags & 0x00ffff00u);
    if ((env->cr[0] & CR0_PE_MASK) && (sc->flags & DESC_P_MASK)) {
        dump_seg_type(env, sc->flags, out);
    }
    g_string_append_c(out, '\n');
}

static void dump_table(const CPUX86State *env, const char *name,
                       const SegmentCache *sc, GString *out)
{
    g_string_append_printf(out, "%s=     %0*" PRIx64 " %08x\n", name,
                           env->efer & MSR_EFER_LMA ? 16 : 8, sc->base,
                           sc->limit);
}

static void dump_general(const CPUX86State *env, GString *out)
{
    static const uint8_t order[8] = { R_EAX, R_EBX, R_ECX, R_EDX,
                                      R_ESI, R_EDI, R_EBP, R_ESP };
    static const char *const names[8] = { "AX", "BX", "CX", "DX",
                                          "SI", "DI", "BP", "SP" };
    bool wide = x86_in_64bit_code(env);

    for (int i = 0; i < 8; i++) {
        uint64_t v = env->regs[order[i]];

        g_string_append_printf(out, "%c%s=%0*" PRIx64 "%c", wide ? 'R' : 'E',
                               names[i], wide ? 16 : 8, wide ? v : (uint32_t)v,
                               i % 4 == 3 ? '\n' : ' ');
    }
    for (int i = 8; wide && i < CPU_NB_REGS; i++) {
        g_string_append_printf(out, "R%-2d=%016" PRIx64 "%c", i, env->regs[i],
                               i % 4 == 3 ? '\n' : ' ');
    }
}

static void dump_flags(CPUState *cs, GString *out)
{
    const CPUX86State *env = x86_cpu_env(cs);
    bool wide = x86_in_64bit_code(env);
    uint64_t fl = env->eflags;

    g_string_append_printf(
        out,
        "%cIP=%0*" PRIx64 " %cFL=%08x [%c%c%c%c%c%c%c] CPL=%u II=%d A20=%d "
        "SMM=%d HLT=%d\n",
        wide ? 'R' : 'E', wide ? 16 : 8, env->eip, wide ? 'R' : 'E',
        (uint32_t)fl, flag(fl, DF_MASK, 'D'), flag(fl, CC_O, 'O'),
        flag(fl, CC_S, 'S'), flag(fl, CC_Z, 'Z'), flag(fl, CC_A, 'A'),
        flag(fl, CC_P, 'P'), flag(fl, CC_C, 'C'), x86_cpl(env),
        env->interrupt_shadow != 0, env->a20_mask >> 20 & 1, env->in_smm != 0,
        (int)cs->halted);
}

static void dump_control(const CPUX86State *env, GString *out)
{
    int w = env->efer & MSR_EFER_LMA ? 16 : 8;

    g_string_append_printf(
        out, "CR0=%08x CR2=%0*" PRIx64 " CR3=%0*" PRIx64 " CR4=%08x\n",
        (uint32_t)env->cr[0], w, env->cr[2], w, env->cr[3],
        (uint32_t)env->cr[4]);
    for (int i = 0; i < 4; i++) {
        g_string_append_printf(out, "DR%d=%016" PRIx64 " ", i, env->dr[i]);
    }
    g_string_append_printf(
        out, "\nDR6=%016" PRIx64 " DR7=%016" PRIx64 "\nEFER=%016" PRIx64 "\n",
        env->dr[6], env->dr[7], env->efer);
}

/* Of the widest vectors that XCR0 lets the guest use. */
static void dump_vectors(const CPUX86State *env, GString *out)
{
    bool zmm = (env->xcr0 & 0xe4) == 0xe4;
    bool ymm = (env->xcr0 & 0x4) == 0x4;
    int words = zmm ? 8 : ymm ? 4 : 2;
    int regs = zmm ? 32 : x86_in_64bit_code(env) ? 16 : 8;

    for (int i = 0; zmm && i < 8; i++) {
        g_string_append_printf(out, "Opmask%02d=%016" PRIx64 "%c", i,
                               env->opmask_regs[i], i % 4 == 3 ? '\n' : ' ');
    }
    for (int i = 0; i < regs; i++) {
        g_string_append_printf(out, "%s%02d=",
                               zmm   ? "ZMM"
                               : ymm ? "YMM"
                                     : "XMM",
                               i);
        for (int k = words - 1; k >= 0; k--) {
            g_string_append_printf(out, "%016" PRIx64 "%s",
                                   env->xmm_regs[i].q[k], k ? " " : "");
        }
        g_string_append_c(out, words == 2 && i % 2 == 0 ? ' ' : '\n');
    }
}

static void dump_fpu(const CPUX86State *env, GString *out)
{
    unsigned used = 0;

    for (int i = 0; i < 8; i++) {
        used |= (unsigned)!env->fptags[i] << i;
    }
    g_string_append_printf(
        out, "FCW=%04x FSW=%04x [ST=%d] FTW=%02x MXCSR=%08x\n", env->fpuc,
        env->fpus, env->fpus >> 11 & 7, used, env->mxcsr);
    for (int i = 0; i < 8; i++) {
        g_string_append_printf(out, "FPR%d=%016" PRIx64 " %04x%c", i,
                               env->fpregs[i].mant, env->fpregs[i].exp,
                               i % 2 ? '\n' : ' ');
    }
    dump_vectors(env, out);
}

void x86_cpu_dump_state(CPUState *cs, GString *out)
{
    const CPUX86State *env = x86_cpu_env(cs);

    dump_general(env, out);
    dump_flags(cs, out);
    for (int i = 0; i < CPU_NB_SEGS; i++) {
        dump_seg(env, seg_names[i], &env->segs[i], out);
    }
    dump_seg(env, "LDT", &env->ldt, out);
    dump_seg(env, "TR", &env->tr, out);
    dump_table(env, "GDT", &env->gdt, out);
    dump_table(env, "IDT", &env->idt, out);
    dump_control(env, out);
    dump_fpu(env, out);
}
