/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A64 decoder: one instruction word becomes one ready operation.
 *
 * An operation names what to do (the A64_OPCODES below, finer than the
 * architecture's mnemonics: width, flag setting and addressing mode are part
 * of the name) and has its operands unpacked, so that whoever executes it
 * never looks at the instruction word again. Exactly one operation comes from
 * one word, hence the n-th operation of a straight run belongs to the address
 * start + 4 * n.
 *
 * Register operands are indices into a file of 34 registers: 0..30, 31 = the
 * stack pointer of the current mode, A64_ZR = reads as zero, A64_SINK = where
 * results for the zero register go. So no operation needs to ask whether a
 * 31 means SP or zero.
 *
 * A word that is not allocated, or that belongs to an extension not in
 * @features, becomes UNDEF (architecturally undefined) or FPSIMD (floating
 * point and vectors: traps by CPACR, and is not implemented). Pure functions,
 * any thread.
 *
 * Used by: accel/tcg. Uses: nothing but util.
 */
#ifndef TARGET_ARM_A64_DECODE_H
#define TARGET_ARM_A64_DECODE_H

enum {
    A64_SP = 31,
    A64_ZR = 32,
    A64_SINK = 33,
    A64_NUM_REGS = 34,
};

/* Extensions of the architecture that can be on or off in a CPU model. */
enum {
    A64_FEATURE_CRC32 = 1 << 0,
    A64_FEATURE_LSE = 1 << 1,
};

/* clang-format off */
/*
 * Suffixes: _X 64-bit, _W 32-bit (result zero-extended); _S in the middle:
 * sets flags; I = immediate; H = shifted register (aux = A64_SHIFT_AUX());
 * E = extended register (aux = option | shift << 3).
 * Memory: _I base + imm, _R base + extended rm, _PRE / _POST write back.
 */
