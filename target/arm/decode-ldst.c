/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads and stores (DDI 0487, C4.1.94).
 *
 * size (bits 31:30) is log2 of the bytes, opc (bits 23:22) says store, load,
 * load with sign to 64, load with sign to 32. Where a write-back form names
 * its base also as data register, the result is "constrained unpredictable":
 * the operation then writes the base last (loads) or stores the old base.
 */
#include "qemu/osdep.h"

#include "decode-int.h"

/* Row: size; column: opc. Distance to the _I operation is the mode. */
static const uint16_t single_ops[4][4] = {
    { A64_STB_I, A64_LDB_I, A64_LDSB_X_I, A64_LDSB_W_I },
    { A64_STH_I, A64_LDH_I, A64_LDSH_X_I, A64_LDSH_W_I },
    { A64_STW_I, A64_LDW_I, A64_LDSW_X_I, A64_UNDEF },
    { A64_STX_I, A64_LDX_I, A64_NOP, A64_UNDEF }, /* NOP: PRFM */
};
#define MODE_R    (A64_STB_R - A64_STB_I)
#define MODE_PRE  (A64_STB_PRE - A64_STB_I)
#define MODE_POST (A64_STB_POST - A64_STB_I)

/* Operation and data register of a single load or store. */
static bool single(uint32_t word, unsigned mode, A64Insn *insn)
{
    unsigned size = bits(word, 30, 2), opc = bits(word, 22, 2);

    if (bit(word, 26)) {
        insn->op = A64_FPSIMD;
        return opc < 2 || size == 0;
    }
    insn->op = single_ops[size][opc];
    if (insn->op == A64_UNDEF) {
        return false;
    }
    insn->rn = reg_sp(word, 5);
    if (insn->op == A64_NOP) {
        return mode == 0 || mode == MODE_R;
    }
    insn->op += mode;
    insn->rd = opc == 0 ? reg_src(word, 0) : reg_dst(word, 0);
    return true;
}

static bool decode_unsigned_offset(uint32_t word, A64Insn *insn)
{
    insn->imm = (uint64_t)bits(word, 10, 12) << bits(word, 30, 2);
    return single(word, 0, insn);
}

static bool decode_register_offset(uint32_t word, A64Insn *insn)
{
    if (!bit(word, 14)) {
        return false;
    }
    insn->rm = reg_src(word, 16);
    insn->aux = bits(word, 13, 3) | (bit(word, 12) ? bits(word, 30, 2) : 0)
                                        << 3;
    return single(word, MODE_R, insn);
}

static bool decode_imm9(uint32_t word, A64Insn *insn)
{
    insn->imm = sbits(word, 12, 9);
    switch (bits(word, 10, 2)) {
    case 0: /* LDUR, STUR */
        return single(word, 0, insn);
    case 1:
        return single(word, MODE_POST, insn);
    case 2:
        /*
         * LDTR, STTR: with the rights of EL0. Without translation all levels
         * have the same rights. There is no such prefetch and no vector form.
         */
        return !bit(word, 26) && single(word, 0, insn) && insn->op != A64_NOP;
    default:
        return single(word, MODE_PRE, insn);
    }
}

static bool decode_literal(uint32_t word, vaddr pc, A64Insn *insn)
{
    static const uint16_t ops[] = { A64_LDW_I, A64_LDX_I, A64_LDSW_X_I,
                                    A64_NOP };
    unsigned opc = bits(word, 30, 2);

    if (bit(word, 24)) {
        return false;
    }
    if (bit(word, 26)) {
        insn->op = A64_FPSIMD;
        return opc != 3;
    }
    insn->op = ops[opc];
    insn->rd = reg_dst(word, 0);
    insn->rn = A64_ZR;
    insn->imm = pc + sbits(word, 5, 19) * 4;
    return true;
}

static bool decode_pair(uint32_t word, A64Insn *insn)
{
    unsigned opc = bits(word, 30, 2), index = bits(word, 23, 2);
    unsigned mode = index == 0   ? A64_STPW_I /* non-temporal hint */
                    : index == 1 ? A64_STPW_POST
                    : index == 2 ? A64_STPW_I
                                 : A64_STPW_PRE;
    bool load = bit(word, 22);
    unsigned shift;

    if (opc == 3) {
        return false;
    }
    if (bit(word, 26)) {
        insn->op = A64_FPSIMD;
        return true;
    }
    if (opc == 1) { /* LDPSW; STGP belongs to MTE */
        if (!load || index == 0) {
            return false;
        }
        insn->op = mode + (A64_LDPSW_I - A64_STPW_I);
    } else {
        insn->op = mode + (load ? 2 : 0) + (opc == 2);
    }
    shift = opc == 2 ? 3 : 2;
    insn->rd = load ? reg_dst(word, 0) : reg_src(word, 0);
    insn->ra = load ? reg_dst(word, 10) : reg_src(word, 10);
    insn->rn = reg_sp(word, 5);
    insn->imm = sbits(word, 15, 7) * (1 << shift);
    return true;
}

