/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions of x86-64 as bytes, as far as native-x86.c uses them.
 *
 * Within native code rbp is the vCPU; rax, rcx and rdx are free for each
 * template; all others but rsp hold guest registers (emit_host[]). The other
 * guest registers are operands in memory. Every instruction gets a REX prefix,
 * so that all byte registers are named alike.
 *
 * Used by: native-x86.c. Uses: tcg-int.h.
 */
#ifndef ACCEL_TCG_EMIT_X86_H
#define ACCEL_TCG_EMIT_X86_H

#include "tcg-int.h"

enum {
    RAX,
    RCX,
    RDX,
    RBX,
    RSP,
    RBP,
    RSI,
    RDI,
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
};

/* Conditions. */
enum {
    CC_O = 0,
    CC_B = 2,
    CC_AE = 3,
    CC_E = 4,
    CC_NE = 5,
};

/* Of the group of eight: opcode of "reg op= r/m" is 8 * n + 3. */
enum {
    ALU_ADD = 0,
    ALU_OR = 1,
    ALU_AND = 4,
    ALU_SUB = 5,
    ALU_XOR = 6,
    ALU_CMP = 7,
};
#define ALU_RM(n) (8 * (n) + 3)

/* Shifts by a constant: the digit of opcode 0xc1, by cl: 0xd3. */
enum {
    SH_ROR = 1,
    SH_SHL = 4,
    SH_SHR = 5,
    SH_SAR = 7
};

/* Opcodes; with 0x100 they begin with 0x0f. */
enum {
    OPC_MOVSXD = 0x63,
    OPC_STORE8 = 0x88,
    OPC_STORE = 0x89,
    OPC_LOAD = 0x8b,
    OPC_LEA = 0x8d,
    OPC_TEST = 0x85,
    OPC_CMOV = 0x140,
    OPC_SETCC = 0x190,
    OPC_SHRD = 0x1ac,
    OPC_IMUL = 0x1af,
    OPC_MOVZX8 = 0x1b6,
    OPC_MOVZX16 = 0x1b7,
    OPC_BT_IMM = 0x1ba, /* digit 4 */
    OPC_MOVSX8 = 0x1be,
    OPC_MOVSX16 = 0x1bf,
};

/* Where a guest register lives; -1: in v->x[]. */
static const int8_t emit_host[A64_NUM_REGS] = {
    RBX, RSI, RDI, R8,  R9, R10, R11, R12, R13, -1, -1, -1, -1, -1, -1, -1, -1,
    -1,  -1,  R14, R15, -1, -1,  -1,  -1,  -1,  -1, -1, -1, -1, -1, -1, -1, -1,
};

static inline void emit8(uint8_t **p, unsigned byte)
{
    *(*p)++ = byte;
}

static inline void emit32(uint8_t **p, uint32_t val)
{
    memcpy(*p, &val, sizeof(val));
    *p += sizeof(val);
}

static inline void emit64(uint8_t **p, uint64_t val)
{
    memcpy(*p, &val, sizeof(val));
    *p += sizeof(val);
}

/* REX and opcode; @w: 64 bits. */
static inline void emit_opcode(uint8_t **p, bool w, unsigned opc, int reg,
                               int index, int base)
{
    emit8(p, 0x40 | w << 3 | (reg >> 3) << 2 | (index >> 3) << 1 | base >> 3);
    if (opc & 0x100) {
        emit8(p, 0x0f);
    }
    emit8(p, opc & 0xff);
}