#define A64_ADDSUB_(X, n)                                          \
    X(ADD##n##_X) X(ADD##n##_W) X(SUB##n##_X) X(SUB##n##_W)        \
    X(ADDS##n##_X) X(ADDS##n##_W) X(SUBS##n##_X) X(SUBS##n##_W)
#define A64_LOGIC_(X, n)                                           \
    X(AND##n##_X) X(AND##n##_W) X(BIC##n##_X) X(BIC##n##_W)        \
    X(ORR##n##_X) X(ORR##n##_W) X(ORN##n##_X) X(ORN##n##_W)        \
    X(EOR##n##_X) X(EOR##n##_W) X(EON##n##_X) X(EON##n##_W)        \
    X(ANDS##n##_X) X(ANDS##n##_W) X(BICS##n##_X) X(BICS##n##_W)
#define A64_LDST_(X, mode)                                         \
    X(STB_##mode) X(STH_##mode) X(STW_##mode) X(STX_##mode)        \
    X(LDB_##mode) X(LDH_##mode) X(LDW_##mode) X(LDX_##mode)        \
    X(LDSB_X_##mode) X(LDSH_X_##mode) X(LDSW_X_##mode)             \
    X(LDSB_W_##mode) X(LDSH_W_##mode)
#define A64_PAIR_(X, mode)                                         \
    X(STPW_##mode) X(STPX_##mode) X(LDPW_##mode) X(LDPX_##mode)    \
    X(LDPSW_##mode)

#define A64_OPCODES(X)                                             \
    /* Nothing; also prefetches, unassigned hints. */              \
    X(NOP)                                                         \
    /* rd = imm (MOVZ, MOVN, ADR, ADRP). */                        \
    X(MOVI)                                                        \
    /* rd = ra with 16 bits at aux replaced by imm (in place). */  \
    X(MOVK_X) X(MOVK_W)                                            \
    X(MOV_X) X(MOV_W)                                              \
    /* rd = rn + imm; subtraction is a negative imm. */            \
    X(ADDI_X) X(ADDI_W)                                            \
    X(ADDSI_X) X(ADDSI_W) X(SUBSI_X) X(SUBSI_W)                    \
    A64_ADDSUB_(X, ) A64_ADDSUB_(X, H) A64_ADDSUB_(X, E)           \
    X(ANDI) X(ORRI_X) X(ORRI_W) X(EORI_X) X(EORI_W)                \
    X(ANDSI_X) X(ANDSI_W)                                          \
    A64_LOGIC_(X, ) A64_LOGIC_(X, H)                               \
    X(ADC_X) X(ADC_W) X(SBC_X) X(SBC_W)                            \
    X(ADCS_X) X(ADCS_W) X(SBCS_X) X(SBCS_W)                        \
    /* aux = condition | nzcv << 4; I: imm instead of rm. */       \
    X(CCMN_X) X(CCMN_W) X(CCMP_X) X(CCMP_W)                        \
    X(CCMNI_X) X(CCMNI_W) X(CCMPI_X) X(CCMPI_W)                    \
    /* aux = condition. */                                         \
    X(CSEL_X) X(CSEL_W) X(CSINC_X) X(CSINC_W)                      \
    X(CSINV_X) X(CSINV_W) X(CSNEG_X) X(CSNEG_W)                    \
    /* rd = (rn >> aux) & imm; rd = (rn & imm) << aux. */          \
    X(UBFX) X(UBFIZ)                                               \
    /* rd = (rn << (aux & 63)) >> (aux >> 8), arithmetic. */       \
    X(SBF_X) X(SBF_W)                                              \
    /* rd = ra with the bits of imm replaced by rn >> or << aux. */\
    X(BFXIL_X) X(BFXIL_W) X(BFI_X) X(BFI_W)                        \
    /* aux = lsb. */                                               \
    X(EXTR_X) X(EXTR_W)                                            \
    X(UDIV_X) X(UDIV_W) X(SDIV_X) X(SDIV_W)                        \
    X(LSLV_X) X(LSLV_W) X(LSRV_X) X(LSRV_W)                        \
    X(ASRV_X) X(ASRV_W) X(RORV_X) X(RORV_W)                        \
    /* aux = log2 of the bytes taken from rm. */                   \
    X(CRC32) X(CRC32C)                                             \
    X(RBIT_X) X(RBIT_W) X(REV16_X) X(REV16_W)                      \
    X(REV_W) X(REV32_X) X(REV_X)                                   \
    X(CLZ_X) X(CLZ_W) X(CLS_X) X(CLS_W)                            \
    X(MADD_X) X(MADD_W) X(MSUB_X) X(MSUB_W)                        \
    X(SMADDL) X(SMSUBL) X(UMADDL) X(UMSUBL) X(SMULH) X(UMULH)      \
    /* Branches: imm = target; TBZ/TBNZ: aux = bit. */             \
    X(B) X(BL)                                                     \
    X(BEQ) X(BNE) X(BCS) X(BCC) X(BMI) X(BPL) X(BVS) X(BVC)        \
    X(BHI) X(BLS) X(BGE) X(BLT) X(BGT) X(BLE)                      \
    X(CBZ_X) X(CBZ_W) X(CBNZ_X) X(CBNZ_W) X(TBZ) X(TBNZ)           \
    X(BR) X(BLR)                                                   \
    /* Memory. Stores: rd = value. Pairs: rd, ra. R: aux as E. */  \
    A64_LDST_(X, I) A64_LDST_(X, R)                                \
    A64_LDST_(X, PRE) A64_LDST_(X, POST)                           \
    A64_PAIR_(X, I) A64_PAIR_(X, PRE) A64_PAIR_(X, POST)           \
    /*                                                             \
     * aux = log2 of the bytes of one register. LDXP/STXP: rd, ra. \
     * STXR/STXP: rm = status. STLXR counts as STXR: both are      \
     * executed sequentially consistent, as are LDAR and STLR.     \
     */                                                            \
    X(LDXR) X(LDXP) X(STXR) X(STXP) X(LDAR) X(STLR)                \
    /* rm = compared and loaded; CASP: rm, rm + 1, rd, rd + 1. */  \
    X(CAS) X(CASP)                                                 \
    /* rd = old, rm = operand. */                                  \
    X(LDADD) X(LDCLR) X(LDEOR) X(LDSET)                            \
    X(LDSMAX) X(LDSMIN) X(LDUMAX) X(LDUMIN) X(SWP)                 \
    X(CLREX) X(DMB_LD) X(DMB_ST) X(DMB) X(ISB)                     \
    X(YIELD) X(WFE) X(WFI) X(SEV) X(SEVL)                          \
    /* imm = 16-bit immediate. */                                  \
    X(SVC) X(HVC) X(SMC) X(BRK) X(HLT)                             \
    X(ERET)                                                        \
    /* aux = op1 << 3 | op2, imm = CRm. */                         \
    X(MSR_IMM)                                                     \
    /* aux = A64_SYSREG(op0, op1, crn, crm, op2), rd = register. */\
    X(MRS) X(MSR)                                                  \
    /* DC ZVA apart from the other SYS: it stores. rd = address. */\
    X(DC_ZVA)                                                      \
    /* imm = the word. */                                          \
    X(UNDEF) X(FPSIMD)

/* clang-format on */

#define A64_ENUM_(n) A64_##n,
typedef enum A64Opcode {
    A64_OPCODES(A64_ENUM_) A64_NUM_OPCODES
} A64Opcode;
#undef A64_ENUM_

/* Aux of H operations; type: 0 LSL, 1 LSR, 2 ASR, 3 ROR. */
#define A64_SHIFT_AUX(type, amount) ((type) << 6 | (amount))

/* System register number: op0 is 2 or 3 for registers, 1 for SYS/SYSL. */
#define A64_SYSREG(op0, op1, crn, crm, op2) \
    ((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))

typedef struct A64Insn {
    uint16_t op; /* A64Opcode */
    uint16_t aux;
    uint8_t rd, rn, rm, ra;
    uint64_t imm;
} A64Insn;

/**
 * a64_decode: unpack the instruction @word found at address @pc
 *
 * @features: A64_FEATURE_* of the CPU
 */
void a64_decode(uint32_t word, vaddr pc, unsigned features, A64Insn *insn);

/* Whether a straight run of operations must end after @op. */
bool a64_ends_block(A64Opcode op);

/* For logs and tests. */
const char *a64_opcode_name(A64Opcode op);

#endif /* TARGET_ARM_A64_DECODE_H */