/* Bits: o2 = 23, L = 22, o1 = 21, o0 = 15. */
static bool decode_exclusive(uint32_t word, unsigned features, A64Insn *insn)
{
    unsigned size = bits(word, 30, 2);
    bool o2 = bit(word, 23), load = bit(word, 22), o1 = bit(word, 21);
    bool o0 = bit(word, 15);

    if (bit(word, 26)) {
        return false; /* Advanced SIMD structures are told apart before */
    }
    insn->aux = size;
    insn->rn = reg_sp(word, 5);
    insn->rd = load ? reg_dst(word, 0) : reg_src(word, 0);
    if (!o2 && !o1) { /* LDXR, LDAXR, STXR, STLXR */
        insn->op = load ? A64_LDXR : A64_STXR;
        insn->rm = reg_dst(word, 16);
        return true;
    }
    if (!o2 && size >= 2) { /* pairs */
        insn->op = load ? A64_LDXP : A64_STXP;
        insn->rm = reg_dst(word, 16);
        insn->ra = load ? reg_dst(word, 10) : reg_src(word, 10);
        return true;
    }
    if (!o2) { /* CASP: size 0 is 32 bits, 1 is 64 */
        insn->op = A64_CASP;
        insn->aux = size + 2;
        insn->rd = bits(word, 0, 5);
        insn->rm = bits(word, 16, 5);
        return (features & A64_FEATURE_LSE) && bits(word, 10, 5) == 31 &&
               !(insn->rd & 1) && !(insn->rm & 1);
    }
    if (o1) {
        insn->op = A64_CAS;
        insn->rd = reg_src(word, 0);
        insn->rm = reg_src(word, 16);
        return (features & A64_FEATURE_LSE) && bits(word, 10, 5) == 31;
    }
    /* LDAR, STLR; without o0 LDLAR and STLLR, which came with LSE's v8.1. */
    insn->op = load ? A64_LDAR : A64_STLR;
    return o0 || (features & A64_FEATURE_LSE);
}

static bool decode_atomic(uint32_t word, unsigned features, A64Insn *insn)
{
    static const uint16_t ops[] = { A64_LDADD,  A64_LDCLR,  A64_LDEOR,
                                    A64_LDSET,  A64_LDSMAX, A64_LDSMIN,
                                    A64_LDUMAX, A64_LDUMIN };
    unsigned opc = bits(word, 12, 3);

    if (bit(word, 26) || !(features & A64_FEATURE_LSE)) {
        return false;
    }
    insn->aux = bits(word, 30, 2);
    insn->rd = reg_dst(word, 0);
    insn->rn = reg_sp(word, 5);
    insn->rm = reg_src(word, 16);
    if (!bit(word, 15)) {
        insn->op = ops[opc];
        return true;
    }
    insn->op = A64_SWP;
    return opc == 0;
}

/* Structure loads and stores of Advanced SIMD: bits 31, 29..27 fixed. */
static bool decode_simd_structures(uint32_t word, A64Insn *insn)
{
    insn->op = A64_FPSIMD;
    return !bit(word, 31);
}

bool a64_decode_ldst(uint32_t word, vaddr pc, unsigned features, A64Insn *insn)
{
    switch (bits(word, 28, 2)) {
    case 0:
        if (bit(word, 26)) {
            return decode_simd_structures(word, insn);
        }
        return !bit(word, 24) && decode_exclusive(word, features, insn);
    case 1:
        return decode_literal(word, pc, insn);
    case 2:
        return decode_pair(word, insn);
    default:
        if (bit(word, 24)) {
            return decode_unsigned_offset(word, insn);
        }
        if (!bit(word, 21)) {
            return decode_imm9(word, insn);
        }
        if (bits(word, 10, 2) == 2) {
            return decode_register_offset(word, insn);
        }
        return bits(word, 10, 2) == 0 && decode_atomic(word, features, insn);
    }
}
