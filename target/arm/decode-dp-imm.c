/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data processing with an immediate (DDI 0487, C4.1.92). */
#include "qemu/osdep.h"

#include "decode-int.h"

static uint64_t rotate_right(uint64_t v, unsigned n, unsigned width)
{
    return n ? ((v >> n) | (v << (width - n))) & ones(width) : v;
}

/*
 * The 13 bits N:immr:imms of a logical immediate: a run of ones, rotated,
 * repeated. Element size is the highest set bit of N:~imms; a run as long as
 * the element is reserved. Returns false for reserved values.
 */
static bool logical_imm(uint32_t word, bool is64, uint64_t *value)
{
    unsigned immr = bits(word, 16, 6), imms = bits(word, 10, 6);
    unsigned size_field = bit(word, 22) << 6 | (~imms & 0x3f);
    unsigned size, run, i;
    uint64_t v;

    if (size_field < 2 || (!is64 && bit(word, 22))) {
        return false;
    }
    size = 1u << (31 - __builtin_clz(size_field));
    run = (imms & (size - 1)) + 1;
    if (run == size) {
        return false;
    }
    v = rotate_right(ones(run), immr & (size - 1), size);
    for (i = size; i < 64; i *= 2) {
        v |= v << i;
    }
    *value = is64 ? v : (uint32_t)v;
    return true;
}

static bool decode_logical_imm(uint32_t word, A64Insn *insn)
{
    static const uint16_t op_x[] = { A64_ANDI, A64_ORRI_X, A64_EORI_X,
                                     A64_ANDSI_X };
    static const uint16_t op_w[] = { A64_ANDI, A64_ORRI_W, A64_EORI_W,
                                     A64_ANDSI_W };
    unsigned opc = bits(word, 29, 2);
    bool is64 = bit(word, 31);

    insn->op = is64 ? op_x[opc] : op_w[opc];
    insn->rd = opc == 3 ? reg_dst(word, 0) : reg_sp(word, 0);
    insn->rn = reg_src(word, 5);
    return logical_imm(word, is64, &insn->imm);
}

static bool decode_add_sub_imm(uint32_t word, A64Insn *insn)
{
    bool is64 = bit(word, 31), sub = bit(word, 30), setflags = bit(word, 29);
    uint64_t imm = bits(word, 10, 12) << (bit(word, 22) ? 12 : 0);

    insn->rn = reg_sp(word, 5);
    insn->imm = imm;
    if (setflags) {
        insn->rd = reg_dst(word, 0);
        insn->op = sub ? (is64 ? A64_SUBSI_X : A64_SUBSI_W)
                       : (is64 ? A64_ADDSI_X : A64_ADDSI_W);
        return true;
    }
    insn->rd = reg_sp(word, 0);
    insn->op = is64 ? A64_ADDI_X : A64_ADDI_W;
    if (sub) {
        insn->imm = -imm;
    }
    return true;
}

static bool decode_move_wide(uint32_t word, A64Insn *insn)
{
    bool is64 = bit(word, 31);
    unsigned shift = bits(word, 21, 2) * 16;
    uint64_t imm = (uint64_t)bits(word, 5, 16) << shift;

    if (!is64 && shift >= 32) {
        return false;
    }
    insn->rd = reg_dst(word, 0);
    switch (bits(word, 29, 2)) {
    case 0: /* MOVN */
        insn->op = A64_MOVI;
        insn->imm = is64 ? ~imm : (uint32_t)~imm;
        return true;
    case 2: /* MOVZ */
        insn->op = A64_MOVI;
        insn->imm = imm;
        return true;
    case 3: /* MOVK */
        insn->op = is64 ? A64_MOVK_X : A64_MOVK_W;
        insn->ra = reg_src(word, 0);
        insn->aux = shift;
        insn->imm = imm;
        return true;
    default:
        return false;
    }
}

static void decode_bfm(bool is64, unsigned immr, unsigned imms, uint32_t word,
                       A64Insn *insn)
{
    unsigned width = is64 ? 64 : 32, shift;

    insn->ra = reg_src(word, 0);
    if (imms >= immr) {
        insn->op = is64 ? A64_BFXIL_X : A64_BFXIL_W;
        insn->aux = immr;
        insn->imm = ones(imms - immr + 1);
        return;
    }
    shift = width - immr;
    insn->op = is64 ? A64_BFI_X : A64_BFI_W;
    insn->aux = shift;
    insn->imm = ones(imms + 1) << shift;
}

static bool decode_bitfield(uint32_t word, A64Insn *insn)
{
    bool is64 = bit(word, 31);
    unsigned immr = bits(word, 16, 6), imms = bits(word, 10, 6);
    unsigned width = is64 ? 64 : 32, left;

    if (bit(word, 22) != is64 || immr >= width || imms >= width) {
        return false;
    }
    insn->rd = reg_dst(word, 0);
    insn->rn = reg_src(word, 5);
    switch (bits(word, 29, 2)) {
    case 0: /* SBFM: move the field to the top, then down with its sign */
        insn->op = is64 ? A64_SBF_X : A64_SBF_W;
        left = 63 - imms;
        if (imms >= immr) {
            insn->aux = left | (left + immr) << 8;
        } else {
            insn->aux = left | (left - (width - immr)) << 8;
        }
        return true;
    case 1: /* BFM */
        decode_bfm(is64, immr, imms, word, insn);
        return true;
    case 2: /* UBFM */
        if (imms >= immr) {
            insn->op = A64_UBFX;
            insn->aux = immr;
            insn->imm = ones(imms - immr + 1);
        } else {
            insn->op = A64_UBFIZ;
            insn->aux = width - immr;
            insn->imm = ones(imms + 1);
        }
        return true;
    default:
        return false;
    }
}

static bool decode_extract(uint32_t word, A64Insn *insn)
{
    bool is64 = bit(word, 31);
    unsigned lsb = bits(word, 10, 6);

    if (bits(word, 29, 2) || bit(word, 21) || bit(word, 22) != is64 ||
        (!is64 && lsb >= 32)) {
        return false;
    }
    insn->op = is64 ? A64_EXTR_X : A64_EXTR_W;
    insn->rd = reg_dst(word, 0);
    insn->rn = reg_src(word, 5);
    insn->rm = reg_src(word, 16);
    insn->aux = lsb;
    return true;
}

bool a64_decode_dp_imm(uint32_t word, vaddr pc, A64Insn *insn)
{
    int64_t offset = sbits(word, 5, 19) * 4 + bits(word, 29, 2);

    switch (bits(word, 23, 3)) {
    case 0: /* ADR, ADRP */
    case 1:
        insn->op = A64_MOVI;
        insn->rd = reg_dst(word, 0);
        insn->imm = bit(word, 31)
                        ? (pc & ~UINT64_C(0xfff)) + (uint64_t)offset * 4096
                        : pc + offset;
        return true;
    case 2:
        return decode_add_sub_imm(word, insn);
    case 4:
        return decode_logical_imm(word, insn);
    case 5:
        return decode_move_wide(word, insn);
    case 6:
        return decode_bitfield(word, insn);
    case 7:
        return decode_extract(word, insn);
    default: /* 3: with tags (MTE) */
        return false;
    }
}
