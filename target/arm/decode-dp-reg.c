/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data processing on registers (DDI 0487, C4.1.95). */
#include "qemu/osdep.h"

#include "decode-int.h"

static void three_regs(uint32_t word, A64Insn *insn)
{
    insn->rd = reg_dst(word, 0);
    insn->rn = reg_src(word, 5);
    insn->rm = reg_src(word, 16);
}

static bool decode_logical(uint32_t word, A64Insn *insn)
{
    /* Index: opc << 2 | N << 1 | sf is 0. */
    static const uint16_t plain[] = {
        A64_AND_X,  A64_AND_W,  A64_BIC_X,  A64_BIC_W,  A64_ORR_X, A64_ORR_W,
        A64_ORN_X,  A64_ORN_W,  A64_EOR_X,  A64_EOR_W,  A64_EON_X, A64_EON_W,
        A64_ANDS_X, A64_ANDS_W, A64_BICS_X, A64_BICS_W,
    };
    static const uint16_t shifted[] = {
        A64_ANDH_X,  A64_ANDH_W,  A64_BICH_X,  A64_BICH_W,
        A64_ORRH_X,  A64_ORRH_W,  A64_ORNH_X,  A64_ORNH_W,
        A64_EORH_X,  A64_EORH_W,  A64_EONH_X,  A64_EONH_W,
        A64_ANDSH_X, A64_ANDSH_W, A64_BICSH_X, A64_BICSH_W,
    };
    bool is64 = bit(word, 31);
    unsigned amount = bits(word, 10, 6);
    unsigned index = bits(word, 29, 2) << 2 | bit(word, 21) << 1 | !is64;

    if (!is64 && amount >= 32) {
        return false;
    }
    three_regs(word, insn);
    if (amount == 0) {
        insn->op = plain[index];
        if (insn->rn == A64_ZR &&
            (insn->op == A64_ORR_X || insn->op == A64_ORR_W)) {
            insn->op = is64 ? A64_MOV_X : A64_MOV_W;
        }
    } else {
        insn->op = shifted[index];
        insn->aux = A64_SHIFT_AUX(bits(word, 22, 2), amount);
    }
    return true;
}

/* Index of the add/sub tables: op << 2 | S << 1 | sf is 0. */
static unsigned add_sub_index(uint32_t word)
{
    return bits(word, 29, 2) << 1 | !bit(word, 31);
}

static bool decode_add_sub_shifted(uint32_t word, A64Insn *insn)
{
    static const uint16_t plain[] = { A64_ADD_X,  A64_ADD_W, A64_ADDS_X,
                                      A64_ADDS_W, A64_SUB_X, A64_SUB_W,
                                      A64_SUBS_X, A64_SUBS_W };
    static const uint16_t shifted[] = { A64_ADDH_X,  A64_ADDH_W, A64_ADDSH_X,
                                        A64_ADDSH_W, A64_SUBH_X, A64_SUBH_W,
                                        A64_SUBSH_X, A64_SUBSH_W };
    unsigned amount = bits(word, 10, 6), type = bits(word, 22, 2);

    if (type == 3 || (!bit(word, 31) && amount >= 32)) {
        return false;
    }
    three_regs(word, insn);
    if (amount) {
        insn->op = shifted[add_sub_index(word)];
        insn->aux = A64_SHIFT_AUX(type, amount);
    } else {
        insn->op = plain[add_sub_index(word)];
    }
    return true;
}

static bool decode_add_sub_extended(uint32_t word, A64Insn *insn)
{
    static const uint16_t ops[] = { A64_ADDE_X,  A64_ADDE_W, A64_ADDSE_X,
                                    A64_ADDSE_W, A64_SUBE_X, A64_SUBE_W,
                                    A64_SUBSE_X, A64_SUBSE_W };
    unsigned shift = bits(word, 10, 3);

    if (bits(word, 22, 2) || shift > 4) {
        return false;
    }
    insn->op = ops[add_sub_index(word)];
    insn->rd = bit(word, 29) ? reg_dst(word, 0) : reg_sp(word, 0);
    insn->rn = reg_sp(word, 5);
    insn->rm = reg_src(word, 16);
    insn->aux = bits(word, 13, 3) | shift << 3;
    return true;
}

static bool decode_carry(uint32_t word, A64Insn *insn)
{
    static const uint16_t ops[] = { A64_ADC_X,  A64_ADC_W, A64_ADCS_X,
                                    A64_ADCS_W, A64_SBC_X, A64_SBC_W,
                                    A64_SBCS_X, A64_SBCS_W };

    if (bits(word, 10, 6)) {
        return false; /* with flag manipulation (FEAT_FlagM) */
    }
    three_regs(word, insn);
    insn->op = ops[add_sub_index(word)];
    return true;
}

