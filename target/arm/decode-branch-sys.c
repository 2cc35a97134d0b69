/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Branches, exception generation, system (DDI 0487, C4.1.93). */
#include "qemu/osdep.h"

#include "decode-int.h"

static bool decode_cond_branch(uint32_t word, vaddr pc, A64Insn *insn)
{
    /* 14 and 15 are both "always". */
    static const uint16_t ops[] = { A64_BEQ, A64_BNE, A64_BCS, A64_BCC,
                                    A64_BMI, A64_BPL, A64_BVS, A64_BVC,
                                    A64_BHI, A64_BLS, A64_BGE, A64_BLT,
                                    A64_BGT, A64_BLE, A64_B,   A64_B };

    if (bit(word, 24) || bit(word, 4)) {
        return false;
    }
    insn->op = ops[bits(word, 0, 4)];
    insn->imm = pc + sbits(word, 5, 19) * 4;
    return true;
}

static bool decode_exception(uint32_t word, A64Insn *insn)
{
    insn->imm = bits(word, 5, 16);
    switch (bits(word, 21, 3) << 5 | bits(word, 0, 5)) {
    case 0x01:
        insn->op = A64_SVC;
        return true;
    case 0x02:
        insn->op = A64_HVC;
        return true;
    case 0x03:
        insn->op = A64_SMC;
        return true;
    case 0x20:
        insn->op = A64_BRK;
        return true;
    case 0x40:
        insn->op = A64_HLT;
        return true;
    default: /* DCPSn are undefined outside debug state, which we never enter */
        return false;
    }
}

static bool decode_hint(uint32_t word, A64Insn *insn)
{
    switch (bits(word, 5, 7)) {
    case 1:
        insn->op = A64_YIELD;
        break;
    case 2:
        insn->op = A64_WFE;
        break;
    case 3:
        insn->op = A64_WFI;
        break;
    case 4:
        insn->op = A64_SEV;
        break;
    case 5:
        insn->op = A64_SEVL;
        break;
    default: /* unassigned hints, and those of absent extensions, do nothing */
        insn->op = A64_NOP;
        break;
    }
    return bits(word, 0, 5) == 31;
}

static bool decode_barrier(uint32_t word, A64Insn *insn)
{
    unsigned crm = bits(word, 8, 4);

    if (bits(word, 0, 5) != 31) {
        return false;
    }
    switch (bits(word, 5, 3)) {
    case 2:
        insn->op = A64_CLREX;
        return true;
    case 4: /* DSB; SSBB and PSSBB are among its encodings */
        insn->op = A64_DMB;
        return true;
    case 5: /* DMB: the lowest two bits say which accesses */
        insn->op = (crm & 3) == 1   ? A64_DMB_LD
                   : (crm & 3) == 2 ? A64_DMB_ST
                                    : A64_DMB;
        return true;
    case 6:
        insn->op = A64_ISB;
        return true;
    default:
        return false;
    }
}

static bool decode_msr_imm(uint32_t word, A64Insn *insn)
{
    insn->op = A64_MSR_IMM;
    insn->aux = bits(word, 16, 3) << 3 | bits(word, 5, 3);
    insn->imm = bits(word, 8, 4);
    if (bits(word, 0, 5) != 31) {
        return false;
    }
    /* SPSel, DAIFSet, DAIFClr; the others belong to extensions. */
    return insn->aux == 005 || insn->aux == 036 || insn->aux == 037;
}

static bool decode_system(uint32_t word, A64Insn *insn)
{
    bool load = bit(word, 21);
    unsigned op0 = bits(word, 19, 2), op1 = bits(word, 16, 3);
    unsigned crn = bits(word, 12, 4);

    if (op0 == 0) {
        if (load) {
            return false;
        }
        if (op1 == 3 && crn == 2) {
            return decode_hint(word, insn);
        }
        if (op1 == 3 && crn == 3) {
            return decode_barrier(word, insn);
        }
        return crn == 4 && decode_msr_imm(word, insn);
    }
    insn->aux = bits(word, 5, 16) & ~(3 << 14);
    insn->aux |= op0 << 14;
    if (op0 == 1 && !load && op1 == 3 && crn == 7 && bits(word, 8, 4) == 4 &&
        bits(word, 5, 3) == 1) {
        insn->op = A64_DC_ZVA;
        insn->rd = reg_src(word, 0);
        return true;
    }
    insn->op = load ? A64_MRS : A64_MSR;
    insn->rd = load ? reg_dst(word, 0) : reg_src(word, 0);
    return true;
}

static bool decode_branch_reg(uint32_t word, A64Insn *insn)
{
    if (bits(word, 16, 5) != 31 || bits(word, 10, 6) || bits(word, 0, 5)) {
        return false;
    }
    insn->rn = reg_src(word, 5);
    switch (bits(word, 21, 4)) {
    case 0:
    case 2: /* RET: a BR with a hint for the return stack */
        insn->op = A64_BR;
        return true;
    case 1:
        insn->op = A64_BLR;
        return true;
    case 4:
        insn->op = A64_ERET;
        return insn->rn == A64_ZR;
    default: /* DRPS is undefined outside debug state */
        return false;
    }
}

bool a64_decode_branch_sys(uint32_t word, vaddr pc, A64Insn *insn)
{
    switch (bits(word, 29, 3)) {
    case 0: /* B, BL */
    case 4:
        insn->op = bit(word, 31) ? A64_BL : A64_B;
        insn->imm = pc + sbits(word, 0, 26) * 4;
        return true;
    case 1: /* compare or test and branch */
    case 5:
        insn->rn = reg_src(word, 0);
        if (bit(word, 25)) {
            insn->op = bit(word, 24) ? A64_TBNZ : A64_TBZ;
            insn->aux = bits(word, 19, 5) | bit(word, 31) << 5;
            insn->imm = pc + sbits(word, 5, 14) * 4;
            return true;
        }
        insn->imm = pc + sbits(word, 5, 19) * 4;
        if (bit(word, 31)) {
            insn->op = bit(word, 24) ? A64_CBNZ_X : A64_CBZ_X;
        } else {
            insn->op = bit(word, 24) ? A64_CBNZ_W : A64_CBZ_W;
        }
        return true;
    case 2:
        return !bit(word, 25) && decode_cond_branch(word, pc, insn);
    case 6:
        if (bit(word, 25)) {
            return decode_branch_reg(word, insn);
        }
        if (!bit(word, 24)) {
            return decode_exception(word, insn);
        }
        return bits(word, 22, 2) == 0 && decode_system(word, insn);
    default:
        return false;
    }
}
