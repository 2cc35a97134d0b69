/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Top level of the A64 decoder; contract in include/target/arm/a64-decode.h. */
#include "qemu/osdep.h"

#include "decode-int.h"

void a64_decode(uint32_t word, vaddr pc, unsigned features, A64Insn *insn)
{
    bool known = false;

    memset(insn, 0, sizeof(*insn));
    switch (bits(word, 25, 4)) {
    case 0x8:
    case 0x9:
        known = a64_decode_dp_imm(word, pc, insn);
        break;
    case 0xa:
    case 0xb:
        known = a64_decode_branch_sys(word, pc, insn);
        break;
    case 0x4:
    case 0x6:
    case 0xc:
    case 0xe:
        known = a64_decode_ldst(word, pc, features, insn);
        break;
    case 0x5:
    case 0xd:
        known = a64_decode_dp_reg(word, features, insn);
        break;
    case 0x7:
    case 0xf:
        insn->op = A64_FPSIMD;
        known = true;
        break;
    default: /* reserved, SME, SVE */
        break;
    }
    if (!known) {
        memset(insn, 0, sizeof(*insn));
        insn->op = A64_UNDEF;
    }
    if (insn->op == A64_UNDEF || insn->op == A64_FPSIMD) {
        insn->imm = word;
    }
}

bool a64_ends_block(A64Opcode op)
{
    switch (op) {
    case A64_B:
    case A64_BL:
    case A64_BR:
    case A64_BLR:
    case A64_ERET:
    case A64_SVC:
    case A64_HVC:
    case A64_SMC:
    case A64_BRK:
    case A64_HLT:
    case A64_UNDEF:
    case A64_FPSIMD:
    /* What was fetched before these may not be what comes after. */
    case A64_ISB:
    case A64_MSR:
    case A64_MSR_IMM:
    /* These may put the CPU to sleep. */
    case A64_WFE:
    case A64_WFI:
    case A64_YIELD:
        return true;
    default:
        return false;
    }
}

const char *a64_opcode_name(A64Opcode op)
{
#define NAME(n) #n,
    static const char *const names[] = { A64_OPCODES(NAME) };
#undef NAME

    return op < A64_NUM_OPCODES ? names[op] : "?";
}