static bool decode_cond_compare(uint32_t word, A64Insn *insn)
{
    static const uint16_t regs[] = { A64_CCMN_X, A64_CCMN_W, A64_CCMP_X,
                                     A64_CCMP_W };
    static const uint16_t imms[] = { A64_CCMNI_X, A64_CCMNI_W, A64_CCMPI_X,
                                     A64_CCMPI_W };
    unsigned index = bit(word, 30) << 1 | !bit(word, 31);

    if (!bit(word, 29) || bit(word, 10) || bit(word, 4)) {
        return false;
    }
    insn->rn = reg_src(word, 5);
    insn->aux = bits(word, 12, 4) | bits(word, 0, 4) << 4;
    if (bit(word, 11)) {
        insn->op = imms[index];
        insn->imm = bits(word, 16, 5);
    } else {
        insn->op = regs[index];
        insn->rm = reg_src(word, 16);
    }
    return true;
}

static bool decode_cond_select(uint32_t word, A64Insn *insn)
{
    /* Index: op << 2 | o2 << 1 | sf is 0. */
    static const uint16_t ops[] = { A64_CSEL_X,  A64_CSEL_W,  A64_CSINC_X,
                                    A64_CSINC_W, A64_CSINV_X, A64_CSINV_W,
                                    A64_CSNEG_X, A64_CSNEG_W };

    if (bit(word, 29) || bit(word, 11)) {
        return false;
    }
    three_regs(word, insn);
    insn->op = ops[bit(word, 30) << 2 | bit(word, 10) << 1 | !bit(word, 31)];
    insn->aux = bits(word, 12, 4);
    return true;
}

static bool decode_two_source(uint32_t word, unsigned features, A64Insn *insn)
{
    static const uint16_t shifts[] = { A64_LSLV_X, A64_LSLV_W, A64_LSRV_X,
                                       A64_LSRV_W, A64_ASRV_X, A64_ASRV_W,
                                       A64_RORV_X, A64_RORV_W };
    unsigned opcode = bits(word, 10, 6);
    bool is64 = bit(word, 31);

    if (bit(word, 29)) {
        return false;
    }
    three_regs(word, insn);
    switch (opcode) {
    case 2:
        insn->op = is64 ? A64_UDIV_X : A64_UDIV_W;
        return true;
    case 3:
        insn->op = is64 ? A64_SDIV_X : A64_SDIV_W;
        return true;
    case 8 ... 11:
        insn->op = shifts[(opcode - 8) << 1 | !is64];
        return true;
    case 16 ... 23: /* CRC32: 64-bit only for the doubleword */
        insn->op = opcode & 4 ? A64_CRC32C : A64_CRC32;
        insn->aux = opcode & 3;
        return (features & A64_FEATURE_CRC32) && is64 == (insn->aux == 3);
    default:
        return false;
    }
}

static bool decode_one_source(uint32_t word, A64Insn *insn)
{
    /* Index: opcode; second row: 64-bit. */
    static const uint16_t ops[2][6] = {
        { A64_RBIT_W, A64_REV16_W, A64_REV_W, A64_UNDEF, A64_CLZ_W, A64_CLS_W },
        { A64_RBIT_X, A64_REV16_X, A64_REV32_X, A64_REV_X, A64_CLZ_X,
          A64_CLS_X },
    };
    unsigned opcode = bits(word, 10, 6);

    if (bit(word, 29) || bits(word, 16, 5) || opcode > 5) {
        return false; /* with pointer authentication (FEAT_PAuth) */
    }
    insn->op = ops[bit(word, 31)][opcode];
    insn->rd = reg_dst(word, 0);
    insn->rn = reg_src(word, 5);
    return insn->op != A64_UNDEF;
}

static bool decode_three_source(uint32_t word, A64Insn *insn)
{
    bool is64 = bit(word, 31);

    if (bits(word, 29, 2)) {
        return false;
    }
    three_regs(word, insn);
    insn->ra = reg_src(word, 10);
    /* op31 and o0 */
    switch (bits(word, 21, 3) << 1 | bit(word, 15)) {
    case 0:
        insn->op = is64 ? A64_MADD_X : A64_MADD_W;
        return true;
    case 1:
        insn->op = is64 ? A64_MSUB_X : A64_MSUB_W;
        return true;
    case 2:
        insn->op = A64_SMADDL;
        return is64;
    case 3:
        insn->op = A64_SMSUBL;
        return is64;
    case 4:
        insn->op = A64_SMULH;
        return is64 && insn->ra == A64_ZR;
    case 10:
        insn->op = A64_UMADDL;
        return is64;
    case 11:
        insn->op = A64_UMSUBL;
        return is64;
    case 12:
        insn->op = A64_UMULH;
        return is64 && insn->ra == A64_ZR;
    default:
        return false;
    }
}

bool a64_decode_dp_reg(uint32_t word, unsigned features, A64Insn *insn)
{
    unsigned op2 = bits(word, 21, 4);

    if (!bit(word, 28)) {
        if (!bit(word, 24)) {
            return decode_logical(word, insn);
        }
        return bit(word, 21) ? decode_add_sub_extended(word, insn)
                             : decode_add_sub_shifted(word, insn);
    }
    if (op2 & 8) {
        return decode_three_source(word, insn);
    }
    switch (op2) {
    case 0:
        return decode_carry(word, insn);
    case 2:
        return decode_cond_compare(word, insn);
    case 4:
        return decode_cond_select(word, insn);
    case 6:
        return bit(word, 30) ? decode_one_source(word, insn)
                             : decode_two_source(word, features, insn);
    default:
        return false;
    }
}
