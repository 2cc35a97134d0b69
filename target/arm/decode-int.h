/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private parts of the A64 decoder: field access and the four groups.
 *
 * Section numbers below are those of the Arm Architecture Reference Manual
 * (DDI 0487), chapter C4 "A64 Instruction Set Encoding".
 */
#ifndef TARGET_ARM_DECODE_INT_H
#define TARGET_ARM_DECODE_INT_H

#include "target/arm/a64-decode.h"

static inline uint32_t bits(uint32_t word, int lo, int n)
{
    return (word >> lo) & ((1u << n) - 1);
}

static inline int64_t sbits(uint32_t word, int lo, int n)
{
    return (int64_t)((uint64_t)word << (64 - lo - n)) >> (64 - n);
}

static inline bool bit(uint32_t word, int n)
{
    return (word >> n) & 1;
}

/* Register field at bit @lo as source or destination; 31 is zero or SP. */
static inline uint8_t reg_src(uint32_t word, int lo)
{
    uint32_t r = bits(word, lo, 5);

    return r == 31 ? A64_ZR : r;
}

static inline uint8_t reg_dst(uint32_t word, int lo)
{
    uint32_t r = bits(word, lo, 5);

    return r == 31 ? A64_SINK : r;
}

static inline uint8_t reg_sp(uint32_t word, int lo)
{
    return bits(word, lo, 5);
}

static inline uint64_t ones(unsigned n)
{
    return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/*
 * Each fills what is not zero in @insn and returns true, or returns false for
 * an unallocated word.
 */
bool a64_decode_dp_imm(uint32_t word, vaddr pc, A64Insn *insn);
bool a64_decode_dp_reg(uint32_t word, unsigned features, A64Insn *insn);
bool a64_decode_branch_sys(uint32_t word, vaddr pc, A64Insn *insn);
bool a64_decode_ldst(uint32_t word, vaddr pc, unsigned features, A64Insn *insn);

#endif /* TARGET_ARM_DECODE_INT_H */