/* Register and register. */
static inline void emit_rr(uint8_t **p, bool w, unsigned opc, int reg, int rm)
{
    emit_opcode(p, w, opc, reg, 0, rm);
    emit8(p, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

/* Register and [base + disp]. */
static inline void emit_rm(uint8_t **p, bool w, unsigned opc, int reg, int base,
                           int32_t disp)
{
    bool is_short = disp == (int8_t)disp;

    emit_opcode(p, w, opc, reg, 0, base);
    emit8(p, (is_short ? 0x40 : 0x80) | (reg & 7) << 3 | (base & 7));
    if ((base & 7) == RSP) {
        emit8(p, 0x24);
    }
    if (is_short) {
        emit8(p, (uint8_t)disp);
    } else {
        emit32(p, disp);
    }
}

/* Register and [base + (index << scale) + disp]. */
static inline void emit_rx(uint8_t **p, bool w, unsigned opc, int reg, int base,
                           int index, unsigned scale, int32_t disp)
{
    bool is_short = disp == (int8_t)disp;

    emit_opcode(p, w, opc, reg, index, base);
    emit8(p, (is_short ? 0x44 : 0x84) | (reg & 7) << 3);
    emit8(p, scale << 6 | (index & 7) << 3 | (base & 7));
    if (is_short) {
        emit8(p, (uint8_t)disp);
    } else {
        emit32(p, disp);
    }
}

/* Register and the word at @target, which is within 2 GiB. */
static inline void emit_rip(uint8_t **p, bool w, unsigned opc, int reg,
                            const void *target)
{
    emit_opcode(p, w, opc, reg, 0, 0);
    emit8(p, 0x05 | (reg & 7) << 3);
    emit32(p, (uint32_t)((const uint8_t *)target - (*p + 4)));
}

/* Register and guest register @g. */
static inline void emit_rg(uint8_t **p, bool w, unsigned opc, int reg,
                           unsigned g)
{
    if (emit_host[g] >= 0) {
        emit_rr(p, w, opc, reg, emit_host[g]);
    } else {
        emit_rm(p, w, opc, reg, RBP, offsetof(TcgVcpu, x) + 8 * g);
    }
}

/* Register and a member of the vCPU. */
#define EMIT_RV(p, w, opc, reg, field) \
    emit_rm(p, w, opc, reg, RBP, offsetof(TcgVcpu, field))

static inline void emit_mov_imm(uint8_t **p, int reg, uint64_t imm)
{
    if (imm == (uint32_t)imm) {
        emit8(p, 0x40 | reg >> 3);
        emit8(p, 0xb8 | (reg & 7));
        emit32(p, imm);
    } else if (imm == (uint64_t)(int32_t)imm) {
        emit_rr(p, true, 0xc7, 0, reg);
        emit32(p, imm);
    } else {
        emit8(p, 0x48 | reg >> 3);
        emit8(p, 0xb8 | (reg & 7));
        emit64(p, imm);
    }
}

/* reg op= imm; rcx may be used. */
static inline void emit_alu_imm(uint8_t **p, bool w, unsigned n, int reg,
                                uint64_t imm)
{
    if (!w) {
        imm = (uint64_t)(int32_t)imm;
    }
    if (imm == (uint64_t)(int8_t)imm) {
        emit_rr(p, w, 0x83, n, reg);
        emit8(p, imm & 0xff);
    } else if (imm == (uint64_t)(int32_t)imm) {
        emit_rr(p, w, 0x81, n, reg);
        emit32(p, imm);
    } else {
        emit_mov_imm(p, RCX, imm);
        emit_rr(p, w, ALU_RM(n), reg, RCX);
    }
}

static inline void emit_shift(uint8_t **p, bool w, unsigned sh, int reg,
                              unsigned n)
{
    if (n) {
        emit_rr(p, w, 0xc1, sh, reg);
        emit8(p, n);
    }
}

/* Jumps; the result is where emit_here() puts the distance. */
static inline uint8_t *emit_jcc(uint8_t **p, unsigned cc)
{
    emit8(p, 0x0f);
    emit8(p, 0x80 | cc);
    emit32(p, 0);
    return *p;
}

static inline uint8_t *emit_jmp(uint8_t **p)
{
    emit8(p, 0xe9);
    emit32(p, 0);
    return *p;
}

static inline void emit_land(uint8_t *after_jump, const uint8_t *target)
{
    uint32_t distance = (uint32_t)(target - after_jump);

    memcpy(after_jump - 4, &distance, sizeof(distance));
}

#endif /* ACCEL_TCG_EMIT_X86_H */
